"""A release and its original: conversion for computation, utility of predictions, and records side by side."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from shoal._core.validation import Integer, validate
from shoal.errors import ColumnError, ParameterError, near_matches
from shoal.release.analysis.cell_bounds import Computable, bounds_of, midpoints_of
from shoal.release.analysis.prediction_utility import Utility, Views, utility_of
from shoal.release.verified_table import VerifiedTable
from shoal.table import dictionary_text


def computable(release: VerifiedTable, make: Callable[..., Computable]) -> Any:
    """Convert the published table for computation, and return it as the same kind of table as the input.

    Parameters
    ----------
    release : VerifiedTable
    make : callable
        `bounds_of` or `midpoints_of`.
    """
    made = _read(release, make)
    ordered = {name: one.ordered for name, one in made.categories.items()}
    # Recoded columns of text that are not categories go back to text.
    text = [name for name in release.text_columns if name in made.frame.columns and name not in ordered]
    text = [name for name in text if made.frame.schema[name] == pl.Enum]
    made = replace(made, frame=made.frame.with_columns(pl.col(text).cast(pl.String)))
    # Pandas and Arrow have categories of their own.
    restore: Any = release.restore
    with_categories = restore.with_categories(made.frame, ordered)
    if with_categories is not restore:
        return with_categories(made.frame)
    # Polars, or a library without categories.
    unordered = [pl.col(name).cast(pl.String).cast(pl.Categorical) for name, ranked in ordered.items() if not ranked]
    return release.store.hand_on(made.frame.with_columns(unordered), restore)


def measure_utility(
    release: VerifiedTable, target: str, model: Any, *, folds: int, scoring: str | None, seed: int | None
) -> Utility:
    """Measure the loss of prediction quality; see `Release.utility`."""
    if target not in release.schema.published:
        raise ColumnError(f"The release has no column '{target}'. {near_matches(target, release.schema.published)}")
    # Scores compare the original and the published values of each row, which needs row numbers.
    table = release.store.rows_of(release.metrics.table)
    rows, table_rows = release.rows, release.store.table_rows
    if table is None or len(table_rows) != release.store.height:
        raise ParameterError(
            "The utility is measured of a release that was made in memory. Make one of a sample of the table, with "
            "engine='memory'."
        )
    # Align the original rows with the published ones.
    places = np.argsort(table_rows)[np.searchsorted(np.sort(table_rows), rows)]
    columns = [one.dictionary.gather(one.codes).alias(one.name) for one in (*table.quasi_identifiers, *table.sensitive)]
    original = pl.DataFrame([*columns, *table.insensitive.get_columns()])
    # Columns that were coarsened are compared with their original values.
    if release.metrics.finer is not None:
        original = original.with_columns(release.metrics.finer.get_columns())
    original = original[places]
    bounds, middles = (_read(release, make).frame for make in (bounds_of, midpoints_of))
    views = Views(original=original, bounds=bounds, middles=middles)
    return utility_of(views, target, model, folds=folds, scoring=scoring, seed=seed)


def _read(release: VerifiedTable, make: Callable[..., Computable]) -> Computable:
    """Convert the published rows for computation."""
    # Columns parsed from text count as text, because whether all of it was parsed depends on unpublished cells.
    known = release.metrics.table.quasi_identifiers
    types = {one.name: pl.String() if one.name in release.forms else one.dictionary.dtype for one in known}
    shown = release.frame.with_columns(release.published.get_column(name) for name in release.forms if name in types)
    return make(shown, release.public_certificate.to_dict(), types)


@dataclass(frozen=True, kw_only=True, repr=False)
class RowPairs:
    """Some records before and after; private, because they are records of the original table."""

    numbers: tuple[int, ...]
    """The row number of each record in the original table, from 0."""
    before: pl.DataFrame
    """The cells of the original table as text, with the columns of the release; null in columns that it lacks."""
    after: pl.DataFrame
    """The published cells of the same records as text."""

    def __repr__(self) -> str:
        return f"RowPairs({len(self.numbers)} records)"


def select_row_pairs(release: VerifiedTable, count: int, *, seed: int = 0) -> RowPairs:
    """Select published records at random, with their originals; see `Release.side_by_side`."""
    validate("side_by_side", {"count": count, "seed": seed}, {"count": Integer(low=1), "seed": Integer(low=0)})
    # Engines that read in pieces know distinct rows only.
    original = release.store.original
    if original is None:
        raise ParameterError(
            "Records are shown with their originals if the table was in memory. Make a release of a part of the "
            "table, with engine='memory'."
        )
    # The same records at each call, so that releases can be compared.
    published = release.published
    places = random.Random(seed).sample(range(published.height), min(count, published.height))
    numbers = tuple(int(release.rows[place]) for place in places)
    raw = original[list(numbers)]
    empty = pl.repeat(None, len(numbers), dtype=pl.String, eager=True)
    before = [dictionary_text(raw[name]) if name in raw.columns else empty.alias(name) for name in published.columns]
    after = [dictionary_text(column) for column in published[places]]
    return RowPairs(numbers=numbers, before=pl.DataFrame(before), after=pl.DataFrame(after))
