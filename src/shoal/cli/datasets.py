"""`shoal datasets`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from shoal.cli import options
from shoal.cli.command import argument, option
from shoal.cli.console import lines_of, path_line

if TYPE_CHECKING:
    from shoal.cli.console import Terminal

__all__ = ["datasets"]

Names = Annotated[
    list[str] | None,
    argument(metavar="[NAME.csv ...]", help="The tables to write; all are listed where none is named."),
]
Folder = Annotated[Path, option("--output", "-o", metavar="FOLDER", help="Where to write them.")]


def datasets(
    context: click.Context,
    *,
    names: Names = None,
    output: Folder = Path(),
    force: options.Force = None,
    json: options.Json = None,
) -> None:
    """Write tables to try things on: those that the documentation works with.

    Example: shoal datasets patients.csv

    A file that is there already and holds something else is kept, unless --force is given.
    """
    from shoal.datasets import FILES, write_dataset

    terminal: Terminal = context.obj
    terminal.json = bool(json)
    if not names:
        listed = {name: file.title for name, file in FILES.items()}
        terminal.result({"datasets": listed}) if json else terminal.say("", lines_of(list(listed.items())), "")
        return
    written = [write_dataset(name, output, force=bool(force)) for name in names]
    if json:
        terminal.result({"files": [str(path) for path in written]})
    else:
        terminal.say(*(path_line("written", path) for path in written))
