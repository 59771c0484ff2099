# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Nearest neighbours of every class of equal rows, by the loss of a group of two.

The classes are in lexicographic order, so the classes that agree on the first j attributes are a stretch: together the
stretches form a tree. The search descends from its root and prunes stretches that are too far already. Losses of
attributes add up, so the first attributes should be those with the largest steps between values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal._core.compiling import inlined, kernel, linear_kernel
from shoal.algorithms.common.whole_kernel import ZERO
from shoal.algorithms.local_search.losses_kernel import apart

Codes = NDArray[np.int32]


__all__ = ["nearest_classes", "stretches_of"]


@linear_kernel
def stretches_of(codes, begins, ends):
    """Fill in the first place, and the place after the last, of the classes that agree with each on j + 1 attributes.

    Parameters
    ----------
    codes : int32[s, d]
        Codes of each class, in lexicographic order.
    begins, ends : int32[d, s]
        Receive the stretches.
    """
    s, d = codes.shape
    # Forward pass: a stretch starts when the code changes, or the stretch of the attribute before.
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
        # Backward pass: a stretch ends where the next begins.
        last = s
        for i in range(s - 1, -1, -1):
            if i + 1 < s and begins[j, i + 1] == i + 1:
                last = i + 1
            ends[j, i] = last


@inlined
def _insert_neighbour(candidate, distance, found, distances, kept):
    """Insert a class into the list of the nearest so far, nearest first; return the length of the list."""
    # A full list drops its last entry, if the candidate is nearer.
    room = found.size
    if kept == room:
        if distance >= distances[room - 1]:
            return kept
        kept -= 1
    # Insertion from the end; ties stay behind earlier entries.
    place = kept
    while place > 0 and distances[place - 1] > distance:
        distances[place] = distances[place - 1]
        found[place] = found[place - 1]
        place -= 1
    distances[place] = distance
    found[place] = candidate
    return kept + 1


@inlined
def _class_distance(one, other, c, losses):
    """Compute the loss of two classes together in an attribute."""
    return apart(losses.codes[one, c], losses.codes[other, c], c, losses.columns, losses.scales, losses.positions)


@inlined
def _distance(one, other, begin, losses):
    """Compute the loss of two classes together in all attributes from `begin` on."""
    total = 0.0
    for c in range(begin, losses.codes.shape[1]):
        total += _class_distance(one, other, c, losses)
    return total


@kernel
def nearest_classes(losses, begins, ends, queries, window, budget, near, distances, unseen):
    """Find the nearest classes for each query.

    Parameters
    ----------
    losses : Losses
        The classes, in lexicographic order.
    begins, ends : int32[d, s]
        See `stretches_of`.
    queries : int64[m]
        The classes whose neighbours are searched.
    window : int
        Classes at most this far away in the order are visited first.
    budget : int
        Largest number of stretches to visit for one class: beyond it the neighbours may not be the nearest.
    near : int32[m, r]
        Receives the classes, nearest first, then -1.
    distances : float64[m, r]
        Receives the loss of each neighbour together with the class.
    unseen : float64[m]
        Receives a lower bound on the loss of any unvisited class together with the class; infinite if all classes that
        could be nearer were visited.
    """
    codes = losses.codes
    s, d = codes.shape
    room = near.shape[1]
    # The stretch of the class itself is always visited, at any budget.
    from_ = np.empty(budget + d + 1, dtype=np.int32)
    to = np.empty(budget + d + 1, dtype=np.int32)
    depth = np.empty(budget + d + 1, dtype=np.int32)
    partial = np.empty(budget + d + 1, np.float64)
    # Each query is a search of its own.
    for place in range(queries.size):
        q = np.int64(queries[place])
        found = near[place]
        nearness = distances[place]
        missed = np.inf
        kept = ZERO
        # Neighbours in the order give a first bound for pruning.
        low = max(q - window, 0)
        high = min(q + window, s - 1)
        for i in range(low, high + 1):
            if i != q:
                kept = _insert_neighbour(i, _distance(q, i, ZERO, losses), found, nearness, kept)
        # Depth-first search with a stack of stretches, from the whole table.
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
            # Prune with the distance of the farthest neighbour so far.
            bound = nearness[room - 1] if kept == room else np.inf
            if so_far >= bound:
                continue
            # A single class, or equal classes: compute the distance of the remaining attributes.
            if b - a == 1 or j == d:
                if a < low or a > high:
                    kept = _insert_neighbour(a, so_far + _distance(q, a, j, losses), found, nearness, kept)
                continue
            code = codes[q, j]
            # Binary search: the first child that is not before the class's own child.
            left: Any = a
            right = b
            while left < right:
                middle = (left + right) // 2
                if codes[middle, j] < code:
                    left = middle + 1
                else:
                    right = middle
            # The child that agrees with the class in this attribute is visited first, hence pushed last.
            own: Any = left
            side: Any = own
            if own < b and codes[own, j] == code:
                side = np.int64(ends[j, own])
            # Children with larger codes, in ascending order.
            child: Any = side
            while child < b and open_ < budget:
                distance = so_far + _class_distance(q, child, j, losses)
                if distance < bound:
                    from_[open_] = child
                    to[open_] = ends[j, child]
                    depth[open_] = j + 1
                    partial[open_] = distance
                    open_ += 1
                else:
                    # Children further out are not nearer: in a set or star all are equally far, a missing value is
                    # farther.
                    break
                child = np.int64(ends[j, child])
            # The budget is used up: the next child bounds what was missed.
            if child < b and open_ >= budget:
                missed = min(missed, so_far + _class_distance(q, child, j, losses))
            # Children with smaller codes, in descending order.
            child = own
            while child > a and open_ < budget:
                begin = np.int64(begins[j, child - 1])
                distance = so_far + _class_distance(q, begin, j, losses)
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
                missed = min(missed, so_far + _class_distance(q, child - 1, j, losses))
            # The own child goes on top of the stack.
            if side > own:
                from_[open_] = own
                to[open_] = side
                depth[open_] = j + 1
                partial[open_] = so_far
                open_ += 1
        # Stretches still on the stack were not visited.
        for i in range(open_):
            missed = min(missed, partial[i])
        unseen[place] = missed
        # Fill the rest of the row.
        for i in range(kept, room):
            found[i] = -1
            nearness[i] = np.inf
