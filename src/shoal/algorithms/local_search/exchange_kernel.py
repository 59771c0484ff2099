# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Exchanging rows between groups so that less is lost: a search that never leaves the acceptable partitions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shoal._compiling import inlined, kernel
from shoal.algorithms.common.whole_kernel import TWO
from shoal.algorithms.local_search.group_state_kernel import (
    BEGIN,
    GROUP,
    NOBODY,
    ROOM,
    SIZE,
    change_of,
    put,
    settle,
    still_holds,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes = NDArray[np.int32]

__all__ = ["Partners", "exchange_rows"]

PARTNERS = 24
"""Rows of a group that are looked at for one of the same kind."""
RELOCATIONS, ANY_SWAPS, ALL_KINDS = 1, 3, 8
"""Of eight moves one takes a row to another group, two swap any two rows, five two rows of one kind where there are."""

RESOLUTION: Any = np.int64(1 << 30)
"""Of a random number between 0 and 1."""


class Partners(NamedTuple):
    """Whose groups a row may go to: those of near classes where there are, else those of rows near in an order."""

    active: Codes
    """Rows that moves are made for."""
    class_of: Codes
    """Class of equal rows that each row is in."""
    begins: Codes
    """First row of each class; one more than there are classes."""
    near: Codes
    """Classes that are near to each, nearest first, then -1; of shape (classes, 0) where the orders count."""
    orders: Codes
    """Several orders of the rows, shape (r, n), in which rows with equal attributes are near one another."""
    standing: Codes
    """Their inverses."""
    reach: int
    """Partners are looked for up to 2**reach places away in an order, at near distances as often as at far ones."""
    kinds: Codes
    """Rows of one kind agree on everything that the predicate looks at."""


@inlined
def _draw(random, bound):
    """Return a number from 0 to bound - 1 (bound < 2**31): xorshift64*.

    Its numbers are not those of `shoal.solver.random_kernel`: with these, releases for a seed would be others.
    """
    s = random[0]
    s ^= s >> np.uint64(12)
    s ^= s << np.uint64(25)
    s ^= s >> np.uint64(27)
    random[0] = s
    high = (s * np.uint64(2685821657736338717)) >> np.uint64(33)
    return (np.int64(high) * bound) >> 31


@inlined
def _near_row(row, partners, random):
    """Return a row of a near class, of a nearer one more often, or of the row's own; -1 where there is none."""
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
    """Return a row that stands near in one of the orders; -1 where there is none."""
    order = _draw(random, partners.orders.shape[0])
    away = _draw(random, np.int64(1) << _draw(random, partners.reach + 1)) + 1
    if _draw(random, TWO) == 1:
        away = -away
    stand = partners.standing[order, row] + away
    if stand < 0 or stand >= partners.kinds.size:
        return np.int64(-1)
    return np.int64(partners.orders[order, stand])


@inlined
def _swapped(row, H, state, kinds, any_kind, random):
    """Return a row of group H to swap with: one of the same kind if there is one (unless any will do), else any."""
    begin = state.groups[H, BEGIN]
    size = state.groups[H, SIZE]
    start = _draw(random, size)
    if not any_kind:
        for i in range(min(size, PARTNERS)):
            slot = begin + start + i
            if slot >= begin + size:
                slot -= size
            if kinds[state.members[slot]] == kinds[row]:
                return np.int64(state.members[slot])
    return np.int64(state.members[begin + start])


@kernel
def exchange_rows(losses, asked, state, partners, smallest, temperature, moves, random):
    """Try moves of rows between groups; make those that lose less, and by chance some that lose a little more.

    Parameters
    ----------
    losses, asked, state : Losses, Asked, State
        The table, the requirement, and the groups: each is acceptable, before and after.
    partners : Partners
        Whose groups a row may go to.
    smallest : int
        Fewest rows of an acceptable group.
    temperature : float
        A loss of that much more is accepted with probability 1 / e; > 0.
    moves : int
        How many are tried, as long as `state.work` lasts.
    random : uint64[1]
        State of the random numbers, not 0.

    Returns
    -------
    made : int
        Moves that were made.
    """
    d = losses.codes.shape[1]
    kinds = partners.kinds
    nearby = partners.near.shape[1] > 0
    here = np.empty((d, 4), np.float64)
    there = np.empty((d, 4), np.float64)
    made = 0
    for _ in range(moves):
        if state.work[0] <= 0:
            break
        row = np.int64(partners.active[_draw(random, partners.active.size)])
        beside = _near_row(row, partners, random) if nearby else _row_in_order(row, partners, random)
        if beside < 0:
            continue
        if nearby and _draw(random, TWO) == 1:
            row, beside = beside, row
        G = np.int64(state.places[row, GROUP])
        H = np.int64(state.places[beside, GROUP])
        if G == H:
            continue
        move = _draw(random, np.int64(ALL_KINDS))
        spared = state.groups[G, SIZE] > smallest
        if nearby and spared:
            move = _draw(random, TWO)
        other = NOBODY
        if move >= RELOCATIONS or not spared:
            other = _swapped(row, H, state, kinds, move < ANY_SWAPS, random)
            if nearby and other == beside:
                continue
        elif state.groups[H, SIZE] >= state.groups[H, ROOM]:
            continue
        limit = -temperature * math.log((_draw(random, RESOLUTION) + 1) / RESOLUTION)
        change = change_of(G, row, other, losses, state, here)
        change += change_of(H, other, row, losses, state, there)
        if change > limit:
            continue
        if (other < 0 or kinds[other] != kinds[row]) and not (
            still_holds(G, row, other, asked, state) and still_holds(H, other, row, asked, state)
        ):
            continue
        settle(G, row, other, losses, state, here)
        settle(H, other, row, losses, state, there)
        put(row, other, G, H, asked, state)
        made += 1
    return made
