"""SABRE: groups that draw from every bucket of sensitive values in proportion (Cao, Karras, Kalnis, Tan 2011).

References
----------
.. [1] J. Cao, P. Karras, P. Kalnis, K.-L. Tan: SABRE: a Sensitive Attribute Bucketization and REdistribution framework
   for t-closeness. The VLDB Journal 20(1), pages 59-81, 2011. https://doi.org/10.1007/s00778-010-0191-9
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shoal._validation import Integer, validate
from shoal.algorithms.base import Guarantee, Partition
from shoal.algorithms.compiled import compile_requirement, table_counts
from shoal.algorithms.groups_at_work import GroupsAtWork

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.algorithms.base import Problem
    from shoal.models import Requirement

__all__ = ["Sabre"]

_ROUNDS = 60
"""Temperatures of the search, from the first to the last."""
_ROUNDS_PER_CUT = 6
_FIRST_CUT = 6
_TEMPERATURES = (0.5, 0.03)
"""In losses of one attribute of one row."""
_POWERS = (0.7, 0.8)
"""The first power of the smoothed loss, and the share of the search after which it is 0: the loss itself."""
_REACH = 10
_START = 2
"""The first groups are so many times as large as they could be: what they lose is how they are mixed, and they are cut
as soon as it is less."""
_FAILURES = 0.01
"""Share of dealt groups that may fail, and be joined."""
_FULL_EFFORT = 50_000
"""Rows beyond these get less of the search."""
_LESS = 8


@dataclass(frozen=True)
class Sabre:
    """Deal the rows out so that every group gets its share of all sensitive values, then exchange what fits better.

    Parameters
    ----------
    effort : int, default 200
        Moves of rows that are tried for each row, fewer in tables of more than 50,000 rows. 0 leaves the groups as they
        were dealt.
    """

    effort: int = 200

    name: ClassVar[str] = "sabre"

    def __post_init__(self) -> None:
        validate("sabre", {"effort": self.effort}, {"effort": Integer(low=0, high=1_000_000)})

    def parameters(self) -> dict[str, Any]:
        """Return the parameters as they appear in a certificate."""
        return {"effort": self.effort}

    def unsupported(self, requirement: Requirement) -> str | None:
        """Return why a requirement cannot be served, in words that follow "because"."""
        if requirement.monotone:
            return None
        return "it serves monotone models only: the union of two acceptable groups must be acceptable"

    def partition(self, problem: Problem) -> Partition:
        """Partition the rows; see `Algorithm.partition`."""
        table = problem.table
        groups = np.zeros(table.rows, dtype=np.int32)
        details: dict[str, Any] = {}
        if table.rows and table.quasi_identifiers:
            groups, details = self._search(problem)
        return Partition(
            groups=groups,
            count=int(groups.max(initial=-1)) + 1,
            guarantee=Guarantee(text="SABRE is a heuristic: nothing is promised about the cost."),
            details=details,
        )

    def _search(self, problem: Problem) -> tuple[NDArray[np.int32], dict[str, Any]]:
        n = problem.table.rows
        rounds = max(1, min(_ROUNDS, n // 8)) if self.effort else 0
        problem.progress(self.name, 0, rounds + 1)
        compiled = compile_requirement(problem.table, problem.requirement)
        work = GroupsAtWork(problem, compiled, _kinds(problem))
        size, before = _deal(work)
        dealt = work.count
        moves = self.effort * (min(n, _FULL_EFFORT) + max(n - _FULL_EFFORT, 0) // _LESS)
        made = 0
        for number in range(rounds):
            problem.progress(self.name, number, rounds + 1)
            done = number / max(rounds - 1, 1)
            if number >= _FIRST_CUT and number % _ROUNDS_PER_CUT == 0:
                work.cut(number // _ROUNDS_PER_CUT)
            temperature = _TEMPERATURES[0] * (_TEMPERATURES[1] / _TEMPERATURES[0]) ** done
            power = max(0.0, _POWERS[0] * (1 - done / _POWERS[1]))
            made += work.exchange(-(-moves // rounds), temperature, power, _REACH)
        work.cut(rounds)
        problem.progress(self.name, rounds + 1, rounds + 1)
        details: dict[str, Any] = {"dealt_groups": dealt, "smallest_dealt_size": size, "dealt_loss": before}
        details |= {"moves": made, "loss": work.loss()}
        return work.groups_of_rows(), details


def _kinds(problem: Problem) -> NDArray[np.int32]:
    """Return a number for what the requirement sees of each row; values that are alike have near numbers.

    Bucketization: a stretch of near numbers is a bucket, whatever its length, since rows are dealt out in their order.
    """
    n = problem.table.rows
    kinds = np.zeros(n, dtype=np.int64)
    if not any(model.needs_sensitive for model in problem.requirement.models):
        return kinds.astype(np.int32)
    for column, counts in zip(problem.table.sensitive, table_counts(problem.table), strict=True):
        ranks = np.empty(column.size, dtype=np.int64)
        ranks[problem.requirement.drawing_order(counts)] = np.arange(column.size)
        _, kinds = np.unique(kinds * column.size + ranks[column.codes], return_inverse=True)
    return kinds.astype(np.int32)


def _deal(work: GroupsAtWork) -> tuple[int, float]:
    """Redistribution: find how small dealt groups may be, and deal out; return that size and the loss."""
    n = work.rows
    size = min(work.smallest, n)
    while size < n and not work.may_be_dealt(n // size, _FAILURES):
        size = max(size + 1, size * 21 // 20)
    count = max(1, int(n // min(_START * size, n)))
    losses = []
    for order in range(work.orders):
        work.deal(count, order)
        losses.append(work.loss())
    work.deal(count, int(np.argmin(losses)))
    return size, min(losses)
