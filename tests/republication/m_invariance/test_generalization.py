"""Counterfeited generalization against the paper's example, its invariants, and the definition of m-invariance."""

from __future__ import annotations

import numpy as np
import pytest
from tests.every import every

from shoal.errors import InfeasibleError, ParameterError
from shoal.republication import Signatures, generalize

DYSPEPSIA, BRONCHITIS, FLU, GASTRITIS = range(4)
FIRST = {
    "Bob": (21, 12000, DYSPEPSIA, {DYSPEPSIA, BRONCHITIS}),
    "David": (23, 25000, GASTRITIS, {FLU, GASTRITIS}),
    "Gary": (41, 20000, FLU, {FLU, GASTRITIS}),
    "Jane": (37, 33000, DYSPEPSIA, {DYSPEPSIA, FLU, GASTRITIS}),
    "Linda": (43, 26000, GASTRITIS, {DYSPEPSIA, FLU, GASTRITIS}),
    "Steve": (56, 34000, GASTRITIS, {DYSPEPSIA, GASTRITIS}),
}
"""Who is in Table 2a already with the signature of Table 1b."""
NEW = {
    "Emily": (25, 21000, FLU),
    "Mary": (46, 30000, GASTRITIS),
    "Ray": (54, 31000, DYSPEPSIA),
    "Tom": (60, 44000, GASTRITIS),
    "Vince": (65, 36000, FLU),
}


def codes_of(*columns):
    return np.array([np.unique(column, return_inverse=True)[1] for column in columns], dtype=np.int32).T


def publish_the_second_table(seed, balancing="fewest"):
    people = [*FIRST, *NEW]
    rows = [*(row[:3] for row in FIRST.values()), *NEW.values()]
    sets = [frozenset(row[3]) for row in FIRST.values()]
    known = sorted(set(sets), key=lambda one: (len(one), sorted(one)))  # Steve's bucket before Jane's
    ages, zips, diseases = zip(*rows, strict=True)
    made = generalize(
        quasi_identifiers=codes_of(ages, zips),
        sensitive=np.array(diseases),
        values=4,
        signature_of=np.array([*(known.index(one) for one in sets), *[-1] * len(NEW)]),
        signatures=Signatures.of(known),
        m=2,
        rng=np.random.default_rng(seed),
        balancing=balancing,
    )
    members = {}
    for person, group in zip(people, made.groups.tolist(), strict=True):
        members.setdefault(group, set()).add(person)
    fakes = {}
    for group, value in zip(made.counterfeit_groups.tolist(), made.counterfeit_values.tolist(), strict=True):
        fakes.setdefault(frozenset(members[group]), []).append(value)
    return made, {frozenset(one) for one in members.values()}, fakes


@every("seed", range(10))
def test_tables_1_to_3_of_the_paper(seed):
    made, groups, fakes = publish_the_second_table(seed, "fewest")
    assert made.count == 6
    assert len(made.groups) + made.counterfeits == 13
    # Bob with a counterfeit bronchitis, Jane and Linda with a counterfeit flu
    assert fakes == {frozenset({"Bob"}): [BRONCHITIS], frozenset({"Jane", "Linda"}): [FLU]}
    # Ray is the only new dyspepsia, and balances Steve's bucket
    assert frozenset({"Ray", "Steve"}) in groups
    assert made.details["balanced_with_new"] == 1


def test_in_the_papers_way_the_order_of_the_buckets_is_open():
    found = set()
    for seed in range(40):
        made, groups, fakes = publish_the_second_table(seed, "paper")
        assert len(made.groups) + made.counterfeits == 13
        assert fakes.pop(frozenset({"Bob"})) == [BRONCHITIS]
        ((short, values),) = fakes.items()
        found.add(*values)
        if values == [FLU]:  # as in Table 3
            assert short == frozenset({"Jane", "Linda"})
            assert frozenset({"Ray", "Steve"}) in groups
    assert found == {FLU, DYSPEPSIA}, "a flu for Jane's bucket leaves no dyspepsia for Steve's, and the other way"


@every("seed", range(10))
def test_without_new_rows_every_gap_is_a_counterfeit(seed):
    made, _, fakes = publish_the_second_table(seed, "independent")
    assert made.details["balanced_with_new"] == 0
    assert sorted(value for values in fakes.values() for value in values) == sorted([BRONCHITIS, FLU, DYSPEPSIA])


