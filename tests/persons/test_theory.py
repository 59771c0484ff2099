"""The theorems of docs/persons.md, each by enumerating tiny tables: all partitions, and all matchings of a group."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction

import numpy as np
import pytest
from tests.every import every
from tests.oracles.grouping import divisions
from tests.oracles.linked import is_linked_safe, partitions_of, shares_within, within_limits
from tests.oracles.persons import confidence_by_matchings, largest_share, units_share

from shoal.models import KAnonymity, LDiversity
from shoal.models.base import GroupCounts
from shoal.models.counting import CountedPersons
from shoal.models.population import Population

OWNERS = [list(owners) for n in range(1, 6) for owners in itertools.product("abc", repeat=n) if owners[0] == "a"]


def partitions(n: int) -> Iterator[list[list[int]]]:
    return divisions(list(range(n)))


def test_1_a_union_of_safe_groups_is_safe() -> None:
    for one, other in itertools.product(OWNERS, OWNERS[:40]):
        for k in (2, 3):
            if units_share(one, k) and units_share(other, k):
                assert units_share(one + other, k)


def test_2_a_safe_group_is_of_k_units_and_not_the_other_way_round() -> None:
    for group, k in itertools.product(OWNERS, (1, 2, 3)):
        assert not units_share(group, k) or len(set(group)) >= k
    assert len(set("aab")) == 2
    assert not units_share("aab", 2)


def test_3_a_row_in_hand() -> None:
    """Of all matchings of a group's rows, the share in which the first row is of a unit."""
    for group in OWNERS:
        matchings = list(itertools.permutations(group))
        for unit in set(group):
            believed = Fraction(sum(owners[0] == unit for owners in matchings), len(matchings))
            assert believed == Fraction(group.count(unit), len(group)) <= largest_share(group)


def test_4_what_is_feasible() -> None:
    for owners, k in itertools.product(OWNERS, (1, 2, 3)):
        some = any(
            all(units_share([owners[row] for row in group], k) for group in partition)
            for partition in partitions(len(owners))
        )
        assert some == (max(map(owners.count, owners)) * k <= len(owners))


def test_5_it_is_diversity_of_units() -> None:
    for group, k in itertools.product(OWNERS, (1, 2, 3)):
        counts = np.unique(group, return_counts=True)[1].astype(np.int64)
        groups = GroupCounts.whole(Population(totals=counts))
        (counted,) = CountedPersons(kinds=(("person",),)).parts_of(KAnonymity(k))
        found = [bool(model.acceptable(groups)[0]) for model in (counted, LDiversity(k))]  # type: ignore[attr-defined]
        assert found == [units_share(group, k)] * 2


TABLES = [
    list(zip(owners, values, strict=True))
    for owners in (list("aabb"), list("aaab"), list("aabbc"), list("abcab"))
    for values in (("vwvw", "vvww", "vwww") if len(owners) == 4 else ("vwvww", "vvwwx", "vwxvw"))
]


@every("table", TABLES)
def test_7_no_partition_bounds_what_all_rows_tell(table: Sequence[tuple[str, str]]) -> None:
    n, units = len(table), {owner for owner, _ in table}
    for value in "vwx":
        c = sum(found == value for _, found in table)
        least = 1 - (1 - c / n) ** (n / len(units))
        for partition in partitions(n):
            groups = [[table[row] for row in group] for group in partition]
            assert max(confidence_by_matchings(groups, unit, value) for unit in units) >= least - 1e-12


def test_6_one_row_gives_the_share_of_a_group() -> None:
    """The formula itself is compared with all matchings in test_confidence.py."""
    group = [("a", "v"), ("b", "w"), ("c", "w")]
    assert confidence_by_matchings([group], "a", "v") == Fraction(1, 3)


def test_a_share_of_distinct_persons_is_not_monotone() -> None:
    def share(group: Sequence[tuple[str, str]], value: str) -> Fraction:
        having = {owner for owner, found in group if found == value}
        return Fraction(len(having), len({owner for owner, _ in group}))

    one, other = [("a", "v"), ("b", "w")], [("a", "w"), ("b", "v")]
    assert share(one, "v") == share(other, "v") == Fraction(1, 2)
    assert share(one + other, "v") == 1
    assert confidence_by_matchings([one, other], "a", "v") == Fraction(3, 4)
    assert confidence_by_matchings([one + other], "a", "v") == Fraction(5, 6)


