# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Losses of recoding an attribute: of an interval, of a node of a hierarchy, of a set, of a star.

The codes of a hierarchy are ordered so that the codes below a node are neighbours: the loss of a group follows from its
first and its last code, as the largest penalty at which neighbours between them meet.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal._core.compiling import inlined

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
"""Kinds of recoding of an attribute."""

MODE, FIRST, LAST, MISSING = range(4)
"""Columns of `Losses.columns`."""


class Losses(NamedTuple):
    """A table with the losses of recoding it."""

    codes: Codes
    """Codes of each row (or of each class of equal rows), shape (n, d), in one numbering of all attributes."""
    columns: Counts
    """For each attribute: its kind of recoding, its first and last code, and the code of a missing value or -1."""
    scales: Floats
    """Loss of the second value of a set and of every further value, for each attribute."""
    positions: Floats
    """Row 0: position of each code of an ordered attribute, from 0 to 1, a missing value farther away. Row 1 + j: loss
    of the stretch of 2**j steps from a code on in a hierarchy; two of these cover any stretch."""
    largest_set: int = 1 << 30
    """A set of more values is a star, which costs 1."""


@inlined
def span(mode, positions, low, high):
    """Compute the loss of a stretch of codes if the attribute is recoded to intervals or nodes; else 0."""
    if high <= low:
        return 0.0
    # An interval: the difference of its ends; a missing value makes it the whole domain.
    if mode == INTERVAL:
        return min(positions[0, high] - positions[0, low], 1.0)
    # A node: the maximum over the stretch, by two overlapping powers of two (a sparse table).
    if mode == TREE:
        steps = high - low
        power = 0
        while (2 << power) <= steps:
            power += 1
        return max(positions[1 + power, low], positions[1 + power, high - (1 << power)])
    return 0.0


@inlined
def apart(one, other, c, columns, scales, positions):
    """Compute the loss of an attribute in a group of two rows from their codes."""
    # Equal codes never lose anything, for any kind of recoding.
    if one == other:
        return 0.0
    mode = columns[c, MODE]
    if mode == STAR:
        return 1.0
    # A set of two values, or a star if a value is missing.
    if mode == SET:
        # A missing value is the last code.
        return 1.0 if max(one, other) == columns[c, MISSING] else float(scales[c])
    return span(mode, positions, min(one, other), max(one, other))
