# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Rectangles of at least k points: a kd-tree whose cuts never separate points of equal coordinates."""

from __future__ import annotations

import numpy as np

from shoal._core.compiling import allocating_step, inlined, kernel, kernel_step

__all__ = ["cut_rectangles", "outside", "overlapping", "select"]


@inlined
def _swap(a, b, index, weight, weighted, i, j):
    # The arrays of a point are swapped together.
    a[i], a[j] = a[j], a[i]
    b[i], b[j] = b[j], b[i]
    index[i], index[j] = index[j], index[i]
    if weighted:
        weight[i], weight[j] = weight[j], weight[i]


@allocating_step
def _pivot(a, lo, hi, share, random):
    """Choose a value of a[lo:hi] slightly further in than the wanted share: the wanted part is the smaller one then."""
    # A sample whose size grows with the range, sorted by insertion.
    n = hi - lo
    size = 3 if n < 100 else 15 if n < 2000 else 63
    sample = np.empty(size)
    for s in range(size):
        random[0] = (random[0] * 1103515245 + 12345) % (1 << 31)
        sample[s] = a[lo + (random[0] * n >> 31)]
    for s in range(1, size):
        value = sample[s]
        t = s
        while t > 0 and sample[t - 1] > value:
            sample[t] = sample[t - 1]
            t -= 1
        sample[t] = value
    # Move the pivot towards the middle, against bad luck of the sample.
    further = 0 if size < 15 else size // 15 + 1
    at = int(share * size) + (further if share < 0.5 else -further)
    return sample[min(max(at, 0), size - 1)]


@kernel_step
def select(a, b, index, weight, weighted, begin, end, total, target, random):
    """Rearrange [begin, end) by `a`, around the value v at which the weight `target` falls.

    Returns (v, lt, gt, below, above): smaller values stand before lt, larger values from gt on, and weigh `below` and
    `above`. `total` is the weight of all points; `random` the state of the choice of pivots. Expected linear time.
    """
    lo, hi, before, left = begin, end, np.int64(0), total
    # Quickselect by weight.
    while hi - lo > 1:
        pivot = _pivot(a, lo, hi, (target - before) / left, random)
        i, j = lo - 1, hi
        # Hoare's partition.
        while True:
            i += 1
            while a[i] < pivot:
                i += 1
            j -= 1
            while a[j] > pivot:
                j -= 1
            if i >= j:
                break
            _swap(a, b, index, weight, weighted, i, j)
        # Everything before i is at most the pivot, everything after j at least; if i == j, that is the pivot.
        first = np.int64(i - lo)
        middle = np.int64(1 if i == j else 0)
        if weighted:
            first = np.int64(0)
            for p in range(lo, i):
                first += weight[p]
            if i == j:
                middle = weight[i]
        # Continue with the part that has the target.
        if target - before < first:
            hi, left = i, first
        elif target - before < first + middle:
            lo, hi = i, i + 1
            before += first
            left = middle
        else:
            lo = j + 1
            before += first + middle
            left -= first + middle
    # Gather equal values around the result, so that a cut does not separate them.
    v = a[lo]
    lt, gt = lo, lo + 1
    for p in range(lo - 1, begin - 1, -1):
        if a[p] == v:
            lt -= 1
            _swap(a, b, index, weight, weighted, p, lt)
    for p in range(lo + 1, end):
        if a[p] == v:
            _swap(a, b, index, weight, weighted, p, gt)
            gt += 1
    # Weights of both sides.
    below, equal = np.int64(lt - begin), np.int64(gt - lt)
    if weighted:
        below, equal = before, np.int64(0)
        for p in range(lt, lo):
            below -= weight[p]
        for p in range(lt, gt):
            equal += weight[p]
    return v, lt, gt, below, total - below - equal


@inlined
def _extent(a, lo, hi):
    low, high = a[lo], a[lo]
    for p in range(lo + 1, hi):
        low = min(low, a[p])
        high = max(high, a[p])
    return low, high


@inlined
def _target(total, wanted):
    """Compute the target weight of a cut's first side: about half of the classes of the wanted weight."""
    # Without a wanted weight, half of all; otherwise a multiple, so that classes come out even.
    most = total // max(wanted, 1)
    if wanted == 0 or most < 2 or most > 1 << 31:
        return total // 2
    half = most // 2
    return total // most * half + total % most * half // most


@inlined
def _cut(a, b, index, weight, weighted, lo, hi, total, k, wanted, random):
    """Cut [lo, hi) by `a`; return the place and the weight of the first side; -1 if a side would have less than k.

    If neither cut next to the middle value is possible, no cut is: any other cut leaves less on a side.
    """
    target = _target(total, wanted)
    _, lt, gt, below, above = select(a, b, index, weight, weighted, lo, hi, total, target, random)
    # Cut before or after the middle value, whichever is nearer to the target.
    if below >= k and (above < k or target - below <= total - above - target):
        return lt, below
    if above >= k:
        return gt, total - above
    return -1, np.int64(0)


