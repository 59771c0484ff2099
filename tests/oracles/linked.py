"""Linked rows, by definition and by trying everything: bundles, shares of units, and the cheapest bundling."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction

__all__ = ["bundles_of", "fewest_left_out", "is_linked_safe", "partitions_of"]

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


def largest_share(rows: Sequence[Row]) -> Fraction:
    """Compute the largest share of the units of a bundle that have one value in any of their rows."""
    values: dict[Hashable, set[Hashable]] = {}
    for unit, _, value in rows:
        values.setdefault(unit, set()).add(value)
    return max(
        Fraction(sum(value in values[unit] for unit in bundle), len(bundle))
        for bundle in bundles_of(rows)
        for value in set().union(*(values[unit] for unit in bundle))
    )


def is_linked_safe(rows: Sequence[Row], k: int, l: Fraction | int) -> bool:
    """Decide k and l of linked units by their definitions."""
    return min(map(len, bundles_of(rows))) >= k and largest_share(rows) * l <= 1


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
