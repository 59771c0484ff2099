"""The catalogue of warnings: when each is raised, why it matters, and whether readers of a release see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from shoal._core.facts import Fact
from shoal._core.words import percent
from shoal._messages import PYTHON, Audience, current_audience
from shoal.wording import sentence, sentences

OWN_VALUE = 0.5
"""Smallest share of records with a unique value for which an unchanged column identifies persons."""
LEAST_GROUP = 3
"""Smallest group size that is usually accepted: in a group of two, each knows the record of the other."""
DOMINANT = 0.75
"""Smallest share of the records for which a sensitive value dominates."""
MOSTLY = 0.9
"""Smallest share of stars for which a column has almost no information."""
MANY_MEMBERS = 5
"""Smallest number of values of a set that counts as a list of exact values."""
SHOWN_IN = 0.1
"""Smallest share of the records in such sets that raises a warning."""
MANY_SHOWN = 16
"""Largest number of distinct values of a column that are considered publicly known."""
MOST_QUASI = 12
"""Largest number of quasi-identifiers without a warning: with more, a release loses most information."""


@dataclass(frozen=True, kw_only=True)
class WarningKind:
    """One entry of the catalogue."""

    code: str
    """Its stable code."""
    title: str
    """A short title."""
    when: str
    """The condition under which it is raised."""
    why: str
    """Why it matters, for readers who do not know the models."""
    by: tuple[str, ...]
    """The commands that raise it: "inspect", "release", "audit"."""
    public: bool = False
    """Whether the public certificate and page have it: it derives from the request and the published table."""


def _listed(*kinds: WarningKind) -> Mapping[str, WarningKind]:
    return MappingProxyType({kind.code: kind for kind in kinds})


_RELEASE, _INSPECT, _BOTH = ("release",), ("inspect",), ("inspect", "release")

WARNINGS: Mapping[str, WarningKind] = _listed(
    WarningKind(
        code="near_unique_insensitive",
        title="Columns that are published as they are find people",
        when=f"{percent(OWN_VALUE)} of the records or more have a value of an insensitive column that nobody shares, "
        "or a pair of values of two of them; or all insensitive columns together make any record unique; or these and "
        f"the sensitive columns together make {percent(SHOWN_IN)} of the records unique.",
        why="Nothing hides the record of somebody whose values are known, whatever the groups look like.",
        by=("release", "audit"),
        public=True,
    ),
    WarningKind(
        code="near_unique_sensitive",
        title="A sensitive column finds people",
        when=f"{percent(SHOWN_IN)} of the records or more have a sensitive value that nobody shares.",
        why="Sensitive values are published as they are: whoever knows somebody's finds the record.",
        by=_BOTH,
        public=True,
    ),
    WarningKind(
        code="published_names",
        title="Names of persons are published",
        when="A published column is called as columns of names of persons are, and has texts.",
        why="A name says who is in the table, whatever the groups hide.",
        by=("release", "audit"),
        public=True,
    ),
    WarningKind(
        code="lists_in_cells",
        title="Cells may be lists of values",
        when="A separator stands in most cells of a published column, and the same value before and after it.",
        why="Models count each list as one value: a value that is in all lists of a group is certain, and not counted.",
        by=("inspect", "release", "audit"),
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
        code="exact_ends",
        title="Ends of intervals single people out",
        when="With exact ends: an end of an interval, or a member of a set, and the other cells of its group fit one "
        "record alone, and fewer than k records of the table have that value.",
        why="The smallest interval ends at the exact value of somebody: a birth date that nobody else has finds that "
        "person, whatever else the group hides.",
        by=_RELEASE,
    ),
    WarningKind(
        code="no_quasi_identifiers",
        title="No column is a quasi-identifier",
        when="A release is made without quasi-identifiers.",
        why="All records are one group, and all columns are published as they came: whoever knows some values of a "
        "record finds it by them.",
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
        when="In some group all records have the same sensitive value, or all persons whose linked records are alike "
        "have one.",
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
        code="values_read_alike",
        title="Values read alike",
        when="Published values of a column differ in upper and lower case, blanks, invisible characters, punctuation, "
        "forms of Unicode, letters of another alphabet, or the form of a number or date alone (1 and 1.0).",
        why="Readers take them for one value: a group with both has fewer different values than were counted, and two "
        "groups that differ in them look like one.",
        by=("release", "audit"),
        public=True,
    ),
    WarningKind(
        code="formula_cells",
        title="Cells look like formulas",
        when="Published text starts with =, +, -, @, a tab or a line end, and is not a number, in a file of delimited "
        "text that was not written for spreadsheets.",
        why="A spreadsheet may run such a cell when the file is opened.",
        by=_RELEASE,
        public=True,
    ),
    WarningKind(
        code="repeated_person",
        title="People have several records",
        when="The values of a column repeat, and ages, genders or several columns that have nothing to do with each "
        "other are the same within them; or a column looks like what every person has one of (a number, an e-mail "
        "address, ...) and repeats; or no column says who, but combinations of quasi-identifiers repeat so.",
        why="Groups count records: five records of one person hide nobody.",
        by=_BOTH,
    ),
    WarningKind(
        code="respelled_persons",
        title="Persons are spelled in several ways",
        when="Values of a column of persons differ in upper and lower case, blanks, zeros before, or in another way in "
        "which values read alike (see values_read_alike).",
        why="Each spelling counts as a person: five records of one person hide nobody.",
        by=_RELEASE,
    ),
    WarningKind(
        code="sure_of_persons",
        title="All records of a person tell more than one",
        when="Persons have several records, and knowing the quasi-identifiers of all of them makes some value of a "
        "person more probable than the model of sensitive values allows for one record.",
        why="What l-diversity promises is about one record of a person.",
        by=_RELEASE,
    ),
    WarningKind(
        code="uncounted_persons",
        title="No model counts persons",
        when="A column of persons is named, and no model with a k above 1 counts them.",
        why="Models of sensitive values count records: all records of a group may be those of one person, and tell "
        "everything of that person.",
        by=_RELEASE,
        public=True,
    ),
    WarningKind(
        code="published_person",
        title="A column that is published identifies persons",
        when="A sensitive or insensitive column repeats as the number or name of a person would, or "
        f"{percent(OWN_VALUE)} of the records or more share its value with records of the same named person alone.",
        why="It is published as it is, and links all records of a person, whatever the groups hide.",
        by=_RELEASE,
    ),
    WarningKind(
        code="unread_dates",
        title="Dates could not be read",
        when="A column of text looks like dates, and no format reads all of them.",
        why="They are names without an order then: no years, no intervals, only sets of exact days.",
        by=_BOTH,
    ),
    WarningKind(
        code="derived_missing",
        title="A derived column has missing values",
        when="An age or a duration is derived of dates that are missing, cannot be read, or are in the wrong order.",
        why="A mistake in the dates is easily corrected before a release, never after it.",
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
        code="missing_codes",
        title="Codes that may mean missing",
        when='A column has numbers or dates but for words such as "n/a", or a code such as 999 or 01.01.1900 far from '
        "all others.",
        why="Words make it names without an order; a code makes intervals as wide as to the code.",
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
"""All warnings by code."""


@dataclass(frozen=True, kw_only=True)
class Remark:
    """A warning about a table or a release, without cells.

    Examples
    --------
    >>> from shoal._core.facts import Fact
    >>> remark = Remark(code="no_sensitive", column=None, found=Fact("none_sensitive"), advice=Fact("name_sensitive"))
    >>> remark.text
    'No column looks sensitive. If one must not be linked to a person, name it as sensitive.'
    """

    code: str
    """A key of `WARNINGS`."""
    column: str | None
    """The column concerned; None if the warning concerns the table."""
    found: Fact
    """The finding. If readers of the release see it, it derives from the request and the published table alone."""
    advice: Fact | None = None
    """The next step for the publisher."""

    @property
    def kind(self) -> WarningKind:
        """The entry of the catalogue."""
        return WARNINGS[self.code]

    @property
    def text(self) -> str:
        """The warning in the words of the current audience."""
        return self.render(current_audience())

    def render(self, audience: Audience) -> str:
        """Phrase the finding and the advice for an audience."""
        return sentences((self.found, self.advice), audience)

    def to_dict(self, audience: Audience | None = None) -> dict[str, Any]:
        """Convert the warning to a dictionary for the publisher, in the words of an audience (the current one)."""
        audience = current_audience() if audience is None else audience
        return {
            "code": self.code,
            "column": self.column,
            "text": self.render(audience),
            "found": self.found.to_dict(audience),
            "advice": None if self.advice is None else self.advice.to_dict(audience),
        }

    def for_readers(self) -> dict[str, Any]:
        """Convert the warning to a dictionary for readers: the finding, without advice."""
        # Readers see the words of Python, even if the publisher used the command line.
        text = sentence(self.found, PYTHON)
        return {"code": self.code, "column": self.column, "text": text, "found": self.found.to_dict(PYTHON)}
