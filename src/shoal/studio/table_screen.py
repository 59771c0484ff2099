"""The screen of the table: its first rows, who is a person, the role of each column, and the risk as it is now."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from shoal._core.words import number
from shoal.errors import ShoalError, UsageError
from shoal.request.texts import derivation_in, replacement_text, replacements_in
from shoal.studio import equivalents
from shoal.studio.jobs import tables as jobs
from shoal.studio.pages import page
from shoal.studio.plan import COUNTED, LINKED, ONE_EACH, PERSONS, RECORDS, SEVERAL, SINCE_FIRST, Plan
from shoal.studio.rejected_forms import FieldError
from shoal.studio.requests import request_in
from shoal.studio.screen_inputs import (
    check_form,
    count_alone,
    hash_names,
    inspect_table,
    select_name,
    typed_decimal,
)
from shoal.studio.state import Studio
from shoal.studio.value_screens import list_dated, proposed_role
from shoal.studio.words import ANSWERS, MEANINGS, ROLES, SCREENS

TABLES = "tables"
"""The answer that the records of the persons are in a second table."""
_ORDERED = ("number", "date")
"""Kinds of columns that can order the records of a person."""
_SPECIAL = 3
"""Maximum number of columns of a special unique."""
_FEW_COLUMNS, _FEW_ROWS = 12, 100_000
"""Largest table that is searched for special uniques; larger ones would take too long."""
DATE_FORMS = ("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%m.%d.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y-%m-%d")
_PLAIN = {name: getattr(Plan(), name) for name in ("treatment", "kept_rows", "order", "unnamed_are_persons")}


def table(studio: Studio, query: Mapping[str, str]) -> str:
    """Render the table: how it was read, persons, roles and first rows, and the details of one column."""
    plan = studio.plan
    found = inspect_table(studio, "table")
    from shoal.findings.finding_kinds import MOST_QUASI
    from shoal.report.page import how_it_was_read

    columns, names = found["columns"], [one["name"] for one in found["columns"]]
    proposed = complete(plan, found)
    roles, tables = proposed.roles, _second_tables(studio)
    # Columns whose date format could not be determined get a field for it.
    unclear = [one["column"] for one in found["warnings"] if one["code"] in ("ambiguous_dates", "unread_dates")]
    # The screen itself proposes persons, counts roles and joins the codes.
    own = ["many_quasi_identifiers", "missing_codes", "repeated_person"]
    own += [] if (proposed.rows, proposed.treatment) == (SEVERAL, COUNTED) else ["sure_of_persons"]
    warnings = [one for one in found["warnings"] if one["code"] not in own]
    many = [*roles.values()].count("quasi_identifier")
    left_out = proposed.names_of("direct_identifier")
    kept = [one for one in columns if one["name"] not in left_out]
    wanted = query.get("column", "")
    shown = _found_by(query.get("find", ""), names)
    at = int(wanted) if wanted.isdecimal() and len(wanted) < 6 and int(wanted) < len(names) else None
    return page(
        "table.html.j2",
        studio,
        step="table",
        found=found,
        warnings=[_fit_advice(one, proposed) for one in warnings if not _names(one, left_out)],
        roles=ROLES,
        answers=ANSWERS,
        proposed=proposed,
        meanings=MEANINGS,
        likeliest=proposed.person or next((one["column"] for one in found["evidence"] if one["column"]), ""),
        evidence=_describe_evidence(found),
        unpublished=_count_unpublished(proposed, found),
        named=[one["name"] for one in columns],
        ordering=[place for place, one in enumerate(columns) if one["kind"] in _ORDERED],
        missing=any(one["missing"] for one in columns if one["name"] == proposed.person),
        many=many if many > MOST_QUASI else 0,
        coded={one["name"]: one["missing_codes"] for one in kept if one["missing_codes"]},
        spelled={one["name"]: one["spellings"] for one in kept if one["spellings"]},
        shown=shown,
        find=query.get("find", ""),
        at=at,
        unclear=unclear,
        forms=DATE_FORMS,
        relative=SINCE_FIRST,
        of=hash_names(names),
        tables=tables,
        of_tables=hash_names(tables),
        read=how_it_was_read(found),
        readable=plan.readable,
        replaced={name: replacements_in(text) for name, text in plan.replaced.items()},
        derived={name: derivation_in(words) for name, words in plan.derived.items()},
        dated=list_dated(found),
        places={name: place for place, name in enumerate(names)},
        risk=count_alone(studio, "table", proposed),
        measured=_measure_risk(studio, proposed, found["rows"]) if "measured" in query else "",
        percentage=_percentage(plan.sampling_fraction),
        equivalents=_build_equivalents(studio, found["rows"]),
    )


def _fit_advice(warning: Mapping[str, Any], plan: Plan) -> Mapping[str, Any]:
    """Fit the advice of a warning, which knows no goal, to a plan that bounds the values of a group already."""
    if warning["code"] != "sure_of_persons" or not {"l", "t"} & plan.privacy.keys():
        return warning
    from shoal.findings import advise_fewer_records

    return {**warning, "advice": advise_fewer_records(request_in(plan.work).features)}


def _names(warning: Mapping[str, Any], left_out: Sequence[str]) -> bool:
    """Check whether a warning is about columns together of which one was left out since: its figure is another one."""
    named = warning["found"].arguments.get("columns", ())
    return warning["code"] == "near_unique_insensitive" and any(f"'{name}'" in named for name in left_out)


def _build_equivalents(studio: Studio, rows: int) -> equivalents.Equivalents:
    """Build the equivalents of inspecting the table and, once its columns have roles, of measuring its risk."""
    plan, output = studio.plan, studio.paths.free_folder()
    own = equivalents.of_inspecting(plan, output=output)
    if not plan.decided:
        return own
    risk = equivalents.of_risk(plan, suda=_special_uniques(plan, rows), output=output)
    commands = {name: f"{getattr(own, name)}\n{getattr(risk, name)}" for name in ("command", "python")}
    return own if plan.second or plan.demo else replace(own, **commands)


def _special_uniques(plan: Plan, rows: int) -> int | None:
    """Return the largest number of columns of special uniques; None if their search would take too long."""
    return _SPECIAL if len(plan.names_of("quasi_identifier")) <= _FEW_COLUMNS and rows <= _FEW_ROWS else None


def _found_by(text: str, names: Sequence[str]) -> list[int]:
    """Find columns by a part of the name, or by a range of numbers such as 6-50; all of them if nothing is typed."""
    text = text.strip()[:200]
    ends = re.fullmatch(r"(\d{1,6})\s*-\s*(\d{1,6})", text)
    if ends:
        return [place for place in range(len(names)) if int(ends[1]) <= place + 1 <= int(ends[2])]
    return [place for place, name in enumerate(names) if text.casefold() in name.casefold()]


def _describe_evidence(found: Mapping[str, Any]) -> str:
    """Describe the strongest evidence that persons have several records; empty if there is none."""
    one = next(iter(found["evidence"]), None)
    if one is None:
        return ""
    if one["column"] is None:
        return f"{one['text']}."
    part = " in a part of the table" if one["sampled"] else ""
    counts = f"{number(one['records'])} records of {number(one['persons'])} persons"
    said = f"{counts}, by {one['column']}{part}: at most {one['most']} of one."
    return said + (f" {_doubt(found)} has a value of its own in each record." if _doubt(found) else "")


def _count_unpublished(proposed: Plan, found: Mapping[str, Any]) -> int:
    """Count the records that are not published if one of each person is; 0 if that is unknown."""
    if (proposed.rows, proposed.treatment) != (SEVERAL, ONE_EACH):
        return 0
    one = next((one for one in found["evidence"] if one["column"] == proposed.person and not one["sampled"]), None)
    return 0 if one is None else int(one["records"] - one["persons"])


def _doubt(found: Mapping[str, Any]) -> str:
    """Find a column of persons' numbers that never repeats: the repeating one may stand for households or families."""
    from shoal.table.names import suggests_person_number, suggests_thing

    unique = (one["name"] for one in found["columns"] if one["distinct"] == found["rows"])
    return next((name for name in unique if suggests_person_number(name) and not suggests_thing(name)), "")


