"""The columns of a release for statistics: expected values and memberships of its cells, from cells with counts.

A published cell stands for each of its values with the same probability, independently of the other cells of its
record; a star stands for each value of the column. This is an assumption of an analyst, not a fact about the records.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.metrics import Metrics
from shoal.recoding import RecodedColumn
from shoal.table import Column, Schema, encode

Floats = NDArray[np.float64]


MAX_BINS = 20
"""Largest number of categories of a column; ordered values are divided at quantiles, rare values share a category."""
_LARGEST = 1e60
"""Largest absolute number of a column of numbers: products of the squares of larger ones exceed floating point."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ExpectedColumn:
    """One column before or after, as labels with expected memberships in categories."""

    name: str
    labels: NDArray[np.int64]
    """Index of the published value of each row."""
    memberships: Floats
    """Probability of each category for each label, shape (labels, categories)."""
    numbers: Floats
    """Expected number of each label and its expected square, shape (labels, 2).

    The shape is (labels, 0) if the column has no numbers, or misses some."""
    counts: NDArray[np.int64]
    """Number of records that each row represents."""

    @property
    def numeric(self) -> bool:
        """Whether the column has numbers."""
        return bool(self.numbers.shape[1])

    @property
    def values(self) -> Floats:
        """Expected number of each label."""
        return self.numbers[:, 0]

    @property
    def squares(self) -> Floats:
        """Expected square of the number of each label."""
        return self.numbers[:, 1]

    @cached_property
    def weights(self) -> Floats:
        """Number of records with each label."""
        found = np.bincount(self.labels, weights=self.counts, minlength=len(self.memberships))
        return np.asarray(found, dtype=np.float64)

    @property
    def margin(self) -> Floats:
        """Expected share of the records in each category."""
        total: Floats = self.weights @ self.memberships / self.counts.sum()
        return total

    @cached_property
    def design(self) -> Floats:
        """Explanatory variables of each label: the number, or the categories without the first."""
        return self.numbers[:, :1] if self.numeric else self.memberships[:, 1:]

    @property
    def own_moments(self) -> Floats:
        """Expected sum over the records of the products of the variables of this column."""
        if self.numeric:
            return np.array([[self.weights @ self.squares]])
        return np.diag(self.weights @ self.design)


def cross_moments(one: ExpectedColumn, other: ExpectedColumn, left: Floats, right: Floats) -> Floats:
    """Sum the products of facts of the labels of two columns over all records.

    Parameters
    ----------
    one, other : ExpectedColumn
        Columns of the same rows.
    left, right : float64 arrays
        Facts of their labels, shape (labels, ...).
    """
    # Pairs of labels are counted once, so the cost does not depend on the number of records.
    shape = len(one.memberships), len(other.memberships)
    places = one.labels * shape[1] + other.labels
    if shape[0] * shape[1] <= len(places):
        pairs = np.bincount(places, weights=one.counts, minlength=shape[0] * shape[1]).reshape(shape)
        sums = pairs @ right
    else:
        # Most pairs do not occur.
        places, at = np.unique(places, return_inverse=True)
        rows, columns = np.divmod(places, shape[1])
        counts = np.bincount(at, weights=one.counts)
        sums = np.column_stack(
            [np.bincount(rows, weights=counts * facts[columns], minlength=shape[0]) for facts in right.T]
        )
    product: Floats = left.T @ sums
    return product


def columns_of(metrics: Metrics) -> tuple[list[ExpectedColumn], list[ExpectedColumn]]:
    """Return the quasi-identifiers and the sensitive columns, before and after.

    Parameters
    ----------
    metrics : Metrics
        The original table, its groups, and the published cells of every group.
    """
    table, counts = metrics.table, metrics.table.multiplicities
    before, after = [], []
    for column, recoded in zip(table.quasi_identifiers, metrics.recoding.columns, strict=True):
        original = unchanged(column, counts)
        before.append(original)
        after.append(_published(original, column, recoded, recoded.group_codes[metrics.groups]))
    # Sensitive columns are published unchanged, unless they were coarsened.
    finer = _encode_finer(metrics)
    for column in table.sensitive:
        fine = finer.get(column.name)
        before.append(unchanged(column if fine is None else fine, counts))
        after.append(before[-1] if fine is None else _coarsened(before[-1], fine, column))
    return before, after


