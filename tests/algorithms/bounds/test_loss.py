"""The bound on the loss is never above what the best partition of a small table loses, and is no empty promise."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from tests.algorithms.conftest import make_problem
from tests.every import THOROUGH, every, some
from tests.oracles.hierarchies import node_penalty
from tests.oracles.oracles import optimal_partition, penalty_of_group, predicate_of

import shoal
from shoal.algorithms import Cluster
from shoal.algorithms.bounds import loss, loss_bound, lower_bound
from shoal.errors import InfeasibleError
from shoal.hierarchy import Hierarchy
from shoal.models import AlphaKAnonymity, KAnonymity, LDiversity, TCloseness
from shoal.wording import sentence

TOWNS = [(f"{a}{b}", f"{a}", "*") for a in "xyz" for b in "123"]
TREES = {"q2": Hierarchy.from_rows(TOWNS)}
REQUESTS = [
    [KAnonymity(2)],
    [KAnonymity(3)],
    [LDiversity(2)],
    [LDiversity(2), KAnonymity(3)],
    [LDiversity(3, variant="distinct")],
    [LDiversity(2, variant="entropy")],
    [AlphaKAnonymity(0.6, 2)],
    [TCloseness(0.4)],
]


def problem(columns, values, privacy, **how):
    return replace(make_problem(columns, [values], privacy, {}), **how)


def bound_of(asked):
    stars = lower_bound(asked.table, asked.requirement, target=10**9)
    return loss_bound(asked, stars)


def random_table(seed, rows):
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, 2 + seed % 9, rows).tolist()
    words = [f"w{v}" for v in rng.integers(0, 2 + seed % 3, rows)]
    towns = [TOWNS[v][0] for v in rng.integers(0, len(TOWNS), rows)]
    if seed % 5 == 0:
        numbers[0] = words[-1] = None
    return [numbers, words, towns], (rng.permutation(rows) % (2 + seed % 3)).tolist()


def optimum_of(columns, values, privacy, trees):
    """What the best partition loses, by definition and brute force."""
    domains = [set(column) for column in columns]

    def cost(group):
        total = Fraction(0)
        for place, column in enumerate(zip(*group, strict=True)):
            if place < 2 or not trees:
                total += penalty_of_group([(value,) for value in column], [domains[place]], [place == 0])
            else:
                total += len(group) * node_penalty(column, TOWNS, domains[2])
        return total

    predicates = [predicate_of(model, values) for model in privacy]
    rows = list(zip(*columns, strict=True))
    return optimal_partition(rows, values, lambda group: all(holds(group) for holds in predicates), cost)


@every("trees", [{}, TREES], drawn=True)
def test_never_above_the_optimum(trees):
    bounded, lost = 0.0, 0.0
    for seed in some(range(200)):
        columns, values = random_table(seed, 7)
        privacy = REQUESTS[seed % len(REQUESTS)]
        found = optimum_of(columns, values, privacy, trees)
        if found is None:
            continue
        least = bound_of(problem(columns, values, privacy, hierarchies=trees)).gcp * 21
        assert least <= float(found[0]) + 1e-12
        bounded, lost = bounded + least, lost + float(found[0])
    assert bounded > (0.3 if THOROUGH else 0.1) * lost


def test_never_above_however_little_is_looked_at(monkeypatch):
    columns, values = random_table(1, 400)
    asked = problem(columns, values, [KAnonymity(9), LDiversity(2)], hierarchies=TREES)
    whole = bound_of(asked)
    assert 0 < whole.gcp <= Cluster(effort=5).partition(asked).details["loss"]
    assert "budget" not in sentence(whole.why)
    for work in (1, 100, 3_000):
        monkeypatch.setattr(loss, "_WORK", work)
        less = bound_of(asked)
        assert less.gcp <= whole.gcp + 1e-12
        assert "budget of work" in sentence(less.why)


def test_as_by_looking_at_every_pair():
    # Of k-anonymity: what each row loses with the k-1st nearest.
    columns, values = random_table(2, 120)
    asked = problem(columns, values, KAnonymity(4))
    numbers, words, towns = (np.unique(column, return_inverse=True)[1] for column in columns)
    apart = np.abs(np.subtract.outer(numbers, numbers)) / numbers.max()
    for codes in (words, towns):
        apart = apart + (codes[:, None] != codes) / codes.max()
    radii = np.sort(apart, axis=1)[:, 3]
    assert bound_of(asked).gcp == pytest.approx(radii.sum() / apart.shape[0] / 3)


def test_by_suppression_it_is_the_bound_on_stars():
    columns, values = random_table(3, 60)
    asked = problem(columns, values, LDiversity(2), recoding="suppression")
    stars = lower_bound(asked.table, asked.requirement, target=10**9)
    assert loss_bound(asked, stars).gcp == stars.stars / 180


def test_the_certificate_has_it_for_the_publisher_alone():
    frame = shoal.datasets.census(600, quasi_identifiers=4, seed=3)
    *names, sensitive = frame.columns
    asked = {"quasi_identifiers": names, "sensitive": sensitive, "privacy": shoal.KAnonymity(4), "seed": 1}
    for recoding in ("generalization", "suppression"):
        release = shoal.anonymize(frame, **asked, recoding=recoding)
        bound = release.certificate.to_dict()["cost"]["lower_bound"]
        assert 0 < bound["gcp"] <= release.metrics.gcp
        assert bound["gcp_gap"] == pytest.approx(1 - bound["gcp"] / release.metrics.gcp)
        assert bound["gcp_why"]
        assert bound["gcp_nodes"] == []
    proof = release.certificate.public(text="", reservations=(), proof=True).to_dict()
    assert not [name for name in proof["cost"]["lower_bound"] if name.startswith("gcp")]
    coarser = shoal.anonymize(frame, **asked, coarsen={names[0]: shoal.Bins(10)})
    assert "gcp" not in coarser.certificate.to_dict()["cost"]["lower_bound"]


def test_a_bound_is_at_most_the_loss_of_every_algorithm_with_such_cells():
    # Hierarchies that tds and full-domain build cost other losses than intervals and sets.
    others = 0
    for seed in some(range(12)):
        chance = np.random.default_rng(seed)
        rows = int(chance.integers(4, 9))
        frame = pl.DataFrame(
            {
                "age": chance.choice([1, 2, 3, 50, 100], rows),
                "town": chance.choice(["x", "y", "z"], rows),
                "ill": chance.choice(["1", "2"], rows),
            }
        )
        model = [shoal.KAnonymity(2), shoal.LDiversity(2), shoal.LDiversity(2, variant="distinct")][seed % 3]
        asked = {"quasi_identifiers": ["age", "town"], "sensitive": "ill", "privacy": model, "exact_ends": True}
        made = []
        for algorithm in ("tds", "full-domain", "cluster", "mondrian", "hilbert"):
            try:
                release = shoal.anonymize(frame, **asked, algorithm=algorithm, recoding="generalization", seed=1)
            except InfeasibleError:
                continue
            made.append((release.certificate.to_dict()["cost"]["lower_bound"], release.metrics))
        for bound, _ in made:
            for other, metrics in made:
                assert bound["recoded_cells"] <= metrics.recoded_cells
                if bound["gcp_nodes"] == other["gcp_nodes"]:
                    assert bound["gcp"] <= metrics.gcp + 1e-9
                else:
                    others += bound["gcp"] > metrics.gcp
    assert others or not THOROUGH, "no bound by nodes that another algorithm undercuts: the test shows nothing"
