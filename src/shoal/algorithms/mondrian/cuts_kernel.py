# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Recursive median cuts of rows in the space of their quasi-identifiers, without recursion.

A *record* is a row of an int32 matrix: `d` quasi-identifier codes, then the sensitive codes, then the row's number.
Records are rearranged in place, so that every part of a cut is a range of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal._compiling import inlined, kernel, kernel_step
from shoal.algorithms.common.predicate_kernel import Asked, acceptable
from shoal.algorithms.common.whole_kernel import ZERO

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
    "Sides",
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
"""Ranges that can wait at once: of two parts the smaller goes first, so that the logarithm of the rows is enough."""

OPEN, LEAVES, ROWS_DONE, MEASURED = range(4)
"""Places in the state: ranges that wait, groups so far, rows in these groups, ranges that were measured."""

MOST_CUTS = 32
"""Places that are tried on one attribute, the nearest to the median first."""


class Domains(NamedTuple):
    """The values of all quasi-identifiers, one attribute after the other, and what is wide among them."""

    positions: NDArray[np.float64]
    """Where each value of each attribute lies, ascending; shape (sum of domain sizes,)."""
    offsets: Counts
    """Where each attribute's values start in `positions`, shape (d + 1,); d >= 1."""
    ranges: NDArray[np.float64]
    """How far apart positions of an attribute are that count as the whole domain, and more never counts; 0 for an
    attribute that is as wide as its values are many. Shape (d,)."""
    marks: Codes
    """Scratch: for each value the number of the range in which it was seen last; -1 at first."""


class Parts(NamedTuple):
    """The partition in the making: ranges of records that wait for a cut, and groups that are done."""

    stack: Counts
    """Start and end of each range that waits, shape (room, 2). At first the whole."""
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


@kernel_step
def _median(records: Codes, start: int, end: int, a: int, low: int, high: int) -> int:
    """Return the code of attribute `a` in the middle of a range, given its smallest and largest; digit by digit."""
    digits = np.empty(16, dtype=np.int64)
    shift = 0
    while (high - low) >> shift > 15:
        shift += 4
    wanted = (end - start - 1) // 2
    prefix = 0
    while shift >= 0:
        for digit in range(digits.size):
            digits[digit] = 0
        for i in range(start, end):
            offset = records[i, a] - low
            if offset >> (shift + 4) == prefix:
                digits[(offset >> shift) & 15] += 1
        digit = 0
        while wanted >= digits[digit]:
            wanted -= digits[digit]
            digit += 1
        prefix = (prefix << 4) | digit
        shift -= 4
    return low + prefix


@kernel_step
def _around(records: Codes, start: int, end: int, a: int, code: int) -> tuple[int, int, int, int]:
    """Return the next smaller code (or -1), the next larger (or -1), and how many records are below and at a code."""
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
    """Return on which side of a cut a code lies; of the `equal` records at the cut, `left` go left.

    They are the first ones, or evenly spread ones; `seen` of them came before this one.
    """
    if c != code:
        return c < code
    if spread:
        return (seen + 1) * left // equal > seen * left // equal
    return seen < left


@inlined
def empty_sides(asked: Asked) -> Sides:
    """Return memory for the sensitive codes on both sides of a cut."""
    codes = asked.starts[asked.starts.size - 1]
    return Sides(np.zeros((2, codes), dtype=np.int64), np.empty((2, codes), dtype=np.int32))


@kernel_step
def _allowed(
    records: Codes,
    start: int,
    end: int,
    d: int,
    cut: Counts,
    sides: Sides,
    asked: Asked,
) -> bool:
    """Return whether both sides of a cut are acceptable: a cut is (attribute, code, equal, left of them, spread)."""
    counts, touched = sides
    starts, rules, bounds, _ = asked
    a, code, equal, left = cut[0], cut[1], cut[2], cut[3]
    spread = cut[4] == 1
    left_rows, left_codes, right_codes = ZERO, ZERO, ZERO
    last = records.shape[1] - 1
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
    both = acceptable(left_rows, touched[0], left_codes, counts[0], starts, rules, bounds)
    if both:
        right_rows = end - start - left_rows
        both = acceptable(right_rows, touched[1], right_codes, counts[1], starts, rules, bounds)
    for i in range(left_codes):
        counts[0, touched[0, i]] = 0
    for i in range(right_codes):
        counts[1, touched[1, i]] = 0
    return bool(both)


@kernel_step
def find_cut(
    records: Codes,
    start: int,
    end: int,
    d: int,
    low: int,
    high: int,
    relaxed: bool,
    cut: Counts,
    sides: Sides,
    asked: Asked,
) -> bool:
    """Find an allowed cut on the attribute `cut[0]`, the nearest to the median first; fill in the rest of `cut`."""
    a = cut[0]
    size = end - start
    median = _median(records, start, end, a, low, high)
    down, _, below, equal = _around(records, start, end, a, median)
    if relaxed:
        for spread in range(2):
            cut[1], cut[2], cut[3], cut[4] = median, equal, size // 2 - below, spread
            if _allowed(records, start, end, d, cut, sides, asked):
                return True
    # Cuts between values: all records at `down` and below go left, or all at `median` and below.
    lower, upper = down, median
    lower_size, upper_size = below, below + equal
    for _ in range(MOST_CUTS):
        lower_fits = lower_size >= asked.smallest
        upper_fits = size - upper_size >= asked.smallest
        if not lower_fits and not upper_fits:
            return False
        goes_lower = lower_fits and (not upper_fits or lower_size >= size - upper_size)
        code = lower if goes_lower else upper
        before, after, below, equal = _around(records, start, end, a, code)
        cut[1], cut[2], cut[3], cut[4] = code, equal, equal, 0
        if _allowed(records, start, end, d, cut, sides, asked):
            return True
        if goes_lower:
            lower, lower_size = before, below
        else:
            _, _, below, equal = _around(records, start, end, a, after)
            upper, upper_size = after, below + equal
    return False


