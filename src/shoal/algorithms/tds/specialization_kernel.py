# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Top-down specialization: the best valid specialization again and again, with what each would do kept up to date.

A *record* is a row of an int32 matrix: the place of each quasi-identifier's code, the sensitive codes, one code for
their combination, and the number of rows that look like this. Records are rearranged in place, so that every group is a
range of them. Nodes of all trees have one numbering; so have the places of all codes, column after column.

What a specialization gains is a sum over groups, in whole units, so that it can be brought up to date group by group
without rounding: the score of a node is the same however its groups came about.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shoal._compiling import inlined, kernel, kernel_step
from shoal.algorithms.common.predicate_kernel import Asked, acceptable
from shoal.algorithms.common.whole_kernel import ZERO

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes = NDArray[np.int32]
    Counts = NDArray[np.int64]

__all__ = [
    "ANONYMITY",
    "DONE",
    "GROUPS",
    "LISTED",
    "MORE",
    "REFUSED",
    "ROOM",
    "UNIT",
    "VALID",
    "Candidates",
    "Groups",
    "Scratch",
    "Trees",
    "assess",
    "describe",
    "specialize",
    "weights_table",
]

UNIT = 1 << 24
"""Gains count in units of 1 / UNIT nats per row."""

GROUPS, ANONYMITY, LISTED, PERFORMED, DECIDED, VISITS = range(6)
"""Places in the state: groups, the size of the smallest one, valid candidates, specializations so far, nodes below
which nothing is open any more, records and candidates that were looked at."""

ABSENT, VALID, REFUSED, GONE = range(4)
"""What a node is: not in the cut yet (or a leaf), a candidate, one whose specialization is invalid, one of the past."""

_ZERO: Any = np.int64(0)
"""What counts start from: with one type of integers the predicate is compiled once."""
_ENDLESS: Any = np.int64(1 << 62)

DONE, MORE, ROOM = range(3)
"""Why `specialize` returned: no valid candidate is left, its budget is spent, the arrays of groups are full."""


class Trees(NamedTuple):
    """The trees of all columns, and the cut through them."""

    begin: Counts
    """Where the codes below each node begin in `order`."""
    end: Counts
    """Where they end."""
    column: Codes
    """Column of each node."""
    first: Counts
    """Smallest place of a code below each node: what decides between equal scores."""
    parts: Counts
    """Internal nodes at and below each node."""
    child_starts: Counts
    """Where the children of each node start in `children`; one more than there are nodes."""
    children: Codes
    """Nodes; those of one parent in the order of their codes."""
    log_sizes: Counts
    """Logarithm of the number of codes below each node, in units."""
    order: Codes
    """Places of codes; those below a node stand side by side."""
    cut: Codes
    """The node of the cut above each place."""
    branch: Codes
    """The number of that node's child above each place; 0 where it has none."""
    heads: Codes
    """A group of each node of the cut, from which `Groups.following` leads to the others; -1 where there is none."""


class Groups(NamedTuple):
    """The groups so far; arrays have room for more."""

    starts: Counts
    """First record of each group."""
    stops: Counts
    """The one behind its last."""
    spread: Counts
    """Sum of c log c over its sensitive values, in units."""
    nodes: Codes
    """Its node in each column, shape (columns, room)."""
    gains: Counts
    """What it adds to the gain of that node, where it is a candidate; the same shape."""
    following: Codes
    """The next group of the same node, or -1; the same shape."""
    changed: Codes
    """Scratch: the groups to look at again."""


class Candidates(NamedTuple):
    """What is known of specializing each node."""

    status: NDArray[np.int8]
    """ABSENT, VALID, REFUSED or GONE."""
    gain: Counts
    """Rows times the drop in KL-divergence, in units; of valid candidates."""
    smallest: Counts
    """Rows of the smallest group that it would make."""
    listed: Codes
    """The valid candidates, in any order."""
    where: Codes
    """Where each of them is listed."""


