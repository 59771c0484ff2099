"""Columns that no model reads: an algorithm works without them, and they are placed afterwards.

Rows with the same quasi-identifiers are interchangeable for k-anonymity and for every other model that reads no
sensitive attribute. Without these columns there are fewer cells to search. A random assignment then decides which rows
of a class are in which of its groups.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.pipeline.prepare import PreparedTable
from shoal.pipeline.recoded import RecodedTable
from shoal.table import Table
from shoal.table.cells_kernel import shuffle_parts
from shoal.table.compressed import entries_of_rows

_MIN_ROWS_TO_DROP_COLUMNS = 1 << 17
"""Smaller tables are partitioned with all columns, which takes less than a second."""


def drop_unread_columns(prepared: PreparedTable) -> PreparedTable:
    """Drop the columns that no model reads, so that each row is a class; a table without any is unchanged.

    Parameters
    ----------
    prepared : PreparedTable

    Returns
    -------
    PreparedTable
        Its `detailed` is the table with these columns.
    """
    table, request = prepared.table, prepared.request
    unread = bool(table.sensitive) or bool(table.insensitive.width)
    # Owners need every row of a person, and small tables gain nothing.
    if request.requirement.reads_sensitive or table.owners or not unread or table.people < _MIN_ROWS_TO_DROP_COLUMNS:
        return prepared
    # The first row of each class represents all rows of the class.
    first, sizes = table.classes.order[_compute_class_starts(table)[:-1]], table.classes.class_sizes
    narrow = replace(request, sensitive=None, insensitive=(), algorithm=request.chosen, hierarchies=request.trees)
    encoded = prepared.encoded.entries(first, sizes)
    classes = replace(encoded.table, schema=narrow.schema, sensitive=(), insensitive=table.insensitive.clear().select())
    return replace(
        prepared,
        request=narrow,
        rows=prepared.rows[first],
        encoded=replace(encoded, table=classes),
        detailed=prepared,
    )


def place_unread_columns(recoded: RecodedTable) -> RecodedTable:
    """Assign the rows of a table to the groups of their classes; all assignments are equally likely.

    Parameters
    ----------
    recoded : RecodedTable
        A partition of the classes.

    Returns
    -------
    RecodedTable
        The same groups, of rows with all columns; `recoded` itself if no column was dropped.
    """
    classes, whole = recoded.whole, recoded.whole.detailed
    if whole is None:
        return recoded
    # Sort the entries by class.
    by_class = np.argsort(recoded.cells, kind="stable")
    group_of, times = recoded.partition.groups[by_class], recoded.prepared.counts[by_class]
    entries = np.bincount(recoded.cells, minlength=classes.table.rows)
    first = np.cumsum(entries) - entries
    rows, starts = whole.table.classes.order, _compute_class_starts(whole.table)
    # All rows of a class that is in one group belong to that group.
    of_class = np.repeat(np.arange(classes.table.rows), np.diff(starts))
    alone = entries[of_class] == 1
    kept = rows[alone], group_of[first[of_class[alone]]], whole.counts[rows[alone]]
    # The rows of each other class are shuffled, and assigned to its entries in turn.
    split = rows[~alone]
    dealt = np.repeat(split, whole.counts[split])
    ends = np.cumsum(classes.counts[entries > 1])
    begins = ends - classes.counts[entries > 1]
    shuffle_parts(dealt, begins, ends, whole.rng.random(len(dealt) - len(ends)))
    several = entries_of_rows(first[entries > 1], (first + entries)[entries > 1])
    cells, groups, counts = _sort_entries(
        np.concatenate((kept[0], dealt)),
        np.concatenate((kept[1], np.repeat(group_of[several], times[several]))),
        np.concatenate((kept[2], np.ones(len(dealt), dtype=np.int64))),
        recoded.partition.count,
    )
    return replace(
        recoded,
        prepared=whole.entries(cells, counts),
        partition=replace(recoded.partition, groups=groups),
        whole=whole,
        cells=cells,
    )


def _compute_class_starts(table: Table) -> NDArray[np.int32]:
    """Compute the start of each class among the rows in class order, and the end of the last one."""
    return table.classes.cell_starts[table.classes.class_starts]


def _sort_entries(
    cells: NDArray[np.integer], groups: NDArray[np.integer], counts: NDArray[np.int64], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Sort entries by cell and group, and add up the counts of equal entries; return cells, groups and counts."""
    keys = cells.astype(np.int64) * count + groups
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], counts[order]
    begin = np.flatnonzero(np.diff(keys, prepend=-1))
    return keys[begin] // count, (keys[begin] % count).astype(np.int32), np.add.reduceat(counts, begin)
