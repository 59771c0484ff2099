# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Kernels that evaluate the release, as a distribution over all possible rows, at the rows of the table."""

from __future__ import annotations

import numpy as np

from shoal._core.compiling import inlined, kernel

__all__ = ["box_bits", "box_densities", "pattern_densities"]

_MULTIPLIER = np.int64(-7046029254386353131)  # 2**64 over the golden ratio: spreads keys over the slots
# Points for which keys are computed at once: a block fits into the cache.
_BLOCK = 2048

# The index of a single bit: the top six bits of its product with a de Bruijn sequence.
_SEQUENCE = np.uint64(0x03F79D71B4CB0A89)
_POSITIONS = np.zeros(64, dtype=np.int64)
for _position in range(64):
    _POSITIONS[((int(_SEQUENCE) << _position) & 0xFFFFFFFFFFFFFFFF) >> 58] = _position


@inlined
def _agree(points, a, b, kept):
    """Test whether two points have the same sensitive value (the last code) and the same kept codes."""
    last = kept.size
    if points[last, a] != points[last, b]:
        return False
    for attribute in range(last):
        if kept[attribute] and points[attribute, a] != points[attribute, b]:
            return False
    return True


@inlined
def _project(points, multipliers, kept, start, stop, keys):
    """Compute the keys of points[start:stop]: their kept codes and sensitive value, weighted and summed."""
    # Attribute by attribute, so that the inner loop can be vectorized.
    last = kept.size
    for i in range(stop - start):
        keys[i] = multipliers[last] * points[last, start + i]
    for attribute in range(last):
        if kept[attribute]:
            multiplier = multipliers[attribute]
            for i in range(stop - start):
                keys[i] += multiplier * points[attribute, start + i]


@inlined
def _share(points, p, kept, offsets, shares):
    """Multiply the shares of a point's kept codes."""
    # Starred attributes contribute no factor here; the weight of the pattern covers them.
    product = 1.0
    for attribute in range(kept.size):
        if kept[attribute]:
            product *= shares[offsets[attribute] + points[attribute, p]]
    return product


@kernel
def pattern_densities(points, multipliers, injective, point_of_row, rows, starts, kept, weights, offsets, shares):
    """Sum over the star patterns: the release rows of pattern q that match each point, times `weights[q]`.

    Parameters
    ----------
    points : int32 (d + 1, s), the distinct original points; the last code is the sensitive value
    multipliers : int64 (d + 1,), whose products with the codes make keys; `injective` says that keys cannot collide
    point_of_row : int64 (n,), the point of each row before recoding
    rows : int32 (n,), the rows in the order of their pattern; those of q are rows[starts[q]:starts[q + 1]]
    kept : bool (q, d), which attributes each pattern keeps
    weights : float64 (q,)
    offsets : int64 (d,); shares : float64: if attribute a is kept, the weight of a point with code c of it is
        multiplied by shares[offsets[a] + c]. An empty array if all are one

    Returns float64 (s,). One hash table per pattern, of at most twice its rows.
    """
    s = points.shape[1]
    densities = np.zeros(s, dtype=np.float64)
    # One allocation for the largest pattern.
    largest = 0
    for q in range(weights.size):
        largest = max(largest, starts[q + 1] - starts[q])
    room = 16
    while room < 2 * largest:
        room *= 2
    slot_points = np.empty(room, dtype=np.int32)
    slot_counts = np.empty(room, dtype=np.int32)
    slot_keys = np.empty(room, dtype=np.int64)
    keys = np.empty(_BLOCK, dtype=np.int64)
    last = kept.shape[1]
    # Each pattern: hash its rows by their projections, then look up every point.
    for q in range(weights.size):
        capacity = 16
        bits = 4
        while capacity < 2 * (starts[q + 1] - starts[q]):
            capacity *= 2
            bits += 1
        mask = capacity - 1
        shift = 56 - bits
        slot_counts[:capacity] = 0
        # Insert the rows of the pattern; equal projections share a slot.
        for i in range(starts[q], starts[q + 1]):
            point = point_of_row[rows[i]]
            key = multipliers[last] * points[last, point]
            for attribute in range(last):
                if kept[q, attribute]:
                    key += multipliers[attribute] * points[attribute, point]
            slot = ((key * _MULTIPLIER) >> shift) & mask
            while slot_counts[slot] > 0 and not (
                slot_keys[slot] == key and (injective or _agree(points, slot_points[slot], point, kept[q]))
            ):
                slot = (slot + 1) & mask
            slot_keys[slot] = key
            slot_points[slot] = point
            slot_counts[slot] += 1
        # Look up the points, block by block.
        for start in range(0, s, _BLOCK):
            stop = min(s, start + _BLOCK)
            _project(points, multipliers, kept[q], start, stop, keys)
            for i in range(stop - start):
                key = keys[i]
                slot = ((key * _MULTIPLIER) >> shift) & mask
                # Probe until the projection or a free slot is found.
                while slot_counts[slot] > 0:
                    if slot_keys[slot] == key and (injective or _agree(points, slot_points[slot], start + i, kept[q])):
                        weight = weights[q]
                        if shares.size > 0:
                            weight *= _share(points, start + i, kept[q], offsets, shares)
                        densities[start + i] += weight * slot_counts[slot]
                        break
                    slot = (slot + 1) & mask
    return densities