def test_new_rows_that_are_not_eligible_are_an_error_that_names_the_largest_m():
    rows = {
        "quasi_identifiers": np.zeros((7, 1), dtype=np.int32),
        "sensitive": np.array([0, 0, 0, 1, 1, 2, 2]),
        "values": 3,
        "signature_of": np.full(7, -1),
        "signatures": Signatures.of([]),
        "rng": np.random.default_rng(0),
    }
    with pytest.raises(InfeasibleError, match=r"not 3-eligible: 3 of 7 .* The largest m that would do is 2\."):
        generalize(m=3, **rows)


def test_the_error_of_too_few_new_rows_says_how_many_are_needed():
    rows = {
        "quasi_identifiers": np.zeros((2, 1), dtype=np.int32),
        "sensitive": np.array([0, 1]),
        "values": 2,
        "signature_of": np.full(2, -1),
        "signatures": Signatures.of([]),
        "rng": np.random.default_rng(0),
    }
    with pytest.raises(InfeasibleError, match=r"there are 2, and a release needs at least 3 new people, or none\."):
        generalize(m=3, **rows)


class Town:
    """People who come, go and return, with what the publisher remembers of them."""

    def __init__(self, rng, people, values):
        self.rng = rng
        self.quasi_identifiers = rng.integers(0, 7, (people, 2)).astype(np.int32)
        self.sensitive = rng.integers(0, values, people)
        self.values = values
        self.signature_of = np.full(people, -1)
        self.signatures = Signatures.of([])
        self.present = rng.random(people) < 0.5

    def eligible(self, rows, m):
        """Leave out new people until the others are m-eligible; who is left out is no matter here."""
        new = rows[self.signature_of[rows] < 0]
        while len(new) and m * np.bincount(self.sensitive[new]).max() > len(new):
            commonest = np.bincount(self.sensitive[new]).argmax()
            new = np.delete(new, np.flatnonzero(self.sensitive[new] == commonest)[0])
        rows = np.sort(np.concatenate((rows[self.signature_of[rows] >= 0], new)))
        self.present[:] = False
        self.present[rows] = True
        return rows

    def publish(self, m, **options):
        self.present ^= self.rng.random(len(self.present)) < 0.15
        rows = self.eligible(np.flatnonzero(self.present), m)
        made = generalize(
            quasi_identifiers=self.quasi_identifiers[rows],
            sensitive=self.sensitive[rows],
            values=self.values,
            signature_of=self.signature_of[rows],
            signatures=self.signatures,
            m=m,
            rng=self.rng,
            **options,
        )
        before = self.signature_of[rows]
        assert np.array_equal(made.signature_of[before >= 0], before[before >= 0]), "the same signature for life"
        assert (made.groups >= 0).all()
        for number in range(len(self.signatures)):
            assert np.array_equal(made.signatures[number], self.signatures[number])
        self.signature_of[rows] = made.signature_of
        self.signatures = made.signatures
        return rows, made


def check_invariants(town, rows, made, m):
    """Every group has one row for each value of its signature, and somebody real."""
    people = {}
    for row, group, signature in zip(rows.tolist(), made.groups.tolist(), made.signature_of.tolist(), strict=True):
        people.setdefault(group, []).append((int(town.sensitive[row]), signature))
    fakes = {}
    for group, value in zip(made.counterfeit_groups.tolist(), made.counterfeit_values.tolist(), strict=True):
        fakes.setdefault(group, []).append(value)
    assert sorted(people) == list(range(made.count)), "every group has a real row"
    for group, hosted in people.items():
        signatures = {signature for _, signature in hosted}
        assert len(signatures) == 1
        values = sorted([value for value, _ in hosted] + fakes.get(group, []))
        assert values == made.signatures[signatures.pop()].tolist()
        assert len(values) >= m


@every("balancing", ["independent", "fewest", "paper"])
@every("seed", range(12))
def test_histories_of_twenty_releases_stay_m_invariant(seed, balancing):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 5))
    town = Town(rng, people=int(rng.integers(20, 150)), values=int(rng.integers(m, 9)))
    for _ in range(20):
        rows, made = town.publish(m, balancing=balancing)
        check_invariants(town, rows, made, m)


