# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""What recoding loses of an attribute: of an interval, of a node of a hierarchy, of a set, of a star.

The codes of a hierarchy stand in an order in which those below a node are side by side: what a group loses there
follows from its first and its last code, as the largest penalty at which neighbours between them meet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from shoal._compiling import inlined

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Codes = NDArray[np.int32]
    Counts = NDArray[np.int64]
    Floats = NDArray[np.float64]

__all__ = [
    "FIRST",
    "INTERVAL",
    "LAST",
    "MISSING",
    "MODE",
    "SET",
    "STAR",
    "TREE",
    "Losses",
    "apart",
    "span",
]

INTERVAL, SET, STAR, TREE = range(4)
"""How an attribute is recoded."""

MODE, FIRST, LAST, MISSING = range(4)
"""Columns of `Losses.columns`."""


class Losses(NamedTuple):
    """A table, and what recoding loses of it."""

    codes: Codes
    """Codes of each row (or of each class of equal rows), shape (n, d), in one numbering of all attributes."""
    columns: Counts
    """Of each attribute how it is recoded, its first and last code, and the code of a missing value or -1."""
    scales: Floats
    """What the second value of a set costs, and every further one, for each attribute."""
    positions: Floats
    """Row 0: where each code of an ordered attribute lies, from 0 to 1, a missing value farther away. Row 1 + j: what
    the stretch of 2**j steps from a code on loses in a hierarchy; two of them tell it for any stretch."""
    largest_set: int = 1 << 30
    """A set of more values is a star, which costs 1."""


@inlined
def span(mode, positions, low, high):
    """Return what a stretch of codes loses where the attribute is recoded to intervals or nodes; else 0."""
    if high <= low:
        return 0.0
    if mode == INTERVAL:
        return min(positions[0, high] - positions[0, low], 1.0)
    if mode == TREE:
        steps = high - low
        power = 0
        while (2 << power) <= steps:
            power += 1
        return max(positions[1 + power, low], positions[1 + power, high - (1 << power)])
    return 0.0


@inlined
def apart(one, other, c, columns, scales, positions):
    """Return what an attribute loses in a group of two rows, given their codes."""
    if one == other:
        return 0.0
    mode = columns[c, MODE]
    if mode == STAR:
        return 1.0
    if mode == SET:
        # A missing value is the last code.
        return 1.0 if max(one, other) == columns[c, MISSING] else scales[c]
    return span(mode, positions, min(one, other), max(one, other))
