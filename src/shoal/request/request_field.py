"""The declaration of a field of `shoal.Request`, for Python, the command line and spec files at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, field
from typing import Any, get_origin

from shoal._core.validation import Boolean, Constraint, Parameter


@dataclass(frozen=True, kw_only=True)
class RequestField(Parameter):
    """The declaration of one field of a request."""

    section: str
    """The section of the field: "columns", "model", "recoding", "method", "preferences", "engine", "forms",
    "reading", "cleaning" or "output"."""
    typed: str
    """The type in the documentation."""
    doc: str
    """The description for Python users."""
    short: str
    """The one-letter flag, if there is one."""
    kind: Any
    """The type of the value in a spec file: a tuple for column names, a dict for one value per column."""
    key: str
    """The section of spec files that contains the field, unless it is at the top level."""


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
    """Declare a field of `Request`; see `RequestField` for the parameters. Switches are off by default."""
    # Switches are Boolean options, tuples of names are columns.
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
        key="columns" if many else "reading" if section in ("forms", "reading", "cleaning") else "",
    )
    return field(default=False if switch else default, metadata={"parameter": declared})
