"""A frequency requirement stated with small integers says the same of every group of a table."""

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.every import every

from shoal.models import AlphaKAnonymity, KAnonymity, LDiversity
from shoal.models.population import Population
from shoal.models.requirement import FrequencyForm, Requirement


@settings(max_examples=200, deadline=None)
@given(
    st.fractions(min_value=1, max_value=40) | st.builds(Fraction, st.integers(10**30, 10**32), st.just(10**30 - 1)),
    st.integers(1, 60),
)
def test_within_a_table_of_so_many_rows(l, rows):
    form = FrequencyForm(k=3, l=l, sensitive=0)
    same = form.within(rows)
    assert (same.k, same.sensitive) == (3, 0)
    if rows * 1 < l:  # no group of so few rows is acceptable
        assert same == form
        return
    assert max(same.l.numerator, same.l.denominator) <= rows
    assert same.l >= l
    for size in range(1, rows + 1):
        for height in range(1, size + 1):
            assert (l * height <= size) == (same.l * height <= size)


@every(
    ("models", "expected"),
    [
        ([LDiversity(4)], FrequencyForm(k=1, l=Fraction(4), sensitive=0)),
        ([LDiversity(2), KAnonymity(7), LDiversity(3)], FrequencyForm(k=7, l=Fraction(3), sensitive=0)),
        ([AlphaKAnonymity(0.3, 2)], FrequencyForm(k=2, l=Fraction(10, 3), sensitive=0)),
        ([AlphaKAnonymity(0.3, 9), LDiversity(4)], FrequencyForm(k=9, l=Fraction(4), sensitive=0)),
        ([KAnonymity(5), LDiversity(1)], FrequencyForm(k=5, l=Fraction(1), sensitive=None)),
        ([LDiversity(2), LDiversity(2, variant="entropy")], None),
    ],
)
def test_a_conjunction_as_one_form(models, expected):
    assert Requirement.of(models, ("s",)).frequency_form() == expected


def test_two_sensitive_attributes_have_no_one_form():
    assert Requirement.of(LDiversity(2), ("s", "t")).frequency_form() is None
    assert Requirement.of(KAnonymity(2), ("s", "t")).frequency_form() is not None


def test_rules_ask_each_sensitive_attribute_for_those_models_that_look_at_it():
    requirement = Requirement.of([KAnonymity(3), LDiversity(2)], ("a", "b"))
    tables = [Population(totals=np.array([5, 5])), Population(totals=np.array([4, 3, 3]))]
    alone = {model.name: model.rules(tables[0]) for model in requirement.group_models}
    placed = [(position, rule) for position, rule in requirement.rules(tables)]
    assert placed == [
        *((0, rule) for rule in alone["k-anonymity"]),
        *((position, rule) for position in (0, 1) for rule in alone["l-diversity"]),
    ]
