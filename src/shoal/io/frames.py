"""Convert frames of other libraries to Polars, and releases back to the caller's kind of frame."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

import polars as pl

from shoal._core.unpicklable import Unpicklable
from shoal.errors import ColumnError, DataError
from shoal.io.column_names import check_different_names

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_UUID = r"^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
PANDAS_INDEX = re.compile(r"__index_level_\d+__")
"""Names of the columns in which pandas stores an unnamed index in Arrow and Parquet."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Restorer:
    """Converts a Polars frame to the caller's kind of frame. It holds the types of columns, and no cell."""

    kinds: Mapping[str, pl.DataType] = field(default_factory=dict)
    """The Polars types of the columns when the frame was opened."""
    natives: Mapping[str, Any] = field(default_factory=dict)
    """The native types of the columns."""

    def __call__(self, frame: pl.DataFrame) -> Any:
        """Convert a frame; columns whose Polars type is unchanged get their native type back.

        Categories that do not occur are dropped.
        """
        return frame

    def of(self, published: pl.DataFrame) -> Restorer:
        """Restrict the restorer to the columns and categories of a published frame."""
        natives = {
            column.name: self._occurring(self.natives[column.name], column)
            for column in published
            if self._is_as_opened(column) and column.name in self.natives
        }
        return replace(self, kinds={name: published.schema[name] for name in natives}, natives=natives)

    def with_categories(self, frame: pl.DataFrame, ordered: Mapping[str, bool]) -> Restorer:
        """Extend the restorer by columns of declared categories, each with a flag if they are ordered."""
        return self

    def joined_with(self, other: Restorer) -> Restorer:
        """Extend the restorer by the columns of another one for the same kind of frame; columns in both keep theirs."""
        if type(other) is not type(self):
            return self
        return replace(self, kinds={**other.kinds, **self.kinds}, natives={**other.natives, **self.natives})

    def _occurring(self, native: Any, column: pl.Series) -> Any:
        """Restrict a native type to the values that occur in a column."""
        return native

    def _with_natives(self, frame: pl.DataFrame, natives: Mapping[str, Any]) -> Restorer:
        """Extend the restorer by native types of more columns."""
        kinds = {**self.kinds, **{name: frame.schema[name] for name in natives}}
        return replace(self, kinds=kinds, natives={**self.natives, **natives})

    def _is_as_opened(self, column: pl.Series) -> bool:
        opened, kind = self.kinds.get(column.name), column.dtype
        if isinstance(opened, pl.Enum) and isinstance(
            kind, pl.Enum
        ):  # possibly without categories that are not published
            return set(kind.categories) <= set(opened.categories)
        return opened == kind

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.natives)} columns)"


@dataclass(frozen=True, kw_only=True, repr=False)
class OpenedFrame(Unpicklable):
    """A caller's frame as Polars, with the conversion back."""

    frame: pl.DataFrame
    """The columns of the caller's frame, without a pandas index."""
    restore: Restorer
    """Converts a Polars frame to the caller's kind of frame, such as Polars, pandas (with a fresh index) or Arrow."""

    def __repr__(self) -> str:
        return f"OpenedFrame(rows={self.frame.height}, columns={self.frame.width})"


def open_frame(data: Any, *, lenient: bool = False) -> OpenedFrame:
    """Open a frame of any supported library.

    Parameters
    ----------
    data : frame
        A pandas or Polars `DataFrame`, a Polars `LazyFrame` (collected), an Arrow `Table`, another eager frame that
        narwhals takes, or an object that exports Arrow, such as a DuckDB relation (an Arrow table comes back). It is
        not changed. The index of a pandas frame is ignored.
    lenient : bool
        Whether a column whose values cannot be converted, such as one of mixed types, becomes a column of
        objects without their values. It may be dropped, and any other use of it is refused.

    Raises
    ------
    ColumnError
        If column names are repeated or are not text.
    DataError
        If it is not such a frame, or if a column mixes types.
    """
    # Frames of Polars are taken as they are; the conversion back does nothing.
    if isinstance(data, pl.LazyFrame):
        data = data.collect()
    if isinstance(data, pl.DataFrame):
        return OpenedFrame(frame=data, restore=Restorer())
    # A frame of a library that was never imported cannot occur, so the library is not imported for the check.
    pandas, pyarrow = sys.modules.get("pandas"), sys.modules.get("pyarrow")
    if pandas is not None and isinstance(data, pandas.DataFrame):
        return _open_pandas(data, lenient)
    if pyarrow is not None and isinstance(data, pyarrow.Table):
        return _open_arrow(data, lenient)
    return _open_with_narwhals(data, lenient)


