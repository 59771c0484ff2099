"""The result of an inspection: facts about every column, proposals with reasons, and their output formats."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from shoal._core.private_files import write_private_text
from shoal._core.words import number, percent
from shoal.disclosure_risk import Combination, PersonEvidence
from shoal.findings import Remark
from shoal.report import render_inspection
from shoal.report.inspection_page import PERSON_QUESTION, person_sentences, risk_sentences
from shoal.report.notebook import PRIVATE, card
from shoal.request.texts import replacement_text
from shoal.verbs.inspect.inspected_column import InspectedColumn
from shoal.verbs.inspect.spec_file import spec_text


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Inspection:
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
                "question": PERSON_QUESTION,
                "column": self.person,
                "evidence": [one.to_dict() for one in self.persons],
            },
            "columns": [column.to_dict() for column in self.columns],
            "combinations": [
                {"columns": list(one.columns), "distinction": one.distinction, "separation": one.separation}
                for one in self.combinations
            ],
            "risk": dict(self.risk),
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
        return spec_text(self.columns, read, k=k, folder=Path(folder), cleaned=cleaned)

    def report(self, path: str | PathLike[str]) -> None:
        """Write the inspection as one HTML page without network access, readable by its owner only."""
        write_private_text(path, self.to_html())

    def to_html(self) -> str:
        """Return the HTML page of `report`."""
        return render_inspection(self.to_dict(), file=Path(self.source).name if self.source else None)

    def _repr_html_(self) -> str:
        """Return the HTML table for notebooks; it is for the publisher only, and contains no value of the table."""
        # One line per column, in the order of the table.
        shown = self.columns
        return card(
            f"Inspection of {number(self.rows)} rows",
            sentences=[
                *person_sentences(self.to_dict()),
                *risk_sentences(self.risk),
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
