"""A slow adversary that compares every person with every row, cell by cell, with sets."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

__all__ = ["Row", "candidate_rows", "chance_of_one", "credibility"]

Row: TypeAlias = tuple[Sequence[frozenset[object]], str]
"""What the quasi-identifiers of a row may be, and its sensitive value."""


def candidate_rows(person: Sequence[object], rows: Sequence[Row]) -> list[int]:
    """Find the rows that may belong to a person.

    Examples
    --------
    >>> candidate_rows([21], [([frozenset({20, 21})], "flu"), ([frozenset({30})], "ulcer")])
    [0]
    """
    return [
        number
        for number, (cells, _) in enumerate(rows)
        if all(value in cell for value, cell in zip(person, cells, strict=True))
    ]


def chance_of_one(shown: set[str], own: str, domain: set[str], j: int) -> Fraction:
    """Compute the probability that j values drawn from a domain without a person's own leave one shown value."""
    drawn = list(itertools.combinations(sorted(domain - {own}), min(j, len(domain) - 1)))
    return Fraction(sum(shown - set(one) == {own} for one in drawn), len(drawn))


def credibility(
    parts: Sequence[tuple[int, Sequence[str]]], values: Sequence[str], l: int, protected: set[str]
) -> list[dict[str, Fraction]] | None:
    """Compute the probability of each value in each part of a merged group, by enumeration of all tables.

    Parameters
    ----------
    parts : sequence of (int, values)
        Number of merged rows of each part, and the published values of its other rows.
    values : sequence of str
        The values of the group.
    l : int
        The group was merged because some protected value had more than 1 / l of a part.
    protected : set of str

    Returns
    -------
    list of dict, or None
        The probabilities of each part; None if no table explains the merge.
    """
    sizes = [merged + len(kept) for merged, kept in parts]
    totals: list[Counter[str]] = [Counter() for _ in parts]
    tables = 0
    for table in _tables(tuple(values)):
        left = iter(table)
        held = [Counter([*itertools.islice(left, merged), *kept]) for merged, kept in parts]
        if any(one[value] * l > size for one, size in zip(held, sizes, strict=True) for value in protected):
            tables += 1
            for total, one in zip(totals, held, strict=True):
                total.update(one)
    if not tables:
        return None
    return [
        {value: Fraction(count, tables * size) for value, count in total.items()}
        for total, size in zip(totals, sizes, strict=True)
    ]


def _tables(values: tuple[str, ...]) -> set[tuple[str, ...]]:
    if not values:
        return {()}
    return {(one, *rest) for one in set(values) for rest in _tables(_without(values, one))}


def _without(values: tuple[str, ...], one: str) -> tuple[str, ...]:
    at = values.index(one)
    return values[:at] + values[at + 1 :]
