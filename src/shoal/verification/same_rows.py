"""Whether cells with counts are the rows of a table: compared by a sum of keyed hashes, not by counting once more."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import ReleaseUnsafeError

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

__all__ = ["check_same_rows"]

_BLOCK = 1 << 20
"""Rows that are hashed at a time."""


def check_same_rows(cells: pl.DataFrame, times: NDArray[np.int64], table: pl.DataFrame) -> None:
    """Check that some rows, each so many times, are the rows of a table in any order.

    A number of 64 bits is made of each row, by a hash whose key is drawn here, and these numbers are added up, those of
    the cells as often as each is published. Tables with other rows, or with a row more or less often, have the same sum
    with a probability of about one in 2**64, whatever made them: nothing is grouped, sorted, encoded or counted here.

    Parameters
    ----------
    cells : polars.DataFrame
        The rows of the input that a release publishes.
    times : int64 array
        How often it publishes each.
    table : polars.DataFrame
        The input; its columns of these names are compared.

    Raises
    ------
    ReleaseUnsafeError
        Where they are other rows, or other numbers of them.
    """
    key, other = secrets.randbits(64), secrets.randbits(64)
    same = times.shape == (cells.height,) and bool((times >= 1).all()) and int(times.sum()) == table.height
    if not same or _summed(cells, times, key, other) != _summed(table[cells.columns], None, key, other):
        raise ReleaseUnsafeError(
            "The rows that the release was made of are not those of the table: they were counted wrongly. Nothing was "
            "published. This is a bug in shoal: please report it."
        )


def _summed(rows: pl.DataFrame, times: NDArray[np.int64] | None, key: int, other: int) -> int:
    """Return the sum of the hashes of rows, modulo 2**64, each as often as it stands in the table."""
    total = 0
    for first in range(0, rows.height, _BLOCK):
        # Hashed twice: what comes of combining columns is not mixed well enough for sums.
        hashes = rows[first : first + _BLOCK].hash_rows(key).hash(other).to_numpy()
        if times is not None:
            hashes = hashes * times[first : first + _BLOCK].astype(np.uint64)
        total += int(hashes.sum(dtype=np.uint64))
    return total % 2**64
