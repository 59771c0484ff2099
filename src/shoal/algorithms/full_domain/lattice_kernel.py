# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Equivalence classes of a lattice of generalizations: rolled up from finer ones, judged, and joined."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal._compiling import inlined, kernel, kernel_step
from shoal.algorithms.common.predicate_kernel import acceptable
from shoal.algorithms.common.whole_kernel import ZERO

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ACCEPTED", "IN_VAIN", "JOINED", "REFUSED", "Classes", "judge", "log_densities", "roll_up"]

_SPREAD = np.int64(-7046029254386353131)  # 2**64 over the golden ratio

REFUSED, IN_VAIN, ACCEPTED, JOINED = range(4)
"""What becomes of a class: unacceptable; unacceptable in every finer partition, too; acceptable; acceptable, and
suppressed for the sake of the others."""


class Classes(NamedTuple):
    """Equivalence classes with the counts of their sensitive codes; m classes, d attributes."""

    codes: NDArray[np.int32]
    """The node of each attribute, shape (m, d)."""
    sizes: NDArray[np.int64]
    """Rows of each class, shape (m,)."""
    starts: NDArray[np.int64]
    """The sensitive codes of class c stand at `starts[c]:starts[c + 1]`, shape (m + 1,); zeros where nobody asks for
    them."""
    values: NDArray[np.int32]
    """The sensitive codes that occur in a class, each once."""
    counts: NDArray[np.int64]
    """Rows of the class with each."""

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.sizes.sum())

    def chosen(self, which: NDArray[np.bool_]) -> Classes:
        """Return some of the classes."""
        entries = np.repeat(which, np.diff(self.starts))
        return Classes(
            codes=self.codes[which],
            sizes=self.sizes[which],
            starts=np.concatenate(([0], np.cumsum(np.diff(self.starts)[which]))).astype(np.int64),
            values=self.values[entries],
            counts=self.counts[entries],
        )

    def __repr__(self) -> str:
        return f"Classes(count={len(self.sizes)})"


@kernel_step
def _find_classes(codes, attribute, nodes, new_of):
    """Give the combinations of codes after one attribute went up numbers, in the order in which they first occur."""
    m, d = codes.shape
    room = 16
    bits = 4
    while room < 2 * m:
        room *= 2
        bits += 1
    slots = np.full(room, -1, dtype=np.int32)
    found = np.empty((m, d), dtype=np.int32)
    row = np.empty(d, dtype=np.int32)
    mask = room - 1
    shift = 63 - bits
    count = 0
    for i in range(m):
        key = np.int64(0)
        for a in range(d):
            row[a] = codes[i, a]
        row[attribute] = nodes[codes[i, attribute]]
        for a in range(d):
            key = (key ^ row[a]) * _SPREAD
            key ^= key >> 29
        slot = (key >> shift) & mask
        while True:
            other = slots[slot]
            if other < 0:
                slots[slot] = count
                for a in range(d):
                    found[count, a] = row[a]
                new_of[i] = count
                count += 1
                break
            same = True
            for a in range(d):
                if found[other, a] != row[a]:
                    same = False
                    break
            if same:
                new_of[i] = other
                break
            slot = (slot + 1) & mask
    return found[:count].copy()


@kernel
def roll_up(classes, attribute, nodes, numbers):
    """Merge the classes that agree once an attribute has gone up.

    Parameters
    ----------
    classes : Classes, the finer ones
    attribute : int
    nodes : int32, the coarser node of each node of the attribute
    numbers : int64, zeros, one for each sensitive code; zeros again afterwards

    Returns the coarser classes, and the coarser class of each finer one.
    """
    sizes, starts, values, counts = classes.sizes, classes.starts, classes.values, classes.counts
    m = sizes.size
    new_of = np.empty(m, dtype=np.int32)
    found = _find_classes(classes.codes, attribute, nodes, new_of)
    count = found.shape[0]
    new_sizes = np.zeros(count, dtype=np.int64)
    for i in range(m):
        new_sizes[new_of[i]] += sizes[i]
    new_starts = np.zeros(count + 1, dtype=np.int64)
    if values.size == 0:
        return Classes(found, new_sizes, new_starts, values, counts), new_of
    first = np.zeros(count + 1, dtype=np.int64)
    for i in range(m):
        first[new_of[i] + 1] += 1
    for c in range(count):
        first[c + 1] += first[c]
    members = np.empty(m, dtype=np.int32)
    place = first[:-1].copy()
    for i in range(m):
        members[place[new_of[i]]] = i
        place[new_of[i]] += 1
    new_values = np.empty(values.size, dtype=np.int32)
    new_counts = np.empty(values.size, dtype=np.int64)
    end = 0
    for c in range(count):
        begin = end
        for j in range(first[c], first[c + 1]):
            for e in range(starts[members[j]], starts[members[j] + 1]):
                v = values[e]
                if numbers[v] == 0:
                    new_values[end] = v
                    end += 1
                numbers[v] += counts[e]
        for e in range(begin, end):
            new_counts[e] = numbers[new_values[e]]
            numbers[new_values[e]] = 0
        new_starts[c + 1] = end
    return Classes(found, new_sizes, new_starts, new_values[:end].copy(), new_counts[:end].copy()), new_of


@inlined
def _charge(codes, c, size, surcharges, offsets, tally):
    """Add an unacceptable class to a tally: rows, classes, squared sizes, and two surcharges."""
    tally[0] += size
    tally[1] += 1
    tally[2] += size * size
    for a in range(codes.shape[1]):
        at = offsets[a] + codes[c, a]
        tally[3] += size * surcharges[0, at]
        tally[4] += size * surcharges[1, at]


