"""The hash of a table's canonical form."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import DataError

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal.table.encoding import Table

__all__ = ["fingerprint"]


def fingerprint(table: Table) -> str:
    """Return the SHA-256 of a table's canonical form, as hexadecimal text.

    The canonical form is, for every column in the order of its role, its role and name, its values as text, each once
    (those of insensitive columns as often as they occur), and how many rows each stands for. It depends neither on the
    file or frame that the table came from nor on the order of its rows.

    Notes
    -----
    It does not tell which values stand in one row, and it must not: readers of a certificate know the
    quasi-identifiers of everybody from elsewhere, and the sensitive values of each group from the release. A hash of
    the rows would let them try every way to match the two within a group, and confirm the true one.
    """
    digest = hashlib.sha256()
    for role, columns in (("quasi-identifier", table.quasi_identifiers), ("sensitive", table.sensitive)):
        for column in columns:
            counts = np.bincount(column.codes, minlength=column.size)
            _add_column(digest, f"{role}\0{column.name}", _as_text(column.dictionary), counts)
    for series in table.insensitive.get_columns():
        text = _as_text(series).sort()
        _add_column(digest, f"insensitive\0{series.name}", text, np.ones(len(text), dtype=np.int64))
    return digest.hexdigest()


def _add_column(digest: hashlib._Hash, header: str, text: pl.Series, counts: NDArray[np.integer]) -> None:
    """Hash values, each behind its length (-1 for a missing one), and their counts."""
    import polars as pl

    digest.update(f"{header}\0{len(text)}\0".encode())
    lengths = text.str.len_bytes().cast(pl.Int64).fill_null(-1).to_numpy()
    digest.update(lengths.astype("<i8").tobytes())
    digest.update("".join(text.fill_null("").to_list()).encode())
    digest.update(counts.astype("<i8").tobytes())


def _as_text(values: pl.Series) -> pl.Series:
    import polars as pl

    if values.dtype == pl.Binary:
        return values.bin.encode("hex")
    if values.dtype.is_nested():
        return pl.Series([None if value is None else repr(value) for value in values.to_list()], dtype=pl.String)
    if values.dtype.is_object():
        raise DataError(f"The column '{values.name}' holds Python objects. Turn it into text, or leave it out.")
    return (values.to_physical() if values.dtype == pl.Duration else values).cast(pl.String)
