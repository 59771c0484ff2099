"""The integer program over generalization vectors: its parameters, its limits, and what it says when time is short."""

from random import Random

import numpy as np
import pytest
from tests.oracles.invariants import check_partition
from tests.oracles.oracles import cost_of_partition, predicate_of

import shoal
from shoal import KAnonymity, LDiversity
from shoal.algorithms import GeneralizationVectors, Hilbert
from shoal.errors import UnsupportedError
from shoal.models import TCloseness
from shoal.wording import sentence


def table(seed, rows, sizes, values):
    chance = Random(seed)
    columns = [[chance.randrange(size) for _ in range(rows)] for size in sizes]
    return columns, [chance.randrange(values) for _ in range(rows)]


@pytest.mark.drawn
def test_a_time_limit_leaves_a_partition_and_a_gap(problem_of):
    columns, sensitive = table(1, 300, (4, 4, 4), 5)
    models = [TCloseness(0.25), KAnonymity(5)]
    problem = problem_of(columns, [sensitive], models)
    found = GeneralizationVectors(time_limit=0.2).partition(problem)
    predicates = [predicate_of(model, sensitive) for model in models]
    groups = check_partition(found, rows=300, sensitive=[sensitive], predicates=predicates)
    stars = cost_of_partition(list(zip(*columns, strict=True)), groups)
    guarantee = found.guarantee
    assert 0 < guarantee.stars_bound < stars
    assert stars == guarantee.stars_ratio * guarantee.stars_bound
    assert stars <= cost_of_partition(list(zip(*columns, strict=True)), groups_of(Hilbert().partition(problem)))
    assert f"fewer than {guarantee.stars_bound} cells" in sentence(guarantee.promise)
    assert "the time limit ended the search" in sentence(guarantee.promise)
    assert found.details["status"] == "time-limit"


def groups_of(partition):
    return [np.flatnonzero(partition.groups == group).tolist() for group in range(partition.count)]


@pytest.mark.drawn
def test_an_interruption_leaves_a_release_that_is_verified_with_its_gap():
    columns, sensitive = table(2, 300, (4, 4, 4), 5)
    data = {f"q{place}": column for place, column in enumerate(columns)} | {"s": sensitive}

    def stop(step, done, total):
        if step == "milp" and total == 60:
            raise KeyboardInterrupt

    release = shoal.anonymize(
        shoal_frame(data),
        quasi_identifiers=["q0", "q1", "q2"],
        sensitive="s",
        privacy=[TCloseness(0.25), KAnonymity(5)],
        algorithm="milp",
        recoding="suppression",
        progress=stop,
    )
    cost = release.certificate.cost
    assert not cost.optimal
    assert 0 < cost.bound.stars < cost.stars
    assert "an interruption ended the search" in sentence(release.certificate.guarantee.promise)
    assert release.certificate.achieved["t"]["s"] <= 0.25


def shoal_frame(data):
    import polars as pl

    return pl.DataFrame(data)


def test_the_certificate_says_optimal_and_why():
    columns, sensitive = table(3, 40, (3, 3), 4)
    data = {f"q{place}": column for place, column in enumerate(columns)} | {"s": sensitive}
    request = {"quasi_identifiers": ["q0", "q1"], "sensitive": "s", "privacy": [LDiversity(2, variant="distinct")]}
    for recoding in ("suppression", "generalization"):
        found = [
            shoal.anonymize(shoal_frame(data), **request, algorithm="milp", recoding=recoding).certificate,
            shoal.anonymize(shoal_frame(data), **request, algorithm="mondrian", recoding=recoding).certificate,
        ]
        assert found[0].cost.optimal
        assert found[0].to_dict()["cost"]["optimal"] is True
        assert found[0].cost.bound.stars == found[0].cost.recoded_cells <= found[1].cost.recoded_cells
        assert (
            sentence(found[0].guarantee.promise)
            == "Proven optimal: no release with this requirement recodes fewer cells."
        )


@pytest.mark.drawn
def test_a_gap_that_was_asked_for(problem_of):
    columns, sensitive = table(4, 200, (4, 4, 4), 5)
    found = GeneralizationVectors(gap=0.5).partition(problem_of(columns, [sensitive], TCloseness(0.25)))
    assert 1 <= found.guarantee.stars_ratio <= 2
    assert found.details["solver_seconds"] < 60


def test_where_a_heuristic_meets_the_bound_nothing_is_solved(problem_of):
    found = GeneralizationVectors().partition(problem_of([[1] * 6 + [2] * 6], [[1, 2, 3] * 4], LDiversity(3)))
    assert (found.guarantee.stars_bound, found.count) == (0, 2)
    assert found.details == {"status": "optimal", "found_by": "'tp+'"}


def test_programs_that_are_too_large_are_refused_with_their_size(problem_of):
    columns, sensitive = table(5, 2_000, (9,) * 9, 5)
    with pytest.raises(UnsupportedError, match=r"combinations of 9 quasi-identifiers.*1\.0e\+06 variables"):
        GeneralizationVectors().partition(problem_of(columns, [sensitive], KAnonymity(2)))
