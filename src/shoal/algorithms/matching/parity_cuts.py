"""Parity cuts for covers by groups: odd sets of rows that a fractional cover covers by even parts of groups.

Let S hold an odd number of rows. An integral cover has a group with an odd number of rows in S, because even numbers do
not add up to an odd number. The sum of x(e) over the groups e with an odd number of rows in S is therefore at least 1.
If a fractional cover violates this, nearly every group in use has an even number of rows in S. The types of S solve a
system of equations modulo 2, which is found by elimination, the most used groups first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InternalError

_TOLERANCE = 1e-6
"""Numerical tolerance: a solution uses the variables above it."""
_MIN_VIOLATION = 0.02
"""Smallest violation of a cut that is added."""
_MAX_SETS_PER_COMPONENT = 12
"""Largest number of additional sets per connected component of the fractional groups."""
_MIN_CUTS = 150
"""Number of cuts that may be added at a time, in small problems."""
_TYPES_PER_CUT = 12
"""Number of row types per cut that may be added at a time, in large problems."""


def parity_cuts(
    groups: NDArray[np.int64],
    solution: NDArray[np.float64],
    counts: NDArray[np.int64],
    *,
    known: list[NDArray[np.int64]],
) -> list[NDArray[np.int64]]:
    """Find sets of types whose parity cut a fractional cover violates.

    Parameters
    ----------
    groups : int64 array of shape (groups, 3)
        Type numbers of each group, -1 after the last.
    solution : float array
        Value of each group in the fractional cover, which covers every row.
    counts : int64 array
        Number of rows of each type.
    known : list of arrays
        Sets whose cuts are in the program already.

    Returns
    -------
    list of int64 arrays
        The types of each set, ascending; most violated sets first.
    """
    used = np.flatnonzero(solution > _TOLERANCE)
    taken = {members.tobytes() for members in known}
    scored: list[tuple[float, int, NDArray[np.int64]]] = []
    # Each fractional component gives sets of its own.
    for types, columns in _fractional_components(groups[used], solution[used]):
        part, values = groups[used][columns], solution[used][columns]
        for members in _odd_sets(part, values, types, counts):
            key = members.tobytes()
            if key in taken:
                continue
            if counts[members].sum() % 2 == 0:
                raise InternalError("the set of a parity cut has an even number of rows")
            taken.add(key)
            # The sum of the values of the groups that have an odd number of rows in the set.
            sum_odd = float(values[np.logical_xor.reduce(np.isin(part, members), axis=1)].sum())
            if sum_odd < 1 - _MIN_VIOLATION:
                scored.append((sum_odd, len(members), members))
    # Most violated cuts first; of equally violated cuts, the smallest sets.
    scored.sort(key=lambda cut: cut[:2])
    return [members for _, _, members in scored[: max(_MIN_CUTS, len(counts) // _TYPES_PER_CUT)]]


def _fractional_components(
    groups: NDArray[np.int64], solution: NDArray[np.float64]
) -> list[tuple[NDArray[np.int64], NDArray[np.intp]]]:
    """Find the connected components of a cover with a fractional group; return the types and groups of each."""
    parent: dict[int, int] = {}

    def root(t: int) -> int:
        while parent.setdefault(t, t) != t:
            parent[t] = parent[parent[t]]
            t = parent[t]
        return t

    # Union-find: a group connects its types.
    for group in groups.tolist():
        for t in group[1:]:
            if t >= 0:
                parent[root(group[0])] = root(t)
    roots = np.array([root(group[0]) for group in groups.tolist()])
    fractional = np.abs(solution - np.rint(solution)) > _TOLERANCE
    parts = []
    for part in np.unique(roots[fractional]):
        columns = np.flatnonzero(roots == part)
        members = np.unique(groups[columns])
        parts.append((members[members >= 0], columns))
    return parts


def _odd_sets(
    groups: NDArray[np.int64], solution: NDArray[np.float64], types: NDArray[np.int64], counts: NDArray[np.int64]
) -> list[NDArray[np.int64]]:
    """Find sets with an odd number of rows that contain an even number of rows of each of the most used groups.

    Sets are integers with one bit for each of `types`. Equations have one more bit, for their right-hand side.
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
        """Add an equation, unless it depends on the previous ones; each pivot occurs in one equation only."""
        equation = reduce(equation)
        if equation in (0, one):
            return
        bit = ((equation & (one - 1)) & -(equation & (one - 1))).bit_length() - 1
        for other, row in pivots.items():
            if row >> bit & 1:
                pivots[other] = row ^ equation
        pivots[bit] = equation

    # The set must hold an odd number of rows.
    odd_counts = sum(1 << place[t] for t in types.tolist() if counts[t] % 2)
    if odd_counts == 0:
        return []
    add(odd_counts | one)
    # Each group must have an even number of rows in the set, as far as that is consistent.
    for column in np.argsort(-solution, kind="stable"):
        equation = 0
        for t in groups[column].tolist():
            if t >= 0:
                equation ^= 1 << place[t]
        add(equation)
    # One solution of the system, and others that differ in one free variable.
    particular = sum(1 << bit for bit, row in pivots.items() if row & one)
    sets = [particular]
    free = [bit for bit in range(len(place)) if bit not in pivots]
    for chosen in free[:_MAX_SETS_PER_COMPONENT]:
        flipped = sum(1 << bit for bit, row in pivots.items() if row >> chosen & 1) | 1 << chosen
        sets.append(particular ^ flipped)
    return [types[[bit for bit in range(len(place)) if bits >> bit & 1]] for bits in sets]