@kernel
def box_bits(bits, labels, run_starts, run_first, run_last):
    """Set bit b of row c if box b allows code c of one attribute.

    `bits` is uint64 (size of the domain, words), all zero; box b has label labels[b], which stands for the codes
    run_first[r] to run_last[r] for run_starts[label] <= r < run_starts[label + 1].
    """
    # Toggle each bit where a run begins, and after its end.
    size = bits.shape[0]
    for box in range(labels.size):
        word = box >> 6
        bit = np.uint64(1) << np.uint64(box & 63)
        for r in range(run_starts[labels[box]], run_starts[labels[box] + 1]):
            bits[run_first[r], word] ^= bit
            if run_last[r] + 1 < size:
                bits[run_last[r] + 1, word] ^= bit
    # A prefix xor turns the toggles into runs.
    for code in range(1, size):
        for word in range(bits.shape[1]):
            bits[code, word] ^= bits[code - 1, word]


@kernel
def box_densities(
    combinations,
    point_starts,
    point_values,
    bits,
    offsets,
    entry_starts,
    entry_values,
    entry_weights,
    bounds,
    slots,
    densities,
):
    """Add the weights of the boxes that contain each point; return the number of operations.

    The combinations are traversed as a tree: boxes that contain a prefix are found once for all combinations that share
    it, and only nonzero words are visited further down.

    Parameters
    ----------
    combinations : int32 (d, x), the distinct combinations of quasi-identifiers, sorted
    point_starts : int64 (x + 1,), the points of each combination: one for each sensitive value it occurs with
    point_values : int32 (s,), the sensitive value of each point
    bits : uint64 (sum of domain sizes, words); offsets : int64 (d,), the first row of each attribute in it
    entry_starts, entry_values, entry_weights : the sensitive values of each box with their weights, as compressed rows
    bounds : int64 (2,), the combinations to visit
    slots : int64 (number of sensitive values,), scratch, initially -1
    densities : float64 (s,), updated in place
    """
    d = combinations.shape[0]
    words = bits.shape[1]
    held = np.empty((d, words), dtype=np.uint64)
    where = np.empty((d, words), dtype=np.int32)
    found = np.zeros(d, dtype=np.int64)
    work = np.int64(0)
    # Combinations are sorted: restart at the first attribute that differs from the one before.
    for x in range(bounds[0], bounds[1]):
        depth = 0
        if x > bounds[0]:
            while combinations[depth, x] == combinations[depth, x - 1]:
                depth += 1
        # Extend the prefix, one attribute at a time.
        while depth < d:
            row = bits[offsets[depth] + combinations[depth, x]]
            here = 0
            # The first attribute: collect the nonzero words.
            if depth == 0:
                for word in range(words):
                    if row[word] != 0:
                        held[0, here] = row[word]
                        where[0, here] = word
                        here += 1
                work += words
            # Further attributes: intersect with the words of the prefix.
            else:
                above = depth - 1
                for i in range(found[above]):
                    common = held[above, i] & row[where[above, i]]
                    if common != 0:
                        held[depth, here] = common
                        where[depth, here] = where[above, i]
                        here += 1
                work += found[above]
            found[depth] = here
            depth += 1
        # Points of the combination by sensitive value.
        for point in range(point_starts[x], point_starts[x + 1]):
            slots[point_values[point]] = point
        # Visit the boxes: each set bit of the intersection.
        for i in range(found[d - 1]):
            rest = held[d - 1, i]
            base = np.int64(where[d - 1, i]) << 6
            while rest != 0:
                lowest = rest & (~rest + np.uint64(1))
                rest ^= lowest
                box = base + _POSITIONS[(lowest * _SEQUENCE) >> np.uint64(58)]
                for entry in range(entry_starts[box], entry_starts[box + 1]):
                    point = slots[entry_values[entry]]
                    # A slot of another combination is stale.
                    if point >= point_starts[x]:
                        densities[point] += entry_weights[entry]
                work += entry_starts[box + 1] - entry_starts[box]
    return work
