"""Replacement of values before anything else: spellings that are merged, and codes that mean missing."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from shoal._core.words import ALL_COLUMNS
from shoal.errors import ColumnError, DataError, ParameterError, near_matches

_TEXT = (pl.String, pl.Categorical, pl.Enum)


def replace_values(frame: pl.LazyFrame, given: Mapping[str, Mapping[str, str | None]]) -> pl.LazyFrame:
    """Replace values of columns, by their text.

    Parameters
    ----------
    frame : polars.LazyFrame
        The table.
    given : mapping of column to mapping of str to str or None
        The new value of each old one; None makes it missing. Numbers are compared as numbers, dates as
        ISO 8601 or as 31.12.1999; truth values, times and lists are not replaced.

    Raises
    ------
    ColumnError
        If there is no such column.
    DataError
        If a new value is not of the type of its column.
    """
    # The names are checked before any column is changed.
    schema = frame.collect_schema()
    _check(given, schema.names())
    # Columns are addressed by number, because Polars treats the name "*" as a wildcard.
    columns = []
    for place, (name, kind) in enumerate(schema.items()):
        new = {**given.get(ALL_COLUMNS, {}), **given.get(name, {})}
        columns.append(_replace(name, pl.nth(place), kind, new) if new else pl.nth(place))
    return frame.select(columns)


def _check(given: object, names: list[str]) -> None:
    well_formed = isinstance(given, Mapping) and all(
        isinstance(one, Mapping)
        and all(isinstance(old, str) and isinstance(new, str | None) for old, new in one.items())
        for one in given.values()
    )
    if not isinstance(given, Mapping) or not well_formed:
        raise ParameterError.refusing(
            "anonymize",
            "replace_values",
            "a mapping of column to a mapping of old values to new ones, all of them text",
        )
    for name in given:
        if name not in (*names, ALL_COLUMNS):
            raise ColumnError(
                f"There is no column '{name}' whose values could be replaced. {near_matches(name, names)}"
            )


def _replace(name: str, column: pl.Expr, kind: pl.DataType, given: Mapping[str, str | None]) -> pl.Expr:
    """Replace values of one column, which keeps its type; an Enum becomes text."""
    if kind in _TEXT:
        text = column.cast(pl.String).replace([*given], [*given.values()])
        return text.cast(kind) if kind == pl.Categorical else text
    if not kind.is_numeric() and kind not in (pl.Date, pl.Datetime):
        return column
    # Old values that the column cannot hold do not occur in it.
    old = _typed(pl.Series([*given], dtype=pl.String), kind)
    new = pl.Series([*given.values()], dtype=pl.String).filter(old.is_not_null())
    fitting, typed = old.drop_nulls(), _typed(new, kind)
    if typed.null_count() > new.null_count():
        raise DataError(f"The column '{name}' holds {kind}: a new value of its values must be one, or missing.")
    return column.replace(fitting, typed) if len(fitting) else column


def _typed(texts: pl.Series, kind: pl.DataType) -> pl.Series:
    """Convert texts to the type of a column; what cannot be converted is null."""
    if kind.is_numeric():
        return texts.cast(kind, strict=False)
    iso, dotted = (texts.str.to_date(form, strict=False) for form in ("%Y-%m-%d", "%d.%m.%Y"))
    return iso.fill_null(dotted).cast(kind)


def count_replaced(frame: pl.DataFrame, given: Mapping[str, Mapping[str, str | None]]) -> dict[str, dict[str, int]]:
    """Count the cells that each replacement changes, by column and old value, before any is made."""
    counts: dict[str, dict[str, int]] = {}
    for name, values in given.items():
        columns = frame if name == ALL_COLUMNS else frame.select(pl.nth(frame.get_column_index(name)))
        missing = columns.null_count().sum_horizontal().item()
        counts[name] = {}
        for old in values:
            without = replace_values(columns.lazy(), {ALL_COLUMNS: {old: None}}).collect()
            counts[name][old] = int(without.null_count().sum_horizontal().item() - missing)
    return counts
