"""Pages of judgements on a table that anybody may have made: an audit, and an attack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.report import sentences
from shoal.report.page import columns_of, rates_of
from shoal.report.templating import template

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["render_attack", "render_audit"]

_GROUPS = 50
"""Failing groups that a page lists for each model."""


def render_audit(facts: Mapping[str, Any], *, title: str, remarks: Sequence[str] = ()) -> str:
    """Return the audit of a table as one HTML page, with numbers and sizes of groups that fail, and no cell.

    Parameters
    ----------
    facts : mapping
        What `shoal.Audit.to_dict` returns.
    title : str
        The heading.
    remarks : sequence of str
        What the figures mean, in sentences.
    """
    failed = [one["model"] for one in facts.get("failures", ())]
    return template("audit.html.j2").render(
        title=title,
        facts=facts,
        achieved=facts["achieved"],
        remarks=remarks,
        verdicts=[
            (
                sentences.model_title(model),
                sentences.achieved_for(model, facts["achieved"]),
                model not in failed,
            )
            for model in facts.get("requested", ())
        ],
        failures=[(sentences.model_title(one["model"]), one) for one in facts.get("failures", ())],
        most=_GROUPS,
        risk_rows=_risk_rows(facts["risk"]),
    )


def _risk_rows(risk: Mapping[str, Any] | None) -> list[tuple[str, float, float]]:
    from shoal.report.page import ATTACKERS

    if risk is None:
        return []
    above = sentences.percent(risk["threshold"])
    return [(does.format(above), risk[name], risk[name]) for name, does in ATTACKERS]


def render_attack(facts: Mapping[str, Any], *, title: str, said: Sequence[str], attack: Mapping[str, str]) -> str:
    """Return what an attack found as one HTML page: its rate beside the baseline and the control, and nobody's name.

    Parameters
    ----------
    facts : mapping
        What `AttackResult.to_dict` returns.
    title : str
        The heading.
    said : sequence of str
        What was found, in sentences.
    attack : mapping of str to str
        "title", "meaning", "assumptions", "formula" and "reference" of the attack.
    """
    return template("attack.html.j2").render(
        title=title,
        facts=facts,
        said=said,
        attack=attack,
        rates=rates_of(facts),
        each=columns_of(facts),
    )
