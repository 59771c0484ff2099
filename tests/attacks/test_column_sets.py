"""With several sensitive columns each is attacked alone, then their combination, and the worst figure leads."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.every import every

from shoal.attacks import (
    ATTACKS,
    background_knowledge_attack,
    homogeneity_attack,
    inference_attack,
    intersection_attack,
    linking_attack,
    minimality_attack,
    similarity_attack,
    skewness_attack,
)
from shoal.errors import DataError, ParameterError

# In the second group all have one diagnosis, and no two the same salary: the combination is certain for none.
RELEASE = pl.DataFrame(
    {
        "age": ["[20, 29]"] * 3 + ["[30, 39]"] * 3,
        "diagnosis": ["flu", "ulcer", "flu", "cancer", "cancer", "cancer"],
        "salary": [1, 2, 3, 4, 5, 6],
    }
)
PEOPLE = pl.DataFrame(
    {
        "name": list("abcdef"),
        "age": [21, 22, 23, 31, 32, 33],
        "diagnosis": RELEASE["diagnosis"],
        "salary": RELEASE["salary"],
    }
)
BOTH = ["diagnosis", "salary"]
READING: dict[str, Any] = {"quasi_identifiers": ["age"], "sensitive": BOTH}


def certain(rows: list[tuple[Any, ...]], columns: tuple[int, ...]) -> int:
    """Count the records of groups that show one combination of values, slowly."""
    groups = defaultdict(list)
    for row in rows:
        groups[row[0]].append(tuple(row[at] for at in columns))
    return sum(len(values) for values in groups.values() if len(set(values)) == 1)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), st.sampled_from("uvw")), min_size=1, max_size=9
    )
)
def test_each_column_alone_and_the_combination(rows: list[tuple[str, str, str]]) -> None:
    frame = pl.DataFrame(rows, schema=["q", "s", "t"], orient="row")
    found = homogeneity_attack(frame, quasi_identifiers=["q"], sensitive=["s", "t"])
    expected = [certain(rows, columns) for columns in ((1,), (2,), (1, 2))]
    assert [one.sensitive for one in found.each] == [("s",), ("t",), ("s", "t")]
    assert [one.successes for one in found.each] == expected
    assert found.successes == max(expected)
    facts = found.to_dict()
    assert [one["successes"] for one in facts["each"]] == expected
    assert facts["successes"] == max(expected)


@pytest.mark.parametrize("targets", [None, PEOPLE])
def test_the_worst_column_leads(targets: pl.DataFrame | None) -> None:
    found = homogeneity_attack(RELEASE, targets=targets, **READING)
    assert (found.successes, found.sensitive) == (3, ("diagnosis",))
    assert [one.successes for one in found.each] == [3, 0, 0]
    said = found.sentences()
    assert "the value of 'diagnosis' is certain for 3" in said[0]
    assert not any("no one" in sentence for sentence in said)
    assert sum("'salary'" in sentence for sentence in said) == 2, "alone, and in the combination"
    assert "The attack succeeds for none of 6" in " ".join(said)
    assert repr(found) == "AttackResult(homogeneity, 3 of 6, sensitive=['diagnosis'], worst of 3)"


def test_other_attacks_take_each_column() -> None:
    background = background_knowledge_attack(RELEASE, j=1, **READING)
    assert [one.successes for one in background.each] == [6, 0, 0]
    assert background.successes == 6
    # The salary is guessed better by its groups than the diagnosis is; what counts is the gain over the baseline.
    skewed = skewness_attack(RELEASE, **READING)
    assert [one.successes for one in skewed.each] == [5, 2, 2]
    assert [one.baseline.successes for one in skewed.each] == [3, 1, 1]
    assert skewed.sensitive == ("diagnosis",)
    minimal = minimality_attack(RELEASE, PEOPLE, l=2, **READING)
    assert [one.sensitive for one in minimal.each] == [("diagnosis",), ("salary",), ("diagnosis", "salary")]
    assert minimal["largest_belief"] == 1
    assert minimal.rate == max(one.rate for one in minimal.each)
    with pytest.raises(ParameterError, match="takes one sensitive column"):
        similarity_attack(RELEASE, within=1, **READING)


def test_a_column_with_a_common_value_does_not_hide_another() -> None:
    release = pl.DataFrame(
        {"q": ["a", "a", "b", "b"] * 25, "dead": ["no"] * 99 + ["yes"], "ill": ["x", "x", "y", "y"] * 25}
    )
    found = skewness_attack(release, quasi_identifiers=["q"], sensitive=["dead", "ill"])
    assert found.sensitive == ("ill",)
    assert (found.rate, found.baseline.rate) == (1, 0.5)


def test_linking_reports_the_values_of_each_column() -> None:
    found = linking_attack(RELEASE, PEOPLE, identifier="name", truth=list("abcdef"), **READING)
    assert [(one["sensitive"], one["successes"]) for one in found["values_of_each"]] == [
        (["diagnosis"], 3),
        (["salary"], 0),
        (BOTH, 0),
    ]
    assert found["values"]["successes"] == 3
    assert any("For 3 of 6 people, the value of 'diagnosis' is certain" in one for one in found.sentences())
    # A population with one of both columns is enough to check that one.
    some = linking_attack(
        RELEASE[:3], PEOPLE.drop("salary"), identifier="name", truth=list("abc"), incomplete=True, **READING
    )
    assert some["values_of_each"][0]["control"] is not None
    assert some["values_of_each"][1]["control"] is None


@pytest.mark.drawn
def test_inference_takes_each_column() -> None:
    pytest.importorskip("sklearn")
    rows = 60
    people = pl.DataFrame(
        {"q": [at % 4 for at in range(rows)], "s": ["xyzw"[at % 4] for at in range(rows)], "id": [*range(rows)]}
    )
    others = people.with_columns(id=pl.col("id") + 1000)
    found = inference_attack(
        people,
        targets=people,
        controls=others[:1].vstack(people[1:]),
        seed=0,
        quasi_identifiers=["q"],
        sensitive=["s", "id"],
    )
    assert [one.sensitive for one in found.each] == [("s",), ("id",), ("s", "id")]
    assert found.each[0].rate == 1
    # Where a column does not match, the others are attacked, and it is not said to be safe.
    found = inference_attack(
        people, targets=people, controls=others, seed=0, quasi_identifiers=["q"], sensitive=["s", "id"]
    )
    assert found.sensitive == ("s",)
    assert [one["sensitive"] for one in found.to_dict()["not_measured"]] == [["id"], ["s", "id"]]
    said = " ".join(found.sentences())
    assert "Not measured: the value of 'id', because of this: None of the 60 records" in said
    with pytest.raises(DataError, match="do not match"):
        inference_attack(people, targets=people, controls=others, quasi_identifiers=["q"], sensitive="id")


def test_several_releases_are_intersected_for_each_column() -> None:
    releases = [
        pl.DataFrame({"q": ["a", "a"], "s": ["x", "y"], "t": ["u", "v"]}),
        pl.DataFrame({"q": ["a", "a"], "s": ["x", "z"], "t": ["u", "v"]}),
    ]
    people = pl.DataFrame({"id": ["1", "2"], "q": ["a", "a"]})
    asked: dict[str, Any] = {"identifier": "id", "quasi_identifiers": ["q"]}
    found = intersection_attack(releases, [people] * 2, sensitive=["s", "t"], **asked)
    alone = [intersection_attack(releases, [people] * 2, sensitive=one, **asked) for one in ("s", "t")]
    assert [one.vulnerable for one in found.each[:2]] == [one.vulnerable for one in alone] == [2, 0]
    assert found.vulnerable == 2
    assert found.sensitive == ("s",)
    facts = found.to_dict()
    assert [one["vulnerable"] for one in facts["each"]] == [2, 0, 2]
    assert found.disclosed().rows() == [("s", "1", "x", 2), ("s", "2", "x", 2)]


@pytest.mark.drawn
@every(
    ("shown", "true"),
    [
        (["1.50", "2.50"], [1.5, 2.5]),
        (["1,50", "2,50"], ["1.5", "2.5"]),
        (["1,234.50", "2,000.00"], [1234.5, 2000.0]),
        (["31.12.2025", "01.02.2025"], [dt.date(2025, 12, 31), dt.date(2025, 2, 1)]),
        (["2025-12-31", "2025-02-01"], ["31.12.2025", "01.02.2025"]),
        (["01/02/2025", "05/03/2025"], ["2025-02-01", "2025-03-05"]),
        (["7", "12"], ["007", "012"]),
    ],
)
def test_values_match_as_numbers_and_dates(shown: list[str], true: list[Any]) -> None:
    release = pl.DataFrame({"q": ["a", "b"], "s": shown})
    people = pl.DataFrame({"q": ["a", "b"], "s": true})
    found = homogeneity_attack(release, targets=people, quasi_identifiers=["q"], sensitive="s")
    assert (found.successes, found["values_not_shown"]) == (2, 0)
    two = release.with_columns(t=pl.Series(["u", "v"])), people.with_columns(t=pl.Series(["u", "v"]))
    found = homogeneity_attack(two[0], targets=two[1], quasi_identifiers=["q"], sensitive=["s", "t"])
    assert [one.successes for one in found.each] == [2, 2, 2]


def test_what_was_not_measured_is_not_0() -> None:
    reading: dict[str, Any] = {"quasi_identifiers": ["q", "r"], "sensitive": "s"}
    release = pl.DataFrame({"q": ["a", "b"], "r": ["c", "d"], "s": ["x", "y"]})
    # Every value of both columns is shown, and yet no record fits a row.
    people = pl.DataFrame({"q": ["a", "b"], "r": ["d", "c"], "s": ["x", "y"], "id": ["1", "2"]})
    with pytest.raises(DataError, match="nothing was measured"):
        homogeneity_attack(release, targets=people, **reading)
    with pytest.raises(DataError, match="nothing was measured"):
        linking_attack(release, people, identifier="id", incomplete=True, **reading)
    found_by_none = intersection_attack([release], [people], identifier="id", **reading).to_dict()
    assert found_by_none["rate"] is None
    assert ATTACKS["intersection"].sentences(found_by_none)[0].startswith("Not measured")
    # A record whose value is not shown is no success, and that is reported.
    people = pl.DataFrame({"q": ["a", "b"], "r": ["c", "d"], "s": ["x", "z"]})
    found = homogeneity_attack(release, targets=people, **reading)
    assert (found.successes, found["values_not_shown"]) == (1, 1)
    assert any(
        "1 record said to be in the release have a value that it does not show" in one for one in found.sentences()
    )


@pytest.mark.drawn
@pytest.mark.parametrize("form", ["%d.%m.%Y", "%Y-%m-%d", None])
def test_people_whose_dates_and_numbers_are_written_otherwise_match(form: str | None) -> None:
    days = [dt.date(1950 + at, 1 + at, 17 + at) for at in range(6)]
    release = pl.DataFrame(
        {"born": ["[1950-01-01, 1952-12-31]"] * 3 + ["[1953-01-01, 1955-12-31]"] * 3, "pay": ["[0.5, 9.5]"] * 6}
    ).with_columns(s=pl.Series(list("aaabcd")))
    born = pl.Series(days) if form is None else pl.Series(days).dt.strftime(form)
    people = pl.DataFrame({"id": range(6), "born": born, "pay": [f"{at},5" for at in range(1, 7)], "s": release["s"]})
    reading: dict[str, Any] = {"quasi_identifiers": ["born", "pay"], "sensitive": "s"}
    assert homogeneity_attack(release, targets=people, **reading).successes == 3
    assert linking_attack(release, people, identifier="id", **reading)["values"]["successes"] == 3
    assert intersection_attack([release], [people], identifier="id", **reading).vulnerable == 3
    assert minimality_attack(release, people, l=2, **reading).successes == 3
    # Cells that are single values in a form of their own are matched by what they say, too.
    plain = release.with_columns(born=pl.Series(days).dt.strftime("%d/%m/%Y"), pay=pl.Series(["1.50"] * 6))
    assert homogeneity_attack(plain, targets=people.with_columns(pay=pl.lit(1.5)), **reading).successes == 6
