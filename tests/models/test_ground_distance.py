"""The earth mover's distance under every ground distance: exact, and the same in the models and in the kernels."""

from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import oracles
from tests.oracles.strategies import ground_distances

from shoal.algorithms.common.compiled import compile_requirement
from shoal.algorithms.common.predicate_kernel import acceptable
from shoal.models import TCloseness
from shoal.models.base import GroupCounts
from shoal.models.domain import Domain
from shoal.models.ground_distance import distances
from shoal.models.population import Population
from shoal.models.requirement import Requirement
from shoal.table import Schema, encode
from shoal.verification import MeasuredTable

GROUPS = st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=9), min_size=1, max_size=4)


def counted(groups, domain=None):
    """Count the values of groups, given as lists of codes from 0 without gaps."""
    table = Counter(value for group in groups for value in group)
    found = [Counter(group) for group in groups]
    return GroupCounts(
        sizes=np.array([len(group) for group in groups]),
        starts=np.cumsum([0, *(len(counts) for counts in found)]),
        values=np.array([value for counts in found for value in counts]),
        counts=np.array([count for counts in found for count in counts.values()]),
        population=Population(
            totals=np.array([table[value] for value in range(max(table) + 1)]),
            domain=domain
            or Domain.of(labels=[Fraction(v) for v in range(max(table) + 1)], ranks=np.arange(max(table) + 1)),
        ),
    )


def dense(groups):
    present = sorted({value for group in groups for value in group})
    return [[present.index(value) for value in group] for group in groups]


@settings(max_examples=400, deadline=None)
@given(st.data(), GROUPS.map(dense))
def test_distances_are_those_of_the_cheapest_transport(data, groups):
    values = sorted({value for group in groups for value in group})
    distance = data.draw(ground_distances(values))
    table = [value for group in groups for value in group]
    ground = oracles.ground_of(distance, table)
    expected = [oracles.earth_movers_distance(group, table, ground) for group in groups]
    assert distances(counted(groups), distance) == expected
    assert all(0 <= one <= 1 for one in expected)


@settings(max_examples=300, deadline=None)
@given(st.data(), GROUPS.map(dense), st.sampled_from([0, 1]))
def test_models_and_kernels_decide_alike_on_the_border_and_beside_it(data, groups, which):
    values = sorted({value for group in groups for value in group})
    distance = data.draw(ground_distances(values))
    counts = counted(groups)
    border = data.draw(st.sampled_from(distances(counts, distance)))
    t = min(max(border + data.draw(st.sampled_from([0, 0, Fraction(1, 10**12), Fraction(-1, 10**12)])), 0), 1)
    model = TCloseness(t, distance=distance)
    accepted = model.acceptable(counts).tolist()
    assert accepted == [one <= t for one in distances(counts, distance)]
    rows = [(g, value) for g, group in enumerate(groups) for value in group]
    schema = Schema(quasi_identifiers=("g",), sensitive=("s",))
    table = encode(pl.DataFrame(rows, schema=["g", "s"], orient="row"), schema)
    compiled = compile_requirement(table, Requirement.of(model, ["s"]))
    function = (acceptable, acceptable.py_func)[which]
    for g, (group, safe) in enumerate(zip(groups, accepted, strict=True)):
        codes, found = np.unique(compiled.codes[table.quasi_identifiers[0].codes == g], return_counts=True)
        here = np.full(compiled.starts[-1], -1)
        here[codes] = found
        touched = codes[::-1].astype(np.int32)
        answer = function(len(group), touched, len(codes), here, compiled.starts, compiled.rules, compiled.bounds)
        assert answer == safe
        assert not safe or len(group) >= compiled.smallest
    # From the published cells: other codes, in another order.
    for frame in (
        pl.DataFrame(rows, schema=["g", "s"], orient="row"),
        pl.DataFrame(rows[::-1], schema=["g", "s"], orient="row"),
    ):
        for cells in (frame, frame.with_columns(pl.col("s").cast(pl.String)), frame.with_columns(pl.col("s") * 1.0)):
            (published,) = MeasuredTable(cells, ["g"], ["s"]).counts
            assert sorted(distances(published, distance)) == sorted(distances(counts, distance))
