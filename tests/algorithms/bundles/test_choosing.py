"""Which rows of units stay: a choice is found if there is one, against trying all of them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from tests.every import THOROUGH, every, few
from tests.oracles.linked import can_choose_rows

from shoal.algorithms.bundles import choosing_kernel
from shoal.algorithms.bundles.choosing_kernel import RowValues, choose_rows

if TYPE_CHECKING:
    import pytest

Units = list[list[list[int]]]


def drawn(rng: np.random.Generator, *, different: bool, several: bool) -> Units:
    """Draw two to five units with one to four rows, one of the values more frequent than the others."""
    shares = np.array([3, 1, 1, 1, 1]) / 7
    units: Units = []
    for _ in range(int(rng.integers(2, 6))):
        count = int(rng.integers(1, 5))
        if different:
            units.append([[int(one)] for one in rng.choice(5, count, replace=False, p=shares)])
        else:
            sizes = rng.integers(0, 3, count) if several else np.ones(count, dtype=int)
            units.append([rng.choice(5, one, replace=False, p=shares).tolist() for one in sizes])
    return units


def chosen(units: Units, length: int, most: int) -> tuple[bool, Sequence[set[int]]]:
    """Let the kernel choose rows of the units that have enough; return the values of each."""
    rows = [row for unit in units for row in unit]
    starts = np.concatenate(([0], np.cumsum([len(unit) for unit in units])))
    stays = np.concatenate([np.arange(len(unit)) < length for unit in units])
    held = RowValues(
        starts=starts,
        entries=np.concatenate(([0], np.cumsum([len(row) for row in rows]))),
        values=np.array([value for row in rows for value in row], dtype=np.int32),
    )
    found = choosing_kernel.choose_rows(np.arange(len(units)), held, np.full(5, most), stays)
    each = [np.flatnonzero(stays[a:b]) for a, b in itertools.pairwise(starts)]
    assert [len(one) for one in each] == [length] * len(units)
    return bool(found), [{value for row in one for value in unit[row]} for one, unit in zip(each, units, strict=True)]


@every("compiled", [True, False])
@every(("different", "several"), [(True, False), (False, False), (False, True)])
def test_a_choice_is_found(different: bool, several: bool, compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not compiled:
        for name in ("_visit", "_has", "_holds", "_is_lost", "_exchange"):
            monkeypatch.setattr(choosing_kernel, name, getattr(choosing_kernel, name).py_func)
        monkeypatch.setattr(choosing_kernel, "choose_rows", choose_rows.py_func)
    rng = np.random.default_rng(5)
    possible = missed = 0
    for _ in range(few(400 if compiled else 40)):
        units = drawn(rng, different=different, several=several)
        length = int(rng.integers(1, min(map(len, units)) + 1))
        for most in range(1, len(units)):
            found, values = chosen(units, length, most)
            counts = [sum(value in held for held in values) for value in range(5)]
            assert found == (max(counts) <= most)
            there = can_choose_rows(units, length, most)
            assert there or not found
            possible, missed = possible + there, missed + (there and not found)
            # One row of each unit, with one value: as if its values were different.
            assert found == there or not (different or (length == 1 and not several))
    assert possible > few(10)
    assert missed <= 0.02 * possible or not THOROUGH
