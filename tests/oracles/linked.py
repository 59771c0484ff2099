"""Linked rows, by definition and by trying everything: bundles, shares of units, beliefs, and the cheapest bundling."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from fractions import Fraction

__all__ = [
    "assignments",
    "bundles_of",
    "can_choose_rows",
    "fewest_left_out",
    "fewest_lost_cells",
    "fewest_stars",
    "is_linked_safe",
    "partitions_of",
]

Row = tuple[Hashable, tuple[Hashable, ...], Hashable]
"""Pseudonym, quasi-identifiers, sensitive value."""


def bundles_of(rows: Sequence[Row]) -> list[list[Hashable]]:
    """List the pseudonyms of each bundle: those with the same multiset of quasi-identifiers."""
    of_unit: dict[Hashable, Counter[tuple[Hashable, ...]]] = {}
    for unit, known, _ in rows:
        of_unit.setdefault(unit, Counter())[known] += 1
    bundles: dict[frozenset[tuple[tuple[Hashable, ...], int]], list[Hashable]] = {}
    for unit, multiset in of_unit.items():
        bundles.setdefault(frozenset(multiset.items()), []).append(unit)
    return list(bundles.values())


Shares = dict[Hashable, list[tuple[Fraction, Fraction]]]
"""For each value, the share of the units of each bundle that have it, with that of all units."""


def unit_shares(rows: Sequence[Row]) -> Shares:
    """Compute the shares of the units of each bundle that have a value in any of their rows."""
    values: dict[Hashable, set[Hashable]] = {}
    for unit, _, value in rows:
        values.setdefault(unit, set()).add(value)
    return shares_within(values, bundles_of(rows))


def list_shares(records: Sequence[tuple[tuple[Hashable, ...], Collection[Hashable]]]) -> Shares:
    """Compute the shares of the records of each group that have a value, alone or among others."""
    groups: dict[tuple[Hashable, ...], list[Hashable]] = {}
    for place, (known, _) in enumerate(records):
        groups.setdefault(known, []).append(place)
    return shares_within({place: set(values) for place, (_, values) in enumerate(records)}, [*groups.values()])


def shares_within(values: Mapping[Hashable, set[Hashable]], bundles: Sequence[Sequence[Hashable]]) -> Shares:
    """Compute the shares of the units of each bundle that have a value, from the values of each unit."""

    def share(units: Sequence[Hashable], value: Hashable) -> Fraction:
        return Fraction(sum(value in values[unit] for unit in units), len(units))

    found = set().union(*values.values())
    return {value: [(share(bundle, value), share([*values], value)) for bundle in bundles] for value in found}


def largest_share(rows: Sequence[Row]) -> Fraction:
    """Compute the largest share of the units of a bundle that have one value in any of their rows."""
    return max(share for shares in unit_shares(rows).values() for share, _ in shares)


def is_linked_safe(
    rows: Sequence[Row], k: int, l: Fraction | int, t: Fraction | int = 1, beta: Fraction | None = None
) -> bool:
    """Decide k, l, t and beta (the basic variant) of linked units by their definitions."""
    return min(map(len, bundles_of(rows))) >= k and within_limits(unit_shares(rows), l, t, beta)


def within_limits(shares: Shares, l: Fraction | int, t: Fraction | int = 1, beta: Fraction | None = None) -> bool:
    """Decide l, t and beta of shares by their definitions."""
    pairs = [pair for pairs in shares.values() for pair in pairs]
    return all(share * l <= 1 and abs(share - overall) <= t for share, overall in pairs) and (
        beta is None or all(share <= (1 + beta) * overall for share, overall in pairs)
    )


def partitions_of(units: Sequence[int], least: int) -> Iterator[list[list[int]]]:
    """Yield all partitions of units into parts of at least `least`."""
    if not units:
        yield []
        return
    first, rest = units[0], units[1:]
    for mask in range(2 ** len(rest)):
        part = [first, *(unit for at, unit in enumerate(rest) if mask >> at & 1)]
        if len(part) >= least:
            for others in partitions_of([unit for at, unit in enumerate(rest) if not mask >> at & 1], least):
                yield [part, *others]


def fewest_left_out(lengths: Sequence[int], least: int) -> int:
    """Try all partitions; each part publishes the smallest number of rows of its units."""
    return min(
        sum(sum(lengths[unit] for unit in part) - len(part) * min(lengths[unit] for unit in part) for part in partition)
        for partition in partitions_of(range(len(lengths)), least)
    )


def can_choose_rows(units: Sequence[Sequence[Collection[Hashable]]], length: int, most: int) -> bool:
    """Try all choices of so many rows of each unit, given the values of each row: a value of at most `most` units."""
    choices = [[set().union(*rows) for rows in itertools.combinations(unit, length)] for unit in units]
    return any(
        max(Counter(value for held in chosen for value in held).values(), default=0) <= most
        for chosen in itertools.product(*choices)
    )


Rows = Sequence[tuple[tuple[Hashable, ...], Hashable]]
"""Quasi-identifiers and sensitive value of each row of a unit."""


def common_stars(units: Sequence[Rows], length: int) -> int:
    """Try all choices and orders of so many rows of each unit: the fewest stars of a row-for-row equal release."""
    first, *others = ([known for known, _ in rows] for rows in units)
    shown = set(itertools.permutations(first, length))
    for rows in others:
        shown = {
            tuple(
                tuple(a if a == b else "*" for a, b in zip(one, other, strict=True))
                for one, other in zip(common, chosen, strict=True)
            )
            for common in shown
            for chosen in itertools.permutations(rows, length)
        }
    return len(units) * min(sum(cells.count("*") for cells in rows) for rows in shown)


def fewest_stars(units: Sequence[Rows], k: int, l: int) -> int:
    """Try all bundlings of units, and all orders of the rows of each unit: the stars of the cheapest safe release.

    Parameters
    ----------
    units : sequence of Rows
        The rows that each unit publishes. Some bundling is safe.
    k, l : int
    """

    def stars(part: Sequence[Rows]) -> float:
        having = Counter(value for rows in part for value in {value for _, value in rows})
        if len({len(rows) for rows in part}) > 1 or max(having.values()) * l > len(part):
            return float("inf")
        return common_stars(part, len(part[0]))

    return _cheapest_bundling(units, k, stars)


def fewest_lost_cells(units: Sequence[Rows], k: int) -> int:
    """Try all bundlings, all choices of rows and all orders: the fewest cells that a release does not show.

    Parameters
    ----------
    units : sequence of Rows
        All rows of each unit. A unit publishes at least one of them.
    k : int
    """
    columns = len(units[0][0][0])

    def lost(part: Sequence[Rows]) -> float:
        return min(
            common_stars(part, length) + sum(len(rows) - length for rows in part) * columns
            for length in range(1, min(map(len, part)) + 1)
        )

    return _cheapest_bundling(units, k, lost)


def _cheapest_bundling(units: Sequence[Rows], k: int, cost: Callable[[Sequence[Rows]], float]) -> int:
    """Try all partitions of units into bundles of at least k."""
    costs = {
        part: cost([units[unit] for unit in part])
        for size in range(k, len(units) + 1)
        for part in itertools.combinations(range(len(units)), size)
    }
    return int(min(sum(costs[tuple(part)] for part in parts) for parts in partitions_of(range(len(units)), k)))


def assignments(
    rows: Sequence[Row], known: Mapping[Hashable, Sequence[tuple[Hashable, ...]]]
) -> list[dict[Hashable, Hashable]]:
    """List all assignments of units to pseudonyms that an adversary cannot rule out.

    Parameters
    ----------
    rows : sequence of Row
        The published rows; a star may stand for any value.
    known : mapping
        The quasi-identifiers of every row of every unit, published or not.
    """
    published: dict[Hashable, list[tuple[Hashable, ...]]] = {}
    for pseudonym, cells, _ in rows:
        published.setdefault(pseudonym, []).append(cells)

    def fits(cells: Sequence[tuple[Hashable, ...]], own: Sequence[tuple[Hashable, ...]]) -> bool:
        return any(
            all(shown in ("*", value) for row, true in zip(cells, chosen, strict=True)
                for shown, value in zip(row, true, strict=True))
            for chosen in itertools.permutations(own, len(cells))
        )  # fmt: skip

    fitting = {(one, pseudonym): fits(published[pseudonym], known[one]) for one in known for pseudonym in published}
    return [
        dict(zip(known, order, strict=True))
        for order in itertools.permutations(published)
        if all(fitting[pair] for pair in zip(known, order, strict=True))
    ]
