# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Assignment of rows to groups by simulated annealing, with a price on the distance of groups from the table.

A repair follows: rows leave groups that are not acceptable for other groups that stay acceptable, or for the last
group, the group of stars, which then takes the rows that it lacks from other groups.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal._core.compiling import kernel, kernel_step
from shoal.algorithms.common.predicate_kernel import acceptable
from shoal.algorithms.common.whole_kernel import MINUS_ONE, ONE, ZERO
from shoal.algorithms.lattice.likeness_kernel import excess, largest_like
from shoal.solver.random_kernel import accept_move, draw

__all__ = ["Following", "fill_last", "follow", "leave_failing", "measure"]


class Following(NamedTuple):
    """Rows in the canonical order, with the group of each among those that fit its class."""

    class_of: NDArray[np.int32]
    values: NDArray[np.int32]
    """The sensitive value of each row."""
    pair_of: NDArray[np.int32]
    """Place of each row's group in `groups`, -1 for none."""
    starts: NDArray[np.int64]
    """Start of the groups that fit each class; one more than there are classes."""
    groups: NDArray[np.int32]
    costs: NDArray[np.int32]
    """Loss of a row of the class in each group."""
    counts: NDArray[np.int32]
    """Rows of each group with each value, shape (groups, values)."""
    sizes: NDArray[np.int64]
    far: NDArray[np.float64]
    """Distance of each group from the table: `excess`."""


@kernel
def measure(state, like):
    """Fill in the distance of each group from the table."""
    # `follow` keeps these up to date.
    for group in range(state.sizes.size):
        state.far[group] = excess(state.counts[group], state.sizes[group], like)


@kernel
def follow(state, like, price, temperature, moves, random):
    """Move rows between groups by simulated annealing.

    Parameters
    ----------
    state : Following
    like : Likeness
    price : float
        Price of each row by which a group is too far from the table.
    temperature : float
        In multiples of `state.costs`.
    moves : int
        Number of moves to try.
    random : uint64[1]

    Returns
    -------
    int
        Number of accepted moves.
    """
    made = 0
    rows = np.int64(state.class_of.size)
    # A move gives a random row another of the groups that fit its class.
    for _ in range(moves):
        row = draw(random, rows)
        first = state.starts[state.class_of[row]]
        width = state.starts[state.class_of[row] + 1] - first
        pair = first + draw(random, width)
        before = np.int64(state.pair_of[row])
        if pair == before:
            continue
        G, H = state.groups[before], state.groups[pair]
        # First the loss of the row itself.
        change = np.float64(state.costs[pair] - state.costs[before])
        # Such a move is never accepted between two close groups: skip the counting.
        if state.far[G] == 0.0 and state.far[H] == 0.0 and change > 30.0 * temperature:
            continue
        # Then the change of both distances, with the row moved on trial.
        value = state.values[row]
        state.counts[G, value] -= 1
        state.counts[H, value] += 1
        here = excess(state.counts[G], state.sizes[G] - 1, like)
        there = excess(state.counts[H], state.sizes[H] + 1, like)
        change += price * (here - state.far[G] + there - state.far[H])
        # Metropolis rule.
        if accept_move(change, temperature, random):
            state.sizes[G] -= 1
            state.sizes[H] += 1
            state.far[G] = here
            state.far[H] = there
            state.pair_of[row] = pair
            made += 1
        else:
            # Rejected: restore the counts.
            state.counts[G, value] += 1
            state.counts[H, value] -= 1
    return made


@kernel_step
def _is_acceptable(group, state, predicate, touched, counted):
    """Evaluate the predicate for a group."""
    # The predicate wants the list of values that occur.
    distinct = ZERO
    for v in range(counted.size):
        counted[v] = state.counts[group, v]
        if counted[v] > 0:
            touched[distinct] = v
            distinct += 1
    return acceptable(
        state.sizes[group], touched, distinct, counted, predicate.starts, predicate.rules, predicate.bounds
    )


@kernel_step
def _is_acceptable_with(group, value, change, state, predicate, touched, counted):
    """Evaluate the predicate for a group with one row more or less; the group is left as it is."""
    # Change the counts, and restore them after the test.
    state.counts[group, value] += change
    state.sizes[group] += change
    held = _is_acceptable(group, state, predicate, touched, counted)
    state.counts[group, value] -= change
    state.sizes[group] -= change
    return held


