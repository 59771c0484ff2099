# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Search for ranks among the ascending members of a region."""

from __future__ import annotations

from shoal._core.compiling import inlined

__all__ = ["first_at_least"]


@inlined
def first_at_least(members, start, stop, low):
    """Find the first of the ascending `members[start:stop]` that is at least `low`; return `stop` if there is none."""
    # Bisection; the answer is always from a to b.
    a, b = start, stop
    while a < b:
        middle = (a + b) // 2
        if members[middle] < low:
            a = middle + 1
        else:
            b = middle
    return a
