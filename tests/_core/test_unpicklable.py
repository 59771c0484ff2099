"""What holds the original table, or a secret, does not leave the process that made it; what is for readers does."""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.every import every

import shoal
from shoal.errors import NotPicklableError
from shoal.republication.ledger.keys import LedgerKey, Secrets

SECRET = "Zyzzyva"
REQUEST: dict[str, Any] = {
    "quasi_identifiers": ["town"],
    "sensitive": "disease",
    "direct_identifiers": ["name"],
    "privacy": shoal.KAnonymity(4),
}
KIND = pl.Enum(["mild", SECRET, "severe", "never"])


def patients() -> pl.DataFrame:
    """Eight people; the release has no town, no name, and one category of three."""
    return pl.DataFrame(
        {
            "town": [f"{SECRET}{row}" for row in range(8)],
            "name": [f"{SECRET} {row}" for row in range(8)],
            "disease": pl.Series(["mild", "severe"] * 4, dtype=KIND),
        }
    )


def frames() -> dict[str, Any]:
    plain = patients()
    pandas = plain.to_pandas()
    pandas["disease"] = pandas["disease"].astype(pd.CategoricalDtype(list(KIND.categories), ordered=True))
    pandas["name"] = pandas["name"].astype("category")
    words = pa.array(list(KIND.categories))
    codes = pa.array([0, 2] * 4, type=pa.int8())
    arrow = plain.to_arrow().set_column(2, "disease", pa.DictionaryArray.from_arrays(codes, words, ordered=True))
    return {"polars": plain, "pandas": pandas, "arrow": arrow}


@pytest.fixture(scope="module", params=["polars", "pandas", "arrow"])
def release(request: pytest.FixtureRequest) -> shoal.Release:
    return shoal.anonymize(frames()[request.param], **REQUEST)


def refused(thing: object) -> Iterator[str]:
    for way in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(NotPicklableError, match="neither pickled nor copied: it holds") as raised:
            way(thing)  # type: ignore[operator]
        assert isinstance(raised.value, TypeError), "what others that send objects around expect"
        yield str(raised.value)


def test_a_release_and_what_belongs_to_it(release: shoal.Release) -> None:
    levels = shoal.explore(patients(), **{**REQUEST, "privacy": ()}, k=[2, 4])
    made = ((release, "data"), (release.metrics, "to_dict"), (levels, "to_dict"), (levels.rows[0], "to_dict"))
    for thing, instead in made:
        for said in refused(thing):
            assert "the original table" in said
            assert instead in said


def test_a_series_and_its_key(tmp_path: Path) -> None:
    ledger = shoal.Ledger(tmp_path / "releases.db", create=True)
    series = ledger.start("one", m=2, identifier="id", quasi_identifiers=["age"], sensitive="s")
    made = series.publish(pl.DataFrame({"id": range(4), "age": [1, 2, 3, 4], "s": list("xyxy")}))
    key, secrets = LedgerKey.read(tmp_path / "releases.db.key"), Secrets.new()
    for thing in (ledger, series, made, key, secrets, secrets.derive_series_keys("one")):
        assert all(key.secret.hex() not in said for said in refused(thing))


def test_a_search_for_coarsenings() -> None:
    tuning = shoal.explore(pl.DataFrame({"age": [1, 2, 3, 4]}), quasi_identifiers=["age"], k=2, coarsenings=True)
    assert "to_dict" in next(refused(tuning))


