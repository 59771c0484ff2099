"""Transparent: what an adversary who knows everything but the random numbers believes, by enumeration of all tables."""

from collections import defaultdict
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.every import every

import shoal
from shoal.algorithms.transparent import (
    _group_values,
    _number_groups,
    chance_groups,
    choose_colors,
    group_colors,
    pair_colors,
    split_counts,
)
from shoal.errors import UnsupportedError


class Script:
    """Random numbers that are written down: `runs` lists every outcome with its probability."""

    def __init__(self, choices):
        self.choices, self.taken = list(choices), []

    def permutation(self, what):
        given = np.arange(what) if np.ndim(what) == 0 else np.asarray(what)
        orders = list(permutations(range(len(given))))
        at = len(self.taken)
        chosen = self.choices[at] if at < len(self.choices) else 0
        self.taken.append((chosen, len(orders)))
        return given[list(orders[chosen])]


def runs(algorithm):
    """Run a function of random numbers with all of them; yield its results and their probabilities."""
    waiting = [()]
    while waiting:
        script = Script(waiting.pop())
        result = algorithm(script)
        yield result, Fraction(1) / int(np.prod([count for _, count in script.taken], dtype=object))
        done = len(script.choices)
        # Every other choice at the places that this run came to first.
        prefix = [chosen for chosen, _ in script.taken]
        for at in range(done, len(prefix)):
            waiting += [(*prefix[:at], other) for other in range(1, script.taken[at][1])]


def transparent(values, points, l, rng):
    labels = _number_groups(_group_values(values, points, l, 1, rng), 1, len(values))
    return [np.flatnonzero(labels == one).tolist() for one in np.unique(labels)]


def nearest(values, points, l, rng):
    """Pair each row with the next free one that has another value."""
    free, groups = list(range(len(values))), []
    while free:
        row = free.pop(0)
        other = next((one for one in free if values[one] != values[row]), None)
        if other is None:
            groups[-1] += [row]
        else:
            free.remove(other)
            groups.append([row, other])
    return groups


def beliefs(algorithm, points, kinds, l):
    """Return the largest probability of a value of a row, for whom only the random numbers are unknown."""
    rows, points = len(points), np.array(points)
    weights = defaultdict(lambda: defaultdict(Fraction))
    for values in product(range(kinds), repeat=rows):
        if np.bincount(values).max() * l > rows:
            continue
        for groups, share in runs(lambda rng, values=values: algorithm(np.array(values), points, l, rng)):
            published = frozenset((frozenset(group), tuple(sorted(values[row] for row in group))) for group in groups)
            weights[published][values] += share
    return max(
        sum(share for values, share in originals.items() if values[row] == value) / sum(originals.values())
        for originals in weights.values()
        for row in range(rows)
        for value in range(kinds)
    )


@every(
    ("points", "kinds", "l"),
    [
        ([0, 1, 2, 3], 3, 2),
        ([0, 1, 2, 3, 4], 3, 2),
        ([0, 1, 2, 3, 4, 5], 3, 2),
        ([0, 0, 0, 3, 4, 4], 3, 2),
        ([0, 1, 2, 3], 4, 2),
        ([0, 1, 2, 3, 4, 5, 6, 7], 2, 2),
        ([0, 0, 0, 1, 1, 1, 1, 2], 2, 2),
        ([0, 1, 2, 3, 4], 5, 4),
    ],
    drawn=True,
)
def test_no_value_is_believed_more_than_promised(points, kinds, l):
    assert beliefs(transparent, points, kinds, l) <= Fraction(1, l)


def test_the_enumeration_finds_what_an_algorithm_gives_away():
    assert beliefs(nearest, [0, 1, 2, 3], 3, 2) > Fraction(1, 2)


