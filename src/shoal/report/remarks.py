"""Sentences about the cost of a release, the persons in it, and the figures of an audit."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, floor
from typing import Any

from shoal._core.words import number, percent
from shoal._messages import Suggestion
from shoal.report.figures import read_figures
from shoal.report.sentences import describe_audited_unit
from shoal.wording import join_warnings, say

RECODED = "cells recoded by grouping"
"""What the cost counts if groups make cells less precise; coarsening before is not counted."""


def describe_left_out(source: Mapping[str, Any]) -> str:
    """Count the records that were left out, for the publisher; empty if all are published.

    Parameters
    ----------
    source : mapping
        The certificate's "input".
    """
    left = source.get("rows_left_out")
    return say("cost_without_left_out", left=left, rows=source["rows"]) if left else ""


def gap_sentence(cost: Mapping[str, Any]) -> str:
    """Describe the distance of a release's cost from its lower bound.

    Parameters
    ----------
    cost : mapping
        The certificate's "cost".
    """
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
    return say("cost_fewest", cells=recoded, word=RECODED) + _loss_sentence(cost)


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

    The unit is stars, unless groups made cells intervals or sets: then it is the cells that are less precise by that.
    """
    bound = cost.get("lower_bound") or {}
    if cost.get("recoded_cells", cost.get("stars")) == cost.get("stars"):
        return "stars", cost.get("stars"), cost.get("suppressed_tuples"), bound.get("stars")
    return RECODED, cost["recoded_cells"], cost.get("recoded_tuples"), bound.get("recoded_cells")


def describe_persons(certificate: Mapping[str, Any]) -> list[str]:
    """Describe the persons of a release and their records for the publisher, and what linking left out.

    Parameters
    ----------
    certificate : mapping
        The full certificate as a dictionary.
    """
    said = [say("persons_of_release", **figures) for figures in certificate.get("persons", ())]
    bundled = certificate["input"].get("linked") or {}
    # Records are left out so that enough persons have equally many, and more of them if values are too frequent.
    fewest = bundled.get("fewest_rows_left_out", 0)
    further: dict[str, dict[str, Any]] = {
        "persons_constant": {"columns": bundled.get("constant")},
        "persons_fewest_left_out": {"records": fewest},
        "persons_more_left_out": {"records": bundled.get("rows_left_out", 0) - fewest},
        "persons_without_rows": {"persons": certificate["input"].get("persons_without_rows")},
    }
    return [*said, *(say(code, **told) for code, told in further.items() if any(told.values()))]


def describe_audit(facts: Mapping[str, Any]) -> list[str]:
    """Return sentences about the measured quantities, the most serious first."""
    figures, harmless = read_figures(facts), facts["achieved"].get("without_harmless")
    alone, sets = facts.get("unique_persons", facts["unique_rows"]), facts["achieved"].get("sets", {"k": 1})
    # Unique records first, because they are the most serious finding.
    if figures.of == "records" and sets["k"] > 1:
        remarks = [say("audit_sets", sets=sets["sets"], others=sets["k"] - 1, unique=alone)]
    elif alone:
        remarks = [say(f"audit_unique_{figures.of}", count=alone)]
    elif facts.get("wildcards"):
        remarks = []
    else:
        remarks = [say(f"audit_k_{figures.of}", count=figures.k - 1, k=figures.k, fewest=figures.smallest)]
    # A unique person is the only remark that matters; of persons that are not linked, several values may be known.
    if harmless:
        remarks.append(say("audit_harmless", share=_share(1 / min(one["l"] for one in harmless))))
    elif figures.confidence is not None and (figures.of == "records" or (figures.of == "bundles" and not alone)):
        share, certain = _share(figures.confidence), figures.confidence == 1
        columns = facts.get("homogeneous") or list(facts["achieved"].get("t", {}))
        of = "of_several" if "persons" in facts.get("stated", ()) else figures.of
        code = f"audit_one_value_{figures.of}" if certain else f"audit_l_{of}"
        remarks.append(say(code, share=share, columns=columns))
    if facts.get("wildcards"):
        remarks.append(say("audit_wildcards"))
    elif facts["cost"]["stars"] and figures.of == "records" and figures.k == 1:
        remarks.append(say("audit_own_stars", asked=Suggestion("stars", "wildcard")))
    if figures.of == "records":
        remarks.append(describe_audited_unit({*facts.get("stated", ())}))
    # Warnings follow the figures that they qualify.
    return remarks + [f"Warning: {text}" for _code, text in join_warnings(facts.get("warnings", ()))]


def _share(confidence: float) -> str:
    """Return a confidence as a percentage, rounded up so that it is not understated."""
    return percent(ceil(round(confidence * 1000, 6)) / 1000)
