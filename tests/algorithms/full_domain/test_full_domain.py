"""Full-domain generalization: the optimum of exhaustive search, whatever the model, the metric and the limit."""

import time
from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
import polars as pl
import pytest
from tests.algorithms.conftest import make_problem
from tests.every import THOROUGH, every, few
from tests.oracles.full_domain import every_node, loss_of_node, people_of_groups
from tests.oracles.oracles import STAR, predicate_of

import shoal
from shoal.algorithms import FullDomain
from shoal.algorithms.full_domain import full_domain
from shoal.algorithms.full_domain.full_domain import Task
from shoal.algorithms.full_domain.lattice_costs import COSTS
from shoal.algorithms.full_domain.lattice_search import Budget
from shoal.disclosure_risk import population_uniques
from shoal.errors import InfeasibleError
from shoal.hierarchy import Hierarchy
from shoal.metrics import Metrics
from shoal.models import (
    AlphaKAnonymity,
    AverageRisk,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    KAnonymity,
    KEAnonymity,
    KMap,
    LDiversity,
    PopulationUniqueness,
    SampleUniqueness,
    TableModel,
    TCloseness,
)
from shoal.models.unique_estimates import SampleHistogram
from shoal.pipeline.population import find_people_of_nodes
from shoal.recoding import recode
from shoal.verification import collect_meanings
from shoal.wording import sentence

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
    "average risk": [AverageRisk(Fraction(1, 3))],
    "average risk and k": [AverageRisk(Fraction(1, 4)), KAnonymity(2)],
    "average risk and l": [AverageRisk(Fraction(2, 5)), LDiversity(2)],
    "sample uniqueness": [SampleUniqueness(0)],
    "sample uniqueness and k-map": [SampleUniqueness(Fraction(1, 10)), KMap(4, population="")],
    "sample uniqueness and l": [SampleUniqueness(Fraction(1, 5)), LDiversity(2)],
    "population uniqueness": [PopulationUniqueness(0.05, sampling_fraction=0.4)],
    "population uniqueness and k": [PopulationUniqueness(0.01, sampling_fraction=0.1), KAnonymity(2)],
    "k-map": [KMap(3, population="")],
    "k-map and l": [KMap(5, population=""), LDiversity(2)],
    "k-map, estimated": [KMap(5, sampling_fraction=0.2, significance=0.2)],
    "presence": [DeltaPresence(0, Fraction(4, 5), population="")],
    "presence from below": [DeltaPresence(Fraction(1, 5), 1, population="")],
    "presence and k": [DeltaPresence(Fraction(1, 10), Fraction(9, 10), population=""), KAnonymity(2)],
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


