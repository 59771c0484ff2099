"""Count published cells: the groups of equal quasi-identifiers, and each sensitive value within them.

Neither the encoding nor the algorithms are used here: the counted cells are those that readers of the release see.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.models.base import GroupCounts
from shoal.models.domain import Domain
from shoal.models.population import Population

_MAX_CODE = 2**62
"""Combined codes stay below this bound, so that they fit into 64 bits."""

_MAX_NARROW_CODE = 2**31
"""Codes below this bound fit into four bytes."""

Codes: TypeAlias = "NDArray[np.int32] | NDArray[np.int64]"


def without_text(frame: pl.DataFrame) -> pl.DataFrame:
    """Convert text columns to categories, all in one call, because Polars then uses both cores."""
    return frame.with_columns(pl.col(pl.String).cast(pl.Categorical))


def code_cells(column: pl.Series) -> tuple[Codes, int]:
    """Compute a code per row, and an exclusive upper bound of the codes.

    Equal cells have equal codes; the code 0 is reserved for a missing cell.
    """
    if column.dtype.is_nested() or column.dtype == pl.Object:
        raise DataError(
            f"The column '{column.name}' has the type {column.dtype.base_type()}, whose values cannot be compared. "
            "Turn it into text, numbers or dates."
        )
    if column.dtype == pl.Null:
        return np.zeros(len(column), dtype=np.int64), 1
    if column.dtype.is_float():
        column = column.fill_nan(None)
    # Integers and dates of a small range are their own codes, relative to the lowest one.
    physical = column.to_physical()
    if physical.dtype.is_integer():
        low, high = physical.min(), physical.max()
        if isinstance(low, int) and isinstance(high, int) and max(-low, high) < 2**61 and high - low < 2**31:
            narrow = low - 1 > -_MAX_NARROW_CODE and high < _MAX_NARROW_CODE and high - low + 2 < _MAX_NARROW_CODE
            codes = physical.cast(pl.Int32 if narrow else pl.Int64) - (low - 1)
            return (codes.fill_null(0) if codes.null_count() else codes).to_numpy(), high - low + 2
    # Other values have the rank in their order as code.
    ranks = physical.rank("dense").cast(pl.Int64)
    ranks = ranks.fill_null(0) if ranks.null_count() else ranks
    return ranks.to_numpy(), int(ranks.to_numpy().max(initial=0)) + 1


def combine(first: Codes, first_size: int, second: Codes, second_size: int) -> tuple[Codes, int]:
    """Combine pairs of codes into single codes; the codes are renumbered first if their product is too large."""
    # Renumbering leaves at most one code per row, so the product fits afterwards.
    if first_size * second_size >= _MAX_CODE:
        first, first_size = _renumber(first)
        second, second_size = _renumber(second)
    size = first_size * second_size
    combined: Codes = first.astype(np.int32) if size < _MAX_NARROW_CODE else first.astype(np.int64)
    combined *= second_size
    combined += second
    return combined, size


def _renumber(codes: Codes) -> tuple[Codes, int]:
    distinct, position = np.unique(codes, return_inverse=True)
    return position.astype(np.int64), max(len(distinct), 1)


def make_dense(codes: Codes, size: int) -> tuple[Codes, int]:
    """Renumber codes, keeping their order, so that every code below the size occurs."""
    # Sparse codes are sorted; an array of flags would be larger than the rows.
    if size > 8 * len(codes) + 1024:
        return _renumber(codes)
    occurs = np.zeros(size, dtype=np.bool_)
    occurs[codes] = True
    position = np.cumsum(occurs, dtype=np.int32) - np.int32(1)
    return position[codes], int(np.count_nonzero(occurs))


def count_codes(
    group: Codes, width: int, codes: Codes, size: int, domain: Domain, times: NDArray[np.int64] | None
) -> GroupCounts:
    """Count how often each code below a size occurs in each group: equal pairs are adjacent after sorting."""
    if times is None:
        totals = np.bincount(codes, minlength=size).astype(np.int64)
    else:
        totals = np.zeros(size, dtype=np.int64)
        np.add.at(totals, codes, times)  # in integers
    # A pair is a group and a sensitive value; rows with multiplicities keep them while sorting.
    pairs, _ = combine(group, width, codes, max(size, 1))
    if times is None:
        pairs.sort()
    else:
        order = np.argsort(pairs)
        pairs, times = pairs[order], times[order]
    first = _run_starts(pairs)
    if times is None:
        counts = np.diff(first, append=len(pairs))
    else:
        counts = np.add.reduceat(times, first) if len(first) else times
    # Split the pairs again: the runs of one group are its histogram.
    group_of, values = np.divmod(pairs[first].astype(np.int64), max(size, 1))
    starts = _run_starts(group_of)
    return GroupCounts(
        sizes=np.add.reduceat(counts, starts) if len(starts) else counts,
        starts=np.append(starts, len(counts)),
        values=values,
        counts=counts,
        population=Population(totals=totals, domain=domain),
    )


def _run_starts(values: Codes) -> NDArray[np.int64]:
    """Find the starts of runs of equal values."""
    changes = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=changes[1:])
    return np.flatnonzero(changes)
