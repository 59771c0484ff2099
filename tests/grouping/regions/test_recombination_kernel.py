import random

import numpy as np
import pytest
from tests.every import few
from tests.oracles.regions import connected

from shoal.grouping.regions.graph import read_graph
from shoal.grouping.regions.recombination_kernel import Best, ConnectedParts, Limits, WeightedGraph, improve_parts


def divided(rng, n):
    """Return a grid-like graph, weights and a division into connected parts."""
    edges = [(rng.randrange(max(0, v - 4), v), v) for v in range(1, n)]
    edges += [(v, v + 4) for v in range(n - 4) if rng.random() < 0.5]
    edges = sorted({tuple(sorted(edge)) for edge in edges})
    weights = np.array([rng.choice((0, 1, 2, 3, 8)) for _ in range(n)], dtype=np.int64)
    parts = np.zeros(n, dtype=np.int32)
    return edges, weights, parts


def division_of(parts, weights):
    n = len(weights)
    loads, sizes, anchors = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.int32)
    np.add.at(loads, parts, weights)
    np.add.at(sizes, parts, 1)
    anchors[parts] = np.arange(n, dtype=np.int32)
    return ConnectedParts(parts, np.array([parts.max() + 1], dtype=np.int64), loads, sizes, anchors)


@pytest.mark.drawn
@pytest.mark.parametrize(("kernel", "steps"), [(improve_parts, 400), (improve_parts.py_func, 60)])
@pytest.mark.parametrize("hot", [0.0, 0.5])
def test_parts_stay_connected_and_their_tables_true(kernel, steps, hot):
    rng = random.Random(5)
    for trial in range(few(25, least=6)):
        n = rng.randint(2, 24)
        edges, weights, parts = divided(rng, n)
        total = int(weights.sum())
        k = rng.randint(1, max(total // 3, 1))
        if total < k:
            continue
        graph = read_graph("test", np.array(edges).reshape(-1, 2), nodes=n)
        offsets, targets, _ = graph.adjacency
        graph, best, division = (
            WeightedGraph(offsets, targets, weights),
            Best.of(parts.copy()),
            division_of(parts, weights),
        )
        random_state = np.array([trial + 1], dtype=np.uint64)
        largest = total
        for call in range(6):
            least = k if call % 2 == 0 else max(1, k // 2)
            most = 1 + rng.randint(0, n) if call == 0 else n
            limits = Limits(k, least, max(most, int(division.number[0])), k)
            kernel(graph, limits, division, best, random_state, steps, hot, 0.0)
            count = int(division.number[0])
            assert sorted(set(parts.tolist())) == list(range(count))
            fresh = division_of(parts, weights)
            assert division.loads[:count].tolist() == fresh.loads[:count].tolist()
            assert division.sizes[:count].tolist() == fresh.sizes[:count].tolist()
            assert all(parts[division.anchors[p]] == p for p in range(count))
            for found in (parts, best.parts):
                members = [np.flatnonzero(found == p).tolist() for p in range(int(found.max()) + 1)]
                assert all(connected(part, edges) for part in members)
            kept = [int(weights[best.parts == p].sum()) for p in range(int(best.parts.max()) + 1)]
            assert min(kept) >= k
            assert max(kept) == best.largest[0] <= largest
            assert best.squares[0] == sum(load * load for load in kept)
            largest = int(best.largest[0])
            if call % 2:  # what comes next must not find parts that are too light
                parts[:] = best.parts
                division = division_of(parts, weights)


def test_the_number_of_parts_is_limited():
    n = 30
    graph = read_graph("test", [(v, v + 1) for v in range(n - 1)], nodes=n)
    offsets, targets, _ = graph.adjacency
    weights, parts = np.ones(n, dtype=np.int64), np.zeros(n, dtype=np.int32)
    graph, division, best = WeightedGraph(offsets, targets, weights), division_of(parts, weights), Best.of(parts.copy())
    improve_parts(graph, Limits(2, 2, 5, 6), division, best, np.array([3], dtype=np.uint64), 5_000, 0.05, 0.0)
    assert division.number[0] == 5
    assert best.largest[0] == 6
