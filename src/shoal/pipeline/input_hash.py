"""The keyed hash of an input: it proves to holders of the key from which table a release was made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.recoding import canonical_order
from shoal.table import Schema, Table, encode, fingerprint, new_salt


def compute_input_hash(
    frame: pl.DataFrame,
    table: Table,
    salt: str | None = None,
    *,
    counts: NDArray[np.int64] | None = None,
    extra_columns: Callable[[NDArray[np.int32]], Mapping[str, Callable[[], Iterable[pl.Series]]]] | None = None,
) -> tuple[str, str]:
    """Compute the keyed hash of an input: of all of its rows before coarsening, without the direct identifiers.

    A release does not depend on the direct identifiers. Therefore its provenance can be proven with a copy of the table
    from which they were removed.

    Parameters
    ----------
    frame : polars.DataFrame
        The input.
    table : Table
        Its rows before any coarsening, encoded, in any order; rows may be missing.
    salt : str, optional
        The key, as hexadecimal digits; a new one by default.
    counts : int64 array, optional
        Number of rows of the input that each row of the frame represents; one by default.
    extra_columns : callable, optional
        Takes the rows of the frame in canonical order, and returns the insensitive columns of the rows that they
        represent (see `shoal.table.fingerprint`).

    Returns
    -------
    digest, salt : str
    """
    salt = new_salt() if salt is None else salt
    if table.rows != frame.height:
        table = encode_raw(frame, table.schema, counts)
    # Owners are not published, so the hash does not depend on them. Without owners the table's classes are known.
    if table.owners:
        table = replace(table, owners=())
    # The canonical order matters only if rows of one cell may differ.
    order = canonical_order(table) if table.rows_may_differ or extra_columns is not None else None
    columns = {} if extra_columns is None or order is None else extra_columns(order)
    return fingerprint(table, order, key=bytes.fromhex(salt), extra_columns=columns), salt


def encode_raw(frame: pl.DataFrame, schema: Schema, counts: NDArray[np.int64] | None = None) -> Table:
    """Encode the publishable columns of an input before any coarsening."""
    published = replace(schema, direct_identifiers=(), kinds=())
    return replace(encode(frame[list(schema.published)], published), counts=counts)
