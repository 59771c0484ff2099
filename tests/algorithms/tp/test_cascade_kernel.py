"""The cascade's kernels: projections, and the largest acceptable part of every group of waiting rows."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms.tp import cascade_kernel as kernels

COMPILED = {name: getattr(kernels, name) for name in ("keep_largest_parts", "project", "project_groups")}
PLAIN = {name: kernel.py_func for name, kernel in COMPILED.items()}
BOTH = pytest.mark.parametrize("run", [COMPILED, PLAIN], ids=["compiled", "plain"])


def i32(values):
    return np.array(values, dtype=np.int32)


def i64(values):
    return np.array(values, dtype=np.int64)


@BOTH
def test_project_by_hand(run):
    # Three attributes of sizes 4, 5, 6; the second is starred, so that the weights are 1, 0, 4.
    codes = i32([[3, 4, 5], [1, 2, 0], [3, 0, 5]])
    keys = run["project"](codes, i32([2, 0, 1]), i64([1, 0, 4]), i32([6, 1, 0]), 7)
    assert keys.tolist() == [23 * 7 + 0, 23 * 7 + 6, 1 * 7 + 1]
    assert keys.dtype == np.int64


@BOTH
def test_keys_of_projections_do_not_overflow(run):
    codes = i32([[2**30, 2**29]])
    keys = run["project"](codes, i32([0]), i64([1, 2**31]), i32([1]), 2)
    assert keys.tolist() == [(2**30 + 2**60) * 2 + 1]


@BOTH
def test_groups_fit_patterns_that_star_more_than_theirs(run):
    codes = i32([[1, 2], [1, 2], [3, 0], [1, 2]])
    patterns = i64([0b00, 0b01, 0b00, 0b10])
    # The first attribute is starred; the second weighs 1.
    assert run["project_groups"](codes, patterns, 0b01, i64([0, 1])).tolist() == [2, -1, 0, -1]
    assert run["project_groups"](codes, patterns, 0b11, i64([0, 0])).tolist() == [0, 0, 0, 0]
    assert run["project_groups"](codes, patterns, 0b00, i64([1, 2])).tolist() == [-1] * 4


@st.composite
def waiting_rows(draw):
    """Items of waiting rows by projection and value; some have none left."""
    radix = draw(st.integers(1, 5))
    item = st.tuples(st.integers(0, 3), st.integers(0, radix - 1), st.integers(0, 4))
    return radix, draw(st.lists(item, max_size=25))


@BOTH
@settings(max_examples=200, deadline=None)
@given(
    drawn=waiting_rows(),
    fraction=st.sampled_from([(1, 1), (2, 1), (3, 1), (5, 2), (7, 3), (4, 3)]),
    k=st.integers(1, 6),
)
def test_the_largest_acceptable_part_of_every_projection_is_kept(run, drawn, fraction, k):
    radix, items = drawn
    (num, den), first_group = fraction, 4
    table_cells = np.random.default_rng(len(items)).permutation(len(items)).astype(np.int32)
    keys = i64([projection * radix + value for projection, value, _ in items])
    order = np.argsort(keys, kind="stable").astype(np.int32)
    left = i32([item[2] for item in items])
    sorted_items = kernels.Waiting.of(keys[order], order, radix, left=left, table_cells=table_cells)
    still, entries, next_group = run["keep_largest_parts"](sorted_items, kernels.Frequency(num, den, k), first_group)

    given_to = {(cell, group): count for cell, group, count in entries.tolist()}
    assert len(given_to) == len(entries)
    assert (entries[:, 2] > 0).all()
    assert (np.diff(entries[:, 1]) >= 0).all(), "entries are in the order of the groups"
    waiting = [Counter() for _ in range(4)]
    for projection, value, count in items:
        waiting[projection][value] += count
    number = first_group
    for projection in sorted({item[0] for item in items}):
        counts = waiting[projection]
        sizes = {h: sum(min(h, count) for count in counts.values()) for h in range(1, max(counts.values()) + 1)}
        height = max((h for h, size in sizes.items() if num * h <= den * size), default=0)
        if height == 0 or sizes[height] < k:
            continue
        kept = Counter()
        for cell, (own, value, _) in zip(table_cells.tolist(), items, strict=True):
            inside = given_to.get((cell, number), 0)
            assert own == projection or inside == 0, "a row is in a group of another projection"
            kept[value] += inside
        assert kept == Counter({value: min(height, count) for value, count in counts.items()})
        number += 1
    assert next_group == number

    assert still.tolist() == [item for item in order if left[item] > 0]
    given = Counter()
    for (cell, _), count in given_to.items():
        given[cell] += count
    for cell, (_, _, had), waits in zip(table_cells.tolist(), items, left.tolist(), strict=True):
        assert given[cell] + waits == had
