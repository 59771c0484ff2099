"""Columns as coarsenings see them: distinct values in their order, and the way back to rows."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shoal._core.validation import exact_fraction
from shoal.errors import DataError
from shoal.table import Schema, encode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shoal.table import Column

__all__ = [
    "by_code",
    "encoded",
    "first_row",
    "in_order",
    "multiples",
    "number_text",
    "numbers_of",
    "reads_like_a_number",
]

_INT64 = 1 << 63


def encoded(series: pl.Series) -> Column | None:
    """Return the distinct values of a column in their order, with the code of each row; None where all are missing."""
    if series.null_count() == len(series):
        return None
    (column,) = encode(series.to_frame(), Schema(quasi_identifiers=(series.name,))).quasi_identifiers
    return None if column.size == column.has_missing else column


def numbers_of(owner: str, column: Column) -> tuple[Fraction, ...]:
    """Return the values of a column as exact numbers, without the missing one.

    Raises
    ------
    DataError
        Where they are none.
    """
    if column.numbers is None:
        raise DataError(
            f"{owner} needs numbers, or text that is a number in every row (12, -3, 0.5). It has other values."
        )
    return column.numbers


def first_row(column: Column, wrong: NDArray[np.bool_]) -> str:
    """Return where the first row is that has one of the wrong values, in words: its number, from 1, and its line."""
    number = int(np.argmax(wrong[column.codes])) + 1
    return f"row {number} (line {number + 1} of a file with a header)"


def by_code(column: Column, published: pl.Series, name: str) -> pl.Series:
    """Return what is published for each row, given it for each value; missing stays missing."""
    if column.has_missing:
        published = published.extend_constant(None, 1)
    return published.rechunk().gather(pl.Series(column.codes)).alias(name)


def in_order(column: Column, labels: Sequence[str], name: str) -> pl.Series:
    """Return the label of each row as a category declared in the order of the values, whose labels these are."""
    kind = pl.Enum(list(dict.fromkeys(labels)))
    return by_code(column, pl.Series(labels, dtype=kind), name)


def number_text(number: Fraction) -> str:
    """Write a number as people do where a decimal says it exactly, else as a fraction.

    Examples
    --------
    >>> number_text(Fraction(20)), number_text(Fraction(-5, 8)), number_text(Fraction(1, 3))
    ('20', '-0.625', '1/3')
    """
    digits, rest = 0, number.denominator
    while rest % 10 == 0 or rest % 5 == 0 or rest % 2 == 0:
        rest = rest // 10 if rest % 10 == 0 else rest // 5 if rest % 5 == 0 else rest // 2
        digits += 1
    if rest != 1:
        return str(number)
    if digits == 0:
        return str(number.numerator)
    scaled = str(abs(number.numerator) * 10**digits // number.denominator).rjust(digits + 1, "0")
    whole, decimals = scaled[:-digits], scaled[-digits:].rstrip("0")
    return f"{'-' if number < 0 else ''}{whole}.{decimals}"


def multiples(numbers: Sequence[Fraction], step: Fraction) -> pl.Series:
    """Return multiples of a step: of a whole one as whole numbers, of any other as floats; else as text.

    Text where a whole number is too large for 64 bits, or a float for the digits of its own multiple. How a multiple is
    written depends on itself and on the step only, not on the others.
    """
    if step.denominator == 1:
        if all(-_INT64 <= number < _INT64 for number in numbers):
            return pl.Series([int(number) for number in numbers], dtype=pl.Int64)
        return pl.Series([str(number) for number in numbers], dtype=pl.String)
    floats = [float(number) for number in numbers]
    # A float says which multiple is meant while it is nearer to it than to the next.
    near = [2 * abs(exact_fraction(one) - number) < step for one, number in zip(floats, numbers, strict=True)]
    if all(near):
        return pl.Series(floats, dtype=pl.Float64)
    texts = zip(near, floats, numbers, strict=True)
    return pl.Series([str(one) if meant else number_text(number) for meant, one, number in texts], dtype=pl.String)


def reads_like_a_number(label: str) -> bool:
    """Return whether readers would take what a class is called for a number, and so for a value."""
    try:
        Decimal(label.strip())
    except InvalidOperation:
        return False
    return True
