# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""The sizes of the groups of each set of columns in hash tables, and the search for fewer stars row by row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal._core.compiling import kernel, kernel_step

__all__ = ["CountedSets", "count_groups_of_sets", "improve_rows", "flag_failing_rows", "star_rows"]

_SPREAD = np.int64(-7046029254386353131)  # 2**64 over the golden ratio
_FREE = np.int64(-1)
_MARKS = np.int64(1 << 16)
"""Size of the table of bits for groups that are too small."""
_MAX_NODES = 400
"""Nodes of the search for the stars of one row; it is given up beyond, which is rare below ten stars."""


class CountedSets(NamedTuple):
    """The sets of columns, and the number of rows of each of their groups.

    The key of a row in set s is the sum of `factors` times the codes of the set's columns, kept below 2**63.
    """

    column_starts: NDArray[np.int64]
    """The columns of set s are `columns[column_starts[s]:column_starts[s + 1]]`."""
    columns: NDArray[np.int64]
    factors: NDArray[np.int64]
    """Factor of each entry of `columns`."""
    set_starts: NDArray[np.int64]
    """The sets with column a are `sets[set_starts[a]:set_starts[a + 1]]`."""
    sets: NDArray[np.int64]
    least: NDArray[np.int64]
    """Smallest number of rows of a group of each set."""
    slot_starts: NDArray[np.int64]
    """The slots of set s are `slot_starts[s]:slot_starts[s + 1]`, a power of two of them."""
    keys: NDArray[np.int64]
    """Key of each slot; negative for a free one."""
    counts: NDArray[np.int64]
    """Rows of the group of each slot."""
    used: NDArray[np.int64]
    """Number of slots of each set that are not free."""


@kernel_step
def _key_of(counted, s, row):
    """Compute the key of a row of codes in a set."""
    key = np.int64(0)
    for i in range(counted.column_starts[s], counted.column_starts[s + 1]):
        key += counted.factors[i] * np.int64(row[counted.columns[i]])
    return key & np.int64(0x7FFFFFFFFFFFFFFF)


@kernel_step
def _compute_keys(codes, counted, s, keys):
    """Compute the keys of all rows in a set, column by column."""
    keys[:] = 0
    for i in range(counted.column_starts[s], counted.column_starts[s + 1]):
        factor, a = counted.factors[i], counted.columns[i]
        for row in range(len(codes)):
            keys[row] += factor * np.int64(codes[row, a])
    for row in range(len(codes)):
        keys[row] &= np.int64(0x7FFFFFFFFFFFFFFF)


@kernel_step
def _key_with_star(counted, s, key, code, a, stars):
    """Compute the key of a row in a set after one of its cells becomes a star."""
    for i in range(counted.column_starts[s], counted.column_starts[s + 1]):
        if counted.columns[i] == a:
            key += counted.factors[i] * (stars[a] - np.int64(code))
    return key & np.int64(0x7FFFFFFFFFFFFFFF)


@kernel_step
def _has_star(counted, s, row, stars):
    """Test if a row has a star in a column of a set."""
    for i in range(counted.column_starts[s], counted.column_starts[s + 1]):
        if row[counted.columns[i]] == stars[counted.columns[i]]:
            return True
    return False


@kernel_step
def _first_slot(key, slots):
    spread = key * _SPREAD
    return (spread ^ (spread >> np.int64(32))) & (slots - 1)


@kernel_step
def _count_of(counted, s, key):
    """Look up the rows of a group; 0 if there is none."""
    start, slots = counted.slot_starts[s], counted.slot_starts[s + 1] - counted.slot_starts[s]
    place = _first_slot(key, slots)
    # Linear probing: the key is before the first free slot, or nowhere.
    while True:
        found = counted.keys[start + place]
        if found == key:
            return np.int64(counted.counts[start + place])
        if found == _FREE:
            return np.int64(0)
        place = (place + 1) & (slots - 1)


