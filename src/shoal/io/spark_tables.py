"""Tables of Spark: their cells are counted where the rows are."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal._messages import Suggestion
from shoal.errors import ColumnError, DataError
from shoal.io.frames import PANDAS_INDEX
from shoal.io.scanning import parquet_files
from shoal.io.spark_session import active_session, is_spark_frame, on_spark, pinned_session

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType

__all__ = ["SparkTable", "scan_spark"]


@dataclass(frozen=True, kw_only=True, repr=False)
class SparkTable:
    """A table that Spark counts. Its rows stay where they are."""

    frame: DataFrame
    home: SparkSession
    """The session of the caller."""
    columns: tuple[str, ...]
    """Its columns, in their order."""
    rows: int | None = None
    """How many rows there are, where its files say that."""
    delimiter: None = None
    """It is no delimited text."""

    def cells(self, names: Sequence[str], times: str, most: int) -> pl.DataFrame | int:
        """Return each combination of values once, with how many rows have it; their number where it is too large.

        Parameters
        ----------
        names : sequence of str
            The columns.
        times : str
            What to call the numbers of rows.
        most : int
            As many combinations are fetched at most.

        Raises
        ------
        DataError
            Where a column has a type that no group can be made of, or Spark fails.
        """
        import polars as pl

        doing = "count the columns of the table"
        grouped = on_spark(self.home, lambda: self._grouped(names), doing)
        found = on_spark(self.home, lambda: grouped.limit(most + 1).toArrow(), doing)
        if found.num_rows > most:
            return on_spark(self.home, grouped.count, doing)
        cells = pl.DataFrame(pl.from_arrow(found))
        cells.columns = [*names, times]
        return cells

    def peek(self, rows: int) -> pl.DataFrame:
        """Return some rows, with the columns of which groups can be made."""
        import polars as pl

        kinds = {field.name: field.dataType for field in self.frame.schema.fields}
        names = [name for name in self.columns if isinstance(kinds[name], _groupable())]
        doing = "look at the columns of the table"
        found = pl.DataFrame(
            pl.from_arrow(on_spark(self.home, lambda: self._numbered(names).limit(rows).toArrow(), doing))
        )
        found.columns = names
        return found

    def rows_of_values(self, candidates: Sequence[str], names: Sequence[str], parts: int, most: int) -> pl.DataFrame:
        """Return some columns in the rows of one in so many values of any candidate, at most so many rows.

        Parameters
        ----------
        candidates, names : sequence of str
            Columns with types of which groups can be made.
        parts, most : int

        Returns
        -------
        polars.DataFrame
            The columns by their numbers; then for each candidate whether a row has one of its values.
        """
        import polars as pl
        from pyspark.sql import functions as spark

        def sample() -> Any:
            plain = self._numbered(names)
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
        """Return some columns, called by their numbers."""
        from pyspark.sql import functions as spark
        from pyspark.sql import types

        # Columns are found by their places: names may have dots, quotes, or differ in their case alone.
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
            # A collation would take different texts for one.
            columns.append(column.cast(types.StringType()) if isinstance(kind, _text_types()) else column)
        plain = self.frame.toDF(*(f"c{at}" for at in range(len(fields)))).select(*columns)
        return plain.toDF(*(f"c{at}" for at in range(len(columns))))

    def __repr__(self) -> str:
        return f"SparkTable(columns={len(self.columns)})"


def _text_types() -> tuple[type[DataType], ...]:
    from pyspark.sql import types

    return types.StringType, types.CharType, types.VarcharType, types.NullType


def _groupable() -> tuple[type[DataType], ...]:
    """Return the types of which groups can be made."""
    from pyspark.sql import types

    moments = (types.DateType, types.TimestampType, types.TimestampNTZType)
    return (*_text_types(), *moments, types.NumericType, types.BooleanType)


def scan_spark(data: Any) -> SparkTable:
    """Open a table for Spark without reading its rows.

    Parameters
    ----------
    data : pyspark.sql.DataFrame, path or URI
        A frame of PySpark; or Parquet: a file, a folder of such files, or what Spark reads by a URI (`hdfs://...`).

    Raises
    ------
    ColumnError
        Where columns have the same name.
    DataError
        Where it is no such table.
    """
    if not is_spark_frame(data):
        return _scan_files(data)
    if type(data).__module__.startswith("pyspark.sql.connect"):
        raise DataError(
            "A frame of Spark Connect is not worked on where it is. Write it as Parquet and give the folder, or give "
            "data.toArrow(), which fetches it."
        )
    return _scanned(data, data.sparkSession)


def _scanned(frame: DataFrame, home: SparkSession, rows: int | None = None) -> SparkTable:
    names = frame.columns
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        shown = ", ".join(f"'{name}'" for name in repeated[:5])
        raise ColumnError(f"Column names are repeated: {shown}{' and more' if len(repeated) > 5 else ''}. Rename them.")
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
        shown = data.rpartition("@")[2]  # before it there may be a password
        return _scanned(on_spark(home, lambda: session.read.parquet(data), f"read '{shown}' as Parquet"), home)
    path = Path(data).expanduser().resolve()
    if not path.exists():
        raise DataError(f"There is no file or folder '{data}'.")
    if not path.is_dir() and not path.name.lower().endswith((".parquet", ".pq")):
        raise DataError(
            f"'{path.name}' is not Parquet, which the engine 'spark' reads. Convert it, or take another engine with ",
            Suggestion("engine", "stream"),
            ".",
        )
    files = parquet_files(path) if path.is_dir() else [path]
    rows = _rows_of(files, path.name)
    addresses = [re.sub(r"([\\*?\[\]{}])", r"\\\1", f"file://{file}") for file in files]
    frame = on_spark(home, lambda: session.read.parquet(*addresses), f"read '{path.name}' as Parquet")
    return _scanned(frame, home, rows)


def _rows_of(files: Sequence[Path], shown: str) -> int:
    """Return the rows of Parquet files, which must have the same columns: Spark would take missing ones for empty."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows, schema = 0, None
    try:
        for file in files:
            facts = pq.ParquetFile(file)
            schema = facts.schema_arrow if schema is None else schema
            if not facts.schema_arrow.equals(schema):
                raise DataError(f"The files in '{shown}' have different columns, or columns of different types.")
            rows += facts.metadata.num_rows
    except (OSError, pa.ArrowException) as error:
        kind = type(error).__name__
    else:
        return rows
    raise DataError(f"'{shown}' cannot be read as Parquet ({kind}). It may be damaged; write it again.")
