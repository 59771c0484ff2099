"""Ends of intervals and members of sets: no exact value of few records, by any algorithm and for any type."""

from __future__ import annotations

import datetime as dt
import re
from contextlib import nullcontext
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.every import every
from tests.oracles.ends import ends_fitting_one, ends_of_few

import shoal
from shoal.algorithms.algorithm_list import ALGORITHMS
from shoal.errors import InfeasibleError, ReleaseUnsafeError, UnsupportedError
from shoal.hierarchy import BottomCode, Coarsening, TopCode
from shoal.recoding import recode
from shoal.recoding.wide_ends import wide_ends
from shoal.table import Schema, encode
from shoal.verification import Meaning, check_shown_values


def widened(values: Any, least: int, kind: Any = None) -> tuple[list[str | None], list[str | None]]:
    """Return the lower and the upper end from each distinct value; None where there is none."""
    series = pl.Series("q", values, dtype=kind, strict=kind is None)
    (column,) = encode(series.to_frame(), Schema(quasi_identifiers=("q",))).quasi_identifiers
    ends = wide_ends(column, np.bincount(column.codes, minlength=column.size), least)
    return tuple(  # type: ignore[return-value]
        [None if lost else text for text, lost in zip(ends.format_ends(places), ends.lost[side], strict=True)]
        for side, places in enumerate((ends.low, ends.high))
    )


WIDE = 2**62


@every(
    ("values", "least", "low", "high"),
    [
        # A value that enough records have stays; others go to the end of the first cell that has enough.
        ([20, 20, 20, 21, 23, 60], 3, "20 20 20 0", "20 21 24 99"),
        ([31, 34, 35, 38, 50, 50], 2, "30 34 34 35 50", "34 35 35 39 50"),
        # Below zero cells end just below it; the outermost are joined with the next, not if of one value.
        ([-7, -6, -6, -1, 3, 4], 2, "-8 -6 -10 0 0", "-6 -6 -1 4 5"),
        ([41, 42, 42, 42, 43, 43, 43, 46], 3, "40 42 43 40", "44 42 43 49"),
        ([-300, 1, 2, 3], 3, "-500 0 0 0", "499 4 3 3"),
        # All others are on the other side of zero.
        ([-3, -2, 8, 9, 11], 3, "-10 -10 0 0 0", "9 9 19 19 11"),
        # Cells of decimals end where the next one starts.
        ([1.5, 2.25, 2.5, 7.0], 2, "1.5 2.0 2.0 0.0", "5.0 2.5 2.5 10.0"),
        ([0.1, 0.2, 0.30000000000000004], 2, "0.1 0.2 0.2", "0.2 0.2 0.4"),
        ([1e300, 2e300, 3.5e-9], 2, "0.0 0.0 0.0", "1e+300 1e+300 2e+300"),
        (["0.50", "1.00", "1.50"], 2, "0.5 1 1", "1 1 1.5"),
        ([WIDE, WIDE + 1, -WIDE], 2, f"-5{'0' * 18} {WIDE} {WIDE}", f"4{'9' * 18} {WIDE + 1} {WIDE + 1}"),
        # A month, a quarter, a year, decades; a day that others have stays.
        ([dt.date(1987, 3, 12), dt.date(1987, 3, 20), dt.date(1999, 1, 1)], 2, "1987-03-01 1987-03-01 1980-01-01",
         "1987-03-31 1987-03-31 1999-12-31"),
        ([dt.date(1990, 1, 30), dt.date(1990, 3, 2), dt.date(1994, 1, 1), dt.date(1994, 1, 1), dt.date(1994, 12, 31)],
         2, "1990-01-01 1990-01-01 1994-01-01 1994-01-01", "1990-03-31 1990-03-31 1994-01-01 1994-12-31"),
        # The first and the last year that there are.
        ([dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(9999, 12, 30)], 2, "0001-01-01 9999-12-01 9999-12-01",
         "9999-12-31 9999-12-31 9999-12-31"),
        ([dt.datetime(2020, 1, 31, 23, 59, 30), dt.datetime(2020, 2, 1), dt.datetime(2020, 2, 1, 0, 0, 9)], 2,
         "2020-01-31T23:59:00 2020-02-01T00:00:00 2020-02-01T00:00:00",
         "2020-02-01T00:00:00 2020-02-01T00:00:00 2020-02-01T00:01:00"),
        # Other orders: so many values as have enough records; there may be none.
        ([dt.time(8), dt.time(9), dt.time(9), dt.time(10)], 2, "- 09:00:00 09:00:00", "09:00:00 09:00:00 -"),
        (pl.Series(list("low"), dtype=pl.Enum(list("owl"))), 2, "- o w", "w l -"),
        # Too few have a value at all.
        ([1, 2, None, None, None], 3, "- -", "- -"),
    ],
)  # fmt: skip
def test_ends(values: Any, least: int, low: str, high: str) -> None:
    found = widened(values, least)
    assert [" ".join(end or "-" for end in side) for side in found] == [low, high]


