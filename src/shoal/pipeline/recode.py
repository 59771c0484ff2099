"""Recode the groups of a partition: what each of them publishes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import InternalError
from shoal.pipeline.recoded import Recoded
from shoal.pipeline.units import first_rows_of_units
from shoal.recoding import recode
from shoal.table.counts import rows_by_code

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal._core.progress import Clock
    from shoal.pipeline.partition import Partitioned
    from shoal.recoding import Recoding

__all__ = ["recode_groups"]


def recode_groups(found: Partitioned, clock: Clock) -> Recoded:
    """Recode the groups of a partition, and merge those that publish the same.

    Parameters
    ----------
    found : Partitioned
    clock : Clock
        Measures the step "recode".
    """
    prepared, counts = found.prepared, found.counts
    request, table, groups = prepared.request, prepared.table, found.partition.groups
    with clock.step("recode"):
        recoding = recode(
            table.entries(found.cells, counts),
            groups,
            found.partition.count,
            method=request.recoding,
            star=request.star,
            hierarchies=prepared.encoded.trees,
            least=found.partition.least,
            largest_set=request.largest_set,
            shared_by=request.shared_by,
            counted=_one_row_of_each_unit(found),
            coarse=prepared.coarse,
        )
        recoding = replace(recoding, sizes=rows_by_code(groups, found.partition.count, counts))
        if not table.has_unit_counts:
            found, recoding = _merged(found, recoding)
        if not np.array_equal(rows_by_code(found.cells, table.rows, found.counts), prepared.counts):
            raise InternalError("a plan has other rows than the table")
        return Recoded(
            prepared=prepared.entries(found.cells, found.counts),
            partition=found.partition,
            recoding=recoding,
            whole=prepared,
            cells=found.cells,
            parts=found.parts,
        )


def _one_row_of_each_unit(found: Partitioned) -> NDArray[np.bool_] | None:
    """Mark an entry of each protected unit, so that ends of intervals are shared by units; None if there are none."""
    prepared = found.prepared
    units = [column.codes[found.cells] for column in prepared.table.units]
    return first_rows_of_units(units, prepared.rows[found.cells]) if units else None


def _merged(found: Partitioned, recoding: Recoding) -> tuple[Partitioned, Recoding]:
    """Merge groups that publish the same: readers cannot tell them apart.

    Algorithms that make small groups leave nearly as many entries as there are rows; few of them publish anything
    that others do not.
    """
    import polars as pl

    classes, partition = recoding.classes, found.partition
    keys = found.cells * np.int64(classes.count) + classes.of_group[partition.groups]
    # There are many entries and few keys: a table of these takes less memory than sorting those.
    summed = pl.DataFrame({"key": keys, "rows": found.counts}).group_by("key").agg(pl.col("rows").sum()).sort("key")
    cells, groups = np.divmod(summed["key"].to_numpy(), classes.count)
    counts = summed["rows"].to_numpy()
    chosen = classes.representatives
    columns = tuple(
        replace(
            column,
            group_codes=column.group_codes[chosen],
            kept=column.kept[chosen],
            stars=column.stars[chosen],
            penalty=column.penalty[chosen],
            levels=None if column.levels is None else column.levels[chosen],
        )
        for column in recoding.columns
    )
    merged = replace(recoding, columns=columns, sizes=classes.sizes)
    if (merged.stars, merged.recoded_cells) != (recoding.stars, recoding.recoded_cells):
        return found, recoding  # cells that read alike lose different things: they stay apart
    partition = replace(partition, groups=groups.astype(np.int32), count=classes.count, least=None)
    return replace(found, cells=cells, counts=counts, partition=partition), merged
