"""Better solutions of the pattern-guided program, part by part: a few dozen groups are opened and regrouped optimally.

Each part is a small integer program over the rows of the opened groups; they may form any groups of at least k rows, or
join a group that stays closed. The prices of the Lagrangian relaxation leave only the pairs of input and output type
that good solutions use, which keeps the parts small (large neighbourhood search).

References
----------
D. Pisinger, S. Ropke, "Large neighborhood search", in: Handbook of Metaheuristics, 2010.
doi:10.1007/978-1-4419-1665-5_13
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from shoal._progress import Progress, silent
from shoal.solver.highs import Program, Rows, solve
from shoal.table.compressed import entries_of_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.algorithms.patterns.program import OutputTypes

__all__ = ["PartialPrograms"]

_ROWS_AT_ONCE = 240
_SECONDS = 5.0


class PartialPrograms:
    """A solution of the program, and its improvement part by part.

    Parameters
    ----------
    outputs : OutputTypes
    sizes : int64 array
        Rows of each input row type.
    k : int
    pairs : int64 array
        The pairs of input and output type that may be used, as positions in `outputs.members`.
    rows : int64 array
        The solution: rows of each of these pairs.
    rng : numpy.random.Generator
    """

    def __init__(
        self,
        outputs: OutputTypes,
        sizes: NDArray[np.int64],
        k: int,
        *,
        pairs: NDArray[np.int64],
        rows: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> None:
        self._k, self._rng = k, rng
        self._types = outputs.members[pairs].astype(np.int64)
        self._outputs = np.repeat(np.arange(len(outputs)), np.diff(outputs.starts))[pairs]
        self._costs = outputs.costs[self._outputs]
        self._rows = rows.copy()
        self._load = np.bincount(self._outputs, weights=rows, minlength=len(outputs)).astype(np.int64)
        self._by_type = np.argsort(self._types, kind="stable")
        self._type_starts = np.searchsorted(self._types[self._by_type], np.arange(len(sizes) + 1))
        self._by_output = np.argsort(self._outputs, kind="stable")
        self._output_starts = np.searchsorted(self._outputs[self._by_output], np.arange(len(outputs) + 1))

    @property
    def rows(self) -> NDArray[np.int64]:
        """Rows of each pair."""
        return self._rows

    def cost(self) -> int:
        """Return what the solution costs."""
        return int((self._costs * self._rows).sum())

    def run(self, *, seconds: float, bound: int, progress: Progress = silent) -> int:
        """Improve the solution until the time is over or nothing better is possible; return its cost."""
        began = time.perf_counter()
        while (spent := time.perf_counter() - began) < seconds and self.cost() > bound:
            progress("parts", int(spent), max(int(seconds), 1))
            used = np.flatnonzero(self._rows)
            seed = int(self._outputs[self._rng.choice(used)])
            if self._load[seed] <= 2 * _ROWS_AT_ONCE:
                self._regroup(self._around(seed), min(_SECONDS, seconds - spent))
        return self.cost()

    def _pairs_of_outputs(self, outputs: NDArray[np.int64]) -> NDArray[np.int64]:
        starts = self._output_starts
        return self._by_output[entries_of_rows(starts[outputs], starts[outputs + 1])]

    def _pairs_of_types(self, types: NDArray[np.int64]) -> NDArray[np.int64]:
        starts = self._type_starts
        return self._by_type[entries_of_rows(starts[types], starts[types + 1])]

    def _around(self, seed: int) -> NDArray[np.int64]:
        """Return output types in use that share candidates with a first one, nearest first, up to so many rows."""
        opened = [seed]
        known = {seed}
        rows = int(self._load[seed])
        frontier = np.array([seed])
        while rows < _ROWS_AT_ONCE and len(frontier):
            inside = self._pairs_of_outputs(frontier)
            types = np.unique(self._types[inside[self._rows[inside] > 0]])
            near = np.unique(self._outputs[self._pairs_of_types(types)])
            # Closed output types could be used by rows of other groups: those groups are neighbours, too.
            through = self._pairs_of_outputs(near)
            others = self._pairs_of_types(np.unique(self._types[through]))
            near = np.unique(self._outputs[others[self._rows[others] > 0]])
            near = near[[o not in known for o in near.tolist()]]
            self._rng.shuffle(near)
            frontier_list = []
            for o in near.tolist():
                if rows + self._load[o] <= 2 * _ROWS_AT_ONCE:
                    opened.append(o)
                    frontier_list.append(o)
                    rows += int(self._load[o])
                known.add(o)
                if rows >= _ROWS_AT_ONCE:
                    break
            frontier = np.array(frontier_list, dtype=np.int64)
        return np.array(opened, dtype=np.int64)

    def _regroup(self, opened: NDArray[np.int64], seconds: float) -> None:
        inside = self._pairs_of_outputs(opened)
        inside = inside[self._rows[inside] > 0]
        inside = np.concatenate([inside, self._leaving(np.unique(self._types[inside]), opened)])
        types, which = np.unique(self._types[inside], return_inverse=True)
        free = np.bincount(which, weights=self._rows[inside]).astype(np.int64)
        candidates = self._pairs_of_types(types)
        closed = self._load > 0
        closed[opened] = False  # a closed group is large enough: rows may join it
        of_type = np.searchsorted(types, self._types[candidates])
        outputs, output = np.unique(self._outputs[candidates], return_inverse=True)
        reach = np.bincount(output, weights=free[of_type])
        possible = (reach >= self._k) | closed[outputs]
        kept = possible[output]
        candidates, of_type = candidates[kept], of_type[kept]
        outputs, output = np.unique(self._outputs[candidates], return_inverse=True)
        program = self._program(candidates, of_type, output, free, founded=~closed[outputs])
        solution = solve(program, time_limit=seconds, step="parts")
        before = int((self._costs[inside] * self._rows[inside]).sum())
        if solution.values is None or round(solution.objective) >= before:
            return
        rows = np.rint(solution.values[: len(candidates)]).astype(np.int64)
        np.subtract.at(self._load, self._outputs[inside], self._rows[inside])
        self._rows[inside] = 0
        self._rows[candidates] += rows
        np.add.at(self._load, self._outputs[candidates], rows)

    def _leaving(self, types: NDArray[np.int64], opened: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return pairs of groups too large to be opened whose rows could join what is opened; k rows stay."""
        large = np.flatnonzero(self._load > 2 * _ROWS_AT_ONCE)
        near = np.unique(self._outputs[self._pairs_of_types(types)])
        meet = np.zeros(len(self._type_starts) - 1, dtype=np.bool_)
        meet[self._types[self._pairs_of_outputs(near[~np.isin(near, large)])]] = True
        chosen: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
        for o in large[~np.isin(large, opened)]:
            pairs = self._pairs_of_outputs(np.array([o]))
            pairs = pairs[(self._rows[pairs] > 0) & meet[self._types[pairs]]]
            self._rng.shuffle(pairs)
            left = min(int(self._load[o]) - self._k, _ROWS_AT_ONCE)
            chosen.append(pairs[np.cumsum(self._rows[pairs]) <= left])
        return np.concatenate(chosen)

    def _program(
        self,
        candidates: NDArray[np.int64],
        of_type: NDArray[np.int64],
        output: NDArray[np.int64],
        free: NDArray[np.int64],
        *,
        founded: NDArray[np.bool_],
    ) -> Program:
        """Write a part: rows of each candidate pair, then one variable per output type that would be founded."""
        n = len(candidates)
        variable = n + np.cumsum(founded) - 1
        by_type = np.argsort(of_type, kind="stable")
        type_starts = np.searchsorted(of_type[by_type], np.arange(len(free) + 1))
        rows: list[tuple[NDArray[np.int64], NDArray[np.float64] | float, float, float]] = [
            (by_type[type_starts[i] : type_starts[i + 1]], 1.0, float(free[i]), float(free[i]))
            for i in range(len(free))
        ]
        by_output = np.argsort(output, kind="stable")
        output_starts = np.searchsorted(output[by_output], np.arange(len(founded) + 1))
        for o in np.flatnonzero(founded):
            columns = by_output[output_starts[o] : output_starts[o + 1]]
            coefficients = np.append(np.ones(len(columns)), -float(self._k))
            rows.append((np.append(columns, variable[o]), coefficients, 0.0, np.inf))
            for c in columns.tolist():
                pair = np.array([c, variable[o]])
                rows.append((pair, np.array([1.0, -float(free[of_type[c]])]), -np.inf, 0.0))
        extra = int(founded.sum())
        return Program(
            costs=np.concatenate([self._costs[candidates].astype(np.float64), np.zeros(extra)]),
            integer=np.ones(n + extra, dtype=np.bool_),
            lower=np.zeros(n + extra),
            upper=np.concatenate([free[of_type].astype(np.float64), np.ones(extra)]),
            rows=Rows.of(rows),
        )
