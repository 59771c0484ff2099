"""Costs of pairs and triples, and the scan for cheap ones, against loops in plain Python."""

from collections import Counter
from itertools import combinations_with_replacement, pairwise

import numpy as np
import pytest
from tests.every import every

from shoal.algorithms.matching.group_prices_kernel import (
    UNIT,
    Duals,
    Prices,
    Types,
    differing_attributes,
    is_cheapest_assignment,
    nearest_pairs,
    pair_costs,
    prices_of_groups,
    scan_groups,
    split_groups,
)


def random_types(seed, types, d, *, valued):
    chance = np.random.default_rng(seed)
    codes = np.unique(chance.integers(0, 3, (types, d)).astype(np.int32), axis=0)
    values = chance.integers(0, 3, len(codes)) if valued else np.full(len(codes), -1)
    return codes, values.astype(np.int64), chance.integers(1, 4, len(codes)).astype(np.int64)


def weights_and_table(seed, d, *, tabulated):
    weights = np.random.default_rng(seed).integers(1, 5, d).astype(np.int64)
    sums = [sum(int(weights[a]) for a in range(d) if mask >> a & 1) for mask in range(1 << d)]
    return weights, np.array(sums if tabulated else [], dtype=np.int64)


def differing(codes, group):
    return [a for a in range(codes.shape[1]) if len({int(codes[t, a]) for t in group}) > 1]


def groups_and_costs(codes, values, counts, weights):
    """Every allowed pair and triple of types with its cost."""
    for size in (2, 3):
        for group in combinations_with_replacement(range(len(counts)), size):
            of_values = [int(values[t]) for t in group]
            repeated = min(of_values) >= 0 and len(set(of_values)) < size
            if not repeated and all(counts[t] >= times for t, times in Counter(group).items()):
                yield group, size * sum(int(weights[a]) for a in differing(codes, group))


def scanned(codes, values, counts, weights, table, duals, cuts, cut_duals, limit, most, first=0, last=None):
    """Run the scan in the order of reach; return groups with reduced costs, how many there are, and `missing`."""
    inside = np.array([[t in cut for cut in cuts] for t in range(len(counts))], dtype=bool).reshape(len(counts), -1)
    reach = duals + inside @ cut_duals
    order = np.argsort(-reach, kind="stable")
    rows, columns = np.nonzero(inside[order])
    starts = np.searchsorted(rows, np.arange(len(counts) + 1)).astype(np.int64)
    room = most * len(counts) if most else 5000
    found, costs = np.empty((room, 3), dtype=np.int64), np.empty(room, dtype=np.int64)
    missing = np.zeros(len(counts), dtype=np.int64)
    row_types = Types(codes[order], values[order], counts[order])
    dual_values = Duals(duals[order], reach[order], starts, columns.astype(np.int64), cut_duals)
    last = len(counts) if last is None else last
    stored, total = scan_groups(
        row_types, Prices(table, weights), dual_values, first, last, limit, most, found, costs, missing
    )
    named = [tuple(sorted(int(order[t]) for t in group if t >= 0)) for group in found[:stored]]
    back = np.empty_like(missing)
    back[order] = missing
    return dict(zip(named, costs[:stored].tolist(), strict=True)), total, back


