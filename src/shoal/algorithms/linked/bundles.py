"""Bundles of units that publish equally many rows: group wide records, then join bundles until values are hidden."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.linked.joining_kernel import BundleLists, NearUnits, UnitValues, failing_bundles, join_round
from shoal.algorithms.linked.value_sets import ShareLimits, ValueSets
from shoal.algorithms.local_search.loss_table import LossTable
from shoal.algorithms.local_search.neighbourhood import RowClasses, near_classes
from shoal.models import KAnonymity, Requirement
from shoal.recoding import rank, recode
from shoal.table import Column, Table

NEAR_CLASSES = 12
"""Near classes of units that are found for each class, as candidates for joining."""
LARGER_GROUPS = 1.5, 2.0
"""Sizes of groups to try, over the smallest one, if bundles had to be joined: on 60 persons with five rows each, one of
them lost .24 instead of .42."""
MAX_UNITS_TO_RETRY = 2_000
"""Strata of more units are grouped once: on 20,000 persons larger groups lost 2 % less and took four times as long."""
MAX_PARTNERS = 12
"""Most bundles that are tried as partners of one bundle in a round."""
_UNITS_PER_CALL = 1 << 25
"""Number of units that a joining looks at before it returns for an interrupt: less than a second."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class WideProblem:
    """The problem of grouping wide records, one for each unit."""

    problem: Problem
    attributes: NDArray[np.int64]
    """Attribute of the wide record for each position and quasi-identifier, shape (length, quasi-identifiers)."""
    joined: Problem | None
    """The problem whose attributes hold the values at all positions together, one for each quasi-identifier; None if
    values are generalized, or no attribute varies within units."""


@dataclass(frozen=True, repr=False, eq=False)
class UnitBundles:
    """Bundles of the units of a stratum."""

    groups: NDArray[np.int32]
    """Bundle of each unit, 0 <= bundle < count; every bundle occurs."""
    count: int
    """Number of bundles."""
    least: NDArray[np.int32] | None
    """Least level of each quasi-identifier at each position, shape (count, length, quasi-identifiers); see
    `Partition.least`."""


def wide_problem(problem: Problem, rows: NDArray[np.integer], proxies: list[NDArray[np.int32]]) -> WideProblem:
    """Build the problem of a table with one wide record for each unit.

    A quasi-identifier that is constant within every unit is one attribute of the wide record; any other one is an
    attribute for each position of the unit's rows. Suppression has a second form, in which the values at all
    positions are one attribute: units that differ in one quasi-identifier are near there, however long they are.

    Parameters
    ----------
    problem : Problem
        The problem of the rows.
    rows : integer array of shape (units, length)
        The rows of each unit, in their positions.
    proxies : list of int32 array
        A sensitive value for each unit, in each sensitive attribute; see `ValueSets.most_common`.
    """
    columns: list[Column] = []
    hierarchies = {}
    attributes = np.empty((rows.shape[1], len(problem.table.quasi_identifiers)), dtype=np.int64)
    for place, column in enumerate(problem.table.quasi_identifiers):
        # A constant attribute would weigh as much as all rows of a unit if it were repeated: it is there once.
        codes = column.codes[rows]
        constant = bool((codes == codes[:, :1]).all())
        attributes[:, place] = len(columns) + (0 if constant else np.arange(rows.shape[1]))
        for position in range(1 if constant else rows.shape[1]):
            name = f"{column.name} {position}"
            columns.append(_compacted(column, codes[:, position], name))
            if column.name in problem.hierarchies:
                hierarchies[name] = problem.hierarchies[column.name]
    # The proxies stand in for the sets of values, which no algorithm for single values knows.
    sensitive = tuple(
        number_combinations(column, [codes]) for column, codes in zip(problem.table.sensitive, proxies, strict=True)
    )

    def with_attributes(attributes: list[Column]) -> Table:
        return Table(
            schema=replace(problem.table.schema, quasi_identifiers=tuple(column.name for column in attributes)),
            rows=len(rows),
            quasi_identifiers=tuple(attributes),
            sensitive=sensitive,
            insensitive=problem.table.insensitive.clear(),
        )

    joined = None
    if problem.recoding == "suppression" and len(columns) > len(problem.table.quasi_identifiers):
        together = [
            number_combinations(column, list(column.codes[rows].T)) for column in problem.table.quasi_identifiers
        ]
        joined = replace(problem, table=with_attributes(together), hierarchies={})
    return WideProblem(
        problem=replace(problem, table=with_attributes(columns), hierarchies=hierarchies),
        attributes=attributes,
        joined=joined,
    )


def _compacted(column: Column, codes: NDArray[np.integer], name: str) -> Column:
    """Build a column of codes in which every value of its dictionary occurs."""
    found, compact = np.unique(codes, return_inverse=True)
    numbers = column.numbers
    kept = None if numbers is None else tuple(numbers[code] for code in found.tolist() if code < len(numbers))
    return Column(
        name=name,
        codes=compact.astype(column.codes.dtype).reshape(codes.shape),
        dictionary=column.dictionary.gather(found).alias(name),
        ordered=column.ordered,
        numbers=kept,
        of_intervals=column.of_intervals,
    )


def number_combinations(column: Column, codes: Sequence[NDArray[np.integer]]) -> Column:
    """Build a column of numbers, one for each combination of codes.

    Only whether numbers are equal matters, so any entries of the dictionary will do.
    """
    # The codes may be those of values in lists, of which there may be more than of cells.
    numbers, count = rank([(one, int(one.max()) + 1) for one in codes], len(codes[0]))
    return Column(
        name=column.name,
        codes=numbers.astype(np.uint32),
        dictionary=column.dictionary.gather(np.arange(count) % column.size),
        ordered=False,
        numbers=None,
    )


