"""A recoded table: the published cells of each group, and the published table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.algorithms.base import Partition
from shoal.io import DateForm, Forms
from shoal.pipeline.prepare import PreparedTable
from shoal.recoding import Recoding, compose, publish_frame


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class RecodedTable:
    """A partition of a prepared table and the published cells of each group, not yet verified."""

    prepared: PreparedTable
    partition: Partition
    recoding: Recoding
    """The published cells of each group, as values of the prepared table; its sizes count rows of the input."""
    whole: PreparedTable
    """The table that was partitioned. The rows of `prepared` are its entries: some rows of a cell in one group."""
    cells: NDArray[np.integer]
    """Index of the row of `whole` (its cell) for each row of `prepared`."""
    parts: int = 1
    """Number of parts that were partitioned separately."""

    @classmethod
    def of_rows(cls, prepared: PreparedTable, partition: Partition, recoding: Recoding) -> RecodedTable:
        """Create the recoding of a table whose rows themselves were partitioned."""
        cells = np.arange(prepared.table.rows)
        return cls(prepared=prepared, partition=partition, recoding=recoding, whole=prepared, cells=cells)

    @cached_property
    def composed(self) -> Recoding:
        """The published cells of each group, as values of the original table: coarsening and recoding composed."""
        return compose(self.prepared.original, self.prepared.table, self.recoding)

    @cached_property
    def forms(self) -> Forms:
        """Written forms of text columns that became dates or numbers, by the cells that are published unchanged.

        These cells determine whether days have a leading zero, and how a number is spelled. A suppressed cell has no
        influence.
        """
        prepared, groups = self.prepared, self.partition.groups
        forms, raw = dict(prepared.opened.forms), prepared.opened.raw_frame
        for column in self.recoding.columns:
            form = forms.get(column.name)
            # Most numbers have one spelling.
            if isinstance(form, DateForm) or (form is not None and form.spelled):
                kept = column.kept[groups] & (column.name not in prepared.encoded.before)
                forms[column.name] = form.spelled_as(raw.get_column(column.name).gather(prepared.rows[kept]))
        return forms

    def published(self) -> tuple[pl.DataFrame, NDArray[np.integer]]:
        """Create the published table with one row per entry; return it with the index of each row in `prepared`."""
        prepared, groups = self.prepared, self.partition.groups
        # In this table sizes count entries, so that each entry is published once.
        frame, entries = publish_frame(
            prepared.table,
            replace(self.recoding, sizes=np.bincount(groups, minlength=self.partition.count)),
            groups,
            keep_order=prepared.request.keep_order,
            compact=True,
            forms=self.forms,
            automatic=prepared.encoded.automatic,
        )
        if not prepared.request.keep_order:
            return frame, entries
        # Restore the order of the input on request.
        order = np.argsort(prepared.rows[entries])
        return frame[order], entries[order]

    def __repr__(self) -> str:
        return f"RecodedTable(rows={self.recoding.rows}, groups={self.partition.count})"
