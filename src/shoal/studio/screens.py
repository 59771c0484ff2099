"""The screens: what each shows, and what its form changes. Whatever is computed is computed by the worker."""

from __future__ import annotations

import hashlib
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import ShoalError, UsageError
from shoal.studio import jobs, same
from shoal.studio.pages import page
from shoal.studio.plan import Plan
from shoal.studio.state import OrderedRelease, Studio, Waiting
from shoal.studio.words import FILES, GOALS, ROLES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "cancel",
    "coarser",
    "columns",
    "go_back",
    "goal",
    "history",
    "looked_at",
    "meaning_of",
    "open_demo",
    "open_path",
    "opened",
    "opening",
    "publish",
    "publishing",
    "released",
    "risk",
    "set_coarser",
    "set_columns",
    "set_fraction",
    "set_goal",
    "show_values",
    "spec_text",
]

DEMO = "patients.csv"
"""The made-up table that comes along."""
_READING = ("sheet", "delimiter", "encoding", "decimal")
_SPECIAL = 3
"""Columns that special uniques may have, at most."""
_FEW_COLUMNS, _FEW_ROWS = 12, 100_000
"""Tables of more are not searched for special uniques: that takes too long to wait for."""
_BACK = ("/", "/columns", "/risk", "/goal", "/coarser", "/compare", "/publish")
DATE_FORMS = ("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%m.%d.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y-%m-%d")


def opening(studio: Studio, query: Mapping[str, str]) -> str:
    """Return the first screen, which asks for the table."""
    shown = studio.plan if studio.plan.source else Plan(shown="FILE.csv")
    return page(
        "open.html.j2",
        studio,
        step="open",
        tables=studio.places.listed(),
        home=studio.places.home,
        same=same.of_inspecting(shown, studio.requests, output=studio.places.free_folder()),
    )


def open_path(studio: Studio, form: Mapping[str, str]) -> str:
    """Open a table by its path."""
    reading = {name: form[name].strip() for name in _READING if form.get(name, "").strip()}
    opened(studio, studio.places.table(form.get("path", "")), reading=reading)
    return "/columns"


def open_demo(studio: Studio, form: Mapping[str, str]) -> str:
    """Open the made-up table that comes along."""
    opened(studio, studio.places.kept(DEMO), demo=True)
    return "/columns"


def opened(studio: Studio, path: Path, *, reading: Mapping[str, str] | None = None, demo: bool = False) -> None:
    """Begin with a table."""
    home = studio.places.home
    if studio.places.is_kept(path):
        shown = path.name
    else:
        shown = str(path.relative_to(home) if path.is_relative_to(home) else path)
    plan = Plan(source=str(path), shown=shown, demo=demo, reading=reading or {})
    studio.values_shown, studio.levels = False, None
    studio.history.change(f"Opened {shown}", **vars(plan))


def looked_at(studio: Studio, step: str) -> Any:
    """Return what an inspection found of the table, or what comes first."""
    plan = studio.plan
    if not plan.source:
        return Waiting(path="/")
    arguments = {
        "source": plan.source,
        "demo": DEMO if plan.demo else None,
        "reading": plan.read_arguments,
        "show_values": studio.values_shown,
    }
    return studio.facts(step, f"Looking at {plan.shown}", jobs.look, arguments, back="/")


def columns(studio: Studio, query: Mapping[str, str]) -> str | Waiting:
    """Return the screen of the columns: what they hold, and who could know it."""
    found = looked_at(studio, "columns")
    if isinstance(found, Waiting):
        return found
    from shoal.report.inspection_page import how_it_was_read

    unclear = {
        one["column"]: one["code"] for one in found["warnings"] if one["code"] in ("ambiguous_dates", "unread_dates")
    }
    return page(
        "columns.html.j2",
        studio,
        step="columns",
        found=found,
        roles=ROLES,
        chosen={one["name"]: studio.plan.roles.get(one["name"], one["role"]) for one in found["columns"]},
        unclear=unclear,
        forms=DATE_FORMS,
        checked=query.get("check") == "all",
        of=_mark([one["name"] for one in found["columns"]]),
        read=how_it_was_read(found),
        same=same.of_inspecting(studio.plan, studio.requests, output=studio.places.free_folder()),
    )


