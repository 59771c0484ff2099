"""Sentences about the figures of an audit, for the command line, its page and the studio."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any

from shoal.report.sentences import number

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["describe_audit"]


def describe_audit(facts: Mapping[str, Any]) -> list[str]:
    """Return sentences about the measured quantities, the most serious first."""
    # Unique records first, because they are the most serious finding.
    achieved = facts["achieved"]
    diversity = (achieved.get("l") or {}).get("frequency")
    remarks: list[str] = []
    if facts.get("unique_persons") is not None:
        remarks += _remarks_on_persons(facts)
        diversity = None
    elif achieved["k"] == 1 and (achieved.get("sets") or achieved)["k"] == 1:
        unique = facts.get("unique_rows")
        who = "Some records are" if unique is None else f"{number(unique)} record{' is' if unique == 1 else 's are'}"
        remarks.append(
            f"Warning: k = 1. {who} unique: anyone who knows these quasi-identifiers of a person finds the record."
        )
    elif "sets" in achieved:
        known = achieved["sets"]
        remarks.append(
            f"In each of {number(known['sets'])} set(s) of quasi-identifiers every record shares its values with at "
            f"least {number(known['k'] - 1)} other(s). All quasi-identifiers together single out "
            f"{number(facts.get('unique_rows', 0))} record(s)."
        )
    else:
        company = achieved["k"] - 1
        others = "one other" if company == 1 else f"{number(company)} others"
        remarks.append(f"Every record shares its quasi-identifiers with at least {others}.")
    confidence = achieved.get("alpha")
    # Single values of lists are counted, not whole lists.
    if diversity is not None and achieved.get("lists"):
        diversity = min(achieved["lists"]["l"].values())
        confidence = 1 / diversity
    if achieved.get("without_harmless"):
        diversity = min(one["l"] for one in achieved["without_harmless"])
        remarks.append(
            "Except for values that need no protection, no record can be linked to a sensitive value with a confidence "
            f"above {_share(1 / diversity)}."
        )
    elif diversity == 1:
        remarks.append(
            "Warning: l = 1. In some group all records have the same sensitive value: it is certain for each of them."
        )
    elif diversity is not None:
        most = _share(confidence)
        remarks.append(f"No record can be linked to a sensitive value with a confidence above {most}.")
    remarks += [f"Warning: {one['text']}" for one in facts.get("warnings", ())]
    return remarks


def _remarks_on_persons(facts: Mapping[str, Any]) -> list[str]:
    """Return sentences about k and l of persons."""
    linked, alone = facts["achieved"].get("linked"), facts["unique_persons"]
    k = facts["persons"][0]["k"] if linked is None else linked["k"]
    known = "of a record" if linked is None else "of all records"
    if alone:
        # A unique person is the only remark that matters.
        who = f"{number(alone)} person{' is' if alone == 1 else 's are'} unique"
        return [f"Warning: {who}: anyone who knows these quasi-identifiers {known} of a person finds the person."]
    if linked is None:
        fewest = number(facts["persons"][0]["least_in_group"])
        shared = f"Records with the same quasi-identifiers are of at least {fewest} persons"
        return [f"{shared}, none of whom has more than one in {number(k)} of them."]
    remarks = [
        f"Every person shares the quasi-identifiers of all records with at least {number(k - 1)} other person(s)."
    ]
    if linked["l"]:
        remarks.append(
            "No person can be linked to a sensitive value with a confidence above "
            f"{_share(1 / min(linked['l'].values()))}."
        )
    return remarks


def _share(confidence: float) -> str:
    """Return a confidence as a percentage, rounded up so that it is not understated."""
    return f"{number(ceil(round(confidence * 1000, 6)) / 10)}%"
