# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Min-max bin covering: bins of at least k, with the fullest bin as light as possible.

Items stand in decreasing order of size unless said otherwise; `bin_of[i]` is the bin of item i.
"""

from __future__ import annotations

import numpy as np

from shoal._core.compiling import inlined, kernel, kernel_step

__all__ = [
    "balance",
    "first_sum",
    "greedy_completion",
    "longest_first",
    "next_fit",
    "pairs_that_cover",
    "search",
    "spread_out",
]


@kernel
def next_fit(sizes, order, k, bin_of):
    """Fill bins one after the other in the given order; items of k and more get bins of their own.

    Returns the number of bins and the level of the last unfinished bin (0 if there is none), which has the last number.
    """
    bins = 0
    # Large items first: their bins are complete.
    for i in order:
        if sizes[i] >= k:
            bin_of[i] = bins
            bins += 1
    level = np.int64(0)
    # Then fill bins to k with the other items.
    for i in order:
        if sizes[i] < k:
            bin_of[i] = bins
            level += sizes[i]
            if level >= k:
                bins += 1
                level = np.int64(0)
    if level > 0:
        bins += 1
    return bins, level


@inlined
def _lightest(levels, bins):
    """Find the first of the lightest bins."""
    lightest = 0
    for b in range(1, bins):
        if levels[b] < levels[lightest]:
            lightest = b
    return lightest


@inlined
def _fullest(levels):
    """Find the first of the fullest bins."""
    fullest = 0
    for b in range(1, levels.size):
        if levels[b] > levels[fullest]:
            fullest = b
    return fullest


@kernel
def spread_out(sizes, left_over, levels, bin_of):
    """Add items to the lightest bins as long as these stay below the maximum, then to the bins in turn."""
    fullest = levels[_fullest(levels)]
    turn = 0
    raised = False
    # Once an item raises the maximum, the rest is spread evenly.
    for i in left_over:
        if not raised:
            lightest = _lightest(levels, levels.size)
            if levels[lightest] + sizes[i] <= fullest:
                levels[lightest] += sizes[i]
                bin_of[i] = lightest
                continue
            raised = True
        levels[turn] += sizes[i]
        bin_of[i] = turn
        turn = (turn + 1) % levels.size


@kernel_step
def _sift_down(heap, levels, at):
    """Restore a heap of bins below position `at`, the lightest on top (the first of equal bins)."""
    size = heap.size
    while True:
        child = 2 * at + 1
        if child >= size:
            return
        # The lighter child, or the child with the smaller number.
        other = child + 1
        if other < size:
            a, b = heap[child], heap[other]
            if levels[b] < levels[a] or (levels[b] == levels[a] and b < a):
                child = other
        a, b = heap[at], heap[child]
        if levels[a] < levels[b] or (levels[a] == levels[b] and a < b):
            return
        heap[at], heap[child] = b, a
        at = child


@kernel
def longest_first(sizes, levels, bin_of):
    """Put each item into the bin that is the lightest at that moment; all bins are empty at first."""
    heap = np.arange(levels.size)
    # Items come in decreasing order (longest processing time first).
    for i in range(sizes.size):
        lightest = heap[0]
        bin_of[i] = lightest
        levels[lightest] += sizes[i]
        _sift_down(heap, levels, np.int64(0))


@kernel
def greedy_completion(sizes, small, levels, k, bin_of, merge):
    """Complete a packing of the large items: put small items into the lightest bin, then merge bins below k.

    Returns the number of remaining bins, the largest level and the smallest.
    """
    bins = levels.size
    # Small items even the levels out.
    for i in small:
        lightest = _lightest(levels, bins)
        levels[lightest] += sizes[i]
        bin_of[i] = lightest
    # Merge the lightest bin with the second lightest, while it is below k.
    while merge and bins > 1:
        low = _lightest(levels, bins)
        if levels[low] >= k:
            break
        second = -1
        for b in range(bins):
            if b != low and (second < 0 or levels[b] < levels[second]):
                second = b
        levels[second] += levels[low]
        last = bins - 1
        for i in range(bin_of.size):
            if bin_of[i] == low:
                bin_of[i] = second
        if low != last:
            # The last bin takes the free number.
            levels[low] = levels[last]
            for i in range(bin_of.size):
                if bin_of[i] == last:
                    bin_of[i] = low
        bins -= 1
    largest, smallest = levels[0], levels[0]
    for b in range(1, bins):
        largest = max(largest, levels[b])
        smallest = min(smallest, levels[b])
    return bins, largest, smallest


@inlined
def _members(bin_of, wanted, members):
    """Collect the items of a bin, in decreasing order; return their number."""
    count = 0
    for i in range(bin_of.size):
        if bin_of[i] == wanted:
            members[count] = i
            count += 1
    return count


@kernel_step
def _best_exchange(sizes, heavy, heavies, light, lights, difference):
    """Find the item to move, or the two items to swap, that make two bins most equal.

    Returns the positions in both lists (the second is `lights` if one item just moves), or -1 if nothing helps.
    """
    best_x, best_y = -1, -1
    best = difference  # of the levels afterwards; less is better
    y = 0
    # One pass with two pointers: both lists are in decreasing order.
    for x in range(heavies):
        size = sizes[heavy[x]]
        # The ideal partner is lighter by half the difference; it moves down the list as `size` falls.
        while y < lights and 2 * (size - sizes[light[y]]) < difference:
            y += 1
        # Only the two partners around the ideal can be best.
        for candidate in range(y - 1, y + 1):
            if candidate < 0 or candidate > lights:
                continue
            moved = size - (sizes[light[candidate]] if candidate < lights else 0)
            after = abs(difference - 2 * moved)
            if moved > 0 and after < best:
                best, best_x, best_y = after, x, candidate
    return best_x, best_y


@kernel_step
def _exchange(sizes, bin_of, levels, a, b, in_a, in_b, work):
    """Improve the balance of two bins by a move or a swap, if possible."""
    # Name the fuller bin a.
    if levels[a] < levels[b]:
        a, b = b, a
    if levels[a] - levels[b] < 2:
        return False
    # Charge the scan of both bins.
    work[0] -= 2 * sizes.size
    heavies, lights = _members(bin_of, a, in_a), _members(bin_of, b, in_b)
    x, y = _best_exchange(sizes, in_a, heavies, in_b, lights, levels[a] - levels[b])
    if x < 0:
        return False
    # Make the move or swap.
    moved = sizes[in_a[x]]
    bin_of[in_a[x]] = b
    if y < lights:
        moved -= sizes[in_b[y]]
        bin_of[in_b[y]] = a
    levels[a] -= moved
    levels[b] += moved
    return True


@kernel_step
def _divide(sizes, bin_of, levels, a, b, members, reached_by, work):
    """Divide the items of two bins as evenly as possible, by subset sums; return whether that helped."""
    count = _members(bin_of, a, members)
    count += _members(bin_of, b, members[count:])
    total = levels[a] + levels[b]
    half = total // 2
    before = min(levels[a], levels[b])
    # Skip if the bins are even already, or the table would be too large.
    if before >= half or half >= reached_by.size or half * count > reached_by.size * 64:
        return False
    work[0] -= half * count
    # reached_by[s] is the item that completed the sum s first.
    for s in range(half + 1):
        reached_by[s] = -1
    reached_by[0] = count
    top = np.int64(0)
    # Dynamic programming over the items, from large sums to small.
    for j in range(count):
        size = sizes[members[j]]
        for s in range(min(half, top + size), size - 1, -1):
            if reached_by[s] < 0 and reached_by[s - size] >= 0:
                reached_by[s] = j
        top = min(half, top + size)
        if reached_by[half] >= 0:
            break
    # The largest sum up to half.
    s = half
    while reached_by[s] < 0:
        s -= 1
    if s <= before:
        return False
    # Follow the items back, and write both bins.
    levels[a], levels[b] = s, total - s
    for j in range(count):
        bin_of[members[j]] = b
    while s > 0:
        j = reached_by[s]
        bin_of[members[j]] = a
        s -= sizes[members[j]]
    return True


@inlined
def _next_by_level(levels, last, upwards):
    """Find the bin that follows `last` by level and number, or the first bin after -1; -1 at the end."""
    found = -1
    # A scan in place of a sort: few bins are visited, and levels change in between.
    for b in range(levels.size):
        if last >= 0:
            after = levels[b] > levels[last] if upwards else levels[b] < levels[last]
            if not after and not (levels[b] == levels[last] and b > last):
                continue
        if found < 0 or (levels[b] < levels[found] if upwards else levels[b] > levels[found]):
            found = b
    return found


@kernel_step
def _improve(sizes, bin_of, levels, k, goal, first, second, reached_by, work):
    """Make one improvement: between the fullest bin and lighter bins, or the lightest and fuller bins."""
    lightest, fullest = _lightest(levels, levels.size), _fullest(levels)
    # Cheap exchanges first, then exact divisions.
    for thorough in range(2):
        for upwards in range(1, -1, -1):
            # A bin above the goal gives to others, the lightest first; a bin below k takes, from the fullest first.
            wanting = levels[fullest] > goal if upwards == 1 else levels[lightest] < k
            a = fullest if upwards == 1 else lightest
            b = _next_by_level(levels, np.int64(-1), upwards == 1)
            while wanting and b >= 0:
                if work[0] < 0:
                    return False
                work[0] -= levels.size
                if a != b:
                    if thorough == 0:
                        done = _exchange(sizes, bin_of, levels, a, b, first, second, work)
                    else:
                        done = _divide(sizes, bin_of, levels, a, b, first, reached_by, work)
                    if done:
                        return True
                b = _next_by_level(levels, b, upwards == 1)
    return False


@inlined
def _missing(levels, k, goal):
    """Compute how far the fullest bin is above the goal and the lightest below k, added up."""
    above = max(levels[_fullest(levels)] - goal, 0)
    return above + max(k - levels[_lightest(levels, levels.size)], 0)


@inlined
def _copy(source, into):
    for i in range(source.size):
        into[i] = source[i]


@kernel
def balance(sizes, bin_of, levels, k, goal, kicks, state, table, work):
    """Exchange items between bins until every level is in [k, goal], or nothing helps.

    The best packing is perturbed and improved again `kicks` times. `state` is a random number. Bins above the size
    `table` are not divided exactly; `work` is the number of operations left, and is counted down. The best packing is
    left in `bin_of` and `levels`.
    """
    n, bins = sizes.size, levels.size
    first, second = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    reached_by = np.empty(min(2 * goal + 2, table), dtype=np.int32)
    best_bin, best_levels = bin_of.copy(), levels.copy()
    random = state
    # Iterated local search: improve, compare, perturb.
    for attempt in range(kicks + 1):
        while _missing(levels, k, goal) > 0:
            if not _improve(sizes, bin_of, levels, k, goal, first, second, reached_by, work):
                break
        missing = _missing(levels, k, goal)
        # Continue from the better packing.
        if missing <= _missing(best_levels, k, goal):
            _copy(bin_of, best_bin)
            _copy(levels, best_levels)
        else:
            _copy(best_bin, bin_of)
            _copy(best_levels, levels)
        if missing == 0 or attempt == kicks or bins < 2 or work[0] < 0:
            break
        # Perturb: move three random items to random bins.
        for _ in range(3):
            # A linear congruential generator (ISO C's example); its upper bits are the random ones.
            random = (random * 1103515245 + 12345) % (1 << 31)
            i = random * n >> 31
            random = (random * 1103515245 + 12345) % (1 << 31)
            b = random * bins >> 31
            levels[bin_of[i]] -= sizes[i]
            levels[b] += sizes[i]
            bin_of[i] = b
    _copy(best_bin, bin_of)
    _copy(best_levels, levels)


@kernel
def first_sum(sizes, low, high):
    """Find the smallest sum of items in [low, high]; -1 if there is none."""
    # Subset sums; each item counts once, because sums are visited from the top.
    reached = np.zeros(high + 1, dtype=np.bool_)
    reached[0] = True
    top = np.int64(0)
    for size in sizes:
        for s in range(min(high, top + size), size - 1, -1):
            if reached[s - size]:
                reached[s] = True
        top = min(high, top + size)
    for s in range(low, high + 1):
        if reached[s]:
            return s
    return -1


@kernel
def pairs_that_cover(sizes, k):
    """Count disjoint pairs of items with a total size of k and more."""
    pairs = 0
    last = sizes.size - 1
    first = 0
    # Match the largest item with the smallest that completes it.
    while first < last:
        if sizes[first] + sizes[last] >= k:
            pairs += 1
            first += 1
        last -= 1
    return pairs


@kernel
def search(sizes, k, limit, nodes, bin_of):
    """Search for a packing with every level in [k, limit], bin by bin, each starting with the largest item left.

    Returns 1 if a packing was found (in `bin_of`), 0 if there is none, -1 if `nodes` were not enough.
    """
    n = sizes.size
    bin_of[:] = -1
    left = np.int64(0)
    for size in sizes:
        left += size
    # One entry for each packed item: the item, the level before it, and whether it opened a bin.
    picked = np.empty(n, dtype=np.int64)
    before = np.empty(n, dtype=np.int64)
    opened = np.empty(n, dtype=np.bool_)
    depth, bins, level = 0, -1, np.int64(k)
    candidate = 0
    while True:
        nodes -= 1
        if nodes < 0:
            return -1
        # Close the bin if the rest can fill whole bins, and open one with the largest item left.
        advanced = False
        if candidate == 0:
            if level >= k and -(-left // limit) * k <= left:
                if left == 0:
                    return 1
                i = 0
                while bin_of[i] >= 0:
                    i += 1
                if sizes[i] <= limit:
                    before[depth], opened[depth], picked[depth] = level, True, i
                    depth += 1
                    bins += 1
                    bin_of[i] = bins
                    level = sizes[i]
                    left -= sizes[i]
                    advanced = True
            if not advanced and depth > 0:
                candidate = picked[depth - 1] + 1
        if advanced:
            continue
        # Otherwise add the next item that fits to the open bin.
        if bins >= 0:
            i = candidate
            while i < n and (bin_of[i] >= 0 or level + sizes[i] > limit):
                i += 1
            if i < n:
                before[depth], opened[depth], picked[depth] = level, False, i
                depth += 1
                bin_of[i] = bins
                level += sizes[i]
                left -= sizes[i]
                candidate = 0
                continue
        # Backtrack: remove the last item, and continue with the next item of another size.
        if depth == 0:
            return 0
        depth -= 1
        i = picked[depth]
        bin_of[i] = -1
        left += sizes[i]
        level = before[depth]
        # It opened a bin.
        if opened[depth]:
            # The largest item left must be in some bin: the bin before was closed too early; fill it further.
            bins -= 1
            if depth == 0:
                return 0
            candidate = picked[depth - 1] + 1
        else:
            candidate = i + 1
            while candidate < n and sizes[candidate] == sizes[i]:
                candidate += 1
