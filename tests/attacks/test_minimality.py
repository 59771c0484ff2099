"""Minimality: the example of Wong, Fu, Wang and Pei, all tables of small groups, and algorithms of shoal."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from tests.every import some
from tests.oracles.attacks import credibility

import shoal
from shoal.attacks import minimality_attack
from shoal.attacks.minimality import Merged, compute_merged_beliefs, find_largest_belief, list_arrangements
from shoal.attacks.minimality.formula import Part
from shoal.errors import DataError, InfeasibleError, ParameterError, UnsupportedError

PEOPLE = pl.DataFrame({"q": ["q1", "q1", "q2", "q2", "q2", "q2"]})
LOCAL = pl.DataFrame({"q": ["*"] * 4 + ["q2"] * 2, "cancer": ["yes", "yes", "no", "no", "no", "no"]})
GLOBAL = pl.DataFrame({"q": ["*"] * 6, "cancer": ["yes", "yes", "no", "no", "no", "no"]})
READING = {"quasi_identifiers": ["q"], "sensitive": "cancer"}


@pytest.mark.parametrize("release", [LOCAL, GLOBAL])
def test_the_example_of_the_paper(release):
    """Two people have q1 and four q2; two have cancer. Only where both are q1's did anything have to be merged."""
    found = minimality_attack(release, PEOPLE, l=2, protected=["yes"], **READING)
    assert (found.successes, found["largest_belief"], found["people_covered"]) == (2, 1.0, 6)
    assert found.baseline.successes == 0
    assert found["largest_belief_before"] <= 0.5


def test_the_example_with_the_algorithm_itself():
    def publish(original):
        """Publish what is diverse enough as it is; merge what is not with two others, or with all of them."""
        sick = original.filter(pl.col("cancer") == "yes")["q"].to_list()
        if sick.count("q1") * 2 <= 2 and sick.count("q2") * 2 <= 4:
            return original
        if sick.count("q1") == 2:
            healthy = original.filter((pl.col("q") == "q2") & (pl.col("cancer") == "no"))
            return (
                pl.concat([original.filter(pl.col("q") == "q1"), healthy[:2]])
                .with_columns(q=pl.lit("*"))
                .vstack(healthy[2:])
            )
        return original.with_columns(q=pl.lit("*"))

    found = minimality_attack(LOCAL, PEOPLE, l=2, protected=["yes"], publish=publish, **READING)
    assert (found.successes, found["largest_belief"], found["originals"], found["tried"]) == (2, 1.0, 1, 15)


def test_the_formula_against_all_tables():
    rng = np.random.default_rng(2)
    compared, kinds = 0, ["a", "b", "c"]
    for _ in range(120):
        parts = [
            (int(merged), [str(one) for one in rng.choice(kinds, rng.integers(3))])
            for merged in rng.integers(1, 4, int(rng.integers(2, 4)))
        ]
        values = [str(value) for value in rng.choice(kinds, sum(merged for merged, _ in parts))]
        protected = {"a"} if rng.integers(2) else set(kinds)
        l = int(rng.integers(2, 4))
        group = Merged(
            parts=tuple(
                Part(people=merged + len(kept), merged=merged, kept=tuple(kept.count(kind) for kind in kinds))
                for merged, kept in parts
            ),
            values=tuple(values.count(kind) for kind in kinds),
        )
        found = compute_merged_beliefs(group, l, [kind in protected for kind in kinds])
        expected = credibility(parts, values, l, protected)
        if expected is None:
            assert found is None
            continue
        assert found == [[one.get(kind, Fraction(0)) for kind in kinds] for one in expected]
        compared += 1
    assert 60 < compared < 120


def test_the_formula_says_what_it_covers():
    # Two merged groups cover the same people: nothing follows by the formula.
    people = pl.DataFrame({"q": ["a", "a", "b", "b"]})
    release = pl.DataFrame({"q": ["*", "*", "{a, b}", "{a, b}"], "cancer": ["yes", "no", "no", "no"]})
    found = minimality_attack(release, people, l=2, cells={"q": "values"}, **READING)
    assert found["people_covered"] == 0
    assert found.outcome == found.baseline
    assert "says nothing" in found.sentences()[-1]
    # Diverse parts that were merged all the same: the principle does not hold.
    release = pl.DataFrame({"q": ["*"] * 4, "cancer": ["a", "b", "c", "d"]})
    assert minimality_attack(release, people, l=2, **READING)["people_covered"] == 0
    # What was published as it is tells what it tells.
    whole = people.with_columns(cancer=pl.Series(["yes", "no", "yes", "no"]))
    found = minimality_attack(whole, people, l=2, **READING)
    assert (found.successes, found["people_covered"], found["largest_belief"]) == (0, 4, 0.5)