class Scratch(NamedTuple):
    """Memory that is used again and again; counts are all zero between uses."""

    spare: Codes
    """As many records as there are."""
    rows: Codes
    """As many numbers."""
    sizes: Counts
    """Rows by child."""
    places: Counts
    """Where the next record of each child goes."""
    branches: Codes
    """The children that a group has."""
    counts: Counts
    """Rows by sensitive code."""
    touched: Codes
    """The sensitive codes that occur."""
    said: Counts
    """Rows by combination of sensitive values."""
    weights: Counts
    """c log c in units, for small c."""


@kernel
def weights_table(size: int) -> Counts:
    """Return c log c in units for every c below a size."""
    table = np.zeros(size, dtype=np.int64)
    for c in range(2, size):
        table[c] = round(c * math.log(c) * UNIT)
    return table


@inlined
def _weight(count: int, table: Counts) -> int:
    if count < table.size:
        return int(table[count])
    return round(count * math.log(count) * UNIT)


@kernel
def describe(records: Codes, groups: Groups, g: int, scratch: Scratch) -> Any:
    """Fill in the spread of a group and return how many rows it has."""
    last = records.shape[1] - 1
    size = _ZERO
    spread = _ZERO
    for i in range(groups.starts[g], groups.stops[g]):
        scratch.said[records[i, last - 1]] += records[i, last]
        size += records[i, last]
    for i in range(groups.starts[g], groups.stops[g]):
        value = records[i, last - 1]
        if scratch.said[value] > 0:
            spread += _weight(scratch.said[value], scratch.weights)
            scratch.said[value] = 0
    groups.spread[g] = spread
    return size


@kernel_step
def _deal(records: Codes, start: int, stop: int, a: int, branch: Codes, scratch: Scratch) -> Any:
    """Deal the records of a group out to the children of its node: where each child's records go, and how many rows.

    Returns the number of children that have some; `branches` lists them. Their records are `rows[places - n:places]`.
    """
    last = records.shape[1] - 1
    found = _ZERO
    for i in range(start, stop):
        child = branch[records[i, a]]
        if scratch.sizes[child] == 0:
            scratch.branches[found] = child
            scratch.places[child] = 0
            found += 1
        scratch.sizes[child] += records[i, last]
        scratch.places[child] += 1
    begin = _ZERO
    for b in range(found):
        child = scratch.branches[b]
        begin, scratch.places[child] = begin + scratch.places[child], begin
    return found


@kernel_step
def _judge(records: Codes, attributes: int, begin: int, end: int, asked: Asked, scratch: Scratch) -> tuple[bool, int]:
    """Return whether the records `rows[begin:end]` are an acceptable group, and the sum of c log c if they are."""
    last = records.shape[1] - 1
    kinds = asked.starts.size - 1
    size = _ZERO
    distinct = _ZERO
    for i in range(begin, end):
        row = scratch.rows[i]
        count = records[row, last]
        size += count
        for j in range(kinds):
            code = records[row, attributes + j]
            if scratch.counts[code] == 0:
                scratch.touched[distinct] = code
                distinct += 1
            scratch.counts[code] += count
    good = acceptable(size, scratch.touched, distinct, scratch.counts, asked.starts, asked.rules, asked.bounds)
    spread = _ZERO
    for t in range(distinct):
        code = scratch.touched[t]
        if kinds == 1:
            spread += _weight(scratch.counts[code], scratch.weights)
        scratch.counts[code] = 0
    if good and kinds > 1:
        for i in range(begin, end):
            row = scratch.rows[i]
            scratch.said[records[row, last - 1]] += records[row, last]
        for i in range(begin, end):
            value = records[scratch.rows[i], last - 1]
            if scratch.said[value] > 0:
                spread += _weight(scratch.said[value], scratch.weights)
                scratch.said[value] = 0
    return good, spread


