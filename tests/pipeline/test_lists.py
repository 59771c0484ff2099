"""Records with several sensitive values: what is promised of each value of a list."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.every import THOROUGH, every, some
from tests.oracles.linked import bundles_of, list_shares, shares_within, within_limits

import shoal
from shoal.errors import ColumnError, DataError, InfeasibleError, ParameterError, ReleaseUnsafeError, UnsupportedError
from shoal.models.counting import Records
from shoal.models.requirement import Requirement
from shoal.verification import MeasuredTable
from shoal.verification.linked_rows import find_bundles

ROLES: dict[str, Any] = {"quasi_identifiers": ["age", "ward"], "sensitive": "codes", "lists": {"codes": ";"}}


def patients(seed: int, rows: int, codes: str = "abcdefghij") -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    lists = ["; ".join(rng.choice(list(codes), rng.integers(1, 4), replace=False)) for _ in range(rows)]
    return pl.DataFrame({"age": rng.integers(20, 30, rows), "ward": rng.choice(["x", "y"], rows), "codes": lists})


def records_of(frame: pl.DataFrame) -> list[tuple[tuple[Any, ...], list[str]]]:
    rows = frame.select("age", "ward", "codes").rows()
    return [((age, ward), [one.strip() for one in cell.split(";") if one.strip()]) for age, ward, cell in rows]


@every("recoding", ["suppression", "generalization"])
def test_each_value_of_a_list_is_within_the_limit(recoding: Any) -> None:
    refused = 0
    for seed in some(range(40)):
        rows, k, l = 6 + seed % 20, seed % 3 + 1, seed % 2 + 2
        table = patients(seed, rows, "abcdef" if seed % 4 else "abcdefghij")
        try:
            release = shoal.anonymize(table, **ROLES, k=k, l=l, recoding=recoding, seed=seed)
        except InfeasibleError:
            most = max(Counter(value for _, values in records_of(table) for value in values).values())
            assert most * l > rows or max(k, l) > rows
            refused += 1
            continue
        records = records_of(release.data)
        assert min(Counter(known for known, _ in records).values()) >= k
        assert within_limits(list_shares(records), l)
        assert sorted(release.data["codes"]) == sorted(table["codes"])
        assert release.certificate.cost.bound.stars <= release.certificate.cost.recoded_cells
    assert 0 < refused < 40 or not THOROUGH


@pytest.mark.parametrize(
    ("privacy", "t", "beta"),
    [([shoal.TCloseness(0.25)], Fraction(1, 4), None), ([shoal.BetaLikeness(1), shoal.KAnonymity(2)], 1, Fraction(1))],
)
def test_distances_count_records_with_a_value(privacy: Any, t: Any, beta: Any, tmp_path: Path) -> None:
    release = shoal.anonymize(patients(3, 60), **ROLES, privacy=privacy, seed=1, output=tmp_path / "out")
    assert within_limits(list_shares(records_of(release.data)), 1, t, beta)
    public = release.public_certificate.to_dict()
    assert "alone or among others" in public["guarantee"]["text"]
    assert public["achieved"]["lists"]["units"] == 60
    assert public["parameters"]["lists"] == {"codes": ";"}
    assert any("several sensitive values" in one for one in public["guarantee"]["reservations"])
    assert "of each value of a list" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_whole_cells_would_not_be_enough() -> None:
    """Four different lists with one value in common: 4-diverse as cells, and the value is certain."""
    table = pl.DataFrame({"age": [30] * 4 + [40] * 4, "ward": ["x"] * 8, "codes": ["a;b", "a;c", "a", "d;a", *"efgh"]})
    whole = shoal.anonymize(table, quasi_identifiers=["age", "ward"], sensitive="codes", l=2, seed=1)
    assert not within_limits(list_shares(records_of(whole.data)), 2)
    release = shoal.anonymize(table, **ROLES, l=2, seed=1)
    assert within_limits(list_shares(records_of(release.data)), 2)


def test_columns_of_lists_are_published_as_text() -> None:
    table = patients(5, 40)
    lists = table.with_columns(pl.col("codes").str.split("; "))
    release = shoal.anonymize(lists, **ROLES, l=2, seed=1)
    assert within_limits(list_shares(records_of(release.data)), 2)
    assert release.data["codes"].dtype == pl.String
    with pytest.raises(DataError, match="separator"):
        shoal.anonymize(lists.with_columns(codes=pl.lit(["a;b"])), **ROLES, l=2)


@pytest.mark.parametrize("empty", ["", " ; ", []])
def test_an_empty_list_is_a_value_and_null_is_a_missing_one(empty: Any) -> None:
    """Four records, each with a value of its own, of which "none" is one, as often as `missing_sensitive` allows."""
    cells = [["a", "b"], ["c"], ["d"]] if empty == [] else ["a;b", "c", "d"]
    asked: dict[str, Any] = {"quasi_identifiers": ["age"], "sensitive": "codes", "lists": {"codes": ";"}, "l": 4}
    table = pl.DataFrame({"age": [1] * 4, "codes": [*cells, empty]})
    for missing in ("error", "drop", "value"):
        made = shoal.anonymize(table, **asked, missing_sensitive=missing, seed=1)
        assert made.certificate.achieved["lists"]["l"] == {"codes": 4.0}
    with pytest.raises(DataError, match="no sensitive value"):
        shoal.anonymize(table.vstack(pl.DataFrame({"age": [1], "codes": [None]}, schema=table.schema)), **asked, seed=1)


def test_lists_of_linked_rows() -> None:
    table = patients(5, 60).with_columns(pcode=pl.int_range(60) // 2)
    release = shoal.anonymize(table, **ROLES, person="pcode", link=True, k=2, l=2, seed=1)
    rows = list(zip(release.data["pseudonym"], records_of(release.data), strict=True))
    values = {unit: {value for one, (_, held) in rows if one == unit for value in held} for unit, _ in rows}
    bundles = bundles_of([(unit, known, None) for unit, (known, _) in rows])
    assert min(map(len, bundles)) >= 2
    assert within_limits(shares_within(values, bundles), 2)
    # An audit that took whole lists for values would state a larger l.
    assert shoal.audit(release).achieved.to_dict()["linked"] == release.certificate.achieved["linked"]
    # With k alone, too: everybody has a value that occurs in different lists.
    table = pl.DataFrame({"id": range(6), "age": [1] * 6, "codes": ["a;b", "a;c", "a"] * 2})
    asked: dict[str, Any] = {"quasi_identifiers": ["age"], "sensitive": ["codes"], "lists": {"codes": ";"}, "seed": 1}
    for more in ({"person": "id", "link": True}, {"direct_identifiers": ["id"]}):
        release = shoal.anonymize(table, **asked, **more, k=3)
        achieved = release.certificate.achieved["linked" if "link" in more else "lists"]
        assert achieved["l"] == {"codes": 1.0}
        if "person" not in more:
            assert shoal.audit(release).achieved.to_dict()["lists"] == achieved


def test_lists_of_one_record_of_each_person() -> None:
    table = patients(5, 60).with_columns(pcode=pl.int_range(60) // 2)
    release = shoal.anonymize(table, **ROLES, person="pcode", rows_per_person=1, k=2, l=2, seed=1)
    assert release.data.height == 30
    assert within_limits(list_shares(records_of(release.data)), 2)
    assert [one["of"] for one in release.certificate.requested] == ["one_record_each", "lists"]


def test_verification_reads_lists_by_itself() -> None:
    frame = pl.DataFrame({"age": [1, 1, 1, 2], "codes": ["a; b", "b;;c ", None, ";"]})
    roles: dict[str, Any] = {"quasi_identifiers": ["age"], "sensitive": ["codes"], "separators": {"codes": ";"}}
    found = find_bundles(frame, pseudonym=None, **roles)
    assert (found.persons, found.bundles, found.k) == (4, 2, 1)
    # A list without any value has a missing one.
    assert found.largest_share("codes") == 1
    assert find_bundles(frame[:3], pseudonym=None, **roles).largest_share("codes") == Fraction(2, 3)
    (failure,) = found.failures([shoal.LDiversity(2)])
    assert (failure.numbers.tolist(), failure.first_rows.tolist()) == ([1, 2], [1, 4])
    asked = Requirement.of(shoal.LDiversity(2), ["codes"], Records(separators={"codes": ";"}))
    with pytest.raises(ReleaseUnsafeError, match="l-diversity"):
        MeasuredTable(frame, ["age"], ["codes"], asked).verify()


@pytest.mark.parametrize(
    ("changed", "error", "says"),
    [
        ({"lists": {"ward": ";"}}, ColumnError, "not sensitive"),
        ({"privacy": shoal.LDiversity(2, variant="distinct")}, UnsupportedError, "lists of values"),
        ({"direct_identifiers": (), "person": "pcode", "k": 2}, UnsupportedError, "one record"),
        ({"engine": "stream"}, ParameterError, "pieces"),
    ],
)
def test_what_lists_do_not_serve_is_refused(
    changed: dict[str, Any], error: type[Exception], says: str, tmp_path: Path
) -> None:
    path = tmp_path / "patients.csv"
    patients(5, 30).with_row_index("pcode").write_csv(path)
    with pytest.raises(error, match=says):
        shoal.anonymize(path, **{**ROLES, "direct_identifiers": ["pcode"], "l": 2} | changed)


@every("name", ["lists", "coarsen", "link"])
def test_only_anonymize_does_it(name: str) -> None:
    """Others would take whole cells, rows and dates, and report figures of something else."""
    asked = {"lists": {"codes": ";"}, "coarsen": {"age": shoal.SinceFirst()}, "link": True}
    roles = {**ROLES, "lists": None, name: asked[name]} | ({} if name == "lists" else {"person": "pcode"})
    with pytest.raises(UnsupportedError, match="explore does not"):
        shoal.explore(patients(5, 30).with_row_index("pcode"), **roles, k=2)


def test_a_plan_of_lists_is_not_applied() -> None:
    release = shoal.anonymize(patients(5, 30), **ROLES, l=2, seed=1)
    with pytest.raises(UnsupportedError, match="lists of values"):
        shoal.apply(release.plan, patients(6, 30))
