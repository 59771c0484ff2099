"""Tables of Spark, whose distinct rows are counted on the cluster."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from shoal._core.file_formats import PARQUET
from shoal._messages import Suggestion
from shoal.errors import DataError
from shoal.io.column_names import check_different_names
from shoal.io.frames import PANDAS_INDEX
from shoal.io.scanning import check_partition_columns, parquet_files
from shoal.io.spark_session import active_session, is_spark_frame, on_spark, pinned_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType


@dataclass(frozen=True, kw_only=True, repr=False)
class SparkTable:
    """A table that Spark counts; its rows stay on the cluster."""

    frame: DataFrame
    home: SparkSession
    """The session of the caller."""
    columns: tuple[str, ...]
    """The columns in order."""
    rows: int | None = None
    """Number of rows, if the metadata of its files states it."""
    delimiter: None = None
    """None, because it is not delimited text."""

    def cells(self, names: Sequence[str], times: str, most: int) -> pl.DataFrame | int:
        """Fetch the distinct combinations of values with their numbers of rows, or only their number if too many.

        Parameters
        ----------
        names : sequence of str
            The columns.
        times : str
            Name of the column with the numbers of rows.
        most : int
            Largest number of combinations that are fetched.

        Raises
        ------
        DataError
            If the values of a column cannot be grouped, or if Spark fails.
        """
        doing = "count the columns of the table"
        grouped = on_spark(self.home, lambda: self._grouped(names), doing)
        # One more than allowed shows that there are too many.
        found = on_spark(self.home, lambda: grouped.limit(most + 1).toArrow(), doing)
        if found.num_rows > most:
            return on_spark(self.home, grouped.count, doing)
        cells = pl.DataFrame(pl.from_arrow(found))
        cells.columns = [*names, times]
        return cells

    def peek(self, rows: int) -> pl.DataFrame:
        """Fetch some rows, with the columns that can be grouped."""
        kinds = {field.name: field.dataType for field in self.frame.schema.fields}
        names = [name for name in self.columns if isinstance(kinds[name], _groupable())]
        doing = "look at the columns of the table"
        found = pl.DataFrame(
            pl.from_arrow(on_spark(self.home, lambda: self._numbered(names).limit(rows).toArrow(), doing))
        )
        found.columns = names
        return found

    def rows_of_values(self, candidates: Sequence[str], names: Sequence[str], parts: int, most: int) -> pl.DataFrame:
        """Sample one in `parts` values of each candidate column, and fetch up to `most` of their rows.

        Parameters
        ----------
        candidates, names : sequence of str
            Columns that can be grouped.
        parts, most : int

        Returns
        -------
        polars.DataFrame
            The columns, named by their numbers, then for each candidate a flag whether a row has a sampled value.
        """
        from pyspark.sql import functions as spark

        def sample() -> Any:
            plain = self._numbered(names)
            # Values are sampled by their hash, so all rows of a sampled value are included.
            chosen = [
                spark.pmod(spark.xxhash64(plain.columns[list(names).index(name)]), spark.lit(parts)) == 0
                for name in candidates
            ]
            anyone = reduce(or_, chosen)
            return plain.select("*", *(one.alias(f"of{at}") for at, one in enumerate(chosen))).filter(anyone)

        found = on_spark(self.home, lambda: sample().limit(most).toArrow(), "look at the columns of the table")
        return pl.DataFrame(pl.from_arrow(found))

    def _grouped(self, names: Sequence[str]) -> DataFrame:
        numbered = self._numbered(names)
        return numbered.groupBy(*numbered.columns).count()

    def _numbered(self, names: Sequence[str]) -> DataFrame:
        """Select columns, named by their numbers."""
        from pyspark.sql import functions as spark
        from pyspark.sql import types

        # Columns are selected by position, because names may have dots or quotes, or differ in case only.
        fields = self.frame.schema.fields
        places = [next(at for at, field in enumerate(fields) if field.name == name) for name in names]
        known = _groupable()
        columns = []
        for place in places:
            kind = fields[place].dataType
            if not isinstance(kind, known):
                raise DataError(
                    f"The column '{fields[place].name}' has the type {kind.typeName()}, whose values cannot be "
                    "grouped. Turn it into text, numbers or dates, or name it as a direct identifier, which drops it."
                )
            column = spark.col(f"c{place}")
            # A collation may treat different texts as equal.
            columns.append(column.cast(types.StringType()) if isinstance(kind, _text_types()) else column)
        plain = self.frame.toDF(*(f"c{at}" for at in range(len(fields)))).select(*columns)
        return plain.toDF(*(f"c{at}" for at in range(len(columns))))


def _text_types() -> tuple[type[DataType], ...]:
    from pyspark.sql import types

    return types.StringType, types.CharType, types.VarcharType, types.NullType


def _groupable() -> tuple[type[DataType], ...]:
    """List the types whose values can be grouped."""
    from pyspark.sql import types

    moments = (types.DateType, types.TimestampType, types.TimestampNTZType)
    return (*_text_types(), *moments, types.NumericType, types.BooleanType)


def scan_spark(data: Any) -> SparkTable:
    """Open a table for Spark without reading its rows.

    Parameters
    ----------
    data : pyspark.sql.DataFrame, path or URI
        A frame of PySpark; or Parquet: a file, a folder of files, or anything that Spark reads by a URI (`hdfs://...`).

    Raises
    ------
    ColumnError
        If columns have the same name.
    DataError
        If it is not such a table.
    """
    if not is_spark_frame(data):
        return _scan_files(data)
    if type(data).__module__.startswith("pyspark.sql.connect"):
        raise DataError(
            "A frame of Spark Connect cannot be processed on its cluster. Write it as Parquet and give the folder, or "
            "give data.toArrow(), which fetches it."
        )
    return _scanned(data, data.sparkSession)


def _scanned(frame: DataFrame, home: SparkSession, rows: int | None = None) -> SparkTable:
    names = frame.columns
    check_different_names(names)  # Spark allows repeated names, which would make columns ambiguous
    columns = tuple(name for name in names if not PANDAS_INDEX.fullmatch(name))
    return SparkTable(frame=frame, home=home, columns=columns, rows=rows)


def _scan_files(data: Any) -> SparkTable:
    if not isinstance(data, str | Path):
        raise DataError(
            "The engine 'spark' takes a DataFrame of PySpark, or Parquet by its path. For other tables leave ",
            Suggestion("engine"),
            " out.",
        )
    home = active_session()
    session = pinned_session(home)
    if isinstance(data, str) and "://" in data:
        shown = data.rpartition("@")[2]  # there may be a password before it
        return _scanned(on_spark(home, lambda: session.read.parquet(data), f"read '{shown}' as Parquet"), home)
    path = Path(data).expanduser().resolve()
    if not path.exists():
        raise DataError(f"There is no file or folder '{data}'.")
    if not path.is_dir() and not path.name.lower().endswith(PARQUET):
        raise DataError(
            f"'{path.name}' is not Parquet, which the engine 'spark' reads. Convert it, or take another engine with ",
            Suggestion("engine", "stream"),
            ".",
        )
    files = parquet_files(path) if path.is_dir() else [path]
    rows = _rows_of(files, path)
    # Names of files must not be taken for glob patterns.
    addresses = [re.sub(r"([\\*?\[\]{}])", r"\\\1", f"file://{file}") for file in files]
    reader = session.read
    if path.is_dir():
        # Values in the names of folders below this one become columns.
        reader = reader.option("basePath", f"file://{path}")
    frame = on_spark(home, lambda: reader.parquet(*addresses), f"read '{path.name}' as Parquet")
    return _scanned(frame, home, rows)


def _rows_of(files: Sequence[Path], path: Path) -> int:
    """Count the rows of Parquet files, and check that their columns agree: Spark would take missing ones for empty."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows, schema, shown = 0, None, path.name
    try:
        for file in files:
            facts = pq.ParquetFile(file)
            # Types must agree exactly, because Spark would read only one schema.
            if schema is None:
                schema = facts.schema_arrow
                check_partition_columns(file, path if path.is_dir() else path.parent, schema.names)
            if not facts.schema_arrow.equals(schema):
                raise DataError(f"The files in '{shown}' have different columns, or columns of different types.")
            rows += facts.metadata.num_rows
    except (OSError, pa.ArrowException) as error:
        kind = type(error).__name__
    else:
        return rows
    raise DataError(f"'{shown}' cannot be read as Parquet ({kind}). It may be damaged; write it again.")
