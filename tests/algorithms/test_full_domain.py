"""Full-domain generalization: the optimum of exhaustive search, whatever the model, the metric and the limit."""

from fractions import Fraction
from random import Random

import numpy as np
import polars as pl
import pytest

from shoal.algorithms import FullDomain, Problem
from shoal.algorithms.lattice_costs import COSTS
from shoal.errors import InfeasibleError
from shoal.hierarchy import Hierarchy
from shoal.metrics import Metrics
from shoal.models import (
    AlphaKAnonymity,
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    KEAnonymity,
    LDiversity,
    Requirement,
    TCloseness,
)
from shoal.recoding import recode
from shoal.table import Schema, encode
from shoal.testing.full_domain import every_node, loss_of_node
from shoal.testing.oracles import predicate_of

MODELS = {
    "k = 2": [KAnonymity(2)],
    "k = 3": [KAnonymity(3)],
    "l = 2": [LDiversity(2)],
    "l = 3 and k = 4": [LDiversity(3), KAnonymity(4)],
    "distinct": [LDiversity(2, variant="distinct")],
    "distinct and k": [LDiversity(3, variant="distinct"), KAnonymity(4)],
    "entropy": [LDiversity(1.7, variant="entropy")],
    "recursive": [LDiversity(2, variant="recursive", c=2)],
    "alpha": [AlphaKAnonymity(Fraction(3, 5), 2)],
    "beta": [BetaLikeness(1)],
    "delta": [DeltaDisclosure(2)],
    "t": [TCloseness(0.4)],
    "t, ordered": [TCloseness(0.25, distance="ordered")],
    "(k, e)": [KEAnonymity(2, 2)],
}
LIMITS = (0, 0.1, Fraction(1, 3), 1)
LOSSES = {"precision": lambda value: 1 - value}


def random_tree(chance, values):
    """The ways from some values up: of random height, some branches short, now and then a root below the last level."""
    rows = [[value] for value in values]
    for level in range(chance.randrange(3)):
        nodes = sorted({row[-1] for row in rows})
        above = {}
        for node in nodes:
            short = chance.random() < 0.2
            above[node] = node if short else f"{level}:{chance.randrange(max(len(nodes) - 1, 1))}"
        rows = [[*row, above[row[-1]]] for row in rows]
    rows = [[*row, "*"] for row in rows]
    if chance.random() < 0.15:
        rows = [[*row, "*"] for row in rows]
    return {row[0]: tuple(row) for row in rows}


class Case:
    """A random small table with hierarchies, and its problem."""

    def __init__(self, seed, models, *, attributes=1):
        chance = Random(seed)
        self.rows_count = chance.randrange(4, 14)
        d = chance.randrange(1, 4)
        self.generalized = chance.random() < 0.75
        self.ways, columns = [], []
        for _ in range(d):
            values = [f"v{i}" for i in range(chance.randrange(1, 6))]
            missing = [None] if chance.random() < 0.25 else []
            way = random_tree(chance, values) if self.generalized else {value: (value, "*") for value in values}
            column = [chance.choice([*values, *values, *missing]) for _ in range(self.rows_count)]
            if all(value is None for value in column):
                column[0] = values[0]
            if not self.generalized:
                way = {value: (value, "*") for value in values}
            self.ways.append(way)
            columns.append(column)
        self.rows = list(zip(*columns, strict=True))
        self.sensitive = [[chance.choice([0, 0, 1, 2, 3]) for _ in range(self.rows_count)] for _ in range(attributes)]
        self.models = models
        predicates = [(predicate_of(model, values), values) for values in self.sensitive for model in models]
        self.accepts = lambda group: all(predicate([values[row] for row in group]) for predicate, values in predicates)
        self.columns = columns

    def problem(self, order=None):
        order = list(range(self.rows_count)) if order is None else order
        named = {f"q{a}": [column[row] for row in order] for a, column in enumerate(self.columns)}
        named |= {f"s{a}": [values[row] for row in order] for a, values in enumerate(self.sensitive)}
        schema = Schema(
            quasi_identifiers=tuple(name for name in named if name[0] == "q"),
            sensitive=tuple(name for name in named if name[0] == "s"),
        )
        trees = {f"q{a}": Hierarchy.from_rows(list(way.values())) for a, way in enumerate(self.ways)}
        return Problem(
            table=encode(pl.DataFrame(named), schema),
            requirement=Requirement.of(self.models, schema.sensitive),
            rng=np.random.default_rng(0),
            recoding="generalization" if self.generalized else "suppression",
            hierarchies=trees if self.generalized else {},
        )

    def told(self):
        """The sensitive values as one, for the divergence."""
        return list(zip(*self.sensitive, strict=True))


