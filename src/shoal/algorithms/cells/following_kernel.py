# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Which group each row follows: simulated annealing where what groups are too far from the table has a price.

What fails in the end is mended: rows leave groups that are not acceptable for others that stay so, or for the last
group, that of stars, which then takes rows that it lacks from the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal._compiling import kernel, kernel_step
from shoal.algorithms.cells.likeness_kernel import excess, largest_like
from shoal.algorithms.common.predicate_kernel import acceptable
from shoal.algorithms.common.whole_kernel import MINUS_ONE, ONE, ZERO
from shoal.solver.random_kernel import draw, happens

if TYPE_CHECKING:
    from numpy.typing import NDArray


__all__ = ["Following", "fill_last", "follow", "leave_failing", "measure"]


class Following(NamedTuple):
    """Rows in the canonical order, and which of the groups that fit its class each of them follows."""

    class_of: NDArray[np.int32]
    values: NDArray[np.int32]
    """The sensitive value of each row."""
    pair_of: NDArray[np.int32]
    """Where each row's group stands in `groups`, -1 for none."""
    starts: NDArray[np.int64]
    """Where the groups that fit each class start; one more than there are classes."""
    groups: NDArray[np.int32]
    costs: NDArray[np.int32]
    """What a row of the class loses in each."""
    counts: NDArray[np.int32]
    """Rows of each group with each value, shape (groups, values)."""
    sizes: NDArray[np.int64]
    far: NDArray[np.float64]
    """What each group is too far from the table: `excess`."""


@kernel
def measure(state, like):
    """Fill in how far each group is from the table."""
    for group in range(state.sizes.size):
        state.far[group] = excess(state.counts[group], state.sizes[group], like)


@kernel
def follow(state, like, price, temperature, moves, random):
    """Try to let rows follow other groups, as simulated annealing has it.

    Parameters
    ----------
    state : Following
    like : Likeness
    price : float
        What a row costs that a group is too far from the table.
    temperature : float
        In units of `state.costs`.
    moves : int
        How many are tried.
    random : uint64[1]

    Returns
    -------
    int
        Moves that were made.
    """
    made = 0
    rows = np.int64(state.class_of.size)
    for _ in range(moves):
        row = draw(random, rows)
        first = state.starts[state.class_of[row]]
        width = state.starts[state.class_of[row] + 1] - first
        pair = first + draw(random, width)
        before = np.int64(state.pair_of[row])
        if pair == before:
            continue
        G, H = state.groups[before], state.groups[pair]
        change = np.float64(state.costs[pair] - state.costs[before])
        if state.far[G] == 0.0 and state.far[H] == 0.0 and change > 30.0 * temperature:
            continue
        value = state.values[row]
        state.counts[G, value] -= 1
        state.counts[H, value] += 1
        here = excess(state.counts[G], state.sizes[G] - 1, like)
        there = excess(state.counts[H], state.sizes[H] + 1, like)
        change += price * (here - state.far[G] + there - state.far[H])
        if happens(change, temperature, random):
            state.sizes[G] -= 1
            state.sizes[H] += 1
            state.far[G] = here
            state.far[H] = there
            state.pair_of[row] = pair
            made += 1
        else:
            state.counts[G, value] += 1
            state.counts[H, value] -= 1
    return made


@kernel_step
def _holds(group, state, asked, touched, counted):
    """Ask the predicate of a group."""
    distinct = ZERO
    for v in range(counted.size):
        counted[v] = state.counts[group, v]
        if counted[v] > 0:
            touched[distinct] = v
            distinct += 1
    return acceptable(state.sizes[group], touched, distinct, counted, asked.starts, asked.rules, asked.bounds)


@kernel_step
def _holds_with(group, value, change, state, asked, touched, counted):
    """Ask it of a group with one row more or less; the row is not moved."""
    state.counts[group, value] += change
    state.sizes[group] += change
    held = _holds(group, state, asked, touched, counted)
    state.counts[group, value] -= change
    state.sizes[group] -= change
    return held


