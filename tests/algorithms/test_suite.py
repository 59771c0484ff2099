"""One suite that every algorithm passes, for every kind of requirement that it supports."""

from collections import Counter
from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction
from functools import lru_cache
from random import Random

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.algorithms.conftest import make_problem
from tests.every import THOROUGH, every, some
from tests.oracles.invariants import check_partition, unchanged
from tests.oracles.oracles import predicate_of
from tests.oracles.strategies import code_tables, hierarchy_rows, requirements

from shoal import anonymize, audit
from shoal._core.facts import Fact
from shoal.algorithms import Cluster, FullDomain, MApproximation, Sabre, ThreePhase
from shoal.algorithms.algorithm_list import ALGORITHMS, PROVING, choose
from shoal.algorithms.base import Problem
from shoal.errors import UnsupportedError
from shoal.hierarchy import Hierarchy, date_hierarchy, interval_hierarchy, prefix_hierarchy
from shoal.models import (
    AlphaKAnonymity,
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    KEAnonymity,
    LDiversity,
    MUniqueness,
    TCloseness,
)
from shoal.models.hierarchical_distance import HierarchicalDistance
from shoal.models.metric_distance import MetricDistance
from shoal.models.requirement import Requirement
from shoal.recoding import publish_frame, recode
from shoal.verification import MeasuredTable
from shoal.wording import sentence

EVERY = {
    # Those that prove an optimum have a suite of their own, on small tables: test_proving.py.
    # One that keeps classes serves tables that differential privacy drew: test_differential_privacy.py.
    **{
        name: algorithm
        for name, algorithm in ALGORITHMS.items()
        if name not in PROVING and not algorithm.capabilities.keeps_classes
    },
    "sabre": Sabre(effort=10),  # enough for what is tested here
    "full-domain": FullDomain(most_nodes=300),  # the lattices of many columns have billions of nodes
    "cluster": Cluster(effort=10),
    "tp+ with hilbert": ThreePhase(refine="hilbert"),
    "m-approximation unrefined": MApproximation(refine=False),
}
PROVERS = {name: ALGORITHMS[name] for name in PROVING}

HIERARCHICAL = HierarchicalDistance(
    Hierarchy.from_rows([(str(v), f"{v // 4} of {v % 2}", f"half {v % 2}", "*") for v in range(60)])
)
METRIC = MetricDistance(range(60), [[min(abs(i - j), 4) for i in range(60)] for j in range(60)])

REQUIREMENTS = {
    "k = 1": [KAnonymity(1)],
    "k = 3": [KAnonymity(3)],
    "l = 2": [LDiversity(2)],
    "l = 3": [LDiversity(3)],
    "distinct": [LDiversity(2, variant="distinct")],
    "entropy": [LDiversity(1.7, variant="entropy")],
    "recursive": [LDiversity(2, variant="recursive", c=1)],
    "recursive, c below 1": [LDiversity(1, variant="recursive", c=Fraction(1, 2))],
    "alpha = 0.4, k = 2": [AlphaKAnonymity(0.4, 2)],
    "alpha = 3/7, k = 5": [AlphaKAnonymity(Fraction(3, 7), 5)],
    "alpha with eighteen decimals": [AlphaKAnonymity(Fraction(333_333_333_333_333_334, 10**18), 1)],
    "alpha with forty decimals": [AlphaKAnonymity(Fraction(4 * 10**39 + 1, 10**40), 3)],
    "k and l": [KAnonymity(4), LDiversity(3)],
    "k much larger than l": [KAnonymity(23), LDiversity(2)],
    "frequency and entropy": [LDiversity(2), LDiversity(1.5, variant="entropy"), KAnonymity(2)],
    "beta": [BetaLikeness(1)],
    "enhanced beta": [BetaLikeness(0.7, variant="enhanced")],
    "delta": [DeltaDisclosure(1)],
    "t, equal": [TCloseness(0.3)],
    "t, ordered, and k": [TCloseness(Fraction(1, 7), distance="ordered"), KAnonymity(2)],
    "t, hierarchical": [TCloseness(0.4, distance=HIERARCHICAL)],
    "t, metric": [TCloseness(0.3, distance=METRIC)],
    "(k, e)": [KEAnonymity(2, 2)],
}

