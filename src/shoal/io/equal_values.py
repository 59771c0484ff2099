"""Match the values of two columns that are written differently: `31.12.2019` and `2019-12-31`, `1.000` and `1000`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import product

import polars as pl

from shoal.io.date_formats import date_formats
from shoal.io.forms import looks_like_dates
from shoal.io.number_forms import readings_of

Reader = Callable[[pl.Series], list[pl.Series]]
"""Reads a column of text in every way that reads all of it."""


def unify(first: pl.Series, second: pl.Series, readers: Sequence[Reader] | None = None) -> tuple[pl.Series, pl.Series]:
    """Convert two columns of text to one notation, in which equal dates and equal numbers have equal texts.

    Parameters
    ----------
    first, second : polars.Series
        Columns of text.
    readers : sequence of Reader, optional
        How to read them; by default as canonical numbers, and as dates.

    Returns
    -------
    tuple of two polars.Series
        Both columns as dates or as numbers, in text. Of several ways to read them (`01/02/1980`, `1.000`) the one in
        which most values of the second column occur in the first. Unchanged columns if no way finds more.

    Examples
    --------
    >>> tree, column = pl.Series(["1000", "2500.50"]), pl.Series(["2.500,5", "1.000"])
    >>> [one.to_list() for one in unify(tree, column)]
    [['1000', '2500.5'], ['2500.5', '1000']]
    """
    pairs = [(first, second)]
    for read in readers or (_as_numbers, _as_dates):
        pairs += product(read(first), read(second))
    return max(pairs, key=lambda pair: pair[1].drop_nulls().is_in(pair[0].unique().implode()).sum())


def _as_numbers(text: pl.Series) -> list[pl.Series]:
    distinct = text.drop_nulls().unique()
    return [
        text.replace_strict(
            distinct, [f"{Decimal(number).normalize():f}" for number in read], default=None, return_dtype=pl.String
        )
        for read in readings_of(distinct)
    ]


def _as_dates(text: pl.Series) -> list[pl.Series]:
    distinct = text.drop_nulls().unique()
    if not looks_like_dates(distinct):
        return []
    return [
        text.replace_strict(distinct, values.cast(pl.Datetime("us")).cast(pl.String), default=None)
        for _, values in date_formats(distinct)
    ]
