"""The findings about one column."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from shoal.disclosure_risk import PersonEvidence


@dataclass(frozen=True, kw_only=True)
class InspectedColumn:
    """One inspected column: its contents, its distinguishing power, and the proposed role."""

    name: str
    """Name of the column."""
    kind: str
    """"number", "date", "category", "text" or "identifier"."""
    date_format: str | None
    """The format of its dates, in the notation of `strptime`; None if it has no dates, or typed ones."""
    distinct: int
    """Number of distinct values, excluding the missing value."""
    missing: int
    """Rows without a value."""
    uniqueness: float
    """Share of the rows whose value is unique."""
    distinction: float
    """Number of distinct values per row."""
    separation: float | None
    """Share of the pairs of rows with different values; None if there is only one row."""
    role: str
    """The proposed role: "person" (identifies the person of each record; at most one column), "direct_identifier",
    "quasi_identifier", "sensitive" or "insensitive"."""
    why: str
    """The reason for the role, in plain words."""
    coarsen: str | None
    """A suitable coarsening in the syntax of --coarsen; None if none is suitable or needed."""
    looks_like: str | None = None
    """The identifier that its name or its values resemble, such as "email" or "zip"; None if they resemble none."""
    safe_harbor: str | None = None
    """The letter of this identifier in the Safe Harbor rule of HIPAA."""
    missing_codes: tuple[str, ...] = ()
    """Words among numbers or dates that may mean missing, or known numbers and dates far from all others."""
    person: PersonEvidence | None = None
    """Evidence that its values identify persons with several rows; None if there is none."""
    values: tuple[tuple[str, int], ...] | None = field(default=None, repr=False)
    """The most frequent values and their numbers of rows; None if not requested."""

    def to_dict(self) -> dict[str, Any]:
        """Return the column as a dictionary; `values` is present only if requested."""
        facts = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "values"}
        facts["person"] = None if self.person is None else self.person.to_dict()
        return facts if self.values is None else {**facts, "values": [list(pair) for pair in self.values]}
