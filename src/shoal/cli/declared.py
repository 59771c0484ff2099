"""How the fields of a request are said on the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import typer

from shoal._core.validation import Boolean
from shoal.cli.options import names_in

if TYPE_CHECKING:
    from shoal._core.validation import Parameter

__all__ = ["Declared", "declared_in", "flag_of", "of_parameter"]


def _as_it_is(_: str, given: Any) -> Any:
    return given


@dataclass(frozen=True)
class Declared:
    """What a field of a request says of its option, as an annotation of the field."""

    option: Any
    """The option, as `shoal.cli.options` defines it: a type with typer's annotation."""
    read: Callable[[str, Any], Any] = _as_it_is
    """Makes the field's value of the option's, given the option's name."""

    @property
    def flag(self) -> str:
        """The option's first name."""
        return flag_of(self.option)


def flag_of(option: Any) -> str:
    """Return the first name of an option, a type with typer's annotation; empty for an argument."""
    declared = get_args(option)[1]
    names = (declared.default, *(declared.param_decls or ()))  # typer moves the first one when it makes a command
    return next((one for one in names if isinstance(one, str) and one.startswith("-")), "")


def of_parameter(declared: Parameter, help: str, panel: str) -> Declared:  # noqa: A002
    """Return what the field of a model's or an algorithm's parameter says.

    Parameters
    ----------
    declared : Parameter
        What the class of the model or the algorithm declares; it has a flag.
    help : str
        What the help says of it.
    panel : str
        Where the help shows it.
    """
    flag, switch = str(declared.flag), isinstance(declared.constraint, Boolean)
    names = f"{flag}/--no-{flag.lstrip('-')}" if switch else flag
    kind: Any = bool if switch else list[str] if declared.many else str
    option = typer.Option(names, metavar=None if switch else declared.metavar, help=help, rich_help_panel=panel)
    return Declared(Annotated[kind | None, option], names_in if declared.many else _as_it_is)


@cache
def declared_in(section: type) -> dict[str, Declared]:
    """Return what the fields of a request, or of a section of it, say of their options, by name."""
    found = {}
    for name, kind in get_type_hints(section, include_extras=True).items():
        if get_origin(kind) is Annotated:  # with what it declares, or with typer's own annotation
            note = get_args(kind)[1]
            found[name] = note if isinstance(note, Declared) else Declared(kind)
    return found
