"""Partition linked rows: bundle the persons of each stratum; the rows of a bundle at one position form a group.

The persons of a stratum are grouped as wide records; then bundles are joined until values are hidden. If the rows of
persons have no order of their own, their positions are chosen at the end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal.algorithms.base import Algorithm, Guarantee, Partition, Problem
from shoal.algorithms.bundles.alignment_kernel import Alignment, align_rows
from shoal.algorithms.bundles.joining_kernel import (
    BundleMembers,
    NearPersons,
    PersonValues,
    failing_bundles,
    join_round,
)
from shoal.algorithms.bundles.strata import ShareLimits, Strata, ValueSets
from shoal.algorithms.local_search.loss_table import LossTable, RowClasses, near_classes
from shoal.models import GroupModel, KAnonymity, LDiversity
from shoal.models.requirement import Requirement
from shoal.recoding import rank, recode
from shoal.table import Column, Table

NEAR_CLASSES = 12
"""Near classes of persons that are found for each class, as candidates for joining."""
LARGER_GROUPS = 1.5, 2.0
"""Sizes of groups to try, over the smallest one, if bundles had to be joined: on 60 persons with five rows each, one of
them lost .24 instead of .42."""
MAX_UNITS_TO_RETRY = 2_000
"""Strata of more persons are grouped once: on 20,000 persons larger groups lost 2 % less and took four times as
long."""
MAX_PARTNERS = 12
"""Most bundles that are tried as partners of one bundle in a round."""
_UNITS_PER_CALL = 1 << 25
"""Number of persons that a joining looks at before it returns for an interrupt: less than a second."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class WideProblem:
    """The problem of grouping wide records, one for each person."""

    problem: Problem
    attributes: NDArray[np.int64]
    """Attribute of the wide record for each position and quasi-identifier, shape (length, quasi-identifiers)."""
    joined: Problem | None
    """The problem whose attributes hold the values at all positions together, one for each quasi-identifier; None if
    values are generalized, or no attribute varies within persons."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class PersonBundles:
    """Bundles of the persons of a stratum."""

    groups: NDArray[np.int32]
    """Bundle of each person, 0 <= bundle < count; every bundle occurs."""
    count: int
    """Number of bundles."""
    least: NDArray[np.int32] | None
    """Least level of each quasi-identifier at each position, shape (count, length, quasi-identifiers); see
    `Partition.least`."""
    joined: bool
    """Whether bundles had to be joined."""
    loss: float
    """What the published cells of all persons lose."""


def wide_problem(problem: Problem, rows: NDArray[np.integer], proxies: list[NDArray[np.int32]]) -> WideProblem:
    """Build the problem of a table with one wide record for each person.

    A quasi-identifier that is constant within every person is one attribute of the wide record; any other one is an
    attribute for each position of the person's rows. Suppression has a second form, in which the values at all
    positions are one attribute: persons that differ in one quasi-identifier are near there, however long they are.

    Parameters
    ----------
    problem : Problem
        The problem of the rows.
    rows : integer array of shape (persons, length)
        The rows of each person, in their positions.
    proxies : list of int32 array
        A sensitive value for each person, in each sensitive attribute; see `ValueSets.most_common`.
    """
    columns: list[Column] = []
    hierarchies = {}
    attributes = np.empty((rows.shape[1], len(problem.table.quasi_identifiers)), dtype=np.int64)
    for place, column in enumerate(problem.table.quasi_identifiers):
        # A constant attribute would weigh as much as all rows of a person if it were repeated: it is there once.
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
    # The codes may be those of values of lists, of which there may be more than of cells.
    numbers, count = rank([(one, int(one.max()) + 1) for one in codes], len(codes[0]))
    return Column(
        name=column.name,
        codes=numbers.astype(np.uint32),
        dictionary=column.dictionary.gather(np.arange(count) % column.size),
        ordered=False,
        numbers=None,
    )


def bundle_persons(wide: WideProblem, algorithm: Algorithm, sets: ValueSets, limits: ShareLimits) -> PersonBundles:
    """Group persons into bundles that publish the same and hide their sensitive values.

    Parameters
    ----------
    wide : WideProblem
        The wide records of the persons. Its requirement is necessary for `limits`; joining makes it sufficient.
    algorithm : Algorithm
        Groups the wide records.
    sets : ValueSets
        The sensitive values of the persons.
    limits : ShareLimits
        All persons together are within these.
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
    return min(attempts, key=lambda one: one.loss)


