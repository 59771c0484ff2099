# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Hash tables of integer keys: open addressing, in an array whose size is a power of two."""

from __future__ import annotations

import numpy as np

from shoal._core.compiling import inlined

__all__ = ["EMPTY", "slot_of", "slots_for"]

EMPTY = np.int64(-1)
"""The key of a free slot; keys are not negative."""

_MULTIPLIER = np.int64(-7046029254386353131)
"""2**64 over the golden ratio: neighbouring keys get slots far apart (Knuth, TAOCP 3, 6.4)."""


@inlined
def slots_for(keys):
    """Compute the size of a table that is at most half full with a number of keys."""
    # A power of two, so that the slot is a mask of the hash.
    slots = np.int64(16)
    while slots < 2 * keys:
        slots *= 2
    return slots


@inlined
def spread(key, slots):
    """Compute the slot at which the search for a key begins."""
    # The low bits of the product depend on the low bits of the key only: use the middle ones.
    return ((key * _MULTIPLIER) >> 24) & (slots - 1)


@inlined
def slot_of(table, key):
    """Find the slot of a table that holds a key, or the free slot at which to insert it."""
    slot = spread(key, table.size)
    # Linear probing; it ends because the table is never full.
    while table[slot] != EMPTY and table[slot] != key:
        slot = (slot + 1) & (table.size - 1)
    return slot
