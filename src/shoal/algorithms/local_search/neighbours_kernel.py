# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""The nearest neighbours of every class of equal rows, in the loss of a group of two.

The classes stand in lexicographic order, so those that agree on the first j attributes are a stretch: together the
stretches are a tree. The search goes down from its root and leaves out what is too far already; losses of attributes
add up, so the first attributes should be those of which little is lost only by few values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shoal._compiling import inlined, kernel
from shoal.algorithms.common.whole_kernel import ZERO
from shoal.algorithms.local_search.losses_kernel import apart

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes = NDArray[np.int32]

__all__ = ["nearest_classes", "stretches_of"]


@kernel
def stretches_of(codes, begins, ends):
    """Fill in the first place, and the one behind the last, of the classes that agree with each on j + 1 attributes.

    Parameters
    ----------
    codes : int32[s, d]
        Codes of each class, in lexicographic order.
    begins, ends : int32[d, s]
        Receive the stretches.
    """
    s, d = codes.shape
    for j in range(d):
        first = 0
        for i in range(s):
            if i > 0:
                same = codes[i, j] == codes[i - 1, j]
                if j > 0:
                    same = same and begins[j - 1, i] == begins[j - 1, i - 1]
                if not same:
                    first = i
            begins[j, i] = first
        last = s
        for i in range(s - 1, -1, -1):
            if i + 1 < s and begins[j, i + 1] == i + 1:
                last = i + 1
            ends[j, i] = last


@inlined
def _note(candidate, distance, found, distances, kept):
    """Put a class among the nearest found so far, nearest first; return how many there are."""
    room = found.size
    if kept == room:
        if distance >= distances[room - 1]:
            return kept
        kept -= 1
    place = kept
    while place > 0 and distances[place - 1] > distance:
        distances[place] = distances[place - 1]
        found[place] = found[place - 1]
        place -= 1
    distances[place] = distance
    found[place] = candidate
    return kept + 1


@inlined
def _apart(one, other, c, losses):
    """Return what two classes lose together in an attribute."""
    return apart(losses.codes[one, c], losses.codes[other, c], c, losses.columns, losses.scales, losses.positions)


@inlined
def _distance(one, other, begin, losses):
    """Return what two classes lose together in the attributes from one on."""
    total = 0.0
    for c in range(begin, losses.codes.shape[1]):
        total += _apart(one, other, c, losses)
    return total


@kernel
def nearest_classes(losses, begins, ends, queries, window, budget, near, distances, unseen):
    """Find the nearest classes of each of some.

    Parameters
    ----------
    losses : Losses
        The classes, in lexicographic order.
    begins, ends : int32[d, s]
        See `stretches_of`.
    queries : int64[m]
        Those whose neighbours are looked for.
    window : int
        Classes that stand so near in the order are looked at first.
    budget : int
        Stretches that are looked at for one class, at most: beyond that the neighbours may not be the nearest.
    near : int32[m, r]
        Receives the classes, nearest first, and -1 where there are no more.
    distances : float64[m, r]
        Receives what each loses together with the class.
    unseen : float64[m]
        Receives the least that a class which was not looked at may lose together with the class; infinite where all
        that could be nearer were looked at.
    """
    codes = losses.codes
    s, d = codes.shape
    room = near.shape[1]
    # The stretch that holds the class itself is always looked at, whatever the budget.
    from_ = np.empty(budget + d + 1, dtype=np.int32)
    to = np.empty(budget + d + 1, dtype=np.int32)
    depth = np.empty(budget + d + 1, dtype=np.int32)
    partial = np.empty(budget + d + 1, np.float64)
    for place in range(queries.size):
        q = np.int64(queries[place])
        found = near[place]
        nearness = distances[place]
        missed = np.inf
        kept = ZERO
        low = max(q - window, 0)
        high = min(q + window, s - 1)
        for i in range(low, high + 1):
            if i != q:
                kept = _note(i, _distance(q, i, ZERO, losses), found, nearness, kept)
        open_ = 1
        from_[0] = 0
        to[0] = s
        depth[0] = 0
        partial[0] = 0.0
        steps = 0
        while open_ > 0 and steps < budget:
            open_ -= 1
            a = np.int64(from_[open_])
            b = np.int64(to[open_])
            j = np.int64(depth[open_])
            so_far = partial[open_]
            steps += 1
            bound = nearness[room - 1] if kept == room else np.inf
            if so_far >= bound:
                continue
            if b - a == 1 or j == d:
                if a < low or a > high:
                    kept = _note(a, so_far + _distance(q, a, j, losses), found, nearness, kept)
                continue
            code = codes[q, j]
            # The first child that does not stand before the class's own.
            left: Any = a
            right = b
            while left < right:
                middle = (left + right) // 2
                if codes[middle, j] < code:
                    left = middle + 1
                else:
                    right = middle
            own: Any = left
            side: Any = own
            if own < b and codes[own, j] == code:
                side = np.int64(ends[j, own])
            child: Any = side
            while child < b and open_ < budget:
                distance = so_far + _apart(q, child, j, losses)
                if distance < bound:
                    from_[open_] = child
                    to[open_] = ends[j, child]
                    depth[open_] = j + 1
                    partial[open_] = distance
                    open_ += 1
                else:
                    # Those farther out are no nearer: of a set and a star all are as far, a missing value farther.
                    break
                child = np.int64(ends[j, child])
            if child < b and open_ >= budget:
                missed = min(missed, so_far + _apart(q, child, j, losses))
            child = own
            while child > a and open_ < budget:
                begin = np.int64(begins[j, child - 1])
                distance = so_far + _apart(q, begin, j, losses)
                if distance < bound:
                    from_[open_] = begin
                    to[open_] = child
                    depth[open_] = j + 1
                    partial[open_] = distance
                    open_ += 1
                else:
                    break
                child = begin
            if child > a and open_ >= budget:
                missed = min(missed, so_far + _apart(q, child - 1, j, losses))
            if side > own:
                from_[open_] = own
                to[open_] = side
                depth[open_] = j + 1
                partial[open_] = so_far
                open_ += 1
        for i in range(open_):
            missed = min(missed, partial[i])
        unseen[place] = missed
        for i in range(kept, room):
            found[i] = -1
            nearness[i] = np.inf
