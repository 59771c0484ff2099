"""Which groups fail: against a loop over the rows."""

from __future__ import annotations

import random

import polars as pl
from tests.every import few

from shoal.models import KAnonymity, LDiversity
from shoal.models.requirement import Requirement
from shoal.verification import MeasuredTable

SECRET = "Zyzzyva"


def test_numbers_sizes_and_first_rows_are_those_of_a_loop() -> None:
    chance = random.Random(1)
    for _ in range(few(100)):
        rows = [(chance.choice("abc"), chance.choice([1, 2, None]), chance.choice("xy")) for _ in range(12)]
        frame = pl.DataFrame(rows, schema={"a": pl.String, "b": pl.Int64, "s": pl.String}, orient="row")
        groups: dict[object, list[int]] = {}
        for at, row in enumerate(rows):
            groups.setdefault(row[:2], []).append(at)
        small = [(n, len(g), g[0] + 1) for n, g in enumerate(groups.values(), 1) if len(g) < 2]
        alike = [
            (n, len(g), g[0] + 1)
            for n, g in enumerate(groups.values(), 1)
            if len({rows[at][2] for at in g}) < 2
        ]  # fmt: skip
        asked = Requirement(models=(KAnonymity(2), LDiversity(2, variant="distinct")), sensitive=("s",))
        found = MeasuredTable(frame, ["a", "b"], ["s"], asked).failures
        expected = {None: small, "s": alike}
        assert {one.attribute for one in found} == {about for about, those in expected.items() if those}
        for one in found:
            listed = list(zip(one.numbers.tolist(), one.sizes.tolist(), one.first_rows.tolist(), strict=True))
            assert listed == expected[one.attribute]
            assert (one.groups, one.to_dict()["failing_rows"]) == (len(groups), sum(size for _, size, _ in listed))


def test_no_cell_is_shown() -> None:
    frame = pl.DataFrame({"a": [SECRET, "b"], "s": [SECRET, "y"]})
    (found,) = MeasuredTable(frame, ["a"], ["s"], Requirement(models=(KAnonymity(2),), sensitive=("s",))).failures
    assert SECRET not in repr(found) + found.sentence + str(found.to_dict())
