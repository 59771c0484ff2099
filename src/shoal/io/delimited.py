"""Read delimited text: every column as text, with errors that name the line if the file is not a table.

Polars parses the text. Faults that it would silently repair (short rows, repeated names) are found beforehand, by
arithmetic on the positions or numbers of delimiters, quotation marks and line ends.
"""

from __future__ import annotations

import codecs
import csv
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._messages import Suggestion
from shoal.errors import DataError, InternalError, NoRowsError
from shoal.io.charset import encoding_of, to_utf8
from shoal.io.column_names import check_different_names
from shoal.io.rows_below import count_rows_below
from shoal.io.stat_files import Codebook

DELIMITERS = (",", ";", "\t", "|")
"""Delimiters that are detected; the first one wins a tie."""

_log = logging.getLogger(__name__)

_BLOCK = 1 << 22
"""Number of bytes that are checked at a time."""
_COUNTED = 1 << 18
"""Number of bytes that are counted at a time."""
_SAMPLE = 1 << 16
"""Number of bytes from which the delimiter is detected."""
_NOTES = 50
"""Number of last lines among which notes below the table are searched."""
_QUOTE, _LINE_FEED, _RETURN = 0x22, 0x0A, 0x0D


@dataclass(frozen=True, kw_only=True, repr=False)
class OpenedTable:
    """A table, with the properties of its source that a release of it keeps."""

    frame: pl.DataFrame
    format: str = "csv"
    """The format to write a release in: "csv", "parquet" (also for Arrow files), "xlsx" (also for .xls), "ods" or one
    of Stata, SPSS and SAS."""
    encoding: str | None = None
    """The encoding of delimited text, given or detected."""
    delimiter: str | None = None
    """The delimiter of delimited text, given or detected."""
    bom: bool = False
    """Whether delimited text had a byte order mark, or another encoding than UTF-8: its readers need the mark in
    UTF-8."""
    sheet: str | None = None
    """The sheet of a workbook."""
    codebook: Codebook = field(default_factory=dict)
    """The labels of a file of Stata, SPSS or SAS."""
    below: int = 0
    """Number of rows below the table, notes and sums, that were left out."""

    def __repr__(self) -> str:
        return f"OpenedTable(rows={self.frame.height}, columns={self.frame.width}, format={self.format!r})"


def read_delimited(
    content: bytes,
    source: str,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    header_row: int = 1,
    whole: bool = False,
) -> OpenedTable:
    """Read delimited text with a header (RFC 4180, any line ends).

    An empty field is missing, whether it has quotation marks or not. Empty lines at the end are ignored. In a table of
    one column, empty lines are missing values.

    Parameters
    ----------
    content : bytes
        The file.
    source : str
        Its name, for messages.
    delimiter : str, optional
        One ASCII character; None detects one of `DELIMITERS`.
    encoding : str, optional
        The encoding's name; None detects it.
    header_row : int
        The line of the column names, from 1; the lines above it are skipped.
    whole : bool
        Whether all rows are records; by default notes and sums below the table are left out.

    Raises
    ------
    DataError
        If the file is not a table of text. The message names the line (from 1), never a cell.
    """
    # Everything is decided on UTF-8 text: NUL bytes, line ends, delimiter, names, then the records.
    encoding = encoding_of(content, source) if encoding is None else encoding
    text = to_utf8(content, encoding=encoding, source=source)
    if b"\0" in text:
        raise DataError(
            f"Line {text[: text.index(0)].count(10) + 1} of {source} holds a NUL byte: it is not plain text, or "
            "its encoding is another (name it: 'utf-16', for example)."
        )
    if b"\r" in text and b"\n" not in text:
        text = text.replace(b"\r", b"\n")
    above = header_row - 1
    start, names, delimiter, header_lines = _outline(text, delimiter, source, above)
    text = text[start:]
    # In a table of one column, trailing empty lines are missing values.
    if len(names) > 1 and text.endswith((b"\n\n", b"\n\r\n")):
        text = text.rstrip(b"\r\n")

    def parse(checked: bytes) -> pl.DataFrame:
        rows = _check_records(checked, delimiter, len(names), source, above)
        frame = _parse(checked, delimiter, names, header_lines, source, above)
        # The check and the parser must agree on the records, or cells would be lost silently.
        if frame.height != rows:
            raise InternalError(f"{rows} rows of a delimited file were counted, but {frame.height} were read")
        return frame

    padded, lines = (text, 0) if whole else _pad_end(text, delimiter, len(names))
    frame = parse(padded)
    below = 0 if whole else count_rows_below(frame)
    if below < lines:  # lines after an empty one may be records, which is an error
        frame = parse(text)
        below = count_rows_below(frame)
    plain = encoding.removesuffix("-sig")
    bom = plain != encoding or codecs.lookup(plain).name not in ("utf-8", "ascii")
    frame = frame.head(frame.height - below)
    return OpenedTable(frame=frame, encoding=plain, delimiter=delimiter, bom=bom, below=below)


