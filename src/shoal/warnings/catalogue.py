"""The list of all warnings: when each is raised, why it matters, and whether readers of a release are told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from shoal._messages import Part, Voice, speaking, text_of
from shoal._words import percent

__all__ = [
    "DOMINANT",
    "LEAST_GROUP",
    "MANY_MEMBERS",
    "MANY_SHOWN",
    "MOSTLY",
    "MOST_QUASI",
    "OWN_VALUE",
    "SHOWN_IN",
    "WARNINGS",
    "Remark",
    "WarningKind",
]

OWN_VALUE = 0.5
"""Share of the records with a value of their own from which on a column that is published as it is finds people."""
LEAST_GROUP = 3
"""Smaller groups are hardly ever accepted: of two people one knows the record of the other."""
DOMINANT = 0.75
"""Share of the records from which on one sensitive value is nearly everybody's."""
MOSTLY = 0.9
"""Share of the records whose value is a star from which on a column says next to nothing."""
MANY_MEMBERS = 5
"""Values from which on a set is a list of what people have."""
SHOWN_IN = 0.1
"""Share of the records in such sets from which on that is a warning."""
MANY_SHOWN = 16
"""A column that shows no more different values than this has few enough for everybody to know them all."""
MOST_QUASI = 12
"""Quasi-identifiers from which on a release loses most of what the table says."""


@dataclass(frozen=True, kw_only=True)
class WarningKind:
    """One entry of the list."""

    code: str
    """Its code, which stays the same."""
    title: str
    """What it is, in a few words."""
    when: str
    """When it is raised."""
    why: str
    """Why it matters, for people who do not know the models."""
    by: tuple[str, ...]
    """What raises it: "inspect", "release", or both."""
    public: bool = False
    """Whether the public certificate and page of a release have it: the request and the published table tell it."""


def _listed(*kinds: WarningKind) -> Mapping[str, WarningKind]:
    return MappingProxyType({kind.code: kind for kind in kinds})


_RELEASE, _INSPECT, _BOTH = ("release",), ("inspect",), ("inspect", "release")

WARNINGS: Mapping[str, WarningKind] = _listed(
    WarningKind(
        code="near_unique_insensitive",
        title="A column that is published as it is finds people",
        when=f"{percent(OWN_VALUE)} of the records or more have a value of an insensitive column that nobody shares, "
        "or a pair of values of two of them.",
        why="Nothing hides the record of somebody whose value is known, whatever the groups look like.",
        by=_RELEASE,
        public=True,
    ),
    WarningKind(
        code="near_unique_sensitive",
        title="A sensitive column finds people",
        when=f"{percent(OWN_VALUE)} of the records or more have a sensitive value that nobody shares.",
        why="Sensitive values are published as they are: whoever knows somebody's finds the record.",
        by=_BOTH,
        public=True,
    ),
    WarningKind(
        code="large_sets",
        title="Sets show exact values of many people",
        when=f"{percent(SHOWN_IN)} of the records or more show a set of {MANY_MEMBERS} or more exact values of a "
        f"quasi-identifier, which shows more than {MANY_SHOWN} different ones.",
        why="The groups are large enough by the letter, but whoever knows somebody's name, birthday or code sees "
        "whether they are in the table.",
        by=_RELEASE,
        public=True,
    ),
    WarningKind(
        code="mostly_stars",
        title="A column is nearly all stars",
        when=f"{percent(MOSTLY)} of the records or more show a star for a quasi-identifier.",
        why="It tells analysts next to nothing, while the same column made coarser beforehand could.",
        by=_RELEASE,
        public=True,
    ),
    WarningKind(
        code="small_k",
        title="Groups are very small",
        when=f"The smallest group has fewer than {LEAST_GROUP} records.",
        why="In a group of two, each of the two people knows the record of the other, and a guess is right half the "
        "time.",
        by=_RELEASE,
        public=True,
    ),
    WarningKind(
        code="small_l",
        title="Some groups share a sensitive value",
        when="In some group all records have the same sensitive value.",
        why="It is known of everybody in that group, without knowing which record is whose.",
        by=_RELEASE,
        public=True,
    ),
    WarningKind(
        code="dominant_value",
        title="One sensitive value is nearly everybody's",
        when=f"{percent(DOMINANT)} of the records or more have the same sensitive value.",
        why="Whoever guesses it is nearly always right about anybody, and the others stand out.",
        by=_RELEASE,
        public=True,
    ),
    WarningKind(
        code="repeated_person",
        title="People have several records",
        when="A column that looks like what every person has one of (a number, an e-mail address, ...) repeats.",
        why="Groups count records: five records of one person hide nobody.",
        by=_BOTH,
    ),
    WarningKind(
        code="unread_dates",
        title="Dates could not be read",
        when="A column of text looks like dates, and no format reads all of them.",
        why="They are names without an order then: no years, no intervals, only sets of exact days.",
        by=_BOTH,
    ),
    WarningKind(
        code="ambiguous_dates",
        title="Dates can be read in two ways",
        when="Two formats read all dates of a column, as 01/02/1980. A release asks instead.",
        why="A wrong guess would publish wrong dates.",
        by=_INSPECT,
    ),
    WarningKind(
        code="ambiguous_numbers",
        title="Numbers can be read in two ways",
        when="All numbers of a column may have decimals or thousands, as 1,234. A release asks instead.",
        why="A wrong guess would make them a thousand times too large or too small.",
        by=_INSPECT,
    ),
    WarningKind(
        code="recoded_cells",
        title="The table looks like a release",
        when="A column of text has stars, intervals, masked codes or sets in 5% of the records or more.",
        why="What was taken away cannot be counted: groups that look safe may not be, and figures of risk are too low.",
        by=_INSPECT,
    ),
    WarningKind(
        code="no_sensitive",
        title="No column looks sensitive",
        when="No column looks as if people would not want it to be known of them.",
        why="Without one, records are hidden among others, but not what they say.",
        by=_INSPECT,
    ),
    WarningKind(
        code="many_quasi_identifiers",
        title="Many quasi-identifiers",
        when=f"More than {MOST_QUASI} columns are taken for quasi-identifiers.",
        why="A release that hides people by so many columns says little.",
        by=_INSPECT,
    ),
)
"""All warnings, by their codes."""


@dataclass(frozen=True, kw_only=True)
class Remark:
    """One warning about a table or a release. It holds no cell.

    Examples
    --------
    >>> remark = Remark(code="no_sensitive", column=None, found="No column looks sensitive.", advice="Name one.")
    >>> remark.text
    'No column looks sensitive. Name one.'
    """

    code: str
    """One of `WARNINGS`."""
    column: str | None
    """The column that it is about; None where it is about the table."""
    found: Part
    """What was found. Where readers are told, it depends on the request and the published table alone."""
    advice: Part = ""
    """What the publisher can do next."""

    @property
    def kind(self) -> WarningKind:
        """The entry of the list."""
        return WARNINGS[self.code]

    @property
    def text(self) -> str:
        """The warning in the words of the call that asks for it."""
        return self.told(speaking())

    def told(self, voice: Voice) -> str:
        """Return what was found and what to do, in the words of those who read it."""
        return " ".join(said for part in (self.found, self.advice) if (said := text_of((part,), voice)))

    def to_dict(self) -> dict[str, str | None]:
        """Return the warning as a dictionary, for the publisher."""
        return {"code": self.code, "column": self.column, "text": self.text}

    def for_readers(self) -> dict[str, str | None]:
        """Return what readers of a release are told: what was found, without advice."""
        return {"code": self.code, "column": self.column, "text": str(self.found)}
