"""Insensitive columns of a table that is read in pieces: its rows get the published forms of their cells.

The cells of the table are published as ever. Then the table is read once more: each row has a cell, and each cell has
its forms, so many of each. Chance decides which row of a cell gets which of them. Nothing is held of a row but the
values of its insensitive columns and a few numbers of 32 bits.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import DataError, InternalError, ReleaseUnsafeError
from shoal.findings import insensitive_warnings
from shoal.pipeline.input_hash import encoded_as_it_came, input_hash
from shoal.release.streamed_rows import Beside, StreamedRows
from shoal.table.cells_kernel import order_of_cells, shuffle_parts
from shoal.table.compressed import entries_of_rows
from shoal.table.counts import windows
from shoal.verification import RowSums

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import polars as pl
    from numpy.typing import NDArray

    from shoal._core.progress import Clock
    from shoal.engines.sources import Streamed
    from shoal.pipeline.memory_budget import MemoryBudget
    from shoal.pipeline.prepare import Prepared
    from shoal.pipeline.recoded import Recoded
    from shoal.release.release import Release
    from shoal.table import Schema

__all__ = ["with_values"]

_BLOCK = 1 << 21
"""Rows that are put in order at a time, or more where one cell has more."""


_HASHED = 1 << 18
"""Rows whose values become text at a time."""


def with_values(
    release: Release, recoded: Recoded, source: Streamed, schema: Schema, budget: MemoryBudget, clock: Clock
) -> Release:
    """Publish the insensitive columns of a table beside the release of its cells.

    Rows are in the order of what they show: of the published cells, then of their insensitive values. Which row of a
    cell gets which of its forms is drawn by the source of randomness of the request, from rows in an order that tells
    nothing of how they came in.

    Parameters
    ----------
    release : Release
        The verified release of the cells, without insensitive columns.
    recoded : Recoded
        What it was made of.
    source : Streamed
    schema : Schema
        The roles of the columns, with insensitive ones.
    budget : MemoryBudget
    clock : Clock
        Measures the steps "recode", "verify" and "certify".

    Raises
    ------
    DataError
        The values do not fit into the memory, or the table is not the one any more that was counted.
    ReleaseUnsafeError
        The rows of the release are not those of the table.
    """
    whole, names = recoded.whole, schema.insensitive
    named = dict.fromkeys(schema.quasi_identifiers + schema.sensitive + schema.unit_columns)
    cells = whole.opened.as_it_came[list(named)]
    counts, store = whole.opened.counts, release.store
    assert isinstance(store, StreamedRows)  # of a table that was read in pieces
    cell_of_run = whole.rows[recoded.cells[np.asarray(release.rows)]]
    with clock.step("recode"):
        forms, several = _forms(release.published, store.counts)
        largest = max(int(counts.max()), int(np.diff(forms)[several].max(initial=0)))
        source.check_values(names, budget, largest=largest)
        of_row, values = source.values(cells, names)
        if not np.array_equal(np.bincount(of_row, minlength=len(counts)), counts):
            raise DataError("The table was changed while it was read. Nothing was published: start once more.")
        starts = _starts(counts)
        order = order_of_cells(of_row, starts.astype(np.int32))
        del of_row
        _sort_within(values, order, starts)
    with ThreadPoolExecutor(max_workers=1) as pool:  # what the hash takes is one core
        hashing = pool.submit(_hash, release, whole, values, order, starts)
        with clock.step("recode"):
            places = _drawn(cell_of_run, store.counts, order, starts, whole.rng)
        with clock.step("verify"):
            sums = RowSums()
            meant = sums.of_cells(cells[cell_of_run], store.counts, values, places)
            if sums.of_rows(source.pieces(cells.columns, names, present=_present(whole, schema))) != meant:
                raise _untrue()
            drawn = sums.of_cells(release.published, store.counts, None, places)
        with clock.step("recode"):
            _sort_forms(values, places, forms, several)
        with clock.step("verify"):
            if sums.of_cells(release.published, store.counts, None, places) != drawn:
                raise _untrue()
        with clock.step("certify"):
            digest = hashing.result()
    del order
    with clock.step("certify"):
        shown = values if len(places) == values.height else values[places]
        # In the order of a table in memory: what the original alone shows comes last.
        private = [one for one in release.warnings if not one.kind.public]
        public = [one for one in release.warnings if one.kind.public]
        remarks = (*public, *insensitive_warnings(shown), *private)
    said = {**release.certificate.input, "insensitive": list(names), "sha256": digest}
    certificate = replace(release.certificate, input=said, warnings=remarks, seconds=clock.seconds())
    store = replace(store, beside=Beside(values=values, places=places))
    return replace(release, store=store, schema=schema, certificate=certificate)


def _untrue() -> ReleaseUnsafeError:
    return ReleaseUnsafeError(
        "The rows of the release do not have the insensitive values of the rows of the table that they stand for. "
        "Nothing was published. If the table was not changed meanwhile, this is a bug in shoal: please report it."
    )


def _present(whole: Prepared, schema: Schema) -> tuple[str, ...]:
    """Return the columns whose rows are left out where they miss a value."""
    return () if whole.request.missing_sensitive == "value" else schema.sensitive


def _starts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each of some parts of so many rows starts, and where the last one ends."""
    starts = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


