"""Bad input of `shoal risk` and `shoal attack`: the message names the column and says what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

SECRET = "Zyzzyva"
TABLE = f"""name,age,sex,w,home,ill
{SECRET} a,30,f,2,1,flu
{SECRET} b,31,m,3,1,flu
{SECRET} c,30,f,4.5,2,ulcer
"""
PEOPLE = "age,sex\n30,f\n31,m\n30,f\n44,m\n"
COARSE = """name,age,sex,ill
a,"[30, 39]",f,flu
b,"[30, 39]",*,flu
c,"[30, 39]",*,ulcer
"""


@pytest.fixture
def asked(shoal: Any, tmp_path: Path) -> Any:
    """Return what asks for the risk of the table, changed, with options; `people` is the population."""

    def ask(*words: object, change: tuple[str, str] = ("", ""), people: str = PEOPLE, command: str = "risk") -> str:
        (tmp_path / "table.csv").write_text(TABLE.replace(*change) if change[0] else TABLE)
        (tmp_path / "people.csv").write_text(people)
        (tmp_path / "coarse.csv").write_text(COARSE)
        named = [tmp_path / word if str(word).endswith(".csv") else word for word in words]
        found = shoal(*command.split(), *named, "--qi", "age,sex")
        assert found.code == 2, found.out
        said = " ".join(found.err.split())
        assert SECRET not in said
        return said

    return ask


@pytest.mark.parametrize("share", ["0", "-0.1", "1.01", "nan"])
def test_a_sampling_fraction_is_above_0_and_at_most_1(asked: Any, share: str) -> None:
    said = asked("table.csv", "--sampling-fraction", share)
    assert f"--sampling-fraction must be a number > 0 and <= 1. Got {share}." in said


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (
            "0.5",
            "The column 'w' (survey weights) has a weight below 1 in 1 row(s): 2 (counted from 1). A weight is the",
        ),
        ("-3", "The column 'w' (survey weights) has a weight below 1 in 1 row(s): 2"),
        (
            "",
            "The column 'w' (survey weights) has no weight in 1 row(s): 2 (counted from 1). Fill it, or drop the row.",
        ),
        ("many", "has no finite number in 1 row(s): 2 (counted from 1). Write weights as plain numbers"),
    ],
)
def test_weights_are_there_and_at_least_1(asked: Any, weight: str, message: str) -> None:
    assert message in asked("table.csv", "--weights", "w", change=(",m,3,", f",m,{weight},"))


def test_a_household_in_every_row(asked: Any) -> None:
    said = asked("table.csv", "--weights", "w", "--household", "home", change=(",3,1,", ",3,,"))
    assert "The column 'home' (households) has no value in 1 row(s): 2 (counted from 1). Give every person" in said
    assert "name the survey weights with --weights" in asked("table.csv", "--household", "home")


@pytest.mark.drawn
@pytest.mark.parametrize("stars", ["own", "wildcard"])
@pytest.mark.parametrize(
    ("people", "message"),
    [
        ("age,sex\n30,f\n31,m\n", "has 2 row(s), fewer than the 3 of the table. It must contain every person"),
        ("age,gender\n30,f\n31,m\n30,f\n", "The population has no column 'sex', which is a quasi-identifier"),
        ("age,sex\n30,f\n77,m\n30,f\n", "The columns that do not match: 'age' (1 row(s)"),
        ("age,sex\n30,f\n31,m\n31,f\n", "1 row(s) of the table"),
    ],
)
def test_a_population_holds_everybody_of_the_table(asked: Any, stars: str, people: str, message: str) -> None:
    said = asked("table.csv", "--population", "people.csv", "--stars", stars, people=people)
    assert message in said
    assert (
        "Give a population of the same people" in said or "It must contain every person" in said or "Rename it" in said
    )


@pytest.mark.parametrize("words", [("--suda", 2), ("--log-linear", "two-way", "--sampling-fraction", 0.5)])
def test_true_values_are_needed(asked: Any, words: tuple[object, ...]) -> None:
    said = asked("coarse.csv", "--stars", "wildcard", *words)
    assert "2 column(s) have cells that represent several: 'age', 'sex'. Give the original table, or count" in said
    assert "--stars own" in said


def test_people_have_true_values(asked: Any) -> None:
    message = "of the people has stars, intervals, sets or nodes as the release has, in 3 row(s)"
    attacked = ("coarse.csv", "--sensitive", "ill")
    assert f"'age' {message}" in asked(*attacked, "--targets", "coarse.csv", command="attack --method homogeneity")
    said = asked(*attacked, "--population", "coarse.csv", "--id", "name", command="attack --method linking")
    assert f"'age' {message}" in said
    assert "Give the table as it was before it was generalized or suppressed." in said
    said = asked("coarse.csv", "--population", "coarse.csv", "--stars", "wildcard")
    assert "The column 'age' of the population has stars" in said
