# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Recursive cuts of rows with hierarchies on some attributes: a cut divides the subtrees of a hierarchy.

Records are those of `cuts_kernel`, but the codes of an attribute with a hierarchy are places in a depth-first walk
through it: the values below a node are neighbours.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal._core.compiling import allocating_step, inlined, kernel, kernel_step
from shoal.algorithms.common.histogram_kernel import clear
from shoal.algorithms.common.predicate_kernel import acceptable
from shoal.algorithms.common.trees_kernel import Trees, meeting_level, node_penalty
from shoal.algorithms.common.whole_kernel import TWO, ZERO
from shoal.algorithms.mondrian.cuts_kernel import (
    LEAVES,
    MEASURED,
    OPEN,
    ROWS_DONE,
    Domains,
    Parts,
    empty_sides,
    find_cut,
    find_extents,
    goes_left,
    interval_span,
    part_range,
    span_of,
)

Codes = NDArray[np.int32]
Counts = NDArray[np.int64]


__all__ = ["SCRATCH", "cut_along_trees"]

REST = 0
"""The side of a cut for the children that are not acceptable alone."""

CHILD, BEST, SEQUENCE, SIZE, SIDE, LOW, HIGH, SLOT, MARK, SCRATCH = range(10)
"""Rows of the scratch: for each record its child or side, its side in the best cut so far, and the records in this
order; for each child or side its number of records; for each child its side; for each side its smallest and largest
place; for each node of the whole attribute the number of the child, and the mark of its last use. The last number is
that of the rows."""

TIE = 1e-9
"""Share by which an attribute must save more to be better than another: the last bits of a float decide nothing."""


class Measured(NamedTuple):
    """Scratch: extents and widths of the attributes in a range of records."""

    extents: Codes
    """Smallest and largest code, shape (d, 2)."""
    widths: NDArray[np.float64]
    """Loss of a cell if the range is not cut any further, from 0 to 1; shape (d,)."""


@inlined
def _number_children(
    records: Codes, start: int, end: int, a: int, first: int, nodes: Codes, mark: int, scratch: Codes
) -> int:
    """Assign numbers to the children that occur in a range, and count their records; return the number of children."""
    children = 0
    for i in range(start, end):
        # A node gets its number at its first record; the mark avoids clearing between ranges.
        node = nodes[first + records[i, a]]
        if scratch[MARK, node] != mark:
            scratch[MARK, node] = mark
            scratch[SLOT, node] = children
            scratch[SIZE, children] = 0
            children += 1
        child = scratch[SLOT, node]
        scratch[CHILD, i - start] = child
        scratch[SIZE, child] += 1
    return children


@allocating_step
def _sort_by(numbers: Codes, sizes: Codes, count: int, sequence: Codes, length: int) -> None:
    """Sort 0 to `length - 1` by their numbers below `count`, of which there are `sizes`; stable."""
    # Counting sort: the start of each number, then one pass.
    at = np.empty(count, dtype=np.int64)
    begin = 0
    for number in range(count):
        at[number] = begin
        begin += sizes[number]
    for i in range(length):
        sequence[at[numbers[i]]] = i
        at[numbers[i]] += 1


@inlined
def _count_child(records, start, d, sequence, begin, end, touched, distinct, counts):
    """Add the records of a child to a histogram of sensitive values; return the number of distinct values."""
    last = records.shape[1] - 1
    for i in range(begin, end):
        for j in range(d, last):
            # List a code at its first record, so that the histogram can be cleared fast.
            v = records[start + sequence[i], j]
            if counts[v] == 0:
                touched[distinct] = v
                distinct += 1
            counts[v] += 1
    return distinct


@inlined
def _order_by_size(sizes: Codes, children: int, order: Codes, buckets: Codes) -> None:
    """Sort the children by their number of records, fewest first; no child has all records of the table."""
    largest = 0
    for child in range(children):
        largest = max(largest, sizes[child])
    # Counting sort by size; `buckets` is as long as the largest child.
    for size in range(largest + 1):
        buckets[size] = 0
    for child in range(children):
        buckets[sizes[child]] += 1
    _sort_by(sizes, buckets, largest + 1, order, children)


