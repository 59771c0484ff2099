"""Every error that shoal raises on purpose.

::

    ShoalError
    ├── UsageError (also a ValueError)      exit 2   the call or the input is wrong
    │   ├── ParameterError                           a parameter has a value that it cannot have
    │   ├── ColumnError                              a column is unknown, repeated, or has no role
    │   ├── DataError                                a file or table cannot be read as microdata
    │   │   ├── NoRowsError                          it has no row
    │   │   └── NotUnderstoodError                   nobody says what its cells stand for
    │   ├── UnsupportedError                         this algorithm cannot serve this model
    │   ├── MissingExtraError                        an optional dependency is not installed
    │   ├── LedgerError                              the release ledger cannot be used as it is
    │   │   └── LedgerBusyError                      another process publishes with it just now
    │   ├── OutputError                              the output cannot be written where it was asked for
    │   └── NotPicklableError (also a TypeError)     an object holds what must not leave the process with it
    ├── InfeasibleError                     exit 1   no release can meet the request
    ├── WarnedError                         exit 1   a release has warnings, and strictness was asked for
    ├── ReleaseUnsafeError                  exit 3   a release failed its verification; nothing was written
    └── InternalError                       exit 70  a bug in shoal

No message contains the value of a cell: messages end up in logs and tickets. Column names, counts, line numbers and
parameters are what they speak of.

An error is made of parts: `raise UsageError("Choose another symbol with ", Suggestion("star"), ".")`. `str(error)`
speaks of Python, `error.told(voice)` as its readers do: see `shoal._messages`. Another error may be a part.
"""

from __future__ import annotations

import difflib
import os
import re
from typing import TYPE_CHECKING, ClassVar

from shoal._messages import PYTHON, Subject, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

    from shoal._messages import Part, Voice

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
    "ReleaseUnsafeError",
    "ShoalError",
    "UnsupportedError",
    "UsageError",
    "WarnedError",
    "did_you_mean",
    "near_matches",
    "place_of",
]


class ShoalError(Exception):
    """Base of everything that shoal raises on purpose; `exit_code` is what the command line returns for it.

    Parameters
    ----------
    *parts : str, or part of a message
        The message; see `shoal._messages`.
    """

    exit_code: ClassVar[int] = 70
    """What the command line returns for it, from 1 to 255."""

    def __init__(self, *parts: Part) -> None:
        super().__init__(*parts)

    def told(self, voice: Voice) -> str:
        """Return the message in the words of its readers."""
        return text_of(self.args, voice).rstrip()

    def __str__(self) -> str:
        return self.told(PYTHON)


class UsageError(ShoalError, ValueError):
    """The call or the input is wrong; the message says what to change."""

    exit_code = 2


class ParameterError(UsageError):
    """A parameter has a value that it cannot have."""

    owner: str | None = None
    """The function, class or algorithm whose parameter it is, where it is one."""
    parameter: str | None = None
    """The name of the parameter."""
    allowed: Part | None = None
    """What it may be."""
    got: str | None = None
    """What it was; the name of its type where it may hold cells of the data."""

    @classmethod
    def refusing(
        cls, owner: str, parameter: str, allowed: Part, *, got: str | None = None, hint: Part = ""
    ) -> ParameterError:
        """Return the error of a value that is not allowed: "The 'k' parameter of mondrian must be an int. Got 'x'.".

        Parameters
        ----------
        owner, parameter : str
            Whose parameter it is, and its name.
        allowed : str, or part of a message
            What it may be, in words that follow "must be".
        got : str, optional
            What it was.
        hint : str, or part of a message
            What else to say.
        """
        said = ". " if got is None else f". Got {got}. "
        error = cls(Subject(owner, parameter), " must be ", allowed, said, hint)
        error.owner, error.parameter, error.allowed, error.got = owner, parameter, allowed, got
        return error


class ColumnError(UsageError):
    """A column is unknown, repeated, or has no role."""


class DataError(UsageError):
    """A file or a table cannot be read as microdata; the message names the line where there is one."""


class NoRowsError(DataError):
    """A file or a table has no row."""


class NotUnderstoodError(DataError):
    """Published cells can be read in several ways, or in none; the message says how to say what they are.

    Attributes
    ----------
    columns : tuple of str
        The columns that are not understood.
    """

    def __init__(self, *parts: Part, columns: tuple[str, ...]) -> None:
        super().__init__(*parts)
        self.columns = columns


class UnsupportedError(UsageError):
    """An algorithm cannot serve a requested model; the message lists the algorithms that can."""


class MissingExtraError(UsageError):
    """An optional dependency is not installed; the message says how to install it."""


class LedgerError(UsageError):
    """The release ledger cannot be used as it is; the message says why, and what to do."""


class LedgerBusyError(LedgerError):
    """Another process publishes with the ledger just now; the same call may work a little later."""


class OutputError(UsageError):
    """The output cannot be written where it was asked for; nothing was changed."""


class NotPicklableError(UsageError, TypeError):
    """An object holds the original table or a secret, and is neither pickled nor copied; the message names a way."""


class InfeasibleError(ShoalError):
    """No release of this table can meet the request; the message names the best value that is feasible."""

    exit_code = 1

    def __init__(self, *parts: Part, rows: NDArray[np.integer] | None = None) -> None:
        super().__init__(*parts)
        self.rows = rows
        """Numbers of the rows of the input that stand in the way, where they are known."""


class WarnedError(ShoalError):
    """A release has warnings, and none were to be accepted; nothing was written."""

    exit_code = 1


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
    """Return what a bug is and where it struck, without its message: that may quote a cell.

    Parameters
    ----------
    bug : BaseException
        What was raised and not meant to be.
    """
    import traceback

    frames = traceback.extract_tb(bug.__traceback__)
    ours = [frame for frame in frames if f"{os.sep}shoal{os.sep}" in frame.filename] or frames
    place = f" in {os.path.basename(ours[-1].filename)}, line {ours[-1].lineno} ({ours[-1].name})" if ours else ""
    return f"{type(bug).__name__}{place}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of a message that offers the words closest to a wrong one; empty where none is close.

    Parameters
    ----------
    name : str
        The wrong one.
    known : iterable of str
        The words that there are.
    """
    near = difflib.get_close_matches(name, list(known), n=3)
    return "Did you mean " + " or ".join(f"'{match}'" for match in near) + "?" if near else ""


_DATA = re.compile(r"\s*[-+$€£]?\s*\d[\d.,:/\s-]*%?\s*$")
"""A name that looks like a number, an amount, a date or a time."""


def near_matches(name: str, known: Iterable[str]) -> str:
    """Return the part of a message that offers the names closest to an unknown one.

    Parameters
    ----------
    name : str
        The unknown one.
    known : iterable of str
        The names that there are; none that looks like data is shown.

    Examples
    --------
    >>> near_matches("gendr", ["age", "gender", "zip"])
    "Did you mean 'gender'?"
    >>> near_matches("xyz", ["age", "zip"])
    "Known are 'age', 'zip'."
    >>> near_matches("age", ["47", "10456"])
    'Names that there are look like data, and are not shown: is the line with the column names missing?'
    """
    known = list(known)
    meant = did_you_mean(name, known)
    if meant:
        return meant
    if any(_DATA.match(other) for other in known):
        return "Names that there are look like data, and are not shown: is the line with the column names missing?"
    shown = ", ".join(f"'{other}'" for other in known[:20])
    return f"Known are {shown}{' and more' if len(known) > 20 else ''}."
