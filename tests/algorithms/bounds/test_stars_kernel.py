"""The dual bound on stars: which projections hold a group, weights on simplices, and weak duality."""

from collections import Counter
from itertools import combinations
from math import ceil

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.oracles.oracles import frequency_diverse, optimal_partition
from tests.oracles.strategies import code_tables
from tests.oracles.three_phase import phase_one

from shoal.algorithms.bounds import stars_kernel as kernels
from shoal.algorithms.bounds.stars import scale_of_cells
from shoal.algorithms.bounds.stars_kernel import WEIGHT_UNIT, Items

COMPILED = {name: getattr(kernels, name) for name in ("bound_of_weights", "raise_weights", "viable_cells")}
PLAIN = {name: kernel.py_func for name, kernel in COMPILED.items()}
BOTH = pytest.mark.parametrize("run", [COMPILED, PLAIN], ids=["compiled", "plain"])


@BOTH
@settings(max_examples=150, deadline=None)
@given(
    cells=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(1, 5)), max_size=14),
    fraction=st.sampled_from([(1, 1), (2, 1), (3, 1), (5, 2)]),
    k=st.integers(1, 7),
    distinct=st.integers(1, 4),
)
def test_viable_cells(run, cells, fraction, k, distinct):
    num, den = fraction
    order = sorted(range(len(cells)), key=lambda cell: cells[cell][:2])
    keys = np.array([cells[cell][0] * 4 + cells[cell][1] for cell in order], dtype=np.int64)
    counts = np.array([count for _, _, count in cells], dtype=np.int32)
    viable = run["viable_cells"](keys, np.array(order, dtype=np.int32), 4, counts, num, den, k, distinct)
    for projection, of_cell in zip([cell[0] for cell in cells], viable.tolist(), strict=True):
        held = Counter()
        for other, value, count in cells:
            held[value] += count if other == projection else 0
        held = [count for count in held.values() if count]
        # Any acceptable part is inside the one that keeps min(h, count) rows of each value, for some h.
        parts = [sum(min(h, count) for count in held) for h in range(1, max(held) + 1)]
        fits = any(num * h <= den * size and size >= k for h, size in enumerate(parts, start=1))
        assert of_cell == (fits and len(held) >= distinct)


def nearest_on_simplex(point):
    """The nearest point with no negative entry and sum 1, by sorting (Held, Wolfe, Crowder 1974)."""
    descending = np.sort(point)[::-1]
    thresholds = (np.cumsum(descending) - 1) / np.arange(1, len(point) + 1)
    last = np.flatnonzero(descending > thresholds)[-1]
    return np.maximum(point - thresholds[last], 0)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.floats(-50, 50) | st.sampled_from([0.0, 1.0, 0.5]), min_size=1, max_size=12),
    st.integers(0, 3),
    st.integers(0, 3),
)
def test_projection_on_the_simplex(point, before, after):
    beta = np.array([7.0] * before + point[1:] + [7.0] * after)
    lam = kernels._project_on_simplex(point[0], beta, before, before + len(point) - 1)
    expected = nearest_on_simplex(np.array(point))
    assert np.allclose([lam, *beta[before : before + len(point) - 1]], expected, atol=1e-9)
    assert beta[:before].tolist() == [7.0] * before
    assert beta[len(beta) - after :].tolist() == [7.0] * after


class Families:
    """The dual of a table by definition: items that must change, and where each lies in every family of patterns."""

    def __init__(self, codes, l, *, largest, k=1):
        """Families of all patterns with at most `largest` stars, and one of all others where there are some."""
        d = codes.quasi_identifiers.shape[1]
        counts = Counter(zip(codes.rows, codes.values, strict=True))
        m = max(codes.values) + 1
        must = {}
        for row in sorted(set(codes.rows)):
            held = [counts[row, v] for v in range(m)]
            kept_of = phase_one(held, l) if sum(phase_one(held, l)) >= k else [0] * m
            for v, (had, kept) in enumerate(zip(held, kept_of, strict=True)):
                if had > kept:
                    must[row, v] = had - kept
        self.rows = np.array(list(must.values()), dtype=np.int64)
        patterns = [stars for count in range(1, largest + 1) for stars in combinations(range(d), count)]
        least = [len(stars) for stars in patterns]
        if largest < d:
            patterns.append(tuple(range(d)))
            least.append(largest + 1)
        self.stars = np.array(least, dtype=np.int64)
        places = [
            [(f, tuple(row[a] for a in range(d) if a not in stars), v) for f, stars in enumerate(patterns)]
            for row, v in must
        ]
        pairs = sorted({place for row in places for place in row})
        cells = sorted({place[:2] for place in pairs})
        self.cell_of = np.array([[cells.index(place[:2]) for place in row] for row in places], dtype=np.int32)
        self.pair_of = np.array([[pairs.index(place) for place in row] for row in places], dtype=np.int32)
        starts = [sum(pair[:2] < cell for pair in pairs) for cell in cells]
        self.pair_starts = np.array([*starts, len(pairs)], dtype=np.int64)
        together = [
            sum(rows for of, rows in zip(self.cell_of, self.rows, strict=True) if c in of) for c in range(len(cells))
        ]
        self.company = np.array([max(1, k / rows) for rows in together])

    def items(self):
        """The same for the kernels."""
        company = np.floor(self.company * WEIGHT_UNIT).astype(np.int64)
        return Items(self.cell_of, self.pair_of, self.stars, self.pair_starts, self.rows, company)

    def owners(self):
        """The cell of every pair."""
        return np.repeat(np.arange(len(self.pair_starts) - 1), np.diff(self.pair_starts))

    def value(self, lam, beta, l):
        """The dual objective in plain Python."""
        prices = [
            min(
                stars * (self.company[cell] * lam[cell] + l * beta[pair])
                for stars, cell, pair in zip(self.stars.tolist(), *places, strict=True)
                if cell >= 0
            )
            for places in zip(self.cell_of.tolist(), self.pair_of.tolist(), strict=True)
        ]
        return sum(count * price for count, price in zip(self.rows.tolist(), prices, strict=True))


