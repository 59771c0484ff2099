# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Top-down specialization: perform the best valid specialization repeatedly, with the scores of all kept up to date.

A *record* is a row of an int32 matrix: the place of each quasi-identifier's code, the sensitive codes, one code for
their combination, and the number of identical rows. Records are rearranged in place, so that every group is a range of
them. Nodes of all trees have one numbering; so have the places of all codes, column after column.

The gain of a specialization is a sum over groups, in integers, so that it can be updated group by group without
rounding: the score of a node does not depend on the history of its groups.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal._core.compiling import inlined, kernel, kernel_step
from shoal.algorithms.common.predicate_kernel import Predicate, acceptable
from shoal.algorithms.common.whole_kernel import ZERO

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
"""Gains are integers: multiples of 1 / UNIT nats per row."""

GROUPS, ANONYMITY, LISTED, PERFORMED, DECIDED, VISITS = range(6)
"""Indices of the state: groups, size of the smallest group, valid candidates, specializations so far, nodes without
open candidates below, records and candidates visited so far."""

ABSENT, VALID, REFUSED, GONE = range(4)
"""Status of a node: not yet in the cut (or a leaf), a candidate, an invalid candidate, already specialized."""

_ZERO: Any = np.int64(0)
"""Initial value of counts: with one integer type the predicate is compiled once."""
_ENDLESS: Any = np.int64(1 << 62)

DONE, MORE, ROOM = range(3)
"""Reasons for the return of `specialize`: no valid candidate, budget spent, arrays of groups full."""


class Trees(NamedTuple):
    """The trees of all columns, and the cut through them."""

    begin: Counts
    """Start of the codes below each node in `order`."""
    end: Counts
    """End of the codes below each node in `order`."""
    column: Codes
    """Column of each node."""
    first: Counts
    """Smallest place of a code below each node: breaks ties between equal scores."""
    parts: Counts
    """Number of internal nodes at and below each node."""
    child_starts: Counts
    """Start of the children of each node in `children`; one more than there are nodes."""
    children: Codes
    """Children of all nodes; those of one parent in the order of their codes."""
    log_sizes: Counts
    """Logarithm of the number of codes below each node, times UNIT."""
    order: Codes
    """Places of codes; the codes below a node are neighbours."""
    cut: Codes
    """The node of the cut above each place."""
    branch: Codes
    """Number of that node's child above each place; 0 if the node is a leaf."""
    heads: Codes
    """A group of each node of the cut, from which `Groups.following` leads to the others; -1 if there is none."""


class Groups(NamedTuple):
    """The groups so far; arrays have room for more."""

    starts: Counts
    """First record of each group."""
    stops: Counts
    """Place after the last record of each group."""
    spread: Counts
    """Sum of c log c over its sensitive values, times UNIT."""
    nodes: Codes
    """Node of each group in each column, shape (columns, room)."""
    gains: Counts
    """Contribution of each group to the gain of that node if the node is a candidate; the same shape."""
    following: Codes
    """The next group of the same node, or -1; the same shape."""
    changed: Codes
    """Scratch: groups to evaluate again."""


class Candidates(NamedTuple):
    """Scores of specializing each node."""

    status: NDArray[np.int8]
    """ABSENT, VALID, REFUSED or GONE."""
    gain: Counts
    """Rows times the drop in KL-divergence, times UNIT; of valid candidates."""
    smallest: Counts
    """Size of the smallest group after the specialization."""
    listed: Codes
    """The valid candidates, in any order."""
    where: Codes
    """Place of each valid candidate in `listed`."""


class Scratch(NamedTuple):
    """Reusable memory; counts are zero between uses."""

    spare: Codes
    """Copy of the records while they are rearranged."""
    rows: Codes
    """Numbers of records, sorted by child."""
    sizes: Counts
    """Rows by child."""
    places: Counts
    """Place of the next record of each child."""
    branches: Codes
    """The children that occur in a group."""
    counts: Counts
    """Rows by sensitive code."""
    touched: Codes
    """The sensitive codes that occur."""
    combination_counts: Counts
    """Rows by combination of sensitive values."""
    weights: Counts
    """c log c times UNIT, for small c."""


