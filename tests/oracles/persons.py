"""Units of protection, by definition: shares of units in groups, and what adversaries believe, by matchings."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Sequence
from fractions import Fraction

__all__ = ["confidence_by_matchings", "largest_share", "units_share"]


def largest_share(group: Sequence[Hashable]) -> Fraction:
    """Return the largest share that one unit has of a group, which is given as the units whose its rows are."""
    return Fraction(max(Counter(group).values()), len(group))


def units_share(group: Sequence[Hashable], k: int) -> bool:
    """Return whether no unit has more than one in k rows of a group."""
    return largest_share(group) <= Fraction(1, k)


def confidence_by_matchings(
    groups: Sequence[Sequence[tuple[Hashable, Hashable]]], unit: Hashable, value: Hashable
) -> Fraction:
    """Return the probability that a unit has a value in some row, all matchings of rows to units equally likely.

    Parameters
    ----------
    groups : sequence of sequences of (unit, value)
        The rows of each group. The adversary knows the units of a group's rows, and its values, and not which row is
        whose: every order of the values is as likely as any other.
    unit, value
    """
    without = Fraction(1)
    for group in groups:
        places = [place for place, (owner, _) in enumerate(group) if owner == unit]
        orders = list(itertools.permutations([found for _, found in group]))
        none = sum(all(order[place] != value for place in places) for order in orders)
        without *= Fraction(none, len(orders))
    return 1 - without
