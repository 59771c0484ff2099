"""Texts of the screens: roles, goals, steps, proposals of hierarchies, warnings, and files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


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
        title="Others may know it",
        outcome="made coarser where needed",
        term="quasi-identifier",
        meaning="Could a neighbour, a colleague, an employer, a relative or a public list know this of somebody: "
        "age, sex, where they live, when something happened, what they do? Alone it names nobody; together "
        "such facts single people out.",
    ),
    ColumnRole(
        name="sensitive",
        title="Sensitive",
        outcome="published, but not linkable to a person",
        term="sensitive attribute",
        meaning="Would it harm or embarrass somebody if others learned it of them: a diagnosis, an income, a "
        "result? Its values are in the release as they are. Groups are made so that none can be linked to a "
        "person.",
    ),
    ColumnRole(
        name="direct_identifier",
        title="Leave it out",
        outcome="not published",
        term="direct identifier",
        meaning="Does it point at one person by itself: a name, an insurance or record number, an e-mail address, "
        "free text that may mention somebody? Or does nobody need it?",
    ),
    ColumnRole(
        name="insensitive",
        title="Harmless",
        outcome="published as it is",
        term="insensitive attribute",
        meaning="Could nobody recognize anybody by it, and would nobody mind? It is published record by record, and "
        "nothing protects it. If in doubt, choose “Others may know it”.",
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
        title="Everybody",
        meaning="A file for download. Nobody knows who will try what with it, and it cannot be taken back.",
        privacy={"k": "10", "l": "3"},
        binds=False,
    ),
    Goal(
        name="contract",
        title="Researchers under a contract",
        meaning="They promise not to look for anybody, and can be held to it.",
        privacy={"k": "5", "l": "2"},
    ),
    Goal(
        name="internal",
        title="Colleagues",
        meaning="It stays inside the institution, with people who must keep it to themselves.",
        privacy={"k": "3"},
    ),
)
"""The audiences, the strictest first."""

STEPS = (
    ("open", "Open"),
    ("persons", "Persons"),
    ("columns", "Columns"),
    ("risk", "Risk now"),
    ("goal", "Goal"),
    ("coarser", "Coarser"),
    ("compare", "Compare"),
    ("attack", "Attack it"),
    ("publish", "Publish"),
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


_NUMBERS = ("number",)
_NAMES = ("category", "identifier", "text", "boolean")
PROPOSALS = (
    OfferedTree(
        how="intervals",
        title="Steps of one width",
        meaning="0 to 9, 10 to 19, ...; on the next level twice as wide, and so on.",
        kinds=_NUMBERS,
        fields=(("width", "Width", "10"),),
    ),
    OfferedTree(
        how="cuts",
        title="Cut where you say",
        meaning="The numbers at which something begins: 18, 30, 65. For a coarser level, some of them behind a "
        "semicolon: 18, 30, 65; 65",
        kinds=_NUMBERS,
        fields=(("cuts", "Cuts", "18, 30, 65; 65"),),
    ),
    OfferedTree(
        how="quantiles",
        title="As many records in each",
        meaning="Ranges that hold about as many records each; on the next level two of them are one.",
        kinds=_NUMBERS,
        fields=(("parts", "How many", "8"),),
    ),
    OfferedTree(
        how="dates",
        title="Months, quarters, years, decades",
        meaning="A day becomes its month, its quarter, its year, then 5 years and the decade.",
        kinds=("date",),
    ),
    OfferedTree(
        how="prefixes",
        title="First characters",
        meaning="Codes lose one character after the other from the right: postal codes, codes of diseases.",
        kinds=(*_NAMES, *_NUMBERS),
    ),
    OfferedTree(
        how="rare",
        title="Rare with rare",
        meaning="The two rarest values become one, the next two, and so on: no group stays small.",
        kinds=_NAMES,
    ),
    OfferedTree(
        how="together",
        title="What says the same",
        meaning="Values whose records have much the same sensitive values become one: little is lost for whoever "
        "wants to know what one has to do with the other.",
        kinds=_NAMES,
        sensitive=True,
    ),
    OfferedTree(
        how="by hand",
        title="By hand",
        meaning="You say which values belong together, and what the group is called.",
        kinds=(*_NAMES, *_NUMBERS, "date"),
    ),
)
"""The kinds of hierarchies that the studio can propose."""

FILES: Mapping[str, str] = {
    "report.html": "for the board and for readers",
    "certificate.json": "what was asked for and achieved, for programs",
    "report.json": "the facts of the report, for programs",
    "plan.json": "which published form each value became, for new rows",
    "salt.txt": "the key that shows which table it was",
}
"""Descriptions of the files of a release, except the table."""

CONCERNS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "What may still be learned about persons",
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
    ("What analysts lose", ("mostly_stars", "many_stars", "much_lost")),
    ("How the table is read", ()),
)
"""Groups of warnings about a release, the most serious first: title, and kinds of warnings; the last has all others."""

_DATE_PARTS = {
    "%d": "day",
    "%m": "month",
    "%Y": "year",
    "%y": "year in two digits",
    "%b": "month by name",
    "%B": "month by name",
    "%H": "hour",
    "%M": "minute",
    "%S": "second",
}


def date_form_in_words(form: str) -> str:
    """Describe a date format for users who do not know the codes of strptime.

    Examples
    --------
    >>> date_form_in_words("%d.%m.%Y")
    'day.month.year'
    """
    for sign, part in _DATE_PARTS.items():
        form = form.replace(sign, part)
    return form


_WORK = {
    "starting": "getting ready",
    "read": "reading the table",
    "coarsen": "making columns coarser",
    "coarsenings": "trying what fits each column",
    "encode": "sorting the values",
    "partition": "making groups",
    "recode": "making cells less precise",
    "verify": "verifying every cell",
    "bound": "proving how little must be lost",
    "certify": "writing down what was achieved",
    "write": "writing the files",
    "before": "counting the groups as they are",
    "after": "counting the groups afterwards",
    "loss": "measuring what is lost",
    "hierarchy": "making the hierarchy",
    "levels": "measuring each level",
    "attack": "attacking",
    "links": "looking for links",
    "features": "getting ready to learn",
    "ledger": "opening the ledger",
    "link": "finding everybody in the ledger",
    "generalize": "making groups",
    "remember": "remembering who was published how",
    "combinations": "trying which columns tell records apart",
    "special uniques": "looking for records that stand out by few facts",
    "log-linear": "estimating who is alone among all people",
    "forest": "learning from the release",
    "measure": "measuring what is lost",
    **dict.fromkeys(
        ("annealing", "cascade", "cluster", "hilbert", "nearest neighbours", "parts", "patterns", "prices", "rounding"),
        "making groups",
    ),
    **dict.fromkeys(("program", "restricted program"), "looking for the best groups"),
}
"""Descriptions of the steps of jobs, by the names that progress callbacks receive."""


def work_in_words(step: str) -> str:
    """Describe a step of a job.

    Examples
    --------
    >>> work_in_words("verify"), work_in_words("cluster"), work_in_words("k = 5, l = 2")
    ('verifying every cell', 'making groups', 'k = 5, l = 2')
    """
    return _WORK.get(step, step)
