# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Recursive median cuts of rows in the space of their quasi-identifiers, without recursion.

A *record* is a row of an int32 matrix: `d` quasi-identifier codes, then the sensitive codes, then the row's number.
Records are rearranged in place, so that every part of a cut is a range of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal._core.compiling import allocating_step, inlined, kernel_step, linear_kernel
from shoal.algorithms.common.predicate_kernel import Predicate, acceptable
from shoal.algorithms.common.whole_kernel import ZERO

Codes = NDArray[np.int32]
Counts = NDArray[np.int64]


__all__ = [
    "LEAVES",
    "MEASURED",
    "OPEN",
    "ROWS_DONE",
    "STACK_DEPTH",
    "Domains",
    "Parts",
    "cut_records",
    "empty_sides",
    "find_cut",
    "find_extents",
    "goes_left",
    "interval_span",
    "part_range",
    "span_of",
]

STACK_DEPTH = 64
"""Largest number of waiting ranges: the smaller of two parts is cut first, so the logarithm of the rows is enough."""

OPEN, LEAVES, ROWS_DONE, MEASURED = range(4)
"""Indices of the state: waiting ranges, groups so far, rows in these groups, ranges measured so far."""

MOST_CUTS = 32
"""Largest number of places to try on one attribute, the nearest to the median first."""


class Domains(NamedTuple):
    """The values of all quasi-identifiers, one attribute after the other, and the widths of their domains."""

    positions: NDArray[np.float64]
    """Position of each value of each attribute, ascending; shape (sum of domain sizes,)."""
    offsets: Counts
    """Start of each attribute's values in `positions`, shape (d + 1,); d >= 1."""
    ranges: NDArray[np.float64]
    """Distance of positions that counts as the whole domain (more never counts); 0 for an attribute whose width is its
    number of values. Shape (d,)."""
    marks: Codes
    """Scratch: for each value the number of the range in which it was last seen; -1 at first."""


class Parts(NamedTuple):
    """The unfinished partition: ranges of records that wait for a cut, and finished groups."""

    stack: Counts
    """Start and end of each waiting range, shape (room, 2). At first the whole table."""
    state: Counts
    """Four numbers; see `OPEN`, `LEAVES`, `ROWS_DONE`, `MEASURED`."""
    groups: Codes
    """Receives the group of each row, by row number; shape (n,)."""


class Sides(NamedTuple):
    """Scratch: the sensitive codes on both sides of a cut."""

    counts: Counts
    """Rows of each side with each code, shape (2, codes); zeros between uses."""
    touched: Codes
    """The codes that occur on each side; the same shape."""


@allocating_step
def _median(records: Codes, start: int, end: int, a: int, low: int, high: int) -> int:
    """Compute the median code of attribute `a` in a range from its smallest and largest code, digit by digit."""
    # Radix selection with four bits a round: no copy, and few passes for small domains.
    digits = np.empty(16, dtype=np.int64)
    shift = 0
    while (high - low) >> shift > 15:
        shift += 4
    wanted = (end - start - 1) // 2
    prefix = 0
    # Count the records by their next digit among those that share the digits found so far.
    while shift >= 0:
        for digit in range(digits.size):
            digits[digit] = 0
        for i in range(start, end):
            offset = records[i, a] - low
            if offset >> (shift + 4) == prefix:
                digits[(offset >> shift) & 15] += 1
        # The digit whose bucket holds the record of the wanted rank.
        digit = 0
        while wanted >= digits[digit]:
            wanted -= digits[digit]
            digit += 1
        prefix = (prefix << 4) | digit
        shift -= 4
    return low + prefix


@kernel_step
def _scan_around(records: Codes, start: int, end: int, a: int, code: int) -> tuple[int, int, int, int]:
    """Find the next smaller and next larger code (or -1), and count the records below and at a code."""
    smaller = -1
    larger = -1
    below = 0
    equal = 0
    for i in range(start, end):
        c = records[i, a]
        if c < code:
            below += 1
            smaller = max(smaller, c)
        elif c == code:
            equal += 1
        elif larger < 0 or c < larger:
            larger = c
    return smaller, larger, below, equal


@inlined
def goes_left(c: int, code: int, seen: int, equal: int, left: int, spread: bool) -> bool:
    """Test whether a code is on the left side of a cut; of the `equal` records at the cut, `left` go left.

    They are the first ones, or evenly spread; `seen` of them came before this record.
    """
    # Only records at the cut need a tie rule.
    if c != code:
        return c < code
    if spread:
        return (seen + 1) * left // equal > seen * left // equal
    return seen < left


@allocating_step
def empty_sides(predicate: Predicate) -> Sides:
    """Allocate memory for the sensitive codes on both sides of a cut."""
    codes = predicate.starts[predicate.starts.size - 1]
    return Sides(np.zeros((2, codes), dtype=np.int64), np.empty((2, codes), dtype=np.int32))


