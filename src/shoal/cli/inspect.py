"""The command `shoal inspect`."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from shoal._core.facts import Fact
from shoal._core.outcome import reason_of
from shoal._core.private_files import write_private_text
from shoal._messages import Suggestion
from shoal.cli.asking import reading_of, source_of
from shoal.cli.command import option, takes
from shoal.cli.console import Terminal, lines_of, path_line, plain, warning_lines
from shoal.cli.pages import Page, check_file, check_page, write_page
from shoal.errors import OutputError
from shoal.request.texts import as_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import RenderableType

    from shoal._messages import Audience
    from shoal.findings import Remark
    from shoal.request.words import Words
    from shoal.verbs.inspect import Inspection

_WIDE_ENOUGH = 22
"""Column names up to this length are not broken."""
_LEGEND = (
    "Roles: quasi-identifiers are what others may know of a person, published less precisely; sensitive columns must "
    "not be linked to a person; direct identifiers and the column of persons are never published. Coarser: what is "
    "done to a column first. Unique: the share of the records whose value no other has."
)
"""The words of the table of columns."""
_NO_RELEASE = (
    "No column is proposed as a quasi-identifier, so that no release can be made of the proposal as it is. Name those "
    "that others may know of a person in the spec file, as columns.quasi_identifiers."
)
"""What to do before the command that follows."""
_PAIRS = 5
"""Pairs of columns that the terminal shows."""

SpecOut = Annotated[
    Path | None,
    option(
        "--spec-out",
        metavar="FILE.toml",
        help="Write the proposal as a spec file with a comment on every line, for shoal anonymize --spec.",
    ),
]
ShowValues = Annotated[
    bool, option("--show-values", help="Show the most frequent values of each column. Default: no cell is shown.")
]


@takes("input", "k", "forms", "reading", "cleaning", "force", "json")
def inspect(
    terminal: Terminal,
    words: Words,
    *,
    spec_out: SpecOut = None,
    output: Page = None,
    show_values: ShowValues = False,
) -> None:
    """Inspect a table before anything else: the contents of its columns, and a proposal of their roles.

    Example: shoal inspect patients.csv --spec-out release.toml

    Then check every line of release.toml, and run: shoal anonymize --spec release.toml -o out
    """
    from shoal.verbs.inspect import inspect as look

    k: Any = 5 if words.get("k") is None else as_number("-k", words.get("k"))
    force = bool(words.get("force"))
    # Check both outputs first.
    check_file(spec_out, force=force)
    check_page(output, force=force)
    with terminal.progress() as progress:
        found = look(source_of(words, "inspect"), k=k, show_values=show_values, progress=progress, **reading_of(words))
    facts = found.to_dict()
    if not terminal.json:
        found = found if spec_out is None else replace(found, warnings=_name_in_spec(found, spec_out))
        terminal.say("", *_summary_of(found, facts, terminal.audience))
    written = _written(found, spec_out, output, k=k, force=force)
    if terminal.json:
        terminal.result(facts)
    elif written:
        terminal.say(*(path_line("written", path) for path in written))
    if not terminal.json:
        terminal.say(*_next_steps(words, found, spec_out), "")


def _next_steps(words: Words, found: Inspection, spec: Path | None) -> list[RenderableType]:
    """Return the commands that follow: one that writes the proposal down, unless it was written, and the release."""
    source = source_of(words, "inspect")
    lines: list[RenderableType] = []
    if spec is None:
        # A URL may hold a password.
        said = {**words.said, "input": "INPUT" if "://" in source else source}
        again = replace(words, said={name: one for name, one in said.items() if name not in ("force", "json")}).to_cli()
        lines.append(path_line("next", f"shoal inspect {shlex.join(again)} --spec-out release.toml"))
    if not found.names_of("quasi_identifier"):
        lines.append(plain(_NO_RELEASE))
    lines.append(path_line("then", f"shoal anonymize --spec {_quoted(spec or 'release.toml')} -o out"))
    return lines


def _name_in_spec(found: Inspection, spec: Path) -> tuple[Remark, ...]:
    """Return the warnings, of which that of repeated persons states what remains to decide if the spec names them."""
    from shoal.verbs.evaluate.evaluation import name_persons

    one_each = Suggestion(
        "rows_per_person", 1, command=f"shoal anonymize --spec {_quoted(spec)} --rows-per-person 1 -o out"
    )
    fewer = Fact("fewer_records_each", one=one_each)
    named = name_persons(found.warnings, found.person, "persons_in_spec", Fact("rows_to_decide", one=one_each))
    return tuple(
        replace(one, advice=Fact("one_after_other", one=fewer, other=one.advice.arguments["other"]))
        if one.code == "sure_of_persons" and one.advice is not None
        else one
        for one in named
    )


def _quoted(path: object) -> str:
    return shlex.quote(str(path))


# Of anonymize, which the advice is for.
inspect.more_flags = {"coarsen": "--coarsen", "l": "-l", "t": "-t", "direct_identifiers": "--id"}


def _written(inspection: Inspection, spec: Path | None, page: Path | None, *, k: int, force: bool) -> list[Path]:
    """Write the requested files, and return their paths."""
    files: list[Path] = []
    if spec is not None:
        try:
            write_private_text(spec, inspection.to_toml(k=k, folder=spec.parent))
        except OSError as error:
            raise OutputError(f"'{error.filename}' cannot be written: {reason_of(error)}.") from error
        files.append(spec)
    if page is not None:
        files += write_page(page, "inspection", inspection.to_html(), inspection.to_json(), force=force)
    return files


def _summary_of(inspection: Inspection, facts: Mapping[str, Any], audience: Audience) -> list[RenderableType]:
    """Return the findings: the format of the file, the columns, the reasons, pairs of columns, risk, and warnings."""
    from shoal._core.words import number
    from shoal.report.page import how_it_was_read, pairs_of, person_sentences, risk_sentences

    # How the file was read, whether rows are persons, and the columns.
    read = how_it_was_read(facts)
    question = person_sentences(facts)
    lines: list[RenderableType] = [
        plain(
            f"{number(inspection.rows)} records with {len(inspection.columns)} columns"
            + "".join(f"; {one}" for one in read)
        ),
        plain(" ".join(question)),
        _table_of(inspection),
        _LEGEND,
        "",
        "Why:",
        lines_of(
            [
                (one.name, one.why + ("" if one.date_format is None else f"; date format {one.date_format}"))
                for one in inspection.columns
            ]
        ),
        "",
    ]
    # Values are listed only on request.
    if inspection.columns[0].values is not None:
        shown = [
            (column.name, ", ".join(f"{value} ({number(count)})" for value, count in column.values or ()))
            for column in inspection.columns
        ]
        lines += ["Most frequent values:", lines_of(shown), ""]
    # Pairs of columns that distinguish most records, then the risk and the warnings.
    pairs = pairs_of(facts, _PAIRS)
    if pairs:
        lines_of_pairs = [(" + ".join(one["columns"]), _describe_pair(one, inspection.rows)) for one in pairs]
        lines += ["Two columns together, if published as they are:", lines_of(lines_of_pairs), ""]
    lines += [plain(" ".join(risk_sentences(facts))), ""]
    lines += [f"{goal.render(audience)}\n" for goal in inspection.goals if not goal.feasible]
    lines += warning_lines(inspection.warnings, audience)
    if inspection.warnings:
        lines.append("")
    return lines


def _table_of(inspection: Inspection) -> RenderableType:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from shoal._core.words import number, percent

    # Names and steps are folded, all other cells stay on one line.
    table = Table(box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    # Short names stay on one line.
    longest = max(len(column.name) for column in inspection.columns)
    table.add_column("column", overflow="fold", min_width=min(longest, _WIDE_ENOUGH))
    for title in ("kind", "role"):
        table.add_column(title, no_wrap=True)
    table.add_column("coarser", overflow="fold", min_width=10)  # cuts of a skewed number are long
    for title in ("values", "missing", "unique"):
        table.add_column(title, justify="right", no_wrap=True)
    for column in inspection.columns:
        words = (column.name, column.kind, column.role.removesuffix("_identifier"), column.coarsen or "")
        table.add_row(*map(plain, words), number(column.distinct), number(column.missing), percent(column.uniqueness))
    return table


def _describe_pair(pair: Mapping[str, Any], rows: int) -> str:
    from shoal._core.words import number, percent

    if pair["distinction"] is None:
        return f"two records differ with a probability of {percent(pair['separation'] or 0)}"
    return f"{number(round(pair['distinction'] * rows))} different combinations in {number(rows)} records"
