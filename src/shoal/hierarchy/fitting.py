"""Which coarsening fits the values of a column: parts of dates, prefixes of codes, bins of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, log10

import polars as pl

from shoal.table.names import means_postal_code, words_of

__all__ = [
    "NUMBER",
    "FittingCoarsening",
    "are_codes",
    "fitting_bins",
    "fitting_coarsening",
    "fitting_part",
    "fitting_prefix",
    "round_width",
]

NUMBER = r"^(?:0|-?[1-9][0-9]*|-?(?:0|[1-9][0-9]*)\.[0-9]+)$"
"""Text that is a number as programs write it."""
_BINS = 10
"""Bins that a proposal divides the range of a column into, about."""
_OLDEST = 130
"""Ages are not above this."""


@dataclass(frozen=True, kw_only=True)
class FittingCoarsening:
    """A coarsening in the words of those who ask for it."""

    words: str
    """As the command line and spec files say it: `bins:10`."""
    python: str
    """As Python does: `shoal.Bins(10)`."""


def fitting_coarsening(values: pl.Series, name: str) -> FittingCoarsening | None:
    """Return a coarsening that fits the distinct values of a column; None where none does, as for names.

    Parameters
    ----------
    values : polars.Series
        The distinct values, none of them missing; dates as dates.
    name : str
        The name of the column, which may say that numbers are postal codes, or ages.

    Examples
    --------
    >>> fitting_coarsening(pl.Series(range(18, 90)), "age").words
    'bins:10'
    >>> fitting_coarsening(pl.Series(["02139", "02140", "10115"]), "zip").python
    'shoal.Prefix(3)'
    """
    if values.dtype.is_temporal():
        return fitting_part(values)
    if len(values) < 2 or values.dtype == pl.Boolean:
        return None
    if are_codes(values, name):
        return fitting_prefix(values)
    if values.dtype.is_numeric() or (values.dtype == pl.String and bool(values.str.contains(NUMBER).all())):
        return fitting_bins(values, name)
    return None


def are_codes(values: pl.Series, name: str, *, postal: bool = False) -> bool:
    """Return whether values are codes of places or the like: postal codes, or digits that start with a zero.

    Parameters
    ----------
    values : polars.Series
        The distinct values.
    name : str
        The name of the column.
    postal : bool
        Whether it is known that they are postal codes, if they are numbers.
    """
    if values.dtype == pl.String:
        digits = bool(values.str.contains(r"^[0-9]{3,10}$").all())
        return digits and (means_postal_code(name) or bool(values.str.starts_with("0").any()))
    return values.dtype.is_integer() and (postal or means_postal_code(name))


def fitting_prefix(values: pl.Series) -> FittingCoarsening | None:
    """Return the shortest prefix, of half of the characters or more, that leaves several values; all equally long."""
    codes = values.cast(pl.String)
    lengths = codes.str.len_chars()
    if lengths.n_unique() > 1:
        return None
    kept = range((lengths[0] + 1) // 2, lengths[0])
    fits = (one for one in kept if one and codes.str.head(one).n_unique() > 1)
    return next((FittingCoarsening(words=f"prefix:{one}", python=f"shoal.Prefix({one})") for one in fits), None)


def fitting_part(values: pl.Series) -> FittingCoarsening | None:
    """Return the part of dates that still differs: the year, else the month."""
    if not values.dtype.is_temporal():
        return None
    for part, kept in (("year", values.dt.year()), ("month", values.dt.month())):
        if kept.n_unique() > 1:
            return FittingCoarsening(words=f"date:{part}", python=f"shoal.DatePart({part!r})")
    return None


def fitting_bins(values: pl.Series, name: str) -> FittingCoarsening | None:
    """Return bins of a round width: ten years of ages, else about a tenth of the range."""
    numbers = values.cast(pl.Float64, strict=False)
    low, high = numbers.min(), numbers.max()
    if (
        not isinstance(low, float)
        or not isinstance(high, float)
        or len(numbers) <= _BINS
        or not high - low < float("inf")
    ):
        return None
    if {"age", "alter", "edad"} & set(words_of(name)) and high <= _OLDEST:
        width = 10.0
    else:
        width = round_width((high - low) / _BINS)
    return FittingCoarsening(words=f"bins:{width:.12g}", python=f"shoal.Bins({width:.12g})")


def round_width(least: float) -> float:
    """Return the smallest of 1, 2, 5, 10, 20, 50, ... (and of a tenth of them, ...) that is not below a number above 0.

    Examples
    --------
    >>> round_width(7), round_width(0.3), round_width(200)
    (10.0, 0.5, 200.0)
    """
    power = 10.0 ** floor(log10(least))
    return float(next(digit * power for digit in (1, 2, 5, 10) if digit * power >= least))