@kernel_step
def _is_allowed(records, start, end, d, cut, sides, predicate):
    """Test whether both sides of a cut are acceptable: a cut is (attribute, code, equal, left of them, spread)."""
    counts, touched = sides
    starts, rules, bounds, _ = predicate
    a, code, equal, left = cut[0], cut[1], cut[2], cut[3]
    spread = cut[4] == 1
    left_rows, left_codes, right_codes = ZERO, ZERO, ZERO
    last = records.shape[1] - 1
    # One pass builds the histograms of both sides, and the lists of their codes.
    seen = ZERO
    for i in range(start, end):
        c = records[i, a]
        side = 0 if goes_left(c, code, seen, equal, left, spread) else 1
        seen += c == code
        left_rows += 1 - side
        for j in range(d, last):
            v = records[i, j]
            if counts[side, v] == 0 and side == 0:
                touched[0, left_codes] = v
                left_codes += 1
            elif counts[side, v] == 0:
                touched[1, right_codes] = v
                right_codes += 1
            counts[side, v] += 1
    # The right side is tested only if the left side is acceptable.
    both = acceptable(left_rows, touched[0], left_codes, counts[0], starts, rules, bounds)
    if both:
        right_rows = end - start - left_rows
        both = acceptable(right_rows, touched[1], right_codes, counts[1], starts, rules, bounds)
    # Zero the histograms through the lists: the domain may be much larger than the range.
    for i in range(left_codes):
        counts[0, touched[0, i]] = 0
    for i in range(right_codes):
        counts[1, touched[1, i]] = 0
    return bool(both)


@kernel_step
def find_cut(records, start, end, d, low, high, relaxed, cut, sides, predicate):
    """Find an allowed cut on the attribute `cut[0]`, the nearest to the median first; fill in the rest of `cut`."""
    a = cut[0]
    size = end - start
    # The paper's cut: at the median.
    median = _median(records, start, end, a, low, high)
    down, _, below, equal = _scan_around(records, start, end, a, median)
    # Relaxed: divide the records at the median in halves, the first ones or evenly spread ones to the left.
    if relaxed:
        for spread in range(2):
            cut[1], cut[2], cut[3], cut[4] = median, equal, size // 2 - below, spread
            if _is_allowed(records, start, end, d, cut, sides, predicate):
                return True
    # Strict cuts lie between values: all records at `down` and below go left, or all at `median` and below.
    lower, upper = down, median
    lower_size, upper_size = below, below + equal
    # Walk outwards from the median on both sides; a side ends if its smaller part is too small.
    for _ in range(MOST_CUTS):
        lower_fits = lower_size >= predicate.smallest
        upper_fits = size - upper_size >= predicate.smallest
        if not lower_fits and not upper_fits:
            return False
        # Take the more balanced of the two candidates.
        goes_lower = lower_fits and (not upper_fits or lower_size >= size - upper_size)
        code = lower if goes_lower else upper
        before, after, below, equal = _scan_around(records, start, end, a, code)
        cut[1], cut[2], cut[3], cut[4] = code, equal, equal, 0
        if _is_allowed(records, start, end, d, cut, sides, predicate):
            return True
        # Move that side one value further out.
        if goes_lower:
            lower, lower_size = before, below
        else:
            _, _, below, equal = _scan_around(records, start, end, a, after)
            upper, upper_size = after, below + equal
    return False


@kernel_step
def part_range(records: Codes, spare: Codes, start: int, end: int, cut: Counts) -> int:
    """Move the left side of a cut to the front of a range, each side in its order; return where the left side ends."""
    a, code, equal, left = cut[0], cut[1], cut[2], cut[3]
    spread = cut[4] == 1
    width = records.shape[1]
    seen = ZERO
    middle = start
    aside = 0
    # The left side moves forward in place, the right side waits in `spare`.
    for i in range(start, end):
        c = records[i, a]
        on_left = goes_left(c, code, seen, equal, left, spread)
        seen += c == code
        for j in range(width):
            if on_left:
                records[middle, j] = records[i, j]
            else:
                spare[aside, j] = records[i, j]
        if on_left:
            middle += 1
        else:
            aside += 1
    # The right side follows the left.
    for i in range(aside):
        for j in range(width):
            records[middle + i, j] = spare[i, j]
    return middle


@inlined
def _count_distinct(records: Codes, start: int, end: int, a: int, offset: int, mark: int, marks: Codes) -> int:
    """Count the distinct codes of an attribute in a range; `mark` must be new."""
    # A mark per value avoids clearing the marks between ranges.
    found = 0
    for i in range(start, end):
        place = offset + records[i, a]
        found += marks[place] != mark
        marks[place] = mark
    return found


