"""The cheapest partition of a few rows into acceptable groups, by dynamic programming over all possible groups.

Interchangeable rows are of one type. Groups are vectors of counts of types, numbered in mixed radix. If all rows are
distinct, this is the subset program of Liang and Yuan 2013, Theorem 8, with 3^n steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from shoal._core.progress import Progress, silent
from shoal.algorithms.exact.subsets_kernel import NEVER, cheapest_covers, cheapest_first_group, price_groups

_STEPS_PER_CALL = 1 << 27
"""Steps between two progress reports (which allow an interrupt), about a quarter of a second."""
_SECONDS_PER_STEP = 2e-9
"""Duration of a step, for estimates."""
_BYTES_PER_STATE = 8
"""Memory of a set of rows."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class SubsetProgram:
    """The dynamic program for rows of a few types.

    The order of the types is free; the program is fastest if the last type has the fewest rows.
    """

    counts: NDArray[np.int64]
    """Rows of each type, at least 1."""
    codes: NDArray[np.int32]
    """Quasi-identifiers of each type, shape (types, d), as codes of at least 0."""
    weights: NDArray[np.int64]
    """Contribution of one row of each type to the number of the vector of sensitive counts, shape (types, q)."""

    @property
    def states(self) -> int:
        """Number of distinct sets of rows."""
        return prod(int(count) + 1 for count in self.counts)

    @property
    def steps(self) -> int:
        """Number of pairs of a set and a group within it that the program compares."""
        counts = [int(count) for count in self.counts]
        if not counts:
            return 0
        *others, last = counts
        # The first group takes a row of the last type: of the sets with all these rows only the whole table occurs.
        below = prod((count + 1) * (count + 2) // 2 for count in others)
        return below * (last * (last + 1) // 2) + prod(count + 1 for count in counts)

    @property
    def bytes(self) -> int:
        """Memory of the program's arrays."""
        return self.states * _BYTES_PER_STATE

    @property
    def seconds(self) -> float:
        """Estimated duration of the search, without the time that the models take."""
        return self.steps * _SECONDS_PER_STEP

    def solve(
        self, acceptable: Sequence[NDArray[np.bool_]], *, step: str = "solve", progress: Progress = silent
    ) -> tuple[int, list[NDArray[np.int64]]] | None:
        """Find a partition into acceptable groups with the fewest stars.

        Parameters
        ----------
        acceptable : sequence of bool arrays
            For each sensitive attribute in use: entry i is True if a group with the vector of counts numbered i is
            acceptable. A group must be acceptable for every attribute.
        step : str
            Name of the step in progress reports.
        progress : callable
            Called with the steps done; an exception that it raises ends the search.

        Returns
        -------
        (int, list of int64 arrays) or None
            The number of stars, and the rows of each group by type; None if there is no such partition.
        """
        prices, best = self._prices(acceptable), np.empty(self.states, dtype=np.int32)
        last = self.states - 1
        # The first group holds a row of the last type, so the rest lacks one: no other sets are needed.
        needed = int(self.counts[-1]) * (self.states // (int(self.counts[-1]) + 1))
        size = max(needed * _STEPS_PER_CALL // max(self.steps, 1), 1)
        for first in range(0, needed, size):
            progress(step, first, needed)
            cheapest_covers(self._low_parts, self._high_parts, prices, best, first, min(first + size, needed))
        cheapest_covers(self._low_parts, self._high_parts, prices, best, last, last + 1)
        progress(step, needed, needed)
        cost = int(best[last])
        if cost == NEVER:
            return None
        # Recover the groups, one first group after another.
        groups = []
        state = last
        while state:
            group = int(cheapest_first_group(self._low_parts, self._high_parts, prices, best, state))
            groups.append(self._digits(group))
            state -= group
        return cost, groups

    @cached_property
    def _cut(self) -> int:
        """Number of types in the low part: its states are about the square root of all states."""
        sizes = np.cumsum(np.log(self.counts + 1.0))
        return int(np.searchsorted(sizes, sizes[-1] / 2)) if len(sizes) else 0

    @cached_property
    def _low_parts(self) -> _Parts:
        return _parts(self.counts[: self._cut])

    @cached_property
    def _high_parts(self) -> _Parts:
        return _parts(self.counts[self._cut :])

    def _prices(self, acceptable: Sequence[NDArray[np.bool_]]) -> NDArray[np.int32]:
        low, high = slice(None, self._cut), slice(self._cut, None)
        weights = np.column_stack((np.ones(len(self.counts), dtype=np.int64), self.weights))
        prices = np.empty(self.states, dtype=np.int32)
        price_groups(
            _shared(self.counts[low], self.codes[low]),
            _shared(self.counts[high], self.codes[high]),
            _sums(self.counts[low], weights[low]),
            _sums(self.counts[high], weights[high]),
            np.concatenate(([0], np.cumsum([len(table) for table in acceptable])))[:-1].astype(np.int64),
            np.concatenate([np.ones(0, dtype=np.bool_), *acceptable]),
            prices,
        )
        return prices

    def _digits(self, state: int) -> NDArray[np.int64]:
        digits = np.empty(len(self.counts), dtype=np.int64)
        for place, count in enumerate(self.counts.tolist()):
            state, digits[place] = divmod(state, count + 1)
        return digits

    def __repr__(self) -> str:
        return f"SubsetProgram(types={len(self.counts)}, rows={int(self.counts.sum())}, states={self.states})"


_Parts: TypeAlias = "tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]"


def _parts(counts: NDArray[np.int64]) -> _Parts:
    """List for every state the states that are not larger in any digit, in the form that the kernels use."""
    parts = [np.zeros(1, dtype=np.int32)]
    without = [0]
    for count in counts.tolist():
        radix = len(parts)
        for digit in range(1, count + 1):
            for rest in range(radix):
                # The parts of the rest, with 0, 1, ... rows of this type.
                parts.append(np.concatenate([parts[rest] + np.int32(mine * radix) for mine in range(digit + 1)]))
                without.append(len(parts[rest]))
    starts = np.concatenate(([0], np.cumsum([len(part) for part in parts]))).astype(np.int64)
    return starts, np.concatenate(parts), starts[:-1] + np.array(without, dtype=np.int64)


def _sums(counts: NDArray[np.int64], weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Compute for every state the sum of the weights of its rows, for each column of weights."""
    sums = np.zeros((1, weights.shape[1]), dtype=np.int64)
    for count, weight in zip(counts.tolist(), weights, strict=True):
        digits = np.arange(count + 1)[:, np.newaxis, np.newaxis]
        sums = (sums + digits * weight).reshape(-1, weights.shape[1])
    return sums


def _shared(counts: NDArray[np.int64], codes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Find for every state and column the code that all its rows share: -1 if they differ, -2 if it has no row."""
    shared = np.full((1, codes.shape[1]), -2, dtype=np.int32)
    for count, code in zip(counts.tolist(), codes, strict=True):
        joined = np.where((shared == -2) | (shared == code), code, np.int32(-1))
        shared = np.concatenate((shared, *[joined] * count)).astype(np.int32)
    return shared
