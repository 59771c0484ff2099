"""The errors that shoal raises deliberately.

::

    ShoalError
    ├── UsageError (also a ValueError)      exit 2   the call or the input is wrong
    │   ├── ParameterError                           a parameter has an invalid value
    │   ├── ColumnError                              a column is unknown, repeated, or has no role
    │   ├── DataError                                a file or table cannot be read as microdata
    │   │   ├── NoRowsError                          it has no rows
    │   │   ├── PeopleError                          some people of it cannot be published in the series
    │   │   └── NotUnderstoodError                   the interpretation of its cells is unknown
    │   ├── UnsupportedError                         this algorithm does not support this model
    │   ├── MissingExtraError                        an optional dependency is not installed
    │   ├── LedgerError                              the release ledger is in an unusable state
    │   │   └── LedgerBusyError                      another process is publishing with it
    │   ├── OutputError                              the output cannot be written to the requested place
    │   └── NotPicklableError (also a TypeError)     an object holds data that must stay in the process
    ├── InfeasibleError                     exit 1   no release can meet the request
    ├── WarnedError                         exit 1   a release has warnings, and strictness was requested
    ├── ReleaseUnsafeError                  exit 3   a release failed its verification; nothing was written
    └── InternalError                       exit 70  a bug in shoal

No message contains the value of a cell, because messages end up in logs and tickets. Messages have column names,
counts, line numbers and parameters.

An error consists of parts: `raise UsageError("Choose another symbol with ", Suggestion("star"), ".")`. `str(error)` has
the words for Python, `error.render(audience)` those for another audience: see `shoal._messages`. Another error may be a
part.
"""

from __future__ import annotations

import difflib
import os
import re
from typing import TYPE_CHECKING, ClassVar

from shoal._messages import PYTHON, Subject, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from shoal._messages import Audience, Part

__all__ = [
    "ColumnError",
    "DataError",
    "InfeasibleError",
    "InternalError",
    "LedgerBusyError",
    "LedgerError",
    "MissingExtraError",
    "NoRowsError",
    "NotPicklableError",
    "NotUnderstoodError",
    "OutputError",
    "ParameterError",
    "PeopleError",
    "ReleaseUnsafeError",
    "ReleaseWarning",
    "ShoalError",
    "UnsupportedError",
    "UsageError",
    "WarnedError",
    "did_you_mean",
    "near_matches",
    "place_of",
]


class ReleaseWarning(UserWarning):
    """A release has a concern that a privacy officer would raise; `Release.warnings` has all of them with their codes.

    The command line prints the same sentences. `strict=True` refuses such a release.
    """


class ShoalError(Exception):
    """Base class of all errors that shoal raises deliberately; `exit_code` is the exit code of the command line.

    Parameters
    ----------
    *parts : str, or part of a message
        The message; see `shoal._messages`.
    """

    exit_code: ClassVar[int] = 70
    """The exit code of the command line, from 1 to 255."""

    def __init__(self, *parts: Part) -> None:
        super().__init__(*parts)

    def render(self, audience: Audience) -> str:
        """Phrase the message for an audience."""
        return text_of(self.args, audience).rstrip()

    def __str__(self) -> str:
        return self.render(PYTHON)


class UsageError(ShoalError, ValueError):
    """The call or the input is wrong; the message suggests a change."""

    exit_code = 2


class ParameterError(UsageError):
    """A parameter has an invalid value."""

    owner: str | None = None
    """The function, class or algorithm that has the parameter, if there is one."""
    parameter: str | None = None
    """The name of the parameter."""
    allowed: Part | None = None
    """The allowed values."""
    got: str | None = None
    """The given value, or the name of its type if it may hold cells."""

    @classmethod
    def refusing(
        cls, owner: str, parameter: str, allowed: Part, *, got: str | None = None, hint: Part = ""
    ) -> ParameterError:
        """Create the error for an invalid value: "The 'k' parameter of mondrian must be an int. Got 'x'.".

        Parameters
        ----------
        owner, parameter : str
            The owner and the name of the parameter.
        allowed : str, or part of a message
            The allowed values, in words that follow "must be".
        got : str, optional
            The given value.
        hint : str, or part of a message
            Further advice.
        """
        given = "" if got is None else f" Got {got}."
        error = cls(Subject(owner, parameter), " must be ", allowed, f".{given} ", hint)
        # The parts stay available to callers as attributes.
        error.owner, error.parameter, error.allowed, error.got = owner, parameter, allowed, got
        return error


class ColumnError(UsageError):
    """A column is unknown, repeated, or has no role."""


class DataError(UsageError):
    """A file or a table cannot be read as microdata; the message names the line if there is one."""


class NoRowsError(DataError):
    """A file or a table has no rows."""


class PeopleError(DataError):
    """Some people of a table cannot be published in a series; the message counts them.

    Attributes
    ----------
    ids : tuple of str
        Their ids, for the publisher only. They are not in the message.
    reason : str
        What they have in common, as it follows their number: "with another value".
    """

    def __init__(self, *parts: Part, ids: Iterable[str] = (), reason: str = "") -> None:
        super().__init__(*parts)
        self.ids, self.reason = tuple(ids), reason