LINKED = [
    [(unit, known, value) for unit, known, value in zip(owners, known, values, strict=True)]
    for owners, known in (("aabbcc", "xyxyxy"), ("aabbcd", "xxxxxx"), ("aabbcd", "xyyxzz"), ("abcdee", "xxyyyx"))
    for values in itertools.product("vw", "vwo", "uv", "uvw", "uo", "uvw")
]
"""Small releases of linked rows, before cells are suppressed. Theorems 8, 9 and 14 are in test_linked_oracle.py, and
theorem 13 is in test_linked_core.py."""


def test_10_a_union_of_bundles_within_limits_is_within_them() -> None:
    """All pairs of bundles of up to three units, which have any of two values, beside two units of a third bundle."""
    sets: list[set[Hashable]] = [set("v"), set("w"), set("vw")]
    bundles = [[*one] for b in range(1, 4) for one in itertools.combinations_with_replacement(sets, b)]
    limits = [
        {"l": 2}, {"l": Fraction(3, 2)}, {"l": 1, "t": Fraction(1, 4)}, {"l": 1, "t": Fraction(1, 6)},
        {"l": 1, "beta": Fraction(1, 4)},
    ]  # fmt: skip
    within = outside = 0
    for one, other, limit in itertools.product(bundles, bundles, limits):
        values = dict[Hashable, set[Hashable]](enumerate([*one, *other, set("v"), set("w")]))
        first, second = list(range(len(one))), list(range(len(one), len(one) + len(other)))
        if within_limits(shares_within(values, [first, second]), **limit):
            within += 1
            assert within_limits(shares_within(values, [first + second]), **limit)
        else:
            outside += 1
    assert min(within, outside) > 100


def test_11_distances_of_units_say_nothing_of_rows() -> None:
    """All units have v, so that its share of units is the same in both bundles; its share of rows is not."""
    rows = [("a", "v"), ("a", "w"), ("b", "v"), ("b", "w")], [("c", "v"), ("d", "v")]
    values: dict[Hashable, set[Hashable]] = {"a": set("vw"), "b": set("vw"), "c": {"v"}, "d": {"v"}}
    assert {share for share, _ in shares_within(values, ["ab", "cd"])["v"]} == {Fraction(1)}
    assert [Fraction(sum(value == "v" for _, value in group), len(group)) for group in rows] == [Fraction(1, 2), 1]


@pytest.mark.drawn
def test_11_linked_units_imply_the_same_of_rows() -> None:
    safe = 0
    for rows, k, l in itertools.product(LINKED, (1, 2), (1, 2)):
        if not is_linked_safe([(unit, (known,), value) for unit, known, value in rows], k, l):
            continue
        safe += l > 1
        for shown in {known for _, known, _ in rows}:
            group = [(unit, value) for unit, known, value in rows if known == shown]
            assert units_share([unit for unit, _ in group], k)
            assert largest_share([value for _, value in group]) * l <= 1
    assert safe > 0


def test_12_what_is_feasible_for_linked_units() -> None:
    """Of all choices of published rows, and all bundles, some is safe if and only if one row of each unit is."""
    for owners, l in itertools.product(("aabbcd", "aabc"), (2, 3)):
        for values in itertools.product("vw", repeat=len(owners)):
            own = {unit: [value for one, value in zip(owners, values, strict=True) if one == unit] for unit in owners}
            chosen = [max(map(one.count, one)) * l <= len(own) for one in itertools.product(*own.values())]
            kept = itertools.product(
                *([part for n in range(1, len(held) + 1) for part in itertools.combinations(held, n)]
                  for held in own.values())
            )  # fmt: skip
            assert any(chosen) == any(bundles_hide(parts, l) for parts in kept)


def bundles_hide(units: Sequence[tuple[str, ...]], l: int) -> bool:
    """Decide if some partition into bundles of equally many rows has each value in at most one in l units."""
    return any(
        all(
            len({len(units[unit]) for unit in part}) == 1
            and all(sum(value in units[unit] for unit in part) * l <= len(part) for value in "vw")
            for part in parts
        )
        for parts in partitions_of(range(len(units)), l)
    )
