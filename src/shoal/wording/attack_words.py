"""Names of people, columns and values in sentences about attacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal._core.language import gettext as _
from shoal._core.language import ngettext
from shoal._core.words import listed, number

__all__ = ["COUNTS_CERTAIN", "count_people", "name_known_columns", "name_value"]

COUNTS_CERTAIN = frozenset(("homogeneity", "background", "similarity", "intersection"))
"""The attacks that count people of whom a value is certain, which the share of right guesses is no measure of."""
_MAX_COLUMNS_NAMED = 4
"""Largest number of columns that a sentence names."""


def count_people(count: float) -> str:
    """Format a number of people."""
    return ngettext("{count} person", "{count} people", int(count)).format(count=number(count))


def name_known_columns(facts: Mapping[str, Any]) -> str:
    """Name the quasi-identifiers that the adversary knows, or their number if there are many."""
    names = facts.get("quasi_identifiers") or ()
    if len(names) > _MAX_COLUMNS_NAMED:
        return _("the {count} columns that others may know").format(count=number(len(names)))
    return listed(names)


def name_value(facts: Mapping[str, Any]) -> str:
    """Name the attacked value: that of a column, or the combination of several."""
    names = facts.get("sensitive") or ()
    if not names:
        return _("the sensitive value")
    if len(names) == 1:
        return _("the value of '{column}'").format(column=names[0])
    # Long lists of columns are replaced by their number.
    if len(names) > _MAX_COLUMNS_NAMED:
        return _("the combination of the values of {count} sensitive columns").format(count=number(len(names)))
    return _("the combination of the values of {columns}").format(columns=listed([repr(name) for name in names]))
