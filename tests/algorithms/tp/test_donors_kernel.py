"""Groups that give rows to those that wait: whatever happens, every group stays acceptable and no row is lost."""

from collections import Counter
from random import Random

import numpy as np
import pytest
from tests.every import THOROUGH, every, few

from shoal.algorithms.tp.cascade_kernel import Frequency, Waiting
from shoal.algorithms.tp.donors_kernel import (
    GroupCells,
    Offer,
    Spare,
    complete_with_donors,
    complete_with_spare_rows,
    spare_of_groups,
)

pytestmark = pytest.mark.usefixtures("_wrapping")

BOTH = pytest.mark.parametrize("run", [complete_with_donors, complete_with_donors.py_func], ids=["compiled", "plain"])


@pytest.fixture
def _wrapping():
    """Numbers wrap around where keys are hashed, of which NumPy warns in plain Python."""
    with np.errstate(over="ignore"):
        yield


def acceptable(counts, num, den, k):
    size = sum(counts.values())
    return num * max(counts.values(), default=0) <= den * size and size >= k


class Instance:
    """Groups of rows by value, each with a projection or none (-1), and waiting items; rows numbered through."""

    def __init__(self, radix, made, waiting):
        """Lay out `made`: (projection, stars a row, counts by value), and `waiting`: (projection, value, rows)."""
        self.radix = radix
        self.group_keys = np.array([key for key, _, _ in made], dtype=np.int64)
        self.group_stars = np.array([stars for _, stars, _ in made], dtype=np.int64)
        cells = [(g, v, count) for g, (_, _, counts) in enumerate(made) for v, count in sorted(counts.items()) if count]
        self.values = np.array([v for _, v, _ in cells], dtype=np.int32)
        self.counts = np.array([count for _, _, count in cells], dtype=np.int32)
        self.starts = np.searchsorted([g for g, _, _ in cells], range(len(made) + 1)).astype(np.int32)
        ends = np.cumsum(self.counts)
        self.cell_first = (ends - self.counts).astype(np.int32)
        self.sizes = np.array([sum(counts.values()) for _, _, counts in made], dtype=np.int64)
        assigned = int(self.counts.sum())
        lengths = np.array([count for _, _, count in waiting], dtype=np.int64)
        n = assigned + int(lengths.sum())
        number = np.random.default_rng(n).permutation(n).astype(np.int32)
        self.cell_rows, self.rows = number[:assigned], number[assigned:]
        self.first_row = np.cumsum(lengths) - lengths
        self.groups = np.full(n, -1, dtype=np.int32)
        self.groups[self.cell_rows] = np.repeat([g for g, _, _ in cells], self.counts)
        self.value_of = np.empty(n, dtype=np.int32)
        self.value_of[self.cell_rows] = np.repeat(self.values, self.counts)
        self.value_of[self.rows] = np.repeat(np.array([v for _, v, _ in waiting], dtype=np.int32), lengths)
        self.projection_of = np.empty(n, dtype=np.int64)
        self.projection_of[self.cell_rows] = np.repeat(self.group_keys[[g for g, _, _ in cells]], self.counts)
        self.projection_of[self.rows] = np.repeat(np.array([p for p, _, _ in waiting], dtype=np.int64), lengths)
        keys = np.array([p * radix + v for p, v, _ in waiting], dtype=np.int64)
        self.items = np.argsort(keys, kind="stable").astype(np.int32)
        self.keys = keys[self.items]
        self.left, self.taken = lengths.astype(np.int32), np.zeros(len(waiting), dtype=np.int32)

    def waiting(self):
        return Waiting.of(
            self.keys,
            self.items,
            self.radix,
            left=self.left,
            taken=self.taken,
            first_row=self.first_row,
            rows=self.rows,
            groups=self.groups,
        )

    def complete(self, run, num, den, k, *, stars, price, chain=50):
        before = self.groups.copy()
        made = len(self.group_keys)
        donors = GroupCells(
            keys=self.group_keys,
            stars=self.group_stars,
            values=self.values,
            counts=self.counts,
            starts=self.starts,
            first_rows=self.cell_first,
            rows=self.cell_rows,
            sizes=self.sizes,
        )
        offer = Offer(stars=stars, price=price, longest_chain=chain)
        still, next_group = run(self.waiting(), Frequency(num, den, k), donors, offer, made)
        self.check(before, still.tolist(), int(next_group), num, den, k, stars, price)
        return int(next_group) - made

    def complete_with_spare_rows(self, run, num, den, k):
        before, made = self.groups.copy(), len(self.group_keys)
        spare = spare_of_groups(self.counts, self.starts, num, den, k)
        group = before[self.cell_rows].copy()
        loose = group >= 0
        loose[loose] = spare[group[loose]] > 0
        candidates, group = self.cell_rows[loose], group[loose]
        keys, values = self.projection_of[candidates], self.value_of[candidates]
        loose = Spare(keys=keys, values=values, rows=candidates, groups=group, left=spare)
        still, next_group = run(self.waiting(), Frequency(num, den, k), loose, made)
        for number in range(next_group):
            counts, members = self.counts_of(number), np.flatnonzero(self.groups == number)
            assert acceptable(counts, num, den, k), f"group {number} is not acceptable: {counts}"
            assert len(set(self.projection_of[members].tolist())) == 1, "rows of two projections met"
        assert (spare >= 0).all()
        self.check_waiting(still.tolist(), made)
        return int(next_group) - made

    def counts_of(self, group):
        return Counter(self.value_of[self.groups == group].tolist())

    def check(self, before, still, next_group, num, den, k, stars, price):
        made = len(self.group_keys)
        assert set(self.groups.tolist()) <= {*range(-1, next_group)}
        for group in range(made):
            counts = self.counts_of(group)
            assert not counts or acceptable(counts, num, den, k), f"donor {group} is broken: {counts}"
            assert sum(counts.values()) == self.sizes[group]
            cells = slice(self.starts[group], self.starts[group + 1])
            held = dict(zip(self.values[cells].tolist(), self.counts[cells].tolist(), strict=True))
            assert counts == Counter({v: count for v, count in held.items() if count})
            assert (self.groups[before != group] != group).all(), "a group that was there gained a row"
        for group in range(made, next_group):
            counts, members = self.counts_of(group), np.flatnonzero(self.groups == group)
            assert acceptable(counts, num, den, k), f"group {group} is not acceptable: {counts}"
            assert len(set(self.projection_of[members].tolist())) == 1, "rows of two projections met"
            given = before[members][before[members] >= 0]
            waited = len(members) - len(given)
            assert waited > 0
            cost = stars * waited + sum(stars - self.group_stars[donor] for donor in given)
            assert cost <= price * waited, "dearer than what was allowed"
        self.check_waiting(still, made)

    def check_waiting(self, still, made):
        for item in range(len(self.left)):
            own = self.rows[self.first_row[item] : self.first_row[item] + self.left[item] + self.taken[item]]
            assert (self.groups[own[: self.taken[item]]] >= made).all()
            assert (self.groups[own[self.taken[item] :]] == -1).all()
        assert still == [item for item in self.items.tolist() if self.left[item] > 0]