@kernel_step
def _assign_row(row, pair, state):
    """Assign a row to another group, or to any if it has none."""
    # Counts and sizes of both groups follow.
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
def leave_failing(state, like, predicate, last):
    """Remove rows from groups that are not acceptable, and assign them to the cheapest groups that stay acceptable.

    A row that fits no such group follows the last group, which fits every row; the last group may then be unacceptable.

    Parameters
    ----------
    state : Following
    like, predicate : Likeness, Predicate
    last : int
        The last group; it is the last of every class.
    """
    groups, values = state.counts.shape
    touched = np.empty(values, np.int32)
    counted = np.empty(values, np.int64)
    # Choose the rows that each group keeps: all, or the largest part like the table.
    kept = np.empty((groups, values), np.int64)
    for group in range(groups):
        holds = state.sizes[group] == 0 or group == last or _is_acceptable(group, state, predicate, touched, counted)
        if not holds and largest_like(state.counts[group], like, kept[group]) > 0:
            continue
        for v in range(values):
            kept[group, v] = state.counts[group, v] if holds else 0
    # Release the other rows.
    rows = state.class_of.size
    for row in range(rows):
        group = state.groups[state.pair_of[row]]
        if kept[group, state.values[row]] > 0:
            kept[group, state.values[row]] -= 1
        else:
            _assign_row(row, np.int32(-1), state)
    # Other models may still refuse a group: release all its rows.
    emptied = np.zeros(groups, np.bool_)
    for group in range(groups):
        if group != last and state.sizes[group] > 0 and not _is_acceptable(group, state, predicate, touched, counted):
            emptied[group] = True
    for row in range(rows):
        pair = state.pair_of[row]
        if pair >= 0 and emptied[state.groups[pair]]:
            _assign_row(row, np.int32(-1), state)
    # Each released row takes the cheapest acceptable group; the last one is the fallback.
    for row in range(rows):
        if state.pair_of[row] >= 0:
            continue
        end = state.starts[state.class_of[row] + 1]
        best = end - 1
        # The test is costly, so that only cheaper groups are tested.
        for pair in range(state.starts[state.class_of[row]], end - 1):
            group = state.groups[pair]
            if state.sizes[group] > 0 and state.costs[pair] < state.costs[best]:
                if _is_acceptable_with(group, state.values[row], ONE, state, predicate, touched, counted):
                    best = pair
        _assign_row(row, np.int32(best), state)


@kernel
def fill_last(state, like, predicate, last, order, by_group, begins):
    """Move rows to the last group until it is acceptable: first rows with values that it lacks, then whole groups.

    Parameters
    ----------
    state : Following
    like, predicate : Likeness, Predicate
    last : int
        The last group; it is the last of every class.
    order : int64[n]
        Rows in the order in which they are tried, those with the smallest loss first.
    by_group : int64[n]
        Rows, group after group, in the order in which groups are taken as a whole.
    begins : int64[g + 1]
        Start of each of these groups.

    Returns
    -------
    bool
        Whether the group is acceptable, or has no rows.
    """
    values = like.totals.size
    touched = np.empty(values, np.int32)
    counted = np.empty(values, np.int64)
    # Nothing to do for an empty or acceptable group.
    if state.sizes[last] == 0 or _is_acceptable(last, state, predicate, touched, counted):
        return True
    # Rows with a missing value, from groups that can spare them.
    for row in order:
        value = state.values[row]
        group = state.groups[state.pair_of[row]]
        # The value's share in the last group is below its share in the table.
        lacks = state.counts[last, value] * like.rows < like.totals[value] * state.sizes[last]
        if group == last or not lacks:
            continue
        if _is_acceptable_with(group, value, MINUS_ONE, state, predicate, touched, counted):
            _assign_row(row, np.int32(state.starts[state.class_of[row] + 1] - 1), state)
            if _is_acceptable(last, state, predicate, touched, counted):
                return True
    # If that is not enough, dissolve whole groups, the cheapest first.
    for i in range(begins.size - 1):
        for j in range(begins[i], begins[i + 1]):
            row = by_group[j]
            _assign_row(row, np.int32(state.starts[state.class_of[row] + 1] - 1), state)
        if _is_acceptable(last, state, predicate, touched, counted):
            return True
    return False
