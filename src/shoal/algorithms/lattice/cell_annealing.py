"""Simulated annealing of the cell that each row follows, among the cells that prices leave.

References
----------
S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi, "Optimization by simulated annealing", Science 220(4598), 1983.
doi:10.1126/science.220.4598.671
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal._core.progress import Progress, silent
from shoal.algorithms.common.annealing import Cooling, choices_of, cool, placement_of
from shoal.algorithms.common.annealing_kernel import Choices, Placement, settle_short_groups
from shoal.algorithms.lattice.cell_prices import FINE, PricedCells
from shoal.algorithms.lattice.lattice_cells import COST_UNIT, LatticeCells

_WITHIN = 0.3
"""Good groups use pairs that lift the bound by less than this many stars."""
_DEAR, _WITHIN_OF_DEAR = 0.75, 2.0
"""The same for rows that pay more than this many stars: few other rows are near to them."""
_COOLING = Cooling(rounds=50, temperatures=(0.5, 0.02), penalties=(1.0, 10.0))
"""In stars."""
_MOST_OF_CLASS = 3
"""Of a class of equal rows at most this multiple of k takes part in annealing: the other rows stay."""
_SEED = 0x9E3779B97F4A7C15


def anneal_cells(
    cells: LatticeCells, priced: PricedCells, *, steps: int, progress: Progress = silent
) -> NDArray[np.int64]:
    """Assign each row to a cell, class after class; -1 for rows without a cell of at least k rows.

    Parameters
    ----------
    cells : LatticeCells
    priced : PricedCells
    steps : int
        Number of steps in all.
    progress : callable
        Called with ("settling", rounds done, rounds).
    """
    # Large classes are annealed in part: their other rows follow the cheapest cell.
    taking_part = np.minimum(cells.sizes, _MOST_OF_CLASS * cells.k)
    dear = priced.values[cells.members] > _DEAR * COST_UNIT * FINE
    chosen = priced.near(_WITHIN) | (dear & priced.near(_WITHIN_OF_DEAR))
    # The cheapest cell of each class is always included.
    by_class = np.lexsort((cells.of_pairs, cells.members))
    classes = cells.members[by_class]
    chosen[by_class[np.append(True, classes[1:] != classes[:-1])]] = True
    # Keep only the cells in use, with new numbers.
    pairs = np.flatnonzero(chosen)
    used, local = np.unique(cells.of_pairs[pairs], return_inverse=True)
    types = cells.members[pairs]
    fitting = np.bincount(types, minlength=len(cells.sizes)) > 0
    rows_of = np.where(fitting, taking_part, 0)
    choices, _ = choices_of(types, local, rows_of, cells.costs[used] / COST_UNIT, cells.k)
    # Every row starts in the cheapest cell of its class.
    placement = placement_of(choices, choices.outputs[choices.type_starts[choices.type_of]])
    random = np.array([_SEED], dtype=np.uint64)

    def should_continue(number: int) -> bool:
        progress("settling", number, _COOLING.rounds)
        return True

    if len(choices.type_of):
        cool(
            choices,
            placement,
            _COOLING,
            steps=-(-steps // _COOLING.rounds),
            random=random,
            should_continue=should_continue,
        )
    # No group of fewer than k rows is left after this, except where no other cell fits.
    settle_short_groups(choices, placement)
    progress("settling", _COOLING.rounds, _COOLING.rounds)
    return _of_rows(cells, choices, placement, used)


def _of_rows(cells: LatticeCells, choices: Choices, placement: Placement, used: NDArray[np.int64]) -> NDArray[np.int64]:
    """Look up the cell of every row of the table; rows that took no part follow the cheapest cell of their class."""
    begins = np.cumsum(cells.sizes) - cells.sizes
    cheapest = np.full(len(cells.sizes), -1, dtype=np.int64)
    has = np.diff(choices.type_starts) > 0
    cheapest[has] = used[choices.outputs[choices.type_starts[:-1][has]]]
    # All rows of a class, then the rows that took part.
    followed = np.repeat(cheapest, cells.sizes)
    places = begins[choices.type_of] + np.arange(len(choices.type_of)) - choices.row_starts[choices.type_of]
    followed[places] = used[placement.output_of]
    # Cells with fewer than k rows are dropped.
    listed = followed >= 0
    loads = np.bincount(followed[listed], minlength=len(cells))
    followed[listed] = np.where(loads[followed[listed]] >= cells.k, followed[listed], -1)
    return followed
