# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Transfers of rows from groups with rows to spare to groups that lack some: the cascade's last resort, made cheap."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal._core.compiling import allocating_step, inlined, kernel, kernel_step
from shoal.algorithms.common.hashing_kernel import EMPTY, slot_of, slots_for
from shoal.algorithms.tp.cascade_kernel import append_waiting, count_left, serve

Codes = NDArray[np.int32]
Counts = NDArray[np.int64]


__all__ = ["GroupCells", "Offer", "Spare", "complete_with_donors", "complete_with_spare_rows", "spare_of_groups"]

_LONGEST_LOG = 1 << 16
"""Largest number of transfers to one group that can be undone; a group that needs more is not made."""
_ANY_HEIGHT = np.int64(1 << 40)
"""More than any count of a value: stands for a requirement without frequencies."""
_LEVELS = 3
"""Largest number of times that a donor gives one row of each of its most frequent values to have more to spare."""


class GroupCells(NamedTuple):
    """Groups of the cascade so far, as runs of cells, which are runs of entries."""

    keys: Counts
    """Projection of each group; -1 if the group does not fit the pattern."""
    stars: Counts
    """Stars of a row of each group."""
    values: Codes
    """Value of each cell."""
    counts: Codes
    """Rows of each cell."""
    starts: Codes
    """The cells of group g are `starts[g]:starts[g + 1]`."""
    sizes: Counts
    entries: Codes
    """Cell of the table, group and rows of each entry; those of cell c end before `entry_starts[c + 1]`."""
    entry_starts: Codes
    last: Codes
    """The last entry of each cell that may have rows: the last rows are given first."""


class Offer(NamedTuple):
    """Limits on the price of rows from other groups."""

    stars: int
    """Stars of a row in the new group."""
    price: int
    """Largest number of stars that a new group may cost for each row that waited."""
    longest_chain: int
    """Largest number of groups that are tried as donors for one group."""


class Spare(NamedTuple):
    """Rows that their groups can lose and stay acceptable, as entries."""

    keys: Counts
    """Projection of each entry."""
    values: Codes
    entries: Codes
    """Cell of the table, group and rows of each entry."""
    groups: Codes
    """Position in `left` of the group of each entry."""
    left: Counts
    """Number of rows that each group can still lose."""


class _Transfers(NamedTuple):
    """State of one group while it is made: its rows, and its transfers from donors."""

    have: Counts
    """Rows of each value; zeros between groups."""
    log: Counts
    """For each transfer: cell, and rows taken from it."""
    donors: Counts
    """For each donor: group, and rows that it gave."""


@inlined
def _projection_of(waiting, r):
    return waiting.keys[waiting.cell_starts[waiting.starts[r]]] // waiting.radix


@allocating_step
def _table_of(waiting):
    """Build a hash table of the waiting projections."""
    table = np.full(2 * slots_for(waiting.starts.size), EMPTY, dtype=np.int64)
    for r in range(waiting.starts.size - 1):
        projection = _projection_of(waiting, r)
        table[slot_of(table, projection)] = projection
    return table


@allocating_step
def _chain_by_projection(waiting, keys, eligible):
    """Hash the waiting projections, and chain to each the eligible groups or entries with the same key, last first."""
    table = _table_of(waiting)
    # A linked list for each slot: `head` is its start, `following` the next member.
    head = np.full(table.size, -1, dtype=np.int32)
    following = np.full(keys.size, -1, dtype=np.int32)
    for i in range(keys.size):
        if eligible[i]:
            slot = slot_of(table, keys[i])
            if table[slot] == keys[i]:
                following[i] = head[slot]
                head[slot] = i
    # The start of the chain of each projection; -1 if it is empty.
    first = np.empty(waiting.starts.size - 1, dtype=np.int32)
    for r in range(first.size):
        first[r] = head[slot_of(table, _projection_of(waiting, r))]
    return first, following


@inlined
def _largest_count(waiting, counts, r, form):
    """Return the largest count of one value in a projection, or no limit if the requirement has no frequencies."""
    height = np.int64(0)
    for c in range(waiting.starts[r], waiting.starts[r + 1]):
        height = max(height, np.int64(counts[c]))
    return height if form.num > form.den else _ANY_HEIGHT