def test_algorithms_of_shoal_by_enumeration():
    people = pl.DataFrame({"q": ["1", "1", "2", "2", "3"], "r": ["a", "b", "a", "b", "a"]})
    request = {"quasi_identifiers": ["q", "r"], "sensitive": "s", "privacy": shoal.LDiversity(2), "seed": 0}

    def publish(original):
        try:
            return shoal.anonymize(original, algorithm="tp", **request).data
        except InfeasibleError:
            return None

    for values in some((["x", "y", "x", "z", "y"], ["x", "x", "y", "y", "z"])):
        release = publish(people.with_columns(s=pl.Series(values)))
        found = minimality_attack(release, people, l=2, publish=publish, quasi_identifiers=["q", "r"], sensitive="s")
        possible = [
            one
            for one in list_arrangements(values)
            if (made := publish(people.with_columns(s=pl.Series(one)))) is not None
            and sorted(made.rows()) == sorted(release.rows())
        ]
        shares = [max(of.count(value) for value in of) / len(possible) for of in zip(*possible, strict=True)]
        assert found["originals"] == len(possible)
        assert found["largest_belief"] == pytest.approx(max(shares))
        assert found.successes == sum(share > 0.5 for share in shares)


def test_bad_input():
    with pytest.raises(DataError, match="exactly those"):
        minimality_attack(LOCAL, PEOPLE[:5], l=2, **READING)
    with pytest.raises(DataError, match="match no row"):
        minimality_attack(
            LOCAL.with_columns(q=pl.Series(["q1"] * 4 + ["q2"] * 2)),
            PEOPLE.with_columns(q=pl.Series(["q1", "q3", "q2", "q2", "q2", "q2"])),
            l=2,
            cells={"q": "values"},
            **READING,
        )
    with pytest.raises(ParameterError, match="protected"):
        minimality_attack(LOCAL, PEOPLE, l=2, protected=["no such value"], **READING)
    with pytest.raises(UnsupportedError, match="15"):
        minimality_attack(LOCAL, PEOPLE, l=2, publish=lambda frame: frame, limit=3, **READING)
    with pytest.raises(DataError, match="No table of these people"):
        minimality_attack(LOCAL, PEOPLE, l=2, publish=lambda frame: frame, **READING)
    with pytest.raises(ParameterError, match="'l'"):
        minimality_attack(LOCAL, PEOPLE, l=1, **READING)


@pytest.mark.thorough
def test_mondrian_gives_somebody_away_among_eight_people():
    """No algorithm may be recommended by tables of six people: of eight with four ages, a value is certain."""
    people = pl.DataFrame({"age": [1, 1, 2, 2, 3, 3, 4, 4]})
    asked = {"algorithm": "mondrian", "recoding": "suppression", "seed": 0}
    request = {"quasi_identifiers": ["age"], "sensitive": "s", "privacy": shoal.LDiversity(2), **asked}

    def publish(values):
        original = people.with_columns(s=pl.Series(values))
        return shoal.anonymize(original, **request).data.write_csv()

    seen = publish(["x", "x", "x", "y", "y", "z", "y", "z"])
    # It shows the two people of age 4 with y and z, so that only the six others can have had something else.
    assert seen.splitlines()[1:3] == ["4,y", "4,z"]
    originals = [
        (*six, *two)
        for six in list_arrangements(["x", "x", "x", "y", "y", "z"])
        for two in list_arrangements(["y", "z"])
    ]
    assert len(originals) == 120
    same = [values for values in originals if publish(values) == seen]
    assert len(same) == 12
    assert find_largest_belief(same) == 1
    assert find_largest_belief(originals) == Fraction(1, 2), "the table alone does not tell it"
