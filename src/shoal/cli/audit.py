"""`shoal audit`."""

from __future__ import annotations

from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli import options
from shoal.cli.asking import arguments_for, engine_ready
from shoal.cli.cell_reading import Cells, Nodes, cells_of, named_by_certificate, trees_of_cells
from shoal.cli.command import takes
from shoal.cli.console import Terminal, lines_of, path_line, plain
from shoal.cli.pages import check_page, write_page
from shoal.errors import ReleaseUnsafeError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shoal.request.words import Words
    from shoal.verbs.audit import Audit
    from shoal.verification import Failure

__all__ = ["audit"]

_SHOWN = 10
"""Failing groups that are listed for each model."""


@takes(
    "quasi_identifiers",
    "sensitive",
    "person",
    "units",
    "star",
    "model",
    "engine",
    "forms",
    "reading",
    "spec",
    "json",
    "force",
)
def audit(
    terminal: Terminal,
    words: Words,
    *,
    source: options.Released,
    hierarchies: Nodes = None,
    cells: Cells = None,
    output: options.Page = None,
) -> None:
    """Measure the privacy that a table has, whoever made it, and check it against a requirement if one is given.

    Example: shoal audit out/release.csv --qi age,gender,zip --sensitive disease -l 4

    Of the folder of a release, shoal audit OUT, its certificate names the columns.

    Exit codes: 0 the table meets the requirement, or there was none; 3 it does not; 2 wrong usage or bad input.
    """
    from shoal.verbs.audit import audit as judge

    models, force = words.models(), bool(words.get("force"))
    check_page(output, force=force)
    named = named_by_certificate(source)
    asked = arguments_for(words, judge, source=source, named=named)
    names = asked.get("quasi_identifiers", named)
    asked.pop("hierarchies", None)  # those of a spec file are for anonymizing
    given = click.get_current_context().params
    for name in ("person", "units"):  # a release does not have them
        if not given.get(name):
            asked.pop(name, None)
    asked |= {"hierarchies": trees_of_cells(hierarchies, names), "cells": cells_of(cells, names)}
    with engine_ready(words):
        judged = judge(source, privacy=models or None, **asked)
    facts = judged.to_dict()
    written = [] if output is None else _written(output, judged, facts, source, force=force)
    if terminal.json:
        terminal.result(facts)
    else:
        lines = _lines(facts["achieved"], facts["risk"])
        terminal.say("", lines_of(lines), *_verdict(judged), *_remarks(facts), "")
        terminal.say(*(path_line("written", path) for path in written), *([""] if written else []))
    for failure in judged.failures:
        terminal.note(f"{failure.render(terminal.audience)} {_groups_of(failure)}".rstrip())
    if judged.failures:
        raise click.exceptions.Exit(ReleaseUnsafeError.exit_code)


def _written(output: Path, judged: Audit, facts: Mapping[str, Any], source: str, *, force: bool) -> list[Path]:
    """Write the audit as a page."""
    from shoal.report import render_audit

    name = "the table" if "://" in source else Path(source).name  # a URL may hold a password
    page = render_audit(facts, title=f"Audit of {name}", remarks=_remarks(facts))
    return write_page(output, "report", page, judged.to_json(), force=force)


def _verdict(judged: Audit) -> list[str]:
    """Return which of the requested models the table meets, and which it does not; nothing where none was."""
    from shoal.report.sentences import model_title

    failed = [failure.model.to_dict() for failure in judged.failures]
    unmet = "; ".join(dict.fromkeys(model_title(model) for model in failed))
    met = "; ".join(model_title(model) for model in judged.requested if model not in failed)
    said = (f"It meets {met}." if met else "", f"It does not meet {unmet}." if unmet else "")
    return [plain(sentence) for sentence in said if sentence]


def _groups_of(failure: Failure) -> str:
    """Return the failing groups by number and size, the first ones where they are many; empty where none is listed."""
    from shoal.report.sentences import number

    if not len(failure.numbers):
        return ""
    columns = zip(failure.numbers.tolist(), failure.sizes.tolist(), failure.first_rows.tolist(), strict=True)
    shown = [f"{number(which)} ({number(size)}; row {number(row)})" for which, size, row in list(columns)[:_SHOWN]]
    more = "" if len(failure.numbers) <= _SHOWN else ", ... (--json lists more)"
    return f"Groups by number (records; first row): {', '.join(shown)}{more}."


def _lines(achieved: Mapping[str, Any], risk: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Return every measured quantity with its value; one line each."""
    from shoal.report.sentences import found, number, percent

    lines: list[tuple[str, str]] = []
    for name, value in achieved.items():
        if name == "closeness":
            for one in value:
                lines.extend((f"t ({part}, {one['distance']} distance)", number(t)) for part, t in one["t"].items())
        elif isinstance(value, dict):
            measure = ", equal distance" if name == "t" else ""
            lines.extend((f"{name} ({part}{measure})", number(one)) for part, one in value.items())
        elif value is not None:
            lines.append((name, number(value)))
    if risk is not None:
        above = f"{percent(risk['records_above'])} of the records above {percent(risk['threshold'])}"
        lines.append(("risk", f"{found({'after': risk})}; {above}, {percent(risk['sample_uniques'])} alone"))
    return lines


def _remarks(facts: Mapping[str, Any]) -> list[str]:
    """Return what the measured quantities mean, worst news first."""
    from shoal.report.sentences import number

    achieved = facts["achieved"]
    diversity = (achieved.get("l") or {}).get("frequency")
    remarks: list[str] = []
    if achieved["k"] == 1:
        unique = facts.get("unique_rows")
        who = "Some records are" if unique is None else f"{number(unique)} record{' is' if unique == 1 else 's are'}"
        remarks.append(
            f"Warning: k = 1. {who} unique: whoever knows their quasi-identifiers of a person finds the record."
        )
    else:
        company = achieved["k"] - 1
        others = "one other" if company == 1 else f"{number(company)} others"
        remarks.append(f"Every record shares its quasi-identifiers with at least {others}.")
    if diversity == 1:
        remarks.append(
            "Warning: l = 1. In some group all records have the same sensitive value: it is known of each of them."
        )
    elif diversity is not None:
        most = _share(achieved["alpha"])
        remarks.append(f"No record can be linked to a sensitive value with a confidence above {most}.")
    remarks += [f"Warning: {one['text']}" for one in facts.get("warnings", ())]
    return [plain(remark) for remark in remarks]


def _share(confidence: float) -> str:
    """Return a confidence as a percentage, rounded up: it must not be told lower than it is."""
    from shoal.report.sentences import number

    return f"{number(ceil(round(confidence * 1000, 6)) / 10)}%"