def of_people(model):
    """Whether a model asks about a population, which each case has its own of."""
    return getattr(model, "population", None) is not None


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
        of_groups = [part for model in models for part in model.parts if not isinstance(part, TableModel)]
        predicates = [(predicate_of(model, values), values) for values in self.sensitive for model in of_groups]
        self.accepts = lambda group: all(predicate([values[row] for row in group]) for predicate, values in predicates)
        self.columns = columns
        self.people = self.population(chance)
        self.models = [replace(model, population=self.people_frame) if of_people(model) else model for model in models]

    def problem(self, order=None):
        order = list(range(self.rows_count)) if order is None else order
        columns = [[column[row] for row in order] for column in self.columns]
        sensitive = [[values[row] for row in order] for values in self.sensitive]
        trees = {f"q{a}": Hierarchy.from_rows(list(way.values())) for a, way in enumerate(self.ways)}
        made = make_problem(columns, sensitive, self.models, trees if self.generalized else None)
        if made.requirement.population is None:
            return made
        meanings = collect_meanings(tuple(trees), {}, trees=made.hierarchies)
        people = find_people_of_nodes(
            made.table,
            self.people_frame,
            meanings=meanings,
            trees=made.hierarchies,
            star="*",
            recoding=made.recoding,
        )
        return replace(made, people=people)

    def population(self, chance):
        """The people of the table, and others: some like them, some with values that nobody of the table has."""
        people, d = list(self.rows), len(self.columns)
        for _ in range(chance.randrange(12)):
            values = [[*self.ways[a], *self.columns[a], "elsewhere"] for a in range(d)]
            people.append(tuple(chance.choice(values[a]) for a in range(d)))
        chance.shuffle(people)
        columns = [list(column) for column in zip(*people, strict=True)]
        self.people_frame = pl.DataFrame(
            {f"q{a}": pl.Series(column, dtype=pl.String) for a, column in enumerate(columns)}
        )
        return people

    def satisfied(self, shown):
        """What models of a release that joining helps say of groups, given as cells and sizes."""
        sizes = [size for _, size in shown]
        people, outside, overlapping = people_of_groups(shown, self.people, self.ways)
        low = max([0, *(Fraction(str(model.low)) for model in self.models if isinstance(model, DeltaPresence))])
        if overlapping or (low and outside) or not all(map(self.present, sizes, people)):
            return False
        for model in self.models:
            if isinstance(model, AverageRisk):
                fine = sum(size * Fraction(1, size) for size in sizes) <= Fraction(str(model.risk)) * sum(sizes)
            elif isinstance(model, SampleUniqueness):
                fine = sum(size == 1 for size in sizes) <= Fraction(str(model.share)) * sum(sizes)
            else:
                continue
            if not fine:
                return False
        return True

    def present(self, size, people):
        """What models say of a group that so many people fit."""
        for model in self.models:
            if isinstance(model, KMap) and model.sampling_fraction is None and people < model.k:
                return False
            if isinstance(model, DeltaPresence):
                low, high = Fraction(str(model.low)), Fraction(str(model.high))
                if not (low * people <= size <= high * people and size <= people):
                    return False
        return True

    def fitting(self, cells, size):
        """The same of a group, given its cells."""
        return self.present(size, people_of_groups([(cells, size)], self.people, self.ways)[0][0])

    def judged(self, shown):
        """What the others say."""
        estimated = [model for model in self.models if isinstance(model, PopulationUniqueness)]
        sizes = np.array([size for _, size in shown])
        return all(
            population_uniques(SampleHistogram.of(sizes), Fraction(str(model.sampling_fraction))).dankar
            <= float(model.share)
            for model in estimated
        )

    def value_codes(self):
        """The sensitive values as one, for the divergence."""
        return list(zip(*self.sensitive, strict=True))


def cases(models, count, *, attributes=1, first=0):
    """Random tables that the requirement allows at all."""
    found, seed = [], first
    while len(found) < count:
        case = Case(seed, models, attributes=attributes)
        if case.accepts(range(case.rows_count)) and case.satisfied([((STAR,) * len(case.ways), case.rows_count)]):
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
    value = getattr(Metrics(problem.table, recoded, partition.groups, k=problem.requirement.k), metric)
    return recoded, LOSSES.get(metric, lambda same: same)(value)


def compare(case, metric, limit, seed):
    """Compare a search with all nodes; return whether there was any feasible one."""
    problem = case.problem()
    exact = limit if isinstance(limit, Fraction) else Fraction(str(limit))
    whole = {"fitting": case.fitting, "judged": case.judged}
    nodes, _ = every_node(case.rows, case.ways, case.accepts, exact, case.satisfied, **whole)
    algorithm = FullDomain(suppression_limit=limit, cost=metric)
    if not nodes:
        with pytest.raises(InfeasibleError):
            algorithm.partition(problem)
        return False
    result = algorithm.partition(problem)
    k = problem.requirement.k
    losses = [loss_of_node(node, case.rows, case.value_codes(), case.ways, metric, k) for node in nodes]
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
    groups = [np.flatnonzero(result.groups == group) for group in range(result.count)]
    shown = [(node.cells[group[0]], len(group)) for group in groups]
    assert case.satisfied(shown)
    assert case.judged(shown)
    return True


