"""Which boxes meet which others, against all pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from tests.every import every, few

from shoal.joins import BoxJoin, box_join, dividing_kernel
from shoal.joins.box_join import NestedBoxes
from shoal.joins.box_tree import BoxTree
from shoal.joins.box_tree import to_ranks as _ranks
from shoal.joins.dividing_kernel import Boxes, add_up_divided
from shoal.joins.meeting_kernel import Nodes, Ranks, count_meeting
from shoal.joins.nested_kernel import Ancestors, Side, add_up_nested


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


def nested_sets(rng, size):
    """All nodes of a random hierarchy over shuffled ranks: nested or apart, some twice."""
    found, level = [], [list(map(int, rng.permutation(size)))]
    while level:
        found += [sorted(node) for node in level]
        level = [part for node in level if len(node) > 1 for part in np.array_split(node, rng.integers(2, 4))]
        level = [list(map(int, part)) for part in level if len(part)]
    return found + found[: int(rng.integers(len(found)))]


@dataclass(frozen=True, kw_only=True)
class Case:
    """Two collections of boxes, what they carry, and all pairs of them."""

    left: np.ndarray
    right: np.ndarray
    asked: Regions
    held: Regions
    of_left: np.ndarray
    of_right: np.ndarray
    meets: np.ndarray

    @classmethod
    def of(cls, rng, sets, others, *, most):
        d = int(rng.integers(1, 5))
        left = rng.integers(0, len(sets), (int(rng.integers(1, most)), d)).astype(np.int32)
        right = rng.integers(0, len(others), (int(rng.integers(1, most)), d)).astype(np.int32)
        common = np.array([[bool(set(one) & set(other)) for other in others] for one in sets])
        return cls(
            left=left,
            right=right,
            asked=Regions.of(sets),
            held=Regions.of(others),
            of_left=rng.integers(-5, 9, (len(left), 2)),
            of_right=rng.integers(-5, 9, (len(right), 3)),
            meets=common[left[:, None, :], right[None, :, :]].all(axis=2),
        )

    def join(self):
        return BoxJoin(self.left, self.asked, self.right, self.held)

    def check(self, found):
        assert found[0].tolist() == (self.meets @ self.of_right).tolist()
        assert found[1].tolist() == (self.meets.T @ self.of_left).tolist()


def cases(rng, kind, *, most):
    """Return a random case: regions of any form, single values against them, or nested ones."""
    size = int(rng.integers(1, 30))
    if kind == "nested":
        family = nested_sets(rng, size)
        sets, others = ([family[int(at)] for at in rng.integers(len(family), size=12)] for _ in range(2))
        others[0] = others[0] if rng.random() < 0.7 else []
    else:
        sets, others = random_sets(rng, 10, size, empty=True), random_sets(rng, 12, size, empty=True)
        if kind == "points":
            sets = [[int(rng.integers(size))] for _ in range(10)]
    return Case.of(rng, sets, others, most=most)


@pytest.mark.parametrize("kind", ["any", "points", "nested"])
def test_hundreds_of_random_boxes_against_all_pairs(kind):
    """The larger cases are divided many times over."""
    rng = np.random.default_rng(len(kind))
    for at in range(few(150)):
        case = cases(rng, kind, most=30 if at % 3 else 400)
        join = case.join()
        case.check(join.both(case.of_left, case.of_right))
        assert join.to_left(case.of_right).tolist() == (case.meets @ case.of_right).tolist()
        assert join.to_right(case.of_left).tolist() == (case.meets.T @ case.of_left).tolist()


@pytest.mark.drawn
@pytest.mark.parametrize("kind", ["any", "points", "nested"])
def test_dividing_and_walking_agree_on_any_boxes(kind, monkeypatch):
    rng = np.random.default_rng(57)
    tried = []
    for way in (lambda boxes: boxes.add_up_divided, lambda _: lambda *_: False):
        monkeypatch.setattr(box_join, "add_up_divided", way(dividing_kernel))
        monkeypatch.setattr(box_join.NestedBoxes, "of", lambda *_: None)
        for _ in range(few(60)):
            case = cases(rng, kind, most=200)
            join = case.join()
            case.check(join.both(case.of_left, case.of_right))
            case.check(join.both(case.of_left, case.of_right))  # what gave up once is not tried again
            tried.append(join._divides)
    assert all(tried[: few(60)])
    assert not all(tried[few(60) :])


def test_dividing_gives_up_after_some_steps():
    """Stars everywhere: no cut parts them, so all pairs would be compared."""
    stars = [list(range(9)), [0, 2], [1, 3, 8], [0, 8]]
    rng = np.random.default_rng(3)
    boxes = rng.integers(0, 4, (few(300, least=60), 4)).astype(np.int32)
    regions = _ranks(Regions.of(stars))
    low, high = regions.low[boxes], regions.high[boxes]
    sides = [Boxes(regions=boxes, low=low, high=high) for _ in range(2)]
    ones, none = np.ones((len(boxes), 1), dtype=np.int64), np.zeros((len(boxes), 0), dtype=np.int64)
    found = np.zeros((len(boxes), 1), dtype=np.int64)
    for function in (add_up_divided, add_up_divided.py_func):
        found[:] = 0
        assert not function(sides[0], regions, sides[1], regions, none, ones, found, none.copy(), 1_000)
        assert function(sides[0], regions, sides[1], regions, none, ones, found, none.copy(), 10**9)
        met = [set(one) & set(other) != set() for one in stars for other in stars]
        meets = np.array(met).reshape(4, 4)[boxes[:, None, :], boxes[None, :, :]].all(axis=2)
        assert found[:, 0].tolist() == meets.sum(axis=1).tolist()


def test_nested_boxes_are_hashed():
    rng = np.random.default_rng(58)
    hashed = 0
    for _ in range(few(60)):
        case = cases(rng, "nested", most=60)
        join = case.join()
        if len(join._left) and len(join._right):
            assert isinstance(join._nested, NestedBoxes)
            hashed += 1
    assert hashed > few(40, least=1)


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
    low, high, members = (np.array(part, dtype=np.int32) for part in ([0, 1, 0], [1, 1, 2], [0, 2]))
    ranks = Ranks(low, high, np.array([0, 0, 0, 2]), members)
    boxes = np.array([[0], [1], [2]], dtype=np.int32)
    least, greatest = (np.array([part], dtype=np.int32) for part in ([0, 1], [1, 2]))
    nodes = Nodes(least=least, greatest=greatest, plain=np.array([[False]]), sums=np.array([[111]]))
    carried = np.array([[1], [10], [100]])
    for function in (count_meeting, count_meeting.py_func):
        assert function(boxes, ranks, boxes, ranks, nodes, 1, carried).ravel().tolist() == [111, 11, 101]


def test_the_kernel_of_nested_boxes_is_what_it_says():
    """One attribute: a star (region 0) above three values; the left has the star and value 1, the right all values."""
    ancestors = Ancestors(
        codes=np.array([0, 0, 0, 0, -1, 1, 2, 3]), offsets=np.array([[0, 4]]), alike=np.array([[True, False]])
    )
    for function in (add_up_nested, add_up_nested.py_func):
        left = Side(boxes=np.array([[0, 1]], dtype=np.int32), carried=np.array([[5], [7]]), found=np.zeros((2, 1), int))
        values = np.array([[1, 2, 3]], dtype=np.int32)
        right = Side(boxes=values, carried=np.array([[1], [10], [100]]), found=np.zeros((3, 1), int))
        with np.errstate(over="ignore"):  # keys are spread modulo 2**64
            for at, depth in enumerate((0, 1)):
                function(left, at, at + 1, np.array([depth]), right, np.array([0, 3]), np.array([[1]]), ancestors)
        assert left.found.ravel().tolist() == [111, 1]
        assert right.found.ravel().tolist() == [12, 5, 5]


@every("count", [1, 7, 8, 9, 5_000])
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
