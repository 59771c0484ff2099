"""Coarsenings of codes: prefixes, and three-digit ZIP codes according to the Safe Harbor rule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl

from shoal._core.validation import Integer, Optional, format_value, validate
from shoal._messages import Subject
from shoal.errors import DataError, ParameterError
from shoal.hierarchy.coarsening import ValueCoarsening
from shoal.hierarchy.distinct_values import describe_first_row
from shoal.table import Column

SPARSE_ZIP3 = (
    *("036", "059", "063", "102", "203", "556", "692", "790", "821"),
    *("823", "830", "831", "878", "879", "884", "890", "893"),
)
"""Three-digit ZIP code areas of 20,000 people or fewer in the 2000 Census. These are the 17 areas listed by the U.S.
Department of Health and Human Services in its "Guidance Regarding Methods for De-identification of Protected Health
Information" of 26 November 2012. The rule (45 CFR 164.514(b)(2)(i)(B)) requires current Census data: pass your own list
if a newer one applies."""


@dataclass(frozen=True)
class Prefix(ValueCoarsening):
    """Coarsen codes to their first characters; shorter codes are kept.

    Parameters
    ----------
    n : int
        Number of characters to keep.
    digits : int, optional
        Number of digits of a code, for columns of numbers that have lost their leading zeros. The zeros are restored
        first.

    Examples
    --------
    >>> import polars as pl
    >>> Prefix(3).apply((pl.Series("zip", ["02139", "10001"]),))[0].to_list()
    ['021', '100']
    >>> Prefix(3, digits=5).apply((pl.Series("zip", [2139, 10001]),))[0].to_list()
    ['021', '100']
    """

    takes_text: ClassVar[bool] = True

    n: int
    """Number of characters to keep."""
    digits: int | None = field(default=None, kw_only=True)
    """Number of digits of a code."""

    def __post_init__(self) -> None:
        validate(
            "Prefix",
            {"n": self.n, "digits": self.digits},
            {"n": Integer(low=1), "digits": Optional(Integer(low=1))},
        )

    def _coarsen_values(self, column: Column) -> pl.Series:
        return codes_as_text("Prefix", column, self.digits).str.slice(0, self.n)

    def to_dict(self) -> dict[str, Any]:
        """Serialize the coarsening as in a certificate."""
        return {"coarsening": "prefix", "n": self.n, **({} if self.digits is None else {"digits": self.digits})}


def codes_as_text(owner: str, column: Column, digits: int | None) -> pl.Series:
    """Return the distinct codes of a column as text, without the missing value.

    Raises
    ------
    DataError
        If the column does not contain codes, or if it contains numbers of different lengths, which may have lost
        leading zeros.
    """
    values = column.dictionary.drop_nulls()
    if values.dtype in (pl.String, pl.Categorical, pl.Enum):
        text = values.cast(pl.String)
    elif values.dtype.is_integer() and not (values < 0).any():
        text = values.cast(pl.String)
        # Numbers of one length cannot have lost leading zeros unnoticed.
        if digits is None and text.str.len_chars().n_unique() > 1:
            raise DataError(
                f"{owner} needs codes as text: these are numbers of different lengths, so leading zeros may "
                "be lost. Read the column as text, or state the number of digits of a code (digits=5)."
            )
    else:
        raise DataError(f"{owner} needs codes: text, or whole numbers that are not negative.")
    # Leading zeros are restored last.
    return text if digits is None else text.str.zfill(digits)


@dataclass(frozen=True)
class ThreeDigitZip(ValueCoarsening):
    """Coarsen U.S. ZIP codes to three digits, or to `000` in sparsely populated areas (HIPAA Safe Harbor).

    Codes have five digits, or nine (`02139-4307`). Shorter codes are an error, because they may be codes of another
    country or have lost their leading zeros. In the latter case, pass `digits=5`.

    Parameters
    ----------
    sparse : sequence of str
        Three-digit areas of 20,000 people or fewer; see `SPARSE_ZIP3` for the source of the default.
    digits : {5, 9}, optional
        Number of digits of a code, for columns of numbers that have lost their leading zeros. The zeros are restored
        first.

    Examples
    --------
    >>> import polars as pl
    >>> ThreeDigitZip().apply((pl.Series("zip", ["02139", "82190-0010"]),))[0].to_list()
    ['021', '000']
    >>> ThreeDigitZip(digits=5).apply((pl.Series("zip", [2139, 10001]),))[0].to_list()
    ['021', '100']
    """

    takes_text: ClassVar[bool] = True

    sparse: tuple[str, ...] = SPARSE_ZIP3
    """Three-digit areas that are replaced by `000`."""
    digits: int | None = field(default=None, kw_only=True)
    """Number of digits of a code."""

    def __post_init__(self) -> None:
        sparse: object = self.sparse
        # A single text is a common mistake for a list of areas.
        listed = () if isinstance(sparse, str) or not isinstance(sparse, Iterable) else tuple(sparse)
        wrong = [area for area in listed if not (isinstance(area, str) and len(area) == 3 and area.isdecimal())]
        if wrong or (not listed and sparse != ()):
            raise ParameterError(Subject("ThreeDigitZip", "sparse"), " must list areas of three digits each.")
        object.__setattr__(self, "sparse", tuple(sorted(listed)))
        if self.digits not in (None, 5, 9):
            raise ParameterError.refusing("ThreeDigitZip", "digits", "None, 5 or 9", got=format_value(self.digits))

    def _coarsen_values(self, column: Column) -> pl.Series:
        codes = column.dictionary.drop_nulls()
        text = codes.cast(pl.String) if codes.dtype.is_integer() else codes_as_text("ThreeDigitZip", column, None)
        text = text if self.digits is None else text.str.zfill(self.digits)
        # Check the format before cutting, so that foreign codes are not truncated silently.
        wrong = (~text.str.contains(r"^[0-9]{5}(-?[0-9]{4})?$")).to_numpy()
        if wrong.any():
            wrong = np.append(wrong, [False] * column.has_missing)
            raise DataError(
                "ThreeDigitZip needs ZIP codes of five or nine digits. There is something else in "
                f"{describe_first_row(column, wrong)}. If leading zeros are lost, read the column as text, "
                "or state the number of digits of a code (digits=5)."
            )
        # Sparse areas are replaced after cutting.
        prefix = text.str.slice(0, 3)
        return prefix.set(prefix.is_in(list(self.sparse)), "000")

    def to_dict(self) -> dict[str, Any]:
        """Serialize the coarsening as in a certificate."""
        digits = {} if self.digits is None else {"digits": self.digits}
        return {"coarsening": "three-digit-zip", "sparse": list(self.sparse), **digits}
