"""The command `shoal schema`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import click

from shoal.cli.command import argument

if TYPE_CHECKING:
    from shoal.cli.console import Terminal

_NAMES = ("spec", "certificate", "plan", "report")

Name = Annotated[str, argument(metavar="|".join(_NAMES), help="The kind of file.")]


def schema(context: click.Context, *, name: Name) -> None:
    """Print the JSON Schema of spec files, certificates, plans or report.json.

    Example: shoal schema spec > spec.schema.json

    Editors complete a spec file whose first line is `#:schema ./spec.schema.json`.
    """
    from shoal.verbs.schema import schema as made

    if name not in _NAMES:
        raise click.BadParameter(f"'{name}' is none of {', '.join(_NAMES)}.", param_hint="name")
    terminal: Terminal = context.obj
    terminal.result(made(name))
