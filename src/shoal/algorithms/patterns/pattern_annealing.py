"""Simulated annealing of the pattern-guided program: rows change between the output types that the prices allow.

References
----------
S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi, "Optimization by simulated annealing", Science 220(4598), 1983.
doi:10.1126/science.220.4598.671
"""

from __future__ import annotations

import time
from functools import partial

import numpy as np
from numpy.typing import NDArray

from shoal._core.progress import Progress, silent
from shoal.algorithms.common.annealing import Cooling, choices_of, cool, placement_of
from shoal.algorithms.common.annealing_kernel import Placement, settle_short_groups
from shoal.algorithms.patterns.program import OutputTypes

_STEPS_PER_ROW = 3_000
"""Number of steps of a run for each row; chosen on samples of Adult, where twice as many gain 0.1 %."""
_MIN_STEPS, _MAX_STEPS = 200_000, 400_000_000
"""Limits on the number of steps of a run."""
_STEPS_OF_ALL_RUNS = 12_000_000
"""Small tables are annealed several times with different random numbers, up to this number of steps in total."""
_MAX_RUNS = 6
"""Largest number of runs."""
_ROUNDS = 200
"""Number of temperatures of a run, with a progress report each."""
_TEMPERATURES = 1.5, 0.1
"""First and last temperature, in mean costs of a star."""
_PENALTIES = 3.0, 6.0
"""First and last penalty for each row that a group lacks, in mean costs of a star."""
_MAX_ROWS = 4_000_000
"""Largest number of rows to anneal."""


def anneal_pairs(
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
    """Improve a solution by simulated annealing.

    Parameters
    ----------
    outputs : OutputTypes
    sizes : int64 array
        Number of rows of each input type.
    k : int
        Smallest size of a group.
    pairs : int64 array
        Pairs of input and output types that may be used, as positions in `outputs.members`.
    rows : int64 array
        Start: the number of rows of each of these pairs. Missing rows start at any output type.
    star : float
        Mean cost of a star.
    rng : numpy.random.Generator
        Source of random numbers.
    seconds : float
        Time limit; without it the number of steps ends the search.
    steps : int, optional
        Number of steps of a single run. By default it depends on the number of rows, and small tables get several runs.
    progress : callable
        Called with ("annealing", rounds done, rounds).

    Returns
    -------
    int64 array
        Number of rows of each pair in the best solution, which never costs more than the start.
    """
    total = int(sizes.sum())
    if total > _MAX_ROWS or len(np.unique(outputs.members[pairs])) < len(sizes):
        return rows
    run = _Run(outputs, sizes, k, pairs, star)
    # The number and length of the runs.
    end = time.perf_counter() + seconds
    runs = 1
    if steps is None:
        steps = min(max(_MIN_STEPS, _STEPS_PER_ROW * total), _MAX_STEPS)
        runs = min(max(_STEPS_OF_ALL_RUNS // steps, 1), _MAX_RUNS)
    cooling = Cooling(min(_ROUNDS, max(steps // 100, 2)), _TEMPERATURES, _PENALTIES)

    # Every temperature reports progress and checks the time limit.
    def should_continue(before: int, number: int) -> bool:
        progress("annealing", before + number, runs * cooling.rounds)
        return time.perf_counter() <= end

    # Anneal from the start each time; keep the cheapest result whose groups have at least k rows.
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
    """The program of some pairs, in the form that the annealing kernel uses."""

    def __init__(
        self, outputs: OutputTypes, sizes: NDArray[np.int64], k: int, pairs: NDArray[np.int64], star: float
    ) -> None:
        self.output_of = outputs.output_of_pairs()[pairs]
        used, local = np.unique(self.output_of, return_inverse=True)
        self._sizes, self._pairs = sizes, len(pairs)
        self.choices, self._by_type = choices_of(outputs.members[pairs], local, sizes, outputs.costs[used] / star, k)

    def begin(self, rows: NDArray[np.int64]) -> Placement:
        """Place the given number of rows of each pair; missing rows take the first output of their type."""
        choices = self.choices
        given = rows[self._by_type]
        kinds = np.repeat(np.arange(len(self._sizes)), np.diff(choices.type_starts))
        given[choices.type_starts[:-1]] += self._sizes - np.bincount(kinds, weights=given).astype(np.int64)
        return placement_of(choices, np.repeat(choices.outputs, given))

    def rows_of(self, placement: Placement) -> NDArray[np.int64]:
        """Count the rows of each pair."""
        outputs = np.int64(len(self.choices.costs))
        # Sort pairs by type, and by output within a type; `outputs.members` is sorted by output.
        keys = np.repeat(np.arange(len(self._sizes)), np.diff(self.choices.type_starts)) * outputs
        keys += self.choices.outputs
        places = np.searchsorted(keys, self.choices.type_of * outputs + placement.output_of)
        rows = np.empty(self._pairs, dtype=np.int64)
        rows[self._by_type] = np.bincount(places, minlength=self._pairs)
        return rows
