"""Words that mean missing among numbers or dates, such as "n/a"; from a fixed list, so that no cell is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from shoal.hierarchy.fitting import NUMBER
from shoal.io import understand

if TYPE_CHECKING:
    from shoal.verbs.inspect.counting import CountedColumn

__all__ = ["find_missing_codes"]

_KNOWN = (
    *("-", "--", "?", ".", "#n/a", "#nv", "n/a", "n.a.", "na", "nan", "null", "none", "nil", "missing", "unknown"),
    *(
        "not known",
        "not available",
        "unspecified",
        "k.a.",
        "k. a.",
        "ka",
        "keine angabe",
        "ohne angabe",
        "o.a.",
        "n.v.",
    ),
    *("nicht bekannt", "nicht verfügbar", "unbekannt", "unbek.", "fehlt", "leer", "entfällt", "entf.", "nd", "n.d."),
)
"""Words that mean missing in many files, in lower case."""


def find_missing_codes(columns: Sequence[CountedColumn], *, decimal: str | None) -> dict[str, tuple[str, ...]]:
    """Find the known words in columns of text that are numbers or dates but for them.

    Parameters
    ----------
    columns : sequence of CountedColumn
        The columns after dates and numbers were parsed.
    decimal : {",", "."}, optional
        The decimal separator; detected by default.
    """
    found: dict[str, tuple[str, ...]] = {}
    for column in columns:
        values = column.dictionary
        if values.dtype != pl.String:
            continue
        known = values.str.strip_chars().str.to_lowercase().is_in(_KNOWN)
        others = values.filter(~known)
        # Without the words the column must be dates or numbers, possibly ambiguous ones.
        if known.any() and len(others) > 1:
            parsed = understand(others.to_frame(), [column.name], decimal=decimal)
            if column.name in {*parsed.forms, *parsed.ambiguous} or others.str.contains(NUMBER).all():
                found[column.name] = tuple(values.filter(known).sort())
    return found
