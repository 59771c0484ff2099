"""Names of people, columns and values in sentences about attacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal._core.words import listed, number

COUNTS_CERTAIN = frozenset(("homogeneity", "background", "similarity", "intersection"))
"""The attacks that count people of whom a value is certain, which the share of right guesses is no measure of."""
_MAX_COLUMNS_NAMED = 4
"""Largest number of columns that a sentence names."""


def count_people(count: float) -> str:
    """Format a number of people."""
    return f"{number(count)} {'person' if int(count) == 1 else 'people'}"


def name_known_columns(facts: Mapping[str, Any]) -> str:
    """Name the quasi-identifiers that the adversary knows, or their number if there are many."""
    names = facts.get("quasi_identifiers") or ()
    if len(names) > _MAX_COLUMNS_NAMED:
        return f"the {number(len(names))} columns that others may know"
    return listed(names)


def name_value(facts: Mapping[str, Any]) -> str:
    """Name the attacked value: that of a column, or the combination of several."""
    names = facts.get("sensitive") or ()
    if not names:
        return "the sensitive value"
    if len(names) == 1:
        return f"the value of '{names[0]}'"
    # Long lists of columns are replaced by their number.
    if len(names) > _MAX_COLUMNS_NAMED:
        return f"the combination of the values of {number(len(names))} sensitive columns"
    return f"the combination of the values of {listed([repr(name) for name in names])}"
