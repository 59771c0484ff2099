# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Groups that give rows to those that cannot form a group of their own: the cascade's last resort, made cheap."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal._compiling import inlined, kernel, kernel_step
from shoal.algorithms.common.hashing_kernel import EMPTY, slot_of, slots_for
from shoal.algorithms.tp.cascade_kernel import append_waiting, count_left, serve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes = NDArray[np.int32]
    Counts = NDArray[np.int64]

__all__ = ["Made", "Offer", "Spare", "complete_with_donors", "complete_with_spare_rows", "spare_of_groups"]

_LONGEST_LOG = 1 << 16
"""Transfers to one group that can be taken back; a group that would need more is not made."""
_ANY_HEIGHT = np.int64(1 << 40)
"""More than any count of a value: nothing is asked of the frequencies."""
_LEVELS = 3
"""How often a donor may give one row of each of its most frequent values to have more to spare."""


class Made(NamedTuple):
    """Groups that were made, as runs of cells."""

    keys: Counts
    """Projection of each group, -1 where it does not fit the pattern."""
    stars: Counts
    """What a row of each group costs."""
    values: Codes
    """Value of each cell."""
    counts: Codes
    """Rows of each cell; they stand at `rows[first_rows[cell]:]`."""
    starts: Codes
    """The cells of group g are `starts[g]:starts[g + 1]`."""
    first_rows: Codes
    rows: Codes
    sizes: Counts


class Offer(NamedTuple):
    """What may be paid for rows of other groups."""

    stars: int
    """What a row costs where it goes to."""
    price: int
    """The most stars that a new group may cost for each row that waited."""
    longest_chain: int
    """Groups that are asked for one group, at most."""


class Spare(NamedTuple):
    """Rows that their groups can lose."""

    keys: Counts
    """Projection of each row."""
    values: Codes
    rows: Codes
    """Which row of the table each is."""
    groups: Codes
    """Group of each, -1 where it has moved."""
    left: Counts
    """How many rows each group can lose."""


class _Transfers(NamedTuple):
    """What a group in the making has, and what it took from others."""

    have: Counts
    """Rows of each value; zeros between groups."""
    log: Counts
    """Cell, rows that were taken from it, and rows that it had left then."""
    donors: Counts
    """Group, and rows that it gave."""


@inlined
def _projection_of(waiting, r):
    return waiting.keys[waiting.cell_starts[waiting.starts[r]]] // waiting.radix


@inlined
def _table_of(waiting):
    """Return a hash table with the waiting projections."""
    table = np.full(2 * slots_for(waiting.starts.size), EMPTY, dtype=np.int64)
    for r in range(waiting.starts.size - 1):
        projection = _projection_of(waiting, r)
        table[slot_of(table, projection)] = projection
    return table


@kernel_step
def _chain_by_projection(waiting, keys, eligible):
    """Hash the waiting projections, and chain to each what has the same key and is eligible, the last one first."""
    table = _table_of(waiting)
    head = np.full(table.size, -1, dtype=np.int32)
    following = np.full(keys.size, -1, dtype=np.int32)
    for i in range(keys.size):
        if eligible[i]:
            slot = slot_of(table, keys[i])
            if table[slot] == keys[i]:
                following[i] = head[slot]
                head[slot] = i
    first = np.empty(waiting.starts.size - 1, dtype=np.int32)
    for r in range(first.size):
        first[r] = head[slot_of(table, _projection_of(waiting, r))]
    return first, following


@inlined
def _tallest(waiting, counts, r, form):
    """Return the most rows of one value that wait in a projection, and no less where frequencies do not count."""
    height = np.int64(0)
    for c in range(waiting.starts[r], waiting.starts[r + 1]):
        height = max(height, np.int64(counts[c]))
    return height if form.num > form.den else _ANY_HEIGHT


@inlined
def _hold(waiting, counts, r, height, have):
    """Note at most `height` waiting rows of each value; return how many rows that is."""
    total = np.int64(0)
    for c in range(waiting.starts[r], waiting.starts[r + 1]):
        have[waiting.values[c]] = min(np.int64(counts[c]), height)
        total += have[waiting.values[c]]
    return total


@inlined
def _forget(waiting, r, have):
    """Take back what was noted of the waiting rows."""
    for c in range(waiting.starts[r], waiting.starts[r + 1]):
        have[waiting.values[c]] = 0


