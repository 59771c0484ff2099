"""The command `shoal report`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from shoal.cli.command import argument, takes
from shoal.cli.console import Terminal, path_line
from shoal.cli.pages import Attacks

if TYPE_CHECKING:
    from shoal.request.words import Words

__all__ = ["report"]

Folder = Annotated[Path, argument(metavar="OUT", help="The folder of a release, or its private one.")]


@takes("report", "spec", "json")
def report(terminal: Terminal, words: Words, *, folder: Folder, attacks: Attacks = None) -> None:
    """Rewrite the reports of a release with other texts, or with results of attacks.

    Example: shoal report out --title "Visits of 2025" --institution "St. Mary's" --signature "Head of research"

    The original table is not needed. Both reports are rewritten if both exist:
    out/report.html for readers, and out.private/report.html for you. Texts that are
    not given stay unchanged.
    """
    from shoal.report import attack_result, render_again

    found = [attack_result(path) for path in attacks or ()]
    written = render_again(folder, about=words.about(), attacks=found)
    if terminal.json:
        terminal.result({"written": [str(path) for path in written]})
    else:
        terminal.say("", *(path_line("written", path) for path in written), "")
