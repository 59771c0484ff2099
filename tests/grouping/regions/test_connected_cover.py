"""The smallest largest part of a division of a graph, judged by trying all divisions."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.oracles import regions as oracle

from shoal.grouping.regions import region_parts
from shoal.grouping.regions.graph import read_graph
from shoal.grouping.regions.region_parts import bound_of_counts, exact_parts, smallest_largest_part

pytest.importorskip("highspy")


def adjacency(n, edges):
    near = [sorted({b if a == v else a for a, b in edges if v in (a, b)}) for v in range(n)]
    starts = np.concatenate(([0], np.cumsum([len(one) for one in near]))).astype(np.int64)
    return starts, np.array([u for one in near for u in one], dtype=np.int32)


@pytest.mark.drawn
def test_the_optimum_is_found_and_proven():
    rng, improved, proven = random.Random(2), 0, 0
    for _ in range(60):
        n = rng.randint(2, 8)
        edges = sorted({(rng.randrange(v), v) for v in range(1, n)} | {(v, v + 2) for v in range(n - 2)})
        weights = np.array([rng.choice((1, 2, 3, 5, 9)) for _ in range(n)], dtype=np.int64)
        total = int(weights.sum())
        k = rng.randint(1, total)
        optimum = oracle.smallest_largest_part(edges, weights.tolist(), k)
        found = smallest_largest_part(*adjacency(n, edges), weights, k=k, known=total, bound=k)
        assert found.bound == optimum
        if found.parts is None:
            assert optimum == total
            continue
        parts = [np.flatnonzero(found.parts == p).tolist() for p in range(int(found.parts.max()) + 1)]
        loads = [int(weights[part].sum()) for part in parts]
        assert all(oracle.connected(part, edges) for part in parts)
        assert (min(loads) >= k, max(loads)) == (True, optimum)
        improved += 1
        proven += "integer programs" in found.why
    assert improved > 20
    assert proven > 3


def test_without_time_nothing_false_is_claimed(monkeypatch):
    edges = [(v, v + 1) for v in range(7)] + [(v, v + 2) for v in range(6)]
    weights = np.array([5, 4, 3, 5, 4, 3, 2, 7], dtype=np.int64)
    optimum = oracle.smallest_largest_part(edges, weights.tolist(), 7)
    stopped = smallest_largest_part(*adjacency(8, edges), weights, k=7, known=33, bound=7, time_limit=0.0)
    assert stopped.bound <= optimum
    monkeypatch.setattr(region_parts, "_MAX_SETS", 3)
    crowded = smallest_largest_part(*adjacency(8, edges), weights, k=7, known=33, bound=7)
    assert crowded.parts is None
    assert crowded.bound <= optimum
    assert "too many" in crowded.why
    met = smallest_largest_part(*adjacency(8, edges), weights, k=7, known=9, bound=9)
    assert (met.parts, met.bound) == (None, 9)


def test_a_heavy_region_needs_a_neighbour():
    # The 9 cannot stand alone at k = 10, and its neighbours weigh 6 at least.
    found = smallest_largest_part(
        *adjacency(5, [(0, 1), (0, 2), (1, 3), (2, 4), (3, 4)]), np.array([9, 6, 7, 3, 5]), k=10, known=15, bound=15
    )
    assert found.bound == 15
    lower = smallest_largest_part(
        *adjacency(5, [(0, 1), (0, 2), (1, 3), (2, 4), (3, 4)]), np.array([9, 6, 7, 3, 5]), k=10, known=15, bound=10
    )
    assert (lower.bound, lower.parts) == (15, None)
    assert "largest regions" in lower.why


@pytest.mark.drawn
def test_no_raised_bound_exceeds_the_optimum():
    rng, tried, raised = random.Random(5), 0, 0
    while tried < 300:
        n = rng.randint(3, 7)
        edges = {(rng.randrange(v), v) for v in range(1, n)} | {(v, v + 2) for v in range(n - 2) if rng.random() < 0.8}
        weights = np.array([rng.choice((0, 1, 2, 3, 5, 9)) for _ in range(n)], dtype=np.int64)
        k = rng.randint(1, max(1, int(weights.sum()) // 2))
        if weights.sum() < k:
            continue
        tried += 1
        optimum = oracle.smallest_largest_part(sorted(edges), weights.tolist(), k)
        for bound in range(max(k, int(weights.max())), optimum + 1):
            counted = bound_of_counts(weights, k, bound).value
            assert bound <= counted <= optimum
            raised += counted > bound
    assert raised > 100


def test_too_many_sets_leave_the_division_and_a_bound(monkeypatch):
    monkeypatch.setattr(region_parts, "_MAX_SETS", 3)
    edges = [(at, at + 1) for at in range(8)] + [(at, at + 3) for at in range(6)]
    weights = np.array([5, 7, 6, 8, 5, 7, 6, 8, 8], dtype=np.int64)
    graph = read_graph("test", np.array(edges), nodes=9)
    begun = np.zeros(9, dtype=np.int32)
    parts, bound, why = exact_parts(graph, weights, 19, begun, bound=19, time_limit=60.0)
    assert (parts.tolist(), bound) == (begun.tolist(), 20)
    assert "too many connected sets" in why
