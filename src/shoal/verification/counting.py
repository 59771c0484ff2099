"""Count published cells: the groups of equal quasi-identifiers, and each sensitive value within them.

Neither the encoding nor the algorithms are used here: the counted cells are those that readers of the release see.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import ColumnError, DataError, InternalError, near_matches
from shoal.models.base import GroupCounts
from shoal.models.population import Population
from shoal.models.release_counts import PeopleCounts
from shoal.verification.reading import published_domain

_MAX_CODE = 2**62
"""Combined codes stay below this bound, so that they fit into 64 bits."""

_MAX_NARROW_CODE = 2**31
"""Codes below this bound fit into four bytes."""

Fitting: TypeAlias = "Callable[[pl.DataFrame, NDArray[np.int64]], PeopleCounts]"
"""Function that counts the people of a population who fit groups, given one row of cells per group, and the group
sizes."""

_Codes: TypeAlias = "NDArray[np.int32] | NDArray[np.int64]"


def count_groups(
    frame: pl.DataFrame,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    *,
    times: NDArray[np.int64] | None = None,
) -> tuple[GroupCounts, ...]:
    """Count the sensitive values of every group of rows with the same published quasi-identifiers.

    Parameters
    ----------
    frame : polars.DataFrame
        Any table, one row per person, fewer than 2**31 rows. A missing cell (null or NaN) is a value of its own.
    quasi_identifiers : sequence of str
        Columns whose combinations make the groups; if empty, all rows are one group.
    sensitive : sequence of str
        Columns whose values are counted.
    times : int64 array, optional
        Multiplicity of each row, at least 1, if `frame` holds distinct rows only.

    Returns
    -------
    tuple of GroupCounts
        One per sensitive attribute, with the same groups in the same order; if there is no sensitive attribute, one
        with a single value. The values themselves (`GroupCounts.domain`) are read from the cells when a model needs
        them.

    Raises
    ------
    ColumnError
        If a column does not exist.
    DataError
        If a column holds nested data or Python objects, which cannot be compared.
    """
    return _count(frame, quasi_identifiers, sensitive, times)[0]


def count_and_place_groups(
    frame: pl.DataFrame,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    *,
    times: NDArray[np.int64] | None = None,
) -> tuple[tuple[GroupCounts, ...], NDArray[np.int64]]:
    """Count as `count_groups` does, and find the first row of each group in the frame (from 0)."""
    counts, group = _count(frame, quasi_identifiers, sensitive, times)
    return counts, np.unique(group, return_index=True)[1]


def encode_cells(frame: pl.DataFrame, names: Sequence[str]) -> list[pl.Series]:
    """Encode the cells of columns as integers, equal for equal cells, so that they are compared only once."""
    coded = _without_text(pl.DataFrame([frame.get_column(name) for name in names]))
    return [pl.Series(column.name, _codes(column)[0]) for column in coded]


def people_of_groups(
    frame: pl.DataFrame,
    quasi_identifiers: Sequence[str],
    fitting: Fitting,
    owners: pl.Series | None = None,
    times: NDArray[np.int64] | None = None,
) -> PeopleCounts:
    """Count the people of a population who fit the cells of each group.

    Parameters
    ----------
    frame : polars.DataFrame
        A whole table, at least one row.
    quasi_identifiers : sequence of str
        Columns whose combinations make the groups.
    fitting : Fitting
        Function that counts the people who fit given cells.
    owners : polars.Series, optional
        The person of each row, if a person may have several: each counts once in a group.
    times : int64 array, optional
        Multiplicity of each row, if `frame` holds distinct rows only.
    """
    # The cells of a group are those of its first row.
    (counts,), groups = _count(frame, quasi_identifiers, (), times)
    first_rows = np.unique(groups, return_index=True)[1]
    cells = pl.DataFrame([frame.get_column(name).gather(first_rows) for name in quasi_identifiers])
    if owners is None:
        return fitting(cells, counts.sizes)
    # Each person once in each group, in the order of the groups.
    entries = pl.DataFrame({"group": groups, "owner": owners}).unique()
    return fitting(cells, entries.group_by("group").len().sort("group")["len"].cast(pl.Int64).to_numpy())


def _count(
    frame: pl.DataFrame,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    times: NDArray[np.int64] | None = None,
) -> tuple[tuple[GroupCounts, ...], _Codes]:
    """Count the groups, and assign each row the code of its group; the groups are in the order of their codes."""
    if times is not None and not (times.shape == (frame.height,) and bool((times >= 1).all())):
        raise InternalError("each row needs a multiplicity of at least 1")
    if times is not None and bool((times == 1).all()):
        times = None  # single rows are counted without sorting their multiplicities
    for name in (*quasi_identifiers, *sensitive):
        if name not in frame.columns:
            raise ColumnError(f"There is no column '{name}'. {near_matches(name, frame.columns)}")
    # By name, one after another: in a selection a name such as "^.*$" would be a pattern.
    named = dict.fromkeys((*quasi_identifiers, *sensitive))
    columns = _without_text(pl.DataFrame([frame.get_column(name) for name in named]))
    # One code per row for the combination of its quasi-identifiers.
    group: _Codes = np.zeros(frame.height, dtype=np.int32)
    width = 1
    for name in quasi_identifiers:
        codes, size = _codes(columns[name])
        group, width = _combine(group, width, codes, size)
    # Without a sensitive attribute every row has the same value.
    if not sensitive:
        codes = np.zeros(frame.height, dtype=np.int32)
        whole = Population(totals=_totals(codes, 1, times))
        return (_sorted_counts(group, width, codes, 1, whole, times),), group
    counts = []
    for name in sensitive:
        codes, size = _dense(*_codes(columns[name]))
        whole = Population(totals=_totals(codes, size, times), domain=published_domain(frame[name], codes, size))
        counts.append(_sorted_counts(group, width, codes, size, whole, times))
    return tuple(counts), group


def _totals(codes: _Codes, size: int, times: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Count the occurrences of each code below a size."""
    if times is None:
        return np.bincount(codes, minlength=size).astype(np.int64)
    found = np.zeros(size, dtype=np.int64)
    np.add.at(found, codes, times)  # in integers
    return found


