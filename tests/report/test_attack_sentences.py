"""The first sentences about an attack are true of every attack, and few are never called none."""

from __future__ import annotations

import re
from typing import Any

import polars as pl

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


def test_certainty_is_counted_and_never_compared_with_a_guess() -> None:
    # 180 people are certain, although guessing the most common value is right more often.
    for name in ("homogeneity", "background", "similarity", "intersection"):
        for successes in (0, 1, 180):
            first, *others = describe_attack(result(successes, 600, 350, attack=name, figures={"j": 1}))
            assert re.match(rf"{successes} of 600 (records|people): .* certain to someone", first), first
            assert not others
    for name in ("linking", "minimality", "refinement"):
        figures = {"people": 40, "verified": True, "l": 2, "expected_matches": 20.0}
        shown = describe_attack(result(3, 40, 1, attack=name, control=Rate(successes=2, attempts=40), figures=figures))
        assert shown[0].startswith("3 of 40 "), shown
        assert not any("guessing" in one for one in shown)


def test_links_are_compared_with_chance() -> None:
    for expected, verdict in ((300.0, "That is better than chance by 299."), (1.0, "That is chance.")):
        figures = {"people": 600, "verified": True, "expected_matches": expected}
        shown = describe_attack(result(0, 600, 1, attack="linking", figures=figures))
        assert shown[0].startswith("0 of 600 records: the right person is certain to someone who knows age")
        assert shown[-1] == verdict


def test_an_attack_that_is_no_better_than_guessing_is_called_so() -> None:
    for successes, verdict in ((20, "No better than"), (23, "Hardly better than"), (60, "Better than")):
        shown = describe_attack(result(successes, 100, 20, "skewness"))
        assert shown[0].startswith(f"{verdict} guessing: right for {successes} of 100 records, guessing for 20.")
        assert ("within the error" in shown[0]) == (successes == 23)
    # Descriptions are tried, not people; and everything is, so that a rate has no interval.
    figures = {"of": "persons", "people": 900, "weight": 1 / 90_000, "singled_out": 0, "by_kind": ()}
    found = result(0, 456, 0, "singling-out", figures=figures)
    assert describe_attack(found)[0].endswith("right for 0 of 456 descriptions of records, guessing for 0.")
    assert "%" not in ATTACKS["singling-out"].sentences(found)[0]
    # People outside are the better comparison, if there are any.
    control = Rate(successes=58, attempts=100)
    assert (
        "right for 58%: being in the release adds nothing"
        in describe_attack(result(60, 100, 20, "skewness", control=control))[-1]
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
    assert describe_attack(of_records)[0].startswith("0 of 8 records: ")
    assert describe_attack(of_persons)[0].startswith("0 of 4 people: ")
