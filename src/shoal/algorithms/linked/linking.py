"""Partition linked rows: bundle the units of each stratum; the rows of a bundle at one position form a group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal.algorithms.base import Algorithm, Guarantee, Partition, Problem
from shoal.algorithms.linked.alignment import align_positions
from shoal.algorithms.linked.bundles import bundle_units, wide_problem
from shoal.algorithms.linked.strata import Strata
from shoal.algorithms.linked.value_sets import ShareLimits, ValueSets
from shoal.models import GroupModel, KAnonymity, LDiversity, Requirement


def least_units(models: Sequence[GroupModel]) -> int:
    """Compute the fewest units of a bundle that models ask for: their largest k, and as many as the largest l implies.

    Examples
    --------
    >>> least_units([KAnonymity(3), LDiversity(4)])
    4
    """
    forms = [form for form in (model.frequency_form() for model in models) if form is not None]
    return max([1, *(k for k, _ in forms), *(-(-l.numerator // l.denominator) for _, l in forms)])


def unit_limits(models: Sequence[GroupModel], sets: ValueSets) -> ShareLimits:
    """Compute the shares of a bundle's units that may have each value, from the shares of all units.

    Parameters
    ----------
    models : sequence of GroupModel
        Each of them can be asked of linked rows (`GroupModel.unit_limits`).
    sets : ValueSets
        The sensitive values of all units.
    """
    highest, lowest = [], []
    of_share: dict[int, tuple[Fraction, Fraction]] = {}
    asked = [model for model in models if model.needs_sensitive]
    for count in sets.counts().tolist():
        if count not in of_share:
            share = Fraction(count, max(sets.units, 1))
            limits = [limit for limit in (model.unit_limits(share) for model in asked) if limit is not None]
            of_share[count] = (
                max([Fraction(0), *(low for low, _ in limits)]),
                min([Fraction(1), *(high for _, high in limits)]),
            )
        low, high = of_share[count]
        lowest.append(low)
        highest.append(high)
    return ShareLimits.of(least_units(models), highest, max(sets.units, 1), lowest)


def group_linked_rows(
    problem: Problem,
    units: NDArray[np.integer],
    positions: NDArray[np.integer],
    strata: Strata,
    algorithm: Algorithm,
    *,
    ordered: bool = True,
) -> Partition:
    """Partition the published rows of units into groups, so that the units of a bundle publish the same rows.

    Parameters
    ----------
    problem : Problem
        The table of the published rows; each of them stands for itself.
    units, positions : integer array
        Unit of each row, and its place among the published rows of its unit, from 0 on.
    strata : Strata
        How many rows each unit publishes, and the values that bundles must hide.
    algorithm : Algorithm
        Groups wide records: one record for each unit of a stratum.
    ordered : bool
        Whether the order of a unit's rows is a fact. Otherwise rows of one unit exchange their positions if their
        bundle loses less by it.
    """
    groups = np.full(len(units), -1, dtype=np.int32)
    least: list[NDArray[np.int32]] = []
    attributes = len(problem.table.quasi_identifiers)
    count = bundles = 0
    # The rows of each unit in their positions.
    order = np.lexsort((positions, units))
    starts = np.concatenate(([0], np.cumsum(strata.lengths)[:-1]))
    needed = _requirement(problem, strata.limits, algorithm)
    # Each stratum is a table of wide records of its own.
    for length in np.unique(strata.lengths).tolist():
        members = np.flatnonzero(strata.lengths == length)
        rows = order[starts[members][:, np.newaxis] + np.arange(length)]
        sets, limits = strata.values.select(members), strata.limits
        wide = wide_problem(replace(problem, requirement=needed), rows, sets.most_common())
        found = bundle_units(wide, algorithm, sets, limits)
        # Levels that an algorithm prescribes are those of a position: its rows stay there.
        if not ordered and found.least is None:
            rows = align_positions(problem, rows, found.groups, found.count)
        # The rows of a bundle at one position are a group.
        groups[rows] = count + found.groups[:, np.newaxis] * length + np.arange(length, dtype=np.int32)
        count += found.count * length
        bundles += found.count
        nothing = np.zeros((found.count, length, attributes), dtype=np.int32)
        least.append((nothing if found.least is None else found.least).reshape(-1, attributes))
    return Partition(
        groups=groups,
        count=count,
        guarantee=Guarantee(promise=Fact("linked_rows")),
        details={"strata": len(np.unique(strata.lengths))},
        facts={"bundles": bundles},
        least=np.concatenate(least),
    )


def _requirement(problem: Problem, limits: ShareLimits, algorithm: Algorithm) -> Requirement:
    """State what is required of groups of wide records: k, and the l that the limits imply for each value."""
    names = problem.table.schema.sensitive
    alone = Requirement.of([KAnonymity(limits.least)], names)
    # The largest share that any value may have bounds the shares of all.
    if names and len(limits.highest):
        highest = max(Fraction(int(top), int(bottom)) for top, bottom in limits.highest)
        if 0 < highest <= Fraction(1, 2):
            implied = LDiversity(highest.denominator // highest.numerator)
            both = Requirement.of([*alone.models, implied], names)
            # Distances imply an l on several attributes, which not all algorithms serve: then only joining ensures it.
            return both if algorithm.unsupported(both) is None else alone
    return alone
