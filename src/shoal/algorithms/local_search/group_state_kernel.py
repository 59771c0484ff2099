# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""The state of a search that moves rows between groups, and what a move would change.

What an attribute loses in a group is the length of its interval or the penalty of its lowest common ancestor, which
both follow from its extent, or made of the counts c(v) of its values: a set loses `scale * (sum of c(v)^p - |G|^p)`,
which for p = 0 is `scale * (values - 1)`, and a star `(1 - sum of (c(v) / |G|)^2)^p`, which for p = 0 is 1 unless the
group has one value only. A larger p smooths the loss: a value that few rows have costs less than one that many have,
which leads the search to groups that are nearly pure, and then pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal._compiling import inlined, kernel, kernel_step
from shoal.algorithms.common.predicate_kernel import acceptable
from shoal.algorithms.common.whole_kernel import MINUS_ONE, NO, ZERO
from shoal.algorithms.local_search.histogram_kernel import clear, count_row
from shoal.algorithms.local_search.losses_kernel import FIRST, LAST, MISSING, MODE, SET, STAR, span

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes = NDArray[np.int32]
    Counts = NDArray[np.int64]
    Floats = NDArray[np.float64]

__all__ = [
    "BEGIN",
    "GROUP",
    "LOSS",
    "NOBODY",
    "ROOM",
    "SIZE",
    "SLOT",
    "Asked",
    "State",
    "change_of",
    "lay_out",
    "measure",
    "put",
    "settle",
    "still_holds",
]

NOBODY = MINUS_ONE
"""In place of a row that leaves or joins."""

BEGIN, SIZE, ROOM = range(3)
GROUP, SLOT = range(2)
LOSS, SPREAD = range(2)


class Asked(NamedTuple):
    """The requirement, see `shoal.algorithms.common.predicate_kernel.acceptable`."""

    sensitive: Codes
    """Sensitive codes of each row, shape (n, q)."""
    starts: Counts
    rules: Counts
    bounds: Counts


class State(NamedTuple):
    """Groups of rows: arrays that fit together."""

    members: Codes
    """The rows of group g are `members[begin : begin + size]`, with room for more."""
    groups: Counts
    """Begin, size and room of each group."""
    places: Codes
    """Group and slot of each row."""
    tally: Codes
    """`tally[g, code]` counts the rows of a group with a code of a quasi-identifier, for the attributes of small
    domains, whose codes come first; those of the others are counted when asked for."""
    extents: Codes
    """`extents[g, c]` is the smallest and the largest code of an attribute."""
    measured: Floats
    """`measured[g, c]` is (loss, spread): what each row of the group loses in the attribute, and the sum of `powers`
    over its counts that this is made of."""
    held: Counts
    """Sensitive codes of each group, or of shape (groups, 0): they are counted when they are asked for."""
    powers: Floats
    """`powers[0, c]` is c^p, and 0 for c = 0; `powers[1, c]` is c^2."""
    power: float
    """What the loss is smoothed by: p."""
    counts: Counts
    """Scratch for sensitive codes: zeros."""
    touched: Codes
    """Scratch: the codes that are counted."""
    work: Counts
    """How many codes and counts may still be looked at, in one number: a search stops when none is left."""


@kernel
def lay_out(labels, count, losses, state):
    """Fill in the state from a partition.

    Parameters
    ----------
    labels : int32[n]
        Group of each row.
    count : int
        Number of groups.
    losses : Losses
    state : State
        Receives the groups; `groups[:, ROOM]` is given, and `tally` is 0.
    """
    n, d = losses.codes.shape
    begin = 0
    for g in range(count):
        state.groups[g, BEGIN] = begin
        state.groups[g, SIZE] = 0
        begin += state.groups[g, ROOM]
        for c in range(d):
            state.extents[g, c, 0] = losses.columns[c, LAST]
            state.extents[g, c, 1] = losses.columns[c, FIRST]
    for row in range(n):
        g = labels[row]
        slot = state.groups[g, BEGIN] + state.groups[g, SIZE]
        state.groups[g, SIZE] += 1
        state.members[slot] = row
        state.places[row, GROUP] = g
        state.places[row, SLOT] = slot
        for c in range(d):
            code = losses.codes[row, c]
            if code < state.tally.shape[1]:
                state.tally[g, code] += 1
            state.extents[g, c, 0] = min(state.extents[g, c, 0], code)
            state.extents[g, c, 1] = max(state.extents[g, c, 1], code)


