"""`shoal compare`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer  # noqa: TC002 - typer reads the annotations

from shoal.cli import options
from shoal.cli.anonymize import SETTINGS
from shoal.cli.console import Terminal, plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import RenderableType

__all__ = ["compare"]

_ALGORITHMS = ("tp", "tp+", "hilbert", "mondrian")
_COLUMNS = {
    "stars": "stars",
    "suppressed_tuples": "records touched",
    "groups": "groups",
    "average_class_size": "group size",
    "gcp": "GCP",
    "kl_divergence": "KL",
    "seconds": "seconds",
}


def compare(
    context: typer.Context,
    *,
    source: options.Source = None,
    algorithms: options.Algorithms = None,
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
    time_limit: options.TimeLimit = None,
    patterns: options.PatternsFile = None,
    coarsen: options.Coarsen = None,
    hierarchies: options.Hierarchies = None,
    recoding: options.Recoding = None,
    seed: options.Seed = None,
    spec: options.Spec = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    json: options.Json = None,
) -> None:
    """Anonymize a table with several algorithms and compare what each one costs. Nothing is written.

    Example: shoal compare patients.csv --qi age,zip --sensitive disease -l 4 --algorithms tp,tp+,hilbert,mondrian
    """
    from shoal.cli.spec import request_of
    from shoal.comparison import compare as run_algorithms

    terminal: Terminal = context.obj
    request = request_of(context.params)
    terminal.json = bool(request.json)
    names = options.names_in("--algorithms", algorithms) or _ALGORITHMS
    settings = [name for name in SETTINGS if name not in ("algorithm", "keep_order")]
    arguments = request.arguments(*settings) | {
        "privacy": request.requested_models(),
        "algorithms": request.chosen(*names),
        **request.preparations(),
    }
    with terminal.progress() as progress:
        comparison = run_algorithms(request.source(), progress=progress, **arguments)
    if terminal.json:
        terminal.result(comparison.to_dict())
    else:
        terminal.say("", _table_of(comparison.rows), *_remarks(comparison.rows), "")


def _table_of(rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Return the comparison as a table; an algorithm that could not run has no figures."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from shoal.report.sentences import number

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("algorithm", no_wrap=True)
    for title in _COLUMNS.values():
        table.add_column(title, justify="right")
    for row in rows:
        table.add_row(row["algorithm"], *("-" if row.get(name) is None else number(row[name]) for name in _COLUMNS))
    return table


def _remarks(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what each algorithm promises, or why it could not run."""
    return [
        plain(f"{row['algorithm']}: {row.get('error') or row.get('guarantee') or 'promises nothing of its cost'}")
        for row in rows
    ]
