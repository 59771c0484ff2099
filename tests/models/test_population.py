"""Groups of a table in parts: every model decides, and everything is measured, as if the table were in one piece."""

import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import shoal.errors
from shoal._core.facts import Fact
from shoal.algorithms import LowerBound
from shoal.algorithms.common.compiled import compile_requirement, populations_of
from shoal.errors import DataError, InternalError
from shoal.hierarchy import Hierarchy
from shoal.metrics import gcp
from shoal.models import (
    MODELS,
    AlphaKAnonymity,
    AverageRisk,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    DifferentialPrivacy,
    Domain,
    EqualDistance,
    GroupCounts,
    HierarchicalDistance,
    KAnonymity,
    KEAnonymity,
    KMap,
    LDiversity,
    MetricDistance,
    MUniqueness,
    OrderedDistance,
    Population,
    PopulationUniqueness,
    ReleaseCounts,
    Requirement,
    SampleUniqueness,
    TableModel,
    TCloseness,
    distances,
)
from shoal.recoding import recode
from shoal.release.certificate import Cost
from shoal.table import Schema, encode
from shoal.verification import Achieved, count_groups, count_population, measure, verify

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


def part_of(table, rows):
    return replace(table.gather(rows), rows=len(rows))


def test_every_model_of_the_table_is_asked():
    assert {type(model) for model in ASKED} == set(MODELS.values()) - OF_PEOPLE


def test_parts_are_judged_and_measured_as_the_whole_is():
    rng = np.random.default_rng(46)
    judged = {model: set() for model in ASKED}
    for _ in range(150):
        frame, part_of_group = random_table(rng)
        (whole,) = count_groups(frame, ["q"], ["s"])
        populations = count_population(frame, ["s"])
        parts = [frame.filter(pl.Series(part_of_group == part).gather(frame["q"])) for part in set(part_of_group)]
        counted = [count_groups(part, ["q"], ["s"], populations)[0] for part in parts]
        sliced = [whole.select(part_of_group == part) for part in set(part_of_group)]
        order = np.concatenate([np.flatnonzero(part_of_group == part) for part in set(part_of_group)])
        divided = [counted, sliced, [pickle.loads(pickle.dumps(one)) for one in sliced]]
        rejoined = [GroupCounts.concatenate(pieces) for pieces in divided]
        for model in ASKED:
            if isinstance(model, TableModel):
                answer = model.satisfied(ReleaseCounts.of(whole.sizes))
                judged[model].add(answer)
                assert all(model.satisfied(ReleaseCounts.of(joined.sizes)) == answer for joined in rejoined)
                continue
            answer = model.acceptable(whole)[order].tolist()
            judged[model] |= set(answer)
            for pieces, joined in zip(divided, rejoined, strict=True):
                assert np.concatenate([model.acceptable(piece) for piece in pieces]).tolist() == answer
                assert model.acceptable(joined).tolist() == answer
        assert Achieved.merged([measure(part, ["q"], ["s"], ASKED, populations) for part in parts]) == measure(
            frame, ["q"], ["s"], ASKED
        )
    assert all(answers == {True, False} for answers in judged.values())


def test_halves_of_a_table_that_is_far_from_both_are_measured_against_it():
    """Measured against themselves, these halves were 0 and 1/2 away from the table."""
    frame = pl.DataFrame({"q": [0] * 4 + [1] * 2 + [2] * 2, "s": ["a"] * 4 + ["b"] * 2 + ["c"] * 2})
    populations = count_population(frame, ["s"])
    halves = [frame.filter(pl.col("q") == 0), frame.filter(pl.col("q") > 0)]
    found = [measure(half, ["q"], ["s"], populations=populations) for half in halves]
    assert [one.t["s"] for one in found] == [0.5, 0.75]
    assert Achieved.merged(found) == measure(frame, ["q"], ["s"])
    requirement = Requirement.of(TCloseness(0.5), ["s"])
    roles = {"quasi_identifiers": ["q"], "sensitive": ["s"], "requirement": requirement}
    verify(halves[0], **roles, populations=populations)
    with pytest.raises(shoal.errors.ReleaseUnsafeError, match="in 2 of 2 groups"):
        verify(halves[1], **roles, populations=populations)


