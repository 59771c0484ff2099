# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Groups that give rows to those that cannot form a group of their own: the cascade's last resort, made cheap."""

from __future__ import annotations

import numpy as np

from shoal._compiling import inlined, kernel, kernel_step

__all__ = ["complete_with_donors", "complete_with_spare_rows", "spare_of_groups"]

_MULTIPLIER = np.int64(-7046029254386353131)  # 2**64 over the golden ratio: spreads keys over the slots
_LONGEST_LOG = 1 << 16
_ANY_HEIGHT = np.int64(1 << 40)
_LEVELS = 3


@inlined
def _slot_of(table, key):
    mask = table.size - 1
    slot = ((key * _MULTIPLIER) >> 24) & mask
    while table[slot] != -1 and table[slot] != key:
        slot = (slot + 1) & mask
    return slot


@kernel_step
def _chain_by_projection(keys, radix, group_keys, sizes):
    """Hash the waiting projections, and chain to each the groups that fit it, those with the highest number first."""
    capacity = 16
    while capacity < 4 * keys.size:
        capacity *= 2
    table = np.full(capacity, -1, dtype=np.int64)
    head = np.full(capacity, -1, dtype=np.int64)
    following = np.full(group_keys.size, -1, dtype=np.int64)
    for i in range(keys.size):
        projection = keys[i] // radix
        table[_slot_of(table, projection)] = projection
    for g in range(group_keys.size):
        if group_keys[g] >= 0 and sizes[g] > 0:
            slot = _slot_of(table, group_keys[g])
            if table[slot] == group_keys[g]:
                following[g] = head[slot]
                head[slot] = g
    return table, head, following


@inlined
def _take(cell, amount, values, counts, have, log, logged):
    counts[cell] -= amount
    have[values[cell]] += amount
    log[logged, 0] = cell
    log[logged, 1] = amount
    log[logged, 2] = counts[cell]


