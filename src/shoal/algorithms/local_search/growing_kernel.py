# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Greedy k-member clustering: groups grow from near rows, each until it is acceptable."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal._core.compiling import allocating_step, inlined, kernel_step, linear_kernel
from shoal.algorithms.common.histogram_kernel import clear, count_row
from shoal.algorithms.common.predicate_kernel import acceptable
from shoal.algorithms.common.whole_kernel import ZERO
from shoal.algorithms.local_search.losses_kernel import MISSING, MODE, SET, STAR, span

Codes = NDArray[np.int32]


__all__ = ["grow_groups", "keep_acceptable"]

FREE = -1


@linear_kernel
def keep_acceptable(begins, begin, count, smallest, predicate, labels, pause):
    """Make each acceptable class a group; of other classes, the part left after frequent values give rows away.

    Parameters
    ----------
    begins : int32[s + 1]
        First row of each class.
    begin : int
        The first class that is left.
    count : int
        Number of groups so far.
    smallest : int
        Fewest rows of an acceptable group.
    predicate : Predicate
        The predicate.
    labels : int32[n]
        Receives the group of each row, -1 for rows without a group.
    pause : int
        Number of rows and codes to scan after which to return, so that a run can be interrupted.

    Returns
    -------
    count : int
        New number of groups.
    done : int
        Number of classes that had their turn.
    scanned : int
        Number of rows and codes that were scanned.
    """
    counts = np.zeros(predicate.starts[predicate.starts.size - 1], dtype=np.int64)
    touched = np.empty(counts.size, dtype=np.int32)
    # For each code the first row of the class that may still give it away.
    first = np.empty(counts.size, dtype=np.int64)
    scanned = ZERO
    # Each class starts as one group of all its rows.
    for c in range(begin, begins.size - 1):
        if scanned >= pause:
            return count, c, scanned
        distinct = ZERO
        size = np.int64(begins[c + 1] - begins[c])
        scanned += size
        for row in range(begins[c], begins[c + 1]):
            distinct = count_row(np.int64(row), predicate.sensitive, touched, distinct, counts)
            labels[row] = count
        for i in range(distinct):
            first[touched[i]] = begins[c]
        kept = False
        frequent = limit = ZERO
        # Remove rows of the most frequent value, as TP's first phase does, until the rest is acceptable or too small.
        while size >= smallest and not kept:
            kept = acceptable(size, touched, distinct, counts, predicate.starts, predicate.rules, predicate.bounds)
            if not kept:
                most = _most_frequent(touched, frequent, counts)
                # No code behind the frequent ones has more than `limit` rows.
                if most < 0 or counts[most] <= limit:
                    frequent, limit = _bring_forward(touched, distinct, counts)
                    most = _most_frequent(touched, frequent, counts)
                    scanned += distinct
                scanned += frequent
                if _give_away(most, first, begins[c + 1], predicate.sensitive, counts, labels):
                    distinct = _drop_absent(touched, distinct, counts)
                    frequent = ZERO
                    scanned += distinct
                size -= 1
        distinct = clear(touched, distinct, counts)
        if kept:
            count += 1
        # A class that fails keeps no row.
        else:
            for row in range(begins[c], begins[c + 1]):
                labels[row] = FREE
    return count, begins.size - 1, scanned


@inlined
def _most_frequent(touched, among, counts):
    """Find the most frequent of the first codes, -1 if there are none."""
    # Ties go to the smaller code, so that the result is unique.
    most = np.int64(-1)
    for i in range(among):
        v = np.int64(touched[i])
        if most < 0 or counts[v] > counts[most] or (counts[v] == counts[most] and v < most):
            most = v
    return most


@kernel_step
def _bring_forward(touched, distinct, counts):
    """Put the codes with more than half as many rows as the most frequent one first; they are few if it has too many.

    Returns
    -------
    frequent : int
        Number of these codes.
    limit : int
        Largest count of the others.
    """
    limit = ZERO
    for i in range(distinct):
        limit = max(limit, counts[touched[i]])
    limit //= 2
    frequent = ZERO
    for i in range(distinct):
        v = touched[i]
        if counts[v] > limit:
            touched[i] = touched[frequent]
            touched[frequent] = v
            frequent += 1
    return frequent, limit


