"""The result of an inspection: facts about every column, proposals with reasons, and their output formats."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from shoal._core.private_files import write_private_text
from shoal._core.words import number, percent, quote_columns
from shoal.disclosure_risk import Combination, PersonEvidence
from shoal.findings import Remark
from shoal.models import LDiversity
from shoal.pipeline.goals import Goal
from shoal.report import render_inspection
from shoal.report.card import Card, HasCard
from shoal.report.notebook import PRIVATE
from shoal.report.page import PERSON_ANSWER, PERSON_QUESTION, person_sentences, risk_sentences
from shoal.request.notation import quote_for_toml, toml_key
from shoal.request.texts import replacement_text
from shoal.verbs.evaluate.survey import InspectedColumn


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Inspection(HasCard):
    """The description of a table, and a proposed request.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.census(400, quasi_identifiers=["age", "gender"], seed=1)
    >>> result = shoal.inspect(people)
    >>> result
    Inspection(rows=400, columns=3, warnings=0)
    >>> result.roles["sensitive"]
    ['income']
    """

    rows: int
    """Rows of the table."""
    columns: tuple[InspectedColumn, ...]
    """The inspected columns, in the order of the table."""
    combinations: tuple[Combination, ...]
    """How well columns distinguish rows, alone and in pairs, the best first; direct identifiers are excluded."""
    risk: Mapping[str, Any]
    """The risk of re-identification by the proposed quasi-identifiers in the original table."""
    warnings: tuple[Remark, ...]
    """Warnings that the publisher should read first."""
    goals: tuple[Goal, ...] = ()
    """The offered goals, k-anonymity and 2-diversity, each with whether a release of the proposals can satisfy it."""
    star: str = "*"
    """The proposed symbol of suppressed cells: another one than usual if that is a value."""
    persons: tuple[PersonEvidence, ...] = ()
    """Evidence that a person may have several rows, starting with the column proposed as the person. The last one may
    have no column. Empty if there is no evidence, which does not prove that there is one row per person."""
    encoding: str | None = None
    """Encoding of delimited text."""
    delimiter: str | None = None
    """Delimiter of delimited text."""
    sheet: str | None = None
    """Sheet of a workbook."""
    header_row: int | None = None
    """The given row of the column names."""
    replaced: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    """The given replacements of values."""
    derived: Mapping[str, str] = field(default_factory=dict)
    """The given columns to derive."""
    decimal: str | None = None
    """The decimal separator if it is a comma."""
    source: str | None = None
    """The file, if the table was read from one."""

    def names_of(self, role: str) -> tuple[str, ...]:
        """Return the columns for which a role is proposed, such as "sensitive"."""
        return tuple(column.name for column in self.columns if column.role == role)

    @property
    def person(self) -> str | None:
        """The column that is proposed as the person; None if there is none."""
        return next(iter(self.names_of("person")), None)

    @property
    def roles(self) -> dict[str, list[str]]:
        """The proposed roles as arguments of `shoal.anonymize`; the person is among the direct identifiers."""
        return {
            "quasi_identifiers": list(self.names_of("quasi_identifier")),
            "sensitive": list(self.names_of("sensitive")),
            "direct_identifiers": [
                column.name for column in self.columns if column.role in ("person", "direct_identifier")
            ],
            "insensitive": list(self.names_of("insensitive")),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the inspection as a dictionary, for JSON."""
        return {
            "rows": self.rows,
            "encoding": self.encoding,
            "delimiter": self.delimiter,
            "sheet": self.sheet,
            "header_row": self.header_row,
            "decimal": self.decimal,
            "person": {
                "question": PERSON_ANSWER if self.persons else PERSON_QUESTION,
                "column": self.person,
                "evidence": [one.to_dict() for one in self.persons],
            },
            "columns": [column.to_dict() for column in self.columns],
            "combinations": [
                {"columns": list(one.columns), "distinction": one.distinction, "separation": one.separation}
                for one in self.combinations
            ],
            "risk": dict(self.risk),
            "goals": [goal.to_dict() for goal in self.goals],
            "warnings": [remark.to_dict() for remark in self.warnings],
        }

    def to_json(self) -> str:
        """Return the inspection as JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def to_toml(self, *, k: int = 5, folder: str | PathLike[str] = ".") -> str:
        """Return a commented spec file, which `shoal anonymize --spec FILE -o OUT` runs unchanged.

        Parameters
        ----------
        k : int
            The k of k-anonymity.
        folder : path
            The folder of the spec file; the path of the input is relative to it.
        """
        # Only the options of reading that were detected or given are written.
        read = {
            "input": self.source,
            **{name: getattr(self, name) for name in ("encoding", "delimiter", "sheet", "header_row", "decimal")},
        }
        replaced = {name: replacement_text(one) for name, one in self.replaced.items()}
        cleaned = {"replace_values": replaced, "derive": self.derived}
        # No person may have more than one in k of the records of a group.
        each = next((one.most for one in self.persons if one.column == self.person is not None), 1)
        common = next((goal.columns for goal in self.goals if isinstance(goal.model, LDiversity)), ())
        sensitive = any(column.role == "sensitive" for column in self.columns)
        goals = [
            *_goal_lines(k, max(self.rows // each, 1), common, of_persons=self.person is not None, sensitive=sensitive)
        ]
        if self.star != "*":
            goals.append(f"star = {quote_for_toml(self.star)}  # the symbol of suppressed cells, because * is a value")
        return "\n".join(_lines(self.columns, read, goals, Path(folder), cleaned)) + "\n"

    def report(self, path: str | PathLike[str]) -> None:
        """Write the inspection as one HTML page without network access, readable by its owner only."""
        write_private_text(path, self.to_html())

    def to_html(self) -> str:
        """Return the HTML page of `report`."""
        return render_inspection(self.to_dict(), file=Path(self.source).name if self.source else None)

    def _card(self) -> Card:
        """Make the card, which is for the publisher only and contains no value of the table."""
        # One line per column, in the order of the table.
        shown = self.columns
        return Card(
            title=f"Inspection of {number(self.rows)} rows",
            sentences=[
                *person_sentences(self.to_dict()),
                *risk_sentences(self.to_dict()),
                *(remark.text for remark in self.warnings),
            ],
            columns={
                "column": [one.name for one in shown],
                "kind": [one.kind for one in shown],
                "role": [one.role.replace("_", " ") for one in shown],
                "values": [number(one.distinct) for one in shown],
                "missing": [number(one.missing) for one in shown],
                "unique": [percent(one.uniqueness) for one in shown],
                "coarser": [one.coarsen or "" for one in shown],
                "why": [one.why for one in shown],
            },
            caption="What each column holds, the role that is proposed for it, and why",
            private=PRIVATE,
        )

    def __repr__(self) -> str:
        return f"Inspection(rows={self.rows}, columns={len(self.columns)}, warnings={len(self.warnings)})"


_ROLES = {
    "quasi_identifiers": (("quasi_identifier",), "what others may know about a person: published less precisely"),
    "sensitive": (("sensitive",), "what must not be linked to a person: k does not hide it, l does"),
    "direct_identifiers": (("direct_identifier",), "what identifies a person: never published"),
    "person": (("person",), "identifies the person of each record, never published: k counts persons"),
    "insensitive": (("insensitive",), "what reveals nothing about a person: published as it is"),
}
"""The role keys of a spec, the proposals that each contains, and their meanings."""
_CLEANING = {"replace_values": "values to replace before anything else", "derive": "a column to derive from dates"}


def _goal_lines(k: int, most: int, common: Sequence[str], *, of_persons: bool, sensitive: bool) -> Iterator[str]:
    """Yield the goals of a spec: those that a release can satisfy, with the reason for another one."""
    if k > most:
        yield f"# k = {k} is not possible: there are too few to hide among"
    k = min(k, most)
    others = f"{k - 1} other persons" if of_persons else f"{k - 1} others"
    yield f"privacy.k = {k}  # every record shares its quasi-identifiers with at least {others}"
    if common:
        yield f"# l = 2 is not possible: more than half of the records have one value of {quote_columns(common)}"
        yield "# privacy.t = 0.2  # every group is like the whole table: remove the first # to request that"
    elif of_persons or not sensitive:
        yield "# privacy.l = 2  # no sensitive value on more than half of a group: remove the first # to request that"
    else:
        yield "privacy.l = 2  # no sensitive value on more than half of a group: k alone does not hide them"


def _lines(
    columns: Sequence[InspectedColumn],
    read: Mapping[str, str | int | None],
    goals: Sequence[str],
    folder: Path,
    cleaned: Mapping[str, Mapping[str, str]],
) -> Iterator[str]:
    # The header states how to use the file, and which question to answer first.
    yield "# A first proposal. Look at every line: only you know what others know about the people in the table."
    yield "# Then: shoal anonymize --spec THIS_FILE -o OUT"
    if any(column.role == "person" for column in columns):
        yield f"# {PERSON_ANSWER} If each row stands for another one, make columns.person a direct identifier."
    yield from _input(columns, read, folder)
    for key, texts in cleaned.items():
        for name, text in texts.items():
            yield f"reading.{key}.{toml_key(name)} = {quote_for_toml(text)}  # {_CLEANING[key]}"
    for column in columns:
        if column.missing_codes:
            text = quote_for_toml(replacement_text(dict.fromkeys(column.missing_codes)))
            line = f"reading.replace_values.{toml_key(column.name)} = {text}  # "
            yield f"{line}missing" if column.replace_first else f"# {line}missing? remove the first # to use it"
    # One key per role, with the reason for each column.
    for key, (roles, meaning) in _ROLES.items():
        having = [column for column in columns if column.role in roles]
        if not having:
            # The key of an unused role is shown, so that columns can be moved there.
            if key != "person":
                yield f'# columns.{key} = ["NAME"]  # {meaning} (remove the first # to use it)'
            continue
        yield f"columns.{key} = [  # {meaning}"
        for column in having:
            yield f"  {quote_for_toml(column.name)},  # {_remark(column.why)}"
        yield "]  # " + (f"{len(having)} columns" if len(having) > 1 else "one column")
    # The models, the treatment of missing values, and the recoding.
    yield from goals
    if any(column.missing or column.replace_first for column in columns if column.role == "sensitive"):
        yield 'missing_sensitive = "value"  # a missing sensitive value counts as a value; "drop" leaves its record out'
    if any(column.missing for column in columns if column.role == "person"):
        yield 'missing_person = "own"  # a record without a person is that of a person of its own; "error" refuses it'
    yield 'recoding = "generalization"  # intervals, sets and nodes of hierarchies; "suppression" publishes stars only'
    for column in columns:
        if column.coarsen is not None:
            why = _COARSER[column.coarsen.partition(":")[0]]
            yield f"coarsen.{toml_key(column.name, listed=True)} = {quote_for_toml(column.coarsen)}  # {why}"


_COARSER = {
    "date": "dates as years or months: days identify nearly every person",
    "prefix": "the first characters of the codes: larger places",
    "bins": "numbers in bins of this width",
    "cuts": "numbers in steps, each of at most a quarter of the records or of one number alone",
}


_READING = (
    ("encoding", "utf-8", "the encoding of the text, as detected"),
    ("delimiter", ",", "the separator of fields, as detected"),
    ("sheet", None, "the sheet of the workbook"),
    ("header_row", None, "the row of the column names"),
    ("decimal", None, "the decimal separator, as detected"),
)
"""The options of reading that are written unless they have the usual value."""


def _input(columns: Sequence[InspectedColumn], read: Mapping[str, str | int | None], folder: Path) -> Iterator[str]:
    source = read["input"]
    if source is None:
        yield '# input = "..."  # the table: name its file here, or on the command line'
    else:
        path = quote_for_toml(_from(folder, str(source)))
        yield f"input = {path}  # the table; its path starts from the folder of this file"
    # Only reading options that differ from their default are written.
    for name, usual, meaning in _READING:
        value = read[name]
        if value is not None and value != usual:
            yield f"reading.{name} = {quote_for_toml(value) if isinstance(value, str) else value}  # {meaning}"
    for column in columns:
        if column.date_format is not None and column.role in ("quasi_identifier", "sensitive"):
            key = toml_key(column.name)
            yield f"reading.dates.{key} = {quote_for_toml(column.date_format)}  # the format of the dates, as detected"


def _from(folder: Path, source: str) -> str:
    if "://" in source:
        return source
    try:
        return os.path.relpath(Path(source).expanduser(), folder)
    except ValueError:  # on another drive
        return str(Path(source).resolve())


def _remark(why: str) -> str:
    return " ".join(why.split())