@inlined
def _mark_alone(records, start, d, children, begins, scratch, sides, predicate):
    """Find the children that are acceptable alone; all others get the side `REST`."""
    counts, touched = sides.counts[0], sides.touched[0]
    starts, rules, bounds, _ = predicate
    # Each child has a histogram of its own; small children are skipped.
    for child in range(children):
        scratch[SIDE, child] = REST
        # Smaller children cannot be acceptable; this saves their histograms.
        size = np.int64(scratch[SIZE, child])
        if size >= predicate.smallest:
            distinct = _count_child(
                records, start, d, scratch[SEQUENCE], begins[child], begins[child + 1], touched, ZERO, counts
            )
            if acceptable(size, touched, distinct, counts, starts, rules, bounds):
                scratch[SIDE, child] = REST + 1
            clear(touched, distinct, counts)


@kernel_step
def _fill_rest(records, start, d, children, begins, scratch, sides, predicate):
    """Move children to the rest, the smallest first, until it is acceptable; return its number of records."""
    counts, touched = sides.counts[0], sides.touched[0]
    starts, rules, bounds, _ = predicate
    rest = ZERO
    distinct = ZERO
    # Two passes over the children in one loop, so that the histogram is kept between them.
    for turn in range(2 * children):
        # The first pass counts the children in the rest; the second adds other children one by one.
        child = turn if turn < children else scratch[LOW, turn - children]
        if (scratch[SIDE, child] == REST) != (turn < children):
            continue
        # Stop as soon as the rest is empty or acceptable: every child that stays alone saves more.
        if turn >= children:
            if rest == 0:
                break
            if acceptable(rest, touched, distinct, counts, starts, rules, bounds):
                break
            scratch[SIDE, child] = REST
        rest += scratch[SIZE, child]
        distinct = _count_child(
            records, start, d, scratch[SEQUENCE], begins[child], begins[child + 1], touched, distinct, counts
        )
    clear(touched, distinct, counts)
    return int(rest)


@allocating_step
def _sides_along_tree(records, start, end, d, a, level, trees, mark, scratch, sides, predicate):
    """Divide a range by the nodes of a level: a side for each child that is acceptable alone, one for the rest.

    If the rest is not acceptable, the smallest of the other children join it until it is. Leaves the side of each
    record in `scratch[CHILD]`, and returns the number of sides.
    """
    # Sort the records by child, and the children by size.
    first = trees.begins[a] + level * trees.sizes[a]
    children = _number_children(records, start, end, a, first, trees.nodes, mark, scratch)
    _sort_by(scratch[CHILD], scratch[SIZE], children, scratch[SEQUENCE], end - start)
    _order_by_size(scratch[SIZE], children, scratch[LOW], scratch[HIGH])
    # Start of each child in the sorted sequence.
    begins = np.empty(children + 1, dtype=np.int64)
    begins[0] = 0
    for child in range(children):
        begins[child + 1] = begins[child] + scratch[SIZE, child]
    # Children that are acceptable alone, then the rest.
    _mark_alone(records, start, d, children, begins, scratch, sides, predicate)
    rest = _fill_rest(records, start, d, children, begins, scratch, sides, predicate)
    # Number the sides: the rest is side 0 if it has records.
    parts = 1 if rest > 0 else 0
    for child in range(children):
        if scratch[SIDE, child] != REST:
            scratch[SIDE, child] = parts
            parts += 1
    # From the child of each record to its side.
    for i in range(end - start):
        scratch[CHILD, i] = scratch[SIDE, scratch[CHILD, i]]
    return parts


@inlined
def _worth_per_bit(saved: float, size: int, sizes: Codes, sides: int) -> float:
    """Compute the saving of a cut for each bit of the split: large parts and even cuts of them are worth more."""
    # The entropy of the split, times its size.
    bits = 0.0
    for side in range(sides):
        bits -= sizes[side] * math.log2(sizes[side] / size)
    return saved / bits


@kernel_step
def _worth_along_tree(
    records: Codes, start: int, end: int, a: int, sides: int, trees: Trees, width: float, scratch: Codes
) -> float:
    """Compute the worth of dividing a range into the sides in `scratch[CHILD]`; 0 for a single side."""
    if sides < 2:
        return 0.0
    # Size and extent of each side.
    for side in range(sides):
        scratch[SIZE, side] = 0
    for i in range(end - start):
        side, place = scratch[CHILD, i], records[start + i, a]
        if scratch[SIZE, side] == 0:
            scratch[LOW, side] = scratch[HIGH, side] = place
        scratch[LOW, side] = min(scratch[LOW, side], place)
        scratch[HIGH, side] = max(scratch[HIGH, side], place)
        scratch[SIZE, side] += 1
    # The saving: the loss before the cut less the losses of the sides.
    saved = (end - start) * width
    for side in range(sides):
        saved -= scratch[SIZE, side] * node_penalty(trees, a, scratch[LOW, side], scratch[HIGH, side])
    return float(_worth_per_bit(saved, end - start, scratch[SIZE], sides))


