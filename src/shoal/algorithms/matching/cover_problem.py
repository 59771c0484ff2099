"""Rows to cover by pairs and triples: the problem, what groups cost, and a cover with what was proven of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal.algorithms.matching.group_prices_kernel import Prices, prices_of_groups, split_groups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shoal._core.facts import Fact

__all__ = ["FORBIDDEN", "MOST_ATTRIBUTES", "Cover", "CoverProblem", "GroupPrices", "split_cover"]

MOST_ATTRIBUTES = 62
"""A set of attributes is a set of bits."""
FORBIDDEN = 1 << 36
"""The price of a set of attributes in which no group may differ; real prices are far below."""
_MOST_TABULATED = 16
"""Attributes up to which the price of every set of them is tabulated."""
_SPLIT_AT_A_TIME = 64
"""Rows of a group that is split as a whole; longer ones are dealt out first."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class GroupPrices:
    """What each row of a group costs, as a function of the attributes in which the group's rows differ.

    A price never falls when rows differ in more attributes.
    """

    weights: NDArray[np.int64]
    """Price of a star in each attribute."""
    by_mask: NDArray[np.int64]
    """Price of each set of attributes (bit `a` is attribute `a`), shape (2**d,), and then `weights` is not used; or
    empty: the price of a set is the sum of its weights."""

    @classmethod
    def of_weights(cls, weights: Sequence[int]) -> GroupPrices:
        """Let each starred attribute cost its weight; weights of 1 count stars."""
        each = np.array(weights, dtype=np.int64)
        table = np.zeros(1, dtype=np.int64)
        if len(each) > _MOST_TABULATED:
            return cls(weights=each, by_mask=np.empty(0, dtype=np.int64))
        for weight in each:
            table = np.concatenate((table, table + weight))
        return cls(weights=each, by_mask=table)

    @classmethod
    def of_patterns(cls, attributes: int, starred: Sequence[int], prices: Sequence[int]) -> GroupPrices:
        """Let a group cost the cheapest pattern that stars every attribute in which its rows differ.

        Parameters
        ----------
        attributes : int
            Number of attributes, at most 20.
        starred : sequence of int
            The attributes that each pattern stars, as a set of bits.
        prices : sequence of int
            Price of a row that is published by each pattern.
        """
        table = np.full(1 << attributes, FORBIDDEN, dtype=np.int64)
        np.minimum.at(table, np.array(starred, dtype=np.int64), np.array(prices, dtype=np.int64))
        every = np.arange(1 << attributes)
        for a in range(attributes):
            # A pattern that stars attribute `a` too is good for the sets without it.
            table = np.where(every >> a & 1, table, np.minimum(table, table[every | 1 << a]))
        return cls(weights=np.zeros(attributes, dtype=np.int64), by_mask=table)

    @property
    def table(self) -> Prices:
        """The prices as the kernels take them."""
        return Prices(self.by_mask, self.weights)

    @property
    def highest(self) -> int:
        """The highest price that is allowed."""
        if len(self.by_mask):
            return int(np.max(self.by_mask, where=self.by_mask < FORBIDDEN, initial=0))
        return int(self.weights.sum())


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class CoverProblem:
    """Rows to cover by pairs and triples, given by their types."""

    codes: NDArray[np.int32]
    """Codes of the attributes of each type, shape (types, d)."""
    counts: NDArray[np.int64]
    """Rows of each type, at least 1."""
    prices: GroupPrices
    values: NDArray[np.int64] | None = None
    """Where rows of a group must all have different (sensitive) values: the value of each type, at least 0. None:
    any two or three rows may form a group."""
    alone: int | None = None
    """Price of a row in no group; None: every row must be in one."""

    @property
    def rows(self) -> int:
        """Rows to cover."""
        return int(self.counts.sum())

    def cost(self, groups: NDArray[np.int64]) -> int:
        """Return what groups cost together; see `Cover.groups`."""
        single = groups[:, 1] < 0
        whole = groups[~single]
        paid = prices_of_groups(self.codes, self.prices.table, whole)
        return int(paid.sum()) + int(np.count_nonzero(single)) * (self.alone or 0)

    def __repr__(self) -> str:
        return f"CoverProblem(types={len(self.counts)}, rows={self.rows}, attributes={self.codes.shape[1]})"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Cover:
    """The cheapest cover that was found, and what was proven of every other."""

    groups: NDArray[np.int64]
    """Three type numbers for each group, in ascending order; -1 after the last of a pair or a single row."""
    cost: int | None
    """What they cost; None where no cover was found."""
    bound: int
    """No cover costs less."""
    proof: Fact
    """How the bound was proven, in words."""
    complete: bool
    """Whether the search ran to its end; not where time ran out or somebody interrupted it."""

    @property
    def optimal(self) -> bool:
        """Whether no cover is cheaper."""
        return self.cost is not None and self.bound >= self.cost

    def __repr__(self) -> str:
        return f"Cover(groups={len(self.groups)}, cost={self.cost}, bound={self.bound})"


def split_cover(problem: CoverProblem, members: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Split groups of any size into pairs and triples, as the proof of Lemma 2 does: the cheapest allowed pair first.

    It never costs more than the groups did, where prices are those of stars.

    Parameters
    ----------
    problem : CoverProblem
    members : sequence of int64 arrays
        The types of each group's rows, one entry a row. Where values count, no more than half of a group's rows have
        the same.

    Returns
    -------
    int64 array of shape (groups, 3)
        See `Cover.groups`.
    """
    values = np.full(len(problem.counts), -1, dtype=np.int64) if problem.values is None else problem.values
    parts = [part for group in members for part in _parts(group, values)]
    starts = np.concatenate(([0], np.cumsum([len(part) for part in parts]))).astype(np.int64)
    found = np.empty((int(starts[-1]) // 2 + 1, 3), dtype=np.int64)
    types = np.concatenate([np.empty(0, dtype=np.int64), *parts])
    count = split_groups(problem.codes, values, problem.prices.table, types, starts, found)
    return found[:count]


def _parts(group: NDArray[np.int64], values: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Deal the rows of a long group out into shorter ones in which no value is too frequent either."""
    if len(group) <= _SPLIT_AT_A_TIME:
        return [group.copy()]
    ordered = group[np.lexsort((group, values[group]))]
    first = np.empty(0, dtype=np.int64)
    if len(ordered) % 2:
        # A triple of the three most frequent values: at most half of the rest has the same value then.
        _, starts, counts = np.unique(values[ordered], return_index=True, return_counts=True)
        chosen = starts[np.argsort(-counts, kind="stable")[:3]] if values[ordered[0]] >= 0 else np.arange(3)
        first, ordered = ordered[chosen], np.delete(ordered, chosen)
    # Half a group apart there is another value.
    half = len(ordered) // 2
    pairs = np.column_stack((ordered[:half], ordered[half:]))
    size = _SPLIT_AT_A_TIME // 2
    parts = [pairs[place : place + size].ravel() for place in range(0, half, size)]
    return [np.sort(first), *parts] if len(first) else parts
