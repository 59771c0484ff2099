"""Help in two tiers: the options of every day, and all of them."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from shoal.cli import options

__all__ = ["FEW", "HelpAll", "TwoTiers"]

FEW = 20
"""A command with no more options than that shows all of them at once."""


class TwoTiers(TyperCommand):
    """A command that shows the options of every day by --help, and all options by --help-all."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help without the rare options."""
        shown: list[Any] = [one for one in self.params if one.param_type_name == "option"]
        if len(shown) <= FEW:
            self.format_all_help(ctx, formatter)
            return
        rare = [one for one in shown if one.name not in (*options.EVERYDAY, "help_all")]
        self.epilog = (
            f"{len(rare)} more options: shoal {ctx.info_name} --help-all. "
            f"Examples: the documentation (make docs), under Reference, shoal {ctx.info_name}."
        )
        for one in rare:
            one.hidden = True
        try:
            self.format_all_help(ctx, formatter)
        finally:
            self.epilog = None
            for one in rare:
                one.hidden = False

    def format_all_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help with every option."""
        super().format_help(ctx, formatter)


def _tell_all(context: typer.Context, asked: bool) -> None:
    if asked:
        formatter = context.make_formatter()
        command: Any = context.command
        command.format_all_help(context, formatter)
        raise typer.Exit


HelpAll = Annotated[
    bool,
    typer.Option(
        "--help-all", callback=_tell_all, is_eager=True, expose_value=False, help="Show all options, and exit."
    ),
]
