"""Values as text: how a value is written beside stars, intervals, sets and names of nodes."""

from __future__ import annotations

import polars as pl

__all__ = ["dictionary_text", "quoted"]

_NEEDS_QUOTES = r'[,"\[\]{}]|^[ \t\r\n]|[ \t\r\n]$'


def dictionary_text(dictionary: pl.Series) -> pl.Series:
    """Return the values of a dictionary as text; a missing value stays null, and different values differ as text.

    Integers read "39", floats as Python writes them ("0.1", "1e-07"), decimals with their digits ("1.50"), booleans
    "True" and "False", dates, times and durations as ISO 8601 ("2020-01-31T12:00:00"), categories as their label.

    Examples
    --------
    >>> dictionary_text(pl.Series([False, True, None])).to_list()
    ['False', 'True', None]
    """
    dtype = dictionary.dtype
    if dtype == pl.Boolean:
        return dictionary.replace_strict([False, True], ["False", "True"], default=None, return_dtype=pl.String)
    if dtype in (pl.Float32, pl.Float64):
        return _float_text(dictionary)
    if isinstance(dtype, pl.Datetime):
        return dictionary.dt.to_string("%Y-%m-%dT%H:%M:%S%.f" + ("" if dtype.time_zone is None else "%:z"))
    if dtype in (pl.Time, pl.Duration):
        return dictionary.dt.to_string("iso")
    return dictionary.cast(pl.String)


def _float_text(dictionary: pl.Series) -> pl.Series:
    """Write floats as Python does; Polars writes differently only those that Python gives an exponent."""
    exponential = (dictionary.abs() >= 1e16) | ((dictionary.abs() < 1e-4) & (dictionary != 0))
    text = dictionary.cast(pl.String)
    places = exponential.arg_true()
    if len(places) == 0:
        return text
    values = dictionary.gather(places).to_numpy()
    return text.scatter(places, [str(value) for value in values])


def quoted(text: pl.Series) -> pl.Series:
    """Put values in double quotes that hold a comma, a quote, a bracket or a brace, or start or end with a blank.

    So sets and intervals can be read back, and different ones never read the same.

    Examples
    --------
    >>> quoted(pl.Series(["flu", "flu, mild"])).to_list()
    ['flu', '"flu, mild"']
    """
    frame = text.alias("text").to_frame()
    escaped = pl.col("text").str.replace_all("\\", "\\\\", literal=True).str.replace_all('"', '\\"', literal=True)
    return frame.select(
        pl.when(pl.col("text").str.contains(_NEEDS_QUOTES)).then('"' + escaped + '"').otherwise(pl.col("text"))
    ).to_series()