def test_what_can_be_reached_from_them(tmp_path: Path) -> None:
    """Every object of shoal's that an attribute leads to: it refuses, or holds no cell."""
    data = patients().with_columns(pl.col("disease").cast(pl.String))
    request = {**REQUEST, "privacy": shoal.KAnonymity(8)}
    plain = {name: value for name, value in request.items() if name != "direct_identifiers"}
    series = shoal.Ledger(tmp_path / "releases.db", create=True).start(
        "one", m=2, identifier="name", quasi_identifiers=["town"], sensitive="disease"
    )
    waiting: list[tuple[str, object]] = [
        ("release", shoal.anonymize(data, **request)),
        ("tuning", shoal.explore(data, coarsenings=True, seconds=1, **request)),
        ("comparison", shoal.explore(data.drop("name"), algorithms=["mondrian"], **plain)),
        ("series", series),
        ("publication", series.publish(data)),
    ]
    published = {name for name, _ in waiting} | {"data", "frame", "counterfeits", "counterfeit_frame"}
    seen: dict[int, object] = {}
    while waiting:
        path, one = waiting.pop()
        if id(one) in seen or callable(one):
            continue
        seen[id(one)] = one
        if isinstance(one, dict):
            waiting += [(f"{path}.{name}", value) for name, value in one.items()]
        elif isinstance(one, (list, tuple)):
            waiting += [(path, value) for value in one]
        elif type(one).__module__.startswith("shoal"):
            try:
                content = pickle.dumps(one)
            except (TypeError, AttributeError, pickle.PicklingError):  # refused; NotPicklableError is a TypeError
                content = b""
            assert SECRET.encode() not in content, f"{path}: a {type(one).__name__} is pickled with cells of the table"
            names = [name for name in dir(one) if not name.startswith("_") and name not in published]
            waiting += [(f"{path}.{name}", getattr(one, name)) for name in names]
    assert len(seen) > 100


def test_what_is_for_readers_is_pickled_and_has_no_cell_of_the_input(release: shoal.Release) -> None:
    for thing in (release.data, release.public_certificate, release.certificate):
        content = pickle.dumps(thing)
        assert SECRET.encode() not in content
        assert pickle.loads(content) is not None
    assert b"never" not in pickle.dumps(release.data)


def test_absent_categories_are_nowhere(release: shoal.Release, tmp_path: Path) -> None:
    data = release.data
    if isinstance(data, pl.DataFrame):
        assert data.schema["disease"] == pl.Enum(["mild", "severe"])
    elif isinstance(data, pd.DataFrame):
        assert data["disease"].dtype == pd.CategoricalDtype(["mild", "severe"], ordered=True)
    else:
        assert data.column("disease").type.ordered
        assert data.column("disease").combine_chunks().dictionary.to_pylist() == ["mild", "severe"]
    assert release.frame.schema["disease"] == pl.Enum(["mild", "severe"])
    release.save(tmp_path / "out", format="parquet")
    assert SECRET.encode() not in (tmp_path / "out/release.parquet").read_bytes()


def test_an_order_of_categories_stays_what_it_was() -> None:
    """The distance of ordered values counts those that occur, and so does not change with what is declared."""
    data = patients().with_columns(town=pl.Series(list("aabbccdd")))
    asked = [shoal.TCloseness(0.5, distance="ordered"), shoal.KAnonymity(2)]
    declared = shoal.anonymize(data, **REQUEST | {"privacy": asked}, seed=1)
    fewer = data.with_columns(pl.col("disease").cast(pl.Enum(["mild", "severe"])))
    plain = shoal.anonymize(fewer, **REQUEST | {"privacy": asked}, seed=1)
    assert declared.certificate.achieved == plain.certificate.achieved
    assert declared.data.equals(plain.data)


@every("role", ["quasi_identifiers", "sensitive", "insensitive"])
@every("keep_order", [False, True])
def test_absent_categories_in_any_role(role: str, keep_order: bool) -> None:
    kind = pl.Enum(["c", "zzz", "a", "b"])
    data = pl.DataFrame({"x": pl.Series(["a", None, "c", "a"] * 2, dtype=kind), "q": [1] * 8})
    roles: dict[str, list[str]] = {"quasi_identifiers": ["q"]}
    roles[role] = [*roles.get(role, []), "x"]
    options = {"missing_sensitive": "value", "keep_order": keep_order}
    made = shoal.anonymize(data, **roles, **options, privacy=shoal.KAnonymity(2))
    assert made.data.schema["x"] == pl.Enum(["c", "a"])
    assert sorted(map(str, made.data["x"])) == sorted(map(str, data["x"]))


def test_what_restores_a_frame_holds_no_cell(release: shoal.Release) -> None:
    """Everything that can be reached from it, but for code."""
    seen: dict[int, object] = {}
    waiting: list[object] = [release.restore]
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, type) or type(one).__name__ in ("module", "function", "method"):
            continue
        seen[id(one)] = one
        waiting += gc.get_referents(one)
        assert not isinstance(one, (pl.DataFrame, pd.DataFrame, pa.Table)), "it keeps a whole frame alive"
        assert not (isinstance(one, str) and SECRET in one)
        if isinstance(one, pd.Index):
            assert SECRET not in str(list(one))