def _pad_end(text: bytes, delimiter: str, width: int) -> tuple[bytes, int]:
    """Pad an empty line among the last ones, and the lines after it, to records; return how many lines these are."""
    at = len(text)
    for _ in range(_NOTES):
        at = max(text.rfind(b"\n", 0, at), 0)
    empty = re.search(rb"\n(?=\r?\n)", text[at:])
    start = at + empty.end() if empty else 0
    # An empty line within quotation marks is a part of a cell.
    if width == 1 or not empty or text.count(b'"', 0, start) % 2:
        return text, 0
    lines = text[start:].splitlines()
    fields = list(csv.reader((line.decode("utf-8") for line in lines), delimiter=delimiter))
    if len(fields) != len(lines) or max(map(len, fields)) > width:
        return text, 0
    padded = [line + delimiter.encode() * (width - max(len(one), 1)) for line, one in zip(lines, fields, strict=True)]
    return text[:start] + b"\n".join(padded) + b"\n", len(lines)


def _parse(text: bytes, delimiter: str, names: list[str], skip: int, source: str, above: int) -> pl.DataFrame:
    """Parse a checked text, without the lines of its header."""
    body = 0
    for _ in range(skip):
        body = text.index(b"\n", body) + 1
    if text.startswith(codecs.BOM_UTF8, body):
        # Polars drops a byte order mark after the skipped lines, although it is a part of a cell there.
        text = text[:body] + codecs.BOM_UTF8 + text[body:]
    try:
        return pl.read_csv(
            text,
            separator=delimiter,
            schema=dict.fromkeys(names, pl.String),
            null_values=[""],
            has_header=False,
            skip_lines=skip,
            encoding="utf8",
        )
    except pl.exceptions.PolarsError as error:
        kind = type(error).__name__
    # A record that is too long is named by its line.
    _check_each_record(text, delimiter, len(names), source, above)
    # No record is too long: the parser found something else.
    raise DataError(f"{source} cannot be parsed as delimited text ({kind}). Export it again, or as Parquet.")


def _outline(text: bytes, delimiter: str | None, source: str, above: int) -> tuple[int, list[str], str, int]:
    """Find where the header starts, the names in it, the delimiter, and the number of lines of the header."""
    if not text[:_SAMPLE].strip(b"\r\n") and not text.strip(b"\r\n"):
        raise NoRowsError(f"{source} is empty. It needs a line of column names and a line for each row.")
    start = _start_of_line(text, above, source)
    text = text[start:]
    if delimiter is None:
        delimiter = _detect_delimiter(text)
        _log.debug("The fields of %s are taken to be delimited by %r.", source, delimiter)
    header = _header(text)
    return start, _names(header, delimiter, source, above), delimiter, header.count("\n") + 1