@kernel_step
def _add_rows(counted, s, key, rows):
    """Add rows to a group, which may be new; return False if the set has too few free slots."""
    start, slots = counted.slot_starts[s], counted.slot_starts[s + 1] - counted.slot_starts[s]
    place = _first_slot(key, slots)
    empty = np.int64(-1)
    # A group without rows may be replaced, but only if the key is not in a later slot.
    while counted.keys[start + place] != key:
        if counted.keys[start + place] == _FREE:
            # A new slot: at least a quarter of them stays free, so that probing ends soon.
            if empty < 0:
                if 4 * (counted.used[s] + 1) > 3 * slots:
                    return False
                counted.used[s] += 1
                empty = place
            counted.keys[start + empty] = key
            counted.counts[start + empty] = rows
            return True
        if counted.counts[start + place] == 0 and empty < 0:
            empty = place
        place = (place + 1) & (slots - 1)
    counted.counts[start + place] += rows
    return True


@kernel
def count_groups_of_sets(codes, weights, counted):
    """Count all groups again; return which sets have too few slots, and are not counted."""
    full = np.zeros(len(counted.least), dtype=np.bool_)
    keys = np.empty(len(codes), dtype=np.int64)
    counted.keys[:] = _FREE
    counted.counts[:] = 0
    counted.used[:] = 0
    # Set by set, so that one table at a time is in the cache.
    for s in range(len(counted.least)):
        _compute_keys(codes, counted, s, keys)
        # A set with too few slots is given up; its table grows before the next attempt.
        for row in range(len(codes)):
            if not _add_rows(counted, s, keys[row], weights[row]):
                full[s] = True
                break
    return full


@kernel
def flag_failing_rows(codes, stars, counted, hopeful, flags):
    """Flag the rows that are in a group that is too small; `hopeful`: without stars in its columns.

    Set by set: the groups that are too small are marked in a table of bits, which few other rows meet.
    """
    flags[:] = False
    keys = np.empty(len(codes), dtype=np.int64)
    marks = np.zeros(_MARKS, dtype=np.bool_)
    for s in range(len(counted.least)):
        # The groups that are too small.
        marked = False
        for slot in range(counted.slot_starts[s], counted.slot_starts[s + 1]):
            if counted.keys[slot] >= 0 and 0 < counted.counts[slot] < counted.least[s]:
                marks[_first_slot(counted.keys[slot], _MARKS)] = True
                marked = True
        if not marked:
            continue
        # Rows that meet a mark are looked up.
        _compute_keys(codes, counted, s, keys)
        for row in range(len(codes)):
            if marks[_first_slot(keys[row], _MARKS)] and not flags[row]:
                if _count_of(counted, s, keys[row]) < counted.least[s]:
                    flags[row] = not (hopeful and _has_star(counted, s, codes[row], stars))
        marks[:] = False


