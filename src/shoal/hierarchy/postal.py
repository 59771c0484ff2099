"""Coarsenings of codes: prefixes, and three-digit ZIP codes as the Safe Harbor rule wants them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from shoal._core.validation import Integer, Optional, spoken, validate
from shoal._messages import Subject
from shoal.errors import DataError, ParameterError
from shoal.hierarchy.coarsening import Coarsening
from shoal.hierarchy.distinct_values import by_code, encoded, first_row

if TYPE_CHECKING:
    from shoal.table import Column

__all__ = ["SPARSE_ZIP3", "Prefix", "ThreeDigitZip", "codes_as_text"]

SPARSE_ZIP3 = (
    *("036", "059", "063", "102", "203", "556", "692", "790", "821"),
    *("823", "830", "831", "878", "879", "884", "890", "893"),
)
"""Three-digit ZIP code areas of 20,000 people or fewer in the 2000 Census: the 17 that the U.S. Department of Health
and Human Services lists in its "Guidance Regarding Methods for De-identification of Protected Health Information" of
26 November 2012. The rule (45 CFR 164.514(b)(2)(i)(B)) asks for current data of the Census: name your own list where a
newer one applies."""


@dataclass(frozen=True)
class Prefix(Coarsening):
    """Codes keep their first characters; shorter ones stay as they are.

    Parameters
    ----------
    n : int
        How many characters stay.
    digits : int, optional
        How many digits a code has, for columns of numbers that have lost their leading zeros: they get them back
        before.

    Examples
    --------
    >>> import polars as pl
    >>> Prefix(3).apply((pl.Series("zip", ["02139", "10001"]),))[0].to_list()
    ['021', '100']
    >>> Prefix(3, digits=5).apply((pl.Series("zip", [2139, 10001]),))[0].to_list()
    ['021', '100']
    """

    self_evident: ClassVar[bool] = True
    streams: ClassVar[bool] = True
    """Whether a table that is read in pieces can be coarsened so: only values matter, not how many rows have them."""
    takes_text: ClassVar[bool] = True

    n: int
    """How many characters stay."""
    digits: int | None = field(default=None, kw_only=True)
    """How many digits a code has."""

    def __post_init__(self) -> None:
        validate(
            "Prefix",
            {"n": self.n, "digits": self.digits},
            {"n": Integer(low=1), "digits": Optional(Integer(low=1))},
        )

    def apply(self, columns: tuple[pl.Series, ...]) -> tuple[pl.Series, ...]:
        """Return the column with the prefix of each code; see `Coarsening.apply`."""
        (series,) = columns
        column = encoded(series)
        if column is None:
            return columns
        text = codes_as_text("Prefix", column, self.digits)
        return (by_code(column, text.str.slice(0, self.n), series.name),)

    def to_dict(self) -> dict[str, Any]:
        """Return the coarsening as it appears in a certificate."""
        return {"coarsening": "prefix", "n": self.n, **({} if self.digits is None else {"digits": self.digits})}


def codes_as_text(owner: str, column: Column, digits: int | None) -> pl.Series:
    """Return the codes of a column as text, without the missing one.

    Raises
    ------
    DataError
        Where the column holds no codes, or numbers of different lengths whose leading zeros may be gone.
    """
    values = column.dictionary.drop_nulls()
    if values.dtype in (pl.String, pl.Categorical, pl.Enum):
        text = values.cast(pl.String)
    elif values.dtype.is_integer() and not (values < 0).any():
        text = values.cast(pl.String)
        if digits is None and text.str.len_chars().n_unique() > 1:
            raise DataError(
                f"{owner} needs codes as text: these are numbers of different lengths, so leading zeros may be gone. "
                "Read the column as text, or say how many digits a code has (digits=5)."
            )
    else:
        raise DataError(f"{owner} needs codes: text, or whole numbers that are not negative.")
    return text if digits is None else text.str.zfill(digits)


@dataclass(frozen=True)
class ThreeDigitZip(Coarsening):
    """U.S. ZIP codes keep three digits, and none (`000`) where few people live: the Safe Harbor rule of HIPAA.

    Codes have five digits, or nine (`02139-4307`). Shorter ones are an error: they may be codes of another country, or
    have lost their leading zeros; say `digits=5` where they have.

    Parameters
    ----------
    sparse : sequence of str
        The three-digit areas of 20,000 people or fewer; `SPARSE_ZIP3` says where the default comes from.
    digits : {5, 9}, optional
        How many digits a code has, for columns of numbers that have lost their leading zeros: they get them back
        before.

    Examples
    --------
    >>> import polars as pl
    >>> ThreeDigitZip().apply((pl.Series("zip", ["02139", "82190-0010"]),))[0].to_list()
    ['021', '000']
    >>> ThreeDigitZip(digits=5).apply((pl.Series("zip", [2139, 10001]),))[0].to_list()
    ['021', '100']
    """

    self_evident: ClassVar[bool] = True
    streams: ClassVar[bool] = True
    """Whether a table that is read in pieces can be coarsened so: only values matter, not how many rows have them."""
    takes_text: ClassVar[bool] = True

    sparse: tuple[str, ...] = SPARSE_ZIP3
    """The three-digit areas that are not told."""
    digits: int | None = field(default=None, kw_only=True)
    """How many digits a code has."""

    def __post_init__(self) -> None:
        sparse: object = self.sparse
        listed = () if isinstance(sparse, str) or not isinstance(sparse, Iterable) else tuple(sparse)
        wrong = [area for area in listed if not (isinstance(area, str) and len(area) == 3 and area.isdecimal())]
        if wrong or (not listed and sparse != ()):
            raise ParameterError(Subject("ThreeDigitZip", "sparse"), " must list areas of three digits each.")
        object.__setattr__(self, "sparse", tuple(sorted(listed)))
        if self.digits not in (None, 5, 9):
            raise ParameterError.refusing("ThreeDigitZip", "digits", "None, 5 or 9", got=spoken(self.digits))

    def apply(self, columns: tuple[pl.Series, ...]) -> tuple[pl.Series, ...]:
        """Return the column with three digits of each code; see `Coarsening.apply`."""
        (series,) = columns
        column = encoded(series)
        if column is None:
            return columns
        codes = column.dictionary.drop_nulls()
        text = codes.cast(pl.String) if codes.dtype.is_integer() else codes_as_text("ThreeDigitZip", column, None)
        text = text if self.digits is None else text.str.zfill(self.digits)
        wrong = (~text.str.contains(r"^[0-9]{5}(-?[0-9]{4})?$")).to_numpy()
        if wrong.any():
            if column.has_missing:
                wrong = pl.Series(wrong).extend_constant(value=False, n=1).to_numpy()
            raise DataError(
                "ThreeDigitZip needs ZIP codes of five or nine digits. "
                f"There is something else in {first_row(column, wrong)}. Where leading zeros are gone, read the column "
                "as text, or say how many digits a code has (digits=5)."
            )
        prefix = text.str.slice(0, 3)
        return (by_code(column, prefix.set(prefix.is_in(list(self.sparse)), "000"), series.name),)

    def to_dict(self) -> dict[str, Any]:
        """Return the coarsening as it appears in a certificate."""
        digits = {} if self.digits is None else {"digits": self.digits}
        return {"coarsening": "three-digit-zip", "sparse": list(self.sparse), **digits}
