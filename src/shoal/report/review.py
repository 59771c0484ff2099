"""What a data protection officer reads of a release: the residual risk, and three ways in which data identifies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from typing import Any

from shoal.report.attack_sentences import describe_attack
from shoal.report.figures import CountedFigures, read_figures
from shoal.report.sentences import describe_audited_unit, describe_guess, name_harmless
from shoal.wording import find_code, say

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
    figures = read_figures(facts)
    return {
        "residual": _describe_residual_risk(figures),
        "unit": _describe_unit(figures, {*facts.get("stated", ())}, attacks),
        "threats": _describe_threats(figures, attacks),
    }


def _describe_unit(figures: CountedFigures, stated: Set[str], attacks: Sequence[Mapping[str, Any]]) -> str:
    # A table with a person for each record shows how many they are.
    linked = next((one for one in attacks if one["attack"] == "linking" and not one["unmatched_rows"]), None)
    if figures.of == "records" and linked is not None and linked["people"] < linked["attempts"]:
        return say("unit_records_of_people", rows=linked["attempts"], people=linked["people"])
    # An audit has no column of persons, but its certificate may state what a record is.
    if figures.of == "records" and stated:
        return describe_audited_unit(stated)
    return say(f"unit_{figures.of}", **figures.kinds[0])


def _describe_residual_risk(figures: CountedFigures) -> str:
    """Describe the residual risk in one sentence; empty if there are no quasi-identifiers.

    Examples
    --------
    >>> risk = {"highest": 0.2, "average": 0.125}
    >>> figures = read_figures({"achieved": {"alpha": 0.5}, "risk": {"after": risk}})
    >>> _describe_residual_risk(figures).partition(";")[0]
    'Someone who knows all quasi-identifiers of a person finds the record with a probability of at most 20%, and of \
12.5% on average over all records'
    """
    if not figures.after:
        return ""
    # What an adversary must know differs: one record, or all records of a linked person.
    found = say(f"residual_{figures.of}", **figures.after)
    # Without a sensitive column, or if persons were not measured, finding is the only risk.
    if figures.confidence is None:
        return f"{found}."
    return f"{found}; {describe_guess(figures)}."


def _describe_threats(figures: CountedFigures, attacks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Map what was measured to singling out, linkability and inference; empty without quasi-identifiers.

    "measured" has the figure that follows from the groups, and the results of attacks, in sentences.
    """
    risk, noun, confidence = figures.after, f"{figures.noun}s", figures.confidence
    if not risk:
        return []
    # Bundles have no share of unique persons, because a person shares a bundle with k - 1 others.
    alone = risk.get("sample_uniques", float(risk["highest"] >= 1))
    # The figures that follow from the groups alone, before any attack.
    of_groups = (
        say(find_code(f"threat_alone_of_{figures.of}", "threat_alone"), alone=alone, counted=noun),
        say(find_code(f"threat_link_of_{figures.of}", "threat_link"), counted=noun, **risk),
        # A person may have several values, so what counts is one of them in any record.
        say("threat_unbounded")
        if confidence is None
        else say(
            find_code(f"inferred_{noun}_of_{figures.about}", f"inferred_{noun}"),
            value=f"a value{name_harmless(figures)}",
            confidence=confidence,
        ),
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
    return f"attack “{ATTACKS[facts['attack']].title}”: {told.rstrip('.')}"
