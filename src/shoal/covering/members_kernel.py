# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Looking for ranks among the ascending members of a region."""

from __future__ import annotations

from shoal._compiling import inlined

__all__ = ["first_at_least"]


@inlined
def first_at_least(members, start, stop, low):
    """Return where the first of the ascending `members[start:stop]` is that is at least `low`; `stop` if none is."""
    a, b = start, stop
    while a < b:
        middle = (a + b) // 2
        if members[middle] < low:
            a = middle + 1
        else:
            b = middle
    return a
