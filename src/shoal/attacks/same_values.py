"""Values of a release and of people that say the same in different forms: `1.50` and `1,5`, `31.12.2025` and a date."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from shoal.io.date_formats import date_formats
from shoal.io.number_forms import number_forms
from shoal.verification.cell_syntax import cell_text
from shoal.verification.scales import moment_of, number_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import polars as pl

    from shoal.verification.published_columns import ReadColumn, ReadTable

__all__ = ["alike", "in_form_of"]


def alike(shown: pl.Series, true: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Spell two columns in one form, in which equal values have equal texts.

    Parameters
    ----------
    shown, true : polars.Series
        A column of a release, and the same column of people.

    Returns
    -------
    tuple of two polars.Series
        Both columns as numbers or as dates, if both can be read so; of several readings (01/02/1980) the one in which
        most values of the people are shown. Their texts if no reading fits both.
    """
    first, second = cell_text(shown), cell_text(true)
    pairs = [(first, second)]
    for read in (_as_numbers, _as_dates):
        pairs += product(read(first), read(second))

    def matches(pair: tuple[pl.Series, pl.Series]) -> int:
        return int(pair[1].is_in(pair[0].unique().implode()).sum())

    return max(pairs, key=matches)


def in_form_of(understood: ReadTable, people: pl.DataFrame) -> pl.DataFrame:
    """Return people with the quasi-identifiers in the form of a release: the same dates and numbers, spelled as there.

    Parameters
    ----------
    understood : ReadTable
        The quasi-identifiers of the release.
    people : polars.DataFrame
        With the same columns. Those that are in the same form already, or in no form that is known, stay as they are.
    """
    return people.with_columns(_in_form_of(column, people[name]) for name, column in understood.columns.items())


def _in_form_of(column: ReadColumn, given: pl.Series) -> pl.Series:
    import polars as pl

    if column.is_plain:
        shown = pl.Series([label for label in column.labels if label not in (None, column.star)], dtype=pl.String)
        text = cell_text(given)
        if not len(shown) or text.drop_nulls().is_in(shown.implode()).all():
            return given
        spelled, true = alike(shown, given)
        words = dict(zip(spelled.to_list(), shown.to_list(), strict=True))
        same = true.replace_strict(words, default=None, return_dtype=pl.String)
        return given if same.null_count() == len(same) else same.fill_null(text).alias(given.name)
    if given.dtype != pl.String or not given.drop_nulls().len():
        return given
    distinct = given.drop_nulls().unique()
    if column.scale == "date" and any(moment_of(value) is None for value in distinct.to_list()):
        dates = date_formats(distinct)
        read = [values for _, values in dates] if len(dates) == 1 else []  # of two readings none is guessed
    elif column.scale == "number" and any(number_of(value) is None for value in distinct.to_list()):
        read = [form.read(distinct) for form in number_forms([distinct])[0].values()]
    else:
        return given
    return given.replace_strict(distinct, read[0], default=None) if read else given


def _as_numbers(text: pl.Series) -> list[pl.Series]:
    """Return the readings of a column as numbers, as exact fractions."""
    distinct = text.drop_nulls().unique()
    forms = [distinct]
    for decimal in (".", ","):
        forms += [form.read(distinct) for form in number_forms([distinct], decimal=decimal)[0].values()]
    return _spelled(text, distinct, forms, number_of)


def _as_dates(text: pl.Series) -> list[pl.Series]:
    """Return the readings of a column as dates or times, as nanoseconds from 1970 on."""
    distinct = text.drop_nulls().unique()
    if not len(distinct):
        return []
    forms = [distinct, *(values.dt.to_string("iso") for _, values in date_formats(distinct))]
    return _spelled(text, distinct, forms, moment_of)


def _spelled(
    text: pl.Series, distinct: pl.Series, forms: list[pl.Series], read: Callable[[str], object | None]
) -> list[pl.Series]:
    """Return a column in each form of its distinct values that can be read."""
    import polars as pl

    found: list[pl.Series] = []
    for form in forms:
        read_values = [None if value is None else read(value) for value in form.to_list()]
        if read_values and None not in read_values:
            words: Mapping[str, str] = dict(zip(distinct.to_list(), map(str, read_values), strict=True))
            found.append(text.replace_strict(words, default=None, return_dtype=pl.String))
    return found