@inlined
def _load_counts(waiting, counts, r, height, have):
    """Load at most `height` waiting rows of each value into `have`; return the number of rows."""
    total = np.int64(0)
    for c in range(waiting.starts[r], waiting.starts[r + 1]):
        have[waiting.values[c]] = min(np.int64(counts[c]), height)
        total += have[waiting.values[c]]
    return total


@inlined
def _clear_counts(waiting, r, have):
    """Reset `have` for the values of a projection."""
    for c in range(waiting.starts[r], waiting.starts[r + 1]):
        have[waiting.values[c]] = 0


@inlined
def _count_missing(base, height, form):
    """Compute how many rows a group of `base` rows lacks if one value has at most `height` of them."""
    missing = form.k - base
    # The size must reach `num / den` times the height; rounded up.
    if form.num > form.den:
        missing = max(missing, (form.num * height - form.den * base + form.den - 1) // form.den)
    return missing


@inlined
def _take(cell, amount, groups, transfers, logged):
    groups.counts[cell] -= amount
    transfers.have[groups.values[cell]] += amount
    transfers.log[logged, 0] = cell
    transfers.log[logged, 1] = amount
    return logged + 1


@kernel_step
def _take_from_group(g, missing, height, form, groups, transfers, logged):
    """Take up to `missing` rows, or slightly more (whole pillars), from one group that stays acceptable or is emptied.

    The new group may have at most `height` rows of one value. Returns the rows taken and the new length of the log.
    """
    start, stop = groups.starts[g], groups.starts[g + 1]
    size = groups.sizes[g]
    # The pillar height bounds what the group can spare.
    top = np.int64(0)
    for cell in range(start, stop):
        top = max(top, np.int64(groups.counts[cell]))
    got = np.int64(0)
    for _ in range(_LEVELS):
        # Fat: rows beyond the size that k and the pillar height require.
        spare = size - got - form.k
        if form.num > form.den:
            spare = min(spare, (form.den * (size - got) - form.num * top) // form.den)
        # Take rows cell by cell, as far as donor and new group allow.
        for cell in range(start, stop):
            most = min(spare, missing - got)
            if most <= 0:
                break
            room = height - transfers.have[groups.values[cell]]
            amount = min(min(np.int64(groups.counts[cell]), room), most)  # noqa: PLW3301 - compiles faster
            if amount > 0:
                logged = _take(cell, amount, groups, transfers, logged)
                got += amount
                spare -= amount
        if got >= missing or top == 0:
            break
        # Thin: give one row of each pillar if the new group can hold them all; then there is room to spare again.
        pillars = np.int64(0)
        clear = True
        for cell in range(start, stop):
            if groups.counts[cell] == top:
                clear = clear and transfers.have[groups.values[cell]] < height
                pillars += 1
        # The rest must be empty or acceptable at the lower height.
        rest = size - got - pillars
        if not clear or pillars == 0 or (rest > 0 and rest < form.k) or form.den * rest < form.num * (top - 1):
            break
        for cell in range(start, stop):
            if groups.counts[cell] == top:
                logged = _take(cell, np.int64(1), groups, transfers, logged)
        got += pillars
        top -= 1
    return got, logged


@kernel_step
def _take_from_donors(waiting, counts, r, chain, following, form, groups, offer, transfers):
    """Take the rows that a group of a projection's waiting rows lacks from the groups of a chain.

    Returns the largest count of one value in the group (0 if the group cannot be made), the number of donors, and the
    length of the log. If donors have too few rows or are too expensive, a part with fewer rows of one value is tried.
    """
    # Start with all waiting rows; each failure lowers the height.
    height = _largest_count(waiting, counts, r, form)
    while height > 0:
        base = _load_counts(waiting, counts, r, height, transfers.have)
        # Stars of the waiting rows now; the additional stars of donated rows follow. The price bounds the sum.
        missing = _count_missing(base, height, form)
        cost = offer.stars * base
        logged = np.int64(0)
        donors = np.int64(0)
        visited = 0
        # Walk the chain while rows are missing and the price can still be met.
        g = np.int64(chain)
        while g >= 0 and missing > 0 and cost + missing * (offer.stars - groups.stars[g]) <= offer.price * base:
            visited += 1
            # Stop before the log overflows: a group adds at most two entries a cell and level.
            longest = logged + 2 * _LEVELS * (groups.starts[g + 1] - groups.starts[g])
            if visited > offer.longest_chain or longest >= _LONGEST_LOG:
                break
            got, logged = _take_from_group(g, missing, height, form, groups, transfers, logged)
            if got > 0:
                missing -= got
                cost += got * (offer.stars - groups.stars[g])
                transfers.donors[donors, 0] = g
                transfers.donors[donors, 1] = got
                donors += 1
            g = np.int64(following[g])
        # Clear `have` for the next group: waiting values, then values of donors.
        _clear_counts(waiting, r, transfers.have)
        for entry in range(logged):
            transfers.have[groups.values[transfers.log[entry, 0]]] = 0
        if missing <= 0 and cost <= offer.price * base:
            return height, donors, logged
        # Failed: return every transfer.
        for entry in range(logged):
            groups.counts[transfers.log[entry, 0]] += transfers.log[entry, 1]
        if form.num <= form.den:
            break
        if g < 0 and missing > 0:  # every group that fits gave what it could: no lower part can have more
            wanted = max((form.num * height + form.den - 1) // form.den, form.k)
            height = min(height - 1, form.den * (wanted - missing) // form.num)
        else:  # too expensive: try a smaller part
            height -= max(np.int64(1), height // 4)
    return np.int64(0), np.int64(0), np.int64(0)


@allocating_step
def _with_room(entries, used, more):
    """Return an array with the first `used` entries and room for some more."""
    if used + more <= entries.shape[0]:
        return entries
    grown = np.empty((2 * (used + more), 3), dtype=np.int32)
    grown[:used] = entries[:used]
    return grown


@kernel_step
def _move_last_rows(groups, cell, amount, group, entries, used):
    """Move the last rows of a cell to a new group; return the new number of entries."""
    while amount > 0:
        last = groups.last[cell]
        take = min(np.int64(groups.entries[last, 2]), amount)
        if take > 0:
            entries[used, 0] = groups.entries[last, 0]
            entries[used, 1] = group
            entries[used, 2] = take
            used += 1
            groups.entries[last, 2] -= take
            amount -= take
        # The entry is used up.
        if amount > 0:
            groups.last[cell] -= 1
    return used


@kernel
def complete_with_donors(waiting, form, groups, offer, next_group):
    """Give waiting items the rows that they lack from groups with rows to spare, if the cost is within the offer.

    Returns the items that still wait, the entries of the groups, and the next free group number.
    """
    # Donors have a pattern of fewer stars and at least one row.
    eligible = np.empty(groups.keys.size, dtype=np.bool_)
    for g in range(eligible.size):
        eligible[g] = groups.keys[g] >= 0 and groups.sizes[g] > 0
    chains, following = _chain_by_projection(waiting, groups.keys, eligible)
    transfers = _Transfers(
        np.zeros(waiting.radix, dtype=np.int64),
        np.empty((_LONGEST_LOG, 2), dtype=np.int64),
        np.empty((offer.longest_chain, 2), dtype=np.int64),
    )
    # One group for each projection whose donors suffice.
    counts = count_left(waiting)
    unserved = np.empty(waiting.items.size, dtype=np.int32)
    remaining = np.int64(0)
    entries = np.empty((2 * waiting.items.size, 3), dtype=np.int32)
    used = np.int64(0)
    for r in range(chains.size):
        if chains[r] >= 0:
            height, donors, logged = _take_from_donors(
                waiting, counts, r, chains[r], following, form, groups, offer, transfers
            )
            if height > 0:
                # Commit: donors shrink, and the rows in the log move to the new group.
                for i in range(donors):
                    groups.sizes[transfers.donors[i, 0]] -= transfers.donors[i, 1]
                for i in range(logged):
                    cell = transfers.log[i, 0]
                    entries = _with_room(entries, used, groups.last[cell] + 1 - groups.entry_starts[cell])
                    used = _move_last_rows(groups, cell, transfers.log[i, 1], next_group, entries, used)
                # The waiting rows join them, up to the height that was found.
                entries = _with_room(entries, used, waiting.items.size)
                used = serve(waiting, r, height, next_group, entries, used)
                next_group += 1
        remaining = append_waiting(waiting, r, unserved, remaining)
    return unserved[:remaining], entries[:used], next_group


@kernel
def spare_of_groups(counts, starts, num, den, k):
    """Count the rows that each group can lose, in any choice, and stay acceptable."""
    spare = np.empty(starts.size - 1, dtype=np.int64)
    for g in range(spare.size):
        size = np.int64(0)
        top = np.int64(0)
        for cell in range(starts[g], starts[g + 1]):
            size += counts[cell]
            top = max(top, np.int64(counts[cell]))
        # Any row may go: the pillar height is assumed to stay.
        spare[g] = size - k
        if num > den:
            spare[g] = min(spare[g], (den * size - num * top) // den)
    return spare


@kernel_step
def _take_spare_rows(waiting, counts, r, chain, following, form, spare, have, log):
    """Take the rows that a group of a projection's waiting rows lacks from the spare rows of a chain.

    Returns the largest count of one value in the group (0 if the group cannot be made) and the length of the log,
    which has entries and the rows taken from each.
    """
    # As for donors: start with all waiting rows, and lower the height after each failure.
    height = _largest_count(waiting, counts, r, form)
    while height > 0:
        base = _load_counts(waiting, counts, r, height, have)
        missing = _count_missing(base, height, form)
        logged, taken = np.int64(0), np.int64(0)
        s = np.int64(chain)
        # As many rows of an entry as its group can spare, while their value is below the height.
        while s >= 0 and missing > taken and logged < _LONGEST_LOG:
            room = min(height - have[spare.values[s]], missing - taken)
            amount = min(min(np.int64(spare.entries[s, 2]), spare.left[spare.groups[s]]), room)  # noqa: PLW3301
            if amount > 0:
                have[spare.values[s]] += amount
                spare.left[spare.groups[s]] -= amount
                taken += amount
                log[logged, 0] = s
                log[logged, 1] = amount
                logged += 1
            s = np.int64(following[s])
        # Clear `have` for the next group.
        _clear_counts(waiting, r, have)
        for i in range(logged):
            have[spare.values[log[i, 0]]] = 0
        if missing <= taken:
            return height, logged
        # Failed: return the rows, and try the height that the rows found would allow.
        for i in range(logged):
            spare.left[spare.groups[log[i, 0]]] += log[i, 1]
        if form.num <= form.den:
            break
        height = min(height - 1, (form.den * (base + taken)) // form.num)
    return np.int64(0), np.int64(0)


@kernel
def complete_with_spare_rows(waiting, form, spare, next_group):
    """Give waiting items the rows that they lack from groups whose rows would cost as many stars there.

    Returns the items that still wait, the entries of the groups, and the next free group number.
    """
    # Entries with rows whose group can lose one.
    eligible = np.empty(spare.keys.size, dtype=np.bool_)
    for j in range(eligible.size):
        eligible[j] = spare.entries[j, 2] > 0 and spare.left[spare.groups[j]] > 0
    chains, following = _chain_by_projection(waiting, spare.keys, eligible)
    have = np.zeros(waiting.radix, dtype=np.int64)
    log = np.empty((_LONGEST_LOG, 2), dtype=np.int64)
    counts = count_left(waiting)
    unserved = np.empty(waiting.items.size, dtype=np.int32)
    remaining = np.int64(0)
    entries = np.empty((2 * waiting.items.size, 3), dtype=np.int32)
    used = np.int64(0)
    for r in range(chains.size):
        if chains[r] >= 0:
            height, logged = _take_spare_rows(waiting, counts, r, chains[r], following, form, spare, have, log)
            # Commit: the rows in the log move to the new group, and the waiting rows join them.
            if height > 0:
                entries = _with_room(entries, used, logged + waiting.items.size)
                for i in range(logged):
                    spare.entries[log[i, 0], 2] -= log[i, 1]
                    entries[used, 0] = spare.entries[log[i, 0], 0]
                    entries[used, 1] = next_group
                    entries[used, 2] = log[i, 1]
                    used += 1
                used = serve(waiting, r, height, next_group, entries, used)
                next_group += 1
        remaining = append_waiting(waiting, r, unserved, remaining)
    return unserved[:remaining], entries[:used], next_group
