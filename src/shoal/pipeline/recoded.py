"""A recoded table: what each group of its entries publishes, and the published table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from shoal.io import DateForm
from shoal.recoding import compose, publish_frame

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal.algorithms import Partition
    from shoal.io import Forms
    from shoal.pipeline.prepare import Prepared
    from shoal.recoding import Recoding

__all__ = ["Recoded"]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Recoded:
    """A partition of a prepared table, and what each of its groups would publish. Nothing of it is verified yet."""

    prepared: Prepared
    partition: Partition
    recoding: Recoding
    """What every group publishes, in values of the prepared table; its sizes are rows of the input."""
    whole: Prepared
    """What was partitioned: `prepared` has its entries, so many rows of a cell in one group each."""
    cells: NDArray[np.integer]
    """The row of `whole` that each row of `prepared` is of."""
    parts: int = 1
    """In how many parts the groups were found."""

    @classmethod
    def of_rows(cls, prepared: Prepared, partition: Partition, recoding: Recoding) -> Recoded:
        """Return the recoding of a table whose rows were partitioned themselves."""
        cells = np.arange(prepared.table.rows)
        return cls(prepared=prepared, partition=partition, recoding=recoding, whole=prepared, cells=cells)

    @cached_property
    def composed(self) -> Recoding:
        """What every group publishes, in values of the original table: coarsening and recoding together."""
        return compose(self.prepared.original, self.prepared.table, self.recoding)

    @cached_property
    def forms(self) -> Forms:
        """How columns of text are written that became dates or numbers, by their cells that are published untouched.

        Whether days have a zero before them is what these show; a suppressed cell does not decide.
        """
        prepared, groups = self.prepared, self.partition.groups
        forms, came = dict(prepared.opened.forms), prepared.opened.as_it_came
        for column in self.recoding.columns:
            form = forms.get(column.name)
            if isinstance(form, DateForm):
                kept = column.kept[groups] & (column.name not in prepared.encoded.before)
                forms[column.name] = form.spelled_as(came.get_column(column.name).gather(prepared.rows[kept]))
        return forms

    def published(self) -> tuple[pl.DataFrame, NDArray[np.integer]]:
        """Return the published table with each entry once, and the row of `prepared` that each of its rows is of."""
        prepared, groups = self.prepared, self.partition.groups
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
        order = np.argsort(prepared.rows[entries])
        return frame[order], entries[order]

    def __repr__(self) -> str:
        return f"Recoded(rows={self.recoding.rows}, groups={self.partition.count})"
