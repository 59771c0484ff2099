"""The kernels of full-domain generalization against counting in plain Python, compiled and as written."""

from collections import Counter
from random import Random

import numpy as np
import pytest

from shoal.algorithms.common.predicate_kernel import DISTINCT, FREQUENCY, SIZE, Predicate
from shoal.algorithms.full_domain import lattice_kernel as full_domain
from shoal.algorithms.full_domain.lattice_kernel import ACCEPTED, IN_VAIN, JOINED, REFUSED, Classes, judge, roll_up

COMPILED_AND_PLAIN = [pytest.param(False, id="compiled"), pytest.param(True, id="as written")]

UNKNOWN = np.empty(0, dtype=np.int8)
"""Nothing is known of classes besides their rows."""


def random_rows(chance, rows, sizes, values):
    return [
        (tuple(chance.randrange(size) for size in sizes), chance.choice([0, 0, *range(values)])) for _ in range(rows)
    ]


def classes_of(rows):
    """Rows of (codes, value) as the kernels take them, in the order of their codes."""
    groups = {}
    for codes, value in rows:
        groups.setdefault(codes, Counter())[value] += 1
    keys = sorted(groups)
    entries = [(value, count) for key in keys for value, count in sorted(groups[key].items())]
    return Classes(
        np.array(keys, dtype=np.int32).reshape(len(keys), -1),
        np.array([sum(groups[key].values()) for key in keys], dtype=np.int64),
        np.cumsum([0, *(len(groups[key]) for key in keys)]).astype(np.int64),
        np.array([value for value, _ in entries], dtype=np.int32),
        np.array([count for _, count in entries], dtype=np.int64),
    )


def counted(codes, sizes, starts, values, counts):
    """The classes as a dictionary, whatever their order."""
    found = {}
    for c, key in enumerate(map(tuple, codes.tolist())):
        assert key not in found
        inside = slice(starts[c], starts[c + 1])
        assert len(set(values[inside].tolist())) == starts[c + 1] - starts[c]
        found[key] = dict(zip(values[inside].tolist(), counts[inside].tolist(), strict=True))
        assert sum(found[key].values()) == sizes[c]
    return found


@pytest.fixture(params=COMPILED_AND_PLAIN)
def plainly(request, monkeypatch):
    """Return what gives a kernel, or its Python function with those that it calls."""
    if not request.param:
        return lambda kernel: kernel
    monkeypatch.setattr(full_domain, "_find_classes", in_two_to_the_64(full_domain._find_classes.py_func))
    monkeypatch.setattr(full_domain, "_charge", full_domain._charge.py_func)
    return lambda kernel: kernel.py_func


def in_two_to_the_64(function):
    def wrapped(*arguments):
        with np.errstate(over="ignore"):
            return function(*arguments)

    return wrapped


def test_rolled_up_classes_are_those_of_the_recoded_rows(plainly):
    chance = Random(5)
    for _ in range(15):
        d = chance.randrange(1, 4)
        sizes = [chance.randrange(1, 6) for _ in range(d)]
        rows = random_rows(chance, 40, sizes, 4)
        attribute = chance.randrange(d)
        nodes = [chance.randrange(3) for _ in range(sizes[attribute])]
        finer = classes_of(rows)
        numbers = np.zeros(4, dtype=np.int64)
        coarser, new_of = plainly(roll_up)(finer, attribute, np.array(nodes, dtype=np.int32), numbers)
        recoded = [
            (tuple(nodes[code] if a == attribute else code for a, code in enumerate(codes)), value)
            for codes, value in rows
        ]
        assert counted(*coarser) == counted(*classes_of(recoded))
        assert not numbers.any()
        for old, new in zip(finer.codes.tolist(), coarser.codes[new_of].tolist(), strict=True):
            assert new == [nodes[code] if a == attribute else code for a, code in enumerate(old)]


def test_without_sensitive_values_only_sizes_are_rolled_up(plainly):
    codes, sizes, *_ = classes_of([((a, b), 0) for a in range(4) for b in range(3) for _ in range(a + 1)])
    nothing = (np.zeros(len(sizes) + 1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64))
    up = np.array([0, 0, 1, 1], dtype=np.int32)
    finer = Classes(codes, sizes, *nothing)
    (found, rolled, starts, values, counts), _ = plainly(roll_up)(finer, 0, up, np.zeros(1, dtype=np.int64))
    assert found.tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    assert rolled.tolist() == [3, 3, 3, 7, 7, 7]
    assert len(values) == len(counts) == starts.sum() == 0