def _encode_finer(metrics: Metrics) -> dict[str, Column]:
    """Encode the original values of the sensitive columns that were coarsened."""
    if metrics.finer is None:
        return {}
    names = tuple(name for name in metrics.finer.columns if name in metrics.table.schema.sensitive)
    encoded = encode(
        pl.DataFrame([metrics.finer[name] for name in names]), Schema(quasi_identifiers=(), sensitive=names)
    )
    return {column.name: column for column in encoded.sensitive}


def _coarsened(original: ExpectedColumn, fine: Column, coarse: Column) -> ExpectedColumn:
    """Return a coarsened column: each label is the mean over the original values that became it."""
    pairs = np.unique(coarse.codes.astype(np.int64) * fine.size + fine.codes)
    labels, values = np.divmod(pairs, fine.size)
    sizes = np.maximum(np.bincount(labels, minlength=coarse.size), 1)

    # Each value counts once, however many records have it.
    def mean_of(facts: Floats) -> Floats:
        sums = np.zeros((coarse.size, facts.shape[1]))
        np.add.at(sums, labels, facts[values])
        return np.asarray(sums / sizes[:, None])

    return replace(
        original,
        labels=coarse.codes.astype(np.int64),
        memberships=mean_of(original.memberships),
        numbers=mean_of(original.numbers),
    )


def unchanged(column: Column, counts: NDArray[np.int64]) -> ExpectedColumn:
    """Return a column whose labels are its values."""
    # Each value belongs to exactly one category.
    places = _categories(column, counts)
    memberships = np.zeros((column.size, int(places.max(initial=0)) + 1))
    memberships[np.arange(column.size), places] = 1.0
    # A missing number has no expectation, so the column counts as categories.
    numbers = np.empty((column.size, 0))
    if column.numbers is not None and not column.has_missing:
        values = np.array([float(number) for number in column.numbers])
        # So does one of numbers that are too large.
        if np.abs(values).max(initial=0.0) <= _LARGEST:
            numbers = np.column_stack((values, values**2))
    return ExpectedColumn(
        name=column.name,
        labels=column.codes.astype(np.int64),
        memberships=memberships,
        numbers=numbers,
        counts=counts,
    )


def _categories(column: Column, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Assign each value to a category; the original table alone decides."""
    if column.size <= MAX_BINS:
        return np.arange(column.size)
    frequencies = np.bincount(column.codes, weights=counts, minlength=column.size)
    if column.ordered:
        # Quantiles of the records: a value belongs to the category of the records below it.
        below = np.cumsum(frequencies) - frequencies
        return np.unique((below * MAX_BINS / frequencies.sum()).astype(np.int64), return_inverse=True)[1]
    # The most frequent values have a category each.
    places = np.full(column.size, MAX_BINS - 1, dtype=np.int64)
    places[np.argsort(-frequencies, kind="stable")[: MAX_BINS - 1]] = np.arange(MAX_BINS - 1)
    return places


def _published(
    original: ExpectedColumn, column: Column, recoded: RecodedColumn, labels: NDArray[np.int32]
) -> ExpectedColumn:
    """Return a column as it is published: each label is the mean over its values."""

    def mean_of(facts: Floats) -> Floats:
        # Sums over runs of values are differences of prefix sums.
        runs = recoded.sub_domains
        sums = np.concatenate((np.zeros((1, facts.shape[1])), np.cumsum(facts, axis=0)))
        of_run = sums[runs.last.astype(np.int64) + 1] - sums[runs.first]
        means: Floats = np.add.reduceat(of_run, runs.starts[:-1], axis=0) / runs.sizes[:, None]
        return means

    return ExpectedColumn(
        name=column.name,
        labels=labels.astype(np.int64),
        memberships=mean_of(original.memberships),
        numbers=mean_of(original.numbers),
        counts=original.counts,
    )
