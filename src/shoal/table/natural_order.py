"""The natural order of text, which depends on the texts alone and reveals nothing about other values."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

LONGEST_NUMBER = 100
"""Longest text that is treated as a number. Longer digit strings are not measurements, and exact arithmetic on them
would be slow."""
NUMBER = r"(?:0|-?[1-9][0-9]*|-?(?:0|[1-9][0-9]*)\.[0-9]+)"
"""Pattern of a number in canonical notation, such as -12 or 0.50 but not 007 or +1."""

_END = rf"{NUMBER}(?:e[-+][0-9]{{2,3}})?"
"""Pattern of a number, or of a float in exponential notation."""
_SPAN = rf"^(?:\[({_END}), ({_END})([\])])|<(=?)({_END})|>=({_END})|({_END}))$"
"""Pattern of an interval between numbers, or of a number."""
_LIKE_A_NUMBER = r"^[-+]?[0-9][0-9.]*(?:[eE][-+]?[0-9]+)?$"
_PERIOD = r"^([0-9]{4})(?:-Q([1-4])|-([0-9]{2})(-[0-9]{2}(?:[T ].*)?)?)?$"
"""Pattern of a year, a quarter, a month, or a day with or without a time."""


def natural_order(texts: pl.Series) -> NDArray[np.intp]:
    """Sort distinct texts in their natural order, and return the sorting indices.

    Numbers and intervals between numbers (`[20, 30)`, `<18`, `>=65`) come first, sorted by their lower and then by
    their upper ends. Other text follows, sorted by code points. If some other text looks like a number in another
    notation (`007`, `+1`), all texts are sorted alphabetically, because codes with leading zeros are not numbers. Texts
    that are all years, quarters, months or days are sorted by time.

    Parameters
    ----------
    texts : polars.Series
        Distinct text or categories without missing values.

    Examples
    --------
    >>> import polars as pl
    >>> texts = pl.Series(["unknown", "[9, 12]", "10", "9"])
    >>> texts.gather(natural_order(texts)).to_list()
    ['9', '[9, 12]', '10', 'unknown']
    >>> texts = pl.Series(["10001", "02139"])
    >>> texts.gather(natural_order(texts)).to_list()
    ['02139', '10001']
    """
    texts = texts.cast(pl.String)  # categories have an order of their own
    # Ties within later sorts are broken alphabetically.
    alphabetical = texts.arg_sort().to_numpy().astype(np.intp)
    sorted_texts = texts.gather(alphabetical)
    if not sorted_texts.str.contains("[0-9]").any():  # no number, no period
        return alphabetical
    numeric = (sorted_texts.str.contains(_SPAN) & (sorted_texts.str.len_bytes() <= LONGEST_NUMBER)).to_numpy()
    if not numeric.all():
        # Other texts decide whether digits are numbers at all.
        others = sorted_texts.filter(pl.Series(~numeric))
        if sorted_texts.str.contains(_PERIOD).all():
            return alphabetical[_by_time(sorted_texts)]
        if others.str.contains(_LIKE_A_NUMBER).any() or not numeric.any():
            return alphabetical
    by_span = _by_span(sorted_texts.filter(pl.Series(numeric)))
    return np.concatenate((alphabetical[numeric][by_span], alphabetical[~numeric]))


def _by_span(texts: pl.Series) -> NDArray[np.intp]:
    """Sort numbers and intervals, given in alphabetical order, by their ends."""
    parts = texts.str.extract_groups(_SPAN).struct.unnest()
    from_low, from_high, bracket, equal, below, above, number = (parts.to_series(place) for place in range(7))
    # A number is an interval with equal ends.
    low = number.fill_null(from_low).fill_null(above)
    high = number.fill_null(from_high).fill_null(below)
    ends = pl.concat([low, high]).drop_nulls().unique().sort()
    ends = ends.gather(numeric_order(ends))
    rank = pl.DataFrame({"end": ends, "rank": np.arange(len(ends))})
    begins, finishes = (
        side.alias("end").to_frame().join(rank, on="end", how="left", maintain_order="left").get_column("rank")
        for side in (low, high)
    )
    # Among equal ends, an open upper end comes before a closed one.
    excluded = (bracket == ")").fill_null(value=False) | (below.is_not_null() & (equal == "").fill_null(value=True))
    return np.lexsort((~excluded.to_numpy(), finishes.fill_null(len(ends)).to_numpy(), begins.fill_null(-1).to_numpy()))


def _by_time(texts: pl.Series) -> NDArray[np.intp]:
    """Sort periods by their begin and end."""
    parts = texts.str.extract_groups(_PERIOD).struct.unnest()
    parts.columns = ["year", "quarter", "month", "rest"]
    quarter = pl.col("quarter").cast(pl.Int64)
    # First and last month of each period.
    first, last = (
        pl.coalesce("month", (quarter * 3 - back).cast(pl.String).str.zfill(2), pl.lit(other))
        for back, other in ((2, "01"), (0, "12"))
    )
    begin = pl.format("{}-{}{}", "year", first, pl.col("rest").fill_null("-01"))
    end = pl.format("{}-{}{}", "year", last, pl.col("rest").fill_null("-~"))  # behind every day of the month
    order = parts.select(begin=begin, end=end).select(pl.arg_sort_by("begin", "end", maintain_order=True))
    return order.to_series().to_numpy().astype(np.intp)


def numeric_order(values: pl.Series) -> NDArray[np.intp]:
    """Sort alphabetically ordered numeric text by number, then by text; return the sorting indices."""
    rounded = values.cast(pl.Float64, strict=False).to_numpy()
    order = np.argsort(rounded, kind="stable")
    ascending = rounded[order]
    # Rounding preserves the order except for ties, which exact numbers resolve.
    runs = np.flatnonzero(np.concatenate(([True], ascending[1:] != ascending[:-1], [True])))
    for start, end in pairwise(runs.tolist()):
        if end - start > 1:
            run = order[start:end]
            exact = [Decimal(text) for text in values.gather(run)]
            order[start:end] = run[sorted(range(len(run)), key=exact.__getitem__)]
    return order
