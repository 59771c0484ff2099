"""Parity cuts for covers by groups: sets with an odd number of rows that a fractional cover hardly leaves.

Let S hold an odd number of rows. A cover in whole numbers has a group with an odd number of rows in S, since even
numbers do not add up to an odd one. So the sum of x(e) over the groups e that lie in S with an odd number of rows is at
least 1. To violate that, nearly every group that is used must lie in S with an even number of rows: a system of
equations modulo 2 for the types that S consists of, solved by elimination, the most used groups first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import InternalError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["parity_cuts"]

_USED = 1e-6
"""A variable above this is used by a solution of the linear program."""
_VIOLATED = 0.02
"""Cuts that are missed by less are not worth it."""
_PER_COMPONENT = 12
"""Sets that one component of the fractional groups may give, beside the first."""
_FEWEST_CUTS = 150
"""Cuts that enter the program at a time, at least."""
_TYPES_PER_CUT = 12
"""Types of rows for each cut that enters at a time, in large problems."""


def parity_cuts(
    groups: NDArray[np.int64],
    solution: NDArray[np.float64],
    counts: NDArray[np.int64],
    *,
    known: list[NDArray[np.int64]],
) -> list[NDArray[np.int64]]:
    """Return sets of types whose parity a fractional cover violates.

    Parameters
    ----------
    groups : int64 array of shape (groups, 3)
        Type numbers of each group, -1 after the last.
    solution : float array
        How often each group is used; the rows of each type are used up.
    counts : int64 array
        Rows of each type.
    known : list of arrays
        Sets that are asked for already.

    Returns
    -------
    list of int64 arrays
        The types of each set, ascending; most violated sets first.
    """
    used = np.flatnonzero(solution > _USED)
    taken = {members.tobytes() for members in known}
    scored: list[tuple[float, int, NDArray[np.int64]]] = []
    for types, columns in _fractional_components(groups[used], solution[used]):
        for members in _odd_sets(groups[used][columns], solution[used][columns], types, counts):
            key = members.tobytes()
            if key in taken:
                continue
            if counts[members].sum() % 2 == 0:
                raise InternalError("a parity cut speaks of an even number of rows")
            taken.add(key)
            sum_odd = _odd_use(groups[used][columns], solution[used][columns], members)
            if sum_odd < 1 - _VIOLATED:
                scored.append((sum_odd, len(members), members))
    scored.sort(key=lambda cut: cut[:2])
    return [members for _, _, members in scored[: max(_FEWEST_CUTS, len(counts) // _TYPES_PER_CUT)]]


def _fractional_components(
    groups: NDArray[np.int64], solution: NDArray[np.float64]
) -> list[tuple[NDArray[np.int64], NDArray[np.intp]]]:
    """Return the types and the groups of each connected part of a cover that has a fractional group."""
    parent: dict[int, int] = {}

    def root(t: int) -> int:
        while parent.setdefault(t, t) != t:
            parent[t] = parent[parent[t]]
            t = parent[t]
        return t

    for group in groups.tolist():
        for t in group[1:]:
            if t >= 0:
                parent[root(group[0])] = root(t)
    roots = np.array([root(group[0]) for group in groups.tolist()])
    fractional = np.abs(solution - np.rint(solution)) > _USED
    parts = []
    for part in np.unique(roots[fractional]):
        columns = np.flatnonzero(roots == part)
        members = np.unique(groups[columns])
        parts.append((members[members >= 0], columns))
    return parts


def _odd_sets(
    groups: NDArray[np.int64], solution: NDArray[np.float64], types: NDArray[np.int64], counts: NDArray[np.int64]
) -> list[NDArray[np.int64]]:
    """Return sets with an odd number of rows in which the groups that are used most lie with an even number of rows.

    Sets are integers, one bit for each of `types`; so are equations, the bit after those for their right-hand side.
    """
    place = {t: bit for bit, t in enumerate(types.tolist())}
    one = 1 << len(place)
    pivots: dict[int, int] = {}

    def reduce(equation: int) -> int:
        for bit, row in pivots.items():
            if equation >> bit & 1:
                equation ^= row
        return equation

    def add(equation: int) -> None:
        """Add an equation that is consistent with those so far; every pivot occurs in its own equation only."""
        equation = reduce(equation)
        if equation in (0, one):
            return
        bit = ((equation & (one - 1)) & -(equation & (one - 1))).bit_length() - 1
        for other, row in pivots.items():
            if row >> bit & 1:
                pivots[other] = row ^ equation
        pivots[bit] = equation

    odd_counts = sum(1 << place[t] for t in types.tolist() if counts[t] % 2)
    if odd_counts == 0:
        return []
    add(odd_counts | one)
    for column in np.argsort(-solution, kind="stable"):
        equation = 0
        for t in groups[column].tolist():
            if t >= 0:
                equation ^= 1 << place[t]
        add(equation)
    particular = sum(1 << bit for bit, row in pivots.items() if row & one)
    sets = [particular]
    free = [bit for bit in range(len(place)) if bit not in pivots]
    for chosen in free[:_PER_COMPONENT]:
        flipped = sum(1 << bit for bit, row in pivots.items() if row >> chosen & 1) | 1 << chosen
        sets.append(particular ^ flipped)
    return [types[[bit for bit in range(len(place)) if bits >> bit & 1]] for bits in sets]


def _odd_use(groups: NDArray[np.int64], solution: NDArray[np.float64], members: NDArray[np.int64]) -> float:
    """Return how often groups are used that have an odd number of rows in a set of types."""
    odd = np.logical_xor.reduce(np.isin(groups, members), axis=1)
    return float(solution[odd].sum())
