"""Changes of one column on the screen Table: dates, lists, spellings, codes that mean missing, and derived columns."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from shoal._core.words import ALL_COLUMNS
from shoal.errors import UsageError
from shoal.request.texts import derivation_in, derivation_text, names_in, replacement_text, replacements_in
from shoal.studio.plan import SINCE_FIRST, Plan
from shoal.studio.rejected_forms import FieldError
from shoal.studio.screen_inputs import check_form, inspect_table, select_name
from shoal.studio.state import Studio


def proposed_role(column: Mapping[str, Any], plan: Plan) -> str:
    """Propose the role of a column; unless it is the chosen one, an identifier of persons is a direct identifier."""
    if column["name"] == plan.person:
        return "person"
    return "direct_identifier" if column["role"] == "person" else str(column["role"])


def replace_values(studio: Studio, form: Mapping[str, str]) -> str:
    """Replace values of a column, or of all columns, before anything else; or stop replacing those of one."""
    found = inspect_table(studio, "table")
    names = [one["name"] for one in found["columns"]]
    if form.get("do") in ("codes", "spellings"):
        return _take_proposed(studio, found["columns"], form)
    every = form.get("column") == ALL_COLUMNS
    column = ALL_COLUMNS if every else select_name(form, names, field="column")
    if column is None:
        raise FieldError("Choose a column first.", field="column")
    replaced = dict(studio.plan.replaced)
    if form.get("do") == "undo":
        replaced.pop(column, None)
        words = f"{_called(column)}: values as they are"
    else:
        old, new = (_typed_values(form.get(name, ""), name) for name in ("old", "new"))
        if not old or len(new) > 1:
            nothing, several = "Type the values to replace.", "Type one value, or none if they mean missing."
            raise FieldError(several if old else nothing, field="new" if old else "old")
        replaced[column] = _extend(replaced.get(column), dict.fromkeys(old, new[0] if new else None))
        done = "values replaced" if new else "values that mean missing"
        words = f"{_called(column)}: {done} ({len(old)})"
    return _store_replaced(studio, words, replaced, found["columns"], names if every else [column])


def _take_proposed(studio: Studio, columns: Sequence[Mapping[str, Any]], form: Mapping[str, str]) -> str:
    """Make all codes of all columns missing, or the spellings of all columns one, as it is proposed."""
    check_form(form, [one["name"] for one in columns])
    codes = form["do"] == "codes"
    proposed = {one["name"]: dict.fromkeys(one["missing_codes"]) if codes else one["spellings"] for one in columns}
    proposed = {name: values for name, values in proposed.items() if values}
    given = studio.plan.replaced
    replaced = {name: _extend(given.get(name), values) for name, values in proposed.items()}
    words = f"Columns whose codes mean missing: {len(proposed)}" if codes else "One spelling of each value"
    return _store_replaced(studio, words, {**given, **replaced}, columns, proposed)


def list_dated(found: Mapping[str, Any]) -> dict[int, str]:
    """List the columns whose dates can be read, by place."""
    unclear = {one["column"] for one in found["warnings"] if one["code"] in ("ambiguous_dates", "unread_dates")}
    named = enumerate(found["columns"])
    return {at: one["name"] for at, one in named if one["kind"] == "date" and one["name"] not in unclear}


def derive_column(studio: Studio, form: Mapping[str, str]) -> str:
    """Derive an age or a duration from dates, before anything else; or stop deriving one."""
    found = inspect_table(studio, "table")
    names, dated = [one["name"] for one in found["columns"]], list_dated(found).values()
    derived = dict(studio.plan.derived)
    if form.get("do") == "undo":
        column = select_name(form, names, field="column") or ""
        words, then = f"{column}: not derived any more", "/table#columns"
        sources = [column, derivation_in(derived.pop(column))[1]] if column in derived else []
    else:
        begin, other = (select_name(form, names, field=field) for field in ("begin", "end"))
        if begin not in dated or (form.get("end") and other not in dated):
            raise FieldError("Choose a column of dates.", field="end" if begin in dated else "begin")
        name, end = form.get("name", "").strip(), other or _typed_date(form.get("until", ""))
        if not name or name in names:
            raise FieldError("Type a name that no column has.", field="name")
        unit = "days" if form.get("unit") == "days" else "years"
        derived[name] = derivation_text(unit, str(begin), end)
        words, sources = f"{name}: derived from {begin}", [name, str(begin)]
        then = f"/table?column={len(names)}#column"  # it stands behind all others
    # Roles are proposed again: a birth date is left out if its age is published.
    plan = studio.plan
    kept = {name: role for name, role in plan.roles.items() if name not in sources}
    coarsen = {name: one for name, one in plan.coarsen.items() if name not in sources}
    studio.history.change(words, derived=derived, roles=kept, coarsen=coarsen)
    return then


def _typed_date(text: str) -> dt.date:
    """Parse a date as a browser sends it, or as it is typed with dots."""
    day = re.sub(r"^([0-9]{1,2})\.([0-9]{1,2})\.([0-9]{4})$", r"\3-\2-\1", text.strip())
    try:
        return dt.date(*map(int, day.split("-")))
    except (TypeError, ValueError) as error:
        raise FieldError("Type a date such as 2025-12-31, or choose a column.", field="until") from error


def _extend(replaced: str | None, values: Mapping[str, str | None]) -> str:
    """Add replacements of values to those that a column has already."""
    return replacement_text({**({} if replaced is None else replacements_in(replaced)), **values})


def _store_replaced(
    studio: Studio,
    words: str,
    replaced: Mapping[str, str],
    columns: Sequence[Mapping[str, Any]],
    changed: Collection[str],
) -> str:
    """Store replacements of values: roles stay, and a coarsening that was only proposed is proposed again."""
    plan = studio.plan
    fitting = {one["name"]: one["coarsen"] or "" for one in columns}
    coarsen = {name: one for name, one in plan.coarsen.items() if name not in changed or one != fitting.get(name, "")}
    roles = {one["name"]: proposed_role(one, plan) for one in columns} | dict(plan.roles) if plan.rows else {}
    studio.history.change(words, replaced=replaced, roles=roles, coarsen=coarsen)
    place = next((at for at, one in enumerate(columns) if one["name"] in changed), 0)
    return "/table#columns" if len(changed) > 1 else f"/table?column={place}#column"


def set_column(studio: Studio, form: Mapping[str, str]) -> str:
    """Store how one column is read and published: date format, separator of lists, and days since the first date."""
    found = inspect_table(studio, "table")
    names = [one["name"] for one in found["columns"]]
    name = select_name(form, names, field="column")
    if name is None:
        raise FieldError("Choose a column first.", field="column")
    plan, changes = studio.plan, dict[str, Any]()
    if form.get("date", "").strip() not in ("", plan.dates.get(name)):
        # A new date format changes the inspection, which then proposes another role and coarsening.
        changes["dates"] = {**plan.dates, name: form["date"].strip()}
        changes |= {
            key: {one: it for one, it in getattr(plan, key).items() if one != name} for key in ("roles", "coarsen")
        }
    if "list" in form:
        lists = {**plan.lists, name: form["list"]}
        changes["lists"] = {one: separator for one, separator in lists.items() if separator.strip()}
    if "days" in form and "dates" not in changes:
        relative = plan.coarsen.get(name, "").startswith(SINCE_FIRST)
        if (form["days"] == "yes") != relative:
            fitting = next(one["coarsen"] or "" for one in found["columns"] if one["name"] == name)
            changes["coarsen"] = {**plan.coarsen, name: fitting if relative else SINCE_FIRST}
    studio.history.change(f"{name}: how it is read", **changes)
    return f"/table?column={names.index(name)}#column"


def _called(column: str) -> str:
    return "All columns" if column == ALL_COLUMNS else column


def _typed_values(text: str, field: str) -> list[str]:
    """Parse typed values, separated by commas; a value with a comma stands in double quotes."""
    try:
        return list(names_in(field, [text]) or ()) if text.strip() else []
    except UsageError as error:
        raise FieldError(
            "Separate the values by commas, and put one with a comma in double quotes.", field=field
        ) from error
