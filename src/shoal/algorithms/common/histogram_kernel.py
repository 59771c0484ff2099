# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Histograms of the sensitive values of a group, counted row by row: the input of the predicate."""

from __future__ import annotations

from shoal._core.compiling import inlined
from shoal.algorithms.common.whole_kernel import ZERO

__all__ = ["clear", "count_row"]


@inlined
def count_row(row, sensitive, touched, distinct, counts):
    """Add a row to a histogram; return the number of distinct codes."""
    # A code is listed when it first occurs, so that clearing does not scan the domain.
    for j in range(sensitive.shape[1]):
        v = sensitive[row, j]
        if counts[v] == 0:
            touched[distinct] = v
            distinct += 1
        counts[v] += 1
    return distinct


@inlined
def clear(touched, distinct, counts):
    """Reset a histogram; return the number of distinct codes, 0."""
    # Only the listed codes are nonzero.
    for i in range(distinct):
        counts[touched[i]] = 0
    return ZERO
