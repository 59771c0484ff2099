# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Founding groups and dissolving them, where less is lost then.

Rows move one after another, and what was moved is noted: where all the moves together do not pay they are taken back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal._compiling import inlined, kernel, kernel_step
from shoal.algorithms.common.whole_kernel import ZERO
from shoal.algorithms.local_search.group_state_kernel import (
    BEGIN,
    GROUP,
    LOSS,
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

    from shoal.algorithms.local_search.exchange_kernel import Partners
    from shoal.algorithms.local_search.group_state_kernel import State

    Counts = NDArray[np.int64]
    Floats = NDArray[np.float64]

__all__ = ["Log", "dissolve_groups", "found_groups"]

LEAST = 1e-9
"""Less is not worth a move: it may be rounding."""
PER_CLASS = 2
"""Rows of a class that are looked at."""


class Log(NamedTuple):
    """Moves that may be taken back, and marks of what was looked at."""

    rows: Counts
    """Row of each move."""
    origins: Counts
    """The group that it came from."""
    closed: Counts
    """The last turn in which a group was broken up; nothing goes there then."""
    seen: Counts
    """The last step in which a group was looked at."""
    here: Floats
    there: Floats
    """What `change_of` found of the group that a row leaves, and of the one that it joins."""

    @classmethod
    def of_dissolving(cls, state: State) -> Log:
        """Return a log with room for all rows of a group, and one more."""
        return cls._with_room(state.groups[:, ROOM].max() + 1, state)

    @classmethod
    def of_founding(cls, state: State, partners: Partners, most_broken: int) -> Log:
        """Return a log with room for the rows that may join a new group, and for all rows of those broken up for it."""
        joining = (partners.near.shape[1] + 1) * PER_CLASS + 1
        return cls._with_room(joining + (most_broken + 1) * state.groups[:, ROOM].max(), state)

    @classmethod
    def _with_room(cls, moves: int, state: State) -> Log:
        groups, attributes = state.measured.shape[:2]
        return cls(
            rows=np.empty(moves, dtype=np.int64),
            origins=np.empty(moves, dtype=np.int64),
            closed=np.full(groups, -1, dtype=np.int64),
            seen=np.full(groups, -1, dtype=np.int64),
            here=np.empty((attributes, 4)),
            there=np.empty((attributes, 4)),
        )


@kernel_step
def _move(row, H, moves, losses, asked, state, log):
    """Take a row to another group and note it as the next of the moves; return how the loss changes."""
    G = np.int64(state.places[row, GROUP])
    change = change_of(G, row, NOBODY, losses, state, log.here)
    change += change_of(H, NOBODY, row, losses, state, log.there)
    settle(G, row, NOBODY, losses, state, log.here)
    settle(H, NOBODY, row, losses, state, log.there)
    put(row, NOBODY, G, H, asked, state)
    log.rows[moves] = row
    log.origins[moves] = G
    return change


@inlined
def _take_back(moves, losses, asked, state, log):
    """Undo the moves that were noted, the last one first."""
    for i in range(moves - 1, -1, -1):
        _move(log.rows[i], log.origins[i], i, losses, asked, state, log)


@kernel_step
def _best_home(row, turn, step, losses, asked, state, partners, log):
    """Return the group that loses least by taking a row, among those of near rows that stay acceptable; -1: none."""
    best = np.inf
    target = np.int64(-1)
    home = partners.class_of[row]
    for j in range(-1, partners.near.shape[1]):
        other = home if j < 0 else partners.near[home, j]
        if other < 0:
            break
        begin, end = partners.begins[other], partners.begins[other + 1]
        for beside in range(begin, end, max(1, (end - begin) // PER_CLASS)):
            H = np.int64(state.places[beside, GROUP])
            if log.seen[H] == step or log.closed[H] == turn or state.groups[H, SIZE] >= state.groups[H, ROOM]:
                continue
            log.seen[H] = step
            change = change_of(H, NOBODY, row, losses, state, log.there)
            if change < best and still_holds(H, NOBODY, row, asked, state):
                best = change
                target = H
    return target


@kernel_step
def _empty(G, turn, moves, limit, losses, asked, state, partners, log):
    """Send every row of a group to its best home, unless as much as a limit would be lost.

    Returns
    -------
    change : float
        How the loss changes; infinite where the group could not be emptied.
    moves : int
        How many are noted now.
    """
    total = 0.0
    while state.groups[G, SIZE] > 0 and moves < log.rows.size and state.work[0] > 0:
        # The rows that are left can save no more than what they lose.
        saved = 0.0
        for c in range(losses.columns.shape[0]):
            saved += state.measured[G, c, LOSS] * state.groups[G, SIZE]
        if total - saved >= limit:
            break
        row = np.int64(state.members[state.groups[G, BEGIN] + state.groups[G, SIZE] - 1])
        target = _best_home(row, turn, turn * log.rows.size + moves, losses, asked, state, partners, log)
        if target < 0:
            break
        total += _move(row, target, moves, losses, asked, state, log)
        moves += 1
    return total if state.groups[G, SIZE] == 0 else np.inf, moves


@kernel
def dissolve_groups(chosen, most, losses, asked, state, partners, log):
    """Send the rows of groups to other groups where all of them together lose less there, or not much more.

    Parameters
    ----------
    chosen : int32[m]
        The groups to try, as long as `state.work` lasts.
    most : float
        How much more may be lost, infinite to dissolve whatever can be; 0 where it has to pay.
    losses, asked, state, partners : Losses, Asked, State, Partners
        See `exchange_rows` of `exchange_kernel`. Groups that are dissolved are left without rows.
    log : Log
        See `Log.of_dissolving`.

    Returns
    -------
    int
        How many were dissolved.
    """
    dissolved = 0
    for turn in range(chosen.size):
        if state.work[0] <= 0:
            break
        G = np.int64(chosen[turn])
        log.closed[G] = turn
        total, moves = _empty(G, turn, ZERO, most, losses, asked, state, partners, log)
        if total < most - LEAST:
            dissolved += 1
        else:
            _take_back(moves, losses, asked, state, log)
    return dissolved


@kernel_step
def _pool(row, state, partners, pool, lost):
    """List rows of near classes, and what each loses where it is; return how many."""
    pooled = 0
    home = partners.class_of[row]
    for j in range(-1, partners.near.shape[1]):
        other = home if j < 0 else partners.near[home, j]
        if other < 0:
            break
        begin, end = partners.begins[other], partners.begins[other + 1]
        taken = 0
        for candidate in range(begin, end, max(1, (end - begin) // PER_CLASS)):
            if candidate != row and taken < PER_CLASS:
                lost[pooled] = 0.0
                for c in range(state.measured.shape[1]):
                    lost[pooled] += state.measured[state.places[candidate, GROUP], c, LOSS]
                pool[pooled] = candidate
                pooled += 1
                taken += 1
    return pooled


@inlined
def _best_of_pool(F, pool, lost, pooled, may_break, turn, smallest, losses, state, log):
    """Return the place of the row that pays most in a new group; -1 where none does, or none may be taken.

    A row of a group that has none to spare is taken only where that group is broken up already, or may be.
    """
    best = np.inf if may_break >= 0 else -LEAST
    at = -1
    for i in range(pooled):
        H = state.places[pool[i], GROUP]
        if log.closed[H] != turn and state.groups[H, SIZE] <= smallest and may_break <= 0:
            continue
        change = change_of(F, NOBODY, pool[i], losses, state, log.there) - lost[i]
        if change < best:
            best = change
            at = i
    return at


@kernel
def found_groups(seeds, spare, most_broken, smallest, losses, asked, state, partners, log):
    """Make new groups around rows, where less is lost then.

    A seed takes the near row that pays most, what it lost where it was taken into account, until the new group is
    acceptable, and then those that gain by joining. Groups that are not acceptable without what was taken are broken
    up: the rest of their rows go where they lose least.

    Parameters
    ----------
    seeds : int32[r]
        Rows to found a group around, as long as `state.work` lasts.
    spare : int
        The first of the groups without rows, which are the last ones.
    most_broken : int
        Groups that may be broken up for a new one.
    smallest : int
        Fewest rows of an acceptable group.
    losses, asked, state, partners : Losses, Asked, State, Partners
        See `exchange_rows` of `exchange_kernel`. Groups that are broken up are left without rows.
    log : Log
        See `Log.of_founding`.

    Returns
    -------
    int
        How many were founded.
    """
    pool = np.empty((partners.near.shape[1] + 1) * PER_CLASS, dtype=np.int64)
    lost = np.empty(pool.size, np.float64)
    broken = np.empty(most_broken + 1, dtype=np.int64)
    founded = 0
    for turn in range(seeds.size):
        F = np.int64(spare + founded)
        if F == state.groups.shape[0] or state.work[0] <= 0:
            break
        row = np.int64(seeds[turn])
        pooled = _pool(row, state, partners, pool, lost)
        total = 0.0
        moves = ZERO
        breaks = 0
        done = False
        while row >= 0:
            G = np.int64(state.places[row, GROUP])
            # A row may be one too many, for models that look at shares.
            if done and not still_holds(F, NOBODY, row, asked, state):
                break
            if log.closed[G] != turn and (
                state.groups[G, SIZE] <= smallest or not still_holds(G, row, NOBODY, asked, state)
            ):
                if breaks == most_broken or done:
                    break
                log.closed[G] = turn
                broken[breaks] = G
                breaks += 1
            total += _move(row, F, moves, losses, asked, state, log)
            moves += 1
            done = done or (moves >= smallest and still_holds(F, NOBODY, NOBODY, asked, state))
            if state.groups[F, SIZE] == state.groups[F, ROOM]:
                break
            may_break = -1 if done else most_broken - breaks
            at = _best_of_pool(F, pool, lost, pooled, may_break, turn, smallest, losses, state, log)
            row = np.int64(-1)
            if at >= 0:
                row = pool[at]
                pooled -= 1
                pool[at] = pool[pooled]
                lost[at] = lost[pooled]
        for i in range(breaks):
            if done and total < np.inf:
                change, moves = _empty(broken[i], turn, moves, -total, losses, asked, state, partners, log)
                total += change
        if done and total < -LEAST:
            founded += 1
        else:
            _take_back(moves, losses, asked, state, log)
    return founded