def _attempt(
    wide: WideProblem, form: Problem, algorithm: Algorithm, sets: ValueSets, limits: ShareLimits
) -> PersonBundles:
    """Group persons by the algorithm in a given form, then join what it could not know to fail."""
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
    # An attribute that is constant within persons is published in each of their rows.
    weights = np.bincount(wide.attributes.ravel(), minlength=len(recoding.columns))
    loss = sum(
        float(weight * (column.penalty * recoding.sizes).sum())
        for weight, column in zip(weights, recoding.columns, strict=True)
    )
    by_position = None if least is None else least[:, wide.attributes]
    return PersonBundles(groups=joined, count=fewer, least=by_position, joined=fewer < count, loss=loss)


def _join_failing(
    problem: Problem, groups: NDArray[np.int32], count: int, sets: ValueSets, limits: ShareLimits
) -> tuple[NDArray[np.int32], int]:
    """Join bundles outside of the limits with near ones."""
    members = _members(groups, count)
    held = PersonValues(starts=sets.starts, values=sets.values, highest=limits.highest, lowest=limits.lowest)
    fails = np.zeros(count, dtype=np.bool_)
    if not failing_bundles(members, held, fails):
        return groups, count
    around = _near(problem)
    # The number of failing bundles at least halves in each round while there are others to join.
    while failing_bundles(members, held, fails):
        touched, done = np.zeros(count, dtype=np.bool_), 0
        while done < count:
            done = join_round(members, held, around, fails, touched, done, MAX_PARTNERS, _UNITS_PER_CALL)
    found, compact = np.unique(members.of_persons, return_inverse=True)
    return compact.astype(np.int32), len(found)


def _members(groups: NDArray[np.int32], count: int) -> BundleMembers:
    """Build the lists of the persons of each bundle."""
    # Persons of a bundle follow each other in this order; the last one of each bundle ends its list.
    order = np.argsort(groups, kind="stable").astype(np.int32)
    sizes = np.bincount(groups, minlength=count)
    ends = np.cumsum(sizes)
    following = np.full(len(groups), -1, dtype=np.int32)
    following[order[:-1]] = order[1:]
    last = order[ends - 1]
    following[last] = -1
    return BundleMembers(
        first=order[np.concatenate(([0], ends[:-1]))],
        last=last,
        sizes=sizes.astype(np.int64),
        following=following,
        of_persons=groups.copy(),
    )


def _near(problem: Problem) -> NearPersons:
    """Find near classes of equal wide records."""
    order = problem.table.classes.order
    in_order = RowClasses.of(problem.table)
    table = LossTable.of(problem, order)
    found = near_classes(table, in_order, max(min(NEAR_CLASSES, in_order.count - 1), 1))
    of_persons = np.empty(problem.table.rows, dtype=np.int32)
    of_persons[order] = in_order.of_rows
    return NearPersons(near=found.classes, of_persons=of_persons, representatives=order[in_order.begins[:-1]])


MAX_TEMPLATES = 8
"""Most persons of a bundle that are tried as template. Benchmark `linked`, 4,025 households, k = 3, 5 and 11: the first
template saved 4.0, 2.0 and .5 % of the stars, eight saved 4.2, 2.4 and .6 %, and 32 no more."""
MAX_WORK = 4_000_000_000
"""Largest number of steps of the search in a stratum, about five seconds; with more rows fewer templates are tried."""