@kernel
def star_rows(codes, stars, weights, counted, order, prices, hopeful, hope):
    """Star cells of rows in groups that are too small, one row after another, with the counts as they are then.

    Parameters
    ----------
    codes : int32 array of shape (rows, d)
        The published codes, changed in place.
    stars : int64 array of shape (d,)
        The code of a star in each column.
    weights : int64 array
        Number of rows of the table that each row represents.
    counted : CountedSets
        The groups of `codes`, changed in place.
    order : int64 array
        The rows to look at.
    prices : float64 array of shape (d,)
        What a star costs in each column, for the choice of columns alone.
    hopeful : bool
        Whether groups with stars are taken for large enough.
    hope : float
        What a set is worth whose group with the new star is too small, relative to one whose group is large enough.

    Returns
    -------
    starred : int
        Number of cells that became stars.
    stuck : int
        A set with a group that is too small and has stars in all columns; -1 if none was found.
    full : bool
        Whether a set has too few slots; then the groups must be counted again.
    """
    d, sets = codes.shape[1], len(counted.least)
    own = np.empty(sets, dtype=np.int64)
    sizes = np.empty(sets, dtype=np.int64)
    failing = np.zeros(sets, dtype=np.bool_)
    cells = np.empty(d, dtype=np.int64)
    starred, stuck = 0, -1
    # Row by row, so that a row meets the stars of those before it.
    for place in range(len(order)):
        row, weight = order[place], weights[order[place]]
        for a in range(d):
            cells[a] = codes[row, a]
        some = False
        for s in range(sets):
            own[s] = _key_of(counted, s, cells)
            sizes[s] = _count_of(counted, s, own[s])
            failing[s] = sizes[s] < counted.least[s]
            some |= failing[s]
        # Stars until no group fails, or none can be helped.
        while some:
            # The value of a star in each column.
            best, value = -1, 0.0
            for a in range(d):
                if cells[a] == stars[a]:
                    continue
                worth, helps = 0.0, False
                for j in range(counted.set_starts[a], counted.set_starts[a + 1]):
                    s = counted.sets[j]
                    # A star may cover a failing set; what else it changes is found in a later round.
                    if failing[s]:
                        if hopeful and _has_star(counted, s, cells, stars):
                            continue
                        helps = True
                        if hopeful:
                            worth += 1.0
                        else:
                            key = _key_with_star(counted, s, own[s], cells[a], a, stars)
                            joined = _count_of(counted, s, key) + weight >= counted.least[s]
                            worth += 1.0 if joined else hope
                if helps and (best < 0 or worth / prices[a] > value):
                    best, value = a, worth / prices[a]
            # No star helps: the groups that fail have stars in all columns, or are hoped for.
            if best < 0:
                for s in range(sets):
                    if failing[s] and not hopeful:
                        stuck = s
                break
            # Move the row to its new groups.
            starred += 1
            for j in range(counted.set_starts[best], counted.set_starts[best + 1]):
                s = counted.sets[j]
                key = _key_with_star(counted, s, own[s], cells[best], best, stars)
                _add_rows(counted, s, own[s], -weight)
                if not _add_rows(counted, s, key, weight):
                    codes[row, best] = stars[best]
                    return starred, stuck, True
                own[s] = key
                sizes[s] = _count_of(counted, s, key)
                failing[s] = sizes[s] < counted.least[s]
            codes[row, best] = cells[best] = stars[best]
            some = False
            for s in range(sets):
                some |= failing[s]
    return starred, stuck, False


@kernel_step
def _first_failing(pattern, current, weight, counted, own):
    """Find the first set in which a row with another pattern of stars would be in a group that is too small; or -1.

    `own` has the current keys of the row, whose groups hold it already.
    """
    for s in range(len(counted.least)):
        key = _key_of(counted, s, pattern)
        if key != own[s] and _count_of(counted, s, key) + weight < counted.least[s]:
            return s
    return -1


@kernel_step
def _search_row(original, stars, weight, counted, own, kept, fixed, most, pattern, depth_of, choice, node_count):
    """Search for the fewest stars of a row, fewer than `most`, by branching on the columns of a failing set.

    A set stays failing until another of its columns is a star, so that the search is complete. Columns of `kept` stay
    as they are in `fixed`. The pattern is in `pattern` if the result is True.
    """
    d = len(original)
    # Stars that must stay are the least number.
    least = 0
    for a in range(d):
        if kept[a] and fixed[a]:
            least += 1
    for depth in range(least, most):
        # Depth first: level by level the failing set and the next of its columns.
        for a in range(d):
            pattern[a] = stars[a] if kept[a] and fixed[a] else original[a]
        # The root of the search: the stars that must stay.
        level = 0
        depth_of[0] = _first_failing(pattern, original, weight, counted, own)
        node_count[0] += 1
        if depth_of[0] < 0:
            return True
        choice[0] = counted.column_starts[depth_of[0]] - 1
        while level >= 0:
            s = depth_of[level]
            # Take back the last star of this level.
            if choice[level] >= counted.column_starts[s]:
                a = counted.columns[choice[level]]
                pattern[a] = original[a]
            # The next column of the set that may become a star.
            i = choice[level] + 1
            while i < counted.column_starts[s + 1]:
                a = counted.columns[i]
                if pattern[a] != stars[a] and not kept[a]:
                    break
                i += 1
            if i >= counted.column_starts[s + 1] or least + level >= depth:
                level -= 1
                continue
            # Descend with one more star, to the next set that fails.
            choice[level] = i
            pattern[counted.columns[i]] = stars[counted.columns[i]]
            node_count[0] += 1
            if node_count[0] > _MAX_NODES:
                return False
            failing = _first_failing(pattern, original, weight, counted, own)
            if failing < 0:
                return True
            level += 1
            depth_of[level] = failing
            choice[level] = counted.column_starts[failing] - 1
    return False


