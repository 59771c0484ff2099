# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Equivalence classes of a lattice of generalizations: rolled up from finer classes, judged, and joined."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal._core.compiling import allocating_step, inlined, kernel
from shoal.algorithms.common.predicate_kernel import acceptable
from shoal.algorithms.common.whole_kernel import ZERO

__all__ = ["ACCEPTED", "IN_VAIN", "JOINED", "REFUSED", "Classes", "judge", "log_densities", "roll_up"]

_SPREAD = np.int64(-7046029254386353131)  # 2**64 over the golden ratio

REFUSED, IN_VAIN, ACCEPTED, JOINED = range(4)
"""Verdicts on a class: unacceptable; unacceptable in every finer partition, too; acceptable; acceptable, but suppressed
so that the suppressed rows are an acceptable group."""


class Classes(NamedTuple):
    """Equivalence classes with the counts of their sensitive codes; m classes, d attributes."""

    codes: NDArray[np.int32]
    """The node of each attribute, shape (m, d)."""
    sizes: NDArray[np.int64]
    """Rows of each class, shape (m,)."""
    starts: NDArray[np.int64]
    """The sensitive codes of class c are `starts[c]:starts[c + 1]`, shape (m + 1,); zeros if no clause needs them."""
    values: NDArray[np.int32]
    """The sensitive codes that occur in a class, each once."""
    counts: NDArray[np.int64]
    """Rows of the class with each code."""

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.sizes.sum())

    def chosen(self, which: NDArray[np.bool_]) -> Classes:
        """Select a part of the classes."""
        # The entries of the chosen classes move together.
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


@allocating_step
def _find_classes(codes, attribute, nodes, new_of):
    """Assign numbers to the combinations of codes after a roll-up of one attribute, by their first occurrence."""
    m, d = codes.shape
    # A hash table with at least twice as many slots as classes.
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
    # Hash the codes of the class with the attribute's coarser node.
    for i in range(m):
        key = np.int64(0)
        for a in range(d):
            row[a] = codes[i, a]
        row[attribute] = nodes[codes[i, attribute]]
        for a in range(d):
            # Mix after each attribute, because small codes differ in few bits.
            key = (key ^ row[a]) * _SPREAD
            key ^= key >> 29
        slot = (key >> shift) & mask
        # Linear probing; a free slot is a new class.
        while True:
            other = slots[slot]
            if other < 0:
                slots[slot] = count
                for a in range(d):
                    found[count, a] = row[a]
                new_of[i] = count
                count += 1
                break
            # Equal hashes: compare the codes.
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
    """Merge the classes that agree after an attribute has been generalized.

    Parameters
    ----------
    classes : Classes, the finer ones
    attribute : int
    nodes : int32, the coarser node of each node of the attribute
    numbers : int64, zeros, one for each sensitive code; zeros again afterwards

    Returns the coarser classes, and the coarser class of each finer one.
    """
    # Number the coarser classes, and add up their rows.
    sizes, starts, values, counts = classes.sizes, classes.starts, classes.values, classes.counts
    m = sizes.size
    new_of = np.empty(m, dtype=np.int32)
    found = _find_classes(classes.codes, attribute, nodes, new_of)
    count = found.shape[0]
    new_sizes = np.zeros(count, dtype=np.int64)
    for i in range(m):
        new_sizes[new_of[i]] += sizes[i]
    new_starts = np.zeros(count + 1, dtype=np.int64)
    # Without sensitive codes the sizes are all.
    if values.size == 0:
        return Classes(found, new_sizes, new_starts, values, counts), new_of
    # Sort the finer classes by coarser class (counting sort).
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
    # Merge the histograms of each class through a dense scratch array.
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
        # Read the merged counts back, and clear the scratch.
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
    # The surcharge of a class is the sum over its nodes, for each row.
    for a in range(codes.shape[1]):
        at = offsets[a] + codes[c, a]
        tally[3] += size * surcharges[0, at]
        tally[4] += size * surcharges[1, at]


