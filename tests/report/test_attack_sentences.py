"""The first sentences about an attack are true of every attack, and few are never called none."""

from __future__ import annotations

import re
from typing import Any

import polars as pl
import pytest

from shoal._core.language import use_language
from shoal.attacks import ATTACKS, AttackResult, Rate, homogeneity_attack
from shoal.report import describe_attack

PEOPLE = pl.DataFrame({"who": [*"aabbccdd"], "age": [1, 1, 2, 2, 1, 1, 2, 2], "s": [*"uvuvwuwu"]})


def result(successes: float, attempts: int, guessed: float, attack: str = "homogeneity", **more: Any) -> dict[str, Any]:
    found = AttackResult(
        attack=attack,
        outcome=Rate(successes=successes, attempts=attempts),
        baseline=Rate(successes=guessed, attempts=attempts),
        columns=("age", "zip"),
        sensitive=("s",),
        **more,
    )
    return found.to_dict()


@pytest.mark.parametrize(
    ("successes", "attempts", "said"),
    [
        (0, 5000, "for none of them"),
        (1, 5000, "for fewer than 1 of them"),
        (400, 5000, "for 8 of them"),
        (412, 5000, "for about 8 of them"),
        (4999, 5000, "for more than 99 of them"),
        (5000, 5000, "for all of them"),
        (3, 15, "for 3 of them"),
    ],
)
def test_numbers_are_rounded_honestly(successes: int, attempts: int, said: str) -> None:
    first = describe_attack(result(successes, attempts, 2))[0]
    assert said in first
    of = "Of every 100 records" if attempts > 100 else "Of 15 records"
    assert first.startswith(of)


def test_an_attack_that_is_no_better_than_guessing_is_called_so() -> None:
    for successes, verdict in ((20, "no better than guessing"), (23, "within the error"), (60, "is better than")):
        assert verdict in describe_attack(result(successes, 100, 20))[-1], successes
    # People outside are the better comparison, if there are any.
    control = Rate(successes=58, attempts=100)
    assert (
        "right for 58%: being in the release adds nothing" in describe_attack(result(60, 100, 20, control=control))[-1]
    )


def test_what_could_not_be_measured_has_no_number() -> None:
    for name in ATTACKS:
        (told,) = describe_attack(result(0, 0, 0, attack=name))
        assert "could not be measured" in told
        assert not re.search(r"\d|none of them", told)


def test_persons_and_records_are_not_mistaken_for_each_other() -> None:
    release = PEOPLE.select("age", "s")
    options: dict[str, Any] = {"quasi_identifiers": ["age"], "sensitive": "s", "cells": {"age": "values"}}
    of_records = homogeneity_attack(release, **options).to_dict()
    of_persons = homogeneity_attack(release, targets=PEOPLE, person="who", **options).to_dict()
    assert describe_attack(of_records)[0].startswith("Of 8 records of the release")
    assert describe_attack(of_persons)[0].startswith("Of 4 persons in the release")


def test_every_attack_has_its_sentence_in_every_language() -> None:
    pytest.importorskip("babel")
    figures = {"people": 40, "verified": False, "j": 1, "l": 2}
    for name in ATTACKS:
        facts = {**result(8, 40, 3, attack=name, control=Rate(successes=2, attempts=40)), **figures}
        english = describe_attack(facts)
        with use_language("de"):
            german = describe_attack(facts)
        assert len(english) == len(german)
        assert [one for one in english if one in german] == [], name
        assert "8 of them" in english[0]
        assert "8 Fällen" in german[0], german[0]
