"""Weights of attributes and limits of levels: the search against every node of the lattice, by its definition."""

from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from tests.algorithms.full_domain.test_full_domain import LOSSES, cases, measured
from tests.every import THOROUGH, every, few
from tests.oracles.full_domain import every_node, loss_of_node

from shoal.algorithms import FullDomain
from shoal.algorithms.full_domain.lattice_costs import OF_CELLS
from shoal.algorithms.preferences import Preferences
from shoal.errors import InfeasibleError
from shoal.models import KAnonymity, LDiversity

WEIGHTS = (Fraction(1, 4), Fraction(1), Fraction(3), Fraction(10))


def preferring(case, weights, limits):
    names = [f"q{a}" for a in range(len(case.ways))]
    return Preferences.of(
        names,
        weights=None if weights is None else dict(zip(names, weights, strict=True)),
        limits={name: pair for name, pair in zip(names, limits, strict=True) if pair is not None},
    )


def within(node, limits, ways):
    """Whether a node keeps to limits; where all levels within one read as a star, the star is meant."""
    for level, pair, way in zip(node.levels, limits, ways, strict=True):
        if pair is None:
            continue
        height = len(next(iter(way.values()))) - 1
        value_codes = [up for up in range(pair[0], pair[1] + 1) if up in (0, height) or names_several(way, up)]
        if level not in (value_codes or [height]):
            return False
    return True


def names_several(way, level):
    return len({path[level] for path in way.values()}) > 1


def check(case, metric, limit, weights, limits):
    """Compare a search with all nodes; return the levels, or None where none is feasible."""
    problem = replace(case.problem(), preferences=preferring(case, weights, limits))
    nodes, _ = every_node(case.rows, case.ways, case.accepts, Fraction(limit), case.satisfied)
    nodes = [node for node in nodes if within(node, limits, case.ways)]
    algorithm = FullDomain(suppression_limit=limit, cost=metric)
    if not nodes:
        with pytest.raises(InfeasibleError):
            algorithm.partition(problem)
        return None
    result = algorithm.partition(problem)
    losses = [loss_of_node(node, case.rows, case.value_codes(), case.ways, metric, weights=weights) for node in nodes]
    value_codes = LOSSES.get(metric, lambda same: same)(result.facts["value"])
    assert value_codes == pytest.approx(float(min(losses)), abs=1e-9)
    levels = tuple(result.facts["levels"].values())
    (loss,) = [loss for node, loss in zip(nodes, losses, strict=True) if node.levels == levels]
    assert float(loss) == pytest.approx(float(min(losses)), abs=1e-9)
    assert result.facts["optimal"]
    (node,) = [node for node in nodes if node.levels == levels]
    recoded, _ = measured(problem, result, metric)
    published = recoded.classes.of_group[result.groups]
    for one in set(published.tolist()):  # what is published is what that node publishes
        assert len({node.cells[row] for row in np.flatnonzero(published == one)}) == 1
    return levels


@pytest.mark.drawn
@pytest.mark.parametrize("metric", OF_CELLS)
def test_the_weighted_loss_is_the_least_of_all_nodes(metric):
    chance = Random(metric)
    changed = 0
    for case in [*cases([KAnonymity(3)], few(25), first=900), *cases([LDiversity(2)], few(10), first=1200)]:
        d = len(case.ways)
        weights, limit = [chance.choice(WEIGHTS) for _ in range(d)], chance.choice([0, Fraction(1, 4), 1])
        found = check(case, metric, limit, weights, [None] * d)
        changed += found != check(case, metric, limit, None, [None] * d)
    assert changed >= 3 or not THOROUGH


@pytest.mark.drawn
@every("metric", ["gcp", "precision", "discernability", "suppressed_tuples", "kl_divergence"])
def test_levels_keep_to_their_limits(metric):
    chance = Random(metric)
    feasible = bound = 0
    for case in [*cases([KAnonymity(2)], few(30), first=1500), *cases([LDiversity(2)], few(10), first=1800)]:
        limits = []
        for way in case.ways:
            height = len(next(iter(way.values()))) - 1
            low = chance.randrange(height + 1)
            limits.append(None if chance.random() < 0.2 else (low, chance.randrange(low, height + 1)))
        limit = chance.choice([0, Fraction(1, 2), 1])
        found = check(case, metric, limit, None, limits)
        feasible += found is not None
        bound += found != check(case, metric, limit, None, [None] * len(limits))
    assert feasible >= 15 or not THOROUGH
    assert bound >= 8 or not THOROUGH


@pytest.mark.parametrize("cost", ["gcp", "stars"])
def test_local_recoding_minimizes_the_weighted_loss_and_keeps_to_limits(cost):
    chance = Random(7)
    changed = 0
    for case in cases([KAnonymity(3)], few(20), first=2100):
        d = len(case.ways)
        weights = [chance.choice(WEIGHTS) for _ in range(d)]
        problem = replace(case.problem(), preferences=preferring(case, weights, [None] * d))
        for algorithm in (FullDomain(cost=cost, local=True), FullDomain(cost=cost)):
            result = algorithm.partition(problem)
            recoded, _ = measured(problem, result, cost)
            rows = recoded.rows
            lost = [
                float((column.stars if cost == "stars" else column.penalty) @ recoded.sizes)
                for column in recoded.columns
            ]
            norm = 1 if cost == "stars" else rows * sum(map(float, weights))
            value = sum(float(w) * loss for w, loss in zip(weights, lost, strict=True)) / norm
            assert result.facts["value"] == pytest.approx(value, abs=1e-9)
            if algorithm.local:
                least = value
            else:
                assert least <= value + 1e-9
                changed += least < value - 1e-9
        least_levels = [min(1, len(next(iter(way.values()))) - 1) for way in case.ways]
        limited = replace(problem, preferences=preferring(case, None, [(one, 99) for one in least_levels]))
        result = FullDomain(cost=cost, local=True).partition(limited)
        assert result.least is not None
        assert (result.least >= np.array(least_levels)).all()
    assert changed >= 3 or not THOROUGH