@pytest.mark.thorough
@every("points", [[0, 1, 2, 3, 4, 5, 6, 7], [0, 0, 0, 1, 1, 1, 1, 2]])
def test_groups_of_four_colors_are_covered(points):
    """All 2,520 tables of eight rows with two of each of four values."""
    weights = defaultdict(lambda: defaultdict(Fraction))
    for values in set(permutations([0, 0, 1, 1, 2, 2, 3, 3])):
        for groups, share in runs(
            lambda rng, values=values: group_colors(np.arange(8)[:, None], np.array(points), np.array(values), 2, rng)
        ):
            weights[frozenset(map(frozenset, groups.tolist()))][values] += share
    for originals in weights.values():
        total = sum(originals.values())
        for row, value in product(range(8), range(4)):
            assert sum(share for values, share in originals.items() if values[row] == value) == total / 4


@settings(max_examples=200)
@given(st.data())
def test_groups_have_all_colors_and_each_row_once(data):
    bits = data.draw(st.integers(0, 3))
    groups = data.draw(st.integers(1, 6))
    colors = np.array(data.draw(st.permutations(list(range(2**bits)) * groups)))
    points = np.sort(data.draw(st.lists(st.integers(0, 9), min_size=len(colors), max_size=len(colors))))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    found = group_colors(np.arange(len(colors))[:, None], points, colors, bits, rng)
    assert sorted(found.ravel().tolist()) == list(range(len(colors)))
    assert all(sorted(colors[group]) == list(range(2**bits)) for group in found.tolist())


def test_neighbors_of_two_colors_are_paired():
    lower, upper = pair_colors(np.array([[3], [0], [2], [1]]), np.arange(4), np.array([True, False, False, True]))
    assert set(zip(lower.tolist(), upper.tolist(), strict=True)) == {(1, 3), (2, 0)}


@settings(max_examples=300)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=9), st.integers(1, 5))
def test_what_is_left_to_chance_can_be_grouped(counts, l):
    counts = np.array(counts)
    if counts.max() * l > counts.sum():
        return
    number = 1 << (l - 1).bit_length()
    colors = choose_colors(counts, number)
    left = split_counts(counts, colors, number, l)
    assert (left >= 0).all()
    assert (left <= counts).all()
    assert left.max() * l <= left.sum()
    others = np.bincount(colors, weights=counts - left, minlength=number)
    assert len(set(others.tolist())) == 1
    groups = chance_groups(left, l)
    assert sorted(value for group in groups for value in group) == sorted(
        np.repeat(np.arange(len(left)), left).tolist()
    )
    assert all(len(set(group)) == len(group) >= l for group in groups)


@pytest.mark.drawn
@every(("l", "k"), [(2, None), (3, None), (4, None), (2, 5), (4, 11)])
def test_releases_meet_the_request(l, k):
    people = shoal.datasets.census(1500, quasi_identifiers=["age", "gender", "education"], seed=3)
    chosen = {"quasi_identifiers": ["age", "gender", "education"], "sensitive": "income", "algorithm": "transparent"}
    release = shoal.anonymize(people, **chosen, l=l, **({"k": k} if k else {}))
    assert Fraction(release.certificate.achieved["l"]["frequency"]) >= Fraction(l)
    assert k is None or release.certificate.achieved["k"] >= k


def test_to_resist_minimality_chooses_it():
    people = shoal.datasets.census(200, quasi_identifiers=["age", "gender"], seed=3)
    asked = {"quasi_identifiers": ["age", "gender"], "sensitive": "income", "l": 2, "resist": "minimality"}
    assert shoal.anonymize(people, **asked).certificate.algorithm == "transparent"
    with pytest.raises(UnsupportedError, match="'tp' does not resist minimality"):
        shoal.anonymize(people, **asked, algorithm="tp")


def test_other_models_are_refused():
    people = shoal.datasets.census(100, quasi_identifiers=["age"], seed=3)
    with pytest.raises(UnsupportedError, match="by frequency on one attribute"):
        shoal.anonymize(people, quasi_identifiers=["age"], sensitive="income", t=0.3, algorithm="transparent")