@every("seed", range(30))
def test_the_fewest_counterfeits_are_never_more_than_the_papers_order_needs(seed):
    town = Town(np.random.default_rng(seed), people=60, values=5)
    town.publish(2)
    again = np.random.default_rng(seed)
    counts = {}
    rows = town.eligible(np.flatnonzero(town.present ^ (np.random.default_rng(seed + 1).random(60) < 0.4)), 2)
    for balancing in ("fewest", "paper", "independent"):
        made = generalize(
            quasi_identifiers=town.quasi_identifiers[rows],
            sensitive=town.sensitive[rows],
            values=5,
            signature_of=town.signature_of[rows],
            signatures=town.signatures,
            m=2,
            rng=again,
            balancing=balancing,
        )
        counts[balancing] = made.counterfeits
    assert counts["fewest"] <= counts["paper"] <= counts["independent"]


def test_nobody_new_nobody_kept_and_nobody_at_all():
    town = Town(np.random.default_rng(1), people=40, values=4)
    town.present[:] = True
    town.rng = np.random.default_rng(2)
    _, first = town.publish(2)
    assert first.details["kept"] == 0
    rows = np.flatnonzero(town.signature_of >= 0)
    arguments = {"values": 4, "m": 2, "rng": np.random.default_rng(0), "signatures": town.signatures}
    same = generalize(
        quasi_identifiers=town.quasi_identifiers[rows],
        sensitive=town.sensitive[rows],
        signature_of=town.signature_of[rows],
        **arguments,
    )
    assert same.counterfeits == 0
    assert same.details["new"] == 0
    empty = generalize(
        quasi_identifiers=np.zeros((0, 2), dtype=np.int32),
        sensitive=np.zeros(0, dtype=np.int64),
        signature_of=np.zeros(0, dtype=np.int64),
        **arguments,
    )
    assert empty.count == 0


def test_one_person_who_stays_gets_a_group_of_counterfeits():
    made = generalize(
        quasi_identifiers=np.zeros((1, 1), dtype=np.int32),
        sensitive=np.array([2]),
        values=5,
        signature_of=np.array([0]),
        signatures=Signatures.of([{0, 2, 4}]),
        m=3,
        rng=np.random.default_rng(0),
    )
    assert made.count == 1
    assert made.counterfeit_values.tolist() == [0, 4]


def test_the_order_of_the_rows_decides_nothing_about_who_is_alike():
    # Rows that are alike but for their place go anywhere: over many seeds each of the first four is in the bucket
    # {0, 1} about as often.
    together = np.zeros(4)
    for seed in range(400):
        made = generalize(
            quasi_identifiers=np.zeros((8, 1), dtype=np.int32),
            sensitive=np.array([0, 0, 0, 0, 1, 1, 2, 2]),
            values=3,
            signature_of=np.full(8, -1),
            signatures=Signatures.of([]),
            m=2,
            rng=np.random.default_rng(seed),
        )
        together += [1 in made.signatures[number] for number in made.signature_of[:4]]
    assert together.sum() == 400 * 2
    assert together.min() > 400 / 2 - 50
    assert together.max() < 400 / 2 + 50


@pytest.mark.parametrize(("name", "value"), [("m", 1), ("m", 2.0), ("balancing", "most")])
def test_bad_parameters_are_named(name, value):
    arguments = {
        "quasi_identifiers": np.zeros((2, 1), dtype=np.int32),
        "sensitive": np.array([0, 1]),
        "values": 2,
        "signature_of": np.full(2, -1),
        "signatures": Signatures.of([]),
        "m": 2,
        "rng": np.random.default_rng(0),
    }
    with pytest.raises(ParameterError, match=f"The '{name}' parameter of generalize must be"):
        generalize(**{**arguments, name: value})


def test_a_signature_without_the_rows_value_is_an_error():
    with pytest.raises(ParameterError, match="a signature without its value"):
        generalize(
            quasi_identifiers=np.zeros((1, 1), dtype=np.int32),
            sensitive=np.array([1]),
            values=3,
            signature_of=np.array([0]),
            signatures=Signatures.of([{0, 2}]),
            m=2,
            rng=np.random.default_rng(0),
        )


def test_progress_is_told_and_may_interrupt():
    class StopError(Exception):
        pass

    def stop(step, done, total):
        assert (step, done) == ("split", 0)
        raise StopError

    with pytest.raises(StopError):
        generalize(
            quasi_identifiers=np.zeros((4, 1), dtype=np.int32),
            sensitive=np.array([0, 1, 0, 1]),
            values=2,
            signature_of=np.full(4, -1),
            signatures=Signatures.of([]),
            m=2,
            rng=np.random.default_rng(0),
            progress=stop,
        )
