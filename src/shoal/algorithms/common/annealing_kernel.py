# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Simulated annealing over the output type of each row: rows move alone, groups are opened and dissolved as a whole.

A group of 0 < n < k rows is allowed on the way. It costs a penalty for each row that it lacks or would have to lose,
whichever number is smaller, so that groups appear and disappear without a barrier.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal._core.compiling import inlined, kernel, kernel_step
from shoal.solver.random_kernel import accept_move, draw

__all__ = ["Choices", "Placement", "anneal", "place_all", "settle_short_groups"]

_WHOLE_GROUPS: Any = np.int64(10)
"""Percentage of steps that open or dissolve a group; all other steps move a row."""
_POOL = 256
"""Number of rows considered for a new group; if there are more, the scan starts at a random one."""
_LARGE: Any = np.int64(2)
"""Groups of more than this multiple of k rows are not dissolved."""


class Choices(NamedTuple):
    """Output types that each row type may follow, listed from both sides, and the rows of each type."""

    type_starts: NDArray[np.int64]
    """Start of the output types of each row type in `outputs`; one more than there are types."""
    outputs: NDArray[np.int32]
    """Output types, by row type."""
    output_starts: NDArray[np.int64]
    """Start of the row types of each output type in `types`; one more than there are output types."""
    types: NDArray[np.int32]
    """Row types, by output type."""
    row_starts: NDArray[np.int64]
    """First row of each row type; one more than there are types."""
    type_of: NDArray[np.int32]
    """Row type of each row."""
    costs: NDArray[np.float64]
    """Cost of a row in each output type; the unit of the temperature and the penalty."""
    k: int


class Placement(NamedTuple):
    """The output type of each row, with the rows of each output type as a linked list."""

    output_of: NDArray[np.int32]
    """Output type of each row."""
    load: NDArray[np.int64]
    """Rows of each output type."""
    first: NDArray[np.int32]
    """One row of each output type, the head of its list; -1 if there is none."""
    following: NDArray[np.int32]
    """The next row of the same output type, -1 after the last row."""
    before: NDArray[np.int32]
    """The previous row of the same output type, -1 for the first row."""
    moved: NDArray[np.int32]
    """Rows moved by the current step."""
    origin: NDArray[np.int32]
    """Output type that each of them came from."""


@kernel
def place_all(placement):
    """Fill in the loads and the lists from `output_of`."""
    # Empty lists; every row is then inserted in front.
    placement.load[:] = 0
    placement.first[:] = -1
    for row in range(placement.output_of.size):
        _enter(placement, row, placement.output_of[row])


@inlined
def _enter(placement, row, output):
    # Insert the row at the head of the list.
    head = placement.first[output]
    placement.output_of[row] = output
    placement.following[row] = head
    placement.before[row] = -1
    if head >= 0:
        placement.before[head] = row
    placement.first[output] = row
    placement.load[output] += 1


@inlined
def _move(placement, row, output):
    # Unlink the row from its list, then insert it in the other.
    old = placement.output_of[row]
    after, ahead = placement.following[row], placement.before[row]
    if ahead >= 0:
        placement.following[ahead] = after
    else:
        placement.first[old] = after
    if after >= 0:
        placement.before[after] = ahead
    placement.load[old] -= 1
    _enter(placement, row, output)


@inlined
def _short(load, k):
    """Count the rows between a group and a valid size: to k or to 0, whichever is nearer."""
    return min(load, max(np.int64(0), k - load))


@inlined
def _leaving(placement, output, k):
    # Change of the penalty if a row leaves.
    return _short(placement.load[output] - 1, k) - _short(placement.load[output], k)


@inlined
def _joining(placement, output, k):
    # Change of the penalty if a row joins.
    return _short(placement.load[output] + 1, k) - _short(placement.load[output], k)


@inlined
def _try_move(choices, placement, row, output, penalty, count):
    """Move a row as part of a step that may be undone; return the change of the cost."""
    # Cost of the row itself, then the penalty of both groups.
    old = placement.output_of[row]
    change = choices.costs[output] - choices.costs[old]
    change += penalty * (_leaving(placement, old, choices.k) + _joining(placement, output, choices.k))
    # Log the move for `_take_back`.
    placement.moved[count] = row
    placement.origin[count] = old
    _move(placement, row, output)
    return change


@kernel_step
def _take_back(placement, count, down_to):
    # Undo the moves in reverse order, so that the lists are restored.
    while count > down_to:
        count -= 1
        _move(placement, placement.moved[count], placement.origin[count])


@kernel_step
def _dissolve(choices, placement, output, penalty, noise, random, count):
    """Move every row of a group to its cheapest other output type; return the change and the rows moved so far.

    The change is infinite if a row has no other output type, or if there are too many rows.
    """
    change = 0.0
    # The list shrinks by its head with each move.
    while placement.first[output] >= 0:
        row = placement.first[output]
        kind = choices.type_of[row]
        best, least = np.int32(-1), np.inf
        # Choose the cheapest other type; noise of the size of the temperature diversifies the choice.
        for q in range(choices.type_starts[kind], choices.type_starts[kind + 1]):
            other = choices.outputs[q]
            if other != output:
                value = choices.costs[other] + penalty * _joining(placement, other, choices.k)
                if noise > 0.0:
                    value += noise * draw(random, np.int64(1024)) / 1024.0
                if value < least:
                    best, least = other, value
        # Give up: the caller undoes the moves.
        if best < 0 or count == placement.moved.size:
            return np.inf, count
        change += _try_move(choices, placement, row, best, penalty, count)
        count += 1
    return change, count