def _detect_delimiter(text: bytes) -> str:
    """Detect the delimiter by the share of records with as many fields as the header, then by their number."""
    # Only whole lines count; the last line of the sample may be cut.
    sample = text[:_SAMPLE]
    if len(text) > _SAMPLE and b"\n" in sample:
        sample = sample[: sample.rindex(b"\n")]
    best, best_score = DELIMITERS[0], (0.0, 0)
    content = np.frombuffer(sample + b"\n", dtype=np.uint8)
    for delimiter in DELIMITERS:
        fields, _ = _Block.of(content, delimiter).records()
        if len(fields) and fields[0] > 1:
            score = (float(np.mean(fields == fields[0])), int(fields[0]))
            if score > best_score:
                best, best_score = delimiter, score
    return best


def _header(text: bytes) -> str:
    """Extract the first record, without its line end."""
    # A line end within quotation marks belongs to a name.
    end = text.find(b"\n")
    while end >= 0 and text.count(b'"', 0, end) % 2:
        end = text.find(b"\n", end + 1)
    return (text if end < 0 else text[:end]).decode("utf-8").removesuffix("\r")


def _start_of_line(text: bytes, above: int, source: str) -> int:
    """Find the start of the line that has so many others above it."""
    # Lines are counted as an editor does, also within quotation marks.
    start = 0
    for _ in range(above):
        start = text.find(b"\n", start) + 1
        if not start:
            raise NoRowsError(f"{source} has no line {above + 1}, in which the names of the columns should stand.")
    return start


def _names(header: str, delimiter: str, source: str, above: int) -> list[str]:
    try:
        names = next(csv.reader([header], delimiter=delimiter, strict=True), None) or [""]
    except csv.Error:
        raise DataError(
            f"The column names in line {above + 1} of {source} cannot be read: a quotation mark is misplaced."
        ) from None
    ways = (
        " A first column without one is the index of pandas or the row names of R: delete it.",
        " If the names stand in another line, choose it with ",
        Suggestion("header_row"),
        ". If the line holds data, put a line with names before it.",
    )
    check_different_names(names, f" in line {above + 1} of {source}", ways)
    return names


def _check_records(text: bytes, delimiter: str, width: int, source: str, above: int) -> int:
    """Check that no record has fewer fields than the header, and count the rows.

    A text without quotation marks is only counted: if it has as many fields as its records need, and a record has
    fewer, another has more, which the parser refuses.
    """
    if width > 1 and b'"' not in text and b"\r" not in text and text.endswith(b"\n"):
        records = _count_byte(text, b"\n")
        if records > 1 and _count_byte(text, delimiter.encode()) == records * (width - 1):
            return records - 1
    return _check_each_record(text, delimiter, width, source, above)


def _check_each_record(text: bytes, delimiter: str, width: int, source: str, above: int) -> int:
    """Check that every record has as many fields as the header, and count the rows."""
    content = np.frombuffer(text, dtype=np.uint8)
    return _count_rows(lambda at, size: content[at : at + size], len(content), delimiter, width, source, above)


def _count_byte(text: bytes, byte: bytes) -> int:
    """Count a byte, in blocks that stay in the processor's cache."""
    content = np.frombuffer(text, dtype=np.uint8)
    return sum(
        int(np.count_nonzero(content[start : start + _COUNTED] == ord(byte)))
        for start in range(0, len(content), _COUNTED)
    )