def complete(plan: Plan, found: Mapping[str, Any]) -> Plan:
    """Complete a plan by the proposals for its table: who is a person, roles, coarsenings, and the goal."""
    columns, changes = found["columns"], dict[str, Any]()
    if not plan.rows:
        likeliest = next((one["column"] for one in found["evidence"] if one["column"] is not None), None)
        if likeliest is None:
            changes |= {"rows": RECORDS if found["evidence"] else PERSONS}
        elif _doubt(found):
            changes |= {"rows": PERSONS}
        else:
            unnamed = any(one["missing"] for one in columns if one["name"] == likeliest)
            changes |= {"rows": SEVERAL, "person": likeliest, "treatment": ONE_EACH, "unnamed_are_persons": unnamed}
        plan = replace(plan, **changes)
    roles = {one["name"]: plan.roles.get(one["name"]) or proposed_role(one, plan) for one in columns}
    fitting = {one["name"]: one["coarsen"] or "" for one in columns}
    return _prepare(replace(plan, roles=roles, coarsen={**fitting, **plan.coarsen}), found, first=not plan.roles)


def _prepare(plan: Plan, found: Mapping[str, Any], *, first: bool = False) -> Plan:
    """Fit codes, missing values and the goal of a plan to its roles."""
    sensitive = plan.names_of("sensitive")
    # Steps of numbers need words such as "n/a" to be missing.
    words = {one["name"]: one["missing_codes"] for one in found["columns"] if one["replace_first"]}
    codes = {name: replacement_text(dict.fromkeys(given)) for name, given in words.items() if plan.coarsen.get(name)}
    missing = any((one["missing"] or one["name"] in codes) and one["name"] in sensitive for one in found["columns"])
    # Without a sensitive column only k-anonymity can be required; with one variety is proposed, too.
    models = dict(plan.privacy)
    if not sensitive and "epsilon" not in models:
        models = {"k": models.get("k", "5")}
    elif first and sensitive and models == {"k": "5"}:
        models["l"] = "2"
    return replace(
        plan,
        replaced={**codes, **plan.replaced},
        privacy=models,
        missing_sensitive="value" if missing and plan.missing_sensitive == "error" else plan.missing_sensitive,
    )


