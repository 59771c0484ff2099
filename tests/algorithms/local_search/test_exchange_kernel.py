"""The state of the search stays what it would be if it were laid out anew."""

import itertools
from collections import Counter

import numpy as np
import polars as pl
import pytest
from tests.every import every

from shoal.algorithms.common.compiled import compile_requirement
from shoal.algorithms.local_search.exchange_kernel import Partners, exchange_rows
from shoal.algorithms.local_search.group_state_kernel import Predicate, State, lay_out, measure
from shoal.algorithms.local_search.growing_kernel import grow_groups, keep_acceptable
from shoal.algorithms.local_search.losses_kernel import INTERVAL, SET, STAR, TREE, Losses
from shoal.algorithms.local_search.regrouping_kernel import Log, dissolve_groups, found_groups
from shoal.models import LDiversity
from shoal.models.requirement import Requirement
from shoal.table import Schema, encode

SIZES = np.array([3, 2, 5, 9, 8, 40])
MODES = [SET, STAR, SET, INTERVAL, TREE, SET]
TREE_NODES = np.array([np.arange(8), [0, 0, 1, 1, 1, 2, 3, 3], [0, 0, 0, 0, 0, 1, 1, 1], np.zeros(8)], dtype=int)
TREE_PENALTY = np.array([np.zeros(8), np.array([1, 1, 2, 2, 2, 0, 1, 1]) / 7, np.array([4] * 5 + [2] * 3) / 7, [1] * 8])


def tree_loss(codes):
    """The penalty of the lowest common ancestor, by climbing."""
    level = next(up for up in range(4) if len(set(TREE_NODES[up, codes].tolist())) == 1)
    return TREE_PENALTY[level, codes[0]]


class Search:
    """A small table, every row of a random group, with tallies for some attributes only."""

    def __init__(self, seed, tallied, rows=60, count=6, k=3, near=0):
        rng = np.random.default_rng(seed)
        starts = np.concatenate(([0], np.cumsum(SIZES)))
        # Rows that are equal stand together.
        plain = np.unique(np.column_stack([rng.integers(0, size, rows) for size in SIZES]), axis=0)
        rows = len(plain)
        positions = np.zeros((5, starts[-1]))
        positions[0] = np.concatenate([np.linspace(0, 1, size) for size in SIZES])
        first = starts[MODES.index(TREE)]
        for power in range(4):
            for code in range(8 - 2**power):
                positions[1 + power, first + code] = tree_loss(np.arange(code, code + 2**power + 1))
        self.losses = Losses(
            codes=(plain + starts[:-1]).astype(np.int32),
            columns=np.array(
                [
                    (mode, first, last - 1, last - 1 if place == 2 else -1)
                    for place, (mode, first, last) in enumerate(zip(MODES, starts[:-1], starts[1:], strict=True))
                ]
            ),
            scales=np.array([1 / (size - 1) if mode == SET else 1.0 for size, mode in zip(SIZES, MODES, strict=True)]),
            positions=positions,
        )
        self.kinds = rng.integers(0, 3, rows).astype(np.int32)
        self.predicate = Predicate(
            sensitive=self.kinds.reshape(-1, 1),
            starts=np.array([0, 3], dtype=np.int64),
            rules=np.array([(0, 0, k, 0, 0, 0)], dtype=np.int64),
            bounds=np.empty(0, dtype=np.int64),
        )
        orders = np.array([rng.permutation(rows) for _ in range(2)], dtype=np.int32)
        self.partners = Partners(
            active=np.arange(rows, dtype=np.int32),
            class_of=np.arange(rows, dtype=np.int32),
            begins=np.arange(rows + 1, dtype=np.int32),
            near=np.array([rng.permutation(rows)[:near] for _ in range(rows)], dtype=np.int32).reshape(rows, near),
            orders=orders,
            standing=np.argsort(orders, axis=1).astype(np.int32),
            reach=5,
            kinds=self.kinds,
        )
        self.random = np.array([seed + 1], dtype=np.uint64)
        self.width = int(starts[tallied])
        self.rows, self.k = rows, k
        self.set(np.arange(rows, dtype=np.int32) % count, count)

    def set(self, labels, count, spare=0):
        count += spare
        groups = np.zeros((count, 3), dtype=np.int64)
        groups[:, 2] = 2 * self.rows // (count - spare) + 4
        held = np.zeros((count, 3 if self.width else 0), dtype=np.int64)
        if self.width:
            np.add.at(held, (labels, self.kinds), 1)
        self.state = State(
            members=np.zeros(groups[:, 2].sum(), dtype=np.int32),
            groups=groups,
            places=np.empty((self.rows, 2), dtype=np.int32),
            tally=np.zeros((count, self.width), dtype=np.int32),
            extents=np.empty((count, len(SIZES), 2), dtype=np.int32),
            measured=np.zeros((count, len(SIZES), 2)),
            held=held,
            powers=np.empty((2, self.rows + 2)),
            power=0.0,
            counts=np.zeros(3, dtype=np.int64),
            touched=np.empty(3, dtype=np.int32),
            work=np.array([1 << 62], dtype=np.int64),
        )
        lay_out(labels, count, self.losses, self.state)

    def measure(self, power):
        self.state.powers[:] = np.arange(self.rows + 2.0)
        self.state.powers[0, 1:] **= power
        self.state.powers[1] **= 2
        self.state = self.state._replace(power=power)
        return measure(self.losses, self.state)

    def exchange(self, temperature, moves, kernel=exchange_rows):
        return kernel(self.losses, self.predicate, self.state, self.partners, self.k, temperature, moves, self.random)

    def plain_loss(self):
        """What all groups lose, from their definition."""
        total = 0.0
        for g in set(self.state.places[:, 0].tolist()):
            rows = np.flatnonzero(self.state.places[:, 0] == g)
            for c, mode in enumerate(MODES):
                codes = self.losses.codes[rows, c]
                values = len(set(codes.tolist()))
                missing = self.losses.columns[c, 3]
                if mode == INTERVAL:
                    loss = self.losses.positions[0, codes.max()] - self.losses.positions[0, codes.min()]
                elif mode == TREE:
                    loss = tree_loss(codes - self.losses.columns[c, 1])
                elif mode == STAR:
                    loss = float(values > 1)
                elif missing in codes and values > 1:
                    loss = 1.0
                else:
                    loss = (values - 1) / (SIZES[c] - 1)
                total += loss * len(rows)
        return total

    def check(self, power=0.0):
        """Compare the state with one that is laid out anew."""
        state = self.state
        sizes = state.groups[:, 1]
        assert sizes.sum() == self.rows
        assert sizes[sizes > 0].min() >= self.k
        for row, (g, slot) in enumerate(state.places.tolist()):
            assert state.members[slot] == row
            assert state.groups[g, 0] <= slot < state.groups[g, 0] + sizes[g]
        self.set(state.places[:, 0].copy(), len(sizes))
        self.measure(power)
        filled = sizes > 0
        counted = [place for place, mode in enumerate(MODES) if mode in (SET, STAR)]
        assert np.allclose(state.measured[filled, :, 0], self.state.measured[filled, :, 0])
        assert np.allclose(state.measured[:, counted, 1][filled], self.state.measured[:, counted, 1][filled])
        for place in (3, 4):
            assert (state.extents[filled, place] == self.state.extents[filled, place]).all()
        assert (state.tally == self.state.tally).all()
        assert (state.held == self.state.held).all()