@kernel_step
def _found(choices, placement, output, penalty, noise, random, pool, keys):
    """Raise an output type to k rows with the cheapest rows; dissolve groups that fall short if that lowers the cost.

    Returns the change, infinite if there are not enough rows, and the number of rows moved.
    """
    # Fill the pool with rows of compatible types, from a random type on.
    begin, end = choices.output_starts[output], choices.output_starts[output + 1]
    at = begin + draw(random, end - begin)
    filled = 0
    for _ in range(end - begin):
        kind = choices.types[at]
        for row in range(choices.row_starts[kind], choices.row_starts[kind + 1]):
            # The key is what the row saves where it is now: penalty change less its cost there.
            if placement.output_of[row] != output and filled < pool.size:
                pool[filled] = row
                old = placement.output_of[row]
                keys[filled] = penalty * _leaving(placement, old, choices.k) - choices.costs[old]
                keys[filled] += noise * draw(random, np.int64(1024)) / 1024.0
                filled += 1
        # Row types are visited in a circle.
        at += 1
        if at == end:
            at = begin
    # Take the cheapest rows of the pool, one by one: each move changes the keys of its group.
    change = 0.0
    count = np.int64(0)
    for place in range(choices.k - placement.load[output]):
        best = place
        for p in range(place, filled):
            if keys[p] < keys[best]:
                best = p
        # The pool is too small, or the log is full.
        if place >= filled or count == placement.moved.size:
            return np.inf, count
        # Selection sort, as far as it is needed.
        pool[place], pool[best] = pool[best], pool[place]
        keys[place], keys[best] = keys[best], keys[place]
        old = placement.output_of[pool[place]]
        stood = _leaving(placement, old, choices.k)
        change += _try_move(choices, placement, pool[place], output, penalty, count)
        count += 1
        worth = penalty * (_leaving(placement, old, choices.k) - stood)
        if worth != 0.0:  # the marginal penalty of the group's other rows has changed
            for p in range(place + 1, filled):
                if placement.output_of[pool[p]] == old:
                    keys[p] += worth
    # Groups that lost rows and are short now: dissolve each if that pays, else undo only that.
    for p in range(count):
        old = placement.origin[p]
        if 0 < placement.load[old] < choices.k:
            more, reached = _dissolve(choices, placement, old, penalty, noise, random, count)
            if more < 0.0:
                change += more
                count = reached
            else:
                _take_back(placement, reached, count)
    return change, count


@kernel
def anneal(choices, placement, penalty, temperature, steps, random):
    """Make random steps at one temperature.

    Parameters
    ----------
    choices : Choices
    placement : Placement
        Changed in place.
    penalty : float64
        Penalty of each row that a group lacks.
    temperature : float64
        A change of that much is accepted with probability 1 / e; > 0.
    steps : int64
    random : uint64[1]
        State of the random numbers, not 0.
    """
    rows = choices.type_of.size
    k = choices.k
    # The pool has room for a large group, but a step stays cheap.
    size = min(max(_POOL, 2 * k), 16 * _POOL)
    pool = np.empty(size, dtype=np.int32)
    keys = np.empty(size, dtype=np.float64)
    # Each step draws a row and another output type of its type.
    for _ in range(steps):
        row = draw(random, rows)
        kind = choices.type_of[row]
        begin = choices.type_starts[kind]
        several = choices.type_starts[kind + 1] - begin
        # A type with a single choice cannot move.
        if several < 2:
            continue
        here = placement.output_of[row]
        there = choices.outputs[begin + draw(random, several)]
        if there == here:
            continue
        # The usual step: the row moves alone.
        if draw(random, np.int64(100)) >= _WHOLE_GROUPS:
            change = choices.costs[there] - choices.costs[here]
            change += penalty * (_leaving(placement, here, k) + _joining(placement, there, k))
            if accept_move(change, temperature, random):
                _move(placement, row, there)
            continue
        # Otherwise a step for a whole group: open the target if it is short, else dissolve the row's own group.
        if placement.load[there] < k:
            change, count = _found(choices, placement, there, penalty, temperature, random, pool, keys)
        elif placement.load[here] <= _LARGE * k:
            change, count = _dissolve(choices, placement, here, penalty, temperature, random, np.int64(0))
        else:
            continue
        # Metropolis rule: a rejected step is undone as a whole.
        if not accept_move(change, temperature, random):
            _take_back(placement, count, np.int64(0))


@kernel
def settle_short_groups(choices, placement):
    """Dissolve the groups of fewer than k rows; return whether every one of their rows found another group.

    Every row goes to the cheapest group with at least k rows.
    """
    complete = True
    # Groups that are complete stay complete: rows only join them.
    for output in range(choices.costs.size):
        if 0 < placement.load[output] < choices.k:
            row = placement.first[output]
            while row >= 0:
                after = placement.following[row]
                kind = choices.type_of[row]
                best = np.int32(-1)
                # The row moves alone; its successor is read first, because the move relinks the row.
                for q in range(choices.type_starts[kind], choices.type_starts[kind + 1]):
                    other = choices.outputs[q]
                    if placement.load[other] >= choices.k and (best < 0 or choices.costs[other] < choices.costs[best]):
                        best = other
                if best < 0:
                    complete = False
                else:
                    _move(placement, row, best)
                row = after
    return complete
