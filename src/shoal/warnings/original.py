"""Warnings about the table that a release is made of: for the publisher alone."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping

import polars as pl

from shoal._messages import Part, Phrase, Suggestion
from shoal._words import number
from shoal.disclosure_risk import detect_identifiers
from shoal.hierarchy.fitting import fitting_coarsening
from shoal.warnings.catalogue import Remark

__all__ = ["how_to_coarsen", "is_one_each", "original_warnings", "repeated_person", "repeated_rows"]

_ONE_EACH = frozenset(("unique number", "medical record", "social security", "health plan", "email", "account"))
"""What people have one of each, as `detect_identifiers` calls it."""

_LOOKED_AT = 20_000
"""Rows that say what a column looks like."""


def repeated_rows(column: pl.Series) -> int:
    """Return how many rows have a value that an earlier one has."""
    present = column.drop_nulls()
    return len(present) - present.n_unique()


def original_warnings(
    columns: Mapping[str, pl.Series],
    unread: Mapping[str, Phrase],
    repeated: Callable[[pl.Series], int] = repeated_rows,
) -> Iterator[Remark]:
    """Yield the warnings that depend on what is not published.

    Parameters
    ----------
    columns : mapping of str to series
        The direct identifiers and the insensitive columns, in the rows that are published.
    unread : mapping of column to sentence
        Columns that look like dates and were not read, and why not.
    repeated : callable, optional
        Counts the rows of a column that have a value of an earlier one.
    """
    for name, sentence in unread.items():
        yield Remark(code="unread_dates", column=name, found=sentence)
    for name, column in columns.items():
        if _is_one_each(name, column):
            yield from repeated_person(name, repeated(column))


def repeated_person(name: str, rows: int) -> Iterator[Remark]:
    """Yield the warning about a column that looks like what every person has one of, where values of it repeat."""
    if rows:
        yield Remark(
            code="repeated_person",
            column=name,
            found=f"The column '{name}' looks like what every person has one of, but {number(rows)} record(s) repeat "
            "one: groups count records, and several of one person hide nobody.",
            advice="Make it one record per person first.",
        )


def is_one_each(kind: str | None) -> bool:
    """Return whether people have one of each of a kind of identifier, as `detect_identifiers` calls it."""
    return kind in _ONE_EACH


def _is_one_each(name: str, column: pl.Series) -> bool:
    try:
        values = column.head(_LOOKED_AT).drop_nulls().unique().alias(name.strip("^$"))  # Polars takes it for a pattern
        return any(is_one_each(found.kind) for found in detect_identifiers(pl.DataFrame([values])))
    except pl.exceptions.PolarsError:  # values that cannot be compared
        return False


def how_to_coarsen(values: pl.Series, name: str, *, recoding: str) -> Part:
    """Return how to make a column coarser: what fits its values, or a hierarchy.

    Parameters
    ----------
    values : polars.Series
        Its distinct values, none of them missing.
    name : str
        Its name.
    recoding : str
        How the release was recoded: hierarchies need generalization.
    """
    fits = fitting_coarsening(values, name)
    if fits is not None:
        return Suggestion("coarsen", shlex.quote(f"{name}={fits.words}"), python=f"coarsen={{{name!r}: {fits.python}}}")
    tree = Suggestion("hierarchies", f"{shlex.quote(name)}=FILE", python=f"hierarchies={{{name!r}: 'FILE'}}")
    return tree if recoding == "generalization" else Phrase(tree, " with ", Suggestion("recoding", "generalization"))
