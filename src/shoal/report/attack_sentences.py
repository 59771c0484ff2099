"""The result of an attack in two sentences for readers without statistics: how often it is right, and if that is much.

The screens of the studio, the reports and the document of a decision all show these sentences first. Attacks that make
something certain count it: a share of certain people is never compared with how often a guess is right.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal._core.words import number, percent
from shoal.wording.attack_words import count_people, name_known_columns, name_value

_CERTAIN = {
    "linking": "the right person is certain to somebody who knows {known} of {people}",
    "linking unverified": "only one person is possible to somebody who knows {known} of {people}",
    "homogeneity": "{value} is certain to somebody who knows {known} of a person",
    "background": "{value} is certain to somebody who knows {known} of a person and rules out the worst wrong values "
    "(at most {excluded})",
    "similarity": "roughly what {value} is, is certain to somebody who knows {known} of a person",
    "intersection": "{value} is certain to somebody who knows who is in which release",
    "refinement": "the value is certain to somebody who knows how the cells were made",
    "minimality": "{value} is believed more than the release allows (1 / {l}) by somebody who knows how it was made",
}
"""What attacks make certain."""
_GUESSED = {
    "skewness": "somebody who knows {known} of a person and takes the most common value of the records that fit would "
    "be right for {right}; guessing the most common value of the table would be right for {guess}",
    "inference": "a program that learned from the release would guess {value} rightly for {right}; guessing the most "
    "common value of the table would be right for {guess}",
    "singling-out": "{right} would fit exactly one of {people}, although they hardly fit anybody; of random "
    "descriptions it would be {guess}",
}
"""What attacks guess."""


def describe_attack(facts: Mapping[str, Any]) -> list[str]:
    """Describe the result of an attack: how often it is right, and how that compares with chance.

    Parameters
    ----------
    facts : mapping
        `AttackResult.to_dict()`.

    Examples
    --------
    >>> from shoal.attacks import AttackResult, Rate
    >>> found = AttackResult(
    ...     attack="homogeneity",
    ...     outcome=Rate(successes=180, attempts=600),
    ...     baseline=Rate(successes=350, attempts=600),
    ...     columns=("age", "zip"),
    ...     sensitive=("disease",),
    ... )
    >>> describe_attack(found.to_dict())
    ["180 of 600 records: the value of 'disease' is certain to somebody who knows age and zip of a person."]
    """
    if facts["rate"] is None:
        return [_explain_unmeasured(facts)]
    name = facts["attack"]
    # Without the owner of each row, a link to a wrong person cannot be distinguished from a right one.
    unverified = name == "linking" and not facts["verified"]
    sentence = {**_CERTAIN, **_GUESSED}["linking unverified" if unverified else name].format(
        known=name_known_columns(facts),
        people=count_people(facts.get("people", 0)),
        value=name_value(facts),
        excluded=number(facts.get("j", 0)),
        l=number(facts.get("l", 0)),
        right=number(facts["successes"]),
        guess=_count(facts["baseline"], facts),
    )
    if name in _GUESSED:
        return [f"Of {_name_attempts(facts)}, {sentence}.", _compare(facts)]
    doubted = ["Whether these are the right persons is not known."] if unverified and facts["successes"] else []
    first = f"{number(facts['successes'])} of {_name_attempts(facts)}: {sentence}."
    return [first, *doubted, *_compare_with_chance(facts)]


def _compare_with_chance(facts: Mapping[str, Any]) -> list[str]:
    """Compare what is certain with the same attack by chance, from the release alone, or on other people."""
    control = facts["control"]
    if facts["attack"] == "linking":
        chance = facts["baseline"]["rate"] * facts["attempts"]
        more = facts["expected_matches"] - chance
        verdict = f"That is better than chance by {number(round(more, 1))}." if more >= _MORE else "That is chance."
        picked = f"{number(round(facts['expected_matches'], 1))}; picking anybody, for {number(round(chance, 1))}"
        return [f"Picking one of the people who fit each record is expected to be right for {picked}.", verdict]
    if facts["attack"] == "minimality":
        return [f"From the release alone it is {_count(facts['baseline'], facts)}."]
    if control is None or control["rate"] is None:
        return []
    if facts["attack"] == "refinement":
        by_chance = _count(control, facts)
        return [f"In a table drawn from what is published the same claims would be right for {by_chance}."]
    return [_compare(facts)]


_MORE = 0.05
"""Smallest number of expected links above chance that is more than chance: they are shown with one decimal."""


def _compare(facts: Mapping[str, Any]) -> str:
    """Compare an attack with guessing or, if there are people who are not in the release, with these."""
    control, left = facts["control"], facts.get("residual")
    if facts["attack"] != "singling-out" and control and control["rate"] is not None:
        adds = "what is above that comes from being in the release"
        if left is None or left["low"] <= 0:
            adds = "being in the release adds nothing that exceeds the error of the figures"
        return (
            f"About people who are not in the release the same attack is right for {percent(control['rate'])}: {adds}."
        )
    # The interval of the attack decides, because small numbers differ by chance.
    guessed = facts["baseline"]["rate"] or 0.0
    if facts["rate"] <= guessed:
        return "The attack is no better than guessing."
    if facts["low"] <= guessed:
        return "The difference from guessing is within the error of the figures."
    return "The attack is better than guessing."


def _count(rate: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """Count the attempts that a rate stands for; few are never none."""
    count = (rate["rate"] or 0.0) * facts["attempts"]
    return "less than 1" if 0 < count < 1 else number(round(count))


def _name_attempts(facts: Mapping[str, Any]) -> str:
    """Name what is attacked and how many."""
    attempts, name = facts["attempts"], facts["attack"]
    if facts.get("of") == "persons" or name == "intersection":
        return count_people(attempts)
    one, several = {
        "refinement": ("hidden cell", "hidden cells"),
        "singling-out": ("description of a record", "descriptions of records"),
    }.get(name, ("record", "records"))
    return f"{number(attempts)} {one if attempts == 1 else several}"


def _explain_unmeasured(facts: Mapping[str, Any]) -> str:
    """State that nothing could be measured, and the reason."""
    if facts["attack"] == "refinement":
        return "This could not be measured: no column that was looked at has a cell that stands for several values."
    if facts["attack"] == "intersection":
        return "This could not be measured: none of these people fits a record of a release."
    return "This could not be measured: there was nothing to attack."
