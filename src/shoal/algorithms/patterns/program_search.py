"""Large neighbourhood search for the pattern-guided program: some hundred groups are opened and regrouped optimally.

Each part is an integer program over the rows of the opened groups. These rows may form any groups of at least k rows,
or join a group that stays closed. The parts are small, because the prices of the Lagrangian relaxation exclude most
pairs of input and output types. A part grows towards unused output types that find most of their rows in it, because
only such types can become new groups.

References
----------
D. Pisinger, S. Ropke, "Large neighborhood search", in: Handbook of Metaheuristics, 2010.
doi:10.1007/978-1-4419-1665-5_13
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from shoal._core.progress import Progress, silent
from shoal.solver.highs import Program, Rows, solve
from shoal.table.compressed import entries_of_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.algorithms.patterns.program import OutputTypes

__all__ = ["PartialPrograms"]

_MAX_ROWS_OF_PART = 3_000
"""Number of rows of a part. Groups with more than a quarter of it stay closed and give away only their spare rows."""
_MAX_NODES = 10
"""Largest number of nodes of the search tree of a part: if they find nothing, another part is more promising."""
_GROUPS_PER_OUTPUT = 6
"""Number of groups to open around an output type: those with the most of its row types."""
_COMPLETE_FACTOR = 3
"""An output type counts as complete if this many times k of its row types are open."""


class PartialPrograms:
    """A solution of the program that is improved part by part.

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
        Start: the number of rows of each of these pairs.
    rng : numpy.random.Generator
        Source of random numbers.
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
        self._outputs = outputs.output_of_pairs()[pairs]
        self._costs = outputs.costs[self._outputs]
        self._rows = rows.copy()
        # Rows of each output type, and the pairs by input type and by output type.
        self._load = np.bincount(self._outputs, weights=rows, minlength=len(outputs)).astype(np.int64)
        self._by_type = np.argsort(self._types, kind="stable")
        self._type_starts = np.searchsorted(self._types[self._by_type], np.arange(len(sizes) + 1))
        self._by_output = np.argsort(self._outputs, kind="stable")
        self._output_starts = np.searchsorted(self._outputs[self._by_output], np.arange(len(outputs) + 1))
        self._complete = np.clip(np.diff(self._output_starts), 1, _COMPLETE_FACTOR * k)

    @property
    def rows(self) -> NDArray[np.int64]:
        """Number of rows of each pair."""
        return self._rows

    def cost(self) -> int:
        """Compute the cost of the solution."""
        return int((self._costs * self._rows).sum())

    def run(self, parts: int, *, bound: int, seconds: float, progress: Progress = silent) -> int:
        """Improve the solution part by part; return its cost.

        Parameters
        ----------
        parts : int
            Number of parts to solve.
        bound : int
            Lower bound on the cost; a solution that attains it ends the search.
        seconds : float
            Time limit.
        progress : callable
            Called with ("parts", parts done, parts).
        """
        end = time.perf_counter() + seconds
        seeds = self._rng.permutation(np.unique(self._outputs))
        for done in range(parts):
            left = end - time.perf_counter()
            if left <= 0 or self.cost() <= bound:
                break
            progress("parts", done, parts)
            opened = self._choose_groups(int(seeds[done % len(seeds)]))
            if len(opened):
                self._regroup(opened, left)
        return self.cost()

    def _pairs_of_outputs(self, outputs: NDArray[np.int64]) -> NDArray[np.int64]:
        starts = self._output_starts
        return self._by_output[entries_of_rows(starts[outputs], starts[outputs + 1])]

    def _pairs_of_types(self, types: NDArray[np.int64]) -> NDArray[np.int64]:
        starts = self._type_starts
        return self._by_type[entries_of_rows(starts[types], starts[types + 1])]

    def _choose_groups(self, seed: int) -> NDArray[np.int64]:
        """Choose groups to open: around an output type, then around the types with the largest share of open rows."""
        opened: dict[int, None] = {}
        rows = 0
        reached, tried = np.zeros(len(self._load)), np.zeros(len(self._load), dtype=np.bool_)
        center = seed
        while rows < _MAX_ROWS_OF_PART:
            tried[center] = True
            around = self._pairs_of_types(np.unique(self._types[self._pairs_of_outputs(np.array([center]))]))
            # Open the groups that share most row types with the centre.
            groups, shared = np.unique(self._outputs[around[self._rows[around] > 0]], return_counts=True)
            fitting = (self._load[groups] <= _MAX_ROWS_OF_PART // 4) & [g not in opened for g in groups.tolist()]
            nearest = np.argsort(-shared[fitting], kind="stable")[:_GROUPS_PER_OUTPUT]
            new = groups[fitting][nearest]
            opened.update(dict.fromkeys(new.tolist()))
            rows += int(self._load[new].sum())
            # Continue at the output type with the largest share of open row types, with some randomness.
            inside = self._pairs_of_outputs(new)
            inside = inside[self._rows[inside] > 0]
            np.add.at(reached, self._outputs[self._pairs_of_types(np.unique(self._types[inside]))], 1)
            score = reached / self._complete * (1 + 0.2 * self._rng.random(len(reached)))
            score[tried | (reached < 2)] = 0.0
            score[list(opened)] = 0.0
            center = int(np.argmax(score))
            if score[center] == 0.0:
                break
        return np.fromiter(opened, dtype=np.int64, count=len(opened))

    def _regroup(self, opened: NDArray[np.int64], seconds: float) -> None:
        """Solve the integer program of the rows of opened groups, and keep its solution if it is cheaper."""
        # The rows to regroup: those of the opened groups, and spare rows of large groups.
        inside = self._pairs_of_outputs(opened)
        inside = inside[self._rows[inside] > 0]
        inside = np.concatenate([inside, self._choose_leaving_rows(np.unique(self._types[inside]), opened)])
        types, which = np.unique(self._types[inside], return_inverse=True)
        free = np.bincount(which, weights=self._rows[inside]).astype(np.int64)
        # The pairs that they may use: of closed groups, and of output types that could reach k rows.
        candidates = self._pairs_of_types(types)
        closed = self._load > 0
        closed[opened] = False  # a closed group is large enough, so rows may join it
        of_type = np.searchsorted(types, self._types[candidates])
        outputs, output = np.unique(self._outputs[candidates], return_inverse=True)
        reach = np.bincount(output, weights=free[of_type])
        possible = (reach >= self._k) | closed[outputs]
        kept = possible[output]
        candidates, of_type = candidates[kept], of_type[kept]
        outputs, output = np.unique(self._outputs[candidates], return_inverse=True)
        # Solve the part from the present solution.
        program = self._build_program(candidates, of_type, output, free, founded=~closed[outputs])
        start = np.where(np.isin(candidates, inside), self._rows[candidates], 0)
        founded = np.bincount(output, weights=start, minlength=len(outputs))[~closed[outputs]] > 0
        solution = solve(
            program, time_limit=seconds, work=_MAX_NODES, start=np.concatenate([start, founded]).astype(np.float64),
            step="parts",
        )  # fmt: skip
        before = int((self._costs[inside] * self._rows[inside]).sum())
        if solution.values is None or round(solution.objective) >= before:
            return
        rows = np.rint(solution.values[: len(candidates)]).astype(np.int64)
        np.subtract.at(self._load, self._outputs[inside], self._rows[inside])
        self._rows[inside] = 0
        self._rows[candidates] += rows
        np.add.at(self._load, self._outputs[candidates], rows)

    def _choose_leaving_rows(self, types: NDArray[np.int64], opened: NDArray[np.int64]) -> NDArray[np.int64]:
        """Choose rows of groups that are too large to open but could join opened groups; at least k rows stay."""
        # Only rows that meet types of the opened groups in some other output type are useful.
        large = np.flatnonzero(self._load > _MAX_ROWS_OF_PART // 4)
        near = np.unique(self._outputs[self._pairs_of_types(types)])
        meet = np.zeros(len(self._type_starts) - 1, dtype=np.bool_)
        meet[self._types[self._pairs_of_outputs(near[~np.isin(near, large)])]] = True
        chosen: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
        for o in large[~np.isin(large, opened)]:
            pairs = self._pairs_of_outputs(np.array([o]))
            pairs = pairs[(self._rows[pairs] > 0) & meet[self._types[pairs]]]
            self._rng.shuffle(pairs)
            left = min(int(self._load[o]) - self._k, _MAX_ROWS_OF_PART // 4)
            chosen.append(pairs[np.cumsum(self._rows[pairs]) <= left])
        return np.concatenate(chosen)

    def _build_program(
        self,
        candidates: NDArray[np.int64],
        of_type: NDArray[np.int64],
        output: NDArray[np.int64],
        free: NDArray[np.int64],
        *,
        founded: NDArray[np.bool_],
    ) -> Program:
        """Build the program of a part: a variable for each pair, then a binary variable for each new output type."""
        n = len(candidates)
        variable = n + np.cumsum(founded) - 1
        by_type = np.argsort(of_type, kind="stable")
        type_starts = np.searchsorted(of_type[by_type], np.arange(len(free) + 1))
        rows: list[tuple[NDArray[np.int64], NDArray[np.float64] | float, float, float]] = [
            (by_type[type_starts[i] : type_starts[i + 1]], 1.0, float(free[i]), float(free[i]))
            for i in range(len(free))
        ]
        # New output types have at least k rows, and none unless they are used.
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
