"""Make a hierarchy of a column from a few words, as the command `shoal hierarchy` and the studio take them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from shoal._core.validation import number_in
from shoal.errors import UsageError
from shoal.hierarchy.builders import (
    co_occurrence_hierarchy,
    cut_hierarchy,
    date_hierarchy,
    flat_hierarchy,
    frequency_hierarchy,
    interval_hierarchy,
    prefix_hierarchy,
    quantile_hierarchy,
)
from shoal.hierarchy.tree import Hierarchy

_MAKERS: Mapping[str, Callable[[Any], Hierarchy]] = {
    "dates": date_hierarchy,
    "prefixes": prefix_hierarchy,
    "rare": frequency_hierarchy,
    "flat": flat_hierarchy,
}
"""Hierarchies that need nothing but the values."""


def propose_hierarchy(words: str, values: pl.Series, sensitive: pl.Series | None = None) -> Hierarchy:
    """Make a hierarchy of the values of a column.

    Parameters
    ----------
    words : str
        "intervals:WIDTH", "cuts:18,30,65;65" (a level for each list), "quantiles:PARTS", "dates", "prefixes", "rare"
        (rare values join first), "together" (values with like sensitive values join first) or "flat".
    values : polars.Series
        The column.
    sensitive : polars.Series, optional
        The sensitive column, for "together".

    Raises
    ------
    UsageError
        If there is no such hierarchy, or a number is none.

    Examples
    --------
    >>> import polars as pl
    >>> propose_hierarchy("cuts:18,65;65", pl.Series([3, 20, 70])).rows()
    [('3', '<18', '<65', '*'), ('20', '[18, 65)', '<65', '*'), ('70', '>=65', '>=65', '*')]
    """
    kind, _, rest = words.partition(":")
    if kind == "intervals":
        return interval_hierarchy(values, _read_number("The width", rest))
    if kind == "cuts":
        levels = [one.split(",") for one in rest.split(";") if one.strip()]
        return cut_hierarchy(values, *([_read_number("A cut", cut) for cut in cuts] for cuts in levels))
    if kind == "quantiles":
        return quantile_hierarchy(values, int(_read_number("The number of parts", rest or "8")))
    if kind == "together" and sensitive is not None:
        return co_occurrence_hierarchy(values, sensitive)
    if kind not in _MAKERS:
        raise UsageError("There is no such proposal of a hierarchy. Choose one of the list.")
    return _MAKERS[kind](values)


def _read_number(what: str, text: str) -> Any:
    """Read a number with a decimal point or a decimal comma."""
    text = text.strip()
    found: Any = number_in(text.replace(",", ".") if text.count(",") == 1 and "." not in text else text)
    if isinstance(found, str):
        raise UsageError(f"{what} must be a number.")
    return found
