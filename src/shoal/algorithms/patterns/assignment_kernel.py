# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Pattern-guided k-anonymity on row types: rows that agree on every quasi-identifier are one type with a size.

Projections onto the kept attributes are found by hashing; a hash only ever says that two projections *may* be equal,
the codes decide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal._compiling import inlined, kernel, kernel_step

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Fragments",
    "Groups",
    "Pattern",
    "Projected",
    "assign_projections",
    "dissolve_groups",
    "find_places",
    "open_groups",
]

_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_STIR = np.uint64(0xBF58476D1CE4E5B9)
_LARGEST_FILTER = 1 << 21


class Projected(NamedTuple):
    """The input row types, whose projections are hashed."""

    codes: NDArray[np.int32]
    """Quasi-identifiers of each, shape (t, d)."""
    salts: NDArray[np.uint64]
    """Odd numbers, one for each attribute, shape (d,)."""


class Pattern(NamedTuple):
    """A pattern: the attributes that are suppressed."""

    number: int
    cost: int
    """What a row costs under it."""
    starred: NDArray[np.bool_]
    """Which attributes it stars, shape (d,)."""


class Fragments(NamedTuple):
    """Which rows are where: so many rows of a type that are in the same group. There may be room for more."""

    types: NDArray[np.int32]
    """Row type of each fragment."""
    counts: NDArray[np.int64]
    """Rows of each."""
    groups: NDArray[np.int32]
    """Group of each; 0 is that of the rows that wait."""


class Groups(NamedTuple):
    """The groups so far. There is room for more."""

    costs: NDArray[np.int64]
    """What a row costs in each."""
    sizes: NDArray[np.int64]
    """Rows of each; 0 for groups that were dissolved."""
    patterns: NDArray[np.int32]
    """Number of the pattern that each follows; -1 for the one whose rows wait."""
    floors: NDArray[np.int64]
    """Rows that each may not fall below while it exists: k, and 0 for the rows that wait."""


@inlined
def _mixed(key):
    key = (key ^ (key >> np.uint64(29))) * _STIR
    return (key ^ (key >> np.uint64(32))) * _SPREAD


@inlined
def _same_projection(codes, i, j, starred):
    for a in range(starred.size):
        if not starred[a] and codes[i, a] != codes[j, a]:
            return False
    return True


@inlined
def _hash_of(codes, i, salts, starred):
    total = np.uint64(0)
    for a in range(starred.size):
        if not starred[a]:
            total += salts[a] * np.uint64(codes[i, a] + 1)
    return _mixed(total)


@kernel
def assign_projections(projected, fragments, active, starred, k, next_group, sizes):
    """Give every projection of the waiting fragments that holds at least k rows a group of its own.

    Parameters
    ----------
    projected : Projected
    fragments : Fragments
        Their groups are changed in place.
    active : int32[:]
        Fragments that wait, in any order.
    starred : bool[d]
        The pattern.
    k : int64
    next_group : int64
        The first free group number.
    sizes : int64[:]
        Filled for the new groups.

    Returns
    -------
    next_group : int64
    """
    codes, salts = projected
    types, counts, groups = fragments
    waiting = active.size
    width = 1024
    while width < 2 * waiting and width < _LARGEST_FILTER:
        width *= 2
    mask = np.uint64(width - 1)
    hashes = np.empty(waiting, dtype=np.uint64)
    # A first count by slots alone: it never counts too little, and most fragments are out of the question after it.
    held = np.zeros(width, dtype=np.int64)
    for p in range(waiting):
        hashes[p] = _hash_of(codes, types[active[p]], salts, starred)
        held[(hashes[p] >> np.uint64(20)) & mask] += counts[active[p]]
    candidates = 0
    for p in range(waiting):
        if held[(hashes[p] >> np.uint64(20)) & mask] >= k:
            candidates += 1
    slots = 16
    while slots < 2 * candidates:
        slots *= 2
    inner = np.uint64(slots - 1)
    first = np.full(slots, -1, dtype=np.int32)
    rows = np.zeros(slots, dtype=np.int64)
    slot_of = np.full(waiting, -1, dtype=np.int32)
    for p in range(waiting):
        if held[(hashes[p] >> np.uint64(20)) & mask] < k:
            continue
        slot = hashes[p] & inner
        while first[slot] >= 0 and not (
            hashes[first[slot]] == hashes[p]
            and _same_projection(codes, types[active[first[slot]]], types[active[p]], starred)
        ):
            slot = (slot + np.uint64(1)) & inner
        if first[slot] < 0:
            first[slot] = p
        rows[slot] += counts[active[p]]
        slot_of[p] = slot
    number = np.full(slots, -1, dtype=np.int32)
    for p in range(waiting):
        slot = slot_of[p]
        if slot >= 0 and rows[slot] >= k:
            if number[slot] < 0:
                number[slot] = next_group
                sizes[next_group] = rows[slot]
                next_group += 1
            groups[active[p]] = number[slot]
    return next_group