def bundle_units(wide: WideProblem, algorithm: Algorithm, sets: ValueSets, limits: ShareLimits) -> UnitBundles:
    """Group units into bundles that publish the same and hide their sensitive values.

    Parameters
    ----------
    wide : WideProblem
        The wide records of the units. Its requirement is necessary for `limits`; joining makes it sufficient.
    algorithm : Algorithm
        Groups the wide records.
    sets : ValueSets
        The sensitive values of the units.
    limits : ShareLimits
        All units together are within these.
    """
    problem = wide.problem
    forms = [problem] if wide.joined is None else [problem, wide.joined]
    attempts = [_attempt(wide, form, algorithm, sets, limits) for form in forms]
    if any(one.joined for one in attempts) and problem.table.rows <= MAX_UNITS_TO_RETRY:
        # Bundles were joined because values were too frequent: larger groups from the start may lose less.
        sizes = [math.ceil(limits.least * factor) for factor in LARGER_GROUPS]
        for size in (size for size in sizes if size <= problem.table.rows):
            models = [KAnonymity(size), *(model for model in problem.requirement.models if model.needs_sensitive)]
            larger = Requirement.of(models, problem.requirement.sensitive)
            attempts += [_attempt(wide, replace(form, requirement=larger), algorithm, sets, limits) for form in forms]
    return min(attempts, key=lambda one: one.loss).bundles


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Attempt:
    bundles: UnitBundles
    joined: bool
    """Whether bundles had to be joined."""
    loss: float
    """What the published cells of all units lose."""


def _attempt(wide: WideProblem, form: Problem, algorithm: Algorithm, sets: ValueSets, limits: ShareLimits) -> _Attempt:
    """Group units by the algorithm in a given form, then join what it could not know to fail."""
    partition = algorithm.partition(form)
    problem = wide.problem
    groups, count = partition.groups.astype(np.int32), partition.count
    joined, fewer = (groups, count) if sets.width == 0 else _join_failing(problem, groups, count, sets, limits)
    # Levels are of use only if the form has the columns of the problem.
    least = partition.least if form.table.quasi_identifiers == problem.table.quasi_identifiers else None
    if least is not None and fewer < count:
        # A joined bundle publishes the coarsest of the levels that its parts need.
        together = np.zeros((fewer, least.shape[1]), dtype=least.dtype)
        np.maximum.at(together, joined, least[groups])
        least = together
    recoding = recode(
        problem.table,
        joined,
        fewer,
        method="generalization" if problem.recoding == "generalization" else "suppression",
        hierarchies=problem.hierarchies,
        least=least,
        largest_set=problem.largest_set,
    )
    # An attribute that is constant within units is published in each of their rows.
    weights = np.bincount(wide.attributes.ravel(), minlength=len(recoding.columns))
    loss = sum(
        float(weight * (column.penalty * recoding.sizes).sum())
        for weight, column in zip(weights, recoding.columns, strict=True)
    )
    by_position = None if least is None else least[:, wide.attributes]
    return _Attempt(bundles=UnitBundles(joined, fewer, by_position), joined=fewer < count, loss=loss)


def _join_failing(
    problem: Problem, groups: NDArray[np.int32], count: int, sets: ValueSets, limits: ShareLimits
) -> tuple[NDArray[np.int32], int]:
    """Join bundles outside of the limits with near ones."""
    lists = _lists(groups, count)
    held = UnitValues(starts=sets.starts, values=sets.values, highest=limits.highest, lowest=limits.lowest)
    fails = np.zeros(count, dtype=np.bool_)
    if not failing_bundles(lists, held, fails):
        return groups, count
    around = _near(problem)
    # The number of failing bundles at least halves in each round while there are others to join.
    while failing_bundles(lists, held, fails):
        touched, done = np.zeros(count, dtype=np.bool_), 0
        while done < count:
            done = join_round(lists, held, around, fails, touched, done, MAX_PARTNERS, _UNITS_PER_CALL)
    found, compact = np.unique(lists.of_units, return_inverse=True)
    return compact.astype(np.int32), len(found)


def _lists(groups: NDArray[np.int32], count: int) -> BundleLists:
    """Build the lists of the units of each bundle."""
    # Units of a bundle follow each other in this order; the last one of each bundle ends its list.
    order = np.argsort(groups, kind="stable").astype(np.int32)
    sizes = np.bincount(groups, minlength=count)
    ends = np.cumsum(sizes)
    following = np.full(len(groups), -1, dtype=np.int32)
    following[order[:-1]] = order[1:]
    last = order[ends - 1]
    following[last] = -1
    return BundleLists(
        first=order[np.concatenate(([0], ends[:-1]))],
        last=last,
        sizes=sizes.astype(np.int64),
        following=following,
        of_units=groups.copy(),
    )


def _near(problem: Problem) -> NearUnits:
    """Find near classes of equal wide records."""
    order = problem.table.classes.order
    in_order = RowClasses.of(problem.table)
    table = LossTable.of(problem, order)
    found = near_classes(table, in_order, max(min(NEAR_CLASSES, in_order.count - 1), 1))
    of_units = np.empty(problem.table.rows, dtype=np.int32)
    of_units[order] = in_order.of_rows
    return NearUnits(near=found.classes, of_units=of_units, representatives=order[in_order.begins[:-1]])
