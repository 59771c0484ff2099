"""Every model decides about some groups of a table as about all, and about tables of any size exactly."""

import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
from tests.every import THOROUGH, few

from shoal.hierarchy import Hierarchy
from shoal.models import (
    AlphaKAnonymity,
    AverageRisk,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    DifferentialPrivacy,
    KAnonymity,
    KEAnonymity,
    KMap,
    LDiversity,
    MUniqueness,
    PopulationUniqueness,
    SampleUniqueness,
    TableModel,
    TCloseness,
)
from shoal.models.base import GroupCounts
from shoal.models.domain import Domain
from shoal.models.ground_distance import EqualDistance, OrderedDistance, distances
from shoal.models.hierarchical_distance import HierarchicalDistance
from shoal.models.metric_distance import MetricDistance
from shoal.models.model_list import MODELS
from shoal.models.population import Population
from shoal.models.release_counts import ReleaseCounts
from shoal.verification import MeasuredTable

VALUES = 4
TREE = Hierarchy.from_rows([("0", "low", "*"), ("1", "low", "*"), ("2", "high", "*"), ("3", "high", "*")])
METRIC = MetricDistance(range(VALUES), [[abs(i - j) for i in range(VALUES)] for j in range(VALUES)])
ASKED = [
    KAnonymity(3),
    *(LDiversity(2, variant=variant) for variant in ("frequency", "distinct", "entropy")),
    LDiversity(2, variant="recursive", c=2),
    AlphaKAnonymity(Fraction(2, 3), 2),
    KEAnonymity(2, 2),
    BetaLikeness(1),
    BetaLikeness(1, variant="enhanced"),
    DeltaDisclosure(2),
    *(TCloseness(0.4, distance=one) for one in ("equal", "ordered", METRIC, HierarchicalDistance(TREE))),
    TCloseness(0.4, distance=OrderedDistance([3, 1, 2, 0])),
    MUniqueness(2),
    DifferentialPrivacy(Fraction(1, 2), Fraction(1, 4)),
    AverageRisk(Fraction(1, 5)),
    SampleUniqueness(Fraction(1, 20)),
    PopulationUniqueness(Fraction(1, 20), sampling_fraction=0.3),
]
OF_PEOPLE = {DeltaPresence, KMap}
"""A part of a release does not tell who fits another one; see the tests of these models."""


def random_table(rng):
    """Make a table of groups whose sensitive values are numbers, and a part of each group."""
    groups = int(rng.integers(2, 9))
    rows = np.concatenate((np.arange(groups), rng.integers(0, groups, rng.integers(0, 40))))
    codes = rng.integers(0, VALUES, len(rows)) if rng.random() < 0.5 else rng.binomial(VALUES - 1, 0.3, len(rows))
    # All values occur: hierarchy, metric and order are over them.
    rows, codes = np.concatenate((rows, np.zeros(VALUES, int))), np.concatenate((codes, np.arange(VALUES)))
    frame = pl.DataFrame({"q": rows, "s": codes})
    return frame, rng.integers(0, rng.integers(1, 4) + 1, groups)


def test_every_model_of_the_table_is_asked():
    assert {type(model) for model in ASKED} == set(MODELS.values()) - OF_PEOPLE


def test_some_groups_are_judged_as_all_are():
    rng = np.random.default_rng(46)
    judged = {model: set() for model in ASKED}
    for _ in range(few(150)):
        frame, part_of_group = random_table(rng)
        (whole,) = MeasuredTable(frame, ["q"], ["s"]).counts
        parts = [whole.select(part_of_group == part) for part in set(part_of_group)]
        order = np.concatenate([np.flatnonzero(part_of_group == part) for part in set(part_of_group)])
        for model in ASKED:
            if isinstance(model, TableModel):
                judged[model].add(model.satisfied(ReleaseCounts.of(whole.sizes)))
                continue
            answer = model.acceptable(whole)[order].tolist()
            judged[model] |= set(answer)
            for pieces in (parts, [pickle.loads(pickle.dumps(one)) for one in parts]):
                assert np.concatenate([model.acceptable(piece) for piece in pieces]).tolist() == answer
    assert all(answers == {True, False} for answers in judged.values()) or not THOROUGH


def test_some_groups_in_any_order():
    (counts,) = MeasuredTable(pl.DataFrame({"q": [0, 1, 1, 2, 2, 2], "s": [1, 1, 2, 1, 2, 3]}), ["q"], ["s"]).counts
    turned = counts.select(np.array([2, 0]))
    assert turned.sizes.tolist() == [3, 1]
    assert turned.starts.tolist() == [0, 3, 4]
    assert turned.values.tolist() == [0, 1, 2, 0]
    assert counts.select(slice(1, 1)).sizes.tolist() == []
    assert counts.select(slice(0, 2)).population is counts.population
    assert repr(counts.population) == "Population(rows=6, values=3)"


def test_populations_beyond_31_bits_are_compared_exactly():
    totals = np.array([3 * 2**32, 1, 2**33])
    labels = [Fraction(v) for v in range(3)]
    population = Population(totals=totals, domain=Domain.of(labels=labels, ranks=np.arange(3)))
    rows = int(totals.sum())
    assert population.rows == rows > 2**31
    counts = np.array([2**33 + 7, 1, 2**33])
    groups = replace(GroupCounts.whole(population), sizes=np.array([counts.sum()]), counts=counts)
    size = int(counts.sum())
    gains = [int(count) * rows - int(total) * size for count, total in zip(counts, totals, strict=True)]
    equal = Fraction(sum(max(gain, 0) for gain in gains), size * rows)
    ordered = Fraction(sum(abs(sum(gains[: i + 1])) for i in range(3)), 2 * size * rows)
    line = MetricDistance(range(3), [[abs(i - j) for i in range(3)] for j in range(3)])
    flat = HierarchicalDistance(Hierarchy.from_rows([("0", "*"), ("1", "*"), ("2", "*")]))
    for distance, exact in ((EqualDistance(), equal), (OrderedDistance(), ordered), (line, ordered), (flat, equal)):
        assert distances(groups, distance) == [exact]
        assert TCloseness(exact, distance=distance).acceptable(groups).tolist() == [True]
        assert TCloseness(exact - Fraction(1, 10**30), distance=distance).acceptable(groups).tolist() == [False]
    assert BetaLikeness(10).acceptable(groups).tolist() == [True]
    assert [LDiversity(l, variant="entropy").acceptable(groups).tolist() for l in (2, 3)] == [[True], [False]]
