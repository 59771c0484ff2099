"""Mondrian: multidimensional cuts at the median (LeFevre, DeWitt, Ramakrishnan 2006).

References
----------
.. [1] K. LeFevre, D. J. DeWitt, R. Ramakrishnan: Mondrian multidimensional k-anonymity. ICDE 2006.
   https://doi.org/10.1109/ICDE.2006.101
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal._core.validation import Boolean, parameter
from shoal.algorithms.base import Algorithm, Capabilities, Guarantee, Partition, Problem
from shoal.algorithms.common.compiled import CompiledRequirement, compile_requirement
from shoal.algorithms.common.tree_arrays import flat_trees
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
from shoal.models.base import RuleKind
from shoal.table import Column

_RECORDS_PER_CALL = 20_000_000
"""Number of records that the kernel scans between two progress reports: well below a second."""


@dataclass(frozen=True)
class Mondrian(Algorithm):
    """Cut the table at the median of its widest attribute, and each part again, while both sides are acceptable.

    Parameters
    ----------
    relaxed : bool, default False
        Whether rows with the same value may go to either side of a cut. Strictly, they stay together.

    Notes
    -----
    The width of an attribute in a part is the range of its numbers there, relative to the range in the table; for an
    ordered attribute without numbers the range of its ranks; for an unordered attribute the number of distinct values,
    which is the loss of a set of them. A missing value lies a whole range beyond all others. The values of an unordered
    attribute are cut in the order of their dictionary. The paper leaves some choices open; these are ours, and our
    additions:

    * if the widest attribute has no allowed cut, the others follow, widest first;
    * strictly, the cut is the one between two values nearest to the median; if it is not allowed, a few others
      are tried, nearest to the median first. The paper tries the median alone;
    * relaxed, the rows with the median value are shared out so that the sides are equal; if that is not allowed,
      they are shared out evenly in their order, and at last the strict cuts are tried;
    * a cut is allowed if both sides satisfy the requirement, for any monotone models; the paper requires
      k rows on both sides.

    If values become nodes of a hierarchy, some of this differs; a table without hierarchies is cut as above:

    * the width of an attribute with a hierarchy is the penalty of the lowest common ancestor of its values in the part,
      and a cut divides the children of that ancestor: every child that is acceptable alone becomes a part, the others
      stay together, and if these are not acceptable, the smallest of the first join them;
    * of the cuts that the attributes allow, the cut is chosen that lowers the penalty most for each bit of entropy of
      the split, not the widest attribute's;
    * if no subtrees can be separated, cuts between neighbouring values of the hierarchy follow, relaxed cuts too.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.census(400, quasi_identifiers=["age", "gender"], seed=1)
    >>> release = shoal.anonymize(
    ...     people, quasi_identifiers=["age", "gender"], sensitive="income", k=5,
    ...     algorithm=shoal.algorithms.Mondrian(), seed=1
    ... )
    >>> release.certificate.achieved["k"] >= 5
    True
    """

    capabilities: ClassVar[Capabilities] = Capabilities(divisible=True)
    """Capabilities of the algorithm."""

    relaxed: bool = field(
        default=False,
        metadata=parameter(Boolean(), "Whether rows with the same value may go to either side of a cut."),
    )

    @property
    def name(self) -> str:
        """`mondrian`, or `mondrian-relaxed`."""
        return "mondrian-relaxed" if self.relaxed else "mondrian"

    def group_rows(self, problem: Problem) -> Partition:
        """Find the groups; see `Algorithm.partition`."""
        groups = np.zeros(problem.table.rows, dtype=np.int32)
        count = self._cut(problem, groups)
        return Partition(
            groups=groups,
            count=count,
            guarantee=Guarantee(promise=Fact("heuristic", algorithm="Mondrian")),
            details={"cuts": count - 1, "largest_group": int(np.bincount(groups).max())},
        )

    def _cut(self, problem: Problem, groups: NDArray[np.int32]) -> int:
        """Run the cuts in stretches; fill in the group of each row and return the number of groups."""
        rows, compiled = problem.table.rows, compile_requirement(problem.table, problem.requirement)
        trees = flat_trees(problem.levels, every=False) if problem.hierarchies else None
        records = _records(problem, compiled)
        spare = np.empty_like(records)
        domains, predicate = _domains(problem.table.quasi_identifiers), compiled.predicate
        # Cuts into more than two parts need a larger stack.
        waiting = STACK_DEPTH if trees is None else rows // compiled.smallest + 2
        parts = Parts(np.zeros((waiting, 2), dtype=np.int64), np.zeros(4, dtype=np.int64), groups)
        parts.stack[0, 1] = rows
        parts.state[OPEN] = 1
        if trees is not None:
            # A block of a table has all nodes of the table, perhaps more than rows.
            scratch = np.full((SCRATCH, max(rows, int(trees.sizes.max(initial=0)))), -1, dtype=np.int32)
        # The kernel returns after each stretch, so that progress can be reported and the run interrupted.
        while parts.state[OPEN]:
            problem.progress(self.name, int(parts.state[ROWS_DONE]), rows)
            if trees is None:
                cut_records(records, spare, domains, predicate, self.relaxed, parts, _RECORDS_PER_CALL)
            else:
                cut_along_trees(
                    records, spare, domains, trees, scratch, predicate, self.relaxed, parts, _RECORDS_PER_CALL
                )  # fmt: skip
        problem.progress(self.name, rows, rows)
        return int(parts.state[LEAVES])


def _records(problem: Problem, compiled: CompiledRequirement) -> NDArray[np.int32]:
    """Build the records of the kernel, sorted by class, so that nothing depends on the order of the table."""
    table = problem.table
    order = table.classes.order
    # Sensitive codes are copied only if some clause uses them.
    sensitive = compiled.codes.shape[1] if (compiled.rules[:, 0] != RuleKind.SIZE).any() else 0
    d = len(table.quasi_identifiers)
    records = np.empty((table.rows, d + sensitive + 1), dtype=np.int32)
    for place, column in enumerate(table.quasi_identifiers):
        records[:, place] = column.codes[order]
        # Codes of a hierarchy become places of its depth-first walk.
        if column.name in problem.hierarchies:
            records[:, place] = problem.levels[place].places[records[:, place]]
    for place in range(sensitive):
        records[:, d + place] = compiled.codes[order, place]
    records[:, -1] = order
    return records


def _domains(columns: tuple[Column, ...]) -> Domains:
    """Build the positions of all attributes, their starts, and the widths of their domains."""
    positions = [_column_positions(column) for column in columns]
    offsets = np.concatenate(([0], np.cumsum([len(part) for part in positions]))).astype(np.int64)
    ranges = np.zeros(len(columns))
    for place, (column, part) in enumerate(zip(columns, positions, strict=True)):
        if column.ordered or column.numbers is not None:
            present = part[np.isfinite(part)]
            # Numbers that no float distinguishes, or a single number, have no width; missing values are apart from
            # them.
            ranges[place] = np.ptp(present) or 1.0 if len(present) else 1.0
    marks = np.full(offsets[-1], -1, dtype=np.int32)
    return Domains(np.concatenate(positions), offsets, ranges, marks)


def _column_positions(column: Column) -> NDArray[np.float64]:
    """Compute the position of each value: its number, halved so that no difference is infinite, else its rank."""
    present = column.size - column.has_missing
    if column.numbers is None:
        places = np.arange(present, dtype=np.float64)
    else:
        places = np.array([float(number) for number in column.numbers], dtype=np.float64) / 2
    return np.append(places, np.inf) if column.has_missing else places