def test_judged_classes_and_their_tally(plainly):
    # l = 2 by frequency with at least two rows. By class: accepted, too few rows, one value only, one value too often.
    rows = [((0,), v) for v in (0, 1)] + [((1,), 0)] + [((2,), 0)] * 3 + [((3,), v) for v in (0, 0, 0, 1)]
    classes = classes_of(rows)
    verdict, tally = np.empty(4, dtype=np.int8), np.zeros((3, 5), dtype=np.int64)
    rules = np.array([[SIZE, 0, 2, 0, 0, 0], [FREQUENCY, 0, 2, 1, 0, 0]], dtype=np.int64)
    lasting = np.array([[DISTINCT, 0, 2, 0, 0, 0]], dtype=np.int64)
    surcharges = np.array([[5, 7, 11, 13], [1, 1, 1, 1]], dtype=np.int64)
    predicate = Predicate(np.array([0, 2], dtype=np.int64), rules, np.empty(0, dtype=np.int64), 2)
    predicate = (predicate, lasting, surcharges, np.zeros(1, dtype=np.int64))
    nobody = np.empty(0, dtype=np.int64)
    assert not plainly(judge)(classes, *predicate, 10, nobody, 0, UNKNOWN, verdict, tally)
    assert verdict.tolist() == [ACCEPTED, IN_VAIN, IN_VAIN, REFUSED]
    assert tally.tolist() == [[4, 2, 10, 7 + 33, 4], [8, 3, 26, 7 + 33 + 52, 8], [10, 4, 30, 0, 0]]
    # Seven of one value and one of another: the accepted class joins, which is not enough.
    assert not plainly(judge)(classes, *predicate, 10, np.zeros(1, dtype=np.int64), 0, UNKNOWN, verdict, tally)
    assert verdict[0] == JOINED
    assert tally[1].tolist() == [10, 4, 30, 7 + 33 + 52 + 10, 10]


def test_suppressed_classes_are_completed_within_the_limit(plainly):
    # Under l = 2 the row of class 0 stands out. With class 1 two of three rows share a value, then three of seven.
    rows = [((0,), 0), ((1,), 0), ((1,), 1), ((2,), 1), ((2,), 2), ((2,), 0), ((2,), 2)]
    classes = classes_of(rows)
    rules = np.array([[SIZE, 0, 2, 0, 0, 0], [FREQUENCY, 0, 2, 1, 0, 0]], dtype=np.int64)
    predicate = Predicate(np.array([0, 3], dtype=np.int64), rules, np.empty(0, dtype=np.int64), 2)
    nothing = np.empty((0, 6), dtype=np.int64)
    predicate = (predicate, nothing, np.zeros((2, 3), dtype=np.int64), np.zeros(1, dtype=np.int64))
    for most in range(9):
        verdict, tally = np.empty(3, dtype=np.int8), np.zeros((3, 5), dtype=np.int64)
        assert not plainly(judge)(classes, *predicate, most, np.empty(0, dtype=np.int64), 0, UNKNOWN, verdict, tally)
        assert verdict.tolist() == [IN_VAIN, ACCEPTED, ACCEPTED]
        done = plainly(judge)(classes, *predicate, most, np.array([1, 2], dtype=np.int64), 0, UNKNOWN, verdict, tally)
        assert done == (most >= 7)
        if done:
            assert verdict.tolist() == [IN_VAIN, JOINED, JOINED]
            assert tally[1, :3].tolist() == [7, 3, 1 + 4 + 16]
    verdict, tally = np.empty(3, dtype=np.int8), np.zeros((3, 5), dtype=np.int64)
    plainly(judge)(classes, *predicate, 9, np.empty(0, dtype=np.int64), 0, UNKNOWN, verdict, tally)
    assert plainly(judge)(classes, *predicate, 9, np.array([2, 1], dtype=np.int64), 0, UNKNOWN, verdict, tally)
    assert verdict.tolist() == [IN_VAIN, ACCEPTED, JOINED], "it stops as soon as it may"
