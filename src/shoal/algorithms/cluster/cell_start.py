"""A start of the local search: groups that publish cells of the lattice of hierarchies, chosen by Lagrangian prices."""

from __future__ import annotations

from math import isqrt

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.base import Problem
from shoal.algorithms.lattice import LatticeCells, PricedCells, anneal_cells, price, round_bound_down
from shoal.algorithms.local_search.groups import WorkingPartition

_STEPS_PER_ROW = 100
"""Annealing steps per row outside acceptable classes, times the square root of the effort; chosen on Adult."""
_MIN_STEPS, _MAX_STEPS = 100_000, 100_000_000
"""Limits on the number of annealing steps."""


class CellStart:
    """Priced lattice cells of a table.

    Parameters
    ----------
    problem : Problem
    work : WorkingPartition
        Working partition of the same table.
    cells : LatticeCells
    """

    def __init__(self, problem: Problem, work: WorkingPartition, cells: LatticeCells) -> None:
        self._problem, self._work, self._cells = problem, work, cells
        self._all_cells = work.rows * work.table.attributes
        self._priced: PricedCells = price(cells, progress=problem.progress)

    @classmethod
    def of(cls, problem: Problem, work: WorkingPartition) -> CellStart | None:
        """Price the cells of a table; None if no row needs a group, or if there are no cells or too many of them."""
        if not len(work.active) or not work.may_always_join:
            return None
        cells = LatticeCells.of(problem, work.smallest)
        # In a table with counts, cells count persons; rows could not be assigned to them one by one.
        if cells is None or not len(cells) or int(cells.sizes.sum()) != work.rows:
            return None
        return cls(problem, work, cells)

    @property
    def loss_bound(self) -> float:
        """Lower bound on the average loss of a cell of the table in any release."""
        return round_bound_down(self._priced.bound) / self._all_cells

    def groups(self, effort: int) -> tuple[NDArray[np.int32], int]:
        """Anneal the assignment of rows to cells, and keep the acceptable groups.

        Parameters
        ----------
        effort : int
            See `Cluster`.

        Returns
        -------
        groups : int32 array
            Acceptable group of each row of the working partition, -1 if it has none.
        count : int
            Number of groups.
        """
        steps = _STEPS_PER_ROW * len(self._work.active) * isqrt(effort)
        steps = min(max(steps, _MIN_STEPS), _MAX_STEPS)
        followed = anneal_cells(self._cells, self._priced, steps=steps, progress=self._problem.progress)
        return self._work.free_failing(followed.astype(np.int32))
