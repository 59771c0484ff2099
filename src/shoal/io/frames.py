"""The door for notebooks: any frame becomes a Polars frame, and a release becomes the caller's kind of frame again."""

from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.errors import ColumnError, DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd
    import polars as pl
    import pyarrow as pa

__all__ = ["PANDAS_INDEX", "OpenedFrame", "open_frame", "without_pandas_index"]

PANDAS_INDEX = re.compile(r"__index_level_\d+__")
"""Names of the columns in which pandas keeps an unnamed index in Arrow and Parquet."""


@dataclass(frozen=True, kw_only=True, repr=False)
class OpenedFrame:
    """A caller's frame as Polars, with the way back."""

    frame: pl.DataFrame
    """The columns of the caller's frame. A pandas index is not among them."""
    restore: Callable[[pl.DataFrame], Any]
    """Make the caller's kind of frame of a Polars frame: a Polars, pandas (with a fresh index), Arrow, ... one. Columns
    whose Polars type is still the one that they were opened with get their native type back; categories that do not
    occur are dropped."""

    def __repr__(self) -> str:
        return f"OpenedFrame(rows={self.frame.height}, columns={self.frame.width})"


def open_frame(data: Any) -> OpenedFrame:
    """Open a frame of whatever library the caller uses.

    Parameters
    ----------
    data : frame
        A pandas or Polars `DataFrame`, a Polars `LazyFrame` (collected), an Arrow `Table`, or another eager frame that
        narwhals takes. It is not changed. The index of a pandas frame is ignored.

    Raises
    ------
    ColumnError
        Where column names are repeated or are not text.
    DataError
        Where it is no such frame, or a column mixes types.
    """
    import polars as pl

    if isinstance(data, pl.LazyFrame):
        data = data.collect()
    if isinstance(data, pl.DataFrame):
        return OpenedFrame(frame=data, restore=lambda frame: frame)
    # A frame of a library that was never imported cannot be here: do not import it to find out.
    pandas, pyarrow = sys.modules.get("pandas"), sys.modules.get("pyarrow")
    if pandas is not None and isinstance(data, pandas.DataFrame):
        return _open_pandas(data)
    if pyarrow is not None and isinstance(data, pyarrow.Table):
        return _open_arrow(data)
    return _open_with_narwhals(data)


