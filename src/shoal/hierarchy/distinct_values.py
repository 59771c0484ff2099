"""Distinct values of a column in their natural order, and the mapping of results back to rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from decimal import Context, Decimal, Inexact, InvalidOperation, localcontext
from fractions import Fraction
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.validation import exact_fraction
from shoal.errors import DataError
from shoal.table import Column, Schema, encode

_INT64 = 1 << 63
_EXACT = Context(prec=1_500, traps=[Inexact])
"""Computes decimals of all digits that a number may have."""


def encode_values(series: pl.Series) -> Column | None:
    """Encode a column as its ordered distinct values and the code of each row; None if all values are missing."""
    if series.null_count() == len(series):
        return None
    (column,) = encode(series.to_frame(), Schema(quasi_identifiers=(series.name,))).quasi_identifiers
    # A column that consists of missing values only has no distinct value.
    return None if column.size == column.has_missing else column


def require_numbers(owner: str, column: Column) -> tuple[Fraction, ...]:
    """Return the distinct values of a column as exact numbers, without the missing value.

    Raises
    ------
    DataError
        If they are not numbers.
    """
    if column.numbers is None:
        raise DataError(
            f"{owner} needs numbers, or text that is a number in every row (12, -3, 0.5). It has other values."
        )
    return column.numbers


_ROWS: ContextVar[NDArray[np.integer] | Literal["counted"] | None] = ContextVar("rows", default=None)


@contextmanager
def of_rows(rows: NDArray[np.integer], counts: NDArray[np.int64]) -> Iterator[None]:
    """Declare which rows of a table columns hold in a block, and how many equal rows each one stands for."""
    before = _ROWS.set("counted" if (counts > 1).any() else rows)
    try:
        yield
    finally:
        _ROWS.reset(before)


def describe_first_row(column: Column, wrong: NDArray[np.bool_]) -> str:
    """Describe where wrong values are: the first row, from 1, and its line; if equal rows were counted, how many."""
    counted = f"{int(wrong.sum()):,} of the {len(wrong) - column.has_missing:,} different values"
    return find_first_row(column, wrong) or counted


def find_first_row(column: Column, wrong: NDArray[np.bool_]) -> str | None:
    """Describe the first row with a wrong value, from 1, and its line; None if equal rows were counted."""
    rows = _ROWS.get()
    if isinstance(rows, str):
        return None
    number = int(np.argmax(wrong[column.codes]))
    number = 1 + (number if rows is None or len(rows) != len(column.codes) else int(rows[number]))
    return f"row {number} (line {number + 1} of a file with a header)"


def expand_to_rows(column: Column, published: pl.Series) -> pl.Series:
    """Expand published values, given by code, to rows; missing values stay missing unless one is published for them."""
    # The code of the missing value is the last one.
    published = published.extend_constant(None, column.size - len(published))
    return published.rechunk().gather(pl.Series(column.codes)).alias(column.name)


def number_text(number: Fraction) -> str:
    """Format a number as a decimal if that is exact, otherwise as a fraction.

    Examples
    --------
    >>> number_text(Fraction(20)), number_text(Fraction(-5, 8)), number_text(Fraction(1, 3))
    ('20', '-0.625', '1/3')
    """
    with localcontext(_EXACT):
        try:
            return f"{Decimal(number.numerator) / Decimal(number.denominator):f}"
        except Inexact:
            return str(number)


def multiples(numbers: Sequence[Fraction], step: Fraction) -> pl.Series:
    """Convert multiples of a step to a series: integers for an integer step, otherwise floats, or text.

    Text is used if an integer does not fit into 64 bits, or if a float cannot distinguish the multiple from the next
    one. The format of a multiple depends on itself and on the step only, not on the other multiples.
    """
    if step.denominator == 1:
        # Integers, as the rounding of integers should remain integral.
        if all(-_INT64 <= number < _INT64 for number in numbers):
            return pl.Series([int(number) for number in numbers], dtype=pl.Int64)
        return pl.Series([str(number) for number in numbers], dtype=pl.String)
    floats = [float(number) for number in numbers]
    # A float identifies a multiple if it is closer to it than to any other multiple.
    near = [2 * abs(exact_fraction(one) - number) < step for one, number in zip(floats, numbers, strict=True)]
    if all(near):
        return pl.Series(floats, dtype=pl.Float64)
    texts = zip(near, floats, numbers, strict=True)
    return pl.Series([str(one) if meant else number_text(number) for meant, one, number in texts], dtype=pl.String)


def looks_like_number(label: str) -> bool:
    """Test if readers would mistake a class label for a number, and hence for a value."""
    try:
        Decimal(label.strip())
    except InvalidOperation:
        return False
    return True
