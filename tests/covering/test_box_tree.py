"""Which boxes meet which others, against all pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from shoal._progress import silent
from shoal.covering import BoxTree
from shoal.covering.box_tree import _ranks
from shoal.covering.meeting_kernel import Nodes, Ranks, count_meeting
from shoal.covering.nested import NestedBoxes


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


def nested_sets(rng, size):
    """All nodes of a random hierarchy over shuffled ranks: nested or apart, some twice."""
    found, level = [], [list(map(int, rng.permutation(size)))]
    while level:
        found += [sorted(node) for node in level]
        level = [part for node in level if len(node) > 1 for part in np.array_split(node, rng.integers(2, 4))]
        level = [list(map(int, part)) for part in level if len(part)]
    return found + found[: int(rng.integers(len(found)))]


def test_nested_boxes_are_hashed_and_give_the_same():
    rng = np.random.default_rng(58)
    for _ in range(150):
        d, size = int(rng.integers(1, 4)), int(rng.integers(1, 9))
        family = nested_sets(rng, size)
        mine, theirs = ([family[int(at)] for at in rng.integers(len(family), size=9)] for _ in range(2))
        theirs[0] = theirs[0] if rng.random() < 0.7 else []
        boxes = rng.integers(0, 9, (int(rng.integers(1, 60)), d)).astype(np.int32)
        queries = rng.integers(0, 9, (20, d)).astype(np.int32)
        carried = rng.integers(-5, 9, (len(boxes), 2))
        asked, held = _ranks(Regions.of(theirs)), _ranks(Regions.of(mine))
        tree = BoxTree(boxes, held)
        found = tree.sums(queries, asked, carried)
        assert found.tolist() == tree._walked(queries, asked, carried, silent).tolist()
        some = [query for query in queries if all(theirs[q] for q in query)]
        if some:
            nested = NestedBoxes.of(np.array(some), asked, boxes, held)
            assert nested is not None
            expected = [
                sum(
                    (
                        carried[at]
                        for at, box in enumerate(boxes)
                        if all(set(theirs[q]) & set(mine[r]) for q, r in zip(query, box, strict=True))
                    ),
                    start=np.zeros(2, dtype=np.int64),
                ).tolist()
                for query in some
            ]
            assert nested.sums(carried).tolist() == expected


def test_regions_that_overlap_otherwise_are_not_hashed():
    ranks = _ranks(Regions.of([[0, 1], [1, 2], [0, 1, 2]]))
    crossing, nested = (np.array(rows, dtype=np.int32) for rows in ([[0], [1]], [[0], [2]]))
    assert NestedBoxes.of(nested, ranks, nested, ranks) is not None
    assert NestedBoxes.of(nested, ranks, crossing, ranks) is None
    many = np.zeros((1, 70), dtype=np.int32)
    assert NestedBoxes.of(many, ranks, many, ranks) is not None
    pairs = np.tile([[0], [2]], (1, 70)).astype(np.int32)
    assert NestedBoxes.of(pairs, ranks, pairs, ranks) is None  # combinations beyond 64 bits


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