SUPPORTED = [
    (algorithm, REQUIREMENTS[asked])
    for name, algorithm in EVERY.items()
    for asked in REQUIREMENTS
    if algorithm.unsupported(Requirement.of(REQUIREMENTS[asked], ("s0",))) is None
]
ON_TWO = [
    (algorithm, REQUIREMENTS[asked])
    for name, algorithm in EVERY.items()
    for asked in REQUIREMENTS
    if algorithm.unsupported(Requirement.of(REQUIREMENTS[asked], ("s0", "s1"))) is None
]


def random_columns(seed, rows, sizes):
    chance = Random(seed)
    return [[min(chance.randrange(size), chance.randrange(size)) for _ in range(rows)] for size in sizes]


def spread(seed, rows, values):
    """Sensitive values of which none is too frequent: shuffled, each as often as any other but for one row."""
    column = [row % values for row in range(rows)]
    Random(seed).shuffle(column)
    return column


def tables():
    """Tables by name: quasi-identifiers by column, and a sensitive attribute."""
    yield "one row", [[7], [8]], [1]
    yield "two rows", [[7, 7], [8, 9]], [1, 2]
    yield "no quasi-identifier", [], spread(0, 30, 6)
    yield "all rows identical", [[1] * 30, [2] * 30], spread(1, 30, 5)
    yield "all rows distinct", [list(range(40)), list(range(40))[::-1]], spread(2, 40, 5)
    yield "one sensitive value", random_columns(3, 30, (3, 4)), [5] * 30
    yield "as many sensitive values as rows", random_columns(4, 50, (3, 4, 2)), list(range(50))
    yield "acceptable as it is", [[row // 30 for row in range(60)]], [row % 6 for row in range(60)]
    yield "ordinary", random_columns(5, 80, (6, 3, 2, 4)), spread(5, 80, 6)
    yield "skewed", random_columns(6, 60, (9, 4)), [min(value, 4) for value in spread(6, 60, 7)]
    yield "one column", random_columns(7, 50, (12,)), spread(7, 50, 4)
    yield "six columns", random_columns(8, 40, (2, 3, 5) * 2), spread(8, 40, 5)
    yield "a group larger than l at the end", random_columns(10, 47, (20, 2)), spread(10, 47, 3)


TABLES = list(tables())


_PREDICATES = {}


def predicate(model, values):
    """The oracle's predicate, asked but once of the same bag of values: algorithms find many groups again."""
    key = (id(model), values)  # to hash a model takes long: some hold a matrix of fractions
    if key not in _PREDICATES:
        _PREDICATES[key] = (model, make_predicate(model, values))
    return _PREDICATES[key][1]


def make_predicate(model, values):
    decide, decided = predicate_of(model, list(values)), {}

    def holds(group):
        bag = tuple(sorted(group))
        if bag not in decided:
            decided[bag] = decide(group)
        return decided[bag]

    return holds


def check(algorithm, problem, sensitive, models):
    """Run an algorithm twice and check all that every one of them promises; return the groups."""
    classes = problem.table.classes
    arrays = [column.codes for column in (*problem.table.quasi_identifiers, *problem.table.sensitive)]
    arrays += [classes.order, classes.cell_starts, classes.cell_values, classes.class_starts]
    with unchanged(*arrays):
        result = algorithm.partition(replace(problem, rng=np.random.default_rng(0)))
    groups = []
    for values in sensitive:
        predicates = [predicate(model, tuple(values)) for model in models]
        groups = check_partition(result, rows=problem.table.rows, sensitive=[values], predicates=predicates)
    again = algorithm.partition(replace(problem, rng=np.random.default_rng(0)))
    assert np.array_equal(result.groups, again.groups), "two runs differ"
    assert result.guarantee == again.guarantee
    assert sentence(result.guarantee.promise).endswith(".")
    return groups


@lru_cache(maxsize=len(TABLES) * 2)
def encoded(place, attributes):
    """Encode one of `TABLES`, once for all algorithms and requirements; return it with its sensitive attributes."""
    _, columns, first = TABLES[place]
    sensitive = [first, spread(20, len(first), 5)][:attributes]
    return make_problem(columns, sensitive, KAnonymity(1)).table, sensitive


def check_tables(algorithm, models, *, attributes):
    """Check an algorithm on each of `TABLES` that the requirement allows, for one or two sensitive attributes."""
    served = 0
    requirement = Requirement.of(models, ("s0", "s1")[:attributes])
    for place, (name, _, _) in some(enumerate(TABLES), least=6):
        table, sensitive = encoded(place, attributes)
        if feasible(models, sensitive):
            problem = Problem(table=table, requirement=requirement, rng=np.random.default_rng(0))
            try:
                check(algorithm, problem, sensitive, models)
            except Exception as error:
                error.add_note(f"table: {name}")
                raise
            served += 1
    assert served >= 5 or not THOROUGH, "most tables are meant to be feasible"


def feasible(models, sensitive):
    return all(predicate(model, tuple(values))(values) for model in models for values in sensitive)


@every(("algorithm", "models"), SUPPORTED, drawn=True)
def test_every_table(algorithm, models):
    check_tables(algorithm, models, attributes=1)


@every(("algorithm", "models"), ON_TWO, drawn=True)
def test_two_sensitive_attributes(algorithm, models):
    check_tables(algorithm, models, attributes=2)


@every("k", [1, 2, 7], drawn=True)
@every("algorithm", EVERY.values(), drawn=True)
def test_no_sensitive_attribute(problem_of, algorithm, k):
    for _, columns, sensitive in TABLES:
        if columns and len(sensitive) >= k:
            result = algorithm.partition(problem_of(columns, [], KAnonymity(k)))
            check_partition(result, rows=len(sensitive), predicates=[lambda group: len(group) >= k])


@every("algorithm", EVERY.values())
def test_no_row(problem_of, algorithm):
    empty = algorithm.partition(problem_of([[]], [], KAnonymity(1)))
    assert (empty.count, empty.groups.shape) == (0, (0,))


@every("algorithm", EVERY.values(), drawn=True)
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_table_and_any_conjunction(problem_of, algorithm, data):
    codes = data.draw(code_tables(min_columns=0, max_rows=30, max_columns=5, max_domain=6, max_values=6))
    models = data.draw(requirements(codes))
    if algorithm.unsupported(Requirement.of(models, ("s0",))) is not None:
        models = [KAnonymity(data.draw(st.integers(1, len(codes.values))))]
    columns = codes.quasi_identifiers.T.tolist()
    groups = check(algorithm, problem_of(columns, [codes.values], models), [codes.values], models)
    # Rows of a cell are interchangeable, so the order of the rows changes nothing that anyone can see.
    order = data.draw(st.permutations(range(len(codes.values))))
    sensitive = [codes.values[row] for row in order]
    problem = problem_of([[column[row] for row in order] for column in columns], [sensitive], models)
    shuffled = check(algorithm, problem, [sensitive], models)
    if not algorithm.capabilities.resists_minimality:  # chance decides where its rows go
        assert contents(codes, groups, range(len(order))) == contents(codes, shuffled, order)


@st.composite
def tables_with_hierarchies(draw, max_rows):
    """A table of codes; its columns as text, values missing in some; a hierarchy for each column."""
    codes = draw(code_tables(min_columns=1, min_rows=2, max_rows=max_rows, max_columns=4, max_domain=8, max_values=6))
    columns, trees = [], {}
    for place, column in enumerate(codes.quasi_identifiers.T.tolist()):
        names = [f"value {code}" for code in range(max(column) + 1)]
        absent = draw(st.sampled_from([None, None, names[-1]]))
        columns.append([None if names[code] == absent else names[code] for code in column])
        trees[f"q{place}"] = Hierarchy.from_rows(draw(hierarchy_rows(names)))
    return codes, columns, trees


@every("algorithm", {**EVERY, **PROVERS}.values(), drawn=True)
@settings(max_examples=15, deadline=None)
@given(st.data())
def test_any_table_with_hierarchies(problem_of, algorithm, data):
    codes, columns, trees = data.draw(tables_with_hierarchies(7 if algorithm in PROVERS.values() else 25))
    if not getattr(algorithm, "hierarchical", False):
        trees = {name: tree for name, tree in trees.items() if data.draw(st.integers(0, 3))}
    models = data.draw(requirements(codes))
    choices = [models, [KAnonymity(data.draw(st.integers(1, len(codes.values))))], [KAnonymity(2)]]
    models = next(asked for asked in choices if algorithm.unsupported(Requirement.of(asked, ("s0",))) is None)
    problem = problem_of(columns, [codes.values], models, trees)
    check(algorithm, problem, [codes.values], models)
    found = algorithm.partition(problem)
    recoding = recode(
        problem.table, found.groups, found.count, method="generalization", hierarchies=trees, least=found.least
    )
    published, _ = publish_frame(problem.table, recoding, found.groups)
    names = [column.name for column in problem.table.quasi_identifiers]
    MeasuredTable(published, quasi_identifiers=names, sensitive=["s0"], requirement=problem.requirement).verify()


def sample(rows):
    """A sample with numbers, words, codes and dates, some missing."""
    rng = np.random.default_rng(rows)
    ages = [None if age > 88 else age for age in rng.integers(18, 90, rows).tolist()]
    towns = [f"{code:05}" for code in rng.integers(0, 300, rows).tolist()]
    days = [date(2020, 1, 1) + timedelta(days=day) for day in rng.integers(0, 700, rows).tolist()]
    school = rng.choice(["9th", "10th", "bachelor", "master", "doctor", None], rows).tolist()
    return pl.DataFrame({"age": ages, "town": towns, "day": days, "school": school, "job": rng.integers(0, 7, rows)})


SCHOOL = Hierarchy.from_rows(
    [
        ("9th", "school", "lower", "*"),
        ("10th", "school", "lower", "*"),
        ("bachelor", "college", "higher", "*"),
        ("master", "college", "higher", "*"),
        ("doctor", "doctor", "higher", "*"),
    ]
)


@every("every", [True, False])
@every("algorithm", {**EVERY, **PROVERS}.values(), drawn=True)
def test_a_release_with_hierarchies_and_its_audit(algorithm, every):
    data = sample(14 if algorithm in PROVERS.values() else 300)
    trees = {"school": SCHOOL, "age": interval_hierarchy(data["age"], 5)}
    if every:
        trees |= {"town": prefix_hierarchy(data["town"]), "day": date_hierarchy(data["day"])}
    models = [KAnonymity(2), LDiversity(2)]
    if algorithm.unsupported(Requirement.of(models, ("job",))) is not None:
        models = KAnonymity(2)
    roles = {"quasi_identifiers": ["age", "town", "day", "school"], "sensitive": "job", "privacy": models}
    release = anonymize(data, **roles, algorithm=algorithm, recoding="generalization", hierarchies=trees, seed=3)
    found = audit(release.data, **roles)
    assert not found.violations
    assert found.achieved.to_dict() == release.certificate.achieved
    told = release.certificate.parameters["hierarchies"]
    assert {name for name in told if not told[name]["automatic"]} == set(trees)
    assert release.data.height == data.height
    allowed = {None, "*", *(name for names in SCHOOL.labels[:-1] for name in names)}
    assert set(release.data["school"].to_list()) <= allowed


def contents(codes, groups, row_of):
    """The partition without row numbers: how often each bag of rows occurs as a group."""
    rows = list(zip(codes.rows, codes.values, strict=True))
    return Counter(tuple(sorted(rows[row_of[row]] for row in group)) for group in groups)


@every("models", [[KAnonymity(3)], [LDiversity(3)]], drawn=True)
@every("algorithm", EVERY.values(), drawn=True)
def test_keys_beyond_62_bits(problem_of, algorithm, models):
    # Eight columns of 256 values: 256**8 is 2**64. Five rows at a time agree on all of them but the last.
    if algorithm.unsupported(Requirement.of(models, ("s0",))) is not None:
        models = [KAnonymity(4)]
    rows = 1280
    columns = [[row // 5 * (place + 1) % 257 for row in range(rows)] for place in range(7)]
    columns.append([row * 3 % 256 for row in range(rows)])
    sensitive = [row % 5 for row in range(rows)]
    problem = problem_of(columns, [sensitive], models)
    assert sum(np.log2(column.size) for column in problem.table.quasi_identifiers) > 62
    groups = check(algorithm, problem, [sensitive], models)
    assert len(groups) > 1 or algorithm in (ALGORITHMS["tp"], MApproximation(refine=False))


@every(("d", "rows"), [(12, 40), (20, 30), (70, 30)], drawn=True)
@every("algorithm", EVERY.values(), drawn=True)
def test_many_columns(problem_of, algorithm, d, rows):
    models = [LDiversity(3)]
    if algorithm.unsupported(Requirement.of(models, ("s0",))) is not None:
        models = [KAnonymity(3)]
    columns = random_columns(d, rows, [(2, 7, 3, 2)[place % 4] for place in range(d)])
    sensitive = spread(d, rows, 5)
    check(algorithm, problem_of(columns, [sensitive], models), [sensitive], models)


@every("algorithm", EVERY.values(), drawn=True)
def test_columns_of_seventy_thousand_values(problem_of, algorithm):
    # More than 16 bits each, and four of them more than 63. No two rows agree on more than one attribute.
    rows = 70_000
    assert rows > 2**16
    assert rows**3 * (rows // 2) > 2**63
    half = np.arange(rows) // 2
    columns = [half, *(np.random.default_rng(place).permutation(rows) for place in range(3))]
    requirement = [KAnonymity(2)]
    problem = problem_of(columns, [np.arange(rows) % 10], requirement)
    result = algorithm.partition(problem)
    sizes = np.bincount(result.groups)
    assert len(sizes) == result.count
    assert sizes.min() >= 2
    assert len(result.groups) == rows


@every("algorithm", {**EVERY, **PROVERS}.values())
def test_what_is_unsupported_is_refused_with_a_reason(algorithm):
    refused = 0
    for asked in [*REQUIREMENTS.values(), [MUniqueness(2)], [KAnonymity(2), MUniqueness(2)]]:
        for attributes in (("s0",), ("s0", "s1")):
            requirement = Requirement.of(asked, attributes)
            reason = algorithm.unsupported(requirement)
            if reason is None:
                assert choose(algorithm, requirement, "suppression") == (algorithm, Fact("requested"))
                continue
            refused += 1
            assert reason[0].islower()
            assert not reason.endswith("."), "the reason stands inside a sentence"
            with pytest.raises(UnsupportedError) as error:
                choose(algorithm, requirement, "suppression")
            assert f"The algorithm '{algorithm.name}' cannot serve this request: {reason}. " in str(error.value)
    assert refused >= 2, "nobody serves m-uniqueness"


@every("algorithm", {**EVERY, **PROVERS}.values())
def test_progress_is_told_and_may_stop_the_work(problem_of, algorithm):
    rows = 9 if algorithm in PROVERS.values() else 60
    problem = problem_of(random_columns(1, rows, (5, 4)), [spread(1, rows, 4)], KAnonymity(2))

    def stop(step, done, total):
        raise KeyboardInterrupt

    if algorithm not in PROVERS.values():  # those return the best so far
        with pytest.raises(KeyboardInterrupt):
            algorithm.partition(replace(problem, progress=stop))
    told = []
    algorithm.partition(replace(problem, progress=lambda *step: told.append(step)))
    assert told
    assert all(isinstance(step, str) and 0 <= done <= total for step, done, total in told)
    assert told[-1][1] == told[-1][2]
