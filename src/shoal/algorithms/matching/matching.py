"""Optimal 2-anonymity and 2-diversity by matching rows in pairs and triples (Liang and Yuan 2013, Theorem 11).

References
----------
.. [1] H. Liang, H. Yuan: On the complexity of t-closeness anonymization and related problems. DASFAA 2013, LNCS 7825,
   pages 331-345. https://doi.org/10.1007/978-3-642-37487-6_26
.. [2] J. Blocki, R. Williams: Resolving the complexity of some data privacy problems. ICALP 2010, LNCS 6199, pages
   393-404. https://doi.org/10.1007/978-3-642-14162-1_33
.. [3] E. Anshelevich, A. Karagiozova: Terminal backup, 3D matching, and covering cubic graphs. SIAM Journal on
   Computing 40(3), 2011, pages 678-708. https://doi.org/10.1137/090752699
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from numbers import Real
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal._core.optional import require
from shoal._core.validation import Optional, RationalIn, parameter
from shoal.algorithms.base import TIME_LIMIT, Algorithm, Capabilities, Guarantee, Partition, Problem
from shoal.algorithms.m_approximation import MApproximation
from shoal.algorithms.matching.cover_problem import (
    FORBIDDEN,
    MAX_ATTRIBUTES,
    Cover,
    CoverProblem,
    GroupPrices,
    split_cover,
)
from shoal.algorithms.matching.cover_search import cheapest_cover, single_groups
from shoal.algorithms.matching.group_prices_kernel import is_cheapest_assignment, pair_costs
from shoal.algorithms.tp.three_phase import ThreePhase
from shoal.errors import InternalError
from shoal.models.requirement import Requirement
from shoal.table import Table

MAX_PAIRS = 6_000
"""Largest number of rows of one value to assign; the cost matrix has the square of this many entries."""


def cheapest_pairs(problem: CoverProblem) -> Cover | None:
    """Find the cheapest cover of rows with two values, if half of the rows have each value.

    Parameters
    ----------
    problem : CoverProblem
        A problem whose `values` are two different numbers.

    Returns
    -------
    Cover or None
        None if more than `MAX_PAIRS` rows of each value are left after equal rows are paired, or if no cover is
        allowed.

    Notes
    -----
    Every group of such a cover is a pair of both values. Rows that differ in nothing but the value are paired first,
    which keeps the optimum: if x and its equal y are in the pairs {x, u} and {y, v}, the pairs {x, y} and {v, u} are
    allowed too, because v has the value of x and u has the value of y. They cost no more, because u and v differ only
    in attributes in which u differs from x or v differs from y, and prices of stars are additive.
    """
    assert problem.values is not None
    one, other = np.unique(problem.values)
    # Pair equal rows first.
    left = problem.counts.copy()
    first, second = np.flatnonzero(problem.values == one), np.flatnonzero(problem.values == other)
    if left[first].sum() != left[second].sum():
        raise InternalError("rows of two values can only be paired if both have the same number")
    pairs = [_equal_pairs(problem, first, second, left)]
    rows, columns = np.repeat(first, left[first]), np.repeat(second, left[second])
    if len(rows) > MAX_PAIRS:
        return None
    # Assign the other rows, and prove the assignment optimal in integers.
    total = 0
    if len(rows):
        costs = pair_costs(problem.codes, problem.prices.table, rows, columns)
        optimize = require("scipy.optimize", extra="exact", purpose="A proven optimum")
        at, to = optimize.linear_sum_assignment(costs)
        chosen = np.empty(len(rows), dtype=np.int64)
        chosen[at] = to
        total = int(costs[at, to].sum())
        if total >= FORBIDDEN:
            return None
        if not is_cheapest_assignment(costs, chosen):
            raise InternalError("an assignment is not the cheapest")
        pairs.append(np.column_stack((rows, columns[chosen])))
    ends = np.sort(np.concatenate(pairs), axis=1)
    groups = np.full((len(ends), 3), -1, dtype=np.int64)
    groups[:, :2] = ends
    return Cover(groups=groups, cost=total, bound=total, proof=Fact("bipartite"), complete=True)


def _equal_pairs(
    problem: CoverProblem, first: NDArray[np.intp], second: NDArray[np.intp], left: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Pair rows that differ only in the value, and subtract them from the counts `left`."""
    _, place = np.unique(problem.codes, axis=0, return_inverse=True)
    partner = np.full(int(place.max()) + 1, -1, dtype=np.int64)
    partner[place[second]] = second
    met = first[partner[place[first]] >= 0]
    equal = partner[place[met]]
    times = np.minimum(left[met], left[equal])
    left[met] -= times
    left[equal] -= times
    return np.column_stack((np.repeat(met, times), np.repeat(equal, times)))