def _convert(convert: Callable[[str, Any], pl.Series], name: str, column: Any, lenient: bool) -> pl.Series:
    """Convert a column, or keep its name and length if that is impossible and enough."""
    try:
        return convert(name, column)
    except DataError:
        if not lenient:
            raise
    # Objects without a meaning, because missing values could be taken for data.
    return pl.Series(name, [...] * len(column), dtype=pl.Object)


def without_pandas_index(frame: pl.DataFrame) -> pl.DataFrame:
    """Drop the columns in which pandas stores an unnamed index, because they are row numbers, not data."""
    return frame.drop([name for name in frame.columns if PANDAS_INDEX.fullmatch(name)])


def _check_names(names: Sequence[Any]) -> None:
    # Names that are not text cannot be columns of a file. They may be cells of a table without a line of names.
    odd = sum(not isinstance(name, str) for name in names)
    if odd:
        raise ColumnError(
            f"{odd} of {len(names)} column names are not text. Rename them: data.columns = data.columns.map(str). If "
            "they are the first row of the table, read it again without a line of names."
        )
    check_different_names(names)


def _open_pandas(data: pd.DataFrame, lenient: bool) -> OpenedFrame:
    _check_names(list(data.columns))
    # Each column is converted by itself, so that an error can name it.
    columns = [_convert(_column_from_pandas, name, data[name], lenient) for name in data.columns]
    # Without columns the number of rows is lost, but such a frame is rejected later as empty.
    frame = pl.DataFrame(columns)
    natives = {name: UUID if _are_uuids(data[name]) else kind for name, kind in data.dtypes.items()}
    return OpenedFrame(frame=frame, restore=_PandasRestorer(kinds=dict(frame.schema), natives=natives))


def _are_uuids(column: pd.Series) -> bool:
    """Check whether a column of objects holds UUIDs, and no other values."""
    if column.dtype.kind != "O":
        return False
    values = column.dropna()
    return len(values) > 0 and isinstance(values.iloc[0], UUID) and all(isinstance(one, UUID) for one in values)


class _PandasRestorer(Restorer):
    def __call__(self, frame: pl.DataFrame) -> pd.DataFrame:
        import pandas as pd

        restored = {
            column.name: _column_to_pandas(column, self.natives[column.name])
            if column.name in self.natives and self._is_as_opened(column)
            else column.to_pandas()
            for column in frame
        }
        return pd.DataFrame(restored, index=pd.RangeIndex(frame.height))

    def with_categories(self, frame: pl.DataFrame, ordered: Mapping[str, bool]) -> Restorer:
        import pandas as pd

        natives = {
            name: pd.CategoricalDtype(cast("pl.Enum", frame.schema[name]).categories.to_list(), ordered=ranked)
            for name, ranked in ordered.items()
        }
        return self._with_natives(frame, natives)

    def _occurring(self, native: Any, column: pl.Series) -> Any:
        import pandas as pd

        if not isinstance(native, pd.CategoricalDtype):
            return native
        return pd.CategoricalDtype(_categories_in(column, native) or [], ordered=native.ordered)


def _column_from_pandas(name: str, column: pd.Series) -> pl.Series:
    import pandas as pd

    kind = column.dtype
    # Every failure becomes one error without cells; `textual` records whether characters were the cause.
    textual = True
    try:
        if isinstance(kind, (pd.PeriodDtype, pd.IntervalDtype)):
            column = column.astype(pd.CategoricalDtype(ordered=True))
        elif isinstance(kind, pd.SparseDtype):
            column = column.sparse.to_dense()
        elif _are_uuids(column):
            column = column.map(str, na_action="ignore")
        if not isinstance(column.dtype, pd.CategoricalDtype):
            return _series(pl.from_pandas(column)).alias(name)
        codes = pl.Series(column.cat.codes.to_numpy().astype("int64"))
        return _category_values(column.cat).gather(codes.set(codes < 0, None)).alias(name)
    except UnicodeEncodeError:
        textual = False
    except (TypeError, ValueError, NotImplementedError, OverflowError, pl.exceptions.PolarsError):
        pass
    # Raised outside of the handlers, because the errors above hold cells and would be chained.
    if textual:
        raise _mixed(
            name, str(kind).partition("<")[0]
        )  # without parameters: fields of a structure may derive from cells
    raise DataError(
        f"The column '{name}' holds text that is not Unicode: half of a pair of surrogates. Read it with its right "
        "encoding, or replace such characters, data[column].str.encode('utf-8', 'replace').str.decode('utf-8') in "
        "pandas."
    )


