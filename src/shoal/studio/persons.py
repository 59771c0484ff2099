"""The first question after opening a table: whether each row stands for one person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.studio import same
from shoal.studio.looking import looked_at, mark_of, named_in
from shoal.studio.pages import page
from shoal.studio.plan import PERSONS, RECORDS
from shoal.studio.refusing import FieldError
from shoal.studio.state import Studio, Waiting

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["answer", "persons"]


def persons(studio: Studio, query: Mapping[str, str]) -> str | Waiting:
    """Render the question, with the evidence found in the table."""
    found = looked_at(studio, "persons")
    if isinstance(found, Waiting):
        return found
    names = [one["name"] for one in found["columns"]]
    evidence = found["person"]["evidence"]
    return page(
        "persons.html.j2",
        studio,
        step="persons",
        question=found["person"]["question"],
        evidence=evidence,
        named=[(names.index(one["column"]), one["column"]) for one in evidence if one["column"] is not None],
        rows=found["rows"],
        names=names,
        of=mark_of(names),
        same=same.of_inspecting(studio.plan, output=studio.places.free_folder()),
    )


def answer(studio: Studio, form: Mapping[str, str]) -> str:
    """Store what each row stands for, and the column that identifies its person, which is never published."""
    found = looked_at(studio, "persons")
    if isinstance(found, Waiting):
        return "/persons"
    names = [one["name"] for one in found["columns"]]
    # "unnamed": several rows are possible, but no column identifies the person.
    column = named_in(form, names, field="column") or ""
    given = form.get("answer", "")
    if given == "named" and not column:
        raise FieldError("Choose the column that says whose a row is.", field="column")
    # An identifier of persons becomes a direct identifier, so it is never published.
    if given == PERSONS:
        studio.history.change("Each row stands for one person", rows=PERSONS, person="")
    elif given in ("named", "unnamed"):
        column = column if given == "named" else ""
        told = f"A person may have several rows: {column or 'no column'} says whose a row is"
        studio.history.change(told, rows=RECORDS, person=column, roles=_without(studio.plan.roles, column))
    else:
        raise FieldError("Answer the question first: yes, or no.", field=None)
    return "/columns"


def _without(roles: Mapping[str, str], column: str) -> dict[str, str]:
    """Copy roles with one column as a direct identifier; roles that are not decided yet stay empty."""
    return {name: "direct_identifier" if name == column else role for name, role in roles.items()}
