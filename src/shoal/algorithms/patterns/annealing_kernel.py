# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Simulated annealing over the output type of each row: rows move alone, groups are founded and dissolved as a whole.

A group of 0 < n < k rows is allowed on the way and costs a penalty for each row that it lacks or would have to lose,
whichever are fewer: so groups come and go without a wall between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shoal._compiling import inlined, kernel, kernel_step
from shoal.solver.random_kernel import draw, happens

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Choices", "Placement", "anneal", "place_all", "settle_short_groups"]

_WHOLE_GROUPS: Any = np.int64(10)
"""Of a hundred steps, those that found or dissolve a group; the others move a row."""
_POOL = 256
"""Rows that are looked at for a new group; more of them are begun at a random one."""
_LARGE: Any = np.int64(2)
"""Groups of more than so many times k rows are not dissolved."""


class Choices(NamedTuple):
    """Which output types each row type may follow, listed from both sides, and which rows there are."""

    type_starts: NDArray[np.int64]
    """Where the output types of each row type start in `outputs`; one more than there are types."""
    outputs: NDArray[np.int32]
    """Output types, by row type."""
    output_starts: NDArray[np.int64]
    """Where the row types of each output type start in `types`; one more than there are output types."""
    types: NDArray[np.int32]
    """Row types, by output type."""
    row_starts: NDArray[np.int64]
    """First row of each row type; one more than there are types."""
    type_of: NDArray[np.int32]
    """Row type of each row."""
    costs: NDArray[np.float64]
    """What a row costs in each output type; the unit of the temperature and the penalty."""
    k: int


class Placement(NamedTuple):
    """The output type of each row, with the rows of each output type as a linked list."""

    output_of: NDArray[np.int32]
    """Output type of each row."""
    load: NDArray[np.int64]
    """Rows of each output type."""
    first: NDArray[np.int32]
    """A row of each output type, -1 where it has none."""
    following: NDArray[np.int32]
    """The next row of the same output type, -1 after the last one."""
    before: NDArray[np.int32]
    """The row before it, -1 for the first one."""
    moved: NDArray[np.int32]
    """Rows that the step that is being tried has moved."""
    origin: NDArray[np.int32]
    """Where they came from."""


@kernel
def place_all(placement):
    """Fill in the loads and the lists from `output_of`."""
    placement.load[:] = 0
    placement.first[:] = -1
    for row in range(placement.output_of.size):
        _enter(placement, row, placement.output_of[row])


@inlined
def _enter(placement, row, output):
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
    """Return by how many rows a group misses being one: the fewer of those that it lacks and those that it has."""
    return min(load, max(np.int64(0), k - load))


@inlined
def _leaving(placement, output, k):
    return _short(placement.load[output] - 1, k) - _short(placement.load[output], k)


@inlined
def _joining(placement, output, k):
    return _short(placement.load[output] + 1, k) - _short(placement.load[output], k)


@inlined
def _tried(choices, placement, row, output, penalty, count):
    """Move a row as a part of a step that may be taken back; return the change."""
    old = placement.output_of[row]
    change = choices.costs[output] - choices.costs[old]
    change += penalty * (_leaving(placement, old, choices.k) + _joining(placement, output, choices.k))
    placement.moved[count] = row
    placement.origin[count] = old
    _move(placement, row, output)
    return change


@kernel_step
def _take_back(placement, count, down_to):
    while count > down_to:
        count -= 1
        _move(placement, placement.moved[count], placement.origin[count])


@kernel_step
def _dissolve(choices, placement, output, penalty, noise, random, count):
    """Move every row of a group to where it costs least; return the change and the rows moved so far.

    The change is infinite where a row has nowhere else to go, or where there are too many.
    """
    change = 0.0
    while placement.first[output] >= 0:
        row = placement.first[output]
        kind = choices.type_of[row]
        best, least = np.int32(-1), np.inf
        for q in range(choices.type_starts[kind], choices.type_starts[kind + 1]):
            other = choices.outputs[q]
            if other != output:
                value = choices.costs[other] + penalty * _joining(placement, other, choices.k)
                if noise > 0.0:
                    value += noise * draw(random, np.int64(1024)) / 1024.0
                if value < least:
                    best, least = other, value
        if best < 0 or count == placement.moved.size:
            return np.inf, count
        change += _tried(choices, placement, row, best, penalty, count)
        count += 1
    return change, count


