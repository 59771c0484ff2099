"""The three-phase algorithm, step by step as in the paper: the reference for the fast implementation.

A group is a list of counts by sensitive value, h(Q, v). If a choice is "arbitrary" in the paper, a hook decides.

References
----------
X. Xiao, K. Yi, Y. Tao, "The hardness and approximation algorithms for l-diversity", EDBT 2010, Sections 5.2 to 5.4,
doi:10.1145/1739041.1739060.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Choose", "State", "eligible", "phase_one", "phase_three", "phase_two", "pillars", "three_phase"]

Counts: TypeAlias = list[int]
Choose: TypeAlias = Callable[[Sequence[int]], int]
"""Picks one of several equally good values or groups."""


def _first(options: Sequence[int]) -> int:
    return options[0]


@dataclass(kw_only=True)
class State:
    """State of the algorithm."""

    groups: list[Counts]
    """h(Q, v) of each group."""
    residue: Counts
    """h(R, v)."""
    l: int
    phase: int = 1
    """The phase that the algorithm is in, or ended in."""
    rounds: int = 0
    """Rounds of phase three that were begun."""

    def done(self) -> bool:
        """True if R is l-eligible."""
        return eligible(self.residue, self.l)

    def move(self, group: int, value: int) -> None:
        """Move one row with a value from a group to R."""
        assert self.groups[group][value] > 0, "a row is moved that is not there"
        self.groups[group][value] -= 1
        self.residue[value] += 1

    def move_pillars(self, group: int) -> None:
        """Move one row from each pillar of a group to R."""
        for value in pillars(self.groups[group]):
            self.move(group, value)

    def thin(self, group: int) -> bool:
        """Test that |Q| = l * h(Q)."""
        return sum(self.groups[group]) == self.l * max(self.groups[group])

    def conflicting_pillars(self, group: int) -> set[int]:
        """Compute C(Q): the pillars of Q that are pillars of R."""
        return set(pillars(self.groups[group])) & set(pillars(self.residue))

    def alive(self, group: int) -> bool:
        """Test that a group is alive: not empty, and not both thin and conflicting."""
        empty = not any(self.groups[group])
        return not empty and not (self.thin(group) and self.conflicting_pillars(group))


def eligible(counts: Sequence[int], l: int) -> bool:
    """Test that l * h(S) <= |S|."""
    return l * max(counts, default=0) <= sum(counts)


def pillars(counts: Sequence[int]) -> list[int]:
    """List the most frequent values; empty if there are no rows."""
    highest = max(counts, default=0)
    return [value for value, count in enumerate(counts) if count == highest > 0]


def phase_one(counts: Sequence[int], l: int, choose: Choose = _first) -> Counts:
    """Remove one row of a pillar at a time until a group is l-eligible; return the rest."""
    left = list(counts)
    while not eligible(left, l):
        left[choose(pillars(left))] -= 1
    return left


def phase_two(state: State, choose: Choose = _first) -> None:
    """Move rows without raising h(R), until R is l-eligible or no value is alive."""
    state.phase = 2
    while not state.done():
        alive_groups = [group for group in range(len(state.groups)) if state.alive(group)]
        alive_values = {value for group in alive_groups for value, count in enumerate(state.groups[group]) if count}
        if not alive_values:
            return
        rarest = min(state.residue[value] for value in alive_values)
        value = choose(sorted(value for value in alive_values if state.residue[value] == rarest))
        group = choose([group for group in alive_groups if state.groups[group][value]])
        if state.thin(group):
            state.move_pillars(group)
        else:
            state.move(group, value)


def phase_three(state: State, choose: Choose = _first) -> None:
    """Raise h(R), and |R| faster, in rounds of two steps, until R is l-eligible."""
    state.phase = 3
    while not state.done():
        state.rounds += 1
        for group in _cover(state, choose):
            state.move_pillars(group)
            if state.done():
                return
        for group in range(len(state.groups)):
            while state.alive(group):
                if state.thin(group):
                    state.move_pillars(group)
                else:
                    high = pillars(state.residue)
                    options = [value for value, count in enumerate(state.groups[group]) if count and value not in high]
                    state.move(group, choose(options))
                if state.done():
                    return


def _cover(state: State, choose: Choose) -> list[int]:
    """Choose the groups of step one greedily, until no pillar of R is a conflicting pillar of all of them."""
    remaining = set(pillars(state.residue))
    picked = []
    while remaining:
        overlaps = {
            group: len(state.conflicting_pillars(group) & remaining)
            for group in range(len(state.groups))
            if any(state.groups[group])
        }
        smallest = min(overlaps.values())
        assert smallest < len(remaining), "Lemma 5.14: some group does not conflict on a given pillar"
        group = choose([group for group, overlap in overlaps.items() if overlap == smallest])
        picked.append(group)
        remaining &= state.conflicting_pillars(group)
    return picked


def three_phase(groups: Sequence[Sequence[int]], l: int, choose: Choose = _first) -> State:
    """Run the algorithm on groups that are given by their counts.

    Parameters
    ----------
    groups : sequence of sequences of int
        h(Q, v) for each group, all of the same length. Together they are l-eligible.
    l : int
        At least 1.
    choose : callable, optional
        Choice from a sorted list of values or groups if it is arbitrary in the paper; the first by default.

    Returns
    -------
    State
        The groups, the residue, and the phase in which the algorithm ended.
    """
    assert eligible([sum(column) for column in zip(*groups, strict=True)], l), "the table is not l-eligible"
    left = [phase_one(group, l, choose) for group in groups]
    taken = [[h - rest for h, rest in zip(group, kept, strict=True)] for group, kept in zip(groups, left, strict=True)]
    state = State(groups=left, residue=[sum(column) for column in zip(*taken, strict=True)], l=l)
    if not state.done():
        phase_two(state, choose)
    if not state.done():
        phase_three(state, choose)
    return state