def without_pandas_index(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame without the columns in which pandas keeps an unnamed index: they are row numbers, not data."""
    return frame.drop([name for name in frame.columns if PANDAS_INDEX.fullmatch(name)])


def _check_names(names: Sequence[Any]) -> None:
    odd = [name for name in names if not isinstance(name, str)]
    if odd:
        raise ColumnError(
            f"{len(odd)} column name(s) are not text: {', '.join(repr(name) for name in odd[:5])}"
            f"{' and more' if len(odd) > 5 else ''}. Rename them: data.columns = data.columns.map(str)."
        )
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        shown = ", ".join(f"'{name}'" for name in repeated[:5])
        raise ColumnError(f"Column names are repeated: {shown}{' and more' if len(repeated) > 5 else ''}. Rename them.")


def _open_pandas(data: pd.DataFrame) -> OpenedFrame:
    import polars as pl

    _check_names(list(data.columns))
    columns = [_column_from_pandas(data[name]) for name in data.columns]
    # Without a column a Polars frame would lose the number of rows: such a frame is refused later, as empty.
    frame = pl.DataFrame(columns)
    natives = dict(data.dtypes.items())

    def restore(published: pl.DataFrame) -> pd.DataFrame:
        import pandas as pd

        restored = {
            column.name: _column_to_pandas(column, natives[column.name])
            if frame.schema.get(column.name) == column.dtype
            else column.to_pandas()
            for column in published
        }
        return pd.DataFrame(restored, index=pd.RangeIndex(published.height))

    return OpenedFrame(frame=frame, restore=restore)


def _column_from_pandas(column: pd.Series) -> pl.Series:
    import pandas as pd
    import polars as pl

    name, kind = str(column.name), column.dtype
    try:
        if isinstance(kind, (pd.PeriodDtype, pd.IntervalDtype)):
            column = column.astype(pd.CategoricalDtype(ordered=True))
        elif isinstance(kind, pd.SparseDtype):
            column = column.sparse.to_dense()
        if not isinstance(column.dtype, pd.CategoricalDtype):
            return _series(pl.from_pandas(column)).alias(name)
        codes = pl.Series(column.cat.codes.to_numpy().astype("int64"))
        return _category_values(column.cat).gather(codes.set(codes < 0, None)).alias(name)
    except (TypeError, ValueError, NotImplementedError, OverflowError, pl.exceptions.PolarsError):
        raise _mixed(name, str(kind)) from None


def _category_values(categories: Any) -> pl.Series:
    """Return pandas' categories as values: numbers and dates as they are, others as text with the declared order."""
    import pandas as pd
    import polars as pl

    declared = categories.categories
    textual = declared.dtype == object or isinstance(declared.dtype, (pd.StringDtype, pd.IntervalDtype, pd.PeriodDtype))
    if not textual and (not categories.ordered or declared.is_monotonic_increasing):
        return _series(pl.from_pandas(declared.to_series()))
    words = [str(value) for value in declared]
    if len(set(words)) < len(words):
        raise TypeError  # different categories would become one
    return pl.Series(words, dtype=pl.Enum(words) if categories.ordered else pl.Categorical)


def _column_to_pandas(column: pl.Series, native: Any) -> pd.Series:
    """Return a column with the native type that it once had."""
    import pandas as pd
    import polars as pl

    if isinstance(native, pd.CategoricalDtype):
        plain = column.cast(pl.String) if column.dtype in (pl.Enum, pl.Categorical) else column
        occurring = set(plain.drop_nulls().unique())
        kept = [
            value for value in native.categories if (str(value) if plain.dtype == pl.String else value) in occurring
        ]
        if len(kept) < len(occurring) or (kept and plain.dtype == pl.String and not isinstance(kept[0], str)):
            return plain.to_pandas()
        return plain.to_pandas().astype(pd.CategoricalDtype(kept, ordered=native.ordered))
    if isinstance(native, (pd.PeriodDtype, pd.IntervalDtype)):
        return column.cast(pl.String).to_pandas()
    if native.kind == "O" and not isinstance(native, pd.api.extensions.ExtensionDtype):
        return pd.Series(column.to_list(), dtype=object)
    if pd.api.types.is_extension_array_dtype(native) and not isinstance(native, pd.DatetimeTZDtype):
        return column.to_pandas(use_pyarrow_extension_array=True).astype(native)
    if native.kind in "iub" and column.null_count() > 0:
        return column.to_pandas()
    return column.to_pandas().astype(native)


def _open_arrow(data: pa.Table) -> OpenedFrame:
    import polars as pl
    import pyarrow as pa

    _check_names(data.column_names)
    columns = [_column_from_arrow(name, data.column(name)) for name in data.column_names]
    frame = without_pandas_index(pl.DataFrame(columns))
    natives = {field.name: field.type for field in data.schema}

    def restore(published: pl.DataFrame) -> pa.Table:
        columns = {
            column.name: _column_to_arrow(column, natives[column.name])
            if frame.schema.get(column.name) == column.dtype
            else _column_to_arrow(column, None)
            for column in published
        }
        return pa.table(columns)

    return OpenedFrame(frame=frame, restore=restore)


def _column_from_arrow(name: str, column: pa.ChunkedArray) -> pl.Series:
    import polars as pl
    import pyarrow as pa

    kind = column.type
    try:
        if pa.types.is_dictionary(kind):
            if not (pa.types.is_string(kind.value_type) or pa.types.is_large_string(kind.value_type)):
                column = column.cast(kind.value_type)
            elif kind.ordered:
                words = (
                    pl.Series(column.unify_dictionaries().chunk(0).dictionary) if column.num_chunks else pl.Series([])
                )
                return pl.Series(name, column.cast(kind.value_type), dtype=pl.Enum(words.cast(pl.String)))
        return pl.Series(name, column)
    except (TypeError, ValueError, NotImplementedError, pl.exceptions.PolarsError):
        # Without its parameters: the fields of a structure may be made of cells.
        raise _mixed(name, str(kind).partition("<")[0]) from None


def _column_to_arrow(column: pl.Series, native: pa.DataType | None) -> pa.ChunkedArray | pa.Array:
    """Return a column with the native type that it once had; a dictionary holds only what occurs."""
    import polars as pl
    import pyarrow as pa

    plain = (column.cast(pl.String) if column.dtype in (pl.Categorical, pl.Enum) else column).to_arrow()
    if native is None:
        return plain
    if pa.types.is_dictionary(native) and native.ordered and column.dtype == pl.Enum:
        occurring = column.drop_nulls().unique().sort().cast(pl.String)
        codes = column.cast(pl.String).cast(pl.Enum(occurring)).to_physical().to_arrow()
        words = occurring.to_arrow().cast(native.value_type)
        return pa.DictionaryArray.from_arrays(codes.cast(native.index_type), words, ordered=True)
    if pa.types.is_dictionary(native):
        return plain.cast(native.value_type).dictionary_encode()
    return plain.cast(native)


def _open_with_narwhals(data: Any) -> OpenedFrame:
    import narwhals as nw

    try:
        opened = nw.from_native(data, eager_only=True)
        frame = opened.to_polars()
    except nw.exceptions.DuplicateError:
        raise ColumnError("Column names are repeated. Rename them.") from None
    except TypeError:
        kind = f"{type(data).__module__}.{type(data).__name__}"
        raise DataError(
            f"shoal cannot read a table from {kind}. Give a pandas or Polars DataFrame, an Arrow Table, another eager "
            "frame that narwhals takes, or the path of a CSV, Parquet or Arrow file."
        ) from None

    def restore(published: pl.DataFrame) -> Any:
        restored = nw.from_arrow(published.to_arrow(), backend=opened.implementation)
        return restored if isinstance(data, nw.DataFrame) else restored.to_native()

    return OpenedFrame(frame=frame, restore=restore)


def _series(converted: pl.Series | pl.DataFrame) -> pl.Series:
    return converted.to_series() if hasattr(converted, "to_series") else converted


def _mixed(name: str, kind: str) -> DataError:
    return DataError(
        f"The column '{name}' (of the type {kind}) holds values that do not form one type. Turn it into text or "
        "numbers, or drop it."
    )