@kernel
def measure(losses, state):
    """Fill in what every group loses; return the sum over all rows."""
    total = 0.0
    largest = 1
    for c in range(losses.columns.shape[0]):
        largest = max(largest, losses.columns[c, LAST] - losses.columns[c, FIRST] + 1)
    seen = np.zeros(largest, dtype=np.int32)
    for g in range(state.groups.shape[0]):
        begin = state.groups[g, BEGIN]
        size = state.groups[g, SIZE]
        for c in range(losses.columns.shape[0]):
            first = losses.columns[c, FIRST]
            spread = 0.0
            absent = 0
            mode = losses.columns[c, MODE]
            if mode in (SET, STAR):
                if first < state.tally.shape[1]:
                    for code in range(first, losses.columns[c, LAST] + 1):
                        spread += state.powers[mode - 1, state.tally[g, code]]
                    if losses.columns[c, MISSING] >= 0:
                        absent = state.tally[g, losses.columns[c, MISSING]]
                else:
                    for i in range(begin, begin + size):
                        k = seen[losses.codes[state.members[i], c] - first]
                        spread += state.powers[mode - 1, k + 1] - state.powers[mode - 1, k]
                        seen[losses.codes[state.members[i], c] - first] = k + 1
                    if losses.columns[c, MISSING] >= 0:
                        absent = seen[losses.columns[c, MISSING] - first]
                    for i in range(begin, begin + size):
                        seen[losses.codes[state.members[i], c] - first] = 0
            state.measured[g, c, SPREAD] = spread
            state.measured[g, c, LOSS] = _loss_of(
                mode,
                losses.scales[c],
                losses.largest_set,
                span(mode, losses.positions, state.extents[g, c, 0], state.extents[g, c, 1]),
                spread,
                size,
                state.powers,
                state.power,
                0 < absent < size,
            )
            total += state.measured[g, c, LOSS] * size
    return total


@inlined
def _loss_of(mode, scale, largest, length, spread, size, powers, power, mixed):
    """Return what each row of a group loses in an attribute."""
    if size == 0:
        return 0.0
    if mode == STAR:
        apart = 1.0 - spread / powers[1, size]
        if apart < 1e-12:
            return 0.0
        return apart**power if power > 0 else 1.0
    if mode != SET:
        return length
    excess = spread - powers[0, size]
    return 1.0 if mixed or excess > largest - 0.5 else scale * excess


@inlined
def _occurrences(code, c, g, losses, state):
    """Count the rows of a group with a code."""
    if code < state.tally.shape[1]:
        return np.int64(state.tally[g, code])
    found = 0
    begin = state.groups[g, BEGIN]
    state.work[0] -= state.groups[g, SIZE]
    for i in range(begin, begin + state.groups[g, SIZE]):
        if losses.codes[state.members[i], c] == code:
            found += 1
    return found


@kernel_step
def _extent_without(gone, other, c, g, low, high, losses, state):
    """Return the smallest and largest code of a group whose only row with the code `gone` leaves, with `other`'s code.

    `other` is the code of the row that comes, or -1.
    """
    if gone < state.tally.shape[1]:
        if gone == low:
            low += 1
            while low <= high and state.tally[g, low] == 0:
                low += 1
        else:
            high -= 1
            while state.tally[g, high] == 0:
                high -= 1
    else:
        least, most = high + 1, low - 1
        begin = state.groups[g, BEGIN]
        state.work[0] -= state.groups[g, SIZE]
        for i in range(begin, begin + state.groups[g, SIZE]):
            code = losses.codes[state.members[i], c]
            if code != gone:
                least = min(least, code)
                most = max(most, code)
        low, high = least, most
    if other >= 0:
        if low > high:  # nobody else is there
            return other, other
        return min(low, other), max(high, other)
    return low, high


@kernel_step
def change_of(g, leaving, joining, losses, state, after):
    """Find what a group would lose if a row left and another joined (-1: none does); return the change over all rows.

    after : float64[d, 4]
        Receives loss, spread, smallest and largest code of the attributes in which the two rows differ.
    """
    size = state.groups[g, SIZE]
    later = size - (1 if leaving >= 0 else 0) + (1 if joining >= 0 else 0)
    change = 0.0
    state.work[0] -= losses.columns.shape[0]
    for c in range(losses.columns.shape[0]):
        gone = np.int64(losses.codes[leaving, c]) if leaving >= 0 else np.int64(-1)
        come = np.int64(losses.codes[joining, c]) if joining >= 0 else np.int64(-1)
        if gone == come:
            continue
        mode = losses.columns[c, MODE]
        if mode not in (SET, STAR):
            low = np.int64(state.extents[g, c, 0])
            high = np.int64(state.extents[g, c, 1])
            if size == 0:
                low = come
                high = come
            at_end = gone in (low, high)
            if at_end and _occurrences(gone, c, g, losses, state) == 1:
                low, high = _extent_without(gone, come, c, g, low, high, losses, state)
            elif come >= 0:
                low = min(low, come)
                high = max(high, come)
            loss = span(mode, losses.positions, low, high)
            after[c, 2] = low
            after[c, 3] = high
        else:
            spread = state.measured[g, c, SPREAD]
            if gone >= 0:
                k = _occurrences(gone, c, g, losses, state)
                spread += state.powers[mode - 1, k - 1] - state.powers[mode - 1, k]
            if come >= 0:
                k = _occurrences(come, c, g, losses, state)
                spread += state.powers[mode - 1, k + 1] - state.powers[mode - 1, k]
            mixed = NO
            missing = losses.columns[c, MISSING]
            if missing >= 0:
                absent = _occurrences(missing, c, g, losses, state)
                absent += (1 if come == missing else 0) - (1 if gone == missing else 0)
                mixed = 0 < absent < later
            loss = _loss_of(
                mode, losses.scales[c], losses.largest_set, 0.0, spread, later, state.powers, state.power, mixed
            )
            after[c, 1] = spread
        after[c, 0] = loss
        change += loss * later - state.measured[g, c, LOSS] * size
    return change


