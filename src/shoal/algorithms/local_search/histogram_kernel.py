# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""The sensitive values of a group, counted row by row: what the predicate asks for."""

from __future__ import annotations

from shoal._compiling import inlined
from shoal.algorithms.common.whole_kernel import ZERO

__all__ = ["clear", "count_row"]


@inlined
def count_row(row, sensitive, touched, distinct, counts):
    """Add a row to a histogram; return how many codes occur in it now."""
    for j in range(sensitive.shape[1]):
        v = sensitive[row, j]
        if counts[v] == 0:
            touched[distinct] = v
            distinct += 1
        counts[v] += 1
    return distinct


@inlined
def clear(touched, distinct, counts):
    """Empty a histogram; return how many codes occur in it now: none."""
    for i in range(distinct):
        counts[touched[i]] = 0
    return ZERO
