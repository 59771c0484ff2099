"""The command `shoal demo`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from shoal.cli.anonymize import publish
from shoal.cli.command import takes
from shoal.cli.console import Terminal, plain

if TYPE_CHECKING:
    from shoal.request.words import Words


@takes("seed", "output", "force", "json")
def demo(terminal: Terminal, words: Words) -> None:
    """Anonymize a bundled real table, and show the result."""
    from shoal.datasets import demo as demo_table
    from shoal.models import LDiversity
    from shoal.request.request import Request

    table = demo_table()
    terminal.say("", plain(table.description))
    # The roles and the level of protection come with the table.
    request = Request(
        quasi_identifiers=table.quasi_identifiers,
        sensitive=table.sensitive,
        insensitive=table.insensitive,
        direct_identifiers=table.direct_identifiers,
        privacy=LDiversity(table.suggested_l),
        seed=words.get("seed"),
    )
    publish(terminal, table.frame, Path(words.get("output") or "demo-release"), words, request)
