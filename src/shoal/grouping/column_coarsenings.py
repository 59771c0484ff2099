"""Labels, ordered values and points as coarsenings: columns become columns of classes of at least k records."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shoal._validation import Boolean, Integer, OneOf, Optional, validate
from shoal.errors import DataError
from shoal.grouping.base import check_k
from shoal.grouping.labels.bin_covering import labels as group_labels
from shoal.grouping.ordered.intervals import ordered
from shoal.grouping.points.rectangles import is_geographic, points
from shoal.hierarchy import Coarsened, Coarsening
from shoal.recoding.text import dictionary_text, quoted
from shoal.table import Schema, encode

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal.grouping.base import Grouping
    from shoal.table import Column

__all__ = ["LARGEST_SET", "Labels", "Ordered", "Points"]

LARGEST_SET = 256
"""Classes of more values than this get a number for a name (as larger sets are published as stars)."""
_FACTS = ("classes", "largest", "smallest", "lower_bound", "optimal", "overfull_ratio", "guarantee")


@dataclass(frozen=True, repr=True)
class Labels(Coarsening):
    """Names without an order become classes of at least k records each, the largest as small as possible.

    The counts are those of the column itself; a missing value stays missing and does not count.

    Parameters
    ----------
    k : int
        What each class has at least.
    labels : {"members", "numbers"}
        What is published: the set of a class's values, `{a, b}` (a number where there are more than 256, and a single
        value as it is), or `class 1`, `class 2`, ... from the largest to the smallest.
    seed : int
        Of the solver's random steps: the same column and seed give the same classes.

    Examples
    --------
    >>> import polars as pl
    >>> diseases = pl.Series("disease", ["flu"] * 3 + ["gout"] * 2 + ["mumps"])
    >>> Labels(k=3).apply((diseases,))[0].unique().sort().to_list()
    ['flu', '{gout, mumps}']
    """

    takes: ClassVar[int] = 1
    takes_text: ClassVar[bool] = True

    k: int = field(kw_only=True)
    """What each class has at least."""
    labels: str = field(default="members", kw_only=True)
    """What is published for a class."""
    seed: int = field(default=0, kw_only=True)
    """Of the random steps."""

    def __post_init__(self) -> None:
        check_k("Labels", self.k)
        validate(
            "Labels",
            {"labels": self.labels, "seed": self.seed},
            {"labels": OneOf(("members", "numbers")), "seed": Integer(low=0)},
        )

    def apply(self, columns: tuple[pl.Series, ...]) -> tuple[pl.Series, ...]:
        """Return the column with a class for each value; see `Coarsening.apply`."""
        return self.applied(columns).columns

    def applied(self, columns: tuple[pl.Series, ...]) -> Coarsened:
        """Return the coarser column with what is to say and to draw of it; see `Coarsening.applied`."""
        import polars as pl

        (series,) = columns
        column, counts = _counted("Labels", series)
        grouping = group_labels(counts, self.k, seed=self.seed)
        text = dictionary_text(column.dictionary.drop_nulls())
        published = pl.Series(self._published(text, grouping.classes), dtype=pl.String)
        _check_told_apart(published, text)
        return _coarsened(grouping, (_by_code(column, published, series.name),))

    def _published(self, text: pl.Series, classes: NDArray[np.int32]) -> list[str]:
        """Return what is published for each value."""
        members: dict[int, list[int]] = {}
        for value, number in enumerate(classes.tolist()):
            members.setdefault(number, []).append(value)
        plain, in_sets = text.to_list(), quoted(text).to_list()
        named = {}
        for number, values in members.items():
            if self.labels == "numbers" or len(values) > LARGEST_SET:
                named[number] = f"class {number + 1}"
            elif len(values) == 1:
                named[number] = plain[values[0]]
            else:
                named[number] = "{" + ", ".join(in_sets[value] for value in values) + "}"
        return [named[number] for number in classes.tolist()]

    def to_dict(self) -> dict[str, Any]:
        """Return the coarsening as it appears in a certificate."""
        return {"coarsening": "labels", "k": self.k, "labels": self.labels, "seed": self.seed}


@dataclass(frozen=True, repr=True)
class Ordered(Coarsening):
    """Numbers, dates or declared categories become intervals of at least k records, the largest as small as possible.

    An interval reads `[21, 25]`, from the smallest value of its class to the largest; a single value stays as it is.
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

    k: int = field(kw_only=True)
    """What each class has at least."""

    def __post_init__(self) -> None:
        check_k("Ordered", self.k)

    def apply(self, columns: tuple[pl.Series, ...]) -> tuple[pl.Series, ...]:
        """Return the column with an interval for each value; see `Coarsening.apply`."""
        return self.applied(columns).columns

    def applied(self, columns: tuple[pl.Series, ...]) -> Coarsened:
        """Return the coarser column with what is to say and to draw of it; see `Coarsening.applied`."""
        (series,) = columns
        column, counts = _counted("Ordered", series)
        values = column.dictionary.drop_nulls()
        grouping = ordered(values, self.k, counts=counts)
        low, high = dictionary_text(grouping.lowest), dictionary_text(grouping.highest)
        published = _intervals(low, high)
        _check_told_apart(published, dictionary_text(values), alone=low == high)
        return _coarsened(grouping, (_in_order(column, published, grouping.classes, series.name),))

    def to_dict(self) -> dict[str, Any]:
        """Return the coarsening as it appears in a certificate."""
        return {"coarsening": "ordered", "k": self.k}


