"""Which groups of a cover lie near one another: those that cheap groups of a larger pool would mix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.algorithms.matching.group_prices_kernel import UNIT

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Neighbourhoods"]

_NEAR = 2 * UNIT
"""Groups of the pool whose reduced cost is above this connect nothing."""


class Neighbourhoods:
    """Types of rows, connected where a group of small reduced cost holds both.

    Parameters
    ----------
    groups : int64 array of shape (groups, 3)
        The pool; see `shoal.algorithms.matching.group_arrays`.
    reduced_costs : int64 array
        Of each group of the pool.
    types : int
        Number of types.
    """

    def __init__(self, groups: NDArray[np.int64], reduced_costs: NDArray[np.int64], types: int) -> None:
        near = reduced_costs <= _NEAR
        order = np.argsort(reduced_costs[near], kind="stable")
        self._groups = groups[near][order]
        group, _ = np.nonzero(self._groups >= 0)
        members = self._groups[self._groups >= 0]
        by_type = np.argsort(members, kind="stable")
        self._columns = group[by_type]
        self._starts = np.searchsorted(members[by_type], np.arange(types + 1))

    def grow(
        self, cover: NDArray[np.int64], seed: int, rows: int, chance: np.random.Generator | None = None
    ) -> NDArray[np.intp]:
        """Return groups of a cover around one of them, the nearest first, until they have so many rows.

        With `chance`, each group of the pool is passed over half of the time.
        """
        holders: dict[int, list[int]] = {}
        for place, group in enumerate(cover.tolist()):
            for t in group:
                holders.setdefault(t, []).append(place)
        chosen, queue, size = {seed}, [seed], 0
        for place in queue:  # it grows meanwhile
            members = [t for t in cover[place].tolist() if t >= 0]
            size += len(members)
            if size >= rows:
                break
            for t in members:
                columns = self._columns[self._starts[t] : self._starts[t + 1]]
                if chance is not None:
                    columns = columns[chance.random(len(columns)) < 0.5]
                for column in columns.tolist():
                    for other in self._groups[column].tolist():
                        fresh = [holder for holder in holders.get(other, ()) if holder not in chosen]
                        if other >= 0 and fresh:
                            chosen.add(fresh[0])
                            queue.append(fresh[0])
        reached = queue[: queue.index(place) + 1]
        return np.sort(np.array(reached, dtype=np.intp))
