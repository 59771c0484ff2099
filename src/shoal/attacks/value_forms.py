"""Forms of equal values in a release and in a table of people, such as `1.50` and `1,5`, or `31.12.2025` and a date."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl

from shoal.io.date_formats import date_formats
from shoal.io.equal_values import unify
from shoal.io.number_forms import number_forms
from shoal.verification.cell_syntax import cell_text
from shoal.verification.published_columns import ReadColumn, ReadTable
from shoal.verification.scales import moment_of, number_of


def unify_forms(shown: pl.Series, true: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Convert two columns to one form, in which equal values have equal texts.

    Parameters
    ----------
    shown, true : polars.Series
        A column of a release, and the same column of people.

    Returns
    -------
    tuple of two polars.Series
        Both columns as numbers or as dates, if both can be parsed so. If there are several ways to parse them (such as
        01/02/1980), the way that matches most values of the people. Their texts if none fits both.
    """
    return unify(cell_text(shown), cell_text(true), (_read_as_numbers, _read_as_dates))


def convert_to_form(understood: ReadTable, people: pl.DataFrame) -> pl.DataFrame:
    """Convert the quasi-identifiers of people to the form of a release: the same spelling of dates and numbers.

    Parameters
    ----------
    understood : ReadTable
        The quasi-identifiers of the release.
    people : polars.DataFrame
        A table with the same columns. A column that has the same form already, or an unknown form, is not changed.
    """
    return people.with_columns(_convert_column(column, people[name]) for name, column in understood.columns.items())


def _convert_column(column: ReadColumn, given: pl.Series) -> pl.Series:
    """Convert one column of people."""
    # Plain values take the spelling of the equal value in the release.
    if column.is_plain:
        shown = pl.Series([label for label in column.labels if label not in (None, column.star)], dtype=pl.String)
        text = cell_text(given)
        if not len(shown) or text.drop_nulls().is_in(shown.implode()).all():
            return given
        # Map each equal value to its spelling in the release; keep the others as they are.
        spelled, true = unify_forms(shown, given)
        words = dict(zip(spelled.to_list(), shown.to_list(), strict=True))
        same = true.replace_strict(words, default=None, return_dtype=pl.String)
        return given if same.null_count() == len(same) else same.fill_null(text).alias(given.name)
    if given.dtype != pl.String or not given.drop_nulls().len():
        return given
    # Texts in a column with intervals are parsed as dates or numbers, if there is only one way.
    distinct = given.drop_nulls().unique()
    if column.scale == "date" and any(moment_of(value) is None for value in distinct.to_list()):
        dates = date_formats(distinct)
        read = [values for _, values in dates] if len(dates) == 1 else []  # of two readings none is guessed
    elif column.scale == "number" and any(number_of(value) is None for value in distinct.to_list()):
        read = [form.read(distinct) for form in number_forms([distinct])[0].values()]
    else:
        return given
    return given.replace_strict(distinct, read[0], default=None) if read else given


def _read_as_numbers(text: pl.Series) -> list[pl.Series]:
    """Parse a column as numbers, in each possible form, as exact fractions."""
    distinct = text.drop_nulls().unique()
    forms = [distinct]
    for decimal in (".", ","):
        forms += [form.read(distinct) for form in number_forms([distinct], decimal=decimal)[0].values()]
    return _convert_forms(text, distinct, forms, number_of)


def _read_as_dates(text: pl.Series) -> list[pl.Series]:
    """Parse a column as dates or times, in each possible format, as nanoseconds since 1970."""
    distinct = text.drop_nulls().unique()
    if not len(distinct):
        return []
    forms = [distinct, *(values.dt.to_string("iso") for _, values in date_formats(distinct))]
    return _convert_forms(text, distinct, forms, moment_of)


def _convert_forms(
    text: pl.Series, distinct: pl.Series, forms: list[pl.Series], read: Callable[[str], object | None]
) -> list[pl.Series]:
    """Convert a column to each form of its distinct values that can be parsed."""
    found: list[pl.Series] = []
    for form in forms:
        read_values = [None if value is None else read(value) for value in form.to_list()]
        # A form counts only if it fits every value.
        if read_values and None not in read_values:
            words: Mapping[str, str] = dict(zip(distinct.to_list(), map(str, read_values), strict=True))
            found.append(text.replace_strict(words, default=None, return_dtype=pl.String))
    return found
