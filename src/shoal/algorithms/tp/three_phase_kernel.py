# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""The three phases of TP as arithmetic on cell counts (Xiao, Yi, Tao, EDBT 2010, Section 5).

A group Q is a run of cells; `keep[cell]` is h(Q, v), the rows that the cell still holds. `residue[v]` is h(R, v). A set
of rows is acceptable if `num * h <= den * size` (l = num / den) and `size >= k`; for an integer l >= k that is
l-eligibility.
"""

from __future__ import annotations

import numpy as np

from shoal._core.compiling import inlined, kernel, kernel_step, linear_kernel

__all__ = ["PAUSED", "largest_height", "phase_one", "phase_three", "phase_two"]

PAUSED = -1
"""What phases two and three return if they are to be called again with what they have changed."""


@inlined
def largest_height(counts, start, stop, num, den, k):
    """Compute the pillar height of the largest acceptable part of a group, 0 if only the empty part is acceptable.

    The part keeps `min(h, count)` rows of every value, for the largest h with `num * h <= den * size` (Lemma 5.8).
    """
    # Start at the pillar height of the whole group.
    height = np.int64(0)
    for j in range(start, stop):
        height = max(height, counts[j])
    # Each round lowers the height to what the part's own size allows, so the loop ends at the largest feasible height.
    while height > 0:
        size = np.int64(0)
        for j in range(start, stop):
            size += min(height, counts[j])
        allowed = den * size // num
        if allowed >= height:
            return height if size >= k else np.int64(0)
        height = allowed
    return np.int64(0)


@linear_kernel
def phase_one(counts, values, starts, num, den, k, residue):
    """Cut every group to its largest acceptable part, add the other rows to `residue`, and return the kept counts."""
    keep = np.empty(counts.size, dtype=np.int32)
    for group in range(starts.size - 1):
        start, stop = np.int64(starts[group]), np.int64(starts[group + 1])
        # Lemma 5.8: the largest acceptable part is the group cut at one height.
        height = largest_height(counts, start, stop, num, den, k)
        for j in range(start, stop):
            keep[j] = min(height, counts[j])
            residue[values[j]] += counts[j] - keep[j]
    return keep


@inlined
def _height_and_pillars(keep, start, stop):
    height = np.int64(0)
    # One pass: a higher cell starts the count of pillars again, an equal one adds to it.
    pillars = 0
    for j in range(start, stop):
        if keep[j] > height:
            height = np.int64(keep[j])
            pillars = 1
        elif keep[j] == height:
            pillars += 1
    return height, pillars


@inlined
def _is_conflicting(keep, values, start, stop, height, residue, residue_height):
    # A conflict is a value that is a pillar of the group and of the residue: giving it would raise the residue's
    # height.
    for j in range(start, stop):
        if keep[j] == height and residue[values[j]] == residue_height:
            return True
    return False


@kernel
def phase_two(keep, values, starts, num, den, k, residue, most):
    """Move rows to the residue without raising its pillar height, until it is acceptable or no value is alive.

    Changes `keep` and `residue`; returns whether the residue is acceptable now (1 or 0), or `PAUSED` after looking at
    about `most` cells, so that a run can be interrupted. Values wait in buckets by their count
    in the residue, each with a list of the cells that can give it. A dead group stays dead, so each list is walked
    once.
    """
    groups = starts.size - 1
    m = residue.size
    # Size, pillar height and number of pillars of each group; they are kept up to date below.
    size_of = np.zeros(groups, dtype=np.int64)
    height_of = np.zeros(groups, dtype=np.int64)
    pillars_of = np.zeros(groups, dtype=np.int64)
    group_of = np.empty(keep.size, dtype=np.int32)
    by_value = np.zeros(m + 1, dtype=np.int64)
    for group in range(groups):
        for j in range(starts[group], starts[group + 1]):
            group_of[j] = group
            size_of[group] += keep[j]
            by_value[values[j] + 1] += 1
        height_of[group], pillars_of[group] = _height_and_pillars(keep, starts[group], starts[group + 1])
    # Counting sort: the cells of each value, one value after the other.
    for v in range(m):
        by_value[v + 1] += by_value[v]
    next_cell = np.empty(m, dtype=np.int64)
    for v in range(m):
        next_cell[v] = by_value[v]
    cells = np.empty(keep.size, dtype=np.int32)
    for j in range(keep.size):
        cells[next_cell[values[j]]] = j
        next_cell[values[j]] += 1
    # Size and pillar height of the residue R.
    size = np.int64(0)
    height = np.int64(0)
    for v in range(m):
        next_cell[v] = by_value[v]
        size += residue[v]
        height = max(height, residue[v])
    # The values by how often the residue holds them, as one linked list a count; counts above `height` cannot occur.
    first_of = np.full(height + 1, -1, dtype=np.int32)
    following = np.full(m, -1, dtype=np.int32)
    for v in range(m):
        following[v] = first_of[residue[v]]
        first_of[residue[v]] = v
    # Section 5.3: give the rarest value of the residue first, because it is the furthest from a pillar.
    rarest, seen = np.int64(0), np.int64(0)
    # A conflict lasts until the group gives a row, because the residue's height and its pillars stay.
    conflicting = np.zeros(groups, dtype=np.bool_)
    while not (num * height <= den * size and size >= k):
        # No bucket below `rarest` is filled again: counts of the residue only grow.
        while rarest <= height and first_of[rarest] < 0:
            rarest += 1
        if rarest > height:
            return 0
        v = first_of[rarest]
        if residue[v] != rarest:  # its count has grown: move the value to its bucket
            first_of[rarest] = following[v]
            following[v] = first_of[residue[v]]
            first_of[residue[v]] = v
            continue
        # Look for an alive group that can give the value; dead groups are skipped for good.
        moved = False
        while next_cell[v] < by_value[v + 1]:
            cell = cells[next_cell[v]]
            group = group_of[cell]
            start, stop = starts[group], starts[group + 1]
            if (
                keep[cell] > 0
                and size_of[group] > k
                and residue[v] < height
                and den * (size_of[group] - 1) >= num * height_of[group]
            ):
                # Fat group: it stays acceptable without one row of the value.
                if keep[cell] == height_of[group]:
                    pillars_of[group] -= 1
                keep[cell] -= 1
                size_of[group] -= 1
                residue[v] += 1
                size += 1
                seen += 1
                moved = True
            elif (
                keep[cell] > 0
                and not conflicting[group]
                and (size_of[group] - pillars_of[group] >= k or size_of[group] == pillars_of[group])
                and den * (size_of[group] - pillars_of[group]) >= num * (height_of[group] - 1)
            ):
                top = height_of[group]
                conflicting[group] = _is_conflicting(keep, values, start, stop, top, residue, height)
                if not conflicting[group]:
                    # Thin group without a conflict: it gives one row of each pillar.
                    for j in range(start, stop):
                        if keep[j] == top:
                            keep[j] -= 1
                            residue[values[j]] += 1
                            size_of[group] -= 1
                            size += 1
                    pillars_of[group] = 0
                    seen += stop - start
                    moved = True
            # The height falls only if the last pillar is gone.
            if moved:
                conflicting[group] = False
                if pillars_of[group] == 0:
                    height_of[group], pillars_of[group] = _height_and_pillars(keep, start, stop)
                break
            next_cell[v] += 1  # the group is dead, or its cell is empty
        if not moved:
            first_of[rarest] = following[v]  # no alive group holds the value
        elif seen > most:
            return PAUSED
    return 1


@kernel_step
def _least_conflicting(keep, values, starts, heights, pending, taken):
    # Greedy choice of the set cover: the fewest pillars in common with the pending pillars of the residue.
    best = -1
    fewest = np.int64(keep.size + 1)
    for group in range(starts.size - 1):
        # Empty groups and groups of this round cannot be chosen.
        if heights[group] == 0 or taken[group]:
            continue
        common = np.int64(0)
        for j in range(starts[group], starts[group + 1]):
            if keep[j] == heights[group] and pending[values[j]]:
                common += 1
        if common < fewest:
            best, fewest = group, common
            # Nothing in common cannot be improved.
            if common == 0:
                break
    return best, fewest


@kernel
def phase_three(keep, values, starts, num, den, k, residue, most, resumed):
    """Raise the residue and its pillars in rounds until the residue is acceptable (Section 5.4).

    Changes `keep` and `residue`; returns whether the residue is acceptable now (1 or 0), or `PAUSED` within step two,
    after looking at about `most` cells; the next call is `resumed` there. For an integer l the result is always 1
    (Lemma 5.18); otherwise the rounds may stop early.
    """
    groups = starts.size - 1
    m = residue.size
    # Pillar height and size of each group.
    heights = np.zeros(groups, dtype=np.int64)
    sizes = np.zeros(groups, dtype=np.int64)
    for group in range(groups):
        heights[group], _ = _height_and_pillars(keep, starts[group], starts[group + 1])
        for j in range(starts[group], starts[group + 1]):
            sizes[group] += keep[j]
    size, seen = np.int64(residue.sum()), np.int64(0)
    while True:
        # Step one: choose groups whose conflicting pillars have nothing in common, by greedy set cover.
        # A pillar of the residue is pending until a chosen group does not share it.
        height = np.int64(residue.max())
        pending = np.zeros(m, dtype=np.bool_)
        for v in range(m):
            pending[v] = residue[v] == height
        waiting = np.int64(0) if resumed else np.int64(pending.sum())
        taken = np.zeros(groups, dtype=np.bool_)
        # Each choice must narrow the pending pillars, so this loop ends after at most m choices.
        progress = resumed
        resumed = False
        while waiting > 0:
            group, common = _least_conflicting(keep, values, starts, heights, pending, taken)
            seen += keep.size
            # No group narrows the intersection: the cover does not exist.
            if group < 0 or common >= waiting:
                return 0
            # Intersect the pending pillars with the pillars of the chosen group.
            still = np.zeros(m, dtype=np.bool_)
            for j in range(starts[group], starts[group + 1]):
                if keep[j] == heights[group] and pending[values[j]]:
                    still[values[j]] = True
            pending = still
            waiting = common
            taken[group] = True
        # Each chosen group gives one row of each pillar, if the rest stays acceptable.
        for group in range(groups):
            if not taken[group]:
                continue
            start, stop = starts[group], starts[group + 1]
            top, pillars = _height_and_pillars(keep, start, stop)
            if sizes[group] - pillars < k and sizes[group] != pillars:
                continue
            if den * (sizes[group] - pillars) < num * (top - 1):
                continue
            for j in range(start, stop):
                if keep[j] == top:
                    keep[j] -= 1
                    residue[values[j]] += 1
                    sizes[group] -= 1
                    size += 1
            heights[group] = top - 1
            progress = True
            # Stop as soon as the residue is acceptable: every further row costs stars.
            if num * residue.max() <= den * size and size >= k:
                return 1
        # Step two: groups that are alive again give rows that do not raise the residue's pillars, until they are dead.
        height = np.int64(residue.max())
        for group in range(groups):
            start, stop = starts[group], starts[group + 1]
            while heights[group] > 0:
                gave = False
                seen += stop - start
                # Fat: one row of a value that is not a pillar of the residue.
                if sizes[group] > k and den * (sizes[group] - 1) >= num * heights[group]:
                    for j in range(start, stop):
                        if keep[j] > 0 and residue[values[j]] < height:
                            keep[j] -= 1
                            residue[values[j]] += 1
                            sizes[group] -= 1
                            size += 1
                            gave = True
                            break
                # Thin and without a conflict: one row of each pillar.
                elif not _is_conflicting(keep, values, start, stop, heights[group], residue, height):
                    top, pillars = _height_and_pillars(keep, start, stop)
                    if (sizes[group] - pillars >= k or sizes[group] == pillars) and den * (
                        sizes[group] - pillars
                    ) >= num * (top - 1):
                        for j in range(start, stop):
                            if keep[j] == top:
                                keep[j] -= 1
                                residue[values[j]] += 1
                                sizes[group] -= 1
                                size += 1
                        gave = True
                if not gave:
                    break
                progress = True
                heights[group], _ = _height_and_pillars(keep, start, stop)
                if num * height <= den * size and size >= k:
                    return 1
                if seen > most:
                    return PAUSED
        # Neither step moved a row: another round would do the same.
        if not progress:
            return 0
