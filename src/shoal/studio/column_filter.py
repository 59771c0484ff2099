"""Search, filter, order and ranges of columns, for wide tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from shoal.studio.rejected_forms import FieldError

ORDERS: Mapping[str, str] = {
    "": "as in the table",
    "name": "by name",
    "kind": "by kind",
    "values": "most values first",
    "own": "most of their own first",
}
"""The orders of columns, as form values and in words."""


@dataclass(frozen=True, kw_only=True)
class ColumnFilter:
    """Which columns the screen shows, and in which order; the names of its fields are those of the form."""

    find: str = ""
    """A part of the name, in upper or lower case."""
    kind: str = ""
    """The kind of the columns; any if empty."""
    having: str = ""
    """The chosen role of the columns; any if empty."""
    sort: str = ""
    """The order, one of `ORDERS`."""

    @classmethod
    def of(cls, form: Mapping[str, str]) -> ColumnFilter:
        """Parse the query of a page, or a form."""
        given = {name: form.get(name, "").strip()[:200] for name in cls.__dataclass_fields__}
        return cls(**{**given, "sort": given["sort"] if given["sort"] in ORDERS else ""})

    @property
    def query(self) -> str:
        """The query of the page, with a question mark; empty if all columns are shown in their order."""
        given = {name: one for name, one in vars(self).items() if one}
        return f"?{urlencode(given)}" if given else ""

    def select(
        self, columns: Sequence[Mapping[str, Any]], chosen: Mapping[str, str]
    ) -> list[tuple[int, Mapping[str, Any]]]:
        """Select columns, each with its place in the table.

        Parameters
        ----------
        columns : sequence of mapping
            The inspected columns.
        chosen : mapping of str to str
            The role of each column.
        """
        found = [
            (place, one)
            for place, one in enumerate(columns)
            if self.find.casefold() in one["name"].casefold()
            and self.kind in ("", one["kind"])
            and self.having in ("", chosen[one["name"]])
        ]
        # The sort is stable: columns that are equal stay in the order of the table.
        keys: Mapping[str, Any] = {
            "name": lambda one: one[1]["name"].casefold(),
            "kind": lambda one: one[1]["kind"],
            "values": lambda one: -one[1]["distinct"],
            "own": lambda one: -one[1]["uniqueness"],
        }
        return sorted(found, key=keys[self.sort]) if self.sort else found


def parse_range(form: Mapping[str, str], count: int) -> range:
    """Parse a range of column numbers, from 1; it is empty if none is typed.

    Raises
    ------
    FieldError
        If a number is missing or there is no such column.
    """
    ends = []
    for name in ("from", "to"):
        given = form.get(name, "").strip()
        if given and not (given.isascii() and given.isdecimal() and 0 < int(given[:9]) <= count):
            raise FieldError(f"Columns are numbered from 1 to {count}.", field=name)
        ends.append(given)
    if not any(ends):
        return range(0)
    # One number alone is a range of one column.
    first, last = (int(one or other) for one, other in (ends, reversed(ends)))
    return range(first - 1, last)
