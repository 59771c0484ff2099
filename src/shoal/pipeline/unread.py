"""Columns that no model reads: an algorithm works on the quasi-identifiers, and these columns are placed afterwards.

Rows with the same quasi-identifiers are interchangeable for k-anonymity and every other model that reads no sensitive
attribute. Fewer cells are searched then, and chance decides which rows of a class are in which of its groups.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shoal.table.cells_kernel import shuffle_parts
from shoal.table.compressed import entries_of_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.pipeline.prepare import Prepared
    from shoal.pipeline.recoded import Recoded
    from shoal.table import Table

__all__ = ["place_unread_columns", "without_unread_columns"]

_MANY_ROWS = 1 << 17
"""Smaller tables are partitioned with all columns: that takes less than a second."""


def without_unread_columns(prepared: Prepared) -> Prepared:
    """Drop the columns that no model reads, so that each row of the table is a class; the same table if there are none.

    Parameters
    ----------
    prepared : Prepared

    Returns
    -------
    Prepared
        Its `detailed` is the table with these columns.
    """
    table, request = prepared.table, prepared.request
    unread = bool(table.sensitive) or bool(table.insensitive.width)
    of_units = bool(table.units) or bool(request.link)
    if request.requirement.reads_sensitive or of_units or not unread or table.people < _MANY_ROWS:
        return prepared
    first, sizes = table.classes.order[_starts_of_classes(table)[:-1]], table.classes.class_sizes
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


def place_unread_columns(recoded: Recoded) -> Recoded:
    """Put the rows of a table into the groups of their classes, all assignments equally likely.

    Parameters
    ----------
    recoded : Recoded
        A partition of the classes.

    Returns
    -------
    Recoded
        The same groups, of rows with all columns; `recoded` itself if none was dropped.
    """
    classes, whole = recoded.whole, recoded.whole.detailed
    if whole is None:
        return recoded
    # The entries of each class stand together, in the order of the classes.
    by_class = np.argsort(recoded.cells, kind="stable")
    group_of, times = recoded.partition.groups[by_class], recoded.prepared.counts[by_class]
    entries = np.bincount(recoded.cells, minlength=classes.table.rows)
    first = np.cumsum(entries) - entries
    rows, starts = whole.table.classes.order, _starts_of_classes(whole.table)
    # Classes of one group need no chance.
    of_class = np.repeat(np.arange(classes.table.rows), np.diff(starts))
    alone = entries[of_class] == 1
    kept = rows[alone], group_of[first[of_class[alone]]], whole.counts[rows[alone]]
    # The rows of each other class are shuffled, and dealt out to its entries one after another.
    split = rows[~alone]
    dealt = np.repeat(split, whole.counts[split])
    ends = np.cumsum(classes.counts[entries > 1])
    begins = ends - classes.counts[entries > 1]
    shuffle_parts(dealt, begins, ends, whole.rng.random(len(dealt) - len(ends)))
    several = entries_of_rows(first[entries > 1], (first + entries)[entries > 1])
    cells, groups, counts = _sorted_entries(
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


def _starts_of_classes(table: Table) -> NDArray[np.int32]:
    """Find where each class starts among the rows in the order of the classes, and where the last one ends."""
    return table.classes.cell_starts[table.classes.class_starts]


def _sorted_entries(
    cells: NDArray[np.integer], groups: NDArray[np.integer], counts: NDArray[np.int64], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Sort entries by cell and group, and add up those that are the same; return cells, groups and counts."""
    keys = cells.astype(np.int64) * count + groups
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], counts[order]
    begin = np.flatnonzero(np.diff(keys, prepend=-1))
    return keys[begin] // count, (keys[begin] % count).astype(np.int32), np.add.reduceat(counts, begin)
