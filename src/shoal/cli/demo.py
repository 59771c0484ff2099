"""`shoal demo`."""

from __future__ import annotations

from pathlib import Path

import typer  # noqa: TC002 - typer reads the annotations

from shoal.cli import options  # noqa: TC001 - typer reads the annotations
from shoal.cli.anonymize import publish
from shoal.cli.console import Terminal, plain
from shoal.cli.voice import Flags, flags_in

__all__ = ["demo"]


def demo(
    context: typer.Context,
    *,
    seed: options.Seed = None,
    output: options.DemoOutput = Path("demo-release"),
    force: options.Force = None,
    json: options.Json = None,
) -> None:
    """Anonymize a real table that comes along, and say what was achieved."""
    from shoal.cli.spec import request_of
    from shoal.datasets import demo as demo_table
    from shoal.models import LDiversity

    terminal: Terminal = context.obj
    request = request_of(context.params)
    table = demo_table()
    terminal.say("", plain(table.description))
    asked = {
        "quasi_identifiers": table.quasi_identifiers,
        "sensitive": table.sensitive,
        "insensitive": table.insensitive,
        "direct_identifiers": table.direct_identifiers,
        "privacy": LDiversity(table.suggested_l),
        "seed": seed,
    }
    with terminal.speaking(Flags(flags_in(context.command))):
        publish(terminal, table.frame, request.folder(), request, asked)
