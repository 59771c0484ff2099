"""Rules that propose a role for each column, with a reason, on the side of caution."""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from shoal._core.words import number, percent
from shoal.disclosure_risk import PersonEvidence, PossibleIdentifier
from shoal.hierarchy.fitting import NUMBER, SuggestedCoarsening, suggest_prefix, suggest_steps
from shoal.request.coarsening_words import coarsening_of
from shoal.table.lists import find_separator
from shoal.table.names import (
    suggests_known,
    suggests_measured,
    suggests_numbering,
    suggests_person_number,
    suggests_personal,
    suggests_place,
    suggests_sensitive,
    suggests_thing,
)
from shoal.verbs.evaluate.counting import CountedColumn
from shoal.verbs.evaluate.kinds import NAMING, ColumnKind, holds_diagnoses, is_shared, may_be_shown, texts_that_may_name

PERSON = "person"
DIRECT, QUASI, SENSITIVE, INSENSITIVE = "direct_identifier", "quasi_identifier", "sensitive", "insensitive"

_NEARLY_EVERYBODY = 0.9
"""Uniqueness above which a value identifies a person."""
_MANY = 0.5
_MEASURED = 50
"""Distinct numbers above which a column of unknown meaning is considered a measurement."""
_SHARED = 5
"""Records that must have a number for it to be common."""
_COMMON = 0.9
"""Share of the records with common numbers above which numbers are published as they are."""
_SINGLED_OUT = 0.05
"""Largest share of the records with a sensitive value of their own that is published as it is."""
_MAX_SPOILED = 5
"""Distinct words, such as "n/a" and "unknown", in a column that is otherwise of numbers."""
_UNKNOWN_NUMBERS = (
    "whole numbers of an unknown meaning, as those of patients and cases are: left out, unless you know that "
    "they were measured (sensitive), or that others may know them (quasi-identifier)"
)
_UNKNOWN_TEXTS = {
    "codes": "codes of an unknown meaning, as those of patients and cases are: left out, unless you know their meaning",
    "names": "looks like names of people: left out, unless you know that they name something else",
    "texts": "many different texts of an unknown meaning that few records share: left out, as they may name people",
}
_DATES, _KNOWN = "dates, which others may know", "others may know it of a person"
_NOT_RECOGNIZED = "not recognized: if it must not be linked to a person, make it sensitive"
_LOOKS = {
    "address": "where people live, which others may know",
    "zip": "where people live, which others may know",
    "date": "a date in the life of a person, which others may know",
    "age over 89": "how old people are, which others may know",
}


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A proposed role, and its reason in plain words."""

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
    l: int = 2,
) -> Proposal:
    """Propose a role for a column.

    Parameters
    ----------
    column : CountedColumn
    kind : ColumnKind
        The kind of the column.
    found : PossibleIdentifier, optional
        The identifier that it resembles.
    unread : str, optional
        The reason if its dates or numbers could not be parsed.
    person : PersonEvidence, optional
        Evidence that it identifies persons with several rows.
    first : bool
        True if there is no better column that identifies persons.
    l : int
        The l of l-diversity that steps of sensitive numbers allow.
    """
    proposal = _propose_role(column, kind, found, unread=unread, person=person, first=first, l=l)
    spoiled = _count_spoiled_numbers(column) if kind.name in ("category", "identifier") and person is None else 0
    if spoiled == 0 or (found is not None and found.kind in NAMING):
        return proposal
    # One "n/a" makes text of a column of numbers, which is dropped or published in sets.
    hint = (
        f"of its {number(column.distinct)} different values, {number(spoiled)} {'is' if spoiled == 1 else 'are'} "
        "not a number: if that means missing, leave the cell empty or replace it"
    )
    return replace(proposal, why=f"{proposal.why}; {hint}")


def _propose_role(
    column: CountedColumn,
    kind: ColumnKind,
    found: PossibleIdentifier | None,
    *,
    unread: str | None,
    person: PersonEvidence | None,
    first: bool,
    l: int,
) -> Proposal:
    # Constant columns, persons, values that are not parsed, names and free text are decided first.
    if column.distinct == 0 or len(column.counts) < 2:
        return Proposal(role=INSENSITIVE, why="all records have the same value: it reveals nothing about any")
    if person is not None:
        why = (
            f"{person.text}: it shows which rows are of one person"
            if first
            else f"also identifies persons: {person.text}"
        )
        return Proposal(role=PERSON if first else DIRECT, why=why)
    if unread is not None:
        return Proposal(role=DIRECT, why=f"{unread}; it is left out until you choose")
    if found is not None and found.kind in NAMING:
        by = found.by.replace("and values", "and its values")
        return Proposal(
            role=DIRECT, why=f"looks like a direct identifier ({found.kind}, by its {by}): never publish it"
        )
    if kind.name == "identifier":
        return Proposal(role=DIRECT, why="nearly every record has a value of its own: it identifies the record")
    if kind.name == "text":
        return Proposal(role=DIRECT, why="free text: it may reveal anything about people; publish a summary instead")
    # Then the name of the column decides, and at last the numbers and the uniqueness of its values.
    named = suggests_person_number(column.name) and suggests_numbering(column.name)
    # The date of something that is private may be known, and finds the record: it is made coarser.
    private = suggests_sensitive(column.name) and not named and kind.name != "date"
    if private or holds_diagnoses(column):
        by = "its name suggests something that people keep private" if private else "codes of diagnoses (ICD-10)"
        return _propose_sensitive(column, kind, by, l)
    return _by_what_it_tells(column, kind, found, l)


def _by_what_it_tells(column: CountedColumn, kind: ColumnKind, found: PossibleIdentifier | None, l: int) -> Proposal:
    # Numbers without evidence of a measurement may identify people.
    if kind.numbers and column.distinct >= _MEASURED and not may_be_shown(column):
        return Proposal(role=DIRECT, why=_UNKNOWN_NUMBERS)
    known = _LOOKS.get(found.kind) if found is not None else None
    known = known or (_DATES if kind.name == "date" else None)
    # Neither may codes and texts of an unknown meaning; those that few records share are not known by their name.
    recognized = suggests_known(column.name) or suggests_personal(column.name) or suggests_thing(column.name)
    texts = None if known or kind.numbers or suggests_place(column.name) else texts_that_may_name(column)
    if texts is not None and (not recognized or (texts == "codes" and not is_shared(column))):
        return Proposal(role=DIRECT, why=_UNKNOWN_TEXTS[texts])
    told = _told(column)
    # Nearly unique values are quasi-identifiers only after coarsening.
    if column.uniqueness >= _NEARLY_EVERYBODY:
        if kind.coarsen is None:
            return Proposal(
                role=DIRECT, why="nearly every record has a value of its own: leave it out, or make groups of it"
            )
        why = "nearly every record has a value of its own, so it is made coarser; or make it sensitive"
        return Proposal(role=QUASI, why=why, coarsen=kind.coarsen)
    if known is not None:
        return Proposal(role=QUASI, why=f"{known}; {told}", coarsen=kind.coarsen)
    # What is called a measurement is sensitive; everything else may be known to an adversary.
    measured = kind.numbers and column.distinct >= _MEASURED and column.uniqueness < _MANY
    if measured and kind.name == "number" and suggests_measured(column.name) and not suggests_known(column.name):
        why = "numbers that look measured: a quasi-identifier if others may know them"
        return _propose_sensitive(column, kind, why, l)
    why = _KNOWN if suggests_known(column.name) or suggests_personal(column.name) else _NOT_RECOGNIZED
    return Proposal(role=QUASI, why=f"{why}; {told}", coarsen=kind.coarsen)


def _propose_sensitive(column: CountedColumn, kind: ColumnKind, why: str, l: int) -> Proposal:
    """Propose that a column is sensitive; numbers are published as they are only if records share them."""
    if not kind.numbers:
        return _propose_shared(column, kind, why)
    # Measure how many records have the same number.
    counts = column.counts[: column.distinct]
    least, common = int(counts.min()), int(counts[counts >= _SHARED].sum()) / int(counts.sum())
    if least >= _SHARED:
        every = f"{number(column.distinct)} values, each of at least {number(least)} records"
        return Proposal(role=SENSITIVE, why=f"{why}; {every}")
    share = f"{percent(common)} of the records have a value that at least {_SHARED} share"
    shared = common >= _COMMON or (column.distinct < _MEASURED and kind.coarsen is None)
    if shared and column.uniqueness <= _SINGLED_OUT:
        return Proposal(role=SENSITIVE, why=f"{why}; {share}")
    # Numbers that single records have are made coarser, or may be known to an adversary.
    steps = suggest_steps(column.dictionary, counts, column.name, l=l)
    role = SENSITIVE if steps is not None and steps.alone <= _SINGLED_OUT * column.rows else QUASI
    few = f"only {share}" if common else f"no value is that of {_SHARED} records"
    return Proposal(
        role=role, why=f"{why}; {few}, so it is made coarser", coarsen=None if steps is None else steps.words
    )


def _propose_shared(column: CountedColumn, kind: ColumnKind, why: str) -> Proposal:
    """Propose that a column that is not of numbers is sensitive if few records have a value of their own."""
    if column.uniqueness <= _SINGLED_OUT:
        return Proposal(role=SENSITIVE, why=why)
    why = f"{why}; {percent(column.uniqueness)} of the records have a value of their own"
    texts = column.dictionary.dtype == pl.String
    if texts and find_separator(column.dictionary) is not None:
        mend = "as its cells are lists: left out; publish one record or one column of each value"
        return Proposal(role=DIRECT, why=f"{why}, {mend}")
    prefix = suggest_prefix(column.dictionary) if texts else None
    if prefix is not None and _count_alone(column, prefix) <= _SINGLED_OUT * column.rows:
        return Proposal(role=SENSITIVE, why=f"{why}, so it is made coarser", coarsen=prefix.words)
    # In groups, as a quasi-identifier, nothing would keep a value from being that of all.
    return Proposal(role=DIRECT, why=f"{why}: left out until its rare values are grouped, as by a level of a hierarchy")


def _count_alone(column: CountedColumn, coarsening: SuggestedCoarsening) -> int:
    """Count the rows whose value is unique after a coarsening."""
    (coarse,) = coarsening_of(column.name, coarsening.words).apply((column.dictionary,))
    counts = pl.DataFrame({"value": coarse, "rows": column.counts[: column.distinct]}).group_by("value").sum()["rows"]
    return int((counts == 1).sum())


def _count_spoiled_numbers(column: CountedColumn) -> int:
    """Count the few distinct values without a digit in a column of numbers; 0 for any other column."""
    values = column.dictionary
    if values.dtype != pl.String or column.distinct < _MEASURED:
        return 0
    spoiled = column.distinct - int(values.str.contains(r"[0-9]").sum())
    numbers = int(values.str.contains(NUMBER).sum())
    return spoiled if spoiled <= _MAX_SPOILED and numbers + spoiled == column.distinct else 0


def _told(column: CountedColumn) -> str:
    share = f"{percent(column.uniqueness)} of the records have one of their own"
    values = f"{number(column.distinct)} different value{'' if column.distinct == 1 else 's'}"
    return f"{values}, {share if column.uniqueness else 'none of them of one record only'}"
