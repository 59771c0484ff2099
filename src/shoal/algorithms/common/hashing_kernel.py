# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""Hash tables of keys that are numbers: open addressing, with the slots of an array whose size is a power of two."""

from __future__ import annotations

import numpy as np

from shoal._compiling import inlined

__all__ = ["EMPTY", "slot_of", "slots_for", "spread"]

EMPTY = np.int64(-1)
"""The key of a slot that is free; keys are not negative."""

_MULTIPLIER = np.int64(-7046029254386353131)
"""2**64 over the golden ratio: neighbouring keys get slots far apart (Knuth, TAOCP 3, 6.4)."""


@inlined
def slots_for(keys):
    """Return the size of a table that is at most half full with so many keys."""
    slots = np.int64(16)
    while slots < 2 * keys:
        slots *= 2
    return slots


@inlined
def spread(key, slots):
    """Return the slot at which the search for a key begins."""
    return ((key * _MULTIPLIER) >> 24) & (slots - 1)


@inlined
def slot_of(table, key):
    """Return the slot of a table of keys that holds a key, or the free one where it belongs."""
    slot = spread(key, table.size)
    while table[slot] != EMPTY and table[slot] != key:
        slot = (slot + 1) & (table.size - 1)
    return slot
