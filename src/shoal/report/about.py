"""The publisher's own words on the first sheet of a report: title, institution, purpose, contact, signatures."""

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
    """The publisher's own words on the first sheet of a report.

    Examples
    --------
    >>> About(title="Visits of 2025", institution="St. Mary's", signatures=("Data protection officer",)).title
    'Visits of 2025'
    """

    title: str = _text("--title", "Heading of the reports.")
    """The heading of the page."""
    institution: str = _text("--institution", "The institution that publishes the release.")
    """The institution that publishes the release."""
    purpose: str = _text("--purpose", "The purpose of the release.")
    """The purpose of the publication."""
    contact: str = _text("--contact", "The contact for readers.")
    """The contact for readers."""
    date: str = _text("--report-date", "The date. Default: today in your report, none in the report for readers.")
    """The date of the release. If it is empty, the publisher's page has the current date and the readers' page none."""
    notes: str = _text("--notes", "Notes for those who decide, in your report only.")
    """Notes for decision makers; shown on the publisher's page only."""
    signatures: tuple[str, ...] = field(
        default=(),
        metadata=parameter(
            None,
            "A line for a signature, in your report only; repeat it for others.",
            flag="--signature",
            metavar="TEXT",
            read=str,
            many=True,
        ),
    )
    """Signature lines; shown on the publisher's page only."""
    expert: str = _text(
        "--expert", "Name of the expert of a determination under HIPAA: your report gets a page for it, to be signed."
    )
    """The expert of a determination under HIPAA, 45 CFR 164.514(b)(1). If there is one, the publisher's page has a
    sheet with OCR's three questions, the figures of the release and lines to fill in and sign."""
    valid_until: str = _text("--valid-until", "The last day of the expert's determination, in your report only.")
    """The last day of the determination; shown on its sheet."""
    language: str = _text("--language", "Language of the reports. Default: English.", "|".join(languages()))
    """The language of the reports, "en" or "de"; English by default. Other languages than English need the extra
    `languages`. Names of columns, parameters and references, and the publisher's own words, are not translated."""

    def __post_init__(self) -> None:
        # Signatures may be a list; everything else is text.
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
            # Nothing else is accepted, because pages show the words unchanged.
            raise ParameterError.refusing("About", one.name, "text", got=type(given).__name__)
        # A missing translation is reported now, not after hours of work.
        if self.language and self.language not in languages():
            known = ", ".join(languages())
            raise ParameterError.refusing("About", "language", f"one of {known}", got=repr(self.language))
        if self.language not in ("", ENGLISH):
            require("babel", extra="languages", purpose="A report in another language than English")

    def for_readers(self) -> About:
        """Copy without notes, signatures and the expert's determination, which only the publisher sees."""
        return replace(self, notes="", signatures=(), expert="", valid_until="")

    def dated(self) -> About:
        """Copy with the current date if no date is given."""
        return self if self.date else replace(self, date=dt.date.today().isoformat())
