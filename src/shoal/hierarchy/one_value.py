"""The coarsest coarsening: merge all values of a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import polars as pl

from shoal._core.validation import NotBlank, validate
from shoal.errors import DataError
from shoal.hierarchy.coarsening import Coarsening
from shoal.hierarchy.distinct_values import encode_values, expand_to_rows, looks_like_number
from shoal.table.text import dictionary_text


@dataclass(frozen=True)
class OneValue(Coarsening):
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

    self_evident: ClassVar[bool] = True
    streams: ClassVar[bool] = True
    """Whether the result depends on values but not on their frequencies."""

    label: str = field(default="any", kw_only=True)
    """Text of the value."""

    def __post_init__(self) -> None:
        validate("OneValue", {"label": self.label}, {"label": NotBlank()})

    def apply(self, columns: tuple[pl.Series, ...]) -> tuple[pl.Series, ...]:
        """Replace all values by the label; see `Coarsening.apply`."""
        (series,) = columns
        column = encode_values(series)
        if column is None:
            return columns
        texts: Sequence[str] = dictionary_text(column.dictionary.drop_nulls()).to_list()
        # A label that looks like a value would mislead readers.
        if self.label in texts or looks_like_number(self.label):
            raise DataError("OneValue would write what reads like a value. Choose another label.")
        return (expand_to_rows(column, pl.Series([self.label] * len(texts), dtype=pl.String), series.name),)

    def to_dict(self) -> dict[str, Any]:
        """Serialize the coarsening as in a certificate."""
        return {"coarsening": "one-value", "label": self.label}
