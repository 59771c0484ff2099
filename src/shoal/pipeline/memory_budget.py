"""How much memory an engine may take, and what of it is for cells and for rows."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from shoal._messages import Suggestion
from shoal.errors import DataError, ParameterError

__all__ = ["MemoryBudget", "available_memory", "bytes_of", "in_words"]

LEAST_MEMORY = 10**9
"""The least that an engine may be allowed: the interpreter, the libraries and their buffers take most of it."""

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([KMGT]I?|)B?", re.IGNORECASE)

_RESIDENT = 700 * 10**6
"""Bytes that the interpreter, its libraries, compiled code and the buffers of a scan take, whatever the table is."""
_CELL = 400
"""Bytes that a cell takes while cells are counted, planned, recoded and checked."""
_NUMBERS = 8
"""Bytes of the numbers that are held beside the insensitive values of a row: its cell, and its place."""
_SORTED = 12
"""Bytes that a row takes beside these while a column of it is counted or drawn; a wider column is copied once."""
_ATTACHING = 250 * 10**6
"""Bytes of the buffers and threads with which rows are read, hashed and written."""
_KEYS = 24
"""Bytes beside its values that a row takes while it is put in order."""
_AT_ONCE = 1 << 21
"""Rows that are put in order at once, where there are so many."""
_MOST_ROWS = 1 << 31
"""Rows that can be numbered."""


def bytes_of(memory: int | str) -> int:
    """Return a number of bytes that is written as people do.

    Raises
    ------
    ParameterError
        Where it is none, or less than `LEAST_MEMORY`.

    Examples
    --------
    >>> bytes_of("4GB"), bytes_of("1.5 GiB"), bytes_of(2_000_000_000)
    (4000000000, 1610612736, 2000000000)
    """
    number: object
    if isinstance(memory, str):
        found = _SIZE.fullmatch(memory.strip())
        number = None if found is None else int(float(found[1]) * _UNITS[found[2].upper()])
    else:
        number = None if isinstance(memory, bool) else memory
    if not isinstance(number, int) or number < LEAST_MEMORY:
        raise ParameterError.refusing(
            "anonymize", "memory", "a number of bytes of at least 1GB, '4GB' for example", got=repr(memory)
        )
    return number


def in_words(size: int) -> str:
    """Return a number of bytes in gigabytes, rounded up in the first decimal.

    Examples
    --------
    >>> in_words(4_000_000_000), in_words(1_234_567_890)
    ('4GB', '1.3GB')
    """
    tenths = -(-size // 10**8)
    return f"{tenths // 10}GB" if tenths % 10 == 0 else f"{tenths / 10}GB"


def available_memory() -> int:
    """Return the bytes of memory of this machine."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # pragma: no cover - not on this system
        return 8 * 10**9


@dataclass(frozen=True)
class MemoryBudget:
    """The memory that a release may take."""

    memory: int
    """In bytes."""

    @property
    def cells(self) -> int:
        """Cells that may be held at once: they take half of what is left at most."""
        return (self.memory - _RESIDENT) // 2 // _CELL

    def rows(self, cells: int, each: int) -> int:
        """Rows of so many bytes that an algorithm may work on at once, beside so many cells."""
        return max((self.memory - _RESIDENT - cells * _CELL) // each, 1)

    def check_cells(self, cells: int) -> None:
        """Check that so many cells may be held.

        Raises
        ------
        DataError
            Where they may not; says how much memory would do.
        """
        if cells > self.cells:
            needed = 2 * cells * _CELL + _RESIDENT
            raise DataError(
                f"The table has about {cells:,} different combinations of quasi-identifiers and sensitive values, too "
                f"many for {in_words(self.memory)} of memory. Allow more, with ",
                Suggestion("memory", in_words(needed)),
                ", or coarsen columns before: a column of ages, of dates or of codes with fewer values.",
            )

    def check_values(self, rows: int, each: int, widest: int, largest: int = 0) -> None:
        """Check that the values of insensitive columns may be held for so many rows.

        Parameters
        ----------
        rows : int
        each : int
            Bytes that the values of a row take.
        widest : int
            Those of the widest column.
        largest : int
            Rows that must be put in order at once.

        Raises
        ------
        DataError
            Where they may not; says how much memory would do.
        """
        at_once = max(largest, min(rows, _AT_ONCE))
        held = rows * (each + _NUMBERS + max(_SORTED, widest)) + at_once * (each + _KEYS)
        needed = held + _ATTACHING + _RESIDENT
        if needed > self.memory or rows >= _MOST_ROWS:
            more = ("Allow more, with ", Suggestion("memory", in_words(needed)), ", or drop")
            advice = more if rows < _MOST_ROWS else ("Drop",)
            raise DataError(
                f"The insensitive columns of {rows:,} rows do not fit into {in_words(self.memory)} of memory. ",
                *advice,
                " some of these columns by naming them among ",
                Suggestion("direct_identifiers"),
                ".",
            )

    def refuse_rows(self, rows: int, cells: int, why: str, each: int) -> DataError:
        """Return the error for rows that must be worked on at once and may not."""
        needed = rows * each + cells * _CELL + _RESIDENT
        return DataError(
            f"{why}, and {rows:,} rows do not fit into {in_words(self.memory)} of memory. Allow more, with ",
            Suggestion("memory", in_words(needed)),
            ", or take another algorithm.",
        )
