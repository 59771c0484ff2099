"""Ends of the intervals that a coarsening made of the values of records: they go outward like any other end.

Classes of ordered values and rectangles of points reach from one value of the table to another one. Such an end shows
the exact value of somebody as the end of a group's interval does, so it becomes that of the first cell of the public
grid in which enough records of the table lie (`shoal.recoding.wide_ends`). Intervals that were disjoint may overlap
then; those that become equal are one.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._messages import Suggestion
from shoal.errors import InfeasibleError
from shoal.hierarchy.distinct_values import encode_values
from shoal.recoding.interval_ends import interval_ends
from shoal.recoding.wide_ends import wide_ends
from shoal.table.text import dictionary_text


def widen_classes(
    before: pl.Series, after: pl.Series, least: int, *, counted: NDArray[np.bool_] | None = None
) -> pl.Series:
    """Move the ends of classes outward until at least so many records lie in the cell of each end.

    Parameters
    ----------
    before : polars.Series
        The values of the rows.
    after : polars.Series
        The class of each row, declared in the order of the classes: the interval from its least value to its greatest.
    least : int
        The records of the table that the cell of an end must have, or the value at which it stays.
    counted : bool array, optional
        Rows that count once, such as one row of each person; by default all rows count.

    Returns
    -------
    polars.Series
        The same rows. Classes of values other than numbers and days stay as they are: they have no grid, or no order
        between overlapping intervals.

    Examples
    --------
    >>> ages = pl.Series("age", [21, 22, 22, 23, 28, 30, 30, 31, 35])
    >>> classes = ["[21, 23]"] * 4 + ["[28, 35]"] * 5
    >>> widen_classes(ages, pl.Series("age", classes, dtype=pl.Enum(["[21, 23]", "[28, 35]"])), 3).unique().to_list()
    ['[20, 23]', '[20, 39]']
    """
    column = encode_values(before)
    if column is None or not column.ordered:
        return after
    # The ends of each class, moved outwards if too few rows have them.
    counts = np.bincount(column.codes if counted is None else column.codes[counted], minlength=column.size)
    ends = wide_ends(column, counts, least)
    present = column.codes < len(ends.places)
    codes, classes = column.codes[present].astype(np.int64), after.to_physical().to_numpy()[present].astype(np.int64)
    low, high = _extremes(codes, classes)
    begins = np.where(ends.lost[0, low], ends.places[low], ends.low[low])
    stops = np.where(ends.lost[1, high], ends.places[high], ends.high[high])
    alone = (low == high) & (begins == ends.places[low]) & (stops == ends.places[low])
    if (~alone & (ends.lost[0, low] | ends.lost[1, high])).any():
        raise InfeasibleError(
            f"Intervals of '{after.name}' would end at values that fewer than {least} records have, and no wider end "
            "has enough. Coarsen it in another way with ",
            Suggestion("coarsen"),
            ", or publish the values at the ends with ",
            Suggestion("exact_ends", True),
            ".",
        )
    # Classes of a single value keep its text.
    plain = dictionary_text(column.dictionary).gather(low)
    texts = [
        value if single else f"[{begin}, {stop}]"
        for value, single, begin, stop in zip(
            plain, alone, ends.format_ends(begins), ends.format_ends(stops), strict=True
        )
    ]
    if interval_ends(pl.Series(texts, dtype=pl.String)) is None:
        return after
    # Sort the texts by their ends, and gather one for each row.
    order = np.lexsort(tuple(np.unique(some, return_inverse=True)[1] for some in (stops, begins)))
    kind = pl.Enum(list(dict.fromkeys(texts[place] for place in order)))
    of_class = np.zeros(int(classes.max()) + 1, dtype=np.int64)
    of_class[np.unique(classes)] = np.arange(len(texts))
    rows = np.full(len(before), len(texts), dtype=np.int64)
    rows[present] = of_class[classes]
    return pl.Series(after.name, [*texts, None], dtype=kind).gather(rows)


def _extremes(codes: NDArray[np.int64], classes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the least and the greatest code of each class that has rows, in the order of the classes."""
    numbers, of_row = np.unique(classes, return_inverse=True)
    low, high = np.full(len(numbers), codes.max(), dtype=np.int64), np.zeros(len(numbers), dtype=np.int64)
    np.minimum.at(low, of_row, codes)
    np.maximum.at(high, of_row, codes)
    return low, high
