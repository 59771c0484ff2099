"""Which boxes meet which others, against all pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from shoal.covering import BoxTree
from shoal.covering.meeting_kernel import Nodes, Ranks, count_meeting


@dataclass(frozen=True, kw_only=True)
class Regions:
    low: np.ndarray
    high: np.ndarray
    starts: np.ndarray
    members: np.ndarray

    @classmethod
    def of(cls, sets: list[list[int]]) -> Regions:
        listed = [one if one and one[-1] - one[0] + 1 > len(one) else [] for one in sets]
        return cls(
            low=np.array([one[0] if one else 0 for one in sets], dtype=np.int32),
            high=np.array([one[-1] if one else -1 for one in sets], dtype=np.int32),
            starts=np.concatenate(([0], np.cumsum([len(one) for one in listed]))).astype(np.int64),
            members=np.array([rank for one in listed for rank in one], dtype=np.int32),
        )


def random_sets(rng, count, size, *, empty):
    found = []
    for _ in range(count):
        shape = rng.integers(4)
        if shape == 0:
            found.append(list(range(size)))  # a star
        elif shape == 1:
            low = int(rng.integers(size))
            found.append(list(range(low, int(rng.integers(low, size)) + 1)))
        elif shape == 2:
            found.append([int(rng.integers(size))])
        else:
            found.append(sorted({int(rank) for rank in rng.integers(0, size, rng.integers(1, 4))}))
        if empty and rng.random() < 0.05:
            found[-1] = []
    return found


def test_hundreds_of_random_boxes():
    rng = np.random.default_rng(0)
    for _ in range(150):
        d, size = int(rng.integers(1, 4)), int(rng.integers(1, 9))
        sets = random_sets(rng, 12, size, empty=False)
        others = random_sets(rng, 10, size, empty=True)
        boxes = rng.integers(0, 12, (int(rng.integers(1, 90)), d)).astype(np.int32)
        queries = rng.integers(0, 10, (20, d)).astype(np.int32)
        carried = rng.integers(-5, 9, (len(boxes), 2))
        expected = [
            sum(
                (
                    carried[at]
                    for at, box in enumerate(boxes)
                    if all(set(others[q]) & set(sets[r]) for q, r in zip(query, box, strict=True))
                ),
                start=np.zeros(2, dtype=np.int64),
            ).tolist()
            for query in queries
        ]
        found = BoxTree(boxes, Regions.of(sets)).sums(queries, Regions.of(others), carried)
        assert found.tolist() == expected


def test_the_kernel_is_what_it_says():
    ranks = Ranks(*(np.array(part) for part in ([0, 1, 0], [1, 1, 2], [0, 0, 0, 2], [0, 2])))
    boxes = np.array([[0], [1], [2]], dtype=np.int32)
    nodes = Nodes(
        least=np.array([[0, 1]]), greatest=np.array([[1, 2]]), plain=np.array([[False]]), sums=np.array([[111]])
    )
    carried = np.array([[1], [10], [100]])
    for function in (count_meeting, count_meeting.py_func):
        assert function(boxes, ranks, boxes, ranks, nodes, 1, carried).ravel().tolist() == [111, 11, 101]


@pytest.mark.parametrize("count", [1, 7, 8, 9, 5_000])
def test_every_size_of_tree(count):
    rng = np.random.default_rng(count)
    sets = [[at] for at in range(10)] + [list(range(10))]
    boxes = rng.integers(0, 11, (count, 2)).astype(np.int32)
    star = np.array([[10, 10]], dtype=np.int32)
    told = []
    found = BoxTree(boxes, Regions.of(sets)).sums(
        star, Regions.of(sets), np.ones((count, 1), dtype=np.int64), progress=lambda *words: told.append(words)
    )
    assert found.tolist() == [[count]]
    assert told == [("compatible cells", 0, 1)]
