"""The working partition of a local search: the arrays of `group_state_kernel`, and the steps that change them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal._core.validation import Integer
from shoal.algorithms.base import Problem
from shoal.algorithms.common.compiled import compile_requirement, populations_of
from shoal.algorithms.hilbert.hilbert import curve_ranks
from shoal.algorithms.local_search.dealing_kernel import count_failures, deal, deal_in_two, free_failing, join_failing
from shoal.algorithms.local_search.exchange_kernel import Partners, exchange_rows
from shoal.algorithms.local_search.group_state_kernel import GROUP, LOSS, ROOM, SIZE, Predicate, State, lay_out, measure
from shoal.algorithms.local_search.growing_kernel import grow_groups, keep_acceptable
from shoal.algorithms.local_search.loss_table import LossTable, Near, RowClasses, near_classes, stretches_for
from shoal.algorithms.local_search.regrouping_kernel import Log, dissolve_groups, found_groups
from shoal.models.base import RuleKind
from shoal.table.classes import mixed_radix_keys
from shoal.table.sorting_kernel import sort_by_key

EFFORT: Mapping[str, Any] = MappingProxyType(
    {
        "help": "The effort of the local search: moves to try for each row. For cluster, the default depends on the "
        "size of the table, so that it takes seconds.",
        "flag": "--effort",
        "metavar": "NUMBER",
    }
)
"""Declaration of `effort`, for all algorithms with a local search."""
EFFORTS = Integer(low=0, high=1_000_000)
"""Constraint on `effort`."""


class SearchEnd(StrEnum):
    """How a local search ended, for certificates."""

    COMPLETE = "complete"
    """The search did all of its work."""
    CUT_SHORT = "cut-short"
    """The budget of work was used up: the groups are the best found until then."""

    @classmethod
    def of(cls, *, shortened: bool) -> SearchEnd:
        """Choose the end of a search, which was shortened or not."""
        return cls.CUT_SHORT if shortened else cls.COMPLETE


_TALLIED = 1 << 25
"""Largest number of counts of sensitive codes by group to store; above it codes are counted on demand."""
_ORDERS = 7
"""Number of orders by single attributes, besides the Hilbert curve, in which partners are searched."""
_BUCKETS_PER_ROW = 32
"""Rows of a shared bucket over the rows of a group: rare values share buckets."""
_STAYING = {int(kind) for kind in (RuleKind.SIZE, RuleKind.DISTINCT, RuleKind.SPREAD)}
_CLOSE_AND_LARGE = {int(RuleKind.SIZE), int(RuleKind.CLOSE)}
_REACH = 10
"""Partners of a row are searched up to 2**10 places away in an order."""
_POOL = 512
"""Largest number of classes that a growing group considers."""
_WORK_PER_CALL = 1 << 26
"""Number of codes and rows that a kernel scans before it returns to Python: a second or less (2**28 took 2.7)."""
_MULTIPLIER = 0x9E3779B97F4A7C15
"""2**64 over the golden ratio: spreads keys over all bits."""
_UNLIMITED = 1 << 62
"""Number of codes and counts that may be scanned if there is no limit."""
_SEED = 0x9E3779B97F4A7C15
"""Seed of the search: a release depends on the content of the table only."""


class WorkingPartition:
    """A partition into acceptable groups during a search, and its loss."""

    def __init__(self, problem: Problem) -> None:
        """Lay the rows out in their canonical order, so that nothing depends on the order of the table."""
        # The kernels see rows by their place in the order of the classes.
        table = problem.table
        compiled = compile_requirement(table, problem.requirement)
        self.rows = table.rows
        self._rows = table.classes.order
        self.table = LossTable.of(problem, self._rows)
        self.classes = RowClasses.of(table)
        self._kinds = _kinds(problem)[self._rows]
        # The requirement, in the same order.
        self._predicate = Predicate(
            sensitive=np.ascontiguousarray(compiled.codes[self._rows]),
            starts=compiled.starts,
            rules=compiled.rules,
            bounds=compiled.bounds,
        )
        self.smallest = compiled.smallest
        self.may_always_join = set(compiled.rules[:, 0].tolist()) <= _STAYING
        """Whether a group stays acceptable if any row joins."""
        self.only_close = set(compiled.rules[:, 0].tolist()) <= _CLOSE_AND_LARGE
        """Whether the only constraints on a group are t-closeness by the equal distance, and a size."""
        # The search starts with one group of all rows.
        self.active = np.arange(self.rows, dtype=np.int32)
        self.near = np.empty((self.classes.count, 0), dtype=np.int32)
        self._hilbert = partial(curve_ranks, table, self._rows, stretch=True)
        self._random = np.array([_SEED], dtype=np.uint64)
        self._work = np.array([_UNLIMITED], dtype=np.int64)
        self._shortened = False
        self.set_groups(np.zeros(self.rows, dtype=np.int32), 1)

    @cached_property
    def _orders(self) -> NDArray[np.int32]:
        """Orders with similar rows near each other: along the Hilbert curve, and by single attributes first."""
        # The most important attribute first; each order starts with another attribute.
        falling = np.argsort(-self.table.importance, kind="stable")
        orders = [np.argsort(self._hilbert(), kind="stable").astype(np.int32)]
        for turn in range(min(len(falling), _ORDERS)):
            chosen = np.roll(falling, -turn)
            columns = [
                ((self.table.losses.codes[:, place] - first).astype(np.uint32), int(last - first + 1))
                for place, (_, first, last, _) in zip(chosen, self.table.losses.columns[chosen], strict=True)
            ]
            keys, bits = mixed_radix_keys(columns, self.rows)
            orders.append(sort_by_key(keys, np.arange(self.rows, dtype=np.int32), bits)[1])
        return np.array(orders)

    @cached_property
    def _standing(self) -> NDArray[np.int32]:
        """The place of each row in each of the orders."""
        standing = np.empty_like(self._orders)
        for order, place in zip(self._orders, standing, strict=True):
            place[order] = np.arange(self.rows, dtype=np.int32)
        return standing

    @property
    def count(self) -> int:
        """Number of groups."""
        return len(self._state.groups)

    @property
    def orders(self) -> int:
        """Number of orders in which like rows are near."""
        return len(self._orders)

    def set_groups(self, labels: NDArray[np.int32], count: int, spare: int = 0) -> None:
        """Lay a partition out, with room for additional empty groups."""
        # Groups may grow to twice their size before the partition is laid out again.
        count += spare
        sizes = np.bincount(labels, minlength=count)
        groups = np.zeros((count, 3), dtype=np.int64)
        groups[:, ROOM] = 2 * np.maximum(sizes, self.smallest) + 4
        # Histograms are stored only if they are small enough.
        values = int(self._predicate.starts[-1])
        held = np.zeros((count, values if values * count <= _TALLIED else 0), dtype=np.int64)
        if held.size:
            for attribute in self._predicate.sensitive.T:
                keys = labels.astype(np.int64) * values + attribute
                np.add.at(held.reshape(-1), keys, 1)  # touches a few of many counts
        d = self.table.width
        self._state = State(
            members=np.zeros(int(groups[:, ROOM].sum()), dtype=np.int32),
            groups=groups,
            places=np.empty((self.rows, 2), dtype=np.int32),
            tally=np.zeros((count, self.table.tallied(count)), dtype=np.int32),
            extents=np.empty((count, d, 2), dtype=np.int32),
            measured=np.zeros((count, d, 2)),
            held=held,
            powers=np.empty((2, int(groups[:, ROOM].max(initial=0)) + 2)),
            power=0.0,
            counts=np.zeros(values, dtype=np.int64),
            touched=np.empty(values, dtype=np.int32),
            work=self._work,
        )
        lay_out(labels, count, self.table.losses, self._state)

    def allow(self, work: int = _UNLIMITED) -> None:
        """Limit the number of codes and counts that the next steps may scan in all."""
        self._shortened = self.shortened
        self._work[0] = work

    @property
    def spent(self) -> bool:
        """Whether the allowed work is used up."""
        return bool(self._work[0] <= 0)

    @property
    def shortened(self) -> bool:
        """Whether any work was cut short so far."""
        return self._shortened or self.spent

    def shorten(self) -> None:
        """Record that some work was cut short."""
        self._shortened = True

    def may_be_dealt(self, count: int, failures: float) -> bool:
        """Test whether at most a share of groups fails if so many groups are dealt."""
        enough = int(failures * count)
        order, begins = self._by_group(self._dealt(count, 0), count)
        return bool(count_failures(order, begins, self._predicate, enough) <= enough)

    def deal(self, count: int, order: int) -> float:
        """Deal the rows out to groups by one of the orders, join the groups that fail, and return the loss."""
        labels = self._dealt(count, order)
        joined = np.empty(count, dtype=np.int32)
        left = join_failing(*self._by_group(labels, count), self._predicate, joined)
        self.set_groups(joined[labels], int(left))
        return self.loss()

    def _dealt(self, count: int, order: int) -> NDArray[np.int32]:
        """Deal every bucket out to groups in an order; return the group of each row."""
        # Each kind is a bucket, except that rare kinds share a bucket with similar kinds.
        totals = np.bincount(self._kinds)
        bucket_of = np.arange(len(totals))
        if len(totals) * count > _BUCKETS_PER_ROW * self.rows:
            bucket_of = np.cumsum(totals) * _BUCKETS_PER_ROW // count
        buckets = np.unique(bucket_of, return_inverse=True)[1][self._kinds]
        # Sort the rows by bucket, stably, so that the order holds within each bucket.
        keys = buckets[self._orders[order]]
        sizes = np.bincount(keys)
        _, rows = sort_by_key(keys.astype(np.int64), self._orders[order].copy(), (len(sizes) - 1).bit_length())
        labels = np.empty(self.rows, dtype=np.int32)
        deal(rows, np.concatenate(([0], np.cumsum(sizes))).astype(np.int64), count, labels)
        return labels

    def _by_group(self, labels: NDArray[np.int32], count: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Sort the rows by group; return them, and the start of each group."""
        keys, rows = labels.astype(np.int64), np.arange(self.rows, dtype=np.int32)
        _, order = sort_by_key(keys, rows, max(count - 1, 0).bit_length())
        begins = np.concatenate(([0], np.cumsum(np.bincount(labels, minlength=count)))).astype(np.int64)
        return order, begins

    def cut(self, turn: int) -> int:
        """Divide groups in two by one of the orders if both halves are acceptable; return the number of divisions."""
        labels = np.empty(self.rows, dtype=np.int32)
        kinds = int(self._kinds.max(initial=-1)) + 1
        # Rows by group, within a group by kind, within a kind by the order.
        rows = self._orders[turn % self.orders].copy()
        keys = self._state.places[rows, GROUP].astype(np.int64) * kinds + self._kinds[rows]
        _, order = sort_by_key(keys, rows, max(self.count * kinds - 1, 0).bit_length())
        begins = np.concatenate(([0], np.cumsum(self._state.groups[:, SIZE]))).astype(np.int64)
        count = deal_in_two(order, begins, self._kinds, self._predicate, self.smallest, labels)
        cuts = int(count) - self.count
        if cuts:
            self.set_groups(labels, int(count))
        return cuts

    def loss(self, power: float = 0.0) -> float:
        """Compute the average loss of a cell, with sets smoothed by a power (0: no smoothing)."""
        powers = self._state.powers
        powers[:] = np.arange(powers.shape[1])
        powers[0, 1:] **= power
        powers[1] **= 2
        self._state = self._state._replace(power=power)
        return float(measure(self.table.losses, self._state)) / max(self.rows * self.table.attributes, 1)

    def exchange(self, moves: int, temperature: float, power: float = 0.0) -> int:
        """Try moves of rows between groups for a loss smoothed by a power; return the number of accepted moves."""
        if not self.table.width or self.count < 2:
            return 0
        self.loss(power)
        # The kernel returns after each stretch; a move scans the rows of two groups at most a few times.
        stretch = max(_WORK_PER_CALL // (16 * self.table.width * int(self._state.groups[:, SIZE].max())), 1)
        made = 0
        for begin in range(0, moves, stretch):
            made += exchange_rows(
                self.table.losses,
                self._predicate,
                self._state,
                self._partners(self.near),
                self.smallest,
                temperature,
                min(stretch, moves - begin),
                self._random,
            )
        return int(made)

    def _partners(self, near: NDArray[np.int32]) -> Partners:
        none = np.empty((1, 0), dtype=np.int32)
        return Partners(
            active=self.active,
            class_of=self.classes.of_rows,
            begins=self.classes.begins,
            near=near,
            orders=none if near.shape[1] else self._orders,
            standing=none if near.shape[1] else self._standing,
            reach=_REACH,
            kinds=self._kinds,
        )

    def look_around(self, width: int, progress: Callable[[int, int], None]) -> None:
        """Find the near classes of each class, up to a width, for all following searches."""
        self.near, self.near_losses, _ = self._near_classes(width, None, progress)

    def near_free(self, free: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Find near classes among the classes of given rows, and the losses with them; see `near_classes`."""
        near, lost, _ = self._near_classes(self.near.shape[1], np.unique(self.classes.of_rows[free]))
        return near, lost

    def _near_classes(
        self,
        width: int,
        chosen: NDArray[np.int32] | None,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Near:
        # The budget covers this search, too.
        count = self.classes.count if chosen is None else len(chosen)
        stretches, enough = stretches_for(count, width, self.table.width)
        self._shortened = self._shortened or not enough
        self._work[0] -= count * stretches * self.table.width
        return near_classes(self.table, self.classes, width, chosen=chosen, stretches=stretches, progress=progress)

    def keep_classes(self) -> tuple[NDArray[np.int32], int]:
        """Keep the acceptable classes as groups, and the acceptable part of any other, as TP's first phase does.

        The rows that are not kept become the active rows.

        Returns
        -------
        labels : int32 array of shape (n,)
            Group of each row, -1 for rows without a group.
        count : int
            Number of groups.
        """
        labels = np.empty(self.rows, dtype=np.int32)
        count = done = 0
        while done < self.classes.count:
            count, done, _ = keep_acceptable(
                self.classes.begins, done, count, self.smallest, self._predicate, labels, _WORK_PER_CALL
            )
        self.active = np.flatnonzero(labels < 0).astype(np.int32)
        return labels, int(count)

    def grow(self, seeds: NDArray[np.int32], near: NDArray[np.int32], labels: NDArray[np.int32], count: int) -> int:
        """Grow groups of free rows, see `grow_groups`; return the new number of groups."""
        # The kernel returns after each stretch, so that the run can be interrupted.
        while len(seeds) and not self.spent:
            count, done = grow_groups(
                seeds,
                self.smallest,
                4 * self.smallest + 16,
                _POOL,
                count,
                labels,
                self.table.losses,
                self._predicate,
                self._partners(near),
                self._work,
                _WORK_PER_CALL,
            )
            seeds = seeds[done:]
        return int(count)

    def found(self, seeds: NDArray[np.int32], broken: int) -> int:
        """Open new groups around rows if that pays, dissolving up to `broken` groups for each; return their number."""
        # Empty groups at the end give room for the new groups.
        labels, filled = self._without_empty()
        spare = len(seeds) // self.smallest + 1
        self.set_groups(labels, filled, spare)
        self.loss()
        partners = self._partners(self.near)
        log = Log.of_founding(self._state, partners, broken)
        losses, predicate, state = self.table.losses, self._predicate, self._state
        founded = done = 0
        while done < len(seeds) and not self.spent:
            more, done = found_groups(
                seeds,
                done,
                filled + founded,
                broken,
                self.smallest,
                _WORK_PER_CALL,
                losses,
                predicate,
                state,
                partners,
                log,
            )
            founded += int(more)
        return founded

    def dissolve(self) -> int:
        """Dissolve groups if that pays, the groups with the largest loss first; return their number."""
        self.loss()
        lost = self._state.measured[:, :, LOSS].sum(axis=1)
        worst = np.argsort(-lost, kind="stable")[: np.count_nonzero(lost)].astype(np.int32)
        return self._dissolve(worst, 0.0)

    def _dissolve(self, chosen: NDArray[np.int32], most: float) -> int:
        """Dissolve given groups, see `dissolve_groups`."""
        log, partners = Log.of_dissolving(self._state), self._partners(self.near)
        losses, predicate, state = self.table.losses, self._predicate, self._state
        dissolved = done = 0
        while done < len(chosen) and not self.spent:
            more, done = dissolve_groups(chosen, done, most, _WORK_PER_CALL, losses, predicate, state, partners, log)
            dissolved += int(more)
        return dissolved

    def free_failing(self, labels: NDArray[np.int32]) -> tuple[NDArray[np.int32], int]:
        """Free the rows of groups that are not acceptable; return the renumbered groups (-1: none) and their number."""
        # Number the groups without gaps, and sort the rows by group.
        grouped = np.flatnonzero(labels >= 0)
        groups, numbers = np.unique(labels[grouped], return_inverse=True)
        freed = np.full(self.rows, -1, dtype=np.int32)
        freed[grouped] = numbers
        order = grouped[np.argsort(numbers, kind="stable")].astype(np.int32)
        begins = np.concatenate(([0], np.cumsum(np.bincount(numbers, minlength=len(groups))))).astype(np.int64)
        free_failing(order, begins, self._predicate, freed)
        # Number the groups that are left without gaps.
        left, numbers = np.unique(freed[freed >= 0], return_inverse=True)
        freed[freed >= 0] = numbers
        return freed, len(left)

    def restart(self) -> None:
        """Reset the state of the random numbers."""
        self._random[0] = _SEED

    def place_rest(self, labels: NDArray[np.int32], count: int) -> float:
        """Lay a partition out whose last rows have no group (-1), and let these join near groups; return the loss.

        Rows that can join no group without breaking it are joined with whole neighbouring groups until the union is
        acceptable.
        """
        # Each row starts as a group of its own, which is then dissolved at any price.
        rest = np.flatnonzero(labels < 0)
        labels[rest] = count + np.arange(len(rest))
        self.set_groups(labels, count + len(rest))
        self.loss()
        alone = np.arange(count, count + len(rest), dtype=np.int32)
        self._dissolve(alone, np.inf)
        labels, count = self._without_empty()
        # Number the groups by their first row, so that neighbours in the order have consecutive numbers.
        firsts = np.full(count, self.rows)
        np.minimum.at(firsts, labels, np.arange(self.rows))
        labels = np.argsort(np.argsort(firsts)).astype(np.int32)[labels]
        joined = np.empty(count, dtype=np.int32)
        left = join_failing(*self._by_group(labels, count), self._predicate, joined)
        self.set_groups(joined[labels], int(left))
        return self.loss()

    def _without_empty(self) -> tuple[NDArray[np.int32], int]:
        """Renumber the groups without empty groups; return the group of each row and the number of groups."""
        filled = self._state.groups[:, SIZE] > 0
        numbers = (np.cumsum(filled) - 1).astype(np.int32)
        return numbers[self._state.places[:, 0]], int(np.count_nonzero(filled))

    def merge(self) -> None:
        """Merge groups that publish the same cells: larger groups can spare more rows."""
        labels, count = self._without_empty()
        self.set_groups(labels, count)
        # A hash of the published cells, attribute by attribute.
        keys = np.zeros(count, dtype=np.uint64)
        for place in range(self.table.width):
            keys *= np.uint64(_MULTIPLIER)
            keys += self.table.published(place, self._state.extents[:, place].astype(np.int64), labels)
            keys ^= keys >> np.uint64(29)
        same = np.unique(keys, return_inverse=True)[1].astype(np.int32)
        self.set_groups(same[labels], int(same.max(initial=-1)) + 1)

    def marks(self) -> NDArray[np.uint64]:
        """Compute a number for each row that changes if other rows are in its group."""
        # The sum of random numbers of the rows of a group does not depend on their order.
        numbers = np.random.default_rng(0).integers(0, 1 << 63, self.rows, np.uint64)
        sums = np.zeros(self.count, dtype=np.uint64)
        np.add.at(sums, self._state.places[:, 0], numbers)
        return sums[self._state.places[:, 0]]

    def stirred(self, before: NDArray[np.uint64]) -> NDArray[np.int32]:
        """Find the active rows near to a group that has changed since the marks were taken."""
        moved = np.zeros(self.classes.count + 1, dtype=np.bool_)
        moved[self.classes.of_rows[before != self.marks()]] = True
        near = moved[:-1] | moved[self.near].any(axis=1)
        return self.active[near[self.classes.of_rows[self.active]]]

    def set_groups_of_rows(self, groups: NDArray[np.int32]) -> float:
        """Lay out a partition that is given by the group of each row of the table; return its loss."""
        self.set_groups(groups[self._rows], int(groups.max(initial=0)) + 1)
        return self.loss()

    def groups_of_rows(self) -> NDArray[np.int32]:
        """Convert the partition to the group of each row of the table."""
        labels = np.empty(self.rows, dtype=np.int32)
        labels[self._rows] = self._state.places[:, 0]
        return labels


def _kinds(problem: Problem) -> NDArray[np.int32]:
    """Assign numbers to the kinds of rows that the requirement distinguishes; similar values have near numbers.

    A stretch of near numbers is a bucket of any length, because rows are dealt out in their order.
    """
    n = problem.table.rows
    kinds = np.zeros(n, dtype=np.int64)
    if not any(model.needs_sensitive for model in problem.requirement.group_models):
        return kinds.astype(np.int32)
    # Refine the kinds by one sensitive attribute at a time.
    populations = populations_of(problem.table)
    for position, (column, population) in enumerate(zip(problem.table.sensitive, populations, strict=True)):
        ranks = np.empty(column.size, dtype=np.int64)
        ranks[problem.requirement.drawing_order(population, position)] = np.arange(column.size)
        _, kinds = np.unique(kinds * column.size + ranks[column.codes], return_inverse=True)
    return kinds.astype(np.int32)