_MAX_TYPES = 20_000
"""Largest number of row types for which the program over pairs and triples is solved."""


@dataclass(frozen=True)
class Matching(Algorithm):
    """Optimal matching: the fewest stars for k = 2, and for frequency l-diversity with l = 2, with a proof.

    Parameters
    ----------
    time_limit : float, optional, default 60
        Seconds, >= 0, after which the best partition so far is returned, with the bound that was proven by then. An
        interrupt (Ctrl-C) has the same effect. If None, the search runs to its end.

    Notes
    -----
    Groups of two or three rows suffice, because splitting a group never costs more. For k = 2, any group of four or
    more rows splits into a pair and at least two other rows. If at most half of a group share a sensitive value, it
    splits into pairs and triples of different values (Lemma 2 of the paper). This does not hold for "at least two
    distinct values", because a group with many rows of one value and one row of another cannot be split, nor for
    entropy and recursive 2-diversity. These requirements are therefore not served.

    The paper refers to a combinatorial algorithm for simplex matching. This implementation solves the program over all
    pairs and triples by column generation with parity cuts, and then by branch and bound (`simplex_matching`). If there
    are two sensitive values, it solves a bipartite matching instead. The search starts from the d-approximation for
    k-anonymity or from TP+, split as in Lemma 2, and never returns a worse partition. If there are more than 20,000
    distinct rows or more than 62 quasi-identifiers, the start itself is returned.

    Examples
    --------
    >>> import polars as pl
    >>> import shoal
    >>> table = pl.DataFrame({"age": [30, 30, 47, 48], "zip": ["A", "A", "B", "B"]})
    >>> release = shoal.anonymize(table, quasi_identifiers=["age", "zip"], k=2, algorithm=shoal.algorithms.Matching())
    >>> release.certificate
    Certificate(algorithm='matching', stars=2, optimal=True)
    """

    time_limit: Real | float | None = field(
        default=60, metadata=parameter(Optional(RationalIn(low=Fraction(0))), **TIME_LIMIT)
    )
    capabilities: ClassVar[Capabilities] = Capabilities(sums_columns=True)
    """Capabilities of the algorithm."""

    name: ClassVar[str] = "matching"
    """Name of the algorithm in requests and certificates."""

    def unsupported(self, requirement: Requirement) -> str | None:
        """Explain why a requirement cannot be served, in words that follow "because"."""
        form = requirement.frequency_form()
        if form is not None and form.k <= 2 and form.l in (1, 2):
            return None
        return (
            "it serves k = 2, and l = 2 in the frequency variant on one sensitive attribute: only there do groups of "
            "two and three rows suffice"
        )

    def group_rows(self, problem: Problem) -> Partition:
        """Find the groups; see `Algorithm.partition`."""
        form = problem.frequency_form
        problem.progress(self.name, 0, 1)
        types = _RowTypes.of(problem.table, diverse=form.l > 1)
        if form.k == 1 and form.l == 1:
            # Every row alone is acceptable.
            alone = single_groups(np.repeat(np.arange(len(types.codes)), np.diff(types.starts)))
            cover = Cover(groups=alone, cost=0, bound=0, proof=Fact("costs_nonnegative"), complete=True)
        elif len(types.codes) > _MAX_TYPES or types.codes.shape[1] > MAX_ATTRIBUTES:
            start = _start_algorithm(types).partition(problem)
            promise = Fact("one_after_other", one=start.guarantee.promise, other=Fact("too_large_to_search"))
            return replace(start, guarantee=replace(start.guarantee, promise=promise))
        else:
            cover = self._cover(problem, types)
        groups = types.groups_of_rows(cover.groups)
        problem.progress(self.name, 1, 1)
        details = {"distinct_rows": len(types.codes), "pairs_and_triples": len(cover.groups)}
        return Partition.of(groups, _guarantee(cover), details=details)

    def _cover(self, problem: Problem, types: _RowTypes) -> Cover:
        """Find the cheapest cover of the table by pairs and triples."""
        cover = CoverProblem(
            codes=types.codes,
            counts=np.diff(types.starts),
            prices=GroupPrices.of_weights([1] * types.codes.shape[1]),
            values=types.values,
        )
        # With two values, the problem is an assignment problem.
        if types.values is not None and len(np.unique(types.values)) == 2:
            paired = cheapest_pairs(cover)
            if paired is not None:
                return paired
        # Otherwise start from a heuristic's partition, split into pairs and triples.
        start = split_cover(cover, types.types_by_group(_start_algorithm(types).partition(problem).groups))
        limit = None if self.time_limit is None else float(self.time_limit)
        return cheapest_cover(cover, start=start, time_limit=limit, progress=problem.progress)


