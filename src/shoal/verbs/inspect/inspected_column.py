"""What is found of one column."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.disclosure_risk import PersonEvidence

__all__ = ["InspectedColumn"]


@dataclass(frozen=True, kw_only=True)
class InspectedColumn:
    """One column: what it holds, how much it tells, and what to do with it."""

    name: str
    """Its name."""
    kind: str
    """"number", "date", "category", "text" or "identifier"."""
    date_format: str | None
    """How its dates are written, as `strptime` has it; None where it has none, or typed ones."""
    distinct: int
    """Different values, a missing one not counted."""
    missing: int
    """Rows without a value."""
    uniqueness: float
    """Share of the rows whose value nobody shares."""
    distinction: float
    """Different values per row."""
    separation: float | None
    """Share of the pairs of rows that it tells apart; None where there is only one row."""
    role: str
    """The proposal: "person" (whose record each row is, at most one column), "direct_identifier", "quasi_identifier",
    "sensitive" or "insensitive"."""
    why: str
    """Its reason, in plain words."""
    coarsen: str | None
    """A coarsening that fits, as --coarsen says it; None where none does, or none is needed."""
    looks_like: str | None = None
    """What its name or its values look like: "email", "zip", ...; None where like nothing in particular."""
    safe_harbor: str | None = None
    """The letter of that category in the Safe Harbor rule of HIPAA."""
    person: PersonEvidence | None = None
    """Why its values seem to name persons with several rows each; None if they do not."""
    values: tuple[tuple[str, int], ...] | None = field(default=None, repr=False)
    """The most frequent values and their rows; None unless they were asked for."""

    def to_dict(self) -> dict[str, Any]:
        """Return the column as a dictionary; `values` is in it only where they were asked for."""
        facts = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "values"}
        facts["person"] = None if self.person is None else self.person.to_dict()
        return facts if self.values is None else {**facts, "values": [list(pair) for pair in self.values]}
