"""From published cells to counts: which rows look alike, and how often each sensitive value occurs among them.

Nothing of the encoding or of an algorithm is used here: what is counted are the cells that readers of the release see.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl

from shoal.errors import ColumnError, DataError, InternalError, near_matches
from shoal.models.base import GroupCounts
from shoal.models.population import Population
from shoal.verification.reading import published_domain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from shoal.models.domain import Domain
    from shoal.models.release_counts import PeopleCounts

__all__ = ["Fitting", "count_and_place_groups", "count_groups", "count_population", "people_of_groups"]

_WIDEST = 2**62
"""Combined codes stay below this, so that they fit into 64 bits."""

_NARROW = 2**31
"""Codes below this fit in four bytes."""

Fitting: TypeAlias = "Callable[[pl.DataFrame, NDArray[np.int64]], PeopleCounts]"
"""Counts the people of a population who fit groups, given the cells of each (a row of a frame) and its rows."""

_Codes: TypeAlias = "NDArray[np.int32] | NDArray[np.int64]"


def count_population(frame: pl.DataFrame, sensitive: Sequence[str]) -> tuple[Population, ...]:
    """Count the sensitive values of a whole table, for `count_groups` of parts of it.

    Parameters
    ----------
    frame : polars.DataFrame
        The whole table; its sensitive columns are enough.
    sensitive : sequence of str
        Columns whose values are counted; without any, there is one population with a single value.
    """
    return tuple(counts.population for counts in count_groups(frame, (), sensitive))


def count_groups(
    frame: pl.DataFrame,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    populations: Sequence[Population] | None = None,
    *,
    times: NDArray[np.int64] | None = None,
) -> tuple[GroupCounts, ...]:
    """Count the sensitive values of every group of rows with the same published quasi-identifiers.

    Parameters
    ----------
    frame : polars.DataFrame
        Any table, one row per person, fewer than 2**31 rows. A missing cell (null or NaN) is a value of its own.
    quasi_identifiers : sequence of str
        Columns whose combinations make the groups; without any, all rows are one group.
    sensitive : sequence of str
        Columns whose values are counted.
    populations : sequence of Population, optional
        What the whole table holds, where `frame` is a part of it; by default `frame` is the whole table.
    times : int64 array, optional
        How often each row stands in the table, at least once, where `frame` has rows that are alike only once.

    Returns
    -------
    tuple of GroupCounts
        One per sensitive attribute, with the same groups in the same order; without any, one with a single value. What
        the values are (`GroupCounts.domain`) is read from the cells when a model asks for it. Groups of parts have the
        codes of the population, so that they can be joined.

    Raises
    ------
    ColumnError
        Where a column does not exist.
    DataError
        Where a column holds nested data or Python objects, which cannot be compared, or a part holds values that the
        population does not.
    """
    return _counted(frame, quasi_identifiers, sensitive, populations, times)[0]


def count_and_place_groups(
    frame: pl.DataFrame,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    *,
    times: NDArray[np.int64] | None = None,
) -> tuple[tuple[GroupCounts, ...], NDArray[np.int64]]:
    """Count like `count_groups`, and find the row of the frame, from 0, in which each group occurs first."""
    counts, group = _counted(frame, quasi_identifiers, sensitive, times=times)
    return counts, np.unique(group, return_index=True)[1]


def people_of_groups(frame: pl.DataFrame, quasi_identifiers: Sequence[str], fitting: Fitting) -> PeopleCounts:
    """Count the people of a population who fit the cells of each group.

    Parameters
    ----------
    frame : polars.DataFrame
        A whole table, at least one row.
    quasi_identifiers : sequence of str
        Columns whose combinations make the groups.
    fitting : Fitting
        Counts the people who fit given cells.
    """
    (counts,), first_rows = count_and_place_groups(frame, quasi_identifiers, ())
    cells = pl.DataFrame([frame.get_column(name).gather(first_rows) for name in quasi_identifiers])
    return fitting(cells, counts.sizes)


def _counted(
    frame: pl.DataFrame,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    populations: Sequence[Population] | None = None,
    times: NDArray[np.int64] | None = None,
) -> tuple[tuple[GroupCounts, ...], _Codes]:
    """Return the counts, and for each row a code of its group; the groups are in the order of their codes."""
    if times is not None and not (times.shape == (frame.height,) and bool((times >= 1).all())):
        raise InternalError("how often rows stand in a table must be said of each, and be at least once")
    for name in (*quasi_identifiers, *sensitive):
        if name not in frame.columns:
            raise ColumnError(f"There is no column '{name}'. {near_matches(name, frame.columns)}")
    # By name, one after another: in a selection a name such as "^.*$" would be a pattern.
    named = dict.fromkeys((*quasi_identifiers, *sensitive))
    columns = _without_text(pl.DataFrame([frame.get_column(name) for name in named]))
    group: _Codes = np.zeros(frame.height, dtype=np.int32)
    width = 1
    for name in quasi_identifiers:
        codes, size = _codes(columns[name])
        group, width = _combined(group, width, codes, size)
    if not sensitive:
        codes = np.zeros(frame.height, dtype=np.int32)
        (whole,) = populations or (Population(totals=_totals(codes, 1, times)),)
        return (_sorted_counts(group, width, codes, 1, whole, times),), group
    counts = []
    for place, name in enumerate(sensitive):
        codes, size = _dense(*_codes(columns[name]))
        domain = published_domain(frame[name], codes, size)
        if populations is None:
            whole = Population(totals=_totals(codes, size, times), domain=domain)
        else:
            whole = populations[place]
            codes, size = _codes_among(name, domain, whole)[codes], len(whole.totals)
        counts.append(_sorted_counts(group, width, codes, size, whole, times))
    return tuple(counts), group


def _totals(codes: _Codes, size: int, times: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Return how often each code below a size occurs."""
    if times is None:
        return np.bincount(codes, minlength=size).astype(np.int64)
    found = np.zeros(size, dtype=np.int64)
    np.add.at(found, codes, times)  # in integers
    return found


