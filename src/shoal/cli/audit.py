"""The command `shoal audit`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from shoal.cli.asking import (
    Cells,
    Nodes,
    Released,
    arguments_for,
    cells_of,
    engine_ready,
    keep_said,
    named_by_certificate,
    reading_of,
    trees_of_cells,
)
from shoal.cli.command import option, takes
from shoal.cli.console import Terminal, lines_of, path_line, plain
from shoal.cli.pages import Attacks, Page, check_page, write_page
from shoal.errors import ReleaseUnsafeError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shoal.report.figures import CountedFigures
    from shoal.request.words import Words
    from shoal.verbs.audit import Audit
    from shoal.verification import Failure

Against = Annotated[
    str | None,
    option(
        "--against",
        metavar="INPUT",
        help="Only check whether the release was made from this table, by the salted hash in its private certificate: "
        "FILE is OUT.private, or the certificate.json in it. With certificate and salt other tables can be tested, "
        "too: give them only to people who may see the table.",
    ),
]
Salt = Annotated[
    str | None,
    option("--salt", metavar="DIGITS", help="With --against: the salt. Default: salt.txt next to the certificate."),
]
Stars = Annotated[
    str,
    option(
        "--stars",
        metavar="own|wildcard",
        help="own (default): a star, an interval or a set is a value of its own; wildcard: it matches every value that "
        "it can stand for, as in sdcMicro, and k counts compatible records.",
    ),
]
_SHOWN = 10
"""Failing groups listed per model."""


@takes(
    *("quasi_identifiers", "sensitive", "person", "units", "link", "qi_sets", "knows", "star", "model", "report"),
    *("engine", "forms", "reading", "cleaning", "spec", "json", "force"),
)
def audit(
    terminal: Terminal,
    words: Words,
    *,
    source: Released,
    hierarchies: Nodes = None,
    cells: Cells = None,
    stars: Stars = "own",
    attacks: Attacks = None,
    against: Against = None,
    salt: Salt = None,
    output: Page = None,
) -> None:
    """Measure the privacy of any published table, and check it against a requirement if one is given.

    Example: shoal audit out/release.csv --qi age,gender,zip --sensitive disease -l 4

    For the folder of a release (shoal audit OUT), the certificate provides the columns. With a decision (--decision
    approved --reviewed-by NAME), the page of -o has a sheet for it, to be printed and signed.

    Exit codes: 0 the table satisfies the requirement, or there is none; 3 it does not; 2 wrong usage or bad input.
    """
    from shoal.report import attack_result, describe_audit
    from shoal.report.figures import read_figures
    from shoal.verbs.audit import audit as judge

    if against is not None:
        _compare_provenance(terminal, words, against, source, salt)
        return
    # The models, and the columns from options, spec file or certificate.
    models, force = words.models(), bool(words.get("force"))
    check_page(output, force=force)
    tested = [attack_result(path) for path in attacks or ()]
    named = named_by_certificate(source)
    arguments = arguments_for(words, judge, source=source, named=named)
    names = arguments.get("quasi_identifiers", named)
    arguments.pop("hierarchies", None)  # hierarchies of a spec file are for anonymizing
    keep_said(arguments, ("person", "units", "link", "header_row"))  # a release does not have them
    arguments |= {"hierarchies": trees_of_cells(hierarchies, names), "cells": cells_of(cells, names), "stars": stars}
    with engine_ready(words):
        judged = judge(source, privacy=models or None, **arguments)
    # Facts as JSON, or as lines with a verdict and remarks; failing groups are notes.
    facts = judged.to_dict()
    written = [] if output is None else _written(output, words, judged, tested, source=source)
    if terminal.json:
        terminal.result(facts)
    else:
        figures = read_figures(facts)
        lines = [*_lines_of_persons(figures), *_lines(facts["achieved"], figures)]
        terminal.say("", lines_of(lines), *_verdict(judged), *map(plain, describe_audit(facts)), "")
        terminal.say(*(path_line("written", path) for path in written), *([""] if written else []))
    for failure in judged.failures[:_SHOWN]:
        terminal.note(f"{failure.render(terminal.audience)} {_groups_of(failure)}".rstrip())
    if len(judged.failures) > _SHOWN:
        terminal.note(f"{len(judged.failures) - _SHOWN} more sets of quasi-identifiers fail (--json lists them).")
    if judged.failures:
        raise click.exceptions.Exit(ReleaseUnsafeError.exit_code)


def _compare_provenance(terminal: Terminal, words: Words, source: str, certificate: str, salt: str | None) -> None:
    """State whether a release was made from a table; columns with direct identifiers may be missing from it."""
    from shoal.verbs.provenance import provenance

    names = ("delimiter", "encoding", "sheet", "header_row", "replace_values", "derive")
    reading: Any = {name: one for name, one in reading_of(words).items() if name in names}
    same = provenance(source, Path(certificate), salt=salt, **reading)
    if terminal.json:
        terminal.result({"same": same})
    else:
        terminal.say("The release was made from this table." if same else "The release was made from another table.")
    # The exit code states the result, so that scripts need no output.
    if not same:
        raise click.exceptions.Exit(ReleaseUnsafeError.exit_code)


def _written(
    output: Path, words: Words, judged: Audit, attacks: Sequence[Mapping[str, Any]], *, source: str
) -> list[Path]:
    """Write the audit as a page."""
    from shoal.report import render_audit

    name = "the table" if "://" in source else Path(source).name  # a URL may hold a password
    page = render_audit(judged.to_dict(), title=f"Audit of {name}", about=words.about(), attacks=attacks)
    return write_page(output, "report", page, judged.to_json(), force=bool(words.get("force")))


def _verdict(judged: Audit) -> list[str]:
    """Return the requested models that the table satisfies and those that it does not; empty without a request."""
    from shoal.report.sentences import fails_model, model_title

    # Models are compared by their declared parameters.
    failures = [failure.to_dict() for failure in judged.failures]
    fails = [fails_model(model, failures) for model in judged.requested]
    unmet, met = (
        "; ".join(model_title(model) for model, one in zip(judged.requested, fails, strict=True) if one is wanted)
        for wanted in (True, False)
    )
    verdicts = (f"It satisfies {met}." if met else "", f"It does not satisfy {unmet}." if unmet else "")
    return [plain(sentence) for sentence in verdicts if sentence]


def _groups_of(failure: Failure) -> str:
    """Return the first failing groups with their sizes as text; empty if none is listed."""
    from shoal._core.words import number

    if not len(failure.numbers):
        return ""
    # Each group is listed with its size and its first row.
    columns = zip(failure.numbers.tolist(), failure.sizes.tolist(), failure.first_rows.tolist(), strict=True)
    shown = [f"{number(which)} ({number(size)}; row {number(row)})" for which, size, row in list(columns)[:_SHOWN]]
    more = "" if len(failure.numbers) <= _SHOWN else ", ... (--json lists more)"
    return f"Groups by number ({failure.of}; first row): {', '.join(shown)}{more}."


def _lines_of_persons(figures: CountedFigures) -> list[tuple[str, str]]:
    """Return the figures of persons as lines, if they are counted."""
    from shoal._core.words import number

    lines = []
    bundles = figures.of == "bundles"
    for one in figures.kinds if bundles else [one for one in figures.kinds if "unit" in one]:
        noun = one.get("of", "persons")
        whose = f"in {number(one['bundles'])} bundles of linked rows" if bundles else f"(by {plain(one['unit'])})"
        fewest = [] if bundles else [(f"{noun} in a group", f"at least {number(one['least_in_group'])}")]
        lines += [(noun, f"{number(one['units'])} {whose}"), *fewest, (f"k ({noun})", number(one["k"]))]
        lines += [(f"l ({part}, persons)", number(l)) for part, l in one.get("l", {}).items()]
    return lines


def _lines(achieved: Mapping[str, Any], figures: CountedFigures) -> list[tuple[str, str]]:
    """Return every measured quantity as a line of a name and a value."""
    from shoal._core.words import number, percent
    from shoal.report.sentences import found

    lines: list[tuple[str, str]] = []
    for name, value in achieved.items():
        # Linked rows have lines of their own.
        if name == "linked":
            continue
        if name == "sets":
            lines.append(("k (sets)", f"{number(value['k'])} in the worst of {number(value['sets'])} sets"))
            lines.extend((f"l (sets, {part})", number(one)) for part, one in value.get("l", {}).items())
            if "alpha" in value:
                lines.append(("alpha (sets)", number(value["alpha"])))
            continue
        if name == "lists":
            lines.extend((f"l ({part}, values of lists)", number(one)) for part, one in value["l"].items())
        elif name == "without_harmless":
            lines.extend(("l (without harmless values)", number(one["l"])) for one in value)
        elif name == "closeness":
            for one in value:
                lines.extend((f"t ({part}, {one['distance']} distance)", number(t)) for part, t in one["t"].items())
        elif isinstance(value, dict):
            measure = ", equal distance" if name == "t" else ""
            lines.extend((f"{name} ({part}{measure})", number(one)) for part, one in value.items())
        elif value is not None:
            lines.append((name, number(value)))
    if risk := figures.after:
        above = f"{percent(risk['records_above'])} of the {figures.noun}s above {percent(risk['threshold'])}"
        lines.append(("risk", f"{found(figures)}; {above}, {percent(risk['sample_uniques'])} alone"))
    return lines
