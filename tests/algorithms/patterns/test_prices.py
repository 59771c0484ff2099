"""What prices prove, against the fewest stars found by trying everything."""

import numpy as np
import pytest
from tests.every import few
from tests.oracles.oracles import fewest_stars_by_patterns

from shoal.algorithms.common.lagrange_kernel import Relaxed, fix_by_price, lagrangian
from shoal.algorithms.patterns.optimum import UNIT, Prices, anneal_pairs, price_rows, usable_pairs
from shoal.algorithms.patterns.program import OutputTypes

_EVERY = np.array([[bool(mask >> a & 1) for a in range(3)] for mask in range(8)])


def random_program(rng):
    """Return a random table of a few rows with patterns and k, its output types, and the fewest stars."""
    while True:
        n = int(rng.integers(4, 8))
        rows = rng.integers(0, 3, size=(n, 3))
        starred = _EVERY[np.sort(rng.choice(7, size=int(rng.integers(1, 5)), replace=False))]
        if rng.integers(4):
            starred = np.vstack([starred, _EVERY[7:]])
        k = int(rng.integers(2, 5))
        optimum = fewest_stars_by_patterns([tuple(row) for row in rows.tolist()], starred.tolist(), k, [1] * 3)
        if optimum:
            codes, sizes = np.unique(rows, axis=0, return_counts=True)
            costs = starred.sum(axis=1).astype(np.int64)
            outputs = OutputTypes.of(codes.astype(np.int32), sizes.astype(np.int64), starred, costs, k)
            return outputs, sizes.astype(np.int64), k, optimum


def solved(outputs, sizes, k, keep):
    """Return what the cheapest solution costs that uses some pairs only, by the integer program without any cut."""
    from shoal.algorithms.patterns.program import solve_pairs

    pairs = np.flatnonzero(keep)
    if len(np.unique(outputs.members[pairs])) < len(sizes):
        return np.inf
    made = solve_pairs(outputs, sizes, k, pairs=pairs, start=None, time_limit=60, work=1_000)
    return np.inf if made.rows is None else int((outputs.costs[outputs.output_of_pairs()[pairs]] * made.rows).sum())


@pytest.fixture(scope="module")
def priced():
    """Random programs with the fewest stars, and the prices."""
    rng = np.random.default_rng(11)
    made = []
    for _ in range(few(200)):
        outputs, sizes, k, optimum = random_program(rng)
        made.append((outputs, sizes, k, optimum, price_rows(outputs, sizes, k, upper=optimum, seconds=60)))
    return made


def test_no_bound_exceeds_the_optimum_and_no_pair_of_a_better_solution_is_ruled_out(priced):
    rng = np.random.default_rng(12)
    for case, (outputs, sizes, k, optimum, prices) in enumerate(priced):
        assert prices.bound <= optimum
        # Any prices prove something, however bad they are.
        values = prices.values + rng.integers(-UNIT, UNIT, size=len(sizes))
        slack, gains = np.empty(len(sizes), dtype=np.int64), np.empty(len(outputs), dtype=np.int64)
        exact = int(lagrangian(prices.relaxed, values, slack, gains))
        wild = Prices(relaxed=prices.relaxed, values=values, exact=exact)
        assert wild.bound <= optimum
        if case % 10 == 0:
            for judged in (prices, wild):
                assert solved(outputs, sizes, k, usable_pairs(judged, upper=optimum + 1)) == optimum
    assert sum(prices.bound == optimum for *_, optimum, prices in priced) > len(priced) // 2


def test_every_annealed_solution_keeps_the_rows_and_the_floors(priced):
    rng = np.random.default_rng(13)
    seen = 0
    for outputs, sizes, k, optimum, _ in priced:
        pairs = np.arange(len(outputs.members))
        for turn in range(3):
            rows = anneal_pairs(
                outputs, sizes, k, pairs=pairs, rows=np.zeros(len(pairs), dtype=np.int64), star=1.0 + 3 * turn,
                rng=rng, seconds=60, steps=2_000,
            )  # fmt: skip
            load = np.bincount(outputs.output_of_pairs(), weights=rows, minlength=len(outputs))
            if rows.sum() < sizes.sum():
                continue
            assert set(load[load > 0] >= k) == {True}
            assert int((load * outputs.costs).sum()) >= optimum
            assert np.bincount(outputs.members, weights=rows).tolist() == sizes.tolist()
            seen += 1
    assert seen > len(priced) // 2


def cheapest(more, k):
    """Return what an output type costs that takes the rows that pay, and k at least."""
    more = np.sort(more)
    return int(more[: max(k, (more < 0).sum())].sum())


@pytest.mark.parametrize("compiled", [True, False])
def test_the_kernels_agree_with_their_python(compiled):
    rng = np.random.default_rng(13)
    judge, fix = (lagrangian, fix_by_price) if compiled else (lagrangian.py_func, fix_by_price.py_func)
    for _ in range(20):
        outputs, sizes, k, _ = random_program(rng)
        prices = rng.integers(0, 3 * UNIT, size=len(sizes))
        serving = (outputs.costs * UNIT)[outputs.output_of_pairs()] - rng.integers(0, UNIT, size=len(outputs.members))
        relaxed = Relaxed(outputs.starts, outputs.members, sizes, serving, k)
        slack, values = np.empty(len(sizes), dtype=np.int64), np.empty(len(outputs), dtype=np.int64)
        bound = int(judge(relaxed, prices, slack, values))
        total = int((prices * sizes).sum())
        forced = np.empty(len(outputs.members), dtype=np.int64)
        for j in range(len(outputs)):
            own = slice(outputs.starts[j], outputs.starts[j + 1])
            members = outputs.members[own]
            each = np.repeat(serving[own] - prices[members], sizes[members])
            earned = min(0, cheapest(each, k))
            total += earned
            place = np.repeat(np.arange(len(members)), sizes[members])
            for m in range(len(members)):
                # One row of the member is served whatever it costs; the others are chosen freely.
                one = each.copy()
                one[np.flatnonzero(place == m)[0]] = -(1 << 50)
                taken = cheapest(one, k) + (1 << 50)
                forced[outputs.starts[j] + m] = taken + serving[own][m] - prices[members[m]] - earned
        assert bound == total
        keep = np.empty(len(outputs.members), dtype=bool)
        fix(relaxed, prices, bound, bound + UNIT, keep)
        assert keep.tolist() == (forced < UNIT).tolist()
