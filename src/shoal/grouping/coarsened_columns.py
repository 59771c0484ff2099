"""Helpers of the coarsenings by classes: count the values of a column, and name the classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.grouping.base import SUPPRESSED, Grouping
from shoal.hierarchy import CoarseningResult
from shoal.hierarchy.distinct_values import encode_values
from shoal.table import Column
from shoal.table.natural_order import NUMBER, numeric_order
from shoal.table.text import quote_text

_FACTS = ("classes", "largest", "smallest", "lower_bound", "optimal", "overfull_ratio", "guarantee")
"""Facts of a grouping that appear in certificates."""
_MAX_LISTED_VALUES = 256
"""Largest number of values that the name of a class shows; larger classes are named by a number."""


def encode_column(owner: str, series: pl.Series) -> Column:
    """Encode a column.

    Raises
    ------
    DataError
        If the column has no value.
    """
    column = encode_values(series)
    if column is None:
        raise DataError(f"{owner} needs a column with a value: this one has none.")
    return column


def count_values(owner: str, series: pl.Series) -> tuple[Column, NDArray[np.int64]]:
    """Encode a column, and count its values except the missing value."""
    column = encode_column(owner, series)
    counts = np.bincount(column.codes, minlength=column.size).astype(np.int64)
    return column, counts[:-1] if column.has_missing else counts


def format_intervals(low: pl.Series, high: pl.Series) -> pl.Series:
    """Format intervals such as `[21, 25]`; a single value stays as it is."""
    frame = pl.DataFrame({"low": quote_text(low), "high": quote_text(high), "plain": low})
    alone = pl.col("low") == pl.col("high")
    return frame.select(
        pl.when(alone).then(pl.col("plain")).otherwise(pl.format("[{}, {}]", "low", "high"))
    ).to_series()


def name_classes(
    classes: NDArray[np.int32],
    text: pl.Series,
    *,
    word: str,
    numbered: bool,
    left_out: str = "",
    order: NDArray[np.int64] | None = None,
) -> pl.Series:
    """Name the class of each value of a column.

    Parameters
    ----------
    classes : array of int32
        Class of each value, -1 for values in no class.
    text : Series
        The values as text.
    word : str
        Word for a class that is named by its number, such as "class" in `class 1`.
    numbered : bool
        If True, name all classes by numbers; otherwise only those with more values than a name shows.
    left_out : str
        Name of values in no class.
    order : array of int64, optional
        Rank of each value for sets in which all values have a rank; -1 for values without a rank (`rank_members`).

    Returns
    -------
    Series
        Name of the class of each value.
    """
    # The values of each class.
    members: dict[int, list[int]] = {}
    for value, number in enumerate(classes.tolist()):
        members.setdefault(number, []).append(value)
    plain, in_sets = text.to_list(), quote_text(text).to_list()
    named = {SUPPRESSED: left_out}
    # A class is named by a number, by its only value, or by the set of its values.
    for number, values in members.items():
        if number == SUPPRESSED:
            continue
        if numbered or len(values) > _MAX_LISTED_VALUES:
            named[number] = f"{word} {number + 1}"
        elif len(values) == 1:
            named[number] = plain[values[0]]
        else:
            if order is not None and (order[values] >= 0).all():
                values.sort(key=order.__getitem__)
            named[number] = "{" + ", ".join(in_sets[value] for value in values) + "}"
    return pl.Series([named[number] for number in classes.tolist()], dtype=pl.String)


def rank_members(column: Column, text: pl.Series) -> NDArray[np.int64] | None:
    """Rank the numbers among the values of a text column, with -1 for other text; None if values are ordered anyway.

    Values of a text column are sorted alphabetically if any value is not a number. A set of numbers is sorted
    numerically nevertheless, because its order must not reveal that other sets have other values.
    """
    if column.ordered or column.dictionary.dtype != pl.String:
        return None
    # Other text keeps the rank -1, so that sets with it are sorted alphabetically.
    numbers = text.str.contains(f"^{NUMBER}$").arg_true()
    order = np.full(len(text), -1, dtype=np.int64)
    order[numbers.to_numpy()[numeric_order(text.gather(numbers))]] = np.arange(len(numbers))
    return order


def check_unambiguous(published: pl.Series, text: pl.Series, alone: pl.Series | None = None) -> None:
    """Check that no published name of a class equals a value of the column."""
    # Single values stay as they are; only sets and intervals are new names.
    made = published.filter(~alone) if alone is not None else published.filter(published != text)
    if made.is_in(text.implode()).any():
        raise DataError("It has a value that reads like one of the classes it would get. Rewrite that value.")


def make_coarsened(
    grouping: Grouping,
    columns: tuple[pl.Series, ...],
    *,
    of_intervals: bool = False,
    classes: Mapping[str, Sequence[str]] | None = None,
) -> CoarseningResult:
    """Build a `CoarseningResult` from coarser columns, with facts and a picture of the grouping."""
    facts = grouping.to_dict()
    return CoarseningResult(
        columns=columns,
        of_intervals=of_intervals,
        classes=classes,
        facts={name: facts[name] for name in _FACTS},
        picture=grouping.svg,
    )


def list_members(names: Iterable[str], values: Iterable[str]) -> dict[str, list[str]]:
    """List the values of each class; `names` has the name of the class of each value."""
    classes: dict[str, list[str]] = {}
    for name, value in zip(names, values, strict=True):
        classes.setdefault(name, []).append(value)
    return classes
