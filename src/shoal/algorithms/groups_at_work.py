"""Groups of rows while a search changes them: the arrays of `shoal.kernels.exchange`, with what goes with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal.algorithms.hilbert import curve_ranks
from shoal.kernels.dealing import count_failures, deal, deal_in_two, join_failing
from shoal.kernels.exchange import INTERVAL, SET, STAR, exchange_rows, lay_out, measure
from shoal.kernels.grouping import sort_by_key
from shoal.recoding.penalty import distances
from shoal.table.classes import mixed_radix_keys

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.algorithms.base import Problem
    from shoal.algorithms.compiled import CompiledRequirement
    from shoal.table import Column, Table

__all__ = ["GroupsAtWork", "LossTable"]

_TALLIED = 1 << 25
"""Counts of codes by group that are kept; codes of larger domains are counted when they are asked for."""
_ORDERS = 7
_BUCKETS_PER_ROW = 32
"""Rows of a bucket over those of a group that rare values share a bucket for."""
_SEED = 0x9E3779B97F4A7C15
"""Of the search: a release depends on what is in the table, and on nothing else."""


@dataclass(frozen=True, kw_only=True, repr=False)
class LossTable:
    """What recoding costs, as arrays: the quasi-identifiers that can lose something, small domains first."""

    codes: NDArray[np.int32]
    """Codes of each row, shape (n, d), in one numbering."""
    columns: NDArray[np.int64]
    """Of each attribute how it is recoded, its first and last code, and the code of a missing value or -1."""
    scales: NDArray[np.float64]
    """What the second value of a set costs."""
    positions: NDArray[np.float64]
    """Where each code lies in its domain, from 0 to 1; a missing value lies farther away."""
    importance: NDArray[np.float64]
    """What two rows of the table lose on average if they are a group."""
    attributes: int
    """Quasi-identifiers in all."""

    @classmethod
    def of(cls, table: Table, order: NDArray[np.int32], recoding: str) -> LossTable:
        """Lay the quasi-identifiers out, with the rows in an order."""
        chosen = sorted((column for column in table.quasi_identifiers if column.size > 1), key=lambda one: one.size)
        starts = np.concatenate(([0], np.cumsum([column.size for column in chosen]))).astype(np.int64)
        codes = np.empty((len(order), len(chosen)), dtype=np.int32)
        columns = np.empty((len(chosen), 4), dtype=np.int64)
        scales, importance = np.ones(len(chosen)), np.empty(len(chosen))
        positions = np.zeros(int(starts[-1]))
        for place, column in enumerate(chosen):
            first, end = starts[place], starts[place + 1]
            codes[:, place] = column.codes[order].astype(np.int32) + np.int32(first)
            mode = STAR if recoding == "suppression" else INTERVAL if column.ordered else SET
            missing = end - 1 if column.has_missing and mode == SET else -1
            columns[place] = mode, first, end - 1, missing
            if mode == SET:
                scales[place] = 1 / (column.size - 1)
            if mode == INTERVAL:
                positions[first:end] = _positions(column)
            shares = np.bincount(column.codes, minlength=column.size) / max(len(order), 1)
            below = np.cumsum(shares)[:-1]
            importance[place] = (
                2 * np.dot(below * (1 - below), np.diff(np.minimum(positions[first:end], 1.0)))
                if mode == INTERVAL
                else scales[place] * (1 - np.dot(shares, shares))
            )
        return cls(
            codes=codes,
            columns=columns,
            scales=scales,
            positions=positions,
            importance=importance,
            attributes=len(table.quasi_identifiers),
        )

    def tallied(self, groups: int) -> int:
        """Return how many codes, of whole attributes, are counted for each of so many groups."""
        ends = self.columns[:, 2] + 1
        return int(ends[ends * groups <= _TALLIED].max(initial=0))


def _positions(column: Column) -> NDArray[np.float64]:
    """Return where the values of an ordered attribute lie, from 0 to 1; a missing value lies at 2."""
    present = distances(column)
    present = present / max(float(present[-1]), np.finfo(np.float64).tiny) if len(present) else present
    return np.append(present, 2.0) if column.has_missing else present


class GroupsAtWork:
    """A partition into acceptable groups that is being changed, and the loss that it is changed for."""

    def __init__(self, problem: Problem, compiled: CompiledRequirement, kinds: NDArray[np.int32]) -> None:
        """Take the rows in their canonical order, so that nothing depends on the order of the table.

        Parameters
        ----------
        problem : Problem
            The table, and how it will be recoded.
        compiled : CompiledRequirement
            What each group must satisfy.
        kinds : int32 array of shape (n,)
            Rows of one kind agree on everything that the requirement looks at.
        """
        table = problem.table
        self.rows = table.rows
        self._rows = table.classes.order
        self._table = LossTable.of(table, self._rows, problem.recoding)
        self._kinds = np.ascontiguousarray(kinds[self._rows])
        self._sensitive = np.ascontiguousarray(compiled.codes[self._rows])
        self._predicate = compiled.starts, compiled.rules, compiled.bounds
        self.smallest = compiled.smallest
        self._orders = self._near_orders(table)
        self._standing = np.empty_like(self._orders)
        for order, standing in zip(self._orders, self._standing, strict=True):
            standing[order] = np.arange(self.rows, dtype=np.int32)
        self._random = np.array([_SEED], dtype=np.uint64)
        self.set_groups(np.zeros(self.rows, dtype=np.int32), 1)

    def _near_orders(self, table: Table) -> NDArray[np.int32]:
        """Return orders in which like rows are near: by each of some attributes first, and along the Hilbert curve."""
        falling = np.argsort(-self._table.importance, kind="stable")
        orders = [np.argsort(curve_ranks(table, self._rows, stretch=True), kind="stable").astype(np.int32)]
        for turn in range(min(len(falling), _ORDERS)):
            chosen = np.roll(falling, -turn)
            domains = self._table.columns[chosen]
            columns = [
                ((self._table.codes[:, place] - first).astype(np.uint32), int(last - first + 1))
                for place, (_, first, last, _) in zip(chosen, domains, strict=True)
            ]
            keys, bits = mixed_radix_keys(columns, self.rows)
            orders.append(sort_by_key(keys, np.arange(self.rows, dtype=np.int32), bits)[1])
        return np.array(orders)

    @property
    def count(self) -> int:
        """Number of groups."""
        return len(self._groups)

    @property
    def orders(self) -> int:
        """Number of orders in which like rows are near."""
        return len(self._orders)

    def set_groups(self, labels: NDArray[np.int32], count: int) -> None:
        """Lay a partition out."""
        sizes = np.bincount(labels, minlength=count)
        groups = np.zeros((count, 3), dtype=np.int64)
        groups[:, 2] = 2 * sizes + 4
        self._groups = groups
        self._members = np.zeros(int(groups[:, 2].sum()), dtype=np.int32)
        self._places = np.empty((self.rows, 2), dtype=np.int32)
        self._tally = np.zeros((count, self._table.tallied(count)), dtype=np.int32)
        d = len(self._table.columns)
        self._extents = np.empty((count, d, 2), dtype=np.int32)
        self._measured = np.zeros((count, d, 2))
        values = int(self._predicate[0][-1])
        self._held = np.zeros((count, values if values * count <= _TALLIED else 0), dtype=np.int64)
        if self._held.size:
            for attribute in self._sensitive.T:
                keys = labels.astype(np.int64) * values + attribute
                self._held += np.bincount(keys, minlength=self._held.size).reshape(self._held.shape)
        lay_out(
            self._table.codes,
            labels,
            count,
            self._table.columns,
            self._members,
            self._groups,
            self._places,
            self._tally,
            self._extents,
        )

    def may_be_dealt(self, count: int, failures: float) -> bool:
        """Return whether at most a share of so many dealt groups is not acceptable."""
        enough = int(failures * count)
        order, begins = self._by_group(self._dealt(count, 0), count)
        return bool(count_failures(order, begins, self._sensitive, *self._predicate, enough) <= enough)

    def deal(self, count: int, order: int) -> float:
        """Deal the rows out to groups, like rows to the same by one of the orders; join what fails; return the loss."""
        labels = self._dealt(count, order)
        joined = np.empty(count, dtype=np.int32)
        left = join_failing(*self._by_group(labels, count), self._sensitive, *self._predicate, joined)
        self.set_groups(joined[labels], int(left))
        return self.loss()

    def _dealt(self, count: int, order: int) -> NDArray[np.int32]:
        """Return the group of each row after every bucket was dealt out in an order."""
        # A kind is a bucket, unless it is rare: then it shares one with those like it.
        totals = np.bincount(self._kinds)
        bucket_of = np.arange(len(totals))
        if len(totals) * count > _BUCKETS_PER_ROW * self.rows:
            bucket_of = np.cumsum(totals) * _BUCKETS_PER_ROW // count
        buckets = np.unique(bucket_of, return_inverse=True)[1][self._kinds]
        keys = buckets[self._orders[order]]
        sizes = np.bincount(keys)
        _, rows = sort_by_key(keys.astype(np.int64), self._orders[order].copy(), (len(sizes) - 1).bit_length())
        labels = np.empty(self.rows, dtype=np.int32)
        deal(rows, np.concatenate(([0], np.cumsum(sizes))).astype(np.int64), count, labels)
        return labels

    def _by_group(self, labels: NDArray[np.int32], count: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the rows group after group, and where each group starts."""
        keys, rows = labels.astype(np.int64), np.arange(self.rows, dtype=np.int32)
        _, order = sort_by_key(keys, rows, max(count - 1, 0).bit_length())
        begins = np.concatenate(([0], np.cumsum(np.bincount(labels, minlength=count)))).astype(np.int64)
        return order, begins

    def cut(self, turn: int) -> int:
        """Deal every group out in two by one of the orders, where both halves are acceptable; return how many were."""
        labels = np.empty(self.rows, dtype=np.int32)
        count = deal_in_two(
            self._members,
            self._groups,
            self._kinds,
            self._standing[turn % self.orders],
            self._sensitive,
            *self._predicate,
            self.smallest,
            labels,
        )
        cuts = int(count) - self.count
        if cuts:
            self.set_groups(labels, int(count))
        return cuts

    def loss(self, power: float = 0.0) -> float:
        """Return what a cell loses on average, with sets smoothed by a power (0: as it is)."""
        powers = self._powers(power)
        table = self._table
        total = measure(
            table.codes,
            table.columns,
            table.scales,
            table.positions,
            powers,
            power,
            self._members,
            self._groups,
            self._tally,
            self._extents,
            self._measured,
        )
        return float(total) / max(self.rows * table.attributes, 1)

    def _powers(self, power: float) -> NDArray[np.float64]:
        largest = int(self._groups[:, 2].max(initial=0))
        powers = np.tile(np.arange(largest + 2, dtype=np.float64), (2, 1))
        powers[0, 1:] **= power
        powers[1] **= 2
        return powers

    def exchange(self, moves: int, temperature: float, power: float, reach: int) -> int:
        """Try moves of rows between groups for a loss that is smoothed by a power; return how many were made."""
        table = self._table
        if not len(table.columns) or self.count < 2:
            return 0
        self.loss(power)
        made = exchange_rows(
            table.codes,
            self._kinds,
            self._sensitive,
            table.columns,
            table.scales,
            table.positions,
            self._powers(power),
            power,
            self._orders,
            self._standing,
            self._members,
            self._groups,
            self._places,
            self._tally,
            self._extents,
            self._measured,
            self._held,
            *self._predicate,
            reach,
            temperature,
            moves,
            self._random,
        )
        return int(made)

    def set_groups_of_rows(self, groups: NDArray[np.int32]) -> float:
        """Lay out a partition that is given by the group of each row of the table; return its loss."""
        self.set_groups(groups[self._rows], int(groups.max(initial=0)) + 1)
        return self.loss()

    def groups_of_rows(self) -> NDArray[np.int32]:
        """Return the group of each row of the table."""
        labels = np.empty(self.rows, dtype=np.int32)
        labels[self._rows] = self._places[:, 0]
        return labels