@kernel
def weights_table(size: int) -> Counts:
    """Tabulate c log c, times UNIT, for every c below a size."""
    table = np.zeros(size, dtype=np.int64)
    # 0 log 0 and 1 log 1 are 0.
    for c in range(2, size):
        table[c] = round(c * math.log(c) * UNIT)
    return table


@inlined
# Small counts are by far the most frequent: look them up.
def _weight(count: int, table: Counts) -> int:
    if count < table.size:
        return int(table[count])
    return round(count * math.log(count) * UNIT)


@kernel
def describe(records: Codes, groups: Groups, g: int, scratch: Scratch) -> Any:
    """Compute the spread of a group, store it, and return the number of rows."""
    last = records.shape[1] - 1
    # Count the rows by combination of sensitive values.
    size = _ZERO
    spread = _ZERO
    for i in range(groups.starts[g], groups.stops[g]):
        scratch.combination_counts[records[i, last - 1]] += records[i, last]
        size += records[i, last]
    # Sum c log c once for each combination, and clear the counts on the way.
    for i in range(groups.starts[g], groups.stops[g]):
        value = records[i, last - 1]
        if scratch.combination_counts[value] > 0:
            spread += _weight(scratch.combination_counts[value], scratch.weights)
            scratch.combination_counts[value] = 0
    groups.spread[g] = spread
    return size


@kernel_step
def _sort_by_child(records: Codes, start: int, stop: int, a: int, branch: Codes, scratch: Scratch) -> Any:
    """Count the records and rows of each child of a group's node, and compute the start of each child's records.

    Returns the number of children that occur; `branches` lists them. Their records are `rows[places - n:places]`.
    """
    last = records.shape[1] - 1
    # Number of records and rows by child.
    found = _ZERO
    for i in range(start, stop):
        child = branch[records[i, a]]
        if scratch.sizes[child] == 0:
            scratch.branches[found] = child
            scratch.places[child] = 0
            found += 1
        scratch.sizes[child] += records[i, last]
        scratch.places[child] += 1
    # Prefix sums: from numbers of records to starts.
    begin = _ZERO
    for b in range(found):
        child = scratch.branches[b]
        begin, scratch.places[child] = begin + scratch.places[child], begin
    return found


@kernel_step
def _test_part(
    records: Codes, attributes: int, begin: int, end: int, predicate: Predicate, scratch: Scratch
) -> tuple[bool, int]:
    """Test whether the records `rows[begin:end]` are an acceptable group; return the sum of c log c as well."""
    # Histogram over all sensitive attributes, weighted by the rows of each record.
    last = records.shape[1] - 1
    kinds = predicate.starts.size - 1
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
    good = acceptable(
        size, scratch.touched, distinct, scratch.counts, predicate.starts, predicate.rules, predicate.bounds
    )
    # With one attribute the histogram has the counts of the combinations.
    spread = _ZERO
    for t in range(distinct):
        code = scratch.touched[t]
        if kinds == 1:
            spread += _weight(scratch.counts[code], scratch.weights)
        scratch.counts[code] = 0
    # With several attributes the combinations are counted separately, for acceptable groups only.
    if good and kinds > 1:
        for i in range(begin, end):
            row = scratch.rows[i]
            scratch.combination_counts[records[row, last - 1]] += records[row, last]
        for i in range(begin, end):
            value = records[scratch.rows[i], last - 1]
            if scratch.combination_counts[value] > 0:
                spread += _weight(scratch.combination_counts[value], scratch.weights)
                scratch.combination_counts[value] = 0
    return good, spread