@kernel_step
def _give_away(most, first, end, sensitive, counts, labels):
    """Free a row of a class with its most frequent sensitive value; return whether a code no longer occurs."""
    absent = False
    # Free the first row that has the value in any of its sensitive attributes: no row before the last one has it.
    for row in range(first[most], end):
        has = False
        for j in range(sensitive.shape[1]):
            has = has or sensitive[row, j] == most
        if has and labels[row] != FREE:
            labels[row] = FREE
            first[most] = row + 1
            for j in range(sensitive.shape[1]):
                counts[sensitive[row, j]] -= 1
                absent = absent or counts[sensitive[row, j]] == 0
            break
    return absent


@kernel_step
def _drop_absent(touched, distinct, counts):
    """Drop the codes that no longer occur; return the number of codes left."""
    left = ZERO
    for i in range(distinct):
        if counts[touched[i]] > 0:
            touched[left] = touched[i]
            left += 1
    return left


@kernel_step
def _joined_loss(row, members, size, losses, low, high, values, work):
    """Compute the loss of each row of a group if another row joined."""
    total = 0.0
    work[0] -= losses.codes.shape[1]
    # The group's extents and numbers of values are kept; only the new row is compared.
    for c in range(losses.codes.shape[1]):
        code = losses.codes[row, c]
        mode = losses.columns[c, MODE]
        # Sets and stars: is the code new to the group?
        if mode in (SET, STAR):
            new = 1
            for i in range(size):
                if losses.codes[members[i], c] == code:
                    new = 0
                    break
            work[0] -= size
            count = values[c] + new
            if count == 1:
                continue
            missing = losses.columns[c, MISSING]
            # A missing value is the last code: it is present if the largest code is.
            if mode == STAR or count > losses.largest_set or (missing >= 0 and max(high[c], code) == missing):
                total += 1.0
            else:
                total += losses.scales[c] * (count - 1)
        # Intervals and nodes follow from the extent.
        else:
            total += span(mode, losses.positions, min(low[c], code), max(high[c], code))
    return total


@inlined
def _new_value(row, sensitive, counts):
    """Test whether a row has a sensitive value that the group lacks."""
    for j in range(sensitive.shape[1]):
        if counts[sensitive[row, j]] == 0:
            return True
    return False


class Runs(NamedTuple):
    """Neighbouring rows of a class with the same sensitive values."""

    of_rows: Codes
    """Run of each row."""
    of_classes: Codes
    """First run of each class; one more than there are classes."""
    ends: Codes
    """End of each run."""
    fronts: Codes
    """A row of each run before which none is free."""


@allocating_step
def _find_runs(begins, sensitive):
    """Divide the rows of each class into runs."""
    n = sensitive.shape[0]
    runs = Runs(
        np.empty(n, dtype=np.int32),
        np.empty(begins.size, dtype=np.int32),
        np.empty(n, dtype=np.int32),
        np.empty(n, dtype=np.int32),
    )
    number = -1
    for c in range(begins.size - 1):
        runs.of_classes[c] = number + 1
        for row in range(begins[c], begins[c + 1]):
            same = row > begins[c]
            for j in range(sensitive.shape[1]):
                same = same and sensitive[row, j] == sensitive[row - 1, j]
            if not same:
                number += 1
                runs.fronts[number] = row
            runs.of_rows[row] = number
            runs.ends[number] = row + 1
    runs.of_classes[begins.size - 1] = number + 1
    return runs


@inlined
def _first_free(run, runs, labels, work):
    """Find the first free row of a run; return its end if there is none."""
    # The front moves on for good, but for the rows of a group that is given up.
    row = runs.fronts[run]
    while row < runs.ends[run] and labels[row] != FREE:
        row += 1
    work[0] -= 1 + row - runs.fronts[run]
    runs.fronts[run] = row
    return row


@kernel_step
def _best_of_pool(pool, pooled, wanted, members, size, labels, losses, predicate, counts, runs, extents, work):
    """Find the free row with the smallest loss by joining; prefer rows with a value that the group lacks if `wanted`.

    Returns
    -------
    row : int
        Or -1 if no candidate is free.
    pooled : int
        Number of classes of the pool with a free row.
    """
    best = np.inf
    row = np.int64(-1)
    i = 0
    # One candidate for each class: its rows are equal except for their sensitive values.
    while i < pooled:
        free = np.int64(-1)
        # Prefer a free row of the class that adds a sensitive value.
        helps = False
        for run in range(runs.of_classes[pool[i]], runs.of_classes[pool[i] + 1]):
            candidate = _first_free(run, runs, labels, work)
            if candidate < runs.ends[run]:
                fresh = _new_value(candidate, predicate.sensitive, counts)
                if free < 0 or fresh:
                    free = np.int64(candidate)
                    helps = fresh
                if helps:
                    break
        # Drop classes without a free row from the pool; the last class takes the place.
        if free < 0:
            pooled -= 1
            pool[i] = pool[pooled]
            continue
        loss = _joined_loss(free, members, size, losses, extents[0], extents[1], extents[2], work)
        # The penalty exceeds every loss, so that helpful rows come first.
        if wanted and not helps:
            loss += losses.columns.shape[0] + 1
        if loss < best:
            best = loss
            row = free
        i += 1
    return row, pooled


