# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Pattern-guided k-anonymity on row types: rows that agree on every quasi-identifier are one type with a size.

Projections onto the kept attributes are found by hashing. If two hashes are equal, the codes are compared.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal._core.compiling import allocating_step, inlined, kernel

__all__ = [
    "Fragments",
    "Groups",
    "Pattern",
    "Projected",
    "assign_projections",
    "open_groups",
]

# Multipliers of the hash (splitmix64), and the largest size of the table that filters by slots.
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_STIR = np.uint64(0xBF58476D1CE4E5B9)
_LARGEST_FILTER = 1 << 21


class Projected(NamedTuple):
    """The input row types, and the salts for hashing their projections."""

    codes: NDArray[np.int32]
    """Quasi-identifiers of each row type, shape (t, d)."""
    salts: NDArray[np.uint64]
    """Odd numbers, one for each attribute, shape (d,)."""


class Pattern(NamedTuple):
    """A pattern: the attributes that are suppressed."""

    number: int
    cost: int
    """Cost of a row under the pattern."""
    starred: NDArray[np.bool_]
    """Whether each attribute is suppressed, shape (d,)."""


class Fragments(NamedTuple):
    """Assignment of rows to groups: a fragment is a number of rows of a type in one group. There may be room."""

    types: NDArray[np.int32]
    """Row type of each fragment."""
    counts: NDArray[np.int64]
    """Number of rows of each fragment."""
    groups: NDArray[np.int32]
    """Group of each fragment; 0 is the group of waiting rows."""


class Groups(NamedTuple):
    """The groups so far. There is room for more."""

    costs: NDArray[np.int64]
    """Cost of a row in each group."""
    sizes: NDArray[np.int64]
    """Number of rows of each group; 0 for groups that all rows left."""
    patterns: NDArray[np.int32]
    """Number of the pattern of each group; -1 for the group of waiting rows."""
    floors: NDArray[np.int64]
    """Smallest size of each group while it exists: k, and 0 for the waiting rows."""


@inlined
# Two rounds of xor-shift and multiply, so that all bits depend on all salts.
def _mix_bits(key):
    key = (key ^ (key >> np.uint64(29))) * _STIR
    return (key ^ (key >> np.uint64(32))) * _SPREAD


@inlined
def _same_projection(codes, i, j, starred):
    # Only kept attributes count.
    for a in range(starred.size):
        if not starred[a] and codes[i, a] != codes[j, a]:
            return False
    return True


@inlined
def _hash_of(codes, i, salts, starred):
    # A sum of salted codes: attributes can be skipped in any pattern.
    total = np.uint64(0)
    for a in range(starred.size):
        if not starred[a]:
            total += salts[a] * np.uint64(codes[i, a] + 1)
    return _mix_bits(total)


@kernel
def assign_projections(projected, fragments, active, starred, k, next_group, sizes):
    """Make every projection of the waiting fragments with at least k rows a group.

    Parameters
    ----------
    projected : Projected
    fragments : Fragments
        Their groups are changed in place.
    active : int32[:]
        Waiting fragments, in any order.
    starred : bool[d]
        The pattern.
    k : int64
    next_group : int64
        The first free group number.
    sizes : int64[:]
        Receives the sizes of the new groups.

    Returns
    -------
    next_group : int64
    """
    codes, salts = projected
    types, counts, groups = fragments
    # The filter has about two slots for each fragment, up to the largest size.
    waiting = active.size
    width = 1024
    while width < 2 * waiting and width < _LARGEST_FILTER:
        width *= 2
    mask = np.uint64(width - 1)
    hashes = np.empty(waiting, dtype=np.uint64)
    # A first count by slots alone: it never undercounts, and rules out most fragments.
    held = np.zeros(width, dtype=np.int64)
    for p in range(waiting):
        hashes[p] = _hash_of(codes, types[active[p]], salts, starred)
        held[(hashes[p] >> np.uint64(20)) & mask] += counts[active[p]]
    # Only candidates enter the hash table.
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
    # Find the projection of each candidate by hash, and confirm it by the codes.
    for p in range(waiting):
        if held[(hashes[p] >> np.uint64(20)) & mask] < k:
            continue
        slot = hashes[p] & inner
        while first[slot] >= 0 and not (
            hashes[first[slot]] == hashes[p]
            and _same_projection(codes, types[active[first[slot]]], types[active[p]], starred)
        ):
            slot = (slot + np.uint64(1)) & inner
        # The first fragment of a projection represents it.
        if first[slot] < 0:
            first[slot] = p
        rows[slot] += counts[active[p]]
        slot_of[p] = slot
    # Number the projections with at least k rows, in the order of their first fragment.
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


