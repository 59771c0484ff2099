"""Lower bounds on what linked rows lose: the stars of bundles of the published rows, and the cells of any release."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.bounds import lower_bound
from shoal.algorithms.linked.bound_kernel import MAX_GRID, WideUnits, least_losses_of_units, raise_charges
from shoal.algorithms.linked.linking import number_combinations
from shoal.models import KAnonymity
from shoal.models.requirement import Requirement
from shoal.recoding import rank
from shoal.table import Column, Schema, Table

MAX_WORK = 100_000_000
"""Largest number of codes that units are compared by, pair by pair: at most about a second for each pass. Benchmark
`linked`: four times as many raised the bound of 20,000 patients by 9 %, and took six times as long."""


def fewest_stars_of_bundles(table: Table, units: NDArray[np.integer], least: int) -> int:
    """Bound the stars of any release in which every unit publishes exactly these rows.

    Parameters
    ----------
    table : Table
        The rows.
    units : integer array
        Unit of each row, from 0 on; every number occurs.
    least : int
        Fewest units of a bundle. As many units as this have each number of rows.
    """
    if least < 2 or not table.quasi_identifiers or len(units) == 0:
        return 0
    lengths = np.bincount(units)
    total = 0
    # Units of a bundle publish equally many rows, so each number of rows is a problem of its own.
    for length in np.unique(lengths).tolist():
        of_length = np.flatnonzero((lengths == length)[units])
        numbers = np.unique(units[of_length], return_inverse=True)[1]
        codes = [column.codes[of_length] for column in table.quasi_identifiers]
        wide = _widen(codes, numbers)
        if _work(wide) > MAX_WORK:
            total += _bound_by_tables(table, wide, least)
            continue
        losses = np.empty(len(wide.personal), dtype=np.int64)
        least_losses_of_units(wide, least, False, losses)
        # Units that lose most have the most to charge for.
        charges = losses.copy()
        raise_charges(wide, least, losses, np.argsort(-losses, kind="stable"), charges)
        total += int(charges.sum())
    return total


def fewest_lost_cells(columns: Sequence[Column], units: NDArray[np.integer], least: int, left_out: int) -> int | None:
    """Bound the cells that any release of linked rows does not show: stars, and all cells of rows that are left out.

    Parameters
    ----------
    columns : sequence of Column
        The quasi-identifiers of all rows; any of these may be left out.
    units, least
        As in `fewest_stars_of_bundles`.
    left_out : int
        Rows that any release leaves out.

    Returns
    -------
    int or None
        None if there are too many units to compare all of them.
    """
    known = left_out * len(columns)
    if least < 2 or not columns or len(units) == 0:
        return known
    wide = _widen([column.codes for column in columns], units)
    # Each number of rows of a unit has a grid of its own.
    points = max(MAX_GRID, int(np.diff(wide.starts).max()) * len(columns))
    if _work(wide) + len(units) * points > MAX_WORK:
        return None
    losses = np.empty(len(wide.personal), dtype=np.int64)
    least_losses_of_units(wide, least, True, losses)
    return max(int(losses.sum()), known)


def _widen(columns: Sequence[NDArray[np.integer]], units: NDArray[np.integer]) -> WideUnits:
    """Sort the codes of columns within units; those that are constant within every unit are personal."""
    # Rows by unit; columns that are constant within units are personal.
    order = np.argsort(units, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(units)))).astype(np.int64)
    units = units[order]
    personal, varying = [], []
    for codes in (codes[order].astype(np.int32) for codes in columns):
        firsts = codes[starts[:-1]]
        if np.array_equal(firsts[units], codes):
            personal.append(firsts)
        else:
            varying.append(codes)
    # The other columns are also taken together, as one value of each row.
    together = varying[0] if varying else np.zeros(len(units), dtype=np.int32)
    if len(varying) > 1:
        together = rank([(codes, int(codes.max()) + 1) for codes in varying], len(units))[0].astype(np.int32)

    sorted_within_units = [codes[np.lexsort((codes, units))] for codes in [*varying, together]]
    return WideUnits(
        starts=starts,
        personal=np.ascontiguousarray(np.reshape(personal, (len(personal), len(starts) - 1)).T.astype(np.int32)),
        varying=np.reshape(sorted_within_units[:-1], (len(varying), len(units))).astype(np.int32),
        together=sorted_within_units[-1][np.newaxis],
    )


def _work(wide: WideUnits) -> int:
    """Estimate the number of codes that are compared if each unit is compared with every other one."""
    # Merging two units takes a step for each of their rows.
    codes = wide.personal.size + 2 * (wide.varying.size + wide.together.size)
    return len(wide.personal) * int(codes)


def _bound_by_tables(table: Table, wide: WideUnits, least: int) -> int:
    """Bound the stars of units with equally many rows by tables with one record for each unit.

    A star in a personal column is one in each row. The values of a unit in a varying column are one cell here, which
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

    # The values of a unit in a column, as one number.
    personal = list(wide.personal.T)
    varying = [
        rank([(codes, int(codes.max()) + 1) for codes in column.reshape(count, length).T], count)[0]
        for column in wide.varying
    ]
    return max(length * stars_of(personal) + stars_of(varying), stars_of(personal + varying))
