"""Who publishes a release, for what, and who answers for it: the words of the publisher on the first sheet."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, fields, replace

from shoal._core.language import ENGLISH, languages
from shoal._core.optional import require
from shoal.errors import ParameterError

__all__ = ["About"]


@dataclass(frozen=True, kw_only=True)
class About:
    """What the publisher says of a release on the first sheet of its report.

    Examples
    --------
    >>> About(title="Visits of 2025", institution="St. Mary's", signatures=("Data protection officer",)).title
    'Visits of 2025'
    """

    title: str = ""
    """What it is: the heading of the page."""
    institution: str = ""
    """Who publishes it."""
    purpose: str = ""
    """What it is published for."""
    contact: str = ""
    """Whom readers ask."""
    date: str = ""
    """When; the publisher's page has the day on which it was made where nothing is said, the readers' has none then."""
    notes: str = ""
    """What those who decide should know; in the publisher's page only."""
    signatures: tuple[str, ...] = ()
    """Who signs, a line each; in the publisher's page only."""
    language: str = ""
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