def test_as_many_decimals_as_the_type_has() -> None:
    values = pl.Series([1, 12, 13, 27]).cast(pl.Decimal(10, 2)) / 10
    assert widened(values.cast(pl.Decimal(10, 2)), 2)[0] == ["0.00", "1.20", "1.20", "0.00"]


def people(rows: int = 3000, seed: int = 7) -> pl.DataFrame:
    """Return made-up people with exact birth dates."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "born": [dt.date(1930, 1, 1) + dt.timedelta(days=int(day)) for day in rng.integers(0, 27_000, rows)],
            "sex": rng.choice(["f", "m"], rows),
            "zip": rng.integers(10_000, 10_300, rows),
            "disease": rng.choice(["flu", "cold", "ulcer"], rows),
        }
    )


REQUEST: dict[str, Any] = {"sensitive": "disease", "recoding": "generalization", "seed": 1}
NAMES = ["born", "sex", "zip"]


def shown(release: shoal.Release, table: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the published quasi-identifiers, and the same columns of the rows that they stand for."""
    names = release.certificate.input["quasi_identifiers"]
    return release.data.select(names).cast(pl.String), table[release.rows].select(names)


@pytest.mark.drawn
def test_exact_birth_dates() -> None:
    """An end of a smallest interval and the other cells of its group are one person's; a wider one's are chance's."""
    table = people()
    asked = REQUEST | {"quasi_identifiers": NAMES, "k": 5, "algorithm": "mondrian"}
    exact = shoal.anonymize(table, **asked, exact_ends=True)
    ends, alone = ends_fitting_one(*shown(exact, table), "born")
    assert alone > 0.99 * ends > 900
    wide = shoal.anonymize(table, **asked)
    ends, alone = ends_fitting_one(*shown(wide, table), "born")
    assert ends > 400
    assert alone < 0.05 * ends
    assert ends_of_few(*shown(exact, table), 5)
    assert not ends_of_few(*shown(wide, table), 5)
    # What that costs, and who is told.
    assert exact.metrics.gcp < wide.metrics.gcp < 1.05 * exact.metrics.gcp
    (warning,) = [one for one in exact.warnings if one.code == "exact_ends"]
    assert "of 3,000 records are singled out" in warning.text
    assert "without exact_ends=True" in warning.text
    assert not warning.kind.public
    assert all(one.code != "exact_ends" for one in wide.warnings)
    assert wide.certificate.parameters["shared_by"] == 5
    assert wide.public_certificate.to_dict()["parameters"]["shared_by"] == 5
    assert "shared_by" not in exact.certificate.parameters


