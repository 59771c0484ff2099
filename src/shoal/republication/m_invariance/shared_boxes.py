"""Boxes with enough real people: groups that have fewer share the published quasi-identifiers with other groups.

A group with one real person would show that person's exact quasi-identifiers. To prevent this, consecutive groups of a
bucket, in the order of the splits, form a *run*, which shows one box and distributes its counterfeits evenly, so that
its groups are indistinguishable. No person is left out. The decisions depend on numbers of real people and on
quasi-identifiers, never on which person has which value of a signature (docs/m-invariance.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.recoding.extents_kernel import group_extents


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Runs:
    """Runs of consecutive groups, numbered as the groups are, and the box of each run."""

    starts: NDArray[np.int64]
    """The first group of each run, and the number of groups at the end."""
    boxes: NDArray[np.int64]
    """The box of each run; runs of different buckets may share a box."""

    @property
    def box_of_group(self) -> NDArray[np.int64]:
        """The box of each group."""
        return np.repeat(self.boxes, np.diff(self.starts))

    def even_out(self, group_of: NDArray[np.int32], is_real: NDArray[np.bool_]) -> NDArray[np.int32]:
        """Distribute the counterfeits of each run evenly among its groups.

        Parameters
        ----------
        group_of : array
            Group of each place; the places of a bucket are in the order of its values.
        is_real : array
            Whether a place belongs to a person; the others belong to counterfeits.

        Returns
        -------
        array
            The new group of each place.
        """
        evened = group_of.copy()
        # Places of each run, in order.
        lengths = np.diff(self.starts)
        run_of = np.repeat(np.arange(len(lengths)), lengths)[group_of]
        order = np.argsort(run_of, kind="stable")
        first = np.searchsorted(run_of[order], np.arange(len(lengths) + 1))
        for run in np.flatnonzero(lengths > 1).tolist():
            k = int(lengths[run])
            places = order[first[run] : first[run + 1]].reshape(-1, k)  # a line for each value of the signature
            real = is_real[places]
            upto = np.cumsum(real.sum(axis=1))[:, None]
            # People take the groups in turn, value after value. Counterfeits take the groups that still lack a value.
            turn = np.where(real, np.cumsum(real).reshape(real.shape) - 1, upto + np.cumsum(~real, axis=1) - 1)
            evened[places] = self.starts[run] + turn % k
        return evened


class _Run(NamedTuple):
    """Consecutive groups of a bucket, with the extent of their quasi-identifiers."""

    start: int
    groups: int
    people: int
    low: tuple[int, ...]
    high: tuple[int, ...]


def form_runs(
    codes: NDArray[np.int32],
    group_of: NDArray[np.int32],
    heights: NDArray[np.int64],
    weights: NDArray[np.int64],
    least: int,
) -> Runs:
    """Form runs of groups so that every box has enough real people.

    If a bucket has enough people for each of its groups, every run has enough for each of its groups. Otherwise a run
    has enough in total. If the whole bucket has too few, its box is shared with the nearest run of another bucket.

    Parameters
    ----------
    codes : array, shape (places, d)
        The quasi-identifiers of every place; -1 for counterfeits.
    group_of : array
        Group of every place; groups are numbered bucket after bucket, in the order of the splits.
    heights : array
        Number of groups of each bucket, without zeros.
    weights : array
        Weight of one step on each attribute.
    least : int
        Minimum number of real people of a box; at most the number of all people.
    """
    # Extent and number of people of each group.
    is_real = codes[:, 0] >= 0
    owners, count = group_of[is_real], int(heights.sum())
    extents = [group_extents(np.ascontiguousarray(column), owners, count) for column in codes[is_real].T]
    low, high = (np.column_stack(ends).astype(np.int64) for ends in zip(*extents, strict=True))
    people = np.bincount(owners, minlength=count)
    # Form the runs of each bucket on its own.
    starts: list[NDArray[np.int64]] = []
    ends = np.cumsum(heights)
    for begin, end in zip((ends - heights).tolist(), ends.tolist(), strict=True):
        # Every group has enough people on its own.
        if (people[begin:end] >= least).all():
            starts.append(np.arange(begin, end))
            continue
        singles = (
            _Run(group, 1, int(people[group]), tuple(low[group].tolist()), tuple(high[group].tolist()))
            for group in range(begin, end)
        )
        each = int(people[begin:end].sum()) >= least * (end - begin)
        runs = _join_groups(singles, weights.tolist(), least, each=each)
        starts.append(np.array([run.start for run in runs], dtype=np.int64))
    # Combine the extents of each run, then share boxes across buckets.
    first = np.concatenate(starts)
    low, high = np.minimum.reduceat(low, first), np.maximum.reduceat(high, first)
    boxes = _share_boxes(low, high, np.add.reduceat(people, first), weights, least)
    return Runs(starts=np.append(first, count), boxes=boxes)


def _join_groups(singles: Iterator[_Run], weights: Sequence[int], least: int, *, each: bool) -> list[_Run]:
    """Join the groups of a bucket into runs with enough people, for each group or in total."""

    def extra(one: _Run, other: _Run) -> int:
        both = _unite(one, other)
        return sum(sign * run.groups * _length(run, weights) for sign, run in ((1, both), (-1, one), (-1, other)))

    # A run that is too small takes the neighbour that lengthens boxes less.
    done: list[_Run] = []
    following = next(singles, None)
    while following is not None:
        run, following = following, next(singles, None)
        while run.people < least * (run.groups if each else 1):
            if following is None and not done:
                break
            if following is None or (done and extra(done[-1], run) <= extra(run, following)):
                run = _unite(done.pop(), run)
            else:
                run, following = _unite(run, following), next(singles, None)
        done.append(run)
    return done


def _unite(one: _Run, other: _Run) -> _Run:
    """Join two adjacent runs."""
    return _Run(
        one.start,
        one.groups + other.groups,
        one.people + other.people,
        tuple(map(min, one.low, other.low)),
        tuple(map(max, one.high, other.high)),
    )


def _length(run: _Run, weights: Sequence[int]) -> int:
    """Compute the perimeter of the box of a run."""
    return sum(w * (high - low) for w, low, high in zip(weights, run.low, run.high, strict=True))


def _share_boxes(
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    people: NDArray[np.int64],
    weights: NDArray[np.int64],
    least: int,
) -> NDArray[np.int64]:
    """Assign a box to each run; runs with too few people share the box of the nearest run. Changes its arguments."""
    # Each run shows its own box at first.
    shown = np.arange(len(people))
    alone = np.ones(len(people), dtype=np.bool_)  # runs that have joined no other one
    # The nearest box is the one that grows least, by perimeter.
    for run in np.flatnonzero(people < least).tolist():
        while people[shown[run]] < least:
            own = shown[run]
            reach = np.maximum(high, high[own]) - np.minimum(low, low[own])
            length = np.where(alone & (np.arange(len(people)) != own), reach @ weights, np.iinfo(np.int64).max)
            nearest = int(np.argmin(length))
            low[nearest], high[nearest] = np.minimum(low[nearest], low[own]), np.maximum(high[nearest], high[own])
            people[nearest] += people[own]
            alone[own] = False
            shown[shown == own] = nearest
    return np.unique(shown, return_inverse=True)[1].astype(np.int64)
