"""Sets of ranks, and the days that texts of dates stand for."""

from __future__ import annotations

from datetime import date, datetime
from itertools import product

import polars as pl
from tests.every import every

from shoal.verification.covered_ranks import RankSet
from shoal.verification.meaning import _days

SETS = [(), (3,), (3, 4, 5), (5, 3), (6, 7), (1, 9)]


@every("ranks", SETS)
def test_a_set_of_ranks_is_a_range_where_it_is_one(ranks: tuple[int, ...]) -> None:
    found = RankSet.of(ranks)
    assert found.listed().tolist() == sorted(ranks)
    assert found.stop - found.low == (max(ranks) - min(ranks) + 1 if ranks else 0)
    assert (found.members is None) == (found.stop - found.low == len(ranks))


def test_ranks_of_two_sets_are_those_of_both() -> None:
    for one, other in product(SETS, SETS):
        both = RankSet.of(one).with_(RankSet.of(other))
        assert both.listed().tolist() == sorted({*one, *other})


def test_days_are_read_by_the_pattern_or_as_iso() -> None:
    days = [date(2020, 2, 3), date(1999, 12, 31)]
    assert _days(pl.Series(["03.02.2020", "31.12.1999"]), "%d.%m.%Y").to_list() == days
    assert _days(pl.Series(["2020-02-03", "1999-12-31T07:00"]), None).to_list() == days
    assert _days(pl.Series(days), "%d.%m.%Y").to_list() == days
    assert _days(pl.Series([datetime(2020, 2, 3, 23, 59)]), None).to_list() == days[:1]
