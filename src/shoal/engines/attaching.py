"""Attach insensitive columns to the release of a streamed table.

The cells of the table are published first. Then the table is read once more, and each row is assigned at random to one
of the published forms of its cell, as often as the cell has each form. In memory a row takes the values of its
insensitive columns and a few 32-bit numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.progress import Clock
from shoal.engines.sources import Streamed
from shoal.errors import DataError, InternalError, ReleaseUnsafeError
from shoal.findings import insensitive_warnings
from shoal.pipeline.input_hash import compute_input_hash, encode_raw
from shoal.pipeline.memory_budget import MemoryBudget
from shoal.pipeline.prepare import PreparedTable
from shoal.pipeline.recoded import RecodedTable
from shoal.release.release import Release
from shoal.release.streamed_rows import AttachedColumns, StreamedRows
from shoal.table import Schema
from shoal.table.cells_kernel import order_of_cells, shuffle_parts
from shoal.table.compressed import entries_of_rows
from shoal.table.counts import windows
from shoal.verification import RowSums

_BLOCK = 1 << 21
"""Rows sorted or shuffled at a time; more if a single cell has more."""


_HASHED = 1 << 18
"""Rows converted to text at a time for the hash."""


def with_values(
    release: Release, recoded: RecodedTable, source: Streamed, schema: Schema, budget: MemoryBudget, clock: Clock
) -> Release:
    """Add the insensitive columns of a table to the release of its cells.

    Rows are sorted by their published cells and then by their insensitive values. The row of a cell that gets each of
    its forms is drawn with the random generator of the request, from an order that does not depend on the input's.

    Parameters
    ----------
    release : Release
        The verified release of the cells, without insensitive columns.
    recoded : RecodedTable
        The recoding that the release was made from.
    source : Streamed
    schema : Schema
        The roles of the columns, with insensitive ones.
    budget : MemoryBudget
    clock : Clock
        Measures the steps "recode", "verify" and "certify".

    Raises
    ------
    DataError
        If the values do not fit into the memory, or the table has changed since it was counted.
    ReleaseUnsafeError
        If the rows of the release differ from those of the table.
    """
    whole, names = recoded.whole, schema.insensitive
    named = dict.fromkeys(schema.quasi_identifiers + schema.sensitive + schema.owner_columns)
    cells = whole.opened.raw_frame[list(named)]
    counts, store = whole.opened.counts, release.store
    assert isinstance(store, StreamedRows)  # of a table that was read in pieces
    cell_of_run = whole.rows[recoded.cells[np.asarray(release.rows)]]
    # Read the cell and the insensitive values of each row, and sort the rows of each cell by value.
    with clock.step("recode"):
        forms, several = _forms(release.published, store.counts)
        largest = max(int(counts.max()), int(np.diff(forms)[several].max(initial=0)))
        source.check_values(names, budget, largest=largest)
        of_row, values = source.values(cells, names)
        # Counts that differ from the first pass mean that the file has changed.
        if not np.array_equal(np.bincount(of_row, minlength=len(counts)), counts):
            raise DataError("The table was changed while it was read. Nothing was published: start once more.")
        starts = _starts(counts)
        order = order_of_cells(of_row, starts.astype(np.int32))
        del of_row
        _sort_within(values, order, starts)
    with ThreadPoolExecutor(max_workers=1) as pool:  # the hash keeps one core busy
        hashing = pool.submit(_hash, release, whole, values, order, starts)
        with clock.step("recode"):
            places = _drawn(cell_of_run, store.counts, order, starts, whole.rng)
        # Checksums over whole rows: the assignment must reproduce the rows of the table, read once more.
        with clock.step("verify"):
            sums = RowSums()
            meant = sums.of_cells(cells[cell_of_run], store.counts, values, places)
            if sums.of_rows(source.pieces(cells.columns, names, present=_present(whole, schema))) != meant:
                raise _untrue()
            drawn = sums.of_cells(release.published, store.counts, None, places)
        # Sorting within a form must not move a value to another form, which the second checksum verifies.
        with clock.step("recode"):
            _sort_forms(values, places, forms, several)
        with clock.step("verify"):
            if sums.of_cells(release.published, store.counts, None, places) != drawn:
                raise _untrue()
        with clock.step("certify"):
            # The order of the input's rows is no longer needed, so its memory is freed.
            digest = hashing.result()
    del order
    with clock.step("certify"):
        # Warnings about the insensitive columns consider the published rows only.
        shown = values if len(places) == values.height else values[places]
        # In the order of the in-memory engine: warnings based on the original table come last.
        private = [one for one in release.warnings if not one.kind.public]
        public = [one for one in release.warnings if one.kind.public]
        runs = np.repeat(np.arange(len(store.counts)), store.counts)
        sensitive = [release.published[name].gather(runs) for name in schema.sensitive]
        # All columns are judged together once, with the insensitive ones.
        public = [one for one in public if one.found.code != "own_together"]
        remarks = (*public, *insensitive_warnings(shown, sensitive), *private)
    said = {**release.certificate.input, "insensitive": list(names), "sha256": digest}
    certificate = replace(release.certificate, input=said, warnings=remarks, seconds=clock.seconds())
    store = replace(store, attached=AttachedColumns(values=values, places=places))
    return replace(release, store=store, schema=schema, certificate=certificate)


def _untrue() -> ReleaseUnsafeError:
    return ReleaseUnsafeError(
        "The rows of the release do not have the insensitive values of the rows of the table that they stand for. "
        "Nothing was published. If the table was not changed in the meantime, this is a bug in shoal: please report it."
    )


def _present(whole: PreparedTable, schema: Schema) -> tuple[str, ...]:
    """Return the columns in which a missing value excludes the row."""
    return () if whole.request.missing_sensitive == "value" else schema.sensitive


def _starts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Compute the start of each part from the numbers of rows, and the end of the last part."""
    starts = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