@kernel_step
def _assess(records, attributes, trees, groups, g, a, predicate, scratch):
    """Specialize one group by one column on trial; return validity, gain, and the size of the smallest part."""
    node = groups.nodes[a, g]
    start, stop = groups.starts[g], groups.stops[g]
    # Sizes first: a part that is too small makes the specialization invalid without further work.
    found = _sort_by_child(records, start, stop, a, trees.branch, scratch)
    smallest = _ENDLESS
    gain = -groups.spread[g]
    # The gain in KL-divergence: the change of c log c, and the smaller domains of the children.
    first_child = trees.child_starts[node]
    for b in range(found):
        child = scratch.branches[b]
        size = scratch.sizes[child]
        smallest = min(smallest, size)
        gain += size * (trees.log_sizes[node] - trees.log_sizes[trees.children[first_child + child]])
        scratch.sizes[child] = 0
    if smallest < predicate.smallest:
        return False, _ZERO, _ZERO
    # Sort the records by child.
    for i in range(start, stop):
        child = trees.branch[records[i, a]]
        scratch.rows[scratch.places[child]] = i
        scratch.places[child] += 1
    # Test each part; a single failure decides.
    begin = _ZERO
    for b in range(found):
        end = scratch.places[scratch.branches[b]]
        good, spread = _test_part(records, attributes, begin, end, predicate, scratch)
        if not good:
            return False, _ZERO, _ZERO
        gain += spread
        begin = end
    return True, gain, smallest


@kernel
def assess(records, trees, groups, candidates, predicate, scratch, state, number):
    """Add the contributions of the first `number` changed groups to the candidates above them; mark invalid ones."""
    attributes = groups.nodes.shape[0]
    # Column by column, because a node belongs to one column.
    for a in range(attributes):
        for n in range(number):
            g = groups.changed[n]
            node = groups.nodes[a, g]
            # Groups below invalid candidates need no evaluation.
            if candidates.status[node] != VALID:
                continue
            state[VISITS] += groups.stops[g] - groups.starts[g]
            good, gain, smallest = _assess(records, attributes, trees, groups, g, a, predicate, scratch)
            # Gains add up; the smallest part is a minimum.
            if good:
                groups.gains[a, g] = gain
                candidates.gain[node] += gain
                candidates.smallest[node] = min(candidates.smallest[node], smallest)
            # One group is enough to make the candidate invalid.
            else:
                _remove_candidate(candidates, state, node)
                candidates.status[node] = REFUSED
                state[DECIDED] += trees.parts[node]


@inlined
def _remove_candidate(candidates: Candidates, state: Counts, node: int) -> None:
    """Remove a node from the list of valid candidates."""
    # The last entry takes the place of the removed one.
    place = candidates.where[node]
    state[LISTED] -= 1
    other = candidates.listed[state[LISTED]]
    candidates.listed[place] = other
    candidates.where[other] = place


@inlined
def _best(trees: Trees, candidates: Candidates, state: Counts) -> int:
    """Find the valid candidate with the best score, gain / (loss of anonymity + 1); -1 if there is none."""
    best = -1
    highest = 0.0
    # The score of [2]: gain per lost anonymity.
    for n in range(state[LISTED]):
        node = candidates.listed[n]
        loss = max(0, state[ANONYMITY] - candidates.smallest[node])
        score = candidates.gain[node] / (loss + 1)
        # Ties go to the earlier attribute and value.
        if best < 0 or score > highest or (score == highest and trees.first[node] < trees.first[best]):
            best = node
            highest = score
    return best


@inlined
def _room_for(trees: Trees, groups: Groups, node: int, state: Counts) -> int:
    """Compute an upper bound on the number of groups after a specialization."""
    children = trees.child_starts[node + 1] - trees.child_starts[node]
    room = int(state[GROUPS])
    # A group has at most as many parts as children or records.
    g = trees.heads[node]
    while g >= 0:
        room += min(children, groups.stops[g] - groups.starts[g]) - 1
        g = groups.following[trees.column[node], g]
    return room


@inlined
def _add_to_list(trees: Trees, groups: Groups, g: int, a: int, node: int) -> None:
    """Add a group to the list of a node in column a."""
    groups.nodes[a, g] = node
    groups.following[a, g] = trees.heads[node]
    trees.heads[node] = g