@kernel_step
def _put(row, pair, state):
    """Let a row follow another group, or any where it followed none."""
    before = state.pair_of[row]
    value = state.values[row]
    if before >= 0:
        state.counts[state.groups[before], value] -= 1
        state.sizes[state.groups[before]] -= 1
    state.pair_of[row] = pair
    if pair >= 0:
        state.counts[state.groups[pair], value] += 1
        state.sizes[state.groups[pair]] += 1


@kernel
def leave_failing(state, like, asked, last):
    """Take rows out of groups that are not acceptable, and let them follow the cheapest others that stay so.

    What finds none follows the last group, which fits every row, and which may not be acceptable then.

    Parameters
    ----------
    state : Following
    like, asked : Likeness, Asked
    last : int
        The last group; it is the last one of every class.
    """
    groups, values = state.counts.shape
    touched = np.empty(values, np.int32)
    counted = np.empty(values, np.int64)
    kept = np.empty((groups, values), np.int64)
    for group in range(groups):
        holds = state.sizes[group] == 0 or group == last or _holds(group, state, asked, touched, counted)
        if not holds and largest_like(state.counts[group], like, kept[group]) > 0:
            continue
        for v in range(values):
            kept[group, v] = state.counts[group, v] if holds else 0
    rows = state.class_of.size
    for row in range(rows):
        group = state.groups[state.pair_of[row]]
        if kept[group, state.values[row]] > 0:
            kept[group, state.values[row]] -= 1
        else:
            _put(row, np.int32(-1), state)
    emptied = np.zeros(groups, np.bool_)
    for group in range(groups):
        if group != last and state.sizes[group] > 0 and not _holds(group, state, asked, touched, counted):
            emptied[group] = True
    for row in range(rows):
        pair = state.pair_of[row]
        if pair >= 0 and emptied[state.groups[pair]]:
            _put(row, np.int32(-1), state)
    for row in range(rows):
        if state.pair_of[row] >= 0:
            continue
        end = state.starts[state.class_of[row] + 1]
        best = end - 1
        for pair in range(state.starts[state.class_of[row]], end - 1):
            group = state.groups[pair]
            if state.sizes[group] > 0 and state.costs[pair] < state.costs[best]:
                if _holds_with(group, state.values[row], ONE, state, asked, touched, counted):
                    best = pair
        _put(row, np.int32(best), state)


@kernel
def fill_last(state, like, asked, last, order, by_group, begins):
    """Let the last group take rows of others until it is acceptable: rows with values that it lacks, then whole groups.

    Parameters
    ----------
    state : Following
    like, asked : Likeness, Asked
    last : int
        The last group; it is the last one of every class.
    order : int64[n]
        Rows in the order in which they are asked for, those first that lose least by it.
    by_group : int64[n]
        Rows, group after group, in the order in which groups are taken as a whole.
    begins : int64[g + 1]
        Where each of these groups starts.

    Returns
    -------
    bool
        Whether it is acceptable, or has no rows.
    """
    values = like.totals.size
    touched = np.empty(values, np.int32)
    counted = np.empty(values, np.int64)
    if state.sizes[last] == 0 or _holds(last, state, asked, touched, counted):
        return True
    for row in order:
        value = state.values[row]
        group = state.groups[state.pair_of[row]]
        lacks = state.counts[last, value] * like.rows < like.totals[value] * state.sizes[last]
        if group == last or not lacks:
            continue
        if _holds_with(group, value, MINUS_ONE, state, asked, touched, counted):
            _put(row, np.int32(state.starts[state.class_of[row] + 1] - 1), state)
            if _holds(last, state, asked, touched, counted):
                return True
    for i in range(begins.size - 1):
        for j in range(begins[i], begins[i + 1]):
            row = by_group[j]
            _put(row, np.int32(state.starts[state.class_of[row] + 1] - 1), state)
        if _holds(last, state, asked, touched, counted):
            return True
    return False
