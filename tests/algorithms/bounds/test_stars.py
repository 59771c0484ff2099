"""Lower bounds are lower bounds: against the optimum of small tables, and below every algorithm on larger ones."""

from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.every import every
from tests.oracles.invariants import check_lower_bound
from tests.oracles.oracles import cost_of_partition, groups_of_labels, optimal_partition, predicate_of
from tests.oracles.strategies import code_tables

from shoal import datasets
from shoal._core.facts import Fact
from shoal.algorithms.algorithm_list import ALGORITHMS, PROVING
from shoal.algorithms.bounds import LowerBound, lower_bound, stars
from shoal.models import (
    AlphaKAnonymity,
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    KEAnonymity,
    LDiversity,
    MUniqueness,
)
from shoal.models.requirement import Requirement
from shoal.table import Schema, encode
from shoal.wording import sentence

KINDS = {
    "k": [KAnonymity(2)],
    "k = 3": [KAnonymity(3)],
    "l": [LDiversity(2)],
    "l = 3": [LDiversity(3)],
    "k and l": [KAnonymity(3), LDiversity(2)],
    "distinct": [LDiversity(2, variant="distinct")],
    "distinct, 3, and k": [LDiversity(3, variant="distinct"), KAnonymity(4)],
    "entropy": [LDiversity(1.6, variant="entropy")],
    "recursive": [LDiversity(2, variant="recursive", c=1)],
    "recursive, small c": [LDiversity(1, variant="recursive", c=Fraction(1, 2))],
    "recursive, large c": [LDiversity(2, variant="recursive", c=2.5)],
    "alpha": [AlphaKAnonymity(Fraction(3, 7), 1)],
    "alpha and k": [AlphaKAnonymity(0.6, 3)],
    "alpha with many decimals": [AlphaKAnonymity(Fraction(6 * 10**29 + 1, 10**30), 2)],
    "l and distinct": [LDiversity(2), LDiversity(3, variant="distinct")],
    "l and entropy": [LDiversity(2), LDiversity(1.9, variant="entropy")],
    "beta": [BetaLikeness(0.5), KAnonymity(2)],
    "delta": [DeltaDisclosure(2)],
    "(k, e)": [KEAnonymity(2, 1)],
    "m-uniqueness": [MUniqueness(2)],
}
ABSURD = (0, 1, 10**9, -5)


def optima(rows, sensitive, models):
    """The fewest stars and tuples of any release, None where there is none; `sensitive` is a list of columns."""
    decide = [(values, predicate_of(model, values)) for model in models for values in sensitive]

    def predicate(group):
        return all(holds([values[row] for row in group]) for values, holds in decide)

    best = [optimal_partition(rows, range(len(rows)), predicate, cost) for cost in ("stars", "tuples")]
    return None if best[0] is None else (best[0][0], best[1][0])


def check_bounds(problem, stars, tuples):
    for target, work in [(stars, 0), (stars, 500), (stars, 10**6), *((target, 10**6) for target in ABSURD)]:
        bound = lower_bound(problem.table, problem.requirement, target=target, work=work)
        check_lower_bound(bound.stars, stars)
        check_lower_bound(bound.suppressed_tuples, tuples)
        assert bound.stars >= bound.suppressed_tuples
        assert type(bound.stars) is type(bound.suppressed_tuples) is int


@every("models", KINDS.values(), drawn=True)
@settings(max_examples=25, deadline=None)
@given(st.data())
def test_below_the_optimum(problem_of, models, data):
    l = 3 if models in (KINDS["l = 3"], KINDS["distinct, 3, and k"], KINDS["l and distinct"]) else 2
    codes = data.draw(code_tables(min_rows=4, max_rows=7, max_domain=3, l=l))
    assume(not problem_is_infeasible(models, [codes.values]))
    best = optima(codes.rows, [codes.values], models)
    assume(best is not None)
    check_bounds(problem_of(codes.quasi_identifiers.T.tolist(), [codes.values], models), *best)


