"""A slow adversary that tries every table within the cells of a release, and keeps those that give the same cells."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Explained", "explain", "has_allowed_cut", "interval_of", "set_of", "star_of"]

Values: TypeAlias = tuple[int, ...]
"""The values of a group in one column."""


@dataclass(frozen=True, kw_only=True)
class Explained:
    """What all tables that give one release have in common."""

    tables: int
    """Number of tables."""
    boxes: int
    """Number of tables within the cells."""
    known: int
    """Number of records with a value that as many records of the group have in every table."""


def interval_of(values: Iterable[int]) -> object:
    """Publish the smallest interval of some values, or the value that they share.

    Examples
    --------
    >>> interval_of([3, 1, 2]), interval_of([2, 2])
    ((1, 3), 2)
    """
    values = list(values)
    return values[0] if len(set(values)) == 1 else (min(values), max(values))


def set_of(values: Iterable[int]) -> object:
    """Publish the set of some values, or the value that they share."""
    values = sorted(set(values))
    return values[0] if len(values) == 1 else frozenset(values)


def star_of(values: Iterable[int]) -> object:
    """Publish a star, or the value that some rows share."""
    values = set(values)
    return "*" if len(values) > 1 else values.pop()


def has_allowed_cut(values: Sequence[int], k: int) -> bool:
    """Check whether some value divides the others into two parts of at least k rows."""
    return any(
        sum(value < at for value in values) >= k and sum(value >= at for value in values) >= k for at in set(values)
    )


def explain(groups: Sequence[tuple[Sequence[int], int]], accept: Callable[[Sequence[Values]], bool]) -> Explained:
    """Try all tables of one column.

    Parameters
    ----------
    groups : sequence of (values, rows)
        The values that the cell of each group covers, and its number of rows.
    accept : callable
        Whether a table, with the values of each group, gives the release.
    """
    tables, least = 0, [dict.fromkeys(values, rows) for values, rows in groups]
    choices = [list(itertools.product(values, repeat=rows)) for values, rows in groups]
    for table in itertools.product(*choices):
        if not accept(table):
            continue
        tables += 1
        for counts, held in zip(least, table, strict=True):
            for value in counts:
                counts[value] = min(counts[value], held.count(value))
    hidden = [at for at, (values, _) in enumerate(groups) if len(values) > 1]
    return Explained(
        tables=tables,
        boxes=math.prod(len(values) ** rows for values, rows in groups),
        known=sum(sum(least[at].values()) for at in hidden),
    )
