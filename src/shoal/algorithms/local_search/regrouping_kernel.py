# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Steps for whole groups: open a new group, or dissolve one, if the loss falls.

Rows move one after another, and each move is logged: if all the moves together do not pay, they are undone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal._core.compiling import inlined, kernel, kernel_step, linear_kernel
from shoal.algorithms.common.whole_kernel import ZERO
from shoal.algorithms.local_search.exchange_kernel import Partners
from shoal.algorithms.local_search.group_state_kernel import (
    BEGIN,
    GROUP,
    LOSS,
    NO_ROW,
    ROOM,
    SIZE,
    State,
    change_of,
    put,
    settle,
    still_holds,
)

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]


__all__ = ["Log", "dissolve_groups", "found_groups"]

LEAST = 1e-9
"""Smallest gain that counts: smaller differences may be rounding."""
PER_CLASS = 2
"""Rows of a class to consider."""


class Log(NamedTuple):
    """Log of moves that may be undone, and marks of visited groups."""

    rows: Counts
    """Row of each move."""
    origins: Counts
    """Group that each row came from."""
    closed: Counts
    """The last turn in which a group was closed; no row goes there in that turn."""
    seen: Counts
    """The last step in which a group was considered."""
    here: Floats
    there: Floats
    """Results of `change_of` for the group that a row leaves, and for the group that it joins."""

    @classmethod
    def of_dissolving(cls, state: State) -> Log:
        """Create a log with room for all rows of a group, and one more."""
        return cls._with_room(state.groups[:, ROOM].max() + 1, state)

    @classmethod
    def of_founding(cls, state: State, partners: Partners, most_broken: int) -> Log:
        """Create a log with room for the rows that may join a new group, and for all rows of dissolved groups."""
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
def _move(row, H, moves, losses, predicate, state, log):
    """Move a row to another group and log the move; return the change of the loss."""
    G = np.int64(state.places[row, GROUP])
    # Both changes are computed before the state is touched.
    change = change_of(G, row, NO_ROW, losses, state, log.here)
    change += change_of(H, NO_ROW, row, losses, state, log.there)
    settle(G, row, NO_ROW, losses, state, log.here)
    settle(H, NO_ROW, row, losses, state, log.there)
    put(row, NO_ROW, G, H, predicate, state)
    # The log entry is enough to move the row back.
    log.rows[moves] = row
    log.origins[moves] = G
    return change


@inlined
def _take_back(moves, losses, predicate, state, log):
    """Undo the logged moves, the last move first."""
    for i in range(moves - 1, -1, -1):
        _move(log.rows[i], log.origins[i], i, losses, predicate, state, log)


