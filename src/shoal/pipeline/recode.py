"""Recode the groups of a partition: determine the cells that each group publishes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal._core.progress import Clock
from shoal.errors import InternalError
from shoal.pipeline.kept_rows import mark_first_rows
from shoal.pipeline.partition import PartitionedTable
from shoal.pipeline.recoded import RecodedTable
from shoal.recoding import Recoding, recode
from shoal.table.counts import rows_by_code


def recode_groups(found: PartitionedTable, clock: Clock) -> RecodedTable:
    """Recode the groups of a partition, and merge groups with equal published cells.

    Parameters
    ----------
    found : PartitionedTable
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
            counted=_mark_one_row_per_owner(found),
            coarse=prepared.coarse,
        )
        # Sizes count rows of the input, not entries.
        recoding = replace(recoding, sizes=rows_by_code(groups, found.partition.count, counts))
        if not table.has_unit_counts:
            found, recoding = _merge_equal_groups(found, recoding)
        # Every row of the input is in exactly one group.
        if not np.array_equal(rows_by_code(found.cells, table.rows, found.counts), prepared.counts):
            raise InternalError("a plan has other rows than the table")
        return RecodedTable(
            prepared=prepared.entries(found.cells, found.counts),
            partition=found.partition,
            recoding=recoding,
            whole=prepared,
            cells=found.cells,
            parts=found.parts,
        )


def _mark_one_row_per_owner(found: PartitionedTable) -> NDArray[np.bool_] | None:
    """Mark one entry of each owner, so that the ends of intervals are shared by owners; None without them."""
    prepared = found.prepared
    owners = [column.codes[found.cells] for column in prepared.table.owners]
    return mark_first_rows(owners, prepared.rows[found.cells]) if owners else None


def _merge_equal_groups(found: PartitionedTable, recoding: Recoding) -> tuple[PartitionedTable, Recoding]:
    """Merge groups with equal published cells, because readers cannot distinguish them.

    Algorithms with small groups return nearly as many entries as there are rows, but few different published rows.
    """
    import polars as pl

    classes, partition = recoding.classes, found.partition
    keys = found.cells * np.int64(classes.count) + classes.of_group[partition.groups]
    # There are many entries and few keys: a hash table of the keys takes less memory than sorting the entries.
    summed = pl.DataFrame({"key": keys, "rows": found.counts}).group_by("key").agg(pl.col("rows").sum()).sort("key")
    cells, groups = np.divmod(summed["key"].to_numpy(), classes.count)
    counts = summed["rows"].to_numpy()
    # Each class of equal groups keeps the recoding of one of them.
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
    # Equal cells may have different losses. Such groups stay apart.
    if (merged.stars, merged.recoded_cells) != (recoding.stars, recoding.recoded_cells):
        return found, recoding
    partition = replace(partition, groups=groups.astype(np.int32), count=classes.count, least=None)
    return replace(found, cells=cells, counts=counts, partition=partition), merged
