"""Disclosure risk of persons with several rows by definition: every row of every person, in exact fractions."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from fractions import Fraction
from itertools import chain, combinations
from typing import TYPE_CHECKING

from tests.oracles.persons import confidence_by_matchings

if TYPE_CHECKING:
    from tests.oracles.disclosure_risk import Cell, Row

__all__ = [
    "alone_in",
    "certain_persons",
    "compatible_persons",
    "distinct_persons",
    "guessed_persons",
    "persons_certain_by_exclusion",
    "household_risks",
    "risk_of_persons",
    "summed_weights",
]


def distinct_persons(rows: Sequence[Row], owners: Sequence[Hashable], like: Sequence[Row]) -> list[int]:
    """Count for each row of `like` the distinct owners of the rows equal to it."""
    return [len({owner for row, owner in zip(rows, owners, strict=True) if row == one}) for one in like]


def compatible_persons(cells: Sequence[Sequence[Cell]], owners: Sequence[Hashable]) -> list[int]:
    """Count for each row of sub-domains the distinct owners of the rows that share a value with it in every column."""
    return [
        len(
            {
                owner
                for other, owner in zip(cells, owners, strict=True)
                if all(set(one) & set(another) for one, another in zip(row, other, strict=True))
            }
        )
        for row in cells
    ]


def risk_of_persons(sizes: Sequence[int], owners: Sequence[Hashable]) -> dict[Hashable, Fraction]:
    """Compute the highest risk of any row of each owner; a row has the risk 1 / size."""
    return {
        owner: max(Fraction(1, size) for size, other in zip(sizes, owners, strict=True) if other == owner)
        for owner in owners
    }


def summed_weights(rows: Sequence[Row], owners: Sequence[Hashable], weights: Sequence[float]) -> list[Fraction]:
    """Sum for each row the weights of the persons with an equal row, each with the smallest weight of those rows."""
    found = []
    for one in rows:
        least: dict[Hashable, Fraction] = {}
        for row, owner, weight in zip(rows, owners, weights, strict=True):
            if row == one:
                least[owner] = min(least.get(owner, Fraction(weight)), Fraction(weight))
        found.append(sum(least.values(), Fraction(0)))
    return found


def household_risks(
    risks: dict[Hashable, float], owners: Sequence[Hashable], homes: Sequence[Hashable]
) -> dict[Hashable, float]:
    """Compute for each owner the highest risk of a household: that some member of it is found."""
    of_homes = {}
    for home in homes:
        safe = 1.0
        for owner in {owner for owner, other in zip(owners, homes, strict=True) if other == home}:
            safe *= 1 - risks[owner]
        of_homes[home] = 1 - safe
    return {
        owner: max(of_homes[home] for other, home in zip(owners, homes, strict=True) if other == owner)
        for owner in owners
    }


def alone_in(rows: Sequence[Row], owners: Sequence[Hashable], size: int) -> list[Collection[frozenset[int]]]:
    """Find for each row the minimal sets of up to `size` columns in which it equals rows of its owner alone."""
    found: list[Collection[frozenset[int]]] = []
    for row, owner in zip(rows, owners, strict=True):
        unique: list[frozenset[int]] = []
        for count in range(1, size + 1):
            for columns in map(frozenset, combinations(range(len(row)), count)):
                alike = {
                    other for one, other in zip(rows, owners, strict=True) if all(one[at] == row[at] for at in columns)
                }
                if alike == {owner} and not any(smaller < columns for smaller in unique):
                    unique.append(columns)
        found.append(set(unique))
    return found


def certain_persons(groups: Sequence[Sequence[tuple[Hashable, Hashable]]]) -> set[Hashable]:
    """Find the persons who have some value of a group in every matching of its rows, given as (owner, value)."""
    return {owner for group in groups for owner, value in group if confidence_by_matchings([group], owner, value) == 1}


def persons_certain_by_exclusion(groups: Sequence[Sequence[tuple[Hashable, Hashable]]], j: int) -> set[Hashable]:
    """Find the persons with a certain value if j values that they do not have are excluded, by trying all of them."""
    has: dict[Hashable, set[Hashable]] = {}
    for owner, value in chain(*groups):
        has.setdefault(owner, set()).add(value)
    found = set()
    for owner, own in has.items():
        others = sorted(set().union(*has.values()) - own, key=str)
        for excluded in combinations(others, min(j, len(others))):
            for group in groups:
                rows = sum(one == owner for one, _ in group)
                # Every choice of the person's rows among those of the group that agrees with what is excluded.
                choices = [
                    set(chosen)
                    for chosen in combinations([value for _, value in group], rows)
                    if not set(chosen) & set(excluded)
                ]
                if set.intersection(*choices):
                    found.add(owner)
    return found


def guessed_persons(groups: Sequence[Sequence[tuple[Hashable, Hashable]]]) -> set[Hashable]:
    """Find the persons of whom some row has the most common value of its group, the least if several are."""
    found = set()
    for group in groups:
        values = [value for _, value in group]
        guess = min(sorted(set(values), key=str), key=lambda one: -values.count(one))
        found |= {owner for owner, value in group if value == guess}
    return found