def align_positions(
    problem: Problem, rows: NDArray[np.integer], bundles: NDArray[np.int32], count: int
) -> NDArray[np.integer]:
    """Reorder the rows of persons so that bundles lose less; no sensitive value has a part in it.

    Parameters
    ----------
    problem : Problem
        The problem of the rows.
    rows : integer array of shape (persons, length)
        The rows of each person, in their positions.
    bundles : int32 array
        Bundle of each person.
    count : int
        Number of bundles.

    Returns
    -------
    integer array of shape (persons, length)
        The same rows of each person. No bundle loses more than before.
    """
    length = rows.shape[1]
    # A person takes the cube of its rows to assign, and as many steps for each column as it has pairs of rows.
    sizes = np.bincount(bundles, minlength=count)
    steps = rows.size * (length * length + length * len(problem.table.quasi_identifiers))
    templates = min(MAX_TEMPLATES, MAX_WORK // max(steps, 1))
    if length == 1 or templates == 0:
        return rows
    # The kernel works on persons bundle by bundle.
    order = np.argsort(bundles, kind="stable")
    table = LossTable.of(problem, rows[order].ravel().astype(np.int32))
    numbers = np.arange(rows.size, dtype=np.int32).reshape(rows.shape)
    align_rows(
        numbers,
        np.concatenate(([0], np.cumsum(sizes))),
        table.losses,
        templates,
        Alignment(
            members=np.empty((length, int(sizes.max())), dtype=np.int32),
            extents=np.empty((length, table.width, 2), dtype=np.int32),
            distinct=np.empty((length, table.width), dtype=np.int64),
            losses=np.empty(length),
            costs=np.empty((length, length)),
            prices=np.empty((3, length + 1)),
            matched=np.empty((2, length + 1), dtype=np.int64),
            reached=np.empty(length + 1, dtype=np.bool_),
        ),
    )
    aligned = np.empty_like(rows)
    aligned[order] = rows[order].ravel()[numbers]
    return aligned


def least_persons(models: Sequence[GroupModel]) -> int:
    """Compute the fewest persons of a bundle that models ask for: their largest k, and as many as the largest l needs.

    Examples
    --------
    >>> least_persons([KAnonymity(3), LDiversity(4)])
    4
    """
    forms = [form for form in (model.frequency_form() for model in models) if form is not None]
    return max([1, *(k for k, _ in forms), *(-(-l.numerator // l.denominator) for _, l in forms)])


def share_limits(models: Sequence[GroupModel], sets: ValueSets) -> ShareLimits:
    """Compute the shares of a bundle's persons that may have each value, from the shares of all persons.

    Parameters
    ----------
    models : sequence of GroupModel
        Each of them can be asked of linked rows (`GroupModel.share_limits`).
    sets : ValueSets
        The sensitive values of all persons.
    """
    highest, lowest = [], []
    of_share: dict[int, tuple[Fraction, Fraction]] = {}
    asked = [model for model in models if model.needs_sensitive]
    for count in sets.counts().tolist():
        if count not in of_share:
            share = Fraction(count, max(sets.persons, 1))
            limits = [limit for limit in (model.share_limits(share) for model in asked) if limit is not None]
            of_share[count] = (
                max([Fraction(0), *(low for low, _ in limits)]),
                min([Fraction(1), *(high for _, high in limits)]),
            )
        low, high = of_share[count]
        lowest.append(low)
        highest.append(high)
    return ShareLimits.of(least_persons(models), highest, max(sets.persons, 1), lowest)


def group_linked_rows(
    problem: Problem,
    persons: NDArray[np.integer],
    positions: NDArray[np.integer],
    strata: Strata,
    algorithm: Algorithm,
    *,
    ordered: bool = True,
) -> Partition:
    """Partition the published rows of persons into groups, so that the persons of a bundle publish the same rows.

    Parameters
    ----------
    problem : Problem
        The table of the published rows; each of them stands for itself.
    persons, positions : integer array
        Person of each row, and its place among the published rows of its person, from 0 on.
    strata : Strata
        How many rows each person publishes, and the values that bundles must hide.
    algorithm : Algorithm
        Groups wide records: one record for each person of a stratum.
    ordered : bool
        Whether the order of a person's rows is a fact. Otherwise rows of one person exchange their positions if their
        bundle loses less by it.
    """
    groups = np.full(len(persons), -1, dtype=np.int32)
    least: list[NDArray[np.int32]] = []
    attributes = len(problem.table.quasi_identifiers)
    count = bundles = 0
    # The rows of each person in their positions.
    order = np.lexsort((positions, persons))
    starts = np.concatenate(([0], np.cumsum(strata.lengths)[:-1]))
    needed = _requirement(problem, strata.limits, algorithm)
    # Each stratum is a table of wide records of its own.
    for length in np.unique(strata.lengths).tolist():
        members = np.flatnonzero(strata.lengths == length)
        rows = order[starts[members][:, np.newaxis] + np.arange(length)]
        sets, limits = strata.values.select(members), strata.limits
        wide = wide_problem(replace(problem, requirement=needed), rows, sets.most_common())
        found = bundle_persons(wide, algorithm, sets, limits)
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
