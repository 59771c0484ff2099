"""Unpack files compressed with gzip or Zstandard, recognized by their first bytes."""

from __future__ import annotations

from shoal._core.file_formats import COMPRESSED
from shoal._messages import Text
from shoal.errors import DataError

__all__ = ["unpack"]

_MARKS = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}


def unpack(content: bytes, name: str) -> bytes:
    """Unpack a file if its first bytes or its name belong to a compressed format, and return its content.

    Raises
    ------
    DataError
        If it cannot be unpacked.
    """
    # The first bytes are more reliable than the name.
    kind = next((kind for kind, mark in _MARKS.items() if content.startswith(mark)), None)
    kind = kind or next((kind for ending, kind in COMPRESSED.items() if name.lower().endswith(ending)), None)
    if kind is None:
        return content
    import pyarrow as pa

    try:
        with pa.CompressedInputStream(pa.BufferReader(content), kind) as stream:
            read: bytes = stream.read()
            return read
    except (OSError, EOFError, pa.ArrowInvalid):
        pass
    raise DataError(
        Text("'{name}' is not a {kind} file, or is cut off. Unpack it, or copy it again.", name=name, kind=kind)
    )