@kernel_step
def _worth_of_cut(
    records: Codes, start: int, end: int, cut: Counts, domains: Domains, width: float, mark: int, scratch: Codes
) -> float:
    """Compute the worth of a cut between values of an attribute without a hierarchy; `mark` and the next are free."""
    a, code, equal, left = cut[0], cut[1], cut[2], cut[3]
    offsets, marks = domains.offsets, domains.marks
    saved = (end - start) * width
    # Two passes, one for each side, so that one set of marks is enough.
    for side in range(2):
        size, low, high, different, seen = 0, -1, -1, 0, 0
        for i in range(start, end):
            c = records[i, a]
            on_left = goes_left(c, code, seen, equal, left, cut[4] == 1)
            seen += c == code
            if on_left == (side == 0):
                size += 1
                low = c if low < 0 else min(low, c)
                high = max(high, c)
                different += marks[offsets[a] + c] != mark + side
                marks[offsets[a] + c] = mark + side
        # The loss of a side is that of an interval, or of a set of values.
        if domains.ranges[a] > 0:
            saved -= size * interval_span(a, low, high, domains)
        else:
            saved -= size * (different - 1) / (offsets[a + 1] - offsets[a] - 1)
        scratch[SIZE, side] = size
    return float(_worth_per_bit(saved, end - start, scratch[SIZE], TWO))


@kernel_step
def _divide_range(records: Codes, spare: Codes, start: int, end: int, sides: int, scratch: Codes, parts: Parts) -> None:
    """Sort a range by side, each side in its order, and push the sides; `scratch[BEST]` has the side of each record."""
    stack, state = parts.stack, parts.state
    length = end - start
    # Count the records of each side, then sort stably through the spare copy.
    for side in range(sides):
        scratch[SIZE, side] = 0
    for i in range(length):
        scratch[SIZE, scratch[BEST, i]] += 1
    _sort_by(scratch[BEST], scratch[SIZE], sides, scratch[SEQUENCE], length)
    for i in range(length):
        for j in range(records.shape[1]):
            spare[i, j] = records[start + scratch[SEQUENCE, i], j]
    for i in range(length):
        for j in range(records.shape[1]):
            records[start + i, j] = spare[i, j]
    # Every side waits as a range of its own.
    begin = start
    for side in range(sides):
        stack[state[OPEN], 0], stack[state[OPEN], 1] = begin, begin + scratch[SIZE, side]
        state[OPEN] += 1
        begin += scratch[SIZE, side]


@inlined
def _measure_attributes(
    records: Codes, start: int, end: int, domains: Domains, trees: Trees, mark: int, measured: Measured
) -> None:
    """Find the extent of each attribute in a range, and the loss of a cell there."""
    extents, widths = measured.extents, measured.widths
    find_extents(records, start, end, extents)
    for a in range(widths.size):
        low, high = extents[a, 0], extents[a, 1]
        if trees.heights[a] > 0:
            widths[a] = node_penalty(trees, a, low, high)
        else:
            widths[a] = span_of(records, start, end, a, low, high, domains, mark)


@inlined
def _order_by_width(widths: NDArray[np.float64], order: Counts) -> None:
    """Sort the attributes by width, widest first."""
    for a in range(widths.size):
        at = a
        while at > 0 and widths[order[at - 1]] < widths[a]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = a


