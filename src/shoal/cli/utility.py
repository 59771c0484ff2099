"""The command `shoal utility`."""

from __future__ import annotations

from typing import Annotated

import click

from shoal.cli import options
from shoal.cli.cell_reading import Cells, Nodes, cells_of, trees_of_cells
from shoal.cli.command import argument
from shoal.cli.console import Terminal, lines_of, plain
from shoal.errors import ColumnError

__all__ = ["utility"]

Release = Annotated[str, argument(metavar="OUT", help="The folder of a release, or a file with its certificate.")]
Original = Annotated[str, argument(metavar="ORIGINAL", help="The table it was made of: any input of anonymize.")]


def utility(
    context: click.Context,
    *,
    source: Release,
    original: Original,
    hierarchies: Nodes = None,
    cells: Cells = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    json: options.Json = None,
) -> None:
    """Measure what analysts lose by working with a release instead of the original table.

    Example: shoal utility out patients.csv

    A published cell counts as each of its values with the same probability, a star as
    each value of the column. The figures depend on the original table: keep them private.
    """
    from shoal.io import read
    from shoal.release.analysis.published_utility import measure_published_utility
    from shoal.verification.published_folder import read_published

    terminal: Terminal = context.obj
    release = read_published(source, delimiter=delimiter, encoding=encoding)
    names = release.columns("quasi_identifiers")
    if not names:
        raise ColumnError("No certificate names the quasi-identifiers. Name the folder of a release.")
    # Measure with the meanings of the published cells, also of sensitive columns if they were coarsened.
    coarse = (release.certificate.get("parameters") or {}).get("coarsen") or {}
    names += tuple(name for name in release.columns("sensitive") if name in coarse)
    meanings = release.meanings(names, trees=trees_of_cells(hierarchies, names), cells=cells_of(cells, names))
    found = measure_published_utility(
        release.frame,
        read(original, delimiter=delimiter, encoding=encoding),
        meanings=meanings,
        sensitive=release.columns("sensitive"),
        star=release.star,
    )
    if terminal.json:
        terminal.result(found.to_dict())
        return
    lines = [
        (one.title, f"- ({one.reason})" if one.value is None else f"{one.value:.4g} (best: {one.best:g})")
        for one in found.measures
    ]
    terminal.say("", lines_of([(title, plain(shown)) for title, shown in lines]), "")
