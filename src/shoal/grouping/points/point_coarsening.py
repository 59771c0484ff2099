"""Coarsening of two columns of coordinates to the sides of rectangles of at least k records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.validation import Boolean, Optional, validate
from shoal.errors import DataError
from shoal.grouping.base import check_k
from shoal.grouping.coarsened_columns import encode_column, format_intervals, make_coarsened
from shoal.grouping.points.rectangles import is_geographic, points
from shoal.hierarchy import Coarsening, CoarseningResult
from shoal.table import Column
from shoal.table.text import dictionary_text


@dataclass(frozen=True, repr=True)
class Points(Coarsening):
    """Coarsen two columns of coordinates to rectangles of at least k records, with the largest as small as possible.

    The columns become intervals `[x_min, x_max]` and `[y_min, y_max]`, ordered by their ends. Together they are the
    rectangle of a class; rectangles are disjoint. Their ends are coordinates of records, and a release moves them
    outward (`exact_ends`) unless enough records have them. A row must have both coordinates or none; missing
    coordinates stay missing and do not count.

    Parameters
    ----------
    k : int
        Smallest number of records of a class.
    geographic : bool, optional
        If True, the columns are longitude and latitude in degrees, and their ranges are checked. By default it depends
        on the names of the columns.

    Examples
    --------
    >>> import polars as pl
    >>> x, y = pl.Series("x", [0, 1, 2, 3]), pl.Series("y", [0, 9, 1, 8])
    >>> [column.to_list()[:2] for column in Points(k=2).apply((x, y))]
    [['[0, 2]', '[1, 3]'], ['[0, 1]', '[8, 9]']]
    """

    takes: ClassVar[int] = 2
    self_evident: ClassVar[bool] = True
    ends_at_values: ClassVar[bool] = True

    k: int = field(kw_only=True)
    """Smallest number of records of a class."""
    geographic: bool | None = field(default=None, kw_only=True)
    """True if the columns are longitude and latitude; None to decide by their names."""

    def __post_init__(self) -> None:
        check_k("Points", self.k)
        validate("Points", {"geographic": self.geographic}, {"geographic": Optional(Boolean())})

    def apply(self, columns: tuple[pl.Series, ...]) -> tuple[pl.Series, ...]:
        """Replace both coordinates by the sides of rectangles; see `Coarsening.apply`."""
        return self.coarsen(columns).columns

    def coarsen(self, columns: tuple[pl.Series, ...]) -> CoarseningResult:
        """Replace both coordinates by the sides of rectangles, with facts and a picture; see `Coarsening.coarsen`."""
        x, y = columns
        # A row must have both coordinates or none.
        encoded = [encode_column("Points", series) for series in columns]
        present, other = (column.codes < column.size - column.has_missing for column in encoded)
        if not np.array_equal(present, other):
            wrong = int(np.count_nonzero(present != other))
            raise DataError(f"{wrong} of {len(x)} rows have one coordinate and miss the other.")
        numbers = [_as_numbers(column)[column.codes[present]] for column in encoded]
        geographic = is_geographic(x.name, y.name) if self.geographic is None else self.geographic
        grouping = points(np.stack(numbers, axis=1), self.k, geographic=geographic)
        sides = [
            _intervals_of_rows(column, column.codes[present], grouping.classes, present, len(grouping.weights))
            for column in encoded
        ]
        return make_coarsened(grouping, (sides[0].alias(x.name), sides[1].alias(y.name)), of_intervals=True)

    def to_dict(self) -> dict[str, Any]:
        """Return the coarsening as it appears in a certificate."""
        return {"coarsening": "points", "k": self.k, "geographic": self.geographic}


def _as_numbers(column: Column) -> NDArray[np.float64]:
    """Convert the values of a numeric column to numbers, by code; the missing value is NaN."""
    kind = column.dictionary.dtype
    if not column.ordered or not (kind.is_numeric() or kind == pl.String):
        raise DataError("Points needs numbers.")
    numbers = column.dictionary.cast(pl.Float64, strict=False)
    if numbers.null_count() > column.has_missing:
        raise DataError("Points needs numbers: dates are none.")
    return np.asarray(numbers.to_numpy())


def _intervals_of_rows(
    column: Column,
    codes: NDArray[np.unsignedinteger],
    classes: NDArray[np.int32],
    present: NDArray[np.bool_],
    count: int,
) -> pl.Series:
    """Compute the side of each row's rectangle along one coordinate; missing if the coordinate is missing."""
    low, high = np.full(count, column.size, dtype=np.int64), np.full(count, -1, dtype=np.int64)
    np.minimum.at(low, classes, codes)
    np.maximum.at(high, classes, codes)
    # Equal sides of different rectangles are one category; categories are ordered by their ends.
    pairs, side_of_class = np.unique(low * column.size + high, return_inverse=True)
    text = dictionary_text(column.dictionary)
    sides = format_intervals(text.gather(pairs // column.size), text.gather(pairs % column.size))
    numbers = np.full(len(present), -1, dtype=np.int64)
    numbers[present] = side_of_class[classes]
    kind = pl.Enum(sides)
    of_row = pl.Series(numbers)
    return sides.cast(kind).gather(of_row.set(of_row < 0, None))