@allocating_step
def _choose_cut(records, start, end, domains, trees, relaxed, measured, cut, scratch, sides, predicate, state):
    """Find the cut of most worth among one for each attribute; return its number of sides, or 0 if none is allowed.

    `cut` receives it; a cut in a hierarchy has the size 0, and `scratch[BEST]` has the sides. If no subtrees can be
    separated, a cut between any two places of a hierarchy, or of identical records, costs nothing.
    """
    extents, widths = measured.extents, measured.widths
    d = widths.size
    order = np.empty(d, dtype=np.int64)
    _order_by_width(widths, order)
    found = np.zeros(5, dtype=np.int64)
    best = 0.0
    most = 0
    # First pass: subtrees and intervals. Second pass, only if there was no cut: between any places of a hierarchy.
    for turn in range(2 * d):
        anywhere = turn >= d
        if anywhere and most > 0:
            break
        a = order[turn % d]
        low, high = extents[a, 0], extents[a, 1]
        on_tree = trees.heights[a] > 0
        found[0], found[2] = a, 0
        parts = ZERO
        worth = 0.0
        # Fresh marks for both sides of a cut.
        state[MEASURED] += 2
        # Divide the children of the lowest common ancestor.
        if on_tree and low < high and not anywhere:
            level = meeting_level(trees, a, low, high) - 1
            parts = _sides_along_tree(
                records, start, end, d, a, level, trees, state[MEASURED], scratch, sides, predicate
            )
            worth = _worth_along_tree(records, start, end, a, parts, trees, widths[a], scratch)
        # An attribute without a hierarchy, or the second pass: cuts as in `cuts_kernel`.
        elif (low < high and on_tree == anywhere) or (relaxed and turn == d):
            parts = 2 if find_cut(records, start, end, d, low, high, relaxed, found, sides, predicate) else 0
            if parts == 2 and not anywhere:
                worth = _worth_of_cut(records, start, end, found, domains, widths[a], state[MEASURED] - 1, scratch)
        # A later attribute must be clearly better: ties go to the wider one.
        if parts >= 2 and (most == 0 or worth > best * (1 + TIE)):
            best = worth
            most = parts
            for part in range(found.size):
                cut[part] = found[part]
            for i in range(end - start if found[2] == 0 else 0):
                scratch[BEST, i] = scratch[CHILD, i]
    return most


@kernel
def cut_along_trees(records, spare, domains, trees, scratch, predicate, relaxed, parts, budget):
    """Cut ranges of records with the largest saving per bit, if all sides are acceptable, until the budget is spent.

    An attribute with a hierarchy is divided by the children of its values' lowest common ancestor; other attributes,
    and ranges that no such cut divides, as in `shoal.algorithms.mondrian.cuts_kernel.cut_records`. Call it until no
    range is waiting (`state[OPEN] == 0`).

    Parameters
    ----------
    records, spare, domains, predicate, relaxed, budget
        See `shoal.algorithms.mondrian.cuts_kernel.cut_records`. Codes of an attribute with a hierarchy are places.
    trees : Trees
        The hierarchies.
    scratch : int32[SCRATCH, m]
        Scratch; -1 at first. m is at least n, and at least the number of places of each attribute.
    parts : Parts
        Waiting ranges, with room for `n // predicate.smallest + 2` of them, and finished groups; changed.
    """
    stack, state = parts.stack, parts.state
    d = domains.ranges.size
    last = records.shape[1] - 1
    sides = empty_sides(predicate)
    measured = Measured(np.empty((d, 2), dtype=np.int32), np.empty(d, dtype=np.float64))
    cut = np.zeros(5, dtype=np.int64)
    # Pop a range.
    while state[OPEN] > 0 and budget > 0:
        state[OPEN] -= 1
        start, end = stack[state[OPEN], 0], stack[state[OPEN], 1]
        count = ZERO
        if end - start >= 2 * predicate.smallest:
            # Every attribute is measured and tried: the worths are compared.
            budget -= (end - start) * d
            state[MEASURED] += 1
            _measure_attributes(records, start, end, domains, trees, state[MEASURED], measured)
            count = _choose_cut(
                records, start, end, domains, trees, relaxed, measured, cut, scratch, sides, predicate, state
            )
        # Size 0 marks a cut in a hierarchy, with two or more sides.
        if count > 0 and cut[2] == 0:
            _divide_range(records, spare, start, end, count, scratch, parts)
        # A cut between values: two sides.
        elif count > 0:
            middle = part_range(records, spare, start, end, cut)
            stack[state[OPEN], 0], stack[state[OPEN], 1] = start, middle
            stack[state[OPEN] + 1, 0], stack[state[OPEN] + 1, 1] = middle, end
            state[OPEN] += 2
        else:
            # No cut is allowed: the range is a group.
            for i in range(start, end):
                parts.groups[records[i, last]] = state[LEAVES]
            state[LEAVES] += 1
            state[ROWS_DONE] += end - start
