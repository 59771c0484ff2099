"""The keyed hash of the canonical form of a table."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.table.counts import windows
from shoal.table.encoding import Table

_NOTHING: Mapping[str, Callable[[], Iterable[pl.Series]]] = MappingProxyType({})

_WINDOW = 1 << 22
"""Number of rows whose codes are hashed at a time, if rows have multiplicities."""
_FEW = 1 << 16
"""Largest number of values whose text is joined in Python; for more, Arrow's buffers are worth its import time."""
KEYED = "HMAC-SHA-256 of the canonical form of the input's rows, with the salt in salt.txt as its key"
"""Description of the hash of the input in certificates."""


def new_salt() -> str:
    """Generate a key for one hash: 32 random bytes of the operating system, as hexadecimal digits."""
    return secrets.token_hex(32)


def fingerprint(
    table: Table,
    order: NDArray[np.integer] | None = None,
    *,
    key: bytes,
    extra_columns: Mapping[str, Callable[[], Iterable[pl.Series]]] = _NOTHING,
) -> str:
    """Compute the keyed hash of a table's canonical form, as 64 hexadecimal digits.

    The canonical form consists of the role, the name and the distinct values as text of every column, in the order of
    roles, followed by the combinations of values of all rows in a canonical order. It depends neither on the file or
    frame from which the table was read nor on the order of its rows.

    Parameters
    ----------
    table : Table
        The table.
    order : int array of shape (rows,), optional
        The rows in an order that depends on their cells alone (`shoal.recoding.canonical_order`). It is not needed if
        the quasi-identifiers and one sensitive attribute are the only columns.
    key : bytes
        The key. Without it, the hash discloses nothing; with it, candidate tables can be tested.
    extra_columns : mapping of str to callable, optional
        Insensitive columns that are not in the table: each function returns the values of all rows in parts, in the
        canonical order of the rows. It is called twice.

    References
    ----------
    H. Krawczyk, M. Bellare and R. Canetti, "HMAC: Keyed-hashing for message authentication", RFC 2104.
    """
    form = hmac.new(key, digestmod=hashlib.sha256)
    # Dictionaries of all columns, by role.
    columns = [("quasi-identifier", column) for column in table.quasi_identifiers]
    columns += [("sensitive", column) for column in table.sensitive]
    for role, column in columns:
        _add_text(form, f"{role}\0{column.name}", _as_text(column.dictionary))
    # Codes of all rows, or of one row per cell with its count.
    by_cell = order is None
    if order is None:  # rows of one cell are alike: each once, and how many they are
        order = table.classes.first_rows
        form.update(f"cells\0{len(order)}\0".encode())
        form.update(table.classes.cell_counts.astype("<i4").tobytes())
    else:
        form.update(f"rows\0{table.people}\0".encode())
    for _, column in columns:
        codes = column.codes[order].astype(f"<u{column.codes.itemsize}")
        if by_cell or table.counts is None:
            form.update(codes.tobytes())
        else:
            for cells, times in windows(table.counts[order], _WINDOW):
                form.update(np.repeat(codes[cells], times).tobytes())
    # Insensitive columns have no dictionary; their values follow row by row.
    if table.insensitive.width and table.counts is not None:
        order = np.repeat(order, table.counts[order])
    for series in table.insensitive.get_columns():
        _add_text(form, f"insensitive\0{series.name}", _as_text(series.gather(order)))
    for name, pieces in extra_columns.items():
        _add_pieces(form, f"insensitive\0{name}", table.people, partial(_texts, pieces))
    return form.hexdigest()


def _texts(pieces: Callable[[], Iterable[pl.Series]]) -> Iterable[pl.Series]:
    return map(_as_text, pieces())


def _add_text(form: hmac.HMAC, header: str, text: pl.Series) -> None:
    """Hash values, each preceded by its length (-1 if missing)."""
    _add_pieces(form, header, len(text), lambda: [text])


def _add_pieces(form: hmac.HMAC, header: str, count: int, pieces: Callable[[], Iterable[pl.Series]]) -> None:
    """Hash values that come in parts: first the lengths of all values, then their text."""
    form.update(f"{header}\0{count}\0".encode())
    for text in pieces():
        lengths = text.str.len_bytes()
        lengths = lengths.cast(pl.Int64).fill_null(-1) if text.null_count() else lengths
        form.update(lengths.to_numpy().astype("<i8").tobytes())
    for text in pieces():
        written = text.fill_null("") if text.null_count() else text
        if len(written) <= _FEW:
            form.update("".join(written).encode())
            continue
        # Values of the oldest layout are contiguous in the third buffer.
        content = written.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest()).buffers()[2]
        form.update(memoryview(content)[: int(written.str.len_bytes().sum())])


def _as_text(values: pl.Series) -> pl.Series:
    # Types without a cast to text have a notation of their own.
    if values.dtype == pl.Binary:
        return values.bin.encode("hex")
    if isinstance(values.dtype, pl.BaseExtension):
        return _as_text(values.ext.storage())
    if values.dtype.is_nested():
        return pl.Series([None if value is None else repr(value) for value in values.to_list()], dtype=pl.String)
    if values.dtype.is_object():
        raise DataError(f"The column '{values.name}' holds Python objects. Turn it into text, or leave it out.")
    return (values.to_physical() if values.dtype == pl.Duration else values).cast(pl.String)
