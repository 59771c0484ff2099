"""The coarsest coarsening: merge all values of a column."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import polars as pl

from shoal._core.validation import NotBlank, validate
from shoal.errors import DataError
from shoal.hierarchy.coarsening import ValueCoarsening
from shoal.hierarchy.distinct_values import looks_like_number
from shoal.table import Column
from shoal.table.text import dictionary_text


@dataclass(frozen=True)
class OneValue(ValueCoarsening):
    """Replace all values by a single one, `any`, so that only missing values can be distinguished.

    Parameters
    ----------
    label : str
        Text of the value.

    Examples
    --------
    >>> import polars as pl
    >>> OneValue().apply((pl.Series("town", ["Ulm", "Bonn", None]),))[0].to_list()
    ['any', 'any', None]
    """

    label: str = field(default="any", kw_only=True)
    """Text of the value."""

    def __post_init__(self) -> None:
        validate("OneValue", {"label": self.label}, {"label": NotBlank()})

    def _coarsen_values(self, column: Column) -> pl.Series:
        texts = dictionary_text(column.dictionary.drop_nulls()).to_list()
        # A label that looks like a value would mislead readers.
        if self.label in texts or looks_like_number(self.label):
            raise DataError("OneValue would write what reads like a value. Choose another label.")
        return pl.Series([self.label] * len(texts), dtype=pl.String)

    def to_dict(self) -> dict[str, Any]:
        """Serialize the coarsening as in a certificate."""
        return {"coarsening": "one-value", "label": self.label}
