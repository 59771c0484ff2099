"""Codes that mean missing among numbers or dates, such as "n/a"; from fixed lists, so that no other cell is shown."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from typing import Any

import polars as pl

from shoal.hierarchy.fitting import NUMBER
from shoal.io import Forms, understand
from shoal.io.forms import DateForm
from shoal.io.number_forms import NumberForm
from shoal.verbs.evaluate.counting import CountedColumn

_KNOWN = (
    *("", "-", "--", "?", ".", "#n/a", "#nv", "n/a", "n.a.", "na", "nan", "null", "none", "nil", "nd", "n.d."),
    *("missing", "unknown", "not known", "not available", "unspecified"),
    *("k.a.", "k. a.", "ka", "keine angabe", "ohne angabe", "o.a.", "n.v.", "nicht bekannt", "unbekannt"),
    *("nicht verfügbar", "unbek.", "fehlt", "leer", "entfällt", "entf.", "n.b.", "verweigert", "weiß nicht"),
    *("unk", "unkn", "not stated", "not recorded", "refused", "declined", "tbd", "absent", "abs", "abs."),
    *("non renseigné", "nr", "n.r.", "nc", "n.c.", "inconnu", "manquant", "sans réponse", "nsp"),
    *("desconocido", "s/d", "sin datos", "no consta", "ns/nc", "n/d", "sconosciuto", "mancante", "non noto", "n.p."),
    *("onbekend", "ontbreekt", "nvt", "n.v.t.", "geen opgave"),
)
"""Words that mean missing in many files, in lower case; blanks alone, too."""
_NO_DAY = r"^(?:9{1,4}[-/.]9{1,4}[-/.]9{1,4}|0{1,4}[-/.]0{1,4}[-/.]0{1,4})$"
"""Days of nines or zeros alone, which no calendar has."""
_NUMBERS = (
    *(-6, -7, -8, -9, -77, -88, -99, -777, -888, -999, -9999, 77, 88, 97, 98, 99, 777, 888, 997, 998, 999),
    *(7777, 8888, 9997, 9998, 9999, 99997, 99998, 99999, 999999),
)
_DAYS = ("1111-11-11", "1800-01-01", "1899-12-31", "1900-01-01", "2999-12-31", "9999-12-31")
_DATES = tuple(map(dt.date.fromisoformat, _DAYS))
"""Numbers and dates that mean missing in many files, if they are far from all others."""
_BOUND = r"^(?:[<>\u2264\u2265]=? ?(?:[0-9]*[05]|0\.0*[15])|[0-9]*[05] ?\+)$"
"""Round open ends, as publishers of tables and laboratories write them; another cell of this form is not shown."""
_FAR = 20 * 366
"""Number of days from which a date is far from the others."""


def find_missing_codes(
    columns: Sequence[CountedColumn], forms: Forms, *, decimal: str | None
) -> dict[str, tuple[str, ...]]:
    """Find the known words among numbers or dates, and the known numbers and dates far from all others.

    Parameters
    ----------
    columns : sequence of CountedColumn
        The columns after dates and numbers were parsed.
    forms : mapping
        The notations of columns of text that were parsed.
    decimal : {",", "."}, optional
        The decimal separator; detected by default.
    """
    found: dict[str, tuple[str, ...]] = {}
    for column in columns:
        words = _words_among(column, decimal)
        # Words may stand next to numbers that mean missing, too.
        others = column.dictionary.filter(~column.dictionary.is_in(words)) if words else column.dictionary
        codes = words + _far_values(others, forms.get(column.name))
        if codes:
            found[column.name] = codes
    return found


def find_bound(column: CountedColumn) -> tuple[str, str, str] | None:
    """Find a bound among numbers, such as `90+` or `<5`: its cell, its number, and "top" or "bottom".

    Words that mean missing may stand next to it. None if there is none, several, or one in a single row.
    """
    values = column.dictionary
    if values.dtype != pl.String or column.distinct < 3:
        return None
    bounds = values.str.contains(_BOUND)
    if bounds.sum() != 1 or not values.filter(~bounds & ~_is_known_word(values)).str.contains(NUMBER).all():
        return None
    bound = values.filter(bounds).item()
    if column.counts[bounds.arg_max() or 0] < 2:
        return None
    return bound, re.sub("[^0-9.]", "", bound), "bottom" if bound[0] in "<\u2264" else "top"


def _is_known_word(values: pl.Series) -> pl.Series:
    plain = values.str.strip_chars().str.to_lowercase()
    return plain.is_in(_KNOWN) | plain.str.contains(_NO_DAY)


def _words_among(column: CountedColumn, decimal: str | None) -> tuple[str, ...]:
    """Find the known words in a column of text that has numbers or dates but for them."""
    values = column.dictionary
    if values.dtype != pl.String:
        return ()
    known = _is_known_word(values)
    # A bound among numbers does not change what the words mean.
    others = values.filter(~known & ~values.str.contains(_BOUND)) if find_bound(column) else values.filter(~known)
    if not known.any() or len(others) < 2:
        return ()
    # Without the words the column must be dates or numbers, possibly ambiguous ones.
    parsed = understand(others.to_frame(), [column.name], decimal=decimal)
    able = column.name in {*parsed.forms, *parsed.ambiguous} or others.str.contains(NUMBER).all()
    return tuple(values.filter(known).sort()) if able else ()


def _far_values(values: pl.Series, form: DateForm | NumberForm | None) -> tuple[str, ...]:
    """Find the known numbers or dates that are far from all others, as they are written in the table."""
    dated, spelled = values.dtype in (pl.Date, pl.Datetime), values
    if values.dtype == pl.String and values.str.contains(NUMBER).all():
        values = values.cast(pl.Float64)
    if not dated and not values.dtype.is_numeric():
        return ()
    plain = values.cast(pl.Date if dated else pl.Float64)
    known = plain.is_in(_DATES if dated else [float(one) for one in _NUMBERS])
    others = plain.filter(~known).drop_nulls()
    if not known.any() or len(others) < 2:
        return ()
    # Ordinary values of that size would be near others, within their range or some years of dates.
    low: Any = others.min()
    high: Any = others.max()
    reach: Any = dt.timedelta(days=_FAR) if dated else high - low
    negative = not dated and low >= 0
    far = plain.filter(known & ((plain < (0 if negative else low - reach)) | (plain > high + reach)))
    if spelled.dtype == pl.String:  # as the cells have it: -99.0 is replaced by its text
        return tuple(spelled.filter(plain.is_in(far.implode())).sort())
    return tuple(_written(one, form) for one in far.sort())


def _written(value: dt.date | float, form: DateForm | NumberForm | None) -> str:
    """Write a known value as the table has it."""
    if isinstance(value, dt.date):
        return value.strftime(form.pattern) if isinstance(form, DateForm) else value.isoformat()
    return str(int(value))
