"""What coarsenings by classes share: counting the values of a column, and writing the classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import DataError
from shoal.grouping.base import SUPPRESSED
from shoal.hierarchy import CoarseningResult
from shoal.hierarchy.distinct_values import encode_values
from shoal.recoding.star_symbol import quote_text
from shoal.table.natural_order import NUMBER, numeric_order

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal.grouping.base import Grouping
    from shoal.table import Column

__all__ = [
    "check_told_apart",
    "class_names",
    "coarsened",
    "counted_values",
    "encoded_values",
    "interval_texts",
    "members_of",
    "order_of_members",
]

_FACTS = ("classes", "largest", "smallest", "lower_bound", "optimal", "overfull_ratio", "guarantee")
"""What a certificate tells of the grouping of a column."""
_LONGEST_NAME = 256
"""A class of more values has a number for a name."""


def encoded_values(owner: str, series: pl.Series) -> Column:
    """Encode a column.

    Raises
    ------
    DataError
        It has no value.
    """
    column = encode_values(series)
    if column is None:
        raise DataError(f"{owner} needs a column with a value: this one has none.")
    return column


def counted_values(owner: str, series: pl.Series) -> tuple[Column, NDArray[np.int64]]:
    """Encode a column, and count its values without the missing one."""
    column = encoded_values(owner, series)
    counts = np.bincount(column.codes, minlength=column.size).astype(np.int64)
    return column, counts[:-1] if column.has_missing else counts


def interval_texts(low: pl.Series, high: pl.Series) -> pl.Series:
    """Write intervals; a single value stays as it is."""
    import polars as pl

    frame = pl.DataFrame({"low": quote_text(low), "high": quote_text(high), "plain": low})
    alone = pl.col("low") == pl.col("high")
    return frame.select(
        pl.when(alone).then(pl.col("plain")).otherwise(pl.format("[{}, {}]", "low", "high"))
    ).to_series()


def class_names(
    classes: NDArray[np.int32],
    text: pl.Series,
    *,
    word: str,
    numbered: bool,
    left_out: str = "",
    order: NDArray[np.int64] | None = None,
) -> pl.Series:
    """Return what is published for each value of a column, by the class that it is in.

    Parameters
    ----------
    classes : array of int32
        The class of each value, -1 for those in none.
    text : Series
        The values as text.
    word : str
        What a class is called where its number is its name: `class 1`.
    numbered : bool
        Whether that is so of all classes, or only of those of more values than a name lists.
    left_out : str
        What values in no class are called.
    order : array of int64, optional
        Where each value stands in the sets of values that all have a place; -1 for none (`order_of_members`).
    """
    import polars as pl

    members: dict[int, list[int]] = {}
    for value, number in enumerate(classes.tolist()):
        members.setdefault(number, []).append(value)
    plain, in_sets = text.to_list(), quote_text(text).to_list()
    named = {SUPPRESSED: left_out}
    for number, values in members.items():
        if number == SUPPRESSED:
            continue
        if numbered or len(values) > _LONGEST_NAME:
            named[number] = f"{word} {number + 1}"
        elif len(values) == 1:
            named[number] = plain[values[0]]
        else:
            if order is not None and (order[values] >= 0).all():
                values.sort(key=order.__getitem__)
            named[number] = "{" + ", ".join(in_sets[value] for value in values) + "}"
    return pl.Series([named[number] for number in classes.tolist()], dtype=pl.String)


def order_of_members(column: Column, text: pl.Series) -> NDArray[np.int64] | None:
    """Return where numbers stand in sets of numbers, -1 for other text; None where values are in their order anyway.

    The values of a column of text are alphabetical where one of them is no number. A set that holds numbers only is in
    their order all the same: it must not tell what values of other sets are.
    """
    import polars as pl

    if column.ordered or column.dictionary.dtype != pl.String:
        return None
    numbers = text.str.contains(f"^{NUMBER}$").arg_true()
    order = np.full(len(text), -1, dtype=np.int64)
    order[numbers.to_numpy()[numeric_order(text.gather(numbers))]] = np.arange(len(numbers))
    return order


def check_told_apart(published: pl.Series, text: pl.Series, alone: pl.Series | None = None) -> None:
    """Check that nothing that is published for a class reads like another value of the column."""
    made = published.filter(~alone) if alone is not None else published.filter(published != text)
    if made.is_in(text.implode()).any():
        raise DataError("It has a value that reads like one of the classes it would get. Rewrite that value.")


def coarsened(
    grouping: Grouping,
    columns: tuple[pl.Series, ...],
    *,
    of_intervals: bool = False,
    classes: Mapping[str, Sequence[str]] | None = None,
) -> CoarseningResult:
    """Return coarser columns with what a certificate tells of the grouping, and its picture; see `CoarseningResult`."""
    facts = grouping.to_dict()
    return CoarseningResult(
        columns=columns,
        of_intervals=of_intervals,
        classes=classes,
        facts={name: facts[name] for name in _FACTS},
        picture=grouping.svg,
    )


def members_of(names: Iterable[str], values: Iterable[str]) -> dict[str, list[str]]:
    """Return the values that each name of a class stands for; `names` has the name of each value's class."""
    classes: dict[str, list[str]] = {}
    for name, value in zip(names, values, strict=True):
        classes.setdefault(name, []).append(value)
    return classes
