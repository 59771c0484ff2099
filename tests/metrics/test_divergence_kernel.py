from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from shoal.metrics import divergence_kernel as divergence
from shoal.metrics.divergence_kernel import box_bits, box_densities, pattern_densities


@pytest.fixture(params=["compiled", "python"])
def version(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Any], Any]]:
    """Give the kernels compiled, or as plain Python down to those that they call; sums of int64 wrap there too."""
    if request.param == "compiled":
        yield lambda kernel: kernel
        return
    for name in ("_agree", "_project", "_share"):
        monkeypatch.setattr(divergence, name, getattr(divergence, name).py_func)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "overflow encountered", RuntimeWarning)
        yield lambda kernel: kernel.py_func


# Three points: (0, 0, v0), (0, 1, v0), (1, 1, v1); two rows at the first.
POINTS = np.array([[0, 0, 1], [0, 1, 1], [0, 0, 1]], dtype=np.int32)
POINT_OF_ROW = np.array([0, 1, 2, 0], dtype=np.int64)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(
    ("multipliers", "injective"),
    [([4, 2, 1], True), ([1, 1, 1], False), ([0, 0, 0], False), ([2**62 + 1, 3, 5], False)],
)
def test_patterns(version: Callable[[Any], Any], multipliers: list[int], injective: bool, shared: bool) -> None:
    # Rows 2 and 3 keep all; rows 0 and 1 keep the first attribute only and weigh a half.
    rows, starts = np.array([2, 3, 0, 1], dtype=np.int32), np.array([0, 2, 4])
    kept, weights = np.array([[True, True], [True, False]]), np.array([1.0, 0.5])
    keys, offsets = np.array(multipliers, dtype=np.int64), np.array([0, 2])
    # Code 0 of the first attribute stands for four values, code 1 of the second for two.
    shares = np.array([0.25, 1.0, 1.0, 0.5]) if shared else np.zeros(0)
    found = version(pattern_densities)(
        POINTS, keys, injective, POINT_OF_ROW, rows, starts, kept, weights, offsets, shares
    )
    assert found.tolist() == ([0.25 * (1 + 2 * 0.5), 0.25 * 2 * 0.5, 0.5] if shared else [1 + 2 * 0.5, 2 * 0.5, 1.0])


def test_box_bits_of_values_runs_and_the_whole_domain(version: Callable[[Any], Any]) -> None:
    # Label 0 stands for code 1, label 1 for {0, 2, 3}, label 2 for all.
    runs = np.array([0, 1, 3, 4]), np.array([1, 0, 2, 0], dtype=np.int32), np.array([1, 0, 3, 3], dtype=np.int32)
    labels = np.zeros(70, dtype=np.int32)
    labels[1], labels[65], labels[69] = 1, 2, 1
    bits = np.zeros((4, 2), dtype=np.uint64)
    version(box_bits)(bits, labels, *runs)
    allowed = [{1}, {0, 2, 3}, {0, 1, 2, 3}]
    for code in range(4):
        for box in range(70):
            bit = (int(bits[code, box // 64]) >> (box % 64)) & 1
            assert bit == (code in allowed[labels[box]])


def test_boxes(version: Callable[[Any], Any]) -> None:
    # 66 boxes: box 0 holds the first combination, box 65 all of them, the others none of them.
    combinations = np.array([[0, 0, 1], [0, 1, 1]], dtype=np.int32)
    point_starts, values = np.array([0, 1, 2, 3]), np.array([0, 0, 1], dtype=np.int32)
    bits = np.zeros((4, 2), dtype=np.uint64)
    bits[0, 0] = bits[2, 0] = 1
    bits[:, 1] = 2
    entry_starts = np.array([0] + [1] * 65 + [3])
    entry_values, entry_weights = np.array([0, 0, 1], dtype=np.int32), np.array([1.0, 0.25, 0.5])
    entries = (entry_starts, entry_values, entry_weights)
    slots, densities = np.full(2, -1), np.zeros(3)
    walk = (combinations, point_starts, values, bits, np.array([0, 2]), *entries)
    work = version(box_densities)(*walk, np.array([0, 3]), slots, densities)
    assert densities.tolist() == [1.25, 0.25, 0.5]
    assert work > 0
    part = np.zeros(3)
    version(box_densities)(*walk, np.array([1, 3]), np.full(2, -1), part)
    assert part.tolist() == [0.0, 0.25, 0.5]


def test_positions_of_single_bits() -> None:
    sequence = int(divergence._SEQUENCE)
    found = [int(divergence._POSITIONS[((sequence << bit) & (2**64 - 1)) >> 58]) for bit in range(64)]
    assert found == list(range(64))