def _mark(names: Sequence[str]) -> str:
    """Return what tells a list of columns from others: fields of forms are numbered, and a page may be an old one."""
    return hashlib.sha256(json.dumps([*names]).encode()).hexdigest()[:16]


def _check_mark(form: Mapping[str, str], names: Sequence[str]) -> None:
    """Refuse a form that was made for other columns.

    Raises
    ------
    UsageError
        Where it was.
    """
    if form.get("of", "") != _mark(names):
        raise UsageError("That page was made for other columns: another window has changed them since. Load it again.")


def set_columns(studio: Studio, form: Mapping[str, str]) -> str:
    """Give the columns the roles of a form."""
    found = looked_at(studio, "columns")
    if isinstance(found, Waiting):
        return "/columns"
    _check_mark(form, [one["name"] for one in found["columns"]])
    before = studio.plan
    known = [role.name for role in ROLES]
    roles, dates = {}, dict(before.dates)
    several = form.get("several") if form.get("do") == "several" else None
    for place, column in enumerate(found["columns"]):
        name = column["name"]
        role = form.get(f"role-{place}", column["role"])
        if several in known and f"check-{place}" in form:
            role = several
        roles[name] = role if role in known else column["role"]
        if form.get(f"date-{place}", "").strip():
            dates[name] = form[f"date-{place}"].strip()
    said = {name for name, form_ in dates.items() if before.dates.get(name) != form_}  # another proposal follows
    proposed = {one["name"]: one["coarsen"] or "" for one in found["columns"]}
    models = before.privacy if "sensitive" in roles.values() else {"k": before.privacy.get("k", "5")}
    missing = any(one["missing"] and roles[one["name"]] == "sensitive" for one in found["columns"])
    studio.history.change(
        _what_changed(before.roles, roles),
        roles={name: role for name, role in roles.items() if name not in said},
        dates=dates,
        privacy=models,
        coarsen={name: words for name, words in {**proposed, **before.coarsen}.items() if name not in said},
        missing_sensitive="value" if missing and before.missing_sensitive == "error" else before.missing_sensitive,
    )
    if several is not None or dates != before.dates:
        return "/columns"
    if not studio.plan.decided:
        raise UsageError(
            "No column is one that others may know. Choose that for at least one: if nobody knew anything of the "
            "people in the table, there would be nothing to protect."
        )
    return "/risk"


