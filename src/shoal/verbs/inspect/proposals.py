"""Which role a column should have, and why: a first guess on the safe side, for people who will know better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shoal.report.sentences import number, percent
from shoal.table.names import suggests_known, suggests_numbering, suggests_person_number, suggests_sensitive
from shoal.verbs.inspect.kinds import NAMING
from shoal.verbs.inspect.measured import may_be_shown

if TYPE_CHECKING:
    from shoal.disclosure_risk import PersonEvidence, PossibleIdentifier
    from shoal.verbs.inspect.counting import CountedColumn
    from shoal.verbs.inspect.kinds import ColumnKind

__all__ = ["QUASI", "SENSITIVE", "propose"]

PERSON = "person"
DIRECT, QUASI, SENSITIVE, INSENSITIVE = "direct_identifier", "quasi_identifier", "sensitive", "insensitive"

_NEARLY_EVERYBODY = 0.9
"""Uniqueness from which on a value tells who somebody is."""
_MANY = 0.5
_MEASURED = 50
"""Different numbers from which on a column of an unknown meaning is taken for something that was measured."""
_UNKNOWN_NUMBERS = (
    "whole numbers of an unknown meaning, as those of patients and cases are: left out, unless you know that they were "
    "measured (sensitive), or that others may know them (quasi-identifier)"
)
_LOOKS = {
    "address": "where people live",
    "zip": "where people live",
    "date": "a date in the life of a person",
    "age over 89": "how old people are",
}


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A role, and its reason in plain words."""

    role: str
    why: str
    coarsen: str | None = None


def propose(
    column: CountedColumn,
    kind: ColumnKind,
    found: PossibleIdentifier | None,
    *,
    unread: str | None,
    person: PersonEvidence | None = None,
    first: bool = False,
) -> Proposal:
    """Propose a role for a column.

    Parameters
    ----------
    column : CountedColumn
    kind : ColumnKind
        What it holds.
    found : PossibleIdentifier, optional
        What it looks like.
    unread : str, optional
        Why its dates or numbers could not be understood, where they could not.
    person : PersonEvidence, optional
        Why it seems to name persons with several rows each.
    first : bool
        Whether no other column names them better.
    """
    if column.distinct == 0 or len(column.counts) < 2:
        return Proposal(role=INSENSITIVE, why="all records have the same value: it tells nothing of any")
    if person is not None:
        why = f"{person.text}: does each row stand for one person?" if first else f"names them, too: {person.text}"
        return Proposal(role=PERSON if first else DIRECT, why=why)
    if unread is not None:
        return Proposal(role=DIRECT, why=f"{unread}; until that is said it is left out")
    if found is not None and found.kind in NAMING:
        how = {"name": "by its name", "values": "by its values"}.get(found.by, "by its name and its values")
        return Proposal(role=DIRECT, why=f"looks like what names a person ({found.kind}, {how}): never publish it")
    if kind.name == "identifier":
        return Proposal(role=DIRECT, why="nearly every record has another value: a number or name of one each")
    if kind.name == "text":
        return Proposal(role=DIRECT, why="free text: nobody can tell what it says of people; publish a summary instead")
    named = suggests_person_number(column.name) and suggests_numbering(column.name)
    if suggests_sensitive(column.name) and not named:
        return Proposal(role=SENSITIVE, why="by its name something that people do not want to be known of them")
    return _by_what_it_tells(column, kind, found)


def _by_what_it_tells(column: CountedColumn, kind: ColumnKind, found: PossibleIdentifier | None) -> Proposal:
    if kind.numbers and column.distinct >= _MEASURED and not may_be_shown(column):
        return Proposal(role=DIRECT, why=_UNKNOWN_NUMBERS)
    known = _LOOKS.get(found.kind) if found is not None else None
    told = _told(column)
    if column.uniqueness >= _NEARLY_EVERYBODY:
        if kind.coarsen is None:
            return Proposal(
                role=DIRECT, why="nearly every record has another value: leave it out, or make groups of it"
            )
        why = "nearly every record has another value: a direct identifier, unless it is coarsened"
        return Proposal(role=QUASI, why=why, coarsen=kind.coarsen)
    if known is not None:
        return Proposal(role=QUASI, why=f"{known}, which others may know; {told}", coarsen=kind.coarsen)
    if kind.name == "date":
        return Proposal(role=QUASI, why=f"dates, which others may know; {told}", coarsen=kind.coarsen)
    measured = kind.numbers and column.distinct >= _MEASURED and column.uniqueness < _MANY
    if measured and kind.name == "number" and not suggests_known(column.name):
        return Proposal(role=SENSITIVE, why="numbers that look measured: a quasi-identifier if others may know them")
    return Proposal(role=QUASI, why=f"others may know it of a person; {told}", coarsen=kind.coarsen)


def _told(column: CountedColumn) -> str:
    values = f"{number(column.distinct)} different value{'s' if column.distinct > 1 else ''}"
    if column.uniqueness == 0:
        return f"{values}, none of them of one record only"
    return f"{values}, {percent(column.uniqueness)} of the records have one of their own"
