"""Reading a table from a file or a database, by what its name says."""

from __future__ import annotations

import difflib
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from shoal._messages import Subject
from shoal.errors import DataError, ParameterError, near_matches
from shoal.io.databases import database_source, read_database
from shoal.io.delimited import read_delimited
from shoal.io.frames import without_pandas_index

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

__all__ = ["read"]

_DELIMITED = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
_PARQUET = (".parquet", ".pq")
_ARROW = (".arrow", ".feather", ".ipc")
_TAB = ("tab", "\\t")
_LONGEST_SOURCE = 4096


def read(source: str | Path, *, delimiter: str | None = None, encoding: str | None = None) -> pl.DataFrame:
    r"""Read a table.

    Parameters
    ----------
    source : str or Path
        A path that ends in `.csv`, `.tsv`, `.txt` (each also with `.gz`), `.parquet`, `.arrow`, `.feather` or `.ipc`;
        or a database and a table or query: `sqlite:///file.db::table`, or any SQLAlchemy URL followed by `::table` or
        `::SELECT ...` (with the database's driver).
    delimiter : str, optional
        For delimited text: one ASCII character, or "tab". None detects one of `,` `;` tab `|`.
    encoding : str, optional
        For delimited text: its encoding. None detects it.

    Returns
    -------
    polars.DataFrame
        The columns of delimited text are all text, so that "007" stays what it is; an empty field is missing.

    Raises
    ------
    DataError
        Where the source cannot be read as a table with at least one row; for delimited text with the line (from 1).
    ParameterError
        Where `delimiter` or `encoding` cannot be what they are, or are given for something that is not text.
    """
    if isinstance(source, str) and ("\n" in source or len(source) > _LONGEST_SOURCE) and not database_source(source):
        raise DataError("What was given as a path is too long for one, or has line ends. Give a file, not its content.")
    given = "delimiter" if delimiter is not None else "encoding" if encoding is not None else None
    database = database_source(source)
    path = Path() if database else Path(os.fspath(source)).expanduser()
    if database is None and path.name.lower().endswith(_DELIMITED):
        _check_file(path)
        with _access(path):
            return read_delimited(path, delimiter=_one_character(delimiter), encoding=encoding)
    if given:
        raise ParameterError(Subject("read", given), f" is for delimited text ({', '.join(_DELIMITED[:3])}) only.")
    if database is not None:
        frame, spoken = read_database(database), "The result of the query"
    else:
        _check_file(path)
        with _access(path):
            frame, spoken = _read_binary(path), f"'{path.name}'"
    if frame.height == 0 or frame.width == 0:
        raise DataError(f"{spoken} has no {'row' if frame.width else 'column'}.")
    return frame


def _one_character(delimiter: str | None) -> str | None:
    if delimiter is None:
        return None
    character = "\t" if delimiter in _TAB else delimiter
    if len(character) != 1 or not character.isascii() or character in '"\r\n\0':
        raise ParameterError.refusing(
            "read", "delimiter", "one ASCII character (no quotation mark or line end), or 'tab'", got=repr(delimiter)
        )
    return character


def _check_file(path: Path) -> None:
    with _access(path):
        path.exists()  # raises where no system could have such a path
    if path.is_dir():
        raise DataError(f"'{path}' is a folder. {_file_of(path)}")
    if not path.exists():
        raise DataError(f"There is no file '{path}'. {_neighbours(path)}".rstrip())
    if not path.is_file():
        raise DataError(f"'{path}' is not a regular file. Copy its content to one first.")
    known = _DELIMITED + _PARQUET + _ARROW
    if not path.name.lower().endswith(known):
        raise DataError(f"The kind of '{path.name}' is unknown. Known are files that end in {', '.join(known)}.")


def _file_of(path: Path) -> str:
    """Return which file of a folder may be meant: that of a release is known."""
    released = [path / f"release.{ending}" for ending in ("csv", "parquet")]
    return next((f"Did you mean '{file}'?" for file in released if file.is_file()), "Name a file in it.")


def _neighbours(path: Path) -> str:
    try:
        names = [other.name for other in path.parent.iterdir() if other.is_file()]
    except OSError:
        return f"There is no folder '{path.parent}' that can be read."
    return near_matches(path.name, names) if difflib.get_close_matches(path.name, names, n=1) else ""


@contextmanager
def _access(path: Path) -> Iterator[None]:
    """Turn an error of the operating system into one about the file."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else type(error).__name__
        raise DataError(f"'{path}' cannot be read: {reason}.") from error


def _read_binary(path: Path) -> pl.DataFrame:
    import polars as pl

    try:
        if path.name.lower().endswith(_PARQUET):
            return without_pandas_index(pl.read_parquet(path, hive_partitioning=False, glob=False))
        with path.open("rb") as file:
            in_file_format = file.read(6) == b"ARROW1"
        # An open file, because a path could be taken for a pattern.
        with path.open("rb") as file:
            frame = pl.read_ipc(file) if in_file_format else pl.read_ipc_stream(file)
    except (pl.exceptions.PolarsError, OSError) as error:
        if isinstance(error, OSError) and error.errno:
            raise
        kind = type(error).__name__
    else:
        return without_pandas_index(frame)
    raise DataError(
        f"'{path.name}' is not a {path.suffix[1:]} file that can be read ({kind}). It may be damaged; write it again."
    )
