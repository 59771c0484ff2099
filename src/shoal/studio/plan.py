"""The plan of a release as an immutable value, and the history of plans for undo and redo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any

from shoal._core.file_formats import DELIMITED, WORKBOOKS
from shoal._core.quoting import listed_name
from shoal._core.validation import number_in
from shoal.request.texts import read_set, replacements_in, with_formats

PERSONS, SEVERAL, RECORDS = "persons", "several", "records"
"""Meanings of a row: one person each; one of several records of a person, whom a column identifies; or one of several
records of a person whom no column identifies."""
COUNTED, ONE_EACH, LINKED = "counted", "one", "linked"
"""How the records of a person are published: all of them, one of them, or all that fit under a pseudonym."""
SINCE_FIRST = "since:first"
"""The words of the coarsening of dates to days since the first date of a person."""

_ROLE_KEYS: Mapping[str, str] = {
    "quasi_identifier": "quasi_identifiers",
    "sensitive": "sensitive",
    "person": "person",
    "direct_identifier": "direct_identifiers",
    "insensitive": "insensitive",
}
"""Key in spec files for the columns of each role."""
_MAX_PLANS = 200
"""Maximum number of plans in the history."""


@dataclass(frozen=True, kw_only=True)
class ShapedTree:
    """A hierarchy made in the studio: its editing steps, and the private file that holds it."""

    steps: tuple[Mapping[str, Any], ...]
    """The editing steps in order; see `shoal.studio.jobs.trees.shape`."""
    path: str
    """Path of the file that the worker writes and reads; it is removed when the studio closes."""

    @property
    def name(self) -> str:
        """File name that commands use, relative to the folder of the studio."""
        return PurePath(self.path).name


@dataclass(frozen=True, kw_only=True)
class Plan:
    """An unfinished request: the content of a spec file, and the location of its table."""

    source: str = ""
    """Path or address of the table for the worker; empty if no table is open."""
    shown: str = ""
    """Path or address of the table in commands, relative to the folder of the studio."""
    demo: bool = False
    """Whether the table is the bundled demo table."""
    second: str = ""
    """Path of the table with the records of the persons of the first one, for the worker; empty if there is none."""
    second_shown: str = ""
    """Path of that table in commands, relative to the folder of the studio."""
    rows: str = ""
    """Meaning of a row: `PERSONS`, `SEVERAL` or `RECORDS`; empty until the question is answered."""
    person: str = ""
    """The column that identifies the person of a record, which is not published; only for `SEVERAL`."""
    treatment: str = COUNTED
    """How the records of a person are published: `COUNTED`, `ONE_EACH` or `LINKED`."""
    kept_rows: str = "random"
    """Which record of a person is published if one of each is: "random", "first" or "last"."""
    order: str = ""
    """The column that orders the records of a person; empty if none is needed."""
    unnamed_are_persons: bool = False
    """Whether each record without a value in the column of persons is of a separate person; otherwise an error."""
    roles: Mapping[str, str] = field(default_factory=dict)
    """The role of each column; empty until the proposed roles are confirmed."""
    reading: Mapping[str, str] = field(default_factory=dict)
    """Options of reading that the user set: "sheet", "header_row", "delimiter", "encoding", "decimal"."""
    replaced: Mapping[str, str] = field(default_factory=dict)
    """Values to replace before anything else, by column, in the syntax of spec files."""
    derived: Mapping[str, str] = field(default_factory=dict)
    """Columns to derive from dates, in the syntax of spec files."""
    dates: Mapping[str, str] = field(default_factory=dict)
    """Date formats that the user set, by column."""
    privacy: Mapping[str, str] = field(default_factory=lambda: {"k": "5"})
    """The parameters of the models as typed, such as {"k": "10", "l": "3"}."""
    harmless: tuple[str, ...] = ()
    """Sensitive values that need no protection; only used with l."""
    knows: str = ""
    """The number of quasi-identifiers that an adversary knows, as typed; empty if it is all of them."""
    sets: tuple[str, ...] = ()
    """Sets of quasi-identifiers that adversaries know, as in spec files; ignored if a quasi-identifier is in none."""
    weights: Mapping[str, str] = field(default_factory=dict)
    """Weights of quasi-identifiers in the loss as typed; 1 if not given."""
    resist: str = ""
    """The attack that the algorithm must resist: "minimality", or empty."""
    recoding: str = "generalization"
    """The recoding method."""
    missing_sensitive: str = "error"
    """Treatment of missing sensitive values."""
    normalize: bool = False
    """Whether texts are normalized first."""
    lists: Mapping[str, str] = field(default_factory=dict)
    """Separator of the values in a cell, by sensitive column with several."""
    coarsen: Mapping[str, str] = field(default_factory=dict)
    """Coarsening of each column before the search, in the syntax of spec files."""
    trees: Mapping[str, ShapedTree] = field(default_factory=dict)
    """The hierarchies made in the studio, by column."""
    algorithm: str = ""
    """Name of the algorithm; empty for the default choice."""
    sampling_fraction: str = ""
    """The sampling fraction of the table as typed; empty if unknown."""
    report: Mapping[str, str | list[str]] = field(default_factory=dict)
    """The publisher's own words for the report, by parameter of `shoal.About`."""

    @property
    def readable(self) -> bool:
        """Whether the table is in a file that can be read in several ways."""
        return self.source.lower().endswith((*WORKBOOKS, *DELIMITED)) and "://" not in self.source

    @property
    def decided(self) -> bool:
        """Whether columns have roles, and at least one is a quasi-identifier."""
        return bool(self.names_of("quasi_identifier"))

    def names_of(self, role: str) -> list[str]:
        """List the columns with a role, in the order of the table."""
        return [name for name, own in self.roles.items() if own == role]

    @property
    def coarsenable(self) -> list[str]:
        """List the columns that can be made coarser: quasi-identifiers first, then all others that are published."""
        return [name for role in ("quasi_identifier", "sensitive", "insensitive") for name in self.names_of(role)]

    @property
    def coarse_attributes(self) -> dict[str, str]:
        """The coarsenings of columns that are not quasi-identifiers; they decide what a release can achieve."""
        quasi = self.names_of("quasi_identifier")
        return {name: words for name, words in self.coarsen.items() if name in self.coarsenable and name not in quasi}

    @property
    def about(self) -> str:
        """Suffix of the explanations of k and l: "_counted", "_linked", or empty if they explain single records."""
        return f"_{self.treatment}" if self.rows == SEVERAL and self.treatment != ONE_EACH else ""

    @property
    def identifiers(self) -> list[str]:
        """List the columns that are never published, the one that identifies persons first."""
        return [*self.names_of("person"), *self.names_of("direct_identifier")]

    def content(self, *, source: str | None = None, output: str | None = None) -> dict[str, Any]:
        """Build the content of a spec file.

        Parameters
        ----------
        source : str, optional
            Path or address of the input; `shown` by default.
        output : str, optional
            The folder of the release.
        """
        columns = {key: names for role, key in _ROLE_KEYS.items() if (names := self.names_of(role))}
        quasi = self.names_of("quasi_identifier")
        # Sets and numbers of other columns are outdated. Without them all are known, which is stricter.
        if self.sets and {name for text in self.sets for name in read_set(text)[0]} == {*quasi}:
            columns["qi_sets"] = [*self.sets]
        content: dict[str, Any] = {"input": self.shown if source is None else source}
        reading = self.reading_content.get("reading", {})
        if self.second:
            content["rows"] = self.second_shown if source is None else self.second
            columns = {"key" if role == "person" else role: names for role, names in columns.items()}
        if columns:
            content["columns"] = columns
        # Defaults are omitted, so that spec files stay short.
        if {"person", "key"} & columns.keys():
            content |= self._persons
        privacy: dict[str, Any] = {name: _parse(text) for name, text in self.privacy.items()}
        if self.harmless and "l" in privacy:
            privacy["harmless"] = [*self.harmless]
        content |= {"privacy": privacy, "recoding": self.recoding}
        if self.algorithm:
            content["algorithm"] = self.algorithm
        if self.missing_sensitive != "error":
            content["missing_sensitive"] = self.missing_sensitive
        if self.knows.isdecimal() and int(self.knows) < len(quasi):
            content["knows"] = int(self.knows)
        if self.resist:
            content["resist"] = self.resist
        if self.normalize:
            content["normalize"] = True
        # Only published columns are coarsened or need a date format, and only quasi-identifiers become days.
        known = set(quasi)
        files = {} if source is None else {name: tree.path for name, tree in self.trees.items()}
        coarsen = {
            listed_name(name): self._with_file(words, files.get(name))
            for name, words in self.coarsen.items()
            if words and name in self.coarsenable
            if not words.startswith(SINCE_FIRST) or (self.person and name in known)
        }
        lists = {name: self.lists[name] for name in self.names_of("sensitive") if self.lists.get(name)}
        read = {*known, *self.names_of("sensitive"), *self.coarse_attributes, content.get("order")}
        kept = {name: form for name, form in self.dates.items() if name in read}
        reading = {name: one for name, one in reading.items() if name != "dates"}
        weights = {name: _parse(text) for name, text in self.weights.items() if name in known}
        of_columns = (("coarsen", coarsen), ("lists", lists), ("weights", weights))
        content |= {key: value for key, value in of_columns if value}
        if reading := reading | ({"dates": kept} if kept else {}):
            content["reading"] = reading
        # The publisher's own notes follow the meaning of a row.
        whose = self.whose if self.rows else ""
        notes = " ".join(str(one) for one in (whose, self.report.get("notes")) if one)
        if report := {**self.report, **({"notes": notes} if notes else {})}:
            content["report"] = report
        if output is not None:
            content["output"] = output
        return content

    @property
    def _persons(self) -> dict[str, Any]:
        """The keys of spec files about the records of persons, except the column of persons."""
        content: dict[str, Any] = {"missing_person": "own"} if self.unnamed_are_persons else {}
        if self.treatment == ONE_EACH:
            content |= {"rows_per_person": 1, "kept_rows": self.kept_rows}
        if self.treatment == LINKED:
            content["link"] = True
        if self.order and (self.treatment == LINKED or content.get("kept_rows", "random") != "random"):
            content["order"] = self.order
        return content

    def _with_file(self, words: str, path: str | None) -> str:
        """Replace the name of a hierarchy made in the studio with the path of its file."""
        # Form of such a coarsening: "level:FILE:LEVEL".
        kind, _, rest = words.partition(":")
        file, _, level = rest.rpartition(":")
        return words if path is None or kind != "level" or file != PurePath(path).name else f"level:{path}:{level}"

    @property
    def whose(self) -> str:
        """The meaning of a row as the publisher stated it, in sentences for the report."""
        if self.rows == PERSONS:
            return "Each row stands for one person, as the publisher said."
        if self.rows == RECORDS:
            return (
                "A person may have several records, as the publisher said, and no column identifies the person "
                "of a record: records are protected, not persons."
            )
        # Which records of a person are published.
        one_each = {
            "random": "One record of each person is published: a random one.",
            "first": f"One record of each person is published: the first by the column '{self.order}'.",
            "last": f"One record of each person is published: the last by the column '{self.order}'.",
        }
        published = {
            COUNTED: "All of them are published, and persons are counted.",
            ONE_EACH: one_each.get(self.kept_rows, one_each["random"]),
            LINKED: "The records of a person are published together, under a random pseudonym.",
        }
        tables = "Their records are in a second table. " if self.second else ""
        return (
            f"A person may have several records: the column '{self.person}' identifies the person of each. "
            f"{tables}{published[self.treatment]}"
        )

    @property
    def work(self) -> dict[str, Any]:
        """The content of a spec file for the worker: with the actual paths of files, without words for the report."""
        return {name: value for name, value in self.content(source=self.source).items() if name != "report"}

    @property
    def files(self) -> dict[str, str]:
        """Current paths of the hierarchies that commands need, by file name."""
        used = {words.partition(":")[2].rpartition(":")[0] for words in self.coarsen.values()}
        return {tree.name: tree.path for tree in self.trees.values() if tree.name in used}

    @property
    def opened(self) -> dict[str, Any]:
        """The table, or the two with their key, and how it is read, as arguments of jobs."""
        second = {"rows": self.second, "key": [self.person]} if self.second else {}
        return {"source": self.source, "reading": self.read_arguments, **second}

    @property
    def reading_content(self) -> dict[str, Any]:
        """The content of a spec file about reading and cleaning the table."""
        replaced = {"replace_values": dict(self.replaced)} if self.replaced else {}
        dates = {"dates": dict(self.dates)} if self.dates else {}
        reading = self._reading | replaced | self._deriving | dates
        return {"reading": reading} if reading else {}

    @property
    def read_arguments(self) -> dict[str, Any]:
        """The options of reading, as arguments of `shoal.inspect`."""
        given = self._reading | self._deriving
        if self.replaced:
            given["replace_values"] = {name: replacements_in(text) for name, text in self.replaced.items()}
        return {**given, "dates": dict(self.dates)} if self.dates else given

    @property
    def _deriving(self) -> dict[str, Any]:
        # The birth date is not published, so that its format is part of the derivation.
        return {"derive": dict(with_formats(self.derived, self.dates) or {})} if self.derived else {}

    @property
    def file_reading(self) -> dict[str, Any]:
        """The options with which the file is read, without those of its values."""
        return {name: value for name, value in self._reading.items() if name != "decimal"}

    @property
    def _reading(self) -> dict[str, Any]:
        given: dict[str, Any] = {name: value for name, value in self.reading.items() if value}
        return given | ({"header_row": int(given["header_row"])} if "header_row" in given else {})


