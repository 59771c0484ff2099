"""Coarsenings of numbers: bins, rounding, and codes for the top and the bottom.

All arithmetic is exact: a float counts as the decimal number that it is printed as, so 0.3 is in the bin that starts
at 0.3.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shoal._core.validation import Finite, Integer, NotBlank, Optional, RationalIn, exact_fraction, validate
from shoal._messages import Subject
from shoal.errors import DataError, ParameterError
from shoal.hierarchy.coarsening import Coarsened, Coarsening
from shoal.hierarchy.distinct_values import (
    by_code,
    encoded,
    in_order,
    multiples,
    number_text,
    numbers_of,
    reads_like_a_number,
)
from shoal.table.text import dictionary_text

if TYPE_CHECKING:
    from numbers import Real

    import polars as pl

    from shoal.table import Column

__all__ = ["Bins", "BottomCode", "Round", "TopCode", "bin_names", "checked_cuts", "step_cuts"]

_POSITIVE = RationalIn(low=Fraction(0), low_included=False)


def _bins_of_width(numbers: Sequence[Fraction], width: Fraction, start: Fraction) -> list[str]:
    """Return the name of the bin of each number; they ascend, so that arithmetic is needed for each bin only."""
    labels: list[str] = []
    while len(labels) < len(numbers):
        at = len(labels)
        low = start + (numbers[at] - start) // width * width
        step = 1
        while at + step < len(numbers) and numbers[at + step] < low + width:
            step *= 2
        end = bisect_left(numbers, low + width, at + step // 2, min(at + step, len(numbers)))
        labels += [f"[{number_text(low)}, {number_text(low + width)})"] * (end - at)
    return labels


@dataclass(frozen=True)
class Bins(Coarsening):
    """Numbers become the half-open intervals that they lie in, `[20, 30)`; the intervals are ordered.

    Name one of the three: a width, cuts, or how many bins of about equally many records.

    Parameters
    ----------
    width : number, optional
        Bins of this width, of which one starts at `start`. They depend on nothing in the table.
    cuts : sequence of number, optional
        Where a bin ends and the next one starts, ascending. Numbers below the first cut read `<18`, those from the
        last one on `>=65`.
    quantiles : int, optional
        Bins of about equally many records; equal values share a bin. The cuts are values of records.
    start : number
        Where bins of a width start.

    Examples
    --------
    >>> import polars as pl
    >>> ages = pl.Series("age", [17, 18, 29, 30, 70])
    >>> Bins(10).apply((ages,))[0].to_list()
    ['[10, 20)', '[10, 20)', '[20, 30)', '[30, 40)', '[70, 80)']
    >>> Bins(cuts=[18, 65]).apply((ages,))[0].to_list()
    ['<18', '[18, 65)', '[18, 65)', '[18, 65)', '>=65']
    >>> Bins(quantiles=2).apply((ages,))[0].to_list()
    ['<30', '<30', '<30', '>=30', '>=30']
    """

    self_evident: ClassVar[bool] = True

    width: Real | float | None = None
    """The width of each bin."""
    cuts: Sequence[Real | float] | None = field(default=None, kw_only=True)
    """Where bins meet."""
    quantiles: int | None = field(default=None, kw_only=True)
    """How many bins of about equally many records."""
    start: Real | float = field(default=0, kw_only=True)
    """Where one of the bins of a width starts."""

    @property
    def streams(self) -> bool:
        """Whether it looks at values only: not at records, of which each bin shall have as many."""
        return self.quantiles is None

    def __post_init__(self) -> None:
        named = [name for name in ("width", "cuts", "quantiles") if getattr(self, name) is not None]
        if len(named) != 1:
            raise ParameterError(f"Bins takes one of width, cuts and quantiles. Got {' and '.join(named) or 'none'}.")
        validate(
            "Bins",
            {"width": self.width, "quantiles": self.quantiles, "start": self.start},
            {"width": Optional(_POSITIVE), "quantiles": Optional(Integer(low=1)), "start": Finite()},
        )
        if self.cuts is not None:
            object.__setattr__(self, "cuts", checked_cuts("Bins", self.cuts))

    def apply(self, columns: tuple[pl.Series, ...]) -> tuple[pl.Series, ...]:
        """Return the column with the bin of each number; see `Coarsening.apply`."""
        return self.applied(columns).columns

    def applied(self, columns: tuple[pl.Series, ...]) -> Coarsened:
        """Return the coarser column, whose values are intervals; see `Coarsening.applied`."""
        (series,) = columns
        column = encoded(series)
        if column is None:
            return Coarsened(columns=columns)
        numbers = numbers_of("Bins", column)
        if self.width is not None:
            width, start = exact_fraction(self.width), exact_fraction(self.start)
            labels = _bins_of_width(numbers, width, start)
        else:
            cuts = self._cuts(column, numbers)
            ends = [bisect_left(numbers, cut) for cut in cuts]
            labels = [
                name
                for name, (begin, end) in zip(bin_names(cuts), pairwise([0, *ends, len(numbers)]), strict=True)
                for _ in range(begin, end)
            ]
        return Coarsened(columns=(in_order(column, labels, series.name),), of_intervals=True)

    def _cuts(self, column: Column, numbers: Sequence[Fraction]) -> list[Fraction]:
        if self.cuts is not None:
            return [exact_fraction(cut) for cut in self.cuts]
        return step_cuts(column, numbers, self.quantiles or 1)

    def to_dict(self) -> dict[str, Any]:
        """Return the coarsening as it appears in a certificate."""
        asked: dict[str, Any]
        if self.width is not None:
            asked = {"width": plain_number(self.width), "start": plain_number(self.start)}
        elif self.cuts is not None:
            asked = {"cuts": [plain_number(cut) for cut in self.cuts]}
        else:
            asked = {"quantiles": self.quantiles}
        return {"coarsening": "bins", **asked}


def step_cuts(column: Column, numbers: Sequence[Fraction], bins: int) -> list[Fraction]:
    """Return the smallest value of each bin but the first, where bins hold about equally many rows.

    A value is in the bin that its smallest row falls into, so bins that would start within a run of equal values
    are not there.
    """
    counts = np.bincount(column.codes, minlength=column.size)[: len(numbers)].astype(np.int64)
    before = np.cumsum(counts) - counts
    bin_of = before * bins // int(counts.sum())
    return [numbers[code] for code in (np.flatnonzero(np.diff(bin_of)) + 1).tolist()]


def checked_cuts(owner: str, cuts: object) -> tuple[Real | float, ...]:
    """Return cuts as they were given, if they are numbers that ascend.

    Raises
    ------
    ParameterError
        Where they are not.
    """
    if isinstance(cuts, str) or not isinstance(cuts, Iterable):
        raise ParameterError.refusing(owner, "cuts", "numbers, ascending", got=type(cuts).__name__)
    listed = tuple(cuts)
    if not listed or not all(Finite().accepts(cut) for cut in listed):
        raise ParameterError.refusing(owner, "cuts", "one finite number or more")
    for low, high in pairwise(listed):
        if exact_fraction(low) >= exact_fraction(high):
            raise ParameterError(Subject(owner, "cuts"), f" must ascend. Got {high} after {low}.")
    return listed


def bin_names(cuts: Sequence[Fraction]) -> list[str]:
    """Return how each bin reads, from below the first cut to above the last."""
    texts = [number_text(cut) for cut in cuts]
    if not texts:
        return ["any"]
    return [f"<{texts[0]}", *(f"[{low}, {high})" for low, high in pairwise(texts)), f">={texts[-1]}"]


@dataclass(frozen=True)
class Round(Coarsening):
    """Numbers become the nearest multiple of one; halfway, the multiple that is even.

    Parameters
    ----------
    to : number
        What the multiples are of.

    Examples
    --------
    >>> import polars as pl
    >>> Round(5).apply((pl.Series("weight", [71, 73, 77, 78]),))[0].to_list()
    [70, 75, 75, 80]
    """

    self_evident: ClassVar[bool] = True
    streams: ClassVar[bool] = True
    """Whether a table that is read in pieces can be coarsened so: only values matter, not how many rows have them."""

    to: Real | float
    """What the multiples are of."""

    def __post_init__(self) -> None:
        validate("Round", {"to": self.to}, {"to": _POSITIVE})

    def apply(self, columns: tuple[pl.Series, ...]) -> tuple[pl.Series, ...]:
        """Return the column with its numbers rounded; see `Coarsening.apply`."""
        (series,) = columns
        column = encoded(series)
        if column is None:
            return columns
        step = exact_fraction(self.to)
        rounded = [round(number / step) * step for number in numbers_of("Round", column)]
        return (by_code(column, multiples(rounded, step), series.name),)

    def to_dict(self) -> dict[str, Any]:
        """Return the coarsening as it appears in a certificate."""
        return {"coarsening": "round", "to": plain_number(self.to)}


@dataclass(frozen=True)
class _EndCode(Coarsening):
    """Numbers beyond a limit, and the limit itself, become one code; the others stay as they are, in their order."""

    self_evident: ClassVar[bool] = True
    streams: ClassVar[bool] = True
    """Whether a table that is read in pieces can be coarsened so: only values matter, not how many rows have them."""

    at: Real | float
    """The limit."""
    label: str | None = field(default=None, kw_only=True)
    """How the code reads."""

    def __post_init__(self) -> None:
        owner = type(self).__name__
        validate(owner, {"at": self.at, "label": self.label}, {"at": Finite(), "label": Optional(NotBlank())})

    @abstractmethod
    def _code(self, limit: str) -> str:
        """Return how the code reads by default."""

    @abstractmethod
    def _beyond(self, number: Fraction, limit: Fraction) -> bool:
        """Return whether a number is coded."""

    def apply(self, columns: tuple[pl.Series, ...]) -> tuple[pl.Series, ...]:
        """Return the column with its end coded; see `Coarsening.apply`."""
        (series,) = columns
        column = encoded(series)
        if column is None:
            return columns
        limit = exact_fraction(self.at)
        beyond = [self._beyond(number, limit) for number in numbers_of(type(self).__name__, column)]
        if not any(beyond):
            return columns
        code = self.label or self._code(number_text(limit))
        texts = dictionary_text(column.dictionary.drop_nulls()).to_list()
        kept = [text for text, coded in zip(texts, beyond, strict=True) if not coded]
        if code in kept or reads_like_a_number(code):
            raise DataError(f"{type(self).__name__} would write a code that reads like a value. Choose another label.")
        labels = [code if coded else text for text, coded in zip(texts, beyond, strict=True)]
        return (in_order(column, labels, series.name),)

    def _asked(self) -> dict[str, Any]:
        return {"at": plain_number(self.at), **({} if self.label is None else {"label": self.label})}


@dataclass(frozen=True)
class TopCode(_EndCode):
    """Numbers from a limit on become one code, `90+`; the others stay as they are, in their order.

    Parameters
    ----------
    at : number
        The smallest number that is coded.
    label : str, optional
        How the code reads; the limit with a plus sign by default.

    Examples
    --------
    >>> import polars as pl
    >>> TopCode(90).apply((pl.Series("age", [9, 89, 90, 103]),))[0].to_list()
    ['9', '89', '90+', '90+']
    """

    def _code(self, limit: str) -> str:
        return f"{limit}+"

    def _beyond(self, number: Fraction, limit: Fraction) -> bool:
        return number >= limit

    def to_dict(self) -> dict[str, Any]:
        """Return the coarsening as it appears in a certificate."""
        return {"coarsening": "top-code", **self._asked()}


@dataclass(frozen=True)
class BottomCode(_EndCode):
    """Numbers up to a limit become one code, `<=18`; the others stay as they are, in their order.

    Parameters
    ----------
    at : number
        The largest number that is coded.
    label : str, optional
        How the code reads; the limit behind `<=` by default.

    Examples
    --------
    >>> import polars as pl
    >>> BottomCode(18).apply((pl.Series("age", [9, 18, 19]),))[0].to_list()
    ['<=18', '<=18', '19']
    """

    def _code(self, limit: str) -> str:
        return f"<={limit}"

    def _beyond(self, number: Fraction, limit: Fraction) -> bool:
        return number <= limit

    def to_dict(self) -> dict[str, Any]:
        """Return the coarsening as it appears in a certificate."""
        return {"coarsening": "bottom-code", **self._asked()}


def plain_number(number: Real | float) -> int | float | str:
    """Return a number as JSON has it; as text, 1/3 for example, where no decimal says it."""
    exact = exact_fraction(number)
    if exact.denominator == 1:
        return int(exact)
    return float(exact) if exact_fraction(float(exact)) == exact else str(exact)
