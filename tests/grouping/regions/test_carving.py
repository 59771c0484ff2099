"""Divisions into parts of nearly equal weight, judged by trying all divisions."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.oracles import regions as oracle

from shoal.grouping.regions import carving, connected_cover
from shoal.grouping.regions.carving import carve
from shoal.grouping.regions.carving_kernel import Places, carve_parts
from shoal.grouping.regions.connectivity import check_connected
from shoal.grouping.regions.graph import read_graph
from shoal.grouping.regions.region_bounds import bound_of_counts
from shoal.grouping.regions.region_parts import exact_parts


def adjacency(n, edges):
    starts, targets, _ = read_graph("test", np.array(edges).reshape(-1, 2), nodes=n).adjacency
    return starts, targets


@pytest.fixture(scope="module")
def small():
    """Small maps with k and the smallest largest part."""
    rng, made = random.Random(5), []
    while len(made) < 300:
        n = rng.randint(3, 7)
        edges = {(rng.randrange(v), v) for v in range(1, n)} | {(v, v + 2) for v in range(n - 2) if rng.random() < 0.8}
        weights = [rng.choice((0, 1, 2, 3, 5, 9)) for _ in range(n)]
        k = rng.randint(1, max(1, sum(weights) // 2))
        if sum(weights) >= k:
            optimum = oracle.smallest_largest_part(sorted(edges), weights, k)
            made.append((sorted(edges), np.array(weights, dtype=np.int64), k, optimum))
    return made


def test_no_raised_bound_exceeds_the_optimum(small):
    raised = 0
    for _, weights, k, optimum in small:
        for bound in range(max(k, int(weights.max())), optimum + 1):
            counted = bound_of_counts(weights, k, bound).value
            assert bound <= counted <= optimum
            raised += counted > bound
    assert raised > 100


def test_carved_parts_are_valid_and_reach_the_optimum(small, monkeypatch):
    monkeypatch.setattr(carving, "_WORK_PER_SECOND", 1_000)
    monkeypatch.setattr(carving, "_FIRST_WORK", 1_000)
    monkeypatch.setattr(carving, "_WORK_PER_TURN", 1_000)
    reached = []
    for edges, weights, k, optimum in small:
        total = int(weights.sum())
        parts = carve(
            *adjacency(len(weights), edges), weights, k=k, known=total, bound=optimum, time_limit=5,
            rng=np.random.default_rng(1),
        )  # fmt: skip
        largest = total
        if parts is not None:
            check_connected(parts.tolist(), edges)
            loads = np.bincount(parts, weights=weights)
            assert k <= loads.min()
            assert optimum <= loads.max() < total
            largest = int(loads.max())
        reached.append(largest == optimum)
    assert sum(reached) >= 0.99 * len(reached)


def grid(side, rng):
    cells = [(x, y) for x in range(side) for y in range(side)]
    edges = [(x * side + y, x * side + y + 1) for x, y in cells if y + 1 < side]
    edges += [(x * side + y, (x + 1) * side + y) for x, y in cells if x + 1 < side]
    return edges, np.array([rng.randint(1, 1_000) for _ in cells], dtype=np.int64)


@pytest.mark.parametrize(("kernel", "work"), [(carve_parts, 2_000_000), (carve_parts.py_func, 20_000)])
def test_the_kernel_keeps_its_bounds_and_counts_its_work(kernel, work):
    edges, weights = grid(6, random.Random(3))
    places, parts = Places.of(*adjacency(36, edges), weights), np.empty(36, dtype=np.int32)
    total = int(weights.sum())
    for count, room in ((2, 1), (3, 40), (4, 300)):
        left = np.array([work], dtype=np.int64)
        largest = -(-total // count) + room
        least = total // count - room
        assert kernel(places, parts, count, least, largest, 200, left, np.array([7], dtype=np.uint64))
        assert left[0] < work
        check_connected(parts.tolist(), edges)
        loads = np.bincount(parts, weights=weights)
        assert len(loads) == count
        assert (least <= loads).all()
        assert (loads <= largest).all()
    left[:] = 10
    assert not kernel(places, parts, 4, total // 4, total // 4, 200, left, np.array([7], dtype=np.uint64))
    assert left[0] <= 0


def test_where_connected_sets_are_too_many_the_optimum_is_carved_and_proven(monkeypatch):
    pytest.importorskip("highspy")
    monkeypatch.setattr(connected_cover, "_MAX_SETS", 3)
    edges, weights = grid(7, random.Random(4))
    graph = read_graph("test", np.array(edges), nodes=49)
    total = int(weights.sum())
    k = total // 3 - 100
    begun = np.zeros(49, dtype=np.int32)
    asked = {"bound": k, "time_limit": 60.0}
    parts, bound, why = exact_parts(graph, weights, k, begun, rng=np.random.default_rng(2), **asked)
    again, *_ = exact_parts(graph, weights, k, begun, rng=np.random.default_rng(2), **asked)
    loads = np.bincount(parts, weights=weights)
    check_connected(parts.tolist(), edges)
    assert loads.min() >= k
    assert loads.max() == bound == -(-total // 3)
    assert "more than 3 classes" in why
    assert parts.tolist() == again.tolist()
    parts, bound, why = exact_parts(graph, weights, k, begun, rng=np.random.default_rng(2), bound=k, time_limit=0.0)
    assert parts.tolist() == begun.tolist()
    assert bound <= -(-total // 3)
