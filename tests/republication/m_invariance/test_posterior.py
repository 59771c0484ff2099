"""What a reader concludes who has all releases, everybody's quasi-identifiers, who is in which release, and the code.

The reader tries every way to give people values and every random choice that the algorithm can make, and keeps what
leads to the published groups: the posterior probability of each person's value is exact.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pytest
from tests.every import every, few

from shoal.errors import InfeasibleError
from shoal.republication import Signatures, generalize


class Chosen:
    """A random generator whose first permutation is given; how ties are broken and groups numbered is known."""

    def __init__(self, first):
        self.first = first

    def permutation(self, size):
        first, self.first = self.first, None
        return np.arange(size) if first is None else np.array(first, dtype=np.int64)


def orders(values):
    """Yield the orders of rows that differ within some value, each of them as likely as another."""
    rows = defaultdict(list)
    for row, value in enumerate(values):
        rows[value].append(row)
    for parts in itertools.product(*(itertools.permutations(rows[value]) for value in sorted(rows))):
        yield [row for part in parts for row in part]


def published(codes, values, made):
    """Return what readers see of a release: for each group its extents, values and number of counterfeits."""
    members, fakes, boxes = defaultdict(list), defaultdict(list), defaultdict(list)
    for row, group in enumerate(made.groups.tolist()):
        members[group].append(row)
        boxes[made.boxes[group]].append(row)
    for group, value in zip(made.counterfeit_groups.tolist(), made.counterfeit_values.tolist(), strict=True):
        fakes[group].append(value)
    groups = []
    for group, rows in members.items():
        shown_of = codes[boxes[made.boxes[group]]]
        extents = tuple((int(column.min()), int(column.max())) for column in shown_of.T)
        shown = tuple(sorted([*(values[row] for row in rows), *fakes[group]]))
        groups.append((extents, shown, len(fakes[group])))
    return tuple(sorted(groups))


def outcomes(codes, tables, values, kinds, m, options):
    """Return the probability of each series of published releases, when people have some values."""
    states = {((), (None,) * len(codes), ()): Fraction(1)}  # what is published, everybody's signature, all signatures
    for people in tables:
        following = defaultdict(Fraction)
        compact = np.column_stack([np.unique(column, return_inverse=True)[1] for column in codes[people].T])
        own = [values[one] for one in people]
        ways = list(orders(own))
        for (shown, signature_of, known), probability in states.items():
            for order in ways:
                made = generalize(
                    quasi_identifiers=compact.astype(np.int32),
                    sensitive=np.array(own, dtype=np.int32),
                    values=kinds,
                    signature_of=np.array(
                        [-1 if signature_of[one] is None else known.index(signature_of[one]) for one in people]
                    ),
                    signatures=Signatures.of(known),
                    m=m,
                    rng=Chosen(order),
                    **options,
                )
                after = list(signature_of)
                sets = tuple(tuple(made.signatures[number].tolist()) for number in range(len(made.signatures)))
                for one, number in zip(people, made.signature_of.tolist(), strict=True):
                    after[one] = sets[number]
                state = ((*shown, published(codes[people], own, made)), tuple(after), sets)
                following[state] += probability / len(ways)
        states = following
    total = defaultdict(Fraction)
    for (shown, _, _), probability in states.items():
        total[shown] += probability
    return total


def greatest_confidence(codes, tables, kinds, m, frequency=None, **options):
    """Return the greatest posterior probability of any person's value over all series that may be published.

    0 where none may.
    """
    codes = np.array(codes, dtype=np.int32)
    worlds = defaultdict(list)
    for values in itertools.product(range(kinds), repeat=len(codes)):
        prior = Fraction(1)
        for value in values:
            prior *= 1 if frequency is None else frequency[value]
        try:
            for shown, probability in outcomes(codes, tables, values, kinds, m, options).items():
                worlds[shown].append((values, prior * probability))
        except InfeasibleError:
            continue
    worst = Fraction(0)
    for found in worlds.values():
        total = sum(probability for _, probability in found)
        for place in range(len(codes)):
            of_value = Counter()
            for values, probability in found:
                of_value[values[place]] += probability
            worst = max(worst, *(one / total for one in of_value.values()))
    return worst


LINE = [[0], [1], [2], [3], [4], [5]]


@pytest.mark.thorough
@every("codes", [[[1], [2], [2], [0], [0]], [[1, 0], [0, 3], [0, 1], [1, 1], [0, 2]]])
def test_a_first_release_leaves_one_in_m_to_somebody_who_knows_the_algorithm(codes):
    assert greatest_confidence(codes, [range(5)], kinds=4, m=2) == Fraction(1, 2)


@pytest.mark.drawn
@pytest.mark.parametrize("balancing", ["fewest", "paper"])
def test_so_it_does_however_buckets_are_balanced_later(balancing):
    codes = [[1], [2], [2], [0], [0]]
    assert greatest_confidence(codes, [range(5)], kinds=3, m=2, balancing=balancing) == Fraction(1, 2)


@every(
    "tables",
    [
        [[0, 1, 2, 3], [0, 2, 4, 5]],  # half are new
        [[0, 1, 2, 3], [0, 4, 5], [0, 1, 4]],  # one returns
        [[0, 1], [0], [0, 2, 3, 4, 5]],  # one stays alone
    ],
    drawn=True,
)
@every("frequency", [None, (6, 3, 1)], drawn=True)
def test_a_series_leaves_one_in_m_to_somebody_who_knows_the_algorithm(tables, frequency):
    assert greatest_confidence(LINE, tables, kinds=3, m=2, frequency=frequency) == Fraction(1, 2)


@pytest.mark.thorough
def test_so_do_three_values_of_four():
    tables = [[0, 1, 2], [0, 1], [1, 3, 4, 5]]
    assert greatest_confidence(LINE, tables, kinds=4, m=3) == Fraction(1, 3)


@pytest.mark.drawn
def test_so_do_random_histories():
    rng = np.random.default_rng(8)
    found = []
    for _ in range(few(16, least=3)):
        people, releases = int(rng.integers(4, 6)), int(rng.integers(2, 4))
        codes = rng.integers(0, 3, (people, int(rng.integers(1, 3))))
        tables = [np.flatnonzero(rng.random(people) < 0.8).tolist() for _ in range(releases)]
        found.append(greatest_confidence(codes, [table for table in tables if table], kinds=3, m=2))
    assert max(found) == Fraction(1, 2)
    assert 2 * found.count(Fraction(0)) < len(found), "most of the histories can be published"


@pytest.mark.thorough
def test_new_people_in_the_places_of_others_betray_them_to_somebody_who_knows_the_algorithm():
    """Why the guarantee of the other ways to balance says what it says."""
    tables = [[0, 1], [0, 2, 3, 4, 5]]
    assert greatest_confidence(LINE, tables, kinds=3, m=2, balancing="fewest") == 1
