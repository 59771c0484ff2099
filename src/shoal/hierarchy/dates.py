"""Coarsening of dates to months, quarters, years or bands of years."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from shoal._core.validation import Integer, OneOf, Optional, validate
from shoal._messages import Allowed, Subject, Suggestion
from shoal.errors import DataError, ParameterError
from shoal.hierarchy.coarsening import ValueCoarsening
from shoal.hierarchy.distinct_values import describe_first_row
from shoal.table import Column

_PARTS = ("year", "quarter", "month", "decade", "5years")
_BAND = re.compile("([2-9]|[1-9][0-9]{1,2})years")
"""Pattern of a band of 2 to 999 years."""
_ISO = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}.*)?$"


@dataclass(frozen=True)
class DatePart(ValueCoarsening):
    """Coarsen dates to months (`2020-01`), quarters (`2020-Q1`), years (`2020`) or bands of years, which are ordered.

    Bands begin at multiples of their width and name their first and last year: the decade `[1980, 1989]`.

    Parameters
    ----------
    part : {"year", "quarter", "month", "decade", "5years"}
        Precision of the result; bands may have any number of years, such as "20years".
    format : str, optional
        Format of text as in `strptime`, such as "%d.%m.%Y"; ISO dates, with or without a time, by default.
    earliest : int, optional
        For years only: this year and all years before it become one value, such as `<=1936`.

    Examples
    --------
    >>> import polars as pl
    >>> dates = pl.Series("admitted", ["2020-01-31", "2020-04-01", "2021-02-03"])
    >>> DatePart("quarter").apply((dates,))[0].to_list()
    ['2020-Q1', '2020-Q2', '2021-Q1']
    >>> DatePart("year").apply((dates,))[0].to_list()
    [2020, 2020, 2021]
    >>> DatePart("5years").apply((dates,))[0].to_list()
    ['[2020, 2024]', '[2020, 2024]', '[2020, 2024]']
    """

    part: str
    """Precision of the result."""
    format: str | None = field(default=None, kw_only=True)
    """Format of text."""
    earliest: int | None = field(default=None, kw_only=True)
    """Last of the years that are merged into one value."""

    def __post_init__(self) -> None:
        validate(
            "DatePart",
            {"part": "5years" if self._width else self.part, "earliest": self.earliest},
            {"part": OneOf(_PARTS), "earliest": Optional(Integer(low=1, high=9999))},
        )
        # Merging months or quarters before a year would leave them at different precisions.
        if self.earliest is not None and self.part != "year":
            raise ParameterError(Subject("DatePart", "earliest"), " is for years. Leave it out.")
        pattern: object = self.format
        if pattern is not None and (not isinstance(pattern, str) or "%" not in pattern):
            raise ParameterError.refusing(
                "DatePart", "format", Allowed("None or a text such as '%d.%m.%Y'", "a text such as '%d.%m.%Y'")
            )

    @property
    def _width(self) -> int:
        """The number of years of a band; 0 for other parts."""
        band = _BAND.fullmatch(str(self.part))
        return 10 if self.part == "decade" else int(band[1]) if band else 0

    @property
    def of_intervals(self) -> bool:  # type: ignore[override]
        """Whether the coarser values are bands of years."""
        return bool(self._width)

    def _coarsen_values(self, column: Column) -> pl.Series:
        dates = parse_dates("DatePart", column, self.format)
        years = dates.dt.year()
        # Plain years stay integers.
        if self.part == "year" and (self.earliest is None or (years > self.earliest).all()):
            return years
        if self.part == "year":
            labels = [f"<={self.earliest}" if year <= (self.earliest or 0) else str(year) for year in years]
        elif self._width:
            labels = label_bands(years, self._width)
        elif self.part == "quarter":
            labels = [f"{year:04}-Q{part}" for year, part in zip(years, dates.dt.quarter(), strict=True)]
        else:
            labels = [f"{year:04}-{part:02}" for year, part in zip(years, dates.dt.month(), strict=True)]
        # Declare the labels in the order of the dates.
        by_date = dates.arg_sort()
        kind = pl.Enum(list(dict.fromkeys(labels[place] for place in by_date)))
        return pl.Series(labels, dtype=kind)

    def to_dict(self) -> dict[str, Any]:
        """Serialize the coarsening as in a certificate."""
        parameters = {"format": self.format, "earliest": self.earliest}
        return {
            "coarsening": "date-part",
            "part": self.part,
            **{name: value for name, value in parameters.items() if value is not None},
        }


def label_bands(years: Iterable[int], width: int) -> list[str]:
    """Label the band of each year, which begins at a multiple of the width.

    Examples
    --------
    >>> label_bands([1979, 1980, 1989], 10)
    ['[1970, 1979]', '[1980, 1989]', '[1980, 1989]']
    """
    firsts = (year - year % width for year in years)
    return [f"[{first:04}, {first + width - 1:04}]" for first in firsts]


def parse_dates(owner: str, column: Column, pattern: str | None = None) -> pl.Series:
    """Parse the distinct values of a column as dates, without the missing value.

    Raises
    ------
    DataError
        If a value is not a date; the message gives the first row with such a value.
    """
    values = column.dictionary.drop_nulls()
    kind = values.dtype
    if kind == pl.Date:
        return values
    if isinstance(kind, pl.Datetime):
        return values.dt.date()
    # Other types, such as numbers, are not dates.
    if kind not in (pl.String, pl.Categorical, pl.Enum):
        raise DataError(f"{owner} needs dates, or text that is a date in every row.")
    text = values.cast(pl.String)
    if pattern is None:
        # ISO dates may be followed by a time, which is ignored.
        read = text.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
        wrong = (read.is_null() | ~text.str.contains(_ISO)).to_numpy()
    else:
        read = text.str.to_date(pattern, strict=False)
        wrong = read.is_null().to_numpy()
    if wrong.any():
        # The code of the missing value comes last.
        wrong = np.append(wrong, [False] * column.has_missing)
        unread = f"{owner} cannot read {describe_first_row(column, wrong)} as"
        if pattern is not None:
            raise DataError(f"{unread} {pattern!r} says.")
        written = Suggestion("dates", "NAME=%d.%m.%Y", python="format='%d.%m.%Y'")
        raise DataError(f"{unread} 2020-01-31: say how dates are written with ", written, ".")
    return read
