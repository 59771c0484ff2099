"""The command `shoal datasets`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from shoal.cli.command import argument, option, takes
from shoal.cli.console import lines_of, path_line

if TYPE_CHECKING:
    from shoal.cli.console import Terminal
    from shoal.request.words import Words

Names = Annotated[
    list[str] | None,
    argument(metavar="[NAME.csv ...]", help="The tables to write. Without a name, all are listed."),
]
Folder = Annotated[
    Path, option("--output", "-o", metavar="FOLDER", help="The folder for the tables. Default: the current one.")
]


@takes("force", "json")
def datasets(terminal: Terminal, words: Words, *, names: Names = None, output: Folder = Path()) -> None:
    """Write the example tables of the documentation.

    Example: shoal datasets patients.csv

    An existing file with other contents is replaced only with --force.
    """
    from shoal.datasets import FILES, write_dataset

    # Without names, the tables are only listed.
    if not names:
        listed = {name: file.title for name, file in FILES.items()}
        terminal.result({"datasets": listed}) if terminal.json else terminal.say("", lines_of(list(listed.items())), "")
        return
    written = [write_dataset(name, output, force=bool(words.get("force"))) for name in names]
    if terminal.json:
        terminal.result({"files": [str(path) for path in written]})
    else:
        terminal.say(*(path_line("written", path) for path in written))
