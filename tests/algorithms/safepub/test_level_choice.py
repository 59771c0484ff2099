"""The choice of levels: scores and distribution against brute force, and the guarantee on all neighbors of a table."""

import random
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from tests.every import every
from tests.oracles import safepub as oracle

from shoal.algorithms.safepub import LeveledColumn, draw_levels, score_levels, sensitivity_of
from shoal.errors import UnsupportedError
from shoal.hierarchy import Hierarchy

ZIP = [("11", "1*", "*"), ("12", "1*", "*"), ("13", "1*", "*"), ("24", "2*", "*")]
AGE = [("30", "30-39", "30-49", "*"), ("35", "30-39", "30-49", "*"), ("41", "40-49", "30-49", "*"),
       ("47", "40-49", "30-49", "*"), ("52", "50-59", "50-59", "*")]  # fmt: skip
SEX = [("f", "*"), ("m", "*")]


def columns_of(rows, columns):
    found = []
    for place, lines in enumerate(columns):
        tree = Hierarchy.from_rows(lines)
        values = sorted({row[place] for row in rows})
        codes = np.array([values.index(row[place]) for row in rows])
        found.append(LeveledColumn.of_hierarchy(codes, tree, tree.positions(values, column="")))
    return found


def scored(rows, columns, least):
    return score_levels(columns_of(rows, columns), np.ones(len(rows), dtype=np.int64), least)


def some_rows(rng, columns, count):
    return [tuple(rng.choice(lines)[0] for lines in columns) for _ in range(count)]


@every("seed", range(40))
def test_scores_are_those_of_brute_force(seed):
    rng = random.Random(seed)
    columns = rng.sample([ZIP, AGE, SEX], rng.randint(1, 3))
    rows, least = some_rows(rng, columns, rng.randint(1, 60)), Fraction(rng.randint(10, 60), 7)
    combinations = product(*(range(len(lines[0])) for lines in columns))
    assert scored(rows, columns, least) == [oracle.score(rows, columns, levels, least) for levels in combinations]


def test_equal_rows_are_counted():
    rng = random.Random(3)
    rows = some_rows(rng, [ZIP, SEX], 300)
    times = Counter(rows)
    counts = np.array(list(times.values()))
    assert score_levels(columns_of(list(times), [ZIP, SEX]), counts, Fraction(9)) == scored(rows, [ZIP, SEX], 9)


@every("seed", range(6))
def test_one_more_row_raises_all_scores_and_none_by_more_than_the_sensitivity(seed):
    rng = random.Random(seed)
    rows = some_rows(rng, [ZIP, AGE], 25)
    limit, least = sensitivity_of(columns_of(rows, [ZIP, AGE])), Fraction(12)
    # Rows of one class at a time bring it over the least size.
    for row in [rows[0]] * 20 + some_rows(rng, [ZIP, AGE], 20):
        before, after = scored(rows, [ZIP, AGE], least), scored([*rows, row], [ZIP, AGE], least)
        assert all(0 <= b - a <= limit for a, b in zip(before, after, strict=True))
        rows = [*rows, row]


@pytest.mark.drawn
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(3)])
def test_no_neighbor_of_a_table_changes_a_probability_by_more_than_the_factor(epsilon):
    rng, factor = random.Random(7), oracle.power_of_e(epsilon)
    rows = [("11", "f")] * 8 + [("12", "m")] * 5 + some_rows(rng, [ZIP, SEX], 12)
    largest = Fraction(0)
    for size in range(len(rows)):
        one = oracle.distribution(rows[:size], [ZIP, SEX], Fraction(6), epsilon)
        other = oracle.distribution(rows[: size + 1], [ZIP, SEX], Fraction(6), epsilon)
        ratios = [max(one[key] / other[key], other[key] / one[key]) for key in one]
        largest = max(largest, *ratios)
    assert 1 < largest <= factor


@pytest.mark.drawn
def test_levels_are_drawn_with_the_exact_probabilities():
    rows = [("11", "f")] * 9 + [("12", "m")] * 7 + [("24", "f")] * 3
    epsilon, draws, below = Fraction(2), 20_000, random.Random(5).randrange
    exact = oracle.distribution(rows, [ZIP, SEX], Fraction(6), epsilon)
    columns = columns_of(rows, [ZIP, SEX])
    scores, rate = scored(rows, [ZIP, SEX], Fraction(6)), epsilon / sensitivity_of(columns)
    found = Counter(draw_levels(scores, rate, below) for _ in range(draws))
    statistic = sum(
        float((found[place] - draws * share) ** 2 / (draws * share)) for place, share in enumerate(exact.values())
    )
    assert len(exact) == 6
    assert max(exact.values()) > 2 * min(exact.values())
    assert statistic < 20.5  # the quantile 0.999 of chi-square with 5 degrees of freedom


def test_a_choice_between_two_has_exactly_the_probability_of_its_outcomes():
    """All outcomes of the random integers: the chances that are decided bound the exact probability from both sides."""
    rate, decided, open_share = Fraction(1, 2), [Fraction(0), Fraction(0)], Fraction(0)

    class UndecidedError(Exception):
        pass

    def run(prefix):
        shares = iter(prefix)
        share = Fraction(1)

        def below(limit):
            nonlocal share
            share /= limit
            try:
                return next(shares)
            except StopIteration:
                raise UndecidedError(limit) from None

        try:
            return draw_levels([3, 2], rate, below), share
        except UndecidedError as error:
            return error.args[0], None

    waiting = [()]
    while waiting:
        prefix = waiting.pop()
        result, share = run(prefix)
        if share is not None:
            decided[result] += share
        elif len(prefix) < 7:
            waiting += [(*prefix, number) for number in range(result)]
    open_share = 1 - sum(decided)
    weight = 1 / oracle.power_of_e(rate)
    assert open_share < Fraction(1, 20)
    assert decided[0] <= 1 / (1 + weight) <= decided[0] + open_share
    assert decided[1] <= weight / (1 + weight) <= decided[1] + open_share


def test_a_good_combination_is_drawn_almost_always_from_many_rows():
    rows = [("11", "f")] * 4000 + [("24", "m")] * 3000
    scores = scored(rows, [ZIP, SEX], Fraction(117))
    rate = Fraction(1, 10) / sensitivity_of(columns_of(rows, [ZIP, SEX]))
    assert {draw_levels(scores, rate) for _ in range(20)} == {0}


def test_missing_values_stay_apart_at_each_level():
    tree = Hierarchy.from_rows(SEX)
    column = LeveledColumn.of_hierarchy(np.array([0, 1, 2]), tree, np.array([0, 1, -1], dtype=np.int32))
    counts = np.array([50, 50, 50])
    # At the top the two values merge and show nothing; the missing value still shows itself.
    assert score_levels([column], counts, Fraction(10)) == [150_000, 50_000]


def test_too_many_combinations_are_refused():
    lines = [(str(n), *(f"{n >> level}@{level}" for level in range(1, 20))) for n in range(4)]
    with pytest.raises(UnsupportedError, match="combinations of levels"):
        scored([("0",) * 4], [lines] * 4, Fraction(5))
