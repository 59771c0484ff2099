"""The command `shoal anonymize`."""

from __future__ import annotations

from dataclasses import replace
from json import loads
from typing import TYPE_CHECKING, Annotated, Any

from shoal._core.outcome import describe_outcome
from shoal._core.words import number
from shoal.cli.asking import engine_ready, folder_of, request_in, saving_of, source_of
from shoal.cli.command import RELEASE, option, takes
from shoal.cli.console import lines_of, plain, warning_lines
from shoal.errors import ParameterError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import RenderableType

    from shoal.cli.console import Terminal
    from shoal.release.analysis import RowPairs
    from shoal.release.release import Release
    from shoal.request.request import Request
    from shoal.request.words import Words


Show = Annotated[
    int | None,
    option(
        "--show",
        metavar="N",
        min=1,
        help="Show N records at random as they were and as they are published: on this terminal only, in no file.",
    ),
]
DryRun = Annotated[
    bool,
    option(
        "--dry-run",
        help="Write nothing; report what would be published, if it is feasible, and what to look at.",
    ),
]


@takes(*RELEASE, "engine", "tables")
def anonymize(terminal: Terminal, words: Words, *, show: Show = None, dry_run: DryRun = False) -> None:
    """Make a release of a table that satisfies a privacy requirement, with a certificate and a report.

    Example: shoal anonymize patients.csv --qi age,gender,zip --sensitive disease --id name -l 4 -k 10 -o out

    All of out may be published: the table, with a certificate and a report that reveal
    no more than the table. out.private has the full versions, for you alone.

    Every column needs a role: --qi, --sensitive, --id (never published) or --insensitive (published unchanged).

    The same request as a file, for --spec release.toml:

    \b
    input = "patients.csv"
    output = "out"
    columns.quasi_identifiers = ["age", "gender", "zip"]
    columns.sensitive = ["disease"]
    columns.direct_identifiers = ["name"]
    privacy.l = 4
    privacy.k = 10
    coarsen.zip = "prefix:3"
    seed = 7

    Persons and their records in two tables are published as two, with pseudonyms:
    shoal anonymize persons.csv --rows visits.csv --key patient_id --link --qi age,ward --sensitive disease -k 5 -o out

    Exit codes: 0 done; 1 the request is infeasible; 2 wrong usage or bad input; 3 the verification failed; 70 a bug.
    """  # noqa: D301 - the character keeps the lines of the example apart
    source, request = source_of(words), request_in(words)  # fails first if no columns are named
    if dry_run:
        _report_evaluation(terminal, source, request)
        return
    if show is not None and terminal.json:
        raise UsageError("Records are shown on the terminal only: leave out --json or --show.")
    release = publish(terminal, source, folder_of(words), words, request)
    if show is not None:
        try:
            terminal.say(*_describe_rows(release.side_by_side(show)))
        except ParameterError as error:  # the table was read in batches; its release is in place
            terminal.note(error.render(terminal.audience))


def publish(terminal: Terminal, data: Any, folder: Path, words: Words, request: Request) -> Release:
    """Anonymize a table, save the release and print its summary.

    Parameters
    ----------
    terminal : Terminal
        The terminal for the summary.
    data : str or frame
        The table, as for `shoal.anonymize`.
    folder : Path
        The folder of the release.
    words : Words
        The options of saving.
    request : Request
        The request.

    Returns
    -------
    Release

    Raises
    ------
    OutputError
        If the folder exists and must not be replaced. The check precedes the work.
    """
    from shoal.io import check_free
    from shoal.verbs.anonymize import anonymize as make_release

    # Check the output first: the work may take long.
    check_free(folder, force=bool(words.get("force")))
    with engine_ready(words), terminal.progress() as progress:
        tables = {name: words.get(name) for name in ("rows", "key")}
        release = make_release(data, replace(request, output=None), progress=progress, **tables)
        facts = save(terminal, release, folder, words)
    if terminal.json:
        terminal.result(facts)
    else:
        from shoal.cli.summary import summary_of

        terminal.say(*summary_of(facts, folder))
    return release


def _report_evaluation(terminal: Terminal, source: str, request: Request) -> None:
    """Print the evaluation of a request.

    Raises
    ------
    InfeasibleError
        If no release can satisfy the request, after everything else was printed.
    WarnedError
        If there are warnings, and the request is strict.
    """
    from shoal.release.writer import refuse_warnings
    from shoal.verbs.evaluate import Evaluation, evaluate

    with terminal.progress() as progress:
        found: Evaluation = evaluate(source, request, progress=progress)
    if terminal.json:
        terminal.result(found.to_dict())
    else:
        feasible = [goal.render(terminal.audience) for goal in found.goals if goal.feasible]
        published = lines_of([(one.name, found.published_as(one.name)) for one in found.columns])
        lines: list[RenderableType] = [plain(f"{number(found.rows)} records. Nothing was written."), "", published, ""]
        warned = () if request.strict else found.warnings  # the refusal below names them
        lines += [*map(plain, feasible), *warning_lines(warned, terminal.audience)]
        terminal.say(*lines)
    for goal in found.goals:
        if goal.error is not None:
            raise goal.error
    if request.strict:
        refuse_warnings(found.warnings, "request")


def _describe_rows(pairs: RowPairs) -> list[RenderableType]:
    """Return a line for each record: its number, and each cell as it was and as it is published."""
    lines = []
    for at, row in enumerate(pairs.numbers):
        cells = zip(pairs.after.columns, pairs.before.row(at), pairs.after.row(at), strict=True)
        # Unchanged cells stand once; a missing cell is empty.
        shown = [f"{name} {old or ''}" + ("" if old == new else f" -> {new or ''}") for name, old, new in cells]
        lines.append((str(row + 1), "; ".join(shown)))
    return [plain("Records as they were and as they are published, for you alone:"), lines_of(lines), ""]


def save(terminal: Terminal, release: Release, folder: Path, words: Words) -> dict[str, Any]:
    """Save a release, and return its certificate.

    A signal that arrives when the folder is in place cannot undo the release, so the call succeeds with a note.
    """
    from shoal.io import private_folder

    try:
        return release.save(folder, **saving_of(words)).to_dict()
    except (KeyboardInterrupt, SystemExit):
        if describe_outcome().changed and terminal.json:
            terminal.result(loads((private_folder(folder) / "certificate.json").read_bytes()))
        raise
