"""The nearest classes are those of an exhaustive search."""

import numpy as np
import pytest
from tests.every import every

from shoal.algorithms.local_search.losses_kernel import INTERVAL, SET, STAR, TREE, Losses, apart
from shoal.algorithms.local_search.neighbours_kernel import nearest_classes, stretches_of

MODES = [STAR, SET, TREE, INTERVAL]
SIZES = [2, 4, 4, 9]
MEETING = [0.2, 1.0, 0.6]
"""What neighbours among the four leaves lose together."""


def classes(seed, count):
    rng = np.random.default_rng(seed)
    plain = np.unique(np.column_stack([rng.integers(0, size, count) for size in SIZES]), axis=0)
    starts = np.concatenate(([0], np.cumsum(SIZES)))
    positions = np.zeros((3, starts[-1]))
    positions[0, starts[3] :] = np.linspace(0, 1, 9)
    positions[1, starts[2] : starts[2] + 3] = MEETING
    positions[2, starts[2] : starts[2] + 2] = [max(MEETING[:2]), max(MEETING[1:])]
    return Losses(
        codes=(plain + starts[:-1]).astype(np.int32),
        columns=np.array(
            [
                (mode, first, last - 1, last - 1 if mode == SET else -1)
                for mode, first, last in zip(MODES, starts[:-1], starts[1:], strict=True)
            ]
        ),
        scales=np.array([1.0, 1 / 3, 1.0, 1.0]),
        positions=positions,
    )


def distance(losses, one, other):
    total = 0.0
    for c, mode in enumerate(MODES):
        a, b = sorted((losses.codes[one, c], losses.codes[other, c]))
        first, last = losses.columns[c, 1:3]
        if a == b:
            continue
        if mode == STAR:
            total += 1
        elif mode == SET:
            total += 1 if b == last else 1 / 3
        elif mode == TREE:
            total += max(MEETING[a - first : b - first])
        else:
            total += (b - a) / 8
    return total


def search(losses, width, budget, kernel=nearest_classes):
    count, d = losses.codes.shape
    begins, ends = np.empty((2, d, count), dtype=np.int32)
    stretches_of(losses.codes, begins, ends)
    near, lost, unseen = np.empty((count, width), dtype=np.int32), np.empty((count, width)), np.empty(count)
    kernel(losses, begins, ends, np.arange(count), 2, budget, near, lost, unseen)
    # What was not looked at is no nearer than the search says, and what it found nearer is the nearest.
    for q in range(count):
        every = sorted(distance(losses, q, other) for other in range(count) if other != q)
        for place, found in enumerate(lost[q, : len(every)].tolist()):
            assert found == pytest.approx(every[place]) or found > unseen[q]
            assert every[place] >= min(found, unseen[q]) - 1e-12
    return near, lost


@every("width", [1, 5, 60])
@every("seed", range(6))
def test_nearest_as_by_looking_at_all(seed, width):
    losses = classes(seed, 50)
    near, lost = search(losses, width, 100_000)
    for q in range(len(near)):
        every = sorted(distance(losses, q, other) for other in range(len(near)) if other != q)
        found = near[q][near[q] >= 0].tolist()
        assert len(set(found)) == len(found) == min(width, len(every))
        assert q not in found
        assert lost[q, : len(found)].tolist() == pytest.approx(every[: len(found)])
        assert [distance(losses, q, other) for other in found] == pytest.approx(every[: len(found)])
        assert np.isinf(lost[q, len(found) :]).all()


@every("budget", [1, 10, 40], drawn=True)
def test_a_short_search_finds_what_is_near_in_the_order(budget):
    losses = classes(3, 200)
    near, lost = search(losses, 4, budget)
    assert (lost[:, 1:] >= lost[:, :-1]).all()
    for q, found in enumerate(near.tolist()):
        kept = [other for other in found if other >= 0]
        assert len(kept) >= 2
        assert [distance(losses, q, other) for other in kept] == pytest.approx(lost[q, : len(kept)].tolist())
    assert lost.sum() >= search(losses, 4, 100_000)[1].sum()


def test_compiled_and_plain_agree():
    losses = classes(1, 40)
    for one, other in zip(search(losses, 4, 30), search(losses, 4, 30, nearest_classes.py_func), strict=True):
        assert (one == other).all()


def test_stretches_are_the_classes_that_agree():
    losses = classes(2, 60)
    begins, ends = np.empty((2, 4, len(losses.codes)), dtype=np.int32)
    stretches_of(losses.codes, begins, ends)
    for j in range(4):
        for i, row in enumerate(losses.codes):
            same = np.flatnonzero((losses.codes[:, : j + 1] == row[: j + 1]).all(axis=1))
            assert (begins[j, i], ends[j, i]) == (same[0], same[-1] + 1)


def test_apart_is_what_two_lose():
    losses = classes(4, 30)
    for one in range(len(losses.codes)):
        for other in range(len(losses.codes)):
            total = sum(apart(losses.codes[one, c], losses.codes[other, c], c, *losses[1:4]) for c in range(4))
            assert total == pytest.approx(distance(losses, one, other))


def test_many_values_without_an_order_are_not_looked_at_one_by_one():
    # All that differ are as far away: one of them tells for the others.
    count, budget = 2_000, 20
    codes = np.arange(count, dtype=np.int32).reshape(-1, 1)
    losses = Losses(
        codes=codes,
        columns=np.array([(SET, 0, count - 1, -1)]),
        scales=np.array([1 / 16]),
        positions=np.zeros((1, count)),
    )
    begins, ends = np.empty((2, 1, count), dtype=np.int32)
    stretches_of(codes, begins, ends)

    class Counted:
        looks = 0

        def __getitem__(self, place):
            self.looks += 1
            return ends[place]

    counted = Counted()
    near, lost, unseen = np.empty((50, 4), dtype=np.int32), np.empty((50, 4)), np.empty(50)
    nearest_classes.py_func(losses, begins, counted, np.arange(50), 8, budget, near, lost, unseen)
    assert counted.looks <= 50 * (2 * budget + 2)
    assert lost == pytest.approx(np.full((50, 4), 1 / 16))
    assert (unseen == np.inf).all()
