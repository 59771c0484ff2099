"""Suggest a coarsening for the values of a column: parts of dates, prefixes of codes, or bins of numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor, log10

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.validation import exact_fraction
from shoal.hierarchy.distinct_values import number_text
from shoal.hierarchy.numeric import roundest
from shoal.table.names import suggests_postal_code, words_of

NUMBER = r"^(?:0|-?[1-9][0-9]*|-?(?:0|[1-9][0-9]*)\.[0-9]+)$"
"""Pattern of numbers as programs write them."""
_BINS = 10
"""Approximate number of bins of a suggestion."""
_MANY_YEARS = 30
"""Years above which dates are banded: dates of birth, mostly."""
_OLDEST = 130
"""Largest plausible age."""
_FEW_ALONE = 0.05
"""Largest share of the records that may be alone in their bin if bins of one width are suggested for their values."""
_FEWEST = 5
"""Fewest rows that a step is intended to have."""
_POSTAL = r"^[0-9A-Za-z]{1,5}[ -]?[0-9A-Za-z]{2,5}$"
"""A postal code, also of Britain, Canada or the Netherlands."""
_AROUND = (0.7, 1.3)
"""Rows of a step, in parts of the intended ones, between which its end is the roundest number."""


@dataclass(frozen=True, kw_only=True)
class SuggestedCoarsening:
    """A suggested coarsening, in the notation of each interface."""

    words: str
    """Notation of the command line and of spec files, such as `bins:10`."""
    python: str
    """Notation of Python, such as `shoal.Bins(10)`."""
    alone: int = 0
    """Number of records that are alone in a step; 0 if records were not counted."""


def suggest_coarsening(values: pl.Series, name: str) -> SuggestedCoarsening | None:
    """Suggest a coarsening for the distinct values of a column, or None if none applies, as for names.

    Parameters
    ----------
    values : polars.Series
        Distinct values without the missing value; dates as dates.
    name : str
        Name of the column, which may indicate that numbers are postal codes or ages.

    Returns
    -------
    FittingCoarsening or None

    Examples
    --------
    >>> suggest_coarsening(pl.Series(range(18, 90)), "age").words
    'bins:10'
    >>> suggest_coarsening(pl.Series(["02139", "02140", "10115"]), "zip").python
    'shoal.Prefix(3)'
    """
    if values.dtype.is_temporal():  # durations and times of day have no years, and no coarsening
        return suggest_date_part(values)
    if len(values) < 2 or values.dtype == pl.Boolean:
        return None
    # Codes come before numbers, because postal codes look like numbers.
    if are_codes(values, name):
        return suggest_prefix(values)
    if values.dtype.is_numeric() or (values.dtype == pl.String and bool(values.str.contains(NUMBER).all())):
        return suggest_bins(values, name)
    return None


def are_codes(values: pl.Series, name: str, *, postal: bool = False) -> bool:
    """Test if values are codes, such as postal codes or digits with a leading zero.

    Parameters
    ----------
    values : polars.Series
        Distinct values.
    name : str
        Name of the column.
    postal : bool
        Whether numbers are known to be postal codes.
    """
    if values.dtype == pl.String:
        if postal and bool(values.str.contains(_POSTAL).all()):
            return True
        digits = bool(values.str.contains(r"^[0-9]{3,10}$").all())
        return digits and (suggests_postal_code(name) or bool(values.str.starts_with("0").any()))
    return values.dtype.is_integer() and (postal or suggests_postal_code(name))


def suggest_prefix(values: pl.Series) -> SuggestedCoarsening | None:
    """Suggest the shortest prefix of at least half of the characters that keeps several values.

    None if the codes have different lengths, unless they have letters, as British postal codes do, or if no such prefix
    exists.
    """
    codes = values.cast(pl.String)
    lengths = codes.str.len_chars().unique().sort()
    if len(lengths) > 1 and not codes.str.contains(r"\p{L}").any():
        return None
    # Shorter prefixes than half of a code are rarely useful.
    kept = range((lengths[0] + 1) // 2, lengths[0])
    fits = (one for one in kept if one and codes.str.head(one).n_unique() > 1)
    return next((SuggestedCoarsening(words=f"prefix:{one}", python=f"shoal.Prefix({one})") for one in fits), None)


def suggest_date_part(values: pl.Series) -> SuggestedCoarsening | None:
    """Suggest the coarsest part of dates that is not constant: the year, otherwise the month.

    Dates of many years, such as dates of birth, get bands of 5 years.
    """
    if values.dtype not in (pl.Date, pl.Datetime):
        return None
    # The coarsest part comes first.
    years = values.dt.year()
    if years.n_unique() > _MANY_YEARS:
        return SuggestedCoarsening(words="date:5years", python="shoal.DatePart('5years')")
    for part, kept in (("year", years), ("month", values.dt.month())):
        if kept.n_unique() > 1:
            return SuggestedCoarsening(words=f"date:{part}", python=f"shoal.DatePart({part!r})")
    return None


def suggest_bins(values: pl.Series, name: str) -> SuggestedCoarsening | None:
    """Suggest bins of a round width: ten years for ages, otherwise about a tenth of the range."""
    numbers = values.cast(pl.Float64, strict=False)
    low, high = numbers.min(), numbers.max()
    # Text may not be numeric after all, few values need no bins, and the range may be infinite.
    if (
        not isinstance(low, float)
        or not isinstance(high, float)
        or len(numbers) <= _BINS
        or not high - low < float("inf")
    ):
        return None
    # Ages in decades are familiar to readers.
    if {"age", "alter", "edad"} & set(words_of(name)) and high <= _OLDEST:
        width = 10.0
    else:
        width = round_width((high - low) / _BINS)
        if width <= 1 and bool((numbers == numbers.floor()).all()):  # each whole number would have a bin of its own
            return None
    return SuggestedCoarsening(words=f"bins:{width:.12g}", python=f"shoal.Bins({width:.12g})")


def suggest_steps(values: pl.Series, counts: NDArray[np.int64], name: str, *, l: int = 2) -> SuggestedCoarsening | None:
    """Suggest steps for a sensitive number so that l-diversity stays possible: none has over 1 / (2 l) of the records.

    Bins of one width are suggested if they hold that, otherwise round cuts between about a tenth of the records each.
    A value that more records share has a step of its own.

    Parameters
    ----------
    values : polars.Series
        Distinct numbers.
    counts : int64 array
        Number of records of each.
    name : str
        Name of the column.
    l : int
        The l of l-diversity.

    Examples
    --------
    >>> skewed = pl.Series([2 ** (at / 10) for at in range(200)])
    >>> suggest_steps(skewed, np.full(200, 5), "income").words
    'cuts:6,30,100,600,3000,10000,60000,300000'
    """
    bins = suggest_bins(values, name)
    if bins is None:
        return None
    numbers = values.cast(pl.Float64, strict=False).to_numpy()
    order = np.argsort(numbers)
    numbers, counts = numbers[order], counts[order]
    rows, heaviest = int(counts.sum()), int(counts.max())
    # Equal widths are familiar, but a few large numbers put nearly all others into one bin.
    most = max(rows / (2 * l), heaviest)
    places = np.floor(numbers / float(bins.words.partition(":")[2]))
    in_bins = np.bincount(np.unique(places, return_inverse=True)[1], weights=counts)
    bins = replace(bins, alone=int(np.count_nonzero(in_bins == 1)))
    if in_bins.max() <= most and bins.alone <= _FEW_ALONE * rows:
        return bins
    cuts = _round_cuts(numbers, np.cumsum(counts), rows / (2 * l))
    if not cuts:
        return bins
    in_steps = np.bincount(np.searchsorted([float(cut) for cut in cuts], numbers, side="right"), weights=counts)
    texts = [number_text(cut) for cut in cuts]
    return SuggestedCoarsening(
        words=f"cuts:{','.join(texts)}",
        python=f"shoal.Bins(cuts=[{', '.join(texts)}])",
        alone=int(np.count_nonzero(in_steps == 1)),
    )


def _round_cuts(numbers: NDArray[np.float64], until: NDArray[np.int64], most: float) -> list[Fraction]:
    """Cut ascending numbers into steps of about a tenth of the rows, at most `most` unless it is one number.

    `until` has the rows up to each number.
    """
    cuts: list[Fraction] = []
    rows, start, base = int(until[-1]), 0, 0
    least, usual = (part * min(max(rows / _BINS, _FEWEST), most) for part in _AROUND)
    while rows - base > min(usual, most):
        # The first number that may begin the next step, and the last that must.
        last = min(*np.searchsorted(until, [base + most, base + usual], side="right"), len(numbers) - 1)
        last = max(int(last), start + 1)
        first = min(max(int(np.searchsorted(until, base + least)), start), last - 1)
        if last >= len(numbers):
            break
        cuts.append(roundest(exact_fraction(numbers[first]), exact_fraction(numbers[last])))
        start = int(np.searchsorted(numbers, float(cuts[-1])))
        base = int(until[start - 1])
    return cuts


def round_width(least: float) -> float:
    """Round up to the next of 1, 2, 5, 10, 20, 50, ... (or a decimal fraction of these).

    Examples
    --------
    >>> round_width(7), round_width(0.3), round_width(200)
    (10.0, 0.5, 200.0)
    """
    # Largest power of ten up to the number.
    power = 10.0 ** floor(log10(least))
    return float(next(digit * power for digit in (1, 2, 5, 10) if digit * power >= least))
