"""The keyed hash of an input, which shows which table a release was made of to those who have the key."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from shoal.recoding import canonical_order
from shoal.table import encode, fingerprint, new_salt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from shoal.table import Schema, Table

__all__ = ["encoded_as_it_came", "input_hash"]


def input_hash(
    frame: pl.DataFrame,
    table: Table,
    salt: str | None = None,
    *,
    counts: NDArray[np.int64] | None = None,
    beside: Callable[[NDArray[np.int32]], Mapping[str, Callable[[], Iterable[pl.Series]]]] | None = None,
) -> tuple[str, str]:
    """Return the keyed hash of an input: of all of its rows, before any coarsening, without the direct identifiers.

    A release does not depend on the direct identifiers, so that its provenance can be shown with a copy of the table
    from which they were removed.

    Parameters
    ----------
    frame : polars.DataFrame
        The input.
    table : Table
        Its rows as they were before any coarsening, encoded, in any order; some may be left out.
    salt : str, optional
        The key, as hexadecimal digits; a new one by default.
    counts : int64 array, optional
        How many rows of the input each row of the frame stands for; one by default.
    beside : callable, optional
        Given the rows of the frame in their canonical order, returns the insensitive columns of the rows that they
        stand for, as `shoal.table.fingerprint` takes them.

    Returns
    -------
    digest, salt : str
    """
    salt = new_salt() if salt is None else salt
    if table.rows != frame.height:
        table = encoded_as_it_came(frame, table.schema, counts)
    table = replace(table, units=())  # a release shows nothing of them
    order = canonical_order(table) if table.rows_may_differ or beside is not None else None
    columns = {} if beside is None or order is None else beside(order)
    return fingerprint(table, order, key=bytes.fromhex(salt), extra_columns=columns), salt


def encoded_as_it_came(frame: pl.DataFrame, schema: Schema, counts: NDArray[np.int64] | None = None) -> Table:
    """Return the columns of an input that may be published, encoded before any coarsening."""
    published = replace(schema, direct_identifiers=(), units=())
    return replace(encode(frame[list(schema.published)], published), counts=counts)
