"""Persons with several rows as targets: an attack succeeds for a person if it does for any of that person's rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.attacks.compatible_rows import CompatibilityJoin, CompatibleValues
from shoal.errors import ColumnError, near_matches
from shoal.verification.linked_rows import Bundles
from shoal.verification.owners import find_owners

_MAX_VALUES_PER_PASS = 64
"""Number of sensitive values that are counted in one pass."""
_MAX_CELLS_PER_PASS = 1 << 24
"""Number of counts of rows and values that are held at once; tables of many rows have fewer values in a pass."""


def number_owners(frame: pl.DataFrame, names: Sequence[str], what: str) -> NDArray[np.int64]:
    """Assign a number, from 0, to the person of each row.

    Parameters
    ----------
    frame : polars.DataFrame
        The rows.
    names : sequence of str
        The columns that identify persons; without any, each row is another person's.
    what : str
        The table, for messages.

    Raises
    ------
    ColumnError
        If a column is missing.
    """
    for name in names:
        if name not in frame.columns:
            raise ColumnError(
                f"There is no column '{name}' (person) in {what}. {near_matches(name, frame.columns)} A release has "
                "none: give people who are in it, with that column, as targets."
            )
    if not names:
        return np.arange(frame.height)
    numbers = find_owners(frame[list(names)], [tuple(names)]).to_series()
    return np.unique(numbers.to_numpy(), return_inverse=True)[1].astype(np.int64)


def count_together(owners: NDArray[np.int64], find_places: Callable[[], NDArray[np.int64]]) -> NDArray[np.int64]:
    """Count for each row the rows of the same person with the same place, such as a group."""
    if owners.max() + 1 == len(owners):
        return np.ones_like(owners)
    pairs = np.column_stack((owners, find_places()))
    _, which, counts = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
    return np.asarray(counts[which.ravel()], dtype=np.int64)


def number_attacked(person: NDArray[np.int64]) -> NDArray[np.int64]:
    """Assign a number, from 0, to the person of each row of a release; a row without a person is a person of its own.

    Parameters
    ----------
    person : int64 array
        The person of each row in a population; negative if the row is about no person of it.
    """
    own = np.where(person < 0, -1 - np.arange(len(person)), person)
    return np.unique(own, return_inverse=True)[1].astype(np.int64)


def same_candidates(join: CompatibilityJoin) -> NDArray[np.int64]:
    """Assign numbers to people, which are equal if the same rows are compatible with them.

    Sets are compared by sums of two random numbers of 40 bits for each row, so that different sets get different
    numbers except with a negligible probability.
    """
    drawn = np.random.default_rng(0).integers(0, 2**40, size=(len(join.boxes), 2), dtype=np.int64)
    sums = join.sum_over_rows(drawn)
    return np.asarray(np.unique(sums, axis=0, return_inverse=True)[1].ravel()[join.point_of], dtype=np.int64)


def count_excludable(
    count: Callable[[int, int], NDArray[np.int64]],
    size: int,
    places: NDArray[np.int64],
    owners: NDArray[np.int64],
    truth: NDArray[np.int64],
    most: int,
) -> NDArray[np.int64]:
    """Count the most rows that someone rules out who excludes 0, 1, ..., `most` values that a person does not have.

    Parameters
    ----------
    count : callable
        Counts the rows of each place with each of the values from a first one to before a last one.
    size : int
        Number of values.
    places : int64 array
        The place of each row of a person, such as a group.
    owners : int64 array
        The person of each of these rows, from 0.
    truth : int64 array
        The value of each of these rows; negative if the release does not show it anywhere.
    most : int
        Largest number of excluded values.

    Returns
    -------
    int64 array, shape (rows, most + 1)
    """
    highest = np.zeros((len(places), most), dtype=np.int64)
    width = max(1, min(_MAX_VALUES_PER_PASS, _MAX_CELLS_PER_PASS // len(places)))
    for start in range(0, size, width):
        stop = min(start + width, size)
        # A value that any row of the person has cannot be excluded.
        own = np.zeros((int(owners.max()) + 1, stop - start), dtype=np.bool_)
        here = (truth >= start) & (truth < stop)
        own[owners[here], truth[here] - start] = True
        counts = np.where(own[owners], 0, count(start, stop)[places])
        highest = -np.sort(-np.concatenate((highest, counts), axis=1), axis=1)[:, :most]
    return np.concatenate((np.zeros((len(places), 1), dtype=np.int64), highest.cumsum(axis=1)), axis=1)


def summarize_bundles(bundled: Bundles, codes: NDArray[np.int64]) -> CompatibleValues:
    """Summarize the sensitive values of each row's bundle, if rows are linked: counts are of persons.

    Parameters
    ----------
    bundled : Bundles
        The bundles of the release.
    codes : int64 array
        The sensitive value of each row, at least 0.
    """
    labels, own_codes = np.unique(codes, return_inverse=True)
    # The owners of each bundle that have a value in any of their rows.
    pairs = np.unique(np.column_stack((bundled.person_of, own_codes)), axis=0)
    counts = np.zeros((bundled.bundles, len(labels)), dtype=np.int64)
    np.add.at(counts, (bundled.bundle_of[pairs[:, 0]], pairs[:, 1]), 1)
    # Values that occur in a bundle, and the most frequent one of each bundle.
    some = counts > 0
    of = bundled.bundle_of[bundled.person_of]
    arrays: dict[str, Any] = {
        "rows": bundled.sizes,
        "distinct": some.sum(axis=1),
        "most": counts.max(axis=1),
        "guess": labels[counts.argmax(axis=1)],
        "least": labels[some.argmax(axis=1)],
        "greatest": labels[len(labels) - 1 - some[:, ::-1].argmax(axis=1)],
    }
    return CompatibleValues(
        **{name: found[of] for name, found in arrays.items()},
        truth=codes,
        own=counts[of, own_codes],
        together=np.ones(len(codes), dtype=np.int64),
    )
