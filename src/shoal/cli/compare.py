"""`shoal compare`."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Any

import typer  # noqa: TC002 - typer reads the annotations

from shoal._figures import check_picture_name
from shoal.cli import options
from shoal.cli.anonymize import SETTINGS
from shoal.cli.console import Terminal, plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import RenderableType

    from shoal.comparison import Comparison

__all__ = ["compare"]

_COLUMNS = {
    "stars": "stars",
    "suppressed_tuples": "records",
    "groups": "groups",
    "average_class_size": "size",
    "gcp": "GCP",
    "kl_divergence": "KL",
    "seconds": "seconds",
}
_BAR, _NARROWEST = 20, 72
"""How long the bars of the chart are, and how wide a terminal has to be for them."""


def compare(
    context: typer.Context,
    *,
    source: options.Source = None,
    algorithms: options.Algorithms = None,
    loss: options.ComparedLoss = None,
    chart: options.Chart = None,
    quasi_identifiers: options.QuasiIdentifiers = None,
    sensitive: options.Sensitive = None,
    direct_identifiers: options.DirectIdentifiers = None,
    insensitive: options.Insensitive = None,
    missing_sensitive: options.MissingSensitive = None,
    star: options.Star = None,
    k: options.K = None,
    l: options.L = None,
    l_variant: options.LVariant = None,
    c: options.C = None,
    alpha: options.Alpha = None,
    beta: options.Beta = None,
    beta_variant: options.BetaVariant = None,
    delta: options.Delta = None,
    e: options.E = None,
    t: options.T = None,
    t_distance: options.TDistance = None,
    t_order: options.TOrder = None,
    recoding: options.Recoding = None,
    largest_set: options.LargestSet = None,
    hierarchies: options.Hierarchies = None,
    coarsen: options.Coarsen = None,
    time_limit: options.TimeLimit = None,
    suppression_limit: options.SuppressionLimit = None,
    cost: options.Cost = None,
    local: options.Local = None,
    patterns: options.PatternsFile = None,
    seed: options.Seed = None,
    spec: options.Spec = None,
    dates: options.Dates = None,
    decimal: options.Decimal = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    sheet: options.Sheet = None,
    json: options.Json = None,
) -> None:
    """Anonymize a table with several algorithms and compare what each one costs. No release is written.

    Example: shoal compare patients.csv --qi age,zip --sensitive disease -l 4 --chart chart.svg

    All algorithms that can serve the request run, but for those that prove an
    optimum: name these with --algorithms. An algorithm that finds no release has
    a line that says why.

    The first run of each algorithm compiles it, which counts in its seconds.
    """
    from shoal.cli.spec import request_of
    from shoal.comparison import compare as run_algorithms
    from shoal.comparison import fitting_algorithms

    terminal: Terminal = context.obj
    request = request_of(context.params)
    terminal.json = bool(request.json)
    models = request.requested_models()
    settings = [name for name in SETTINGS if name not in ("algorithm", "keep_order")]
    arguments = request.arguments(*settings) | {"privacy": models, **request.preparations()}
    names = options.names_in("--algorithms", algorithms)
    if names is None:
        names = tuple(fitting_algorithms(models, arguments.get("sensitive", ())))
    arguments["algorithms"] = request.chosen(*names)
    if loss is not None:
        arguments["loss"] = loss
    if chart is not None:
        check_picture_name(chart)
    with terminal.progress() as progress:
        comparison = run_algorithms(request.source(), progress=progress, **arguments)
    if chart is not None:
        comparison.save_plot(chart)
    if terminal.json:
        terminal.result(comparison.to_dict())
    else:
        terminal.say("", _table_of(comparison.rows), *_chart_of(comparison), *_remarks(comparison.rows), "")


def _table_of(rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Return the comparison as a table; an algorithm that could not run has no figures."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from shoal.report.sentences import number

    table = Table(box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("algorithm", no_wrap=True)
    for title in _COLUMNS.values():
        table.add_column(title, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(row["algorithm"], *("-" if row.get(name) is None else number(row[name]) for name in _COLUMNS))
    return table


def _chart_of(comparison: Comparison) -> list[RenderableType]:
    """Return loss and time of each algorithm as bars, where there is something to compare and the terminal has room."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from shoal.comparison import LOSSES
    from shoal.report.sentences import number

    rows = comparison.measured
    if len(rows) < 2 or shutil.get_terminal_size().columns < _NARROWEST:
        return []
    most = {name: max(row[name] for row in rows) for name in (comparison.loss, "seconds")}
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("algorithm", no_wrap=True)
    table.add_column(LOSSES[comparison.loss], no_wrap=True)
    table.add_column("seconds", no_wrap=True)
    for row in rows:
        shown = [f"{_bar(row[name], most[name])} {number(row[name])}" for name in most]
        table.add_row(row["algorithm"], *shown)
    return [table]


def _bar(value: float, most: float) -> str:
    """Return a bar in proportion; in plain letters where the terminal has no others."""
    block = "█" if (sys.stdout.encoding or "").lower().startswith("utf") else "#"
    return block * max(round(_BAR * value / most) if most else 0, 1)


def _remarks(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what each algorithm promises, or why it could not run."""
    return [
        plain(f"{row['algorithm']}: {row.get('error') or row.get('guarantee') or 'promises nothing of its cost'}")
        for row in rows
    ]
