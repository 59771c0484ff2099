"""Which numbers look measured, and which may be numbers of people, that no release should show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shoal.table.names import suggests_known, suggests_measured, suggests_numbering, suggests_person_number

if TYPE_CHECKING:
    from shoal.verbs.inspect.counting import CountedColumn

__all__ = ["may_be_shown"]

_ROUND = (10, 100, 1000)
"""What people round to."""
_HEAPED = 3.0
"""Round values are so many times more frequent than among numbers that are counted up or drawn."""
_PARTS = 4
"""Parts of the range of a column in which the rows of each value are compared."""
_LEAST_VALUES = 5
"""Different values that a part must have to be compared."""
_UNEVEN = 4.0
"""Rows of a value in one part of the range, as a multiple of those in another: measured values gather, codes do not."""


def may_be_shown(column: CountedColumn) -> bool:
    """Return whether something shows that numbers are not numbers of people, cases or the like.

    Numbers with decimals are measured. Whole ones need evidence: a name that is understood, round values far more often
    than chance has them, or values that gather in a part of the range. Codes that are counted up or drawn do neither.
    """
    values = column.dictionary.cast(pl.Float64, strict=False).to_numpy()
    if suggests_known(column.name) or suggests_measured(column.name) or not (values == np.floor(values)).all():
        return True
    if suggests_person_number(column.name) or suggests_numbering(column.name):
        return False
    counts = column.counts[: column.distinct]
    return _are_round(values, counts) or _gather(values, counts)


def _are_round(values: np.ndarray, counts: np.ndarray) -> bool:
    rows = counts.sum()
    return any(counts[values % base == 0].sum() * base >= _HEAPED * rows for base in _ROUND if _enough(counts, base))


def _enough(counts: np.ndarray, base: int) -> bool:
    """Return whether there are so many values that one in a hundred, say, is more than a few."""
    return len(counts) >= _LEAST_VALUES * base


def _gather(values: np.ndarray, counts: np.ndarray) -> bool:
    """Compare the rows of each value in parts of the range of equal width."""
    low, high = values.min(), values.max()
    part = np.minimum(((values - low) / (high - low) * _PARTS).astype(np.int64), _PARTS - 1)
    different = np.bincount(part, minlength=_PARTS)
    rows = np.bincount(part, weights=counts, minlength=_PARTS)
    each = (rows / np.maximum(different, 1))[different >= _LEAST_VALUES]
    return len(each) > 1 and bool(each.max() >= _UNEVEN * each.min())
