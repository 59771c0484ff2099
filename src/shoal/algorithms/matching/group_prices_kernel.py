# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Costs of pairs and triples of rows, and the groups with a negative reduced cost under a dual solution.

Rows of one *type* agree on everything that counts. A group is three type numbers in ascending order, the last -1 in a
pair; a type may occur more than once. Sets of attributes are integers: bit `a` is attribute `a`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal._core.compiling import allocating_step, inlined, kernel

__all__ = [
    "UNIT",
    "Duals",
    "Prices",
    "Types",
    "differing_attributes",
    "nearest_pairs",
    "pair_costs",
    "is_cheapest_assignment",
    "prices_of_groups",
    "scan_groups",
    "split_groups",
]

UNIT = 1 << 24
"""Dual values and reduced costs are integers, in multiples of 1 / UNIT."""


class Types(NamedTuple):
    """Row types: rows that agree on everything that counts."""

    codes: NDArray[np.int32]
    """Quasi-identifiers of each type, shape (t, d)."""
    values: NDArray[np.int64]
    """Sensitive value of each type; types with equal values of at least 0 never share a group."""
    counts: NDArray[np.int64]
    """Number of rows of each type."""


class Prices(NamedTuple):
    """Price of a row of a group, as a function of the attributes in which the group's rows differ.

    A price never falls if rows differ in more attributes.
    """

    by_mask: NDArray[np.int64]
    """Price of each set of attributes, shape (2**d,), and then `weights` is not used; or empty: the price of a set is
    the sum of its weights."""
    weights: NDArray[np.int64]
    """Price of a star in each attribute, shape (d,)."""


class Duals(NamedTuple):
    """A dual solution, in multiples of 1 / UNIT: values to subtract from the cost of a group."""

    types: NDArray[np.int64]
    """Dual value of each row type."""
    reach: NDArray[np.int64]
    """Largest amount that a row of each type can subtract: its dual value and the duals of all cuts that contain it."""
    cut_starts: NDArray[np.int64]
    """Type t lies in the cuts `cuts[cut_starts[t]:cut_starts[t + 1]]`; one more than there are types."""
    cuts: NDArray[np.int64]
    """Numbers of cuts."""
    of_cuts: NDArray[np.int64]
    """Dual value of each cut; it counts for a group with an odd number of rows in the cut."""


@inlined
def _price(mask, prices):
    """Compute the price of a row of a group whose rows differ in the attributes of `mask`."""
    # A table of all sets if there are few attributes, otherwise the sum of the weights.
    if prices.by_mask.size > 0:
        return np.int64(prices.by_mask[mask])
    total = np.int64(0)
    a = 0
    while mask > 0:
        if mask & 1:
            total += prices.weights[a]
        mask >>= 1
        a += 1
    return total


@inlined
def differing_attributes(codes, i, masks):
    """Compute in `masks[j]` the attributes in which the rows `i` and `j` of `codes` differ."""
    for j in range(codes.shape[0]):
        mask = np.int64(0)
        for a in range(codes.shape[1]):
            if codes[i, a] != codes[j, a]:
                mask |= np.int64(1) << a
        masks[j] = mask


@kernel
def prices_of_groups(codes, prices, groups):
    """Compute the cost of each group of types: its rows times the price of the attributes in which they differ."""
    total = np.empty(groups.shape[0], dtype=np.int64)
    for g in range(groups.shape[0]):
        mask = np.int64(0)
        size = 3 if groups[g, 2] >= 0 else 2
        # Differences from the first row are enough: attributes in which all agree with it are shared.
        for p in range(1, size):
            for a in range(codes.shape[1]):
                if codes[groups[g, 0], a] != codes[groups[g, p], a]:
                    mask |= np.int64(1) << a
        total[g] = size * _price(mask, prices)
    return total


@kernel
def pair_costs(codes, prices, rows, columns):
    """Compute the cost of a pair for each combination of a row type and a column type."""
    # A dense matrix, for assignment problems.
    costs = np.empty((rows.size, columns.size), dtype=np.int64)
    for i in range(rows.size):
        for j in range(columns.size):
            mask = np.int64(0)
            for a in range(codes.shape[1]):
                if codes[rows[i], a] != codes[columns[j], a]:
                    mask |= np.int64(1) << a
            costs[i, j] = 2 * _price(mask, prices)
    return costs


@kernel
def is_cheapest_assignment(costs, chosen):
    """Test whether an assignment is the cheapest: whether dual values exist that it meets with equality.

    The search uses shortest paths (Bellman and Ford). Row i, assigned to column c(i), has the dual value costs[i, c(i)]
    - v[c(i)]; no pair may cost less than its two dual values. All in integers.
    """
    n = chosen.size
    v = np.zeros(n, dtype=np.int64)
    # Relax until nothing changes; more than n rounds mean a negative cycle.
    for _ in range(n + 1):
        settled = True
        for i in range(n):
            own = costs[i, chosen[i]] - v[chosen[i]]
            for j in range(n):
                if costs[i, j] - own < v[j]:
                    v[j] = costs[i, j] - own
                    settled = False
        # Feasible duals with equality on the assignment prove it optimal.
        if settled:
            return True
    return False


