"""What follows from the minimality principle alone: a group was merged because one of its parts was not diverse enough.

The credibility of Wong, Fu, Wang and Pei (2007): of all ways in which the sensitive values of a merged group can lie in
its parts, those are impossible in which every part satisfies the requirement, because then nothing would have been
merged; all others are equally likely. The numbers of ways are counted exactly.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, prod
from typing import TypeAlias

__all__ = ["Merged", "Part", "beliefs_of_merged", "work_of"]

Counts: TypeAlias = tuple[int, ...]
"""How often each value occurs."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """People with the same quasi-identifiers, some of whose rows were merged with those of others."""

    people: int
    """How many there are: n_q."""
    merged: int
    """How many of their rows were merged: g_q."""
    kept: Counts
    """The values of the rows that were published as they were: y_q."""


@dataclass(frozen=True, kw_only=True)
class Merged:
    """A published group that covers several parts."""

    parts: tuple[Part, ...]
    """The parts; their merged rows are those of the group."""
    values: Counts
    """How often each value occurs in the group: c."""


def work_of(group: Merged) -> int:
    """Return about how many sums the beliefs about a group take."""
    states = prod(count + 1 for count in group.values)
    return states * states * len(group.parts)


def beliefs_of_merged(group: Merged, l: int, protected: Sequence[bool]) -> list[list[Fraction]] | None:
    """Return for each part how likely each value is for one of its people, to whoever knows the principle.

    With x_q the values of the merged rows of part q, drawn without order from c, and W(x) = prod over q of
    g_q! / prod over v of x_qv! ways each: the belief in v is the mean of (x_qv + y_qv) / n_q over all x, weighted by
    W, in which some part has a protected value v with (x_qv + y_qv) l > n_q.

    Parameters
    ----------
    group : Merged
    l : int
        A part is diverse enough where no protected value takes more than 1 / l of its people.
    protected : sequence of bool
        For each value whether it is protected.

    Returns
    -------
    list of list of Fraction, or None
        None where every part would have been diverse enough in all ways: then the principle does not hold here.
    """
    limits = [
        tuple(
            part.people // l - kept if guarded else part.merged
            for kept, guarded in zip(part.kept, protected, strict=True)
        )
        for part in group.parts
    ]
    before, after = _prefixes(group, limits), _suffixes(group, limits)
    total, fine = _ways(sum(group.values), group.values), after[0].get(group.values, 0)
    if total == fine:
        return None
    rows = sum(group.values)
    found = []
    for at, part in enumerate(group.parts):
        held = [Fraction(part.merged * count * total, rows) if rows else Fraction(0) for count in group.values]
        for left, ways in before[at].items():
            for taken, rest in _allocations(part.merged, left, limits[at]):
                weight = ways * _ways(part.merged, taken) * after[at + 1].get(rest, 0)
                held = [mean - weight * one for mean, one in zip(held, taken, strict=True)]
        found.append([(mean / (total - fine) + kept) / part.people for mean, kept in zip(held, part.kept, strict=True)])
    return found


def _ways(rows: int, counts: Counts) -> int:
    """Return in how many ways so many rows can have values of these counts."""
    ways, left = 1, rows
    for count in counts:
        ways *= comb(left, count)
        left -= count
    return ways


def _allocations(rows: int, left: Counts, limits: Counts) -> Iterator[tuple[Counts, Counts]]:
    """Yield the counts that so many rows can have within what is left and the limits, and what is left then."""

    def rest(at: int, need: int) -> Iterator[Counts]:
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


def _prefixes(group: Merged, limits: Sequence[Counts]) -> list[dict[Counts, int]]:
    """Return in how many ways the first parts can take values so that all of them are fine: for each what is left."""
    found = [{group.values: 1}]
    for part, limit in zip(group.parts, limits, strict=True):
        now: dict[Counts, int] = defaultdict(int)
        for left, ways in found[-1].items():
            for taken, rest in _allocations(part.merged, left, limit):
                now[rest] += ways * _ways(part.merged, taken)
        found.append(now)
    return found


def _suffixes(group: Merged, limits: Sequence[Counts]) -> list[dict[Counts, int]]:
    """Return in how many ways the parts from each on can take all of what is left so that all of them are fine."""
    nothing = (0,) * len(group.values)
    found: list[dict[Counts, int]] = [{nothing: 1}]
    for part, limit in zip(reversed(group.parts), reversed(limits), strict=True):
        now: dict[Counts, int] = defaultdict(int)
        for rest, ways in found[-1].items():
            for taken, _ in _allocations(part.merged, group.values, limit):
                left = tuple(one + other for one, other in zip(rest, taken, strict=True))
                if all(one <= most for one, most in zip(left, group.values, strict=True)):
                    now[left] += ways * _ways(part.merged, taken)
        found.append(now)
    return found[::-1]
