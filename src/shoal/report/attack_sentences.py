"""The result of an attack in two sentences for readers without statistics: how often it is right, and if that is much.

The screens of the studio, the reports and the document of a decision all show these sentences first. Attacks that make
something certain count it: a share of certain people is never compared with how often a guess is right.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal._core.words import number
from shoal.wording import say
from shoal.wording.descriptions import count_people, name_attempts, name_known_columns, name_value

_GUESS = ("skewness", "inference", "singling-out")
"""The attacks that guess; the others make something certain."""
_MORE = 0.05
"""Smallest number of expected links above chance that is more than chance: they are shown with one decimal."""


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
    ["180 of 600 records: the value of 'disease' is certain to someone who knows age and zip of a person."]
    """
    # Imported here, because pages without attacks need not wait for them.
    from shoal.attacks.attack_list import describe_unattacked

    return [*_judge_attack(facts), *describe_unattacked(facts)]


def _judge_attack(facts: Mapping[str, Any]) -> list[str]:
    """Judge an attack for what it attacked."""
    name = facts["attack"]
    if facts["rate"] is None:
        return [say(f"unmeasured_{name}" if name in ("refinement", "intersection") else "unmeasured")]
    # Without the owner of each row, a link to a wrong person cannot be distinguished from a right one.
    unverified = name == "linking" and not facts["verified"]
    guess = _count(facts["baseline"], facts)
    sentence = say(
        f"attack_{name.replace('-', '_')}{'_unverified' if unverified else ''}",
        known=name_known_columns(facts),
        people=count_people(facts.get("people", 0)),
        value=name_value(facts),
        **{name: facts.get(name, 0) for name in ("j", "l", "successes")},
    )
    if name in _GUESS:
        control = _compare_with_others(facts) if name != "singling-out" else []
        code = "attack_right" if control else _judge(facts)
        verdict = say(code, successes=facts["successes"], attempts=name_attempts(facts), guess=guess)
        return [verdict, sentence, *control]
    doubted = [say("attack_unverified")] if unverified and facts["successes"] else []
    first = f"{number(facts['successes'])} of {name_attempts(facts)}: {sentence}."
    return [first, *doubted, *_compare_with_chance(facts)]


def _compare_with_chance(facts: Mapping[str, Any]) -> list[str]:
    """Compare what is certain with the same attack by chance, from the release alone, or on other people."""
    control = facts["control"]
    if facts["attack"] == "linking":
        expected, chance = facts["expected_matches"], facts["baseline"]["rate"] * facts["attempts"]
        picked = say("attack_picking", expected=round(expected, 1), chance=round(chance, 1))
        more = expected - chance
        verdict = say("attack_above_chance", more=round(more, 1)) if more >= _MORE else say("attack_is_chance")
        return [picked, verdict]
    if facts["attack"] == "minimality":
        return [say("attack_from_release_alone", count=_count(facts["baseline"], facts))]
    if control is None or control["rate"] is None:
        return []
    if facts["attack"] == "refinement":
        more = facts["residual"] is not None and facts["residual"]["low"] > 0
        return [say("attack_beyond_drawn_table" if more else "attack_drawn_table", count=_count(control, facts))]
    return _compare_with_others(facts)


def _compare_with_others(facts: Mapping[str, Any]) -> list[str]:
    """Compare an attack with the same one on people who are not in the release, if there are any."""
    control, left = facts["control"], facts.get("residual")
    if not control or control["rate"] is None:
        return []
    adds = left is not None and left["low"] > 0
    return [say("attack_control" if adds else "attack_control_equal", rate=control["rate"])]


def _judge(facts: Mapping[str, Any]) -> str:
    """Return the code of the sentence that compares an attack with guessing."""
    # The interval of the attack decides, because small numbers differ by chance.
    guessed = facts["baseline"]["rate"] or 0.0
    if facts["rate"] <= guessed:
        return "attack_no_better"
    return "attack_within_error" if facts["low"] <= guessed else "attack_better"


def _count(rate: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """Count the attempts that a rate stands for; few are never none."""
    count = (rate["rate"] or 0.0) * facts["attempts"]
    return "less than 1" if 0 < count < 1 else number(round(count))
