"""Faithfulness: every published cell covers the value of the row that it stands for.

The release is interpreted as its readers interpret it, and compared with the microdata before any coarsening. The
module shares no code with recoding, coarsening or the encoding of tables. Each distinct pair of a true value and a cell
is checked once; rows are only counted into these pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.threads import map_in_threads
from shoal.errors import ReleaseUnsafeError
from shoal.verification.cell_syntax import cell_text
from shoal.verification.meaning import Meaning
from shoal.verification.placing import place_cells
from shoal.verification.published_columns import ReadColumn
from shoal.verification.values import Values, encode_values, format_values

Coded: TypeAlias = "tuple[NDArray[Any], pl.Series]"
"""A code per row, and the values of the codes."""

_NONE: Mapping[str, Coded] = MappingProxyType({})

_MAX_PAIRS_MARKED = 1 << 22
"""Largest number of possible pairs that are marked in an array; if there are more, rows are checked one by one."""
_ROWS_PER_CHUNK = 1 << 22
"""Number of rows whose pairs are collected at a time."""
_MIN_ROWS_FOR_THREADS = 1 << 16
"""Smallest number of rows for which a second thread pays off."""


def check_faithful(
    published: pl.DataFrame,
    original: pl.DataFrame,
    rows: NDArray[np.integer],
    *,
    meanings: Mapping[str, Meaning],
    unchanged: Sequence[str] = (),
    star: str = "*",
    encodings: Mapping[str, Coded] = _NONE,
) -> None:
    """Check that every published cell covers the value of its row.

    Parameters
    ----------
    published : polars.DataFrame
        The release.
    original : polars.DataFrame
        The raw microdata.
    rows : integer array
        The row of the microdata that each published row stands for, without repeats.
    meanings : mapping of column to Meaning
        The quasi-identifiers, and how their cells are interpreted.
    unchanged : sequence of str
        The columns that are published without changes.
    star : str
        The symbol of a suppressed cell.
    encodings : mapping of column to (codes, values), optional
        Encodings of columns of the microdata, restricted to the published rows, with a missing value last among the
        values. They save the time of encoding text again. An encoding is used only if it decodes to exactly the column.

    Raises
    ------
    ReleaseUnsafeError
        If cells do not cover their values. The message names the columns and the number of such cells, never a cell.
    """
    # Every published row must stand for a row of its own.
    places = np.asarray(rows, dtype=np.intp)
    is_published = np.zeros(original.height, dtype=np.bool_)
    is_published[places] = True
    if not len(places) == published.height == np.count_nonzero(is_published):
        raise _unfaithful_error("its rows do not correspond one to one to rows of the input")
    if len(places) < original.height:
        # Rows that are not published must not influence how cells are interpreted.
        original, places = original.filter(is_published), (np.cumsum(is_published) - 1)[places]

    def count_wrong(name: str) -> int:
        shown, true = published.get_column(name), original.get_column(name)
        if name not in meanings:
            return _count_different(shown, true, places)
        return _count_uncovered(shown, _encode(true, encodings.get(name)), places, meanings[name], star)

    # Columns are independent; in large tables several threads share them.
    names = [*meanings, *unchanged]
    if published.height < _MIN_ROWS_FOR_THREADS:
        found = [count_wrong(name) for name in names]
    else:
        found = map_in_threads(count_wrong, names)
    # The message has names and counts, because cells must not reach a log.
    failed = [f"{count} of '{name}'" for name, count in zip(names, found, strict=True) if count]
    if failed:
        raise _unfaithful_error(f"cells that do not hold the value of the row that they stand for: {', '.join(failed)}")


def find_covered_values(
    labels: Sequence[str | None], values: pl.Series, *, meaning: Meaning, star: str = "*"
) -> NDArray[np.bool_]:
    """Find the true values that each cell of a column covers, as a reader would interpret it.

    Parameters
    ----------
    labels : sequence of str or None
        The text of the cells; None is a missing cell.
    values : polars.Series
        Distinct true values; a missing one comes last.
    meaning : Meaning
        How the cells are interpreted.
    star : str
        The symbol of a suppressed cell.

    Returns
    -------
    bool array of shape (cells, values)

    Examples
    --------
    >>> from shoal.verification import Meaning
    >>> find_covered_values(["[20, 25]", "30", "*"], pl.Series([20, 30, None]), meaning=Meaning(kind="values")).tolist()
    [[True, False, False], [False, True, False], [True, True, True]]
    """
    # The same steps as in `_count_uncovered`, with every pair instead of those that occur.
    true = Values(meaning.transformed(values.drop_nulls()))
    codes = np.arange(len(labels))
    column = ReadColumn(values.name, list(labels), codes, meaning=meaning, star=star, scale=true.scale)
    covered = place_cells(column, true)
    ranks = true.ranks(np.arange(len(values)))
    pairs = covered.covers(np.repeat(codes, len(values)), np.tile(ranks, len(labels)))
    return pairs.reshape(len(labels), len(values))


def _unfaithful_error(what: str) -> ReleaseUnsafeError:
    return ReleaseUnsafeError(
        f"The release is not true: {what}. Nothing was published. This is a bug in shoal, or in a coarsening of your "
        "own: please report it."
    )


def _count_different(shown: pl.Series, true: pl.Series, places: NDArray[np.intp]) -> int:
    """Count the cells that differ from the true value."""
    if true.dtype.is_float():
        shown, true = shown.fill_nan(None), true.fill_nan(None)
    # Python objects have no order and no text: only identity is left.
    if true.dtype.is_object():
        return sum(one is not other for one, other in zip(shown, true.gather(pl.Series(places)), strict=True))
    # One chunk: gathering from several is many times slower.
    expected = true.rechunk().gather(pl.Series(places.astype(np.uint32)))
    if shown.dtype.is_nested():  # declared categories within are published as text
        expected = expected.cast(shown.dtype)
    elif shown.dtype != expected.dtype:
        shown, expected = cell_text(shown), cell_text(expected)
    return int((~shown.eq_missing(expected)).sum())


def _encode(true: pl.Series, known: Coded | None) -> Coded:
    """Encode a column; the given encoding is used only if it decodes to exactly this column."""
    if known is None or not (true.dtype == pl.String or true.dtype.is_float()):
        return encode_values(true)  # other types are fast to encode
    codes, values = known
    # The encoding comes from code that is to be verified, so it is checked cell by cell.
    present = values.drop_nulls()
    if true.dtype.is_float():
        true = true.fill_nan(None)
    missing_last = not values.head(len(present)).null_count() and len(values) - len(present) <= 1
    fits = missing_last and values.dtype == true.dtype and len(codes) == len(true)
    if not fits or not bool(values.gather(pl.Series(codes)).eq_missing(true).all()):
        return encode_values(true)
    return codes, present


def _count_uncovered(shown: pl.Series, true: Coded, places: NDArray[np.intp], meaning: Meaning, star: str) -> int:
    """Count the cells of a quasi-identifier that do not cover the value of their row."""
    value_codes, distinct = true
    cell_codes, cells = _drop_unused(*encode_values(shown))
    values = Values(meaning.transformed(distinct))
    labels = [*format_values(cells).to_list(), None]
    column = ReadColumn(shown.name, labels, cell_codes, meaning=meaning, star=star, scale=values.scale)
    # Each distinct pair of a value and a cell is checked once, and only failing pairs are counted.
    pairs = _Pairs(value_codes, len(distinct) + 1, cell_codes, len(labels), places)
    covered = place_cells(column, values)
    wrong = 0
    for chunk in pairs.iterate_distinct():
        value, cell = np.divmod(chunk, len(labels))
        fits = covered.covers(cell, values.ranks(value))
        if not fits.all():
            wrong += pairs.count_rows(chunk[~fits])
    return wrong


def _drop_unused(codes: NDArray[Any], cells: pl.Series) -> Coded:
    """Leave out the cells without a row: numbers and dates have a code for each value between the first and last."""
    occurs = np.zeros(len(cells) + 1, dtype=np.bool_)
    occurs[codes] = True
    if occurs[:-1].all():
        return codes, cells
    occurs[-1] = True  # The last code stays that of a missing value.
    return (np.cumsum(occurs) - 1).astype(np.int32)[codes], cells.filter(pl.Series(occurs[:-1]))


class _Pairs:
    """The pairs of a true value and a published cell that occur, as integers."""

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
        self._too_many_to_mark = self._size > _MAX_PAIRS_MARKED

    def _chunks(self) -> Iterator[NDArray[np.int64]]:
        # Chunks keep the memory for pairs constant.
        for start in range(0, len(self._places), _ROWS_PER_CHUNK):
            stop = start + _ROWS_PER_CHUNK
            pairs = self._values.take(self._places[start:stop]).astype(np.int64)
            pairs *= self._labels
            pairs += self._cells[start:stop]
            yield pairs

    def iterate_distinct(self) -> Iterator[NDArray[np.int64]]:
        """Yield the distinct pairs that occur; if there may be very many, yield the pairs of all rows."""
        # If very many pairs are possible, each chunk is checked as it comes.
        if self._too_many_to_mark:
            yield from self._chunks()
            return
        # An array of flags is faster than sorting as long as it fits into memory.
        occurs = np.zeros(self._size, dtype=np.bool_)
        for pairs in self._chunks():
            occurs[pairs] = True
        yield np.flatnonzero(occurs)

    def count_rows(self, wanted: NDArray[np.integer]) -> int:
        """Count the rows that have one of the pairs that `iterate_distinct` yielded."""
        if self._too_many_to_mark:
            return len(wanted)
        return sum(int(np.isin(pairs, wanted).sum()) for pairs in self._chunks())
