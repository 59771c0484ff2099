"""Consequences of the minimality principle alone: a group was merged because one of its parts was not diverse enough.

This is the credibility of Wong, Fu, Wang and Pei (2007). Consider all ways in which the sensitive values of a merged
group can be distributed among its parts. A way is impossible if every part satisfies the requirement, because nothing
would have been merged then; all others are equally likely. The numbers of ways are counted exactly.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, prod
from typing import TypeAlias

Counts: TypeAlias = tuple[int, ...]
"""Count of each value."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """People with the same quasi-identifiers, some of whose rows were merged with rows of others."""

    people: int
    """Number of people, n_q."""
    merged: int
    """Number of their rows that were merged, g_q."""
    kept: Counts
    """Counts of the values of rows that were published without change, y_q."""


@dataclass(frozen=True, kw_only=True)
class Merged:
    """A published group that covers several parts."""

    parts: tuple[Part, ...]
    """The parts; their merged rows are those of the group."""
    values: Counts
    """Count of each value in the group, c."""


def estimate_work(group: Merged) -> int:
    """Estimate the number of sums for the beliefs about a group."""
    states = prod(count + 1 for count in group.values)
    return states * states * len(group.parts)


def compute_merged_beliefs(group: Merged, l: int, protected: Sequence[bool]) -> list[list[Fraction]] | None:
    """Compute the probability of each value for the people of each part, for an adversary who knows the principle.

    Let x_q be the counts of the values of the merged rows of part q, drawn without order from c, with W(x) = prod over
    q of g_q! / prod over v of x_qv! ways each. The belief in v is the mean of (x_qv + y_qv) / n_q, weighted by W, over
    all x in which some part has a protected value v with (x_qv + y_qv) l > n_q.

    Parameters
    ----------
    group : Merged
        The merged group.
    l : int
        A part is diverse enough if no protected value takes more than 1 / l of its people.
    protected : sequence of bool
        Whether each value is protected.

    Returns
    -------
    list of list of Fraction, or None
        None if every part would be diverse enough in all ways, so that the principle does not hold here.
    """
    # Limits of a part that is diverse enough.
    limits = [
        tuple(
            part.people // l - kept if guarded else part.merged
            for kept, guarded in zip(part.kept, protected, strict=True)
        )
        for part in group.parts
    ]
    # Count all ways, and the impossible ones in which every part is diverse enough.
    before, after = _count_prefixes(group, limits), _count_suffixes(group, limits)
    total, fine = _count_ways(sum(group.values), group.values), after[0].get(group.values, 0)
    # Every way is impossible: the group was not merged by the principle.
    if total == fine:
        return None
    rows = sum(group.values)
    found = []
    for at, part in enumerate(group.parts):
        # Weighted sum of x_q over all ways, minus that over the impossible ways.
        held = [Fraction(part.merged * count * total, rows) if rows else Fraction(0) for count in group.values]
        for left, ways in before[at].items():
            for taken, rest in _list_allocations(part.merged, left, limits[at]):
                weight = ways * _count_ways(part.merged, taken) * after[at + 1].get(rest, 0)
                held = [mean - weight * one for mean, one in zip(held, taken, strict=True)]
        found.append([(mean / (total - fine) + kept) / part.people for mean, kept in zip(held, part.kept, strict=True)])
    return found


def _count_ways(rows: int, counts: Counts) -> int:
    """Count the ways to assign values with these counts to rows."""
    ways, left = 1, rows
    # A multinomial coefficient, as a product of binomial ones.
    for count in counts:
        ways *= comb(left, count)
        left -= count
    return ways


def _list_allocations(rows: int, left: Counts, limits: Counts) -> Iterator[tuple[Counts, Counts]]:
    """Yield the counts that a part can take within the remaining counts and the limits, and the counts left."""

    def rest(at: int, need: int) -> Iterator[Counts]:
        # No more than the part needs, the group has left and the limit allows.
        most = min(need, left[at], limits[at])
        if at == len(left) - 1:
            if need <= most:
                yield (need,)
            return
        for count in range(most + 1):
            for others in rest(at + 1, need - count):
                yield (count, *others)

    if min(limits) >= 0:
        for taken in rest(0, rows):
            yield taken, tuple(one - other for one, other in zip(left, taken, strict=True))


def _count_prefixes(group: Merged, limits: Sequence[Counts]) -> list[dict[Counts, int]]:
    """Count the ways in which the first parts are all diverse enough, by the counts left for the others."""
    found = [{group.values: 1}]
    for part, limit in zip(group.parts, limits, strict=True):
        now: dict[Counts, int] = defaultdict(int)
        for left, ways in found[-1].items():
            for taken, rest in _list_allocations(part.merged, left, limit):
                now[rest] += ways * _count_ways(part.merged, taken)
        found.append(now)
    return found


def _count_suffixes(group: Merged, limits: Sequence[Counts]) -> list[dict[Counts, int]]:
    """Count the ways in which the last parts are all diverse enough and take exactly the given counts."""
    # Dynamic programming over the parts, from the last one to the first.
    nothing = (0,) * len(group.values)
    found: list[dict[Counts, int]] = [{nothing: 1}]
    for part, limit in zip(reversed(group.parts), reversed(limits), strict=True):
        now: dict[Counts, int] = defaultdict(int)
        for rest, ways in found[-1].items():
            for taken, _ in _list_allocations(part.merged, group.values, limit):
                left = tuple(one + other for one, other in zip(rest, taken, strict=True))
                if all(one <= most for one, most in zip(left, group.values, strict=True)):
                    now[left] += ways * _count_ways(part.merged, taken)
        found.append(now)
    return found[::-1]
