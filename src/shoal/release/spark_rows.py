"""Row store of the Spark engine: published rows as a Spark frame, or as files written by the executors."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import DataError, ReleaseUnsafeError
from shoal.io import on_spark, pinned_session
from shoal.release.row_store import Files, WrittenCheck, sha256_of
from shoal.release.streamed_rows import StreamedRows
from shoal.table.counts import windows

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType

_FILE_ROWS = 1 << 20
"""Maximum number of rows of a file."""
_FILE_ENTRIES = 1 << 16
"""Maximum number of distinct rows of a file; one task holds all of them."""
_BATCH_ENTRIES = 1 << 20
"""Maximum number of distinct rows sent to Spark at a time."""
_PART = re.compile(r"part-([0-9]+)-.*\.parquet")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class SparkRows(StreamedRows):
    """Published rows that Spark generates, as a Spark frame or as files written by the executors.

    Before the folder appears, the files are counted again without Spark.
    """

    session: SparkSession
    """The session that generates the rows."""

    def data(self, published: pl.DataFrame, text: Sequence[str], restore: Callable[[pl.DataFrame], Any]) -> Any:
        """Return the published table as a lazy Spark frame."""
        packed = _packed(published, self.counts)
        return on_spark(self.session, lambda: _spread(self.session, packed), "take the rows of the release")

    def _write_files(self, shown: pl.DataFrame, path: Path) -> Files:
        # Settings of the session must not change the written values.
        pinned = pinned_session(self.session)
        packed = _packed(shown, self.counts)

        def write() -> None:
            _spread(pinned, packed).write.mode("errorifexists").parquet(f"file://{path.resolve()}")

        on_spark(self.session, write, "write the release")
        rows = _renamed(path, packed.rows)
        return {f"{path.name}/{name}": {"sha256": sha256_of(path / name), "rows": rows[name]} for name in rows}

    def verify_written(self, path: Path, *, names: Sequence[str], shown: pl.DataFrame, check: WrittenCheck) -> None:
        """Verify the files by counting their cells with Polars, which shares no code with the writer."""
        StreamedRows.verify_written(self, path, names=names, shown=_for_spark(shown), check=check)


def _renamed(folder: Path, rows: Sequence[int]) -> dict[str, int]:
    """Rename the files that Spark wrote; check and return the number of rows of each."""
    import pyarrow.parquet as pq

    found = {}
    # Keep the parts; remove Spark's markers and checksums.
    for file in sorted(folder.iterdir()):
        part = _PART.fullmatch(file.name)
        if part is not None:
            found[int(part[1])] = file
        elif file.is_dir():
            shutil.rmtree(file)
        else:
            file.unlink()
    # Executors that do not share the storage leave their files elsewhere.
    if len(found) < len(rows):
        raise DataError(
            f"Spark wrote {len(rows)} files, and {len(found)} of them are here. Choose an output folder on storage "
            "that this machine and all executors share under the same path. Nothing was published."
        )
    written = {}
    for number, file in sorted(found.items()):
        name = f"part-{number:05d}.parquet"
        written[name] = pq.read_metadata(file).num_rows
        file.rename(folder / name)
    if list(written.values()) != list(rows):
        raise ReleaseUnsafeError(
            "The files that Spark wrote hold other numbers of rows than the release. Nothing was published."
        )
    return written


@dataclass(frozen=True, kw_only=True, repr=False)
class _Packed:
    """Rows with counts, packed so that each line becomes a partition."""

    table: pa.Table
    """A line for each partition: its number, the count of each of its rows, and the values of each column."""
    kinds: Sequence[DataType]
    """The types of the columns."""
    names: Sequence[str]
    rows: Sequence[int]
    """Number of rows that each line is expanded to."""


def _packed(rows: pl.DataFrame, counts: NDArray[np.int64]) -> _Packed:
    """Pack rows with counts; lines, and therefore files, depend only on the published rows and their order."""
    import pyarrow as pa

    names = rows.columns
    plain = _for_spark(rows)
    kinds = [_spark_type(name, kind) for name, kind in plain.schema.items()]
    # Numbered columns, because Spark interprets dots and backticks in names.
    plain.columns = [f"c{at}" for at in range(len(names))]
    once = plain.with_columns(times=pl.Series(counts, dtype=pl.Int64))
    # Rows that became equal by conversion are merged.
    once = once.group_by(plain.columns, maintain_order=True).agg(pl.col("times").sum())
    cut = [*_cut(once["times"].to_numpy())]
    batches = []
    # Each batch is one Arrow message, so its size is limited.
    for first, last in _batches([len(times) for _, times in cut]):
        some = cut[first:last]
        values = pl.concat([once[cells] for cells, _ in some]).with_columns(times=np.concatenate([t for _, t in some]))
        starts = pa.array(np.cumsum([0, *(len(times) for _, times in some)]), pa.int32())
        spread = [pa.ListArray.from_arrays(starts, _arrow(values[name])) for name in ("times", *plain.columns)]
        numbers = pa.array(np.arange(first, last), pa.int32())
        batches.append(pa.record_batch([numbers, *spread], names=["file", "times", *plain.columns]))
    return _Packed(
        table=pa.Table.from_batches(batches), kinds=kinds, names=names, rows=[int(times.sum()) for _, times in cut]
    )


def _cut(counts: NDArray[np.int64]) -> Iterator[tuple[slice, NDArray[np.int64]]]:
    """Split rows with counts into files; a row may occur in several."""
    for cells, times in windows(counts, _FILE_ROWS):
        for start in range(0, len(times), _FILE_ENTRIES):
            some = times[start : start + _FILE_ENTRIES]
            yield slice(cells.start + start, cells.start + start + len(some)), some


def _batches(sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield ranges of lines with a limited total number of entries."""
    first, held = 0, 0
    for at, size in enumerate(sizes):
        # A single line may exceed the limit, so a batch has at least one.
        if held and held + size > _BATCH_ENTRIES:
            yield first, at
            first, held = at, 0
        held += size
    yield first, len(sizes)


