"""Optimal 2-anonymity and 2-diversity: Lemma 2, all partitions as the judge, and what ends a search early."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.covers import cheapest_cover
from tests.oracles.invariants import check_partition
from tests.oracles.oracles import cost_of_partition, frequency_diverse, k_anonymous, optimal_partition
from tests.oracles.strategies import code_tables, frame_tables

import shoal
from shoal import datasets
from shoal.algorithms import Matching
from shoal.algorithms.algorithm_list import ALGORITHMS
from shoal.algorithms.matching import matching as room
from shoal.errors import InfeasibleError, MissingExtraError
from shoal.models import AlphaKAnonymity, KAnonymity, LDiversity, MUniqueness
from shoal.models.requirement import Requirement
from shoal.wording import sentence

DIVERSE, ANONYMOUS = LDiversity(2), KAnonymity(2)


def groups_of(result, values, model):
    predicate = (lambda group: frequency_diverse(group, 2)) if model == DIVERSE else (lambda g: k_anonymous(g, 2))
    return check_partition(result, rows=len(values), sensitive=[values], predicates=[predicate])


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_the_optimum_of_all_partitions(problem_of, data):
    model = data.draw(st.sampled_from([DIVERSE, ANONYMOUS]))
    codes = data.draw(code_tables(min_rows=2, max_rows=8, max_columns=3, l=2 if model == DIVERSE else 1))
    predicate = (lambda group: frequency_diverse(group, 2)) if model == DIVERSE else (lambda g: k_anonymous(g, 2))
    fewest, _ = optimal_partition(codes.rows, codes.values, predicate)
    result = Matching().partition(problem_of(codes.quasi_identifiers.T.tolist(), [codes.values], model))
    groups = groups_of(result, codes.values, model)
    assert cost_of_partition(codes.rows, groups) == fewest == result.guarantee.stars_bound
    # Lemma 2: pairs and triples suffice.
    assert cheapest_cover(codes.rows, codes.values if model == DIVERSE else None, len) == fewest


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_larger_tables_against_all_covers_and_every_heuristic(problem_of, data):
    model = data.draw(st.sampled_from([DIVERSE, ANONYMOUS]))
    codes = data.draw(code_tables(min_rows=9, max_rows=13, max_columns=4, l=2 if model == DIVERSE else 1))
    problem = problem_of(codes.quasi_identifiers.T.tolist(), [codes.values], model)
    result = Matching().partition(problem)
    stars = cost_of_partition(codes.rows, groups_of(result, codes.values, model))
    assert stars == cheapest_cover(codes.rows, codes.values if model == DIVERSE else None, len)
    for name in ("tp", "tp+", "hilbert", "mondrian", "m-approximation"):
        if ALGORITHMS[name].unsupported(problem.requirement) is None:
            other = groups_of(ALGORITHMS[name].partition(problem), codes.values, model)
            assert stars <= cost_of_partition(codes.rows, other), name


@settings(max_examples=40, deadline=None)
@given(frame_tables(code_tables(min_rows=2, max_rows=12, l=2)), st.sampled_from(["suppression", "generalization"]))
def test_releases_of_frames_with_missing_cells(table, recoding):
    cells = cheapest_cover(table.codes.rows, table.codes.values, len)
    release = shoal.anonymize(
        table.frame,
        quasi_identifiers=table.quasi_identifiers,
        sensitive=table.sensitive,
        privacy=[DIVERSE, ANONYMOUS],
        algorithm="matching",
        recoding=recoding,
        seed=1,
    )
    cost = release.certificate.cost
    assert cost.optimal
    assert cost.recoded_cells == cost.bound.stars == cells


@pytest.mark.parametrize("model", [DIVERSE, ANONYMOUS], ids=["l", "k"])
@pytest.mark.parametrize("limit", [0, None])
def test_never_worse_than_where_it_starts(problem_of, model, limit):
    frame = datasets.census(150, quasi_identifiers=5, seed=3)
    columns = [frame.to_series(place).to_list() for place in range(5)]
    values = frame["income"].to_list()
    problem = problem_of(columns, [values], model)
    rows = list(zip(*columns, strict=True))
    start = ALGORITHMS["tp+" if model == DIVERSE else "m-approximation"].partition(problem)
    result = Matching(time_limit=limit).partition(problem)
    stars = cost_of_partition(rows, groups_of(result, values, model))
    assert stars <= cost_of_partition(rows, groups_of(start, values, model))
    if limit is None:
        assert (
            sentence(result.guarantee.promise)
            == "Proven optimal: no release with this requirement recodes fewer cells."
        )
        assert result.guarantee.stars_bound == stars
        assert "dual solution checked in integers" in sentence(result.guarantee.proof)
    else:
        assert sentence(result.guarantee.promise) == "None: the search was stopped before it proved anything."
        assert result.guarantee.stars_bound is None


@pytest.mark.drawn
def test_an_interrupt_leaves_the_best_so_far_with_its_gap():
    frame = datasets.census(220, quasi_identifiers=6, seed=4)
    columns = frame.columns[:6]
    steps = []

    def progress(step, done, total):
        steps.append(step)
        if steps.count("matching") == 9:
            raise KeyboardInterrupt

    asked = {
        "quasi_identifiers": columns,
        "sensitive": "income",
        "privacy": DIVERSE,
        "recoding": "suppression",
        "seed": 1,
    }
    frame = frame.select(*columns, "income")
    best = shoal.anonymize(frame, algorithm="matching", **asked).certificate.cost
    cost = shoal.anonymize(frame, algorithm="matching", progress=progress, **asked).certificate.cost
    assert best.optimal
    assert cost.bound.stars <= best.stars <= cost.stars
    assert steps.count("matching") > 8


def test_two_sensitive_values_are_assigned(problem_of):
    chance = np.random.default_rng(1)
    columns = [chance.integers(0, domain, 400).tolist() for domain in (40, 9, 7, 2)]
    values = chance.permutation(np.arange(400) % 2).tolist()
    result = Matching().partition(problem_of(columns, [values], DIVERSE))
    stars = cost_of_partition(list(zip(*columns, strict=True)), groups_of(result, values, DIVERSE))
    assert stars == result.guarantee.stars_bound
    assert sentence(result.guarantee.proof).startswith("assignment of the rows of one value")


def test_equal_rows_are_one_group(problem_of):
    result = Matching().partition(problem_of([[1] * 7 + [2, 3]], [[0, 1, 2, 3, 4, 5, 6, 0, 1]], ANONYMOUS))
    assert sorted(np.bincount(result.groups).tolist()) == [2, 7]
    result = Matching().partition(problem_of([[1] * 4 + [2] * 3], [[0, 1, 0, 1, 0, 1, 2]], DIVERSE))
    assert np.bincount(result.groups).tolist() == [4, 3]
    assert result.guarantee.stars_bound == 0


@pytest.mark.parametrize("case", ["types", "attributes"])
def test_too_large_tables_are_not_searched(problem_of, monkeypatch, case):
    if case == "types":
        monkeypatch.setattr(room, "_MAX_TYPES", 10)
    columns = [[row * 7 % 11 for row in range(40)], [row % 3 for row in range(40)]] * (
        32 if case == "attributes" else 1
    )
    problem = problem_of(columns, [], ANONYMOUS)
    result = Matching().partition(problem)
    start = ALGORITHMS["m-approximation"].partition(problem)
    assert np.array_equal(result.groups, start.groups)
    assert sentence(result.guarantee.promise).startswith(sentence(start.guarantee.promise))
    assert sentence(result.guarantee.promise).endswith("The table is too large to be searched for the fewest stars.")
    assert result.guarantee.stars_bound is None


def test_what_it_serves():
    asked = Matching().unsupported
    for models in ([ANONYMOUS], [DIVERSE], [ANONYMOUS, DIVERSE], [AlphaKAnonymity(0.5, 2)], [KAnonymity(1)]):
        assert asked(Requirement.of(models, ("s",))) is None
    for models in (
        [KAnonymity(3)], [LDiversity(3)], [KAnonymity(3), DIVERSE], [LDiversity(2, variant="distinct")],
        [LDiversity(2, variant="entropy")], [LDiversity(2, variant="recursive", c=2)], [MUniqueness(2)],
        [AlphaKAnonymity(0.6, 2)],
    ):  # fmt: skip
        assert "groups of two and three rows suffice" in asked(Requirement.of(models, ("s",)))
    assert asked(Requirement.of(DIVERSE, ("s", "t"))) is not None
    assert asked(Requirement.of(ANONYMOUS, ("s", "t"))) is None


def test_infeasible():
    frame = pl.DataFrame({"q": [1, 2, 3], "s": ["a", "a", "b"]})
    with pytest.raises(InfeasibleError, match="the largest feasible l is 1"):
        shoal.anonymize(frame, quasi_identifiers="q", sensitive="s", privacy=DIVERSE, algorithm="matching")


def test_without_the_solver(problem_of, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "highspy", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'shoal-privacy\[exact\]'"):
        Matching().partition(problem_of([[1, 2, 3, 4]], [], ANONYMOUS))
