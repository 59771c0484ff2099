"""Coarsenings of numbers: bins, rounding, and top and bottom coding.

All arithmetic is exact: a float denotes its printed decimal number, so that 0.3 belongs to the bin that starts at 0.3.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import pairwise
from numbers import Real
from operator import ge, le
from typing import Any, ClassVar

import numpy as np
import polars as pl

from shoal._core.validation import Finite, Integer, NotBlank, Optional, RationalIn, exact_fraction, validate
from shoal._messages import Subject
from shoal.errors import DataError, ParameterError
from shoal.hierarchy.coarsening import ValueCoarsening
from shoal.hierarchy.distinct_values import (
    looks_like_number,
    multiples,
    number_text,
    require_numbers,
)
from shoal.table import Column
from shoal.table.text import dictionary_text

_POSITIVE = RationalIn(low=Fraction(0), low_included=False)


def _bins_of_width(numbers: Sequence[Fraction], width: Fraction, start: Fraction) -> list[str]:
    """Name the bin of each number, given in ascending order; exact arithmetic is needed once per bin only."""
    labels: list[str] = []
    while len(labels) < len(numbers):
        at = len(labels)
        low = start + (numbers[at] - start) // width * width
        # Find the end of the bin by galloping, then by bisection.
        step = 1
        while at + step < len(numbers) and numbers[at + step] < low + width:
            step *= 2
        end = bisect_left(numbers, low + width, at + step // 2, min(at + step, len(numbers)))
        labels += [f"[{number_text(low)}, {number_text(low + width)})"] * (end - at)
    return labels


@dataclass(frozen=True)
class Bins(ValueCoarsening):
    """Coarsen numbers to half-open intervals such as `[20, 30)`, which are ordered.

    Exactly one of the width, the cuts and the number of quantiles is required.

    Parameters
    ----------
    width : number, optional
        Width of the bins, one of which starts at `start`. These bins do not depend on the table.
    cuts : sequence of number, optional
        Ascending boundaries of the bins. Numbers below the first cut become `<18`, those from the last cut on `>=65`.
    quantiles : int, optional
        Number of bins with about equally many records; equal values share a bin. A cut is the roundest number between
        two records.
    start : number
        A boundary of bins of a width.

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

    of_intervals: ClassVar[bool] = True

    width: Real | float | None = None
    """Width of each bin."""
    cuts: Sequence[Real | float] | None = field(default=None, kw_only=True)
    """Boundaries of the bins."""
    quantiles: int | None = field(default=None, kw_only=True)
    """Number of bins with about equally many records."""
    start: Real | float = field(default=0, kw_only=True)
    """A boundary of bins of a width."""

    @property
    def streams(self) -> bool:
        """Whether the result depends on values but not on their frequencies, which quantiles do."""
        return self.quantiles is None

    def __post_init__(self) -> None:
        # The three ways to define bins exclude each other.
        named = [name for name in ("width", "cuts", "quantiles") if getattr(self, name) is not None]
        if len(named) != 1:
            raise ParameterError(f"Bins takes one of width, cuts and quantiles. Got {' and '.join(named) or 'none'}.")
        validate(
            "Bins",
            {"width": self.width, "quantiles": self.quantiles, "start": self.start},
            {"width": Optional(_POSITIVE), "quantiles": Optional(Integer(low=1)), "start": Finite()},
        )
        if self.cuts is not None:
            object.__setattr__(self, "cuts", validate_cuts("Bins", self.cuts))

    def _coarsen_values(self, column: Column) -> list[str]:
        numbers = require_numbers("Bins", column)
        if self.width is not None:
            return _bins_of_width(numbers, exact_fraction(self.width), exact_fraction(self.start))
        if self.cuts is not None:
            return labels_of_bins(numbers, [exact_fraction(cut) for cut in self.cuts])
        return labels_of_bins(numbers, quantile_cuts(column, numbers, self.quantiles or 1))

    def to_dict(self) -> dict[str, Any]:
        """Serialize the coarsening as in a certificate."""
        parameters: dict[str, Any]
        if self.width is not None:
            parameters = {"width": plain_number(self.width), "start": plain_number(self.start)}
        elif self.cuts is not None:
            parameters = {"cuts": [plain_number(cut) for cut in self.cuts]}
        else:
            parameters = {"quantiles": self.quantiles}
        return {"coarsening": "bins", **parameters}