def cases(models, count, *, attributes=1, first=0):
    """Random tables that the requirement allows at all."""
    found, seed = [], first
    while len(found) < count:
        case = Case(seed, models, attributes=attributes)
        if case.accepts(range(case.rows_count)):
            found.append(case)
        seed += 1
    return found


def measured(problem, partition, metric):
    recoded = recode(
        problem.table,
        partition.groups,
        partition.count,
        method=problem.recoding,
        hierarchies=problem.hierarchies,
        least=partition.least,
    )
    value = getattr(Metrics(problem.table, recoded, partition.groups), metric)
    return recoded, LOSSES.get(metric, lambda same: same)(value)


def compare(case, metric, limit, seed):
    """Compare a search with all nodes; return whether there was any feasible one."""
    problem = case.problem()
    exact = limit if isinstance(limit, Fraction) else Fraction(str(limit))
    nodes, _ = every_node(case.rows, case.ways, case.accepts, exact)
    algorithm = FullDomain(suppression_limit=limit, cost=metric)
    if not nodes:
        with pytest.raises(InfeasibleError):
            algorithm.partition(problem)
        return False
    result = algorithm.partition(problem)
    losses = [loss_of_node(node, case.rows, case.told(), case.ways, metric) for node in nodes]
    recoded, loss = measured(problem, result, metric)
    assert loss == pytest.approx(float(min(losses)), abs=1e-9), (seed, metric, limit)
    facts = result.facts
    assert facts["optimal"]
    assert facts["gap"] == 0
    assert LOSSES.get(metric, lambda same: same)(facts["value"]) == pytest.approx(loss, abs=1e-9)
    assert facts["suppressed_rows"] <= exact * case.rows_count
    # What is published is what that node publishes.
    levels = tuple(facts["levels"].values())
    (node,) = [node for node in nodes if node.levels == levels]
    classes = {}
    for row, cells in enumerate(node.cells):
        classes.setdefault(cells, set()).add(row)
    published = recoded.classes.of_group[result.groups]
    assert sorted(map(sorted, classes.values())) == sorted(
        np.flatnonzero(published == one).tolist() for one in range(recoded.classes.count)
    )
    for group in range(result.count):
        assert case.accepts(np.flatnonzero(result.groups == group).tolist())
    return True


@pytest.mark.parametrize("models", MODELS.values(), ids=MODELS)
def test_agrees_with_exhaustive_search(models):
    feasible = 0
    for seed, case in enumerate(cases(models, 24)):
        feasible += compare(case, COSTS[seed % len(COSTS)], LIMITS[seed // 2 % len(LIMITS)], seed)
        feasible += compare(case, "gcp", LIMITS[(seed + 1) % len(LIMITS)], seed)
    assert feasible >= 15


@pytest.mark.parametrize("metric", COSTS)
def test_every_metric_agrees_with_exhaustive_search(metric):
    feasible = 0
    for seed, case in enumerate(cases([KAnonymity(2)], 12, first=500)):
        feasible += compare(case, metric, LIMITS[seed % len(LIMITS)], seed)
    for seed, case in enumerate(cases([LDiversity(2)], 12, attributes=2, first=600)):
        feasible += compare(case, metric, LIMITS[seed % len(LIMITS)], seed)
    assert feasible >= 12
