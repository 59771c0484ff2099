"""Who publishes a release, for what, and who answers for it: the words of the publisher on the first sheet."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field, fields, replace
from typing import Any

from shoal._core.language import ENGLISH, languages
from shoal._core.optional import require
from shoal._core.validation import parameter
from shoal.errors import ParameterError

__all__ = ["About"]


def _text(flag: str, help: str, metavar: str = "TEXT") -> Any:  # noqa: A002
    return field(default="", metadata=parameter(None, help, flag=flag, metavar=metavar))


@dataclass(frozen=True, kw_only=True)
class About:
    """What the publisher says of a release on the first sheet of its report.

    Examples
    --------
    >>> About(title="Visits of 2025", institution="St. Mary's", signatures=("Data protection officer",)).title
    'Visits of 2025'
    """

    title: str = _text("--title", "Heading of the reports.")
    """What it is: the heading of the page."""
    institution: str = _text("--institution", "Who publishes the release.")
    """Who publishes it."""
    purpose: str = _text("--purpose", "What it is published for.")
    """What it is published for."""
    contact: str = _text("--contact", "Whom readers ask.")
    """Whom readers ask."""
    date: str = _text("--report-date", "When; unless given, today in your report, and nothing in that for readers.")
    """When; the publisher's page has the day on which it was made where nothing is said, the readers' has none then."""
    notes: str = _text("--notes", "What those who decide should know; in your report only.")
    """What those who decide should know; in the publisher's page only."""
    signatures: tuple[str, ...] = field(
        default=(),
        metadata=parameter(
            None,
            "Who signs, in your report only: a line for each; repeat it.",
            flag="--signature",
            metavar="TEXT",
            read=str,
            many=True,
        ),
    )
    """Who signs, a line each; in the publisher's page only."""
    language: str = _text("--language", "Language of the reports; English unless given.", "|".join(languages()))
    """The language of the reports, "en" or "de"; English unless given. Others than English need the extra `languages`.
    Names of columns, of parameters and of references, and what you say yourself, stay as they are."""

    def __post_init__(self) -> None:
        for one in fields(self):
            given = getattr(self, one.name)
            if one.name == "signatures":
                if isinstance(given, list):
                    object.__setattr__(self, "signatures", tuple(given))
                elif isinstance(given, str) or not isinstance(given, tuple):
                    raise ParameterError.refusing("About", "signatures", "texts, in a list", got=type(given).__name__)
                if all(isinstance(line, str) for line in self.signatures):
                    continue
            elif isinstance(given, str):
                continue
            raise ParameterError.refusing("About", one.name, "text", got=type(given).__name__)
        if self.language and self.language not in languages():
            known = ", ".join(languages())
            raise ParameterError.refusing("About", "language", f"one of {known}", got=repr(self.language))
        if self.language not in ("", ENGLISH):
            require("babel", extra="languages", purpose="A report in another language than English")

    def for_readers(self) -> About:
        """Return what readers are told: all but notes and signatures."""
        return replace(self, notes="", signatures=())

    def dated(self) -> About:
        """Return it with the day of today where no date was said."""
        return self if self.date else replace(self, date=dt.date.today().isoformat())