class NotUnderstoodError(DataError):
    """Published cells are ambiguous or unreadable; the message suggests how to declare their interpretation.

    Attributes
    ----------
    columns : tuple of str
        The ambiguous columns.
    """

    def __init__(self, *parts: Part, columns: tuple[str, ...]) -> None:
        super().__init__(*parts)
        self.columns = columns


class UnsupportedError(UsageError):
    """An algorithm does not support a requested model; the message names the algorithms that do."""


class MissingExtraError(UsageError):
    """An optional dependency is not installed; the message has the command that installs it."""


class LedgerError(UsageError):
    """The release ledger is in an unusable state; the message states the reason and the remedy."""


class LedgerBusyError(LedgerError):
    """Another process is publishing with the ledger; the same call may succeed later."""


class OutputError(UsageError):
    """The output cannot be written to the requested place; nothing was changed."""


class NotPicklableError(UsageError, TypeError):
    """An object holds the original table or a secret and cannot be pickled or copied; the message has a way out."""


class InfeasibleError(ShoalError):
    """No release of this table can satisfy the request; the message names the best feasible value."""

    exit_code = 1

    def __init__(self, *parts: Part, rows: NDArray[np.integer] | None = None) -> None:
        super().__init__(*parts)
        self.rows = rows
        """Numbers of the rows of the input that prevent a release, if known."""


class WarnedError(ShoalError):
    """A release has warnings, and the request accepts none; nothing was written.

    Parameters
    ----------
    message : str
        What was refused.
    warnings : sequence of str, or of parts of a message
    """

    exit_code = 1

    def __init__(self, message: str, warnings: Sequence[Part]) -> None:
        super().__init__(message, *(part for one in warnings for part in ("\n* ", one)))
        self.warnings = tuple(warnings)
        """The warnings that were not accepted."""

    def __reduce__(self) -> tuple[type[WarnedError], tuple[str, Sequence[Part]]]:
        # The arguments of the error are the parts of its message.
        return type(self), (self.args[0], self.warnings)


class ReleaseUnsafeError(ShoalError):
    """A release failed the verification of its published cells; nothing was written."""

    exit_code = 3


class InternalError(ShoalError):
    """A bug in shoal."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"Internal error: {what}. This is a bug in shoal: please report it with this text and the version."
        )


def place_of(bug: BaseException) -> str:
    """Describe the type and the place of an unexpected exception, without its message, which may quote a cell.

    Parameters
    ----------
    bug : BaseException
        The unexpected exception.

    Examples
    --------
    >>> try:
    ...     {}["age"]
    ... except KeyError as bug:
    ...     place_of(bug).partition(" in ")[0]
    'KeyError'
    """
    import traceback

    # Only names of functions and line numbers are used.
    frames = traceback.extract_tb(bug.__traceback__)
    # The innermost frame of shoal is the most useful one for a report.
    ours = [frame for frame in frames if f"{os.sep}shoal{os.sep}" in frame.filename] or frames
    place = f" in {os.path.basename(ours[-1].filename)}, line {ours[-1].lineno} ({ours[-1].name})" if ours else ""
    return f"{type(bug).__name__}{place}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Suggest the words closest to a wrong one, as the end of a message; empty if none is close.

    Parameters
    ----------
    name : str
        The wrong word.
    known : iterable of str
        The known words.

    Examples
    --------
    >>> str(did_you_mean("mondrain", ["mondrian", "hilbert"]))
    "Did you mean 'mondrian'?"
    """
    # At most three suggestions.
    near = difflib.get_close_matches(name, list(known), n=3)
    if not near:
        return ""
    # One form for each number of suggestions.
    if len(near) == 1:
        return f"Did you mean '{near[0]}'?"
    if len(near) == 2:
        return f"Did you mean '{near[0]}' or '{near[1]}'?"
    return f"Did you mean '{near[0]}' or '{near[1]}' or '{near[2]}'?"


_DATA = re.compile(r"\s*[-+$€£]?\s*\d[\d.,:/\s-]*%?\s*$")
"""Pattern of names that look like a number, an amount, a date or a time."""


def near_matches(name: str, known: Iterable[str]) -> str:
    """Suggest the names closest to an unknown one, as a part of a message.

    Parameters
    ----------
    name : str
        The unknown name.
    known : iterable of str
        The known names; if one looks like data, none is listed.

    Examples
    --------
    >>> str(near_matches("gendr", ["age", "gender", "zip"]))
    "Did you mean 'gender'?"
    >>> str(near_matches("xyz", ["age", "zip"]))
    "Known are 'age', 'zip'."
    >>> near_matches("age", ["47", "10456"])
    'Names that there are look like data, and are not shown: is the line with the column names missing?'
    """
    # A list of names helps only if it is short.
    known = list(known)
    suggestion = did_you_mean(name, known)
    if suggestion:
        return suggestion
    # Without a header the names are cells, which must not be shown.
    if any(_DATA.match(other) for other in known):
        return "Names that there are look like data, and are not shown: is the line with the column names missing?"
    # Wide tables have more names than a message can list.
    # Quoted, because names may have blanks.
    names = tuple(f"'{other}'" for other in known[:20])
    if len(known) > 20:
        return f"Known are {', '.join(names)} and more."
    return f"Known are {', '.join(names)}."