@dataclass(frozen=True, repr=True)
class Points(Coarsening):
    """Two columns of coordinates become rectangles of at least k records each, the largest as small as possible.

    Both columns hold intervals then, `[x_min, x_max]` and `[y_min, y_max]`, in the order of their ends; together they
    are the rectangle of a class, and no two rectangles share a point. Their ends are coordinates of records. A row
    misses both coordinates or none; missing ones stay missing and do not count.

    Parameters
    ----------
    k : int
        What each class has at least.
    geographic : bool, optional
        Whether the columns are longitude and latitude in degrees, which is checked then; by default as they are called.

    Examples
    --------
    >>> import polars as pl
    >>> x, y = pl.Series("x", [0, 1, 2, 3]), pl.Series("y", [0, 9, 1, 8])
    >>> [column.to_list()[:2] for column in Points(k=2).apply((x, y))]
    [['[0, 2]', '[1, 3]'], ['[0, 1]', '[8, 9]']]
    """

    takes: ClassVar[int] = 2

    k: int = field(kw_only=True)
    """What each class has at least."""
    geographic: bool | None = field(default=None, kw_only=True)
    """Whether the columns are longitude and latitude."""

    def __post_init__(self) -> None:
        check_k("Points", self.k)
        validate("Points", {"geographic": self.geographic}, {"geographic": Optional(Boolean())})

    def apply(self, columns: tuple[pl.Series, ...]) -> tuple[pl.Series, ...]:
        """Return both columns with the sides of the rectangles; see `Coarsening.apply`."""
        return self.applied(columns).columns

    def applied(self, columns: tuple[pl.Series, ...]) -> Coarsened:
        """Return the coarser columns with what is to say and to draw of them; see `Coarsening.applied`."""
        x, y = columns
        encoded = [_encoded("Points", series) for series in columns]
        present, other = (column.codes < column.size - column.has_missing for column in encoded)
        if not np.array_equal(present, other):
            wrong = int(np.count_nonzero(present != other))
            raise DataError(f"{wrong} of {len(x)} rows have one coordinate and miss the other.")
        numbers = [_as_numbers(column)[column.codes[present]] for column in encoded]
        geographic = is_geographic(x.name, y.name) if self.geographic is None else self.geographic
        grouping = points(np.stack(numbers, axis=1), self.k, geographic=geographic)
        sides = [
            _side(column, column.codes[present], grouping.classes, present, len(grouping.weights)) for column in encoded
        ]
        return _coarsened(grouping, (sides[0].alias(x.name), sides[1].alias(y.name)))

    def to_dict(self) -> dict[str, Any]:
        """Return the coarsening as it appears in a certificate."""
        return {"coarsening": "points", "k": self.k, "geographic": self.geographic}


