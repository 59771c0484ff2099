"""The publisher's own words on the first sheet of a report: title, institution, purpose, contact, signatures."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field, fields, replace
from typing import Any

from shoal._core.validation import parameter
from shoal.errors import ParameterError

DECISIONS = {
    "approved": "Approved",
    "conditions": "Approved with conditions",
    "refused": "Refused",
}
"""The decisions of a reviewer, with their titles."""
_PRIVATE = (
    *("notes", "signatures", "expert", "recipient", "controls", "roles"),
    *("decision", "conditions", "reviewed_by", "valid_until"),
)
"""The words that are in the publisher's page only."""


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
    recipient: str = _text("--recipient", "Who receives the table, in your report only.")
    """The recipients of the table; shown on the publisher's page only."""
    controls: str = _text("--controls", "What binds the recipients, such as a contract, in your report only.")
    """The controls that bind the recipients; shown on the publisher's page only."""
    roles: str = _text("--roles", "Who decided the role of each column and why, in your report only.")
    """The reasons for the roles of columns, and who decided them; shown on the publisher's page only."""
    decision: str = _text(
        "--decision", "The decision of a reviewer: your report gets a page for it, to be signed.", "|".join(DECISIONS)
    )
    """The decision of a reviewer: "approved", "conditions" or "refused". If there is one, the publisher's page has a
    sheet with the residual risk, the conditions and a line to sign."""
    conditions: str = _text("--conditions", "The conditions of the decision, or its reasons, in your report only.")
    """The conditions of the decision, or its reasons; shown on its sheet."""
    reviewed_by: str = _text("--reviewed-by", "Who decided, in your report only.")
    """The reviewer; shown on the sheet of the decision."""
    valid_until: str = _text("--valid-until", "The last day of the decision or determination, in your report only.")
    """The last day of the decision or determination; shown on its sheet."""

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
        if self.decision and self.decision not in DECISIONS:
            raise ParameterError.refusing(
                "About", "decision", f"one of {', '.join(DECISIONS)}", got=repr(self.decision)
            )
        # A decision must be complete and still hold; a day in words is not compared.
        if self.decision == "conditions" and not self.conditions.strip():
            raise ParameterError.refusing("About", "conditions", "given for the decision 'conditions'")
        last = _read_day(self.valid_until)
        if last is not None and last < (_read_day(self.date) or dt.date.today()):
            raise ParameterError.refusing("About", "valid_until", "a day that is not past", got=repr(self.valid_until))

    def for_readers(self) -> About:
        """Copy without the words that only the publisher sees."""
        cleared: dict[str, Any] = {one.name: one.default for one in fields(self) if one.name in _PRIVATE}
        return replace(self, **cleared)

    def dated(self) -> About:
        """Copy with the current date if no date is given."""
        return self if self.date else replace(self, date=dt.date.today().isoformat())


def _read_day(text: str) -> dt.date | None:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        return None