def mixed(rows: int, seed: int) -> pl.DataFrame:
    """Return a small table with columns of many types, some of whose values many records have."""
    rng = np.random.default_rng(seed)
    spread = int(rng.integers(3, 4 * rows))
    days = [dt.date(1998, 11, 5) + dt.timedelta(days=int(day)) for day in rng.integers(0, 40 * spread, rows)]
    return pl.DataFrame(
        {
            "age": rng.integers(-5, spread, rows),
            "pay": np.round(rng.normal(0, spread, rows), int(rng.integers(0, 5))),
            "born": days,
            "seen": [dt.datetime(2020, 1, 31) + dt.timedelta(hours=int(one)) for one in rng.integers(0, spread, rows)],
            "rank": pl.Series(rng.choice(list("dcba"), rows), dtype=pl.Enum(list("dcbaz"))),
            "town": rng.choice(["Aa", "Bb", "Cc", "Dd, E"], rows, p=[0.5, 0.3, 0.15, 0.05]),
            "part": [None if one == 0 else int(one) for one in rng.integers(0, spread, rows)],
            "disease": rng.choice(["flu", "cold", "ulcer"], rows),
        }
    )


@settings(max_examples=40)
@given(
    algorithm=st.sampled_from(["mondrian", "mondrian-relaxed", "hilbert", "cluster", "tp", "tp+", "m-approximation"]),
    names=st.sets(st.sampled_from(["age", "pay", "born", "seen", "rank", "town", "part"]), min_size=1, max_size=3),
    privacy=st.sampled_from([shoal.KAnonymity(2), shoal.KAnonymity(5), shoal.LDiversity(2)]),
    rows=st.integers(6, 60),
    seed=st.integers(0, 10_000),
)
@example("mondrian", {"age", "pay", "rank"}, shoal.KAnonymity(2), 7, 1)  # an order without a grid
@example("mondrian", {"age"}, shoal.KAnonymity(2), 45, 46)  # two ages below zero, and one of zero
def test_by_any_algorithm(algorithm: str, names: set[str], privacy: Any, rows: int, seed: int) -> None:
    table = mixed(rows, seed).select(*sorted(names), "disease")
    asked = REQUEST | {"quasi_identifiers": sorted(names), "algorithm": algorithm}
    try:
        release = shoal.anonymize(table, privacy=privacy, **asked)
    except (InfeasibleError, UnsupportedError):
        return
    assert not ends_of_few(*shown(release, table), release.certificate.parameters["shared_by"])


@every("algorithm", ALGORITHMS, drawn=True)
def test_every_algorithm(algorithm: str) -> None:
    table = people(16 if algorithm in ("exact", "milp") else 200)
    privacy: list[Any] = [shoal.KAnonymity(2)]
    asked = REQUEST | {"quasi_identifiers": NAMES, "algorithm": algorithm, "privacy": privacy}
    try:
        release = shoal.anonymize(table, **asked)
    except UnsupportedError:
        return
    climbs = "shared_by" not in release.certificate.parameters
    assert climbs == (algorithm in ("tds", "full-domain"))
    if not climbs:
        assert not ends_of_few(*shown(release, table), 3)


@every(
    ("privacy", "least"),
    [
        ([shoal.KAnonymity(7)], 7),
        ([shoal.KAnonymity(2), shoal.LDiversity(3)], 3),
        ([shoal.LDiversity(2)], 3),
        ([shoal.LDiversity(4, variant="distinct")], 4),
        ([shoal.LDiversity(3.5, variant="entropy")], 4),
        ([shoal.TCloseness(0.4)], 3),
    ],
    drawn=True,
)
def test_how_many_records(privacy: list[Any], least: int) -> None:
    """The k that is asked for, else what the models imply, and at least three."""
    table = people(300).with_columns(disease=pl.Series([*range(6)] * 50))
    release = shoal.anonymize(table, quasi_identifiers=NAMES, privacy=privacy, **REQUEST)
    assert release.certificate.parameters["shared_by"] == least