@inlined
def _missing(base, height, form):
    """Return how many rows a group lacks that has so many, and at most `height` of one value."""
    missing = form.k - base
    if form.num > form.den:
        missing = max(missing, (form.num * height - form.den * base + form.den - 1) // form.den)
    return missing


@inlined
def _take(cell, amount, made, transfers, logged):
    made.counts[cell] -= amount
    transfers.have[made.values[cell]] += amount
    transfers.log[logged, 0] = cell
    transfers.log[logged, 1] = amount
    transfers.log[logged, 2] = made.counts[cell]
    return logged + 1


@kernel_step
def _take_from_group(g, missing, height, form, made, transfers, logged):
    """Take up to `missing` rows of one group that stays acceptable (or is emptied), or a few more: whole pillars.

    The new group may have at most `height` rows of one value. Returns the rows taken and the new length of the log.
    """
    start, stop = made.starts[g], made.starts[g + 1]
    size = made.sizes[g]
    top = np.int64(0)
    for cell in range(start, stop):
        top = max(top, np.int64(made.counts[cell]))
    got = np.int64(0)
    for _ in range(_LEVELS):
        spare = size - got - form.k
        if form.num > form.den:
            spare = min(spare, (form.den * (size - got) - form.num * top) // form.den)
        for cell in range(start, stop):
            most = min(spare, missing - got)
            if most <= 0:
                break
            room = height - transfers.have[made.values[cell]]
            amount = min(min(np.int64(made.counts[cell]), room), most)  # noqa: PLW3301 - compiles faster
            if amount > 0:
                logged = _take(cell, amount, made, transfers, logged)
                got += amount
                spare -= amount
        if got >= missing or top == 0:
            break
        # Thin: one row of each pillar, where the new group can have them all; then there is room again.
        pillars = np.int64(0)
        clear = True
        for cell in range(start, stop):
            if made.counts[cell] == top:
                clear = clear and transfers.have[made.values[cell]] < height
                pillars += 1
        rest = size - got - pillars
        if not clear or pillars == 0 or (rest > 0 and rest < form.k) or form.den * rest < form.num * (top - 1):
            break
        for cell in range(start, stop):
            if made.counts[cell] == top:
                logged = _take(cell, np.int64(1), made, transfers, logged)
        got += pillars
        top -= 1
    return got, logged


@kernel_step
def _ask_donors(waiting, counts, r, chain, following, form, made, offer, transfers):
    """Take what a group of the waiting rows of a projection lacks from the groups of a chain.

    Returns how many rows of one value the group may have, 0 where there can be none; the donors; and the length of the
    log. A part with fewer rows of one value is tried where donors have too little, or ask for too much.
    """
    height = _tallest(waiting, counts, r, form)
    while height > 0:
        base = _hold(waiting, counts, r, height, transfers.have)
        missing = _missing(base, height, form)
        cost = offer.stars * base
        logged = np.int64(0)
        donors = np.int64(0)
        visited = 0
        g = np.int64(chain)
        while g >= 0 and missing > 0 and cost + missing * (offer.stars - made.stars[g]) <= offer.price * base:
            visited += 1
            longest = logged + 2 * _LEVELS * (made.starts[g + 1] - made.starts[g])
            if visited > offer.longest_chain or longest >= _LONGEST_LOG:
                break
            got, logged = _take_from_group(g, missing, height, form, made, transfers, logged)
            if got > 0:
                missing -= got
                cost += got * (offer.stars - made.stars[g])
                transfers.donors[donors, 0] = g
                transfers.donors[donors, 1] = got
                donors += 1
            g = np.int64(following[g])
        _forget(waiting, r, transfers.have)
        for entry in range(logged):
            transfers.have[made.values[transfers.log[entry, 0]]] = 0
        if missing <= 0 and cost <= offer.price * base:
            return height, donors, logged
        for entry in range(logged):
            made.counts[transfers.log[entry, 0]] += transfers.log[entry, 1]
        if form.num <= form.den:
            break
        if g < 0 and missing > 0:  # every group that fits gave what it could: no lower part can have more
            wanted = max((form.num * height + form.den - 1) // form.den, form.k)
            height = min(height - 1, form.den * (wanted - missing) // form.num)
        else:  # too dear: try a smaller part
            height -= max(np.int64(1), height // 4)
    return np.int64(0), np.int64(0), np.int64(0)


@kernel
def complete_with_donors(waiting, form, made, offer, next_group):
    """Give waiting items what they lack from groups that can spare it, where that costs no more than is offered.

    Returns the items that still wait, and the next free group number.
    """
    eligible = np.empty(made.keys.size, dtype=np.bool_)
    for g in range(eligible.size):
        eligible[g] = made.keys[g] >= 0 and made.sizes[g] > 0
    chains, following = _chain_by_projection(waiting, made.keys, eligible)
    transfers = _Transfers(
        np.zeros(waiting.radix, dtype=np.int64),
        np.empty((_LONGEST_LOG, 3), dtype=np.int64),
        np.empty((offer.longest_chain, 2), dtype=np.int64),
    )
    counts = count_left(waiting)
    still = np.empty(waiting.items.size, dtype=np.int32)
    remaining = np.int64(0)
    for r in range(chains.size):
        if chains[r] >= 0:
            height, donors, logged = _ask_donors(waiting, counts, r, chains[r], following, form, made, offer, transfers)
            if height > 0:
                for i in range(donors):
                    made.sizes[transfers.donors[i, 0]] -= transfers.donors[i, 1]
                for entry in range(logged):
                    begin = made.first_rows[transfers.log[entry, 0]] + transfers.log[entry, 2]
                    for q in range(begin, begin + transfers.log[entry, 1]):
                        waiting.groups[made.rows[q]] = next_group
                serve(waiting, r, height, next_group)
                next_group += 1
        remaining = append_waiting(waiting, r, still, remaining)
    return still[:remaining], next_group


@kernel
def spare_of_groups(counts, starts, num, den, k):
    """Return how many rows each group can lose, whichever they are, and stay acceptable."""
    spare = np.empty(starts.size - 1, dtype=np.int64)
    for g in range(spare.size):
        size = np.int64(0)
        top = np.int64(0)
        for cell in range(starts[g], starts[g + 1]):
            size += counts[cell]
            top = max(top, np.int64(counts[cell]))
        spare[g] = size - k
        if num > den:
            spare[g] = min(spare[g], (den * size - num * top) // den)
    return spare


@kernel_step
def _ask_spare_rows(waiting, counts, r, chain, following, form, spare, have, log):
    """Take what a group of the waiting rows of a projection lacks from the rows of a chain.

    Returns how many rows of one value the group may have, 0 where there can be none, and how many rows were taken; the
    log says which.
    """
    height = _tallest(waiting, counts, r, form)
    while height > 0:
        base = _hold(waiting, counts, r, height, have)
        missing = _missing(base, height, form)
        logged = np.int64(0)
        s = np.int64(chain)
        while s >= 0 and missing > 0 and logged < _LONGEST_LOG:
            g = spare.groups[s]
            if g >= 0 and spare.left[g] > 0 and have[spare.values[s]] < height:
                have[spare.values[s]] += 1
                spare.left[g] -= 1
                missing -= 1
                log[logged] = s
                logged += 1
            s = np.int64(following[s])
        _forget(waiting, r, have)
        for entry in range(logged):
            have[spare.values[log[entry]]] = 0
        if missing <= 0:
            return height, logged
        for entry in range(logged):
            spare.left[spare.groups[log[entry]]] += 1
        if form.num <= form.den:
            break
        height = min(height - 1, (form.den * (base + logged)) // form.num)
    return np.int64(0), np.int64(0)


@kernel
def complete_with_spare_rows(waiting, form, spare, next_group):
    """Give waiting items what they lack from rows of other groups that cost as much where they are.

    Returns the items that still wait, and the next free group number.
    """
    eligible = np.empty(spare.keys.size, dtype=np.bool_)
    for j in range(eligible.size):
        eligible[j] = spare.groups[j] >= 0 and spare.left[spare.groups[j]] > 0
    chains, following = _chain_by_projection(waiting, spare.keys, eligible)
    have = np.zeros(waiting.radix, dtype=np.int64)
    log = np.empty(_LONGEST_LOG, dtype=np.int64)
    counts = count_left(waiting)
    still = np.empty(waiting.items.size, dtype=np.int32)
    remaining = np.int64(0)
    for r in range(chains.size):
        if chains[r] >= 0:
            height, logged = _ask_spare_rows(waiting, counts, r, chains[r], following, form, spare, have, log)
            if height > 0:
                for entry in range(logged):
                    waiting.groups[spare.rows[log[entry]]] = next_group
                    spare.groups[log[entry]] = -1
                serve(waiting, r, height, next_group)
                next_group += 1
        remaining = append_waiting(waiting, r, still, remaining)
    return still[:remaining], next_group