def quantile_cuts(column: Column, numbers: Sequence[Fraction], bins: int) -> list[Fraction]:
    """Compute cuts for bins with about equally many rows.

    Each cut is the roundest number above one bin and at most the smallest value of the next bin, so that cuts rarely
    equal exact values of records. A number belongs to the bin of its first row, so that bins which would start within a
    run of equal numbers are dropped.
    """
    # The last code belongs to missing values, which are not binned.
    counts = np.bincount(column.codes, minlength=column.size)[: len(numbers)].astype(np.int64)
    # Bin of the first row of each number, which several values may spell: 1 and 1.0.
    before = np.cumsum(counts) - counts
    new = [True, *(low != high for low, high in pairwise(numbers))]
    before = np.maximum.accumulate(np.where(new, before, 0))
    bin_of = before * bins // int(counts.sum())
    first = np.flatnonzero(np.diff(bin_of)) + 1
    return [roundest(numbers[code - 1], numbers[code]) for code in first.tolist()]


def roundest(low: Fraction, high: Fraction) -> Fraction:
    """Return the roundest number above `low` and at most `high`: a multiple of the largest possible power of ten.

    Examples
    --------
    >>> [str(roundest(Fraction(low), Fraction(high))) for low, high in [(29, 30), (1187, 1213), (-3, 2)]]
    ['30', '1200', '0']
    """
    power = Fraction(10) ** len(str(int(max(abs(low), abs(high)))))
    while high // power * power <= low:
        power /= 10
    return high // power * power


def validate_cuts(owner: str, cuts: object) -> tuple[Real | float, ...]:
    """Return the cuts as a tuple, if they are ascending numbers.

    Raises
    ------
    ParameterError
        If they are not.
    """
    if isinstance(cuts, str) or not isinstance(cuts, Iterable):
        raise ParameterError.refusing(owner, "cuts", "numbers, ascending", got=type(cuts).__name__)
    listed = tuple(cuts)
    if not listed or not all(Finite().accepts(cut) for cut in listed):
        raise ParameterError.refusing(owner, "cuts", "one finite number or more")
    # Exact comparison, as for the bins themselves.
    for low, high in pairwise(listed):
        if exact_fraction(low) >= exact_fraction(high):
            raise ParameterError(Subject(owner, "cuts"), f" must ascend. Got {high} after {low}.")
    return listed


def labels_of_bins(numbers: Sequence[Fraction], cuts: Sequence[Fraction]) -> list[str]:
    """Name the bin of each of some ascending numbers; a cut belongs to the bin above it."""
    # Numbers are sorted, so the cuts split them into consecutive slices.
    ends = [0, *(bisect_left(numbers, cut) for cut in cuts), len(numbers)]
    texts = [number_text(cut) for cut in cuts]
    inner = [f"[{low}, {high})" for low, high in pairwise(texts)]
    names = [f"<{texts[0]}", *inner, f">={texts[-1]}"] if texts else ["any"]
    return [name for name, (begin, end) in zip(names, pairwise(ends), strict=True) for _ in range(begin, end)]


@dataclass(frozen=True)
class Round(ValueCoarsening):
    """Round numbers to the nearest multiple of a step; ties go to the even multiple.

    Parameters
    ----------
    to : number
        The step.

    Examples
    --------
    >>> import polars as pl
    >>> Round(5).apply((pl.Series("weight", [71, 73, 77, 78]),))[0].to_list()
    [70, 75, 75, 80]
    """

    to: Real | float
    """The step."""

    def __post_init__(self) -> None:
        validate("Round", {"to": self.to}, {"to": _POSITIVE})

    def _coarsen_values(self, column: Column) -> pl.Series:
        step = exact_fraction(self.to)
        # Python rounds exact ties to even.
        rounded = [round(number / step) * step for number in require_numbers("Round", column)]
        return multiples(rounded, step)

    def to_dict(self) -> dict[str, Any]:
        """Serialize the coarsening as in a certificate."""
        return {"coarsening": "round", "to": plain_number(self.to)}


