"""What a call reads, and what it leaves behind: folders and ledgers that it would change are looked at at its end."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from shoal.errors import LedgerError, PeopleError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from shoal.errors import ShoalError


class Standing(str):
    """A sentence about what is there now.

    Parameters
    ----------
    text : str
    changed : bool or None
        Whether the call has made its change; None if that is open until the next call.
    """

    changed: bool | None

    def __new__(cls, text: str, *, changed: bool | None = False) -> Standing:
        """Create the sentence."""
        made = super().__new__(cls, text)
        made.changed = changed
        return made


_LOOKS: ContextVar[list[Callable[[], Standing]] | None] = ContextVar("looks", default=None)
_WRITTEN = ("output", "spec_out", "chart", "page", "records", "persons", "refused", "new_key", "certificate")
"""Parameters of commands that name files and folders to be written."""
_NO_FILES = (
    "quasi_identifiers",
    "sensitive",
    "direct_identifiers",
    "insensitive",
    "person",
    "units",
    "order",
    "identifier",
    "harmless",
    "sheet",
    "title",
    "institution",
)
"""Parameters of commands with names of columns and other words, which may be those of folders."""
_READS: ContextVar[list[object] | None] = ContextVar("reads", default=None)


@contextmanager
def watching() -> Iterator[None]:
    """Remember what `watch` and `note_reads` are given in a block, which is one call of the command line."""
    looks, reads = _LOOKS.set([]), _READS.set([])
    try:
        yield
    finally:
        _LOOKS.reset(looks)
        _READS.reset(reads)


def note_reads(values: Mapping[str, object]) -> None:
    """Remember the parameters of a call, which may name files that it reads; others are left out."""
    reads = _READS.get()
    if reads is not None:
        reads.append({name: value for name, value in values.items() if name not in (*_WRITTEN, *_NO_FILES)})


def get_reads() -> Sequence[object]:
    """Return the parameters that `note_reads` remembers, of each call."""
    return _READS.get() or ()


def watch(look: Callable[[], Standing]) -> None:
    """Remember how to look at something that is about to be changed."""
    looks = _LOOKS.get()
    if looks is not None:
        looks.append(look)


def describe_outcome() -> Standing:
    """Look at everything that was about to be changed, and describe what is there now."""
    found = dict.fromkeys(look() for look in _LOOKS.get() or ())
    # What is there is more important than what is not.
    told = [one for one in found if one.changed is not False] or [*found] or [Standing("Nothing was published.")]
    done, unsettled = (any(one.changed is kind for one in found) for kind in (True, None))
    return Standing(" ".join(told), changed=None if unsettled else done)


def add_outcome(message: str, error: ShoalError) -> str:
    """Add what is there now to the message of an error, if it is more than nothing, or the error is of a ledger."""
    outcome = describe_outcome()
    about = outcome.changed is not False or isinstance(error, LedgerError | PeopleError)
    return f"{message.rstrip()} {outcome}" if about and outcome not in message else message


def reason_of(error: OSError) -> str:
    """Describe an error of the operating system without its file name; those of Polars have no number."""
    number = error.errno or (errno.ENOENT if isinstance(error, FileNotFoundError) else None)
    return os.strerror(number) if number else type(error).__name__