@kernel_step
def still_holds(g, leaving, joining, asked, state):
    """Ask the predicate of a group that a row leaves and another joins (-1: none does)."""
    later = state.groups[g, SIZE] - (1 if leaving >= 0 else 0) + (1 if joining >= 0 else 0)
    distinct = ZERO
    if state.held.shape[1] > 0:
        counted = state.held[g]
        state.work[0] -= counted.size
        for j in range(asked.sensitive.shape[1]):
            if leaving >= 0:
                counted[asked.sensitive[leaving, j]] -= 1
            if joining >= 0:
                counted[asked.sensitive[joining, j]] += 1
        for v in range(counted.size):
            if counted[v] > 0:
                state.touched[distinct] = v
                distinct += 1
        accepted = acceptable(later, state.touched, distinct, counted, asked.starts, asked.rules, asked.bounds)
        for j in range(asked.sensitive.shape[1]):
            if leaving >= 0:
                counted[asked.sensitive[leaving, j]] += 1
            if joining >= 0:
                counted[asked.sensitive[joining, j]] -= 1
        return accepted
    begin = state.groups[g, BEGIN]
    state.work[0] -= state.groups[g, SIZE]
    for i in range(begin, begin + state.groups[g, SIZE]):
        if state.members[i] != leaving:
            distinct = count_row(np.int64(state.members[i]), asked.sensitive, state.touched, distinct, state.counts)
    if joining >= 0:
        distinct = count_row(joining, asked.sensitive, state.touched, distinct, state.counts)
    accepted = acceptable(later, state.touched, distinct, state.counts, asked.starts, asked.rules, asked.bounds)
    clear(state.touched, distinct, state.counts)
    return accepted


@kernel_step
def settle(g, leaving, joining, losses, state, after):
    """Write what `change_of` found into the state."""
    for c in range(losses.codes.shape[1]):
        gone = np.int64(losses.codes[leaving, c]) if leaving >= 0 else np.int64(-1)
        come = np.int64(losses.codes[joining, c]) if joining >= 0 else np.int64(-1)
        if gone == come:
            continue
        if 0 <= gone < state.tally.shape[1]:
            state.tally[g, gone] -= 1
        if 0 <= come < state.tally.shape[1]:
            state.tally[g, come] += 1
        state.measured[g, c, LOSS] = after[c, 0]
        if losses.columns[c, MODE] not in (SET, STAR):
            state.extents[g, c, 0] = np.int32(after[c, 2])
            state.extents[g, c, 1] = np.int32(after[c, 3])
        else:
            state.measured[g, c, SPREAD] = after[c, 1]


@kernel_step
def put(row, other, G, H, asked, state):
    """Write into the state that a row of group G goes to group H, and another (-1: none) the other way."""
    if state.held.shape[1] > 0:
        for j in range(asked.sensitive.shape[1]):
            state.held[G, asked.sensitive[row, j]] -= 1
            state.held[H, asked.sensitive[row, j]] += 1
            if other >= 0:
                state.held[G, asked.sensitive[other, j]] += 1
                state.held[H, asked.sensitive[other, j]] -= 1
    slot = state.places[row, SLOT]
    if other >= 0:
        target = state.places[other, SLOT]
        state.members[slot] = other
        state.places[other, GROUP] = G
        state.places[other, SLOT] = slot
    else:
        last = state.groups[G, BEGIN] + state.groups[G, SIZE] - 1
        moved = state.members[last]
        state.members[slot] = moved
        state.places[moved, SLOT] = slot
        target = state.groups[H, BEGIN] + state.groups[H, SIZE]
        state.groups[G, SIZE] -= 1
        state.groups[H, SIZE] += 1
    state.members[target] = row
    state.places[row, GROUP] = H
    state.places[row, SLOT] = target