@inlined
def find_extents(records: Codes, start: int, end: int, extents: Codes) -> None:
    """Find the smallest and the largest code of each attribute in a range."""
    d = extents.shape[0]
    for a in range(d):
        extents[a, 0] = records[start, a]
        extents[a, 1] = records[start, a]
    # Row by row, because records of a range are contiguous.
    for i in range(start + 1, end):
        for a in range(d):
            extents[a, 0] = min(extents[a, 0], records[i, a])
            extents[a, 1] = max(extents[a, 1], records[i, a])


@inlined
def interval_span(a: int, low: int, high: int, domains: Domains) -> float:
    """Compute the normalised span between two codes of an attribute that is measured by its positions."""
    if low == high:
        return 0.0
    first = domains.offsets[a]
    apart = domains.positions[first + high] - domains.positions[first + low]
    return float(min(apart / domains.ranges[a], 1.0))


@inlined
def span_of(records: Codes, start: int, end: int, a: int, low: int, high: int, domains: Domains, mark: int) -> float:
    """Compute the normalised span of an attribute in a range from its smallest and largest code there."""
    if low == high or domains.ranges[a] > 0:
        return float(interval_span(a, low, high, domains))
    # Unordered: the number of distinct values other than the first, over the domain's.
    first = domains.offsets[a]
    # A set of all values has the width 1, a single value the width 0.
    values = domains.offsets[a + 1] - first
    return float((_count_distinct(records, start, end, a, first, mark, domains.marks) - 1) / (values - 1))


@allocating_step
def _measure_attributes(
    records: Codes, start: int, end: int, domains: Domains, mark: int, extents: Codes, widest: Counts
) -> None:
    """Find the smallest and largest code of each attribute, and sort the attributes by their normalised span."""
    find_extents(records, start, end, extents)
    spans = np.empty(widest.size, dtype=np.float64)
    for a in range(widest.size):
        low, high = extents[a, 0], extents[a, 1]
        span = span_of(records, start, end, a, low, high, domains, mark)
        # Insertion sort, stable: ties keep the order of the attributes.
        at = a
        while at > 0 and spans[at - 1] < span:
            spans[at] = spans[at - 1]
            widest[at] = widest[at - 1]
            at -= 1
        spans[at] = span
        widest[at] = a


@inlined
def _push_parts(stack: Counts, state: Counts, start: int, middle: int, end: int) -> None:
    """Push both parts of a range, the smaller on top."""
    # The top of the stack is cut first: this bounds the depth.
    left = state[OPEN] if middle - start > end - middle else state[OPEN] + 1
    right = 2 * state[OPEN] + 1 - left
    stack[left, 0], stack[left, 1] = start, middle
    stack[right, 0], stack[right, 1] = middle, end
    state[OPEN] += 2


@linear_kernel
def cut_records(
    records: Codes, spare: Codes, domains: Domains, predicate: Predicate, relaxed: bool, parts: Parts, budget: int
) -> None:
    """Cut ranges of records at medians, as long as both sides are acceptable and the budget lasts.

    Call it until no range is waiting (`state[OPEN] == 0`).

    Parameters
    ----------
    records : int32[n, d + q + 1]
        See the module. Rearranged.
    spare : int32[n, d + q + 1]
        Scratch.
    domains : Domains
        The values of the quasi-identifiers.
    predicate : Predicate
        Requirement for a group.
    relaxed : bool
        Whether records with the same value may go to either side of a cut.
    parts : Parts
        Waiting ranges, with room for `STACK_DEPTH` of them, and finished groups; changed.
    budget : int
        Number of records to scan, roughly, before the call returns.
    """
    stack, state = parts.stack, parts.state
    d = domains.ranges.size
    last = records.shape[1] - 1
    sides = empty_sides(predicate)
    extents = np.empty((d, 2), dtype=np.int32)
    widest = np.empty(d, dtype=np.int64)
    cut = np.zeros(5, dtype=np.int64)
    # Pop a range; the loop is the recursion of the paper.
    while state[OPEN] > 0 and budget > 0:
        state[OPEN] -= 1
        start, end = stack[state[OPEN], 0], stack[state[OPEN], 1]
        found = False
        # A range below twice the smallest group cannot be cut.
        if end - start >= 2 * predicate.smallest:
            _measure_attributes(records, start, end, domains, state[MEASURED], extents, widest)
            state[MEASURED] += 1
            budget -= end - start
            # The widest attribute first; the others follow if it has no allowed cut.
            for choice in range(d):
                a = widest[choice]
                low, high = extents[a, 0], extents[a, 1]
                # Identical records can only be cut by the relaxed form, and then on any attribute.
                if low < high or (relaxed and choice == 0):
                    cut[0] = a
                    budget -= end - start
                    found = find_cut(records, start, end, d, low, high, relaxed, cut, sides, predicate)
                    if found:
                        break
        if found:
            _push_parts(stack, state, start, part_range(records, spare, start, end, cut), end)
        else:
            # No cut is allowed: the range is a group.
            for i in range(start, end):
                parts.groups[records[i, last]] = state[LEAVES]
            state[LEAVES] += 1
            state[ROWS_DONE] += end - start