def _count_rows(
    piece_of: Callable[[int, int], NDArray[np.uint8]], length: int, delimiter: str, width: int, source: str, above: int
) -> int:
    """Check that every record of some bytes, fetched by start and size, has the given width, and count the rows."""
    rows, start, size, lines = -1, 0, _BLOCK, above  # the header is a record, too
    while start < length:
        piece = piece_of(start, size)
        at_end = start + size >= length
        if at_end and piece[-1] != _LINE_FEED:
            piece = np.append(piece, np.uint8(_LINE_FEED))
        # A block starts with a record, so quotation marks are balanced before it.
        block = _Block.of(piece, delimiter)
        fault = block.fault(at_end=at_end)
        if fault is not None:
            at, what = fault
            raise DataError(f"Line {lines + block.lines_before(at) + 1} of {source} has {what}.")
        block = block.whole_records()
        if len(block.content) == 0:
            # The record is longer than the block: double the block.
            size *= 2
            continue
        fields, starts = block.records()
        # The first record with another width is reported by its line.
        wrong = np.flatnonzero(fields != width)
        if len(wrong):
            first = wrong[0]
            line = lines + block.lines_before(starts[first]) + 1
            if block.content[starts[first]] in (_LINE_FEED, _RETURN):
                raise DataError(f"Line {line} of {source} is empty: delete it. Empty lines may only end a file.")
            raise DataError(
                f"Line {line} of {source} has {fields[first]} field(s), but the header has {width}. A field that holds "
                f"the delimiter {delimiter!r} must be in quotation marks; if that is not the delimiter, name it. If "
                "the names stand in another line, delete the lines above it, or choose it with ",
                Suggestion("header_row"),
                ".",
            )
        rows += len(fields)
        lines += block.lines_before(len(block.content))
        start, size = start + len(block.content), _BLOCK
    if rows == 0:
        raise NoRowsError(f"{source} has a header but no rows.")
    return rows


@dataclass(frozen=True, kw_only=True)
class CheckedText:
    """A file of delimited text that was checked completely, but is not kept in memory."""

    names: tuple[str, ...]
    """Its columns."""
    delimiter: str
    """The separator of fields, given or detected."""
    header_lines: int
    """Number of lines up to the end of the header."""
    rows: int
    """Number of records after the header."""


def check_delimited(path: Path, *, delimiter: str | None = None, header_row: int = 1) -> CheckedText:
    """Check that a file is a table of delimited text as `read_delimited` reads it, without keeping it in memory.

    The file must be in UTF-8, its lines must end in a line feed, and it may have no empty line.

    Raises
    ------
    DataError
        If it is not. The message names the line (from 1), never a cell.
    """
    source, length, above = f"'{path.name}'", path.stat().st_size, header_row - 1
    with path.open("rb") as file:
        # The header and the delimiter are read from the start of the file.
        sample = file.read(_SAMPLE)
        start = len(codecs.BOM_UTF8) if sample.startswith(codecs.BOM_UTF8) else 0
        try:
            skipped, names, delimiter, header_lines = _outline(sample[start:], delimiter, source, above)
        except UnicodeDecodeError:
            raise _not_utf8(source) from None
        start += skipped
        # Blocks may overlap, so only new bytes are decoded and checked.
        decoder = codecs.getincrementaldecoder("utf-8")()
        decoded = 0

        def piece_of(at: int, size: int) -> NDArray[np.uint8]:
            nonlocal decoded
            file.seek(start + at)
            piece = file.read(size)
            fresh = piece[decoded - at :]  # a block begins with the end of the previous one
            try:
                decoder.decode(fresh, final=start + at + len(piece) >= length)
            except UnicodeDecodeError:
                raise _not_utf8(source) from None
            decoded += len(fresh)
            if b"\0" in fresh:
                raise DataError(f"{source} holds a NUL byte: it is not plain text, or its encoding is another.")
            return np.frombuffer(piece, dtype=np.uint8)

        rows = _count_rows(piece_of, length - start, delimiter, len(names), source, above)
    return CheckedText(names=tuple(names), delimiter=delimiter, header_lines=above + header_lines, rows=rows)


def read_last_rows(path: Path, checked: CheckedText) -> pl.DataFrame:
    """Read the rows in the last 64 KB of a checked file."""
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - _SAMPLE, 0))
        lines = file.read().decode("utf-8", "ignore").splitlines()[1:]  # the first one may be cut
    rows = [row for row in csv.reader(lines, delimiter=checked.delimiter) if len(row) == len(checked.names)]
    columns = {name: [cells[at] or None for cells in rows] for at, name in enumerate(checked.names)}
    return pl.DataFrame(columns, schema=dict.fromkeys(checked.names, pl.String))


def _not_utf8(source: str) -> DataError:
    return DataError(
        f"{source} is not in UTF-8, and a CSV file that is read in pieces must be. Convert it first, or write Parquet."
    )