def _category_values(categories: Any) -> pl.Series:
    """Convert pandas categories to values: numbers and dates unchanged, others to text in the declared order."""
    import pandas as pd

    declared = categories.categories
    textual = declared.dtype == object or isinstance(declared.dtype, (pd.StringDtype, pd.IntervalDtype, pd.PeriodDtype))
    # Numbers and dates have a natural order, which the declared one must not contradict.
    if not textual and (not categories.ordered or declared.is_monotonic_increasing):
        return _series(pl.from_pandas(declared.to_series()))
    # Other categories are compared as text, in the declared order.
    words = [str(value) for value in declared]
    if len(set(words)) < len(words):
        raise TypeError  # different categories would be merged
    return pl.Series(words, dtype=pl.Enum(words) if categories.ordered else pl.Categorical)


def _column_to_pandas(column: pl.Series, native: Any) -> pd.Series:
    """Convert a column to its former native type."""
    import pandas as pd

    if isinstance(native, pd.CategoricalDtype):
        plain = column.cast(pl.String) if column.dtype in (pl.Enum, pl.Categorical) else column
        kept = _categories_in(column, native)
        return (
            plain.to_pandas() if kept is None else plain.to_pandas().astype(pd.CategoricalDtype(kept, native.ordered))
        )
    if isinstance(native, (pd.PeriodDtype, pd.IntervalDtype)):
        return column.cast(pl.String).to_pandas()
    if native is UUID:
        # Stars and sets of UUIDs stay text.
        if not column.drop_nulls().str.contains(_UUID).all():
            return column.to_pandas()
        return pd.Series([None if value is None else UUID(value) for value in column], dtype=object)
    # Object columns keep Python values; integers with missing values become floats, as in pandas.
    if native.kind == "O" and not isinstance(native, pd.api.extensions.ExtensionDtype):
        return pd.Series(column.to_list(), dtype=object)
    if pd.api.types.is_extension_array_dtype(native) and not isinstance(native, pd.DatetimeTZDtype):
        return column.to_pandas(use_pyarrow_extension_array=True).astype(native)
    if native.kind in "iub" and column.null_count() > 0:
        return column.to_pandas()
    return column.to_pandas().astype(native)


def _categories_in(column: pl.Series, native: pd.CategoricalDtype) -> list[Any] | None:
    """List the categories that occur in a column; None if it has others, or if its type has none.

    Ordered categories keep their order. Others are sorted, because their order may be that of the rows.
    """
    values = column.drop_nulls().unique()
    textual = values.dtype in (pl.String, pl.Enum, pl.Categorical)
    occurring = set(values.cast(pl.String) if textual else values)
    # Categories are restricted to those that occur, because others may reveal values of the input.
    kept = [value for value in native.categories if (str(value) if textual else value) in occurring]
    if len(kept) < len(occurring) or (kept and textual and not isinstance(kept[0], str)):
        return None
    return kept if native.ordered else sorted(kept)


def _open_arrow(data: pa.Table, lenient: bool) -> OpenedFrame:
    _check_names(data.column_names)
    columns = [_convert(_column_from_arrow, name, data.column(name), lenient) for name in data.column_names]
    frame = without_pandas_index(pl.DataFrame(columns))
    natives = {one.name: one.type for one in data.schema}
    return OpenedFrame(frame=frame, restore=_ArrowRestorer(kinds=dict(frame.schema), natives=natives))


class _ArrowRestorer(Restorer):
    def with_categories(self, frame: pl.DataFrame, ordered: Mapping[str, bool]) -> Restorer:
        import pyarrow as pa

        natives = {name: pa.dictionary(pa.int32(), pa.string(), ordered=ranked) for name, ranked in ordered.items()}
        return self._with_natives(frame, natives)

    def __call__(self, frame: pl.DataFrame) -> pa.Table:
        import pyarrow as pa

        return pa.table(
            {
                column.name: _column_to_arrow(
                    column, self.natives.get(column.name) if self._is_as_opened(column) else None
                )
                for column in frame
            }
        )


