# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""The state of a search that moves rows between groups, and the change of the loss by a move.

The loss of an attribute in a group is the length of its interval or the penalty of its lowest common ancestor, which
both follow from its extent, or depends on the counts c(v) of its values: a set loses `scale * (sum of c(v)^p - |G|^p)`,
which for p = 0 is `scale * (values - 1)`, and a star `(1 - sum of (c(v) / |G|)^2)^p`, which for p = 0 is 1 unless the
group has one value only. A larger p smooths the loss: a value of few rows costs less than a value of many rows, which
leads the search to groups that are nearly pure, and then pure.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal._core.compiling import inlined, kernel_step, linear_kernel
from shoal.algorithms.common.histogram_kernel import clear, count_row
from shoal.algorithms.common.predicate_kernel import acceptable
from shoal.algorithms.common.whole_kernel import MINUS_ONE, NO, ZERO
from shoal.algorithms.local_search.losses_kernel import FIRST, LAST, MISSING, MODE, SET, STAR, span

Codes = NDArray[np.int32]
Counts = NDArray[np.int64]
Floats = NDArray[np.float64]


__all__ = [
    "BEGIN",
    "GROUP",
    "LOSS",
    "NO_ROW",
    "ROOM",
    "SIZE",
    "Predicate",
    "State",
    "change_of",
    "lay_out",
    "measure",
    "put",
    "settle",
    "still_holds",
]

NO_ROW = MINUS_ONE
"""Stands for the absence of a row that leaves or joins."""

# Columns of `State.groups`, `State.places` and `State.measured`.
BEGIN, SIZE, ROOM = range(3)
GROUP, SLOT = range(2)
LOSS, SPREAD = range(2)


class Predicate(NamedTuple):
    """The requirement; see `shoal.algorithms.common.predicate_kernel.acceptable`."""

    sensitive: Codes
    """Sensitive codes of each row, shape (n, q)."""
    starts: Counts
    rules: Counts
    bounds: Counts


class State(NamedTuple):
    """Groups of rows, as arrays that are kept consistent."""

    members: Codes
    """The rows of group g are `members[begin : begin + size]`, with room for more."""
    groups: Counts
    """Begin, size and room of each group."""
    places: Codes
    """Group and slot of each row."""
    tally: Codes
    """`tally[g, code]` counts the rows of a group with a code of a quasi-identifier, for the attributes of small
    domains, whose codes come first; other codes are counted on demand."""
    extents: Codes
    """`extents[g, c]` is the smallest and the largest code of an attribute."""
    measured: Floats
    """`measured[g, c]` is (loss, spread): the loss of each row of the group in the attribute, and the sum of `powers`
    over the counts that the loss is computed from."""
    held: Counts
    """Counts of sensitive codes of each group, or of shape (groups, 0): then they are counted on demand."""
    powers: Floats
    """`powers[0, c]` is c^p, and 0 for c = 0; `powers[1, c]` is c^2."""
    power: float
    """Exponent of the smoothing: p."""
    counts: Counts
    """Scratch for sensitive codes: zeros."""
    touched: Codes
    """Scratch: the codes that occur."""
    work: Counts
    """Number of codes and counts that may still be scanned, in one element: a search stops when it is used up."""


