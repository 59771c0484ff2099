"""Texts of the screens: roles, goals, steps, proposals of hierarchies, warnings, and files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from shoal._core.language import gettext as _
from shoal._core.language import marked
from shoal._messages import Part, text_of
from shoal.studio.audience import SCREENS

__all__ = [
    "CONCERNS",
    "FILES",
    "GOALS",
    "ROLES",
    "STEPS",
    "PROPOSALS",
    "change_in_words",
    "date_form_in_words",
    "work_in_words",
]


@dataclass(frozen=True, kw_only=True)
class ColumnRole:
    """A column role, explained for users who do not know the terms."""

    name: str
    """The name of the role in inspections."""
    title: str
    """The label in lists."""
    outcome: str
    """What becomes of such a column in a release."""
    meaning: str
    """How to recognize such a column."""
    term: str
    """The technical term."""


ROLES = (
    ColumnRole(
        name="quasi_identifier",
        title=marked("Others may know it"),
        outcome=marked("made coarser where needed"),
        term="quasi-identifier",
        meaning=marked(
            "Could a neighbour, a colleague, an employer, a relative or a public list know this of somebody: age, "
            "sex, where they live, when something happened, what they do? Alone it names nobody; together such facts "
            "single people out."
        ),
    ),
    ColumnRole(
        name="sensitive",
        title=marked("Sensitive"),
        outcome=marked("published, but not linkable to a person"),
        term="sensitive attribute",
        meaning=marked(
            "Would it harm or embarrass somebody if others learned it of them: a diagnosis, an income, a result? "
            "Its values are in the release as they are. Groups are made so that none can be linked to a person."
        ),
    ),
    ColumnRole(
        name="direct_identifier",
        title=marked("Leave it out"),
        outcome=marked("not published"),
        term="direct identifier",
        meaning=marked(
            "Does it point at one person by itself: a name, an insurance or record number, an e-mail address, free "
            "text that may mention somebody? Or does nobody need it?"
        ),
    ),
    ColumnRole(
        name="insensitive",
        title=marked("Harmless"),
        outcome=marked("published as it is"),
        term="insensitive attribute",
        meaning=marked(
            "Could nobody recognize anybody by it, and would nobody mind? It is published record by record, and "
            "nothing protects it. If in doubt, choose “Others may know it”."
        ),
    ),
)
"""The roles in the order of display."""


@dataclass(frozen=True, kw_only=True)
class Goal:
    """The audience of a release, with the usual privacy models."""

    name: str
    title: str
    meaning: str
    privacy: Mapping[str, str]
    """The proposed parameters of the models."""
    binds: bool = True
    """Whether `meaning` states what binds the recipients."""


GOALS = (
    Goal(
        name="public",
        title=marked("Everybody"),
        meaning=marked("A file for download. Nobody knows who will try what with it, and it cannot be taken back."),
        privacy={"k": "10", "l": "3"},
        binds=False,
    ),
    Goal(
        name="contract",
        title=marked("Researchers under a contract"),
        meaning=marked("They promise not to look for anybody, and can be held to it."),
        privacy={"k": "5", "l": "2"},
    ),
    Goal(
        name="internal",
        title=marked("Colleagues"),
        meaning=marked("It stays inside the institution, with people who must keep it to themselves."),
        privacy={"k": "3"},
    ),
)
"""The audiences, the strictest first."""

STEPS = (
    ("open", marked("Open")),
    ("persons", marked("Persons")),
    ("columns", marked("Columns")),
    ("risk", marked("Risk now")),
    ("goal", marked("Goal")),
    ("coarser", marked("Coarser")),
    ("compare", marked("Compare")),
    ("attack", marked("Attack it")),
    ("publish", marked("Publish")),
)
"""The screens in order: path and title."""


@dataclass(frozen=True, kw_only=True)
class OfferedTree:
    """A kind of hierarchy that can be proposed for a column."""

    how: str
    """The name in forms."""
    title: str
    meaning: str
    kinds: tuple[str, ...]
    """The kinds of columns that it suits, by their names in inspections."""
    fields: tuple[tuple[str, str, str], ...] = ()
    """Fields of its form: name, label, and an example."""
    sensitive: bool = False
    """Whether it needs a sensitive column."""


_NUMBERS = (marked("number"),)
_NAMES = (marked("category"), marked("identifier"), marked("text"), marked("boolean"))
PROPOSALS = (
    OfferedTree(
        how="intervals",
        title=marked("Steps of one width"),
        meaning=marked("0 to 9, 10 to 19, ...; on the next level twice as wide, and so on."),
        kinds=_NUMBERS,
        fields=(("width", marked("Width"), "10"),),
    ),
    OfferedTree(
        how="cuts",
        title=marked("Cut where you say"),
        meaning=marked(
            "The numbers at which something begins: 18, 30, 65. For a coarser level, some of them behind a "
            "semicolon: 18, 30, 65; 65"
        ),
        kinds=_NUMBERS,
        fields=(("cuts", marked("Cuts"), "18, 30, 65; 65"),),
    ),
    OfferedTree(
        how="quantiles",
        title=marked("As many records in each"),
        meaning=marked("Ranges that hold about as many records each; on the next level two of them are one."),
        kinds=_NUMBERS,
        fields=(("parts", marked("How many"), "8"),),
    ),
    OfferedTree(
        how="dates",
        title=marked("Months, quarters, years, decades"),
        meaning=marked("A day becomes its month, its quarter, its year, then 5 years and the decade."),
        kinds=(marked("date"),),
    ),
    OfferedTree(
        how="prefixes",
        title=marked("First characters"),
        meaning=marked("Codes lose one character after the other from the right: postal codes, codes of diseases."),
        kinds=(*_NAMES, *_NUMBERS),
    ),
    OfferedTree(
        how="rare",
        title=marked("Rare with rare"),
        meaning=marked("The two rarest values become one, the next two, and so on: no group stays small."),
        kinds=_NAMES,
    ),
    OfferedTree(
        how="together",
        title=marked("What says the same"),
        meaning=marked(
            "Values whose records have much the same sensitive values become one: little is lost for whoever wants "
            "to know what one has to do with the other."
        ),
        kinds=_NAMES,
        sensitive=True,
    ),
    OfferedTree(
        how="by hand",
        title=marked("By hand"),
        meaning=marked("You say which values belong together, and what the group is called."),
        kinds=(*_NAMES, *_NUMBERS, "date"),
    ),
)
"""The kinds of hierarchies that the studio can propose."""

FILES: Mapping[str, str] = {
    "report.html": marked("for the board and for readers"),
    "certificate.json": marked("what was asked for and achieved, for programs"),
    "report.json": marked("the facts of the report, for programs"),
    "plan.json": marked("which published form each value became, for new rows"),
    "salt.txt": marked("the key that shows which table it was"),
}
"""Descriptions of the files of a release, except the table."""

CONCERNS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        marked("What may still be learned about persons"),
        (
            *(
                "certain_match",
                "repeated_person",
                "published_person",
                "published_names",
                "lists_in_cells",
                "uncounted_persons",
                "sure_of_persons",
                "small_k",
                "small_l",
            ),
            *("near_unique_insensitive", "near_unique_sensitive", "exact_ends", "large_sets", "dominant_value"),
            "values_read_alike",
        ),
    ),
    (marked("What analysts lose"), ("mostly_stars", "many_stars", "much_lost")),
    (marked("How the table is read"), ()),
)
"""Groups of warnings about a release, the most serious first: title, and kinds of warnings; the last has all others."""

_DATE_PARTS = {
    "%d": marked("day"),
    "%m": marked("month"),
    "%Y": marked("year"),
    "%y": marked("year in two digits"),
    "%b": marked("month by name"),
    "%B": marked("month by name"),
    "%H": marked("hour"),
    "%M": marked("minute"),
    "%S": marked("second"),
}


def date_form_in_words(form: str) -> str:
    """Describe a date format for users who do not know the codes of strptime.

    Examples
    --------
    >>> date_form_in_words("%d.%m.%Y")
    'day.month.year'
    """
    for sign, part in _DATE_PARTS.items():
        form = form.replace(sign, _(part))
    return form


_WORK = {
    "starting": marked("getting ready"),
    "read": marked("reading the table"),
    "coarsen": marked("making columns coarser"),
    "coarsenings": marked("trying what fits each column"),
    "encode": marked("sorting the values"),
    "partition": marked("making groups"),
    "recode": marked("making cells less precise"),
    "verify": marked("verifying every cell"),
    "bound": marked("proving how little must be lost"),
    "certify": marked("writing down what was achieved"),
    "write": marked("writing the files"),
    "before": marked("counting the groups as they are"),
    "after": marked("counting the groups afterwards"),
    "loss": marked("measuring what is lost"),
    "hierarchy": marked("making the hierarchy"),
    "levels": marked("measuring each level"),
    "attack": marked("attacking"),
    "links": marked("looking for links"),
    "features": marked("getting ready to learn"),
    "ledger": marked("opening the ledger"),
    "link": marked("finding everybody in the ledger"),
    "generalize": marked("making groups"),
    "remember": marked("remembering who was published how"),
    "combinations": marked("trying which columns tell records apart"),
    "special uniques": marked("looking for records that stand out by few facts"),
    "log-linear": marked("estimating who is alone among all people"),
    "forest": marked("learning from the release"),
    "measure": marked("measuring what is lost"),
    **dict.fromkeys(
        ("annealing", "cascade", "cluster", "hilbert", "nearest neighbours", "parts", "patterns", "prices", "rounding"),
        marked("making groups"),
    ),
    **dict.fromkeys(("program", "restricted program"), marked("looking for the best groups")),
}
"""Descriptions of the steps of jobs, by the names that progress callbacks receive."""


def work_in_words(step: str) -> str:
    """Describe a step of a job.

    Examples
    --------
    >>> work_in_words("verify"), work_in_words("cluster"), work_in_words("k = 5, l = 2")
    ('verifying every cell', 'making groups', 'k = 5, l = 2')
    """
    return _(_WORK.get(step, step))


def change_in_words(description: Part) -> str:
    """Describe a change of the plan.

    Examples
    --------
    >>> from shoal._messages import Text
    >>> change_in_words(Text("Opened {name}", name="visits.csv"))
    'Opened visits.csv'
    """
    return text_of((description,), SCREENS)
