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
    """Groups of rows by value, each with a projection or none (-1), and waiting items; each entry is a table cell."""

    def __init__(self, radix, made, waiting):
        """Lay out `made`: (projection, stars a row, counts by value), and `waiting`: (projection, value, rows)."""
        self.radix = radix
        self.group_keys = np.array([key for key, _, _ in made], dtype=np.int64)
        self.group_stars = np.array([stars for _, stars, _ in made], dtype=np.int64)
        cells = [(g, v, count) for g, (_, _, counts) in enumerate(made) for v, count in sorted(counts.items()) if count]
        self.values = np.array([v for _, v, _ in cells], dtype=np.int32)
        self.counts = np.array([count for _, _, count in cells], dtype=np.int32)
        self.starts = np.searchsorted([g for g, _, _ in cells], range(len(made) + 1)).astype(np.int32)
        self.sizes = np.array([sum(counts.values()) for _, _, counts in made], dtype=np.int64)
        # The rows of a cell are of up to three cells of the table.
        parts = [[share for at in range(3) if (share := (count + at) // 3)] for _, _, count in cells]
        lengths = [len(shares) for shares in parts]
        self.entry_starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
        rows = [(g, v, made[g][0], share) for (g, v, _), shares in zip(cells, parts, strict=True) for share in shares]
        self.entries = np.array([(at, g, share) for at, (g, _, _, share) in enumerate(rows)], dtype=np.int32)
        self.entries = self.entries.reshape(-1, 3)
        self.new = np.empty((0, 3), dtype=np.int32)
        self.value_of = np.array([v for _, v, _, _ in rows] + [v for _, v, _ in waiting], dtype=np.int32)
        self.projection_of = np.array([p for _, _, p, _ in rows] + [p for p, _, _ in waiting], dtype=np.int64)
        self.group_of = np.array([g for g, _, _, _ in rows] + [-1] * len(waiting))
        self.table_cells = np.arange(len(rows), len(rows) + len(waiting), dtype=np.int32)
        keys = np.array([p * radix + v for p, v, _ in waiting], dtype=np.int64)
        self.items = np.argsort(keys, kind="stable").astype(np.int32)
        self.keys = keys[self.items]
        self.lengths = np.array([count for _, _, count in waiting], dtype=np.int32)
        self.left = self.lengths.copy()
        self.before = self.rows_of_cells()

    def waiting(self):
        return Waiting.of(self.keys, self.items, self.radix, left=self.left, table_cells=self.table_cells)

    def rows_of_cells(self):
        """Return the rows of each cell of the table, in groups or waiting."""
        found = np.zeros(len(self.value_of), dtype=np.int64)
        for entries in (self.entries, self.new):
            np.add.at(found, entries[:, 0], entries[:, 2])
        found[self.table_cells] += self.left
        return found.tolist()

    def complete(self, run, num, den, k, *, stars, price, chain=50):
        made = len(self.group_keys)
        donors = GroupCells(
            keys=self.group_keys,
            stars=self.group_stars,
            values=self.values,
            counts=self.counts,
            starts=self.starts,
            sizes=self.sizes,
            entries=self.entries,
            entry_starts=self.entry_starts,
            last=self.entry_starts[1:] - np.int32(1),
        )
        offer = Offer(stars=stars, price=price, longest_chain=chain)
        still, self.new, next_group = run(self.waiting(), Frequency(num, den, k), donors, offer, made)
        self.check(still.tolist(), int(next_group), num, den, k)
        for group in range(made):
            assert self.counts_of(group).total() == self.sizes[group]
            cells = slice(self.starts[group], self.starts[group + 1])
            held = dict(zip(self.values[cells].tolist(), self.counts[cells].tolist(), strict=True))
            assert self.counts_of(group) == Counter({v: count for v, count in held.items() if count})
        for group in range(made, next_group):
            own = self.new[self.new[:, 1] == group]
            donor = self.group_of[own[:, 0]]
            waited = own[donor < 0, 2].sum()
            assert waited > 0
            more = stars - self.group_stars[donor[donor >= 0]]
            assert stars * waited + (more * own[donor >= 0, 2]).sum() <= price * waited, "dearer than what was allowed"
        return int(next_group) - made

    def complete_with_spare_rows(self, run, num, den, k):
        made = len(self.group_keys)
        spare = spare_of_groups(self.counts, self.starts, num, den, k)
        loose = np.flatnonzero(spare[self.entries[:, 1]] > 0)
        entries = self.entries[loose]
        given = Spare(
            keys=self.projection_of[entries[:, 0]],
            values=self.value_of[entries[:, 0]],
            entries=entries,
            groups=entries[:, 1].copy(),
            left=spare,
        )
        still, self.new, next_group = run(self.waiting(), Frequency(num, den, k), given, made)
        self.entries[loose] = entries
        self.check(still.tolist(), int(next_group), num, den, k)
        assert (spare >= 0).all()
        return int(next_group) - made

    def counts_of(self, group):
        found = Counter()
        for cell, of_group, count in np.concatenate([self.entries, self.new]).tolist():
            found[int(self.value_of[cell])] += count * (of_group == group)
        return +found

    def check(self, still, next_group, num, den, k):
        made = len(self.group_keys)
        assert (self.entries[:, 2] >= 0).all()
        assert (self.new[:, 2] > 0).all()
        assert self.rows_of_cells() == self.before, "a row is lost or there twice"
        assert set(self.new[:, 1].tolist()) == {*range(made, next_group)}
        for group in range(next_group):
            counts = self.counts_of(group)
            assert (not counts and group < made) or acceptable(counts, num, den, k), f"{group} is broken: {counts}"
        for group in range(made, next_group):
            members = self.new[self.new[:, 1] == group, 0]
            assert len(set(self.projection_of[members].tolist())) == 1, "rows of two projections met"
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
        served += int((instance.lengths - instance.left).sum())
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
        served += int((instance.lengths - instance.left).sum())
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
    assert not instance.left.any()
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
    assert [instance.counts_of(group).total() for group in range(2)] == [5, 5]


@BOTH
def test_the_dearest_group_gives_first(run):
    rich = Counter({0: 4, 1: 4, 2: 4})
    instance = Instance(3, [(0, 0, rich), (0, 1, rich)], [(0, 0, 2)])
    assert instance.complete(run, 2, 1, 1, stars=2, price=1 << 40) == 1
    assert instance.sizes.tolist() == [12, 10]


def test_a_group_that_takes_more_spare_rows_than_are_noted_is_not_made_plain(monkeypatch):
    """One row waits, and needs five others, of two entries; the log of a plain run shall hold one."""
    run = complete_with_spare_rows.py_func
    assert Instance(1, [(0, 0, Counter({0: 12}))], [(0, 0, 1)]).complete_with_spare_rows(run, 1, 1, 6) == 1
    monkeypatch.setitem(run.__globals__, "_LONGEST_LOG", 1)
    instance = Instance(1, [(0, 0, Counter({0: 12}))], [(0, 0, 1)])
    assert instance.complete_with_spare_rows(run, 1, 1, 6) == 0
    assert instance.counts_of(0) == {0: 12}