def problem_is_infeasible(models, sensitive):
    """Whether the whole table fails a model that is monotone, so that no release exists."""
    return any(model.monotone and not predicate_of(model, values)(values) for model in models for values in sensitive)


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_below_the_optimum_of_larger_domains_and_groups(problem_of, data):
    l = data.draw(st.sampled_from([2, 2, 3]))
    codes = data.draw(code_tables(min_rows=8, max_rows=9, min_columns=2, max_domain=9, max_values=6, l=l))
    models = [LDiversity(l)]
    best = optima(codes.rows, [codes.values], models)
    problem = problem_of(codes.quasi_identifiers.T.tolist(), [codes.values], models)
    for work in (0, 10**6):
        bound = lower_bound(problem.table, problem.requirement, target=best[0], work=work)
        check_lower_bound(bound.stars, best[0])
        check_lower_bound(bound.suppressed_tuples, best[1])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_below_the_optimum_with_two_sensitive_attributes(problem_of, data):
    codes = data.draw(code_tables(min_rows=4, max_rows=7, max_domain=3, l=2))
    second = data.draw(st.permutations(codes.values))
    models = data.draw(st.sampled_from([models for models in KINDS.values() if len(models) == 1]))
    both = [codes.values, second]
    assume(not problem_is_infeasible(models, both))
    best = optima(codes.rows, both, models)
    assume(best is not None)
    check_bounds(problem_of(codes.quasi_identifiers.T.tolist(), both, models), *best)


@every("kind", [kind for kind in KINDS if kind != "m-uniqueness"], drawn=True)
@every(("n", "d"), [(200, 2), (500, 3), (400, 7)], drawn=True)
def test_below_every_algorithm_on_census_tables(problem_of, kind, n, d):
    frame = datasets.census(n, quasi_identifiers=d, seed=n)
    columns = [frame.to_series(place).to_list() for place in range(d)]
    sensitive = [value % 8 for value in frame["income"].to_list()]
    models = KINDS[kind]
    assert not problem_is_infeasible(models, [sensitive])
    problem = problem_of(columns, [sensitive], models)
    rows = list(zip(*columns, strict=True))
    found = {}
    for name, algorithm in ALGORITHMS.items():
        if name not in PROVING and algorithm.unsupported(problem.requirement) is None:
            groups = groups_of_labels(algorithm.partition(problem).groups.tolist())
            found[name] = [cost_of_partition(rows, groups, cost) for cost in ("stars", "tuples")]
    stars, tuples = (min(costs[place] for costs in found.values()) for place in (0, 1))
    previous = 0
    for work in (0, 10**5, 6 * 10**6):
        bound = lower_bound(problem.table, problem.requirement, target=stars, work=work)
        assert bound.stars <= stars
        assert (kind != "delta") <= bound.suppressed_tuples <= tuples
        assert bound.stars >= previous * 0.98, "more work is meant to help"
        previous = bound.stars
    assert lower_bound(problem.table, problem.requirement, target=10**9).stars <= stars


@pytest.mark.parametrize(("d", "worst"), [(2, 1.25), (4, 1.15)])
def test_close_to_what_is_found(problem_of, d, worst):
    frame = datasets.census(3_000, quasi_identifiers=d, seed=5)
    columns = [frame.to_series(place).to_list() for place in range(d)]
    problem = problem_of(columns, [frame["income"].to_list()], LDiversity(6))
    groups = groups_of_labels(ALGORITHMS["tp+"].partition(problem).groups.tolist())
    stars = cost_of_partition(list(zip(*columns, strict=True)), groups)
    assert stars <= worst * lower_bound(problem.table, problem.requirement, target=stars).stars


def test_each_reason_by_hand(problem_of):
    def of(columns, sensitive, models, target=10**9):
        problem = problem_of(columns, sensitive, models)
        return lower_bound(problem.table, problem.requirement, target=target)

    # Nothing to do.
    bound = of([[0, 0, 1, 1]], [list("abab")], LDiversity(2))
    assert bound == LowerBound(stars=0, suppressed_tuples=0, why=Fact("all_can_stay"))
    # The paper's second example: |R1| = 8 and l * h(R1) = 12.
    rows = [(q, v) for q, counts in enumerate([[3, 1, 1, 2, 3], [0, 2, 2, 4, 4], [4, 4, 0, 0, 0]])
            for v, count in enumerate(counts) for _ in range(count)]  # fmt: skip
    bound = of([[q for q, _ in rows]], [[v for _, v in rows]], LDiversity(3))
    assert (bound.stars, bound.suppressed_tuples) == (12, 12)
    assert bound.why == Fact("pillar")
    # Phase one takes one a from the first class, and the only b of the second.
    bound = of([[0, 0, 0, 1, 2, 2]], [list("aabbab")], LDiversity(2))
    assert (bound.suppressed_tuples, bound.why) == (2, Fact("residue"))
    # A group of k rows is needed, whoever is in it.
    bound = of([[0, 1, 1, 1, 1, 1]], [], KAnonymity(3))
    assert (bound.stars, bound.suppressed_tuples) == (3, 3)
    # Theorem 10, case 3: the class of four cannot spare two rows.
    bound = of([[0, 1, 1, 1, 1]], [], KAnonymity(3))
    assert (bound.stars, bound.suppressed_tuples) == (5, 5)
    assert "whole large class" in sentence(bound.why)
    # No two rows agree on any attribute: every one must lose both.
    bound = of([[0, 1, 2, 3], [0, 1, 2, 3]], [list("abab")], LDiversity(2))
    assert (bound.stars, bound.suppressed_tuples) == (8, 4)
    assert "cheapest projections" in sentence(bound.why)


