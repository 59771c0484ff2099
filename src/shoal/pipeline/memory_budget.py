"""The memory budget of an engine, and how many cells and rows fit into it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from shoal._messages import Suggestion
from shoal.errors import DataError, ParameterError
from shoal.io.scanning import PLENTY, AtOnce

MIN_MEMORY = 10**9
"""Smallest memory budget: the interpreter, the libraries and their buffers take most of it."""

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([KMGT]I?|)B?", re.IGNORECASE)

_RESIDENT_BYTES = 700 * 10**6
"""Bytes of the interpreter, the libraries, compiled code and scan buffers, for any table."""
_BYTES_PER_CELL = 400
"""Bytes of a cell while cells are counted, partitioned, recoded and verified."""
_BYTES_OF_ROW_NUMBERS = 8
"""Bytes per row of two numbers, its cell and its place, which are held in addition to its insensitive values."""
_BYTES_WHILE_COUNTING = 12
"""Additional bytes per row while a column is counted or drawn; a wider column is copied once."""
_ATTACHING_BYTES = 250 * 10**6
"""Bytes of the buffers and threads that read, hash and write rows."""
_BYTES_OF_SORT_KEYS = 24
"""Bytes per row of the sort keys, in addition to its values."""
_BYTES_OF_A_PIECE = 150 * 10**6
"""Bytes of a row group of Parquet while it is unpacked and counted."""
_BYTES_OF_A_COUNTED_ROW = 75
"""Bytes of a row while rows are counted by many cores."""
_MAX_ROWS_TO_SORT = 1 << 21
"""Largest number of rows that are sorted at once."""
_MAX_ROWS = 1 << 31
"""Number of rows from which row numbers no longer fit into their type."""


def parse_bytes(memory: int | str) -> int:
    """Parse a number of bytes, such as "4GB".

    Raises
    ------
    ParameterError
        If it is not a number of bytes, or is less than `MIN_MEMORY`.

    Examples
    --------
    >>> parse_bytes("4GB"), parse_bytes("1.5 GiB"), parse_bytes(2_000_000_000)
    (4000000000, 1610612736, 2000000000)
    """
    number: object
    if isinstance(memory, str):
        # Text with a unit, or a plain number; bool is an int in Python, but not a number of bytes.
        found = _SIZE.fullmatch(memory.strip())
        number = None if found is None else int(float(found[1]) * _UNITS[found[2].upper()])
    else:
        number = None if isinstance(memory, bool) else memory
    if not isinstance(number, int) or number < MIN_MEMORY:
        raise ParameterError.refusing(
            "anonymize", "memory", "a number of bytes of at least 1GB, '4GB' for example", got=repr(memory)
        )
    return number


def format_bytes(size: int) -> str:
    """Format a number of bytes in gigabytes, rounded up to one decimal.

    Examples
    --------
    >>> format_bytes(4_000_000_000), format_bytes(1_234_567_890)
    ('4GB', '1.3GB')
    """
    tenths = -(-size // 10**8)
    return f"{tenths // 10}GB" if tenths % 10 == 0 else f"{tenths / 10}GB"


def available_memory() -> int:
    """Get the number of bytes of memory of this machine."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # pragma: no cover - not on this system
        return 8 * 10**9


@dataclass(frozen=True)
class MemoryBudget:
    """The memory that a release may use."""

    memory: int
    """Number of bytes."""

    @property
    def at_once(self) -> AtOnce:
        """How much of a table is read at once."""
        spare = self.memory - _RESIDENT_BYTES
        pieces = min(max(spare // _BYTES_OF_A_PIECE, 2), PLENTY.pieces)
        return AtOnce(pieces=pieces, rows=min(spare // _BYTES_OF_A_COUNTED_ROW, PLENTY.rows))

    @property
    def max_cells(self) -> int:
        """Largest number of cells that may be held at once; they use at most half of the available memory."""
        return (self.memory - _RESIDENT_BYTES) // 2 // _BYTES_PER_CELL

    def max_rows(self, cells: int, each: int) -> int:
        """Compute how many rows of `each` bytes an algorithm may process at once, in addition to the cells."""
        return max((self.memory - _RESIDENT_BYTES - cells * _BYTES_PER_CELL) // each, 1)

    def check_cells(self, cells: int) -> None:
        """Check that a number of cells fits into memory.

        Raises
        ------
        DataError
            If it does not; the message states how much memory is enough.
        """
        if cells > self.max_cells:
            needed = 2 * cells * _BYTES_PER_CELL + _RESIDENT_BYTES
            raise DataError(
                f"The table has about {cells:,} different combinations of quasi-identifiers and sensitive values, too "
                f"many for {format_bytes(self.memory)} of memory. Allow more, with ",
                Suggestion("memory", format_bytes(needed)),
                ", or coarsen columns before: a column of ages, of dates or of codes with fewer values.",
            )

    def check_values(self, rows: int, each: int, widest: int, largest: int = 0) -> None:
        """Check that the values of insensitive columns of all rows fit into memory.

        Parameters
        ----------
        rows : int
            Number of rows.
        each : int
            Bytes of the values of a row.
        widest : int
            Bytes of the widest column of a row.
        largest : int
            Number of rows that must be sorted at once.

        Raises
        ------
        DataError
            If they do not; the message states how much memory is enough.
        """
        # All values stay in memory, and a part of the rows is sorted at a time.
        at_once = max(largest, min(rows, _MAX_ROWS_TO_SORT))
        held = rows * (each + _BYTES_OF_ROW_NUMBERS + max(_BYTES_WHILE_COUNTING, widest)) + at_once * (
            each + _BYTES_OF_SORT_KEYS
        )
        needed = held + _ATTACHING_BYTES + _RESIDENT_BYTES
        if needed > self.memory or rows >= _MAX_ROWS:
            more = ("Allow more, with ", Suggestion("memory", format_bytes(needed)), ", or drop")
            advice = more if rows < _MAX_ROWS else ("Drop",)
            raise DataError(
                f"The insensitive columns of {rows:,} rows do not fit into {format_bytes(self.memory)} of memory. ",
                *advice,
                " some of these columns by naming them among ",
                Suggestion("direct_identifiers"),
                ".",
            )

    def make_rows_error(self, rows: int, cells: int, why: str, each: int) -> DataError:
        """Make the error for rows that must be processed at once and do not fit into memory.

        Parameters
        ----------
        rows, cells : int
            Number of rows and of cells.
        why : str
            The reason why the rows cannot be divided, a clause before a comma.
        each : int
            Bytes that the algorithm needs for a row.
        """
        needed = rows * each + cells * _BYTES_PER_CELL + _RESIDENT_BYTES
        return DataError(
            f"{why}, and {rows:,} rows do not fit into {format_bytes(self.memory)} of memory. Allow more, with ",
            Suggestion("memory", format_bytes(needed)),
            ", or take another algorithm.",
        )
