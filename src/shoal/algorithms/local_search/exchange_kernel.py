# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Local search by exchanges of rows between groups, never leaving the acceptable partitions."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal._core.compiling import inlined, kernel
from shoal.algorithms.common.whole_kernel import TWO
from shoal.algorithms.local_search.group_state_kernel import (
    BEGIN,
    GROUP,
    NO_ROW,
    ROOM,
    SIZE,
    change_of,
    put,
    settle,
    still_holds,
)

Codes = NDArray[np.int32]


__all__ = ["Partners", "exchange_rows"]

PARTNERS = 24
"""Rows of a group to search for one of the same kind."""
RELOCATIONS, ANY_SWAPS, ALL_KINDS = 1, 3, 8
"""Of eight moves one relocates a row, two swap any two rows, five swap two rows of one kind if there are any."""

RESOLUTION: Any = np.int64(1 << 30)
"""Number of steps of a random number between 0 and 1."""


class Partners(NamedTuple):
    """Candidate partners of a row: rows of near classes if there are any, else rows that are near in an order."""

    active: Codes
    """Rows to make moves for."""
    class_of: Codes
    """Class of equal rows of each row."""
    begins: Codes
    """First row of each class; one more than there are classes."""
    near: Codes
    """Classes near to each class, nearest first, then -1; of shape (classes, 0) if the orders are used."""
    orders: Codes
    """Several orders of the rows, shape (r, n), in which rows with equal attributes are near one another."""
    standing: Codes
    """Their inverses."""
    reach: int
    """Partners are searched up to 2**reach places away in an order, at near distances as often as at far distances."""
    kinds: Codes
    """Rows of one kind agree on everything that the predicate uses."""


@inlined
def _draw(random, bound):
    """Draw a number from 0 to bound - 1 (bound < 2**31): xorshift64*.

    The numbers differ from those of `shoal.solver.random_kernel`, with which releases for a seed would change.
    """
    # The state is updated in place, so that a run is reproducible.
    s = random[0]
    s ^= s >> np.uint64(12)
    s ^= s << np.uint64(25)
    s ^= s >> np.uint64(27)
    random[0] = s
    high = (s * np.uint64(2685821657736338717)) >> np.uint64(33)
    return (np.int64(high) * bound) >> 31


@inlined
def _near_row(row, partners, random):
    """Draw a row of a near class, nearer classes more often, or of the row's own; -1 if there is none."""
    # Two draws make near classes likely: the second is uniform up to the first.
    width = partners.near.shape[1]
    at = _draw(random, width + 1)
    chosen = partners.class_of[row]
    if at < width:
        chosen = partners.near[chosen, _draw(random, at + 1)]
        if chosen < 0:
            return np.int64(-1)
    begin = partners.begins[chosen]
    return np.int64(begin + _draw(random, partners.begins[chosen + 1] - begin))


@inlined
def _row_in_order(row, partners, random):
    """Draw a row that stands near in one of the orders; -1 if there is none."""
    # The exponent is uniform, so each scale of distances is equally likely.
    order = _draw(random, partners.orders.shape[0])
    away = _draw(random, np.int64(1) << _draw(random, partners.reach + 1)) + 1
    if _draw(random, TWO) == 1:
        away = -away
    stand = partners.standing[order, row] + away
    if stand < 0 or stand >= partners.kinds.size:
        return np.int64(-1)
    return np.int64(partners.orders[order, stand])


@inlined
def _choose_swap(row, H, state, kinds, any_kind, random):
    """Choose a row of group H to swap with: of the same kind if possible (unless any kind is allowed), else any row."""
    begin = state.groups[H, BEGIN]
    size = state.groups[H, SIZE]
    start = _draw(random, size)
    # Search from a random slot on, in a circle, so that no row is preferred.
    if not any_kind:
        for i in range(min(size, PARTNERS)):
            slot = begin + start + i
            if slot >= begin + size:
                slot -= size
            if kinds[state.members[slot]] == kinds[row]:
                return np.int64(state.members[slot])
    return np.int64(state.members[begin + start])


@kernel
def exchange_rows(losses, predicate, state, partners, smallest, temperature, moves, random):
    """Try random moves of rows between groups; accept improvements, and by chance some small losses.

    Parameters
    ----------
    losses, predicate, state : Losses, Predicate, State
        The table, the requirement, and the groups: each group is acceptable, before and after.
    partners : Partners
        Candidate partners of each row.
    smallest : int
        Fewest rows of an acceptable group.
    temperature : float
        An increase of the loss by this much is accepted with probability 1 / e; > 0.
    moves : int
        Number of moves to try, until `state.work` is used up.
    random : uint64[1]
        State of the random numbers, not 0.

    Returns
    -------
    made : int
        Number of accepted moves.
    """
    d = losses.codes.shape[1]
    kinds = partners.kinds
    nearby = partners.near.shape[1] > 0
    here = np.empty((d, 4), np.float64)
    there = np.empty((d, 4), np.float64)
    made = 0
    # Each round draws one move, and either makes it or changes nothing.
    for _ in range(moves):
        if state.work[0] <= 0:
            break
        # Draw a row and a partner; their groups are G and H.
        row = np.int64(partners.active[_draw(random, partners.active.size)])
        near_row = _near_row(row, partners, random) if nearby else _row_in_order(row, partners, random)
        if near_row < 0:
            continue
        # Both directions are equally likely.
        if nearby and _draw(random, TWO) == 1:
            row, near_row = near_row, row
        G = np.int64(state.places[row, GROUP])
        H = np.int64(state.places[near_row, GROUP])
        if G == H:
            continue
        # Draw the kind of move; a group of the smallest size can only swap.
        move = _draw(random, np.int64(ALL_KINDS))
        spared = state.groups[G, SIZE] > smallest
        if nearby and spared:
            move = _draw(random, TWO)
        other = NO_ROW
        # A swap needs a row of H; a relocation needs room in H.
        if move >= RELOCATIONS or not spared:
            other = _choose_swap(row, H, state, kinds, move < ANY_SWAPS, random)
            if nearby and other == near_row:
                continue
        elif state.groups[H, SIZE] >= state.groups[H, ROOM]:
            continue
        # Metropolis rule, with the random limit drawn first: cheap moves are rejected before the predicate is
        # evaluated.
        limit = -temperature * math.log((_draw(random, RESOLUTION) + 1) / RESOLUTION)
        change = change_of(G, row, other, losses, state, here)
        change += change_of(H, other, row, losses, state, there)
        if change > limit:
            continue
        # Swaps within one kind keep every histogram, so that the predicate holds without a test.
        if (other < 0 or kinds[other] != kinds[row]) and not (
            still_holds(G, row, other, predicate, state) and still_holds(H, other, row, predicate, state)
        ):
            continue
        # Make the move: first the losses, then the members.
        settle(G, row, other, losses, state, here)
        settle(H, other, row, losses, state, there)
        put(row, other, G, H, predicate, state)
        made += 1
    return made