def _without_text(frame: pl.DataFrame) -> pl.DataFrame:
    """Convert text columns to categories, all in one call, because Polars then uses both cores."""
    return frame.with_columns(pl.col(pl.String).cast(pl.Categorical))


def _codes(column: pl.Series) -> tuple[_Codes, int]:
    """Compute a code per row, and an exclusive upper bound of the codes.

    Equal cells have equal codes; the code 0 is reserved for a missing cell.
    """
    if column.dtype.is_nested() or column.dtype == pl.Object:
        raise DataError(
            f"The column '{column.name}' has the type {column.dtype.base_type()}, whose values cannot be compared. "
            "Turn it into text, numbers or dates."
        )
    if column.dtype == pl.Null:
        return np.zeros(len(column), dtype=np.int64), 1
    if column.dtype.is_float():
        column = column.fill_nan(None)
    # Integers and dates of a small range are their own codes, relative to the lowest one.
    physical = column.to_physical()
    if physical.dtype.is_integer():
        low, high = physical.min(), physical.max()
        if isinstance(low, int) and isinstance(high, int) and max(-low, high) < 2**61 and high - low < 2**31:
            narrow = low - 1 > -_MAX_NARROW_CODE and high < _MAX_NARROW_CODE and high - low + 2 < _MAX_NARROW_CODE
            codes = physical.cast(pl.Int32 if narrow else pl.Int64) - (low - 1)
            return codes.fill_null(0).to_numpy(), high - low + 2
    # Other values have the rank in their order as code.
    ranks = physical.rank("dense").cast(pl.Int64).fill_null(0).to_numpy()
    return ranks, int(ranks.max(initial=0)) + 1


def _combine(first: _Codes, first_size: int, second: _Codes, second_size: int) -> tuple[_Codes, int]:
    """Combine pairs of codes into single codes; the codes are renumbered first if their product is too large."""
    # Renumbering leaves at most one code per row, so the product fits afterwards.
    if first_size * second_size >= _MAX_CODE:
        first, first_size = _renumber(first)
        second, second_size = _renumber(second)
    size = first_size * second_size
    combined: _Codes = first.astype(np.int32) if size < _MAX_NARROW_CODE else first.astype(np.int64)
    combined *= second_size
    combined += second
    return combined, size


def _renumber(codes: _Codes) -> tuple[_Codes, int]:
    distinct, position = np.unique(codes, return_inverse=True)
    return position.astype(np.int64), max(len(distinct), 1)


def _dense(codes: _Codes, size: int) -> tuple[_Codes, int]:
    """Renumber codes, keeping their order, so that every code below the size occurs."""
    # Sparse codes are sorted; an array of flags would be larger than the rows.
    if size > 8 * len(codes) + 1024:
        return _renumber(codes)
    occurs = np.zeros(size, dtype=np.bool_)
    occurs[codes] = True
    position = np.cumsum(occurs, dtype=np.int32) - np.int32(1)
    return position[codes], int(np.count_nonzero(occurs))


def _sorted_counts(
    group: _Codes, width: int, codes: _Codes, size: int, population: Population, times: NDArray[np.int64] | None
) -> GroupCounts:
    """Count how often each code occurs in each group: equal pairs are adjacent after sorting."""
    # A pair is a group and a sensitive value; rows with multiplicities keep them while sorting.
    pairs, _ = _combine(group, width, codes, max(size, 1))
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
    # Split the pairs again: the runs of one group are its histogram.
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
    """Find the starts of runs of equal values."""
    changes = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=changes[1:])
    return np.flatnonzero(changes)
