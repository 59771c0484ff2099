"""The screen of opening a table or a project, and going back to an earlier plan; the worker computes everything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from shoal.errors import UsageError
from shoal.studio import equivalents
from shoal.studio.pages import page
from shoal.studio.plan import Plan
from shoal.studio.projects import PROJECT, REVIEW, Project, find_projects, load_project
from shoal.studio.rejected_forms import FieldError
from shoal.studio.screen_inputs import DEMO, hash_names, list_sheets, select_name
from shoal.studio.state import Studio
from shoal.studio.words import STEPS

_READING = ("sheet", "header_row", "delimiter", "encoding", "decimal")


def opening(studio: Studio, query: Mapping[str, str]) -> str:
    """Render the first screen, on which a table is opened."""
    sheets = list_sheets(studio, "open") if "reading" in query and studio.plan.readable else None
    shown, home = studio.plan if studio.plan.source else Plan(shown="FILE.csv"), studio.paths.home
    return page(
        "open.html.j2",
        studio,
        step="open",
        sheets=sheets,
        of=hash_names([name for name, *_ in sheets or ()]),
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
    reading = read_options(form)
    given = form.get("path", "")
    # The address of a database has a scheme, a path has none.
    if "://" in given:
        source, shown = studio.paths.database(given)
        return start_plan(studio, Plan(source=source, shown=shown, reading=reading))
    return open_table(studio, studio.paths.table(given), reading=reading)


def read_options(form: Mapping[str, str]) -> dict[str, str]:
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
    return "/table"


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
    return start_plan(studio, Plan(source=str(path), shown=shown, demo=demo, reading=reading or {}))


def _reset(studio: Studio) -> None:
    """Reset what was shown or requested of the previous table."""
    studio.values_shown, studio.levels, studio.folder = False, None, ""
    studio.ways, studio.attack, studio.together = "", None, None
    studio.for_series, studio.next_release = False, None


def start_plan(studio: Studio, plan: Plan) -> str:
    """Start a plan for a table; the table gets a project of its own once something is decided."""
    _reset(studio)
    studio.projects.pop(plan.source, None)
    studio.history.change(f"Opened {plan.shown}", **vars(plan))
    studio.remove_unused_uploads()
    # A registry opens the table of another quarter in order to publish it.
    return "/series" if studio.ledger else "/table"


def choose_reading(studio: Studio, form: Mapping[str, str]) -> str:
    """Choose the sheet of a workbook that holds the table, and how the file is read."""
    found, plan = [name for name, *_ in list_sheets(studio, "table")], studio.plan
    chosen = select_name(form, found, field="sheet")
    if chosen is None and len(found) > 1:
        raise UsageError("There is no such sheet. Choose one of the list.")
    # What the form does not have stays as it is.
    given = {**plan.reading, **{name: form[name] for name in _READING if name in form and name != "sheet"}}
    reading = read_options({**given, "sheet": chosen or ""})
    # Another sheet is another table, so the plan starts again.
    restarted = Plan(source=plan.source, shown=plan.shown, reading=reading) if reading != plan.reading else plan
    return start_plan(studio, restarted)


def go_back(studio: Studio, form: Mapping[str, str]) -> str:
    """Go back to an earlier plan, or forward to a later one."""
    step = form.get("step", "")
    # The length is checked first, because `int` refuses very long numbers with an error.
    if step.isdecimal() and len(step) < 6:
        studio.history.go_to(int(step))
    # Only known screens, so that a form cannot redirect to another site.
    known = [*(one for one, _ in STEPS), "compare", "attack", "series", "review"]
    back = form.get("back", "table")
    return f"/{back}" if studio.plan.source and back in known else "/"


def spec_text(studio: Studio) -> str:
    """Write the spec file of the current plan."""
    return equivalents.spec_of(studio.plan, output=studio.paths.free_folder()) + "\n"
