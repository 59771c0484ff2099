import random

import numpy as np
import pytest
from tests.oracles.regions import connected, lowest_tree_degree, spanning_tree_degree

from shoal.grouping.regions.graph import read_graph
from shoal.grouping.regions.spanning_tree_kernel import (
    Graph,
    RootedTree,
    cut_tree,
    depth_first_tree,
    lower_degree,
    root_tree,
)


def linked(graph):
    left, right = (np.ascontiguousarray(graph.edges[:, side]) for side in (0, 1))
    return Graph(*graph.adjacency, left, right)


def grown(edges, n, *, compiled=True):
    """Return the edges of the tree that the search ends with, and the degree that it names."""
    graph = read_graph("test", np.array(edges).reshape(-1, 2), nodes=n)
    in_tree = np.zeros(len(graph.edges), dtype=np.bool_)
    first, then = (depth_first_tree, lower_degree) if compiled else (depth_first_tree.py_func, lower_degree.py_func)
    assert first(linked(graph), in_tree) == n
    degree = then(linked(graph), in_tree, 1000)
    return [tuple(edge) for edge in graph.edges[in_tree].tolist()], degree


@pytest.mark.parametrize("compiled", [True, False])
def test_the_tree_spans_and_its_degree_is_at_most_one_above_the_lowest(compiled):
    rng = random.Random(7)
    for _ in range(60 if compiled else 20):
        n = rng.randint(2, 7)
        pairs = [(a, b) for b in range(n) for a in range(b)]
        edges = rng.sample(pairs, min(len(pairs), rng.randint(n - 1, 10)))
        if not connected(range(n), edges):
            continue
        tree, degree = grown(edges, n, compiled=compiled)
        assert -degree == spanning_tree_degree(n, tree) <= lowest_tree_degree(n, edges) + 1


def test_a_bad_start_is_improved():
    # A wheel: its hub is the only node of a high degree, and the rim is a path.
    n = 80
    edges = [(0, v) for v in range(1, n)] + [(v, v + 1) for v in range(1, n - 1)]
    graph = read_graph("test", edges, nodes=n)
    in_tree = graph.edges[:, 0] == 0
    degree = n - 1
    while degree > 0:
        degree = lower_degree(linked(graph), in_tree, 10)
        reached = spanning_tree_degree(n, [tuple(e) for e in graph.edges[in_tree].tolist()])
        assert reached is not None
        assert reached == (degree - 1 if degree > 0 else -degree)
    assert reached <= 3


def test_a_tree_is_cut_from_the_leaves_up():
    parent = np.array([-1, 0, 1, 1, 3, 4], dtype=np.int32)
    order = np.arange(6, dtype=np.int32)
    weights = np.array([1, 1, 2, 1, 1, 2], dtype=np.int64)
    for cut in (cut_tree, cut_tree.py_func):
        parts = np.empty(6, dtype=np.int32)
        assert cut(parent, order, weights, 2, parts) == 4
        assert parts.tolist() == [0, 0, 1, 2, 2, 3]
        assert cut(parent, order, weights, 8, parts) == 1


def test_rooting_puts_parents_first():
    graph = read_graph("test", [(0, 1), (1, 2), (1, 3)], nodes=4)
    for root in (root_tree, root_tree.py_func):
        tree = RootedTree.of(np.ones(3, dtype=np.bool_), 4)
        root(linked(graph), 3, tree)
        assert tree.parent.tolist() == [1, 3, 1, -1]
        assert tree.level.tolist() == [2, 1, 2, 0]
        assert tree.order[0] == 3
        assert tree.order[1] == 1
