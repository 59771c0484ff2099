"""Parse text columns of dates and numbers in local notations, and format them again.

Tables of text (CSV files, most frames from them) have cells such as `31.12.1980` and `1.234,5`. Before a table is
anonymized, such columns become dates and canonical numbers, so that they have an order, intervals, years and bins.
Cells that are published unchanged are formatted as before. A form is the notation of a column, and reveals no cell.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal._core.validation import format_value
from shoal._messages import Phrase, Suggestion
from shoal.errors import DataError, ParameterError, near_matches
from shoal.io.date_formats import LOOKS_LIKE_A_DATE, date_formats, format_dates, read_dates, spelled_format, with_offset
from shoal.io.number_forms import SIGNS, NumberForm, number_forms
from shoal.wording import Sentence

_log = logging.getLogger(__name__)

_HEAD = 256
"""Number of values that are tried before a whole column is."""
_MOST = 0.5
"""Smallest share of these values that look like dates in a column of dates."""
_ISO = ("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S")
"""Unambiguous formats, which are not logged."""


@dataclass(frozen=True, kw_only=True)
class DateForm:
    """The notation of the dates of a column."""

    pattern: str
    """The format, as in `strftime`."""

    def to_dict(self) -> dict[str, str]:
        """Convert the form to its entry in a certificate."""
        return {"dates": self.pattern}

    def read(self, text: pl.Series) -> pl.Series:
        """Parse dates."""
        return read_dates(text, self.pattern)

    def written(self, dates: pl.Series) -> pl.Series:
        """Format dates in this notation."""
        return format_dates(dates, self.pattern)

    def spelled_as(self, text: pl.Series) -> DateForm:
        """Adapt the padding of days and months to given dates.

        Other dates have no influence. If the padding of the given dates differs, days and months are padded.
        """
        return DateForm(pattern=spelled_format(text.unique(), self.pattern))


Forms = Mapping[str, DateForm | NumberForm]
"""The notations of columns by name."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ParsedTable:
    """A table whose text columns were parsed."""

    frame: pl.DataFrame
    """The table; columns with a form are dates, times, or text of canonical numbers."""
    forms: Forms
    """The notations of these columns."""
    ambiguous: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Columns with several possible notations: formats of dates, or decimal signs."""
    unread: Mapping[str, Fact] = field(default_factory=dict)
    """Columns that look like dates but were not parsed, with the reason; never a cell."""

    def check(self) -> None:
        """Raise an error for ambiguous columns, and warn about columns that look like dates but were not parsed.

        Raises
        ------
        DataError
            If a column is ambiguous. The message names the column and the option that resolves it.
        """
        for name, meanings in self.ambiguous.items():
            if set(meanings) <= set(SIGNS):
                raise DataError(
                    f"The numbers of the column '{name}' can be read in two ways: nothing in it says "
                    "whether its sign stands before decimals or sets thousands apart. Say which sign "
                    "stands before decimals: ",
                    Suggestion("decimal", ","),
                    " or ",
                    Suggestion("decimal", "."),
                    ".",
                )
            raise DataError(
                f"The dates of the column '{name}' can be read in two ways, as "
                f"{' and as '.join(meanings)}. Say which, as in ",
                format_of(name, meanings[0]),
                ".",
            )
        # Columns that were not parsed stay text, which the caller may not expect.
        for why in self.unread.values():
            _log.warning(Phrase(Sentence(why)))
        for name, form in self.forms.items():
            if isinstance(form, NumberForm):
                thousands = {"": "", "\u00a0": " and a blank", "\u202f": " and a blank"}.get(
                    form.thousands, f" and {form.thousands!r} between thousands"
                )
                _log.info("The column '%s' is read as numbers with a decimal %r%s.", name, form.decimal, thousands)
            elif form.pattern.replace("%-", "%") not in _ISO:
                _log.info("The column '%s' is read as dates written like %s.", name, form.pattern)


def format_of(name: str, pattern: str) -> Suggestion:
    """Suggest an option for the date format of a column."""
    return Suggestion("dates", f"{name}={pattern}", python=f"dates={{{name!r}: {pattern!r}}}")


def understand(
    frame: pl.DataFrame,
    names: Iterable[str],
    *,
    dates: Mapping[str, str] | None = None,
    decimal: str | None = None,
    counts: NDArray[np.int64] | None = None,
) -> ParsedTable:
    """Parse columns of text that hold dates or numbers.

    Parameters
    ----------
    frame : polars.DataFrame
        The table, which is not changed. Only columns of text are parsed.
    names : iterable of str
        The columns to parse; others are left unchanged.
    dates : mapping of column to format, optional
        Date formats of columns ("%d.%m.%Y"); detected by default.
    decimal : {",", "."}, optional
        The decimal sign; detected by default.
    counts : int64 array, optional
        Number of rows of the input that each row represents, if equal rows were counted; messages then name no row.

    Raises
    ------
    ParameterError
        If a format or the decimal sign is invalid, or is given for a column that is not text.
    DataError
        If a column does not have the given format. The message names the first row.
    """
    # Only columns of text with at least one value are candidates.
    asked = dict(dates or {})
    _check(frame, asked, decimal)
    text = {
        name: frame.get_column(name).cast(pl.String)
        for name in names
        if frame.schema[name] in (pl.String, pl.Categorical) and frame.get_column(name).null_count() < frame.height
    }
    # Dates first, by the given format or by the only one that fits.
    made: dict[str, pl.Series] = {}
    forms: dict[str, DateForm | NumberForm] = {}
    ambiguous: dict[str, tuple[str, ...]] = {}
    unread: dict[str, Fact] = {}
    for name, column in text.items():
        if name in asked:
            made[name] = _read_as_asked(column, asked[name], counts)
            forms[name] = DateForm(pattern=with_offset(column, asked[name]))
        elif looks_like_dates(column):
            found = date_formats(column)
            if len(found) == 1:
                forms[name], made[name] = DateForm(pattern=found[0][0]), found[0][1]
            elif found:
                ambiguous[name] = tuple(pattern for pattern, _ in found)
            else:
                unread[name] = _why_unread(column, counts)
    # The remaining columns may be numbers; all of them together decide on the decimal sign.
    rest = [column for name, column in text.items() if name not in {*forms, *ambiguous, *unread}]
    numbers, either = number_forms(rest, decimal)
    forms |= numbers
    made |= {name: form.read(text[name]) for name, form in numbers.items()}
    ambiguous |= dict.fromkeys(either, SIGNS)
    return ParsedTable(frame=frame.with_columns(made.values()), forms=forms, ambiguous=ambiguous, unread=unread)


def read_column(
    column: pl.Series,
    *,
    dates: Mapping[str, str] | None = None,
    decimal: str | None = None,
    certain: bool = False,
) -> pl.Series:
    """Parse one column of text as dates or canonical numbers; any other column is unchanged.

    One of two readings is unchanged, too, unless it must be `certain`: then it is an error. See `understand` for the
    other parameters and errors.

    Examples
    --------
    >>> read_column(pl.Series(["1,5", "1e+05"])).to_list()
    ['1.5', '100000']
    """
    read = understand(column.to_frame(), [column.name], dates=dates, decimal=decimal)
    if certain and read.ambiguous:
        read.check()
    return read.frame.to_series()


def _check(frame: pl.DataFrame, dates: Mapping[str, str], decimal: str | None) -> None:
    # Options of the caller are checked before any column is parsed.
    if decimal is not None and decimal not in SIGNS:
        raise ParameterError.refusing("read", "decimal", "',' or '.'", got=format_value(decimal))
    for name, pattern in dates.items():
        if name not in frame.columns:
            raise ParameterError(
                f"There is no column '{name}' whose dates could have a format. {near_matches(name, frame.columns)}"
            )
        given: object = pattern
        if not isinstance(given, str) or "%" not in given:
            raise ParameterError(
                f"The format of the dates of '{name}' must be one of strptime, as in ", format_of(name, "%d.%m.%Y"), "."
            )
        if frame.schema[name] not in (pl.String, pl.Categorical) and not frame.schema[name].is_temporal():
            raise ParameterError(f"The column '{name}' is not text: its dates need no format.")


def looks_like_dates(column: pl.Series) -> bool:
    """Check whether most of the first values of a text column look like dates, valid or not."""
    if column.dtype != pl.String:
        return False
    head = column.head(_HEAD).drop_nulls()
    if len(head) == 0:
        head = column.drop_nulls().head(_HEAD)
    return float(head.str.contains(LOOKS_LIKE_A_DATE).cast(int).sum()) >= _MOST * len(head)


def _read_as_asked(column: pl.Series, pattern: str, counts: NDArray[np.int64] | None) -> pl.Series:
    # An invalid format, or one without a complete date, is the caller's mistake.
    try:
        read = read_dates(column, pattern)
    except pl.exceptions.PolarsError:
        read = None
    if read is None:
        raise ParameterError(
            f"The format of the dates of '{column.name}' must be one of strptime with a day, a month and a "
            f"year, as '%d.%m.%Y'. Got {pattern!r}."
        )
    # The message names the row, never the value.
    wrong = (read.is_null() & column.is_not_null()).arg_max()
    if read.null_count() > column.null_count() and wrong is not None:
        raise DataError(
            f"The column '{column.name}' has other values than dates of the format {pattern!r}"
            + (
                "."
                if counts is not None
                else f", the first in row {wrong + 1} (line {wrong + 2} of a file with a header)."
            )
        )
    return read


def _why_unread(column: pl.Series, counts: NDArray[np.int64] | None) -> Fact:
    """Explain why a column that looks like dates was not parsed."""
    odd = ~column.str.contains(LOOKS_LIKE_A_DATE).fill_null(value=True)
    others = int(odd.sum() if counts is None else counts[odd.to_numpy()].sum())
    asked = format_of(column.name, "%d.%m.%Y" if column.str.contains("[0-9]{4}").any() else "%d.%m.%y")
    if not others:
        return Fact("unread_dates", column=column.name, asked=asked)
    place = "" if counts is not None else f", the first in row {(odd.arg_max() or 0) + 1}"
    return Fact("odd_dates", column=column.name, count=others, place=place, asked=asked)


def format_as_input(frame: pl.DataFrame, forms: Forms, *, star: str) -> pl.DataFrame:
    """Format the dates and numbers of a published table as in the input, in columns that hold nothing else.

    Stars are allowed. A column with intervals, sets or nodes has ISO 8601 dates and canonical numbers in all of its
    cells, so that it has a single notation.

    Parameters
    ----------
    frame : polars.DataFrame
        The verified table.
    forms : mapping
        The notations of the columns of the input.
    star : str
        The symbol of a suppressed cell.
    """
    rewritten = [
        column
        for name, form in forms.items()
        if name in frame.columns and (column := _rewritten(frame.get_column(name), form, star)) is not None
    ]
    return frame.with_columns(rewritten)


def reads_alike(came: pl.DataFrame, meant: pl.DataFrame, forms: Forms) -> bool:
    """Check whether parsing left the spelling of all values unchanged, as for ISO dates."""
    return all(
        isinstance(form, DateForm)
        and form.pattern == "%Y-%m-%d"
        and came.get_column(name).eq_missing(meant.get_column(name).dt.to_string("iso")).all()
        for name, form in forms.items()
    )


def _rewritten(column: pl.Series, form: DateForm | NumberForm, star: str) -> pl.Series | None:
    if column.dtype.is_temporal():
        return form.written(column) if isinstance(form, DateForm) else None
    # A column with any other cell than values and stars keeps the canonical notation.
    values = column.unique().cast(pl.String).drop_nulls()
    values = values.filter(values != star)
    canonical = NumberForm(decimal=".").read(values) if isinstance(form, NumberForm) else _iso(values)
    if canonical.null_count():
        return None
    written = form.written(canonical)
    if written.equals(values):
        return None
    rewritten = column.cast(pl.String).replace(values, written)
    if not isinstance(column.dtype, pl.Enum):
        return rewritten
    # The type that the column would have without parsing.
    return rewritten.cast(pl.Enum(column.dtype.categories.replace(values, written)))


def _iso(values: pl.Series) -> pl.Series:
    """Parse ISO 8601 dates or times; other text is missing."""
    dates = values.str.to_date("%Y-%m-%d", strict=False)
    if dates.null_count() == 0:
        return dates
    return values.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", strict=False, time_unit="us")
