"""The state of pattern-guided algorithms: the numbers of rows of each type by group, and the pattern of each group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.patterns.assignment_kernel import (
    Fragments,
    Groups,
    Pattern,
    Projected,
    assign_projections,
    open_groups,
)

_SALT_SEED = 0x5340414C
"""Seed of the hash salts; it affects the running time only."""


class Assignment:
    """Assignment of rows to groups, by fragments: a fragment is a number of rows of one type in one group.

    Group 0 holds the waiting rows; every other group follows a pattern. Rows only move out of group 0 or to a cheaper
    group.

    Parameters
    ----------
    codes : int32 array of shape (t, d)
        The input row types.
    counts : int64 array of shape (t,)
        Number of rows of each type.
    starred : bool array of shape (p, d)
        Attributes that each pattern stars.
    costs : int64 array of shape (p,)
        Cost of a row under each pattern.
    k : int
        Smallest size of a group.
    """

    def __init__(
        self,
        codes: NDArray[np.int32],
        counts: NDArray[np.int64],
        starred: NDArray[np.bool_],
        costs: NDArray[np.int64],
        k: int,
    ) -> None:
        self.codes, self.rows, self.starred, self.costs, self.k = codes, counts, starred, costs, k
        salts = np.asarray(np.random.default_rng(_SALT_SEED).integers(1 << 63, size=codes.shape[1], dtype=np.uint64))
        self._projected = Projected(codes, salts | np.uint64(1))
        self.order = sorted(range(len(costs)), key=lambda j: (int(costs[j]), j))
        """The patterns in ascending order of cost."""
        self.all_star = next((j for j in self.order if starred[j].all()), -1)
        """Number of the pattern that keeps nothing, or -1 if there is none."""
        # At first every type is one fragment of group 0; there is room for more fragments and groups.
        t = len(counts)
        room = t // 2 + 1024
        self._fragments = Fragments(
            types=np.concatenate([np.arange(t, dtype=np.int32), np.zeros(room, dtype=np.int32)]),
            counts=np.concatenate([counts, np.zeros(room, dtype=np.int64)]),
            groups=np.zeros(t + room, dtype=np.int32),
        )
        self._filled, self._made = t, 1
        self._of_groups = Groups(
            costs=np.zeros(t + room, dtype=np.int64),
            sizes=np.zeros(t + room, dtype=np.int64),
            patterns=np.full(t + room, -1, dtype=np.int32),
            floors=np.full(t + room, k, dtype=np.int64),
        )
        self._of_groups.sizes[0] = counts.sum()
        self._of_groups.floors[0] = 0

    @property
    def types(self) -> NDArray[np.int32]:
        """Type of each fragment."""
        return self._fragments.types[: self._filled]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of rows of each fragment."""
        return self._fragments.counts[: self._filled]

    @property
    def groups(self) -> NDArray[np.int32]:
        """Group of each fragment."""
        return self._fragments.groups[: self._filled]

    @property
    def pattern(self) -> NDArray[np.int32]:
        """Pattern of each group; -1 for the group of waiting rows."""
        return self._of_groups.patterns[: self._made]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of rows of each group; 0 for groups that all rows left."""
        return self._of_groups.sizes[: self._made]

    @property
    def waiting(self) -> int:
        """Number of waiting rows."""
        return int(self._of_groups.sizes[0])

    def cost(self) -> int:
        """Compute the total cost of all rows except the waiting rows."""
        return int((self.sizes[1:] * self.costs[self.pattern[1:]]).sum())

    def take(self, j: int) -> None:
        """Make every projection of the waiting rows with at least k rows a group (Algorithm 1, lines 3-6)."""
        active = np.flatnonzero(self.groups == 0).astype(np.int32)
        if len(active) == 0:
            return
        before = self._made
        self._made = assign_projections(
            self._projected, self._fragments, active, self.starred[j], self.k, before, self._of_groups.sizes
        )
        self._of_groups.sizes[0] -= self._of_groups.sizes[before : self._made].sum()
        self._of_groups.patterns[before : self._made] = j
        self._of_groups.costs[before : self._made] = self.costs[j]

    def open_groups(self, j: int, worth: NDArray[np.int64]) -> int:
        """Move rows of more expensive groups to existing or new groups of a pattern, completed with spare rows.

        Parameters
        ----------
        j : int
            The pattern.
        worth : int64 array of shape (t,)
            Value of serving a waiting row of each type.

        Returns
        -------
        int
            Reduction of the cost.
        """
        pattern = Pattern(j, int(self.costs[j]), self.starred[j])
        self._filled, self._made, gain = open_groups(
            self._projected, self._fragments, self._filled, pattern, self.k, worth, self._of_groups, self._made
        )
        return int(gain)

    def suppress_waiting_rows(self) -> None:
        """Suppress the waiting rows completely in a group of at least k rows, if a pattern allows it.

        If there are fewer than k, other rows join them at the lowest cost: rows that groups can spare, from the most
        expensive groups first, or a whole group.
        """
        if self.waiting == 0 or self.all_star < 0:
            return
        # Use the existing group of suppressed rows, or open one.
        present = np.flatnonzero((self.pattern == self.all_star) & (self.sizes > 0))
        home = int(present[0]) if len(present) else self._made
        if not len(present):
            self._made += 1
            self._of_groups.patterns[home], self._of_groups.costs[home] = self.all_star, self.costs[self.all_star]
        self._move(np.flatnonzero(self.groups == 0), home)
        # Complete the group if it has fewer than k rows.
        missing = self.k - int(self._of_groups.sizes[home])
        if missing > 0:
            self._fill(home, missing)

    def find_unreachable_types(self) -> NDArray[np.bool_]:
        """Mark the types that match no pattern together with k - 1 other rows of the table."""
        alone = np.ones(len(self.codes), dtype=np.bool_)
        sizes = np.zeros(len(self.codes) + 1, dtype=np.int64)
        types = np.arange(len(self.codes), dtype=np.int32)
        for j in self.order:
            fragments = Fragments(types, self.rows, np.full(len(self.codes), -1, dtype=np.int32))
            assign_projections(self._projected, fragments, types, self.starred[j], self.k, 0, sizes)
            alone &= fragments.groups < 0
        return alone

    def tighten(self) -> None:
        """Give every group the cheapest pattern that its rows allow, and merge groups that publish the same values."""
        # The attributes on which all rows of a group agree, and the cheapest pattern that stars the others.
        by_group = np.argsort(self.groups, kind="stable")
        groups, first = np.unique(self.groups[by_group], return_index=True)
        agree = np.empty((len(groups), self.codes.shape[1]), dtype=np.bool_)
        for a in range(agree.shape[1]):
            codes = self.codes[self.types[by_group], a]
            agree[:, a] = np.minimum.reduceat(codes, first) == np.maximum.reduceat(codes, first)
        # Cheaper patterns come last in this loop, so they overwrite more expensive ones.
        best = np.full(len(groups), -1, dtype=np.int64)
        for j in reversed(self.order):
            best[(agree | self.starred[j]).all(axis=1)] = j
        real = groups > 0
        self._of_groups.patterns[groups[real]] = best[real]
        self._of_groups.costs[groups[real]] = self.costs[best[real]]
        # Merge groups of one pattern that keep the same values.
        anchors = self.codes[self.types[by_group[first]]].astype(np.int64)
        anchors[self.starred[best]] = -1
        marked = np.column_stack([best, anchors])[real]
        same = np.unique(marked, axis=0, return_index=True, return_inverse=True)
        homes = groups[real][same[1]][same[2].ravel()]
        new = np.arange(self._made, dtype=np.int32)
        new[groups[real]] = homes
        self._fragments.groups[: self._filled] = new[self.groups]
        self._of_groups.sizes[: self._made] = np.bincount(self.groups, weights=self.counts, minlength=self._made)

    def pairs(self, members: NDArray[np.int32], patterns: NDArray[np.int32]) -> NDArray[np.int64]:
        """Count the rows of each pair of an input type and an output type.

        Parameters
        ----------
        members, patterns : arrays of shape (pairs,)
            Input type of each pair, and pattern of its output type. After `tighten`, the pair of every row is among
            them.
        """
        p = len(self.costs)
        keys = members.astype(np.int64) * p + patterns
        order = np.argsort(keys, kind="stable")
        place = order[np.searchsorted(keys[order], self.types.astype(np.int64) * p + self.pattern[self.groups])]
        rows = np.zeros(len(members), dtype=np.int64)
        np.add.at(rows, place, self.counts)
        return rows

    def adopt(self, members: NDArray[np.int32], patterns: NDArray[np.int32], rows: NDArray[np.int64]) -> None:
        """Replace the assignment by a solution, given as the numbers of rows of pairs of input and output types."""
        # Output types in use become groups 1, 2, ...
        used = np.flatnonzero(rows)
        kept = self.codes[members[used]].astype(np.int64)
        kept[self.starred[patterns[used]]] = -1
        outputs, group = np.unique(np.column_stack([patterns[used], kept]), axis=0, return_inverse=True)
        # One fragment for each pair in use, with room for more.
        made, count = len(outputs), len(used)
        self._filled, self._made = count, made + 1
        room = np.zeros(1024)
        self._fragments = Fragments(
            types=np.concatenate([members[used], room]).astype(np.int32),
            counts=np.concatenate([rows[used], room]).astype(np.int64),
            groups=np.concatenate([group.ravel() + 1, room]).astype(np.int32),
        )
        length = made + 1 + len(room)
        self._of_groups = Groups(
            costs=np.concatenate([[0], self.costs[outputs[:, 0]], room]).astype(np.int64),
            sizes=np.bincount(self.groups, weights=self.counts, minlength=length).astype(np.int64),
            patterns=np.concatenate([[-1], outputs[:, 0], room]).astype(np.int32),
            floors=np.full(length, self.k, dtype=np.int64),
        )
        self._of_groups.floors[0] = 0

    def _fill(self, home: int, missing: int) -> None:
        """Move rows to the group of suppressed rows, whichever costs less: spare rows of groups, or a whole group."""
        # Spare rows, from the groups in which suppression adds the least cost per row.
        extra = self.costs[self.all_star] - self._of_groups.costs[: self._made]
        others = np.flatnonzero(self.sizes > 0)
        others = others[others != home]
        spare = self.sizes - self.k
        donors = others[spare[others] > 0]
        donors = donors[np.argsort(extra[donors], kind="stable")]
        gives = np.clip(missing - (np.cumsum(spare[donors]) - spare[donors]), 0, spare[donors])
        # Move a whole group if spare rows do not suffice or cost more.
        whole = others[np.argmin(extra[others] * self.sizes[others])]
        if gives.sum() < missing or (extra[donors] * gives).sum() > extra[whole] * self.sizes[whole]:
            self._move(np.flatnonzero(self.groups == whole), home)
            return
        for g, amount in zip(donors[gives > 0].tolist(), gives[gives > 0].tolist(), strict=True):
            left = amount
            for q in np.flatnonzero(self.groups == g).tolist():
                part = min(int(self._fragments.counts[q]), left)
                if part > 0:
                    self._split(q, part, home)
                    left -= part

    def _move(self, fragments: NDArray[np.intp], home: int) -> None:
        """Move whole fragments to a group."""
        np.subtract.at(self._of_groups.sizes, self._fragments.groups[fragments], self._fragments.counts[fragments])
        self._fragments.groups[fragments] = home
        self._of_groups.sizes[home] += self._fragments.counts[fragments].sum()

    def _split(self, q: int, amount: int, home: int) -> None:
        """Move some rows of a fragment to a group; the others become a fragment of their own."""
        if amount < self._fragments.counts[q]:
            self._fragments.counts[q] -= amount
            new = self._filled
            self._filled += 1
            types, counts, groups = self._fragments
            types[new], counts[new], groups[new] = types[q], amount, groups[q]
            q = new
        self._move(np.array([q]), home)
