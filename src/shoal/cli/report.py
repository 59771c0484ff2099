"""`shoal report`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli import options
from shoal.cli.console import Terminal, path_line
from shoal.cli.signature import takes

if TYPE_CHECKING:
    from shoal.cli.spec import ReleaseSpec

__all__ = ["report"]

Folder = Annotated[Path, typer.Argument(metavar="OUT", help="The folder of a release.")]


@takes(options.REPORT, options.REQUEST)
def report(terminal: Terminal, request: ReleaseSpec, *, folder: Folder) -> None:
    """Write the reports of a release again, with other words on the first sheet.

    Example: shoal report out --title "Visits of 2025" --institution "St. Mary's" --signature "Head of research"

    Both are written again where both are there: out/report.html for readers, and out.private/report.html.
    """
    from shoal.report import make_again

    written = make_again(folder, about=request.report.about())
    if terminal.json:
        terminal.result({"written": [str(path) for path in written]})
    else:
        terminal.say("", *(path_line("written", path) for path in written), "")
