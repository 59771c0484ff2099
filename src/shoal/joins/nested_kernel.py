# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Join of boxes whose regions are nested or disjoint on each attribute: by hashing, not by comparison.

Two such regions meet if the shallower region contains the other, or equals it. So boxes with regions of the depths S
and boxes with the depths T meet if their ancestors at the depths min(S, T) are the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal._core.compiling import inlined, kernel, kernel_step

__all__ = ["Ancestors", "Side", "add_up_nested"]

_SPREAD = np.int64(-7046029254386353131)  # 2**64 over the golden ratio


class Side(NamedTuple):
    """Boxes of one collection, with their values and the sums of the values that they meet."""

    boxes: np.ndarray
    """The region of each box on each attribute, in columns of their own: shape (d, B); int32."""
    carried: np.ndarray
    """Values of each box; shape (B, m), int64."""
    found: np.ndarray
    """Sums of the values of the other side's boxes that each box meets, updated in place; shape (B, n), int64."""


class Ancestors(NamedTuple):
    """The ancestors of all regions."""

    codes: np.ndarray
    """For each attribute, depth and region a number that identifies its ancestor at that depth; sums over the
    attributes identify combinations of ancestors."""
    offsets: np.ndarray
    """Start of the codes; shape (d, depths)."""
    alike: np.ndarray
    """Whether all regions of an attribute have the same ancestor at a depth; shape (d, depths)."""


@inlined
def _add_keys(keys, boxes, start, stop, ancestors, depths, others):
    """Compute keys that identify the ancestors of boxes at the smaller of two depths."""
    # The keys are sums over the attributes; an attribute with a single ancestor adds nothing.
    keys[: stop - start] = 0
    for a in range(depths.size):
        depth = min(depths[a], others[a])
        if not ancestors.alike[a, depth]:
            offset = ancestors.offsets[a, depth]
            for at in range(start, stop):
                keys[at - start] += ancestors.codes[offset + boxes[a, at]]


@inlined
def _slot_of(key, keys, turn, now, shift, mask):
    """Find the slot of a key in the table, or the slot where it would be inserted."""
    # Linear probing; slots of earlier turns count as free, so that the table need not be cleared.
    spread = key * _SPREAD
    slot = ((spread ^ (spread >> 29)) >> shift) & mask
    while turn[slot] == now and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@kernel_step
def _join(table, start, stop, keys, many, first, last, others, scratch, now):
    """Join boxes `start` to `stop`, which are hashed, with the boxes from `first` to `last` of the other side.

    `keys` and `others` are the keys of the two; `scratch` is memory for the keys of the table, the turn in which each
    was written, the sums of both sides, and the slot of each hashed box.
    """
    written, turn, of_table, of_many, slots = scratch
    # The table is at most half full.
    size, shift = 16, 63 - 4
    while size < 2 * (stop - start):
        size *= 2
        shift -= 1
    mask = size - 1
    # Insert the boxes of one side, and add up their values by key.
    for at in range(stop - start):
        slot = _slot_of(keys[at], written, turn, now, shift, mask)
        if turn[slot] != now:
            turn[slot], written[slot] = now, keys[at]
            of_table[slot] = 0
            of_many[slot] = 0
        slots[at] = slot
        for m in range(of_table.shape[1]):
            of_table[slot, m] += table.carried[start + at, m]
    # Look up the boxes of the other side, and collect their values by key.
    for at in range(last - first):
        slot = _slot_of(others[at], written, turn, now, shift, mask)
        if turn[slot] == now:
            for m in range(of_table.shape[1]):
                many.found[first + at, m] += of_table[slot, m]
            for m in range(of_many.shape[1]):
                of_many[slot, m] += many.carried[first + at, m]
    # Return the collected values to the hashed boxes.
    if of_many.shape[1]:
        for at in range(stop - start):
            for m in range(of_many.shape[1]):
                table.found[start + at, m] += of_many[slots[at], m]


@kernel
def add_up_nested(left, first, last, depths, right, starts, patterns, ancestors):
    """Add up for boxes of equal depths the values of the other side's boxes that they meet, and vice versa.

    Parameters
    ----------
    left : Side
    first, last : int
        The range of boxes of the left.
    depths : int64 array, shape (d,)
        The depth of their regions.
    right : Side
        Boxes of equal depths are neighbours.
    starts : int64 array, shape (P + 1,)
        Start of the boxes of each pattern of depths.
    patterns : int64 array, shape (P, d)
        Their depths.
    ancestors : Ancestors
        Ancestors of the regions of both sides.
    """
    # Allocate the scratch once, for the largest join.
    most = 0
    for t in range(starts.size - 1):
        most = max(most, starts[t + 1] - starts[t])
    room = 16
    while room < 2 * min(most, last - first):
        room *= 2
    written, turn = np.empty(room, dtype=np.int64), np.full(room, -1, dtype=np.int64)
    of_left = np.empty((room, left.carried.shape[1]), dtype=np.int64)
    of_right = np.empty((room, right.carried.shape[1]), dtype=np.int64)
    slots = np.empty(room, dtype=np.int64)
    keys, others = np.empty(last - first, dtype=np.int64), np.empty(most, dtype=np.int64)
    # One join for each pattern of depths; the smaller side is hashed.
    for t in range(starts.size - 1):
        start, stop = starts[t], starts[t + 1]
        _add_keys(keys, left.boxes, first, last, ancestors, depths, patterns[t])
        _add_keys(others, right.boxes, start, stop, ancestors, depths, patterns[t])
        if stop - start <= last - first:
            _join(right, start, stop, others, left, first, last, keys, (written, turn, of_right, of_left, slots), t)
        else:
            _join(left, first, last, keys, right, start, stop, others, (written, turn, of_left, of_right, slots), t)