@kernel_step
def part_range(records: Codes, spare: Codes, start: int, end: int, cut: Counts) -> int:
    """Rearrange a range so that the left side of a cut comes first, each side in its order; return where it ends."""
    a, code, equal, left = cut[0], cut[1], cut[2], cut[3]
    spread = cut[4] == 1
    width = records.shape[1]
    seen = ZERO
    middle = start
    aside = 0
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
    for i in range(aside):
        for j in range(width):
            records[middle + i, j] = spare[i, j]
    return middle


@inlined
def _different(records: Codes, start: int, end: int, a: int, offset: int, mark: int, marks: Codes) -> int:
    """Count the different codes of an attribute in a range; `mark` was in no range before."""
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
    for i in range(start + 1, end):
        for a in range(d):
            extents[a, 0] = min(extents[a, 0], records[i, a])
            extents[a, 1] = max(extents[a, 1], records[i, a])


@inlined
def interval_span(a: int, low: int, high: int, domains: Domains) -> float:
    """Return the normalised span between two codes of an attribute that is measured by its positions."""
    if low == high:
        return 0.0
    first = domains.offsets[a]
    apart = domains.positions[first + high] - domains.positions[first + low]
    return float(min(apart / domains.ranges[a], 1.0))


@inlined
def span_of(records: Codes, start: int, end: int, a: int, low: int, high: int, domains: Domains, mark: int) -> float:
    """Return the normalised span of an attribute in a range, given its smallest and its largest code there."""
    if low == high or domains.ranges[a] > 0:
        return float(interval_span(a, low, high, domains))
    first = domains.offsets[a]
    values = domains.offsets[a + 1] - first
    return float((_different(records, start, end, a, first, mark, domains.marks) - 1) / (values - 1))


@inlined
def _measure(records: Codes, start: int, end: int, domains: Domains, mark: int, extents: Codes, widest: Counts) -> None:
    """Find the smallest and largest code of each attribute, and sort the attributes by their normalised span."""
    find_extents(records, start, end, extents)
    spans = np.empty(widest.size, dtype=np.float64)
    for a in range(widest.size):
        low, high = extents[a, 0], extents[a, 1]
        span = span_of(records, start, end, a, low, high, domains, mark)
        at = a
        while at > 0 and spans[at - 1] < span:
            spans[at] = spans[at - 1]
            widest[at] = widest[at - 1]
            at -= 1
        spans[at] = span
        widest[at] = a


@inlined
def _wait(stack: Counts, state: Counts, start: int, middle: int, end: int) -> None:
    """Let both parts of a range wait, the smaller on top."""
    left = state[OPEN] if middle - start > end - middle else state[OPEN] + 1
    right = 2 * state[OPEN] + 1 - left
    stack[left, 0], stack[left, 1] = start, middle
    stack[right, 0], stack[right, 1] = middle, end
    state[OPEN] += 2


@kernel
def cut_records(
    records: Codes, spare: Codes, domains: Domains, asked: Asked, relaxed: bool, parts: Parts, budget: int
) -> None:
    """Cut ranges of records at medians, as long as both sides are acceptable and the budget lasts.

    Call it until no range waits (`state[OPEN] == 0`).

    Parameters
    ----------
    records : int32[n, d + q + 1]
        See the module. Rearranged.
    spare : int32[n, d + q + 1]
        Scratch.
    domains : Domains
        The values of the quasi-identifiers.
    asked : Asked
        What a group has to satisfy.
    relaxed : bool
        Whether records with the same value may go to either side of a cut.
    parts : Parts
        What waits, with room for `STACK_DEPTH` ranges, and what is done; changed.
    budget : int
        About how many records may be looked at before it returns.
    """
    stack, state = parts.stack, parts.state
    d = domains.ranges.size
    last = records.shape[1] - 1
    sides = empty_sides(asked)
    extents = np.empty((d, 2), dtype=np.int32)
    widest = np.empty(d, dtype=np.int64)
    cut = np.zeros(5, dtype=np.int64)
    while state[OPEN] > 0 and budget > 0:
        state[OPEN] -= 1
        start, end = stack[state[OPEN], 0], stack[state[OPEN], 1]
        found = False
        if end - start >= 2 * asked.smallest:
            _measure(records, start, end, domains, state[MEASURED], extents, widest)
            state[MEASURED] += 1
            budget -= end - start
            for choice in range(d):
                a = widest[choice]
                low, high = extents[a, 0], extents[a, 1]
                # Records that are all alike are cut by the relaxed form only, and on one attribute as well as another.
                if low < high or (relaxed and choice == 0):
                    cut[0] = a
                    budget -= end - start
                    found = find_cut(records, start, end, d, low, high, relaxed, cut, sides, asked)
                    if found:
                        break
        if found:
            _wait(stack, state, start, part_range(records, spare, start, end, cut), end)
        else:
            for i in range(start, end):
                parts.groups[records[i, last]] = state[LEAVES]
            state[LEAVES] += 1
            state[ROWS_DONE] += end - start