@dataclass(frozen=True)
class _EndCode(ValueCoarsening):
    """Replace numbers from a limit on by one code; other numbers are kept, in their order."""

    at: Real | float
    """The limit."""
    label: str | None = field(default=None, kw_only=True)
    """Text of the code."""

    def __post_init__(self) -> None:
        owner = type(self).__name__
        validate(owner, {"at": self.at, "label": self.label}, {"at": Finite(), "label": Optional(NotBlank())})

    @abstractmethod
    def _sides(self) -> list[tuple[Callable[[Fraction], bool], str]]:
        """Return the tests by which numbers are coded, each with its code."""

    def _coarsen_values(self, column: Column) -> list[str] | None:
        sides, numbers = self._sides(), require_numbers(type(self).__name__, column)
        codes = [next((code for is_beyond, code in sides if is_beyond(number)), None) for number in numbers]
        # Without a coded value, the column keeps its type.
        if not any(codes):
            return None
        texts = dictionary_text(column.dictionary.drop_nulls()).to_list()
        # A code that looks like a value would mislead readers.
        kept = {text for text, code in zip(texts, codes, strict=True) if code is None}
        if any(code in kept or looks_like_number(code) for code in codes if code is not None):
            raise DataError(f"{type(self).__name__} would write a code that reads like a value. Choose another label.")
        return [text if code is None else code for text, code in zip(texts, codes, strict=True)]

    def _parameters(self) -> dict[str, Any]:
        return {"at": plain_number(self.at), **({} if self.label is None else {"label": self.label})}


@dataclass(frozen=True)
class TopCode(_EndCode):
    """Replace numbers from a limit upwards by one code, such as `90+`; other numbers are kept.

    Parameters
    ----------
    at : number
        Smallest number that is coded.
    label : str, optional
        Text of the code; the limit with a plus sign by default.
    bottom : number, optional
        Largest number that is coded at the other end, as by `BottomCode`; none by default.

    Examples
    --------
    >>> import polars as pl
    >>> TopCode(90).apply((pl.Series("age", [9, 89, 90, 103]),))[0].to_list()
    ['9', '89', '90+', '90+']
    >>> TopCode(90, bottom=18).apply((pl.Series("age", [9, 18, 19, 103]),))[0].to_list()
    ['<=18', '<=18', '19', '90+']
    """

    bottom: Real | float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        validate("TopCode", {"bottom": self.bottom}, {"bottom": Optional(Finite())})
        if self.bottom is not None and exact_fraction(self.bottom) >= exact_fraction(self.at):
            raise ParameterError.refusing("TopCode", "bottom", "a number below 'at'", got=str(self.bottom))

    def _sides(self) -> list[tuple[Callable[[Fraction], bool], str]]:
        limit = exact_fraction(self.at)
        below = [] if self.bottom is None else BottomCode(self.bottom)._sides()
        return [(partial(le, limit), self.label or f"{number_text(limit)}+"), *below]

    def to_dict(self) -> dict[str, Any]:
        """Serialize the coarsening as in a certificate."""
        below = {} if self.bottom is None else {"bottom": plain_number(self.bottom)}
        return {"coarsening": "top-code", **self._parameters(), **below}


@dataclass(frozen=True)
class BottomCode(_EndCode):
    """Replace numbers up to a limit by one code, such as `<=18`; other numbers are kept.

    Parameters
    ----------
    at : number
        Largest number that is coded.
    label : str, optional
        Text of the code; the limit preceded by `<=` by default.

    Examples
    --------
    >>> import polars as pl
    >>> BottomCode(18).apply((pl.Series("age", [9, 18, 19]),))[0].to_list()
    ['<=18', '<=18', '19']
    """

    def _sides(self) -> list[tuple[Callable[[Fraction], bool], str]]:
        limit = exact_fraction(self.at)
        return [(partial(ge, limit), self.label or f"<={number_text(limit)}")]

    def to_dict(self) -> dict[str, Any]:
        """Serialize the coarsening as in a certificate."""
        return {"coarsening": "bottom-code", **self._parameters()}


def plain_number(number: Real | float) -> int | float | str:
    """Convert a number for JSON; to text such as 1/3 if no decimal is exact."""
    # JSON floats are decimals; other fractions are written as text.
    exact = exact_fraction(number)
    if exact.denominator == 1:
        return int(exact)
    return float(exact) if exact_fraction(float(exact)) == exact else str(exact)
