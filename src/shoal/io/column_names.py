"""Check the names of columns: a table without a line of names would publish its first row as names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import polars as pl

from shoal._messages import Part, Suggestion
from shoal.errors import ColumnError

_NUMBER = r"^\s*[+\-\u2212<>]?\s*[$€£]?\s*(?:\d[\d.,' \u00a0\u202f]*|[.,]\d+)(?:[eE][+-]?\d+)?\s*[%+]?\s*$"
"""A number in any written form; codes of digits are numbers, too."""
_DATE = r"^\s*(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})(?:[T ].*)?\s*$"
_MOST = 0.5
"""Share of the values of a column that decides what the column holds."""
_LOOKED_AT = 10_000
"""Number of rows whose values are compared with the names."""
_ROWS_SEARCHED = 20
"""Number of rows that are searched for the names of columns."""
_REPEATS = 2
"""Mean number of rows of a text from which a column has few values, one of which its first row has."""
_SHOWN = 5
_RENAMED = re.compile(r"_duplicated_\d+$|\.\d+$")
"""What Polars and pandas append to names that are repeated."""


def check_column_names(
    frame: pl.DataFrame,
    *,
    header_row: int | None = None,
    in_file: bool = True,
) -> None:
    """Check that the names of columns do not read as values of these columns.

    Parameters
    ----------
    frame : polars.DataFrame
        The table, or its first rows.
    header_row : int, optional
        The row with the names that the caller gave. If it is 1, the caller confirms that the first row holds names.
    in_file : bool
        Whether a file holds the names in one of its rows.

    Raises
    ------
    ColumnError
        If a number is the name of a column of numbers, a date that of a column of dates, or if names are among the
        texts of their columns as often as not. The message has no name.
    """
    if header_row == 1 or not frame.height:
        return
    typed = alike = unlike = 0
    for column in frame.head(_LOOKED_AT):
        how = _read_name(column)
        typed += how == "typed"
        alike += how == "text"
        unlike += how == "other"
    if not typed and (not alike or alike < unlike):
        return
    # A row of names below, else the row above the one that was named.
    found = find_names_row(frame.head(_ROWS_SEARCHED).rows()) if typed else None
    line = None if not header_row else header_row - 1
    line = line if found is None else (header_row or 1) + found + 1
    way: Sequence[Part] = ("Add a line with the names of the columns above the first row. ",)
    if not in_file:
        way = ("Read the file again without a line of names, and name the columns. ",)
    elif line is not None:
        way = (f"Row {line} seems to hold the names of columns. Choose it with ", Suggestion("header_row", line), ". ")
    raise ColumnError(
        f"{typed + alike} of {frame.width} column names read as values of their columns: the names seem to be a row "
        "of the table. ",
        *way,
        "If they are the names, confirm it with ",
        Suggestion("header_row", 1),
        ".",
    )


def _read_name(column: pl.Series) -> str:
    """Compare the name of a column with its values: "typed", "text", "other", or "" if nothing is known."""
    kind, names = column.dtype, [column.name.strip(), _RENAMED.sub("", column.name.strip())]

    def reads(form: str) -> str:
        return "typed" if any(re.match(form, name) for name in names) else "other"

    if kind.is_numeric():
        return reads(_NUMBER)
    if kind in (pl.Date, pl.Datetime):
        return reads(_DATE)
    if kind not in (pl.String, pl.Categorical, pl.Enum, pl.Boolean):
        return ""
    values = column.alias("").cast(pl.String).drop_nulls().str.strip_chars()
    values = values.filter(values != "")
    if not len(values):
        return ""
    different = values.unique()
    among, repeated = any((different == name).any() for name in {*names}), len(values) >= _REPEATS * len(different)
    # Forms of all values take longest: they are asked for where they decide.
    if among or not repeated or "typed" in (reads(_DATE), reads(_NUMBER)):
        for form in (_DATE, _NUMBER):
            if int(values.str.contains(form).sum()) > _MOST * len(values):
                return reads(form)
    if among:  # an option of a question is the only value below its name
        return "text" if len(different) > 1 else ""
    return "other" if repeated else ""


def check_different_names(names: Sequence[Any], where: str = "", ways: Sequence[Part] = ()) -> None:
    """Check that names of columns are there and different; they are shown by place, because they may be cells.

    Parameters
    ----------
    names : sequence
        The names; None for one that is missing.
    where, ways
        Where they stand, and how to choose another place, for the message.

    Raises
    ------
    ColumnError
        If a name is empty or repeated.
    """
    times = Counter(names)
    for what, odd in (
        ("have no name", [at for at, name in enumerate(names, start=1) if name is None or not str(name).strip()]),
        ("have the name of another one", [at for at, name in enumerate(names, start=1) if times[name] > 1]),
    ):
        if odd:
            shown = ", ".join(map(str, odd[:_SHOWN])) + (" and more" if len(odd) > _SHOWN else "")
            raise ColumnError(
                f"{len(odd)} of {len(names)} columns {what}{where}: column {shown}. Give every column its own name.",
                *(ways or (" If the names are the first row of the table, read it again without a line of names.",)),
            )


def find_names_row(rows: Sequence[Sequence[Any]]) -> int | None:
    """Find the first row that looks like names: one in each column, all different, and none of them a number or date.

    Examples
    --------
    >>> find_names_row([["Ward 7", None], [None, None], ["age", "zip"], ["30", "10115"]])
    2
    """
    # A title has fewer cells, and rows of data mostly have a number.
    for place, row in enumerate(rows):
        names = [one.strip() for one in row if isinstance(one, str) and one.strip()]
        complete = len(names) == len(row) > 1 and len(set(names)) == len(names)
        if complete and not any(re.match(_NUMBER, one) or re.match(_DATE, one) for one in names):
            return place
    return None