def _forms(shown: pl.DataFrame, counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return where the rows of each published form start, and which forms several cells have.

    What reads alike stands together. The rows of one cell are in order already.
    """
    new = np.zeros(shown.height, dtype=np.bool_)
    new[0] = True
    for column in shown:
        new[1:] |= np.diff(column.rle_id().to_numpy()) != 0
    first = np.flatnonzero(new)
    return _starts(counts)[np.append(first, len(new))], np.diff(first, append=len(new)) > 1


def _sort_forms(
    values: pl.DataFrame, places: NDArray[np.int32], starts: NDArray[np.int64], several: NDArray[np.bool_]
) -> None:
    """Put the rows of forms that several cells have into the order of their values, in place."""
    begins, ends = starts[:-1][several], starts[1:][several]
    rows = entries_of_rows(begins, ends)
    some = places[rows]
    _sort_within(values, some, _starts(ends - begins))
    places[rows] = some


def _sort_within(values: pl.DataFrame, order: NDArray[np.int32], starts: NDArray[np.int64]) -> None:
    """Put the rows of some parts of an order into the order of their values, missing ones first, in place.

    Rows that tie read alike, so that nothing of the order in which they were is left.
    """
    import polars as pl

    first, parts = 0, len(starts) - 1
    while first < parts:
        last = max(int(np.searchsorted(starts, starts[first] + _BLOCK, side="right")) - 1, first + 1)
        begin, end = int(starts[first]), int(starts[last])
        if end - begin > 1:
            rows = order[begin:end]
            part = np.repeat(np.arange(last - first, dtype=np.uint32), np.diff(starts[first : last + 1]))
            keys = [pl.Series("part", part)]
            for at, column in enumerate(values[rows]):
                keys.append(column.alias(str(at)))
                if column.dtype.is_float():  # -0.0 and 0.0 are equal but do not read alike
                    keys.append(pl.Series(f"{at} negative", np.signbit(column.to_numpy())))
            sorting = pl.DataFrame(keys)
            order[begin:end] = rows[sorting.select(pl.arg_sort_by(sorting.columns)).to_series().to_numpy()]
        first = last


def _hash(
    release: Release, whole: Prepared, values: pl.DataFrame, order: NDArray[np.int32], starts: NDArray[np.int64]
) -> str:
    """Return the hash of the input, as a table that is read as a whole has it, with the salt of the release."""
    opened = whole.opened

    def beside(cells: NDArray[np.integer]) -> dict[str, Callable[[], Iterator[pl.Series]]]:
        passed = _starts(np.diff(starts)[cells])[:-1]

        def pieces(name: str) -> Iterator[pl.Series]:
            for number, (some, times) in enumerate(windows(np.diff(starts)[cells], _HASHED)):
                # Of the first cell of a window, rows may be in the one before.
                begins = starts[cells[some]] + np.maximum(number * _HASHED - passed[some], 0)
                yield values[name].gather(order[entries_of_rows(begins, begins + times)])

        return {name: partial(pieces, name) for name in values.columns}

    encoded = encoded_as_it_came(opened.as_it_came, whole.request.schema, opened.counts)
    return input_hash(opened.as_it_came, encoded, release.salt, counts=opened.counts, beside=beside)[0]


def _drawn(
    cell_of_run: NDArray[np.integer],
    times: NDArray[np.int64],
    order: NDArray[np.int32],
    starts: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.int32]:
    """Draw which rows of its cell each run has, and return them run after run.

    Parameters
    ----------
    cell_of_run : integer array
    times : int64 array
        How many rows each run has.
    order : int32 array
        The rows of the table, cell after cell.
    starts : int64 array
        Where each cell starts among them.
    rng : Generator
    """
    by_cell = np.argsort(cell_of_run, kind="stable")
    runs = np.repeat(by_cell.astype(np.int32), times[by_cell])
    cells, first = np.unique(cell_of_run[by_cell], return_index=True)
    ends = np.cumsum(times[by_cell])
    last = np.append(first[1:], len(by_cell)) - 1
    begins, ends = ends[first] - times[by_cell][first], ends[last]
    if not np.array_equal(ends - begins, starts[cells + 1] - starts[cells]):
        raise InternalError("a plan has other rows of a cell than the table")
    several = last > first
    begins, ends = begins[several], ends[several]
    done = 0
    while done < len(begins):
        until = max(int(np.searchsorted(np.cumsum(ends[done:] - begins[done:]), _BLOCK, side="right")), 1) + done
        parts = slice(done, until)
        draws = rng.random(int((ends[parts] - begins[parts] - 1).sum()))
        shuffle_parts(runs, begins[parts], ends[parts], draws)
        done = until
    if len(runs) < len(order):
        order = order[entries_of_rows(starts[cells], starts[cells + 1])]
    return np.asarray(order[order_of_cells(runs, _starts(times).astype(np.int32))])