@kernel
def judge(classes, predicate, lasting, surcharges, places, most, order, forced, standing, verdict, tally):
    """Judge every class, and test whether the unacceptable classes are an acceptable group together.

    Parameters
    ----------
    classes : Classes
    predicate : Predicate, requirement for a group
    lasting : int64 (., 6), clauses that no part of a group satisfies unless the group does
    surcharges : int64 (2, .), additional cost of a row if a cell with this node is suppressed; `places` (d,) is the
        start of each attribute's nodes
    most : int, largest number of suppressed rows
    order : int64, acceptable classes, which join the unacceptable classes one after the other until these are
    acceptable;
        if there are any, the classes must have been judged before
    forced : int, number of these that join in any case
    standing : int8 (m,), verdict on each class by facts other than its rows; empty if there are none
    verdict : int8 (m,), is filled in
    tally : int64 (3, 5), is filled in: rows, classes, squared sizes and two surcharges of the classes refused in vain,
        and of all that are suppressed; then rows, classes and squared sizes of all

    Returns whether at most `most` rows are suppressed, and these are an acceptable group or none.
    """
    codes, sizes, starts, values, counts = classes
    numbers = np.zeros(max(predicate.starts[predicate.starts.size - 1], 1), dtype=np.int64)
    touched = np.empty(numbers.size, dtype=np.int32)
    # Without classes to join this is the first call for the node: judge each class.
    if order.size == 0:
        for c in range(sizes.size):
            # Totals of all classes.
            size = sizes[c]
            tally[2, 0] += size
            tally[2, 1] += 1
            tally[2, 2] += size * size
            # The class's histogram, as the predicate reads it.
            here = values[starts[c] : starts[c + 1]]
            for e in range(starts[c], starts[c + 1]):
                numbers[values[e]] = counts[e]
            # First the lasting clauses: a class that fails them has no acceptable part. Then all clauses.
            verdict[c] = IN_VAIN
            for stage in range(2):
                clauses = lasting if stage == 0 else predicate.rules
                if size < predicate.smallest:
                    break
                if not acceptable(size, here, here.size, numbers, predicate.starts, clauses, predicate.bounds):
                    break
                verdict[c] = REFUSED if stage == 0 else ACCEPTED
            # A verdict by population can only be stricter.
            if standing.size and standing[c] != ACCEPTED and verdict[c] != IN_VAIN:
                verdict[c] = standing[c]
            # Tally the classes refused in vain, and all suppressed classes.
            if verdict[c] == IN_VAIN:
                _charge(codes, c, size, surcharges, places, tally[0])
            if verdict[c] != ACCEPTED:
                _charge(codes, c, size, surcharges, places, tally[1])
        numbers[:] = 0
    # Nothing is suppressed: the node is feasible.
    if tally[1, 0] == 0 and forced == 0:
        return True
    # Collect the histogram of the suppressed rows; then classes join until it is acceptable.
    distinct = ZERO
    joined = -sizes.size
    while tally[1, 0] <= most:
        # Negative places: the suppressed classes come first, then the joining ones.
        if joined >= order.size:
            return False
        c = joined + sizes.size if joined < 0 else order[joined]
        if joined >= 0:
            verdict[c] = JOINED
            _charge(codes, c, sizes[c], surcharges, places, tally[1])
        joined += 1
        # Add the class to the histogram of suppressed rows.
        if verdict[c] != ACCEPTED:
            for e in range(starts[c], starts[c + 1]):
                if numbers[values[e]] == 0:
                    touched[distinct] = values[e]
                    distinct += 1
                numbers[values[e]] += counts[e]
        # Test after every joined class.
        if joined >= forced and tally[1, 0] <= most:
            if acceptable(tally[1, 0], touched, distinct, numbers, predicate.starts, predicate.rules, predicate.bounds):
                return True
    return False


@kernel
def log_densities(classes, first, last, log_shares, places, verdict, whole):
    """Sum the logarithms of the release's densities at the rows, and compute a bound for finer partitions.

    Parameters
    ----------
    classes : Classes
    first, last : the sensitive codes in use, first <= code < last
    log_shares : float64, the logarithm of the share of its domain that each node covers; `places` as for `judge`
    verdict : int8 (m,)
    whole : float, rows of the table

    Returns float64 (3,): the sum of log density (in multiples of 1 / domain) over all rows without suppression; the
    same with suppression of all classes that were not accepted; and the least divergence that suppressing the classes
    refused in vain adds.
    """
    # Suppressed rows by value: they are spread evenly over the domain.
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
    # One class at a time; its density is its share of rows over its share of the domain.
    for c in range(sizes.size):
        log_share = 0.0
        for a in range(codes.shape[1]):
            log_share += log_shares[places[a] + codes[c, a]]
        for e in range(starts[c], starts[c + 1]):
            if first <= values[e] < last:
                plain = np.log(counts[e] / whole) - log_share
                sums[0] += counts[e] * plain
                # Accepted cells share their place with the spread of suppressed rows.
                if verdict[c] == ACCEPTED:
                    thin = suppressed[values[e] - first]
                    if thin > 0:
                        sums[1] += counts[e] * np.log(counts[e] / whole * np.exp(-log_share) + thin / whole)
                    else:
                        sums[1] += counts[e] * plain
        # A lower bound on the divergence that suppression in vain adds, term by term.
        if verdict[c] == IN_VAIN:
            p = sizes[c] / whole
            if np.log(p) > log_share:
                sums[2] += p * (np.log(p) - log_share)
                share += p
                covered += np.exp(log_share)
    # The suppressed rows themselves have the density of the spread.
    for v in range(suppressed.size):
        if suppressed[v] > 0:
            sums[1] += suppressed[v] * np.log(suppressed[v] / whole)
    # The rest of the distribution, by the log-sum inequality.
    if share < 1.0 and covered < 1.0:
        sums[2] += (1.0 - share) * np.log((1.0 - share) / (1.0 - covered))
    return sums
