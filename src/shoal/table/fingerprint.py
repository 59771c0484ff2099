"""The hash of a table's canonical form."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from shoal.table.encoding import Table

__all__ = ["fingerprint"]


def fingerprint(table: Table) -> str:
    """Return the SHA-256 of a table's canonical form, as hexadecimal text.

    The canonical form is, for every column in the order of its role, its role and name, its dictionary as text, and its
    codes as little-endian integers of four bytes; insensitive columns stand there as text. It does not depend on the
    file or frame that the table came from, but on the order of its rows.
    """
    digest = hashlib.sha256()
    for role, columns in (("quasi-identifier", table.quasi_identifiers), ("sensitive", table.sensitive)):
        for column in columns:
            digest.update(f"{role}\0{column.name}\0{column.size}\0".encode())
            _add_text(digest, column.dictionary)
            digest.update(column.codes.astype("<u4").tobytes())
    for series in table.insensitive.get_columns():
        digest.update(f"insensitive\0{series.name}\0".encode())
        _add_text(digest, series)
    return digest.hexdigest()


def _add_text(digest: hashlib._Hash, values: pl.Series) -> None:
    """Hash values as text, each behind its length; a missing one as the length -1."""
    import polars as pl

    text = values.cast(pl.String) if values.dtype != pl.Object else values.map_elements(str, return_dtype=pl.String)
    lengths = text.str.len_bytes().cast(pl.Int64).fill_null(-1).to_numpy()
    digest.update(lengths.astype("<i8").tobytes())
    digest.update("".join(text.fill_null("").to_list()).encode())
