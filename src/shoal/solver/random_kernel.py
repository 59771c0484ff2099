# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Random numbers in compiled loops: the state is an argument, so that results depend on the seed only."""

from __future__ import annotations

import numpy as np

from shoal._core.compiling import inlined

__all__ = ["draw", "happens"]


@inlined
def draw(random, bound):
    """Draw an integer from 0 to bound - 1 (xorshift); `random` is a uint64[1] that is not 0."""
    # Marsaglia's xorshift64; the low bits are the weakest, and are dropped.
    x = random[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    random[0] = x
    return np.int64((x >> np.uint64(11)) % np.uint64(bound))


@inlined
def happens(change, temperature, random):
    """Decide whether simulated annealing makes a step: always downhill, uphill by chance."""
    if change <= 0.0:
        return True
    # Below 1e-13: save the draw.
    if change > 30.0 * temperature:
        return False
    return draw(random, np.int64(1 << 40)) < np.exp(-change / temperature) * (1 << 40)
