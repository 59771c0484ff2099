"""Mondrian: multidimensional cuts at the median (LeFevre, DeWitt, Ramakrishnan 2006).

References
----------
.. [1] K. LeFevre, D. J. DeWitt, R. Ramakrishnan: Mondrian multidimensional k-anonymity. ICDE 2006.
   https://doi.org/10.1109/ICDE.2006.101
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shoal._validation import Boolean, parameter, validate_declared
from shoal.algorithms.base import Guarantee, Partition, monotone_only
from shoal.algorithms.common.compiled import compile_requirement
from shoal.algorithms.common.places import flat_trees
from shoal.algorithms.mondrian.cuts_kernel import (
    LEAVES,
    OPEN,
    ROWS_DONE,
    STACK_DEPTH,
    Domains,
    Parts,
    cut_records,
)
from shoal.algorithms.mondrian.tree_cuts_kernel import SCRATCH, cut_along_trees
from shoal.models import RuleKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.algorithms.base import Problem
    from shoal.algorithms.common.compiled import CompiledRequirement
    from shoal.models import Requirement
    from shoal.table import Column

__all__ = ["Mondrian"]

_RECORDS_PER_CALL = 20_000_000
"""Records that the kernel looks at before it lets the caller hear of it: well below a second."""


@dataclass(frozen=True)
class Mondrian:
    """Cut the table at the median of its widest attribute, and each part again, while both sides are acceptable.

    Parameters
    ----------
    relaxed : bool, default False
        Whether rows with the same value may go to either side of a cut. Strictly, they stay together.

    Notes
    -----
    The width of an attribute in a part is the range of its numbers there, relative to the range in the table; for an
    ordered attribute without numbers the range of its ranks; for an unordered one the number of different values, which
    is what a set of them loses. A missing value lies a whole range beyond all others. The values of an unordered
    attribute are cut in the order of their dictionary. The paper's choice points, and what is added to them:

    * where the widest attribute has no allowed cut, the others follow, widest first;
    * strictly, the cut is the one between two values nearest to the median; where it is not allowed, a few others
      are tried, nearest to the median first. The paper tries the median alone;
    * relaxed, the rows with the median value are shared out so that the sides are equal; where that is not allowed,
      they are shared out evenly in their order, and at last the strict cuts are tried;
    * a cut is allowed when both sides satisfy the requirement, whatever monotone models it is made of; the paper asks
      for k rows on both sides.

    Where values become nodes of a hierarchy, some of this differs, and a table without hierarchies is cut as above:

    * the width of an attribute with a hierarchy is the penalty of the lowest common ancestor of its values in the part,
      and a cut divides the children of that ancestor: every child that is acceptable alone becomes a part, the others
      stay together, and where these are not acceptable, the smallest of the first join them;
    * of the cuts that the attributes allow, the one is taken that lowers the penalty most for each bit of entropy of
      the split, not the widest attribute's;
    * where no subtrees can be parted, cuts between values side by side in the hierarchy follow, relaxed ones too.
    """

    divisible: ClassVar[bool] = True
    """Parts of a table may be solved one after another, where it does not fit into memory."""

    relaxed: bool = field(
        default=False,
        metadata=parameter(Boolean(), "Whether rows with the same value may go to either side of a cut."),
    )

    def __post_init__(self) -> None:
        validate_declared("mondrian", self)

    @property
    def name(self) -> str:
        """`mondrian`, or `mondrian-relaxed`."""
        return "mondrian-relaxed" if self.relaxed else "mondrian"

    def parameters(self) -> dict[str, Any]:
        """Return the parameters as they appear in a certificate."""
        return {"relaxed": self.relaxed}

    def unsupported(self, requirement: Requirement) -> str | None:
        """Return why a requirement cannot be served, in words that follow "because"."""
        return monotone_only(requirement)

    def partition(self, problem: Problem) -> Partition:
        """Partition the rows; see `Algorithm.partition`."""
        table = problem.table
        groups = np.zeros(table.rows, dtype=np.int32)
        count = min(table.rows, 1)
        if count and table.quasi_identifiers:
            count = self._cut(problem, groups)
        return Partition(
            groups=groups,
            count=count,
            guarantee=Guarantee(text="Mondrian is a heuristic: nothing is promised about the cost."),
            details={"cuts": max(count - 1, 0), "largest_group": int(np.bincount(groups).max(initial=0))},
        )

    def _cut(self, problem: Problem, groups: NDArray[np.int32]) -> int:
        """Run the cuts in stretches; fill in the group of each row and return how many groups there are."""
        rows, compiled = problem.table.rows, compile_requirement(problem.table, problem.requirement)
        trees = flat_trees(problem.levels, every=False) if problem.hierarchies else None
        records = _records(problem, compiled)
        spare = np.empty_like(records)
        domains, asked = _domains(problem.table.quasi_identifiers), compiled.asked
        waiting = STACK_DEPTH if trees is None else rows // compiled.smallest + 2
        parts = Parts(np.zeros((waiting, 2), dtype=np.int64), np.zeros(4, dtype=np.int64), groups)
        parts.stack[0, 1] = rows
        parts.state[OPEN] = 1
        if trees is not None:
            scratch = np.full((SCRATCH, rows), -1, dtype=np.int32)
        while parts.state[OPEN]:
            problem.progress(self.name, int(parts.state[ROWS_DONE]), rows)
            if trees is None:
                cut_records(records, spare, domains, asked, self.relaxed, parts, _RECORDS_PER_CALL)
            else:
                cut_along_trees(
                    records, spare, domains, trees, scratch, asked, self.relaxed, parts, _RECORDS_PER_CALL
                )  # fmt: skip
        problem.progress(self.name, rows, rows)
        return int(parts.state[LEAVES])


def _records(problem: Problem, compiled: CompiledRequirement) -> NDArray[np.int32]:
    """Return the rows as the kernel wants them, sorted by class, so that nothing depends on the order of the table."""
    table = problem.table
    order = table.classes.order
    sensitive = compiled.codes.shape[1] if (compiled.rules[:, 0] != RuleKind.SIZE).any() else 0
    d = len(table.quasi_identifiers)
    records = np.empty((table.rows, d + sensitive + 1), dtype=np.int32)
    for place, column in enumerate(table.quasi_identifiers):
        records[:, place] = column.codes[order]
        if column.name in problem.hierarchies:
            records[:, place] = problem.levels[place].places[records[:, place]]
    for place in range(sensitive):
        records[:, d + place] = compiled.codes[order, place]
    records[:, -1] = order
    return records


def _domains(columns: tuple[Column, ...]) -> Domains:
    """Return where the values of all attributes lie, where each attribute starts there, and how wide its domain is."""
    positions = [_column_positions(column) for column in columns]
    offsets = np.concatenate(([0], np.cumsum([len(part) for part in positions]))).astype(np.int64)
    ranges = np.zeros(len(columns))
    for place, (column, part) in enumerate(zip(columns, positions, strict=True)):
        if column.ordered or column.numbers is not None:
            present = part[np.isfinite(part)]
            # Numbers that no float tells apart, or a single one, have no width; what is missing is apart from them.
            ranges[place] = np.ptp(present) or 1.0 if len(present) else 1.0
    marks = np.full(offsets[-1], -1, dtype=np.int32)
    return Domains(np.concatenate(positions), offsets, ranges, marks)


def _column_positions(column: Column) -> NDArray[np.float64]:
    """Return where each value lies: its number, halved so that no difference is infinite, else its rank."""
    present = column.size - column.has_missing
    if column.numbers is None:
        places = np.arange(present, dtype=np.float64)
    else:
        places = np.array([float(number) for number in column.numbers], dtype=np.float64) / 2
    return np.append(places, np.inf) if column.has_missing else places
