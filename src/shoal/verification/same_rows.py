"""Check that cells with multiplicities are the rows of a table, by sums of keyed hashes instead of another count.

Rows with values of their own in addition to their cells are compared in the same way: those of a release with those of
its source table, and those of the written files with those of the release.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.threads import map_in_threads
from shoal.errors import ReleaseUnsafeError

_ROWS_PER_BLOCK = 1 << 20
"""Number of rows that are hashed at a time."""


def check_same_rows(cells: pl.DataFrame, times: NDArray[np.int64], table: pl.DataFrame) -> None:
    """Check that rows with multiplicities are the rows of a table in any order.

    Each row is hashed to 64 bits with a random key, and the hashes are added up, weighted by the multiplicities. Tables
    with other rows, or with a row more or less often, have the same sum with a probability of about one in 2**64.
    Nothing is grouped, sorted, encoded or counted, so an error in these steps cannot repeat itself here.

    Parameters
    ----------
    cells : polars.DataFrame
        The rows of the input that a release publishes.
    times : int64 array
        Multiplicity of each row.
    table : polars.DataFrame
        The input; only the columns with names of `cells` are compared.

    Raises
    ------
    ReleaseUnsafeError
        If the rows or their multiplicities differ.
    """
    # The keys are secret until now, so no table can be made to collide.
    key, other = secrets.randbits(64), secrets.randbits(64)
    same = times.shape == (cells.height,) and bool((times >= 1).all()) and int(times.sum()) == table.height
    if not same or _sum_hashes(cells, times, key, other) != _sum_hashes(table[cells.columns], None, key, other):
        raise ReleaseUnsafeError(
            "The rows that the release was made of are not those of the table: they were counted wrongly. Nothing was "
            "published. This is a bug in shoal: please report it."
        )


def _sum_hashes(rows: pl.DataFrame, times: NDArray[np.int64] | None, key: int, other: int) -> int:
    """Add up the hashes of rows modulo 2**64, weighted by their multiplicities."""
    total = 0
    for first in range(0, rows.height, _ROWS_PER_BLOCK):
        # Hashed twice, because the combination of columns is not mixed well enough for sums.
        hashes = rows[first : first + _ROWS_PER_BLOCK].hash_rows(key).hash(other).to_numpy()
        if times is not None:
            hashes = hashes * times[first : first + _ROWS_PER_BLOCK].astype(np.uint64)
        total += int(hashes.sum(dtype=np.uint64))
    return total % 2**64


@dataclass(frozen=True, repr=False)
class RowSums:
    """Sums of keyed hashes of rows that consist of a cell, which many rows share, and values of their own.

    Tables with other rows, with a row more or less often, or with the values of one row next to the cell of another,
    have the same sum with a probability of about one in 2**64, because the keys are random. Nothing is grouped, sorted
    or joined. Declared categories are compared as text.
    """

    keys: tuple[int, ...] = field(default_factory=lambda: tuple(secrets.randbits(64) for _ in range(4)))
    """Random keys: one for cells, one for values, and two for the combination."""

    def of_cells(
        self,
        cells: pl.DataFrame,
        times: NDArray[np.int64],
        values: pl.DataFrame | None,
        places: NDArray[np.integer],
    ) -> tuple[int, int]:
        """Sum the hashes of rows given as cells with multiplicities; return the number of rows and the sum.

        Parameters
        ----------
        cells : polars.DataFrame
        times : int64 array
            Number of rows of each cell.
        values : polars.DataFrame, optional
            If None, the positions themselves are compared.
        places : integer array
            The row of `values` of each row, cell after cell.
        """
        ends = np.cumsum(times)
        begins = ends - times
        hashes, rows = self._hashed(cells, self.keys[0]), int(times.sum())
        if len(places) != rows:
            return len(places), -1  # no rows have this sum

        # A block may begin and end within the rows of a cell; threads share the blocks.
        def summed(first: int) -> int:
            last = min(first + _ROWS_PER_BLOCK, rows)
            low, high = np.searchsorted(ends, [first, last - 1], side="right")
            some = slice(int(low), int(high) + 1)
            here = np.minimum(ends[some], last) - np.maximum(begins[some], first)
            held = places[first:last]
            beside = pl.DataFrame({"place": held}) if values is None else values[held]
            return self._sum(np.repeat(hashes[some], here), self._hashed(beside, self.keys[1]))

        return len(places), sum(map_in_threads(summed, range(0, rows, _ROWS_PER_BLOCK))) % 2**64

    def of_rows(self, pieces: Iterable[tuple[pl.DataFrame, pl.DataFrame]]) -> tuple[int, int]:
        """Sum the hashes of rows given in chunks of cells and values; return the number of rows and the sum."""
        rows, total = 0, 0
        for cells, values in pieces:
            rows += cells.height
            total += self._sum(self._hashed(cells, self.keys[0]), self._hashed(values, self.keys[1]))
        return rows, total % 2**64

    def _sum(self, cells: NDArray[np.uint64], values: NDArray[np.uint64]) -> int:
        # Hashed twice, as in `_sum_hashes`.
        mixed = pl.DataFrame({"cells": cells, "values": values}).hash_rows(self.keys[2]).hash(self.keys[3])
        return int(mixed.to_numpy().sum(dtype=np.uint64))

    def _hashed(self, rows: pl.DataFrame, key: int) -> NDArray[np.uint64]:
        text = (pl.Categorical, pl.Enum)
        # Categories have codes of their own in each table, so their text is hashed.
        plain = [
            (column.cast(pl.String) if column.dtype in text else column).alias(str(at))
            for at, column in enumerate(rows)
        ]
        return pl.DataFrame(plain).hash_rows(key).to_numpy()