@inlined
def _insert(found, costs, first, size, most, i, j, k, cost):
    """Insert a group into the `size` cheapest since `first`, cheapest first; return the new size."""
    # A full list drops its last entry, if the group is cheaper.
    p = first + min(size, most - 1)
    if size == most and costs[p] <= cost:
        return size
    # Shift more expensive groups back.
    while p > first and costs[p - 1] > cost:
        costs[p] = costs[p - 1]
        found[p, 0] = found[p - 1, 0]
        found[p, 1] = found[p - 1, 1]
        found[p, 2] = found[p - 1, 2]
        p -= 1
    costs[p] = cost
    found[p, 0] = i
    found[p, 1] = j
    found[p, 2] = k
    return min(size + 1, most)


@kernel
def nearest_pairs(row_types, prices, most, found):
    """Write the `most` cheapest allowed pairs of each type into `found`; return the number of pairs."""
    codes, values, counts = row_types
    types = counts.size
    masks = np.empty(types, dtype=np.int64)
    costs = np.empty(types * most, dtype=np.int64)
    stored = np.int64(0)
    # Every type keeps its own list, so that all types are covered.
    for i in range(types):
        differing_attributes(codes, i, masks)
        own = np.int64(0)
        for j in range(types):
            # Two rows of one type need two rows; equal sensitive values exclude each other.
            if (i == j and counts[i] < 2) or (values[i] >= 0 and values[i] == values[j]):
                continue
            price = _price(masks[j], prices)
            own = _insert(found, costs, stored, own, most, min(i, j), max(i, j), np.int64(-1), price)
        stored += own
    return stored


