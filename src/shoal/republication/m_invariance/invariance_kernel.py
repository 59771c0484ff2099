# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""The phases of counterfeited generalization as arithmetic on counts and codes (Xiao, Tao, SIGMOD 2007, Section 4).

A bucket holds the rows of one signature, a set of s sensitive values. A *slot* is one value of one signature: slot
`starts[j] + i` is the i-th value of signature j. A balanced bucket of height h has h rows in each of its s slots.
"""

from __future__ import annotations

import numpy as np

from shoal._core.compiling import kernel, kernel_step

__all__ = [
    "assign_to_known",
    "assign_values",
    "balance_in_order",
    "find_largest_alpha",
    "find_slots",
    "sort_lists",
    "split_buckets",
]

_MAX_UNEVEN_DEPTH = 64
"""Deeper splits are made in the middle half, so that the running time is never quadratic."""


@kernel
def find_slots(signature_of, sensitive, starts, values):
    """Find the slot of each row with a signature; -1 for rows without one, -2 if the signature lacks the value.

    The values of a signature are ascending: `values[starts[j] : starts[j + 1]]`.
    """
    # Binary search of the row's value within its signature.
    slots = np.empty(signature_of.size, dtype=np.int64)
    for row in range(signature_of.size):
        j = signature_of[row]
        if j < 0:
            slots[row] = -1
            continue
        low, high = starts[j], starts[j + 1]
        value = sensitive[row]
        while low < high:
            middle = (low + high) // 2
            if values[middle] < value:
                low = middle + 1
            else:
                high = middle
        slots[row] = low if low < starts[j + 1] and values[low] == value else -2
    return slots


@kernel
def balance_in_order(deficits, values, supply, m):
    """Fill slots row by row, as long as the remaining supply stays m-eligible (the paper's order).

    `deficits` and `values` are the missing rows and the value of each slot; `supply` is the number of new rows by
    value, and is changed. Returns the number of rows that each slot gets.
    """
    given = np.zeros(deficits.size, dtype=np.int64)
    # Size and height of the supply: m-eligible means m * height <= size.
    left = np.int64(0)
    height = np.int64(0)
    for v in range(supply.size):
        left += supply[v]
        height = max(height, supply[v])
    having = np.zeros(height + 1, dtype=np.int64)  # number of values by their remaining rows
    for v in range(supply.size):
        having[supply[v]] += 1
    for slot in range(deficits.size):
        v = values[slot]
        while given[slot] < deficits[slot] and supply[v] > 0:
            # The height falls only if this is the last value of that count.
            lower = supply[v] == height and having[height] == 1
            if m * (height - 1 if lower else height) > left - 1:
                break
            # Take the row, and move the value to the next lower count.
            having[supply[v]] -= 1
            supply[v] -= 1
            having[supply[v]] += 1
            left -= 1
            given[slot] += 1
            if lower:
                height -= 1
    return given


@kernel
def assign_values(counts, order, m):
    """Assign m-eligible rows to balanced buckets (Figure 3): alpha rows of the beta most frequent values a step.

    `counts` is the number of rows by value, `order` lists the values by descending count. Returns for each step alpha,
    beta, and the values one after another.
    """
    rows = np.int64(counts.sum())
    alphas = np.empty(rows // m + 1, dtype=np.int64)
    betas = np.empty(rows // m + 1, dtype=np.int64)
    chosen = np.empty(rows, dtype=np.int32)
    order = order.copy()
    # Counts in descending order; empty values stay behind `live`.
    left = counts[order]
    live = 0
    while live < left.size and left[live] > 0:
        live += 1
    other_left = np.empty_like(left)
    other_order = np.empty_like(order)
    steps = 0
    used = 0
    while rows > 0:
        # The smallest beta with a feasible alpha, as in the paper.
        alpha = np.int64(0)
        beta = m
        while beta <= live:
            # n_1 - alpha <= (gamma - alpha beta) / m and n_(beta + 1) <= (gamma - alpha beta) / m, in integers
            alpha = left[beta - 1]
            if beta > m:
                alpha = min(alpha, (rows - m * left[0]) // (beta - m))
            elif m * left[0] > rows:
                alpha = np.int64(0)
            if beta < live:
                alpha = min(alpha, (rows - m * left[beta]) // beta)
            if alpha > 0:
                break
            beta += 1
        if alpha <= 0:
            return alphas[:0], betas[:0], chosen[:0]  # the rows are not m-eligible
        # Record the step, and take the rows.
        alphas[steps] = alpha
        betas[steps] = beta
        steps += 1
        for i in range(beta):
            chosen[used] = order[i]
            used += 1
            left[i] -= alpha
        rows -= alpha * beta
        # The first beta values and the other values are each still in order: merge the two sequences.
        i, j = 0, beta
        for target in range(live):
            if j >= live or (i < beta and left[i] >= left[j]):
                other_left[target] = left[i]
                other_order[target] = order[i]
                i += 1
            else:
                other_left[target] = left[j]
                other_order[target] = order[j]
                j += 1
        left, other_left = other_left, left
        order, other_order = other_order, order
        # Drop values without rows.
        while live > 0 and left[live - 1] == 0:
            live -= 1
    return alphas[:steps].copy(), betas[:steps].copy(), chosen[:used].copy()


@kernel_step
def _find_largest_alpha(left, order, rows, values, start, stop, m):
    """Compute the most rows of each value of a signature that can go while the rest stays m-eligible; 0 if none."""
    s = stop - start
    alpha = rows
    # No value can give more than it has.
    tallest = np.int64(0)
    for i in range(start, stop):
        alpha = min(alpha, left[values[i]])
        tallest = max(tallest, left[values[i]])
    if alpha <= 0:
        return np.int64(0)
    # The values of the signature themselves must stay eligible.
    if s > m:
        alpha = min(alpha, (rows - m * tallest) // (s - m))
    # So must the most frequent value outside of it; it is among the first s + 1.
    for v in order[: s + 1]:
        outside = True
        for i in range(start, stop):
            if values[i] == v:
                outside = False
                break
        if outside:
            alpha = min(alpha, (rows - m * left[v]) // s)
            break
    return alpha


@kernel
def find_largest_alpha(left, order, chosen, m):
    """Compute the most rows of each chosen value that can go while the rest stays m-eligible; 0 if none.

    `left` is the number of rows by value, `order` lists the values by descending count.
    """
    return _find_largest_alpha(left, order, np.int64(left.sum()), chosen, np.int64(0), chosen.size, m)


@kernel
def assign_to_known(left, order, starts, values, buckets, merits, weights, m, steps_allowed):
    """Assign m-eligible rows to existing buckets, as long as the rest stays m-eligible.

    Each step gives a bucket half of the rows that it can take: the bucket with the largest product of its merit, the
    weights of its values, and the square root of that amount. `left` is the number of rows by value, `order` lists the
    values by descending count; both are changed. Returns the bucket and the alpha of each step.
    """
    chosen = np.empty(steps_allowed, dtype=np.int64)
    alphas = np.empty(steps_allowed, dtype=np.int64)
    # The constant factor of each bucket's gain.
    gains = np.zeros(buckets.size, dtype=np.float64)
    for i in range(buckets.size):
        for slot in range(starts[buckets[i]], starts[buckets[i] + 1]):
            gains[i] += weights[values[slot]]
        gains[i] *= merits[i]
    rows = np.int64(left.sum())
    steps = 0
    while rows > 0 and steps < steps_allowed:
        for i in range(1, order.size):  # insertion sort: nearly in order, because few values fell
            v = order[i]
            j = i
            while j > 0 and left[order[j - 1]] < left[v]:
                order[j] = order[j - 1]
                j -= 1
            order[j] = v
        # Choose the bucket with the largest gain.
        best = -1
        best_alpha = np.int64(0)
        best_gain = 0.0
        for i in range(buckets.size):
            alpha = _find_largest_alpha(left, order, rows, values, starts[buckets[i]], starts[buckets[i] + 1], m)
            if alpha > 0 and gains[i] * np.sqrt(alpha) > best_gain:
                best, best_alpha, best_gain = i, alpha, gains[i] * np.sqrt(alpha)
        if best < 0:
            break
        # Take half of the amount, rounded up, so that other buckets get a share.
        alpha = (best_alpha + 1) // 2
        bucket = buckets[best]
        for slot in range(starts[bucket], starts[bucket + 1]):
            left[values[slot]] -= alpha
        rows -= alpha * (starts[bucket + 1] - starts[bucket])
        chosen[steps] = bucket
        alphas[steps] = alpha
        steps += 1
    return chosen[:steps].copy(), alphas[:steps].copy()


@kernel
def sort_lists(codes, list_of, list_starts, sizes):
    """Sort the places of every list by each attribute: counterfeits (code -1) first, then by code.

    `codes` has shape (places, d), the places of list i are `list_starts[i]` to `list_starts[i + 1]`. Equal codes are in
    the order of the following attributes. `sizes` is the number of codes of each attribute.
    """
    places, d = codes.shape
    orders = np.empty((d, places), dtype=np.int32)
    current = np.empty(places, dtype=np.int32)
    other = np.empty(places, dtype=np.int32)
    # One order for each attribute.
    for a in range(d):
        for i in range(places):
            current[i] = i
        # Radix sort from the last tie-breaker to the attribute itself; code -1 comes first.
        for back in range(d):
            b = (a + d - 1 - back) % d
            ends = np.zeros(sizes[b] + 2, dtype=np.int64)
            for i in range(places):
                ends[codes[i, b] + 2] += 1
            for c in range(sizes[b]):
                ends[c + 1] += ends[c]
            for i in range(places):
                place = current[i]
                code = codes[place, b] + 1
                other[ends[code]] = place
                ends[code] += 1
            current, other = other, current
        # Distribute the sorted places to their lists.
        following = list_starts[:-1].copy()
        for i in range(places):
            place = current[i]
            which = list_of[place]
            orders[a, following[which]] = place
            following[which] += 1
    return orders


@kernel_step
def _find_best_split(codes, weights, orders, start, s, h, low_cut, high_cut, ahead, low, high):
    """Find the attribute and the number of rows per list with the smallest sum of perimeters of both sides."""
    d = weights.size
    best_attribute = 0
    best_cut = h // 2
    best = np.int64(-1)
    for a in range(d):
        # Extents of the first j rows of every list, then of the other rows.
        for b in range(d):
            low[b] = np.iinfo(np.int32).max
            high[b] = -1
        for j in range(1, high_cut + 1):
            for i in range(s):
                place = orders[a, start + i * h + j - 1]
                # Counterfeits have no extent.
                if codes[place, 0] >= 0:
                    for b in range(d):
                        low[b] = min(low[b], codes[place, b])
                        high[b] = max(high[b], codes[place, b])
            length = np.int64(0)
            for b in range(d):
                if high[b] > low[b]:
                    length += weights[b] * (high[b] - low[b])
            ahead[j] = j * length
        # The same from the other end; then both sides of every cut are known.
        for b in range(d):
            low[b] = np.iinfo(np.int32).max
            high[b] = -1
        for j in range(h - 1, low_cut - 1, -1):
            for i in range(s):
                place = orders[a, start + i * h + j]
                if codes[place, 0] >= 0:
                    for b in range(d):
                        low[b] = min(low[b], codes[place, b])
                        high[b] = max(high[b], codes[place, b])
            if j > high_cut:
                continue
            length = np.int64(0)
            for b in range(d):
                if high[b] > low[b]:
                    length += weights[b] * (high[b] - low[b])
            total = ahead[j] + (h - j) * length
            # Ties go to the more even cut.
            if best < 0 or total < best or (total == best and abs(2 * j - h) < abs(2 * best_cut - h)):
                best = total
                best_attribute = a
                best_cut = j
    return best_attribute, best_cut


@kernel
def split_buckets(codes, weights, orders, bucket_starts, signature_sizes, first_group, group_of):
    """Split balanced buckets until each has one row per value: the groups (Section 4.3). Writes `group_of` (by place).

    `orders` is the result of `sort_lists`, and is used as scratch; `bucket_starts` is the start of the places of each
    bucket, value after value. Groups are numbered from `first_group`. Returns the number of the next group.
    """
    d = weights.size
    # Scratch for the widest bucket.
    widest = 0
    for bucket in range(signature_sizes.size):
        widest = max(widest, bucket_starts[bucket + 1] - bucket_starts[bucket])
    scratch = np.empty(widest, dtype=np.int32)
    ahead = np.empty(widest + 1, dtype=np.int64)
    is_left = np.zeros(group_of.size, dtype=np.bool_)
    low = np.empty(d, dtype=np.int32)
    high = np.empty(d, dtype=np.int32)
    stack = np.empty((widest + 2, 3), dtype=np.int64)
    group = first_group
    for bucket in range(signature_sizes.size):
        # A stack of parts in place of recursion: start, height, depth.
        s = signature_sizes[bucket]
        stack[0, 0] = bucket_starts[bucket]
        stack[0, 1] = (bucket_starts[bucket + 1] - bucket_starts[bucket]) // s
        stack[0, 2] = 0
        top = 1
        while top > 0:
            top -= 1
            start, h, depth = stack[top, 0], stack[top, 1], stack[top, 2]
            # One row per value: a group.
            if h == 1:
                for i in range(s):
                    group_of[orders[0, start + i]] = group
                group += 1
                continue
            # Deep splits must be even.
            low_cut, high_cut = (1, h - 1) if depth < _MAX_UNEVEN_DEPTH else (max(1, h // 4), max(1, 3 * h // 4))
            attribute, cut = _find_best_split(codes, weights, orders, start, s, h, low_cut, high_cut, ahead, low, high)
            # Mark the rows of the first side, and partition the orders of all attributes stably.
            for i in range(s):
                for j in range(h):
                    is_left[orders[attribute, start + i * h + j]] = j < cut
            for a in range(d):
                left, right = 0, s * cut
                for k in range(start, start + s * h):
                    place = orders[a, k]
                    if is_left[place]:
                        scratch[left] = place
                        left += 1
                    else:
                        scratch[right] = place
                        right += 1
                for k in range(s * h):
                    orders[a, start + k] = scratch[k]
            # Push both sides.
            stack[top, 0], stack[top, 1], stack[top, 2] = start + s * cut, h - cut, depth + 1
            stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2] = start, cut, depth + 1
            top += 2
    return group
