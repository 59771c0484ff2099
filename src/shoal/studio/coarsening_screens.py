"""Coarsenings of columns, and the editor of the hierarchy of one column, which is a part of the screen For whom."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.errors import UsageError
from shoal.studio.jobs import tables as jobs
from shoal.studio.plan import Plan
from shoal.studio.projects import create_tree, store_file
from shoal.studio.rejected_forms import FieldError
from shoal.studio.requests import arguments_in
from shoal.studio.screen_inputs import (
    check_form,
    measure_hierarchy,
    typed_decimal,
)
from shoal.studio.state import Studio
from shoal.studio.words import PROPOSALS
from shoal.wording.descriptions import describe_coarsening

_MAX_STEPS = 500
_TYPED = {one["how"]: one["fields"][0][0] for one in PROPOSALS if one["fields"]}
"""The field of each coarsening that is one number, or several."""


def check_coarsening(studio: Studio, coarsen: Mapping[str, str]) -> None:
    """Check the files that new coarsenings name; errors of their values appear when the screen counts the groups."""
    before = studio.plan
    for name, words in coarsen.items():
        # Files of hierarchies made in the studio need no check of their location.
        own = before.trees.get(name)
        if words != before.coarsen.get(name, "") and not (own is not None and words.startswith(f"level:{own.name}:")):
            studio.paths.check_named({"coarsen": {name: words}})


def describe_coarsenings(before: Plan, coarsen: Mapping[str, str]) -> list[str]:
    """Describe the coarsenings that differ from those of a plan."""
    changed = {name: words for name, words in coarsen.items() if words != before.coarsen.get(name, "")}
    return [f"{name}: {describe_coarsening(words)}" for name, words in changed.items()]


def try_goal(studio: Studio, *, later: bool = True) -> Any:
    """Try the goal: verdicts, groups, and a trial release; None while it is made, unless the page waits for it."""
    arguments = {"content": studio.plan.work}
    facts = studio.facts_later if later else studio.facts
    return facts("goal", "Trying the goal", jobs.try_goal, arguments, back="/table")


def picture_of_coarsening(studio: Studio, number: str) -> str | None:
    """Return the picture of a coarsening, such as a map; None if there is none."""
    if not studio.plan.decided or not number.isdecimal():
        return None
    seen = try_goal(studio, later=False)
    # The address has a number, because the names of columns are not part of addresses.
    pictures = [*seen["pictures"].values()]
    return pictures[int(number)] if len(number) < 6 and int(number) < len(pictures) else None


def shape_column(studio: Studio, columns: Sequence[Mapping[str, Any]], query: Mapping[str, str]) -> dict[str, Any]:
    """Collect the parts of the editor of a hierarchy: proposals, the loss of each level, and groups formed by hand."""
    names = studio.plan.coarsenable
    place = _parse_place(query["column"], len(names))
    name = names[place]
    tree = studio.plan.trees.get(name)
    found = None if tree is None else measure_hierarchy(studio, name, query)
    # Only the proposals that suit the kind of the column are offered.
    kind = next(one["kind"] for one in columns if one["name"] == name)
    return {
        "name": name,
        "place": place,
        "proposals": [one for one in PROPOSALS if kind in one["kinds"]],
        "tree": tree,
        "found": found,
        "level": _level_of(query, found),
        "find": query.get("find", ""),
        "by_hand": "level" in query,
    }


def _level_of(query: Mapping[str, str], found: Mapping[str, Any] | None) -> int:
    given = query.get("level", "1")
    highest = max(len(found["levels"]) - 2, 1) if found else 1
    return min(max(int(given), 1), highest) if given.isdecimal() and len(given) < 4 else 1


def _parse_place(given: str, count: int) -> int:
    if not (given.isdecimal() and len(given) < 6 and int(given) < count):
        raise UsageError("There is no such column among those that are published. Choose one on the screen For whom.")
    return int(given)


def change_shape(studio: Studio, form: Mapping[str, str]) -> str:
    """Propose a hierarchy, join some of its nodes, or add a level."""
    names = studio.plan.coarsenable
    check_form(form, names)
    place = _parse_place(form.get("column", ""), len(names))
    name = names[place]
    level = form.get("level", "1") if re.fullmatch(r"\d{1,3}", form.get("level", "1")) else "1"
    back = f"/goal?column={place}&level={level}#hand"
    do = form.get("do", "")
    if do == "propose":
        # A proposal replaces all earlier steps.
        step: dict[str, Any] = {"do": "propose", "how": form.get("how", "")}
        _store_steps(studio, name, (step,), f"{name}: a hierarchy was proposed")
        return f"/goal?column={place}#levels"
    tree = studio.plan.trees.get(name)
    if tree is None:
        return back
    if do == "level":
        step = {"do": "level", "level": int(level)}
        _store_steps(studio, name, (*tree.steps, step), f"{name}: a level more")
    elif do == "join":
        # The page numbers the nodes of a level; only the worker knows their names.
        chosen = [int(key.removeprefix("node-")) for key in form if re.fullmatch(r"node-\d{1,7}", key)]
        if not chosen:
            raise UsageError("Choose the values, or the groups, that belong together.")
        step = {"do": "join", "level": int(level), "nodes": chosen, "name": form.get("name", "").strip()[:200]}
        if not step["name"]:
            raise FieldError("Give the group a name: it is what is published.", field="name")
        _store_steps(studio, name, (*tree.steps, step), f"{name}: a group by hand")
    return back


def _store_steps(studio: Studio, name: str, steps: tuple[Mapping[str, Any], ...], changes: str) -> None:
    if len(steps) > _MAX_STEPS:
        raise UsageError("That are many steps. Save the hierarchy as a file, change the file, and open it here.")
    tree = create_tree(studio.paths, studio.plan, name, steps)
    studio.history.change(changes, trees={**studio.plan.trees, name: tree})


def use_level(studio: Studio, form: Mapping[str, str]) -> str:
    """Coarsen a column to a level of its hierarchy, or by what was typed: numbers, or words of a command."""
    names = studio.plan.coarsenable
    check_form(form, names)
    place = _parse_place(form.get("column", ""), len(names))
    name = names[place]
    words = form.get("words", "").strip()
    level = form.get("level", "")
    tree = studio.plan.trees.get(name)
    kind = form.get("how", "")
    if kind in _TYPED:
        words = f"{kind}:{typed_decimal(form.get(_TYPED[kind], ''))}"
    # Level 0 is the column itself: no coarsening.
    if not words and tree is not None and re.fullmatch(r"\d{1,3}", level):
        words = f"level:{tree.name}:{level}" if level != "0" else ""
    before, coarsen = studio.plan, {**studio.plan.coarsen, name: words}
    check_coarsening(studio, coarsen)
    arguments_in(replace(before, coarsen=coarsen).work)  # raises an error if the plan is invalid
    studio.history.change(", ".join(describe_coarsenings(before, coarsen)) or "Coarser", coarsen=coarsen)
    return f"/goal#c-{place}"


def add_file(studio: Studio, column: str, content: bytes) -> str:
    """Use an uploaded hierarchy in ARX's format, which has a line for each value."""
    names = studio.plan.coarsenable
    place = _parse_place(column, len(names))
    name = names[place]
    path = store_file(studio.paths, content)
    _store_steps(studio, name, ({"do": "file", "path": str(path)},), f"{name}: a hierarchy from a file")
    return f"/goal?column={place}"


def hierarchy_file(studio: Studio, name: str) -> Path | None:
    """Find the file of a hierarchy made in the studio; None if there is none of that name."""
    found = next((tree.path for tree in studio.plan.trees.values() if tree.name == name), None)
    return None if found is None or not Path(found).is_file() else Path(found)