@pytest.mark.drawn
def test_what_a_coarsening_made_stays() -> None:
    """Bands show no exact values: their ends are as wide as was asked for; values below a top code are exact."""
    table = people(60).drop("sex")
    asked = REQUEST | {"quasi_identifiers": ["born", "zip"], "k": 5, "algorithm": "mondrian"}
    bands = {"born": shoal.DatePart("month"), "zip": shoal.Bins(10)}
    both = [shoal.anonymize(table, **asked, coarsen=bands, exact_ends=exact) for exact in (True, False)]
    assert both[0].data.equals(both[1].data)
    assert not [one for one in both[0].warnings if one.code == "exact_ends"]
    top = {"zip": shoal.TopCode(10_280)}
    both = [shoal.anonymize(table, **asked, coarsen=top, exact_ends=exact) for exact in (True, False)]
    assert not both[0].data["zip"].equals(both[1].data["zip"])


@every("recoding", ["suppression", "generalization"], drawn=True)
@every(
    ("coarsen", "names"),
    [
        ({"born": shoal.grouping.Ordered(k=5)}, ["born"]),
        ({"pay": shoal.grouping.Ordered(k=2)}, ["pay"]),
        ({("pay", "zip"): shoal.grouping.Points(k=5)}, ["pay", "zip"]),
    ],
)
def test_classes_end_at_no_exact_value(coarsen: Any, names: list[str], recoding: Any) -> None:
    table = people(300).with_columns(pay=pl.Series(np.random.default_rng(3).normal(0, 900, 300).round(1)))
    asked: dict[str, Any] = {"quasi_identifiers": names, "sensitive": "disease", "insensitive": "rest", "k": 5}
    asked |= {"recoding": recoding, "algorithm": "mondrian", "coarsen": coarsen, "seed": 1}
    release = shoal.anonymize(table, **asked)
    assert release.data[names[0]].cast(pl.String).str.starts_with("[").any()
    assert not ends_of_few(*shown(release, table), 5)
    assert release.public_certificate.to_dict()["parameters"]["shared_by"] == 5
    exact = shoal.anonymize(table, **asked, exact_ends=True)
    assert ends_of_few(*shown(exact, table), 5) or set(exact.data[names[0]]) == {"*"}
    # Who is singled out is counted as of any other interval.
    alone = sum(ends_fitting_one(*shown(exact, table), name)[1] for name in names)
    assert (alone > 0) == any(one.code == "exact_ends" for one in exact.warnings)
    assert all(one.code != "exact_ends" for one in release.warnings)


def test_people_at_the_ends_of_classes_are_counted() -> None:
    pay = [*range(100, 110), *range(200, 210), 150, 150]
    table = pl.DataFrame({"pay": pay, "disease": ["a", "b"] * 11})
    asked: dict[str, Any] = {"quasi_identifiers": ["pay"], "coarsen": {"pay": shoal.grouping.Ordered(k=10)}, "k": 10}
    made = shoal.anonymize(table, sensitive="disease", exact_ends=True, **asked)
    assert set(made.data["pay"]) == {"[100, 109]", "[150, 209]"}
    (warning,) = [one for one in made.warnings if one.code == "exact_ends"]
    assert "3 of 22 records are singled out" in warning.text, "two people have 150"


def test_the_exact_age_of_the_oldest_person_is_no_end() -> None:
    ages = [17, *[18] * 6, *[20] * 6, *[21] * 9, 22]
    table = pl.DataFrame({"age": ages, "disease": ["abcd"[row % 4] for row in range(len(ages))]})
    release = shoal.anonymize(
        table, quasi_identifiers=["age"], sensitive="disease", k=5, recoding="generalization", seed=1
    )
    shown = " ".join(release.data["age"].cast(pl.String).unique())
    assert "[" in shown
    assert "17" not in shown
    assert "22" not in shown
    cells = pl.DataFrame({"age": ["[17, 18]"] * 7 + ["[20, 22]"] * 16})
    with pytest.raises(ReleaseUnsafeError, match="2 of 'age'"):
        check_shown_values(cells, table, np.arange(23), meanings={"age": Meaning(kind="values")}, least=5)