@linear_kernel
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
        Receives the groups; `groups[:, ROOM]` is an input, and `tally` is 0.
    """
    n, d = losses.codes.shape
    # Reserve the room of each group, and start with empty extents.
    begin = 0
    for g in range(count):
        state.groups[g, BEGIN] = begin
        state.groups[g, SIZE] = 0
        begin += state.groups[g, ROOM]
        for c in range(d):
            state.extents[g, c, 0] = losses.columns[c, LAST]
            state.extents[g, c, 1] = losses.columns[c, FIRST]
    # Append each row to its group, and update counts and extents.
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


@linear_kernel
def measure(losses, state):
    """Compute the loss of every group; return the sum over all rows."""
    # Scratch for attributes whose codes are not tallied.
    total = 0.0
    largest = 1
    for c in range(losses.columns.shape[0]):
        largest = max(largest, losses.columns[c, LAST] - losses.columns[c, FIRST] + 1)
    seen = np.zeros(largest, dtype=np.int32)
    # One entry for each group and attribute.
    for g in range(state.groups.shape[0]):
        begin = state.groups[g, BEGIN]
        size = state.groups[g, SIZE]
        for c in range(losses.columns.shape[0]):
            first = losses.columns[c, FIRST]
            spread = 0.0
            absent = 0
            mode = losses.columns[c, MODE]
            # Sets and stars depend on the counts of the values.
            if mode in (SET, STAR):
                # Counts are at hand for small domains.
                if first < state.tally.shape[1]:
                    for code in range(first, losses.columns[c, LAST] + 1):
                        spread += state.powers[mode - 1, state.tally[g, code]]
                    if losses.columns[c, MISSING] >= 0:
                        absent = state.tally[g, losses.columns[c, MISSING]]
                else:
                    # Otherwise count as the rows come: each row adds the difference of the powers.
                    for i in range(begin, begin + size):
                        k = seen[losses.codes[state.members[i], c] - first]
                        spread += state.powers[mode - 1, k + 1] - state.powers[mode - 1, k]
                        seen[losses.codes[state.members[i], c] - first] = k + 1
                    if losses.columns[c, MISSING] >= 0:
                        absent = seen[losses.columns[c, MISSING] - first]
                    # Reset only the codes that occurred.
                    for i in range(begin, begin + size):
                        seen[losses.codes[state.members[i], c] - first] = 0
            # Intervals and nodes depend on the extent alone.
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
    """Compute the loss of each row of a group in an attribute."""
    if size == 0:
        return 0.0
    # A star: 1 if the group has two values, smoothed by the share of unequal pairs.
    if mode == STAR:
        apart = 1.0 - spread / powers[1, size]
        if apart < 1e-12:
            return 0.0
        return apart**power if power > 0 else 1.0
    if mode != SET:
        return length
    # A set: its further values; a missing value among others, or too many values, make it a star.
    excess = spread - powers[0, size]
    return 1.0 if mixed or excess > largest - 0.5 else scale * excess


@inlined
def _occurrences(code, c, g, losses, state):
    """Count the rows of a group with a code."""
    # Tallied codes are a lookup; other codes need a scan of the group.
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
    """Find the smallest and largest code of a group after its only row with the code `gone` leaves.

    `other` is the code of the row that joins, or -1.
    """
    # Walk along the tally to the next code in use.
    if gone < state.tally.shape[1]:
        if gone == low:
            low += 1
            while low <= high and state.tally[g, low] == 0:
                low += 1
        else:
            high -= 1
            while state.tally[g, high] == 0:
                high -= 1
    # Without a tally: scan the group.
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
    # Then include the code of the row that joins.
    if other >= 0:
        if low > high:  # no other row is left
            return other, other
        return min(low, other), max(high, other)
    return low, high


@kernel_step
def change_of(g, leaving, joining, losses, state, after):
    """Compute the loss of a group if a row left and another joined (-1: none); return the change over all rows.

    after : float64[d, 4]
        Receives loss, spread, smallest and largest code of the attributes in which the two rows differ.
    """
    size = state.groups[g, SIZE]
    later = size - (1 if leaving >= 0 else 0) + (1 if joining >= 0 else 0)
    change = 0.0
    state.work[0] -= losses.columns.shape[0]
    # Attributes in which the rows agree do not change.
    for c in range(losses.columns.shape[0]):
        gone = np.int64(losses.codes[leaving, c]) if leaving >= 0 else np.int64(-1)
        come = np.int64(losses.codes[joining, c]) if joining >= 0 else np.int64(-1)
        if gone == come:
            continue
        mode = losses.columns[c, MODE]
        # Intervals and nodes: the extent shrinks only if the last row at an end leaves.
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
        # Sets and stars: update the sum of powers by the two counts that change.
        else:
            spread = state.measured[g, c, SPREAD]
            if gone >= 0:
                k = _occurrences(gone, c, g, losses, state)
                spread += state.powers[mode - 1, k - 1] - state.powers[mode - 1, k]
            if come >= 0:
                k = _occurrences(come, c, g, losses, state)
                spread += state.powers[mode - 1, k + 1] - state.powers[mode - 1, k]
            # A missing value among others costs as much as a star.
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
        # Losses count once for each row, before and after.
        change += loss * later - state.measured[g, c, LOSS] * size
    return change


@kernel_step
def still_holds(g, leaving, joining, predicate, state):
    """Evaluate the predicate for a group after a row leaves and another joins (-1: none)."""
    later = state.groups[g, SIZE] - (1 if leaving >= 0 else 0) + (1 if joining >= 0 else 0)
    distinct = ZERO
    # Stored counts are changed for the test and restored after it.
    if state.held.shape[1] > 0:
        counted = state.held[g]
        state.work[0] -= counted.size
        for j in range(predicate.sensitive.shape[1]):
            if leaving >= 0:
                counted[predicate.sensitive[leaving, j]] -= 1
            if joining >= 0:
                counted[predicate.sensitive[joining, j]] += 1
        for v in range(counted.size):
            if counted[v] > 0:
                state.touched[distinct] = v
                distinct += 1
        accepted = acceptable(
            later, state.touched, distinct, counted, predicate.starts, predicate.rules, predicate.bounds
        )
        for j in range(predicate.sensitive.shape[1]):
            if leaving >= 0:
                counted[predicate.sensitive[leaving, j]] += 1
            if joining >= 0:
                counted[predicate.sensitive[joining, j]] -= 1
        return accepted
    # Otherwise count the group without the row that leaves.
    begin = state.groups[g, BEGIN]
    state.work[0] -= state.groups[g, SIZE]
    for i in range(begin, begin + state.groups[g, SIZE]):
        if state.members[i] != leaving:
            distinct = count_row(np.int64(state.members[i]), predicate.sensitive, state.touched, distinct, state.counts)
    if joining >= 0:
        distinct = count_row(joining, predicate.sensitive, state.touched, distinct, state.counts)
    accepted = acceptable(
        later, state.touched, distinct, state.counts, predicate.starts, predicate.rules, predicate.bounds
    )
    clear(state.touched, distinct, state.counts)
    return accepted


@kernel_step
def settle(g, leaving, joining, losses, state, after):
    """Write the result of `change_of` into the state."""
    for c in range(losses.codes.shape[1]):
        gone = np.int64(losses.codes[leaving, c]) if leaving >= 0 else np.int64(-1)
        come = np.int64(losses.codes[joining, c]) if joining >= 0 else np.int64(-1)
        if gone == come:
            continue
        # Counts first, then loss and extent, or loss and spread.
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
def put(row, other, G, H, predicate, state):
    """Move a row of group G to group H in the state, and another (-1: none) the other way."""
    # Sensitive counts of both groups, if they are stored.
    if state.held.shape[1] > 0:
        for j in range(predicate.sensitive.shape[1]):
            state.held[G, predicate.sensitive[row, j]] -= 1
            state.held[H, predicate.sensitive[row, j]] += 1
            if other >= 0:
                state.held[G, predicate.sensitive[other, j]] += 1
                state.held[H, predicate.sensitive[other, j]] -= 1
    slot = state.places[row, SLOT]
    # A swap exchanges two slots; a relocation fills the gap with G's last row, and appends to H.
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
