"""The result of an attack in two sentences for readers without statistics: how often it is right, and if that is much.

The screens of the studio, the reports and the document of a decision all show these sentences first.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isclose
from typing import Any

from shoal._core.language import gettext as _
from shoal._core.language import marked, ngettext
from shoal._core.words import number, percent
from shoal.wording.attack_words import count_people, name_known_columns, name_value

__all__ = ["describe_attack"]

_SENTENCES = {
    "linking": marked(
        "{of}, somebody who knows {known} of {people} would find the right person for {right}; picking anybody would "
        "be right for {guess}."
    ),
    "linking unverified": marked(
        "{of}, only one person is possible for {right} to somebody who knows {known} of {people}; picking anybody "
        "would be right for {guess}."
    ),
    "homogeneity": marked(
        "{of}, {value} would be certain for {right} to somebody who knows {known} of a person; guessing the most "
        "common value of the table would be right for {guess}."
    ),
    "background": marked(
        "{of}, {value} would be certain for {right} to somebody who knows {known} of a person and rules out the worst "
        "wrong values (at most {excluded}); guessing the most common value of the table would be right for {guess}."
    ),
    "skewness": marked(
        "{of}, somebody who knows {known} of a person and takes the most common value of the records that fit would be "
        "right for {right}; guessing the most common value of the table would be right for {guess}."
    ),
    "similarity": marked(
        "{of}, somebody who knows {known} of a person would be sure of roughly what {value} is for {right}; one guess "
        "for all would be right for {guess}."
    ),
    "inference": marked(
        "{of}, a program that learned from the release would guess {value} rightly for {right}; guessing the most "
        "common value of the table would be right for {guess}."
    ),
    "intersection": marked(
        "{of}, {value} would be certain for {right} to somebody who knows who is in which release; guessing the most "
        "common value would be right for {guess}."
    ),
    "refinement": marked(
        "{of}, {right} would be known exactly to somebody who knows how the cells were made; the same claims about a "
        "table drawn at random from what is published would be right for {guess}."
    ),
    "singling-out": marked(
        "{of}, {right} would fit exactly one of {people}, although they hardly fit anybody; of random descriptions it "
        "would be {guess}."
    ),
    "minimality": marked(
        "{of}, {value} would be believed more than the release allows (1 / {l}) for {right} by somebody who knows how "
        "it was made; from the release alone, for {guess}."
    ),
}
"""The first sentence of each attack."""
_BETTER = marked("The attack is better than guessing.")
_PERHAPS = marked("The difference from guessing is within the error of the figures.")
_NO_BETTER = marked("The attack is no better than guessing.")
_FROM_BEING_IN_IT = marked(
    "About people who are not in the release the same attack is right for {others}: what is above that comes from "
    "being in the release."
)
_STATISTICS = marked(
    "About people who are not in the release the same attack is right for {others}: being in the release adds nothing "
    "that exceeds the error of the figures."
)
_HUNDRED = 100
"""Numbers of more attempts are given in every hundred."""


def describe_attack(facts: Mapping[str, Any]) -> list[str]:
    """Describe the result of an attack: how often it is right, and how that compares with guessing.

    Parameters
    ----------
    facts : mapping
        `AttackResult.to_dict()`.

    Examples
    --------
    >>> from shoal.attacks import AttackResult, Rate
    >>> found = AttackResult(
    ...     attack="homogeneity",
    ...     outcome=Rate(successes=0, attempts=400),
    ...     baseline=Rate(successes=58, attempts=400),
    ...     columns=("age", "zip"),
    ...     sensitive=("disease",),
    ... )
    >>> first, second = describe_attack(found.to_dict())
    >>> first.partition("; ")[2]
    'guessing the most common value of the table would be right for about 14 of them.'
    >>> second
    'The attack is no better than guessing.'
    """
    if facts["rate"] is None:
        return [_explain_unmeasured(facts)]
    # Refinement is compared with a drawn table, all others with their baseline.
    compared = (facts["control"] if facts["attack"] == "refinement" else None) or facts["baseline"]
    count = min(facts["attempts"], _HUNDRED)
    # Without the owner of each row, a link to a wrong person cannot be distinguished from a right one.
    unverified = facts["attack"] == "linking" and not facts["verified"]
    sentence = _SENTENCES["linking unverified" if unverified else facts["attack"]]
    first = _(sentence).format(
        of=_introduce(facts),
        known=name_known_columns(facts),
        people=count_people(facts.get("people", 0)),
        value=name_value(facts),
        excluded=number(facts.get("j", 0)),
        l=number(facts.get("l", 0)),
        right=_share_of(facts["rate"], count),
        guess=_share_of(compared["rate"] or 0.0, count),
    )
    doubted = [_("Whether these are the right persons is not known.")] if unverified and facts["successes"] else []
    return [first, *doubted, _judge(facts, compared)]


def _judge(facts: Mapping[str, Any], compared: Mapping[str, Any]) -> str:
    """Compare the attack with guessing or, if there are people who are not in the release, with these."""
    control, left = facts["control"], facts.get("residual")
    if facts["attack"] not in ("linking", "refinement", "singling-out") and control and control["rate"] is not None:
        by_being_in_it = left is not None and left["low"] > 0
        return _(_FROM_BEING_IN_IT if by_being_in_it else _STATISTICS).format(others=percent(control["rate"]))
    # The interval of the attack decides, because small numbers differ by chance.
    guessed = compared["rate"] or 0.0
    if facts["rate"] <= guessed:
        return _(_NO_BETTER)
    perhaps = facts["low"] <= guessed
    return _(_PERHAPS if perhaps else _BETTER)


def _share_of(rate: float, count: int) -> str:
    """Format a rate as a number of a count, so that few are never none and many are never all."""
    found = rate * count
    whole = round(found)
    if rate in (0, 1):
        return _("all of them") if rate else _("none of them")
    # A rounded number is marked as such.
    if found < 1:
        return _("fewer than 1 of them")
    if isclose(found, whole, abs_tol=1e-9):
        return ngettext("{count} of them", "{count} of them", whole).format(count=number(whole))
    if found > count - 1:
        return _("more than {count} of them").format(count=number(count - 1))
    return _("about {count} of them").format(count=number(whole))


def _introduce(facts: Mapping[str, Any]) -> str:
    """Name what is attacked and how many: up to a hundred, the very number."""
    attempts, persons = facts["attempts"], facts.get("of") == "persons" or facts["attack"] == "intersection"
    if facts["attack"] in ("refinement", "singling-out"):
        of_cells = facts["attack"] == "refinement"
        if attempts > _HUNDRED:
            every = _("Of every {count} hidden cells") if of_cells else _("Of every {count} descriptions of records")
            return every.format(count=_HUNDRED)
        some = (
            ngettext("Of {count} hidden cell", "Of {count} hidden cells", attempts)
            if of_cells
            else ngettext("Of {count} description of a record", "Of {count} descriptions of records", attempts)
        )
        return some.format(count=number(attempts))
    # All other attacks attack records, or persons.
    if attempts > _HUNDRED:
        every = (
            _("Of every {count} persons in the release") if persons else _("Of every {count} records of the release")
        )
        return every.format(count=_HUNDRED)
    some = (
        ngettext("Of {count} person in the release", "Of {count} persons in the release", attempts)
        if persons
        else ngettext("Of {count} record of the release", "Of {count} records of the release", attempts)
    )
    return some.format(count=number(attempts))


def _explain_unmeasured(facts: Mapping[str, Any]) -> str:
    """State that nothing could be measured, and the reason."""
    if facts["attack"] == "refinement":
        return _("This could not be measured: no column that was looked at has a cell that stands for several values.")
    if facts["attack"] == "intersection":
        return _("This could not be measured: none of these people fits a record of a release.")
    return _("This could not be measured: there was nothing to attack.")
