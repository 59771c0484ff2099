"""Dynamic programming over all groups, against the slow one of the oracles."""

from fractions import Fraction
from random import Random

import numpy as np
import pytest
from tests.every import every
from tests.oracles.oracles import cost_of_partition, frequency_diverse, optimal_partition, predicate_of

from shoal import KAnonymity, LDiversity
from shoal.algorithms import Exact
from shoal.algorithms.common.compiled import populations_of
from shoal.algorithms.common.row_types import counted_groups
from shoal.algorithms.exact.exact import SubsetProgram
from shoal.algorithms.exact.subsets_kernel import close_vectors
from shoal.errors import InternalError, UnsupportedError
from shoal.models import TCloseness
from shoal.models.metric_distance import MetricDistance


def subset_program(counts, weights=None, codes=None):
    counts = np.array(counts, dtype=np.int64)
    if codes is None:
        codes = np.arange(len(counts), dtype=np.int32)[:, np.newaxis]
    if weights is None:
        weights = np.zeros((len(counts), 0), dtype=np.int64)
    return SubsetProgram(counts=counts, codes=codes, weights=weights)


def test_sets_and_steps_are_counted():
    assert subset_program([1] * 18).states == 2**18
    assert subset_program([1] * 18).steps == 3**17 + 2**18
    assert subset_program([2, 1]).states == 6
    assert subset_program([9]).states == 10


def test_types_with_many_rows_are_split_where_that_pays():
    # Nine equal rows and one other that needs two companions: seven keep theirs.
    program = subset_program([9, 1], weights=np.array([[1], [1]]))
    at_least_three = np.arange(11) >= 3
    cost, groups = program.solve([at_least_three])
    assert cost == 3
    assert sorted(group.tolist() for group in groups)[0] == [2, 1]
    assert sum(groups).tolist() == [9, 1]


def test_no_partition():
    assert subset_program([2, 2], weights=np.array([[1], [1]])).solve([np.zeros(5, dtype=bool)]) is None


def test_progress_and_being_stopped():
    told = []
    subset_program([1] * 10).solve([], progress=lambda *step: told.append(step))
    assert told[-1] == ("solve", 512, 512)

    def stop(step, done, total):
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        subset_program([1] * 19).solve([], progress=stop)


@pytest.mark.parametrize(
    ("rows", "most", "estimate"), [(30, 10**11, "38 hours"), (90, 10**11, "sets of rows"), (9, 9, "0 s")]
)
def test_tables_that_are_too_large_are_refused_with_an_estimate(problem_of, rows, most, estimate):
    problem = problem_of([list(range(rows))], [], KAnonymity(2))
    with pytest.raises(
        UnsupportedError, match=f"{rows} rows, {rows} of them distinct: it would take .*{estimate}.*'milp'"
    ):
        Exact(most_steps=most).partition(problem)


def test_rows_that_models_cannot_tell_apart_are_counted_together(problem_of):
    # 3 * 2 different quasi-identifiers, 40 rows, all sensitive values different: nobody asks for those.
    chance = Random(1)
    columns = [[chance.randrange(3) for _ in range(24)], [chance.randrange(2) for _ in range(24)]]
    found = Exact().partition(problem_of(columns, [list(range(24))], KAnonymity(5)))
    assert found.details["distinct_rows"] == len(set(zip(*columns, strict=True)))
    assert np.bincount(found.groups).min() >= 5


def test_a_contradiction_is_a_bug(problem_of):
    # The facade asks first whether the whole table is acceptable.
    with pytest.raises(InternalError, match="no acceptable partition"):
        Exact().partition(problem_of([[1, 2]], [], KAnonymity(3)))


PAPER = [
    ("98765", "38", "Bachelor", "Viral Infection"),
    ("98654", "39", "Doctorate", "Heart Disease"),
    ("98543", "32", "Master", "Heart Disease"),
    ("97654", "65", "Bachelor", "Cancer"),
    ("96689", "45", "Bachelor", "Viral Infection"),
    ("97427", "33", "Bachelor", "Viral Infection"),
    ("96552", "54", "Bachelor", "Heart Disease"),
    ("97017", "69", "Doctorate", "Cancer"),
    ("97023", "55", "Master", "Cancer"),
    ("97009", "62", "Bachelor", "Cancer"),
]
"""Table 1 of Liang and Yuan; each digit of Zipcode and Age is a quasi-identifier."""


@pytest.mark.parametrize(
    ("model", "predicate", "published"),
    [
        # The partitions of the paper's Tables 2, 3 and 5.
        (KAnonymity(3), lambda group: len(group) >= 3, [[0, 1, 2], [3, 4, 5, 6], [7, 8, 9]]),
        (LDiversity(2), lambda group: frequency_diverse(group, 2), [[0, 1], [2, 4, 7, 8], [3, 5, 6, 9]]),
        (TCloseness(0.3), None, [[0, 1, 3, 2, 4, 7, 8], [5, 6, 9]]),
    ],
    ids=["Table 2", "Table 3", "Table 5"],
)
def test_the_papers_table(problem_of, model, predicate, published):
    rows = [(*zipcode, *age, education) for zipcode, age, education, _ in PAPER]
    sensitive = [row[-1] for row in PAPER]
    predicate = predicate or predicate_of(model, sensitive)
    assert all(predicate([sensitive[row] for row in group]) for group in published)
    problem = problem_of(list(zip(*rows, strict=True)), [sensitive], model)
    found = Exact().partition(problem)
    assert found.guarantee.stars_bound == optimal_partition(rows, sensitive, predicate)[0]
    assert found.guarantee.stars_bound <= cost_of_partition(rows, published)
    if isinstance(model, KAnonymity):
        assert cost_of_partition(rows, published) == 54


@every("seed", range(6))
def test_the_compiled_clause_of_a_metric_decides_as_the_model_does(problem_of, seed):
    chance = Random(seed)
    totals = [chance.randint(1, 4) for _ in range(4)]
    places = [chance.randint(0, 9) for _ in totals]
    matrix = [[abs(one - other) + (i != j) for j, other in enumerate(places)] for i, one in enumerate(places)]
    asked = TCloseness(Fraction(chance.randint(1, 3), 10), distance=MetricDistance(range(4), matrix))
    sensitive = [value for value, total in enumerate(totals) for _ in range(total)]
    (table,) = populations_of(problem_of([[0] * len(sensitive)], [sensitive], asked).table)
    (rule,) = asked.rules(table)
    assert rule.exact
    radices = np.cumprod([1, *(total + 1 for total in totals[:-1])])
    numbers = np.arange(1, int(np.prod(np.array(totals) + 1)))
    groups = counted_groups(numbers[:, np.newaxis] // radices % (np.array(totals) + 1), table)
    found = close_vectors(numbers, radices, np.array(totals), rule.a, rule.b, rule.c, rule.bounds)
    assert np.array_equal(found, asked.acceptable(groups))
    assert 0 < np.count_nonzero(found) < len(numbers)
