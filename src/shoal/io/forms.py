"""What text means: columns of dates and numbers that are written as people write them, and the way back.

Tables of text (CSV files, most frames from them) hold `31.12.1980` and `1.234,5`. Such columns become dates, and
numbers as programs write them, before a table is anonymized: they are ordered then, have intervals, years and bins.
What is published untouched is written again as it was. A form says how a column is written, and nothing of its cells.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shoal._core.facts import Fact
from shoal._core.validation import spoken
from shoal._messages import Phrase, Suggestion
from shoal.errors import DataError, ParameterError, near_matches
from shoal.io.date_formats import LOOKS_LIKE_A_DATE, date_formats, read_dates, spelled_format, written_dates
from shoal.io.number_forms import SIGNS, NumberForm, number_forms
from shoal.wording import Sentence

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "DateForm",
    "Forms",
    "Understood",
    "as_written",
    "format_of",
    "looks_like_dates",
    "reads_alike",
    "understand",
]

_log = logging.getLogger(__name__)

_HEAD = 256
"""Values that are looked at before a whole column is."""
_MOST = 0.5
"""Share of these that look like dates in a column of dates."""
_ISO = ("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S")
"""Formats that need no word: nobody could mean something else."""


@dataclass(frozen=True, kw_only=True)
class DateForm:
    """How the dates of a column are written."""

    pattern: str
    """The format, as `strftime` has it."""

    def to_dict(self) -> dict[str, str]:
        """Return the form as it appears in a certificate."""
        return {"dates": self.pattern}

    def read(self, text: pl.Series) -> pl.Series:
        """Return the dates."""
        return read_dates(text, self.pattern)

    def written(self, dates: pl.Series) -> pl.Series:
        """Return the dates as they were written."""
        return written_dates(dates, self.pattern)

    def spelled_as(self, text: pl.Series) -> DateForm:
        """Return the form with zeros before days and months as some of the dates have them.

        Dates that are not among these do not decide; where they differ among themselves, zeros are written.
        """
        return DateForm(pattern=spelled_format(text.unique(), self.pattern))


Forms = Mapping[str, DateForm | NumberForm]
"""How columns are written, by their names."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Understood:
    """A table whose columns of text became what they mean."""

    frame: pl.DataFrame
    """The table; columns with a form are dates, times, or text of canonical numbers."""
    forms: Forms
    """How these columns were written."""
    ambiguous: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Columns that may mean several things, and which: formats of dates, or decimal signs."""
    unread: Mapping[str, Fact] = field(default_factory=dict)
    """Columns that look like dates and were not read, and why not, without a cell."""

    def __repr__(self) -> str:
        return f"Understood(forms={len(self.forms)}, ambiguous={len(self.ambiguous)}, unread={len(self.unread)})"

    def check(self) -> None:
        """Ask where a column may mean several things, and warn where one looks like dates and was not read.

        Raises
        ------
        DataError
            Names the column, and how to say what it means.
        """
        for name, meanings in self.ambiguous.items():
            if set(meanings) <= set(SIGNS):
                raise DataError(
                    f"The numbers of the column '{name}' can be read in two ways: nothing in it says whether its sign "
                    "stands before decimals or sets thousands apart. Say which sign stands before decimals: ",
                    Suggestion("decimal", ","),
                    " or ",
                    Suggestion("decimal", "."),
                    ".",
                )
            raise DataError(
                f"The dates of the column '{name}' can be read in two ways, as {' and as '.join(meanings)}. Say which, "
                "as in ",
                format_of(name, meanings[0]),
                ".",
            )
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
    """Return how to say the format of the dates of a column."""
    return Suggestion("dates", f"{name}={pattern}", python=f"dates={{{name!r}: {pattern!r}}}")


def understand(
    frame: pl.DataFrame,
    names: Iterable[str],
    *,
    dates: Mapping[str, str] | None = None,
    decimal: str | None = None,
) -> Understood:
    """Turn columns of text into the dates and numbers that they mean.

    Parameters
    ----------
    frame : polars.DataFrame
        The table. It is not changed; columns that are no text stay as they are.
    names : iterable of str
        The columns to understand; others stay as they are, to the letter.
    dates : mapping of column to format, optional
        How the dates of columns are written ("%d.%m.%Y"); found out by default.
    decimal : {",", "."}, optional
        What stands before decimals; found out by default.

    Raises
    ------
    ParameterError
        A format or the decimal sign is none, or is named for a column that is no text.
    DataError
        A column does not have the format that was named; says in which row it has another.
    """
    import polars as pl

    asked = dict(dates or {})
    _check(frame, asked, decimal)
    text = {
        name: frame.get_column(name).cast(pl.String)
        for name in names
        if frame.schema[name] in (pl.String, pl.Categorical) and frame.get_column(name).null_count() < frame.height
    }
    made: dict[str, pl.Series] = {}
    forms: dict[str, DateForm | NumberForm] = {}
    ambiguous: dict[str, tuple[str, ...]] = {}
    unread: dict[str, Fact] = {}
    for name, column in text.items():
        if name in asked:
            forms[name], made[name] = DateForm(pattern=asked[name]), _read_as_asked(column, asked[name])
        elif looks_like_dates(column):
            found = date_formats(column)
            if len(found) == 1:
                forms[name], made[name] = DateForm(pattern=found[0][0]), found[0][1]
            elif found:
                ambiguous[name] = tuple(pattern for pattern, _ in found)
            else:
                unread[name] = _why_unread(column)
    rest = [column for name, column in text.items() if name not in {*forms, *ambiguous, *unread}]
    numbers, either = number_forms(rest, decimal)
    forms |= numbers
    made |= {name: form.read(text[name]) for name, form in numbers.items()}
    ambiguous |= dict.fromkeys(either, SIGNS)
    return Understood(frame=frame.with_columns(made.values()), forms=forms, ambiguous=ambiguous, unread=unread)


def _check(frame: pl.DataFrame, dates: Mapping[str, str], decimal: str | None) -> None:
    import polars as pl

    if decimal is not None and decimal not in SIGNS:
        raise ParameterError.refusing("read", "decimal", "',' or '.'", got=spoken(decimal))
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
            raise ParameterError(f"The column '{name}' is no text: its dates need no format.")


def looks_like_dates(column: pl.Series) -> bool:
    """Return whether most of the first values of a column of text look like dates, readable or not."""
    import polars as pl

    if column.dtype != pl.String:
        return False
    head = column.head(_HEAD).drop_nulls()
    if len(head) == 0:
        head = column.drop_nulls().head(_HEAD)
    return float(head.str.contains(LOOKS_LIKE_A_DATE).cast(int).sum()) >= _MOST * len(head)


def _read_as_asked(column: pl.Series, pattern: str) -> pl.Series:
    import polars as pl

    try:
        read = read_dates(column, pattern)
    except pl.exceptions.PolarsError:
        read = None
    if read is None:
        raise ParameterError(
            f"The format of the dates of '{column.name}' must be one of strptime with a day, a month and a year, as "
            f"'%d.%m.%Y'. Got {pattern!r}."
        )
    wrong = (read.is_null() & column.is_not_null()).arg_max()
    if read.null_count() > column.null_count() and wrong is not None:
        raise DataError(
            f"The column '{column.name}' has other values than dates of the format {pattern!r}, the first in row "
            f"{wrong + 1} (line {wrong + 2} of a file with a header)."
        )
    return read


def _why_unread(column: pl.Series) -> Fact:
    """Return why a column that looks like dates is not read as such."""
    odd = ~column.str.contains(LOOKS_LIKE_A_DATE).fill_null(value=True)
    others = int(odd.sum())
    asked = format_of(column.name, "%d.%m.%Y" if column.str.contains("[0-9]{4}").any() else "%d.%m.%y")
    if not others:
        return Fact("unread_dates", column=column.name, asked=asked)
    return Fact("odd_dates", column=column.name, count=others, row=(odd.arg_max() or 0) + 1, asked=asked)


def as_written(frame: pl.DataFrame, forms: Forms, *, star: str) -> pl.DataFrame:
    """Return a published table with its dates and numbers as they were written, in columns that show nothing else.

    Stars may stand among them. A column with intervals, sets or nodes shows dates as ISO 8601 and numbers as programs
    write them in all of its cells, so that readers have one form to read.

    Parameters
    ----------
    frame : polars.DataFrame
        The table as it was verified.
    forms : mapping
        How columns of the input were written.
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
    """Return whether the values of a table read as they came, where its columns of text are dates and numbers now."""
    return all(
        isinstance(form, DateForm)
        and form.pattern == "%Y-%m-%d"
        and came.get_column(name).eq_missing(meant.get_column(name).dt.to_string("iso")).all()
        for name, form in forms.items()
    )


def _rewritten(column: pl.Series, form: DateForm | NumberForm, star: str) -> pl.Series | None:
    import polars as pl

    if column.dtype.is_temporal():
        return form.written(column) if isinstance(form, DateForm) else None
    values = column.unique().cast(pl.String).drop_nulls()
    values = values.filter(values != star)
    canonical = values if isinstance(form, NumberForm) else _iso(values)
    if canonical.null_count() or (isinstance(form, NumberForm) and not _are_numbers(values)):
        return None
    written = form.written(canonical)
    if written.equals(values):
        return None
    rewritten = column.cast(pl.String).replace(values, written)
    if not isinstance(column.dtype, pl.Enum):
        return rewritten
    # The same type that the column has where its text was not understood.
    return rewritten.cast(pl.Enum(column.dtype.categories.replace(values, written)))


def _iso(values: pl.Series) -> pl.Series:
    """Return the dates or times that text is in ISO 8601; missing where it is none."""
    dates = values.str.to_date("%Y-%m-%d", strict=False)
    if dates.null_count() == 0:
        return dates
    return values.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", strict=False, time_unit="us")


def _are_numbers(values: pl.Series) -> bool:
    return NumberForm(decimal=".").read(values).null_count() == 0