def test_it_stops_at_the_target_and_needs_no_sensitive_attribute(problem_of):
    columns = [[row % 7 for row in range(60)], [row % 11 for row in range(60)], [row % 13 for row in range(60)]]
    problem = problem_of(columns, [], KAnonymity(2))
    bounds = {lower_bound(problem.table, problem.requirement, target=target).stars for target in (0, 1, 180, 10**9)}
    # k-anonymity has nothing to raise: no value is too frequent. Rows that agree on an attribute or two are few.
    assert len(bounds) == 1
    counts = Counter(zip(*columns, strict=True))
    assert bounds.pop() >= sum(1 for count in counts.values() if count == 1)


@every("seed", range(3))
@every("model", [KAnonymity(3), LDiversity(2), LDiversity(3, variant="distinct")])
def test_charging_each_row_by_itself_is_the_dual_program_before_its_first_step(model, seed):
    table = datasets.census(150, quasi_identifiers=4, seed=seed)
    encoded = encode(table, Schema(quasi_identifiers=tuple(table.columns[:-1]), sensitive=("income",)))
    requirement = Requirement.of(model, ("income",))
    relaxed = stars.Relaxation.of(requirement, table.height)
    rng = np.random.default_rng(seed)
    changing = rng.integers(0, encoded.classes.cell_counts + 1).astype(np.int32)
    cells, items = stars._Cells.of(encoded, relaxed), np.flatnonzero(changing)
    level = cells.fewest_stars(items)
    assert level.min() == 1
    assert level.max() > 1
    families = [stars._Family(starred=(a,), stars=1) for a in range(4)]
    families += [stars._Family(starred=(0, 1, 2, 3), stars=most) for most in stars._rest(1, level)]
    sharing = stars._dual_bound(stars._items(cells, families, items, changing, level), relaxed.l, target=1, steps=0)
    alone = stars._stars_without_sharing(cells, items, changing, level)
    assert sharing == alone
    assert alone > changing.sum()


@every("patterns", [1000, 10, 4], drawn=True)
@every("seed", range(3))
@every(
    "models", [[KAnonymity(6)], [KAnonymity(30)], [LDiversity(3), KAnonymity(5)], [LDiversity(3, variant="distinct")]]
)
def test_the_fewest_stars_of_a_row_are_those_of_its_smallest_pattern_with_a_group(models, seed, patterns, monkeypatch):
    """All patterns are tried, from both ends or from one; or with four of them, those of one star and of three."""
    monkeypatch.setattr(stars, "_LEVEL_WORK", patterns * stars._FEW_CELLS)
    table = datasets.census(120, quasi_identifiers=4, seed=seed)
    encoded = encode(table, Schema(quasi_identifiers=tuple(table.columns[:-1]), sensitive=("income",)))
    relaxed = stars.Relaxation.of(Requirement.of(models, ("income",)), table.height)
    cells = stars._Cells.of(encoded, relaxed)
    rows = table.rows()
    level = cells.fewest_stars(np.arange(len(cells.values)))
    for place, first in enumerate(encoded.classes.first_rows.tolist()):

        def fits(starred, first=first):
            agreeing = [row for row in rows if all(row[a] == rows[first][a] for a in range(4) if a not in starred)]
            counts = sorted(Counter(row[-1] for row in agreeing).values())
            parts = (sum(min(count, height) for count in counts) for height in range(1, counts[-1] + 1))
            large = any(part >= max(relaxed.k, relaxed.l * height) for height, part in enumerate(parts, 1))
            return large and len(counts) >= relaxed.distinct

        fewest = next(n for n in range(1, 5) if any(fits(starred) for starred in combinations(range(4), n)))
        assert level[place] == (2 if patterns == 4 and fewest == 3 else fewest)


def test_a_wide_table_is_bounded_by_few_of_its_patterns(problem_of, monkeypatch):
    """A table of two different rows and thirty columns has a thousand million patterns."""
    tried = []
    projected = stars._Cells.projected
    monkeypatch.setattr(stars._Cells, "projected", lambda self, *given: tried.append(given) or projected(self, *given))
    problem = problem_of([[1, 1, 0]] * 30, [[0, 0, 0]], [KAnonymity(3)])
    assert lower_bound(problem.table, problem.requirement, target=90).stars == 90
    assert len(tried) < 2000
