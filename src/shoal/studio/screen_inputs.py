"""Steps that screens share: inspection of the table, required roles, outdated forms, equivalent commands."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal._core.file_formats import WORKBOOKS
from shoal.errors import ShoalError, UsageError
from shoal.studio import equivalents
from shoal.studio.jobs import tables as jobs
from shoal.studio.jobs.trees import shape
from shoal.studio.plan import Plan
from shoal.studio.requests import request_in
from shoal.studio.state import Studio, Waiting
from shoal.studio.words import SCREENS

DEMO = "visits.csv"
"""File name of the bundled demo table, which is synthetic."""
MAX_NODES = 300
"""Maximum number of nodes of a hierarchy that are listed on a page."""


def inspect_table(studio: Studio, step: str) -> Any:
    """Return the inspection of the table; raise `Waiting` for what must come first."""
    plan = studio.plan
    if not plan.source:
        raise Waiting(path="/")
    # Of a workbook with several sheets the one with the most cells is read, until another one is chosen.
    sheets = [] if "sheet" in plan.reading else list_sheets(studio, step)
    if sheets:
        name, _, _, row = max(sheets, key=lambda one: (one[3] is not None, one[1] * one[2]))
        reading = {"header_row": str(row)} if row not in (None, 1) else {}
        reading = {"sheet": name if len(sheets) > 1 else "", **reading, **plan.reading}
        # Part of opening the table, and no step of its own.
        studio.history.amend(reading=reading)
        plan = studio.plan
    arguments = {**plan.opened, "demo": DEMO if plan.demo else None}
    return studio.facts(step, f"Looking at {plan.shown}", jobs.inspect_table, arguments, back="/")


def count_alone(studio: Studio, step: str, plan: Plan) -> Any:
    """Count who is alone in the table as it is; None while that is under way, a text if it cannot be counted."""
    quasi = plan.names_of("quasi_identifier")
    if not quasi:
        return "No column is one that others may know, so no risk is measured."
    arguments = {**studio.plan.opened, "quasi_identifiers": quasi, "person": plan.person}
    try:
        return studio.facts_later(step, "Counting who is alone", jobs.count_alone, arguments, back="/table")
    except ShoalError as error:
        return error.render(SCREENS)


def list_sheets(studio: Studio, step: str) -> Any:
    """List the sheets of the open workbook with their sizes; the list is empty for other files."""
    plan = studio.plan
    if not plan.source.lower().endswith(WORKBOOKS) or "://" in plan.source:
        return []
    return studio.facts(step, f"Opening {plan.shown}", jobs.sheets, {"source": plan.source}, back="/")


def inspect_with_roles(studio: Studio, step: str) -> Any:
    """Inspect the table for a screen that needs roles; redirect to the screen of the table if one lacks it."""
    inspected = inspect_table(studio, step)
    # A column whose values were replaced is proposed again, and needs an answer first.
    if not studio.plan.decided or any(one["name"] not in studio.plan.roles for one in inspected["columns"]):
        raise Waiting(path="/table")
    # The files of hierarchies are temporary: those of a project that was opened again are written once more.
    for name, tree in studio.plan.trees.items():
        if not Path(tree.path).is_file() and name in studio.plan.coarsenable:
            measure_hierarchy(studio, name, {})
    return inspected


def measure_hierarchy(studio: Studio, name: str, query: Mapping[str, str]) -> Any:
    """Let the worker build, write and measure the hierarchy of a column; the query selects what is shown of it."""
    plan = studio.plan
    given, tree = query.get("level", "1"), plan.trees[name]
    arguments = {
        "content": replace(plan, coarsen={}).work,
        "column": name,
        "steps": [dict(one) for one in tree.steps],
        "path": tree.path,
        "k": parse_k(plan),
        "level": int(given) if given.isdecimal() and len(given) < 4 else 1,
        "find": query.get("find", "")[:100],
        "most": MAX_NODES,
    }
    return studio.facts("goal", f"Shaping {name}", shape, arguments, back="/goal")


def hash_names(names: Sequence[str]) -> str:
    """Hash a list of names. Form fields number the names, so the hash shows whether a page is outdated."""
    return hashlib.sha256(json.dumps([*names]).encode()).hexdigest()[:16]


def hash_plan(content: Mapping[str, Any], folder: object = None) -> str:
    """Hash what a result depends on: one that was asked for under another plan is asked for again, not computed."""
    return hash_names([json.dumps(content, sort_keys=True), str(folder)])


def check_form(form: Mapping[str, str], names: Sequence[str]) -> None:
    """Check that a form was made for these columns.

    Raises
    ------
    UsageError
        If it was made for others.
    """
    if form.get("of", "") != hash_names(names):
        raise UsageError("That page was made for other columns: another window has changed them since. Load it again.")


def select_name(form: Mapping[str, str], names: Sequence[str], *, field: str = "identifier") -> str | None:
    """Return the name that a form selects by number; None if it selects none of them.

    Raises
    ------
    UsageError
        If the form was made for other columns.
    """
    # Columns are numbered in forms because their names may contain any character.
    check_form(form, names)
    given = form.get(field, "")
    return names[int(given)] if given.isdecimal() and len(given) < 6 and int(given) < len(names) else None


def typed_decimal(text: str) -> str:
    """Write a typed number with a point if it has one comma, which separates the decimals in many languages.

    Examples
    --------
    >>> typed_decimal(" 0,5"), typed_decimal("0.5"), typed_decimal("1,2,3")
    ('0.5', '0.5', '1,2,3')
    """
    text = text.strip()
    return text.replace(",", ".") if re.fullmatch(r"\d*,\d+", text) else text


def explain_models(plan: Plan) -> list[str]:
    """Explain in sentences what the models of a plan promise to one person."""
    from shoal.report import promise

    return [promise(model, plan.names_of("sensitive")) for model in request_in(plan.work).requirement.to_list()]


def build_equivalents(studio: Studio, plan: Plan) -> equivalents.Equivalents | None:
    """Build the equivalent commands of the release; None if the plan is still invalid."""
    try:
        return equivalents.of_publishing(plan, output=studio.paths.free_folder())
    except ShoalError:
        return None


def parse_k(plan: Plan) -> int:
    """Parse the requested k of a plan, or find the k of its differential privacy; 5 if it has neither."""
    if "epsilon" in plan.privacy:
        from shoal.models import DifferentialPrivacy
        from shoal.request.model_words import models_of

        return next(one.k for one in models_of(plan.content()["privacy"]) if isinstance(one, DifferentialPrivacy))
    given = plan.privacy.get("k", "")
    return max(int(given), 1) if given.isdecimal() else 5
