"""The kernels of top-down specialization, compiled and in plain Python, and what they keep up to date."""

import math
from types import FunctionType

import numpy as np
import polars as pl
import pytest

from shoal.algorithms.base import Problem
from shoal.algorithms.common.compiled import compile_requirement
from shoal.algorithms.tds import specialization_kernel as kernels
from shoal.algorithms.tds import top_down_specialization as module
from shoal.algorithms.tds.specialization_kernel import (
    ANONYMITY,
    DONE,
    GROUPS,
    LISTED,
    PERFORMED,
    UNIT,
    VALID,
    specialize,
)
from shoal.algorithms.tds.top_down_specialization import Taxonomy
from shoal.hierarchy import frequency_hierarchy
from shoal.models import KAnonymity, LDiversity
from shoal.models.requirement import Requirement
from shoal.table import Schema, encode


def problem(seed, *, rows=400, sensitive=1, models=None):
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            f"q{a}": np.minimum(rng.integers(0, size, rows), rng.integers(0, size, rows))
            for a, size in enumerate((9, 4, 12))
        }
        | {f"s{j}": rng.permutation(np.arange(rows) % 6) for j in range(sensitive)}
    )
    names = tuple(name for name in frame.columns if name[0] == "q")
    level_nodes = tuple(name for name in frame.columns if name[0] == "s")
    return Problem(
        table=encode(frame, Schema(quasi_identifiers=names, sensitive=level_nodes)),
        requirement=Requirement.of(models or [LDiversity(2), KAnonymity(3)], level_nodes),
        rng=np.random.default_rng(0),
        recoding="generalization",
        hierarchies={name: frequency_hierarchy(frame[name]) for name in names},
    )


def search_of(made):
    compiled = compile_requirement(made.table, made.requirement)
    return module._Search.of(made.table, compiled, Taxonomy.of(made.levels))


def run(search, kernel, budget):
    """Call a kernel once, with room for whatever it does; return why it came back."""
    search.groups = module._enlarge(search.groups, len(search.records))
    return kernel(
        search.records,
        search.trees,
        search.groups,
        search.candidates,
        search.predicate,
        search.scratch,
        search.state,
        budget,
    )


def fresh(search):
    """Gain and smallest part of every valid candidate, and the smallest group, from the records alone."""
    trees, count = search.trees, int(search.state[GROUPS])
    groups = [search.records[search.groups.starts[g] : search.groups.stops[g]] for g in range(count)]
    found = {}
    for node in search.candidates.listed[: search.state[LISTED]].tolist():
        a = int(trees.column[node])
        gain, smallest = 0, math.inf
        for records in groups:
            if trees.cut[records[0, a]] != node:
                continue
            gain -= spread(records)
            for branch in np.unique(trees.branch[records[:, a]]):
                part = records[trees.branch[records[:, a]] == branch]
                child = trees.children[trees.child_starts[node] + branch]
                gain += spread(part) + int(part[:, -1].sum() * (trees.log_sizes[node] - trees.log_sizes[child]))
                smallest = min(smallest, int(part[:, -1].sum()))
        found[node] = (gain, smallest)
    return found, min(int(records[:, -1].sum()) for records in groups)


def spread(records):
    counts = np.bincount(records[:, -2], weights=records[:, -1]).astype(int)
    return sum(round(c * math.log(c) * UNIT) for c in counts.tolist() if c)


@pytest.mark.parametrize("sensitive", [0, 1, 2])
def test_what_is_kept_up_to_date_is_what_it_would_be_from_scratch(sensitive):
    steps = 0
    for seed in range(4):
        search = search_of(problem(seed, sensitive=sensitive, models=None if sensitive else [KAnonymity(3)]))
        ended = None
        while ended != DONE:
            expected, smallest = fresh(search)
            assert search.state[ANONYMITY] == smallest
            kept = search.candidates
            assert {node: (int(kept.gain[node]), int(kept.smallest[node])) for node in expected} == expected
            assert set(expected) == set(np.flatnonzero(kept.status == VALID).tolist())
            ended = run(search, specialize, 1)
        steps += int(search.state[PERFORMED])
        assert sorted(map(tuple, search.records.tolist())) == sorted(
            map(
                tuple,
                search_of(
                    problem(seed, sensitive=sensitive, models=None if sensitive else [KAnonymity(3)])
                ).records.tolist(),
            )
        )
    assert steps > 10


def test_in_plain_python_it_is_the_same(monkeypatch):
    made = problem(7, rows=60, sensitive=2)
    compiled = search_of(made)
    assert run(compiled, specialize, 10**9) == DONE
    for name, kernel in list(vars(kernels).items()):
        plain = getattr(kernel, "py_func", None)
        if isinstance(plain, FunctionType) and name != "acceptable":
            monkeypatch.setattr(kernels, name, plain)
            if hasattr(module, name):
                monkeypatch.setattr(module, name, plain)
    plain = search_of(made)
    assert run(plain, kernels.specialize, 10**9) == DONE
    assert compiled.state[PERFORMED] > 0
    for one, other in (
        (compiled.records, plain.records),
        (compiled.state, plain.state),
        (compiled.trees.cut, plain.trees.cut),
    ):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("form", [kernels.weights_table, kernels.weights_table.py_func])
def test_the_weights(form):
    table = form(5)
    assert table.tolist() == [0, 0, *(round(c * math.log(c) * UNIT) for c in (2, 3, 4))]
    assert kernels._weight.py_func(4, table) == kernels._weight.py_func(4, table[:2]) == table[4]


def test_between_equal_scores_the_first_attribute_wins():
    frame = pl.DataFrame({"a": [1, 1, 2, 2], "b": [1, 1, 2, 2], "s": [1, 2, 1, 2]})
    table = encode(frame, Schema(quasi_identifiers=("a", "b"), sensitive=("s",)))
    made = Problem(table=table, requirement=Requirement.of([KAnonymity(2)], ("s",)), rng=np.random.default_rng(0))
    search = search_of(made)
    run(search, specialize, 1)
    assert search.trees.cut[:2].tolist() == [0, 1]
    assert len(set(search.trees.cut[2:].tolist())) == 1
