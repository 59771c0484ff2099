"""The command `shoal datasets`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from shoal.cli import options
from shoal.cli.command import argument, option
from shoal.cli.console import lines_of, path_line

if TYPE_CHECKING:
    from shoal.cli.console import Terminal

Names = Annotated[
    list[str] | None,
    argument(metavar="[NAME.csv ...]", help="The tables to write. Without a name, all are listed."),
]
Folder = Annotated[
    Path, option("--output", "-o", metavar="FOLDER", help="The folder for the tables. Default: the current one.")
]


def datasets(
    context: click.Context,
    *,
    names: Names = None,
    output: Folder = Path(),
    force: options.Force = None,
    json: options.Json = None,
) -> None:
    """Write the example tables of the documentation.

    Example: shoal datasets patients.csv

    An existing file with other contents is replaced only with --force.
    """
    from shoal.datasets import FILES, write_dataset

    terminal: Terminal = context.obj
    terminal.json = bool(json)
    # Without names, the tables are only listed.
    if not names:
        listed = {name: file.title for name, file in FILES.items()}
        terminal.result({"datasets": listed}) if json else terminal.say("", lines_of(list(listed.items())), "")
        return
    written = [write_dataset(name, output, force=bool(force)) for name in names]
    if json:
        terminal.result({"files": [str(path) for path in written]})
    else:
        terminal.say(*(path_line("written", path) for path in written))
