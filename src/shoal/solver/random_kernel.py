# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Random numbers in compiled loops: their state is an argument, so that a seed decides everything."""

from __future__ import annotations

import numpy as np

from shoal._compiling import inlined

__all__ = ["draw", "happens"]


@inlined
def draw(random, bound):
    """Return a whole number from 0 to bound - 1 (xorshift); `random` is a uint64[1] that is not 0."""
    x = random[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    random[0] = x
    return np.int64((x >> np.uint64(11)) % np.uint64(bound))


@inlined
def happens(change, temperature, random):
    """Return whether simulated annealing makes a step: always downhill, uphill by chance."""
    if change <= 0.0:
        return True
    if change > 30.0 * temperature:
        return False
    return draw(random, np.int64(1 << 40)) < np.exp(-change / temperature) * (1 << 40)
