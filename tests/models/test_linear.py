"""Models as linear inequalities say what their definitions say."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.oracles.strategies import ground_distances, models

from shoal.hierarchy import Hierarchy
from shoal.models import LDiversity, MUniqueness, TCloseness
from shoal.models.base import GroupCounts
from shoal.models.domain import Domain
from shoal.models.hierarchical_distance import HierarchicalDistance
from shoal.models.metric_distance import MetricDistance
from shoal.models.population import Population
from shoal.solver import Program, Rows, solve

GROUNDS = [
    MetricDistance(range(4), [[abs(i**2 - j**2) for j in range(4)] for i in range(4)]),
    MetricDistance(range(4), [[0, 1, 1, 2], [1, 0, 2, 1], [1, 2, 0, 1], [2, 1, 1, 0]]),
    HierarchicalDistance(Hierarchy.from_rows([(str(value), f"b{value // 2}", "*") for value in range(4)])),
    HierarchicalDistance(
        Hierarchy.from_rows([(str(value), f"a{value // 3}", f"b{value // 3}", "*") for value in range(4)])
    ),
    HierarchicalDistance(Hierarchy.from_rows([(str(value), "*") for value in range(4)])),
]


def one_group(counts, totals):
    values = np.flatnonzero(counts)
    return GroupCounts(
        sizes=np.array([sum(counts)]),
        starts=np.array([0, len(values)]),
        values=values.astype(np.int64),
        counts=np.asarray(counts, dtype=np.int64)[values],
        population=Population(
            totals=np.asarray(totals, dtype=np.int64),
            domain=Domain.of(
                labels=list(range(len(totals))), numbers=list(range(len(totals))), ranks=np.arange(len(totals))
            ),
        ),
    )


def has_solution(form, counts, *, scale=1):
    """Whether some auxiliary variables meet all rows of a form, the counts being given."""
    known = [*counts, sum(counts)]
    first = len(known)
    rows = []
    for row in form.rows:
        fixed = sum(number * known[place] for place, number in row.coefficients.items() if place < first)
        free = {place - first: float(number) for place, number in row.coefficients.items() if place >= first}
        rest = float(row.constant * scale - fixed)
        rows.append((list(free), list(free.values()), rest, rest if row.equal else np.inf))
    program = Program(
        costs=np.zeros(form.auxiliaries),
        integer=np.full(form.auxiliaries, form.binary),
        lower=np.zeros(form.auxiliaries),
        upper=np.full(form.auxiliaries, 1.0 if form.binary else np.inf),
        rows=Rows.of(rows),
    )
    return solve(program).status == "optimal"


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_a_form_holds_where_the_model_does(data):
    totals = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    counts = [data.draw(st.integers(0, total)) for total in totals]
    assume(any(counts))
    closeness = st.builds(
        TCloseness,
        st.sampled_from([0, 0.1, 0.25, 0.3, 0.5, 1]),
        distance=ground_distances(list(range(len(totals)))),
    )
    metric = st.builds(TCloseness, st.sampled_from([0.1, 0.25, 0.4]), distance=st.sampled_from(GROUNDS))
    model = data.draw(st.one_of(models(monotone=True, numeric=True), closeness, metric))
    table = one_group(totals, totals)
    form = model.linear_form(table.population)
    assert (form is not None) == model.is_linear
    if form is not None:
        assert has_solution(form, counts) == bool(model.acceptable(one_group(counts, totals))[0])
        assert has_solution(form, [0] * len(totals), scale=0), "a group without rows"


def test_forms_by_enumeration():
    # Auxiliary variables that are whole numbers can be tried one by one.
    form = LDiversity(2, variant="distinct").linear_form(one_group([2, 2, 2], [2, 2, 2]).population)
    for counts in itertools.product(range(3), repeat=3):
        expected = np.count_nonzero(counts) >= 2
        known = [*counts, sum(counts)]
        met = any(
            all(
                sum(number * [*known, *chosen][place] for place, number in row.coefficients.items()) >= row.constant
                for row in form.rows
            )
            for chosen in itertools.product((0, 1), repeat=form.auxiliaries)
        )
        assert met == expected


@pytest.mark.parametrize("model", [LDiversity(2.5, variant="entropy"), MUniqueness(2)])
def test_what_has_no_form(model):
    assert not model.is_linear
    assert model.linear_form(one_group([2, 2], [2, 2]).population) is None
