"""Find the notes and sums below a table, which are not records."""

from __future__ import annotations

import re

import polars as pl

_LOOKED_AT = 50
"""Number of last rows among which the end of the table is searched."""
_SUM = re.compile(
    r"\W*(?:(?:grand|sub)?[ -]?totals?|sums?|overall|averages?|means?|medians?|altogether"
    r"|(?:gesamt|zwischen|end)?summen?|(?:ins)?gesamt|zusammen|(?:ø|durchschnitt|mittelwert|mittel)|im mittel"
    r"|sommes?|total g[eé]n[eé]ral|total general|totaux|ensemble|moyennes?|m[eé]dianes?"
    r"|sumas?|promedio|medias?|mediana|totale|totaal|somma|som|gemiddelden?|gemiddeld|soma|m[eé]dia"
    r"|razem|og[oó][lł]em|[lł][aą]cznie|[sś]rednia)\W*(?:\(.*\))?\s*",
    re.IGNORECASE,
)
"""A cell that names a row of sums or means."""
_NUMBER = r"^\W*\d[\d.,'\s]*\W*$"


def count_rows_below(frame: pl.DataFrame) -> int:
    """Count the last rows of a sheet that stand below its table: notes and sums, with the empty rows among them.

    The table ends at an empty row, or at a last row that names a sum. Below it, each row must be empty, a note with at
    most half of the cells of every record, or a row of sums: a name of a sum that no record has, and numbers or fewer
    cells than every record. Otherwise the rows may be records, and none is counted.

    Examples
    --------
    >>> count_rows_below(pl.DataFrame({"ward": ["a", "b", None, "Total"], "age": [30, 40, None, None]}))
    2
    >>> count_rows_below(pl.DataFrame({"ward": ["a", "b", None, "c"], "age": [30, 40, None, 50]}))
    0
    """
    if frame.width < 2:  # empty rows of a single column are missing values
        return 0
    last = frame.tail(_LOOKED_AT)
    cells = [[_text(cell) for cell in row] for row in last.rows()]
    filled = [[cell for cell in row if cell] for row in cells]
    # The table ends at the first empty row, or above the sums that stand directly below it.
    start = next((place for place, row in enumerate(filled) if not row), len(filled))
    while start and filled[start - 1] and _SUM.fullmatch(filled[start - 1][0]):
        start -= 1
    below = len(filled) - start
    if not below or below == frame.height:
        return 0
    records = frame.head(frame.height - below)
    fewest = records.select(pl.sum_horizontal(_is_filled(column) for column in records).min()).item()

    def is_record(row: list[str], full: list[str]) -> bool:
        if 2 * len(row) <= fewest:
            return False
        if not _SUM.fullmatch(row[0]) or not (len(row) < fewest or all(re.match(_NUMBER, cell) for cell in row[1:])):
            return True
        named = records.to_series(full.index(row[0])).cast(pl.String)
        return bool((named.str.strip_chars() == row[0]).any())

    return 0 if any(map(is_record, filled[start:], cells[start:])) else below


def _text(cell: object) -> str:
    return "" if cell is None else str(cell).strip()


def _is_filled(column: pl.Series) -> pl.Series:
    return column.is_not_null() if column.dtype != pl.String else column.str.strip_chars().fill_null("") != ""
