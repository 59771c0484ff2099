"""Attacks on persons with several rows: an attack succeeds for a person if it does for any of the person's rows."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from tests.oracles.linked import bundles_of
from tests.oracles.person_risk import certain_persons, guessed_persons
from tests.persons.test_units import QI, SECRET, sixty

import shoal
from shoal.attacks import (
    Reading,
    background_knowledge_attack,
    homogeneity_attack,
    inference_attack,
    linking_attack,
    similarity_attack,
    skewness_attack,
)
from shoal.cli.main import app
from shoal.errors import ColumnError, ParameterError

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


@pytest.mark.parametrize("seed", range(120))
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


@pytest.mark.parametrize("seed", range(60))
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


def test_one_row_of_each_person_is_what_it_was() -> None:
    frame = drawn(3).with_row_index("id")
    release = frame.select("id", pl.col("shown").alias("age"), "s")
    for attack in (homogeneity_attack, skewness_attack):
        by_rows, by_persons = (attack(release, **ASKED, **more).to_dict() for more in ({}, {"person": "id"}))
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
        words = ["attack", "homogeneity", str(tmp_path / "release.csv"), "--qi", "age,zip", "--sensitive", "disease"]
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
    with pytest.raises(ParameterError, match="persons"):
        background_knowledge_attack(drawn(1), person="u", **ASKED)
    declared = {"requested": [{"model": "k-anonymity", "k": 1, "of": "linked_persons"}]}
    linked = frame.with_columns(pseudonym=1)
    with pytest.raises(ParameterError, match="linked"):
        homogeneity_attack(linked, targets=drawn(1), certificate=declared, **ASKED)


@pytest.mark.parametrize("seed", range(100))
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
    with pytest.raises(ParameterError, match="persons"):
        linking_attack(release, sixty(), identifier="zip", person="patient", quasi_identifiers=QI)
