# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Join of the boxes of two collections that meet: divide both by cuts, until few pairs are left to compare.

A cut on an attribute sends boxes that end at it or before to one side and boxes that begin behind it to the other;
boxes that it crosses go to both. Two boxes are compared on every side that has both, and counted on one of them: the
side of the larger of their lower ends, on every attribute. `floor` is the least rank of a side.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal._core.compiling import allocating_step, inlined, kernel
from shoal.joins.meeting_kernel import meet

__all__ = ["Boxes", "add_up_divided"]

_SAMPLE = 32
"""Number of boxes of each side by which a cut is chosen; 16 and 24 took as long for 600,000 census-like rows."""
_FEW = 4_096
"""Largest number of pairs that are compared without a further cut."""
_GAIN = 0.7
"""Largest share of the pairs that a cut may leave to compare."""


class Boxes(NamedTuple):
    """Boxes, with the extents of their regions."""

    regions: np.ndarray
    """The region of each box on each attribute; shape (B, d)."""
    low: np.ndarray
    """The least rank of each of these regions."""
    high: np.ndarray
    """The greatest rank. No region is empty."""


@inlined
def _taken(items, start, stop, at):
    """Select the item at place `at` of `_SAMPLE` places spread evenly over `items[start:stop]`."""
    return np.int64(items[start + (stop - start) * at // _SAMPLE])


@allocating_step
def _best_cut(left, left_items, a, a_stop, right, right_items, b, b_stop):
    """Find the attribute and the rank of the cut that leaves the fewest pairs of samples; return the share too."""
    best_share, best_attribute, best_rank = 1.0, 0, 0
    lows = np.empty((2, _SAMPLE), dtype=np.int32)
    highs = np.empty((2, _SAMPLE), dtype=np.int32)
    # For each attribute: sample both sides.
    for attribute in range(left.low.shape[1]):
        for at in range(_SAMPLE):
            one = _taken(left_items, a, a_stop, at)
            lows[0, at], highs[0, at] = left.low[one, attribute], left.high[one, attribute]
            one = _taken(right_items, b, b_stop, at)
            lows[1, at], highs[1, at] = right.low[one, attribute], right.high[one, attribute]
        # Candidates are the upper ends of the right boxes.
        for candidate in range(_SAMPLE):
            rank = highs[1, candidate]
            below_left = above_left = below_right = above_right = 0
            for at in range(_SAMPLE):
                below_left += lows[0, at] <= rank
                above_left += highs[0, at] > rank
                below_right += lows[1, at] <= rank
                above_right += highs[1, at] > rank
            # Pairs that are left to compare on either side of the cut.
            share = (below_left * below_right + above_left * above_right) / (_SAMPLE * _SAMPLE)
            if share < best_share:
                best_share, best_attribute, best_rank = share, attribute, rank
    return best_attribute, best_rank, best_share


@inlined
def _divided(boxes, items, start, stop, spare, attribute, rank):
    """Move boxes behind a cut to `start`, copy boxes before it to `spare`; return where each of them stops."""
    # A box that the cut crosses goes to both.
    behind, before = start, 0
    for at in range(start, stop):
        one = items[at]
        if boxes.low[one, attribute] <= rank:
            spare[before] = one
            before += 1
        if boxes.high[one, attribute] > rank:
            items[behind] = one
            behind += 1
    return behind, before


@allocating_step
def _with_room(items, size):
    """Copy an array into a larger one with room for `size` items."""
    larger = np.empty(2 * size, dtype=items.dtype)
    larger[: items.size] = items
    return larger


@kernel
def add_up_divided(left, left_ranks, right, right_ranks, of_left, of_right, to_left, to_right, most):
    """Add up for each box of the left the values of the right boxes that it meets, and the other way round.

    Parameters
    ----------
    left : Boxes
    left_ranks : Ranks
        Regions of the left boxes.
    right : Boxes
    right_ranks : Ranks
        Regions of the right boxes.
    of_left, of_right : int64 arrays, shape (L, m) and (R, n)
        Values of each box.
    to_left, to_right : int64 arrays, shape (L, n) and (R, m)
        Sums, updated in place.
    most : int
        Number of steps (boxes moved, pairs compared) after which to give up.

    Returns
    -------
    bool
        Whether everything was added up. If not, the sums are invalid.
    """
    # A stack of sides: ranges of both item lists, with the floor of each attribute.
    d = left.low.shape[1]
    rooms = 64
    spans = np.empty((rooms, 4), dtype=np.int64)
    floors = np.zeros((rooms, d), dtype=np.int32)
    left_items = np.arange(left.low.shape[0]).astype(np.int32)
    right_items = np.arange(right.low.shape[0]).astype(np.int32)
    spare_left, spare_right = np.empty_like(left_items), np.empty_like(right_items)
    floor = np.empty(d, dtype=np.int32)
    spans[0] = 0, left_items.size, 0, right_items.size
    top = 1
    steps = 0
    # Take a side, and choose between a cut and comparing all pairs.
    while top > 0:
        top -= 1
        a, a_stop, b, b_stop = spans[top]
        floor[:] = floors[top]
        pairs = (a_stop - a) * (b_stop - b)
        attribute, rank, share = 0, 0, 1.0
        if pairs > _FEW:
            attribute, rank, share = _best_cut(left, left_items, a, a_stop, right, right_items, b, b_stop)
        steps += a_stop - a + b_stop - b if share <= _GAIN else pairs
        # Give up if another method would be faster.
        if steps > most:
            return False
        # Divide both lists; the items before the cut are appended behind the others.
        if share <= _GAIN:
            a_behind, a_before = _divided(left, left_items, a, a_stop, spare_left, attribute, rank)
            b_behind, b_before = _divided(right, right_items, b, b_stop, spare_right, attribute, rank)
            if a_behind + a_before > left_items.size:
                left_items = _with_room(left_items, a_behind + a_before)
            if b_behind + b_before > right_items.size:
                right_items = _with_room(right_items, b_behind + b_before)
            left_items[a_behind : a_behind + a_before] = spare_left[:a_before]
            right_items[b_behind : b_behind + b_before] = spare_right[:b_before]
            # Enlarge the stack.
            if top + 2 > rooms:
                rooms *= 2
                wider_spans, wider_floors = np.empty((rooms, 4), dtype=np.int64), np.zeros((rooms, d), dtype=np.int32)
                wider_spans[:top], wider_floors[:top] = spans[:top], floors[:top]
                spans, floors = wider_spans, wider_floors
            # Push the sides that have boxes of both collections; the side behind the cut has a higher floor.
            if a_behind > a and b_behind > b:
                spans[top] = a, a_behind, b, b_behind
                floors[top] = floor
                floors[top, attribute] = rank + 1
                top += 1
            if a_before > 0 and b_before > 0:
                spans[top] = a_behind, a_behind + a_before, b_behind, b_behind + b_before
                floors[top] = floor
                top += 1
            continue
        # Compare all pairs.
        for x in range(a, a_stop):
            one = left_items[x]
            for y in range(b, b_stop):
                other = right_items[y]
                # First by ranges; the larger lower end must be on this side, so that a pair counts once.
                both = True
                for i in range(d):
                    low = max(left.low[one, i], right.low[other, i])
                    if low > left.high[one, i] or low > right.high[other, i] or low < floor[i]:
                        both = False
                        break
                if not both:
                    continue
                # Then by members, which is slower.
                for i in range(d):
                    if not meet(left_ranks, left.regions[one, i], right_ranks, right.regions[other, i]):
                        both = False
                        break
                # Add the values in both directions.
                if both:
                    for m in range(of_right.shape[1]):
                        to_left[one, m] += of_right[other, m]
                    for m in range(of_left.shape[1]):
                        to_right[other, m] += of_left[one, m]
    return True
