"""Read and write small delimited files without a header: hierarchies, matrices of distances, lists of patterns."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from pathlib import Path

from shoal._core.outcome import reason_of
from shoal.errors import DataError
from shoal.io.charset import to_utf8
from shoal.io.delimited import DELIMITERS

_CANDIDATES = (";", *(delimiter for delimiter in DELIMITERS if delimiter != ";"))


def read_lines(
    path: str | os.PathLike[str], *, delimiter: str | None = None, encoding: str | None = None
) -> list[tuple[int, list[str]]]:
    """Read the fields of every line that is not empty, together with its number (from 1).

    Parameters
    ----------
    path : str or path
        A file small enough to be held as Python lists.
    delimiter : str, optional
        One ASCII character. None selects the one that divides all lines into equally many fields; `;` if there are
        several (ARX writes hierarchies with it), and the most frequent one of the first line if there is none.
    encoding : str, optional
        The encoding's name; None detects it.

    Returns
    -------
    list of (int, list of str)
        Spaces around fields are dropped.

    Raises
    ------
    DataError
        If the file cannot be read, or quotation marks do not match. The message names the line, never a field.
    """
    path = Path(path).expanduser()
    source = f"'{path.name}'"
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"'{path}' cannot be read: {reason_of(error)}.") from error
    text = to_utf8(content, encoding=encoding, source=source).decode("utf-8", errors="strict")
    # The text is checked before it is parsed: the parser would fail without the name of the file.
    if "\0" in text:
        raise DataError(f"{source} holds a NUL byte: it is not plain text.")
    first = next((line for line in text.split("\n") if line.strip()), "")
    if not first:
        raise DataError(f"{source} is empty.")
    chosen = delimiter or _dividing(text) or max(_CANDIDATES, key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=chosen, strict=True)
    try:
        read = [(reader.line_num, [field.strip() for field in fields]) for fields in reader]
    except csv.Error:
        raise DataError(f"Line {reader.line_num} of {source} has quotation marks that do not match.") from None
    return [(number, fields) for number, fields in read if any(fields)]


def _dividing(text: str) -> str | None:
    """Find the first delimiter that divides all lines with text into equally many fields, two or more."""
    for delimiter in _CANDIDATES:
        try:
            records = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
            numbers = {len(fields) for fields in records if any(map(str.strip, fields))}
        except csv.Error:
            continue
        if len(numbers) == 1 and min(numbers) > 1:
            return delimiter
    return None


def write_lines(path: str | os.PathLike[str], rows: Sequence[Sequence[str]], *, delimiter: str = ";") -> None:
    """Write rows of fields as delimited UTF-8 text; `read_lines` parses it back."""
    # The writer does not quote a lone carriage return, although the reader takes it for a line end. Fields with another
    # delimiter are quoted as well, so that no reader mistakes it for the delimiter of the file.
    special = {"\r", *_CANDIDATES}
    quotes_needed = any(special & set(field) for row in rows for field in row)
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        csv.writer(
            file,
            delimiter=delimiter,
            lineterminator="\n",
            quoting=csv.QUOTE_ALL if quotes_needed else csv.QUOTE_MINIMAL,
        ).writerows(rows)
