"""Counterfeited generalization against the paper's example, its invariants, and the definition of m-invariance."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.errors import InfeasibleError
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


@pytest.mark.parametrize("balancing", ["fewest", "paper"])
@pytest.mark.parametrize("seed", range(10))
def test_tables_1_to_3_of_the_paper(seed, balancing):
    made, groups, fakes = publish_the_second_table(seed, balancing)
    assert made.count == 6
    assert len(made.groups) + made.counterfeits == 13
    # Bob with a counterfeit bronchitis, Jane and Linda with a counterfeit flu
    assert fakes == {frozenset({"Bob"}): [BRONCHITIS], frozenset({"Jane", "Linda"}): [FLU]}
    # Ray is the only new dyspepsia, and balances Steve's bucket
    assert frozenset({"Ray", "Steve"}) in groups
    assert made.details["balanced_with_new"] == 1
    assert not made.held_back.size


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
    made = generalize(m=3, hold_back=True, **rows)
    assert len(made.held_back) == 1
    assert made.held_back[0] in (0, 1, 2)
    assert made.groups[made.held_back[0]] == made.signature_of[made.held_back[0]] == -1
    assert made.count == 2