@kernel
def judge(classes, asked, lasting, surcharges, places, most, order, forced, standing, verdict, tally):
    """Judge every class, and look whether the unacceptable ones are an acceptable group together.

    Parameters
    ----------
    classes : Classes
    asked : Asked, what a group has to satisfy
    lasting : int64 (., 6), clauses that no part of a group meets where the group does not
    surcharges : int64 (2, .), what a row more costs when a cell with this node is suppressed; `places` (d,) is where
        each attribute's nodes start
    most : int, how many rows may be suppressed
    order : int64, acceptable classes, which join the unacceptable ones one after the other until these are acceptable;
        with some of them the classes must have been judged before
    forced : int, how many of these join in any case
    standing : int8 (m,), the verdict on each class by what is known of it besides its rows; of no length where nothing
        is known
    verdict : int8 (m,), is filled in
    tally : int64 (3, 5), is filled in: rows, classes, squared sizes and two surcharges of the classes refused in vain,
        and of all that are suppressed; then rows, classes and squared sizes of all

    Returns whether at most `most` rows are suppressed, and none or an acceptable group of them.
    """
    codes, sizes, starts, values, counts = classes
    numbers = np.zeros(max(asked.starts[-1], 1), dtype=np.int64)
    touched = np.empty(numbers.size, dtype=np.int32)
    if order.size == 0:
        for c in range(sizes.size):
            size = sizes[c]
            tally[2, 0] += size
            tally[2, 1] += 1
            tally[2, 2] += size * size
            here = values[starts[c] : starts[c + 1]]
            for e in range(starts[c], starts[c + 1]):
                numbers[values[e]] = counts[e]
            verdict[c] = IN_VAIN
            for turn in range(2):
                clauses = lasting if turn == 0 else asked.rules
                if size < asked.smallest:
                    break
                if not acceptable(size, here, here.size, numbers, asked.starts, clauses, asked.bounds):
                    break
                verdict[c] = REFUSED if turn == 0 else ACCEPTED
            if standing.size and standing[c] != ACCEPTED and verdict[c] != IN_VAIN:
                verdict[c] = standing[c]
            if verdict[c] == IN_VAIN:
                _charge(codes, c, size, surcharges, places, tally[0])
            if verdict[c] != ACCEPTED:
                _charge(codes, c, size, surcharges, places, tally[1])
        numbers[:] = 0
    if tally[1, 0] == 0 and forced == 0:
        return True
    distinct = ZERO
    joined = -sizes.size
    while tally[1, 0] <= most:
        # First the classes that are suppressed, then those that join.
        if joined >= order.size:
            return False
        c = joined + sizes.size if joined < 0 else order[joined]
        if joined >= 0:
            verdict[c] = JOINED
            _charge(codes, c, sizes[c], surcharges, places, tally[1])
        joined += 1
        if verdict[c] != ACCEPTED:
            for e in range(starts[c], starts[c + 1]):
                if numbers[values[e]] == 0:
                    touched[distinct] = values[e]
                    distinct += 1
                numbers[values[e]] += counts[e]
        if joined >= forced and tally[1, 0] <= most:
            if acceptable(tally[1, 0], touched, distinct, numbers, asked.starts, asked.rules, asked.bounds):
                return True
    return False


@kernel
def log_densities(classes, first, last, log_shares, places, verdict, whole):
    """Return the logarithms of the release's densities at the rows, added up, and a bound for finer partitions.

    Parameters
    ----------
    classes : Classes
    first, last : the sensitive codes that count, first <= code < last
    log_shares : float64, the logarithm of the share of its domain that each node covers; `places` as for `judge`
    verdict : int8 (m,)
    whole : float, rows of the table

    Returns float64 (3,): the sum of log density (in units of 1 / domain) over all rows if nothing is suppressed; the
    same if what was not accepted is; and the least divergence that suppressing the classes refused in vain adds.
    """
    codes, sizes, starts, values, counts = classes
    suppressed = np.zeros(last - first, dtype=np.int64)
    for c in range(sizes.size):
        if verdict[c] != ACCEPTED:
            for e in range(starts[c], starts[c + 1]):
                if first <= values[e] < last:
                    suppressed[values[e] - first] += counts[e]
    sums = np.zeros(3, dtype=np.float64)
    share = 0.0
    covered = 0.0
    for c in range(sizes.size):
        log_share = 0.0
        for a in range(codes.shape[1]):
            log_share += log_shares[places[a] + codes[c, a]]
        for e in range(starts[c], starts[c + 1]):
            if first <= values[e] < last:
                plain = np.log(counts[e] / whole) - log_share
                sums[0] += counts[e] * plain
                if verdict[c] == ACCEPTED:
                    thin = suppressed[values[e] - first]
                    if thin > 0:
                        sums[1] += counts[e] * np.log(counts[e] / whole * np.exp(-log_share) + thin / whole)
                    else:
                        sums[1] += counts[e] * plain
        if verdict[c] == IN_VAIN:
            p = sizes[c] / whole
            if np.log(p) > log_share:
                sums[2] += p * (np.log(p) - log_share)
                share += p
                covered += np.exp(log_share)
    for v in range(suppressed.size):
        if suppressed[v] > 0:
            sums[1] += suppressed[v] * np.log(suppressed[v] / whole)
    if share < 1.0 and covered < 1.0:
        sums[2] += (1.0 - share) * np.log((1.0 - share) / (1.0 - covered))
    return sums
