"""The fewest stars under any conjunction of monotone models, proven, for tables of few distinct rows.

References
----------
.. [1] H. Liang, H. Yuan: On the complexity of t-closeness anonymization and related problems. DASFAA 2013, LNCS 7825,
   pages 331-345. https://doi.org/10.1007/978-3-642-37487-6_26
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate
from math import prod
from operator import mul
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shoal._core.facts import Fact
from shoal._core.validation import Integer, parameter
from shoal.algorithms.base import Algorithm, Guarantee, Partition
from shoal.algorithms.common.compiled import populations_of
from shoal.algorithms.common.row_types import RowTypes, counted_groups, one_value
from shoal.algorithms.exact.subsets import SubsetProgram
from shoal.algorithms.exact.subsets_kernel import close_vectors
from shoal.errors import InternalError, UnsupportedError
from shoal.models.base import RuleKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from shoal.algorithms.base import Problem
    from shoal.models import GroupModel, Population

__all__ = ["Exact"]

_MOST_STEPS = 10**11
"""Default limit on the steps of a table: some minutes."""
_MOST_STATES = 1 << 26
"""Largest number of sets of rows of a table: half a gigabyte."""
_VECTORS_AT_ONCE = 1 << 15
"""Number of vectors of counts that the models judge in one call, which bounds the memory."""


@dataclass(frozen=True)
class Exact(Algorithm):
    """Dynamic programming over all subsets of the rows: Theorem 8 of Liang and Yuan, for any monotone models.

    Parameters
    ----------
    most_steps : int, default 10**11
        Tables that take more steps than this, at least 1, are refused; a step takes one or two nanoseconds. n distinct
        rows take about 3**(n - 1) steps: 18 of them less than a second, 20 two seconds, 24 some minutes.

    Notes
    -----
    The paper halves the table recursively, in 2**O(n) time with a large constant; here the cost of each subset comes
    from the group of one of its rows, 3**n steps at most with tables of 2**n numbers. Identical rows are counted: sets
    of rows are vectors of counts, which may still be split between groups. The models themselves decide exactly, once
    for every vector of sensitive counts, if a group is acceptable.
    """

    most_steps: int = field(
        default=_MOST_STEPS,
        metadata=parameter(Integer(low=1), "Tables that take more steps (of about 1 ns) are refused."),
    )
    name: ClassVar[str] = "exact"
    """Name of the algorithm in requests and certificates."""

    def group_rows(self, problem: Problem) -> Partition:
        """Find the groups; see `Algorithm.partition`.

        Raises
        ------
        UnsupportedError
            If the table is too large: with an estimate, before the search.
        """
        types = RowTypes.of(problem.table, problem.requirement)
        # The search is quickest where the last type has the fewest rows.
        order = np.argsort(-types.counts, kind="stable")
        totals = [column.size for column in (problem.table.sensitive[place] for place in types.attributes)]
        counted = [
            np.bincount(types.values[:, j], weights=types.counts, minlength=size).astype(np.int64)
            for j, size in enumerate(totals)
        ] or [np.array([problem.table.rows], dtype=np.int64)]
        # Refuse before any large array is made.
        self._check_size(types)
        values = types.values if types.attributes else np.zeros((len(order), 1), dtype=np.int32)
        program = SubsetProgram(
            counts=types.counts[order],
            codes=np.ascontiguousarray(types.codes[order]),
            weights=np.column_stack([_radices(total)[values[order, j]] for j, total in enumerate(counted)]),
        )
        # Solve, and translate the groups back to the original order of the types.
        solved = program.solve(
            list(_judged(problem, types.attributes, counted)), step=self.name, progress=problem.progress
        )
        if solved is None:
            raise InternalError("a table that is acceptable as one group has no acceptable partition")
        stars, groups = solved
        unordered = np.empty((len(groups), len(order)), dtype=np.int64)
        unordered[:, order] = groups
        return Partition(
            groups=types.groups(list(unordered)),
            count=len(groups),
            guarantee=_guarantee(stars),
            details={"distinct_rows": len(order), "sets": program.states, "steps": program.steps},
        )

    def _check_size(self, types: RowTypes) -> None:
        """Refuse tables that would take too much time or memory."""
        counts = np.sort(types.counts)[::-1]
        if float(np.log2(counts + 1.0).sum()) < 60:
            program = SubsetProgram(
                counts=counts, codes=types.codes[:0], weights=np.zeros((len(counts), 0), dtype=np.int64)
            )
            if program.steps <= self.most_steps and program.states <= _MOST_STATES:
                return
            estimate = (
                f"about {_spoken(program.seconds)} and {_megabytes(program.bytes)} MB for {program.steps:.1e} steps, "
                f"and it stops at {self.most_steps:.1e} steps or {_MOST_STATES:.1e} sets of rows"
            )
        else:
            estimate = f"2**{float(np.log2(counts + 1.0).sum()):.0f} sets of rows, and it stops at {_MOST_STATES:.1e}"
        raise UnsupportedError(
            f"The algorithm 'exact' cannot serve this table of {int(counts.sum())} rows, {len(counts)} of them "
            f"distinct: it would take {estimate}. Coarsen quasi-identifiers so that rows become equal, or take 'milp', "
            "which proves an optimum or a gap, or an algorithm for large tables."
        )


def _radices(totals: NDArray[np.int64]) -> NDArray[np.int64]:
    """Compute what one row with each value adds to the number of a vector of counts."""
    return np.array(list(accumulate((int(total) + 1 for total in totals[:-1]), mul, initial=1)), dtype=np.int64)


def _judged(problem: Problem, attributes: Sequence[int], counted: Sequence[NDArray[np.int64]]) -> Iterator[Any]:
    """Decide for each attribute and vector of counts if a group is acceptable, by the number of the vector."""
    models = problem.requirement.group_models
    if not attributes:
        yield _acceptable_vectors(models, one_value(populations_of(problem.table)[0]), counted[0])
        return
    tables = populations_of(problem.table)
    for place, position in enumerate(attributes):
        asked = [model for model in models if model.needs_sensitive or place == 0]
        yield _acceptable_vectors(asked, tables[position], counted[place])


def _acceptable_vectors(
    models: Sequence[GroupModel], table: Population, totals: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Test for each vector of counts up to the table's that all models accept such a group."""
    radices = _radices(totals)
    size = prod(int(total) + 1 for total in totals)
    accepted = np.zeros(size, dtype=np.bool_)
    rules = [model.rules(table) for model in models]
    # In blocks, so that the memory is bounded; a rejected vector is not judged again.
    for first in range(1, size, _VECTORS_AT_ONCE):
        numbers = np.arange(first, min(first + _VECTORS_AT_ONCE, size), dtype=np.int64)
        for model, clauses in zip(models, rules, strict=True):
            if len(clauses) == 1 and clauses[0].kind is RuleKind.CLOSE_METRIC and clauses[0].exact:
                # Transports take long: the compiled clause decides here; it is known to agree with the model.
                rule = clauses[0]
                numbers = numbers[close_vectors(numbers, radices, totals, rule.a, rule.b, rule.c, rule.bounds)]
            elif len(numbers):
                vectors = numbers[:, np.newaxis] // radices % (totals + 1)
                numbers = numbers[model.acceptable(counted_groups(vectors, table))]
        accepted[numbers] = True
    return accepted


def _guarantee(stars: int) -> Guarantee:
    return Guarantee(
        promise=Fact("proven_optimal"),
        stars_ratio=1,
        stars_bound=stars,
        proof=Fact("dynamic_program"),
    )


def _spoken(seconds: float) -> str:
    """Format a duration in the largest unit that fits."""
    for unit, length in (("years", 31_557_600), ("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}" if seconds < 1000 * length else f"{seconds / length:.0e} {unit}"
    return f"{seconds:.0f} seconds"


def _megabytes(size: int) -> str:
    return f"{max(size / 2**20, 1):,.0f}"
