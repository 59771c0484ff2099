"""Ordered values as a coarsening: numbers, dates or declared categories become intervals of at least k records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from shoal.grouping.base import check_k
from shoal.grouping.coarsened_columns import check_told_apart, coarsened, counted_values, interval_texts
from shoal.grouping.ordered.intervals import ordered
from shoal.hierarchy import Coarsening, CoarseningResult
from shoal.hierarchy.distinct_values import expand_to_rows
from shoal.recoding.star_symbol import dictionary_text

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from shoal.table import Column

__all__ = ["Ordered"]


@dataclass(frozen=True, repr=True)
class Ordered(Coarsening):
    """Numbers, dates or declared categories become intervals of at least k records, the largest as small as possible.

    An interval reads `[21, 25]`, from the smallest value of its class to the largest; a single value stays as it is. A
    release moves the ends outward (`exact_ends`) unless enough records have these values.
    The coarser column is ordered, too. A missing value stays missing and does not count.

    Parameters
    ----------
    k : int
        What each class has at least.

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
    """What each class has at least."""

    def __post_init__(self) -> None:
        check_k("Ordered", self.k)

    def apply(self, columns: tuple[pl.Series, ...]) -> tuple[pl.Series, ...]:
        """Return the column with an interval for each value; see `Coarsening.apply`."""
        return self.coarsen(columns).columns

    def coarsen(self, columns: tuple[pl.Series, ...]) -> CoarseningResult:
        """Return the coarser column with what is to say and to draw of it; see `Coarsening.coarsen`."""
        import polars as pl

        (series,) = columns
        column, counts = counted_values("Ordered", series)
        values = column.dictionary.drop_nulls()
        grouping = ordered(values, self.k, counts=counts)
        low, high = dictionary_text(grouping.lowest), dictionary_text(grouping.highest)
        published = interval_texts(low, high)
        check_told_apart(published, dictionary_text(values), alone=low == high)
        coarser = _in_order(column, published, grouping.classes, series.name)
        return coarsened(grouping, (coarser,), of_intervals=not isinstance(values.dtype, pl.Enum))

    def to_dict(self) -> dict[str, Any]:
        """Return the coarsening as it appears in a certificate."""
        return {"coarsening": "ordered", "k": self.k}


def _in_order(column: Column, published: pl.Series, classes: NDArray[np.int32], name: str) -> pl.Series:
    """Return the class of each row as a category declared in the order of the classes."""
    import polars as pl

    return expand_to_rows(column, published.cast(pl.Enum(published)).gather(classes), name)
