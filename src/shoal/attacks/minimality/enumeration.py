"""Enumeration of all originals of a small table that give the same release, for an adversary who knows the algorithm.

Nothing is assumed about the algorithm: it is run on every original.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import factorial, prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Values: TypeAlias = tuple[str, ...]
"""The sensitive value of each person."""


def count_arrangements(values: Sequence[str]) -> int:
    """Count the distinct ways to assign values to the same number of people.

    Examples
    --------
    >>> count_arrangements(["x", "x", "y"])
    3
    """
    return factorial(len(values)) // prod(map(factorial, Counter(values).values()))


def list_arrangements(values: Sequence[str]) -> Iterator[Values]:
    """Yield every distinct way to assign values to the same number of people.

    Examples
    --------
    >>> list(list_arrangements(["x", "x", "y"]))
    [('x', 'x', 'y'), ('x', 'y', 'x'), ('y', 'x', 'x')]
    """
    left = Counter(values)
    given: list[str] = []

    def rest() -> Iterator[Values]:
        if len(given) == len(values):
            yield tuple(given)
            return
        # Values in alphabetical order, so that the order of the arrangements is fixed.
        for value in sorted(left):
            if left[value]:
                left[value] -= 1
                given.append(value)
                yield from rest()
                left[given.pop()] += 1

    yield from rest()


def group_originals(
    originals: Iterable[Values], seen: Callable[[Values], Iterable[Hashable]]
) -> list[Mapping[Hashable, list[Values]]]:
    """Group originals by what an adversary sees of each.

    Parameters
    ----------
    originals : iterable of Values
        The sensitive values of people whose quasi-identifiers are known.
    seen : callable
        Returns the published information about an original: one item for each kind of adversary, always in the same
        order; nothing if the original cannot be published.

    Returns
    -------
    list of dict
        For each kind of adversary, the originals of each published item.
    """
    found: list[dict[Hashable, list[Values]]] = []
    for values in originals:
        for kind, published in enumerate(seen(values)):
            if kind == len(found):
                found.append(defaultdict(list))
            found[kind][published].append(values)
    return list(found)


def compute_beliefs(
    originals: Sequence[Values], owners: Sequence[int] | NDArray[np.integer] | None = None
) -> list[dict[str, Fraction]]:
    """Compute the probability of each value of each person if all originals are equally likely.

    Parameters
    ----------
    originals : sequence of Values
        The values of the rows in each original.
    owners : sequence of int, optional
        The person of each row, from 0: a person has the values of all these rows. By default each row is another
        person's.

    Examples
    --------
    >>> compute_beliefs([("x", "y"), ("x", "x")])
    [{'x': Fraction(1, 1)}, {'y': Fraction(1, 2), 'x': Fraction(1, 2)}]
    >>> compute_beliefs([("x", "y"), ("x", "x")], owners=[0, 0])
    [{'x': Fraction(1, 1), 'y': Fraction(1, 2)}]
    """
    rows = list(zip(*originals, strict=True))
    places: dict[int, list[int]] = defaultdict(list)
    for row, owner in enumerate(range(len(rows)) if owners is None else owners):
        places[int(owner)].append(row)
    found = []
    for _, own in sorted(places.items()):
        # A value that several rows of a person have in an original counts once.
        held = Counter(
            value for of_rows in zip(*(rows[row] for row in own), strict=True) for value in dict.fromkeys(of_rows)
        )
        found.append({value: Fraction(count, len(originals)) for value, count in held.items()})
    return found


def find_largest_belief(originals: Sequence[Values]) -> Fraction:
    """Find the largest probability of any value of any person if the originals are equally likely."""
    return max(max(of_person.values()) for of_person in compute_beliefs(originals))
