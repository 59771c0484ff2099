"""What a publisher can do with new people who are not m-eligible, and what a reader concludes from it.

The reader knows the rule that the publisher follows, sees who is in which release, and tries every way to give people
values and every random choice, as in `test_posterior`. People who are not published are asked about, too.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pytest
from tests.every import every
from tests.republication.m_invariance.test_posterior import LINE, outcomes

M = 2


def eligible(values, people, m=M):
    counts = Counter(values[one] for one in people)
    return not people or max(counts.values()) * m <= len(people)


class Rule:
    """What a publisher does with new people: how many of them are published, and when."""

    def __init__(self, m=M):
        self.m = m

    def published(self, values, new):
        """Return who of some new people are published in this release, and who of the others in a later one."""
        raise NotImplementedError

    def releases(self, values, arrivals):
        """Return the tables of the series, and those of other series with their m."""
        there, waiting, tables, others = [], [], [], []
        for arriving in arrivals:
            new = [*waiting, *arriving]
            now, waiting = self.published(values, new)
            there = [*there, *now]
            tables.append(sorted(there))
            rest = [one for one in new if one not in now and one not in waiting]
            others += [(self.elsewhere(values, rest), rest)] if rest and self.elsewhere(values, rest) else []
        return tables, others

    def elsewhere(self, values, people):
        """Return the m with which people who are left out for good are published in a series of their own; 0: never."""
        return 0


class LastWait(Rule):
    """Those who came last wait for the next release, as few of them as will do."""

    def published(self, values, new):
        for count in range(len(new), -1, -1):
            if eligible(values, new[:count], self.m):
                return new[:count], new[count:]
        raise AssertionError


class AllWait(Rule):
    """All new people wait for the next release."""

    def published(self, values, new):
        return (new, []) if eligible(values, new, self.m) else ([], new)


class NoneForGood(Rule):
    """The release has none of them, nor has any later one."""

    def published(self, values, new):
        return (new, []) if eligible(values, new, self.m) else ([], [])


class FewWait(NoneForGood):
    """As long as there are fewer than m new people all of them wait; whom that does not help is left out for good."""

    def published(self, values, new):
        return ([], new) if len(new) < self.m else super().published(values, new)


class OwnSeries(NoneForGood):
    """They are published in a series of their own, with the largest m that will do."""

    def elsewhere(self, values, people):
        return next((m for m in range(self.m - 1, 1, -1) if eligible(values, people, m)), 0)


def posteriors(rule, arrivals, kinds, frequency=None):
    """Return for every outcome who is in which release, its probability, and the confidence about each person."""
    everybody = sorted(one for arriving in arrivals for one in arriving)
    codes = np.array(LINE[: len(everybody)], dtype=np.int32)
    worlds = defaultdict(list)
    for values in itertools.product(range(kinds), repeat=len(everybody)):
        prior = Fraction(1)
        for value in values:
            prior *= Fraction(1, kinds) if frequency is None else Fraction(frequency[value], sum(frequency))
        tables, others = rule.releases(values, arrivals)
        parts = [outcomes(codes, [one for one in tables if one], values, kinds, rule.m, {})]
        parts += [outcomes(codes, [people], values, kinds, m, {}) for m, people in others]
        seen = (tuple(map(tuple, tables)), tuple((m, tuple(people)) for m, people in others))
        for shown in itertools.product(*(part.items() for part in parts)):
            probability = prior
            for _, one in shown:
                probability *= one
            worlds[seen, tuple(what for what, _ in shown)].append((values, probability))
    found = []
    for (seen, _), world in worlds.items():
        total = sum(probability for _, probability in world)
        confidence = []
        for place in everybody:
            of_value = Counter()
            for values, probability in world:
                of_value[values[place]] += probability
            confidence.append(max(of_value.values()) / total)
        found.append((seen, total, confidence))
    return found


def present(seen):
    tables, others = seen
    return {one for table in tables for one in table} | {one for _, people in others for one in people}


def greatest_of_published(rule, arrivals, kinds, frequency=None):
    """Return the greatest confidence about anybody who is published in some release."""
    found = posteriors(rule, arrivals, kinds, frequency)
    return max((confidence[one] for seen, _, confidence in found for one in present(seen)), default=Fraction(0))


def greatest_of_absent(rule, arrivals, kinds, frequency=None):
    """Return the greatest confidence about anybody who is published in none."""
    found = posteriors(rule, arrivals, kinds, frequency)
    absent = [
        confidence[one] for seen, _, confidence in found for one in range(len(confidence)) if one not in present(seen)
    ]
    return max(absent, default=Fraction(0))


UNEQUAL = (3, 2, 1)


@pytest.mark.drawn
def test_those_who_came_last_are_betrayed_by_waiting():
    """The first four of five people are published when the fifth has the value that is too frequent."""
    found = posteriors(LastWait(), [range(5)], kinds=3)
    waiting = [(total, confidence) for seen, total, confidence in found if len(present(seen)) < 5]
    betrayed = sum(total for total, confidence in waiting if max(confidence) > Fraction(1, M))
    assert betrayed / sum(total for total, _ in waiting) > Fraction(23, 100)
    assert max(max(confidence) for _, confidence in waiting) == 1


def test_to_publish_all_of_them_later_betrays_them_too():
    assert greatest_of_published(AllWait(), [[0, 1], [2, 3]], kinds=3) == 1


@pytest.mark.drawn
@pytest.mark.parametrize("frequency", [None, UNEQUAL], ids=["equal", "unequal"])
@pytest.mark.parametrize("arrivals", [[[0, 1], [2, 3, 4]], [[0, 1, 2], [3, 4]]])
def test_those_who_never_come_betray_nobody_who_is_published(arrivals, frequency):
    assert greatest_of_published(NoneForGood(), arrivals, 3, frequency) == Fraction(1, M)


@pytest.mark.drawn
def test_those_who_never_come_show_that_they_share_a_value_and_not_which():
    """Who knows which values are frequent expects the commonest, and more surely than of others."""
    assert greatest_of_absent(NoneForGood(), [[0, 1], [2, 3, 4]], 3) == Fraction(1, 3)
    assert greatest_of_absent(NoneForGood(), [[0, 1], [2, 3, 4]], 3, UNEQUAL) == Fraction(9, 14)


@pytest.mark.drawn
@every("frequency", [None, UNEQUAL])
@every(("m", "arrivals"), [(2, [[0], [1], [2, 3]]), (2, [[0], [1, 2], [3]]), (3, [[0, 1], [2], [3]])])
def test_to_wait_for_enough_people_shows_nothing(m, arrivals, frequency):
    assert greatest_of_published(FewWait(m), arrivals, 3, frequency) <= Fraction(1, m)


@pytest.mark.drawn
@every("frequency", [None, UNEQUAL])
@every("arrivals", [[range(4)], [range(5)], [[0, 1, 2], [3, 4]]])
def test_a_series_of_their_own_keeps_its_own_promise(arrivals, frequency):
    assert greatest_of_published(OwnSeries(3), arrivals, 3, frequency) == Fraction(1, 2)