def test_several_attributes_and_none_are_merged():
    frame = pl.DataFrame({"q": [0, 0, 1, 1, 1], "s": [1.5, None, 1.5, 2.0, 2.0], "u": ["x", "y", "x", "x", "1"]})
    parts = [frame[:2], frame[2:]]
    for sensitive in (["s", "u"], []):
        populations = count_population(frame, sensitive)
        merged = Achieved.merged([measure(part, ["q"], sensitive, populations=populations) for part in parts])
        assert merged == measure(frame, ["q"], sensitive)
    with pytest.raises(DataError, match="holds 1 values that the whole table does not"):
        count_groups(frame, ["q"], ["s"], count_population(frame[2:], ["s"]))


def test_two_orders_stay_apart_until_they_are_told():
    """Two distances that measure the same in one part need not in another."""
    frame = pl.DataFrame({"q": [0, 0, 0, 1, 2], "s": ["a", "b", "c", "a", "b"]})
    models = [TCloseness(1, distance=OrderedDistance(order)) for order in (["a", "b", "c"], ["b", "a", "c"])]
    populations = count_population(frame, ["s"])
    parts = [measure(frame.filter(pl.col("q") == q), ["q"], ["s"], models, populations) for q in range(3)]
    whole = measure(frame, ["q"], ["s"], models)
    assert Achieved.merged(parts) == whole
    assert Achieved.merged(parts).to_dict() == whole.to_dict()
    assert len(parts[0].closeness) == 2


def test_what_does_not_belong_together_is_not_joined():
    counts = GroupCounts.whole(Population(totals=np.array([2, 3])))
    other = GroupCounts.whole(Population(totals=np.array([3, 2])))
    assert GroupCounts.concatenate([counts, counts]).sizes.tolist() == [5, 5]
    for parts in ([], [counts, other]):
        with pytest.raises(InternalError):
            GroupCounts.concatenate(parts)
    for parts in ([], [Achieved(k=2, groups=1), Achieved(k=2, groups=1, l_frequency=1.0)]):
        with pytest.raises(InternalError):
            Achieved.merged(parts)


def test_some_groups_in_any_order():
    (counts,) = count_groups(pl.DataFrame({"q": [0, 1, 1, 2, 2, 2], "s": [1, 1, 2, 1, 2, 3]}), ["q"], ["s"])
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


def test_a_part_of_a_table_is_compiled_against_the_whole():
    frame = pl.DataFrame({"q": [0, 0, 1, 1, 1, 1], "s": ["a", "b", "a", "a", "a", "a"]})
    schema = Schema(quasi_identifiers=("q",), sensitive=("s",))
    whole = encode(frame, schema)
    part = part_of(whole, np.array([0, 1]))
    requirement = Requirement.of(TCloseness(0.1), ["s"])
    alone, beside = (compile_requirement(part, requirement, given) for given in (None, populations_of(whole)))
    assert alone.bounds.tolist() == [2, 1, 1]
    assert beside.bounds.tolist() == [6, 5, 1]
    with pytest.raises(InternalError, match="31 bits"):
        compile_requirement(part, requirement, [Population(totals=np.array([2**31, 1]))])


def test_costs_of_parts_are_merged():
    rng = np.random.default_rng(47)
    schema = Schema(quasi_identifiers=("a", "b"), sensitive=("s",))
    bound = LowerBound(stars=1, suppressed_tuples=1, why=Fact("residue"))

    def cost(table, groups):
        numbers, dense = np.unique(groups, return_inverse=True)
        recoding = recode(table, dense.astype(np.int32), len(numbers), method="generalization", star="*")
        return Cost.of(recoding, bound, gcp=gcp(recoding))

    for _ in range(100):
        rows = int(rng.integers(2, 40))
        names = rng.choice(["x", "y", "z"], rows)
        table = encode(pl.DataFrame({"a": rng.integers(0, 9, rows), "b": names, "s": [0] * rows}), schema)
        groups = rng.integers(0, 6, rows)
        part_of_group = rng.integers(0, 3, 6)
        parts = [np.flatnonzero(part_of_group[groups] == part) for part in range(3)]
        merged = Cost.merged([cost(part_of(table, part), groups[part]) for part in parts if len(part)], bound)
        whole = cost(table, groups)
        assert replace(merged, gcp=whole.gcp) == whole
        assert merged.gcp == pytest.approx(whole.gcp, abs=1e-12)