@kernel
def scan_groups(row_types, prices, duals, first, last, limit, most, found, costs, missing):
    """Find the allowed pairs and triples with a reduced cost of at most `limit`.

    Types are in descending order of `duals.reach`. A group is found at its first type, which must be one of `first` to
    `last - 1`.

    If `most` is above 0, the cheapest `most` groups of each first type are kept; if it is 0, all groups, as long as
    there is room in `found` and `costs`. `missing[t]` is raised to the excess of the dual value of a row of type `t`,
    shared evenly in the group with the largest excess. As prices do not fall if a group differs in more attributes, the
    scan stops if the attributes known so far cost too much already.

    Returns
    -------
    stored, total : int
        Number of groups written to `found`, and of all such groups.
    """
    codes, values, counts = row_types
    reach, cut_starts, cuts, cut_duals = duals.reach, duals.cut_starts, duals.cuts, duals.of_cuts
    types = counts.size
    # `odd` marks the cuts with an odd number of the group's rows so far.
    masks = np.empty(types, dtype=np.int64)
    odd = np.zeros(cut_duals.size, dtype=np.bool_)
    stored = np.int64(0)
    total = 0
    for i in range(first, last):
        differing_attributes(codes, i, masks)
        own = np.int64(0)
        # Include the first type in its cuts.
        for p in range(cut_starts[i], cut_starts[i + 1]):
            odd[cuts[p]] = not odd[cuts[p]]
        cut_i = np.int64(0)
        for p in range(cut_starts[i], cut_starts[i + 1]):
            cut_i += cut_duals[cuts[p]]
        for j in range(i, types):
            # Later types reach less: neither a pair nor a triple can come below the limit.
            if -reach[i] - reach[j] > limit and -reach[i] - 2 * reach[j] > limit:
                break
            if (i == j and counts[i] < 2) or (values[i] >= 0 and values[i] == values[j]):
                continue
            pair = _price(masks[j], prices) * UNIT
            # The duals of cuts change sign with parity: adding a row to an odd cut makes it even.
            cut_ij = cut_i
            for p in range(cut_starts[j], cut_starts[j + 1]):
                cut_ij += -cut_duals[cuts[p]] if odd[cuts[p]] else cut_duals[cuts[p]]
            cost = 2 * pair - duals.types[i] - duals.types[j] - cut_ij
            # Record the pair.
            if cost <= limit:
                total += 1
                # The duals exceed the cost: note by how much for each row.
                if cost < 0:
                    missing[i] = max(missing[i], (1 - cost) // 2)
                    missing[j] = max(missing[j], (1 - cost) // 2)
                if most > 0:
                    own = _insert(found, costs, stored, own, most, i, j, np.int64(-1), cost)
                elif stored < costs.size:
                    _insert(found, costs, stored, np.int64(0), np.int64(1), i, j, np.int64(-1), cost)
                    stored += 1
            # No third type can make a triple with this pair cheap enough.
            if 3 * pair - reach[i] - 2 * reach[j] > limit:
                continue
            # Include the second type in its cuts, then scan the third.
            for p in range(cut_starts[j], cut_starts[j + 1]):
                odd[cuts[p]] = not odd[cuts[p]]
            for k in range(j, types):
                # Later types reach less.
                if 3 * pair - reach[i] - reach[j] - reach[k] > limit:
                    break
                if values[k] >= 0 and (values[k] == values[i] or values[k] == values[j]):
                    continue
                # A type must have enough rows.
                if j == k and counts[j] < (3 if i == j else 2):
                    continue
                # The reduced cost of the triple.
                cost = 3 * _price(masks[j] | masks[k], prices) * UNIT
                cost -= duals.types[i] + duals.types[j] + duals.types[k] + cut_ij
                for p in range(cut_starts[k], cut_starts[k + 1]):
                    cost -= -cut_duals[cuts[p]] if odd[cuts[p]] else cut_duals[cuts[p]]
                # Record the triple.
                if cost <= limit:
                    total += 1
                    if cost < 0:
                        missing[i] = max(missing[i], (2 - cost) // 3)
                        missing[j] = max(missing[j], (2 - cost) // 3)
                        missing[k] = max(missing[k], (2 - cost) // 3)
                    if most > 0:
                        own = _insert(found, costs, stored, own, most, i, j, k, cost)
                    elif stored < costs.size:
                        _insert(found, costs, stored, np.int64(0), np.int64(1), i, j, k, cost)
                        stored += 1
            # Undo the parity of the second type, and after the loop of the first.
            for p in range(cut_starts[j], cut_starts[j + 1]):
                odd[cuts[p]] = not odd[cuts[p]]
        for p in range(cut_starts[i], cut_starts[i + 1]):
            odd[cuts[p]] = not odd[cuts[p]]
        stored += own
    return stored, total


@allocating_step
def _cheapest_split(codes, values, prices, members, size):
    """Find the two members that can leave a group at the lowest price, so that the rest stays allowed."""
    best = np.int64(-1)
    left, right = -1, -1
    height = np.zeros(size, dtype=np.int64)
    # Height of each member: rows that share its sensitive value.
    for p in range(size):
        for q in range(size):
            if values[members[p]] >= 0 and values[members[p]] == values[members[q]]:
                height[p] += 1
    tallest = np.int64(0)
    for p in range(size):
        tallest = max(tallest, height[p])
    # Try all pairs of members.
    for p in range(size):
        for q in range(p + 1, size):
            first_type, other = members[p], members[q]
            if values[first_type] >= 0:
                if values[first_type] == values[other]:
                    continue
                # The other rows must be at least twice as many as their most frequent value.
                after = tallest
                if height[p] == tallest or height[q] == tallest:
                    after = np.int64(0)
                    for r in range(size):
                        h = height[r]
                        if values[members[r]] == values[first_type] or values[members[r]] == values[other]:
                            h -= 1
                        after = max(after, h)
                if 2 * after > size - 2:
                    continue
            # The price of the pair by its differing attributes.
            mask = np.int64(0)
            for a in range(codes.shape[1]):
                if codes[first_type, a] != codes[other, a]:
                    mask |= np.int64(1) << a
            price = _price(mask, prices)
            if best < 0 or price < best:
                best, left, right = price, p, q
    return left, right


@kernel
def split_groups(codes, values, prices, types, starts, found):
    """Split groups of rows into pairs and triples as in the proof of Lemma 2, the cheapest allowed pair first.

    Group `g` has rows of the types `types[starts[g]:starts[g + 1]]` (used as scratch), at least twice as many as its
    most frequent value if values count. Cubic in the rows of a group. Returns the number of pairs and triples written
    to `found`.
    """
    written = 0
    for g in range(starts.size - 1):
        members = types[starts[g] : starts[g + 1]]
        size = members.size
        # Remove one pair at a time until at most three rows are left.
        while size > 3:
            p, q = _cheapest_split(codes, values, prices, members, size)
            found[written, 0] = min(members[p], members[q])
            found[written, 1] = max(members[p], members[q])
            found[written, 2] = -1
            written += 1
            # Close the gaps of both members, the later one first.
            for r in range(q, size - 1):
                members[r] = members[r + 1]
            for r in range(p, size - 2):
                members[r] = members[r + 1]
            size -= 2
        for r in range(size):  # two or three rows, in ascending order
            place = r
            while place > 0 and found[written, place - 1] > members[r]:
                found[written, place] = found[written, place - 1]
                place -= 1
            found[written, place] = members[r]
        if size == 2:
            found[written, 2] = -1
        written += 1
    return written
