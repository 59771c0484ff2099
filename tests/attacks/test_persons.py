"""Attacks on persons with several rows: an attack succeeds for a person if it does for any of the person's rows."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from tests.every import every
from tests.oracles.linked import bundles_of
from tests.oracles.person_risk import certain_persons, guessed_persons, persons_certain_by_exclusion
from tests.persons.test_units import QI, SECRET, sixty

import shoal
from shoal.attacks import (
    Reading,
    background_knowledge_attack,
    homogeneity_attack,
    inference_attack,
    linking_attack,
    minimality_attack,
    similarity_attack,
    skewness_attack,
)
from shoal.cli.main import app
from shoal.errors import ColumnError, DataError, ParameterError, UnsupportedError

ASKED: Reading = {"quasi_identifiers": ["age"], "sensitive": "s"}


def drawn(seed: int) -> pl.DataFrame:
    """Draw up to six rows of up to four persons, and the interval that publishes each age."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(1, 7))
    age = rng.integers(0, 4, rows)
    values = {"age": age, "s": rng.choice(list("xyz"), rows), "u": rng.integers(0, 4, rows)}
    return pl.DataFrame({**values, "shown": [["[0, 1]", "[2, 3]"][one // 2] for one in age]})


def groups_in(frame: pl.DataFrame) -> list[list[Any]]:
    groups = defaultdict(list)
    for shown, owner, value in frame["shown", "u", "s"].rows():
        groups[shown].append((owner, value))
    return list(groups.values())


@pytest.mark.drawn
@every("seed", range(120))
def test_groups_of_a_copy_and_of_targets(seed: int) -> None:
    frame = drawn(seed)
    release = frame.select(pl.col("shown").alias("age"), "s", "u")
    certain, guessed = (find(groups_in(frame)) for find in (certain_persons, guessed_persons))
    persons = frame["u"].n_unique()
    for release_read, more in ((release, {}), (release.drop("u"), {"targets": frame["age", "s", "u"]})):
        found = homogeneity_attack(release_read, person="u", **ASKED, **more)
        assert (found.attempts, found.successes) == (persons, len(certain))
        assert found["of"] == "persons"
        found = skewness_attack(release_read, person="u", **ASKED, **more)
        assert (found.attempts, found.successes) == (persons, len(guessed))


@every("seed", range(60))
def test_bundles_of_linked_rows(seed: int) -> None:
    frame = drawn(seed).rename({"u": "pseudonym"})
    release = frame.select(pl.col("shown").alias("age"), "s", "pseudonym")
    declared = {"requested": [{"model": "k-anonymity", "k": 1, "of": "linked_persons"}]}
    values: dict[Any, set[Any]] = defaultdict(set)
    for owner, value in frame["pseudonym", "s"].rows():
        values[owner].add(value)
    bundles = bundles_of([(owner, (age,), value) for age, value, owner in release.rows()])
    certain = sum(len(one) for one in bundles if set.intersection(*(values[owner] for owner in one)))
    found = homogeneity_attack(release, certificate=declared, **ASKED)
    assert (found.attempts, found.successes) == (len(values), certain)
    assert found["groups"] == len(bundles)
    guessed = 0
    for one in bundles:
        counts = {value: sum(value in values[owner] for owner in one) for value in sorted(set(frame["s"]))}
        guess = max(counts, key=lambda value: counts[value])
        guessed += counts[guess]
    assert skewness_attack(release, certificate=declared, **ASKED).successes == guessed


@every("seed", range(120))
def test_excluded_values_of_persons(seed: int) -> None:
    """An adversary who knows values that a person does not have, against every choice of them and of rows."""
    frame, j = drawn(seed), seed % 3
    release = frame.select(pl.col("shown").alias("age"), "s", "u")
    persons, groups = frame["u"].n_unique(), groups_in(frame)
    expected = [len(persons_certain_by_exclusion(groups, number)) for number in range(j + 1)]
    for release_read, more in ((release, {}), (release.drop("u"), {"targets": frame["age", "s", "u"]})):
        found = background_knowledge_attack(release_read, j=j, person="u", **ASKED, **more)
        assert (found.attempts, found.successes, found["by_number"]) == (persons, expected[-1], expected)
        assert found["of"] == "persons"
        assert "expected to be" not in " ".join(found.sentences())
    # Nothing is excluded: that is the homogeneity attack.
    assert expected[0] == len(certain_persons(groups))


def merge_if_needed(original: pl.DataFrame) -> pl.DataFrame:
    """Publish two intervals of ages if no value has more than half of the rows in one of them, else one interval."""
    shown = original.with_columns(age=pl.when(pl.col("age") < 2).then(pl.lit("[0, 1]")).otherwise(pl.lit("[2, 3]")))
    most = (
        shown.group_by("age", "s")
        .len()
        .group_by("age")
        .agg(pl.max("len"))
        .join(shown.group_by("age").len("n"), on="age")
    )
    if (most["len"] * 2 > most["n"]).any():
        shown = shown.with_columns(age=pl.lit("[0, 3]"))
    return shown.select("age", "s")


@every("seed", range(60))
def test_originals_of_persons(seed: int) -> None:
    """The beliefs about a person are those of all originals, of which any row of the person may have a value."""
    frame = drawn(seed)
    people, release = frame["age", "u"], merge_if_needed(frame["age", "s"])
    found = minimality_attack(
        release, people, l=2, publish=lambda original: merge_if_needed(original["age", "s"]), person="u", **ASKED
    )

    def belief(assigned: list[tuple[str, ...]], owner: int, value: str) -> Fraction:
        own = np.flatnonzero(frame["u"].to_numpy() == owner)
        return Fraction(sum(value in [one[row] for row in own] for one in assigned), len(assigned))

    def largest(assigned: list[tuple[str, ...]]) -> dict[int, Fraction]:
        return {owner: max(belief(assigned, owner, value) for value in "xyz") for owner in set(frame["u"])}

    everything = sorted(set(permutations(frame["s"])))
    possible = [
        one
        for one in everything
        if merge_if_needed(people.with_columns(s=pl.Series(one))).sort("age", "s").equals(release.sort("age", "s"))
    ]
    covers = {"[0, 1]": (0, 1), "[2, 3]": (2, 3), "[0, 3]": range(4)}
    matched = [
        tuple(release["s"][row] for row in rows)
        for rows in permutations(range(release.height))
        if all(age in covers[release["age"][row]] for age, row in zip(people["age"], rows, strict=True))
    ]
    after, before = largest(possible), largest(matched)
    assert (found.attempts, found["of"], found["originals"]) == (len(after), "persons", len(possible))
    assert found.successes == sum(largest_one > Fraction(1, 2) for largest_one in after.values())
    assert found.baseline.successes == sum(largest_one > Fraction(1, 2) for largest_one in before.values())
    assert found["largest_belief"] == float(max(after.values()))
    assert found["largest_belief_before"] == float(max(before.values()))


def test_one_row_of_each_person_is_what_it_was() -> None:
    frame = drawn(3).with_row_index("id")
    release = frame.select("id", pl.col("shown").alias("age"), "s")
    for attack in (homogeneity_attack, skewness_attack, background_knowledge_attack):
        by_rows, by_persons = (attack(release, **ASKED, **more).to_dict() for more in ({}, {"person": "id"}))
        # The mean over values excluded at random is one of records.
        by_rows.pop("by_chance", None)
        assert {**by_rows, "of": "persons"} == by_persons


class TestTheExampleOfSixtyPeople:
    asked: ClassVar[Reading] = {"quasi_identifiers": QI, "sensitive": "disease"}

    def test_all_diseases_are_certain(self) -> None:
        release = sixty().drop("patient")
        assert homogeneity_attack(release, **self.asked).successes == 0
        found = homogeneity_attack(release, targets=sixty(), person="patient", **self.asked)
        assert (found.attempts, found.successes) == (60, 60)
        said = " ".join(found.sentences())
        assert said.startswith("Of 60 people in the release")
        assert SECRET not in said + str(found.to_dict()) + repr(found)

    def test_a_release_protects_them(self) -> None:
        made = shoal.anonymize(sixty(), person="patient", k=5, **self.asked, seed=1)
        found = homogeneity_attack(made, targets=sixty(), person="patient")
        assert (found.attempts, found.successes) == (60, 0)

    def test_on_the_command_line(self, tmp_path: Path) -> None:
        sixty().write_csv(tmp_path / "original.csv")
        sixty().drop("patient").write_csv(tmp_path / "release.csv")
        words = [
            "attack",
            "--method",
            "homogeneity",
            str(tmp_path / "release.csv"),
            "--qi",
            "age,zip",
            "--sensitive",
            "disease",
        ]
        words += ["--targets", str(tmp_path / "original.csv"), "--person", "patient", "-o", str(tmp_path / "page")]
        called = CliRunner().invoke(app, words)
        assert called.exit_code == 0, called.output
        page = (tmp_path / "page" / "report.html").read_text()
        assert "Of 60 people in the release" in page
        assert SECRET not in page + called.stdout

    def test_inference_and_similarity(self) -> None:
        data = sixty().with_columns(disease=pl.int_range(300) % 5)
        half = pl.col("age") < 50
        found = inference_attack(
            data.filter(half).drop("patient"), targets=data.filter(half), controls=data.filter(~half), seed=0,
            person="patient", quasi_identifiers=["age"], sensitive="disease",
        )  # fmt: skip
        assert (found.attempts, found["of"]) == (30, "persons")
        asked: Reading = {"quasi_identifiers": QI, "sensitive": "disease", "person": "patient"}
        assert similarity_attack(data, within=1, **asked)["identical"] == 60


def test_errors() -> None:
    frame = drawn(1).select(pl.col("shown").alias("age"), "s")
    with pytest.raises(ColumnError, match="targets"):
        homogeneity_attack(frame, person="u", **ASKED)
    with pytest.raises(UnsupportedError, match="one record each"):
        minimality_attack(drawn(1), drawn(1), l=2, person="u", **ASKED)
    declared = {"requested": [{"model": "k-anonymity", "k": 1, "of": "linked_persons"}]}
    linked = frame.with_columns(pseudonym=1)
    for attack in (
        lambda: background_knowledge_attack(linked, certificate=declared, **ASKED),
        lambda: minimality_attack(linked, drawn(1), l=2, certificate=declared, **ASKED),
        lambda: linking_attack(linked, drawn(1), identifier="u", certificate=declared, **ASKED),
    ):
        with pytest.raises(UnsupportedError, match="linked records"):
            attack()
    with pytest.raises(ParameterError, match="linked"):
        homogeneity_attack(linked, targets=drawn(1), certificate=declared, **ASKED)


@every("seed", range(100))
def test_links_count_distinct_persons(seed: int) -> None:
    frame = drawn(seed)
    others = drawn(seed + 1_000).with_columns(pl.col("u") + 4)
    population = pl.concat([frame, others])["u", "age"]
    release = frame.select(pl.col("shown").alias("age"), "s")
    covers = {"[0, 1]": (0, 1), "[2, 3]": (2, 3)}
    fits = [{owner for owner, age in population.rows() if age in covers[shown]} for shown in frame["shown"]]
    linked, best = set(), defaultdict(float)
    for owner, candidates in zip(frame["u"], fits, strict=True):
        linked |= {owner} if candidates == {owner} else set()
        best[owner] = max(best[owner], 1 / len(candidates))
    found = linking_attack(release, population, identifier="u", person="u", truth=frame["u"], quasi_identifiers=["age"])
    assert (found.attempts, found.successes) == (frame["u"].n_unique(), len(linked))
    assert found["people"] == population["u"].n_unique()
    assert found["expected_matches"] == pytest.approx(sum(best.values()))
    outside = {owner for candidates in fits if len(candidates) == 1 for owner in candidates} - set(frame["u"])
    assert found.control is not None
    assert found.control.successes == len(outside)
    said = " ".join(found.sentences())
    assert f"Of {found.attempts} persons of the release" in said


def test_links_of_the_sixty() -> None:
    release = sixty().drop("patient")
    found = linking_attack(
        release, sixty(), identifier="patient", person="patient", truth=sixty()["patient"], quasi_identifiers=QI,
        sensitive="disease",
    )  # fmt: skip
    assert (found.attempts, found.successes, found["people"], found["values"]) == (60, 60, 60, None)
    with pytest.raises(ParameterError, match="same column"):
        linking_attack(release, sixty(), identifier="zip", person="patient", quasi_identifiers=QI)


def test_targets_with_more_records_than_were_published_are_refused(tmp_path: Path) -> None:
    once: Any = {"quasi_identifiers": ["age", "zip"], "sensitive": "disease"}
    shoal.anonymize(sixty(), person="patient", rows_per_person=1, k=5, **once, seed=1).save(tmp_path / "out")
    with pytest.raises(DataError, match=r"at most 1 record\(s\) of each person"):
        homogeneity_attack(tmp_path / "out", targets=sixty(), person="patient", **once)
    one = sixty().unique("patient", keep="first")
    assert homogeneity_attack(tmp_path / "out", targets=one, person="patient", **once).attempts == 60