@every("seed", range(60))
def test_the_scan_finds_what_loops_find(seed):
    chance = np.random.default_rng(seed)
    codes, values, counts = random_types(seed, 12, 4, valued=seed % 2 == 0)
    weights, table = weights_and_table(seed, 4, tabulated=seed % 3 > 0)
    duals = chance.integers(-2 * UNIT, 9 * UNIT, len(counts))
    cuts = [set(chance.permutation(len(counts))[:3].tolist()) for _ in range(seed % 4)]
    cut_duals = chance.integers(1, 3 * UNIT, len(cuts))
    limit = int(chance.integers(-4 * UNIT, 3 * UNIT))
    expected, missing = {}, np.zeros(len(counts), dtype=np.int64)
    for group, cost in groups_and_costs(codes, values, counts, weights):
        paid = sum(int(duals[t]) for t in group)
        paid += sum(int(dual) for cut, dual in zip(cuts, cut_duals, strict=True) if sum(t in cut for t in group) % 2)
        reduced = cost * UNIT - paid
        if reduced <= limit:
            expected[group] = reduced
            for t in group:
                missing[t] = max(missing[t], -(reduced // len(group)))
    arguments = (codes, values, counts, weights, table, duals, cuts, cut_duals, limit)
    found, total, exceeded = scanned(*arguments, 0)
    assert found == expected
    assert total == len(expected)
    assert np.array_equal(exceeded, missing)
    # What must be taken off the duals makes every group non-negative.
    for group, reduced in expected.items():
        assert reduced + sum(int(missing[t]) for t in group) >= 0
    few, total, again = scanned(*arguments, 2)
    assert total == len(expected)
    assert np.array_equal(again, missing)
    assert few.items() <= expected.items()
    if expected:
        assert min(few.values()) == min(expected.values())


def test_the_scan_can_be_cut_into_pieces():
    codes, values, counts = random_types(7, 12, 4, valued=True)
    weights, table = weights_and_table(7, 4, tabulated=True)
    none = np.empty(0, dtype=np.int64)
    arguments = (codes, values, counts, weights, table, np.full(len(counts), 6 * UNIT), [], none, 9 * UNIT, 0)
    whole = scanned(*arguments)[0]
    parts = [scanned(*arguments, first=first, last=first + 1)[0] for first in range(len(counts))]
    assert len(whole) > 20
    assert sum(map(len, parts)) == len(whole)
    assert {group: cost for part in parts for group, cost in part.items()} == whole


@pytest.mark.parametrize("tabulated", [False, True])
def test_costs_and_nearest_pairs(tabulated):
    codes, values, counts = random_types(3, 14, 5, valued=True)
    weights, table = weights_and_table(3, 5, tabulated=tabulated)
    expected = dict(groups_and_costs(codes, values, counts, weights))
    groups = np.array([(*group, -1)[:3] for group in expected], dtype=np.int64)
    assert prices_of_groups(codes, Prices(table, weights), groups).tolist() == list(expected.values())
    pairs = {group: cost for group, cost in expected.items() if len(group) == 2}
    found = np.empty((len(counts) * 2, 3), dtype=np.int64)
    stored = nearest_pairs(Types(codes, values, counts), Prices(table, weights), 2, found)
    for t in range(len(counts)):
        costs = sorted(cost for group, cost in pairs.items() if t in group)
        nearest = {tuple(group[:2]) for group in found[:stored].tolist() if t in group[:2]}
        assert sorted(pairs[group] for group in nearest)[:2] == costs[:2]
    masks = np.empty(len(counts), dtype=np.int64)
    differing_attributes(codes, 2, masks)
    assert masks.tolist() == [sum(1 << a for a in differing(codes, (2, t))) for t in range(len(counts))]


@every("seed", range(40))
def test_groups_are_split_into_pairs_and_triples_that_cost_no_more(seed):
    chance = np.random.default_rng(seed)
    codes, values, _ = random_types(seed, 20, 4, valued=seed % 2 == 0)
    members, starts = [], [0]
    for size in chance.integers(2, 14, 5):
        group = chance.integers(0, len(codes), size)
        while seed % 2 == 0 and 2 * np.bincount(values[group]).max() > size:
            group = chance.integers(0, len(codes), size)
        members += group.tolist()
        starts.append(len(members))
    weights, table = weights_and_table(seed, 4, tabulated=True)
    found = np.empty((len(members), 3), dtype=np.int64)
    types = np.array(members, dtype=np.int64)
    count = split_groups(codes, values, Prices(table, weights), types, np.array(starts, dtype=np.int64), found)
    groups = [[t for t in group if t >= 0] for group in found[:count].tolist()]
    assert sorted(t for group in groups for t in group) == sorted(members)
    assert {len(group) for group in groups} <= {2, 3}
    assert all(group == sorted(group) for group in groups)
    if seed % 2 == 0:
        assert all(len({int(values[t]) for t in group}) == len(group) for group in groups)
    whole = 0
    for start, end in pairwise(starts):
        group = members[start:end]
        whole += len(group) * sum(int(weights[a]) for a in differing(codes, group))
    assert int(prices_of_groups(codes, Prices(table, weights), found[:count]).sum()) <= whole


def test_an_assignment_is_the_cheapest_or_not():
    costs = np.array([[2, 4, 6], [2, 2, 4], [8, 6, 2]], dtype=np.int64)
    assert is_cheapest_assignment(costs, np.array([0, 1, 2]))
    assert not is_cheapest_assignment(costs, np.array([1, 0, 2]))
    assert not is_cheapest_assignment(costs, np.array([2, 1, 0]))
    codes = np.array([[0, 0], [0, 1], [1, 1]], dtype=np.int32)
    table, none = np.array([0, 1, 10, 11], dtype=np.int64), np.empty(0, dtype=np.int64)
    found = pair_costs(codes, Prices(table, none), np.array([0, 2]), np.array([1, 2]))
    assert found.tolist() == [[20, 22], [2, 0]]
