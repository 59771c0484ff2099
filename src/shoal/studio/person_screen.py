"""The first question after opening a table: who is a person in it, and how the records of a person are published."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import repeat
from typing import Any

from shoal.studio import equivalents
from shoal.studio.pages import page
from shoal.studio.plan import COUNTED, LINKED, ONE_EACH, PERSONS, RECORDS, SEVERAL, Plan
from shoal.studio.rejected_forms import FieldError
from shoal.studio.screen_inputs import hash_names, inspect_table, list_sheets, select_name
from shoal.studio.state import Studio

TABLES = "tables"
"""The answer that the records of the persons are in a second table."""
_ORDERED = ("number", "date")
"""Kinds of columns that can order the records of a person."""


def persons(studio: Studio, query: Mapping[str, str]) -> str:
    """Render the question, with the evidence found in the table."""
    found = inspect_table(studio, "persons")
    # Of a workbook with several sheets, a cover sheet is easily taken for the table.
    sheets = list_sheets(studio, "persons")
    names, tables = [one["name"] for one in found["columns"]], _second_tables(studio)
    evidence = found["person"]["evidence"]
    # A number of persons that never repeats: the repeating column may stand for households or families.
    own = next((name for name in map(_name_if_unique, found["columns"], repeat(found["rows"])) if name), "")
    likeliest = next((one["column"] for one in evidence if one["column"] is not None), "")
    return page(
        "persons.html.j2",
        studio,
        step="persons",
        evidence=evidence,
        own=own if likeliest else "",
        column=studio.plan.person or likeliest,
        sheet=studio.plan.reading.get("sheet", "") if len(sheets) > 1 else "",
        rows=found["rows"],
        names=names,
        ordering=[place for place, one in enumerate(found["columns"]) if one["kind"] in _ORDERED],
        missing=any(one["missing"] for one in found["columns"]),
        of=hash_names(names),
        tables=tables,
        of_tables=hash_names(tables),
        equivalents=equivalents.of_inspecting(studio.plan, output=studio.paths.free_folder()),
    )


def answer(studio: Studio, form: Mapping[str, str]) -> str:
    """Store who is a person, and how the records of a person are published."""
    names = [one["name"] for one in inspect_table(studio, "persons")["columns"]]
    column = select_name(form, names, field="column") or ""
    # Answers without a column, then those with one.
    given = form.get("answer", "")
    plain = {name: getattr(Plan(), name) for name in ("treatment", "kept_rows", "order", "unnamed_are_persons")}
    # Any answer but links by the key of the two tables is about the first table alone.
    if given == TABLES:
        return _use_second_table(studio, form, column)
    if studio.plan.second and (given, column) != (LINKED, studio.plan.person):
        _restart(studio, f"Only {studio.plan.shown}")
    if given == PERSONS:
        roles = _with_person(studio.plan.roles, "")
        studio.history.change("Each record is another person", **plain, rows=PERSONS, person="", roles=roles)
    elif given == RECORDS:
        roles = _with_person(studio.plan.roles, "")
        description = "A person may have several records: no column identifies the person"
        studio.history.change(description, **plain, rows=RECORDS, person="", roles=roles)
    elif given in (COUNTED, ONE_EACH, LINKED):
        if not column:
            raise FieldError("Choose the column that identifies the person of a record.", field="column")
        chosen = {**plain, **_treatment(given, form, names), "unnamed_are_persons": "unnamed_are_persons" in form}
        plan = Plan(rows=SEVERAL, person=column, **chosen)
        roles = _with_person(studio.plan.roles, column)
        studio.history.change(plan.whose, **chosen, rows=SEVERAL, person=column, roles=roles)
    else:
        raise FieldError("Choose one of the answers first.", field=None)
    return "/columns"


def _name_if_unique(column: Mapping[str, Any], rows: int) -> str:
    """Return the name of a column of persons' numbers that has another value in each row; "" for any other."""
    from shoal.table.names import suggests_person_number, suggests_thing

    name = str(column["name"])
    return name if column["distinct"] == rows and suggests_person_number(name) and not suggests_thing(name) else ""


def _second_tables(studio: Studio) -> list[str]:
    """List the tables of the folder that may hold the records of the persons of the open one."""
    return [one.name for one in studio.paths.listed() if one.name != studio.plan.shown]


def _use_second_table(studio: Studio, form: Mapping[str, str], column: str) -> str:
    """Take the records of persons from a second table, by the column that identifies them in both."""
    if not column:
        raise FieldError("Choose the column that identifies the person in both tables.", field="column")
    tables = _second_tables(studio)
    place = form.get("table", "")
    if form.get("of_tables") != hash_names(tables) or not place.isdecimal() or int(place[:6]) >= len(tables):
        raise FieldError("Choose the table with the records of the persons.", field="table")
    name = tables[int(place)]
    shown: dict[str, Any] = {"second": str(studio.paths.table(name)), "second_shown": name}
    together = Plan(rows=SEVERAL, person=column, treatment=LINKED, **shown)
    _restart(studio, together.whose, rows=SEVERAL, person=column, treatment=LINKED, **shown)
    return "/columns"


def _restart(studio: Studio, description: str, **changes: Any) -> None:
    """Start the plan again for the same table, because other columns need other decisions."""
    plan = studio.plan
    kept = {name: getattr(plan, name) for name in ("source", "shown", "demo", "reading", "report")}
    studio.history.change(description, **{**vars(Plan(**kept)), **changes})


def _treatment(given: str, form: Mapping[str, str], names: list[str]) -> dict[str, Any]:
    """Parse the treatment of the records of a person, and what it needs."""
    if given == ONE_EACH:
        kept = form.get("kept_rows", "random")
        if kept not in ("random", "first", "last"):
            raise FieldError("Choose which record of a person is published.", field="kept_rows")
        order = select_name(form, names, field="order") or ""
        if kept != "random" and not order:
            forms = {
                "first": "Choose the column that shows which record is the first.",
                "last": "Choose the column that shows which record is the last.",
            }
            raise FieldError(forms[kept], field="order")
        return {"treatment": ONE_EACH, "kept_rows": kept, "order": order if kept != "random" else ""}
    if given == LINKED:
        return {"treatment": LINKED, "order": select_name(form, names, field="linked_order") or ""}
    return {"treatment": COUNTED}


def _with_person(roles: Mapping[str, str], column: str) -> dict[str, str]:
    """Copy roles with one column that identifies persons; the previous one becomes a direct identifier."""
    plain = {name: "direct_identifier" if role == "person" else role for name, role in roles.items()}
    return {name: "person" if name == column else role for name, role in plain.items()}