@st.composite
def duals(draw, *, max_rows=8):
    l = draw(st.sampled_from([2, 2, 3]))
    codes = draw(code_tables(min_rows=4, max_rows=max_rows, min_columns=2, max_columns=4, l=l))
    k = draw(st.sampled_from([1, 2, 3, 4]))
    families = Families(codes, l, largest=draw(st.integers(1, codes.quasi_identifiers.shape[1])), k=k)
    assume(len(families.rows))
    return codes, l, k, families


@BOTH
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_weak_duality(run, data):
    # Any weights that sum to at most one unit a cell bound the stars of every release from below.
    codes, l, k, families = data.draw(duals())
    optimum = optimal_partition(
        codes.rows, codes.values, lambda group: frequency_diverse(group, l) and len(group) >= k
    )[0]
    weight = st.integers(0, 3) | st.integers(0, 1000)
    cells, pairs = len(families.pair_starts) - 1, int(families.pair_starts[-1])
    for _ in range(3):
        lam = np.array(data.draw(st.lists(weight, min_size=cells, max_size=cells)), dtype=np.float64)
        beta = np.array(data.draw(st.lists(weight, min_size=pairs, max_size=pairs)), dtype=np.float64)
        totals = np.maximum(lam + np.bincount(families.owners(), beta, minlength=cells), 1)
        lam, beta = lam / totals, beta / totals[families.owners()]
        in_units = [np.floor(part * (WEIGHT_UNIT - 1)).astype(np.int64) for part in (lam, beta)]
        bound = run["bound_of_weights"](families.items(), l, 1, *in_units)
        assert ceil(bound / WEIGHT_UNIT) <= optimum
        assert bound / WEIGHT_UNIT == pytest.approx(families.value(lam, beta, l), abs=1e-3)


@BOTH
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_raised_weights_are_on_the_simplices_and_no_worse(run, data):
    codes, l, _, families = data.draw(duals(max_rows=14))
    cells, pairs = len(families.pair_starts) - 1, int(families.pair_starts[-1])
    lost = data.draw(st.booleans())
    if lost and families.cell_of.shape[1] > 1:  # some projections cannot hold a group
        families.cell_of[:, 0] = np.where(np.arange(len(families.rows)) % 2, -1, families.cell_of[:, 0])
    lam, beta = np.ones(cells), np.zeros(pairs)
    target = data.draw(st.sampled_from([0.0, float(len(codes.values)), 1e9]))
    steps = data.draw(st.sampled_from([0, 1, 30]))
    start = families.value(lam, beta, l)
    items = families.items()
    lam, beta = run["raise_weights"](items, scale_of_cells(items), float(l), lam, beta, target, steps, 0.05)
    assert lam.min() >= 0
    assert beta.min(initial=0) >= 0
    assert np.allclose(lam + np.bincount(families.owners(), beta, minlength=cells), 1, atol=1e-6)
    assert families.value(lam, beta, l) >= start - 1e-9


@BOTH
def test_raised_weights_find_a_common_group(run):
    # Three rows that must change lie in one cell of one star, two of them with the same value: a group that holds
    # them has four rows at l = 2, which lam = 1 alone does not see.
    one_family = {"cell_of": [[0], [0]], "pair_of": [[0], [1]], "stars": [1], "pair_starts": [0, 2], "rows": [2, 1]}
    one_family["company"] = [WEIGHT_UNIT]
    kinds = {"cell_of": np.int32, "pair_of": np.int32}
    items = Items(**{name: np.array(values, dtype=kinds.get(name, np.int64)) for name, values in one_family.items()})
    lam, beta = run["raise_weights"](items, scale_of_cells(items), 2.0, np.ones(1), np.zeros(2), 4.0, 100, 0.05)
    in_units = [np.floor(part * (WEIGHT_UNIT - 1)).astype(np.int64) for part in (lam, beta)]
    bound = run["bound_of_weights"](items, 2, 1, *in_units)
    assert ceil(bound / WEIGHT_UNIT) == 4