@every("models", MODELS.values(), drawn=True)
def test_agrees_with_exhaustive_search(models):
    feasible = 0
    for seed, case in enumerate(cases(models, few(24))):
        feasible += compare(case, COSTS[seed % len(COSTS)], LIMITS[seed // 2 % len(LIMITS)], seed)
        feasible += compare(case, "gcp", LIMITS[(seed + 1) % len(LIMITS)], seed)
    assert feasible >= 15 or not THOROUGH


@every("metric", COSTS, drawn=True)
def test_every_metric_agrees_with_exhaustive_search(metric):
    feasible = 0
    for seed, case in enumerate(cases([KAnonymity(3)], few(16), first=500)):
        feasible += compare(case, metric, LIMITS[seed % len(LIMITS)], seed)
    for seed, case in enumerate(cases([LDiversity(2)], few(12), attributes=2, first=600)):
        feasible += compare(case, metric, LIMITS[seed % len(LIMITS)], seed)
    assert feasible >= 14 or not THOROUGH


def check_boxes(task, most):
    """Check that the lowest node's loss and what the highest one adds bound the cost of every node between them."""
    costs, known = {}, {}
    for node in product(*(range(height + 1) for height in task.lattice.top)):
        search = task.search(task.judge.classes, most)
        costs[node] = search.evaluate(node)
        known[node] = search.known[node]
    compared = 0
    for low, high in product(known, repeat=2):
        for node, found in costs.items():
            if found is None or not all(a <= b <= c for a, b, c in zip(low, node, high, strict=True)):
                continue
            compared += 1
            assert search.cost.joint(known[low].floor[0], known[high].added[0]) <= found[0]
            assert known[low].floor[1] + known[high].added[1] <= found[1]
    return compared


@every("metric", COSTS, drawn=True)
def test_boxes_are_bounded(metric):
    compared = fitting = 0
    for case in cases([LDiversity(2), KAnonymity(3)], 60, first=300):
        task = Task.of(case.problem(), metric)
        if 8 <= task.lattice.size <= 30 and fitting < 5:
            fitting += 1
            compared += check_boxes(task, int(LIMITS[-1 - fitting % 2] * case.rows_count))
    assert compared > 300


@every("limit", [Fraction(1, 2), 1])
@every("metric", COSTS)
def test_an_acceptable_class_below_one_that_is_not(metric, limit):
    # Under l = 2, "a" alone is acceptable and "b" is not, nor are they together: what is suppressed at a node says
    # nothing of the nodes below it. The row of "d" is too few anywhere.
    values = {"a": "xy" * 10, "b": "xxx", "c": "yz" * 5, "d": "x"}
    rows = [(name, value) for name, all_told in values.items() for value in all_told]
    tree = Hierarchy.from_rows([("a", "ab", "*"), ("b", "ab", "*"), ("c", "c", "*"), ("d", "d", "*")])
    column, sensitive = zip(*rows, strict=True)
    problem = make_problem([column], [sensitive], [LDiversity(2), KAnonymity(2)], {"q0": tree})
    assert check_boxes(Task.of(problem, metric), int(limit * len(rows))) >= 3
    levels = FullDomain(cost=metric, suppression_limit=limit).partition(problem).facts["levels"]
    assert levels == {"q0": 0}


def test_rows_that_join_the_suppressed_ones_can_bring_the_divergence_down():
    # Suppressing everything tells as much as there is to tell here; suppressing half of it tells something wrong.
    case = next(case for case in cases([KAnonymity(1)], 1))
    case.columns, case.rows_count = [list("aab")], 3
    case.rows, case.sensitive = [("a",), ("a",), ("b",)], [[0, 0, 0]]
    case.ways, case.generalized, case.models = [{"a": ("a", "*"), "b": ("b", "*")}], False, [KAnonymity(2)]
    case.accepts = lambda group: len(group) >= 2
    assert compare(case, "kl_divergence", 1, 0)


@pytest.mark.drawn
@pytest.mark.parametrize("metric", ["gcp", "discernability", "kl_divergence", "suppressed_tuples"])
def test_a_search_that_stops_early_bounds_the_optimum(metric):
    unfinished = 0
    for seed, case in enumerate(cases([KAnonymity(2)], few(25), first=900)):
        problem = case.problem()
        nodes, _ = every_node(case.rows, case.ways, case.accepts, Fraction(1))
        best = float(min(loss_of_node(node, case.rows, case.value_codes(), case.ways, metric) for node in nodes))
        result = FullDomain(cost=metric, most_nodes=1 + seed % 9).partition(problem)
        facts = result.facts
        assert facts["bound"] <= best + 1e-9 <= facts["value"] + 2e-9
        assert measured(problem, result, metric)[1] == pytest.approx(facts["value"], abs=1e-9)
        assert 0 <= facts["gap"] <= 1
        if not facts["optimal"]:
            unfinished += 1
            assert facts["pruned"] is None
            assert sentence(result.guarantee.promise).startswith("The search stopped at its limit: ")
        else:
            assert facts["value"] == pytest.approx(best, abs=1e-9)
            assert sentence(result.guarantee.promise).startswith(
                f"Optimal for this metric ({metric}) among full-domain"
            )
    assert unfinished >= 8 or not THOROUGH


def test_a_lattice_that_is_too_large_to_finish():
    # 3^14 nodes. The best of a few hundred is no worse than the top, and the bound holds of both.
    chance = Random(3)
    rows = 60
    values = [f"v{i}" for i in range(6)]
    columns = [[chance.choice(values) for _ in range(rows)] for _ in range(14)]
    tree = Hierarchy.from_rows([(v, f"n{int(v[1:]) // 2}", "*") for v in values])
    problem = make_problem(columns, [], KAnonymity(3), {f"q{a}": tree for a in range(14)})
    result = FullDomain(most_nodes=400).partition(problem)
    assert not result.facts["optimal"]
    assert result.facts["nodes"] == 3**14
    assert 400 <= result.facts["evaluated"] <= 430
    assert result.facts["bound"] < result.facts["value"] < 1
    assert result.facts == FullDomain(most_nodes=400).partition(problem).facts
    assert not FullDomain(time_limit=0.01).partition(problem).facts["optimal"]


def test_nothing_depends_on_the_order_of_rows():
    chance = Random(8)
    for case in cases([LDiversity(2)], few(8), first=40):
        order = chance.sample(range(case.rows_count), case.rows_count)
        for local in (False, True):
            first = FullDomain(local=local, suppression_limit=1).partition(case.problem())
            second = FullDomain(local=local, suppression_limit=1).partition(case.problem(order))
            assert first.facts == second.facts
            groups = {}
            for place, row in enumerate(order):
                groups.setdefault(second.groups[place], set()).add(row)
            assert set(map(frozenset, groups.values())) == {
                frozenset(np.flatnonzero(first.groups == group).tolist()) for group in range(first.count)
            }


def test_ties_go_to_the_lowest_penalty_then_to_the_first_levels():
    # By suppressed tuples every node without a star costs nothing; the one that loses least is taken.
    tree = Hierarchy.from_rows([(v, "ab" if v in "ab" else "cd", "abcd", "*") for v in "abcd"])
    trees = {"q0": tree, "q1": Hierarchy.from_rows([("a", "ab", "*"), ("b", "ab", "*")])}
    problem = make_problem([list("aabbccdd"), list("abababab")], [], KAnonymity(2), trees)
    for metric in ("suppressed_tuples", "stars"):
        assert FullDomain(cost=metric).partition(problem).facts["levels"] == {"q0": 1, "q1": 0}
    # Two attributes that are the same: the first keeps its values.
    same = make_problem([list("aabb"), list("abab")], [], KAnonymity(2))
    assert FullDomain().partition(same).facts["levels"] == {"q0": 0, "q1": 1}


def test_local_recoding_is_never_worse_than_global_and_its_groups_are_acceptable():
    gained = 0
    for seed, case in enumerate(cases([KAnonymity(2), LDiversity(2, variant="distinct")], few(24, least=8), first=70)):
        problem = case.problem()
        metric = ("gcp", "precision", "non_uniform_entropy", "stars")[seed % 4]
        whole = FullDomain(cost=metric).partition(problem)
        found = FullDomain(cost=metric, local=True).partition(problem)
        loss, before = measured(problem, found, metric)[1], measured(problem, whole, metric)[1]
        assert loss <= before + 1e-9
        assert LOSSES.get(metric, lambda same: same)(found.facts["value"]) == pytest.approx(loss, abs=1e-9)
        gained += loss < before - 1e-9
        for group in range(found.count):
            assert case.accepts(np.flatnonzero(found.groups == group).tolist())
        assert sum(each["rows"] for each in found.facts["rounds"]) <= case.rows_count
    assert gained >= few(3, least=1)


@pytest.mark.drawn
def test_local_recoding_draws_groups_that_are_like_the_table(monkeypatch):
    gained = 0
    for seed, case in enumerate(cases([TCloseness(0.4)], few(12, least=4), first=500)):
        problem = case.problem()
        share = (1.0, 0.25)[seed % 2]
        try:
            found = FullDomain(local=True, suppression_limit=share).partition(problem)
            with monkeypatch.context() as without:
                without.setattr(full_domain, "draw_groups_of_rows", lambda *_: None)
                usual = FullDomain(local=True, suppression_limit=share).partition(problem)
        except InfeasibleError:
            continue
        recoded, loss = measured(problem, found, "gcp")
        assert found.facts["value"] == pytest.approx(loss, abs=1e-9)
        assert loss <= measured(problem, usual, "gcp")[1] + 1e-9
        gained += loss < measured(problem, usual, "gcp")[1] - 1e-9
        for group in range(found.count):
            assert case.accepts(np.flatnonzero(found.groups == group).tolist())
        hidden = np.logical_and.reduce([column.stars for column in recoded.columns])
        assert recoded.sizes[hidden].sum() <= share * case.rows_count
    assert gained >= few(3, least=1)


def test_a_search_may_end_a_few_nodes_beyond_its_descent():
    ended = 0
    for case in cases([KAnonymity(2), LDiversity(2, variant="distinct")], 12, first=400):
        task = Task.of(case.problem(), "gcp")
        rows = task.judge.classes.rows
        found = []
        for beyond in (0, 2, None):
            search = task.search(task.judge.classes, rows)
            budget = Budget(nodes=10_000, until=time.perf_counter() + 60, beyond=beyond)
            found.append(search.run(budget, "full-domain", lambda *_: None))
        descended, short, whole = found
        assert descended.evaluated <= short.evaluated <= descended.evaluated + 2 + len(task.lattice.levels)
        assert whole.proven
        assert descended.cost >= short.cost >= whole.cost >= max(one.bound for one in found)
        ended += not short.proven
    assert ended, "some of these lattices are larger than that"


def test_local_recoding_keeps_to_the_limit():
    infeasible = feasible = 0
    for case in cases([KAnonymity(3)], few(18), first=200):
        problem = case.problem()
        said = None
        try:
            found = FullDomain(local=True, suppression_limit=0.1).partition(problem)
        except InfeasibleError as error:
            said = str(error)
        if said is not None:
            assert "leaves more than 10.0000% of them completely suppressed" in said
            infeasible += 1
            continue
        feasible += 1
        recoded, _ = measured(problem, found, "gcp")
        hidden = np.logical_and.reduce([column.stars for column in recoded.columns])
        assert recoded.sizes[hidden].sum() <= 0.1 * case.rows_count
    assert min(infeasible, feasible) >= 3 or not THOROUGH


def test_no_feasible_node_describes_the_nearest_without_a_cell():
    frame = pl.DataFrame({"job": ["miner"] * 17 + ["clown", "judge", "judge"], "ill": list("xyxyx") * 4})
    with pytest.raises(InfeasibleError) as error:
        shoal.anonymize(
            frame,
            quasi_identifiers=["job"],
            sensitive="ill",
            privacy=KAnonymity(5),
            algorithm=FullDomain(suppression_limit=0.1),
            recoding="suppression",
        )
    assert str(error.value) == (
        "No full-domain generalization that suppresses at most 10.0000% of the rows, in whole classes and the smallest "
        "first, meets the request. In the nearest one, with the levels job 0, 3 of 20 rows (15.0000%) must be "
        "suppressed. Allow more with the 'suppression_limit' parameter, ask for less, give hierarchies with more "
        "levels, or recode locally with local=True."
    )


def test_entropy_at_its_exact_bound_needs_no_stars():
    # Both groups have entropy log 5: counts 4, 2, 1, 1, 1, 1, and even ones.
    ill = "a" * 4 + "b" * 2 + "cdef" + "aabbccddee"
    frame = pl.DataFrame({"age": ["30"] * 10 + ["40"] * 10, "ill": list(ill)})
    asked = {"quasi_identifiers": ["age"], "sensitive": "ill", "privacy": LDiversity(5, variant="entropy"), "seed": 1}
    for algorithm in (FullDomain(suppression_limit=0), "mondrian", "hilbert", "cluster", "tds", "exact"):
        assert shoal.anonymize(frame, **asked, algorithm=algorithm).metrics.stars == 0


def test_population_uniqueness_suppresses_the_smallest_classes_only_as_far_as_needed():
    # Forty people in two large classes, twenty alone: at least forty can stay.
    ages = ["30"] * 20 + ["40"] * 20 + [str(age) for age in range(50, 70)]
    frame = pl.DataFrame({"age": ages})
    trees = {"age": Hierarchy.from_rows([(age, "*") for age in sorted(set(ages))])}
    model = PopulationUniqueness(0.001, sampling_fraction=0.01)
    asked = {"quasi_identifiers": ["age"], "privacy": model, "recoding": "generalization", "hierarchies": trees}
    for limit in (Fraction(1, 3), 1):
        made = shoal.anonymize(frame, **asked, algorithm=FullDomain(suppression_limit=limit), limits={"age": (0, 0)})
        alone = made.certificate.details["suppressed_rows"]

        def estimate(stars):
            sizes = np.array([20, 20, *([1] * (20 - stars)), stars])
            return population_uniques(SampleHistogram.of(sizes), Fraction(1, 100)).dankar

        assert estimate(alone) <= 0.001 < estimate(alone - 1)
    with pytest.raises(InfeasibleError) as error:
        shoal.anonymize(frame, **asked, algorithm=FullDomain(suppression_limit=0.1), limits={"age": (0, 0)})
    assert "do not make the release acceptable within the limit" in str(error.value)


def test_the_verdict_says_that_one_choice_of_rows_was_searched_and_what_else_serves():
    # One class is suppressed, and is unacceptable alone; the smallest others make it worse or exceed the limit.
    frame = pl.DataFrame({"q": list("eebcede"), "s": list("uwuvvwu")})
    trees = {"q": Hierarchy.from_rows([("b", "x", "*"), ("c", "y", "*"), ("d", "y", "*"), ("e", "z", "*")])}
    asked = {"quasi_identifiers": ["q"], "sensitive": "s", "privacy": BetaLikeness(1, variant="enhanced"), "seed": 1}
    asked |= {"recoding": "generalization", "hierarchies": trees}
    with pytest.raises(InfeasibleError) as error:
        shoal.anonymize(frame, **asked, algorithm=FullDomain(suppression_limit=Fraction(2, 5)))
    assert "No other choice of rows was searched: algorithm='cluster'" in str(error.value)
    assert shoal.anonymize(frame, **asked, algorithm="cluster").data.height == 7


def test_the_promise_says_which_rows_are_suppressed():
    # Two of three single records must become stars; the first two, in the order of values, lose more than others.
    rows = [("0", f"p{i % 4 + 1}") for i in range(17)] + [("1", "q1"), ("2", "q2"), ("3", "p1")]
    frame = pl.DataFrame(rows, schema=["a", "b"], orient="row")
    trees = {
        "a": Hierarchy.from_rows([(value, "*") for value in "0123"]),
        "b": Hierarchy.from_rows([*((f"p{i}", "P", "*") for i in range(1, 5)), ("q1", "Q", "*"), ("q2", "Q", "*")]),
    }
    made = shoal.anonymize(
        frame,
        quasi_identifiers=["a", "b"],
        privacy=SampleUniqueness(Fraction(1, 20)),
        recoding="generalization",
        hierarchies=trees,
        algorithm=FullDomain(suppression_limit=Fraction(1, 10)),
        limits={"a": (0, 0), "b": (1, 1)},
    )
    assert made.certificate.details["value"] == pytest.approx(0.37)  # .36 with others
    assert "the smallest others, each as a whole" in sentence(made.certificate.guarantee.promise)


@pytest.mark.parametrize("values", [[None, None, "", "a", "a"], [None, None, "", "", "a", "a"], [None, "", "a", "b"]])
def test_missing_values_are_not_taken_for_empty_text(values):
    frame = pl.DataFrame({"letter": values})
    release = shoal.anonymize(
        frame, quasi_identifiers=["letter"], privacy=KAnonymity(2), algorithm="full-domain", recoding="generalization"
    )
    shown = release.data.get_column("letter")
    assert shown.eq_missing("").sum() in (0, values.count(""))
    assert shown.null_count() in (0, values.count(None))
