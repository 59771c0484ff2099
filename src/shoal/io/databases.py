"""Read tables and queries from databases. No message shows a URL, because it may hold a password."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from shoal._core.optional import require
from shoal.errors import DataError, near_matches

if TYPE_CHECKING:
    from sqlalchemy import Inspector, Select

# "::" separates the URL from the table or query; within brackets it belongs to an IPv6 address.
_SOURCE = re.compile(r"(?P<url>(?P<scheme>[A-Za-z][\w+.-]*)://(?:\[[^\]]*\]|(?!::).)*)(?:::(?P<what>.*))?", re.DOTALL)
_STORE = re.compile(r"https?|s?ftp|file|s3[an]?|gc?s|az|abfss?|adl|wasbs?|hdfs|dbfs|hf", re.IGNORECASE)
"""Schemes of URLs of files, which are no databases."""
_QUERY = re.compile(r"\s*(?:select|with|values)\b", re.IGNORECASE)
_SQLITE_FILE = "sqlite:///"


@dataclass(frozen=True, kw_only=True, repr=False)
class DatabaseSource:
    """A database, and the table or query to read."""

    url: str
    """An SQLAlchemy URL; it may hold a password."""
    what: str
    """A table, optionally with its schema ("health.patients"), or a query."""

    @property
    def is_query(self) -> bool:
        """Whether `what` is a query."""
        return _QUERY.match(self.what) is not None

    @property
    def shown(self) -> str:
        """The kind of the database, which is all that messages may show of it."""
        return f"The {self.url.split(':', 1)[0]} database"

    def __repr__(self) -> str:
        return f"DatabaseSource({self.shown!r})"


def database_source(source: object) -> DatabaseSource | None:
    """Parse a database source such as `scheme://...::what`; None if the text has another form.

    Raises
    ------
    DataError
        If a URL does not name a table or a query, or is that of a file.
    """
    match = _SOURCE.fullmatch(source) if isinstance(source, str) else None
    if match is None:
        return None
    if _STORE.fullmatch(match["scheme"]):
        raise DataError(
            f"A table cannot be read from an address that begins with {match['scheme']}://. Copy the file to this "
            "machine, and give its path. The engine 'spark' reads such addresses if its cluster can."
        )
    # A URL without a table is an error of its own, not the name of a file.
    what = (match["what"] or "").strip()
    if not what:
        raise DataError(
            f"The {match['scheme']} URL does not name what to read. Add '::' and a table or a query: "
            "'sqlite:///file.db::patients', for example."
        )
    return DatabaseSource(url=match["url"], what=what)


def read_database(source: DatabaseSource) -> pl.DataFrame:
    """Read a table, or the result of a query.

    SQLite files are opened read-only and need no driver. Other databases need their driver (for PostgreSQL the extra
    `postgresql`).

    Raises
    ------
    DataError
        If the database, the table or the driver is missing, or if the query fails.
    """
    if source.url.startswith(_SQLITE_FILE):
        return _read_sqlite(source)
    return _read_with_sqlalchemy(source)


def _read_sqlite(source: DatabaseSource) -> pl.DataFrame:
    import sqlite3

    path = Path(source.url.removeprefix(_SQLITE_FILE)).expanduser()
    if not path.is_file():
        raise DataError(f"There is no database file '{path}'.")
    try:
        # A read-only URI, because a plain path would create a missing file and could change an existing one.
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            query = source.what
            if not source.is_query:
                # A table is checked against the list of tables, so that its name cannot inject SQL.
                listed = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
                _check_table(source, source.what, [name for (name,) in listed])
                query = 'SELECT * FROM "{}"'.format(source.what.replace('"', '""'))
            cursor = connection.execute(query)
            names = [column[0] for column in cursor.description or ()]
            return _frame(names, cursor.fetchall())
    except sqlite3.Error as error:
        kind = type(error).__name__
    raise _failed(source, kind)


def _read_with_sqlalchemy(source: DatabaseSource) -> pl.DataFrame:
    sqlalchemy = require("sqlalchemy", extra="ledger", purpose="A database other than SQLite")
    try:
        engine = sqlalchemy.create_engine(source.url)
    except ImportError as error:
        driver = f" {error.name!r}" if error.name else ""
        raise DataError(f"{source.shown} needs its Python driver{driver}. Install it with pip.") from None
    except (sqlalchemy.exc.SQLAlchemyError, ValueError) as error:
        kind = type(error).__name__
        raise DataError(
            f"The URL of a database is not understood ({kind}). Its form is dialect://user@host/name."
        ) from None
    # A failure to connect has another remedy than a failed query.
    connected = False
    try:
        with engine.connect() as connection:
            connected = True
            if source.is_query:
                result = connection.exec_driver_sql(source.what)
            else:
                result = connection.execute(_whole_table(source, sqlalchemy.inspect(connection)))
            return _frame(list(result.keys()), result.fetchall())
    except sqlalchemy.exc.SQLAlchemyError as error:
        kind = type(error).__name__
    finally:
        engine.dispose()
    raise _failed(source, kind, connected=connected)


def _whole_table(source: DatabaseSource, inspector: Inspector) -> Select[Any]:
    import sqlalchemy

    # Only existing tables are read, and names are quoted by SQLAlchemy.
    schema, _, name = source.what.rpartition(".")
    _check_table(source, name, inspector.get_table_names(schema or None) + inspector.get_view_names(schema or None))
    return sqlalchemy.select(sqlalchemy.text("*")).select_from(sqlalchemy.table(name, schema=schema or None))


def _check_table(source: DatabaseSource, name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise DataError(
            f"{source.shown} has no table '{name}'. {near_matches(name, known) if known else 'It has none.'}"
        )


def _failed(source: DatabaseSource, kind: str, *, connected: bool = True) -> DataError:
    # The message of the driver may quote the URL or a cell, so only its kind is shown.
    if not connected:
        return DataError(
            f"{source.shown} cannot be reached ({kind}). Check the host, the name, the user and the password."
        )
    return DataError(
        f"{source.shown} refused to give {'the result of the query' if source.is_query else 'the table'} ({kind})."
    )


def _frame(names: list[str], rows: Sequence[Sequence[Any]]) -> pl.DataFrame:
    # A join without AS gives repeated names, which a frame cannot hold.
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise DataError(f"The query gives several columns the name '{repeated[0]}'. Name them with AS.")
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return pl.DataFrame([_column(name, values) for name, values in zip(names, columns, strict=True)])


def _column(name: str, values: Sequence[Any]) -> pl.Series:
    # Databases return Python values: a column needs one type, or integers and floats.
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        values = [None if value is None else float(value) for value in values]
    # Any other mixture is an error, because a guess could change the values.
    if len(kinds) <= 1 or kinds == {int, float}:
        try:
            return pl.Series(name, values)
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
            pass
    shown = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise DataError(
        f"The column '{name}' of the database mixes or has unusual types ({shown}). CAST it to one in a query."
    )
