# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Bundles of persons in which a value is too frequent are joined with near bundles until none is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal._core.compiling import allocating_step, kernel, kernel_step

__all__ = ["BundleMembers", "NearPersons", "PersonValues", "failing_bundles", "join_round"]

NO_UNIT = np.int64(-1)
"""End of a list of persons."""


class BundleMembers(NamedTuple):
    """The persons of each bundle, each with the next one."""

    first: NDArray[np.int32]
    """First person of each bundle; -1 if the bundle was joined to another one."""
    last: NDArray[np.int32]
    """Last person of each bundle."""
    sizes: NDArray[np.int64]
    """Number of persons of each bundle."""
    following: NDArray[np.int32]
    """Next person of the same bundle, for each person; -1 after the last."""
    of_persons: NDArray[np.int32]
    """Bundle of each person."""


class PersonValues(NamedTuple):
    """The sensitive values of persons, and the shares of a bundle's persons that may have them."""

    starts: NDArray[np.int64]
    """First entry of each person in `values`; one more than there are persons."""
    values: NDArray[np.int32]
    """Values of the persons, each once per person."""
    highest: NDArray[np.int64]
    """Numerator and denominator of the largest share of each value, shape (values, 2)."""
    lowest: NDArray[np.int64]
    """Numerator and denominator of the smallest share of each value, shape (values, 2)."""


class NearPersons(NamedTuple):
    """Classes of persons with equal wide records, and the classes near them."""

    near: NDArray[np.int32]
    """Near classes of each class, the nearest first, shape (classes, width); -1 if there are no more."""
    of_persons: NDArray[np.int32]
    """Class of each person."""
    representatives: NDArray[np.int32]
    """A person of each class."""


@kernel
def failing_bundles(members, held, fails):
    """Mark the bundles whose value shares are outside of the limits.

    Parameters
    ----------
    members : BundleMembers
    held : PersonValues
    fails : bool[b]
        Receives the marks.

    Returns
    -------
    int
        Number of bundles that fail.
    """
    counts = np.zeros(held.highest.shape[0], dtype=np.int64)
    required = np.flatnonzero(held.lowest[:, 0] > 0)
    count = 0
    # The scratch counts are cleared bundle by bundle, so each bundle costs only its own entries.
    for b in range(members.first.size):
        fails[b] = False
        # Joined bundles have no list any more.
        head = np.int64(members.first[b])
        if head >= 0 and _fails(head, NO_UNIT, members.sizes[b], members.following, held, required, counts):
            fails[b] = True
            count += 1
    return count


@kernel_step
def _fails(one, other, size, following, held, required, counts):
    """Decide whether two lists of persons together are outside of the limits; `counts` is all 0 before and after."""
    _count_values(one, following, held, counts)
    _count_values(other, following, held, counts)
    failed = False
    # Values that must not be too rare may be absent, so all of them are compared.
    for i in range(required.size):
        v = required[i]
        if counts[v] * held.lowest[v, 1] < held.lowest[v, 0] * size:
            failed = True
    # Values that occur must not be too frequent.
    if _clear_values(one, size, following, held, counts):
        failed = True
    if _clear_values(other, size, following, held, counts):
        failed = True
    return failed


@kernel_step
def _count_values(head, following, held, counts):
    """Count the persons of a list that have each value."""
    # A value stands once among the entries of a person, so this counts persons.
    person = head
    while person >= 0:
        for e in range(held.starts[person], held.starts[person + 1]):
            counts[held.values[e]] += 1
        person = np.int64(following[person])


@kernel_step
def _clear_values(head, size, following, held, counts):
    """Set the counts of the values of a list to 0; return whether one of them is too large."""
    failed = False
    person = head
    while person >= 0:
        for e in range(held.starts[person], held.starts[person + 1]):
            v = held.values[e]
            # Compare the share count / size with its limit in integers; a count that was cleared passes.
            if counts[v] * held.highest[v, 1] > held.highest[v, 0] * size:
                failed = True
            counts[v] = 0
        person = np.int64(following[person])
    return failed


@kernel
def join_round(members, held, around, fails, touched, begin, most, pause):
    """Join each failing bundle with a near one: the nearest that mends it, else the nearest.

    A bundle takes part in one joining of a round, so the number of failing bundles at least halves with each round.

    Parameters
    ----------
    members : BundleMembers
        They are changed.
    held : PersonValues
    around : NearPersons
    fails : bool[b]
        Whether each bundle fails.
    touched : bool[b]
        Whether each bundle was joined in this round; changed.
    begin : int
        The first bundle that has not had its turn.
    most : int
        Most partners to try for a bundle.
    pause : int
        Number of persons and values after which to return, so that a run can be interrupted.

    Returns
    -------
    int
        The first bundle that has not had its turn; the number of bundles at the end of the round.
    """
    counts = np.zeros(held.highest.shape[0], dtype=np.int64)
    required = np.flatnonzero(held.lowest[:, 0] > 0)
    seen = np.zeros(1, dtype=np.int64)
    for b in range(begin, members.first.size):
        if seen[0] > pause:
            return b
        # Bundles that grew in this round are judged again in the next one.
        if members.first[b] < 0 or not fails[b] or touched[b]:
            continue
        partner = _choose_partner(np.int64(b), members, held, around, touched, required, counts, most, seen)
        if partner >= 0:
            _join(np.int64(b), partner, members)
            touched[b] = True
    return members.first.size


@allocating_step
def _choose_partner(b, members, held, around, touched, required, counts, most, seen):
    """Choose the bundle to join with: the nearest that mends the failure, the nearest, or any; -1 if there is none."""
    tried = np.empty(most, dtype=np.int64)
    count = 0
    # Visit the nearest class of every person, then the second nearest, and so on.
    for rank in range(around.near.shape[1]):
        seen[0] += members.sizes[b]
        person = np.int64(members.first[b])
        while person >= 0 and count < most:
            c = around.near[around.of_persons[person], rank]
            person = np.int64(members.following[person])
            if c < 0:
                continue
            partner = np.int64(members.of_persons[around.representatives[c]])
            # Skip the bundle itself, bundles of this round, and those that were tried.
            known = partner == b or touched[partner]
            for i in range(count):
                if tried[i] == partner:
                    known = True
            if known:
                continue
            # The first partner is the nearest one: the choice if none mends the failure.
            tried[count] = partner
            count += 1
            together = members.sizes[b] + members.sizes[partner]
            head = np.int64(members.first[partner])
            seen[0] += together + required.size
            if not _fails(np.int64(members.first[b]), head, together, members.following, held, required, counts):
                return partner
        if count == most:
            break
    if count > 0:
        return tried[0]
    # No near bundle is free: take the next one that is left.
    for step in range(1, members.first.size):
        seen[0] += 1
        other = np.int64((b + step) % members.first.size)
        if members.first[other] >= 0:
            return other
    return NO_UNIT


@kernel_step
def _join(b, partner, members):
    """Append the list of a bundle to that of another one."""
    members.following[members.last[b]] = members.first[partner]
    # The persons of the partner change their bundle.
    person = np.int64(members.first[partner])
    while person >= 0:
        members.of_persons[person] = b
        person = np.int64(members.following[person])
    # The partner keeps no list.
    members.last[b] = members.last[partner]
    members.sizes[b] += members.sizes[partner]
    members.sizes[partner] = 0
    members.first[partner] = NO_UNIT
