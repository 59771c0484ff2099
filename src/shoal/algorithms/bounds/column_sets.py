"""Lower bound on the stars of any release in which several sets of quasi-identifiers are protected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal.algorithms.base import NOTHING_TO_CHANGE
from shoal.algorithms.bounds.column_sets_kernel import fewest_stars
from shoal.algorithms.bounds.stars import LowerBound, lower_bound
from shoal.models import Requirement
from shoal.recoding import rank
from shoal.table import Table
from shoal.table.counts import rows_by_code

_PLACES_PER_ROW = 8
"""Place values may have so many times more numbers than there are rows."""
_MAX_SETS_ALONE = 40
"""Largest number of sets whose own bounds are computed: each takes up to a second."""


def lower_bound_of_sets(table: Table, requirement: Requirement, *, target: int) -> LowerBound:
    """Bound the cost of every release in which each set of the requirement satisfies the models.

    A group of a release that shows the values of a set's columns is a part of the rows of the table with these values.
    If these are too few, each of them has a star in one of the columns. The fewest columns that hit all such sets of a
    row bound its stars, and the cells of different rows are disjoint, so the sum over the rows is a bound. The bound
    of a single set is one as well.

    Parameters
    ----------
    table, requirement
        As for `lower_bound`.
    target : int
        Stars of a known release: the bounds of single sets stop there.
    """
    place = {column.name: a for a, column in enumerate(table.quasi_identifiers)}
    # Sets with fewer columns first, so that the kernel drops the sets that contain them.
    sets = sorted(requirement.sets, key=lambda one: len(one.columns))
    small = np.zeros((table.rows, len(sets)), dtype=np.bool_)
    for s, one in enumerate(sets):
        columns = [table.quasi_identifiers[place[name]] for name in one.columns]
        groups, count = _number_groups([(column.codes, column.size) for column in columns], table.rows)
        small[:, s] = rows_by_code(groups, count, table.counts)[groups] < requirement.of_set(one).least_size
    masks = np.array([sum(1 << place[name] for name in one.columns) for one in sets], dtype=np.int64)
    weights = table.multiplicities
    stars = int(weights @ fewest_stars(small, masks))
    best = LowerBound(stars=stars, suppressed_tuples=int(weights[small.any(axis=1)].sum()), why=Fact("hit_sets"))
    # Single sets, whose bounds count the rows that their groups of stars need.
    if len(sets) <= _MAX_SETS_ALONE:
        for one in sets:
            columns = [table.quasi_identifiers[place[name]] for name in one.columns]
            alone = replace(table, quasi_identifiers=tuple(columns))
            found = lower_bound(alone, requirement.of_set(one), target=target)
            best = replace(best, suppressed_tuples=max(best.suppressed_tuples, found.suppressed_tuples))
            if found.stars > best.stars:
                best = replace(best, stars=found.stars, why=Fact("largest_set"))
    return best if best.suppressed_tuples or best.stars else replace(best, why=NOTHING_TO_CHANGE)


def _number_groups(columns: Sequence[tuple[NDArray[Any], int]], rows: int) -> tuple[NDArray[np.int64], int]:
    """Group rows by their codes: by place values if these are few, which is quicker than sorting."""
    count = prod(size for _, size in columns)
    if count > _PLACES_PER_ROW * rows:
        return rank(columns, rows)
    groups = np.zeros(rows, dtype=np.int64)
    for codes, size in columns:
        groups *= size
        groups += codes
    return groups, count
