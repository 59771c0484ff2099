# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Min-max bin covering: bins of at least k, the fullest one as light as possible.

Items stand in decreasing order of size unless said otherwise; `bin_of[i]` is the bin of item i.
"""

from __future__ import annotations

import numpy as np

from shoal._compiling import inlined, kernel, kernel_step

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
    """Fill bins one after the other in the given order, items of k and more in bins of their own.

    Return the number of bins and the level of the last one that was being filled (0 where none was), whose number is
    the last.
    """
    bins = 0
    for i in order:
        if sizes[i] >= k:
            bin_of[i] = bins
            bins += 1
    level = np.int64(0)
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
    """Return the first of the lightest bins."""
    lightest = 0
    for b in range(1, bins):
        if levels[b] < levels[lightest]:
            lightest = b
    return lightest


@inlined
def _fullest(levels):
    """Return the first of the fullest bins."""
    fullest = 0
    for b in range(1, levels.size):
        if levels[b] > levels[fullest]:
            fullest = b
    return fullest


@kernel
def spread_out(sizes, left_over, levels, bin_of):
    """Add items to bins that stay below the current maximum while one can, then to one bin after the other."""
    fullest = levels[_fullest(levels)]
    turn = 0
    raised = False
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
    """Restore a heap of bins, the lightest on top (of equal ones the first), below position `at`."""
    size = heap.size
    while True:
        child = 2 * at + 1
        if child >= size:
            return
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
    """Put one item after the other into the bin that is the lightest at that moment; all are empty at first."""
    heap = np.arange(levels.size)
    for i in range(sizes.size):
        lightest = heap[0]
        bin_of[i] = lightest
        levels[lightest] += sizes[i]
        _sift_down(heap, levels, np.int64(0))


@kernel
def greedy_completion(sizes, small, levels, k, bin_of, merge):
    """Complete a packing of the large items: small items into the lightest bin, then merge bins below k.

    Return the number of bins that are left, the largest level and the smallest.
    """
    bins = levels.size
    for i in small:
        lightest = _lightest(levels, bins)
        levels[lightest] += sizes[i]
        bin_of[i] = lightest
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
            # The last bin takes the number that is free.
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
    """Collect the items of a bin, in decreasing order; return how many."""
    count = 0
    for i in range(bin_of.size):
        if bin_of[i] == wanted:
            members[count] = i
            count += 1
    return count


@kernel_step
def _best_exchange(sizes, heavy, heavies, light, lights, difference):
    """Find the item to move, or the two to swap, that brings two bins nearest to each other.

    Return the positions in both lists (the second is `lights` where an item just moves), or -1 where nothing helps.
    """
    best_x, best_y = -1, -1
    best = difference  # of the levels afterwards; less is better
    y = 0
    for x in range(heavies):
        size = sizes[heavy[x]]
        # The ideal partner is lighter by half the difference; it moves down the list as `size` falls.
        while y < lights and 2 * (size - sizes[light[y]]) < difference:
            y += 1
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
    """Improve the balance of two bins by a move or a swap, if one does."""
    if levels[a] < levels[b]:
        a, b = b, a
    if levels[a] - levels[b] < 2:
        return False
    work[0] -= 2 * sizes.size
    heavies, lights = _members(bin_of, a, in_a), _members(bin_of, b, in_b)
    x, y = _best_exchange(sizes, in_a, heavies, in_b, lights, levels[a] - levels[b])
    if x < 0:
        return False
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
    """Divide the items of two bins anew, as evenly as can be: subset sums. Return whether that helped."""
    count = _members(bin_of, a, members)
    count += _members(bin_of, b, members[count:])
    total = levels[a] + levels[b]
    half = total // 2
    before = min(levels[a], levels[b])
    if before >= half or half >= reached_by.size or half * count > reached_by.size * 64:
        return False
    work[0] -= half * count
    for s in range(half + 1):
        reached_by[s] = -1
    reached_by[0] = count
    top = np.int64(0)
    for j in range(count):
        size = sizes[members[j]]
        for s in range(min(half, top + size), size - 1, -1):
            if reached_by[s] < 0 and reached_by[s - size] >= 0:
                reached_by[s] = j
        top = min(half, top + size)
        if reached_by[half] >= 0:
            break
    s = half
    while reached_by[s] < 0:
        s -= 1
    if s <= before:
        return False
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
    """Return the bin that follows `last` by level and number, or the first one after -1; -1 at the end."""
    found = -1
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
    """Make one improvement: at the fullest bin with lighter ones, or at the lightest with fuller ones."""
    lightest, fullest = _lightest(levels, levels.size), _fullest(levels)
    for thorough in range(2):
        for upwards in range(1, -1, -1):
            # A bin above the goal gives to others, the lightest first; one below k takes, from the fullest first.
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
    """Return by how much the fullest bin is above the goal and the lightest below k."""
    above = max(levels[_fullest(levels)] - goal, 0)
    return above + max(k - levels[_lightest(levels, levels.size)], 0)


@inlined
def _copy(source, into):
    for i in range(source.size):
        into[i] = source[i]


@kernel
def balance(sizes, bin_of, levels, k, goal, kicks, state, table, work):
    """Exchange items between bins until every level is in [k, goal], or nothing helps any more.

    `kicks` times the best packing is disturbed and improved again. `state` is a random number. Bins above the size
    `table` are not divided exactly; `work` holds how many operations may be made, and is counted down. The best packing
    is left in `bin_of` and `levels`.
    """
    n, bins = sizes.size, levels.size
    first, second = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    reached_by = np.empty(min(2 * goal + 2, table), dtype=np.int32)
    best_bin, best_levels = bin_of.copy(), levels.copy()
    random = state
    for attempt in range(kicks + 1):
        while _missing(levels, k, goal) > 0:
            if not _improve(sizes, bin_of, levels, k, goal, first, second, reached_by, work):
                break
        missing = _missing(levels, k, goal)
        if missing <= _missing(best_levels, k, goal):
            _copy(bin_of, best_bin)
            _copy(levels, best_levels)
        else:
            _copy(best_bin, bin_of)
            _copy(best_levels, levels)
        if missing == 0 or attempt == kicks or bins < 2 or work[0] < 0:
            break
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
    """Return the smallest sum of some of the items in [low, high], or -1 where there is none."""
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
    """Return how many disjoint pairs of items have a size of k and more together."""
    pairs = 0
    last = sizes.size - 1
    first = 0
    while first < last:
        if sizes[first] + sizes[last] >= k:
            pairs += 1
            first += 1
        last -= 1
    return pairs


@kernel
def search(sizes, k, limit, nodes, bin_of):
    """Look for a packing with every level in [k, limit], bin by bin, each with the largest item that is left.

    Return 1 where one was found (in `bin_of`), 0 where there is none, -1 where `nodes` were not enough.
    """
    n = sizes.size
    bin_of[:] = -1
    left = np.int64(0)
    for size in sizes:
        left += size
    # One entry for each item that is packed: the item, the level before it, and whether it opened a bin.
    picked = np.empty(n, dtype=np.int64)
    before = np.empty(n, dtype=np.int64)
    opened = np.empty(n, dtype=np.bool_)
    depth, bins, level = 0, -1, np.int64(k)
    candidate = 0
    while True:
        nodes -= 1
        if nodes < 0:
            return -1
        # Close the bin where what is left can fill whole bins, and open one with the largest item left.
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
        # Add the next item that fits to the open bin.
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
        # Take back the last item, and go on with the next one of another size in its place.
        if depth == 0:
            return 0
        depth -= 1
        i = picked[depth]
        bin_of[i] = -1
        left += sizes[i]
        level = before[depth]
        if opened[depth]:
            # The largest item left must be somewhere: the bin before it was closed too early; fill it further.
            bins -= 1
            if depth == 0:
                return 0
            candidate = picked[depth - 1] + 1
        else:
            candidate = i + 1
            while candidate < n and sizes[candidate] == sizes[i]:
                candidate += 1