@every("near", [0, 7])
@every("tallied", [0, 2, 6])
@every("power", [0.0, 0.6])
@every("seed", range(2))
def test_what_is_updated_is_what_is_measured(seed, power, tallied, near):
    search = Search(seed, tallied, near=near)
    search.measure(power)
    assert search.exchange(1.0, 3000) > 100
    search.check(power)


@pytest.mark.parametrize("tallied", [0, 6])
def test_the_loss_is_its_definition_and_falls(tallied):
    search = Search(7, tallied)
    before = search.measure(0.0)
    assert before == pytest.approx(search.plain_loss())
    search.exchange(1e-9, 4000)
    after = search.measure(0.0)
    assert after == pytest.approx(search.plain_loss())
    assert after < 0.9 * before


def test_compiled_and_plain_make_the_same_moves():
    for near in (0, 5):
        one, other = Search(3, 3, near=near), Search(3, 3, near=near)
        for search, kernel in ((one, exchange_rows), (other, exchange_rows.py_func)):
            search.measure(0.5)
            with np.errstate(over="ignore"):  # random numbers wrap around
                search.exchange(0.5, 300, kernel)
        assert (one.state.places == other.state.places).all()


def test_a_predicate_that_nobody_meets_leaves_all_but_swaps_of_one_kind():
    search = Search(5, 6, k=10**6)
    kinds = lambda: [sorted(search.kinds[search.state.places[:, 0] == g].tolist()) for g in range(6)]  # noqa: E731
    before = kinds()
    search.measure(0.0)
    assert search.exchange(1.0, 2000) > 0
    assert kinds() == before


