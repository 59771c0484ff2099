"""Read files of Stata, SPSS and SAS, with value labels in place of codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal._core.file_formats import STAT_FILES
from shoal._core.optional import require
from shoal.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import polars as pl

__all__ = ["read_stat_file"]


def read_stat_file(path: Path) -> pl.DataFrame:
    """Read a file of Stata, SPSS or SAS.

    A column shows its labels if each of its values has a label of its own; otherwise it keeps its codes, such as ages
    of which only 99 is labelled. Whole numbers become integers. Values that the file declares missing are missing, and
    so is empty text.

    Raises
    ------
    DataError
        If it cannot be read.
    """
    reader = require("pyreadstat", extra="stat", purpose="Reading files of Stata, SPSS and SAS")
    try:
        frame, facts = getattr(reader, STAT_FILES[path.suffix.lower()])(str(path), output_format="polars")
    except (reader.ReadstatError, reader.PyreadstatError, ValueError, OverflowError) as error:
        kind = type(error).__name__
    else:
        labels = facts.variable_value_labels
        shown: pl.DataFrame = frame.with_columns(_as_shown(column, labels.get(column.name, {})) for column in frame)
        return shown
    # Raised outside of the handler, because its error may quote a cell.
    raise DataError(f"'{path.name}' cannot be read ({kind}). It may be damaged; write it again.")


def _as_shown(column: pl.Series, labels: Mapping[Any, str]) -> pl.Series:
    """Convert codes to labels, whole floats to integers, and empty text to missing values."""
    import polars as pl

    # Labels of some values only, such as "refused" for 99, would mix text and numbers.
    values = column.drop_nulls().unique()
    # Two codes with the same label would become one value.
    if len(values) and set(values) <= labels.keys() and len(set(labels.values())) == len(labels):
        return column.replace_strict(labels, return_dtype=pl.String)
    if column.dtype.is_float() and (values.is_finite() & (values.round() == values) & (values.abs() < 2**53)).all():
        return column.cast(pl.Int64)
    return column.set(column == "", None) if column.dtype == pl.String else column