def _codes_among(name: str, part: Domain, whole: Population) -> NDArray[np.int64]:
    """Return the code in a population of each value of a part."""
    # A number is a fraction, whatever the type of its column is; other values are as they are read.
    code_of = {label: code for code, label in enumerate(whole.domain.labels or ())}
    codes = np.array([code_of.get(label, -1) for label in part.labels or ()], dtype=np.int64)
    if (codes < 0).any():
        raise DataError(
            f"The column '{name}' holds {int((codes < 0).sum())} values that the whole table does not: this is no part "
            "of it."
        )
    return codes


def _without_text(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the columns with text as categories: all of them in one go, because that takes both cores."""
    return frame.with_columns(pl.col(pl.String).cast(pl.Categorical))


def _codes(column: pl.Series) -> tuple[_Codes, int]:
    """Return a code per row, equal where the cells are, and a number that all codes are below; 0 is a missing cell."""
    if column.dtype.is_nested() or column.dtype == pl.Object:
        raise DataError(
            f"The column '{column.name}' has the type {column.dtype.base_type()}, whose values cannot be compared. "
            "Turn it into text, numbers or dates."
        )
    if column.dtype == pl.Null:
        return np.zeros(len(column), dtype=np.int64), 1
    if column.dtype.is_float():
        column = column.fill_nan(None)
    physical = column.to_physical()
    if physical.dtype.is_integer():
        low, high = physical.min(), physical.max()
        if isinstance(low, int) and isinstance(high, int) and max(-low, high) < 2**61 and high - low < 2**31:
            narrow = low - 1 > -_NARROW and high < _NARROW and high - low + 2 < _NARROW
            codes = physical.cast(pl.Int32 if narrow else pl.Int64) - (low - 1)
            return codes.fill_null(0).to_numpy(), high - low + 2
    ranks = physical.rank("dense").cast(pl.Int64).fill_null(0).to_numpy()
    return ranks, int(ranks.max(initial=0)) + 1


def _combined(first: _Codes, first_size: int, second: _Codes, second_size: int) -> tuple[_Codes, int]:
    """Return one code for each pair of codes, renumbered first where their product would not fit."""
    if first_size * second_size >= _WIDEST:
        first, first_size = _renumbered(first)
        second, second_size = _renumbered(second)
    size = first_size * second_size
    combined: _Codes = first.astype(np.int32) if size < _NARROW else first.astype(np.int64)
    combined *= second_size
    combined += second
    return combined, size


def _renumbered(codes: _Codes) -> tuple[_Codes, int]:
    distinct, position = np.unique(codes, return_inverse=True)
    return position.astype(np.int64), max(len(distinct), 1)


def _dense(codes: _Codes, size: int) -> tuple[_Codes, int]:
    """Return codes renumbered in their order so that every one below the size occurs."""
    if size > 8 * len(codes) + 1024:
        return _renumbered(codes)
    occurs = np.zeros(size, dtype=np.bool_)
    occurs[codes] = True
    position = np.cumsum(occurs, dtype=np.int32) - np.int32(1)
    return position[codes], int(np.count_nonzero(occurs))


def _sorted_counts(
    group: _Codes, width: int, codes: _Codes, size: int, population: Population, times: NDArray[np.int64] | None
) -> GroupCounts:
    """Count how often each code occurs in each group: equal pairs stand together once they are sorted."""
    pairs, _ = _combined(group, width, codes, max(size, 1))
    if times is None:
        pairs.sort()
    else:
        order = np.argsort(pairs)
        pairs, times = pairs[order], times[order]
    first = _run_starts(pairs)
    if times is None:
        counts = np.diff(first, append=len(pairs))
    else:
        counts = np.add.reduceat(times, first) if len(first) else times
    group_of, values = np.divmod(pairs[first].astype(np.int64), max(size, 1))
    starts = _run_starts(group_of)
    return GroupCounts(
        sizes=np.add.reduceat(counts, starts) if len(starts) else counts,
        starts=np.append(starts, len(counts)),
        values=values,
        counts=counts,
        population=population,
    )


def _run_starts(values: _Codes) -> NDArray[np.int64]:
    """Return where runs of equal values start."""
    changes = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=changes[1:])
    return np.flatnonzero(changes)
