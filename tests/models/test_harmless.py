"""l-diversity with values that need no protection: the model, releases, audits, words and reports."""

import numpy as np
import polars as pl
import pytest
from tests.every import every, some
from tests.oracles import oracles

import shoal
from shoal.errors import InfeasibleError, UnsupportedError, UsageError
from shoal.models import LDiversity
from shoal.models.base import GroupCounts
from shoal.models.domain import Domain
from shoal.models.population import Population
from shoal.report.sentences import achieved_for, model_title, promise
from shoal.request.request import Request

ROLES = {"quasi_identifiers": ["age", "sex"], "sensitive": "disease"}
VALUES = ("flu", "healthy", "HIV", "none")


def draw(rows, seed, shares=(0.15, 0.55, 0.1, 0.2)):
    """Draw a table in which most people are healthy."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 26, rows),
            "sex": rng.choice(["f", "m"], rows),
            "disease": rng.choice(VALUES, rows, p=shares),
        }
    )


def groups_of(release):
    """List the sensitive values of each published group."""
    frame = release.data.group_by(["age", "sex"]).agg("disease")
    return frame["disease"].to_list()


def test_the_model_agrees_with_its_oracle():
    rng = np.random.default_rng(3)
    for _ in range(200):
        groups = [[VALUES[v] for v in rng.integers(0, 4, rng.integers(1, 8))] for _ in range(4)]
        counts = [[group.count(value) for value in VALUES] for group in groups]
        matrix = np.array(counts)
        group, values = np.nonzero(matrix)
        counted = GroupCounts(
            sizes=matrix.sum(axis=1),
            starts=np.append(np.flatnonzero(np.diff(group, prepend=-1)), len(group)),
            values=values,
            counts=matrix[group, values],
            population=Population(totals=matrix.sum(axis=0), domain=Domain.of(labels=VALUES)),
        )
        harmless = tuple(rng.choice(VALUES, rng.integers(1, 3), replace=False).tolist())
        model = LDiversity(int(rng.integers(1, 5)), harmless=harmless)
        expected = [oracles.predicate_of(model, ())(one) for one in groups]
        assert model.acceptable(counted).tolist() == expected
        largest = min(len(one) / max(1, *(one.count(v) for v in {*one, ""} - {*harmless})) for one in groups)
        assert float(model.measure_l(counted)) == pytest.approx(largest)


@every("algorithm", ["auto", "tp", "hilbert", "mondrian", "full-domain", "cluster", "exact", "milp"])
def test_every_algorithm_protects_the_other_values_only(algorithm):
    for seed in some(range(3)):
        table = draw(14 if algorithm in ("exact", "milp") else 60, seed)
        release = shoal.anonymize(table, **ROLES, l=3, harmless="healthy", algorithm=algorithm, seed=1)
        groups = groups_of(release)
        assert all(oracles.frequency_diverse_except(group, 3, ["healthy"]) for group in groups)
        achieved = release.certificate.achieved["without_harmless"]
        others = [max(1, *(group.count(v) for v in {*group} - {"healthy"}), 0) for group in groups]
        least = min(len(group) / most for group, most in zip(groups, others, strict=True))
        assert achieved == [{"values": ["healthy"], "l": pytest.approx(least, abs=1e-4)}]


def test_less_is_lost_than_if_all_values_are_protected():
    table = draw(400, 1, (0.15, 0.6, 0.1, 0.15))
    asked = {**ROLES, "l": 3, "recoding": "suppression"}
    with pytest.raises(InfeasibleError):
        shoal.anonymize(table, **asked)
    release = shoal.anonymize(table, **asked, harmless=["healthy"], seed=1)
    assert release.certificate.algorithm == "tp+"
    assert release.certificate.cost.stars < 40


@pytest.mark.drawn
def test_the_fewest_stars_are_those_of_a_table_whose_harmless_values_differ():
    for seed in range(4):
        table = draw(12, seed, (0.2, 0.5, 0.1, 0.2))
        own = pl.when(pl.col("disease") == "healthy").then(pl.int_range(12).cast(pl.String)).otherwise("disease")
        options = {**ROLES, "l": 2, "algorithm": "exact", "recoding": "suppression", "seed": 1}
        few = shoal.anonymize(table, **options, harmless="healthy").certificate.cost
        apart = shoal.anonymize(table.with_columns(own.alias("disease")), **options).certificate.cost
        assert few.stars == apart.stars
        assert few.bound.stars <= few.stars


def test_streams_count_the_other_values_only(tmp_path):
    table = draw(500, 2)
    table.write_parquet(tmp_path / "in.parquet")
    options = {**ROLES, "l": 3, "harmless": "healthy", "seed": 1}
    release = shoal.anonymize(tmp_path / "in.parquet", engine="stream", **options)
    frame = release.data.collect().group_by(["age", "sex"]).agg("disease")
    assert all(oracles.frequency_diverse_except(group, 3, ["healthy"]) for group in frame["disease"].to_list())


def test_audits_take_the_request_from_python_and_find_failures():
    table = pl.DataFrame({"age": ["*"] * 4, "sex": ["*"] * 4, "disease": ["healthy", "healthy", "healthy", "flu"]})
    assert shoal.audit(table, **ROLES, l=4, harmless="healthy").violations == ()
    failed = shoal.audit(table, **ROLES, l=4)
    assert len(failed.violations) == 1
    found = shoal.audit(table, **ROLES, l=5, harmless="healthy")
    assert len(found.violations) == 1
    assert "healthy" not in found.violations[0]
    assert found.achieved.to_dict()["without_harmless"] == [{"values": ["healthy"], "l": 4.0}]


def test_numbers_are_harmless_by_size():
    table = pl.DataFrame({"age": [1] * 4, "sex": ["m"] * 4, "disease": [0, 0, 0, 7]})
    release = shoal.anonymize(table, **ROLES, l=4, harmless="0", seed=1)
    assert release.certificate.cost.stars == 0


def test_words_and_plans_keep_harmless_values():
    request = Request(**ROLES, l=3, harmless=["healthy", "well, fit"], seed=1)
    assert request.to_cli()[-6:] == ["-l", "3", "--model", "harmless=healthy", "--model", "harmless=well, fit"]
    assert 'privacy.harmless = ["healthy", "well, fit"]' in request.to_toml()
    assert Request.from_words(request.words).requirement == request.requirement
    release = shoal.anonymize(draw(60, 1), **ROLES, l=3, harmless="healthy", recoding="generalization", seed=1)
    second = shoal.apply(release.plan, draw(200, 4), misfits="suppress")
    assert second.certificate.requested == release.certificate.requested


def test_reports_name_the_values_that_need_no_protection():
    request = {"model": "l-diversity", "variant": "frequency", "l": 3, "harmless": ["healthy"]}
    assert model_title(request) == "l-diversity (frequency), l = 3, without 'healthy'"
    assert promise(request, ["disease"]).endswith(
        "except for 'healthy': the publisher decided that this needs no protection."
    )
    achieved = {"k": 3, "l": {"frequency": 1.0}, "without_harmless": [{"values": ["healthy"], "l": 3.5}]}
    assert achieved_for(request, achieved) == "l = 3.5"


@every(
    ("options", "problem"),
    [
        ({"harmless": "healthy"}, "need"),
        ({"privacy": lambda: LDiversity(2, variant="distinct", harmless="healthy")}, "frequency"),
        ({"privacy": lambda: LDiversity(2, harmless=3)}, "harmless"),
        ({"l": 2, "harmless": "healthy", "qi_sets": ["age", "sex"]}, "one set"),
        ({"l": 2, "harmless": "helthy"}, "no sensitive column"),
    ],
)
def test_invalid_requests_are_refused_without_naming_a_value(options, problem):
    def run():
        made = {name: one() if callable(one) else one for name, one in options.items()}
        return shoal.anonymize(draw(30, 1), **ROLES, **made)

    with pytest.raises(UsageError, match=problem) as caught:
        run()
    assert "healthy" not in str(caught.value)
    assert "helthy" not in str(caught.value)


def test_algorithms_by_name_that_need_frequencies_refuse_other_models_of_values():
    with pytest.raises(UnsupportedError):
        shoal.anonymize(
            draw(60, 1), **ROLES, privacy=[LDiversity(2, harmless="healthy"), LDiversity(2)], algorithm="tp"
        )
