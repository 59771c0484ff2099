"""Sentences about the figures of an audit, for the command line, its page and the studio."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

from shoal._core.words import number, percent
from shoal.report.linked_promises import describe_audited_unit
from shoal.wording import join_warnings


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
        unique = facts["unique_rows"]
        found = (
            (
                "Warning: k = 1. {count} record is unique: anyone who knows these quasi-identifiers of a "
                "person finds the record."
            )
            if unique == 1
            else (
                "Warning: k = 1. {count} records are unique: anyone who knows these quasi-identifiers of a "
                "person finds the record."
            )
        )
        remarks.append(found.format(count=number(unique)))
    elif "sets" in achieved:
        known = achieved["sets"]
        remarks.append(
            f"In each of {number(known['sets'])} set(s) of quasi-identifiers every record shares its values "
            f"with at least {number(known['k'] - 1)} other(s). All quasi-identifiers together single out "
            f"{number(facts.get('unique_rows', 0))} record(s)."
        )
    else:
        company = achieved["k"] - 1
        shared = (
            "Every record shares its quasi-identifiers with at least one other."
            if company == 1
            else "Every record shares its quasi-identifiers with at least {count} others."
        )
        remarks.append(shared.format(count=number(company)))
    confidence = achieved.get("alpha")
    # Single values of lists are counted, not whole lists.
    if diversity is not None and achieved.get("lists"):
        diversity = min(achieved["lists"]["l"].values())
        confidence = 1 / diversity
    if achieved.get("without_harmless"):
        diversity = min(one["l"] for one in achieved["without_harmless"])
        remarks.append(
            "Except for values that need no protection, no record can be linked to a sensitive value with a "
            f"confidence above {_share(1 / diversity)}."
        )
    elif diversity == 1:
        remarks.append(
            "Warning: l = 1. In some group all records have the same sensitive value: it is certain for each of them."
        )
    elif diversity is not None:
        unlinked = "No record can be linked to a sensitive value with a confidence above {share}."
        remarks.append(unlinked.format(share=_share(confidence)))
    # Warnings follow the figures that they qualify.
    if facts.get("unique_persons") is None:
        remarks.append(describe_audited_unit({*facts.get("stated", ())}))
    warned = "Warning: {text}"
    return remarks + [warned.format(text=text) for _code, text in join_warnings(facts.get("warnings", ()))]


def _remarks_on_persons(facts: Mapping[str, Any]) -> list[str]:
    """Return sentences about k and l of persons."""
    linked, alone = facts["achieved"].get("linked"), facts["unique_persons"]
    k = facts["persons"][0]["k"] if linked is None else linked["k"]
    # A unique person is the only remark that matters.
    if alone:
        found = (
            (
                "Warning: {count} person is unique: anyone who knows these quasi-identifiers {known} of a "
                "person finds the person."
            )
            if alone == 1
            else (
                "Warning: {count} persons are unique: anyone who knows these quasi-identifiers {known} of a "
                "person finds the person."
            )
        )
        return [found.format(count=number(alone), known="of a record" if linked is None else "of all records")]
    if linked is None:
        shared = (
            "Records with the same quasi-identifiers are of at least {fewest} persons, none of whom has more "
            "than one in {k} of them."
        )
        return [shared.format(fewest=number(facts["persons"][0]["least_in_group"]), k=number(k))]
    # Linked rows: k and l count the persons of bundles.
    shared = "Every person shares the quasi-identifiers of all records with at least {count} other person(s)."
    remarks = [shared.format(count=number(k - 1))]
    if linked["l"]:
        unlinked = "No person can be linked to a sensitive value with a confidence above {share}."
        remarks.append(unlinked.format(share=_share(1 / min(linked["l"].values()))))
    return remarks


def _share(confidence: float) -> str:
    """Return a confidence as a percentage, rounded up so that it is not understated."""
    return percent(ceil(round(confidence * 1000, 6)) / 1000)