@kernel_step
def _found(choices, placement, output, penalty, noise, random, pool, keys):
    """Bring an output type to k rows, those that cost least; dissolve groups that fall short where that costs less.

    Returns the change, infinite where there are not enough rows, and the rows moved.
    """
    begin, end = choices.output_starts[output], choices.output_starts[output + 1]
    at = begin + draw(random, end - begin)
    filled = 0
    for _ in range(end - begin):
        kind = choices.types[at]
        for row in range(choices.row_starts[kind], choices.row_starts[kind + 1]):
            if placement.output_of[row] != output and filled < pool.size:
                pool[filled] = row
                old = placement.output_of[row]
                keys[filled] = penalty * _leaving(placement, old, choices.k) - choices.costs[old]
                keys[filled] += noise * draw(random, np.int64(1024)) / 1024.0
                filled += 1
        at += 1
        if at == end:
            at = begin
    change = 0.0
    count = np.int64(0)
    for place in range(choices.k - placement.load[output]):
        best = place
        for p in range(place, filled):
            if keys[p] < keys[best]:
                best = p
        if place >= filled or count == placement.moved.size:
            return np.inf, count
        pool[place], pool[best] = pool[best], pool[place]
        keys[place], keys[best] = keys[best], keys[place]
        old = placement.output_of[pool[place]]
        stood = _leaving(placement, old, choices.k)
        change += _tried(choices, placement, pool[place], output, penalty, count)
        count += 1
        worth = penalty * (_leaving(placement, old, choices.k) - stood)
        if worth != 0.0:  # what the others of that group cost now
            for p in range(place + 1, filled):
                if placement.output_of[pool[p]] == old:
                    keys[p] += worth
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
        What each row costs that a group misses being one.
    temperature : float64
        A change of that much is accepted with probability 1 / e; > 0.
    steps : int64
    random : uint64[1]
        State of the random numbers, not 0.
    """
    rows = choices.type_of.size
    k = choices.k
    size = min(max(_POOL, 2 * k), 16 * _POOL)
    pool = np.empty(size, dtype=np.int32)
    keys = np.empty(size, dtype=np.float64)
    for _ in range(steps):
        row = draw(random, rows)
        kind = choices.type_of[row]
        begin = choices.type_starts[kind]
        several = choices.type_starts[kind + 1] - begin
        if several < 2:
            continue
        here = placement.output_of[row]
        there = choices.outputs[begin + draw(random, several)]
        if there == here:
            continue
        if draw(random, np.int64(100)) >= _WHOLE_GROUPS:
            change = choices.costs[there] - choices.costs[here]
            change += penalty * (_leaving(placement, here, k) + _joining(placement, there, k))
            if happens(change, temperature, random):
                _move(placement, row, there)
            continue
        if placement.load[there] < k:
            change, count = _found(choices, placement, there, penalty, temperature, random, pool, keys)
        elif placement.load[here] <= _LARGE * k:
            change, count = _dissolve(choices, placement, here, penalty, temperature, random, np.int64(0))
        else:
            continue
        if not happens(change, temperature, random):
            _take_back(placement, count, np.int64(0))


@kernel
def settle_short_groups(choices, placement):
    """Dissolve the groups of less than k rows; return whether all of their rows found another group.

    Every row goes to the cheapest group that has k rows.
    """
    complete = True
    for output in range(choices.costs.size):
        if 0 < placement.load[output] < choices.k:
            row = placement.first[output]
            while row >= 0:
                after = placement.following[row]
                kind = choices.type_of[row]
                best = np.int32(-1)
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
