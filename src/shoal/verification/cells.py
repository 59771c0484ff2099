"""What the cells of a published table stand for: plain values, stars, intervals and sets, whoever wrote them.

A cell is read as one of these:

* `*` (or another star symbol): every value;
* `[21, 25]`: the values from 21 to 25. `(21, 25]` and `]21, 25]` leave out 21, `[21, 25)` and `[21, 25[` leave out 25;
* `{a, b}`: one of the values listed. A value with a comma, a quote, a bracket or a brace stands in double quotes;
* `476**`: every value of the same length that has these characters in their places;
* anything else, a missing cell among them: this value alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

__all__ = ["Axis", "Cell", "Regions", "cell_text", "read_cell"]

_ATOM = r'"((?:[^"\\]|\\.)*)"|([^,"\[\]{}()]*)'
_INTERVAL = re.compile(rf"([\[\](])\s*(?:{_ATOM})\s*,\s*(?:{_ATOM})\s*([\])\[])")
_MEMBER = re.compile(rf"\s*(?:{_ATOM})\s*(?:,|$)")
_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What one published cell stands for."""

    kind: str
    """"value", "interval", "set", "mask" or "star"."""
    atoms: tuple[str | None, ...] = ()
    """The value, the two ends, the members, or the mask; None for a missing value."""
    low_included: bool = True
    """Whether the lower end of an interval belongs to it."""
    high_included: bool = True
    """Whether the upper end does."""


def read_cell(text: str | None, star: str = "*") -> Cell:
    """Read a cell.

    Examples
    --------
    >>> read_cell("[21, 25)").atoms
    ('21', '25')
    >>> read_cell('{flu, "cough, dry"}').atoms
    ('flu', 'cough, dry')
    >>> read_cell("476**").kind
    'mask'
    """
    if text is None:
        return Cell(kind="value", atoms=(None,))
    if text == star:
        return Cell(kind="star")
    found = _INTERVAL.fullmatch(text)
    if found is not None:
        opening, quoted_low, low, quoted_high, high, closing = found.groups()
        return Cell(
            kind="interval",
            atoms=(_atom(quoted_low, low), _atom(quoted_high, high)),
            low_included=opening == "[",
            high_included=closing == "]",
        )
    if len(text) > 2 and text[0] == "{" and text[-1] == "}":
        members = _members(text[1:-1])
        if members is not None:
            return Cell(kind="set", atoms=members)
    if star in text and star != text and set(text) != {star}:
        return Cell(kind="mask", atoms=(text,))
    return Cell(kind="star") if set(text) == {star} else Cell(kind="value", atoms=(text,))


def _atom(quoted: str | None, plain: str | None) -> str:
    return re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else (plain or "").strip()


def _members(text: str) -> tuple[str, ...] | None:
    members, at = [], 0
    while at < len(text):
        found = _MEMBER.match(text, at)
        if found is None or found.end() == at:
            return None
        members.append(_atom(*found.groups()))
        at = found.end()
    return tuple(members)


def cell_text(column: pl.Series) -> pl.Series:
    """Return the cells of a column as text, as a release writes values: whole floats like integers, NaN as missing."""
    import polars as pl

    if column.dtype.is_float():
        column = column.fill_nan(None)
        whole = ((column == column.floor()) & (column.abs() < 2**53)).fill_null(value=True)
        return column.cast(pl.Int64).cast(pl.String) if whole.all() else column.cast(pl.String)
    if column.dtype == pl.Boolean:
        return column.replace_strict([False, True], ["False", "True"], default=None, return_dtype=pl.String)
    return column.cast(pl.String)


