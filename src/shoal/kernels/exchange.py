"""Exchanging rows between groups so that less is lost: a search that never leaves the acceptable partitions.

The state of the search is a handful of arrays that fit together:

* `members` holds the rows of group g in `members[begin : begin + size]`, with room for more; `groups[g]` is
  (begin, size, room), and `places[row]` is (group, slot);
* `tally[g, code]` counts the rows of a group with a code of a quasi-identifier, for the attributes of small domains,
  whose codes come first; those of the others are counted when asked for;
* `extents[g, c]` is the smallest and the largest code of an ordered attribute;
* `measured[g, c]` is (loss, spread): what each row of the group loses in the attribute, and the sum of `powers` over
  its counts that this is made of.

What an attribute loses in a group is the length of its interval, or made of the counts c(v) of its values: a set loses
`scale * (sum of c(v)^p - |G|^p)`, which for p = 0 is `scale * (values - 1)`, and a star
`(1 - sum of (c(v) / |G|)^2)^p`,
which for p = 0 is 1 unless the group has one value only. A larger p smooths the loss: a value that few rows have costs
less than one that many have, which leads the search to groups that are nearly pure, and then pure. `powers[0, c]` is
c^p, and 0 for c = 0; `powers[1, c]` is c^2.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from shoal.kernels.predicate import acceptable
from shoal.kernels.whole import TWO, ZERO

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes = NDArray[np.int32]
    Counts = NDArray[np.int64]
    Floats = NDArray[np.float64]

__all__ = ["INTERVAL", "SET", "STAR", "exchange_rows", "lay_out", "measure"]

INTERVAL, SET, STAR = range(3)
"""How an attribute is recoded: the first column of `columns`."""

PARTNERS = 24
"""Rows of a group that are looked at for one of the same kind."""
LARGEST_SET = 256
"""A set of more values is published as a star."""
MODE, FIRST, LAST, MISSING = range(4)
BEGIN, SIZE, ROOM = range(3)
GROUP, SLOT = range(2)
LOSS, SPREAD = range(2)

RELOCATIONS, ANY_SWAPS, ALL_KINDS = 1, 3, 8
"""Of eight moves one takes a row to another group, two swap any two rows, five two rows of one kind where there are."""


@njit(cache=True)
def lay_out(codes, labels, count, columns, members, groups, places, tally, extents):
    """Fill in the state from a partition.

    Parameters
    ----------
    codes : int32[n, d]
        Codes of the quasi-identifiers, those of attribute c from `columns[c, FIRST]` to `columns[c, LAST]`.
    labels : int32[n]
        Group of each row.
    count : int
        Number of groups.
    columns : int64[d, 4]
        Of each attribute how it is recoded, its first and last code, and the code of a missing value or -1.
    members, groups, places, tally, extents : arrays
        Receive the state; `groups[:, ROOM]` is given. `tally` is 0.
    """
    n, d = codes.shape
    begin = 0
    for g in range(count):
        groups[g, BEGIN] = begin
        groups[g, SIZE] = 0
        begin += groups[g, ROOM]
        for c in range(d):
            extents[g, c, 0] = columns[c, LAST]
            extents[g, c, 1] = columns[c, FIRST]
    for row in range(n):
        g = labels[row]
        slot = groups[g, BEGIN] + groups[g, SIZE]
        groups[g, SIZE] += 1
        members[slot] = row
        places[row, GROUP] = g
        places[row, SLOT] = slot
        for c in range(d):
            code = codes[row, c]
            if code < tally.shape[1]:
                tally[g, code] += 1
            extents[g, c, 0] = min(extents[g, c, 0], code)
            extents[g, c, 1] = max(extents[g, c, 1], code)


@njit(cache=True)
def measure(codes, columns, scales, positions, powers, power, members, groups, tally, extents, measured):
    """Fill in what every group loses; return the sum over all rows."""
    total = 0.0
    largest = 1
    for c in range(columns.shape[0]):
        largest = max(largest, columns[c, LAST] - columns[c, FIRST] + 1)
    seen = np.zeros(largest, dtype=np.int32)
    for g in range(groups.shape[0]):
        begin = groups[g, BEGIN]
        size = groups[g, SIZE]
        for c in range(columns.shape[0]):
            first = columns[c, FIRST]
            spread = 0.0
            absent = 0
            if columns[c, MODE] != INTERVAL:
                if first < tally.shape[1]:
                    for code in range(first, columns[c, LAST] + 1):
                        spread += powers[columns[c, MODE] - 1, tally[g, code]]
                    if columns[c, MISSING] >= 0:
                        absent = tally[g, columns[c, MISSING]]
                else:
                    for i in range(begin, begin + size):
                        k = seen[codes[members[i], c] - first]
                        spread += powers[columns[c, MODE] - 1, k + 1] - powers[columns[c, MODE] - 1, k]
                        seen[codes[members[i], c] - first] = k + 1
                    if columns[c, MISSING] >= 0:
                        absent = seen[columns[c, MISSING] - first]
                    for i in range(begin, begin + size):
                        seen[codes[members[i], c] - first] = 0
            measured[g, c, SPREAD] = spread
            measured[g, c, LOSS] = _loss(
                columns[c, MODE],
                scales[c],
                positions[extents[g, c, 1]] - positions[extents[g, c, 0]],
                spread,
                size,
                powers,
                power,
                0 < absent < size,
            )
            total += measured[g, c, LOSS] * size
    return total


@njit(cache=True, inline="always")
def _loss(mode, scale, length, spread, size, powers, power, mixed):
    """Return what each row of a group loses in an attribute."""
    if mode == INTERVAL:
        return min(length, 1.0)
    if mode == STAR:
        apart = 1.0 - spread / powers[1, size]
        return 0.0 if apart < 1e-12 else apart**power
    excess = spread - powers[0, size]
    return 1.0 if mixed or excess > LARGEST_SET - 0.5 else scale * excess


@njit(cache=True)
def _occurrences(code, c, begin, size, codes, members, g, tally):
    """Count the rows of a group with a code."""
    if code < tally.shape[1]:
        return np.int64(tally[g, code])
    found = 0
    for i in range(begin, begin + size):
        if codes[members[i], c] == code:
            found += 1
    return found


@njit(cache=True)
def _extent_without(gone, other, c, begin, size, low, high, codes, members, g, tally):
    """Return the smallest and largest code of a group whose only row with the code `gone` leaves, with `other`'s code.

    `other` is the code of the row that comes, or -1.
    """
    if gone < tally.shape[1]:
        if gone == low:
            low += 1
            while low <= high and tally[g, low] == 0:
                low += 1
        else:
            high -= 1
            while tally[g, high] == 0:
                high -= 1
    else:
        least, most = high + 1, low - 1
        for i in range(begin, begin + size):
            code = codes[members[i], c]
            if code != gone:
                least = min(least, code)
                most = max(most, code)
        low, high = least, most
    if other >= 0:
        if low > high:  # nobody else is there
            return other, other
        return min(low, other), max(high, other)
    return low, high


@njit(cache=True)
def _change(
    g,
    leaving,
    joining,
    codes,
    columns,
    scales,
    positions,
    powers,
    power,
    members,
    groups,
    tally,
    extents,
    measured,
    after,
):
    """Find what a group would lose if a row left and another joined (-1: none does); return the change over all rows.

    after : float64[d, 4]
        Receives loss, spread, smallest and largest code of the attributes in which the two rows differ.
    """
    begin = groups[g, BEGIN]
    size = groups[g, SIZE]
    later = size - (1 if leaving >= 0 else 0) + (1 if joining >= 0 else 0)
    change = 0.0
    for c in range(columns.shape[0]):
        gone = np.int64(codes[leaving, c]) if leaving >= 0 else np.int64(-1)
        come = np.int64(codes[joining, c]) if joining >= 0 else np.int64(-1)
        if gone == come:
            continue
        mode = columns[c, MODE]
        if mode == INTERVAL:
            low = np.int64(extents[g, c, 0])
            high = np.int64(extents[g, c, 1])
            at_end = gone == low or gone == high  # noqa: PLR1714
            if at_end and _occurrences(gone, c, begin, size, codes, members, g, tally) == 1:
                low, high = _extent_without(gone, come, c, begin, size, low, high, codes, members, g, tally)
            elif come >= 0:
                low = min(low, come)
                high = max(high, come)
            loss = min(positions[high] - positions[low], 1.0)
            after[c, 2] = low
            after[c, 3] = high
        else:
            spread = measured[g, c, SPREAD]
            if gone >= 0:
                k = _occurrences(gone, c, begin, size, codes, members, g, tally)
                spread += powers[mode - 1, k - 1] - powers[mode - 1, k]
            if come >= 0:
                k = _occurrences(come, c, begin, size, codes, members, g, tally)
                spread += powers[mode - 1, k + 1] - powers[mode - 1, k]
            mixed = False
            missing = columns[c, MISSING]
            if missing >= 0:
                absent = _occurrences(missing, c, begin, size, codes, members, g, tally)
                absent += (1 if come == missing else 0) - (1 if gone == missing else 0)
                mixed = 0 < absent < later
            loss = _loss(mode, scales[c], 0.0, spread, later, powers, power, mixed)
            after[c, 1] = spread
        after[c, 0] = loss
        change += loss * later - measured[g, c, LOSS] * size
    return change


@njit(cache=True)
def _still_acceptable(g, leaving, joining, sensitive, members, groups, held, touched, counts, starts, rules, bounds):
    """Ask the predicate of a group that a row leaves and another joins (-1: none does)."""
    later = groups[g, SIZE] - (1 if leaving >= 0 else 0) + (1 if joining >= 0 else 0)
    distinct = ZERO
    if held.shape[1] > 0:
        counted = held[g]
        for j in range(sensitive.shape[1]):
            if leaving >= 0:
                counted[sensitive[leaving, j]] -= 1
            if joining >= 0:
                counted[sensitive[joining, j]] += 1
        for v in range(counted.size):
            if counted[v] > 0:
                touched[distinct] = v
                distinct += 1
        holds = acceptable(later, touched, distinct, counted, starts, rules, bounds)
        for j in range(sensitive.shape[1]):
            if leaving >= 0:
                counted[sensitive[leaving, j]] += 1
            if joining >= 0:
                counted[sensitive[joining, j]] -= 1
        return holds
    begin = groups[g, BEGIN]
    for i in range(begin, begin + groups[g, SIZE] + (1 if joining >= 0 else 0)):
        row = members[i] if i < begin + groups[g, SIZE] else joining
        if row != leaving:
            for j in range(sensitive.shape[1]):
                v = sensitive[row, j]
                if counts[v] == 0:
                    touched[distinct] = v
                    distinct += 1
                counts[v] += 1
    holds = acceptable(later, touched, distinct, counts, starts, rules, bounds)
    for i in range(distinct):
        counts[touched[i]] = 0
    return holds


@njit(cache=True)
def _settle(g, leaving, joining, codes, columns, tally, extents, measured, after):
    """Write what `_change` found into the state."""
    for c in range(codes.shape[1]):
        gone = np.int64(codes[leaving, c]) if leaving >= 0 else np.int64(-1)
        come = np.int64(codes[joining, c]) if joining >= 0 else np.int64(-1)
        if gone == come:
            continue
        if 0 <= gone < tally.shape[1]:
            tally[g, gone] -= 1
        if 0 <= come < tally.shape[1]:
            tally[g, come] += 1
        measured[g, c, LOSS] = after[c, 0]
        if columns[c, MODE] == INTERVAL:
            extents[g, c, 0] = np.int32(after[c, 2])
            extents[g, c, 1] = np.int32(after[c, 3])
        else:
            measured[g, c, SPREAD] = after[c, 1]


@njit(cache=True)
def _draw(state, bound):
    """Return a number from 0 to bound - 1 (bound < 2**31): xorshift64*."""
    s = state[0]
    s ^= s >> np.uint64(12)
    s ^= s << np.uint64(25)
    s ^= s >> np.uint64(27)
    state[0] = s
    high = (s * np.uint64(2685821657736338717)) >> np.uint64(33)
    return (np.int64(high) * bound) >> 31


@njit(cache=True)
def _partner(row, H, kinds, members, groups, any_kind, state):
    """Return a row of group H to swap with: one of the same kind if there is one (unless any will do), else any."""
    begin = groups[H, BEGIN]
    size = groups[H, SIZE]
    start = _draw(state, size)
    if not any_kind:
        for i in range(min(size, PARTNERS)):
            slot = begin + start + i
            if slot >= begin + size:
                slot -= size
            if kinds[members[slot]] == kinds[row]:
                return np.int64(members[slot])
    return np.int64(members[begin + start])


@njit(cache=True)
def exchange_rows(
    codes,
    kinds,
    sensitive,
    columns,
    scales,
    positions,
    powers,
    power,
    orders,
    standing,
    members,
    groups,
    places,
    tally,
    extents,
    measured,
    held,
    starts,
    rules,
    bounds,
    reach,
    temperature,
    moves,
    state,
):
    """Try moves of rows between groups; make those that lose less, and by chance some that lose a little more.

    Parameters
    ----------
    codes : int32[n, d]
        Codes of the quasi-identifiers.
    kinds : int32[n]
        Rows of one kind agree on everything that the predicate looks at.
    sensitive : int32[n, q]
        Sensitive codes of each row, see `acceptable`.
    columns, scales, positions : int64[d, 4], float64[d], float64[codes]
        Of each attribute how it is recoded, what the second value of a set costs, and where each code lies.
    powers, power : float64[2, room + 2], float
        What a count adds to the spread, and p.
    orders, standing : int32[r, n]
        Several orders of the rows in which rows with equal attributes are near one another, and their inverses.
    members, groups, places, tally, extents, measured : arrays
        The state; every group is acceptable, before and after.
    held : int64[groups, values]
        Sensitive codes of each group, or of shape (groups, 0): they are counted when they are asked for.
    starts, rules, bounds : arrays
        The predicate.
    reach : int
        Partners are looked for up to 2**reach places away, at near distances as often as at far ones.
    temperature : float
        A loss of that much more is accepted with probability 1 / e; > 0.
    moves : int
        How many are tried.
    state : uint64[1]
        Of the random numbers, not 0.

    Returns
    -------
    made : int
        Moves that were made.
    """
    n, d = codes.shape
    counts = np.zeros(starts[starts.size - 1], dtype=np.int64)
    touched = np.empty(counts.size, dtype=np.int32)
    here = np.empty((d, 4))
    there = np.empty((d, 4))
    made = 0
    for _ in range(moves):
        row = _draw(state, n)
        order = _draw(state, orders.shape[0])
        away = _draw(state, np.int64(1) << _draw(state, reach + 1)) + 1
        if _draw(state, TWO) == 1:
            away = -away
        stand = standing[order, row] + away
        if stand < 0 or stand >= n:
            continue
        G = places[row, GROUP]
        H = places[orders[order, stand], GROUP]
        if G == H:
            continue
        move = _draw(state, np.int64(ALL_KINDS))
        other = np.int64(-1)
        if move >= RELOCATIONS:
            other = _partner(row, H, kinds, members, groups, move < ANY_SWAPS, state)
        elif groups[G, SIZE] < 2 or groups[H, SIZE] >= groups[H, ROOM]:
            continue
        limit = -temperature * math.log((_draw(state, np.int64(1 << 30)) + 1) / (1 << 30))
        change = _change(
            G,
            row,
            other,
            codes,
            columns,
            scales,
            positions,
            powers,
            power,
            members,
            groups,
            tally,
            extents,
            measured,
            here,
        )
        change += _change(
            H,
            other,
            row,
            codes,
            columns,
            scales,
            positions,
            powers,
            power,
            members,
            groups,
            tally,
            extents,
            measured,
            there,
        )
        if change > limit:
            continue
        if other < 0 or kinds[other] != kinds[row]:
            if not _still_acceptable(
                G, row, other, sensitive, members, groups, held, touched, counts, starts, rules, bounds
            ):
                continue
            if not _still_acceptable(
                H, other, row, sensitive, members, groups, held, touched, counts, starts, rules, bounds
            ):
                continue
            if held.shape[1] > 0:
                for j in range(sensitive.shape[1]):
                    held[G, sensitive[row, j]] -= 1
                    held[H, sensitive[row, j]] += 1
                    if other >= 0:
                        held[G, sensitive[other, j]] += 1
                        held[H, sensitive[other, j]] -= 1
        _settle(G, row, other, codes, columns, tally, extents, measured, here)
        _settle(H, other, row, codes, columns, tally, extents, measured, there)
        slot = places[row, SLOT]
        if other >= 0:
            target = places[other, SLOT]
            members[slot] = other
            places[other, GROUP] = G
            places[other, SLOT] = slot
        else:
            last = groups[G, BEGIN] + groups[G, SIZE] - 1
            moved = members[last]
            members[slot] = moved
            places[moved, SLOT] = slot
            target = groups[H, BEGIN] + groups[H, SIZE]
            groups[G, SIZE] -= 1
            groups[H, SIZE] += 1
        members[target] = row
        places[row, GROUP] = H
        places[row, SLOT] = target
        made += 1
    return made