def test_a_class_with_an_exact_end_is_not_written() -> None:
    table = pl.DataFrame({"age": [21, 22, 22, 23, 28, 30, 30, 31, 35]})
    meanings = {"age": Meaning.of(shoal.grouping.Ordered(k=4))}
    for cells, fails in ((["[20, 23]", "[20, 39]"], False), (["[21, 23]", "[28, 35]"], True)):
        made = pl.DataFrame({"age": [cells[0]] * 4 + [cells[1]] * 5})
        if fails:
            with pytest.raises(ReleaseUnsafeError, match="3 of 'age'"):
                check_shown_values(made, table, np.arange(9), meanings=meanings, least=3)
        else:
            check_shown_values(made, table, np.arange(9), meanings=meanings, least=3)


@pytest.mark.parametrize(
    "more",
    [{"coarsen": {"pay": shoal.Bins(quantiles=16)}, "algorithm": "mondrian"}, {"algorithm": "tds"},
     {"algorithm": "full-domain"}],
)  # fmt: skip
def test_quantiles_are_round_numbers_between_records(more: dict[str, Any]) -> None:
    """The hierarchies that an algorithm makes by itself consist of quantiles, too."""
    pay = 10_003 + 17 * np.random.default_rng(5).permutation(600)
    table = people(600).select("disease", pay=pl.Series(pay))
    made = shoal.anonymize(table, **(REQUEST | {"quasi_identifiers": ["pay"], "k": 5} | more))
    cuts = {int(text) for cell in made.data["pay"].cast(pl.String).unique() for text in re.findall(r"\d+", cell)}
    assert len(cuts) > 10
    assert not cuts & set(pay.tolist())


def test_a_set_with_a_rare_member_becomes_a_star() -> None:
    table = pl.DataFrame({"town": ["a", "b"] * 6 + ["rare"] + ["a"] * 3 + ["d"] * 4, "disease": ["x", "y"] * 10})
    columns = encode(table, Schema(quasi_identifiers=("town",), sensitive=("disease",)))
    groups = np.repeat(np.arange(5, dtype=np.int32), 4)
    for least, labels in ((1, ["a", "{a, b}", "{a, rare}", "d"]), (3, ["{a, b}", "d", "*"])):
        (column,) = recode(columns, groups, 5, method="generalization", shared_by=least).columns
        assert column.labels.to_list() == [label for label in labels if label != "a"]


def test_intervals_that_cannot_end_anywhere_are_refused_before_the_search() -> None:
    for values in ([1, 2], [1, 2, None, None]):
        table = pl.DataFrame({"age": values})
        asked: dict[str, Any] = {"quasi_identifiers": ["age"], "k": 2, "coarsen": {"age": shoal.grouping.Ordered(k=2)}}
        with pytest.raises(InfeasibleError, match="would end at values that fewer than 3 records have"):
            shoal.anonymize(table, **asked)
        assert shoal.anonymize(table, **asked, exact_ends=True).data["age"][0] is not None


def test_a_release_that_shows_the_value_of_few_is_not_written() -> None:
    born = [dt.date(1990, 1, 1) + dt.timedelta(days=37 * place) for place in range(12)]
    table = pl.DataFrame({"born": born, "town": list("aaaabbbbcccd")})
    rows = np.arange(12)
    meanings = {"born": Meaning(kind="values"), "town": Meaning(kind="values")}

    def check(born: list[str], town: list[str], **more: Any) -> None:
        cells = pl.DataFrame({"born": born, "town": town})
        check_shown_values(cells, table, rows, meanings=meanings, least=3, **more)

    wide = ["[1990-01-01, 1990-12-31]"] * 4 + ["[1990-01-01, 1991-03-31]"] * 8
    check(wide, ["a"] * 4 + ["{b, c}"] * 7 + ["*"])
    check(wide, list("aaaabbbbcccd"))
    with pytest.raises(ReleaseUnsafeError, match=r"fewer than 3 records have.*: 2 of 'born', 1 of 'town'"):
        check(["[1990-01-01, 1990-04-22]"] * 4 + ["[1990-05-29, 1991-03-31]"] * 8, ["*"] * 8 + ["{c, d}"] * 4)
    # So many of each: enough in all.
    check(["[1990-01-01, 1990-04-22]"] * 12, ["*"] * 8 + ["{c, d}"] * 4, times=np.full(12, 3))


