"""The state of the search stays what it would be if it were laid out anew."""

import numpy as np
import pytest

from shoal.kernels.exchange import INTERVAL, SET, STAR, exchange_rows, lay_out, measure

SIZES = np.array([3, 2, 5, 9, 40])
MODES = [SET, STAR, SET, INTERVAL, SET]


class Search:
    """A small table, every row of a random group, with tallies for some attributes only."""

    def __init__(self, seed, tallied, rows=60, count=6, k=3):
        rng = np.random.default_rng(seed)
        self.starts_of = np.concatenate(([0], np.cumsum(SIZES)))
        plain = np.column_stack([rng.integers(0, size, rows) for size in SIZES])
        self.codes = (plain + self.starts_of[:-1]).astype(np.int32)
        self.columns = np.array(
            [
                (mode, first, last - 1, last - 1 if place == 2 else -1)
                for place, (mode, first, last) in enumerate(
                    zip(MODES, self.starts_of[:-1], self.starts_of[1:], strict=True)
                )
            ]
        )
        self.scales = np.array(
            [1 / (size - 1) if mode == SET else 1.0 for size, mode in zip(SIZES, MODES, strict=True)]
        )
        self.positions = np.concatenate([np.linspace(0, 1, size) for size in SIZES])
        self.kinds = rng.integers(0, 3, rows).astype(np.int32)
        self.orders = np.array([rng.permutation(rows) for _ in range(2)], dtype=np.int32)
        self.standing = np.argsort(self.orders, axis=1).astype(np.int32)
        self.predicate = (
            np.array([0, 3], dtype=np.int64),
            np.array([(0, 0, k, 0, 0, 0)], dtype=np.int64),
            np.empty(0, dtype=np.int64),
        )
        self.random = np.array([seed + 1], dtype=np.uint64)
        self.width = int(self.starts_of[tallied])
        self.rows, self.count = rows, count
        self.set(np.arange(rows, dtype=np.int32) % count)

    def set(self, labels):
        self.groups = np.zeros((self.count, 3), dtype=np.int64)
        self.groups[:, 2] = self.rows // self.count + 4
        self.members = np.zeros(self.groups[:, 2].sum(), dtype=np.int32)
        self.places = np.empty((self.rows, 2), dtype=np.int32)
        self.tally = np.zeros((self.count, self.width), dtype=np.int32)
        self.extents = np.empty((self.count, len(SIZES), 2), dtype=np.int32)
        self.measured = np.zeros((self.count, len(SIZES), 2))
        self.held = np.zeros((self.count, 3 if self.width else 0), dtype=np.int64)
        if self.width:
            np.add.at(self.held, (labels, self.kinds), 1)
        lay_out(
            self.codes,
            labels,
            self.count,
            self.columns,
            self.members,
            self.groups,
            self.places,
            self.tally,
            self.extents,
        )

    def powers(self, power):
        counts = np.arange(1.0, self.rows + 2)
        return np.concatenate((np.zeros((2, 1)), [counts**power, counts**2]), axis=1)

    def measure(self, power):
        return measure(
            self.codes,
            self.columns,
            self.scales,
            self.positions,
            self.powers(power),
            power,
            self.members,
            self.groups,
            self.tally,
            self.extents,
            self.measured,
        )

    def exchange(self, power, temperature, moves, kernel=exchange_rows):
        return kernel(
            self.codes,
            self.kinds,
            self.kinds.reshape(-1, 1),
            self.columns,
            self.scales,
            self.positions,
            self.powers(power),
            power,
            self.orders,
            self.standing,
            self.members,
            self.groups,
            self.places,
            self.tally,
            self.extents,
            self.measured,
            self.held,
            *self.predicate,
            5,
            temperature,
            moves,
            self.random,
        )

    def plain_loss(self):
        """What all groups lose, from their definition."""
        total = 0.0
        for g in range(self.count):
            rows = np.flatnonzero(self.places[:, 0] == g)
            for c, mode in enumerate(MODES):
                codes = self.codes[rows, c]
                values = len(set(codes.tolist()))
                missing = self.columns[c, 3]
                if mode == INTERVAL:
                    loss = self.positions[codes.max()] - self.positions[codes.min()]
                elif mode == STAR:
                    loss = float(values > 1)
                elif missing in codes and values > 1:
                    loss = 1.0
                else:
                    loss = (values - 1) / (SIZES[c] - 1)
                total += loss * len(rows)
        return total


@pytest.mark.parametrize("tallied", [0, 2, 5])
@pytest.mark.parametrize("power", [0.0, 0.6])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_updated_is_what_is_measured(seed, power, tallied):
    search = Search(seed, tallied)
    search.measure(power)
    assert search.exchange(power, 1.0, 3000) > 100
    sizes = search.groups[:, 1].copy()
    assert sizes.sum() == search.rows
    assert sizes.min() >= 3, "k"
    for row, (g, slot) in enumerate(search.places.tolist()):
        assert search.members[slot] == row
        assert search.groups[g, 0] <= slot < search.groups[g, 0] + sizes[g]
    kept = search.measured.copy(), search.extents.copy(), search.tally.copy(), search.held.copy()
    search.set(search.places[:, 0].copy())
    search.measure(power)
    of_sets = [place for place, mode in enumerate(MODES) if mode != INTERVAL]
    assert np.allclose(kept[0][:, :, 0], search.measured[:, :, 0])
    assert np.allclose(kept[0][:, of_sets, 1], search.measured[:, of_sets, 1])
    assert (kept[1][:, 3] == search.extents[:, 3]).all()
    assert (kept[2] == search.tally).all()
    assert (kept[3] == search.held).all()


@pytest.mark.parametrize("tallied", [0, 5])
def test_the_loss_is_its_definition_and_falls(tallied):
    search = Search(7, tallied)
    before = search.measure(0.0)
    assert before == pytest.approx(search.plain_loss())
    search.exchange(0.0, 1e-9, 4000)
    after = search.measure(0.0)
    assert after == pytest.approx(search.plain_loss())
    assert after < 0.9 * before


def test_compiled_and_plain_make_the_same_moves():
    one, other = Search(3, 3), Search(3, 3)
    for search, kernel in ((one, exchange_rows), (other, exchange_rows.py_func)):
        search.measure(0.5)
        search.exchange(0.5, 0.5, 300, kernel)
    assert (one.places == other.places).all()


def test_a_predicate_that_nobody_meets_leaves_all_but_swaps_of_one_kind():
    search = Search(5, 5, k=10**6)
    before = [sorted(search.kinds[search.places[:, 0] == g].tolist()) for g in range(search.count)]
    search.measure(0.0)
    assert search.exchange(0.0, 1.0, 2000) > 0
    assert [sorted(search.kinds[search.places[:, 0] == g].tolist()) for g in range(search.count)] == before
