"""Columns of a survey that measures of risk need: the weights of its rows, and their households."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import ColumnError, DataError, ParameterError, near_matches
from shoal.io.forms import read_column
from shoal.io.number_forms import numbers_of
from shoal.table import Schema, encode

_LARGEST_WEIGHT = 1_000_000_000_000
_SHOWN_ROWS = 20
"""Row numbers that an error message names at most."""


def read_weights(frame: pl.DataFrame, name: str, *, decimal: str | None = None) -> NDArray[np.float64]:
    """Return the survey weights, each of which must be at least 1."""
    column = read_column(_column(frame, name, "survey weights"), decimal=decimal, certain=True)
    given = column.fill_nan(None) if column.dtype.is_float() else column
    _refuse(given.is_null(), f"The column '{name}' (survey weights) has no weight", "Fill it, or drop the row.")
    numbers = numbers_of(given)
    _refuse(
        numbers.is_null() | numbers.is_infinite().fill_null(value=False),
        f"The column '{name}' (survey weights) has no finite number",
        "Write weights as plain numbers with a decimal point.",
    )
    _refuse(
        numbers < 1,
        f"The column '{name}' (survey weights) has a weight below 1",
        "A weight is the number of population members that a row represents, including itself: scale the weights so "
        "that they add up to the population.",
    )
    _refuse(
        numbers > _LARGEST_WEIGHT,
        f"The column '{name}' (survey weights) has a weight above {_LARGEST_WEIGHT:,}",
        "No population is that large: check that the column contains weights.",
    )
    return numbers.to_numpy()


def read_households(frame: pl.DataFrame, name: str) -> tuple[NDArray[np.int64], int]:
    """Return the household number of each row, and the number of households."""
    column = _column(frame, name, "households")
    given = column.fill_nan(None) if column.dtype.is_float() else column
    _refuse(
        given.is_null(),
        f"The column '{name}' (households) has no value",
        "Give every person a household, including those who live alone.",
    )
    coded = encode(given.to_frame(), Schema(quasi_identifiers=(name,))).quasi_identifiers[0]
    return coded.codes.astype(np.int64), coded.size


def _column(frame: pl.DataFrame, name: str, role: str) -> pl.Series:
    if not isinstance(name, str):
        raise ParameterError(f"The {role} must be named by a column. Got {type(name).__name__}.")
    if name not in frame.columns:
        raise ColumnError(f"There is no column '{name}' ({role}). {near_matches(name, frame.columns)}")
    return frame.get_column(name)


def _refuse(wrong: pl.Series, what: str, advice: str) -> None:
    """Raise DataError with the row numbers if any row is invalid."""
    rows = [row + 1 for row in wrong.arg_true().to_list()]
    if rows:
        shown = ", ".join(map(str, rows[:_SHOWN_ROWS])) + (", ..." if len(rows) > _SHOWN_ROWS else "")
        raise DataError(f"{what} in {len(rows):,} row(s): {shown} (counted from 1). {advice}")
