"""Groups to start a search from: those that follow the cells of the hierarchies, among which prices choose."""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING

import numpy as np

from shoal.algorithms.lattice import LatticeCells, anneal_cells, price, round_bound_down

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.algorithms.base import Problem
    from shoal.algorithms.lattice import PricedCells
    from shoal.algorithms.local_search.groups import WorkingPartition

__all__ = ["FromCells"]

_STEPS_PER_ROW = 100
"""Steps of annealing for each row that needs something, times the root of the effort: chosen on Adult."""
_FEWEST_STEPS, _MOST_STEPS = 100_000, 100_000_000


class FromCells:
    """The cells of a table with their prices.

    Parameters
    ----------
    problem : Problem
    work : WorkingPartition
        Its classes are those of the table.
    cells : LatticeCells
    """

    def __init__(self, problem: Problem, work: WorkingPartition, cells: LatticeCells) -> None:
        self._problem, self._work, self._cells = problem, work, cells
        self._all_cells = work.rows * work.table.attributes
        self._priced: PricedCells = price(cells, progress=problem.progress)

    @classmethod
    def of(cls, problem: Problem, work: WorkingPartition) -> FromCells | None:
        """Return them; None where no row needs anything, or where there are none, or too many."""
        if not len(work.active) or not work.may_always_join:
            return None
        cells = LatticeCells.of(problem, work.smallest)
        # Of a table with counts a class has more people than rows: then no row could be told its cell.
        if cells is None or not len(cells) or int(cells.sizes.sum()) != work.rows:
            return None
        return cls(problem, work, cells)

    @property
    def loss_bound(self) -> float:
        """What a cell of the table loses on average in any release, at least."""
        return round_bound_down(self._priced.bound) / self._all_cells

    def groups(self, effort: int) -> tuple[NDArray[np.int32], int]:
        """Return a group for each row of the working partition (-1: none yet), all acceptable, and how many there are.

        Parameters
        ----------
        effort : int
            See `Cluster`.
        """
        steps = _STEPS_PER_ROW * len(self._work.active) * isqrt(effort)
        steps = min(max(steps, _FEWEST_STEPS), _MOST_STEPS)
        followed = anneal_cells(self._cells, self._priced, steps=steps, progress=self._problem.progress)
        return self._work.free_failing(followed.astype(np.int32))
