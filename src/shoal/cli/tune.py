"""The command `shoal tune`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shoal._core.quoting import quote_for_shell
from shoal.cli import options
from shoal.cli.anonymize import save
from shoal.cli.asking import folder_of, request_in, source_of
from shoal.cli.command import RELEASE, takes
from shoal.cli.console import Terminal, path_line, plain, warning_lines
from shoal.request.texts import as_number, column_and_words

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import RenderableType

    from shoal._messages import Audience
    from shoal.request.words import Words
    from shoal.verbs.tune import Tuning

__all__ = ["tune"]

_SHOWN = 12
"""Settings that the table shows at most."""


@takes(*RELEASE)
def tune(
    terminal: Terminal,
    words: Words,
    *,
    loss: options.TunedLoss = None,
    seconds: options.Seconds = None,
) -> None:
    """Search for the coarsening of the quasi-identifiers with the lowest loss after anonymization.

    Example: shoal tune patients.csv --qi age,zip --sensitive disease -l 4 --seconds 60 -o out

    Coarser columns need fewer stars. The total loss is measured against the original
    table, and the result is never worse than no coarsening.

    Columns with --hierarchy are coarsened to its levels, others to suitable bins,
    prefixes or classes; those with --coarsen keep that coarsening.

    With -o the best release is published, and its private report shows the
    trade-off. Ctrl-C ends the search and keeps the best result so far.

    Exit codes: 0 done; 1 the request is infeasible; 2 wrong usage or bad input; 3 the verification failed; 70 a bug.
    """
    from shoal.io import check_free
    from shoal.verbs.tune import tune as search

    # Options of the search, in addition to the request.
    request, arguments = request_in(words), dict[str, Any]()
    if loss is not None:
        arguments["loss"] = loss
    if seconds is not None:
        arguments["seconds"] = as_number("--seconds", seconds)
    # Without an output folder, the command only searches.
    folder = None if words.get("output") is None else folder_of(words)
    if folder is not None:
        check_free(folder, force=bool(words.get("force")))
    with terminal.progress() as progress:
        tuning = search(source_of(words), replace(request, output=None), progress=progress, **arguments)
    facts = tuning.to_dict()
    if not terminal.json:
        terminal.say("", *_summary_of(tuning, terminal.audience))
    if folder is not None:
        facts["certificate"] = _published(terminal, tuning, folder, words)
    if terminal.json:
        terminal.result(facts)


def _published(terminal: Terminal, tuning: Tuning, folder: Path, words: Words) -> dict[str, Any]:
    """Save the best release, print its summary, and return its certificate."""
    with terminal.progress() as progress:
        facts = save(terminal, tuning.release(progress=progress), folder, words)
    if not terminal.json:
        from shoal.cli.summary import summary_of

        terminal.say(*summary_of(facts, folder))
    return facts


def _summary_of(tuning: Tuning, audience: Audience) -> list[RenderableType]:
    """Return the result: sentences, a table of the trade-off, and the options for the best setting."""
    lines: list[RenderableType] = [plain(sentence) for sentence in tuning.sentences()]
    lines += [_table_of(tuning), *warning_lines(tuning.warnings, audience)]
    # Coarsenings without a text form can only be used in Python.
    words = [
        f"--coarsen {quote_for_shell(column_and_words(name, text, listed=True))}" for name, text in tuning.words.items()
    ]
    if words:
        lines.append(path_line("best", " ".join(words)))
    lines.append("")
    return lines


def _table_of(tuning: Tuning) -> RenderableType:
    """Return the trade-off as a table."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    columns = tuning.columns()
    for title in columns:
        if title == "setting":
            table.add_column(title, overflow="fold", min_width=24)
        else:
            table.add_column(title, justify="right", no_wrap=True)
    places = _shown(tuning)
    for at, row in enumerate(zip(*columns.values(), strict=True)):
        if at in places:
            table.add_row(*map(plain, row), style="bold" if tuning.trade_off[at] is tuning.best else None)
    return table


def _shown(tuning: Tuning) -> set[int]:
    """Return the settings of the trade-off to show, evenly spread if there are many; the best is always one of them."""
    # Keep the ends, spread the others evenly, and add the best.
    front = list(tuning.trade_off)
    if len(front) <= _SHOWN:
        return set(range(len(front)))
    places = {round(at * (len(front) - 1) / (_SHOWN - 2)) for at in range(_SHOWN - 1)}
    return places | {at for at, setting in enumerate(front) if setting is tuning.best}
