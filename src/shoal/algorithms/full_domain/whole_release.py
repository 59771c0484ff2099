"""Requirements of models on the release as a whole, at a node of the lattice: its classes and suppressed rows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.base import PeopleOfNodes
from shoal.algorithms.full_domain.lattice import Lattice, Node
from shoal.algorithms.full_domain.lattice_costs import Evaluation
from shoal.algorithms.full_domain.lattice_kernel import ACCEPTED, IN_VAIN, REFUSED, Classes
from shoal.models import ReleaseRule
from shoal.models.rationals import at_most
from shoal.table.classes import mixed_radix_keys

_DENSE = 1 << 22
"""Largest number of combinations of nodes for which people are counted in a dense table."""
_CAREFUL = 16
"""Numbers of joining classes that are tried one by one; then every step is this part of the number."""
_NOTHING = np.empty(0, dtype=np.int8)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class WholeRelease:
    """Rules on a release as a whole, and the population that it is compared with."""

    rules: tuple[ReleaseRule, ...]
    people: PeopleOfNodes | None

    def people_of(self, lattice: Lattice, node: Node, classes: Classes) -> NDArray[np.int64] | None:
        """Count the members of the population that fit each class at a node (F); None without a population."""
        people = self.people
        if people is None:
            return None
        # Generalize the population to the node; -1 marks values outside the table's.
        fitted = [
            of_levels[lattice.levels[a][place]][people.codes[:, a]]
            for a, (of_levels, place) in enumerate(zip(people.nodes, node, strict=True))
        ]
        inside = np.logical_and.reduce([place_nodes >= 0 for place_nodes in fitted])
        counts = people.counts[inside]
        columns = [
            (
                np.concatenate([classes.codes[:, a], place_nodes[inside]]).astype(np.uint32),
                int(lattice.nodes[a][place].max()) + 1,
            )
            for a, (place_nodes, place) in enumerate(zip(fitted, node, strict=True))
        ]
        # Dense counting if there are few combinations, otherwise by sorting.
        m = len(classes.sizes)
        if prod(size for _, size in columns) <= _DENSE:
            keys = np.zeros(m + len(counts), dtype=np.int64)
            for codes, size in columns:
                keys = keys * size + codes
            of_key = np.bincount(keys[m:], weights=counts, minlength=prod(size for _, size in columns))
            return of_key[keys[:m]].astype(np.int64)
        keys, _ = mixed_radix_keys(columns, m + len(counts))
        number = np.unique(keys, return_inverse=True)[1]
        of_number = np.bincount(number[m:], weights=counts, minlength=int(number.max()) + 1)
        return of_number[number[:m]].astype(np.int64)

    def standing(self, node: Node, classes: Classes, people: NDArray[np.int64] | None) -> NDArray[np.int8]:
        """Judge each class at a node by the number of matching people; empty without a population."""
        if people is None:
            return _NOTHING
        # Presence bounds may hold for parts of a class, least counts may not.
        found = np.full(len(classes.sizes), ACCEPTED, dtype=np.int8)
        for rule in self.rules:
            if rule.presence is not None:
                found[~_present(classes.sizes, people, rule.presence)] = REFUSED
        for rule in self.rules:
            if rule.min_people is not None:  # fewer people fit each part of a class
                found[people < rule.min_people] = IN_VAIN
        return found

    def joining(self, found: Evaluation, most: int) -> Joining:
        """Create the search for the classes at a node that join the suppressed rows, which are at most `most` then."""
        return Joining(whole=self, found=found, most=most)

    def __repr__(self) -> str:
        return f"WholeRelease(rules={len(self.rules)}, people={self.people!r})"


class Joining:
    """Number of acceptable classes that join the suppressed rows, smallest first, for the release to be acceptable."""

    def __init__(self, *, whole: WholeRelease, found: Evaluation, most: int) -> None:
        self._whole, self._found, self._most = whole, found, most
        self._able = found.verdict == ACCEPTED  # before any class joins
        self._refused = int(found.refused[0])

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The acceptable classes, smallest first; ties by their nodes."""
        classes, able = self._found.classes, np.flatnonzero(self._able)
        columns = [classes.codes[able, a] for a in reversed(range(classes.codes.shape[1]))]
        return np.asarray(able[np.lexsort([*columns, classes.sizes[able]])], dtype=np.int64)

    @cached_property
    def least(self) -> int | None:
        """The fewest classes that have to join by the rules that joining can only help; None if no number suffices."""
        return 0 if self._acceptable_at_once() else next(iter(np.flatnonzero(self._acceptable).tolist()), None)

    @property
    def rows(self) -> int:
        """Rows of these classes; of all acceptable classes if no number suffices."""
        return 0 if self.least == 0 else int(self._found.classes.sizes[self.order[: self.least]].sum())

    def next_from(self, done: int) -> int | None:
        """Find the smallest sufficient number of joining classes from `done` on, by all rules; None if there is none.

        A rule on the sizes of all groups takes time and may change in either direction: after the first numbers,
        numbers are skipped, and then bisected.
        """
        accepts = [rule.sizes for rule in self._whole.rules if rule.sizes is not None]
        if done == 0 and not accepts and self.least == 0:
            return 0
        left = done + np.flatnonzero((self._acceptable & (self._rows <= self._most))[done:])
        if not accepts or not len(left):
            return int(left[0]) if len(left) else None
        sizes, rows = self._found.classes.sizes[self.order], self._rows

        def fits(number: int) -> bool:
            groups = np.append(sizes[number:], rows[number : number + 1][rows[number : number + 1] > 0])
            return all(accept(groups) for accept in accepts)

        # Skip ahead until a number is accepted.
        refused, place = -1, 0
        while not fits(int(left[place])):
            if place == len(left) - 1:
                return None
            refused, place = place, min(place + 1 + place // _CAREFUL, len(left) - 1)
        while place - refused > 1:
            middle = (refused + place) // 2
            refused, place = (refused, middle) if fits(int(left[middle])) else (middle, place)
        return int(left[place])

    def _acceptable_at_once(self) -> bool:
        """Test whether the release is acceptable without joining classes."""
        sizes, people = self._found.classes.sizes, self._found.people
        # The suppressed rows are one group, if there are any.
        groups = int(np.count_nonzero(self._able)) + (self._refused > 0)
        for rule in self._whole.rules:
            if rule.max_groups is not None and groups > rule.max_groups:
                return False
            if rule.max_uniques is not None:
                alone = int(np.count_nonzero(self._able & (sizes == 1))) + (self._refused == 1)
                if alone > rule.max_uniques:
                    return False
        if people is None:
            return True
        assert self._whole.people is not None
        rest = self._whole.people.everybody - int(people[self._able].sum())
        return bool(self._rest_fits(np.array([self._refused]), np.array([rest]))[0])

    @cached_property
    def _rows(self) -> NDArray[np.int64]:
        """The suppressed rows after each number of joining classes."""
        return self._refused + np.concatenate(([0], np.cumsum(self._found.classes.sizes[self.order])))

    @cached_property
    def _acceptable(self) -> NDArray[np.bool_]:
        """Whether the release is acceptable after each number of joining classes: from none to all of them."""
        sizes, people, rows = self._found.classes.sizes[self.order], self._found.people, self._rows
        m = len(sizes)
        # Cumulated counts, for all numbers of joining classes at once.
        groups = m - np.arange(m + 1) + (rows > 0)
        alone = np.count_nonzero(sizes == 1) - np.concatenate(([0], np.cumsum(sizes == 1))) + (rows == 1)
        found = np.ones(m + 1, dtype=np.bool_)
        for rule in self._whole.rules:
            if rule.max_groups is not None:
                found &= groups <= rule.max_groups
            if rule.max_uniques is not None:
                found &= alone <= rule.max_uniques
        if people is not None:
            assert self._whole.people is not None
            joined = np.concatenate(([0], np.cumsum(people[self.order])))
            found &= self._rest_fits(rows, self._whole.people.everybody - joined[-1] + joined)
        return found

    def _rest_fits(self, rows: NDArray[np.int64], people: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Test whether suppressed rows are acceptable, given the number of people who fit no other group."""
        found = np.ones(len(rows), dtype=np.bool_)
        any_rows = rows > 0
        for rule in self._whole.rules:
            if rule.min_people is not None:
                found &= ~any_rows | (people >= rule.min_people)
            if rule.presence is not None:
                outside = (people == 0) | (rule.presence[0] == 0)
                found &= np.where(any_rows, _present(rows, people, rule.presence), outside)
        return found


def _present(
    rows: NDArray[np.int64], people: NDArray[np.int64], bounds: tuple[Fraction, Fraction]
) -> NDArray[np.bool_]:
    """Test elementwise whether low <= rows / people <= high."""
    low, high = bounds
    above = at_most(people, low.numerator, rows, low.denominator)
    below = at_most(rows, high.denominator, people, high.numerator)
    return np.asarray(above & below & (rows <= people))