@inlined
def _place(x, y, index, weight, weighted, lo, hi, total, k, random):
    """Compute the weight of the heaviest place in a leaf if that is k or more; else a smaller weight.

    In a leaf below 2 k such a place has the majority, so it is in the middle of both axes. In a larger leaf, which
    cannot be cut, both sides of the middle weigh less than k on either axis: it is there as well.
    """
    # The two medians are the only candidate.
    at_x = select(x, y, index, weight, weighted, lo, hi, total, total // 2, random)[0]
    at_y = select(y, x, index, weight, weighted, lo, hi, total, total // 2, random)[0]
    found = np.int64(0)
    for p in range(lo, hi):
        if x[p] == at_x and y[p] == at_y:
            found += weight[p] if weighted else 1
    return found


@kernel
def cut_rectangles(x, y, index, weight, total, k, wanted, classes, bounds, weights):
    """Cut points into rectangles until no rectangle can be cut into two with at least k each.

    `x`, `y`, `index` and `weight` (empty if every point weighs 1) are rearranged. `classes` receives the rectangle of
    each point, `bounds` (x_min, x_max, y_min, y_max) and `weights` those of each rectangle. Returns the number of
    rectangles, and the weight of the heaviest place, or k if that is less.
    """
    weighted = weight.size > 0
    random = np.array([20090424], dtype=np.int64)
    # A stack of ranges in place of recursion.
    stack = np.empty((weights.size + 1, 3), dtype=np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, x.size, total
    height, leaves, heaviest = 1, 0, np.int64(k)
    while height > 0:
        height -= 1
        lo, hi, here = stack[height, 0], stack[height, 1], stack[height, 2]
        x_min, x_max = _extent(x, lo, hi)
        y_min, y_max = _extent(y, lo, hi)
        middle, first = -1, np.int64(0)
        if here >= 2 * k:
            # Try the wider side first, then the other.
            for side in range(2):
                if (x_max - x_min >= y_max - y_min) == (side == 0):
                    middle, first = _cut(x, y, index, weight, weighted, lo, hi, here, k, wanted, random)
                else:
                    middle, first = _cut(y, x, index, weight, weighted, lo, hi, here, k, wanted, random)
                if middle >= 0:
                    break
        # Push both sides.
        if middle >= 0:
            stack[height, 0], stack[height, 1], stack[height, 2] = middle, hi, here - first
            stack[height + 1, 0], stack[height + 1, 1], stack[height + 1, 2] = lo, middle, first
            height += 2
            continue
        # A leaf: write its rectangle and the classes of its points.
        bounds[leaves, 0], bounds[leaves, 1] = x_min, x_max
        bounds[leaves, 2], bounds[leaves, 3] = y_min, y_max
        weights[leaves] = here
        for p in range(lo, hi):
            classes[index[p]] = leaves
        # Only a leaf above k can have a heavier place.
        if here > heaviest:
            heaviest = max(heaviest, _place(x, y, index, weight, weighted, lo, hi, here, k, random))
        leaves += 1
    return leaves, heaviest


@kernel
def outside(x, y, classes, bounds):
    """Count the points outside the rectangle of their class."""
    count = 0
    for i in range(x.size):
        c = classes[i]
        inside = bounds[c, 0] <= x[i] <= bounds[c, 1] and bounds[c, 2] <= y[i] <= bounds[c, 3]
        count += 0 if inside else 1
    return count


@inlined
def _add(tree, at, amount):
    # A Fenwick tree of counts; indices start at 1.
    at += 1
    while at < tree.size:
        tree[at] += amount
        at += at & -at


@inlined
def _sum_before(tree, at):
    total = np.int64(0)
    while at > 0:
        total += tree[at]
        at -= at & -at
    return total


@kernel
def overlapping(opening, closing, low, high, places):
    """Test whether two closed rectangles share a point, by a sweep along one axis.

    `opening` and `closing` are the rectangles in the order in which the sweep meets and leaves them, as ranks on that
    axis (`opening[e, 0]` the rank, `opening[e, 1]` the rectangle); `low` and `high` the ranks of their ends on the
    other axis, below `places`. Two sums decide whether an open rectangle meets the new one: rectangles that begin
    before its end, less rectangles that end before its beginning.
    """
    starts_seen, ends_seen = np.zeros(places + 1, dtype=np.int64), np.zeros(places + 1, dtype=np.int64)
    at = 0
    for e in range(opening.shape[0]):
        # Remove the rectangles that the sweep has left.
        while at < closing.shape[0] and closing[at, 0] < opening[e, 0]:
            r = closing[at, 1]
            _add(starts_seen, low[r], np.int64(-1))
            _add(ends_seen, high[r], np.int64(-1))
            at += 1
        r = opening[e, 1]
        # Intervals on the other axis meet if one begins before the end and does not end before the beginning.
        if _sum_before(starts_seen, high[r] + 1) - _sum_before(ends_seen, low[r]) > 0:
            return True
        _add(starts_seen, low[r], np.int64(1))
        _add(ends_seen, high[r], np.int64(1))
    return False