@kernel_step
def _meet(projected, fragments, pattern, worth, made):
    """Return the fragments that meet where rows could be served cheaper, sorted by projection, and where each starts.

    Fragments whose group is dearer and can lose rows are why a projection matters; the group of this very pattern and
    cheaper groups with rows to spare are who they may meet there.
    """
    codes, salts = projected
    types, groups, starred = fragments.types, fragments.groups, pattern.starred
    n = types.size
    width = 1024
    while width < 2 * n and width < _LARGEST_FILTER:
        width *= 2
    mask = np.uint64(width - 1)
    wanted = np.zeros(width, dtype=np.bool_)
    for q in range(n):
        g = groups[q]
        value = made.costs[g] if g > 0 else worth[types[q]]
        if value > pattern.cost and made.sizes[g] > made.floors[g]:
            wanted[(_hash_of(codes, types[q], salts, starred) >> np.uint64(20)) & mask] = True
    found = np.empty(n, dtype=np.int32)
    hashes = np.empty(n, dtype=np.uint64)
    met = 0
    for q in range(n):
        g = groups[q]
        if made.sizes[g] > made.floors[g] or made.patterns[g] == pattern.number:
            key = _hash_of(codes, types[q], salts, starred)
            if wanted[(key >> np.uint64(20)) & mask]:
                found[met] = q
                hashes[met] = key
                met += 1
    slots = 16
    while slots < 2 * met:
        slots *= 2
    inner = np.uint64(slots - 1)
    first = np.full(slots, -1, dtype=np.int32)
    number = np.empty(met, dtype=np.int32)
    projections = 0
    for p in range(met):
        slot = hashes[p] & inner
        while first[slot] >= 0 and not (
            hashes[first[slot]] == hashes[p]
            and _same_projection(codes, types[found[first[slot]]], types[found[p]], starred)
        ):
            slot = (slot + np.uint64(1)) & inner
        if first[slot] < 0:
            first[slot] = p
            number[p] = projections
            projections += 1
        else:
            number[p] = number[first[slot]]
    starts = np.zeros(projections + 1, dtype=np.int64)
    for p in range(met):
        starts[number[p] + 1] += 1
    for j in range(projections):
        starts[j + 1] += starts[j]
    place = starts[:-1].copy()
    together = np.empty(met, dtype=np.int32)
    for p in range(met):
        together[place[number[p]]] = found[p]
        place[number[p]] += 1
    return together, starts