@kernel_step
def _best_home(row, turn, step, losses, predicate, state, partners, log):
    """Find the group that loses least by taking a row, among groups of near rows that stay acceptable; -1 if none."""
    best = np.inf
    target = np.int64(-1)
    home = partners.class_of[row]
    # The row's own class first, then the near classes, nearest first.
    for j in range(-1, partners.near.shape[1]):
        other = home if j < 0 else partners.near[home, j]
        if other < 0:
            break
        begin, end = partners.begins[other], partners.begins[other + 1]
        # A few rows of each class are enough: they lead to its groups.
        for near_row in range(begin, end, max(1, (end - begin) // PER_CLASS)):
            H = np.int64(state.places[near_row, GROUP])
            # Skip groups already seen in this step, closed groups and full groups.
            if log.seen[H] == step or log.closed[H] == turn or state.groups[H, SIZE] >= state.groups[H, ROOM]:
                continue
            log.seen[H] = step
            change = change_of(H, NO_ROW, row, losses, state, log.there)
            # The cheap test first: the predicate is evaluated only for an improvement.
            if change < best and still_holds(H, NO_ROW, row, predicate, state):
                best = change
                target = H
    return target


@kernel_step
def _empty_group(G, turn, moves, limit, least, losses, predicate, state, partners, log):
    """Send every row of a group to its best other group, unless the loss would rise by the limit.

    A group that would take `state.work` down to `least` keeps its rows.

    Returns
    -------
    change : float
        Change of the loss; infinite if the group could not be emptied.
    moves : int
        Number of logged moves.
    """
    total = 0.0
    while state.groups[G, SIZE] > 0 and moves < log.rows.size and state.work[0] > least:
        # The remaining rows can save at most their present loss: stop if even that cannot meet the limit.
        saved = 0.0
        for c in range(losses.columns.shape[0]):
            saved += state.measured[G, c, LOSS] * state.groups[G, SIZE]
        if total - saved >= limit:
            break
        # The last row first, because removing it moves no other row.
        row = np.int64(state.members[state.groups[G, BEGIN] + state.groups[G, SIZE] - 1])
        target = _best_home(row, turn, turn * log.rows.size + moves, losses, predicate, state, partners, log)
        if target < 0:
            break
        total += _move(row, target, moves, losses, predicate, state, log)
        moves += 1
    return total if state.groups[G, SIZE] == 0 else np.inf, moves


@linear_kernel
def dissolve_groups(chosen, begin, most, pause, losses, predicate, state, partners, log):
    """Dissolve groups if their rows together lose less in other groups, or not much more.

    Parameters
    ----------
    chosen : int32[m]
        The groups to try, until `state.work` is used up.
    begin : int
        The first of them that is left to try.
    most : float
        Largest rise of the loss, infinite to dissolve every group that can be; 0 if dissolving has to pay.
    pause : int
        Number of codes and counts after which to return, so that a run can be interrupted; also the most that one group
        may take.
    losses, predicate, state, partners : Losses, Predicate, State, Partners
        See `exchange_rows` of `exchange_kernel`. Groups that are dissolved are left without rows.
    log : Log
        See `Log.of_dissolving`.

    Returns
    -------
    dissolved : int
        Number of dissolved groups.
    done : int
        Number of groups that had their turn.
    """
    dissolved = 0
    stop = max(state.work[0] - pause, 0)
    for turn in range(begin, chosen.size):
        if state.work[0] <= stop:
            return dissolved, turn
        G = np.int64(chosen[turn])
        # A closed group takes none of its own rows back.
        log.closed[G] = turn
        least = max(state.work[0] - pause, 0)
        total, moves = _empty_group(G, turn, ZERO, most, least, losses, predicate, state, partners, log)
        # Accept the moves as a whole, or undo them as a whole.
        if total < most - LEAST:
            dissolved += 1
        else:
            _take_back(moves, losses, predicate, state, log)
    return dissolved, chosen.size


@kernel_step
def _fill_pool(row, state, partners, pool, lost):
    """List rows of near classes and their present losses; return the number of rows."""
    pooled = 0
    # As in `_best_home`: the own class first, at most a few rows of each class.
    home = partners.class_of[row]
    for j in range(-1, partners.near.shape[1]):
        other = home if j < 0 else partners.near[home, j]
        if other < 0:
            break
        begin, end = partners.begins[other], partners.begins[other + 1]
        taken = 0
        for candidate in range(begin, end, max(1, (end - begin) // PER_CLASS)):
            if candidate != row and taken < PER_CLASS:
                # The loss of a row is that of its group, summed over the attributes.
                lost[pooled] = 0.0
                for c in range(state.measured.shape[1]):
                    lost[pooled] += state.measured[state.places[candidate, GROUP], c, LOSS]
                pool[pooled] = candidate
                pooled += 1
                taken += 1
    return pooled


@inlined
def _best_of_pool(F, pool, lost, pooled, may_break, turn, smallest, losses, state, log):
    """Find the row that pays most in a new group; -1 if none does, or none may be taken.

    A row of a group without rows to spare is taken only if that group is already closed, or may be.
    """
    # While the new group is not yet acceptable any row will do, also at a loss.
    best = np.inf if may_break >= 0 else -LEAST
    at = -1
    for i in range(pooled):
        H = state.places[pool[i], GROUP]
        # Its group would break, and no further group may.
        if log.closed[H] != turn and state.groups[H, SIZE] <= smallest and may_break <= 0:
            continue
        # What the new group loses by the row, less what the row loses now.
        change = change_of(F, NO_ROW, pool[i], losses, state, log.there) - lost[i]
        if change < best:
            best = change
            at = i
    return at


@kernel
def found_groups(seeds, begin, spare, most_broken, smallest, pause, losses, predicate, state, partners, log):
    """Open new groups around rows if the loss falls.

    A seed takes the near row that pays most, its present loss taken into account, until the new group is acceptable,
    and then rows that gain by joining. Groups that are not acceptable without the rows taken from them are dissolved:
    their other rows go where they lose least.

    Parameters
    ----------
    seeds : int32[r]
        Rows to open a group around, until `state.work` is used up.
    begin : int
        The first of them that is left to try.
    spare : int
        The first of the empty groups, which are the last groups.
    most_broken : int
        Largest number of groups to dissolve for a new one.
    smallest : int
        Fewest rows of an acceptable group.
    pause : int
        See `dissolve_groups`; here it limits each group that is broken up.
    losses, predicate, state, partners : Losses, Predicate, State, Partners
        See `exchange_rows` of `exchange_kernel`. Groups that are broken up are left without rows.
    log : Log
        See `Log.of_founding`.

    Returns
    -------
    founded : int
        Number of new groups.
    done : int
        Number of seeds that had their turn.
    """
    pool = np.empty((partners.near.shape[1] + 1) * PER_CLASS, dtype=np.int64)
    lost = np.empty(pool.size, np.float64)
    broken = np.empty(most_broken + 1, dtype=np.int64)
    founded = 0
    stop = max(state.work[0] - pause, 0)
    # Each seed fills the next empty group.
    for turn in range(begin, seeds.size):
        F = np.int64(spare + founded)
        if F == state.groups.shape[0]:
            break
        if state.work[0] <= stop:
            return founded, turn
        # Candidates are gathered once for each seed.
        row = np.int64(seeds[turn])
        pooled = _fill_pool(row, state, partners, pool, lost)
        total = 0.0
        moves = ZERO
        breaks = 0
        done = False
        # Move rows one by one; `done` is true as soon as the new group is acceptable.
        while row >= 0:
            G = np.int64(state.places[row, GROUP])
            # A further row may break a group, for models that bound shares.
            if done and not still_holds(F, NO_ROW, row, predicate, state):
                break
            # The row's group cannot spare it: close that group, if the limit allows.
            if log.closed[G] != turn and (
                state.groups[G, SIZE] <= smallest or not still_holds(G, row, NO_ROW, predicate, state)
            ):
                if breaks == most_broken or done:
                    break
                log.closed[G] = turn
                broken[breaks] = G
                breaks += 1
            # Make the move, and test whether the group is complete.
            total += _move(row, F, moves, losses, predicate, state, log)
            moves += 1
            done = done or (moves >= smallest and still_holds(F, NO_ROW, NO_ROW, predicate, state))
            if state.groups[F, SIZE] == state.groups[F, ROOM]:
                break
            # -1: only rows that pay; otherwise the number of groups that may still be closed.
            may_break = -1 if done else most_broken - breaks
            at = _best_of_pool(F, pool, lost, pooled, may_break, turn, smallest, losses, state, log)
            row = np.int64(-1)
            # The chosen row leaves the pool; the last one takes its place.
            if at >= 0:
                row = pool[at]
                pooled -= 1
                pool[at] = pool[pooled]
                lost[at] = lost[pooled]
        # The remaining rows of closed groups need other groups, within what was gained so far.
        for i in range(breaks):
            if done and total < np.inf:
                least = max(state.work[0] - pause, 0)
                change, moves = _empty_group(
                    broken[i], turn, moves, -total, least, losses, predicate, state, partners, log
                )
                total += change
        # Keep the new group only if everything together pays.
        if done and total < -LEAST:
            founded += 1
        else:
            _take_back(moves, losses, predicate, state, log)
    return founded, seeds.size