def _what_changed(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    titles = {role.name: role.title for role in ROLES}
    changed = [f"{name}: {titles[role]}" for name, role in after.items() if before and before.get(name) != role]
    if not before or not changed:
        return "Looked at the columns"
    return ", ".join(changed[:3]) + (f" and {len(changed) - 3} more" if len(changed) > 3 else "")


def show_values(studio: Studio, form: Mapping[str, str]) -> str:
    """Show the most frequent values of each column, or hide them again."""
    studio.values_shown = form.get("show") == "yes"
    return "/columns"


def risk(studio: Studio, query: Mapping[str, str]) -> str | Waiting:
    """Return the screen of the risk as it is now."""
    looked = looked_at(studio, "risk")
    if isinstance(looked, Waiting):
        return looked
    plan = studio.plan
    if not plan.decided:
        return Waiting(path="/columns")
    quasi = plan.names_of("quasi_identifier")
    suda = _SPECIAL if len(quasi) <= _FEW_COLUMNS and looked["rows"] <= _FEW_ROWS else None
    arguments = {
        "source": plan.source,
        "quasi_identifiers": quasi,
        "sensitive": plan.names_of("sensitive"),
        "sampling_fraction": plan.sampling_fraction,
        "suda": suda,
        "reading": plan.read_arguments,
    }
    found = studio.facts("risk", "Measuring the risk", jobs.measure, arguments, back="/columns")
    if isinstance(found, Waiting):
        return found
    return page(
        "risk.html.j2",
        studio,
        step="risk",
        found=found,
        measures=_measures(),
        percentage=_percentage(plan.sampling_fraction),
        same=same.of_risk(plan, studio.requests, suda=suda, output=studio.places.free_folder()),
    )


def _measures() -> Mapping[str, Any]:
    from shoal.disclosure_risk import MEASURES

    return {measure.name: measure for measure in MEASURES}


def _percentage(fraction: str) -> str:
    return f"{Decimal(fraction) * 100:f}".rstrip("0").rstrip(".") if fraction else ""


def set_fraction(studio: Studio, form: Mapping[str, str]) -> str:
    """Say which share of the population is in the table."""
    given = form.get("fraction", "").strip().removesuffix("%").strip()
    share = Decimal(given) / 100 if re.fullmatch(r"\d{1,3}(\.\d{1,12})?", given) else Decimal(0)
    if given and not 0 < share <= 1:
        raise UsageError("The share of the population must be a number above 0 and at most 100 percent.")
    fraction = f"{share:f}" if given else ""
    studio.history.change(f"Share of the population: {given or 'not known'}", sampling_fraction=fraction)
    return "/risk"


def goal(studio: Studio, query: Mapping[str, str]) -> str | Waiting:
    """Return the screen of the goal: for whom, and how safe."""
    looked = looked_at(studio, "goal")
    if isinstance(looked, Waiting):
        return looked
    plan = studio.plan
    if not plan.decided:
        return Waiting(path="/columns")
    sensitive = plan.names_of("sensitive")
    missing = sum(one["missing"] for one in looked["columns"] if one["name"] in sensitive)
    return page(
        "goal.html.j2",
        studio,
        step="goal",
        goals=GOALS,
        sensitive=sensitive,
        missing=missing,
        sentences=_promises(studio, plan),
        same=_same_release(studio, plan),
    )


def set_goal(studio: Studio, form: Mapping[str, str]) -> str:
    """Ask for the models of a form."""
    changed = _with_goal(studio.plan, form)
    studio.requests.arguments(Plan(**{**vars(studio.plan), **changed}).content())  # says what is wrong with it
    told = ", ".join(f"{name} = {value}" for name, value in changed["privacy"].items())
    studio.history.change(f"Goal: {told}", **changed)
    return "/coarser"


def meaning_of(studio: Studio, form: Mapping[str, str]) -> list[str]:
    """Return what the goal of a form promises to one person, without taking it over."""
    return _promises(studio, Plan(**{**vars(studio.plan), **_with_goal(studio.plan, form)}))


def _with_goal(plan: Plan, form: Mapping[str, str]) -> dict[str, Any]:
    names = ("k", "l", "t") if plan.names_of("sensitive") else ("k",)
    privacy = {name: form[name].strip() for name in names if form.get(name, "").strip()}
    if not privacy:
        raise UsageError("Ask for something: the smallest group (k), at least.")
    return {
        "privacy": privacy,
        "recoding": form.get("recoding", plan.recoding),
        "missing_sensitive": form.get("missing_sensitive", plan.missing_sensitive),
    }


def _promises(studio: Studio, plan: Plan) -> list[str]:
    """Return what the models of a plan promise to one person."""
    from shoal.report import promise

    models = studio.requests.arguments(plan.content())["privacy"]
    return [promise(model.to_dict(), plan.names_of("sensitive")) for model in models]


def _same_release(studio: Studio, plan: Plan) -> same.Same | None:
    """Return what makes the release; None where something of it is still wrong, as its screen says when it is sent."""
    try:
        return same.of_publishing(plan, studio.requests, output=studio.places.free_folder())
    except ShoalError:
        return None


def coarser(studio: Studio, query: Mapping[str, str]) -> str | Waiting:
    """Return the screen of the columns that are made coarser, with what that does to the groups."""
    looked = looked_at(studio, "coarser")
    if isinstance(looked, Waiting):
        return looked
    plan = studio.plan
    if not plan.decided:
        return Waiting(path="/columns")
    common = {"arguments": studio.requests.arguments, "k": _k_of(plan)}
    plain = Plan(**{**vars(plan), "coarsen": {}}).content(source=plan.source)
    offered = studio.facts(
        "coarser",
        "Finding what fits each column",
        jobs.rungs,
        {"content": plain, "arguments": studio.requests.arguments},
        back="/goal",
    )
    if isinstance(offered, Waiting):
        return offered
    content = plan.content(source=plan.source)
    seen = studio.facts("coarser", "Counting the groups", jobs.preview, {"content": content, **common}, back="/goal")
    if isinstance(seen, Waiting):
        return seen
    return page(
        "coarser.html.j2",
        studio,
        step="coarser",
        offered=_with_own(offered, plan),
        seen=seen,
        of=_mark(plan.names_of("quasi_identifier")),
        most=_with_most_values(offered, plan),
        k=_k_of(plan),
        same=_same_release(studio, plan),
    )


def _with_most_values(offered: Mapping[str, list[list[Any]]], plan: Plan) -> list[str]:
    """Return the two columns that have the most values as they are coarsened now."""
    left = {name: dict(rungs).get(plan.coarsen.get(name, "")) or 0 for name, rungs in offered.items()}
    return sorted(left, key=lambda name: -left[name])[:2]


def _with_own(offered: Mapping[str, list[list[Any]]], plan: Plan) -> dict[str, list[list[Any]]]:
    """Return the offers, with a choice of the plan's own that is none of them."""
    found = {}
    for name, rungs in offered.items():
        own = plan.coarsen.get(name, "")
        found[name] = rungs if own in [words for words, _ in rungs] else [*rungs, [own, None]]
    return found


def _k_of(plan: Plan) -> int:
    given = plan.privacy.get("k", "")
    return max(int(given), 1) if given.isdecimal() else 5


def set_coarser(studio: Studio, form: Mapping[str, str]) -> str:
    """Make the columns of a form coarser."""
    names = studio.plan.names_of("quasi_identifier")
    _check_mark(form, names)
    coarsen = dict(studio.plan.coarsen)
    for place, name in enumerate(names):
        typed = form.get(f"own-{place}", "").strip()
        coarsen[name] = typed or form.get(f"coarsen-{place}", coarsen.get(name, ""))
    changed = Plan(**{**vars(studio.plan), "coarsen": coarsen})
    studio.requests.arguments(changed.content())  # says what is wrong with it
    told = [
        f"{name}: {coarsen[name] or 'as it is'}" for name in names if coarsen[name] != studio.plan.coarsen.get(name, "")
    ]
    studio.history.change(", ".join(told[:3]) or "Coarser", coarsen=coarsen)
    return {"preview": "/coarser", "compare": "/compare"}.get(form.get("do", ""), "/publish")


def publishing(studio: Studio, query: Mapping[str, str]) -> str | Waiting:
    """Return the screen before a release is made: everything that was decided, in sentences."""
    plan = studio.plan
    if studio.publication is not None and studio.workshop.job is not None and studio.workshop.job.lasting:
        return Waiting(step="publish", job=studio.workshop.job, back="/publish")
    looked = looked_at(studio, "publish")
    if isinstance(looked, Waiting):
        return looked
    if not plan.decided:
        return Waiting(path="/columns")
    return page(
        "publish.html.j2",
        studio,
        step="publish",
        folder=studio.places.free_folder(),
        home=studio.places.home,
        roles=[(role, plan.names_of(role.name)) for role in ROLES],
        sentences=_promises(studio, plan),
        same=_same_release(studio, plan),
        ended=_ended(studio, query),
        last=_last(studio),
        rows=looked["rows"],
    )


def _last(studio: Studio) -> str | None:
    """Return the folder of the last release, where there is one."""
    done = None if studio.publication is None else studio.workshop.outcome(studio.publication.key)
    return (
        studio.publication.folder.name
        if studio.publication is not None and done is not None and not done.error
        else None
    )


def _ended(studio: Studio, query: Mapping[str, str]) -> str | None:
    """Return how the last release ended, where there is something to say."""
    if studio.publication is None:
        return None
    if query.get("ended") == "cancelled":
        return "Stopped. Nothing was written."
    done = studio.workshop.outcome(studio.publication.key)
    return None if done is None or query.get("ended") != "failed" else done.error


def publish(studio: Studio, form: Mapping[str, str]) -> str:
    """Start making the release."""
    plan = studio.plan
    if not plan.decided:
        return "/columns"
    folder = studio.places.folder(form.get("folder", ""))
    content = plan.content(source=plan.source)
    studio.requests.arguments(content)  # says what is wrong with it
    studio.count += 1
    key = f"publish:{studio.count}"
    arguments = {"content": content, "arguments": studio.requests.arguments, "folder": str(folder)}
    started = studio.workshop.start(key, f"Making the release “{folder.name}”", jobs.publish, arguments, lasting=True)
    if not started:
        raise UsageError("Another release is being made. Wait for it, or stop it.")
    studio.publication = OrderedRelease(key=key, folder=folder, plan=plan)
    return "/release"


def released(studio: Studio, query: Mapping[str, str]) -> str | Waiting:
    """Return the screen of a release: what was achieved, what it cost, what may leave."""
    made = studio.publication
    if made is None:
        return Waiting(path="/publish")
    job = studio.workshop.job
    if job is not None and job.key == made.key:
        return Waiting(step="publish", job=job, back="/publish")
    done = studio.workshop.outcome(made.key)
    if done is None:
        return Waiting(path="/publish")
    if done.error is not None:
        return Waiting(path="/publish?ended=failed")
    from shoal.report import achieved_for, model_title, promise

    certificate = done.facts["certificate"]
    sensitive = made.plan.names_of("sensitive")
    return page(
        "release.html.j2",
        studio,
        step="publish",
        made=made,
        facts=done.facts,
        certificate=certificate,
        files=FILES,
        promises=[
            (model_title(one), promise(one, sensitive), achieved_for(one, certificate["achieved"]))
            for one in certificate["requested"]
        ],
        same=same.of_publishing(made.plan, studio.requests, output=made.folder.name),
    )


def cancel(studio: Studio, form: Mapping[str, str]) -> str:
    """Stop what runs."""
    stopped = studio.workshop.cancel()
    made = studio.publication
    if stopped is not None and made is not None and stopped.key == made.key:
        if made.folder.exists():  # it had its name already: that cannot be undone
            raise UsageError(
                f"The release was in place already, in the folder '{made.folder.name}', when it was stopped: it is "
                "whole and verified. Remove the folder and the private one beside it if you do not want it."
            )
        return "/publish?ended=cancelled"
    if stopped is not None and stopped.key.startswith(f"{jobs.compare.__name__}:"):
        studio.levels = None
    back = form.get("back", "/")
    return back if back in _BACK else "/"


def history(studio: Studio, query: Mapping[str, str]) -> str:
    """Return the list of changes."""
    plan = studio.plan
    shown = plan if plan.source else Plan(shown="FILE.csv")
    own = _same_release(studio, plan) if plan.decided else None
    looking = same.of_inspecting(shown, studio.requests, output=studio.places.free_folder())
    return page("history.html.j2", studio, step="history", same=own or looking)


def go_back(studio: Studio, form: Mapping[str, str]) -> str:
    """Let an earlier, or a later, change hold."""
    step = form.get("step", "")
    if step.isdecimal() and len(step) < 6:
        studio.history.go_to(int(step))
    return "/columns" if studio.plan.source else "/"


def spec_text(studio: Studio) -> str:
    """Return the spec file of what was decided so far."""
    return same.spec_of(studio.plan.content(output=studio.places.free_folder())) + "\n"
