"""Help in two tiers: the options of every day, and all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from shoal.cli import options

__all__ = ["FEW", "HelpAll", "TwoTiers", "read_lightly"]

FEW = 20
"""A command with no more options than that shows all of them at once."""
_NUMBER = re.compile("-?[0-9]{1,18}")


class TwoTiers(TyperCommand):
    """A command that shows the options of every day by --help, and all options by --help-all."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options, which read what is text without pydantic."""
        return read_lightly(super().get_params(ctx))

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


class _Lightly:
    """What makes a value of the words that an option was given: typer's own imports pydantic, which takes long.

    Parameters
    ----------
    option : typer's option or argument
    typers : callable
        Returns what typer does it with.
    """

    def __init__(self, option: Any, typers: Callable[[], Any]) -> None:
        self._option = option
        self._typers = typers

    def coerce(self, value: Any, *, param: Any, ctx: Any) -> Any:
        """Return the value: text is text, digits are a number, and nothing is nothing."""
        kind, several = self._option.type_descriptor.annotation, self._option.multiple
        info = self._option.type_descriptor.parameter_info
        if value is None and self._option.nargs == 1:
            return () if several else None
        if kind is str and isinstance(value, str):
            return value
        if kind is int and isinstance(value, str) and info.min is info.max is None and _NUMBER.fullmatch(value):
            return int(value)
        if several and value and kind == list[str] and all(isinstance(one, str) for one in value):
            return list(value)
        return self._typers().coerce(value, param=param, ctx=ctx)


def read_lightly(parameters: Sequence[Any]) -> list[Any]:
    """Let options and arguments of typer that take text, or were not given, be read without pydantic."""
    for one in parameters:
        made = getattr(one, "get_runtime_param", None)  # earlier versions of typer have no such thing
        if made is not None and not isinstance(made, partial):
            one.get_runtime_param = partial(_Lightly, one, made)
    return [*parameters]


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
