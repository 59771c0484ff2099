"""Lower bounds on what linked rows lose: the stars of bundles of the published rows, and the cells of any release."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.bounds import lower_bound
from shoal.algorithms.bundles.bound_kernel import MAX_GRID, WidePersons, least_losses_of_persons, raise_charges
from shoal.algorithms.bundles.linking import number_combinations
from shoal.models import KAnonymity
from shoal.models.requirement import Requirement
from shoal.recoding import rank
from shoal.table import Column, Schema, Table

MAX_WORK = 100_000_000
"""Largest number of codes that persons are compared by, pair by pair: at most about a second for each pass. Benchmark
`linked`: four times as many raised the bound of 20,000 patients by 9 %, and took six times as long."""


def fewest_stars_of_bundles(table: Table, persons: NDArray[np.integer], least: int) -> int:
    """Bound the stars of any release in which every person publishes exactly these rows.

    Parameters
    ----------
    table : Table
        The rows.
    persons : integer array
        Person of each row, from 0 on; every number occurs.
    least : int
        Fewest persons of a bundle. As many persons as this have each number of rows.
    """
    if least < 2 or not table.quasi_identifiers or len(persons) == 0:
        return 0
    lengths = np.bincount(persons)
    total = 0
    # Persons of a bundle publish equally many rows, so each number of rows is a problem of its own.
    for length in np.unique(lengths).tolist():
        of_length = np.flatnonzero((lengths == length)[persons])
        numbers = np.unique(persons[of_length], return_inverse=True)[1]
        codes = [column.codes[of_length] for column in table.quasi_identifiers]
        wide = _widen(codes, numbers)
        if _work(wide) > MAX_WORK:
            total += _bound_by_tables(table, wide, least)
            continue
        losses = np.empty(len(wide.personal), dtype=np.int64)
        least_losses_of_persons(wide, least, False, losses)
        # Persons that lose most have the most to charge for.
        charges = losses.copy()
        raise_charges(wide, least, losses, np.argsort(-losses, kind="stable"), charges)
        total += int(charges.sum())
    return total


def fewest_lost_cells(columns: Sequence[Column], persons: NDArray[np.integer], least: int, left_out: int) -> int | None:
    """Bound the cells that any release of linked rows does not show: stars, and all cells of rows that are left out.

    Parameters
    ----------
    columns : sequence of Column
        The quasi-identifiers of all rows; any of these may be left out.
    persons, least
        As in `fewest_stars_of_bundles`.
    left_out : int
        Rows that any release leaves out.

    Returns
    -------
    int or None
        None if there are too many persons to compare all of them.
    """
    known = left_out * len(columns)
    if least < 2 or not columns or len(persons) == 0:
        return known
    wide = _widen([column.codes for column in columns], persons)
    # Each number of rows of a person has a grid of its own.
    points = max(MAX_GRID, int(np.diff(wide.starts).max()) * len(columns))
    if _work(wide) + len(persons) * points > MAX_WORK:
        return None
    losses = np.empty(len(wide.personal), dtype=np.int64)
    least_losses_of_persons(wide, least, True, losses)
    return max(int(losses.sum()), known)


def _widen(columns: Sequence[NDArray[np.integer]], persons: NDArray[np.integer]) -> WidePersons:
    """Sort the codes of columns within persons; those that are constant within every person are personal."""
    # Rows by person; columns that are constant within persons are personal.
    order = np.argsort(persons, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(persons)))).astype(np.int64)
    persons = persons[order]
    personal, varying = [], []
    for codes in (codes[order].astype(np.int32) for codes in columns):
        firsts = codes[starts[:-1]]
        if np.array_equal(firsts[persons], codes):
            personal.append(firsts)
        else:
            varying.append(codes)
    # The other columns are also taken together, as one value of each row.
    together = varying[0] if varying else np.zeros(len(persons), dtype=np.int32)
    if len(varying) > 1:
        together = rank([(codes, int(codes.max()) + 1) for codes in varying], len(persons))[0].astype(np.int32)

    sorted_within_persons = [codes[np.lexsort((codes, persons))] for codes in [*varying, together]]
    return WidePersons(
        starts=starts,
        personal=np.ascontiguousarray(np.reshape(personal, (len(personal), len(starts) - 1)).T.astype(np.int32)),
        varying=np.reshape(sorted_within_persons[:-1], (len(varying), len(persons))).astype(np.int32),
        together=sorted_within_persons[-1][np.newaxis],
    )


def _work(wide: WidePersons) -> int:
    """Estimate the number of codes that are compared if each person is compared with every other one."""
    # Merging two persons takes a step for each of their rows.
    codes = wide.personal.size + 2 * (wide.varying.size + wide.together.size)
    return len(wide.personal) * int(codes)


def _bound_by_tables(table: Table, wide: WidePersons, least: int) -> int:
    """Bound the stars of persons with equally many rows by tables with one record for each person.

    A star in a personal column is one in each row. The values of a person in a varying column are one cell here, which
    holds one star at least if bundles do not share it.
    """
    count, length = len(wide.personal), int(wide.starts[1])
    requirement = Requirement.of([KAnonymity(least)], ())

    def stars_of(attributes: Sequence[NDArray[np.integer]]) -> int:
        if not attributes:
            return 0
        columns = tuple(number_combinations(table.quasi_identifiers[0], [codes]) for codes in attributes)
        one_each = Table(
            schema=Schema(quasi_identifiers=tuple(map(str, range(len(columns))))),
            rows=count,
            quasi_identifiers=columns,
            sensitive=(),
            insensitive=table.insensitive.clear(),
        )
        return lower_bound(one_each, requirement, target=count * len(columns)).stars

    # The values of a person in a column, as one number.
    personal = list(wide.personal.T)
    varying = [
        rank([(codes, int(codes.max()) + 1) for codes in column.reshape(count, length).T], count)[0]
        for column in wide.varying
    ]
    return max(length * stars_of(personal) + stars_of(varying), stars_of(personal + varying))