def test_ends_at_months_are_those_of_the_oracle() -> None:
    """Records in [start, end] with ends at months, years and days; some have an end that few records have."""
    meanings, outcomes = {"born": Meaning(kind="values")}, set()
    for seed in range(40):
        rng = np.random.default_rng(seed)
        days = rng.integers(0, rng.choice([200, 1500]), 15)
        born = sorted(dt.date(1990, 1, 1) + dt.timedelta(days=int(day)) for day in days)
        cells = []
        for first, last in zip(born[::5], born[4::5], strict=True):
            start = first.replace(day=1, month=1 if rng.random() < 0.3 else first.month)
            end = last.replace(month=12, day=31) if rng.random() < 0.3 else last
            if rng.random() < 0.95:  # the last day of the month
                end = (end.replace(day=1) + dt.timedelta(days=31)).replace(day=1) - dt.timedelta(days=1)
            cells += [f"[{start}, {end}]"] * 5
        made, table = pl.DataFrame({"born": cells}), pl.DataFrame({"born": born})
        few_have = ends_of_few(made, table, 3)
        outcomes.add(bool(few_have))
        with pytest.raises(ReleaseUnsafeError) if few_have else nullcontext():
            check_shown_values(made, table, np.arange(15), meanings=meanings, least=3)
    assert outcomes == {False, True}


@pytest.mark.drawn
def test_with_parts_and_by_a_plan(tmp_path: Any) -> None:
    """The engine that reads in pieces publishes the same; another table by the plan shows the plan's ends."""
    table = people(600)
    asked = REQUEST | {"quasi_identifiers": NAMES, "k": 5, "algorithm": "mondrian"}
    release = shoal.anonymize(table, **asked)
    path = tmp_path / "table.parquet"
    table.write_parquet(path)
    streamed = shoal.anonymize(path, **asked, engine="stream")
    assert streamed.data.collect().cast(pl.String).equals(release.data.cast(pl.String))
    others = people(600, seed=8)
    applied = shoal.apply(release.plan, others, misfits="suppress")
    assert set(applied.data["born"].cast(pl.String)) <= {*release.data["born"].cast(pl.String), "*"}
    assert applied.certificate.parameters["shared_by"] == 5, "of the records that the plan was made for"
    assert all(one.code != "exact_ends" for one in applied.warnings)


@pytest.mark.drawn
def test_classes_by_a_plan() -> None:
    table = people(400)
    asked = REQUEST | {"quasi_identifiers": NAMES, "k": 5, "algorithm": "mondrian"}
    asked |= {"coarsen": {"born": shoal.grouping.Ordered(k=20)}}
    release = shoal.anonymize(table, **asked)
    applied = shoal.apply(release.plan, table[:200], misfits="suppress")
    assert set(applied.data["born"].cast(pl.String)) <= {*release.data["born"].cast(pl.String), "*"}


@pytest.mark.parametrize("coarsening", [BottomCode(20), TopCode(90), BottomCode(30), TopCode(60)])
def test_ends_beside_a_top_or_bottom_code_are_on_the_grid_or_shared(coarsening: Coarsening) -> None:
    table = pl.DataFrame({"age": [None, 70, 56, 29, 34, None, 71, 57, 41], "s": list("aabbaabab")})
    made = shoal.anonymize(
        table,
        quasi_identifiers=["age"],
        sensitive="s",
        k=2,
        algorithm="mondrian",
        recoding="generalization",
        coarsen={"age": coarsening},
        seed=0,
    )
    ends = {int(end) for cell in made.data["age"].drop_nulls() for end in re.findall(r"\b\d\d\b", cell)}
    assert ends
    assert all(end % 10 in (0, 9) for end in ends), "every end is one of the grid, or a code"
