"""Grouping of ordered values into intervals of at least k records; the largest is proven to be as small as possible.

References
----------
W. Du, D. Eppstein, M. T. Goodrich, G. S. Lueker, "On the approximability of geometric and geographic generalization
and the min-max bin covering problem", WADS 2009, Section 4. doi:10.1007/978-3-642-03367-4_22, arXiv:0904.3756.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from shoal.errors import DataError, InternalError
from shoal.grouping.base import (
    Grouping,
    GroupingGuarantee,
    check_feasible,
    check_grouping,
    check_k,
    simple_lower_bound,
    validate_weights,
)
from shoal.grouping.coarsened_columns import check_unambiguous, count_values, format_intervals, make_coarsened
from shoal.grouping.ordered.intervals_kernel import cut_points, smallest_bound
from shoal.hierarchy import Coarsening, CoarseningResult
from shoal.hierarchy.distinct_values import expand_to_rows
from shoal.io.forms import understand
from shoal.table import Column, Schema, encode
from shoal.table.text import dictionary_text

_NAME = "values"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class IntervalGrouping(Grouping):
    """Ordered values in classes of consecutive values.

    Examples
    --------
    >>> ages = ordered([20, 21, 21, 30, 44, 45, 45], 3)
    >>> ages.lowest.to_list(), ages.highest.to_list()
    ([20, 30], [21, 45])
    """

    codes: NDArray[np.unsignedinteger]
    """Rank of each value among the distinct values."""
    lowest: pl.Series
    """Smallest value of each class."""
    highest: pl.Series
    """Largest value of each class."""


def ordered(values: Any, k: int, *, counts: ArrayLike | None = None) -> IntervalGrouping:
    """Group numbers, dates or declared categories into intervals of at least k records, minimizing the largest.

    Parameters
    ----------
    values : array_like or Series
        Numbers, dates, declared categories, or strings that all are numbers or dates. They may repeat and have any
        order, but none may be missing.
    k : int
        Smallest number of records of a class.
    counts : array_like of int, optional
        Number of records of each value, at least 1; 1 by default.

    Returns
    -------
    IntervalGrouping
        The class of each value; classes are numbered in the order of the values. The largest class is as small as
        possible, and among such groupings this one has the most classes.

    Raises
    ------
    ParameterError
        If k is not an integer of at least 1.
    DataError
        If the values have no order, if some are missing, or if the counts are invalid.
    InfeasibleError
        If there are fewer than k records.

    Notes
    -----
    This improves on the dynamic program that the paper mentions. A bound on the largest class is tested in linear time,
    because the possible starts of an interval form a window that moves with its end, and the smallest bound is found by
    bisection. The running time is O(n log n) for sorting and O(n log W) for a total of W.

    References
    ----------
    W. Du, D. Eppstein, M. T. Goodrich, G. S. Lueker, "On the approximability of geometric and geographic
    generalization and the min-max bin covering problem", WADS 2009, Section 4. doi:10.1007/978-3-642-03367-4_22.

    Examples
    --------
    >>> ages = ordered([20, 21, 21, 30, 44, 45, 45], 3)
    >>> list(zip(ages.lowest, ages.highest, ages.weights.tolist()))
    [(20, 21, 3), (30, 45, 4)]
    """
    start = time.perf_counter()
    k = check_k("ordered", k)
    column = _column(values)
    weights = None
    if counts is None:
        by_value = np.bincount(column.codes, minlength=column.size).astype(np.int64)
    else:
        weights = validate_weights("ordered", counts, what="counts", least=1)
        if len(weights) != len(column.codes):
            raise DataError(
                f"The counts of ordered must be one for each value. Got {len(weights)} for {len(column.codes)} values."
            )
        # Sums of integers below 2**53 are exact.
        by_value = np.bincount(column.codes, weights=weights, minlength=column.size).astype(np.int64)
    sums = np.concatenate([[0], np.cumsum(by_value)])
    check_feasible("ordered", int(sums[-1]), k)
    bound = simple_lower_bound(int(by_value.max()), int(sums[-1]), k)
    # A single interval of all values is always feasible.
    cost = int(smallest_bound(sums, k, bound.value, int(sums[-1])))
    why = bound.why if cost == bound.value else "all intervals with less were ruled out"
    # Among all partitions with this largest interval, take one with the most intervals.
    ends = cut_points(sums, k, cost)
    starts = np.concatenate([[0], ends[:-1]])
    class_of_value = np.repeat(np.arange(len(ends), dtype=np.int32), ends - starts)
    grouping = IntervalGrouping(
        kind="ordered",
        classes=class_of_value[column.codes],
        weights=np.diff(sums[np.concatenate([[0], ends])]),
        k=k,
        lower_bound=cost,
        lower_bound_why=why,
        method="exact",
        guarantee=GroupingGuarantee(text="the smallest possible", largest=cost, ratio=1.0),
        details={"values": column.size},
        codes=column.codes,
        lowest=column.dictionary.gather(starts).alias("lowest"),
        highest=column.dictionary.gather(ends - 1).alias("highest"),
    )
    check_grouping(grouping, weights)
    _check_consecutive(grouping.classes, column.codes)
    return replace(grouping, seconds=time.perf_counter() - start)


def _check_consecutive(classes: NDArray[np.int32], codes: NDArray[np.unsignedinteger]) -> None:
    """Check that classes consist of consecutive values: larger codes are in the same class or in a later one."""
    class_of = np.full(int(codes.max()) + 1, -1, dtype=np.int32)
    class_of[codes] = classes
    if not np.array_equal(class_of[codes], classes) or np.any(np.diff(class_of[class_of >= 0]) < 0):
        raise InternalError("the classes of ordered values are no intervals")


def _as_integers(series: pl.Series) -> pl.Series:
    """Convert text to integers if all of it is canonical, because integers sort much faster; keep other values."""
    if series.dtype != pl.String:
        return series
    integers = series.cast(pl.Int64, strict=False)
    same = integers.null_count() == 0 and bool((integers.cast(pl.String) == series).all())
    return integers if same else series


def _column(values: Any) -> Column:
    """Validate and encode ordered values."""
    try:
        series = values if isinstance(values, pl.Series) else pl.Series(_NAME, values)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        raise DataError("The values of ordered must be one column of numbers, dates or texts.") from error
    if len(series) == 0:
        raise DataError("ordered was given no values: there is nothing to group.")
    series = series.alias(_NAME)
    missing = series.null_count() + (int(series.is_nan().sum()) if series.dtype.is_float() else 0)
    if missing:
        raise DataError(f"{missing} of the {len(series)} values of ordered are missing. Leave them out.")
    # Text keeps its original form in the dictionary, also if it is sorted as dates or integers.
    parsed = understand(series.to_frame(), [_NAME])
    plain = _as_integers(parsed.frame.to_series())
    (column,) = encode(plain.to_frame(), Schema(quasi_identifiers=(_NAME,))).quasi_identifiers
    if not column.ordered:
        raise DataError(
            "The values of ordered have no order: they must be numbers, dates, or declared categories (Enum). For "
            "names without an order there is labels (shoal group labels)."
        )
    if series.dtype != pl.String:
        return column
    form = parsed.forms.get(_NAME)
    read = column.dictionary.cast(pl.String) if plain.dtype.is_integer() else column.dictionary
    return replace(column, dictionary=read if form is None else form.written(read))


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
        # Categories are declared in the order of the classes.
        coarser = expand_to_rows(column, published.cast(pl.Enum(published)).gather(grouping.classes))
        return make_coarsened(grouping, (coarser,), of_intervals=not isinstance(values.dtype, pl.Enum))

    def to_dict(self) -> dict[str, Any]:
        """Return the coarsening as it appears in a certificate."""
        return {"coarsening": "ordered", "k": self.k}
