"""Covers of rows by pairs and triples: the problem, the prices of groups, and a cover with its proven bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal.algorithms.matching.group_prices_kernel import Prices, split_groups

MAX_ATTRIBUTES = 62
"""Largest number of attributes: sets of attributes are sets of bits."""
FORBIDDEN = 1 << 36
"""Price of a set of attributes in which the rows of a group must not all differ; real prices are far below."""
_MAX_TABULATED_ATTRIBUTES = 16
"""Largest number of attributes for which the price of every set is tabulated."""
_MAX_ROWS_TO_SPLIT = 64
"""Largest number of rows of a group that is split at once; longer groups are dealt into shorter ones first."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class GroupPrices:
    """Price of a row of a group, as a function of the attributes in which the group's rows differ.

    A price never falls if rows differ in more attributes.
    """

    weights: NDArray[np.int64]
    """Price of a star in each attribute."""
    by_mask: NDArray[np.int64]
    """Price of each set of attributes (bit `a` is attribute `a`), shape (2**d,). If it is empty, the price of a set is
    the sum of its weights; otherwise `weights` is not used."""

    @classmethod
    def of_weights(cls, weights: Sequence[int]) -> GroupPrices:
        """Build prices that are sums of weights of the starred attributes; weights of 1 count stars."""
        each = np.array(weights, dtype=np.int64)
        table = np.zeros(1, dtype=np.int64)
        if len(each) > _MAX_TABULATED_ATTRIBUTES:
            return cls(weights=each, by_mask=np.empty(0, dtype=np.int64))
        for weight in each:
            table = np.concatenate((table, table + weight))
        return cls(weights=each, by_mask=table)

    @classmethod
    def of_patterns(cls, attributes: int, starred: Sequence[int], prices: Sequence[int]) -> GroupPrices:
        """Build prices of patterns: a group costs the cheapest pattern that stars all attributes with differences.

        Parameters
        ----------
        attributes : int
            Number of attributes, at most 20.
        starred : sequence of int
            Attributes that each pattern stars, as a set of bits.
        prices : sequence of int
            Price of a row under each pattern.
        """
        table = np.full(1 << attributes, FORBIDDEN, dtype=np.int64)
        np.minimum.at(table, np.array(starred, dtype=np.int64), np.array(prices, dtype=np.int64))
        every = np.arange(1 << attributes)
        for a in range(attributes):
            # A pattern that also stars attribute `a` serves the sets without it.
            table = np.where(every >> a & 1, table, np.minimum(table, table[every | 1 << a]))
        return cls(weights=np.zeros(attributes, dtype=np.int64), by_mask=table)

    @property
    def table(self) -> Prices:
        """The prices in the form that the kernels use."""
        return Prices(self.by_mask, self.weights)

    @property
    def highest(self) -> int:
        """The highest price that is not forbidden."""
        if len(self.by_mask):
            return int(np.max(self.by_mask, where=self.by_mask < FORBIDDEN, initial=0))
        return int(self.weights.sum())


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class CoverProblem:
    """A problem: cover rows of given types by pairs and triples at the lowest cost."""

    codes: NDArray[np.int32]
    """Codes of the attributes of each type, shape (types, d)."""
    counts: NDArray[np.int64]
    """Number of rows of each type, at least 1."""
    prices: GroupPrices
    """Prices of the rows of groups."""
    values: NDArray[np.int64] | None = None
    """Sensitive value of each type, at least 0, if rows of a group must have different values. If None, any two or
    three rows may form a group."""

    @property
    def rows(self) -> int:
        """Number of rows to cover."""
        return int(self.counts.sum())


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Cover:
    """The cheapest cover found, with a lower bound on the cost of all covers."""

    groups: NDArray[np.int64]
    """Three type numbers per group, in ascending order; -1 follows the last type of a pair or a single row."""
    cost: int | None
    """Cost of the cover; None if no cover was found."""
    bound: int
    """Lower bound on the cost of any cover."""
    proof: Fact
    """Proof of the bound."""
    complete: bool
    """False if the search was ended by the time limit or an interrupt."""

    @property
    def optimal(self) -> bool:
        """True if no cover is cheaper."""
        return self.cost is not None and self.bound >= self.cost


def split_cover(problem: CoverProblem, members: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Split groups of any size into pairs and triples as in the proof of Lemma 2, the cheapest allowed pair first.

    If prices are those of stars, the pairs and triples never cost more than the groups.

    Parameters
    ----------
    problem : CoverProblem
    members : sequence of int64 arrays
        Types of the rows of each group, one entry per row. If the problem has values, at most half of the rows of a
        group have the same value.

    Returns
    -------
    int64 array of shape (groups, 3)
        Pairs and triples in the form of `Cover.groups`.
    """
    values = np.full(len(problem.counts), -1, dtype=np.int64) if problem.values is None else problem.values
    parts = [part for group in members for part in _deal_rows(group, values)]
    starts = np.concatenate(([0], np.cumsum([len(part) for part in parts]))).astype(np.int64)
    found = np.empty((int(starts[-1]) // 2 + 1, 3), dtype=np.int64)
    types = np.concatenate([np.empty(0, dtype=np.int64), *parts])
    count = split_groups(problem.codes, values, problem.prices.table, types, starts, found)
    return found[:count]


def _deal_rows(group: NDArray[np.int64], values: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Deal the rows of a long group into shorter groups, in which no value is too frequent either."""
    if len(group) <= _MAX_ROWS_TO_SPLIT:
        return [group.copy()]
    ordered = group[np.lexsort((group, values[group]))]
    first = np.empty(0, dtype=np.int64)
    if len(ordered) % 2:
        # Remove a triple of the three most frequent values, so that at most half of the rest has the same value.
        _, starts, counts = np.unique(values[ordered], return_index=True, return_counts=True)
        chosen = starts[np.argsort(-counts, kind="stable")[:3]] if values[ordered[0]] >= 0 else np.arange(3)
        first, ordered = ordered[chosen], np.delete(ordered, chosen)
    # Rows half a group apart have different values, because no value fills more than half of the group.
    half = len(ordered) // 2
    pairs = np.column_stack((ordered[:half], ordered[half:]))
    size = _MAX_ROWS_TO_SPLIT // 2
    parts = [pairs[place : place + size].ravel() for place in range(0, half, size)]
    return [np.sort(first), *parts] if len(first) else parts
