"""Common parts of the attacks on one release: options, reading, and output."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import click

from shoal._core.progress import silent
from shoal.cli import options
from shoal.cli.cell_reading import Cells, Nodes, cells_of, trees_of_cells
from shoal.cli.command import argument, option
from shoal.cli.console import Terminal, lines_of, path_line, plain
from shoal.cli.pages import check_page, write_page
from shoal.request.texts import names_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from shoal._core.progress import Progress
    from shoal.attacks import AttackResult, Reading

__all__ = ["Controls", "Targets", "attacks_release"]

Released = Annotated[
    str, argument(metavar="RELEASE", help="The release: a folder written by shoal, or a file by any tool.")
]
Targets = Annotated[
    str | None,
    option(
        "--targets",
        metavar="FILE",
        help="People in the release, with true quasi-identifiers and sensitive values. Default: the rows of the "
        "release.",
    ),
]
Controls = Annotated[
    str | None,
    option(
        "--controls",
        metavar="FILE",
        help="People who are not in the release, with the same columns: what an attack learns about them is not a "
        "disclosure.",
    ),
]
Person = Annotated[
    list[str] | None,
    option(
        "--person",
        metavar="NAMES",
        help="Attack persons instead of rows: the column that identifies the person of each row, in the targets or, "
        "without targets, in a copy of the release. Default: each row belongs to a different person.",
    ),
]
Explain = Annotated[
    bool, option("--explain", help="Show the assumptions, the formula and the reference of the attack.")
]


@dataclass(frozen=True, kw_only=True)
class AskedRelease:
    """A release, and the options that interpret its cells."""

    frame: pl.DataFrame
    """The table."""
    reading: Reading
    """The roles of the columns and the meanings of the cells."""
    progress: Progress
    """Callback for the progress of long work."""
    delimiter: str | None
    """Delimiter of CSV files."""
    encoding: str | None

    def table(self, path: str | None) -> pl.DataFrame | None:
        """Read another table of the call."""
        from shoal.io import read

        return None if path is None else read(path, delimiter=self.delimiter, encoding=self.encoding)


def attacks_release(function: Callable[..., AttackResult]) -> Callable[..., None]:
    """Make a command from a function that takes a release and its own options, and returns the result of an attack."""
    # The command combines the options of the attack with the shared ones.
    own = [one for one in inspect.signature(function).parameters.values() if one.kind == one.KEYWORD_ONLY]
    shared = [one for one in inspect.signature(_shared).parameters.values() if one.kind == one.KEYWORD_ONLY]
    kinds = {**_kinds(_shared, shared), **_kinds(function, own)}

    # Read the release, run the attack, write the page, print the results.
    def command(context: click.Context, **given: Any) -> None:
        from shoal.report import describe_attack

        terminal: Terminal = context.obj
        check_page(given["output"], force=bool(given["force"]))
        with terminal.progress() as progress:
            # The command's function attacks; its options were parsed by click.
            asked = _asked(progress or silent, **{one.name: given[one.name] for one in shared})
            found = function(asked, **{one.name: given[one.name] for one in own})
        written = [] if given["output"] is None else _written(found, given)
        if terminal.json:
            terminal.result(found.to_dict())
            return
        # Two plain sentences first, as on every screen and page, then the figures and what they mean exactly.
        first = map(plain, describe_attack(found.to_dict()))
        sentences = map(plain, found.sentences())
        terminal.say("", *first, "", lines_of(_lines(found)), "", *sentences)
        terminal.say(*_explained(found, explain=given["explain"]), "")
        terminal.say(*(path_line("written", path) for path in written), *([""] if written else []))

    # The signature lists the release first, then the options of the attack, then the shared options.
    parameters = [inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=click.Context)]
    first = [one for one in shared if one.name == "source"]
    parameters += [
        inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=kinds[one.name])
        for one in (*first, *own, *(one for one in shared if one.name != "source"))
    ]
    command.__name__, command.__doc__, command.__module__ = function.__name__, function.__doc__, function.__module__
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command


def _kinds(function: Callable[..., Any], parameters: Sequence[inspect.Parameter]) -> dict[str, Any]:
    written = SimpleNamespace(__annotations__={one.name: one.annotation for one in parameters})
    return get_type_hints(written, function.__globals__, include_extras=True)


def _shared(
    *,
    source: Released,
    quasi_identifiers: options.QuasiIdentifiers = None,
    sensitive: options.Sensitive = None,
    person: Person = None,
    star: options.Star = None,
    hierarchies: Nodes = None,
    cells: Cells = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    explain: Explain = False,
    output: options.Page = None,
    force: options.Force = None,
    json: options.Json = None,
) -> None:
    """Declare the options that every attack on one release has."""


def _asked(
    progress: Progress,
    *,
    source: str,
    quasi_identifiers: Sequence[str] | None,
    sensitive: Sequence[str] | None,
    person: Sequence[str] | None,
    star: str | None,
    hierarchies: Sequence[str] | None,
    cells: Sequence[str] | None,
    delimiter: str | None,
    encoding: str | None,
    **_: Any,
) -> AskedRelease:
    from shoal.verification.published_folder import read_published

    # Options take precedence over the certificate of the release.
    release = read_published(source, delimiter=delimiter, encoding=encoding)
    names = names_in("--qi", quasi_identifiers) or release.columns("quasi_identifiers")
    secrets = names_in("--sensitive", sensitive) or release.columns("sensitive")
    # Cells of sensitive columns have a meaning, too, if they were coarsened.
    read = (*names, *secrets)
    reading: Reading = {
        "quasi_identifiers": names,
        "sensitive": secrets,
        "star": star or release.star,
        "certificate": release.certificate,
        "hierarchies": trees_of_cells(hierarchies, read),
        "cells": cells_of(cells, read),
    }
    if persons := names_in("--person", person):
        reading["person"] = persons
    return AskedRelease(frame=release.frame, reading=reading, progress=progress, delimiter=delimiter, encoding=encoding)


def _written(found: AttackResult, given: Mapping[str, Any]) -> list[Path]:
    """Write the result of an attack as a page."""
    import json

    from shoal.attacks import ATTACKS
    from shoal.report import render_attack

    # The page contains the description of the attack, its figures and its sentences.
    attack, source = ATTACKS[found.attack], Path(given["source"])
    description = {name: getattr(attack, name) for name in ("title", "meaning", "assumptions", "formula", "reference")}
    title = f"{attack.title}: {source.name or source.resolve().name}"
    page = render_attack(found.to_dict(), title=title, said=found.sentences(), attack=description)
    facts = json.dumps(found.to_dict(), indent=2, ensure_ascii=False, default=float)
    return write_page(given["output"], "report", page, facts, force=bool(given["force"]))


def _lines(found: AttackResult) -> list[tuple[str, str]]:
    """Return the rates as lines of a name and a text."""
    from shoal._core.words import number, percent

    def rate(figures: Mapping[str, Any]) -> str:
        # A rate is shown with its confidence interval.
        if figures["rate"] is None:
            return "not measured"
        return f"{percent(figures['rate'])} ({percent(figures['low'])} to {percent(figures['high'])})"

    facts = found.to_dict()
    # With several sensitive attributes, the figures are those of the worst.
    worst = [("worst of", f"{len(found.each)}: {plain(' & '.join(found.sensitive))}")] if found.each else []
    lines = [
        *worst,
        ("attempts", number(facts["attempts"])),
        ("successes", number(facts["successes"])),
        ("rate", rate(facts)),
        ("baseline", rate(facts["baseline"])),
    ]
    values = facts.get("values")
    if values is not None:
        lines.append(("certain", f"{rate(values)}: {plain(' & '.join(values['sensitive']))}"))
    if facts["control"] is not None:
        lines.append(("control", rate(facts["control"])))
    if facts["residual"] is not None:
        left = facts["residual"]
        lines.append(("residual", f"{left['rate']:.3f} ({left['low']:.3f} to {left['high']:.3f})"))
    return lines


def _explained(found: AttackResult, *, explain: bool) -> list[str]:
    from shoal.attacks import ATTACKS

    if not explain:
        return []
    attack = ATTACKS[found.attack]
    return [
        "",
        f"{attack.title}: {attack.meaning}",
        f"Assumptions: {attack.assumptions}",
        f"Formula: {attack.formula}",
        f"Reference: {attack.reference}",
    ]
