"""What an inspection found: facts on every column, proposals with their reasons, and the forms in which it is told."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal._core.private_files import write_private_text
from shoal.report import render_inspection
from shoal.report.inspection_page import PERSON_QUESTION, person_sentences, risk_sentences
from shoal.report.notebook import PRIVATE, card
from shoal.report.sentences import number, percent
from shoal.verbs.inspect.spec_file import spec_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from shoal.disclosure_risk import Combination, PersonEvidence
    from shoal.findings import Remark
    from shoal.verbs.inspect.inspected_column import InspectedColumn

__all__ = ["Inspection"]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Inspection:
    """What a table is like, and a proposal of what to do with it."""

    rows: int
    """Rows of the table."""
    columns: tuple[InspectedColumn, ...]
    """One for each column, in their order."""
    combinations: tuple[Combination, ...]
    """How well columns tell rows apart, alone and in pairs, the most telling first, without direct identifiers."""
    risk: Mapping[str, Any]
    """The risk of re-identification by the proposed quasi-identifiers, as the table is now."""
    warnings: tuple[Remark, ...]
    """What the publisher should know first."""
    persons: tuple[PersonEvidence, ...] = ()
    """Why rows may not stand for one person each: the column that is proposed as the person first. A last one may have
    no column. Empty if there is no evidence, which does not prove that there is one row per person."""
    encoding: str | None = None
    """Of delimited text."""
    delimiter: str | None = None
    """Of delimited text."""
    sheet: str | None = None
    """Of a workbook."""
    decimal: str | None = None
    """What stands before decimals, where that is a comma."""
    source: str | None = None
    """The file, where it came from one."""

    def names_of(self, role: str) -> tuple[str, ...]:
        """Return the columns for which a role is proposed."""
        return tuple(column.name for column in self.columns if column.role == role)

    @property
    def person(self) -> str | None:
        """The column that is proposed as the person, whose rows each value has; None if none is."""
        return next(iter(self.names_of("person")), None)

    @property
    def roles(self) -> dict[str, list[str]]:
        """The proposed roles, as arguments of `shoal.anonymize`, which drops the person as a direct identifier."""
        return {
            "quasi_identifiers": list(self.names_of("quasi_identifier")),
            "sensitive": list(self.names_of("sensitive")),
            "direct_identifiers": [
                column.name for column in self.columns if column.role in ("person", "direct_identifier")
            ],
            "insensitive": list(self.names_of("insensitive")),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a dictionary, for JSON."""
        return {
            "rows": self.rows,
            "encoding": self.encoding,
            "delimiter": self.delimiter,
            "sheet": self.sheet,
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
        """Return everything as JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def to_toml(self, *, k: int = 5, folder: str | PathLike[str] = ".") -> str:
        """Return a spec file that `shoal anonymize --spec FILE -o OUT` runs as it is; every line has a comment.

        Parameters
        ----------
        k : int
            The k of k-anonymity.
        folder : path
            Where the file will be: the path of the input starts from there.
        """
        read = {
            "input": self.source,
            **{name: getattr(self, name) for name in ("encoding", "delimiter", "sheet", "decimal")},
        }
        return spec_text(self.columns, read, k=k, folder=Path(folder))

    def report(self, path: str | PathLike[str]) -> None:
        """Write a page that shows the inspection: one HTML file without network access, readable by its owner only."""
        write_private_text(path, self.to_html())

    def to_html(self) -> str:
        """Return the page of `report`."""
        return render_inspection(self.to_dict(), file=Path(self.source).name if self.source else None)

    def _repr_html_(self) -> str:
        """Return what a notebook shows of it, for the publisher; no value of the table."""
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
                "their own": [percent(one.uniqueness) for one in shown],
                "coarser": [one.coarsen or "" for one in shown],
                "why": [one.why for one in shown],
            },
            caption="What each column holds, the role that is proposed for it, and why",
            private=PRIVATE,
        )

    def __repr__(self) -> str:
        return f"Inspection(rows={self.rows}, columns={len(self.columns)}, warnings={len(self.warnings)})"