def _measure_risk(studio: Studio, plan: Plan, rows: int) -> Any:
    """Measure how the risk of the table as it is comes about; None while that is under way, a text if it cannot be."""
    arguments = {
        **studio.plan.opened,
        "quasi_identifiers": plan.names_of("quasi_identifier"),
        "sensitive": plan.names_of("sensitive"),
        "person": plan.person,
        "sampling_fraction": plan.sampling_fraction,
        "suda": _special_uniques(plan, rows),
    }
    try:
        return studio.facts_later("table", "Measuring the risk", jobs.measure_risk, arguments, back="/table")
    except ShoalError as error:
        return error.render(SCREENS)


def set_table(studio: Studio, form: Mapping[str, str]) -> str:
    """Store who is a person and the role of each column."""
    found = inspect_table(studio, "table")
    names = [one["name"] for one in found["columns"]]
    check_form(form, names)
    before = complete(studio.plan, found)
    if form.get("answer") == TABLES:
        return _use_second_table(studio, form, names)
    plan = _read_answer(before, form, names) if "answer" in form else before
    # Any answer but links by the key of the two tables is about the first table alone.
    if studio.plan.second and (plan.treatment, plan.person) != (LINKED, studio.plan.person):
        answer = {name: getattr(plan, name) for name in ("rows", "person", *_PLAIN)}
        _restart(studio, f"Only {studio.plan.shown}", **answer)
        return "/table"
    known = [role["name"] for role in ROLES]
    several, find = form.get("several", ""), form.get("find", "")
    chosen = _found_by(find, names) if form.get("do") == "several" else []
    if form.get("do") == "several" and (several not in known or not chosen):
        raise FieldError(
            "No column has this in its name. Type a part of a name, or numbers such as 6-50.", field="find"
        )
    roles, coarsen = {}, dict(plan.coarsen)
    for place, column in enumerate(found["columns"]):
        name = column["name"]
        proposed = proposed_role(column, plan)
        role = several if place in chosen else form.get(f"role-{place}", plan.roles[name])
        # The person of a record has no other role; one that is not the person any more is left out.
        role = role if role in known else "direct_identifier"
        roles[name] = "person" if name == plan.person else role
        # In another role a column is coarsened as proposed, or published as it is; a choice of the user stays.
        fitting = column["coarsen"] or ""
        if before.roles[name] != roles[name] and coarsen[name] in ("", fitting):
            alone = roles[name] == "sensitive" and column["kind"] == "number" and column["uniqueness"] >= 0.5
            coarsen[name] = fitting if alone or roles[name] in ("quasi_identifier", proposed) else ""
    plan = _prepare(replace(plan, roles=roles, coarsen=coarsen), found, first=not studio.plan.roles)
    words = _describe_changes({**before.roles, **studio.plan.roles}, roles)
    if plan.whose != studio.plan.whose or not studio.plan.rows:
        words = plan.whose if studio.plan.rows or plan.rows != before.rows else words
    studio.history.change(words, **vars(plan))
    # After a change the user sees the table again.
    if form.get("do") not in ("next", "series"):
        return "/table" + (f"?find={find}" if find and form.get("do") == "look" else "") + "#columns"
    if not studio.plan.decided:
        raise UsageError(
            "No column is one that others may know. Choose that for at least one: if no one knew anything of the "
            "people in the table, there would be nothing to protect."
        )
    return "/series" if form.get("do") == "series" else "/goal"