def random_instance(seed):
    chance = Random(seed)
    num, den = chance.choice([(1, 1), (2, 1), (3, 1), (5, 2), (4, 3), (4, 1)])
    k = chance.choice([1, 1, 2, 3, 6])
    radix = chance.randint(max(1, -(-num // den)), 6)
    made = []
    for _ in range(chance.randint(0, 10)):
        counts = Counter({v: chance.randint(0, 4) for v in range(radix)})
        while not acceptable(counts, num, den, k):
            counts[min(range(radix), key=counts.__getitem__)] += 1
        made.append((chance.choice([-1, 0, 0, 1, 1, 2, 7]), chance.randint(0, 2), counts))
    made.sort(key=lambda group: group[1])
    waiting = [
        (chance.randint(0, 2), min(chance.randrange(radix), chance.randrange(radix)), chance.randint(0, 5))
        for _ in range(chance.randint(0, 12))
    ]
    price = chance.choice([4, 6, 9, 1 << 40])
    return (
        Instance(radix, made, waiting),
        (num, den, k),
        {"stars": 3, "price": price, "chain": chance.choice([1, 3, 50])},
    )


@BOTH
def test_random_instances(run):
    completed = served = 0
    for seed in range(few(600)):
        instance, (num, den, k), options = random_instance(seed)
        try:
            completed += instance.complete(run, num, den, k, **options)
        except AssertionError as error:
            error.add_note(f"seed {seed}")
            raise
        served += int(instance.taken.sum())
    # Fewer would be a search that no longer finds what it did.
    assert (completed, served) == (539, 3365) or not THOROUGH


@pytest.mark.parametrize("run", [complete_with_spare_rows, complete_with_spare_rows.py_func], ids=["compiled", "plain"])
def test_spare_rows_of_random_instances(run):
    completed = served = 0
    for seed in range(few(600)):
        instance, (num, den, k), _ = random_instance(seed)
        try:
            completed += instance.complete_with_spare_rows(run, num, den, k)
        except AssertionError as error:
            error.add_note(f"seed {seed}")
            raise
        served += int(instance.taken.sum())
    # Fewer would be a search that no longer finds what it did.
    assert (completed, served) == (397, 2386) or not THOROUGH


@every("seed", range(200))
@pytest.mark.parametrize("run", [spare_of_groups, spare_of_groups.py_func], ids=["compiled", "plain"])
def test_rows_that_a_group_can_lose_whichever_they_are(seed, run):
    instance, (num, den, k), _ = random_instance(seed)
    spare = run(instance.counts, instance.starts, num, den, k).tolist()
    for group, number in enumerate(spare):
        counts = instance.counts_of(group)
        # The worst loss leaves the most frequent value as it is.
        top, size = max(counts.values()), sum(counts.values())
        losses = [loss for loss in range(size + 1) if size - loss >= k and num * top <= den * (size - loss)]
        if num > den:
            assert number == max(losses)
        else:
            assert number == size - k


@BOTH
def test_a_donor_gives_what_it_can_spare(run):
    # l = 2: two rows of value 0 wait. The donor {0: 1, 1: 2, 2: 2} can give one row and stay 2-eligible, or more: it
    # gives two, thin as it is then.
    instance = Instance(3, [(0, 0, Counter({0: 1, 1: 2, 2: 2}))], [(0, 0, 2)])
    assert instance.complete(run, 2, 1, 1, stars=1, price=5) == 1
    assert (instance.groups >= 0).all()
    assert instance.counts_of(1)[0] == 2


@BOTH
def test_nothing_happens_at_too_low_a_price(run):
    # Each waiting row needs another one, which costs as much as it does itself: 2 stars a row.
    instance = Instance(2, [(0, 0, Counter({0: 2, 1: 5}))], [(0, 0, 1)])
    assert instance.complete(run, 1, 1, 2, stars=1, price=1) == 0
    assert instance.complete(run, 1, 1, 2, stars=1, price=2) == 1


@BOTH
def test_a_group_without_the_projection_gives_nothing(run):
    for key in (-1, 5):
        instance = Instance(2, [(key, 0, Counter({0: 4, 1: 4}))], [(0, 0, 1)])
        assert instance.complete(run, 2, 1, 1, stars=1, price=1 << 40) == 0


@BOTH
def test_k_alone_asks_nothing_of_the_values(run):
    instance = Instance(1, [(0, 1, Counter({0: 6}))], [(0, 0, 2), (0, 0, 1)])
    assert instance.complete(run, 1, 1, 5, stars=2, price=1 << 40) == 0, "the donor needs five rows itself"
    instance = Instance(1, [(0, 1, Counter({0: 7}))], [(0, 0, 2), (0, 0, 1)])
    assert instance.complete(run, 1, 1, 5, stars=2, price=1 << 40) == 1
    assert np.bincount(instance.groups).tolist() == [5, 5]


@BOTH
def test_the_dearest_group_gives_first(run):
    rich = Counter({0: 4, 1: 4, 2: 4})
    instance = Instance(3, [(0, 0, rich), (0, 1, rich)], [(0, 0, 2)])
    assert instance.complete(run, 2, 1, 1, stars=2, price=1 << 40) == 1
    assert instance.sizes.tolist() == [12, 10]


def test_a_group_that_takes_more_spare_rows_than_are_noted_is_not_made_plain(monkeypatch):
    """One row waits, and needs five others; the log of a plain run shall hold three."""
    run = complete_with_spare_rows.py_func
    assert Instance(1, [(0, 0, Counter({0: 12}))], [(0, 0, 1)]).complete_with_spare_rows(run, 1, 1, 6) == 1
    monkeypatch.setitem(run.__globals__, "_LONGEST_LOG", 3)
    instance = Instance(1, [(0, 0, Counter({0: 12}))], [(0, 0, 1)])
    assert instance.complete_with_spare_rows(run, 1, 1, 6) == 0
    assert instance.counts_of(0) == {0: 12}
