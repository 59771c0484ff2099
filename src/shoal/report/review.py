"""What a data protection officer reads of a release: the residual risk, and three ways in which data identifies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal._core.words import percent
from shoal.report.attack_sentences import describe_attack
from shoal.report.linked_promises import describe_audited_unit
from shoal.report.person_risk import risk_figures

_THREATS = (
    (
        "Singling out",
        "isolating the records of one person",
        ("singling-out",),
    ),
    (
        "Linkability",
        "joining records of the same person in two tables",
        ("linking", "intersection"),
    ),
    (
        "Inference",
        "deducing a sensitive value of a person",
        ("homogeneity", "background", "skewness", "similarity", "inference", "minimality", "refinement"),
    ),
)
"""The three risks of Opinion 05/2014 of the Article 29 Working Party: title, meaning, and the attacks that test it."""


@dataclass(frozen=True, kw_only=True)
class Threat:
    """One of the three risks, with everything that was measured of it."""

    title: str
    meaning: str
    measured: list[str]
    """The figure that follows from the groups, and the results of attacks, in sentences."""


def collect_review(facts: Mapping[str, Any], attacks: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """Collect what the pages of a reviewer show: the residual risk, the unit that is counted, and the three risks.

    Parameters
    ----------
    facts : mapping
        A certificate as a dictionary, or `shoal.Audit.to_dict()`.
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
    if whose == "persons":
        return f"Persons are counted, identified by {facts['persons'][0]['unit']}."
    if whose == "bundles":
        return "Persons are counted, whose records are linked by a pseudonym."
    # An audit has no column of persons, but its certificate may state what a record is.
    if facts.get("stated"):
        return describe_audited_unit({*facts["stated"]})
    return "Records are counted: each is taken for another person."


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
    confidence = _find_confidence(facts)
    # What an adversary must know differs: one record, or all records of a linked person.
    known = {"highest": percent(figures["highest"]), "average": percent(figures["average"])}
    found = {
        "records": (
            "Somebody who knows all quasi-identifiers of a person finds the record with a probability of at "
            "most {highest}, and of {average} on average"
        ),
        "persons": (
            "Somebody who knows all quasi-identifiers of a record of a person finds the person with a "
            "probability of at most {highest}, and of {average} on average"
        ),
        "bundles": (
            "Somebody who knows the quasi-identifiers of all records of a person finds the person with a "
            "probability of at most {highest}, and of {average} on average"
        ),
    }[whose].format(**known)
    # Without a sensitive column, or if persons were not measured, finding is the only risk.
    if confidence is None:
        return f"{found}."
    guessed = f"a sensitive value is guessed rightly with a probability of at most {percent(confidence)}"
    return f"{found}; {guessed}."


def _describe_threats(facts: Mapping[str, Any], attacks: Sequence[Mapping[str, Any]] = ()) -> list[Threat]:
    """Map what was measured to singling out, linkability and inference; empty without quasi-identifiers."""
    figures, whose = _find_risk(facts)
    if not figures:
        return []
    # Bundles have no share of unique persons, because a person shares a bundle with k - 1 others.
    alone = figures.get("sample_uniques", float(figures["highest"] >= 1))
    of_persons = whose != "records"
    # The figures that follow from the groups alone, before any attack.
    single = "{share} of the persons have quasi-identifiers of their own" if of_persons else None
    single = single or "{share} of the records have quasi-identifiers of their own"
    linked = "a link by all quasi-identifiers is right with a probability of at most {highest}, {average} on average"
    confidence = _find_confidence(facts)
    # A person may have several values, so what counts is one of them in any record.
    guessed = {
        "records": "the most common value of a group is right with a probability of at most {share}",
        "persons": "a person has a value in some record with a probability of at most {share}",
        "bundles": "a person has a value in some record with a probability of at most {share}",
    }[whose]
    inferred = (
        "not bounded by the groups: no sensitive column was measured"
        if confidence is None
        else guessed.format(share=percent(confidence))
    )
    of_groups = (
        single.format(share=percent(alone)),
        linked.format(highest=percent(figures["highest"]), average=percent(figures["average"])),
        inferred,
    )
    # Results of attacks, by the name of the attack.
    tested: dict[str, list[str]] = defaultdict(list)
    for one in attacks:
        tested[one["attack"]].append(_describe_result(one))
    # Each risk has the figure of the groups first, then the results of its attacks.
    return [
        Threat(
            title=title,
            meaning=meaning,
            measured=[sentence, *(text for name in names for text in tested[name])],
        )
        for (title, meaning, names), sentence in zip(_THREATS, of_groups, strict=True)
    ]


def _describe_result(facts: Mapping[str, Any]) -> str:
    """State the success of an attack and of its baseline."""
    # Imported here, because the page of a release has no attacks and need not wait for them.
    from shoal.attacks import ATTACKS

    attack = ATTACKS[facts["attack"]]
    if facts["rate"] is None:
        return f"attack “{attack.title}”: not measured"
    return f"attack “{attack.title}”: {describe_attack(facts)[0]}"


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