@allocating_step
def _collect_fragments(projected, fragments, pattern, worth, made):
    """Collect the fragments of projections in which rows could cost less; return them by projection, and each start.

    A projection matters if it has a fragment of a more expensive group that can lose rows. These may meet the group of
    this very pattern, and cheaper groups with rows to spare.
    """
    codes, salts = projected
    types, groups, starred = fragments.types, fragments.groups, pattern.starred
    # First pass: mark the hash slots of fragments that would gain.
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
    # Second pass: collect all fragments in marked slots that can take part.
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
    # Find the projections of these fragments exactly, by hash table.
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
        # A new projection gets the next number.
        if first[slot] < 0:
            first[slot] = p
            number[p] = projections
            projections += 1
        else:
            number[p] = number[first[slot]]
    # Counting sort by projection.
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
    """Move rows of more expensive groups to a group of one pattern, existing or new, if that lowers the cost.

    A group is opened by rows of more expensive groups; if they are fewer than k, groups that are as cheap or cheaper
    give rows that they can spare, as long as that costs less than the others gain.

    Parameters
    ----------
    projected : Projected
    fragments : Fragments
        Changed in place.
    filled : int64
        Number of fragments; the rest is room for more.
    pattern : Pattern
    k : int64
    worth : int64[t]
        Value of serving a waiting row of each type in group 0.
    made : Groups
        Changed in place.
    next_group : int64
        Number of groups; the rest is room for more.

    Returns
    -------
    filled, next_group, gain : int64
    """
    types, counts, groups = fragments
    cost = pattern.cost
    here = Fragments(types[:filled], counts[:filled], groups[:filled])
    # Only fragments that could gain, and their possible partners, by projection.
    together, starts = _collect_fragments(projected, here, pattern, worth, made)
    gain = np.int64(0)
    leave = np.zeros(together.size, dtype=np.int64)
    # Each projection is decided on its own.
    for j in range(starts.size - 1):
        begin = starts[j]
        end = starts[j + 1]
        home = np.int64(-1)
        joining = np.int64(0)
        saved = np.int64(0)
        # Rows of more expensive groups want to join; the pattern's own group is their home if it exists.
        for p in range(begin, end):
            leave[p] = 0
            g = groups[together[p]]
            if made.patterns[g] == pattern.number:
                home = g
            else:
                value = made.costs[g] if g > 0 else worth[types[together[p]]]
                # A group may give only rows beyond its floor.
                amount = min(counts[together[p]], made.sizes[g] - made.floors[g])
                if value > cost and amount > 0:
                    leave[p] = amount
                    made.sizes[g] -= amount
                    joining += amount
                    saved += amount * (value - cost)
        # Too few for a new group: add rows of the cheapest groups, while the sum still pays.
        while home < 0 and 0 < joining < k:
            best = -1
            least = np.int64(0)
            # The fragment with the smallest additional cost.
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
        # A fragment that leaves in part needs room for one more.
        serves = (home >= 0 or joining >= k) and saved > 0 and filled + (end - begin) <= types.size
        if serves and home < 0:
            serves = next_group < made.sizes.size
        # It does not pay: give the reserved rows back.
        if not serves:
            for p in range(begin, end):
                made.sizes[groups[together[p]]] += leave[p]
            continue
        # Open the group.
        if home < 0:
            home = next_group
            next_group += 1
            made.costs[home] = cost
            made.sizes[home] = 0
            made.patterns[home] = pattern.number
            made.floors[home] = k
        gain += saved
        # Move the rows; a fragment is divided if only a part of it leaves.
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
