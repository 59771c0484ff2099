"""The language of what people read: messages from catalogues, and numbers, lists and dates as the language writes them.

Every message stands in English where it is made, within `gettext` or `ngettext`, which look it up in the language of
the page that is being made. English needs no catalogue; others are `locale/CODE.po`, read with Babel.

Examples
--------
>>> language(), numeral("1,234.5"), percentage("12.5")
('en', '1,234.5', '12.5%')
"""

from __future__ import annotations

import datetime as dt
import gettext as catalogues
import io
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from shoal._core.optional import require

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "ENGLISH",
    "day",
    "gettext",
    "language",
    "languages",
    "marked",
    "ngettext",
    "numeral",
    "percentage",
    "written_in",
]

ENGLISH = "en"
"""The language of every message where it is made."""
_FOLDER = Path(__file__).parents[1] / "locale"


@dataclass(frozen=True)
class _Language:
    """A language: its messages, and how it writes numbers."""

    code: str
    messages: catalogues.NullTranslations
    decimal: str
    thousands: str
    percent: str
    """A percentage, with `#,##0` for its number."""


_IN_ENGLISH = _Language(ENGLISH, catalogues.NullTranslations(), ".", ",", "#,##0%")
_WRITTEN_IN: ContextVar[_Language] = ContextVar("_WRITTEN_IN", default=_IN_ENGLISH)


@cache
def languages() -> tuple[str, ...]:
    """Return the codes of the languages that there are, English first."""
    return (ENGLISH, *sorted(path.stem for path in _FOLDER.glob("*.po")))


@contextmanager
def written_in(code: str) -> Iterator[None]:
    """Write in a language for as long as the context lasts.

    Parameters
    ----------
    code : str
        One of `languages`; as before where it is empty.

    Raises
    ------
    MissingExtraError
        Another language than English needs the package Babel, which is not installed.
    """
    before = _WRITTEN_IN.set(_found(code) if code else _WRITTEN_IN.get())
    try:
        yield
    finally:
        _WRITTEN_IN.reset(before)


@cache
def _found(code: str) -> _Language:
    if code == ENGLISH:
        return _IN_ENGLISH
    core = require("babel.core", extra="languages", purpose="A report in another language than English")
    files = require("babel.messages.pofile", extra="languages", purpose="A report in another language than English")
    packed = io.BytesIO()
    with (_FOLDER / f"{code}.po").open("rb") as file:
        require("babel.messages.mofile", extra="languages", purpose="A catalogue").write_mo(packed, files.read_po(file))
    packed.seek(0)
    locale = core.Locale.parse(code)
    symbols = locale.number_symbols["latn"]
    return _Language(
        code,
        catalogues.GNUTranslations(packed),
        decimal=symbols["decimal"],
        thousands=symbols["group"],
        percent=locale.percent_formats[None].pattern,
    )


def language() -> str:
    """Return the code of the language that is written in."""
    return _WRITTEN_IN.get().code


def gettext(message: str) -> str:
    """Return a message in the language that is written in; in English where its catalogue does not have it."""
    return _WRITTEN_IN.get().messages.gettext(message)


def ngettext(one: str, many: str, count: int) -> str:
    """Return the form of a message for a number of things."""
    return _WRITTEN_IN.get().messages.ngettext(one, many, count)


def marked(message: str) -> str:
    """Return a message as it is: it is looked up where it is shown, and catalogues must have it."""
    return message


def numeral(english: str) -> str:
    """Return a number with the marks of the language, given with those of English.

    Examples
    --------
    >>> with written_in("de"):
    ...     numeral("1,234.5")
    '1.234,5'
    """
    now = _WRITTEN_IN.get()
    return english if now.code == ENGLISH else english.translate({ord(","): now.thousands, ord("."): now.decimal})


def percentage(english: str) -> str:
    """Return a percentage as the language writes it, given its number as English writes it."""
    return _WRITTEN_IN.get().percent.replace("#,##0", numeral(english))


def day(text: str) -> str:
    """Return a day, given as 2026-01-31, as the language writes it; other text, and all of it in English, stays.

    Examples
    --------
    >>> with written_in("de"):
    ...     day("2026-01-31"), day("im Januar")
    ('31. Januar 2026', 'im Januar')
    """
    code = language()
    if code == ENGLISH:
        return text
    try:
        given = dt.date.fromisoformat(text)
    except ValueError:
        return text
    dates = require("babel.dates", extra="languages", purpose="A report in another language than English")
    return str(dates.format_date(given, format="long", locale=code))
