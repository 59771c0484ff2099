"""What the measures return: figures with names that scripts rely on, as attributes, by name, and as a dictionary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

__all__ = ["Figures", "Threshold", "as_json"]


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Base of the results. A field whose name is a word of Python ends in an underscore, which its JSON name has not.

    `figures["global"]` reads a field by its JSON name.
    """

    def __getitem__(self, name: str) -> Any:
        named = {field.name.rstrip("_"): field.name for field in fields(self)}
        return getattr(self, named[name])

    def to_dict(self) -> dict[str, Any]:
        """Return the figures by their JSON names."""
        return {field.name.rstrip("_"): as_json(getattr(self, field.name)) for field in fields(self)}


def as_json(value: Any) -> Any:
    """Return a figure, or several, as JSON has them."""
    if isinstance(value, Figures):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {str(name): as_json(one) for name, one in value.items()}
    if isinstance(value, tuple | list):
        return [as_json(one) for one in value]
    if isinstance(value, Fraction):
        return float(value)
    return value


@dataclass(frozen=True, kw_only=True)
class Threshold(Figures):
    """How likely an adversary is right about a row: at most, on average, and about how many rows too likely."""

    highest: float
    """The probability for the row where it is greatest."""
    average: float
    """Its average over the rows."""
    threshold: float
    """The probability that is still acceptable."""
    records_above: float
    """Share of the rows whose probability is above the threshold; decided in integers."""
