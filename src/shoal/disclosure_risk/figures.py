"""Base classes of results: figures with stable names, as attributes, by name and as a dictionary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Base class of results; a field whose name is a Python keyword ends in an underscore, unlike its JSON name.

    `figures["global"]` reads a field by its JSON name.
    """

    def __getitem__(self, name: str) -> Any:
        # JSON names have no trailing underscore.
        named = {field.name.rstrip("_"): field.name for field in fields(self)}
        return getattr(self, named[name])

    def to_dict(self) -> dict[str, Any]:
        """Convert the figures to a dictionary with their JSON names."""
        return {field.name.rstrip("_"): as_json(getattr(self, field.name)) for field in fields(self)}


def as_json(value: Any) -> Any:
    """Convert a figure, or a collection of figures, to JSON types."""
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
    """Probability that an adversary is right about a row, and the share of the rows for which it is too high."""

    highest: float
    """Highest probability of any row."""
    average: float
    """Average over the rows."""
    threshold: float
    """Largest acceptable probability."""
    records_above: float
    """Share of the rows whose probability is above the threshold; decided in integers."""
