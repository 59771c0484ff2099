"""What was decided so far, as a value; every change of it is kept, and going back is choosing an earlier one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any

from shoal.request.texts import listed_name

__all__ = ["PERSONS", "RECORDS", "History", "Plan", "ShapedTree"]

PERSONS, RECORDS = "persons", "records"
"""What rows may stand for: one person each, or one of perhaps several records of a person."""

_ROLE_KEYS: Mapping[str, str] = {
    "quasi_identifier": "quasi_identifiers",
    "sensitive": "sensitive",
    "direct_identifier": "direct_identifiers",
    "insensitive": "insensitive",
}
"""What a spec calls the columns of each role."""
_KEPT = 200
"""Changes that are kept."""


@dataclass(frozen=True, kw_only=True)
class ShapedTree:
    """A hierarchy that was made in the studio: how, and the private file that holds it."""

    steps: tuple[Mapping[str, Any], ...]
    """What was done, in its order; see `shoal.studio.jobs.shape`."""
    path: str
    """The file, as the worker writes and reads it; it is gone when the studio is closed, unless somebody saves it."""

    @property
    def name(self) -> str:
        """What commands call the file, in the folder of the studio."""
        return PurePath(self.path).name


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A request in the making: what a spec file would hold, and where its table is."""

    source: str = ""
    """The table, as the worker opens it; empty as long as there is none."""
    shown: str = ""
    """The table, as commands that are run in the folder of the studio name it."""
    demo: bool = False
    """Whether it is the made-up one that comes along."""
    rows: str = ""
    """What each row stands for, `PERSONS` or `RECORDS`; empty as long as nobody said it."""
    person: str = ""
    """The column that says whose a record is, which is left out; empty where none does."""
    roles: Mapping[str, str] = field(default_factory=dict)
    """The role of each column; empty as long as nobody looked at the proposal."""
    reading: Mapping[str, str] = field(default_factory=dict)
    """What was said of how the file is read: "sheet", "delimiter", "encoding", "decimal"."""
    dates: Mapping[str, str] = field(default_factory=dict)
    """How the dates of columns are written, where that was said."""
    privacy: Mapping[str, str] = field(default_factory=lambda: {"k": "5"})
    """The parameters of the models, as they were typed: {"k": "10", "l": "3"}."""
    recoding: str = "generalization"
    """How cells become less precise."""
    missing_sensitive: str = "error"
    """What a missing sensitive value means."""
    normalize: bool = False
    """Whether texts are normalized before anything else."""
    coarsen: Mapping[str, str] = field(default_factory=dict)
    """Columns to make less precise beforehand, in the words of specs."""
    trees: Mapping[str, ShapedTree] = field(default_factory=dict)
    """The hierarchies that were made here, by their columns."""
    algorithm: str = ""
    """Which algorithm makes the release; empty: the one that fits."""
    sampling_fraction: str = ""
    """The share of the population that is in the table, as it was typed; empty where nobody said it."""

    @property
    def decided(self) -> bool:
        """Whether the columns have roles, and somebody could know one of them."""
        return bool(self.names_of("quasi_identifier"))

    def names_of(self, role: str) -> list[str]:
        """Return the columns that have a role, in the order of the table."""
        return [name for name, own in self.roles.items() if own == role]

    def content(self, *, source: str | None = None, output: str | None = None) -> dict[str, Any]:
        """Return what a spec file of it holds.

        Parameters
        ----------
        source : str, optional
            The input that it names; what commands name, unless given.
        output : str, optional
            The folder of the release.
        """
        columns = {key: names for role, key in _ROLE_KEYS.items() if (names := self.names_of(role))}
        content: dict[str, Any] = {"input": self.shown if source is None else source}
        content |= {name: value for name, value in self.reading.items() if value}
        if columns:
            content["columns"] = columns
        content |= {"privacy": dict(self.privacy), "recoding": self.recoding}
        if self.algorithm:
            content["algorithm"] = self.algorithm
        if self.missing_sensitive != "error":
            content["missing_sensitive"] = self.missing_sensitive
        if self.normalize:
            content["normalize"] = True
        known = set(self.names_of("quasi_identifier"))
        files = {} if source is None else {name: tree.path for name, tree in self.trees.items()}
        coarsen = {
            listed_name(name): self._with_file(words, files.get(name))
            for name, words in self.coarsen.items()
            if words and name in known
        }
        kept = {
            name: form for name, form in self.dates.items() if self.roles.get(name) in ("quasi_identifier", "sensitive")
        }
        content |= {key: said for key, said in (("coarsen", coarsen), ("dates", kept)) if said}
        if self.rows:
            content["report"] = {"notes": self.whose}
        if output is not None:
            content["output"] = output
        return content

    def _with_file(self, words: str, path: str | None) -> str:
        """Return a coarsening whose file, where it is one that was made here, is where the worker finds it."""
        kind, _, rest = words.partition(":")
        file, _, level = rest.rpartition(":")
        return words if path is None or kind != "level" or file != PurePath(path).name else f"level:{path}:{level}"

    @property
    def whose(self) -> str:
        """What was said of what each row stands for, in a sentence."""
        if self.rows == PERSONS:
            return "Each row stands for one person, as the publisher said."
        by = f"the column '{self.person}' says whose a record is" if self.person else "no column says whose a record is"
        return f"A person may have several records, as the publisher said ({by}): records are protected, not persons."

    @property
    def work(self) -> dict[str, Any]:
        """What a spec file of it holds, as the worker takes it: with files where they are."""
        return self.content(source=self.source)

    @property
    def files(self) -> dict[str, str]:
        """The files that commands need beside the table, by their names, and where they are now."""
        used = {words.partition(":")[2].rpartition(":")[0] for words in self.coarsen.values()}
        return {tree.name: tree.path for tree in self.trees.values() if tree.name in used}

    @property
    def read_arguments(self) -> dict[str, Any]:
        """How the table is read, as arguments of `shoal.inspect`."""
        given: dict[str, Any] = {name: value for name, value in self.reading.items() if value}
        return {**given, "dates": dict(self.dates)} if self.dates else given


@dataclass(kw_only=True)
class History:
    """The plans so far, each with the words of the change that made it."""

    steps: list[tuple[str, Plan]] = field(default_factory=lambda: [("Started", Plan())])
    at: int = 0
    """Which of them holds now."""

    @property
    def plan(self) -> Plan:
        """The plan that holds now."""
        return self.steps[self.at][1]

    def change(self, words: str, **changes: Any) -> None:
        """Change the plan; what was undone before is gone."""
        changed = replace(self.plan, **changes)
        if changed != self.plan:
            self.steps = [*self.steps[: self.at + 1], (words, changed)][-_KEPT:]
            self.at = len(self.steps) - 1

    def go_to(self, step: int) -> None:
        """Let an earlier or later plan hold; a step that is not there changes nothing."""
        if 0 <= step < len(self.steps):
            self.at = step