def _column_from_arrow(name: str, column: pa.ChunkedArray) -> pl.Series:
    import pyarrow as pa

    kind = column.type
    try:
        # Ordered dictionaries of text keep their order; other dictionaries are decoded.
        if pa.types.is_dictionary(kind):
            if not (pa.types.is_string(kind.value_type) or pa.types.is_large_string(kind.value_type)):
                column = column.cast(kind.value_type)
            elif kind.ordered:
                words = (
                    pl.Series(column.unify_dictionaries().chunk(0).dictionary) if column.num_chunks else pl.Series([])
                )
                return pl.Series(name, column.cast(kind.value_type), dtype=pl.Enum(words.cast(pl.String)))
        elif "decimal256(" in str(kind):  # Polars has 38 digits, which most such columns do not exceed
            column = column.cast(_narrowed(kind))
        return pl.Series(name, column)
    except (TypeError, ValueError, NotImplementedError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        # Without its parameters: the fields of a structure may derive from cells.
        raise _mixed(name, str(kind).partition("<")[0]) from None


def _narrowed(kind: pa.DataType) -> pa.DataType:
    """Return a type of Arrow with decimals of 38 digits for longer ones, also within lists and structures."""
    import pyarrow as pa

    if pa.types.is_decimal256(kind):
        return pa.decimal128(38, kind.scale)
    if pa.types.is_struct(kind):
        return pa.struct([one.with_type(_narrowed(one.type)) for one in kind])
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_narrowed(kind.value_type), kind.list_size)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return (pa.list_ if pa.types.is_list(kind) else pa.large_list)(_narrowed(kind.value_type))
    return kind


def _column_to_arrow(column: pl.Series, native: pa.DataType | None) -> pa.ChunkedArray | pa.Array:
    """Convert a column to its former native type; a dictionary holds only values that occur."""
    import pyarrow as pa

    plain = (column.cast(pl.String) if column.dtype in (pl.Categorical, pl.Enum) else column).to_arrow()
    if native is None or plain.type == native:
        return plain
    if isinstance(native, pa.BaseExtensionType) and isinstance(plain.type, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(native, plain.storage.cast(native.storage_type))
    if pa.types.is_dictionary(native) and native.ordered and column.dtype == pl.Enum:
        # A dictionary must not reveal categories that are not published.
        occurring = column.drop_nulls().unique().sort().cast(pl.String)
        codes = column.cast(pl.String).cast(pl.Enum(occurring)).to_physical().to_arrow()
        words = occurring.to_arrow().cast(native.value_type)
        return pa.DictionaryArray.from_arrays(codes.cast(native.index_type), words, ordered=True)
    if pa.types.is_dictionary(native):
        return plain.cast(native.value_type).dictionary_encode()
    return plain.cast(native)


def _open_with_narwhals(data: Any, lenient: bool) -> OpenedFrame:
    import narwhals as nw

    try:
        opened = nw.from_native(data, eager_only=True)
        frame = opened.to_polars()
    except nw.exceptions.DuplicateError:
        raise ColumnError("Column names are repeated. Rename them.") from None
    except TypeError:
        kind = f"{type(data).__module__}.{type(data).__name__}"
        # Other tables, such as relations of DuckDB, export their rows in the format of Arrow. Series have no columns.
        if hasattr(data, "__arrow_c_stream__") and hasattr(data, "columns") and not kind.startswith("pyspark."):
            import pyarrow as pa

            return _open_arrow(pa.table(data), lenient)
        # Fetching a frame of Spark could exhaust the memory, so the caller must request it.
        if kind.startswith("pyspark."):
            raise DataError(
                "A frame of Spark is not fetched here by default. Give data.toArrow() of the columns that are needed. "
                "anonymize and audit take the frame itself."
            ) from None
        raise DataError(
            f"shoal cannot read a table from {kind}. Give a pandas or Polars DataFrame, an Arrow Table, another eager "
            "frame that narwhals takes, or the path of a CSV, Parquet or Arrow file."
        ) from None

    restore = _NarwhalsRestorer(library=opened.implementation, wrapped=isinstance(data, nw.DataFrame))
    return OpenedFrame(frame=frame, restore=restore)


@dataclass(frozen=True, kw_only=True, repr=False)
class _NarwhalsRestorer(Restorer):
    library: Any
    """The library of the caller's frame, as narwhals names it."""
    wrapped: bool
    """Whether the caller's frame was a narwhals frame."""

    def __call__(self, frame: pl.DataFrame) -> Any:
        import narwhals as nw

        restored = nw.from_arrow(frame.to_arrow(), backend=self.library)
        return restored if self.wrapped else restored.to_native()


def _series(converted: pl.Series | pl.DataFrame) -> pl.Series:
    return converted.to_series() if hasattr(converted, "to_series") else converted


def _mixed(name: str, kind: str) -> DataError:
    return DataError(
        f"The column '{name}' (of the type {kind}) holds values that do not form one type. Turn it into text or "
        "numbers, or drop it."
    )
