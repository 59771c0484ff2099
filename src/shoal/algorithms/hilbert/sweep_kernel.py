# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Sweeps along a curve that cut rows into groups by their sensitive counts, or by their number alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal._core.compiling import inlined, kernel, kernel_step, linear_kernel
from shoal.algorithms.common.trees_kernel import Trees, meeting_level
from shoal.algorithms.common.whole_kernel import ZERO

Codes = NDArray[np.int32]
State = NDArray[np.int64]


__all__ = ["sweep_lists", "sweep_penalties", "sweep_sizes"]

# State of the list of each sensitive value: rows of a table with one column per list.
HEAD, LEFT, REMAINING, KEY, TAKEN, PLACE, NEXT, BEFORE = range(8)
# HEAD       its first cell that still has rows
# LEFT       rows left in that cell
# REMAINING  rows left in the list
# KEY        place of the head on the curve; smaller keys are served first
# TAKEN      rows taken by the group in progress
# PLACE      place in the heap of heads
# NEXT, BEFORE  neighbours in the chain of lists with as many rows left, -1 at its ends

CLOSED = np.int64(2**62)
"""Key of a list that may give no more rows to the group in progress."""


@inlined
def _earlier(state: State, v: int, w: int) -> bool:
    """Test whether list v is served before list w."""
    # Ties go to the smaller value, so that the order is total.
    return state[KEY, v] < state[KEY, w] or (state[KEY, v] == state[KEY, w] and v < w)


@inlined
def _sift(heap: Codes, state: State, size: int, at: int) -> None:
    """Restore the heap of heads after a change of the entry at `at`."""
    v = heap[at]
    # Sift up; lists are moved down until the place is found.
    while at > 0:
        parent = (at - 1) >> 1
        if not _earlier(state, v, heap[parent]):
            break
        heap[at] = heap[parent]
        state[PLACE, heap[at]] = at
        at = parent
    # Sift down, past the earlier of two children.
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _earlier(state, heap[child + 1], heap[child]):
            child += 1
        if not _earlier(state, heap[child], v):
            break
        heap[at] = heap[child]
        state[PLACE, heap[at]] = at
        at = child
    heap[at] = v
    state[PLACE, v] = at


@inlined
def _chain(levels: Codes, state: State, v: int) -> None:
    """Insert list v into the chain of the lists with as many rows left; an empty list is in none."""
    # With links both ways, so that a list can be removed in constant time.
    level = state[REMAINING, v]
    state[BEFORE, v] = -1
    state[NEXT, v] = -1
    if level > 0:
        state[NEXT, v] = levels[level]
        if levels[level] >= 0:
            state[BEFORE, levels[level]] = v
        levels[level] = v


@inlined
def _unchain(levels: Codes, state: State, v: int) -> None:
    """Remove list v from its chain."""
    # The first list of a chain is referred to by `levels`.
    if state[BEFORE, v] >= 0:
        state[NEXT, state[BEFORE, v]] = state[NEXT, v]
    else:
        levels[state[REMAINING, v]] = state[NEXT, v]
    if state[NEXT, v] >= 0:
        state[BEFORE, state[NEXT, v]] = state[BEFORE, v]


@inlined
def _forced(levels: Codes, state: State, highest: int, keep: int, cap: int, most: int) -> int:
    """Count the rows that lists with more than `keep` rows left must give; more than `most` if that is impossible."""
    rows = 0
    # From the longest lists down: only these have too many rows.
    for level in range(highest, keep, -1):
        v = levels[level]
        # A list would have to give more than the cap.
        if v >= 0 and level - keep > cap:
            return most + 1
        while v >= 0 and rows <= most:
            rows += level - keep
            v = state[NEXT, v]
        if rows > most:
            break
    return rows


