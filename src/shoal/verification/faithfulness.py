"""Faithfulness: every published cell holds the value of the row that it stands for.

A release is read here as its readers read it, and held against the microdata that it was made of, before any
coarsening. It shares nothing with recoding, coarsening or the encoding of tables. The work is done on distinct pairs of
a true value and a cell; rows are only counted into these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from shoal.errors import ReleaseUnsafeError
from shoal.verification.cell_syntax import cell_text
from shoal.verification.placing import place
from shoal.verification.published_columns import ReadColumn
from shoal.verification.values import Values, coded, written

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.verification.meaning import Meaning

__all__ = ["check_faithful", "covered_values"]

Coded: TypeAlias = "tuple[NDArray[Any], pl.Series]"
"""A code per row, and the values that the codes stand for."""

_NONE: Mapping[str, Coded] = MappingProxyType({})

_FLAGS = 1 << 22
"""Up to so many possible pairs are marked in a table; more are sorted."""
_CHUNK = 1 << 22
"""Rows whose pairs are collected at a time."""
_SMALL = 1 << 16
"""Fewer rows than this are not worth a second thread."""


def check_faithful(
    published: pl.DataFrame,
    original: pl.DataFrame,
    rows: NDArray[np.integer],
    *,
    meanings: Mapping[str, Meaning],
    unchanged: Sequence[str] = (),
    star: str = "*",
    coded_before: Mapping[str, Coded] = _NONE,
) -> None:
    """Check that every published cell covers the value of its row.

    Parameters
    ----------
    published : polars.DataFrame
        The release.
    original : polars.DataFrame
        The microdata, as they came.
    rows : integer array
        The row of the microdata that each published row stands for; no row twice.
    meanings : mapping of column to Meaning
        The quasi-identifiers, and what is said of their cells.
    unchanged : sequence of str
        The columns that are published as they were.
    star : str
        How a suppressed cell is written.
    coded_before : mapping of column to (codes, values), optional
        Columns of the microdata as somebody coded them, in the rows that are published and a missing value last among
        the values. It saves the time of coding text again; what does not say the column cell by cell is not used.

    Raises
    ------
    ReleaseUnsafeError
        Names the columns with cells that are not true, and how many there are; never a cell.
    """
    places = np.asarray(rows, dtype=np.intp)
    stands = np.zeros(original.height, dtype=np.bool_)
    stands[places] = True
    if not len(places) == published.height == np.count_nonzero(stands):
        raise _untrue("its rows do not stand for one row of the input each")
    if len(places) < original.height:
        # What other rows hold does not say how the cells are read.
        original, places = original.filter(stands), (np.cumsum(stands) - 1)[places]

    def wrong(name: str) -> int:
        shown, true = published.get_column(name), original.get_column(name)
        if name not in meanings:
            return _different(shown, true, places)
        return _uncovered(shown, _codes_of(true, coded_before.get(name)), places, meanings[name], star)

    names = [*meanings, *unchanged]
    if published.height < _SMALL:
        found = [wrong(name) for name in names]
    else:
        with ThreadPoolExecutor(max_workers=2) as pool:
            found = list(pool.map(wrong, names))
    failed = [f"{count} of '{name}'" for name, count in zip(names, found, strict=True) if count]
    if failed:
        raise _untrue(f"cells that do not hold the value of the row that they stand for: {', '.join(failed)}")


def covered_values(
    labels: Sequence[str | None], values: pl.Series, *, meaning: Meaning, star: str = "*"
) -> NDArray[np.bool_]:
    """Return which true values each cell of a column covers, as a reader would say.

    Parameters
    ----------
    labels : sequence of str or None
        The cells, as they are written; None is a missing one.
    values : polars.Series
        Distinct true values; a missing one comes last.
    meaning : Meaning
        What is said of the cells.
    star : str
        How a suppressed cell is written.

    Returns
    -------
    bool array of shape (cells, values)

    Examples
    --------
    >>> from shoal.verification import Meaning
    >>> covered_values(["[20, 25]", "30", "*"], pl.Series([20, 30, None]), meaning=Meaning(kind="values")).tolist()
    [[True, False, False], [False, True, False], [True, True, True]]
    """
    true = Values(meaning.transformed(values.drop_nulls()))
    codes = np.arange(len(labels))
    column = ReadColumn(values.name, list(labels), codes, meaning=meaning, star=star, scale=true.scale)
    covered = place(column, true)
    ranks = true.ranks(np.arange(len(values)))
    pairs = covered.covers(np.repeat(codes, len(values)), np.tile(ranks, len(labels)))
    return pairs.reshape(len(labels), len(values))


def _untrue(what: str) -> ReleaseUnsafeError:
    return ReleaseUnsafeError(
        f"The release is not true: {what}. Nothing was published. This is a bug in shoal, or in a coarsening of your "
        "own: please report it."
    )


def _different(shown: pl.Series, true: pl.Series, places: NDArray[np.intp]) -> int:
    """Return how many cells are not the value itself."""
    if true.dtype.is_float():
        shown, true = shown.fill_nan(None), true.fill_nan(None)
    if true.dtype.is_object():
        return sum(one is not other for one, other in zip(shown, true.gather(pl.Series(places)), strict=True))
    # One chunk: gathering from several is many times slower.
    expected = true.rechunk().gather(pl.Series(places.astype(np.uint32)))
    if shown.dtype.is_nested():  # declared categories within are published as text
        expected = expected.cast(shown.dtype)
    elif shown.dtype != expected.dtype:
        shown, expected = cell_text(shown), cell_text(expected)
    return int((~shown.eq_missing(expected)).sum())


def _codes_of(true: pl.Series, before: Coded | None) -> Coded:
    """Return a code per row and the values; those that somebody else made where they say just this column."""
    if before is None or not (true.dtype == pl.String or true.dtype.is_float()):
        return coded(true)  # others are coded at once
    codes, values = before
    present = values.drop_nulls()
    if true.dtype.is_float():
        true = true.fill_nan(None)
    missing_last = not values.head(len(present)).null_count() and len(values) - len(present) <= 1
    fits = missing_last and values.dtype == true.dtype and len(codes) == len(true)
    if not fits or not bool(values.gather(pl.Series(codes)).eq_missing(true).all()):
        return coded(true)
    return codes, present


def _uncovered(shown: pl.Series, true: Coded, places: NDArray[np.intp], meaning: Meaning, star: str) -> int:
    """Return how many cells of a quasi-identifier do not cover the value of their row."""
    value_codes, distinct = true
    cell_codes, cells = coded(shown)
    values = Values(meaning.transformed(distinct))
    labels = [*written(cells).to_list(), None]
    column = ReadColumn(shown.name, labels, cell_codes, meaning=meaning, star=star, scale=values.scale)
    pairs = _Pairs(value_codes, len(distinct) + 1, cell_codes, len(labels), places)
    covered = place(column, values)
    wrong = 0
    for some in pairs.distinct():
        value, cell = np.divmod(some, len(labels))
        fits = covered.covers(cell, values.ranks(value))
        if not fits.all():
            wrong += pairs.rows(some[~fits])
    return wrong


class _Pairs:
    """The pairs of a true value and a published cell that occur, as numbers."""

    def __init__(
        self,
        values: NDArray[np.integer],
        count: int,
        cells: NDArray[np.integer],
        labels: int,
        places: NDArray[np.intp],
    ) -> None:
        self._values, self._cells, self._places = values, cells, places
        self._labels, self._size = labels, count * labels
        self._many = self._size > _FLAGS

    def _chunks(self) -> Iterator[NDArray[np.int64]]:
        for start in range(0, len(self._places), _CHUNK):
            stop = start + _CHUNK
            pairs = self._values.take(self._places[start:stop]).astype(np.int64)
            pairs *= self._labels
            pairs += self._cells[start:stop]
            yield pairs

    def distinct(self) -> Iterator[NDArray[np.int64]]:
        """Yield the pairs that occur, each once; where very many may occur, row by row."""
        if self._many:
            yield from self._chunks()
            return
        occurs = np.zeros(self._size, dtype=np.bool_)
        for pairs in self._chunks():
            occurs[pairs] = True
        yield np.flatnonzero(occurs)

    def rows(self, wanted: NDArray[np.integer]) -> int:
        """Return how many rows have the pairs that `distinct` gave."""
        if self._many:
            return len(wanted)
        return sum(int(np.isin(pairs, wanted).sum()) for pairs in self._chunks())