@every("broken", [0, 1, 2])
@every("tallied", [0, 3, 6])
@every("count", [4, 12])
def test_founding_and_dissolving_pay_and_leave_the_state_whole(count, tallied, broken):
    founded = dissolved = 0
    for seed in range(8):
        search = Search(seed, tallied, near=9)
        search.set(np.arange(search.rows, dtype=np.int32) % count, count, spare=8)
        before = search.measure(0.0)
        seeds = np.random.default_rng(seed).permutation(search.rows).astype(np.int32)
        arrays = search.losses, search.predicate, search.state, search.partners
        log = Log.of_founding(search.state, search.partners, broken)
        # In one stretch, or in several: then a group that takes longer than one keeps its rows.
        pause = (1 << 40, 200)[seed % 2]
        new = done = stretches = 0
        while done < len(seeds):
            more, done = found_groups(seeds, done, count + new, broken, search.k, pause, *arrays, log)
            new += more
            stretches += 1
        assert (stretches > 1) == (seed % 2 == 1)
        founded += new
        search.check()
        between = search.measure(0.0)
        assert between == pytest.approx(search.plain_loss())
        assert between < before if new else between == pytest.approx(before)
        chosen = np.flatnonzero(search.state.groups[:, 1]).astype(np.int32)
        arrays = search.losses, search.predicate, search.state, search.partners
        gone = done = 0
        log = Log.of_dissolving(search.state)
        while done < len(chosen):
            more, done = dissolve_groups(chosen, done, 0.0, pause, *arrays, log)
            gone += more
        dissolved += gone
        search.check()
        after = search.measure(0.0)
        assert after < between if gone else after == pytest.approx(between)
    assert founded > 0
    assert dissolved > 0 or count == 4


def test_what_work_is_left_is_counted_and_ends_every_search():
    for work in (0, 500, 5_000):
        search = Search(3, 3, near=9)
        search.measure(0.0)
        search.state.work[0] = work
        made = search.exchange(1.0, 3000)
        assert (made == 0) == (work == 0)
        assert search.state.work[0] <= 0
        search.check()
    search.set(np.arange(search.rows, dtype=np.int32) % 6, 6, spare=8)
    before = search.measure(0.0)
    search.state.work[0] = 0
    arrays = search.losses, search.predicate, search.state, search.partners
    seeds = np.arange(search.rows, dtype=np.int32)
    log = Log.of_founding(search.state, search.partners, 2)
    assert found_groups(seeds, 0, 6, 2, search.k, 100, *arrays, log) == (0, 0)
    log = Log.of_dissolving(search.state)
    assert dissolve_groups(np.arange(6, dtype=np.int32), 0, np.inf, 100, *arrays, log) == (0, 0)
    labels = np.full(search.rows, -1, dtype=np.int32)
    none = np.zeros(1, dtype=np.int64)
    arrays = search.losses, search.predicate, search.partners
    assert grow_groups(seeds, 3, 20, 50, 0, labels, *arrays, none, 100) == (0, 0)
    assert (labels == -1).all()
    search.check()
    assert search.measure(0.0) == pytest.approx(before)


def test_classes_give_rows_away_in_time_proportional_to_them_and_in_any_number_of_calls():
    def keep(values, begins, pause):
        frame = pl.DataFrame({"q": [1] * len(values), "s": values})
        table = encode(frame, Schema(quasi_identifiers=("q",), sensitive=("s",)))
        compiled = compile_requirement(table, Requirement.of(LDiversity(2), ("s",)))
        predicate = Predicate(compiled.codes, compiled.starts, compiled.rules, compiled.bounds)
        labels = np.empty(len(values), dtype=np.int32)
        count = done = work = 0
        while done < len(begins) - 1:
            count, done, more = keep_acceptable(begins, done, count, 2, predicate, labels, pause)
            work += more
        return compiled.codes[:, 0], labels, work

    # One value of two thirds of a class; all others differ.
    works = []
    for n in (3_000, 6_000):
        values = np.where(np.arange(n) % 3 > 0, 0, np.arange(n))
        _, labels, work = keep(values, np.array([0, n], dtype=np.int32), 1)
        assert (labels == 0).sum() == 2 * (n // 3 - 1)
        works.append(work)
    assert works[1] < 2.5 * works[0] < 25 * 3_000
    # In one call or in many, what is left of each class is what the definition leaves.
    rng = np.random.default_rng(0)
    for _ in range(20):
        begins = np.concatenate(([0], np.cumsum(rng.integers(1, 12, 6)))).astype(np.int32)
        values = rng.integers(0, 4, begins[-1])
        codes, labels, _ = keep(values, begins, 1)
        assert (labels == keep(values, begins, 1 << 40)[1]).all()
        for begin, end in itertools.pairwise(begins.tolist()):
            left = Counter(codes[begin:end].tolist())
            while left.total() >= 2 and 2 * max(left.values()) > left.total():
                left[min(left, key=lambda v: (-left[v], v))] -= 1
            assert Counter(codes[begin:end][labels[begin:end] >= 0].tolist()) == +(
                left if left.total() > 1 else Counter()
            )