@inlined
def _extend(row, members, size, losses, extents):
    """Update the first code, the last code and the number of codes of each attribute for a row that joins a group."""
    for c in range(losses.codes.shape[1]):
        # The first row initializes the extents.
        code = losses.codes[row, c]
        new = 1
        for i in range(size):
            if losses.codes[members[i], c] == code:
                new = 0
                break
        extents[0, c] = min(extents[0, c], code) if size > 0 else code
        extents[1, c] = max(extents[1, c], code) if size > 0 else code
        extents[2, c] = extents[2, c] + new if size > 0 else 1


@linear_kernel
def grow_groups(seeds, smallest, largest, pool_room, count, labels, losses, predicate, partners, work, pause):
    """Grow a group from each seed that is still free: add the free row with the smallest loss until it is acceptable.

    Candidates are the rows of the classes near to those of the group's rows. A group that finds too few rows is given
    up.

    Parameters
    ----------
    seeds : int32[r]
        Rows, in the order in which they start a group.
    smallest, largest : int
        Smallest size of an acceptable group, and largest size to which a group may grow.
    pool_room : int
        Largest number of classes to consider for one group.
    count : int
        Number of groups so far.
    labels : int32[n]
        Group of each row, -1 for a free row; changed in place.
    losses, predicate, partners : Losses, Predicate, Partners
        See `shoal.algorithms.local_search.exchange_kernel.exchange_rows`.
    work : int64[1]
        Number of codes and rows that may still be scanned; lowered in place. No group is started if it is used up.
    pause : int
        Number of them after which to return, so that a run can be interrupted.

    Returns
    -------
    count : int
        New number of groups.
    done : int
        Number of seeds that had their turn.
    """
    counts = np.zeros(predicate.starts[predicate.starts.size - 1], dtype=np.int64)
    touched = np.empty(counts.size, dtype=np.int32)
    members = np.empty(largest, dtype=np.int32)
    pool = np.empty(pool_room, dtype=np.int32)
    pooled_in = np.full(partners.begins.size - 1, -1, dtype=np.int64)
    extents = np.zeros((3, losses.codes.shape[1]), dtype=np.int32)
    runs = _find_runs(partners.begins, predicate.sensitive)
    stop = max(work[0] - pause, 0)
    # Seeds take turns; a seed that joined an earlier group is skipped.
    for turn in range(seeds.size):
        row = np.int64(seeds[turn])
        if work[0] <= stop:
            return count, turn
        if labels[row] != FREE:
            continue
        size = distinct = pooled = ZERO
        grown = False
        # Add the row, then test the group: groups stay as small as possible.
        while row >= 0:
            _extend(row, members, size, losses, extents)
            members[size] = row
            size += 1
            labels[row] = count
            distinct = count_row(row, predicate.sensitive, touched, distinct, counts)
            grown = size >= smallest and acceptable(
                size, touched, distinct, counts, predicate.starts, predicate.rules, predicate.bounds
            )
            # Stop at the first acceptable size, or at the largest size.
            if grown or size == largest:
                break
            # The classes near to the new row join the pool, each once per group.
            home = partners.class_of[row]
            for i in range(-1, partners.near.shape[1]):
                other = home if i < 0 else partners.near[home, i]
                if other >= 0 and pooled_in[other] != turn and pooled < pool_room:
                    pooled_in[other] = turn
                    pool[pooled] = other
                    pooled += 1
            row, pooled = _best_of_pool(
                pool,
                pooled,
                size + 1 >= smallest,
                members,
                size,
                labels,
                losses,
                predicate,
                counts,
                runs,
                extents,
                work,
            )
        # Keep an acceptable group; free the rows of any other.
        distinct = clear(touched, distinct, counts)
        if grown:
            count += 1
        else:
            for i in range(size):
                labels[members[i]] = FREE
                run = runs.of_rows[members[i]]
                runs.fronts[run] = min(runs.fronts[run], members[i])
    return count, seeds.size
