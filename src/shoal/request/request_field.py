"""How a field of `shoal.Request` is declared: in Python, on the command line and in spec files at once."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field
from typing import TYPE_CHECKING, Any, get_origin

from shoal._core.validation import Boolean, Parameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from shoal._core.validation import Constraint

__all__ = ["requestable"]


@dataclass(frozen=True, kw_only=True)
class RequestField(Parameter):
    """The declaration of one thing that can be requested of a release."""

    section: str
    """The group that it belongs to: "columns", "model", "recoding", "method", "preferences", "engine", "forms",
    "reading" or "output"."""
    typed: str
    """Its type, as the documentation writes it."""
    doc: str
    """What it does, for people who write Python."""
    short: str
    """A flag of one letter, if it has one."""
    kind: Any
    """The type of its value in a spec file: a tuple for names of columns, a dict for one value per column."""
    key: str
    """The section of spec files that it stands in, if it is not at the top level."""


def requestable(
    typed: str,
    doc: str,
    *,
    section: str,
    default: Any = MISSING,
    flag: str | None = None,
    short: str = "",
    metavar: str = "VALUE",
    help: str = "",  # noqa: A002
    kind: Any = str,
    read: Callable[[str], Any] | None = None,
    constraint: Constraint | None = None,
) -> Any:
    """Declare a field of `Request`; see `RequestField` for the parameters. A switch is off by default."""
    switch, many = kind is bool, get_origin(kind) is tuple
    declared = RequestField(
        constraint=Boolean() if switch else constraint,
        help=help,
        flag=flag,
        metavar=metavar,
        read=read,
        many=many,
        section=section,
        typed=typed,
        doc=doc,
        short=short,
        kind=kind,
        key="columns" if many else "",
    )
    return field(default=False if switch else default, metadata={"parameter": declared})
