"""Dictionary-encoded columns: vectors of small integer codes, the only form in which algorithms access data."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, partial
from typing import TypeAlias, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.on_demand import OnDemand
from shoal._core.threads import map_in_threads
from shoal._core.unpicklable import Unpicklable
from shoal.errors import DataError
from shoal.table.classes import EquivalenceClasses
from shoal.table.counts import multiplicities
from shoal.table.natural_order import LONGEST_NUMBER, NUMBER, numeric_order
from shoal.table.schema import Schema

Numbers: TypeAlias = tuple[Fraction, ...] | None

_SMALL_RANGE = 1 << 16
"""Integers are counted instead of hashed if their range is below this, or below `_RANGE_PER_ROW` times the rows."""
_RANGE_PER_ROW = 2
_ISO_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Column(Unpicklable):
    """One column: a code per row, and the value of each code."""

    name: str
    codes: NDArray[np.unsignedinteger]
    """Code of each row, in the narrowest unsigned type; 0 <= code < len(dictionary)."""
    dictionary: pl.Series
    """Distinct values in their natural order: numbers and dates by size, declared categories as declared, text
    alphabetically. Every code occurs. A missing value, if there is one, is the last entry (null)."""
    ordered: bool
    """Whether the order of the values is meaningful, so that an interval is a sensible sub-domain."""
    numbers: OnDemand[Numbers] = OnDemand()
    """The values by code as exact numbers (`tuple` of `Fraction`), without the missing value; None if the column is not
    numeric. May be given as a function, which is called at first access."""
    of_intervals: bool = False
    """Whether the values are intervals of numbers or dates, created by a coarsening. If so, several of them are
    generalized to an interval that covers them all."""

    @property
    def size(self) -> int:
        """Number of distinct values, including a missing value."""
        return len(self.dictionary)

    @cached_property
    def has_missing(self) -> bool:
        """Whether the last code denotes a missing value."""
        return self.dictionary.null_count() > 0

    def gather(self, rows: NDArray[np.integer] | slice) -> Column:
        """Return the column with its rows permuted by row numbers."""
        return Column(
            name=self.name,
            codes=self.codes[rows],
            dictionary=self.dictionary,
            ordered=self.ordered,
            numbers=self.__dict__["numbers"],  # not computed unless it was accessed before
            of_intervals=self.of_intervals,
        )

    def __repr__(self) -> str:
        return f"Column({self.name!r}, rows={len(self.codes)}, values={self.size})"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Table(Unpicklable):
    """Encoded microdata with the roles of its columns. Immutable."""

    schema: Schema
    rows: int
    quasi_identifiers: tuple[Column, ...]
    sensitive: tuple[Column, ...]
    insensitive: pl.DataFrame
    """The original insensitive columns, row by row (an empty frame if there are none)."""
    counts: NDArray[np.int64] | None = None
    """Multiplicity of each row, if the table consists of cells with counts; None if all are 1."""
    owners: tuple[Column, ...] = ()
    """Whose each row is, with one column for each protected kind. Owners are never published, and their
    dictionaries contain numbers instead of values."""
    unseen: bool = False
    """Whether rows differ in columns that were removed from the table."""
    totals: tuple[NDArray[np.int64], ...] | None = None
    """If the table is a part of a larger one: the frequencies in the larger table of the values of each sensitive
    attribute, by code (of a single value, if there is no sensitive attribute). None for a whole table."""

    @property
    def people(self) -> int:
        """Number of rows of the microdata that the table represents."""
        return self.rows if self.counts is None else int(self.counts.sum())

    @property
    def multiplicities(self) -> NDArray[np.int64]:
        """Number of rows of the microdata that each row represents; 1 for each row of a table without counts."""
        return multiplicities(self.rows, self.counts)

    @property
    def has_unit_counts(self) -> bool:
        """Whether each row represents a single row of the microdata."""
        return self.people == self.rows

    @property
    def rows_may_differ(self) -> bool:
        """Whether rows of a cell may differ, because algorithms do not see all columns."""
        return bool(self.insensitive.width) or len(self.sensitive) > 1 or bool(self.owners) or self.unseen

    @cached_property
    def classes(self) -> EquivalenceClasses:
        """Equivalence classes of all quasi-identifiers, with cells by the (first) sensitive value."""
        quasi_identifiers = [(column.codes, column.size) for column in self.quasi_identifiers]
        sensitive = (self.sensitive[0].codes, self.sensitive[0].size) if self.sensitive else None
        return EquivalenceClasses.of(quasi_identifiers, sensitive, self.rows, self.counts)

    def gather(self, rows: NDArray[np.integer]) -> Table:
        """Return the table with its rows permuted by row numbers."""
        return self.entries(rows, None if self.counts is None else self.counts[rows])

    def entries(self, rows: NDArray[np.integer], counts: NDArray[np.int64] | None) -> Table:
        """Select rows (repeats allowed) with new multiplicities.

        The dictionaries of the columns are unchanged, even if values do not occur.
        """
        return replace(
            self,
            rows=len(rows),
            quasi_identifiers=tuple(column.gather(rows) for column in self.quasi_identifiers),
            sensitive=tuple(column.gather(rows) for column in self.sensitive),
            owners=tuple(column.gather(rows) for column in self.owners),
            insensitive=self.insensitive[rows] if self.insensitive.height else self.insensitive,
            counts=counts,
        )

    def single_rows(self) -> tuple[NDArray[np.integer], Table]:
        """Expand multiplicities, so that each row represents a single row of the microdata.

        Returns
        -------
        origin : integer array
            The row here that each row of the table comes from.
        table : Table
            In the order here if nothing is to expand, else in that of the classes. Its classes are known already.
        """
        if self.has_unit_counts:
            origin, classes = np.arange(self.rows), replace(self.classes, weights=None)
            table = replace(self, counts=None)
        else:
            origin = np.repeat(self.classes.order, self.multiplicities[self.classes.order])
            table, classes = self.entries(origin, None), self.classes.expand_counts()
        table.__dict__["classes"] = classes
        return origin, table

    def with_attributes(self, names: Sequence[str]) -> Table:
        """Select owners and sensitive attributes as the sensitive attributes of the table, in this order.

        Parameters
        ----------
        names : sequence of str
            Attributes whose values a requirement counts (`Requirement.attributes`).
        """
        if tuple(names) == tuple(column.name for column in self.sensitive):
            return self
        columns = {column.name: column for column in self.sensitive + self.owners}
        return replace(self, sensitive=tuple(columns[name] for name in names), owners=(), unseen=self.rows_may_differ)

    def with_quasi_identifiers(self, columns: Mapping[str, Column]) -> Table:
        """Replace quasi-identifiers by other columns with the same names and rows."""
        if not columns:
            return self
        replaced = tuple(columns.get(column.name, column) for column in self.quasi_identifiers)
        return replace(self, quasi_identifiers=replaced)

    def __repr__(self) -> str:
        return (
            f"Table(rows={self.rows}, quasi_identifiers={len(self.quasi_identifiers)}, "
            f"sensitive={len(self.sensitive)}, insensitive={self.insensitive.width})"
        )


def encode(frame: pl.DataFrame, schema: Schema, *, of_intervals: Container[str] = ()) -> Table:
    """Encode a frame of microdata.

    Text that consists of canonical decimal numbers only (`-12`, `0.50`; not `007`, `+1`, `1e5`) is ordered by size and
    has `numbers`. Its dictionary remains text, so that `1` and `1.0` are two values. Text that consists of ISO dates
    only is ordered. Other text is sorted by code points and treated as unordered, like booleans and undeclared
    categories (`Categorical`). Declared categories (`Enum`) are ordered as declared.

    Parameters
    ----------
    frame : polars.DataFrame
        One row per record; may be empty. It is not modified. A missing value (null or NaN) of a quasi-identifier is
        treated as a value; missing sensitive values must be handled by the caller. Negative zero becomes zero.
    schema : Schema
        Role of every column.
    of_intervals : container of str
        Quasi-identifiers whose values are intervals, created by a coarsening (`Column.of_intervals`).

    Returns
    -------
    Table
        Codes and dictionaries of the quasi-identifiers and sensitive attributes, without the direct identifiers.

    Raises
    ------
    ColumnError
        If the roles do not match the columns.
    DataError
        If a column has a type that cannot be encoded (nested data, binary, objects), or contains an infinite number.

    Examples
    --------
    >>> import polars as pl
    >>> from shoal.table import Schema
    >>> table = encode(pl.DataFrame({"age": [40, 31, 40]}), Schema(quasi_identifiers=("age",)))
    >>> table.quasi_identifiers[0].codes.tolist(), table.quasi_identifiers[0].dictionary.to_list()
    ([1, 0, 1], [31, 40])
    """
    schema.check(frame.columns)
    # Quasi-identifiers first, then sensitive attributes.
    encoded = _encode_all([frame.get_column(name) for name in schema.quasi_identifiers + schema.sensitive])
    identifying = len(schema.quasi_identifiers)
    return Table(
        schema=schema,
        rows=frame.height,
        quasi_identifiers=tuple(
            replace(column, of_intervals=True) if column.name in of_intervals else column
            for column in encoded[:identifying]
        ),
        sensitive=tuple(encoded[identifying:]),
        insensitive=pl.DataFrame([frame.get_column(name) for name in schema.insensitive]),
    )


def _encode_all(columns: list[pl.Series]) -> list[Column]:
    # Integers take a millisecond each; hashing text is slow enough to be worth all cores.
    slow = [at for at, column in enumerate(columns) if not column.dtype.is_integer() and len(column) > _SMALL_RANGE]
    if len(slow) < 2:
        return [_encode_column(column) for column in columns]
    encoded = dict(zip(slow, map_in_threads(_encode_column, [columns[at] for at in slow]), strict=True))
    return [encoded[at] if at in encoded else _encode_column(column) for at, column in enumerate(columns)]


def _encode_column(column: pl.Series) -> Column:
    kind = column.dtype
    # Types that are represented by integers can be counted.
    counted = kind.is_integer() or kind.is_temporal() or kind in (pl.Boolean, pl.Enum)
    if kind == pl.Object:
        raise DataError(
            f"The column '{column.name}' holds values that do not form one type, or text that is not Unicode. Turn it "
            "into text or numbers, or name it as a direct identifier, which drops it."
        )
    if not (counted or kind.is_float() or kind.is_decimal() or kind in (pl.String, pl.Categorical, pl.Null)):
        raise DataError(
            f"The column '{column.name}' has the type {kind.base_type()}, whose values cannot be grouped. Turn it into "
            "text, numbers or dates, or name it as a direct identifier, which drops it."
        )
    if kind.is_float():
        column = _plain_floats(column)
    # A column without any value has a single code.
    if column.null_count() == len(column):
        codes, dictionary = np.zeros(len(column), dtype=np.uint8), column.head(1)
    elif counted:
        codes, dictionary = _by_size(column)
    elif kind == pl.Categorical:
        codes, dictionary = _by_text(*_by_size(column))
    else:
        codes, dictionary = _by_hash(column)
    numeric = kind.is_numeric() or (kind == pl.String and _is_numeric_text(dictionary))
    dated = kind.is_temporal() or (kind == pl.String and _is_date_text(dictionary))
    return Column(
        name=column.name,
        codes=codes,
        dictionary=dictionary,
        ordered=numeric or dated or kind == pl.Enum,
        numbers=partial(_exact_numbers, dictionary) if numeric else None,
    )


def _plain_floats(column: pl.Series) -> pl.Series:
    if column.is_infinite().any():
        raise DataError(
            f"The column '{column.name}' holds an infinite number, which has no place in an interval. Replace it with "
            "a number or a missing value."
        )
    # Minus zero is zero.
    return column.fill_nan(None).set(column == 0, 0.0)


def _by_size(column: pl.Series) -> tuple[NDArray[np.unsignedinteger], pl.Series]:
    """Encode a nonempty column by counting its integer representations, in ascending order."""
    physical = column.cast(pl.UInt8) if column.dtype == pl.Boolean else column.to_physical()
    low, high = cast(int, physical.min()), cast(int, physical.max())
    # A table of counts over a wide range would be mostly empty.
    if high - low >= max(_SMALL_RANGE, _RANGE_PER_ROW * len(column)) or physical.dtype in (pl.Int128, pl.UInt128):
        codes, found = _by_hash(physical)
        return codes, _logical(found, column.dtype)
    has_missing = physical.null_count() > 0
    values = (physical.fill_null(low) if has_missing else physical).to_numpy()
    # Unsigned arithmetic is modular, so that small differences are correct for any signs.
    unsigned = f"u{values.itemsize}"
    lowest = np.asarray([low], dtype=values.dtype).view(unsigned)
    offsets = values.view(unsigned) - lowest
    if offsets.itemsize == np.dtype(np.intp).itemsize:
        offsets = offsets.view(np.intp)
    occurs = _mark_occurring(offsets, high - low + 1)
    distinct = np.flatnonzero(occurs)
    kind = _narrowest(len(distinct) + has_missing)
    # If all integers of the range occur, offsets are codes.
    if len(distinct) == len(occurs):
        codes = offsets.astype(kind)
    else:
        code_of = np.zeros(len(occurs), dtype=kind)
        code_of[distinct] = np.arange(len(distinct))
        codes = np.take(code_of, offsets)
    found = pl.Series(column.name, (distinct.astype(unsigned) + lowest).view(values.dtype))
    if has_missing:
        codes[physical.is_null().to_numpy()] = len(distinct)
        found = found.extend_constant(None, 1)
    return codes, _logical(found, column.dtype)


def _mark_occurring(offsets: NDArray[np.integer], size: int) -> NDArray[np.bool_]:
    """Mark the integers below `size` that occur, stopping early if all of them have occurred."""
    occurs = np.zeros(size, dtype=np.bool_)
    step = max(_SMALL_RANGE, size)
    for start in range(0, len(offsets), step):
        occurs |= np.bincount(offsets[start : start + step], minlength=size) > 0
        if occurs.all():
            break
    return occurs


def _logical(physical: pl.Series, kind: pl.DataType) -> pl.Series:
    return physical.cat.to(kind) if isinstance(kind, (pl.Enum, pl.Categorical)) else physical.cast(kind)


def _by_text(
    codes: NDArray[np.unsignedinteger], dictionary: pl.Series
) -> tuple[NDArray[np.unsignedinteger], pl.Series]:
    """Sort undeclared categories, which are in order of appearance, alphabetically."""
    order = dictionary.cast(pl.String).arg_sort(nulls_last=True)
    code_of = np.empty(len(order), dtype=codes.dtype)
    code_of[order.to_numpy()] = np.arange(len(order))
    return np.take(code_of, codes), dictionary.gather(order)


def _by_hash(column: pl.Series) -> tuple[NDArray[np.unsignedinteger], pl.Series]:
    """Encode a nonempty column by hashing its distinct values, and sort them."""
    if column.dtype == pl.String:
        # As fast as Arrow, whose import takes a fifth of a second.
        found = column.drop_nulls().unique().sort()
        seen, order = column.cast(pl.Enum(found)).to_physical().cast(pl.UInt32), np.arange(len(found))
    elif column.dtype in (pl.Int128, pl.UInt128):  # which Arrow has not
        found = column.drop_nulls().unique().sort()
        seen, order = column.rank("dense") - 1, np.arange(len(found))
    else:
        # The newest layout is the one that Polars has in memory: nothing is copied.
        coded = column.to_arrow(compat_level=pl.CompatLevel.newest()).dictionary_encode()
        seen, found = pl.Series(coded.indices), pl.Series(coded.dictionary)
        order = found.arg_sort().to_numpy()
        found = found.gather(order).cast(column.dtype)
    if column.dtype == pl.String and _is_numeric_text(found):
        # Numeric text is sorted by size.
        by_number = numeric_order(found)
        order, found = order[by_number], found.gather(by_number)
    has_missing = column.null_count() > 0
    # Map hash codes to sorted codes; the missing value comes last.
    code_of = np.empty(len(order) + has_missing, dtype=_narrowest(len(order) + has_missing))
    code_of[order] = np.arange(len(order))
    if has_missing:
        code_of[-1] = len(order)
        seen, found = seen.fill_null(len(order)), found.extend_constant(None, 1)
    return np.take(code_of, seen.to_numpy()), found.alias(column.name)


def _narrowest(values: int) -> type[np.unsignedinteger]:
    """Return the narrowest unsigned type for a number of codes."""
    return np.uint8 if values <= 1 << 8 else np.uint16 if values <= 1 << 16 else np.uint32


def _may_all_match(values: pl.Series, form: str) -> bool:
    """Test the first value, which mostly decides, without a query of all."""
    return values[0] is None or re.match(form, values[0]) is not None


def _is_numeric_text(values: pl.Series) -> bool:
    if values.null_count() == len(values) or not _may_all_match(values, f"^{NUMBER}$"):
        return False
    return bool((values.str.contains(f"^{NUMBER}$") & (values.str.len_bytes() <= LONGEST_NUMBER)).all())


def _is_date_text(values: pl.Series) -> bool:
    if values.null_count() == len(values) or not _may_all_match(values, _ISO_DATE):
        return False
    if not values.str.contains(_ISO_DATE).all():
        return False
    return values.str.to_date("%Y-%m-%d", strict=False).null_count() == values.null_count()


_WHOLE = 1 << 53
"""Whole numbers below it are exact as floats."""


def _exact_numbers(dictionary: pl.Series) -> tuple[Fraction, ...]:
    """Return the present values as exact numbers; a float is its shortest decimal representation."""
    values = dictionary.drop_nulls()
    if values.dtype.is_float() and bool((values.abs() < _WHOLE).all()) and bool((values == values.floor()).all()):
        values = values.cast(pl.Int64)  # whole numbers are exact, and need no text
    if values.dtype.is_integer():
        return tuple(map(Fraction, values.to_list()))
    return tuple(Fraction(Decimal(text)) for text in values.cast(pl.String))