@dataclass(frozen=True, kw_only=True)
class _Block:
    """Records as bytes, with the positions of delimiters, quotation marks and line ends."""

    content: NDArray[np.uint8]
    delimiter: int
    marks: NDArray[np.intp]
    """Positions of the delimiters, quotation marks and line ends."""
    kinds: NDArray[np.uint8]
    """The byte at each of these positions."""
    outside: NDArray[np.bool_]
    """Whether each mark is outside of quotation marks; an opening one is not, a closing one is."""

    @classmethod
    def of(cls, content: NDArray[np.uint8], delimiter: str) -> _Block:
        """Find the marks of a block that starts with a record."""
        found = (content == ord(delimiter)) | (content == _QUOTE) | (content == _LINE_FEED) | (content == _RETURN)
        marks = np.flatnonzero(found)
        kinds = content[marks]
        # An even number of quotation marks up to a position means outside.
        outside = np.cumsum(kinds == _QUOTE, dtype=np.uint8) & 1 == 0
        return cls(content=content, delimiter=ord(delimiter), marks=marks, kinds=kinds, outside=outside)

    def lines_before(self, at: int) -> int:
        """Count the line ends before a byte."""
        return int(np.count_nonzero(self.content[:at] == _LINE_FEED))

    def whole_records(self) -> _Block:
        """Restrict the block to whole records."""
        # A line end within quotation marks does not end a record.
        ends = np.flatnonzero((self.kinds == _LINE_FEED) & self.outside)
        count = int(ends[-1]) + 1 if len(ends) else 0
        return replace(
            self,
            content=self.content[: int(self.marks[count - 1]) + 1 if count else 0],
            marks=self.marks[:count],
            kinds=self.kinds[:count],
            outside=self.outside[:count],
        )

    def records(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Compute the number of fields and the start of each record."""
        # Fields end at delimiters and line ends outside of quotation marks.
        dividing = ((self.kinds == self.delimiter) | (self.kinds == _LINE_FEED)) & self.outside
        ends = np.flatnonzero(self.kinds[dividing] == _LINE_FEED)
        starts = np.zeros(len(ends), dtype=np.intp)
        starts[1:] = self.marks[dividing][ends[:-1]] + 1
        return np.diff(ends, prepend=-1), starts

    def fault(self, *, at_end: bool) -> tuple[int, str] | None:
        """Find the first misplaced byte, and describe the fault; None if there is none.

        At the end of the text, a quotation mark that is still open is one.
        """
        quotes = self.marks[self.kinds == _QUOTE]
        # Only whole fields are quoted: a mark opens after a delimiter or line end, and closes before one. Doubled marks
        # are escaped ones: they close and open again.
        opening, closing = quotes[::2], quotes[1::2]
        before, after = self.content[opening - 1], self._after(closing)
        before[opening == 0] = _LINE_FEED
        strange = np.concatenate(
            (
                opening[(before != self.delimiter) & (before != _LINE_FEED) & (before != _QUOTE)],
                closing[(after != self.delimiter) & (after != _LINE_FEED) & (after != _QUOTE) & (after != _RETURN)],
            )
        )
        # A carriage return must be a part of a line end.
        returns = self.marks[(self.kinds == _RETURN) & self.outside]
        lone = returns[self._after(returns) != _LINE_FEED]
        in_field = "a quotation mark in a field that is not in quotation marks, or text after it"
        faults = [(int(at), in_field) for at in np.sort(strange)[:1]]
        faults += [(int(at), "a carriage return in the middle, outside quotation marks") for at in lone[:1]]
        if at_end and len(quotes) % 2:
            faults = faults or [(int(quotes[-1]), "a quotation mark that is opened and never closed")]
        return min(faults, default=None)

    def _after(self, positions: NDArray[np.intp]) -> NDArray[np.uint8]:
        """Look up the bytes after given positions; the last one is followed by a line feed."""
        after = self.content[np.minimum(positions + 1, len(self.content) - 1)]
        after[positions == len(self.content) - 1] = _LINE_FEED
        return after