def _forms(shown: pl.DataFrame, counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Find the start of the rows of each published form, and the forms that several cells share.

    Equal published rows are adjacent. The rows of a single cell are sorted already.
    """
    new = np.zeros(shown.height, dtype=np.bool_)
    new[0] = True
    for column in shown:
        # A form starts wherever a column changes.
        new[1:] |= np.diff(column.rle_id().to_numpy()) != 0
    first = np.flatnonzero(new)
    return _starts(counts)[np.append(first, len(new))], np.diff(first, append=len(new)) > 1


def _sort_forms(
    values: pl.DataFrame, places: NDArray[np.int32], starts: NDArray[np.int64], several: NDArray[np.bool_]
) -> None:
    """Sort by value, in place, the rows of forms that several cells share."""
    begins, ends = starts[:-1][several], starts[1:][several]
    rows = entries_of_rows(begins, ends)
    some = places[rows]
    _sort_within(values, some, _starts(ends - begins))
    places[rows] = some


def _sort_within(values: pl.DataFrame, order: NDArray[np.int32], starts: NDArray[np.int64]) -> None:
    """Sort the rows of each part of an order by value, in place; missing values come first.

    Tied rows have identical values, so no trace of their original order remains.
    """
    first, parts = 0, len(starts) - 1
    while first < parts:
        # As many whole parts as fit into a block, at least one.
        last = max(int(np.searchsorted(starts, starts[first] + _BLOCK, side="right")) - 1, first + 1)
        begin, end = int(starts[first]), int(starts[last])
        if end - begin > 1:
            # Sort by part first, so that one sort serves all parts of the block.
            rows = order[begin:end]
            part = np.repeat(np.arange(last - first, dtype=np.uint32), np.diff(starts[first : last + 1]))
            keys = [pl.Series("part", part)]
            for at, column in enumerate(values[rows]):
                keys.append(column.alias(str(at)))
                if column.dtype.is_float():  # -0.0 and 0.0 are equal but are written differently
                    keys.append(pl.Series(f"{at} negative", np.signbit(column.to_numpy())))
            sorting = pl.DataFrame(keys)
            order[begin:end] = rows[sorting.select(pl.arg_sort_by(sorting.columns)).to_series().to_numpy()]
        first = last


def _hash(
    release: Release, whole: PreparedTable, values: pl.DataFrame, order: NDArray[np.int32], starts: NDArray[np.int64]
) -> str:
    """Compute the salted hash of the input, identical to that of the in-memory engine."""
    opened = whole.opened

    def extra_columns(cells: NDArray[np.integer]) -> dict[str, Callable[[], Iterator[pl.Series]]]:
        passed = _starts(np.diff(starts)[cells])[:-1]

        def pieces(name: str) -> Iterator[pl.Series]:
            for number, (some, times) in enumerate(windows(np.diff(starts)[cells], _HASHED)):
                # Some rows of the first cell of a window may belong to the window before.
                begins = starts[cells[some]] + np.maximum(number * _HASHED - passed[some], 0)
                yield values[name].gather(order[entries_of_rows(begins, begins + times)])

        return {name: partial(pieces, name) for name in values.columns}

    encoded = encode_raw(opened.raw_frame, whole.request.schema, opened.counts)
    return compute_input_hash(
        opened.raw_frame, encoded, release.salt, counts=opened.counts, extra_columns=extra_columns
    )[0]


def _drawn(
    cell_of_run: NDArray[np.integer],
    times: NDArray[np.int64],
    order: NDArray[np.int32],
    starts: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.int32]:
    """Assign the rows of each cell at random to its runs; return the rows of all runs in order.

    Parameters
    ----------
    cell_of_run : integer array
    times : int64 array
        Number of rows of each run.
    order : int32 array
        The rows of the table, grouped by cell.
    starts : int64 array
        Start of each cell in `order`.
    rng : Generator
    """
    # For each row of a cell, the run that it belongs to, before shuffling.
    by_cell = np.argsort(cell_of_run, kind="stable")
    runs = np.repeat(by_cell.astype(np.int32), times[by_cell])
    cells, first = np.unique(cell_of_run[by_cell], return_index=True)
    ends = np.cumsum(times[by_cell])
    last = np.append(first[1:], len(by_cell)) - 1
    begins, ends = ends[first] - times[by_cell][first], ends[last]
    if not np.array_equal(ends - begins, starts[cells + 1] - starts[cells]):
        raise InternalError("a plan has other rows of a cell than the table")
    # Only cells with several runs need random numbers; they are shuffled in blocks.
    several = last > first
    begins, ends = begins[several], ends[several]
    done = 0
    while done < len(begins):
        until = max(int(np.searchsorted(np.cumsum(ends[done:] - begins[done:]), _BLOCK, side="right")), 1) + done
        parts = slice(done, until)
        draws = rng.random(int((ends[parts] - begins[parts] - 1).sum()))
        shuffle_parts(runs, begins[parts], ends[parts], draws)
        done = until
    # Cells that are not published have no runs.
    if len(runs) < len(order):
        order = order[entries_of_rows(starts[cells], starts[cells + 1])]
    return np.asarray(order[order_of_cells(runs, _starts(times).astype(np.int32))])
