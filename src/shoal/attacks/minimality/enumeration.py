"""All originals of a small table that give the same release: what an adversary believes who knows the algorithm.

Nothing is assumed of the algorithm: it is run on every original.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import factorial, prod
from typing import TypeAlias

__all__ = ["Values", "arrangements", "beliefs", "count_arrangements", "largest_belief", "possible_originals"]

Values: TypeAlias = tuple[str, ...]
"""The sensitive value of each person."""


def count_arrangements(values: Sequence[str]) -> int:
    """Return in how many different ways some values can be given to as many people.

    Examples
    --------
    >>> count_arrangements(["x", "x", "y"])
    3
    """
    return factorial(len(values)) // prod(map(factorial, Counter(values).values()))


def arrangements(values: Sequence[str]) -> Iterator[Values]:
    """Yield every different way to give some values to as many people.

    Examples
    --------
    >>> list(arrangements(["x", "x", "y"]))
    [('x', 'x', 'y'), ('x', 'y', 'x'), ('y', 'x', 'x')]
    """
    left = Counter(values)
    given: list[str] = []

    def rest() -> Iterator[Values]:
        if len(given) == len(values):
            yield tuple(given)
            return
        for value in sorted(left):
            if left[value]:
                left[value] -= 1
                given.append(value)
                yield from rest()
                left[given.pop()] += 1

    yield from rest()


def possible_originals(
    originals: Iterable[Values], seen: Callable[[Values], Iterable[Hashable]]
) -> list[Mapping[Hashable, list[Values]]]:
    """Sort originals by what an adversary sees of each.

    Parameters
    ----------
    originals : iterable of Values
        The sensitive values of people whose quasi-identifiers are known.
    seen : callable
        Returns what is published of an original: one thing for each kind of adversary, in the same order always;
        nothing where it cannot be published.

    Returns
    -------
    list of dict
        For each kind of adversary: the originals of each thing that is seen.
    """
    found: list[dict[Hashable, list[Values]]] = []
    for values in originals:
        for kind, published in enumerate(seen(values)):
            if kind == len(found):
                found.append(defaultdict(list))
            found[kind][published].append(values)
    return list(found)


def beliefs(originals: Sequence[Values]) -> list[dict[str, Fraction]]:
    """Return for each person how likely each value is, if all of some originals are equally likely.

    Examples
    --------
    >>> beliefs([("x", "y"), ("x", "x")])
    [{'x': Fraction(1, 1)}, {'y': Fraction(1, 2), 'x': Fraction(1, 2)}]
    """
    return [
        {value: Fraction(count, len(originals)) for value, count in Counter(of_person).items()}
        for of_person in zip(*originals, strict=True)
    ]


def largest_belief(originals: Sequence[Values]) -> Fraction:
    """Return the largest probability of a value of somebody, if the originals are equally likely."""
    return max(max(of_person.values()) for of_person in beliefs(originals))
