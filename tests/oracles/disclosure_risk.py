"""Disclosure risk by definition: every row against every other, every set of columns, in exact fractions.

Rows are tuples of values; a population is another list of such rows.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import TypeAlias

__all__ = [
    "best_confidence",
    "class_sizes",
    "compatible_counts",
    "delta_presence",
    "distinction_and_separation",
    "minimal_sample_uniques",
    "pitman_likelihood",
    "population_frequencies",
    "special_scores",
    "zayatz",
]

Row: TypeAlias = tuple[Hashable, ...]
Cell: TypeAlias = Collection[Hashable]
"""The values that a published cell stands for."""


def class_sizes(rows: Sequence[Row]) -> list[int]:
    """Compute f of each row: the number of rows equal to it."""
    return [sum(row == other for other in rows) for row in rows]


def population_frequencies(rows: Sequence[Row], population: Sequence[Row]) -> list[int]:
    """Compute F of each row: the number of people in the population equal to it."""
    return [sum(row == other for other in population) for row in rows]


def delta_presence(rows: Sequence[Row], population: Sequence[Row]) -> tuple[Fraction, Fraction]:
    """Compute the smallest and the largest share of a class of the population that is in the table."""
    shares = [Fraction(sum(row == person for row in rows), population.count(person)) for person in population]
    return min(shares), max(shares)


def best_confidence(rows: Sequence[Row], values: Sequence[Hashable]) -> list[Fraction]:
    """Compute for each row the share of the most frequent value among the rows equal to it."""
    found = []
    for row in rows:
        inside = [value for other, value in zip(rows, values, strict=True) if other == row]
        found.append(Fraction(max(Counter(inside).values()), len(inside)))
    return found


def distinction_and_separation(rows: Sequence[Row], columns: Sequence[int]) -> tuple[Fraction, Fraction | None]:
    """Compute the ratio of distinct rows to rows and, if there are two rows, the share of pairs that differ."""
    parts = [tuple(row[at] for at in columns) for row in rows]
    pairs = list(combinations(parts, 2))
    separated = sum(one != other for one, other in pairs)
    return Fraction(len(set(parts)), len(rows)), Fraction(separated, len(pairs)) if pairs else None


def minimal_sample_uniques(rows: Sequence[Row], size: int) -> list[set[frozenset[int]]]:
    """Find for each row the minimal sets of up to `size` columns that distinguish it from all other rows."""
    found = []
    for row in rows:
        unique: list[frozenset[int]] = []
        for count in range(1, size + 1):
            for columns in map(frozenset, combinations(range(len(row)), count)):
                alike = sum(all(other[at] == row[at] for at in columns) for other in rows)
                if alike == 1 and not any(smaller < columns for smaller in unique):
                    unique.append(columns)
        found.append(set(unique))
    return found


def special_scores(uniques: Sequence[Collection[frozenset[int]]], columns: int, size: int) -> list[int]:
    """Compute the SUDA score of each row: the sum of prod_{i=s}^{M} (columns - i), M at most one less than columns."""
    most = min(size, columns - 1)
    return [sum(math.prod(columns - i for i in range(len(one), most + 1)) for one in of_row) for of_row in uniques]


def compatible_counts(cells: Sequence[Sequence[Cell]], others: Sequence[Sequence[Cell]]) -> list[int]:
    """Count for each row of sub-domains the other rows that share a value with it in every column."""
    return [
        sum(all(set(one) & set(another) for one, another in zip(row, other, strict=True)) for other in others)
        for row in cells
    ]


def zayatz(sizes: Sequence[int], people: int) -> Fraction:
    """Compute Zayatz' estimate of the share of population uniques from the class sizes of a sample."""
    n = sum(sizes)

    def one_in_sample(size: int) -> Fraction:
        return Fraction(size * math.comb(people - size, n - 1), math.comb(people, n))

    uniques = sum(size == 1 for size in sizes)
    conditional = uniques * one_in_sample(1) / sum(map(one_in_sample, sizes))
    return conditional * Fraction(uniques, n)


def pitman_likelihood(sizes: Sequence[int]) -> Callable[[float, float], float]:
    """Compute the log-likelihood of Pitman's theta and alpha term by term, up to a constant."""
    n, u = sum(sizes), len(sizes)

    def likelihood(theta: float, alpha: float) -> float:
        classes = sum(math.log(theta + i * alpha) for i in range(1, u))
        rows = sum(math.log(theta + i) for i in range(1, n))
        inside = sum(math.log(j - alpha) for size in sizes for j in range(1, size))
        return classes - rows + inside

    return likelihood
