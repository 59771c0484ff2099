"""Records that are singled out by an end of an interval or a member of a set, given the other cells of a group."""

from __future__ import annotations

from collections.abc import Container, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from shoal.recoding.recoded import RecodedColumn, Recoding
from shoal.table import Column, Table
from shoal.table.compressed import entries_of_rows
from shoal.table.counts import rows_by_code


def count_singled_out(
    table: Table,
    recoding: Recoding,
    few: int,
    *,
    coarse: Container[str] = (),
    before: Mapping[str, Column] = MappingProxyType({}),
) -> int:
    """Count the records that are singled out: no other record has the exact value and matches the group's other cells.

    Parameters
    ----------
    table : Table
        The encoded microdata.
    recoding : Recoding
        Published cells of every group. Ends of intervals and members of sets are values of the table.
    few : int
        Values that at least this many records have are skipped, because such values do not single out anyone.
    coarse : container of str
        Columns whose values are not values of records.
    before : mapping of column to Column
        Columns whose values are classes that end at values of records, as they were before.
    """
    rows = [np.empty(0, dtype=np.int64)]
    # Nodes of hierarchies and coarse values are not exact values of records.
    for place, (column, recoded) in enumerate(zip(table.quasi_identifiers, recoding.columns, strict=True)):
        if recoded.levels is None and (column.name not in coarse or column.name in before):
            rows.append(_find_singled_out(table, recoding, place, few, before.get(column.name)))
    alone = np.unique(np.concatenate(rows))
    return len(alone)


def _find_singled_out(
    table: Table, recoding: Recoding, place: int, few: int, before: Column | None
) -> NDArray[np.int64]:
    """Return the rows that are singled out by an exact value of one column."""
    column, recoded, classes = table.quasi_identifiers[place], recoding.columns[place], recoding.classes
    # A cell that was kept shows an interval, too, if values were classes before.
    hidden = recoded.stars if before is not None else recoded.kept | recoded.stars
    # One representative of each published class that shows an interval or a set.
    group = classes.representatives[~hidden[classes.representatives]]
    owner, values = _list_shown_values(column, recoded, recoded.group_codes[group])
    if before is not None:
        owner, values = _ends_of_classes(column, before, owner, values)
        column = before
    counts = rows_by_code(column.codes, column.size, table.counts)
    rare = counts[values] < few
    group, values = group[owner[rare]], values[rare]
    # Candidates: all rows with one of the rare values.
    order = np.argsort(column.codes, kind="stable")
    starts = np.searchsorted(column.codes[order], np.arange(column.size + 1))
    rows = order[entries_of_rows(starts[values], starts[values + 1])]
    pair = np.repeat(np.arange(len(values)), starts[values + 1] - starts[values])
    # Keep the candidates that match the other cells of the group.
    fits = np.ones(len(rows), dtype=np.bool_)
    for other, (of_table, cells) in enumerate(zip(table.quasi_identifiers, recoding.columns, strict=True)):
        if other != place:
            fits &= _covers(cells, cells.group_codes[group[pair]], of_table.codes[rows].astype(np.int64), of_table.size)
    pair, rows = pair[fits], rows[fits]
    # A value singles out a record if it is the only match.
    records = rows_by_code(pair, len(values), None if table.counts is None else table.counts[rows])
    return np.asarray(rows[records[pair] == 1])


def _list_shown_values(
    column: Column, recoded: RecodedColumn, labels: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List the exact values that labels show (ends of intervals, or members of sets), and the label of each value."""
    domains = recoded.sub_domains
    if column.ordered:
        # Intervals show their two ends only.
        ends = np.stack((domains.first[domains.starts[labels]], domains.last[domains.starts[labels + 1] - 1]))
        return np.tile(np.arange(len(labels)), 2), ends.ravel().astype(np.int64)
    runs = np.repeat(np.arange(len(labels)), np.diff(domains.starts)[labels])
    chosen = entries_of_rows(domains.starts[labels], domains.starts[labels + 1])
    begin, stop = domains.first[chosen].astype(np.int64), domains.last[chosen].astype(np.int64) + 1
    return np.repeat(runs, stop - begin), entries_of_rows(begin, stop)


def _ends_of_classes(
    column: Column, before: Column, owner: NDArray[np.int64], values: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Replace classes by the codes of the least and the greatest value in each of them."""
    low, high = np.full(column.size, before.size, dtype=np.int64), np.full(column.size, -1, dtype=np.int64)
    np.minimum.at(low, column.codes, before.codes)
    np.maximum.at(high, column.codes, before.codes)
    if column.ordered:
        # An interval of several classes shows the low end of the first and the high end of the last one.
        first, last = np.split(values, 2)
        values = np.concatenate((low[first], high[last]))
    else:
        owner, values = np.tile(owner, 2), np.concatenate((low[values], high[values]))
    known = values < before.size - before.has_missing
    return owner[known], values[known]


def _covers(
    recoded: RecodedColumn, labels: NDArray[np.int32], codes: NDArray[np.int64], size: int
) -> NDArray[np.bool_]:
    """Test if each label represents the given code."""
    domains = recoded.sub_domains
    label_of_run = np.repeat(np.arange(len(domains.starts) - 1), np.diff(domains.starts))
    # The last run of the label that starts at or before the code.
    run = np.searchsorted(label_of_run * size + domains.first, labels.astype(np.int64) * size + codes, side="right") - 1
    return np.asarray((run >= domains.starts[labels]) & (codes <= domains.last[run]))
