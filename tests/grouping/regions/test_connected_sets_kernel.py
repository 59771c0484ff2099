import random
from itertools import combinations

import numpy as np
import pytest
from tests.oracles.regions import connected

from shoal.grouping.regions.connected_sets_kernel import connected_sets, lightest_set
from shoal.grouping.regions.graph import read_graph


def cases(count, seed):
    rng = random.Random(seed)
    for _ in range(count):
        n = rng.randint(1, 8)
        edges = sorted(
            {(rng.randrange(v), v) for v in range(1, n)} | {(v, v + 2) for v in range(n - 2) if rng.random() < 0.5}
        )
        weights = np.array([rng.choice((0, 1, 2, 3, 7)) for _ in range(n)], dtype=np.int64)
        low = rng.randint(1, 8)
        yield n, edges, weights, low, low + rng.randint(0, 8)


def all_connected(n, edges):
    return [s for size in range(1, n + 1) for s in combinations(range(n), size) if connected(s, edges)]


def components(nodes, edges):
    rest, found = set(nodes), []
    while rest:
        start = min(rest)
        piece = {start}
        while more := {b if a in piece else a for a, b in edges if (a in piece) != (b in piece)} & (rest - piece):
            piece |= more
        found.append(piece)
        rest -= piece
    return found


@pytest.mark.parametrize(("find", "count"), [(connected_sets, 150), (connected_sets.py_func, 30)])
def test_all_sets_are_found_once_unless_what_is_left_cannot_be_divided(find, count):
    for n, edges, weights, low, high in cases(count, 1):
        offsets, targets, _ = read_graph("test", np.array(edges).reshape(-1, 2), nodes=n).adjacency
        starts, members, found, complete = find(offsets, targets, weights, low, high, 1000, 10_000)
        sets = [tuple(sorted(members[starts[i] : starts[i + 1]].tolist())) for i in range(found)]
        assert complete
        assert len(set(sets)) == len(sets)

        def divisible(load, low=low, high=high):
            return any(parts * low <= load <= parts * high for parts in range(1, load + 1))

        expected = [
            s
            for s in all_connected(n, edges)
            if low <= weights[list(s)].sum() <= high
            and all(divisible(int(weights[list(c)].sum())) for c in components(set(range(n)) - set(s), edges))
        ]
        assert sorted(sets) == sorted(expected)


def test_too_many_sets_are_said_to_be():
    offsets, targets, _ = read_graph("test", [(a, b) for b in range(8) for a in range(b)], nodes=8).adjacency
    weights = np.ones(8, dtype=np.int64)
    assert not connected_sets(offsets, targets, weights, 1, 8, 5, 10_000)[3]
    assert not connected_sets(offsets, targets, weights, 1, 8, 1000, 20)[3]
    assert connected_sets(offsets, targets, weights, 1, 8, 1000, 10_000)[2:] == (255, True)


@pytest.mark.parametrize("find", [lightest_set, lightest_set.py_func])
def test_the_lightest_set_around_a_node(find):
    for n, edges, weights, low, high in cases(60, 2):
        offsets, targets, _ = read_graph("test", np.array(edges).reshape(-1, 2), nodes=n).adjacency
        sets = all_connected(n, edges)
        for root in range(n):
            loads = [int(weights[list(s)].sum()) for s in sets if root in s]
            expected = min((load for load in loads if load >= low), default=high)
            assert find(offsets, targets, weights, root, low, high, 10_000) == min(expected, high)
    offsets, targets, _ = read_graph("test", [(0, 1), (1, 2)], nodes=3).adjacency
    assert find(offsets, targets, np.array([1, 1, 1]), 0, 3, 9, 2) == -1