@kernel_step
def _group_size(
    rows: int, num: int, den: int, smallest: int, levels: Codes, state: State, heap: Codes, size: int
) -> int:
    """Compute the size of the next group: the least for which it and the rest can both be eligible, else all rows.

    A group of g of the remaining rows may take at most g / l of one list, and must take from each list the excess over
    (rows - g) / l: the eligibility condition.
    """
    g = smallest
    step = 1
    # Try increasing sizes; the rest must be able to form a group, too.
    while rows - g >= smallest:
        cap = g * den // num
        keep = (rows - g) * den // num
        forced = _forced(levels, state, min(rows * den // num, levels.size - 1), keep, cap, g)
        # The lists together must supply g rows below the cap.
        supply = size
        if supply < g and cap > 1:
            supply = 0
            for i in range(size):
                supply += min(state[REMAINING, heap[i]], cap)
        if forced <= g <= supply:
            return g
        # Far beyond the smallest size: double the size, so that the search stays logarithmic.
        if g >= 2 * smallest + num // den + 64:
            step = g
        g += step
    return rows


@inlined
def _serve(v: int, wanted: int, group: int, cell_rows: Codes, cell_counts: Codes, state: State, groups: Codes) -> None:
    """Give the first rows of list v to a group, and advance its head."""
    state[REMAINING, v] -= wanted
    state[TAKEN, v] += wanted
    # Cell by cell, because equal rows stand together.
    while wanted > 0:
        cell = state[HEAD, v]
        some = min(wanted, state[LEFT, v])
        first = cell_rows[cell] + cell_counts[cell] - state[LEFT, v]
        for i in range(first, first + some):
            groups[i] = group
        state[LEFT, v] -= some
        wanted -= some
        # Advance to the next cell of the list if this one is used up.
        if state[LEFT, v] == 0 and state[REMAINING, v] + wanted > 0:
            state[HEAD, v] = cell + 1
            state[LEFT, v] = cell_counts[cell + 1]


@inlined
def _must_serve(levels: Codes, state: State, highest: int, keep: int, served: Codes) -> int:
    """Collect the lists with more than `keep` rows left in `served`; return their number."""
    must = 0
    for level in range(highest, keep, -1):
        v = levels[level]
        while v >= 0:
            served[must] = v
            must += 1
            v = state[NEXT, v]
    return must


@inlined
def _key(cell_ranks: Codes, state: State, v: int) -> int:
    """Compute the key of list v's head; among heads at one point, the list with most rows there comes first."""
    # The point in the high bits, the rows there in the low bits.
    return int((np.int64(cell_ranks[state[HEAD, v]]) << 32) - state[LEFT, v])


@inlined
def _open_lists(cell_counts: Codes, list_starts: Codes, state: State, heap: Codes) -> int:
    """Open the lists with rows, as a heap of closed lists; return their number."""
    size = 0
    # Keys are set when the first group starts.
    for v in range(list_starts.size - 1):
        state[KEY, v] = CLOSED
        for cell in range(list_starts[v], list_starts[v + 1]):
            state[REMAINING, v] += cell_counts[cell]
        if state[REMAINING, v] > 0:
            state[HEAD, v] = list_starts[v]
            state[LEFT, v] = cell_counts[list_starts[v]]
            state[PLACE, v] = size
            heap[size] = v
            size += 1
    return size


@kernel
def sweep_lists(cell_ranks, cell_rows, cell_counts, list_starts, num, den, k, groups):
    """Partition rows into groups with |G| >= k and l * h(G) <= |G|, l = num / den, sweeping a sorted list per value.

    Each group first takes from the lists that must be served (otherwise the remaining rows would not be l-eligible),
    then from the lists whose heads come first on the curve. Among heads at the same point, the list with most rows
    there goes first.

    Parameters
    ----------
    cell_ranks : int32[c]
        Point on the curve of each cell (rows with the same point and value). Cells come list by list, by rank within.
    cell_rows : int32[c]
        Position of each cell's first row; its others follow.
    cell_counts : int32[c]
        Rows of each cell, at least 1.
    list_starts : int32[m + 1]
        Start of the list of each value among the cells; a list may be empty.
    num, den : int
        l as a fraction, num >= den >= 1.
    k : int
        Smallest group.
    groups : int32[n]
        Receives the group of each row position. All rows together satisfy the requirement.

    Returns
    -------
    count : int
        Number of groups.
    forced : int
        Number of rows that were taken because their list had to be served.
    """
    rows = groups.size
    # Lists by value, a heap of their heads, and chains of the lists by rows left.
    m = list_starts.size - 1
    smallest = max(k, (num + den - 1) // den)
    state = np.zeros((8, m), dtype=np.int64)
    heap = np.empty(m, dtype=np.int32)
    size = _open_lists(cell_counts, list_starts, state, heap)
    most = ZERO
    for v in range(m):
        most = max(most, state[REMAINING, v])
    levels = np.full(most + 1, -1, dtype=np.int32)
    served = np.empty(m, dtype=np.int32)
    for v in range(m):
        _chain(levels, state, v)
        served[v] = heap[v]
    used_lists = size
    count = ZERO
    forced = 0
    while rows > 0:
        for i in range(used_lists):  # reopen the lists that the last group took from
            v = ZERO + served[i]
            state[TAKEN, v] = 0
            if state[REMAINING, v] > 0:
                state[KEY, v] = _key(cell_ranks, state, v)
                _sift(heap, state, size, state[PLACE, v])
        # Size of the group, rows that one list may give, and rows that it may keep.
        wanted = _group_size(rows, num, den, smallest, levels, state, heap, size)
        cap = wanted if wanted == rows else wanted * den // num
        keep = (rows - wanted) * den // num
        must = 0 if wanted == rows else _must_serve(levels, state, min(rows * den // num, most), keep, served)
        filled = 0
        used_lists = 0
        # First the lists that must be served, then the heads in the order of the curve.
        while filled < wanted:
            v = ZERO + (served[used_lists] if used_lists < must else heap[0])
            some = int(state[REMAINING, v]) - keep if used_lists < must else 1
            if state[TAKEN, v] == 0:
                forced += some if used_lists < must else 0
                served[used_lists] = v
                used_lists += 1
            # The number of rows left changes: move the list to another chain.
            _unchain(levels, state, v)
            _serve(v, some, count, cell_rows, cell_counts, state, groups)
            _chain(levels, state, v)
            filled += some
            # Restore the heap: an empty list leaves, a list at its cap is closed for this group.
            at = state[PLACE, v]
            if state[REMAINING, v] == 0:
                size -= 1
                heap[at] = heap[size]
                state[PLACE, heap[at]] = at
            else:
                state[KEY, v] = CLOSED if state[TAKEN, v] == cap else _key(cell_ranks, state, v)
            if at < size:
                _sift(heap, state, size, at)
        rows -= wanted
        count += 1
    return count, forced


@inlined
def _offer(queue: Codes, front: int, back: int, cost: State, t: int, first: int, last: int) -> int:
    """Append starts to a queue in which cost[start] - start * t ascends; return its new end."""
    # A start that is not better than a later one is never used again: drop it (a monotone queue).
    for start in range(first, last + 1):
        worth = cost[start] - start * t
        while back > front:
            behind = queue[(back - 1) % queue.size]
            if cost[behind] - behind * t < worth:
                break
            back -= 1
        queue[back % queue.size] = start
        back += 1
    return back


@inlined
def _least_starts(changes: NDArray[np.bool_], row: int, last_change: State, least: State) -> None:
    """Find for each t the least start from which fewer than t attributes change up to a row: last changes, sorted."""
    d = last_change.size
    # Update the last change of each attribute.
    for a in range(d):
        if row > 0 and changes[row, a]:
            last_change[a] = row
    least[0] = row + 1
    # Insertion sort, descending; d is small.
    for a in range(d):
        at = a + 1
        while at > 1 and least[at - 1] < last_change[a]:
            least[at] = least[at - 1]
            at -= 1
        least[at] = last_change[a]


@inlined
def _number_runs(start_of: Codes, groups: Codes) -> int:
    """Follow the best cuts back from the end and number the runs; return their number."""
    # Count first, so that the runs can be numbered in the order of the rows.
    count = 0
    end = groups.size
    while end > 0:
        count += 1
        end = start_of[end]
    end = groups.size
    group = count
    while end > 0:
        group -= 1
        for i in range(start_of[end], end):
            groups[i] = group
        end = start_of[end]
    return count


@linear_kernel
def sweep_sizes(changes: NDArray[np.bool_], k: int, groups: Codes) -> tuple[int, int]:
    """Cut rows into runs of k to 2k - 1 with the fewest stars of all such cuts.

    Dynamic programming over the last cut. A run of rows pays a star per row for each attribute that changes within it;
    as a function of the run's start that number falls in steps, and each step keeps a queue of the best starts. So the
    cost is linear in rows times attributes, for any k.

    Parameters
    ----------
    changes : bool[n, d]
        Whether the row differs from the row before it, by attribute; the first row's entries are not read.
    k : int
        Smallest run, 1 <= k <= n.
    groups : int32[n]
        Receives the run of each row.

    Returns
    -------
    count : int
        Number of runs.
    stars : int
        Number of stars of the suppression.
    """
    n, d = changes.shape
    # cost[end] is the fewest stars of the first `end` rows, start_of[end] the start of their last run.
    cost = np.zeros(n + 1, dtype=np.int64)
    start_of = np.zeros(n + 1, dtype=np.int32)
    last_change = np.zeros(d, dtype=np.int64)
    least = np.zeros(d + 2, dtype=np.int64)
    state = np.zeros((d + 1, k + 1), dtype=np.int32)
    front = np.zeros(d + 1, dtype=np.int64)
    back = np.zeros(d + 1, dtype=np.int64)
    offered = np.zeros(d + 1, dtype=np.int64)
    # Each end considers the starts of all its possible last runs, by number of changing attributes.
    for end in range(1, n + 1):
        _least_starts(changes, end - 1, last_change, least)
        best = np.int64(-1)
        for t in range(d + 1):
            # Starts from which exactly t attributes change; a run cannot start at 1 to k - 1.
            low = max(least[t + 1], end - 2 * k + 1)
            high = min(least[t] - 1, end - k)
            offered[t] = max(offered[t], low)
            if offered[t] == 0 and high >= 0:
                back[t] = _offer(state[t], front[t], back[t], cost, t, ZERO, ZERO)
            back[t] = _offer(state[t], front[t], back[t], cost, t, max(offered[t], k), high)
            offered[t] = max(offered[t], high + 1)
            # Starts below the range leave the queue: the range only moves forward.
            while front[t] < back[t] and state[t, front[t] % (k + 1)] < low:
                front[t] += 1
            # The head of the queue is the best start with t changing attributes.
            if front[t] < back[t]:
                start = state[t, front[t] % (k + 1)]
                worth = cost[start] + (end - start) * t
                if best < 0 or worth < best:
                    best = worth
                    start_of[end] = start
        cost[end] = best
    return _number_runs(start_of, groups), int(cost[n])


@kernel
def sweep_penalties(places: Codes, trees: Trees, k: int, groups: Codes) -> tuple[int, float]:
    """Cut rows into runs of k to 2k - 1 with the least penalty of lowest common ancestors of all such cuts.

    Dynamic programming over the last cut. The ancestor of a run is the highest ancestor of two neighbours, because
    paths of a tree that have met stay together. Linear in rows times attributes times k.

    Parameters
    ----------
    places : int32[n, d]
        Place of each row in each hierarchy.
    trees : Trees
    k : int
        Smallest run, 1 <= k <= n.
    groups : int32[n]
        Receives the run of each row.

    Returns
    -------
    count : int
        Number of runs.
    penalty : float
        Sum of the penalties of all cells.
    """
    n, d = places.shape
    # The level at which each row meets the row before it.
    meets = np.zeros((n, d), dtype=np.int32)
    for i in range(1, n):
        for a in range(d):
            meets[i, a] = meeting_level(trees, a, places[i - 1, a], places[i, a])
    cost = np.full(n + 1, np.inf)
    cost[0] = 0.0
    start_of = np.zeros(n + 1, dtype=np.int32)
    level = np.zeros(d, dtype=np.int64)
    # Extend the last run backwards from each end, and keep its levels up to date.
    for end in range(k, n + 1):
        level[:] = 0
        penalty = 0.0
        for start in range(end - 1, max(end - 2 * k, -1), -1):
            # The run is long enough: compare.
            if end - start >= k and cost[start] + (end - start) * penalty < cost[end]:
                cost[end] = cost[start] + (end - start) * penalty
                start_of[end] = start
            # Include the next row; the penalty changes only if a level rises.
            higher = False
            for a in range(d):
                if meets[start, a] > level[a]:
                    level[a] = meets[start, a]
                    higher = True
            if higher:
                penalty = 0.0
                for a in range(d):
                    penalty += trees.penalty[trees.begins[a] + level[a] * trees.sizes[a] + places[start, a]]
    return _number_runs(start_of, groups), float(cost[n])
