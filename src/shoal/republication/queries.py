"""Counting with a published table: how many people fulfil some conditions, counterfeits taken into account.

Each group contributes (rows - counterfeits) * (share of its sub-domains that the ranges overlap) * (share of its rows
that fulfil the conditions on sensitive values), as if its people were spread evenly over its sub-domains.

References
----------
.. [1] X. Xiao, Y. Tao: m-Invariance: towards privacy preserving re-publication of dynamic datasets. SIGMOD 2007,
   Section 5.2. https://doi.org/10.1145/1247480.1247556
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import ColumnError, DataError, ParameterError, near_matches
from shoal.republication.questions import Condition, read_question
from shoal.verification.cells import Axis, Cell, cell_text, read_cell

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

__all__ = ["Count", "PublishedGroups"]

_GROUP, _COUNT = "group_id", "count"


@dataclass(frozen=True, kw_only=True)
class Count:
    """The answer to a question."""

    estimate: float
    """The expected number of people, as if those of a group were spread evenly over its sub-domains."""
    at_least: int
    """So many people fulfil the conditions for certain."""
    at_most: int
    """More people cannot."""

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON takes it."""
        return {"count": self.estimate, "at_least": self.at_least, "at_most": self.at_most}


class PublishedGroups:
    """A published table, prepared for questions.

    Parameters
    ----------
    release : polars.DataFrame
        The published table. Its groups are those of a column `group_id`, else rows with equal quasi-identifiers.
    quasi_identifiers : sequence of str
        The columns that were recoded; all others are read as they stand.
    counterfeits : polars.DataFrame, optional
        Columns `group_id` and `count`: how many rows of some groups are counterfeits.
    star : str
        How the release writes a suppressed cell.
    domains : mapping of str to str, optional
        For a quasi-identifier with stars what a star stands for, as a cell such as "[17, 95]" or "{f, m}". By default
        all that the other cells of the column reach.
    """

    def __init__(
        self,
        release: pl.DataFrame,
        *,
        quasi_identifiers: Sequence[str],
        counterfeits: pl.DataFrame | None = None,
        star: str = "*",
        domains: Mapping[str, str] | None = None,
    ) -> None:
        _check(release, quasi_identifiers, counterfeits)
        self._release = release
        self._quasi_identifiers = tuple(quasi_identifiers)
        first, self._group_of = _groups(release, self._quasi_identifiers)
        self._sizes = np.bincount(self._group_of, minlength=len(first))
        self._fakes = _fakes(release, counterfeits, first)
        self._columns = {
            name: _Column(release.get_column(name), first, star, (domains or {}).get(name))
            for name in quasi_identifiers
        }

    def unheard_of(self, question: str | Sequence[Condition]) -> tuple[str, ...]:
        """Return the columns of which a question names a value that is nowhere in the release or a column's domain.

        Nobody can have such a value: it is misspelt more often than it is meant. Ranges are not judged, nor are columns
        of which nothing is known but stars.
        """
        conditions = read_question(question) if isinstance(question, str) else tuple(question)
        return tuple(
            dict.fromkeys(
                condition.column
                for condition in conditions
                if condition.values is not None
                and condition.column in self._release.columns
                and condition.column != _GROUP
                and not all(self._knows(condition.column, value) for value in condition.values)
            )
        )

    def _knows(self, name: str, value: str) -> bool:
        alone = Condition(column=name, values=(value,))
        if name in self._columns:
            return self._columns[name].reaches(alone)
        return bool(_fulfilled(self._release.get_column(name), [alone]).any())

    def count(self, question: str | Sequence[Condition]) -> Count:
        """Return how many people fulfil a question.

        Parameters
        ----------
        question : str
            Such as "age in [30, 50) and disease = flu"; a blank question counts everybody.

        Raises
        ------
        ColumnError
            Where it names a column that is not published.
        ParameterError
            Where it cannot be read.
        """
        conditions = read_question(question) if isinstance(question, str) else tuple(question)
        by_column: dict[str, list[Condition]] = {}
        for condition in conditions:
            if condition.column not in self._release.columns or condition.column == _GROUP:
                known = [name for name in self._release.columns if name != _GROUP]
                raise ColumnError(
                    f"The release has no column '{condition.column}'. {near_matches(condition.column, known)}"
                )
            by_column.setdefault(condition.column, []).append(condition)
        share = np.ones(len(self._sizes))
        fulfils = np.ones(self._release.height, dtype=np.bool_)
        for name, asked in by_column.items():
            if name in self._columns:
                share *= self._columns[name].shares(asked)
            else:
                fulfils &= _fulfilled(self._release.get_column(name), asked)
        rows = np.bincount(self._group_of[fulfils], minlength=len(self._sizes))
        people = self._sizes - self._fakes
        certain = np.where(share == 1.0, np.maximum(rows - self._fakes, 0), 0)
        return Count(
            estimate=float((people * share * (rows / self._sizes)).sum()),
            at_least=int(certain.sum()),
            at_most=int(np.where(share > 0, np.minimum(rows, people), 0).sum()),
        )


