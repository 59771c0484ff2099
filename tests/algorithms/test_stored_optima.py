"""Proven optima of larger tables than brute force can do, stored: they are proven again, and nobody finds less."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.every import every
from tests.oracles.invariants import check_partition
from tests.oracles.oracles import predicate_of, stars_of_group

import shoal
from shoal.algorithms import Cluster, PatternGuided, Sabre
from shoal.algorithms.algorithm_list import ALGORITHMS, PROVING, unsupported
from shoal.algorithms.base import Problem
from shoal.algorithms.bounds import lower_bound
from shoal.models import KAnonymity, LDiversity, TCloseness
from shoal.models.requirement import Requirement
from shoal.table import Schema, encode

OPTIMA = [
    # Who proves it, rows, quasi-identifiers and seed of the census-like table, the models, and the fewest stars.
    ("matching", 600, 5, 1, [KAnonymity(2)], 668),
    ("matching", 500, 7, 2, [KAnonymity(2)], 1090),
    ("matching", 400, 4, 3, [LDiversity(2)], 230),
    ("matching", 300, 6, 4, [LDiversity(2)], 592),
    ("exact", 16, 4, 5, [KAnonymity(3)], 35),
    ("exact", 16, 5, 6, [LDiversity(3, variant="distinct")], 48),
    ("exact", 16, 4, 7, [LDiversity(2, variant="entropy")], 19),
    ("exact", 15, 4, 8, [TCloseness(0.4), KAnonymity(2)], 60),
    ("milp", 80, 3, 9, [LDiversity(3)], 90),
    ("milp", 100, 3, 10, [KAnonymity(5)], 113),
    ("milp", 60, 3, 11, [KAnonymity(4), LDiversity(2)], 68),
]
QUICK = {name: one for name, one in ALGORITHMS.items() if name not in PROVING and name != "patterns"} | {
    "cluster": Cluster(effort=20),
    "sabre": Sabre(effort=20),
}
ADULT = Path(__file__).resolve().parents[3] / "shared" / "data" / "adult" / "adult.csv"


@every(("prover", "rows", "attributes", "seed", "models", "fewest"), OPTIMA)
def test_the_fewest_stars_are_proven_again_and_nobody_finds_less(prover, rows, attributes, seed, models, fewest):
    frame = shoal.datasets.census(rows, quasi_identifiers=attributes, seed=seed)
    *names, sensitive = frame.columns
    problem = Problem(
        table=encode(frame, Schema(quasi_identifiers=tuple(names), sensitive=(sensitive,))),
        requirement=Requirement.of(models, (sensitive,)),
        rng=np.random.default_rng(0),
    )
    proven = ALGORITHMS[prover].partition(problem)
    assert proven.guarantee.stars_bound == fewest
    assert proven.guarantee.stars_ratio == 1
    assert lower_bound(problem.table, problem.requirement, target=10**9).stars <= fewest
    values = frame.get_column(sensitive).to_list()
    predicates = [predicate_of(model, values) for model in models]
    for name, algorithm in {prover: ALGORITHMS[prover], **QUICK}.items():
        if unsupported(algorithm, problem.requirement) is None:
            found = proven if name == prover else algorithm.partition(problem)
            groups = check_partition(found, rows=rows, sensitive=[values], predicates=predicates)
            stars = sum(stars_of_group([frame.select(names).row(row) for row in group]) for group in groups)
            assert stars >= fewest, name
            assert stars == fewest or name != prover


@pytest.mark.skipif(not ADULT.exists(), reason="there is no copy of Adult here")
def test_the_patterns_of_a_sample_of_adult():
    names = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
    frame = pl.read_csv(ADULT, separator=";").select(names).with_columns(pl.all().cast(pl.String)).sample(300, seed=1)
    release = shoal.anonymize(
        frame,
        quasi_identifiers=names,
        privacy=KAnonymity(5),
        algorithm=PatternGuided(patterns=shoal.algorithms.PatternRule(most_stars=3), optimal=True, time_limit=600),
        seed=1,
    )
    assert release.certificate.cost.stars == release.certificate.guarantee.stars_bound == 1048