@kernel_step
def _assess(
    records: Codes, attributes: int, trees: Trees, groups: Groups, g: int, a: int, asked: Asked, scratch: Scratch
) -> tuple[bool, int, int]:
    """Specialize one group by one column on trial: whether that is valid, the gain, and the smallest part's rows."""
    node = groups.nodes[a, g]
    start, stop = groups.starts[g], groups.stops[g]
    found = _deal(records, start, stop, a, trees.branch, scratch)
    smallest = _ENDLESS
    gain = -groups.spread[g]
    first_child = trees.child_starts[node]
    for b in range(found):
        child = scratch.branches[b]
        size = scratch.sizes[child]
        smallest = min(smallest, size)
        gain += size * (trees.log_sizes[node] - trees.log_sizes[trees.children[first_child + child]])
        scratch.sizes[child] = 0
    if smallest < asked.smallest:
        return False, _ZERO, _ZERO
    for i in range(start, stop):
        child = trees.branch[records[i, a]]
        scratch.rows[scratch.places[child]] = i
        scratch.places[child] += 1
    begin = _ZERO
    for b in range(found):
        end = scratch.places[scratch.branches[b]]
        good, spread = _judge(records, attributes, begin, end, asked, scratch)
        if not good:
            return False, _ZERO, _ZERO
        gain += spread
        begin = end
    return True, gain, smallest


@kernel
def assess(
    records: Codes,
    trees: Trees,
    groups: Groups,
    candidates: Candidates,
    asked: Asked,
    scratch: Scratch,
    state: Counts,
    number: int,
) -> None:
    """Add what the first `number` changed groups say of each candidate above them; some turn out to be invalid."""
    attributes = groups.nodes.shape[0]
    for a in range(attributes):
        for n in range(number):
            g = groups.changed[n]
            node = groups.nodes[a, g]
            if candidates.status[node] != VALID:
                continue
            state[VISITS] += groups.stops[g] - groups.starts[g]
            good, gain, smallest = _assess(records, attributes, trees, groups, g, a, asked, scratch)
            if good:
                groups.gains[a, g] = gain
                candidates.gain[node] += gain
                candidates.smallest[node] = min(candidates.smallest[node], smallest)
            else:
                _strike(candidates, state, node)
                candidates.status[node] = REFUSED
                state[DECIDED] += trees.parts[node]


@inlined
def _strike(candidates: Candidates, state: Counts, node: int) -> None:
    """Take a node from the list of valid candidates."""
    place = candidates.where[node]
    state[LISTED] -= 1
    other = candidates.listed[state[LISTED]]
    candidates.listed[place] = other
    candidates.where[other] = place


@inlined
def _best(trees: Trees, candidates: Candidates, state: Counts) -> int:
    """Return the valid candidate with the best score, gain / (loss of anonymity + 1); -1 where there is none."""
    best = -1
    highest = 0.0
    for n in range(state[LISTED]):
        node = candidates.listed[n]
        loss = max(0, state[ANONYMITY] - candidates.smallest[node])
        score = candidates.gain[node] / (loss + 1)
        if best < 0 or score > highest or (score == highest and trees.first[node] < trees.first[best]):
            best = node
            highest = score
    return best


@inlined
def _room_for(trees: Trees, groups: Groups, node: int, state: Counts) -> int:
    """Return how many groups there are at most after a specialization."""
    children = trees.child_starts[node + 1] - trees.child_starts[node]
    room = int(state[GROUPS])
    g = trees.heads[node]
    while g >= 0:
        room += min(children, groups.stops[g] - groups.starts[g]) - 1
        g = groups.following[trees.column[node], g]
    return room


@inlined
def _enlist(trees: Trees, groups: Groups, g: int, a: int, node: int) -> None:
    """Put a group below a node in column a."""
    groups.nodes[a, g] = node
    groups.following[a, g] = trees.heads[node]
    trees.heads[node] = g


