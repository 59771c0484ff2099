"""Groups from cells: simulated annealing of which cell each row follows, among those that prices leave.

References
----------
S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi, "Optimization by simulated annealing", Science 220(4598), 1983.
doi:10.1126/science.220.4598.671
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal._progress import Progress, silent
from shoal.algorithms.cells.lattice_cells import COST_UNIT
from shoal.algorithms.cells.prices import FINE
from shoal.algorithms.patterns.annealing_kernel import Choices, Placement, anneal, place_all, settle_short_groups

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.algorithms.cells.lattice_cells import LatticeCells
    from shoal.algorithms.cells.prices import PricedCells

__all__ = ["settled"]

_WITHIN = 0.3
"""Pairs whose use lifts the bound by less than so many stars are what good groups use."""
_DEAR, _WITHIN_OF_DEAR = 0.75, 2.0
"""The same for rows that pay more than so many stars, which find few others near to them."""
_ROUNDS = 50
"""Temperatures of a run."""
_TEMPERATURES = 0.5, 0.02
"""The first and the last, in stars."""
_PENALTIES = 1.0, 10.0
"""What a row costs that a group misses, at the beginning and at the end, in stars."""
_MOST_OF_CLASS = 3
"""Of a class of equal rows at most this many times k take part: the others stay."""
_SEED = 0x9E3779B97F4A7C15


def settled(cells: LatticeCells, priced: PricedCells, *, steps: int, progress: Progress = silent) -> NDArray[np.int64]:
    """Return the cell that each row follows, class after class; -1 for those that found none with k rows.

    Parameters
    ----------
    cells : LatticeCells
    priced : PricedCells
    steps : int
        How many steps are tried in all.
    progress : callable
        Called with ("settling", rounds done, rounds).
    """
    taking_part = np.minimum(cells.sizes, _MOST_OF_CLASS * cells.k)
    dear = priced.values[cells.members] > _DEAR * COST_UNIT * FINE
    chosen = priced.near(_WITHIN) | (dear & priced.near(_WITHIN_OF_DEAR))
    # The cheapest cell of each class is there in any case.
    by_class = np.lexsort((cells.of_pairs, cells.members))
    classes = cells.members[by_class]
    chosen[by_class[np.append(True, classes[1:] != classes[:-1])]] = True
    pairs = np.flatnonzero(chosen)
    used, local = np.unique(cells.of_pairs[pairs], return_inverse=True)
    types = cells.members[pairs]
    by_type = np.argsort(types, kind="stable")
    fitting = np.bincount(types, minlength=len(cells.sizes)) > 0
    rows_of = np.where(fitting, taking_part, 0)
    choices = Choices(
        type_starts=np.searchsorted(types[by_type], np.arange(len(cells.sizes) + 1)).astype(np.int64),
        outputs=local[by_type].astype(np.int32),
        output_starts=np.searchsorted(local, np.arange(len(used) + 1)).astype(np.int64),
        types=types,
        row_starts=np.concatenate([[0], np.cumsum(rows_of)]).astype(np.int64),
        type_of=np.repeat(np.arange(len(cells.sizes), dtype=np.int32), rows_of),
        costs=cells.costs[used] / COST_UNIT,
        k=cells.k,
    )
    placement = _begun(choices)
    random = np.array([_SEED], dtype=np.uint64)
    for number in range(_ROUNDS if len(choices.type_of) else 0):
        progress("settling", number, _ROUNDS)
        done = number / (_ROUNDS - 1)
        penalty = _PENALTIES[0] + (_PENALTIES[1] - _PENALTIES[0]) * done
        temperature = _TEMPERATURES[0] * (_TEMPERATURES[1] / _TEMPERATURES[0]) ** done
        anneal(choices, placement, penalty, temperature, -(-steps // _ROUNDS), random)
    settle_short_groups(choices, placement)
    progress("settling", _ROUNDS, _ROUNDS)
    return _of_rows(cells, choices, placement, used)


def _begun(choices: Choices) -> Placement:
    """Return a placement with every row in the cheapest cell of its class."""
    total, count = len(choices.type_of), len(choices.costs)
    moved = max(1_024, 4 * choices.k)
    placement = Placement(
        output_of=choices.outputs[choices.type_starts[choices.type_of]],
        load=np.empty(count, dtype=np.int64),
        first=np.empty(count, dtype=np.int32),
        following=np.empty(total, dtype=np.int32),
        before=np.empty(total, dtype=np.int32),
        moved=np.empty(moved, dtype=np.int32),
        origin=np.empty(moved, dtype=np.int32),
    )
    place_all(placement)
    return placement


def _of_rows(cells: LatticeCells, choices: Choices, placement: Placement, used: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the cell of every row of the table; those that took no part follow the cheapest cell of their class."""
    begins = np.cumsum(cells.sizes) - cells.sizes
    cheapest = np.full(len(cells.sizes), -1, dtype=np.int64)
    has = np.diff(choices.type_starts) > 0
    cheapest[has] = used[choices.outputs[choices.type_starts[:-1][has]]]
    followed = np.repeat(cheapest, cells.sizes)
    places = begins[choices.type_of] + np.arange(len(choices.type_of)) - choices.row_starts[choices.type_of]
    followed[places] = used[placement.output_of]
    listed = followed >= 0
    loads = np.bincount(followed[listed], minlength=len(cells))
    followed[listed] = np.where(loads[followed[listed]] >= cells.k, followed[listed], -1)
    return followed
