"""Ladders: the coarsenings that a column may get, from the finest to the coarsest.

The cuts of bins, the lengths of prefixes and the parts of dates are round, and depend only on the range of a column;
the levels of a hierarchy are given. Names without a hierarchy are merged until each class has a share of the rows, so
their classes depend on frequencies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import polars as pl

from shoal._messages import Subject
from shoal.errors import ColumnError, ParameterError, UsageError, near_matches
from shoal.grouping import Labels, Ordered
from shoal.hierarchy import Bins, Coarsening, DatePart, Hierarchy, Level, OneValue, Prefix
from shoal.hierarchy.coarsening import ValueCoarsening
from shoal.hierarchy.distinct_values import encode_values
from shoal.io import looks_like_dates
from shoal.recoding import check_coverage
from shoal.request.coarsening_words import in_words
from shoal.table import Column
from shoal.table.names import suggests_postal_code

_MOST_BINS = 250
"""The first rung of bins has at most this many."""
_LEAST_SHARE, _LARGEST_SHARE = 300, 3
"""Names are merged into classes with a round number of rows: between 1/300 and 1/3 of all rows."""
_MANY_NAMES = 2_000
"""Above this number of names only powers of ten are tried, because merging takes long."""
_LONGEST_CODE = 16
"""Longer values are not codes with meaningful prefixes."""
_WORTH_A_RUNG = Fraction(9, 10)
"""A rung keeps at most this share of the values of the previous one."""


@dataclass(frozen=True, kw_only=True)
class Rung:
    """One coarsening of a column."""

    coarsening: Coarsening
    """The coarsening."""
    words: str | None
    """The coarsening in the syntax of --coarsen; None if it cannot be written there."""
    left: int | None = None
    """Number of values that it leaves; None if a caller gave it."""

    @property
    def text(self) -> str:
        """The text of the rung without file paths, or its Python expression; it contains no cell of the table."""
        if isinstance(self.coarsening, Level):
            return f"level:{self.coarsening.level}"
        return repr(self.coarsening) if self.words is None else self.words


@dataclass(frozen=True, kw_only=True)
class Ladder:
    """The coarsenings of a column (or of columns that are coarsened together), from the finest to the coarsest."""

    columns: tuple[str, ...]
    """The columns to coarsen."""
    rungs: tuple[Rung, ...]
    """The coarsenings; if empty, the column is never coarsened."""

    @property
    def key(self) -> str | tuple[str, ...]:
        """The key of the ladder in `coarsen=`."""
        return self.columns[0] if len(self.columns) == 1 else self.columns

    @property
    def name(self) -> str:
        """The name of the ladder in messages."""
        return ",".join(self.columns)


def ladder_of(series: pl.Series, *, tree: Hierarchy | None = None, file: str = "") -> Ladder:
    """Build the ladder of a column: from its hierarchy if there is one, else from the kind of its values.

    Numbers get bins of increasing width; dates become months, quarters and years; codes are shortened to prefixes;
    names (and ordered categories) are merged into classes with an increasing share of the rows. The last rung merges
    all values. Rungs that change little are left out.

    Parameters
    ----------
    series : polars.Series
        The column.
    tree : Hierarchy, optional
        Its hierarchy.
    file : str
        The file of the hierarchy, for the text of its levels.

    Raises
    ------
    DataError
        If the hierarchy lacks values of the column; the message states how many.

    Examples
    --------
    >>> [rung.words for rung in ladder_of(pl.Series("age", range(17, 91))).rungs]
    ['bins:2', 'bins:5', 'bins:10', 'bins:20', 'bins:50', 'any']
    """
    # Columns with fewer than two values cannot be coarsened.
    once = series.unique()
    column = encode_values(once if tree is None else series)  # what a hierarchy lacks is named by its first row
    values = 0 if column is None else column.size - column.has_missing
    if column is None or values < 2:
        return Ladder(columns=(series.name,), rungs=())
    # A hierarchy takes precedence over the kind of the values.
    if tree is not None:
        check_coverage(column, tree)
        coarsenings: Iterable[Coarsening] = [Level(tree, level) for level in range(1, tree.height)]
    elif _dated(column):
        coarsenings = [DatePart(part) for part in ("month", "quarter", "year", "5years", "decade")]
    elif column.numbers is not None:
        prefixes = list(_prefixes(column)) if suggests_postal_code(series.name) else []
        coarsenings = prefixes or _bins(column.numbers)
    elif looks_like_dates(series):
        coarsenings = []  # dates that could not be parsed have no meaningful prefixes
    else:
        # The first characters of E1 to E8 are the same: such codes are joined like names.
        coarsenings = [one for one in _prefixes(column) if _values_after(column, once, one) > 1] or _classes(
            column, series
        )
    # Keep a rung only if it merges a worthwhile share of the values that are left.
    rungs, left = [], values
    for coarsening in [*coarsenings, OneValue()]:
        # Rows count for classes of frequent values alone.
        found = _values_after(column, once if coarsening.streams else series, coarsening)
        last = isinstance(coarsening, OneValue)
        worth = found == 1 if last else tree is not None or found <= left * _WORTH_A_RUNG
        if worth and (found > 1 or last) and found < left:
            rungs.append(Rung(coarsening=coarsening, words=in_words(coarsening, file=file), left=found))
            left = found
    return Ladder(columns=(series.name,), rungs=tuple(rungs))


def given_ladders(
    ladders: Mapping[str | tuple[str, ...], Sequence[Coarsening]], allowed: Sequence[str], files: Mapping[str, str]
) -> dict[tuple[str, ...], Ladder]:
    """Return the ladders that a caller passed, keyed by columns.

    Raises
    ------
    ParameterError
        If something other than lists of coarsenings is passed.
    ColumnError
        If a column is not a quasi-identifier, or has two ladders.
    """
    if not isinstance(ladders, Mapping):
        raise ParameterError(
            Subject("explore", "coarsenings"),
            f" must map names of columns to lists of coarsenings. Got {type(ladders).__name__}.",
        )
    found: dict[tuple[str, ...], Ladder] = {}
    seen: set[str] = set()
    for key, given in ladders.items():
        # Each column belongs to at most one ladder, and must be a quasi-identifier.
        columns = (key,) if isinstance(key, str) else tuple(key)
        for name in columns:
            if name not in allowed:
                raise ColumnError(
                    f"The column '{name}' cannot be coarsened: not a quasi-identifier. {near_matches(name, allowed)}"
                )
            if name in seen:
                raise ColumnError(f"The column '{name}' has two ladders.")
            seen.add(name)
        listed: object = given
        if not isinstance(listed, list | tuple) or not all(isinstance(one, Coarsening) for one in listed):
            raise ParameterError(
                f"The ladder of {', '.join(map(repr, columns))} must be a list of coarsenings, the finest first."
            )
        file = files.get(columns[0], "")
        rungs = tuple(Rung(coarsening=one, words=in_words(one, file=file)) for one in given)
        found[columns] = Ladder(columns=columns, rungs=rungs)
    return found


def _values_after(column: Column, series: pl.Series, coarsening: Coarsening) -> int:
    """Return the number of values of a column after a coarsening; 0 if the coarsening rejects the column."""
    try:
        if isinstance(coarsening, ValueCoarsening):  # of values that are encoded already
            values = coarsening.coarsen_values(column)
            return column.size - column.has_missing if values is None else values.drop_nulls().n_unique()
        (after,) = coarsening.apply((series,))
    except UsageError:
        return 0
    return after.drop_nulls().n_unique()


def _dated(column: Column) -> bool:
    kind = column.dictionary.dtype
    return kind == pl.Date or isinstance(kind, pl.Datetime) or (kind == pl.String and _is_date_text(column))


def _is_date_text(column: Column) -> bool:
    return column.ordered and column.numbers is None


def _bins(numbers: Sequence[Fraction]) -> Iterator[Coarsening]:
    """Yield bins of round width (1, 2 and 5 times powers of ten), from the smallest gap to the range of the values."""
    # Values that spell the same number, such as 1 and 1.0, are no gap.
    numbers = list(dict.fromkeys(numbers))
    if len(numbers) < 2:
        return
    # Start with the power of ten at or below the smallest useful width.
    span, gap = numbers[-1] - numbers[0], min(b - a for a, b in pairwise(numbers))
    power = 0
    least = max(gap, span / _MOST_BINS)
    while Fraction(10) ** power > least:
        power -= 1
    while Fraction(10) ** power <= span:
        for digit in (1, 2, 5):
            width = digit * Fraction(10) ** power
            if least < width <= span:
                yield Bins(int(width) if width.denominator == 1 else float(width))
        power += 1


def _prefixes(column: Column) -> Iterator[Coarsening]:
    """Yield prefixes if the values are codes: short, of equal length, with a digit in each and without spaces."""
    kind = column.dictionary.dtype
    if kind not in (pl.String, pl.Categorical, pl.Enum):
        return
    # Codes have equal lengths, contain digits, and have no spaces.
    text = column.dictionary.drop_nulls().cast(pl.String)
    lengths = text.str.len_chars()
    if not text.str.contains(r"^\S*[0-9]\S*$").all() or lengths.n_unique() > 1 or lengths[0] > _LONGEST_CODE:
        return
    for kept in range(lengths[0] - 1, 0, -1):
        yield Prefix(kept)


def _classes(column: Column, series: pl.Series) -> list[Coarsening]:
    """Return classes of increasing, round size for names, or for ordered categories in their order."""
    # Round sizes between the smallest and the largest share of the rows; smaller ones than each value has merge none.
    rows, fewest = len(series), int(series.drop_nulls().unique_counts().min() or 0)  # type: ignore[arg-type]
    digits = (10,) if column.size > _MANY_NAMES else (10, 12, 15, 20, 25, 30, 40, 50, 60, 80)
    round_sizes = [digit * 10**power // 10 for power in range(len(str(rows))) for digit in digits]
    least = max(fewest, 1, -(-rows // _LEAST_SHARE) - 1)
    sizes = [k for k in dict.fromkeys(round_sizes) if k > least and _LARGEST_SHARE * k <= rows]
    return [Ordered(k=k) if column.ordered else Labels(k=k) for k in sizes]
