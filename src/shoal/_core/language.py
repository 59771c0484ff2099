"""The language of pages: messages from catalogues, and formats of numbers, lists and dates.

Every message is written in English in the source, within `gettext` or `ngettext`, which translate it to the language of
the current page. English needs no catalogue; other languages are `locale/CODE.po`, read with Babel.

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
    "use_language",
]

ENGLISH = "en"
"""The language of messages in the source."""
_FOLDER = Path(__file__).parents[1] / "locale"


@dataclass(frozen=True)
class _Language:
    """A language with its messages and its formats of numbers."""

    code: str
    messages: catalogues.NullTranslations
    decimal: str
    thousands: str
    percent: str
    """The format of a percentage, with `#,##0` for its number."""


_IN_ENGLISH = _Language(ENGLISH, catalogues.NullTranslations(), ".", ",", "#,##0%")
_WRITTEN_IN: ContextVar[_Language] = ContextVar("_WRITTEN_IN", default=_IN_ENGLISH)


@cache
def languages() -> tuple[str, ...]:
    """List the codes of the available languages, English first."""
    return (ENGLISH, *sorted(path.stem for path in _FOLDER.glob("*.po")))


@contextmanager
def use_language(code: str) -> Iterator[None]:
    """Set the language for the duration of the context.

    Parameters
    ----------
    code : str
        One of `languages`; if empty, the language is unchanged.

    Raises
    ------
    MissingExtraError
        If the language is not English and the package Babel is not installed.
    """
    # A context variable, so that threads of a server have their own language.
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
    # Catalogues are compiled in memory, so that the package needs no build step.
    packed = io.BytesIO()
    with (_FOLDER / f"{code}.po").open("rb") as file:
        require("babel.messages.mofile", extra="languages", purpose="A catalogue").write_mo(packed, files.read_po(file))
    packed.seek(0)
    locale = core.Locale.parse(code)
    # Numbers use Latin digits in every language.
    symbols = locale.number_symbols["latn"]
    return _Language(
        code,
        catalogues.GNUTranslations(packed),
        decimal=symbols["decimal"],
        thousands=symbols["group"],
        percent=locale.percent_formats[None].pattern,
    )


def language() -> str:
    """Get the code of the current language."""
    return _WRITTEN_IN.get().code


def gettext(message: str) -> str:
    """Translate a message to the current language; English if the catalogue does not have it."""
    # Catalogues keep their metadata as the translation of the empty message.
    return _WRITTEN_IN.get().messages.gettext(message) if message else ""


def ngettext(one: str, many: str, count: int) -> str:
    """Translate a message with a number, in its singular or plural."""
    return _WRITTEN_IN.get().messages.ngettext(one, many, count)


def marked(message: str) -> str:
    """Mark a message for the catalogues without translating it yet."""
    return message


def numeral(english: str) -> str:
    """Convert a number in English format to the current language.

    Examples
    --------
    >>> with use_language("de"):
    ...     numeral("1,234.5")
    '1.234,5'
    """
    now = _WRITTEN_IN.get()
    return english if now.code == ENGLISH else english.translate({ord(","): now.thousands, ord("."): now.decimal})


def percentage(english: str) -> str:
    """Format a percentage in the current language, given its number in English format."""
    return _WRITTEN_IN.get().percent.replace("#,##0", numeral(english))


def day(text: str) -> str:
    """Format a date such as 2026-01-31 in the current language; other text, and any text in English, is unchanged.

    Examples
    --------
    >>> with use_language("de"):
    ...     day("2026-01-31"), day("im Januar")
    ('31. Januar 2026', 'im Januar')
    """
    # English keeps ISO 8601.
    code = language()
    if code == ENGLISH:
        return text
    try:
        given = dt.date.fromisoformat(text)
    except ValueError:
        return text
    dates = require("babel.dates", extra="languages", purpose="A report in another language than English")
    return str(dates.format_date(given, format="long", locale=code))
