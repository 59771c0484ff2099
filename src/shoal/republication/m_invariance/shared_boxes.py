"""Boxes with enough real people: groups that have fewer share the quasi-identifiers that they show with others.

A group in which one person is real shows that person's exact quasi-identifiers. Nobody is left out to mend that: groups
of one bucket that follow each other in the order of the splits become a *run*, which shows one box and shares its
counterfeits out evenly, so that no group of a run can be told from the others. What decides are numbers of real people
and quasi-identifiers, never who has which value of a signature (docs/m-invariance.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal.recoding.extents_kernel import group_extents

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

__all__ = ["form_runs"]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Runs:
    """Groups that follow each other, numbered as the groups are, and the box that each run shows."""

    starts: NDArray[np.int64]
    """The first group of each run, and behind them the number of groups."""
    boxes: NDArray[np.int64]
    """The box of each run; runs of different buckets may share one."""

    @property
    def box_of_group(self) -> NDArray[np.int64]:
        """The box of each group."""
        return np.repeat(self.boxes, np.diff(self.starts))

    def even_out(self, group_of: NDArray[np.int32], is_real: NDArray[np.bool_]) -> NDArray[np.int32]:
        """Return the group of each place, when each run shares its counterfeits out evenly among its groups.

        Parameters
        ----------
        group_of : array
            Group of each place; the places of a bucket are in the order of its values.
        is_real : array
            Whether a place is a person's; the others are counterfeits.
        """
        evened = group_of.copy()
        lengths = np.diff(self.starts)
        run_of = np.repeat(np.arange(len(lengths)), lengths)[group_of]
        order = np.argsort(run_of, kind="stable")
        first = np.searchsorted(run_of[order], np.arange(len(lengths) + 1))
        for run in np.flatnonzero(lengths > 1).tolist():
            k = int(lengths[run])
            places = order[first[run] : first[run + 1]].reshape(-1, k)  # a line for each value of the signature
            real = is_real[places]
            upto = np.cumsum(real.sum(axis=1))[:, None]
            # People take the groups in turn, value after value; counterfeits the groups that lack the value then.
            turn = np.where(real, np.cumsum(real).reshape(real.shape) - 1, upto + np.cumsum(~real, axis=1) - 1)
            evened[places] = self.starts[run] + turn % k
        return evened


class _Run(NamedTuple):
    """Some groups of a bucket that follow each other."""

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
    """Return runs of groups whose boxes are those of enough real people.

    Where the people of a bucket suffice for so many in each of its groups, every run has that many for each group;
    elsewhere a run has that many in all, and where the whole bucket has fewer, its box is shared with the nearest run
    of another bucket.

    Parameters
    ----------
    codes : array, shape (places, d)
        The quasi-identifiers of every place; -1 for counterfeits.
    group_of : array
        Group of every place; groups are numbered bucket after bucket, in the order of the splits.
    heights : array
        Number of groups of each bucket, without zeros.
    weights : array
        What one step is worth on each attribute.
    least : int
        How many real people a box must have; no more than there are.
    """
    is_real = codes[:, 0] >= 0
    owners, count = group_of[is_real], int(heights.sum())
    extents = [group_extents(np.ascontiguousarray(column), owners, count) for column in codes[is_real].T]
    low, high = (np.column_stack(ends).astype(np.int64) for ends in zip(*extents, strict=True))
    people = np.bincount(owners, minlength=count)
    starts: list[NDArray[np.int64]] = []
    ends = np.cumsum(heights)
    for begin, end in zip((ends - heights).tolist(), ends.tolist(), strict=True):
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
    first = np.concatenate(starts)
    low, high = np.minimum.reduceat(low, first), np.maximum.reduceat(high, first)
    boxes = _share_boxes(low, high, np.add.reduceat(people, first), weights, least)
    return Runs(starts=np.append(first, count), boxes=boxes)


def _join_groups(singles: Iterator[_Run], weights: Sequence[int], least: int, *, each: bool) -> list[_Run]:
    """Join the groups of a bucket into runs with enough people, in each group or in all; the last may have fewer."""

    def extra(one: _Run, other: _Run) -> int:
        both = _unite(one, other)
        return sum(sign * run.groups * _length(run, weights) for sign, run in ((1, both), (-1, one), (-1, other)))

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
    return _Run(
        one.start,
        one.groups + other.groups,
        one.people + other.people,
        tuple(map(min, one.low, other.low)),
        tuple(map(max, one.high, other.high)),
    )


def _length(run: _Run, weights: Sequence[int]) -> int:
    return sum(w * (high - low) for w, low, high in zip(weights, run.low, run.high, strict=True))


def _share_boxes(
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    people: NDArray[np.int64],
    weights: NDArray[np.int64],
    least: int,
) -> NDArray[np.int64]:
    """Return the box of each run, when those with too few people share one with the nearest; changes its arguments."""
    shown = np.arange(len(people))
    alone = np.ones(len(people), dtype=np.bool_)  # runs that have joined no other one
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
