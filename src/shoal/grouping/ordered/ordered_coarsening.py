"""Coarsening of numbers, dates or declared categories to intervals of at least k records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.grouping.base import check_k
from shoal.grouping.coarsened_columns import check_unambiguous, count_values, format_intervals, make_coarsened
from shoal.grouping.ordered.intervals import ordered
from shoal.hierarchy import Coarsening, CoarseningResult
from shoal.hierarchy.distinct_values import expand_to_rows
from shoal.table import Column
from shoal.table.text import dictionary_text


@dataclass(frozen=True, repr=True)
class Ordered(Coarsening):
    """Coarsen ordered values to intervals of at least k records, with the largest as small as possible.

    An interval such as `[21, 25]` ranges from the smallest value of its class to the largest; a single value stays as
    it is. A release moves the ends outward (`exact_ends`) unless enough records have these values. The coarser column
    is ordered as well. Missing values stay missing and do not count.

    Parameters
    ----------
    k : int
        Smallest number of records of a class.

    Examples
    --------
    >>> import polars as pl
    >>> ages = pl.Series("age", [20, 21, 21, 30, 30, 30, 44, 45, 45])
    >>> Ordered(k=3).apply((ages,))[0].unique().to_list()
    ['[20, 21]', '30', '[44, 45]']
    """

    takes: ClassVar[int] = 1
    self_evident: ClassVar[bool] = True
    ends_at_values: ClassVar[bool] = True

    k: int = field(kw_only=True)
    """Smallest number of records of a class."""

    def __post_init__(self) -> None:
        check_k("Ordered", self.k)

    def apply(self, columns: tuple[pl.Series, ...]) -> tuple[pl.Series, ...]:
        """Replace each value by its interval; see `Coarsening.apply`."""
        return self.coarsen(columns).columns

    def coarsen(self, columns: tuple[pl.Series, ...]) -> CoarseningResult:
        """Replace each value by its interval, with facts and a picture of the grouping; see `Coarsening.coarsen`."""
        (series,) = columns
        column, counts = count_values("Ordered", series)
        values = column.dictionary.drop_nulls()
        grouping = ordered(values, self.k, counts=counts)
        low, high = dictionary_text(grouping.lowest), dictionary_text(grouping.highest)
        published = format_intervals(low, high)
        check_unambiguous(published, dictionary_text(values), alone=low == high)
        coarser = _to_ordered_categories(column, published, grouping.classes, series.name)
        return make_coarsened(grouping, (coarser,), of_intervals=not isinstance(values.dtype, pl.Enum))

    def to_dict(self) -> dict[str, Any]:
        """Return the coarsening as it appears in a certificate."""
        return {"coarsening": "ordered", "k": self.k}


def _to_ordered_categories(column: Column, published: pl.Series, classes: NDArray[np.int32], name: str) -> pl.Series:
    """Convert the class of each row to a category; categories are declared in the order of the classes."""
    return expand_to_rows(column, published.cast(pl.Enum(published)).gather(classes), name)
