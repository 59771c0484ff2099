"""The tree that finds which boxes cover which points, against trying every pair."""

from __future__ import annotations

import numpy as np
from tests.every import every

from shoal.joins import PointTree
from shoal.joins.stabbing_kernel import collect_covering
from shoal.verification.covered_ranks import CoveredRanks


def cover_slowly(points, boxes, regions, carried):
    found = np.zeros((len(points), carried.shape[1]), dtype=np.uint64)
    for i, point in enumerate(points.tolist()):
        for box, row in zip(boxes.tolist(), carried, strict=True):
            if all(rank in regions[region] for rank, region in zip(point, box, strict=True)):
                found[i] |= row
    return found


@every("compiled", [True, False])
@every("seed", range(25))
def test_every_point_gets_what_covers_it(compiled, seed):
    rng = np.random.default_rng(seed)
    d, count = int(rng.integers(1, 4)), int(rng.integers(1, 120 if compiled else 40))
    points = rng.integers(0, 9, (count, d)).astype(np.int32)
    regions, low, high, members = [], [], [], []
    for _ in range(12):
        a, b = np.sort(rng.integers(0, 9, 2)).tolist()
        listed = sorted(set(rng.integers(a, b + 1, 3).tolist())) if rng.random() < 0.4 else []
        ranks = set(listed or range(a, b + 1))
        regions.append(ranks)
        low.append(min(ranks))
        high.append(max(ranks))
        members.append(listed)
    boxes = rng.integers(0, 12, (int(rng.integers(1, 20)), d)).astype(np.int32)
    carried = rng.integers(0, 2**63, (len(boxes), 2)).astype(np.uint64)
    tree = PointTree(points)
    collect = collect_covering if compiled else collect_covering.py_func
    low, high = np.array(low, dtype=np.int32), np.array(high, dtype=np.int32)
    starts = np.concatenate(([0], np.cumsum([len(one) for one in members]))).astype(np.int64)
    listed = np.array([rank for one in members for rank in one], dtype=np.int32)
    nodes = tree.tree.least, tree.tree.greatest, tree.tree.levels
    found = collect(tree.points, *nodes, boxes, low, high, starts, listed, carried)
    assert np.array_equal(found, cover_slowly(tree.points, boxes, regions, carried))
    again = tree.collect(boxes, CoveredRanks(low=low, high=high, starts=starts, members=listed), carried)
    assert np.array_equal(again, cover_slowly(points, boxes, regions, carried))
    ranges = [set(range(a, b + 1)) for a, b in zip(low.tolist(), high.tolist(), strict=True)]
    plain = CoveredRanks(low=low, high=high, starts=np.zeros_like(starts), members=np.empty(0, dtype=np.int32))
    whole = tree.collect(boxes, plain, carried)
    assert np.array_equal(whole, cover_slowly(points, boxes, ranges, carried))
