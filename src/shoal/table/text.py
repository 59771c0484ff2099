"""Text representations of values, as used next to stars, intervals, sets and names of nodes."""

from __future__ import annotations

import polars as pl

from shoal.io.equal_values import unify

_NEEDS_QUOTES = r'[,"\[\]{}]|^[ \t\r\n]|[ \t\r\n]$'


def rank_text(text: pl.Series) -> pl.Series:
    """Rank each text among the distinct ones, from 1 on; a missing text has no rank.

    Examples
    --------
    >>> rank_text(pl.Series(["b", "a", None, "b"])).to_list()
    [2, 1, None, 2]
    """
    distinct = text.drop_nulls().unique()
    if len(distinct) > len(text) // 2:  # nearly all are different: they are sorted sooner
        return text.rank("dense").cast(pl.UInt32)
    return text.cast(pl.Enum(distinct.sort())).to_physical().cast(pl.UInt32) + 1


def dictionary_text(dictionary: pl.Series) -> pl.Series:
    """Format the values of a dictionary as distinct texts; a missing value stays null.

    Integers are formatted as "39", floats as in Python ("0.1", "1e-07"), decimals with all their digits ("1.50"),
    booleans as "True" and "False", dates, times and durations in ISO 8601 ("2020-01-31T12:00:00"), and categories by
    their label.

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
    # Strings of the ISO format keep fractions of a second.
    if dtype in (pl.Time, pl.Duration):
        return dictionary.dt.to_string("iso")
    return dictionary.cast(pl.String)


def spell_like(column: pl.Series, table: pl.Series) -> pl.Series:
    """Spell the values of a side table as the equal values of a table are; others are unchanged.

    Examples
    --------
    >>> spell_like(pl.Series(["01.02.2020", "31.12.2019"]), pl.Series(["2019-12-31"])).to_list()
    ['01.02.2020', '2019-12-31']
    """
    shown, text = (dictionary_text(one.unique().drop_nulls()) for one in (table, column))
    if shown.is_in(text.implode()).all():
        return column
    spelled, equal = unify(shown, text)
    words, exact = dict(zip(spelled, shown, strict=True)), set(shown)
    known = {value: words[one] for value, one in zip(text, equal, strict=True) if one in words and value not in exact}
    return dictionary_text(column).replace(known) if known else column


def _float_text(dictionary: pl.Series) -> pl.Series:
    """Format floats as Python does; Polars differs only for numbers that Python writes with an exponent."""
    exponential = (dictionary.abs() >= 1e16) | ((dictionary.abs() < 1e-4) & (dictionary != 0))
    text = dictionary.cast(pl.String)
    places = exponential.arg_true()
    if len(places) == 0:
        return text
    values = dictionary.gather(places).to_numpy()
    return text.scatter(places, [str(value) for value in values])


def quote_text(text: pl.Series) -> pl.Series:
    """Quote values that contain a comma, a quote, a bracket or a brace, or that start or end with a blank.

    Quoting makes sets and intervals parseable, and different ones distinct.

    Examples
    --------
    >>> quote_text(pl.Series(["flu", "flu, mild"])).to_list()
    ['flu', '"flu, mild"']
    """
    frame = text.alias("text").to_frame()
    escaped = pl.col("text").str.replace_all("\\", "\\\\", literal=True).str.replace_all('"', '\\"', literal=True)
    return frame.select(
        pl.when(pl.col("text").str.contains(_NEEDS_QUOTES)).then('"' + escaped + '"').otherwise(pl.col("text"))
    ).to_series()
