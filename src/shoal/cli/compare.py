"""The command `shoal compare`."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Any

from shoal._core.figures import check_picture_name
from shoal.cli import options
from shoal.cli.asking import request_in, source_of
from shoal.cli.command import takes
from shoal.cli.console import Terminal, plain, warning_lines
from shoal.request.texts import names_in

if TYPE_CHECKING:
    from rich.console import RenderableType

    from shoal._messages import Audience
    from shoal.request.words import Words
    from shoal.verbs.compare import Comparison

__all__ = ["compare"]

_BAR, _NARROWEST = 20, 72
"""The length of the chart's bars, and the minimum width of a terminal that shows them."""


@takes(
    "input",
    "columns",
    "model",
    "seed",
    "recoding",
    "preferences",
    "algorithms",
    "forms",
    "reading",
    "cleaning",
    "spec",
    "json",
)
def compare(
    terminal: Terminal,
    words: Words,
    *,
    algorithms: options.Algorithms = None,
    loss: options.ComparedLoss = None,
    utility: options.ComparedUtility = None,
    attacks: options.ComparedAttacks = None,
    chart: options.Chart = None,
) -> None:
    """Anonymize a table with several algorithms and compare their losses. No release is written.

    Example: shoal compare patients.csv --qi age,zip --sensitive disease -l 4 --chart chart.svg

    By default, all algorithms that support the request run, except those that prove an
    optimum: request these with --algorithms. An algorithm that finds no release has
    a line with the reason. With --epsilon and --delta next to -k, -l or -t, a last line
    has a release with differential privacy alone, of the same columns.

    The first run of each algorithm includes its compilation.
    """
    from shoal.verbs.compare import compare as run_algorithms
    from shoal.verbs.compare import fitting_algorithms

    # The request is validated without an algorithm, because several follow.
    request = request_in(words, algorithm="auto")
    # Without names, all suitable algorithms run.
    names = names_in("--algorithms", algorithms)
    if names is None:
        names = tuple(fitting_algorithms(request))
    arguments: dict[str, Any] = {"algorithms": words.algorithms(*names)}
    if loss is not None:
        arguments["loss"] = loss
    if utility:
        arguments["utility"] = True
    if attacks:
        arguments["attacks"] = True
    if chart is not None:
        check_picture_name(chart)
    with terminal.progress() as progress:
        comparison = run_algorithms(source_of(words), request, progress=progress, **arguments)
    if chart is not None:
        comparison.save_plot(chart)
    if terminal.json:
        terminal.result(comparison.to_dict())
    else:
        terminal.say("", _table_of(comparison), *_chart_of(comparison), *_remarks(comparison, terminal.audience), "")


def _table_of(comparison: Comparison) -> RenderableType:
    """Return the comparison as a table; an algorithm that failed has no figures."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    columns = comparison.columns()
    for title in columns:
        table.add_column(title, justify="left" if title == "algorithm" else "right", no_wrap=True)
    for cells in zip(*columns.values(), strict=True):
        table.add_row(*map(plain, cells))
    return table


def _chart_of(comparison: Comparison) -> list[RenderableType]:
    """Return losses and times as bars, if there are several algorithms and the terminal is wide enough."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from shoal.metrics import METRICS
    from shoal.report.sentences import number

    # Bars need at least two algorithms and enough width.
    rows = comparison.measured
    if len(rows) < 2 or shutil.get_terminal_size().columns < _NARROWEST:
        return []
    most = {name: max(row[name] for row in rows) for name in (comparison.loss, "seconds")}
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("algorithm", no_wrap=True)
    table.add_column(METRICS[comparison.loss].title, no_wrap=True)
    table.add_column("seconds", no_wrap=True)
    for row in rows:
        shown = [f"{_bar(row[name], most[name])} {number(row[name])}" for name in most]
        table.add_row(row["algorithm"], *shown)
    return [table]


def _bar(value: float, most: float) -> str:
    """Return a bar in proportion to a value; in ASCII if the terminal needs it."""
    block = "█" if (sys.stdout.encoding or "").lower().startswith("utf") else "#"
    return block * max(round(_BAR * value / most) if most else 0, 1)


def _remarks(comparison: Comparison, audience: Audience) -> list[str]:
    """Return the guarantee of each algorithm, or the reason why it failed, and why attacks were not measured."""
    remarks = []
    for row in comparison.rows:
        name = row["algorithm"]
        error = comparison.errors.get(name)
        remark = error.render(audience) if error is not None else row["guarantee"] or "no guarantee of its cost"
        remarks.append(plain(f"{name}: {remark}"))
    # Each attack without a rate has its reason, once for all algorithms that share it.
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in comparison.rows:
        for attack, facts in row.get("attacks", {}).items():
            if facts["rate"] is None:
                reasons.setdefault((attack, facts["not_measured"]), []).append(row["algorithm"])
    for (attack, reason), names in reasons.items():
        remarks.append(plain(f"{attack} was not measured ({', '.join(names)}): {reason}"))
    return [*remarks, *warning_lines(comparison.warnings, audience)]
