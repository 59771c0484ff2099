"""The screens of opening, columns, risk and history. Each renders a page, and its form changes the plan.

All computation is done by the worker.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from shoal._core.file_formats import DELIMITED, WORKBOOKS
from shoal._core.quoting import listed_name
from shoal._core.words import ALL_COLUMNS
from shoal.errors import UsageError
from shoal.request.texts import (
    derivation_in,
    replacement_text,
    replacements_in,
)
from shoal.studio import equivalents, jobs
from shoal.studio.column_filter import ORDERS, ColumnFilter, parse_range
from shoal.studio.pages import page
from shoal.studio.plan import SINCE_FIRST, Plan
from shoal.studio.projects import PROJECT, REVIEW, Project, find_projects, load_project
from shoal.studio.rejected_forms import FieldError
from shoal.studio.screen_inputs import (
    DEMO,
    build_equivalents,
    check_form,
    describe_sheets,
    hash_names,
    inspect_table,
    inspect_with_roles,
    list_sheets,
    select_name,
    typed_decimal,
)
from shoal.studio.state import Studio, Waiting
from shoal.studio.value_screens import list_dated, proposed_role
from shoal.studio.words import ROLES, STEPS

_READING = ("sheet", "header_row", "delimiter", "encoding", "decimal")
_SPECIAL = 3
"""Maximum number of columns of a special unique."""
_FEW_COLUMNS, _FEW_ROWS = 12, 100_000
"""Largest table that is searched for special uniques; larger ones would take too long."""
DATE_FORMS = ("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%m.%d.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y-%m-%d")


def opening(studio: Studio, query: Mapping[str, str]) -> str:
    """Render the first screen, on which a table is opened."""
    shown, home = studio.plan if studio.plan.source else Plan(shown="FILE.csv"), studio.paths.home
    return page(
        "open.html.j2",
        studio,
        step="open",
        tables=studio.paths.listed(),
        projects=_list_files(home, PROJECT),
        reviews=_list_files(home, REVIEW),
        ending=PROJECT,
        awaited=None if studio.awaited is None else studio.awaited.steps[0][1].shown,
        asked=None if studio.asked is None else (studio.asked.name, studio.asked.steps[0][1].shown),
        releases=[
            (one.name, (one / "certificate.json").stat().st_mtime, studio.paths.report(one.name, "private") is not None)
            for one in studio.paths.releases()
        ],
        home=home,
        equivalents=equivalents.of_inspecting(shown, output=studio.paths.free_folder()),
    )


def _list_files(home: Path, ending: str) -> list[tuple[str, str, float]]:
    """List the projects or the saved reviews of a folder: file name, name, and time of the last change."""
    return [
        (one.name, one.name.removesuffix(ending), one.stat().st_mtime) for one in find_projects(home, ending=ending)
    ]


def open_path(studio: Studio, form: Mapping[str, str]) -> str:
    """Open a table by its path."""
    reading = _read_options(form)
    given = form.get("path", "")
    # The address of a database has a scheme, a path has none.
    if "://" in given:
        source, shown = studio.paths.database(given)
        return _start_plan(studio, Plan(source=source, shown=shown, reading=reading))
    return open_table(studio, studio.paths.table(given), reading=reading)


def _read_options(form: Mapping[str, str]) -> dict[str, str]:
    """Read the options of reading that a form has filled in."""
    reading = {name: form[name].strip() for name in _READING if form.get(name, "").strip()}
    row = reading.get("header_row", "1")
    if not (row.isascii() and row.isdecimal() and int(row[:9]) > 0 and len(row) < 8):
        raise FieldError("The row of the names of columns is a number, 1 or more.", field="header_row")
    return reading


def open_demo(studio: Studio, form: Mapping[str, str]) -> str:
    """Open the bundled demo table."""
    return open_table(studio, studio.paths.create_upload_path(DEMO), demo=True)


def open_project(studio: Studio, form: Mapping[str, str]) -> str:
    """Open a project again: its table, its decisions and its history."""
    found = load_project(studio.paths, form.get("project", ""))
    # A project may come from someone else, and the password of the environment would go to its address.
    first = found.steps[0][1]
    if "://" in first.source and form.get("confirmed") != first.shown:
        studio.asked = found
        return "/"
    # The project of a dropped table waits until the table is dropped again.
    if not first.source:
        studio.awaited = found
        return "/"
    return _resume(studio, found, first.source)


def _resume(studio: Studio, project: Project, source: str) -> str:
    """Go on with a project whose table is at `source`."""
    _reset(studio)
    studio.awaited = studio.asked = None
    studio.history.resume([(words, replace(plan, source=source)) for words, plan in project.steps], project.at)
    studio.projects[source] = project.name
    studio.remove_unused_uploads()
    return "/columns"


def open_table(studio: Studio, path: Path, *, reading: Mapping[str, str] | None = None, demo: bool = False) -> str:
    """Open a table, and return the path of the screen that inspects it."""
    home = studio.paths.home
    # Commands show the name of an upload, because its temporary folder will be gone.
    if studio.paths.is_upload(path):
        shown = path.name
        awaited = studio.awaited
        if awaited is not None and awaited.steps[0][1].shown == shown:
            return _resume(studio, awaited, str(path))
    else:
        shown = str(path.relative_to(home) if path.is_relative_to(home) else path)
    return _start_plan(studio, Plan(source=str(path), shown=shown, demo=demo, reading=reading or {}))


def _reset(studio: Studio) -> None:
    """Reset what was shown or requested of the previous table."""
    studio.values_shown, studio.rows_shown, studio.levels = False, 0, None
    studio.columns_shown, studio.ways, studio.attack, studio.together = set(), False, None, None
    studio.for_series = False


def _start_plan(studio: Studio, plan: Plan) -> str:
    """Start a plan for a table; the table gets a project of its own once something is decided."""
    _reset(studio)
    studio.projects.pop(plan.source, None)
    studio.history.change(f"Opened {plan.shown}", **vars(plan))
    studio.remove_unused_uploads()
    return "/columns"


def sheets(studio: Studio, query: Mapping[str, str]) -> str:
    """Render how a file is read: the sheet of a workbook, the row of the names, and how text is written."""
    plan = studio.plan
    if not _can_be_read_otherwise(plan):
        raise Waiting(path="/columns" if plan.source else "/")
    found = list_sheets(studio, "columns")
    shapes = describe_sheets(studio, "columns") if found else []
    # One row for all sheets is proposed only if it fits each of them.
    guessed = {header_row for _, _, header_row in shapes if header_row is not None}
    return page(
        "sheets.html.j2",
        studio,
        step="sheet",
        sheets=found,
        shapes=shapes,
        guess=max(guessed) if len(guessed) == 1 and guessed != {1} else "",
        of=hash_names(found),
        equivalents=equivalents.of_inspecting(plan, output=studio.paths.free_folder()),
    )


def _can_be_read_otherwise(plan: Plan) -> bool:
    """Check whether there are options of reading the table: other files and databases are read in one way only."""
    return plan.source.lower().endswith((*WORKBOOKS, *DELIMITED)) and "://" not in plan.source


def choose_sheet(studio: Studio, form: Mapping[str, str]) -> str:
    """Choose the sheet of a workbook that holds the table, and how the file is read."""
    found, plan = list_sheets(studio, "columns"), studio.plan
    chosen = select_name(form, found, field="sheet")
    if chosen is None and len(found) > 1:
        raise UsageError("There is no such sheet. Choose one of the list.")
    # What the form does not have stays as it is.
    given = {**plan.reading, **{name: form[name] for name in _READING if name in form and name != "sheet"}}
    reading = _read_options({**given, "sheet": chosen or ""})
    # Another sheet is another table, so the plan starts again.
    restarted = Plan(source=plan.source, shown=plan.shown, reading=reading) if reading != plan.reading else plan
    return _start_plan(studio, restarted)


def columns(studio: Studio, query: Mapping[str, str]) -> str:
    """Render the columns with a summary and a proposed role of each."""
    found = inspect_table(studio, "columns")
    plan = studio.plan
    if not plan.rows:  # the question about the meaning of rows comes first
        raise Waiting(path="/persons")
    from shoal.findings.finding_kinds import MOST_QUASI
    from shoal.report.page import how_it_was_read

    proposed = {one["name"]: proposed_role(one, studio.plan) for one in found["columns"]}
    # Columns whose date format could not be determined get a field for it.
    unclear = {
        one["column"]: one["code"] for one in found["warnings"] if one["code"] in ("ambiguous_dates", "unread_dates")
    }
    # A warning that this column identifies persons has been followed.
    followed = ("repeated_person", studio.plan.person)
    warnings = [one for one in found["warnings"] if (one["code"], one["column"]) != followed]
    # The screen itself counts what is set now, and joins the proposals of missing codes.
    warnings = [one for one in warnings if one["code"] not in ("many_quasi_identifiers", "missing_codes")]
    chosen, shown = {**proposed, **plan.roles}, ColumnFilter.of(query)
    many = [*chosen.values()].count("quasi_identifier")
    return page(
        "columns.html.j2",
        studio,
        step="columns",
        found={**found, "warnings": warnings},
        roles=ROLES,
        many=many if many > MOST_QUASI else 0,
        coded=[one["name"] for one in found["columns"] if one["missing_codes"]],
        proposed=proposed,
        chosen=chosen,
        filter=shown,
        shown=shown.select(found["columns"], chosen),
        kinds=sorted({one["kind"] for one in found["columns"]}),
        orders=ORDERS,
        unclear=unclear,
        forms=DATE_FORMS,
        relative=SINCE_FIRST,
        checked=query.get("check") == "all",
        of=hash_names([one["name"] for one in found["columns"]]),
        read=how_it_was_read(found),
        readable=_can_be_read_otherwise(plan),
        replaced={name: replacements_in(text) for name, text in plan.replaced.items()},
        derived={name: derivation_in(words) for name, words in plan.derived.items()},
        dated=list_dated(found),
        every=ALL_COLUMNS,
        places={one["name"]: place for place, one in enumerate(found["columns"])},
        codes={one["name"]: ", ".join(listed_name(code) for code in one["missing_codes"]) for one in found["columns"]},
        equivalents=equivalents.of_inspecting(studio.plan, output=studio.paths.free_folder()),
    )


def set_columns(studio: Studio, form: Mapping[str, str]) -> str:
    """Store the roles of a form, date formats, separators of lists, and which dates become relative."""
    found = inspect_table(studio, "columns")
    if not studio.plan.rows:
        return "/columns"
    check_form(form, [one["name"] for one in found["columns"]])
    before = studio.plan
    known = [role["name"] for role in ROLES]
    roles, dates, lists = {}, dict(before.dates), dict(before.lists)
    proposals = {one["name"]: proposed_role(one, before) for one in found["columns"]}
    fitting = {one["name"]: one["coarsen"] or "" for one in found["columns"]}
    coarsen = {**fitting, **before.coarsen}
    several = form.get("several") if form.get("do") == "several" else None
    # The checked columns, and those of the range.
    count = len(found["columns"])
    ranged = parse_range(form, count)
    several_of = [place for place in range(count) if f"check-{place}" in form or place in ranged]
    # Read the role and the date format of each column; "several" sets the role of all checked ones.
    for place, column in enumerate(found["columns"]):
        name = column["name"]
        proposed = proposals[name]
        role = form.get(f"role-{place}", before.roles.get(name, proposed))
        if several in known and place in several_of:
            role = several
        roles[name] = role if role in known and name != before.person else proposed
        if form.get(f"date-{place}", "").strip():
            dates[name] = form[f"date-{place}"].strip()
        # Without these fields in the form, lists and relative dates stay as they are.
        lists[name] = form.get(f"list-{place}", lists.get(name, ""))
        # In another role a column is coarsened as proposed, or published as it is.
        if before.roles.get(name, proposed) != roles[name]:
            # Sensitive numbers that most records have alone need steps.
            alone = roles[name] == "sensitive" and column["kind"] == "number" and column["uniqueness"] >= 0.5
            coarsen[name] = fitting[name] if alone or roles[name] in ("quasi_identifier", proposed) else ""
        relative = coarsen[name].startswith(SINCE_FIRST)
        if form.get(f"days-{place}", "yes" if relative else "") != ("yes" if relative else ""):
            coarsen[name] = fitting[name] if relative else SINCE_FIRST
    # Steps of numbers need words such as "n/a" to be missing.
    words = {one["name"]: one["missing_codes"] for one in found["columns"] if one["replace_first"]}
    missing_words = {name: replacement_text(dict.fromkeys(codes)) for name, codes in words.items() if coarsen[name]}
    # A new date format changes the inspection, which then proposes another role and coarsening.
    redated = {name for name, form_ in dates.items() if before.dates.get(name) != form_}
    # Without a sensitive column only k-anonymity can be required.
    kept = "sensitive" in roles.values() or "epsilon" in before.privacy
    models = before.privacy if kept else {"k": before.privacy.get("k", "5")}
    missing = any(
        (one["missing"] or one["name"] in missing_words) and roles[one["name"]] == "sensitive"
        for one in found["columns"]
    )
    studio.history.change(
        _describe_changes({**proposals, **before.roles}, roles),
        roles={name: role for name, role in roles.items() if name not in redated},
        dates=dates,
        privacy=models,
        lists={name: separator for name, separator in lists.items() if separator.strip()},
        coarsen={name: words for name, words in coarsen.items() if name not in redated},
        replaced={**missing_words, **before.replaced},
        missing_sensitive="value" if missing and before.missing_sensitive == "error" else before.missing_sensitive,
    )
    # After a change of several roles, of a date format or of the filter, the user sees the columns again.
    if several is not None or dates != before.dates or form.get("do") == "filter":
        shown = ColumnFilter.of(form)
        seen = f"column-{several_of[0]}" if several is not None and several_of and not shown.having else "filter"
        return f"/columns{shown.query}#{seen}"
    if not studio.plan.decided:
        raise UsageError(
            "No column is one that others may know. Choose that for at least one: if no one knew anything of the "
            "people in the table, there would be nothing to protect."
        )
    return "/series" if form.get("do") == "series" else "/risk"


def _describe_changes(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    titles = {role["name"]: role["title"] for role in ROLES} | {"person": "Identifies the person"}
    changed = [f"{name}: {titles[role]}" for name, role in after.items() if before.get(name) != role]
    if not changed:
        return "Looked at the columns"
    # A history names a few changes and counts the rest.
    return ", ".join(changed[:3]) + (f" and {len(changed) - 3} more" if len(changed) > 3 else "")


def show_values(studio: Studio, form: Mapping[str, str]) -> str:
    """Show or hide the most frequent values of each column."""
    studio.values_shown = form.get("show") == "yes"
    return "/columns#roles"


def risk(studio: Studio, query: Mapping[str, str]) -> str:
    """Render the disclosure risk of the original table."""
    inspected = inspect_with_roles(studio, "risk")
    plan = studio.plan
    quasi = plan.names_of("quasi_identifier")
    # The search for special uniques is exponential in the number of columns.
    suda = _SPECIAL if len(quasi) <= _FEW_COLUMNS and inspected["rows"] <= _FEW_ROWS else None
    arguments = {
        "source": plan.source,
        **plan.second_table,
        "quasi_identifiers": quasi,
        "sensitive": plan.names_of("sensitive"),
        "person": plan.person,
        "sampling_fraction": plan.sampling_fraction,
        "suda": suda,
        "reading": plan.read_arguments,
    }
    found = studio.facts("risk", "Measuring the risk", jobs.measure_risk, arguments, back="/columns")
    from shoal.disclosure_risk import MEASURES

    return page(
        "risk.html.j2",
        studio,
        step="risk",
        found=found,
        measures={measure.name: measure for measure in MEASURES},
        percentage=_percentage(plan.sampling_fraction),
        equivalents=equivalents.of_risk(plan, suda=suda, output=studio.paths.free_folder()),
    )


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
    return "/risk"


def history(studio: Studio, query: Mapping[str, str]) -> str:
    """Render the list of changes."""
    plan = studio.plan
    shown = plan if plan.source else Plan(shown="FILE.csv")
    own = build_equivalents(studio, plan) if plan.decided else None
    looking = equivalents.of_inspecting(shown, output=studio.paths.free_folder())
    return page("history.html.j2", studio, step="history", equivalents=own or looking)


def go_back(studio: Studio, form: Mapping[str, str]) -> str:
    """Go back to an earlier plan, or forward to a later one."""
    step = form.get("step", "")
    # The length is checked first, because `int` refuses very long numbers with an error.
    if step.isdecimal() and len(step) < 6:
        studio.history.go_to(int(step))
    # Only known screens, so that a form cannot redirect to another site.
    known = [*(one for one, _ in STEPS[1:]), "series", "history", "review", "sheet"]
    back = form.get("back", "columns")
    return f"/{back}" if studio.plan.source and back in known else "/"


def spec_text(studio: Studio) -> str:
    """Write the spec file of the current plan."""
    return equivalents.spec_of(studio.plan, output=studio.paths.free_folder()) + "\n"
