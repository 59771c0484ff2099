"""The order in which sensitive values are drawn: those that are alike stand together."""

import numpy as np

from shoal.hierarchy import Hierarchy
from shoal.models import BetaLikeness, DeltaDisclosure, KAnonymity, LDiversity, TCloseness
from shoal.models.base import GroupCounts
from shoal.models.domain import Domain
from shoal.models.ground_distance import OrderedDistance
from shoal.models.hierarchical_distance import HierarchicalDistance
from shoal.models.metric_distance import MetricDistance
from shoal.models.population import Population
from shoal.models.requirement import Requirement

VALUES = ["flu", "gastritis", "cold", "ulcer"]


def table(totals=(5, 7, 9, 3)):
    totals = np.array(totals)
    return GroupCounts(
        sizes=totals.sum(keepdims=True),
        starts=np.array([0, len(totals)]),
        values=np.arange(len(totals)),
        counts=totals,
        population=Population(totals=totals, domain=Domain.of(labels=VALUES)),
    )


def drawn(*models):
    return [VALUES[code] for code in Requirement.of(models, ("s",)).drawing_order(table().population)]


def test_the_most_frequent_first_where_no_two_values_are_more_alike():
    frequent = ["cold", "gastritis", "flu", "ulcer"]
    assert drawn(TCloseness(0.2)) == drawn(LDiversity(2)) == drawn(KAnonymity(2), BetaLikeness(1)) == frequent


def test_by_rank_by_branch_and_by_nearness():
    order = OrderedDistance(["ulcer", "cold", "gastritis", "flu"])
    assert drawn(TCloseness(0.2, distance=order)) == ["ulcer", "cold", "gastritis", "flu"]
    tree = Hierarchy.from_rows([(value, "lung" if value in ("flu", "cold") else "stomach", "*") for value in VALUES])
    branches = drawn(KAnonymity(3), TCloseness(0.2, distance=HierarchicalDistance(tree)))
    assert {frozenset(branches[:2]), frozenset(branches[2:])} == {frozenset(VALUES[::2]), frozenset(VALUES[1::2])}
    metric = MetricDistance(VALUES, [[0, 4, 1, 3], [4, 0, 3, 1], [1, 3, 0, 2], [3, 1, 2, 0]])
    assert drawn(TCloseness(0.2, distance=metric)) == ["flu", "cold", "ulcer", "gastritis"]


def test_who_compares_with_the_table():
    compare = [TCloseness(0.1), BetaLikeness(1), DeltaDisclosure(1)]
    assert all(model.compares_with_table for model in compare)
    assert not KAnonymity(2).compares_with_table
    assert Requirement.of([KAnonymity(2), TCloseness(0.1)], ("s",)).compares_with_table
    assert not Requirement.of([KAnonymity(2), LDiversity(2)], ("s",)).compares_with_table