@kernel_step
def _take_from_group(start, stop, size, missing, height, have, values, counts, num, den, k, log, logged):
    """Take up to `missing` rows of one group that stays acceptable (or is emptied), or a few more: whole pillars.

    The new group holds `have[v]` rows of value v and may hold at most `height`. Returns the rows taken and the new
    length of the log.
    """
    top = np.int64(0)
    for cell in range(start, stop):
        top = max(top, np.int64(counts[cell]))
    got = np.int64(0)
    for _ in range(_LEVELS):
        spare = size - got - k
        if num > den:
            spare = min(spare, (den * (size - got) - num * top) // den)
        for cell in range(start, stop):
            if spare <= 0 or got >= missing:
                break
            amount = min(min(np.int64(counts[cell]), height - have[values[cell]]), min(spare, missing - got))  # noqa: PLW3301 - compiles faster
            if amount > 0:
                _take(cell, amount, values, counts, have, log, logged)
                logged += 1
                got += amount
                spare -= amount
        if got >= missing or top == 0:
            break
        # Thin: one row of each pillar, where the new group can have them all; then there is room again.
        pillars = np.int64(0)
        clear = True
        for cell in range(start, stop):
            if counts[cell] == top:
                clear = clear and have[values[cell]] < height
                pillars += 1
        rest = size - got - pillars
        if not clear or pillars == 0 or (rest > 0 and rest < k) or den * rest < num * (top - 1):
            break
        for cell in range(start, stop):
            if counts[cell] == top:
                _take(cell, np.int64(1), values, counts, have, log, logged)
                logged += 1
        got += pillars
        top -= 1
    return got, logged


@inlined
def _hold_waiting(keys, items, first, last, radix, left, height, have):
    """Count into `have` at most `height` waiting rows of each value; return how many rows that is."""
    total = np.int64(0)
    for p in range(first, last):
        v = keys[p] % radix
        more = max(np.int64(0), min(np.int64(left[items[p]]), height - have[v]))
        have[v] += more
        total += more
    return total


@inlined
def _forget(keys, first, last, radix, values, have, log, logged):
    for p in range(first, last):
        have[keys[p] % radix] = 0
    for entry in range(logged):
        have[values[log[entry, 0]]] = 0


@kernel
def complete_with_donors(
    keys,
    items,
    radix,
    left,
    taken,
    first_row,
    rows,
    groups,
    next_group,
    num,
    den,
    k,
    stars,
    price,
    longest_chain,
    group_keys,
    group_stars,
    values,
    counts,
    starts,
    cell_first,
    cell_rows,
    sizes,
):
    """Give waiting items what they lack from groups that can spare it, where that costs at most `price` stars a row.

    `keys`, `items`, `left`, `taken`, `first_row`, `rows`, `groups`: as in `keep_largest_parts`. Group g has its
    projection in `group_keys` (-1: it does not fit this pattern), costs `group_stars[g]` stars a row, and consists of
    the cells `starts[g]:starts[g + 1]`; the `counts[j]` rows of cell j stand at `cell_rows[cell_first[j]:]`.
    At most `longest_chain` groups are asked for one cell.
    Returns the items that still wait, and the next free group number.
    """
    n = items.size
    table, head, following = _chain_by_projection(keys, radix, group_keys, sizes)
    have = np.zeros(radix, dtype=np.int64)
    log = np.empty((_LONGEST_LOG, 3), dtype=np.int64)
    donors = np.empty((longest_chain, 2), dtype=np.int64)
    still = np.empty(n, dtype=np.int32)
    remaining = 0
    i = np.int64(0)
    while i < n:
        projection = keys[i] // radix
        chain = head[_slot_of(table, projection)]
        j = i
        while j < n and keys[j] < (projection + 1) * radix:
            j += 1
        height = np.int64(0)
        if chain >= 0:
            _hold_waiting(keys, items, i, j, radix, left, _ANY_HEIGHT, have)
            for p in range(i, j):
                height = max(height, have[keys[p] % radix])
            _forget(keys, i, j, radix, values, have, log, np.int64(0))
            if num <= den:  # nothing is asked of the frequencies
                height = _ANY_HEIGHT
        while height > 0:
            base = _hold_waiting(keys, items, i, j, radix, left, height, have)
            missing = k - base
            if num > den:
                missing = max(missing, (num * height - den * base + den - 1) // den)
            cost = stars * base
            logged = np.int64(0)
            count = 0
            visited = 0
            g = chain
            while g >= 0 and missing > 0 and cost + missing * (stars - group_stars[g]) <= price * base:
                visited += 1
                if visited > longest_chain or logged + 2 * _LEVELS * (starts[g + 1] - starts[g]) >= _LONGEST_LOG:
                    break
                got, logged = _take_from_group(
                    starts[g], starts[g + 1], sizes[g], missing, height, have, values, counts, num, den, k, log, logged
                )
                if got > 0:
                    missing -= got
                    cost += got * (stars - group_stars[g])
                    donors[count, 0] = g
                    donors[count, 1] = got
                    count += 1
                g = following[g]
            _forget(keys, i, j, radix, values, have, log, logged)
            if missing <= 0 and cost <= price * base:
                break
            for entry in range(logged):
                counts[log[entry, 0]] += log[entry, 1]
            if num <= den:
                height = np.int64(0)
            elif g < 0 and missing > 0:  # every group that fits gave what it could: no lower part can have more
                height = min(height - 1, den * (max((num * height + den - 1) // den, k) - missing) // num)
            else:  # too dear: try a smaller part
                height -= max(np.int64(1), height // 4)
        if height > 0:
            for c in range(count):
                sizes[donors[c, 0]] -= donors[c, 1]
            for entry in range(logged):
                begin = cell_first[log[entry, 0]] + log[entry, 2]
                for q in range(begin, begin + log[entry, 1]):
                    groups[cell_rows[q]] = next_group
            for p in range(i, j):
                v = keys[p] % radix
                item = items[p]
                quota = min(height - have[v], np.int64(left[item]))
                begin = first_row[item] + taken[item]
                for q in range(begin, begin + quota):
                    groups[rows[q]] = next_group
                have[v] += quota
                left[item] -= quota
                taken[item] += quota
            _forget(keys, i, j, radix, values, have, log, np.int64(0))
            next_group += 1
        for p in range(i, j):
            if left[items[p]] > 0:
                still[remaining] = items[p]
                remaining += 1
        i = j
    return still[:remaining].copy(), next_group


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
def _chain_spare_rows(keys, radix, spare_keys, spare_group, spare):
    """Hash the waiting projections, and chain to each the rows that could join it and that their group can lose."""
    capacity = 16
    while capacity < 2 * keys.size:
        capacity *= 2
    table = np.full(capacity, -1, dtype=np.int64)
    head = np.full(capacity, -1, dtype=np.int32)
    following = np.full(spare_keys.size, -1, dtype=np.int32)
    for i in range(keys.size):
        if i == 0 or keys[i] // radix != keys[i - 1] // radix:
            table[_slot_of(table, keys[i] // radix)] = keys[i] // radix
    for j in range(spare_keys.size):
        if spare_group[j] >= 0 and spare[spare_group[j]] > 0:
            slot = _slot_of(table, spare_keys[j])
            if table[slot] == spare_keys[j]:
                following[j] = head[slot]
                head[slot] = j
    return table, head, following


@kernel
def complete_with_spare_rows(
    keys,
    items,
    radix,
    left,
    taken,
    first_row,
    rows,
    groups,
    next_group,
    num,
    den,
    k,
    spare_keys,
    spare_values,
    spare_rows,
    spare_group,
    spare,
):
    """Give waiting items what they lack from rows of other groups that cost as much where they are.

    `keys`, `items`, `left`, `taken`, `first_row`, `rows`, `groups`: as in `keep_largest_parts`. Row `spare_rows[j]` has
    the projection `spare_keys[j]` and the value `spare_values[j]`, and belongs to group `spare_group[j]` (-1: it has
    moved), which can lose `spare[group]` rows. Returns the items that still wait, and the next free group number.
    """
    n = items.size
    table, head, following = _chain_spare_rows(keys, radix, spare_keys, spare_group, spare)
    have = np.zeros(radix, dtype=np.int64)
    log = np.empty(_LONGEST_LOG, dtype=np.int64)
    still = np.empty(n, dtype=np.int32)
    remaining = 0
    i = np.int64(0)
    while i < n:
        projection = keys[i] // radix
        chain = head[_slot_of(table, projection)]
        j = i
        while j < n and keys[j] < (projection + 1) * radix:
            j += 1
        height = np.int64(0)
        if chain >= 0:
            _hold_waiting(keys, items, i, j, radix, left, _ANY_HEIGHT, have)
            for p in range(i, j):
                height = max(height, have[keys[p] % radix])
                have[keys[p] % radix] = 0
            if num <= den:
                height = _ANY_HEIGHT
        logged = np.int64(0)
        while height > 0:
            base = _hold_waiting(keys, items, i, j, radix, left, height, have)
            missing = k - base
            if num > den:
                missing = max(missing, (num * height - den * base + den - 1) // den)
            logged = np.int64(0)
            s = chain
            while s >= 0 and missing > 0 and logged < _LONGEST_LOG:
                g = spare_group[s]
                if g >= 0 and spare[g] > 0 and have[spare_values[s]] < height:
                    have[spare_values[s]] += 1
                    spare[g] -= 1
                    missing -= 1
                    log[logged] = s
                    logged += 1
                s = following[s]
            for p in range(i, j):
                have[keys[p] % radix] = 0
            for entry in range(logged):
                have[spare_values[log[entry]]] = 0
            if missing <= 0:
                break
            for entry in range(logged):
                spare[spare_group[log[entry]]] += 1
            height = np.int64(0) if num <= den else min(height - 1, (den * (base + logged)) // num)
        if height > 0:
            for entry in range(logged):
                groups[spare_rows[log[entry]]] = next_group
                spare_group[log[entry]] = -1
            for p in range(i, j):
                v = keys[p] % radix
                item = items[p]
                quota = min(height - have[v], np.int64(left[item]))
                begin = first_row[item] + taken[item]
                for q in range(begin, begin + quota):
                    groups[rows[q]] = next_group
                have[v] += quota
                left[item] -= quota
                taken[item] += quota
            for p in range(i, j):
                have[keys[p] % radix] = 0
            next_group += 1
        for p in range(i, j):
            if left[items[p]] > 0:
                still[remaining] = items[p]
                remaining += 1
        i = j
    return still[:remaining].copy(), next_group