def _encoded(owner: str, series: pl.Series) -> Column:
    (column,) = encode(series.to_frame(), Schema(quasi_identifiers=(series.name,))).quasi_identifiers
    if column.size == column.has_missing:
        raise DataError(f"{owner} needs a column with a value: this one has none.")
    return column


def _counted(owner: str, series: pl.Series) -> tuple[Column, NDArray[np.int64]]:
    """Encode a column, and count its values without the missing one."""
    column = _encoded(owner, series)
    counts = np.bincount(column.codes, minlength=column.size).astype(np.int64)
    return column, counts[:-1] if column.has_missing else counts


def _as_numbers(column: Column) -> NDArray[np.float64]:
    """Return the values of a numeric column by code, the missing one as NaN."""
    import polars as pl

    kind = column.dictionary.dtype
    if not column.ordered or not (kind.is_numeric() or kind == pl.String):
        raise DataError("Points needs numbers.")
    numbers = column.dictionary.cast(pl.Float64, strict=False)
    if numbers.null_count() > column.has_missing:
        raise DataError("Points needs numbers: dates are none.")
    return np.asarray(numbers.to_numpy())


def _side(
    column: Column,
    codes: NDArray[np.unsignedinteger],
    classes: NDArray[np.int32],
    present: NDArray[np.bool_],
    count: int,
) -> pl.Series:
    """Return the interval of one coordinate that each row's rectangle has, missing where the row is."""
    import polars as pl

    low, high = np.full(count, column.size, dtype=np.int64), np.full(count, -1, dtype=np.int64)
    np.minimum.at(low, classes, codes)
    np.maximum.at(high, classes, codes)
    pairs, side_of_class = np.unique(low * column.size + high, return_inverse=True)
    text = dictionary_text(column.dictionary)
    sides = _intervals(text.gather(pairs // column.size), text.gather(pairs % column.size))
    numbers = np.full(len(present), -1, dtype=np.int64)
    numbers[present] = side_of_class[classes]
    kind = pl.Enum(sides)
    of_row = pl.Series(numbers)
    return sides.cast(kind).gather(of_row.set(of_row < 0, None))


def _intervals(low: pl.Series, high: pl.Series) -> pl.Series:
    """Write intervals; a single value stays as it is."""
    import polars as pl

    frame = pl.DataFrame({"low": quoted(low), "high": quoted(high), "plain": low})
    alone = pl.col("low") == pl.col("high")
    return frame.select(
        pl.when(alone).then(pl.col("plain")).otherwise(pl.format("[{}, {}]", "low", "high"))
    ).to_series()


def _check_told_apart(published: pl.Series, text: pl.Series, alone: pl.Series | None = None) -> None:
    """Check that nothing that is published for a class reads like another value of the column."""
    made = published.filter(~alone) if alone is not None else published.filter(published != text)
    if made.is_in(text.implode()).any():
        raise DataError("It has a value that reads like one of the classes it would get. Rewrite that value.")


def _by_code(column: Column, published: pl.Series, name: str) -> pl.Series:
    """Return what is published for each row; missing stays missing."""
    if column.has_missing:
        published = published.extend_constant(None, 1)
    return published.gather(column.codes).alias(name)


def _in_order(column: Column, published: pl.Series, classes: NDArray[np.int32], name: str) -> pl.Series:
    """Return the class of each row as a category declared in the order of the classes."""
    import polars as pl

    return _by_code(column, published.cast(pl.Enum(published)).gather(classes), name)


def _coarsened(grouping: Grouping, columns: tuple[pl.Series, ...]) -> Coarsened:
    facts = grouping.to_dict()
    return Coarsened(columns=columns, facts={name: facts[name] for name in _FACTS}, picture=partial(_svg, grouping))


def _svg(grouping: Grouping) -> str:
    from shoal.grouping import pictures

    return pictures.svg(grouping)