def _start_algorithm(types: _RowTypes) -> Algorithm:
    """Choose the algorithm whose partition is the start of the search."""
    return MApproximation() if types.values is None else ThreePhase()


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _RowTypes:
    """Types of interchangeable rows: equivalence classes, or their cells of one sensitive value if values count."""

    order: NDArray[np.int32]
    """The rows, type after type."""
    starts: NDArray[np.int64]
    """Start of each type in `order`, shape (types + 1,)."""
    codes: NDArray[np.int32]
    """Quasi-identifiers of each type."""
    values: NDArray[np.int64] | None
    """Sensitive value of each type; None if values do not count."""

    @classmethod
    def of(cls, table: Table, *, diverse: bool) -> _RowTypes:
        classes = table.classes
        starts = classes.cell_starts if diverse else classes.cell_starts[classes.class_starts]
        firsts = classes.order[starts[:-1]]
        columns = [column.codes[firsts].astype(np.int32) for column in table.quasi_identifiers]
        return cls(
            order=classes.order,
            starts=starts.astype(np.int64),
            codes=np.column_stack([np.empty((len(firsts), 0), dtype=np.int32), *columns]),
            values=classes.cell_values.astype(np.int64) if diverse else None,
        )

    def types_by_group(self, groups: NDArray[np.int32]) -> list[NDArray[np.int64]]:
        """List the row types of each group, in an order that depends on the contents of the groups only."""
        types = np.repeat(np.arange(len(self.codes)), np.diff(self.starts))
        group = groups[self.order]
        by_group = np.lexsort((types, group))
        members = np.split(types[by_group], np.flatnonzero(np.diff(group[by_group])) + 1)
        return sorted(members, key=lambda one: one.tolist())

    def groups_of_rows(self, groups: NDArray[np.int64]) -> NDArray[np.int32]:
        """Compute the group of each row; groups within one equivalence class are merged."""
        # Sort the groups, so that their numbers depend on their contents only.
        groups = groups[np.lexsort(groups.T[::-1])]
        whole = np.where(groups >= 0, groups, groups[:, :1])
        alike = (self.codes[whole] == self.codes[groups[:, :1]]).all(axis=(1, 2))
        # Classes are numbered by their first type: types with equal quasi-identifiers are adjacent.
        new_class = np.concatenate(([True], (self.codes[1:] != self.codes[:-1]).any(axis=1)))
        label = np.where(alike, np.cumsum(new_class)[groups[:, 0]], len(self.codes) + 1 + np.arange(len(groups)))
        number = np.unique(label, return_inverse=True)[1].astype(np.int32)
        # Rows of a type are assigned to its groups in order.
        group, _ = np.nonzero(groups >= 0)
        by_type = np.argsort(groups[groups >= 0], kind="stable")
        of_row = np.empty(len(self.order), dtype=np.int32)
        of_row[self.order] = number[group[by_type]]
        return of_row


def _guarantee(cover: Cover) -> Guarantee:
    assert cover.cost is not None
    if cover.optimal:
        return Guarantee(promise=Fact("proven_optimal"), stars_ratio=1, stars_bound=cover.cost, proof=cover.proof)
    if cover.bound == 0:
        return Guarantee(promise=Fact("nothing_proven"))
    return Guarantee(
        promise=Fact("search_stopped", more=cover.cost - cover.bound),
        stars_bound=cover.bound,
        proof=cover.proof,
    )