class Axis:
    """The values of one quasi-identifier in their order: by size where all are numbers, else as text.

    Values that are equal as numbers (`1` and `1.0`) are one. A missing value comes last.

    Examples
    --------
    >>> axis = Axis(["9", "10", "9.0", None])
    >>> axis.rank("10"), axis.rank(None), len(axis)
    (1, 2, 3)
    """

    def __init__(self, atoms: Iterable[str | None]) -> None:
        texts = sorted({atom for atom in atoms if atom is not None})
        numbers = _numbers(texts)
        self.numeric = numbers is not None
        """Whether all values are numbers."""
        keys: Sequence[Any] = texts if numbers is None else numbers
        distinct = sorted(set(keys))
        place = {key: rank for rank, key in enumerate(distinct)}
        self._rank_of = {text: place[key] for text, key in zip(texts, keys, strict=True)}
        self.keys = distinct
        """The distinct values in order: numbers or texts."""

    def __len__(self) -> int:
        return len(self.keys) + 1

    def rank(self, atom: str | None) -> int:
        """Return the place of a value that the axis was made with."""
        return len(self.keys) if atom is None else self._rank_of[atom]

    def ranks(self, column: Sequence[str | None]) -> NDArray[np.int32]:
        """Return the places of some values."""
        return np.array([self.rank(atom) for atom in column], dtype=np.int32)

    @cached_property
    def positions(self) -> list[Decimal] | None:
        """The values on a scale that lengths can be measured on: numbers, days for dates, None for other text."""
        if self.numeric:
            return list(self.keys)
        if self.keys and all(_ISO_DATE.fullmatch(text) for text in self.keys):
            try:
                return [Decimal(date.fromisoformat(text).toordinal()) for text in self.keys]
            except ValueError:
                return None
        return None

    def matching(self, mask: str, star: str) -> list[int]:
        """Return the places of the values that a mask such as `476**` stands for."""
        pattern = re.compile("".join("." if one == star else re.escape(one) for one in mask))
        return sorted({rank for text, rank in self._rank_of.items() if pattern.fullmatch(text)})


def _numbers(texts: Sequence[str]) -> list[Decimal] | None:
    try:
        numbers = [Decimal(text) for text in texts]
    except InvalidOperation:
        return None
    return numbers if all(number.is_finite() for number in numbers) else None


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Regions:
    """The ranks that each of some labels stands for: a range, or some ranks within it."""

    low: NDArray[np.int32]
    """The least rank."""
    high: NDArray[np.int32]
    """The greatest rank; below `low` where the label stands for no value of the axis."""
    starts: NDArray[np.int64]
    """Where the members of each label start; a label without members stands for its whole range."""
    members: NDArray[np.int32]
    """The ranks of the labels that are no ranges, ascending within a label."""

    @classmethod
    def of(cls, cells: Sequence[Cell], axis: Axis, star: str = "*") -> Regions:
        """Place cells on an axis that was made with their atoms."""
        low, high, members = [], [], []
        for cell in cells:
            first, last, listed = _region(cell, axis, star)
            low.append(first)
            high.append(last)
            members.append(listed)
        starts = np.zeros(len(cells) + 1, dtype=np.int64)
        np.cumsum([len(one) for one in members], out=starts[1:])
        return cls(
            low=np.array(low, dtype=np.int32),
            high=np.array(high, dtype=np.int32),
            starts=starts,
            members=np.array([rank for one in members for rank in one], dtype=np.int32),
        )

    def __repr__(self) -> str:
        return f"Regions({len(self.low)})"


def _region(cell: Cell, axis: Axis, star: str) -> tuple[int, int, list[int]]:
    if cell.kind == "star":
        return 0, len(axis) - 1, []
    if cell.kind == "interval":
        low, high = (axis.rank(atom) for atom in cell.atoms)
        return low + (not cell.low_included), high - (not cell.high_included), []
    if cell.kind == "mask":
        ranks = axis.matching(str(cell.atoms[0]), star)
    else:
        ranks = sorted({axis.rank(atom) for atom in cell.atoms})
    if not ranks:
        return 0, -1, []
    contiguous = ranks[-1] - ranks[0] + 1 == len(ranks)
    return ranks[0], ranks[-1], [] if contiguous else ranks
