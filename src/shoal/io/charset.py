"""From the bytes of a text file to UTF-8, the encoding given or detected."""

from __future__ import annotations

import codecs
import logging
import re

from shoal.errors import DataError, ParameterError

__all__ = ["to_utf8"]

_log = logging.getLogger(__name__)

# The longer mark first: that of UTF-32 starts with that of UTF-16.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_BLOCK = 1 << 20
_SAMPLE = 1 << 16
_SYMBOL_INSIDE_WORD = re.compile(r"[\u00a1-\u00a9\u00ac-\u00b1\u00b3-\u00b9\u00bc-\u00be\u00bf](?=[a-z\u00df-\u00ff])")
_WORD_WITH_ACCENT = re.compile(r"[A-Za-z]*[\u00c0-\u00ff][A-Za-z\u00c0-\u00ff]*")


def to_utf8(data: bytes, *, encoding: str | None, source: str) -> bytes:
    """Return a text file's bytes as UTF-8 without a byte order mark.

    A byte order mark decides; else UTF-8 if the bytes are valid UTF-8; else cp1252 where the text looks West European;
    else what charset-normalizer finds most likely. A file that is UTF-8 but for a few bytes is damaged, not another
    encoding.

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
        Where there is no such encoding.
    DataError
        Where the bytes cannot be text in that encoding; names the line.
    """
    if encoding is None:
        encoding = next((name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark)), None) or _detect(
            data, source
        )
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
        line = data[: error.start].decode(encoding, "ignore").count("\n") + 1
        hint = "It may be damaged; else name its encoding."
    raise DataError(f"Line {line} of {source} is not valid {encoding} text. {hint}")


def _check_utf8(data: bytes, codec: str) -> None:
    """Decode block by block: a whole file as `str` may take four times its size."""
    if data.isascii():
        return
    decoder = codecs.getincrementaldecoder(codec)()
    for start in range(0, len(data), _BLOCK):
        end = min(start + _BLOCK, len(data))
        try:
            decoder.decode(data[start:end], final=end == len(data))
        except UnicodeDecodeError as error:
            # The decoder's text ends where the block does, but may start with bytes kept from the block before.
            at = end - (len(error.object) - error.start)
            raise UnicodeDecodeError(codec, data, at, at + 1, error.reason) from None


def _detect(data: bytes, source: str) -> str:
    try:
        _check_utf8(data, "utf-8")
    except UnicodeDecodeError as error:
        sample = _telling_lines(data, error.start)
    else:
        return "utf-8"
    as_utf8 = sample.decode("utf-8", "replace")
    broken = as_utf8.count("\ufffd")
    if broken * 4 < sum(character > "\x7f" for character in as_utf8):
        return "utf-8"  # and the caller's decoding names the line
    found = "cp1252" if _looks_west_european(sample) else _most_likely(sample)
    if found is None:
        raise DataError(f"The encoding of {source} cannot be detected. Name it: 'cp1252' or 'utf-16', for example.")
    _log.info("%s is not UTF-8; it is read as %s.", source, found)
    return found


def _telling_lines(data: bytes, first: int) -> bytes:
    """Return lines that hold bytes beyond ASCII, from around the start of the file and around the first odd byte."""
    start = max(0, first - _SAMPLE // 2)
    pieces = (data[:_SAMPLE] + b"\n" + data[start : start + _SAMPLE] if start else data[:_SAMPLE]).split(b"\n")
    return b"\n".join(line for line in pieces if not line.isascii())


def _looks_west_european(sample: bytes) -> bool:
    """Return whether cp1252 gives words that are mostly plain letters and hold no symbols."""
    try:
        text = sample.decode("cp1252")
    except UnicodeDecodeError:
        return False
    words = "".join(_WORD_WITH_ACCENT.findall(text))
    plain = sum(letter.isascii() for letter in words)
    return plain * 2 >= len(words) and not _SYMBOL_INSIDE_WORD.search(text)


def _most_likely(sample: bytes) -> str | None:
    """Return the likeliest encoding that puts no symbols inside words, if there is one."""
    from charset_normalizer import from_bytes

    candidates = [match.encoding for match in from_bytes(sample)]
    fitting = (name for name in candidates if not _SYMBOL_INSIDE_WORD.search(sample.decode(name)))
    return next(fitting, candidates[0] if candidates else None)
