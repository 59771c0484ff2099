"""Distinguish measurements from numbers that identify people, which no release should contain."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.table.names import suggests_known, suggests_measured, suggests_numbering, suggests_person_number
from shoal.verbs.inspect.counting import CountedColumn

_ROUND = (10, 100, 1000)
"""People round to multiples of these."""
_HEAPED = 3.0
"""Rounded values must be this many times more frequent than among consecutive or random numbers."""
_PARTS = 4
"""Equal-width parts of a column's range in which the rows per value are compared."""
_LEAST_VALUES = 5
"""Distinct values that a part needs to be compared."""
_UNEVEN = 4.0
"""Ratio of rows per value between parts of the range: measurements cluster, codes do not."""


def may_be_shown(column: CountedColumn) -> bool:
    """Return True if there is evidence that numbers do not identify people, cases or the like.

    Numbers with decimals are measurements. Integers need evidence: a name that is recognized, rounded values far more
    often than by chance, or values that cluster in a part of the range. Consecutive and random codes show neither.
    """
    # Names are the cheapest evidence; the distribution of values is examined last.
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
    """Return True if there are enough values to expect several multiples of the base."""
    return len(counts) >= _LEAST_VALUES * base


def _gather(values: np.ndarray, counts: np.ndarray) -> bool:
    """Return True if the rows per value differ much between equal-width parts of the range."""
    # Assign each value to one of the parts of equal width.
    low, high = values.min(), values.max()
    part = np.minimum(((values - low) / (high - low) * _PARTS).astype(np.int64), _PARTS - 1)
    different = np.bincount(part, minlength=_PARTS)
    rows = np.bincount(part, weights=counts, minlength=_PARTS)
    # Compare the rows per distinct value between parts with enough values.
    each = (rows / np.maximum(different, 1))[different >= _LEAST_VALUES]
    return len(each) > 1 and bool(each.max() >= _UNEVEN * each.min())