def _parse(text: str) -> int | float | str:
    """Parse a typed number; other text stays text."""
    number = number_in(text)
    return number if isinstance(number, int | float) else text


@dataclass(kw_only=True)
class History:
    """The plans so far, each with a description of the change that made it."""

    steps: list[tuple[str, Plan]] = field(default_factory=lambda: [("Started", Plan())])
    at: int = 0
    """Index of the current plan."""

    @property
    def plan(self) -> Plan:
        """The current plan."""
        return self.steps[self.at][1]

    def change(self, words: str, **changes: Any) -> None:
        """Append a changed plan; plans that had been undone are discarded."""
        changed = replace(self.plan, **changes)
        # A form submitted without changes adds no entry.
        if changed != self.plan:
            self.steps = [*self.steps[: self.at + 1], (words, changed)][-_MAX_PLANS:]
            self.at = len(self.steps) - 1

    def amend(self, **changes: Any) -> None:
        """Change the current plan without another step."""
        words, plan = self.steps[self.at]
        self.steps = [*self.steps[: self.at], (words, replace(plan, **changes)), *self.steps[self.at + 1 :]]

    def resume(self, steps: Sequence[tuple[str, Plan]], at: int) -> None:
        """Append the plans of a project, and make one of them the current one."""
        self.steps = [*self.steps[: self.at + 1], *steps][-_MAX_PLANS:]
        self.at = len(self.steps) - len(steps) + at

    def go_to(self, step: int) -> None:
        """Make an earlier or later plan the current one; an unknown step is ignored."""
        if 0 <= step < len(self.steps):
            self.at = step