def _check(release: pl.DataFrame, names: Sequence[str], counterfeits: pl.DataFrame | None) -> None:
    for name in names:
        if name not in release.columns:
            raise ColumnError(f"The release has no column '{name}'. {near_matches(name, release.columns)}")
    if not release.height:
        raise DataError("The release has no rows: there is nothing to count.")
    if counterfeits is not None and counterfeits.height and _GROUP not in release.columns:
        raise DataError(f"The counterfeits are counted by '{_GROUP}', but the release has no such column.")


def _groups(release: pl.DataFrame, names: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a row of each group, and the group of each row."""
    keys = [release.get_column(_GROUP)] if _GROUP in release.columns else [release.get_column(name) for name in names]
    number = np.zeros(release.height, dtype=np.int64)
    for column in keys:
        codes = column.rank("dense").fill_null(0).to_numpy().astype(np.int64)
        _, number = np.unique(number * (int(codes.max()) + 1) + codes, return_inverse=True)
    _, first, of_row = np.unique(number, return_index=True, return_inverse=True)
    return first, of_row


def _fakes(release: pl.DataFrame, counterfeits: pl.DataFrame | None, first: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of counterfeits of each group."""
    if counterfeits is None or not counterfeits.height:
        return np.zeros(len(first), dtype=np.int64)
    counted = dict(zip(cell_text(counterfeits[_GROUP]).to_list(), counterfeits[_COUNT].to_list(), strict=True))
    numbers = cell_text(release.get_column(_GROUP).gather(first)).to_list()
    if not counted.keys() <= set(numbers):
        raise DataError("The counterfeits belong to groups that the release does not have: are both of one release?")
    return np.array([counted.get(number, 0) for number in numbers], dtype=np.int64)


def _fulfilled(column: pl.Series, asked: Sequence[Condition]) -> NDArray[np.bool_]:
    """Return which rows have a plain value that fulfils all conditions."""
    import polars as pl

    texts = cell_text(column)
    distinct = texts.unique()
    good = [text for text in distinct.to_list() if all(condition.holds(text) for condition in asked)]
    return texts.is_in(pl.Series(good, dtype=pl.String).implode()).fill_null(value=False).to_numpy()


class _Column:
    """One recoded column: what each group's cell stands for, on a grid of whole numbers where it has lengths."""

    def __init__(self, column: pl.Series, first: NDArray[np.int64], star: str, domain: str | None) -> None:
        import polars as pl

        texts = cell_text(column).gather(pl.Series(first))
        distinct = texts.unique(maintain_order=True)
        place = {text: at for at, text in enumerate(distinct.to_list())}
        self._label_of = np.array([place[text] for text in texts.to_list()], dtype=np.int64)
        self._star = star
        self._cells = [read_cell(text, star) for text in distinct.to_list()]
        whole = None if domain is None else read_cell(domain, star)
        self._axis = Axis(_atoms([*self._cells, *([] if whole is None else [whole])]))
        self._grid = _Grid.of(self._axis)
        self._whole = self._domain() if whole is None else whole

    def _domain(self) -> Cell:
        """Return what a star stands for: everything that the other cells reach."""
        if self._grid is None or not self._axis.keys:
            return Cell(kind="set", atoms=tuple(str(key) for key in self._axis.keys))
        return Cell(kind="interval", atoms=(str(self._axis.keys[0]), str(self._axis.keys[-1])))

    def shares(self, asked: Sequence[Condition]) -> NDArray[np.float64]:
        """Return for each group the share of its sub-domain that fulfils all conditions."""
        return np.array([self._share(cell, asked) for cell in self._cells])[self._label_of]

    def reaches(self, asked: Condition) -> bool:
        """Return whether some cell, or what a star stands for, can fulfil a condition."""
        nothing_known = not self._axis.keys
        return nothing_known or any(self._share(cell, [asked]) > 0 for cell in (*self._cells, self._whole))

    def _share(self, cell: Cell, asked: Sequence[Condition]) -> float:
        if cell.kind == "star":
            cell = self._whole
        if cell.kind == "interval" and self._grid is not None:
            return self._grid.share(cell, asked)
        atoms: Sequence[str | None] = cell.atoms
        if cell.kind == "interval":  # text: the values that the release shows between the two ends
            low, high = (str(atom) for atom in cell.atoms)
            atoms = [str(key) for key in self._axis.keys if low <= str(key) <= high]
        elif cell.kind == "mask":
            places = self._axis.matching(str(cell.atoms[0]), self._star)
            atoms = [str(self._axis.keys[place]) for place in places] or self._whole.atoms
        if not atoms:
            return 0.0
        return sum(all(condition.holds(atom) for condition in asked) for atom in atoms) / len(atoms)


def _atoms(cells: Sequence[Cell]) -> list[str | None]:
    return [atom for cell in cells if cell.kind not in ("star", "mask") for atom in cell.atoms]


@dataclass(frozen=True, kw_only=True)
class _Grid:
    """The values that an interval can hold, as whole numbers: multiples of the finest decimal seen, or days."""

    digits: int
    """Digits behind the point."""
    dates: bool
    """Whether the values are dates."""

    @classmethod
    def of(cls, axis: Axis) -> _Grid | None:
        """Return the grid of a column; None for text, which has no lengths."""
        positions = axis.positions
        if positions is None:
            return None
        finest = min((int(number.normalize().as_tuple().exponent) for number in positions), default=0)
        return cls(digits=max(-finest, 0), dates=not axis.numeric)

    def share(self, cell: Cell, asked: Sequence[Condition]) -> float:
        """Return the share of an interval that fulfils all conditions."""
        low, high = self._ends(cell.atoms[0], cell.atoms[1], cell.low_included, cell.high_included)
        size = high - low + 1
        if size <= 0:
            return 0.0
        listed: set[int] | None = None
        excluded: set[int] = set()
        for condition in asked:
            if condition.values is None:
                least, greatest = self._ends(
                    condition.low, condition.high, condition.low_included, condition.high_included
                )
                low, high = max(low, least), min(high, greatest)
                continue
            exact = map(self._place, condition.values)
            points = {int(place) for place in exact if place == math.floor(place)}
            if condition.negated:
                excluded |= points
            else:
                listed = points if listed is None else listed & points
        if listed is not None:
            return sum(low <= point <= high for point in listed - excluded) / size
        return max(high - low + 1 - sum(low <= point <= high for point in excluded), 0) / size

    def _ends(self, low: str | None, high: str | None, low_included: bool, high_included: bool) -> tuple[int, int]:
        """Return the first and the last point of a range."""
        first, last = -_FAR, _FAR
        if low is not None:
            exact = self._place(low)
            first = math.ceil(exact) if low_included else math.floor(exact) + 1
        if high is not None:
            exact = self._place(high)
            last = math.floor(exact) if high_included else math.ceil(exact) - 1
        return first, last

    def _place(self, text: str | None) -> Decimal:
        """Return where a value is on the grid."""
        try:
            if self.dates:
                return Decimal(date.fromisoformat(str(text)).toordinal())
            return Decimal(str(text)).scaleb(self.digits)
        except (ValueError, ArithmeticError):
            kind = "dates such as 2020-01-31" if self.dates else "numbers"
            raise ParameterError(f"The question compares a column of {kind} with something else.") from None


_FAR = 10**40
