"""Decode text files to UTF-8, with a given or detected encoding."""

from __future__ import annotations

import codecs
import logging

from shoal._core.words import listed
from shoal._messages import Suggestion
from shoal.errors import DataError, ParameterError
from shoal.io.encodings import decoded, likely_encodings

_log = logging.getLogger(__name__)

# Longer marks first, because the mark of UTF-32 starts with that of UTF-16.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_BLOCK = 1 << 20
"""Number of bytes that are decoded at a time."""
_BINARY = 0.01
"""Share of NUL bytes above which a file is no text of bytes."""
_SAMPLE = 1 << 16
"""Number of bytes from which an encoding is detected."""
_LARGE_SAMPLE = 1 << 24
"""Number of bytes in which damage of UTF-8 is looked for."""


def to_utf8(data: bytes, *, encoding: str | None, source: str) -> bytes:
    """Convert a text file's bytes to UTF-8 without a byte order mark.

    A byte order mark determines the encoding. Otherwise it is UTF-8 if the bytes are valid UTF-8, and else the encoding
    in which the text has plausible words, which is logged as a warning. If no encoding qualifies, or if several do and
    differ in their text, the caller must name it. A file that is UTF-8 except for a few bytes is damaged.

    Parameters
    ----------
    data : bytes
        The whole file.
    encoding : str or None
        The encoding's name; None detects it.
    source : str
        The file's name, for messages.

    Raises
    ------
    ParameterError
        If there is no such encoding.
    DataError
        If the bytes are not text in that encoding, or if the encoding is ambiguous. The message names the line.
    """
    if encoding is None:
        encoding = encoding_of(data, source)
    # UTF-8 is only checked; other encodings are decoded and encoded again.
    try:
        codec = codecs.lookup(encoding).name
        if codec in {"utf-8", "utf-8-sig", "ascii"}:
            _check_utf8(data, "ascii" if codec == "ascii" else "utf-8")
            return data.removeprefix(codecs.BOM_UTF8)
        return data.decode(codec).removeprefix("\ufeff").encode("utf-8")
    except LookupError:
        raise ParameterError.refusing(
            "read", "encoding", "the name of a text encoding, 'utf-8' or 'cp1252' for example", got=repr(encoding)
        ) from None
    except UnicodeEncodeError:
        raise DataError(
            f"{source} holds half characters (surrogates) when read as {encoding}. Name its encoding."
        ) from None
    except UnicodeDecodeError as error:
        # Only the number of the line, because its text may hold cells.
        line = data[: error.start].decode(encoding, "ignore").count("\n") + 1
        hint = "It may be damaged; else name its encoding."
    # Raised outside of the handler, whose error has the bytes of the file.
    raise DataError(f"Line {line} of {source} is not valid {encoding} text. {hint}")


def encoding_of(data: bytes, source: str) -> str:
    """Detect the encoding of a text file by its byte order mark, or else by its text; see `to_utf8`."""
    return next((name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark)), None) or _detect(data, source)


def _check_utf8(data: bytes, codec: str) -> None:
    """Decode block by block, because a whole file as `str` may take four times its size."""
    if data.isascii():
        return
    decoder = codecs.getincrementaldecoder(codec)()
    for start in range(0, len(data), _BLOCK):
        end = min(start + _BLOCK, len(data))
        try:
            decoder.decode(data[start:end], final=end == len(data))
        except UnicodeDecodeError as error:
            # The decoder's input ends with the block, but may start with bytes kept from the previous block.
            at = end - (len(error.object) - error.start)
            raise UnicodeDecodeError(codec, data, at, at + 1, error.reason) from None


def _detect(data: bytes, source: str) -> str:
    first_odd = 0
    try:
        _check_utf8(data, "utf-8")
    except UnicodeDecodeError as error:
        first_odd = error.start
        sample = _telling_lines(data, first_odd)
    else:
        # ISO 2022 is valid ASCII, and is recognized by its escape sequences; others are characters.
        if b"\x1b$" not in data[:_SAMPLE] or decoded(data, "iso2022_jp") is None:
            return "utf-8"
        sample = data[:_SAMPLE]
    if _looks_like_damaged_utf8(data):
        return "utf-8"  # the caller's decoding then reports the line
    # A guess is used only if it is the only plausible one.
    found = likely_encodings(sample)
    # Text has a lone NUL byte at most, unless two or four bytes are a character.
    share = data[:_SAMPLE].count(0) / len(data[:_SAMPLE])
    if share and (not found or (share > _BINARY and not found[0].startswith("utf"))):
        raise DataError(
            f"{source} is a binary file, not delimited text. Give it the ending of its format, or export CSV."
        )
    if len(found) != 1:
        # Several encodings fit the bytes equally well, or none does.
        names = f"may be {listed(found, 'or')}"
        what = names if found else "is none that is known"
        line = data.count(b"\n", 0, first_odd) + 1
        raise DataError(
            f"{source} is not UTF-8 (line {line} is the first that is not), and its encoding {what}. Name it, as in ",
            Suggestion("encoding", "cp932"),
            ".",
        )
    _log.warning("%s is not UTF-8; it is read as %s. Name its encoding if that is wrong.", source, found[0])
    return found[0]


def _looks_like_damaged_utf8(data: bytes) -> bool:
    """Check whether most characters beyond ASCII are valid UTF-8, which is unlikely in any other encoding."""
    lines = b"\n".join(line for line in data[:_LARGE_SAMPLE].split(b"\n") if not line.isascii())
    as_utf8 = lines.decode("utf-8", "replace")
    broken = as_utf8.count("\ufffd")
    return 0 < broken <= sum(character > "\x7f" for character in as_utf8) - broken


def _telling_lines(data: bytes, first: int) -> bytes:
    """Collect lines with bytes beyond ASCII from the start of the file and around the first such byte."""
    start = max(0, first - _SAMPLE // 2)
    pieces = (data[:_SAMPLE] + b"\n" + data[start : start + _SAMPLE] if start else data[:_SAMPLE]).split(b"\n")
    return b"\n".join(line for line in pieces if not line.isascii())
