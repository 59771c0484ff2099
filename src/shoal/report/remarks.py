"""Sentences about the cost of a release, the persons in it, and the figures of an audit."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, floor
from typing import Any

from shoal._core.words import number, percent
from shoal.report.sentences import describe_audited_unit
from shoal.wording import join_warnings, say

PERSON_OUTCOMES = (
    ("highest", "a person is found: the highest probability"),
    ("average", "a person is found: the average over all persons"),
    ("records_above", "persons found with a probability of more than {}"),
    ("sample_uniques", "persons found for certain"),
)
"""Outcomes of re-identification by figure, as for records."""


def gap_sentence(cost: Mapping[str, Any], source: Mapping[str, Any] | None = None) -> str:
    """Describe the distance of a release's cost from its lower bound.

    Parameters
    ----------
    cost : mapping
        The certificate's "cost".
    source : mapping, optional
        The certificate's "input", with the number of records that were left out.
    """
    gap, left = _gap_of(cost), (source or {}).get("rows_left_out")
    return say("cost_without_left_out", left=left, rows=source["rows"], gap=gap) if source and left else gap


def _gap_of(cost: Mapping[str, Any]) -> str:
    word, cells, _records, least = counted(cost)
    if cost.get("optimal"):
        return _optimum_sentence(cost)
    if cells is None or least is None:
        return say("cost_unbounded")
    if cells <= least:
        return say("cost_fewest", cells=cells, word=word)
    if least == 0:
        return say("cost_of_none", cells=cells, word=word)
    # A ratio is rounded up: an approximation factor must not look better than it is.
    digits = 1000 if cells / least < 2 else 100
    ratio = number(ceil(cells / least * digits) / digits)
    within = say("cost_within_factor", least=least, word=word, cells=cells, ratio=ratio)
    return within if word == "stars" else within + _loss_sentence(cost)


def _optimum_sentence(cost: Mapping[str, Any]) -> str:
    """Describe a proven optimum: of stars it is one of all costs, of recoded cells it is not one of the loss."""
    stars = cost.get("stars")
    recoded = cost.get("recoded_cells", stars)
    if not recoded or recoded == stars == (cost.get("lower_bound") or {}).get("stars", stars):
        return say("cost_optimal")
    return say("cost_fewest", cells=recoded, word="recoded cells") + _loss_sentence(cost)


def _loss_sentence(cost: Mapping[str, Any]) -> str:
    """Describe the lower bound of the loss, if it is above zero."""
    least = (cost.get("lower_bound") or {}).get("gcp", 0.0)
    # Rounded against the publisher: the bound down, the loss up.
    hundredths = floor(10_000 * least)
    if hundredths == 0:
        return ""
    # By other cells, the same groups lose less or more, so the bound is not theirs.
    nodes = cost["lower_bound"].get("gcp_nodes", ())
    cells = f"with nodes of these hierarchies in {', '.join(nodes)}" if nodes else "with intervals and sets"
    lost = f"{ceil(10_000 * cost['gcp']) / 100:.2f}"
    return say("cost_of_precision", cells=cells, bound=f"{hundredths / 100:.2f}", lost=lost)


def counted(cost: Mapping[str, Any]) -> tuple[str, int | None, int | None, int | None]:
    """Extract the counted cost of a release: its unit, the cells, the affected records, and the bound on the cells.

    The unit is stars, unless cells became intervals or sets: then it is cells that are published less precisely.
    """
    bound = cost.get("lower_bound") or {}
    if cost.get("recoded_cells", cost.get("stars")) == cost.get("stars"):
        return "stars", cost.get("stars"), cost.get("suppressed_tuples"), bound.get("stars")
    return "recoded cells", cost["recoded_cells"], cost.get("recoded_tuples"), bound.get("recoded_cells")


def risk_figures(certificate: Mapping[str, Any]) -> tuple[Mapping[str, Mapping[str, Any]], str]:
    """Return the figures of risk before and after, and what they count: "records", "persons" or "bundles".

    The persons of a release whose rows are not linked are known to the publisher only; a public certificate then has
    the figures of records. Bundles follow from the published table: a person is one of b with a probability of 1 / b.

    Parameters
    ----------
    certificate : mapping
        A certificate as a dictionary, public or private.

    Examples
    --------
    >>> linked = {"achieved": {"linked": {"units": 10, "bundles": 2, "k": 4}}}
    >>> risk_figures(linked)
    ({'after': {'highest': 0.25, 'average': 0.2}}, 'bundles')
    """
    linked = certificate["achieved"].get("linked")
    if linked is not None:
        return {"after": {"highest": 1 / linked["k"], "average": linked["bundles"] / linked["units"]}}, "bundles"
    persons = certificate.get("persons") or ()
    if persons and "risk_before" in persons[0]:
        return {"before": persons[0]["risk_before"], "after": persons[0]["risk"]}, "persons"
    return certificate.get("risk") or {}, "records"


def describe_persons(certificate: Mapping[str, Any]) -> list[str]:
    """Describe the persons of a release and their records for the publisher, and what linking left out.

    Parameters
    ----------
    certificate : mapping
        The full certificate as a dictionary.
    """
    said = [say("persons_of_release", **figures) for figures in certificate.get("persons", ())]
    linked = certificate["input"].get("linked") or {}
    # Records are left out so that enough persons have equally many, and more of them if values are too frequent.
    fewest = linked.get("fewest_rows_left_out", 0)
    if linked.get("constant"):
        said.append(say("persons_constant", columns=linked["constant"]))
    if fewest:
        said.append(say("persons_fewest_left_out", records=fewest))
    if more := linked.get("rows_left_out", 0) - fewest:
        said.append(say("persons_more_left_out", records=more))
    if without := certificate["input"].get("persons_without_rows"):
        said.append(say("persons_without_rows", persons=without))
    return said


def describe_audit(facts: Mapping[str, Any]) -> list[str]:
    """Return sentences about the measured quantities, the most serious first."""
    achieved, of_persons = facts["achieved"], facts.get("unique_persons") is not None
    diversity = None if of_persons else (achieved.get("l") or {}).get("frequency")
    # Unique records first, because they are the most serious finding.
    if of_persons:
        remarks = _remarks_on_persons(facts)
    elif achieved["k"] == 1 and (achieved.get("sets") or achieved)["k"] == 1:
        remarks = [say("audit_unique", count=facts["unique_rows"])]
    elif "sets" in achieved:
        known, unique = achieved["sets"], facts.get("unique_rows", 0)
        remarks = [say("audit_sets", sets=known["sets"], others=known["k"] - 1, unique=unique)]
    else:
        remarks = [say("audit_k", count=achieved["k"] - 1)]
    confidence = achieved.get("alpha")
    # Single values of lists are counted, not whole lists.
    if diversity is not None and achieved.get("lists"):
        diversity = min(achieved["lists"]["l"].values())
        confidence = 1 / diversity
    if achieved.get("without_harmless"):
        remarks.append(say("audit_harmless", share=_share(1 / min(one["l"] for one in achieved["without_harmless"]))))
    elif diversity is not None:
        remarks.append(say("audit_one_value") if diversity == 1 else say("audit_l", share=_share(confidence)))
    if not of_persons:
        remarks.append(describe_audited_unit({*facts.get("stated", ())}))
    # Warnings follow the figures that they qualify.
    return remarks + [f"Warning: {text}" for _code, text in join_warnings(facts.get("warnings", ()))]


def _remarks_on_persons(facts: Mapping[str, Any]) -> list[str]:
    """Return sentences about k and l of persons."""
    linked, alone = facts["achieved"].get("linked"), facts["unique_persons"]
    # A unique person is the only remark that matters.
    if alone:
        known = "of a record" if linked is None else "of all records"
        return [say("audit_unique_persons", count=alone, known=known)]
    if linked is None:
        of_first = facts["persons"][0]
        return [say("audit_k_of_persons", fewest=of_first["least_in_group"], k=of_first["k"])]
    # Linked rows: k and l count the persons of bundles.
    confident = [1 / min(linked["l"].values())] if linked["l"] else []
    shared = say("audit_k_of_linked", others=linked["k"] - 1)
    return [shared, *(say("audit_l_of_linked", share=_share(one)) for one in confident)]


def _share(confidence: float) -> str:
    """Return a confidence as a percentage, rounded up so that it is not understated."""
    return percent(ceil(round(confidence * 1000, 6)) / 1000)