def _describe_changes(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    titles = {role["name"]: role["title"] for role in ROLES} | {"person": "Identifies the person"}
    changed = [f"{name}: {titles[role]}" for name, role in after.items() if before.get(name) != role]
    if not changed:
        return "Took the proposals for the columns"
    # A history names a few changes and counts the rest.
    return ", ".join(changed[:3]) + (f" and {len(changed) - 3} more" if len(changed) > 3 else "")


def _read_answer(before: Plan, form: Mapping[str, str], names: list[str]) -> Plan:
    """Read who is a person, and how the records of a person are published."""
    given, column = form["answer"], select_name(form, names, field="column") or ""
    if given not in ANSWERS:
        raise FieldError("Choose one of the answers first.", field="answer")
    if given in (PERSONS, RECORDS):
        return replace(before, **_PLAIN, rows=given, person="")
    if not column:
        raise FieldError("Choose the column that identifies the person of a record.", field="column")
    chosen: dict[str, Any] = {**_PLAIN, "treatment": given, "unnamed_are_persons": "unnamed_are_persons" in form}
    if given == ONE_EACH:
        kept, order = form.get("kept_rows", "random"), select_name(form, names, field="order") or ""
        if kept not in ("random", "first", "last"):
            raise FieldError("Choose which record of a person is published.", field="kept_rows")
        if kept != "random" and not order:
            raise FieldError(f"Choose the column that shows which record is the {kept}.", field="order")
        chosen |= {"kept_rows": kept, "order": order if kept != "random" else ""}
    elif given == LINKED:
        chosen["order"] = select_name(form, names, field="order") or ""
    return replace(before, **chosen, rows=SEVERAL, person=column)


def _second_tables(studio: Studio) -> list[str]:
    """List the tables of the folder that may hold the records of the persons of the open one."""
    return [one.name for one in studio.paths.listed() if one.name != studio.plan.shown]


def _use_second_table(studio: Studio, form: Mapping[str, str], names: list[str]) -> str:
    """Take the records of persons from a second table, by the column that identifies them in both."""
    column = select_name(form, names, field="column") or ""
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
    return "/table"


def _restart(studio: Studio, description: str, **changes: Any) -> None:
    """Start the plan again for the same table, because other columns need other decisions."""
    plan = studio.plan
    kept = {name: getattr(plan, name) for name in ("source", "shown", "demo", "reading", "report")}
    studio.history.change(description, **{**vars(Plan(**kept)), **changes})


def show_cells(studio: Studio, form: Mapping[str, str]) -> str:
    """Show or hide the cells of columns that are left out."""
    studio.values_shown = form.get("show") == "yes"
    return "/table#columns"


def _percentage(fraction: str) -> str:
    return f"{Decimal(fraction) * 100:f}".rstrip("0").rstrip(".") if fraction else ""


def set_fraction(studio: Studio, form: Mapping[str, str]) -> str:
    """Store the sampling fraction, which is typed in percent."""
    given = typed_decimal(form.get("fraction", "").strip().removesuffix("%"))
    share = Decimal(given) / 100 if re.fullmatch(r"\d{1,3}(\.\d{1,12})?", given) else Decimal(0)
    if given and not 0 < share <= 1:
        raise FieldError(
            "The share of the population must be a number above 0 and at most 100 percent.", field="fraction"
        )
    fraction = f"{share:f}" if given else ""
    known = f"Share of the population: {given}" if given else "Share of the population: not known"
    studio.history.change(known, sampling_fraction=fraction)
    return "/table?measured=yes#measured"
