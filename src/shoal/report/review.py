"""What a data protection officer reads of a release: the residual risk, and three ways in which data identifies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from shoal.report.attack_sentences import describe_attack
from shoal.report.remarks import risk_figures
from shoal.report.sentences import describe_audited_unit
from shoal.wording import say

_THREATS = (
    ("Singling out", "isolating the records of one person", ("singling-out",)),
    ("Linkability", "joining records of the same person in two tables", ("linking", "intersection")),
    (
        "Inference",
        "deducing a sensitive value of a person",
        ("homogeneity", "background", "skewness", "similarity", "inference", "minimality", "refinement"),
    ),
)
"""The three risks of Opinion 05/2014 of the Article 29 Working Party: title, meaning, and the attacks that test it."""


def collect_review(facts: Mapping[str, Any], attacks: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """Collect what the pages of a reviewer show: the residual risk, the unit that is counted, and the three risks.

    Parameters
    ----------
    facts : mapping
        A certificate as a dictionary, or `shoal.results.Audit.to_dict()`.
    attacks : sequence of mapping
        Results of attacks, as `AttackResult.to_dict()`.
    """
    return {
        "residual": _describe_residual_risk(facts),
        "unit": _describe_unit(facts),
        "threats": _describe_threats(facts, attacks),
    }


def _describe_unit(facts: Mapping[str, Any]) -> str:
    whose = _find_risk(facts)[1]
    # An audit has no column of persons, but its certificate may state what a record is.
    if whose == "records" and facts.get("stated"):
        return describe_audited_unit({*facts["stated"]})
    return say(f"unit_{whose}", unit=facts["persons"][0]["unit"] if whose == "persons" else "")


def _describe_residual_risk(facts: Mapping[str, Any]) -> str:
    """Describe the residual risk in one sentence; empty if there are no quasi-identifiers.

    Examples
    --------
    >>> risk = {"highest": 0.2, "average": 0.125}
    >>> _describe_residual_risk({"achieved": {"alpha": 0.5}, "risk": {"after": risk}}).partition(";")[0]
    'Somebody who knows all quasi-identifiers of a person finds the record with a probability of at most 20%, and of \
12.5% on average'
    """
    figures, whose = _find_risk(facts)
    if not figures:
        return ""
    # What an adversary must know differs: one record, or all records of a linked person.
    found, confidence = say(f"residual_{whose}", **figures), _find_confidence(facts)
    # Without a sensitive column, or if persons were not measured, finding is the only risk.
    return f"{found}." if confidence is None else say("residual_value", found=found, confidence=confidence)


def _describe_threats(facts: Mapping[str, Any], attacks: Sequence[Mapping[str, Any]] = ()) -> list[dict[str, Any]]:
    """Map what was measured to singling out, linkability and inference; empty without quasi-identifiers.

    "measured" has the figure that follows from the groups, and the results of attacks, in sentences.
    """
    figures, whose = _find_risk(facts)
    if not figures:
        return []
    # Bundles have no share of unique persons, because a person shares a bundle with k - 1 others.
    alone = figures.get("sample_uniques", float(figures["highest"] >= 1))
    units, confidence = "records" if whose == "records" else "persons", _find_confidence(facts)
    # The figures that follow from the groups alone, before any attack.
    of_groups = (
        say("threat_alone", alone=alone, units=units),
        say("threat_link", **figures),
        # A person may have several values, so what counts is one of them in any record.
        say("threat_unbounded") if confidence is None else say(f"inferred_{units}", confidence=confidence),
    )
    # Results of attacks, by the name of the attack.
    tested: dict[str, list[str]] = defaultdict(list)
    for one in attacks:
        tested[one["attack"]].append(_describe_result(one))
    # Each risk has the figure of the groups first, then the results of its attacks.
    return [
        {"title": title, "meaning": meaning, "measured": [said, *(text for name in names for text in tested[name])]}
        for (title, meaning, names), said in zip(_THREATS, of_groups, strict=True)
    ]


def _describe_result(facts: Mapping[str, Any]) -> str:
    """State the success of an attack and of its baseline."""
    # Imported here, because the page of a release has no attacks and need not wait for them.
    from shoal.attacks import ATTACKS

    told = "not measured" if facts["rate"] is None else describe_attack(facts)[0]
    return f"attack “{ATTACKS[facts['attack']].title}”: {told}"


def _find_risk(facts: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """Find the figures of risk of the published table, and what they count."""
    # An audit has the figures of the table alone, a certificate those before and after.
    if "unique_rows" not in facts:
        figures, whose = risk_figures(facts)
        return figures.get("after") or {}, whose
    if facts["achieved"].get("linked"):
        return facts["risk"] or {}, "bundles"
    return facts["risk"] or {}, "records" if facts.get("unique_persons") is None else "persons"


def _find_confidence(facts: Mapping[str, Any]) -> float | None:
    """Find the largest confidence in a sensitive value; None if it was not measured."""
    achieved = facts["achieved"]
    linked = achieved.get("linked")
    # What is measured of persons takes precedence, because all of their records tell something of them.
    if linked is not None:
        diversity = list(linked["l"].values())
        return 1 / float(min(diversity)) if diversity else None
    shares = [one["largest"] for kind in facts.get("persons", ()) for one in kind.get("confidence", {}).values()]
    if shares:
        return float(max(shares))
    if achieved.get("lists"):
        return 1 / float(min(achieved["lists"]["l"].values()))
    # The largest share of a value in a group of records.
    alpha = achieved.get("alpha")
    return None if alpha is None else float(alpha)
