"""Simulated annealing of the pattern-guided program: which output type each row follows, among those that prices leave.

References
----------
S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi, "Optimization by simulated annealing", Science 220(4598), 1983.
doi:10.1126/science.220.4598.671
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from shoal._core.progress import Progress, silent
from shoal.algorithms.common.annealing import Cooling, choices_of, cool, placement_of
from shoal.algorithms.common.annealing_kernel import settle_short_groups

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.algorithms.common.annealing_kernel import Placement
    from shoal.algorithms.patterns.program import OutputTypes

__all__ = ["annealed"]

_STEPS_PER_ROW = 3_000
"""Steps of a run for each row, chosen on samples of Adult: twice as many gain 0.1 %."""
_FEWEST_STEPS, _MOST_STEPS = 200_000, 400_000_000
_RUNS_OF_STEPS = 12_000_000
"""Small tables are annealed several times, from different random numbers: up to so many steps in all."""
_MOST_RUNS = 6
_ROUNDS = 200
"""Temperatures of a run, and looks at the keyboard."""
_TEMPERATURES = 1.5, 0.1
"""At the beginning and at the end, in mean costs of a star."""
_PENALTIES = 3.0, 6.0
"""What a row costs that a group misses, at the beginning and at the end, in the same unit."""
_MOST_ROWS = 4_000_000


def annealed(
    outputs: OutputTypes,
    sizes: NDArray[np.int64],
    k: int,
    *,
    pairs: NDArray[np.int64],
    rows: NDArray[np.int64],
    star: float,
    rng: np.random.Generator,
    seconds: float,
    steps: int | None = None,
    progress: Progress = silent,
) -> NDArray[np.int64]:
    """Return a solution that costs no more than a given one, mostly less.

    Parameters
    ----------
    outputs : OutputTypes
    sizes : int64 array
        Rows of each input row type.
    k : int
    pairs : int64 array
        The pairs of input and output type that may be used, as positions in `outputs.members`.
    rows : int64 array
        The solution to start from: rows of each of these pairs. Rows that it leaves out begin anywhere.
    star : float
        What a star costs on average.
    rng : numpy.random.Generator
    seconds : float
        When to stop at the latest; otherwise steps are counted.
    steps : int, optional
        Steps of a single run; by default as many as the rows ask for, and several runs of small tables.
    progress : callable
        Called with ("annealing", rounds done, rounds).
    """
    total = int(sizes.sum())
    if total > _MOST_ROWS or len(np.unique(outputs.members[pairs])) < len(sizes):
        return rows
    run = _Run(outputs, sizes, k, pairs, star)
    end = time.perf_counter() + seconds
    runs = 1
    if steps is None:
        steps = min(max(_FEWEST_STEPS, _STEPS_PER_ROW * total), _MOST_STEPS)
        runs = min(max(_RUNS_OF_STEPS // steps, 1), _MOST_RUNS)
    cooling = Cooling(min(_ROUNDS, max(steps // 100, 2)), _TEMPERATURES, _PENALTIES)

    def should_continue(before: int, number: int) -> bool:
        progress("annealing", before + number, runs * cooling.rounds)
        return time.perf_counter() <= end

    costs = outputs.costs[run.output_of]
    best = rows
    least = int((costs * rows).sum()) if rows.sum() == total else np.iinfo(np.int64).max
    for turn in range(runs):
        if time.perf_counter() > end:
            break
        placement = run.begin(rows)
        random = rng.integers(1, 1 << 63, size=1, dtype=np.uint64)
        one = partial(should_continue, turn * cooling.rounds)
        cool(run.choices, placement, cooling, steps=steps // cooling.rounds, random=random, should_continue=one)
        if settle_short_groups(run.choices, placement):
            made = run.rows_of(placement)
            if (cost := int((costs * made).sum())) < least:
                best, least = made, cost
    progress("annealing", runs * cooling.rounds, runs * cooling.rounds)
    return best


class _Run:
    """The program of some pairs as the arrays that the kernel wants."""

    def __init__(
        self, outputs: OutputTypes, sizes: NDArray[np.int64], k: int, pairs: NDArray[np.int64], star: float
    ) -> None:
        self.output_of = outputs.of_pairs()[pairs]
        used, local = np.unique(self.output_of, return_inverse=True)
        self._sizes, self._pairs = sizes, len(pairs)
        self.choices, self._by_type = choices_of(outputs.members[pairs], local, sizes, outputs.costs[used] / star, k)

    def begin(self, rows: NDArray[np.int64]) -> Placement:
        """Return a placement with so many rows of each pair; rows that are in none take their type's first output."""
        choices = self.choices
        given = rows[self._by_type]
        kinds = np.repeat(np.arange(len(self._sizes)), np.diff(choices.type_starts))
        given[choices.type_starts[:-1]] += self._sizes - np.bincount(kinds, weights=given).astype(np.int64)
        return placement_of(choices, np.repeat(choices.outputs, given))

    def rows_of(self, placement: Placement) -> NDArray[np.int64]:
        """Return the rows of each pair."""
        outputs = np.int64(len(self.choices.costs))
        # Pairs by type, and within a type by output: the order of `outputs.members` was by output.
        keys = np.repeat(np.arange(len(self._sizes)), np.diff(self.choices.type_starts)) * outputs
        keys += self.choices.outputs
        places = np.searchsorted(keys, self.choices.type_of * outputs + placement.output_of)
        rows = np.empty(self._pairs, dtype=np.int64)
        rows[self._by_type] = np.bincount(places, minlength=self._pairs)
        return rows
