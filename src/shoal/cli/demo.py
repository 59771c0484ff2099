"""The command `shoal demo`."""

from __future__ import annotations

from pathlib import Path

import click

from shoal.cli import options
from shoal.cli.anonymize import publish
from shoal.cli.asking import folder_of
from shoal.cli.console import Terminal, plain


def demo(
    context: click.Context,
    *,
    seed: options.Seed = None,
    output: options.DemoOutput = Path("demo-release"),
    force: options.Force = None,
    json: options.Json = None,
) -> None:
    """Anonymize a bundled real table, and show the result."""
    from shoal.datasets import demo as demo_table
    from shoal.models import LDiversity
    from shoal.request.request import Request
    from shoal.request.words import Words

    terminal: Terminal = context.obj
    words = Words.of_options(context.params)
    table = demo_table()
    terminal.say("", plain(table.description))
    # The roles and the level of protection come with the table.
    request = Request(
        quasi_identifiers=table.quasi_identifiers,
        sensitive=table.sensitive,
        insensitive=table.insensitive,
        direct_identifiers=table.direct_identifiers,
        privacy=LDiversity(table.suggested_l),
        seed=seed,
    )
    publish(terminal, table.frame, folder_of(words), words, request)
