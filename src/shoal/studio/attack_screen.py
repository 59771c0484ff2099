"""The screen of attacks: results of an adversary who knows all quasi-identifiers, compared with a baseline."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.errors import ShoalError, UsageError
from shoal.studio import equivalents
from shoal.studio.attack_choice import ATTACKS_OF_PLAN, choose_attacks, explain_left_out
from shoal.studio.jobs import attacks as jobs
from shoal.studio.pages import page
from shoal.studio.plan import LINKED
from shoal.studio.requests import arguments_in
from shoal.studio.screen_inputs import hash_names, hash_plan, inspect_with_roles, select_name
from shoal.studio.state import Studio

_PLAIN = (
    "The attacks of the command line take dates as 2025-12-31, numbers as 3.14, names of columns in the first "
    "row and values as they are: write yours so for them. The program below reads them as you do here."
)
"""Note for tables that are not read as they are."""
_MAX_TOGETHER = 12
"""Maximum number of releases attacked together."""
_LARGEST_CERTIFICATE = 20_000_000
"""Maximum size in bytes of a certificate that is read."""


def attacks(studio: Studio, query: Mapping[str, str]) -> str:
    """Render the screen; attacks run only on request, because each takes as long as a release."""
    inspected = inspect_with_roles(studio, "attack")
    plan = studio.plan
    asked = studio.attack
    found = _run_attacks(studio) if asked is not None and asked["plan"] == _hash_attacked(studio) else None
    together = None if studio.together is None else _run_joint_attack(studio)
    from shoal.attacks import ATTACKS
    from shoal.report import describe_attack, list_column_rates

    link = bool(plan.person) and plan.treatment == LINKED
    options = {"link": link, "sensitive": bool(plan.names_of("sensitive"))}
    named = _find_identifiers(studio, inspected)
    is_changed = plan.replaced or plan.derived or "header_row" in plan.reading
    return page(
        "attack.html.j2",
        studio,
        step="attack",
        found=found,
        together=together,
        known=ATTACKS,
        describe=describe_attack,
        column_rates=list_column_rates,
        named=named,
        of=hash_names(named),
        runs=choose_attacks(ATTACKS_OF_PLAN, **options),
        left_out=explain_left_out(ATTACKS_OF_PLAN, **options),
        sensitive=plan.names_of("sensitive"),
        asked=studio.attack or {"identifier": "", "others": "", "learn": "yes"},
        asked_together=studio.together or {"releases": [], "tables": [], "identifier": ""},
        releases=_list_releases(studio),
        tables=[one.name for one in studio.paths.listed()],
        written=_find_written_release(studio),
        note=_PLAIN if is_changed or _has_other_formats(inspected) else "",
        equivalents=_build_equivalents(studio),
    )


def _find_identifiers(studio: Studio, inspected: Mapping[str, Any]) -> list[str]:
    """Find the columns that can name the people of a population: the column of persons, else those without repeats."""
    plan = studio.plan
    if plan.person:
        return [plan.person]
    unique = {one["name"] for one in inspected["columns"] if one["distinction"] == 1 and not one["missing"]}
    return [name for name in plan.identifiers if name in unique]


def _has_other_formats(inspected: Mapping[str, Any]) -> bool:
    """Check whether the attack commands would read dates or numbers of the table as text."""
    # ISO dates and decimal points are read correctly without options.
    dated = any(one["date_format"] not in (None, "%Y-%m-%d") for one in inspected["columns"])
    return dated or inspected.get("decimal") is not None


def _find_written_release(studio: Studio) -> Path | None:
    """Return the folder of the last release if it was made from the current plan, else None."""
    # A release of an earlier plan does not show what the current plan achieves.
    made = studio.publication
    if made is None or made.plan.work != studio.plan.work:
        return None
    done = studio.worker.outcome(made.key)
    return None if done is None or done.error is not None or not made.folder.is_dir() else made.folder


def _run_attacks(studio: Studio) -> Any:
    """Return the results of the attacks on the written release or, if there is none, on one made for the purpose."""
    # Without a written release, the worker makes one from the plan.
    asked, folder = studio.attack or {}, _find_written_release(studio)
    others = asked.get("others", "")
    arguments = {
        "content": studio.plan.work,
        "folder": None if folder is None else str(folder),
        "identifier": asked.get("identifier", ""),
        "others": str(studio.paths.table(others)) if others else "",
        "learn": asked.get("learn") == "yes",
    }
    return studio.facts("attack", "Attacking the release", jobs.attack, arguments, back="/attack")


def _run_joint_attack(studio: Studio) -> Any:
    asked: Mapping[str, Any] = studio.together or {}
    home = studio.paths.home
    # A release without a table of its own was made from the open one.
    tables = [str(studio.paths.table(one)) if one else studio.plan.source for one in asked["tables"]]
    arguments = {
        "content": studio.plan.work,
        "releases": [str(home / one) for one in asked["releases"]],
        "tables": tables,
        "identifier": asked["identifier"],
    }
    return studio.facts("attack", "Attacking several releases together", jobs.intersect, arguments, back="/attack")


def set_attack(studio: Studio, form: Mapping[str, str]) -> str:
    """Request attacks on the release."""
    identifier = select_name(form, _named(studio)) or ""
    # Validate now, so that the error appears at the form and not when the job runs.
    others = form.get("others", "").strip()
    if others:
        studio.paths.table(others)
    arguments_in(studio.plan.work)  # raises an error if the plan is invalid
    learn = "yes" if form.get("learn") else "no"
    studio.attack = {"identifier": identifier, "others": others, "learn": learn, "plan": _hash_attacked(studio)}
    return "/attack"


def _hash_attacked(studio: Studio) -> str:
    return hash_plan(studio.plan.work, _find_written_release(studio))


def _named(studio: Studio) -> list[str]:
    return _find_identifiers(studio, inspect_with_roles(studio, "attack"))


def set_together(studio: Studio, form: Mapping[str, str]) -> str:
    """Request an attack on several releases together."""
    known = [one["name"] for one in _list_releases(studio)]
    chosen = [at for at, _ in enumerate(known) if f"release-{at}" in form]
    # The form numbers the releases, so its list must be the current one.
    if form.get("releases", "") != "|".join(known):
        raise UsageError("The releases of the folder have changed since that page was made. Load it again.")
    if not 2 <= len(chosen) <= _MAX_TOGETHER:
        raise UsageError(f"Choose two releases or more, at most {_MAX_TOGETHER}.")
    identifier = select_name(form, _named(studio))
    if identifier is None:
        raise UsageError("Say which column names each person: without one no one is known to be the same.")
    tables = [form.get(f"table-{at}", "") for at in chosen]
    for one in tables:
        if one:
            studio.paths.table(one)
    studio.together = {"releases": [known[at] for at in chosen], "tables": tables, "identifier": identifier}
    return "/attack#together"


def _list_releases(studio: Studio) -> list[dict[str, Any]]:
    """List the releases of the start folder that have the quasi-identifiers and sensitive columns of the plan."""
    plan, found = studio.plan, []
    # The certificate states the columns; private folders have one too, but hold no release.
    for folder in studio.paths.folders():
        path = folder / "certificate.json"
        if folder.name.endswith(".private") or not path.is_file() or path.stat().st_size > _LARGEST_CERTIFICATE:
            continue
        try:
            # Files that are not certificates of a release are skipped.
            columns = json.loads(path.read_text(encoding="utf-8")).get("columns") or {}
            same_columns = set(columns.get("quasi_identifiers") or ()) == set(plan.names_of("quasi_identifier"))
        except (OSError, ValueError, AttributeError, TypeError, RecursionError):
            continue
        if same_columns and list(columns.get("sensitive") or ()) == plan.names_of("sensitive"):
            found.append({"name": folder.name})
    return found


def _build_equivalents(studio: Studio) -> equivalents.Equivalents | None:
    # Commands name the written release, or the folder into which it would be written.
    folder = _find_written_release(studio)
    named = studio.paths.free_folder() if folder is None else folder.name
    try:
        return equivalents.of_attacking(
            studio.plan,
            asked=studio.attack or {},
            together=studio.together,
            output=named,
            made=folder is not None,
        )
    except ShoalError:
        return None