@kernel
def open_groups(projected, fragments, filled, pattern, k, worth, made, next_group):
    """Let rows of dearer groups join or found a group of one pattern, where that lowers the cost.

    A group is founded by rows of dearer groups; where they are fewer than k, groups that are as cheap or cheaper give
    rows that they can spare, as long as that costs less than the others gain.

    Parameters
    ----------
    projected : Projected
    fragments : Fragments
        Changed in place.
    filled : int64
        How many fragments there are; the rest is room for more.
    pattern : Pattern
    k : int64
    worth : int64[t]
        What it is worth to serve a row of each type that waits in group 0.
    made : Groups
        Changed in place.
    next_group : int64
        How many groups there are; the rest is room for more.

    Returns
    -------
    filled, next_group, gain : int64
    """
    types, counts, groups = fragments
    cost = pattern.cost
    here = Fragments(types[:filled], counts[:filled], groups[:filled])
    together, starts = _meet(projected, here, pattern, worth, made)
    gain = np.int64(0)
    leave = np.zeros(together.size, dtype=np.int64)
    for j in range(starts.size - 1):
        begin = starts[j]
        end = starts[j + 1]
        home = np.int64(-1)
        joining = np.int64(0)
        saved = np.int64(0)
        for p in range(begin, end):
            leave[p] = 0
            g = groups[together[p]]
            if made.patterns[g] == pattern.number:
                home = g
            else:
                value = made.costs[g] if g > 0 else worth[types[together[p]]]
                amount = min(counts[together[p]], made.sizes[g] - made.floors[g])
                if value > cost and amount > 0:
                    leave[p] = amount
                    made.sizes[g] -= amount
                    joining += amount
                    saved += amount * (value - cost)
        while home < 0 and 0 < joining < k:
            best = -1
            least = np.int64(0)
            for p in range(begin, end):
                g = groups[together[p]]
                if leave[p] == 0 and g > 0 and made.costs[g] <= cost and made.sizes[g] > made.floors[g]:
                    extra = cost - made.costs[g]
                    if best < 0 or extra < least:
                        best = p
                        least = extra
            if best < 0:
                break
            g = groups[together[best]]
            amount = min(made.sizes[g] - made.floors[g], k - joining)
            amount = min(amount, counts[together[best]])
            if saved - amount * least <= 0:
                break
            leave[best] = amount
            made.sizes[g] -= amount
            joining += amount
            saved -= amount * least
        if joining == 0:
            continue
        # There is room for a fragment more per entry that leaves in part.
        serves = (home >= 0 or joining >= k) and saved > 0 and filled + (end - begin) <= types.size
        if serves and home < 0:
            serves = next_group < made.sizes.size
        if not serves:
            for p in range(begin, end):
                made.sizes[groups[together[p]]] += leave[p]
            continue
        if home < 0:
            home = next_group
            next_group += 1
            made.costs[home] = cost
            made.sizes[home] = 0
            made.patterns[home] = pattern.number
            made.floors[home] = k
        gain += saved
        for p in range(begin, end):
            if leave[p] == 0:
                continue
            q = together[p]
            made.sizes[home] += leave[p]
            if leave[p] == counts[q]:
                groups[q] = home
            else:
                counts[q] -= leave[p]
                types[filled] = types[q]
                counts[filled] = leave[p]
                groups[filled] = home
                filled += 1
    return filled, next_group, gain


@kernel
def find_places(projected, fragments, pattern, made, places):
    """Note for every fragment that has no place yet the group of this pattern that fits it and is cheaper than its own.

    `places` (int32, -1 where there is none) is changed in place.
    """
    codes, salts = projected
    types, groups, starred = fragments.types, fragments.groups, pattern.starred
    n = types.size
    anchors = 0
    for q in range(n):
        if made.patterns[groups[q]] == pattern.number:
            anchors += 1
    slots = 16
    while slots < 2 * anchors:
        slots *= 2
    inner = np.uint64(slots - 1)
    first = np.full(slots, -1, dtype=np.int32)
    for q in range(n):
        if made.patterns[groups[q]] == pattern.number:
            slot = _hash_of(codes, types[q], salts, starred) & inner
            while first[slot] >= 0 and not _same_projection(codes, types[first[slot]], types[q], starred):
                slot = (slot + np.uint64(1)) & inner
            first[slot] = q
    for q in range(n):
        if places[q] < 0 and made.costs[groups[q]] > pattern.cost:
            slot = _hash_of(codes, types[q], salts, starred) & inner
            while first[slot] >= 0 and not _same_projection(codes, types[first[slot]], types[q], starred):
                slot = (slot + np.uint64(1)) & inner
            if first[slot] >= 0:
                places[q] = groups[first[slot]]


@kernel
def dissolve_groups(fragments, places, made):
    """Dissolve the groups all of whose rows have found a cheaper place, the dearest groups first; return the gain.

    A place is no longer one when its own group was dissolved: that group is cheaper, so it comes later.
    """
    counts, groups = fragments.counts, fragments.groups
    homeless = np.zeros(made.sizes.size, dtype=np.bool_)
    needed = np.zeros(made.sizes.size, dtype=np.bool_)
    for q in range(groups.size):
        if places[q] < 0:
            homeless[groups[q]] = True
    gain = np.int64(0)
    # A group that takes somebody in stays.
    for q in range(groups.size):
        if not homeless[groups[q]]:
            needed[places[q]] = True
    for q in range(groups.size):
        g = groups[q]
        if not homeless[g] and not needed[g]:
            home = places[q]
            gain += counts[q] * (made.costs[g] - made.costs[home])
            made.sizes[g] -= counts[q]
            made.sizes[home] += counts[q]
            groups[q] = home
    return gain