@kernel_step
def _split(
    records: Codes,
    trees: Trees,
    groups: Groups,
    candidates: Candidates,
    g: int,
    a: int,
    scratch: Scratch,
    state: Counts,
) -> Any:
    """Split a group by the children of its node in column a, and return how many parts there are.

    The first part keeps the number of the group, the others get new ones.
    """
    attributes = groups.nodes.shape[0]
    node = groups.nodes[a, g]
    for other in range(attributes):
        above = groups.nodes[other, g]
        if other != a and candidates.status[above] == VALID:
            candidates.gain[above] -= groups.gains[other, g]
    start, stop = groups.starts[g], groups.stops[g]
    found = _deal(records, start, stop, a, trees.branch, scratch)
    for i in range(start, stop):
        child = trees.branch[records[i, a]]
        place = start + scratch.places[child]
        scratch.places[child] += 1
        for column in range(records.shape[1]):
            scratch.spare[place, column] = records[i, column]
    for i in range(start, stop):
        for column in range(records.shape[1]):
            records[i, column] = scratch.spare[i, column]
    begin = start
    for b in range(found):
        child = scratch.branches[b]
        part = g
        if b > 0:
            part = state[GROUPS]
            state[GROUPS] += 1
            for other in range(attributes):
                if other != a:
                    _enlist(trees, groups, part, other, groups.nodes[other, g])
        groups.starts[part] = begin
        begin = start + scratch.places[child]
        groups.stops[part] = begin
        _enlist(trees, groups, part, a, trees.children[trees.child_starts[node] + child])
        scratch.sizes[child] = 0
    return found


@kernel_step
def _replace(trees: Trees, candidates: Candidates, node: int, state: Counts) -> None:
    """Put the children of a node in its place in the cut; those that have children become candidates."""
    _strike(candidates, state, node)
    candidates.status[node] = GONE
    for c in range(trees.child_starts[node], trees.child_starts[node + 1]):
        child = trees.children[c]
        for p in range(trees.begin[child], trees.end[child]):
            trees.cut[trees.order[p]] = child
        first = trees.child_starts[child]
        for below in range(first, trees.child_starts[child + 1]):
            grandchild = trees.children[below]
            for p in range(trees.begin[grandchild], trees.end[grandchild]):
                trees.branch[trees.order[p]] = below - first
        if trees.child_starts[child + 1] > first:
            candidates.status[child] = VALID
            candidates.gain[child] = 0
            candidates.smallest[child] = _ENDLESS
            candidates.where[child] = state[LISTED]
            candidates.listed[state[LISTED]] = child
            state[LISTED] += 1


@kernel
def specialize(
    records: Codes,
    trees: Trees,
    groups: Groups,
    candidates: Candidates,
    asked: Asked,
    scratch: Scratch,
    state: Counts,
    budget: int,
) -> int:
    """Perform the best valid specialization until none is left, the groups need room, or the budget is spent.

    Parameters
    ----------
    records : int32 (r, attributes + kinds + 2), rearranged
    trees, groups, candidates, scratch, state : brought up to date
    asked : what every group has to satisfy
    budget : int, records to look at before returning

    Returns
    -------
    int
        DONE, MORE or ROOM.
    """
    limit = state[VISITS] + budget
    while state[VISITS] < limit:
        node = _best(trees, candidates, state)
        if node < 0:
            return DONE
        if _room_for(trees, groups, node, state) > groups.starts.size:
            return ROOM
        a = trees.column[node]
        number = ZERO
        g = trees.heads[node]
        while g >= 0:
            after = groups.following[a, g]
            before = state[GROUPS]
            _split(records, trees, groups, candidates, g, a, scratch, state)
            groups.changed[number] = g
            number += 1
            for part in range(before, state[GROUPS]):
                groups.changed[number] = part
                number += 1
            g = after
        _replace(trees, candidates, node, state)
        state[PERFORMED] += 1
        state[DECIDED] += 1
        state[VISITS] += state[LISTED]
        for n in range(number):
            size = describe(records, groups, groups.changed[n], scratch)
            state[ANONYMITY] = min(state[ANONYMITY], size)
        assess(records, trees, groups, candidates, asked, scratch, state, number)
    return MORE