@kernel_step
def _split(records, trees, groups, candidates, g, a, scratch, state):
    """Split a group by the children of its node in column a; return the number of parts.

    The first part keeps the number of the group, the other parts get new numbers.
    """
    # Withdraw the group's contributions to other candidates: its parts will be evaluated again.
    attributes = groups.nodes.shape[0]
    node = groups.nodes[a, g]
    for other in range(attributes):
        above = groups.nodes[other, g]
        if other != a and candidates.status[above] == VALID:
            candidates.gain[above] -= groups.gains[other, g]
    # Sort the records by child, through the spare copy.
    start, stop = groups.starts[g], groups.stops[g]
    found = _sort_by_child(records, start, stop, a, trees.branch, scratch)
    for i in range(start, stop):
        child = trees.branch[records[i, a]]
        place = start + scratch.places[child]
        scratch.places[child] += 1
        for column in range(records.shape[1]):
            scratch.spare[place, column] = records[i, column]
    for i in range(start, stop):
        for column in range(records.shape[1]):
            records[i, column] = scratch.spare[i, column]
    # Each part is a range; new groups are added to the lists of all columns.
    begin = start
    for b in range(found):
        child = scratch.branches[b]
        part = g
        if b > 0:
            part = state[GROUPS]
            state[GROUPS] += 1
            for other in range(attributes):
                if other != a:
                    _add_to_list(trees, groups, part, other, groups.nodes[other, g])
        groups.starts[part] = begin
        begin = start + scratch.places[child]
        groups.stops[part] = begin
        _add_to_list(trees, groups, part, a, trees.children[trees.child_starts[node] + child])
        scratch.sizes[child] = 0
    return found


@kernel_step
def _replace(trees: Trees, candidates: Candidates, node: int, state: Counts) -> None:
    """Replace a node by its children in the cut; children with children become candidates."""
    # The node is done.
    _remove_candidate(candidates, state, node)
    candidates.status[node] = GONE
    # Each child takes over the codes below it.
    for c in range(trees.child_starts[node], trees.child_starts[node + 1]):
        child = trees.children[c]
        for p in range(trees.begin[child], trees.end[child]):
            trees.cut[trees.order[p]] = child
        # Number the grandchildren above each code: the next specialization reads them.
        first = trees.child_starts[child]
        for below in range(first, trees.child_starts[child + 1]):
            grandchild = trees.children[below]
            for p in range(trees.begin[grandchild], trees.end[grandchild]):
                trees.branch[trees.order[p]] = below - first
        # A leaf cannot be specialized.
        if trees.child_starts[child + 1] > first:
            candidates.status[child] = VALID
            candidates.gain[child] = 0
            candidates.smallest[child] = _ENDLESS
            candidates.where[child] = state[LISTED]
            candidates.listed[state[LISTED]] = child
            state[LISTED] += 1


@kernel
def specialize(records, trees, groups, candidates, predicate, scratch, state, budget):
    """Perform the best valid specialization until none is left, the groups need room, or the budget is spent.

    Parameters
    ----------
    records : int32 (r, attributes + kinds + 2), rearranged
    trees, groups, candidates, scratch, state : brought up to date
    predicate : what every group has to satisfy
    budget : int, records to look at before returning

    Returns
    -------
    int
        DONE, MORE or ROOM.
    """
    # The budget bounds one call, so that progress can be reported.
    limit = state[VISITS] + budget
    while state[VISITS] < limit:
        node = _best(trees, candidates, state)
        if node < 0:
            return DONE
        # The caller enlarges the arrays and calls again.
        if _room_for(trees, groups, node, state) > groups.starts.size:
            return ROOM
        # Split every group of the node; the list is read ahead, because the split relinks it.
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
        # Then update the cut, and the scores of all candidates above changed groups.
        _replace(trees, candidates, node, state)
        state[PERFORMED] += 1
        state[DECIDED] += 1
        state[VISITS] += state[LISTED]
        # The spread of the parts is needed by the evaluation.
        for n in range(number):
            size = describe(records, groups, groups.changed[n], scratch)
            state[ANONYMITY] = min(state[ANONYMITY], size)
        assess(records, trees, groups, candidates, predicate, scratch, state, number)
    return MORE
