"""Columns as vectors of small integer codes plus a dictionary: the only form in which algorithms see data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from shoal.table.classes import EquivalenceClasses

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from shoal.table.schema import Schema

__all__ = ["Column", "Table", "encode"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Column:
    """One column: a code per row, and the value that each code stands for."""

    name: str
    codes: NDArray[np.unsignedinteger]
    """One code per row, in the narrowest unsigned type; 0 <= code < len(dictionary)."""
    dictionary: pl.Series
    """The distinct values in their natural order (numbers and dates by size, declared categories in their order, text
    alphabetically); every code occurs. A missing value, if there is one, is the last entry (null)."""
    ordered: bool
    """Whether the order of the values means something, so that an interval is a sensible sub-domain."""
    numbers: tuple[Fraction, ...] | None
    """The values as exact numbers, by code (without the missing one), where the column is numeric, else None."""

    @property
    def size(self) -> int:
        """Number of distinct values, a missing one included."""
        return len(self.dictionary)

    @cached_property
    def has_missing(self) -> bool:
        """Whether the last code stands for a missing value."""
        return self.dictionary.null_count() > 0

    def __repr__(self) -> str:
        return f"Column({self.name!r}, rows={len(self.codes)}, values={self.size})"


@dataclass(frozen=True, kw_only=True, repr=False)
class Table:
    """Encoded microdata with its roles. Never changed after it was made."""

    schema: Schema
    rows: int
    quasi_identifiers: tuple[Column, ...]
    sensitive: tuple[Column, ...]
    insensitive: pl.DataFrame
    """The insensitive columns as they came, row by row (no column where there is none)."""

    @cached_property
    def classes(self) -> EquivalenceClasses:
        """Rows grouped by all quasi-identifiers, and within a class by the (first) sensitive value."""
        return EquivalenceClasses.of(self)

    def __repr__(self) -> str:
        return (
            f"Table(rows={self.rows}, quasi_identifiers={len(self.quasi_identifiers)}, "
            f"sensitive={len(self.sensitive)}, insensitive={self.insensitive.width})"
        )


def encode(frame: pl.DataFrame, schema: Schema) -> Table:
    """Encode a frame of microdata.

    Parameters
    ----------
    frame : polars.DataFrame
        One row per person. It is not changed. A missing value (null or NaN) of a quasi-identifier is a value of its
        own; the caller has dealt with missing sensitive values.
    schema : Schema
        The role of every column.

    Returns
    -------
    Table
        Codes and dictionaries of the quasi-identifiers and sensitive attributes; direct identifiers are gone.

    Raises
    ------
    ColumnError
        Where the roles do not fit the columns.
    DataError
        Where a column has a type that cannot be encoded (nested data, binary).
    """
    raise NotImplementedError
