# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Random numbers for compiled loops. The state is an argument, so that results depend on the seed only."""

from __future__ import annotations

import numpy as np

from shoal._core.compiling import inlined

__all__ = ["draw", "accept_move"]


@inlined
def draw(random, bound):
    """Generate a random integer from 0 to bound - 1 (xorshift); `random` is a nonzero uint64 array of length 1."""
    # Marsaglia's xorshift64. The low bits are the weakest and are discarded.
    x = random[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    random[0] = x
    return np.int64((x >> np.uint64(11)) % np.uint64(bound))


@inlined
def accept_move(change, temperature, random):
    """Decide whether simulated annealing accepts a move: always if it improves, otherwise at random."""
    if change <= 0.0:
        return True
    # The probability is below 1e-13: skip the random number.
    if change > 30.0 * temperature:
        return False
    return draw(random, np.int64(1 << 40)) < np.exp(-change / temperature) * (1 << 40)