@kernel
def improve_rows(codes, originals, stars, weights, counted, order, losses, work):
    """Replace the stars of single rows by fewer that lose less, if all groups of all sets stay large enough.

    Parameters
    ----------
    codes, originals : int32 arrays of shape (rows, d)
        The published codes, changed in place, and the original ones.
    stars : int64 array of shape (d,)
        The code of a star in each column.
    weights : int64 array
        Number of rows of the table that each row represents.
    counted : CountedSets
        The groups of `codes`, changed in place.
    order : int64 array
        The rows to improve.
    losses : float64 array of shape (d,)
        What a star loses in each column.
    work : int
        Number of sets to look up, after which the search ends.

    Returns
    -------
    gained : int
        Stars that were taken back, of all represented rows.
    done : int
        Number of rows of `order` that were searched. If a set has too few slots, the last row is counted in part and
        the groups must be counted again.
    full : bool
        Whether a set has too few slots.
    work : int
        The work that is left.
    """
    d = codes.shape[1]
    # Arrays of one row, used again for each.
    sets = len(counted.least)
    own = np.empty(sets, dtype=np.int64)
    kept = np.zeros(d, dtype=np.bool_)
    fixed = np.zeros(d, dtype=np.bool_)
    pattern = np.empty(d, dtype=np.int64)
    original = np.empty(d, dtype=np.int64)
    cells = np.empty(d, dtype=np.int64)
    depth_of = np.empty(d + 1, dtype=np.int64)
    choice = np.empty(d + 1, dtype=np.int64)
    node_count = np.zeros(1, dtype=np.int64)
    gained = 0
    for place in range(len(order)):
        if work <= 0:
            return gained, place, False, work
        row, weight = order[place], weights[order[place]]
        # The stars of the row; original cells with the code of a star do not exist.
        most = np.int64(0)
        for a in range(d):
            fixed[a] = codes[row, a] == stars[a] and originals[row, a] != stars[a]
            most += fixed[a]
            kept[a] = False
            original[a] = originals[row, a]
            cells[a] = codes[row, a]
        if most == 0:
            continue
        # A group that could not do without the row keeps it, with the same cells in the columns of its set.
        for s in range(sets):
            own[s] = _key_of(counted, s, cells)
            left = _count_of(counted, s, own[s]) - weight
            if 0 < left < counted.least[s]:
                for i in range(counted.column_starts[s], counted.column_starts[s + 1]):
                    kept[counted.columns[i]] = True
        # Search for a pattern with fewer stars.
        node_count[0] = 0
        better = _search_row(
            original, stars, weight, counted, own, kept, fixed, most, pattern, depth_of, choice, node_count
        )
        work -= (node_count[0] + 1) * sets
        if not better:
            continue
        # Fewer stars may lose more if columns have weights.
        now, change = 0, 0.0
        for a in range(d):
            now += pattern[a] == stars[a]
            change += losses[a] * (np.float64(pattern[a] == stars[a]) - np.float64(fixed[a]))
        if change >= 0.0:
            continue
        # Publish the pattern, and move the row to its new groups.
        for a in range(d):
            codes[row, a] = pattern[a]
        gained += (most - now) * weight
        for s in range(sets):
            key = _key_of(counted, s, pattern)
            if key != own[s]:
                _add_rows(counted, s, own[s], -weight)
                if not _add_rows(counted, s, key, weight):
                    return gained, place + 1, True, work
    return gained, len(order), False, work
