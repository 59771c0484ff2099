"""Exact dynamic program: the fewest stars under any conjunction of monotone models, for tables of few distinct rows.

Interchangeable rows are of one type. Groups are vectors of counts of types, numbered in mixed radix. If all rows are
distinct, this is the subset program of Liang and Yuan 2013, Theorem 8, with 3^n steps.

References
----------
.. [1] H. Liang, H. Yuan: On the complexity of t-closeness anonymization and related problems. DASFAA 2013, LNCS 7825,
   pages 331-345. https://doi.org/10.1007/978-3-642-37487-6_26
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from math import prod
from operator import mul
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal._core.progress import Progress, silent
from shoal._core.validation import Integer, parameter
from shoal.algorithms.base import Algorithm, Capabilities, Guarantee, Partition, Problem
from shoal.algorithms.common.compiled import populations_of
from shoal.algorithms.common.row_types import RowTypes, counted_groups, one_value
from shoal.algorithms.exact.subsets_kernel import (
    NEVER,
    cheapest_covers,
    cheapest_first_group,
    close_vectors,
    price_groups,
)
from shoal.errors import InternalError, UnsupportedError
from shoal.models import GroupModel
from shoal.models.base import RuleKind
from shoal.models.population import Population

_STEPS_PER_CALL = 1 << 27
"""Steps between two progress reports (which allow an interrupt), about a quarter of a second."""
_SECONDS_PER_STEP = 2e-9
"""Duration of a step, for estimates."""
_BYTES_PER_STATE = 8
"""Memory of a set of rows."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class SubsetProgram:
    """The dynamic program for rows of a few types.

    The order of the types is free; the program is fastest if the last type has the fewest rows.
    """

    counts: NDArray[np.int64]
    """Rows of each type, at least 1."""
    codes: NDArray[np.int32]
    """Quasi-identifiers of each type, shape (types, d), as codes of at least 0."""
    weights: NDArray[np.int64]
    """Contribution of one row of each type to the number of the vector of sensitive counts, shape (types, q)."""

    @property
    def states(self) -> int:
        """Number of distinct sets of rows."""
        return prod(int(count) + 1 for count in self.counts)

    @property
    def steps(self) -> int:
        """Number of pairs of a set and a group within it that the program compares."""
        counts = [int(count) for count in self.counts]
        if not counts:
            return 0
        *others, last = counts
        # The first group takes a row of the last type: of the sets with all these rows only the whole table occurs.
        below = prod((count + 1) * (count + 2) // 2 for count in others)
        return below * (last * (last + 1) // 2) + prod(count + 1 for count in counts)

    @property
    def seconds(self) -> float:
        """Estimated duration of the search, without the time that the models take."""
        return self.steps * _SECONDS_PER_STEP

    def solve(
        self, acceptable: Sequence[NDArray[np.bool_]], *, step: str = "solve", progress: Progress = silent
    ) -> tuple[int, list[NDArray[np.int64]]] | None:
        """Find a partition into acceptable groups with the fewest stars.

        Parameters
        ----------
        acceptable : sequence of bool arrays
            For each sensitive attribute in use: entry i is True if a group with the vector of counts numbered i is
            acceptable. A group must be acceptable for every attribute.
        step : str
            Name of the step in progress reports.
        progress : callable
            Called with the steps done; an exception that it raises ends the search.

        Returns
        -------
        (int, list of int64 arrays) or None
            The number of stars, and the rows of each group by type; None if there is no such partition.
        """
        prices, best = self._prices(acceptable), np.empty(self.states, dtype=np.int32)
        last = self.states - 1
        # The first group holds a row of the last type, so the rest lacks one: no other sets are needed.
        needed = int(self.counts[-1]) * (self.states // (int(self.counts[-1]) + 1))
        size = max(needed * _STEPS_PER_CALL // max(self.steps, 1), 1)
        for first in range(0, needed, size):
            progress(step, first, needed)
            cheapest_covers(self._low_parts, self._high_parts, prices, best, first, min(first + size, needed))
        cheapest_covers(self._low_parts, self._high_parts, prices, best, last, last + 1)
        progress(step, needed, needed)
        cost = int(best[last])
        if cost == NEVER:
            return None
        # Recover the groups, one first group after another.
        groups = []
        state = last
        while state:
            group = int(cheapest_first_group(self._low_parts, self._high_parts, prices, best, state))
            groups.append(self._digits(group))
            state -= group
        return cost, groups

    @cached_property
    def _cut(self) -> int:
        """Number of types in the low part: its states are about the square root of all states."""
        sizes = np.cumsum(np.log(self.counts + 1.0))
        return int(np.searchsorted(sizes, sizes[-1] / 2)) if len(sizes) else 0

    @cached_property
    def _low_parts(self) -> _Parts:
        return _parts(self.counts[: self._cut])

    @cached_property
    def _high_parts(self) -> _Parts:
        return _parts(self.counts[self._cut :])

    def _prices(self, acceptable: Sequence[NDArray[np.bool_]]) -> NDArray[np.int32]:
        low, high = slice(None, self._cut), slice(self._cut, None)
        weights = np.column_stack((np.ones(len(self.counts), dtype=np.int64), self.weights))
        prices = np.empty(self.states, dtype=np.int32)
        price_groups(
            _shared(self.counts[low], self.codes[low]),
            _shared(self.counts[high], self.codes[high]),
            _sums(self.counts[low], weights[low]),
            _sums(self.counts[high], weights[high]),
            np.concatenate(([0], np.cumsum([len(table) for table in acceptable])))[:-1].astype(np.int64),
            np.concatenate([np.ones(0, dtype=np.bool_), *acceptable]),
            prices,
        )
        return prices

    def _digits(self, state: int) -> NDArray[np.int64]:
        digits = np.empty(len(self.counts), dtype=np.int64)
        for place, count in enumerate(self.counts.tolist()):
            state, digits[place] = divmod(state, count + 1)
        return digits


_Parts: TypeAlias = "tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]"


def _parts(counts: NDArray[np.int64]) -> _Parts:
    """List for every state the states that are not larger in any digit, in the form that the kernels use."""
    parts = [np.zeros(1, dtype=np.int32)]
    without = [0]
    for count in counts.tolist():
        radix = len(parts)
        for digit in range(1, count + 1):
            for rest in range(radix):
                # The parts of the rest, with 0, 1, ... rows of this type.
                parts.append(np.concatenate([parts[rest] + np.int32(mine * radix) for mine in range(digit + 1)]))
                without.append(len(parts[rest]))
    starts = np.concatenate(([0], np.cumsum([len(part) for part in parts]))).astype(np.int64)
    return starts, np.concatenate(parts), starts[:-1] + np.array(without, dtype=np.int64)


def _sums(counts: NDArray[np.int64], weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Compute for every state the sum of the weights of its rows, for each column of weights."""
    sums = np.zeros((1, weights.shape[1]), dtype=np.int64)
    for count, weight in zip(counts.tolist(), weights, strict=True):
        digits = np.arange(count + 1)[:, np.newaxis, np.newaxis]
        sums = (sums + digits * weight).reshape(-1, weights.shape[1])
    return sums


def _shared(counts: NDArray[np.int64], codes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Find for every state and column the code that all its rows share: -1 if they differ, -2 if it has no row."""
    shared = np.full((1, codes.shape[1]), -2, dtype=np.int32)
    for count, code in zip(counts.tolist(), codes, strict=True):
        joined = np.where((shared == -2) | (shared == code), code, np.int32(-1))
        shared = np.concatenate((shared, *[joined] * count)).astype(np.int32)
    return shared


_MAX_STEPS = 10**11
"""Default limit on the number of steps: some minutes."""
_MAX_STATES = 1 << 26
"""Largest number of sets of rows: half a gigabyte of memory."""
_VECTORS_PER_CALL = 1 << 15
"""Number of vectors of counts that the models judge in one call; it bounds the memory."""


@dataclass(frozen=True)
class Exact(Algorithm):
    """Dynamic programming over all subsets of the rows: Theorem 8 of Liang and Yuan, for any monotone models.

    Parameters
    ----------
    most_steps : int, default 10**11
        Tables that need more steps than this, at least 1, are refused; a step takes one or two nanoseconds. n distinct
        rows need about 3**(n - 1) steps: less than a second for 18 rows, two seconds for 20, some minutes for 24.

    Notes
    -----
    The paper halves the table recursively, in 2**O(n) time with a large constant. This implementation instead computes
    the cost of each subset from the group of one of its rows, in at most 3**n steps and with arrays of 2**n numbers.
    Sets of rows are vectors of counts of distinct rows, so identical rows are counted only, but they may still be split
    between groups. The models themselves decide whether a group is acceptable, exactly and once per vector of sensitive
    counts.

    Examples
    --------
    >>> import polars as pl
    >>> import shoal
    >>> table = pl.DataFrame({"age": [30, 30, 47, 48], "zip": ["A", "A", "B", "B"]})
    >>> release = shoal.anonymize(table, quasi_identifiers=["age", "zip"], k=2, algorithm=shoal.algorithms.Exact())
    >>> release.certificate
    Certificate(algorithm='exact', stars=2, optimal=True)
    """

    most_steps: int = field(
        default=_MAX_STEPS,
        metadata=parameter(Integer(low=1), "Tables that take more steps (of about 1 ns) are refused."),
    )
    capabilities: ClassVar[Capabilities] = Capabilities(sums_columns=True)
    """Capabilities of the algorithm."""

    name: ClassVar[str] = "exact"
    """Name of the algorithm in requests and certificates."""

    def group_rows(self, problem: Problem) -> Partition:
        """Find the groups; see `Algorithm.partition`.

        Raises
        ------
        UnsupportedError
            If the table is too large. The error is raised before the search, with an estimate of its cost.
        """
        types = RowTypes.of(problem.table, problem.requirement)
        # The search is quickest if the last type has the fewest rows.
        order = np.argsort(-types.counts, kind="stable")
        totals = [column.size for column in (problem.table.sensitive[place] for place in types.attributes)]
        counted = [
            np.bincount(types.values[:, j], weights=types.counts, minlength=size).astype(np.int64)
            for j, size in enumerate(totals)
        ] or [np.array([problem.table.rows], dtype=np.int64)]
        # Refuse large tables before any large array is allocated.
        self._check_size(types)
        values = types.values if types.attributes else np.zeros((len(order), 1), dtype=np.int32)
        program = SubsetProgram(
            counts=types.counts[order],
            codes=np.ascontiguousarray(types.codes[order]),
            weights=np.column_stack([_radices(total)[values[order, j]] for j, total in enumerate(counted)]),
        )
        # Solve, and translate the groups back to the original order of the types.
        solved = program.solve(
            list(_acceptance_by_attribute(problem, types.attributes, counted)),
            step=self.name,
            progress=problem.progress,
        )
        if solved is None:
            raise InternalError("a table that is acceptable as one group has no acceptable partition")
        stars, groups = solved
        unordered = np.empty((len(groups), len(order)), dtype=np.int64)
        unordered[:, order] = groups
        return Partition(
            groups=types.groups(list(unordered)),
            count=len(groups),
            guarantee=Guarantee(
                promise=Fact("proven_optimal"), stars_ratio=1, stars_bound=stars, proof=Fact("dynamic_program")
            ),
            details={"distinct_rows": len(order), "sets": program.states, "steps": program.steps},
        )

    def _check_size(self, types: RowTypes) -> None:
        """Refuse tables that would take too much time or memory."""
        counts = np.sort(types.counts)[::-1]
        if float(np.log2(counts + 1.0).sum()) < 60:
            program = SubsetProgram(
                counts=counts, codes=types.codes[:0], weights=np.zeros((len(counts), 0), dtype=np.int64)
            )
            if program.steps <= self.most_steps and program.states <= _MAX_STATES:
                return
            megabytes = max(program.states * _BYTES_PER_STATE / 2**20, 1)
            estimate = (
                f"about {_format_duration(program.seconds)} and {megabytes:,.0f} MB for {program.steps:.1e} steps, and "
                f"it stops at {self.most_steps:.1e} steps or {_MAX_STATES:.1e} sets of rows"
            )
        else:
            estimate = f"2**{float(np.log2(counts + 1.0).sum()):.0f} sets of rows, and it stops at {_MAX_STATES:.1e}"
        raise UnsupportedError(
            f"The algorithm 'exact' cannot serve this table of {int(counts.sum())} rows, {len(counts)} of them "
            f"distinct: it would take {estimate}. Coarsen quasi-identifiers so that rows become equal, or take 'milp', "
            "which proves an optimum or a gap, or an algorithm for large tables."
        )


def _radices(totals: NDArray[np.int64]) -> NDArray[np.int64]:
    """Compute the place value of each sensitive value in the mixed-radix number of a vector of counts."""
    return np.array(list(accumulate((int(total) + 1 for total in totals[:-1]), mul, initial=1)), dtype=np.int64)


def _acceptance_by_attribute(
    problem: Problem, attributes: Sequence[int], counted: Sequence[NDArray[np.int64]]
) -> Iterator[Any]:
    """Decide for each attribute which vectors of counts are acceptable, by the number of the vector."""
    models = problem.requirement.group_models
    # Models such as k-anonymity read no sensitive attribute: only the size of a group counts.
    if not attributes:
        yield _acceptable_vectors(models, one_value(populations_of(problem.table)[0]), counted[0])
        return
    tables = populations_of(problem.table)
    # Models without a sensitive attribute are judged once, with the first attribute.
    for place, position in enumerate(attributes):
        judges = [model for model in models if position in problem.requirement.positions_of(model)]
        yield _acceptable_vectors(judges, tables[position], counted[place])


def _acceptable_vectors(
    models: Sequence[GroupModel], table: Population, totals: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Test each vector of counts up to that of the table: True if all models accept such a group."""
    radices = _radices(totals)
    size = prod(int(total) + 1 for total in totals)
    accepted = np.zeros(size, dtype=np.bool_)
    rules = [model.rules(table) for model in models]
    # In blocks, so that the memory is bounded; a rejected vector is not judged again.
    for first in range(1, size, _VECTORS_PER_CALL):
        numbers = np.arange(first, min(first + _VECTORS_PER_CALL, size), dtype=np.int64)
        for model, clauses in zip(models, rules, strict=True):
            if len(clauses) == 1 and clauses[0].kind is RuleKind.CLOSE_METRIC and clauses[0].exact:
                # The model would solve a transport problem per vector; the compiled clause is proven to agree.
                rule = clauses[0]
                numbers = numbers[close_vectors(numbers, radices, totals, rule.a, rule.b, rule.c, rule.bounds)]
            elif len(numbers):
                vectors = numbers[:, np.newaxis] // radices % (totals + 1)
                numbers = numbers[model.acceptable(counted_groups(vectors, table))]
        accepted[numbers] = True
    return accepted


def _format_duration(seconds: float) -> str:
    """Format a duration in the largest unit that fits."""
    for unit, length in (("years", 31_557_600), ("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}" if seconds < 1000 * length else f"{seconds / length:.0e} {unit}"
    return f"{seconds:.0f} seconds"