def _arrow(values: pl.Series) -> pa.Array:
    import pyarrow as pa

    found = values.to_arrow()
    return found.cast(pa.string()) if values.dtype == pl.String else found


def _for_spark(rows: pl.DataFrame) -> pl.DataFrame:
    """Convert a table to Spark's types: categories to text, integers to signed ones, times to microseconds."""

    def known(kind: pl.DataType) -> Any:
        if kind in (pl.Categorical, pl.Enum, pl.Null):
            return pl.String
        if isinstance(kind, pl.Datetime):
            return pl.Datetime("us", None if kind.time_zone is None else "UTC")
        wider: dict[Any, Any] = {pl.UInt8: pl.Int16, pl.UInt16: pl.Int32, pl.UInt32: pl.Int64}
        return wider.get(kind, kind)

    return pl.DataFrame([column.cast(known(column.dtype)) for column in rows])


def _spark_type(name: str, kind: pl.DataType) -> DataType:
    """Return the Spark type of a column."""
    from pyspark.sql import types

    if isinstance(kind, pl.Datetime):
        return types.TimestampNTZType() if kind.time_zone is None else types.TimestampType()
    if isinstance(kind, pl.Decimal):
        return types.DecimalType(kind.precision or 38, kind.scale)
    known: dict[Any, DataType] = {
        pl.Boolean: types.BooleanType(),
        pl.Date: types.DateType(),
        pl.Float32: types.FloatType(),
        pl.Float64: types.DoubleType(),
        pl.Int8: types.ByteType(),
        pl.Int16: types.ShortType(),
        pl.Int32: types.IntegerType(),
        pl.Int64: types.LongType(),
        pl.String: types.StringType(),
    }
    if kind not in known:
        raise DataError(f"The column '{name}' has the type {kind.base_type()}, which Spark has not. Turn it into text.")
    return known[kind]


def _spread(session: SparkSession, packed: _Packed) -> DataFrame:
    """Unpack rows, each line into a partition of its own, in order.

    Partitioning by range with as many ranges as lines makes each line a range, so the partition of a row depends on
    the rows alone.
    """
    from pyspark.sql import functions as spark
    from pyspark.sql import types

    columns = [f"c{at}" for at in range(len(packed.kinds))]
    stated = types.StructType().add("file", types.IntegerType()).add("times", types.ArrayType(types.LongType()))
    for name, kind in zip(columns, packed.kinds, strict=True):
        stated.add(name, types.ArrayType(kind))
    # One line for each partition, then one row for each entry, then its copies.
    lines = session.createDataFrame(packed.table, stated).repartitionByRange(len(packed.rows), "file")
    entries = lines.select(spark.explode(spark.arrays_zip("times", *columns)).alias("entry"))
    copies = spark.explode(spark.sequence(spark.lit(1).cast("bigint"), spark.col("entry.times"))).alias("copy")
    rows = entries.select(*(spark.col(f"entry.{name}").alias(name) for name in columns), copies)
    return rows.select(*columns).toDF(*packed.names)
