"""Pages of judgements on tables of any origin: audits and attacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal._core.words import listed, percent
from shoal.report import sentences
from shoal.report.about import About
from shoal.report.audit_remarks import describe_audit
from shoal.report.page import collect_attack, list_column_rates, list_rates
from shoal.report.review import collect_review
from shoal.report.set_promises import fails_model
from shoal.report.templating import template

_GROUPS = 50
"""Largest number of failing groups that a page lists for each model."""


def render_audit(
    facts: Mapping[str, Any],
    *,
    title: str,
    about: About | None = None,
    attacks: Sequence[Mapping[str, Any]] = (),
    failed: Sequence[tuple[str, str]] = (),
    removed: Sequence[str] = (),
    checked: Mapping[str, Any] | None = None,
) -> str:
    """Render the audit of a table as one HTML page, with numbers and sizes of failing groups, but no cell.

    Parameters
    ----------
    facts : mapping
        `shoal.Audit.to_dict()`.
    title : str
        The heading, which names the table; it stands below a title of `about`.
    about : About, optional
        The words of the page; with a decision, the page has a sheet for it.
    attacks : sequence of mapping
        Results of attacks on the table, as `AttackResult.to_dict()`.
    failed : sequence of (str, str)
        The names of attacks that could not run, with their reasons.
    removed : sequence of str
        The columns of the original that are not published, if they are known.
    checked : mapping, optional
        "known", the quasi-identifiers; "certified", whether a certificate was compared with the cells; and "different",
        its figures that the cells do not have.
    """
    from shoal.attacks import ATTACKS

    about = about or About()
    # A model that fails for some attribute or set fails as a whole.
    failures = facts.get("failures", ())
    return template("audit.html.j2").render(
        title=about.title or title,
        subject=title,
        facts=facts,
        removed=removed,
        checked=checked,
        about=about.dated() if about.decision else about,
        attacks=[collect_attack(one) for one in attacks],
        failed=[
            (listed([ATTACKS[name].title for name, other in failed if other == reason]), reason)
            for reason in dict.fromkeys(reason for _name, reason in failed)
        ],
        **collect_review(facts, attacks),
        achieved=facts["achieved"],
        remarks=describe_audit(facts),
        verdicts=[
            (
                sentences.model_title(model),
                sentences.achieved_for(model, facts["achieved"]),
                not fails_model(model, failures),
            )
            for model in facts.get("requested", ())
        ],
        failures=[(sentences.model_title({**one["model"], **_set_of(one)}), one) for one in failures[:_GROUPS]],
        most=_GROUPS,
        risk_rows=_list_risk_rows(facts["risk"], of_persons="unique_persons" in facts),
    )


def _set_of(failure: Mapping[str, Any]) -> dict[str, Any]:
    """Return the set of quasi-identifiers of a failure as the part of a requested model, if it has one."""
    return {"columns": failure["columns"]} if "columns" in failure else {}


def _list_risk_rows(risk: Mapping[str, Any] | None, *, of_persons: bool) -> list[tuple[str, None, float]]:
    from shoal.report.page import RECORD_OUTCOMES
    from shoal.report.person_risk import PERSON_OUTCOMES

    # Without quasi-identifiers there is no risk of linking.
    if risk is None:
        return []
    above = percent(risk["threshold"])
    outcomes = PERSON_OUTCOMES if of_persons else RECORD_OUTCOMES
    return [(label.format(above), None, risk[name]) for name, label in outcomes]


def render_attack(facts: Mapping[str, Any], *, title: str, said: Sequence[str], attack: Mapping[str, str]) -> str:
    """Render the result of an attack as one HTML page: its rate, the baseline and the control, without any person.

    Parameters
    ----------
    facts : mapping
        `AttackResult.to_dict()`.
    title : str
        The heading.
    said : sequence of str
        The result, in sentences.
    attack : mapping of str to str
        "title", "meaning", "assumptions", "formula" and "reference" of the attack.
    """
    return template("attack.html.j2").render(
        title=title,
        facts=facts,
        said=said,
        attack=attack,
        rates=list_rates(facts),
        each=list_column_rates(facts),
    )
