"""Project files: the request and the history of a table in the studio's folder, so that closing loses nothing.

`NAME.shoal.toml` is a spec file (`shoal anonymize --spec`) with a section `studio` that only the studio reads. Only its
owner can read it: it holds no record of the table, but names of columns, and the values that were grouped by hand.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path, PurePath
from typing import Any, get_type_hints

from shoal._core.outcome import reason_of
from shoal._core.private_files import write_private_text
from shoal.errors import UsageError
from shoal.request.notation import toml_lines
from shoal.studio.allowed_paths import AllowedPaths
from shoal.studio.plan import History, Plan, ShapedTree


def create_tree(paths: AllowedPaths, plan: Plan, name: str, steps: tuple[Mapping[str, Any], ...]) -> ShapedTree:
    """Create the record of a hierarchy; the path of its file is determined by the table, the column and the steps."""
    made_of = json.dumps([plan.source, plan.reading, name, steps], sort_keys=True, default=dict)
    key = hashlib.sha256(made_of.encode()).hexdigest()[:16]
    plain = re.sub(r"[^\w.-]+", "-", name).strip(".-")[:60] or "column"
    # Commands refer to the file by name only, so names must differ between columns.
    taken = {one.name for other, one in plan.trees.items() if other != name}
    names = [f"{plain}.hierarchy.csv", *(f"{plain}-{number}.hierarchy.csv" for number in range(2, 5_000))]
    called = next(one for one in names if one not in taken)
    return ShapedTree(steps=steps, path=str(paths.create_hierarchy_path(key, called)))


def store_file(paths: AllowedPaths, content: bytes) -> Path:
    """Write an uploaded hierarchy.

    The path depends on the content, so that undoing an upload finds the earlier file unchanged.
    """
    key = hashlib.sha256(content).hexdigest()[:16]
    path = paths.create_hierarchy_path(f"from-{key}", "hierarchy.csv")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


PROJECT = ".shoal.toml"
"""File name ending of projects."""
REVIEW = ".shoal-review.toml"
"""File name ending of saved reviews."""
_VERSION = 1
_HEAD = "# Made by shoal studio, which opens it again. It is also a request: shoal anonymize --spec FILE -o OUT"
_PLACES = ("source", "shown", "demo")
"""Fields of a plan that locate its table; they are stored once, because a project has one table."""
_FOUND = (*_PLACES, "second")
"""Fields that are never read from a project, because their paths are checked when it is opened."""
_FILE, _DATABASE, _DEMO, _DROPPED = "file", "database", "demo", "dropped"
"""Where the table of a project is."""
_MAX_LISTED = 20
_MAX_MEGABYTES = 50
"""Size of a project that is read; a project has the content of its hierarchies once for each step that changed them."""
_DAMAGED = "It is not a project of this version of the studio, or it was changed by hand and is damaged."


@dataclass(frozen=True, kw_only=True)
class Project:
    """A stored project: the plans since its table was opened."""

    name: str
    """Its file name."""
    steps: list[tuple[str, Plan]]
    """The plans, each with the description of its change; the source is empty if the table must be dropped again."""
    at: int
    """Index of the current plan."""


def name_project(paths: AllowedPaths, shown: str, *, ending: str = PROJECT) -> str:
    """Find an unused name for the project of a table, beginning with the name of the table."""
    stem = PurePath(shown.rpartition("::")[2] if "://" in shown else shown).name.partition(".")[0]
    plain = re.sub(r"[^\w -]+", "-", stem)[:60].strip(" -") or "project"
    names = (f"{plain}{ending}" if count == 1 else f"{plain}-{count}{ending}" for count in range(1, 10_000))
    return next(name for name in names if not os.path.lexists(paths.home / name))


def project_text(paths: AllowedPaths, history: History) -> str:
    """Write the current plan as a spec file, and the history of its table in the section of the studio."""
    plan = history.plan
    # A project has one table: the plans before it was opened, or after another was opened, are not a part of it.
    place = [getattr(plan, name) for name in _PLACES]
    own = [at for at, (_, one) in enumerate(history.steps) if [getattr(one, name) for name in _PLACES] == place]
    # The plans of the same table before and after the current one, without a gap.
    first = history.at
    while first - 1 in own:
        first -= 1
    last = history.at
    while last + 1 in own:
        last += 1
    kind = _DEMO if plan.demo else _DATABASE if "://" in plan.source else _FILE
    if kind == _FILE and paths.is_upload(Path(plan.source)):
        kind = _DROPPED
    # Each step holds only what it changed; the first one starts from an empty plan.
    steps, before = [], _plain(Plan())
    for words, one in history.steps[first : last + 1]:
        after = _plain(one)
        changes = {name: value for name, value in after.items() if value != before[name]}
        steps.append(json.dumps([words, changes], ensure_ascii=False))
        before = after
    kept = {"version": _VERSION, "table": plan.shown, "place": kind, "at": history.at - first, "steps": steps}
    return "\n".join([_HEAD, *toml_lines({**plan.content(), "studio": kept})]) + "\n"


def write_project(path: Path, text: str) -> None:
    """Write a project so that it is complete at any time, and only its owner can read it.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    write_private_text(path, text)


def find_projects(home: Path, *, ending: str = PROJECT) -> list[Path]:
    """List the projects of a folder, or other files with an ending, the newest first."""
    # A symbolic link could lead out of the folder.
    with os.scandir(home) as entries:
        found = [
            (entry.stat().st_mtime, Path(entry.path))
            for entry in entries
            if entry.name.endswith(ending) and entry.name.isprintable() and entry.is_file(follow_symlinks=False)
        ]
    return [path for _, path in sorted(found, reverse=True)][:_MAX_LISTED]


def read_saved(path: Path, *, most: int) -> str:
    """Read a saved project or review of at most some megabytes.

    Raises
    ------
    UsageError
        If it is larger.
    OSError, UnicodeDecodeError
        If it cannot be read, or is not text in UTF-8.
    """
    # Files may come from others, and a larger one would take all memory.
    with path.open("rb") as file:
        content = file.read(most * 1_000_000 + 1)
    if len(content) > most * 1_000_000:
        raise UsageError(f"The file is larger than {most} MB: it was not saved by the studio.")
    return content.decode()


def load_project(paths: AllowedPaths, name: str) -> Project:
    """Load a project of the studio's folder, and find its table.

    Raises
    ------
    UsageError
        If there is no such project, it is damaged, or its table is gone.
    """
    import msgspec

    path = next((one for one in find_projects(paths.home) if one.name == name), None)
    if path is None:
        raise UsageError("There is no such project in this folder.")
    # The project is parsed first, then its table is found, then the changes are applied one by one.
    try:
        content = tomllib.loads(read_saved(path, most=_MAX_MEGABYTES))["studio"]
        if content["version"] != _VERSION:
            raise UsageError(_DAMAGED)
        place, shown = content["place"], str(content["table"])
        steps = [json.loads(one) for one in content["steps"]]
        at = int(content["at"])
    except UsageError:
        raise
    except OSError as error:
        raise UsageError(f"The project cannot be read: {reason_of(error)}.") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(_DAMAGED) from error
    plan = _opened(paths, place, shown)
    found: list[tuple[str, Plan]] = []
    for step in steps:
        try:
            words, changes = step
            if not isinstance(words, str):
                raise ValueError(words)
            plan = _changed(paths, plan, changes)
        except (ValueError, KeyError, TypeError, AttributeError, msgspec.ValidationError) as error:
            raise UsageError(_DAMAGED) from error
        found.append((words, plan))
    if not 0 <= at < len(found):
        raise UsageError(_DAMAGED)
    return Project(name=name, steps=found, at=at)


def _opened(paths: AllowedPaths, place: str, shown: str) -> Plan:
    """Make the plan of an opened table, with the checks of a typed path."""
    if place == _DROPPED:
        return Plan(shown=PurePath(shown).name)
    if place == _DEMO:
        return Plan(source=str(paths.create_upload_path(shown)), shown=PurePath(shown).name, demo=True)
    if place == _DATABASE:
        source, shown = paths.database(shown)
        return Plan(source=source, shown=shown)
    return Plan(source=str(paths.table(shown)), shown=shown)


def _plain(plan: Plan) -> dict[str, Any]:
    """Return the fields of a plan as plain values; hierarchies are their editing steps, with the content of files."""
    found: dict[str, Any] = {one.name: getattr(plan, one.name) for one in fields(plan) if one.name not in _FOUND}
    return {**found, "trees": {name: [*map(_plain_step, tree.steps)] for name, tree in plan.trees.items()}}


def _plain_step(step: Mapping[str, Any]) -> dict[str, Any]:
    file = Path(step["path"]) if step["do"] == "file" else None
    if file is None or not file.is_file():
        return dict(step)
    return {"do": "file", "content": base64.b64encode(file.read_bytes()).decode()}


def _changed(paths: AllowedPaths, plan: Plan, changes: Mapping[str, Any]) -> Plan:
    """Change fields of a plan; a project may come from someone else, so every value is checked."""
    import msgspec

    # Values must have the types of their fields; hierarchies are made of their steps once more.
    types = get_type_hints(Plan)
    values: dict[str, Any] = {}
    for name, value in changes.items():
        if name in _FOUND:
            raise ValueError(name)
        if name != "trees":
            values[name] = msgspec.convert(value, types[name])
    plan = replace(plan, **values)
    if "second_shown" in values:
        plan = replace(plan, second=str(paths.table(plan.second_shown)) if plan.second_shown else "")
    if "trees" in changes:
        made: dict[str, ShapedTree] = {}
        for name, steps in msgspec.convert(changes["trees"], dict[str, list[dict[str, Any]]]).items():
            stored = tuple(_stored(paths, one) for one in steps)
            made[name] = create_tree(paths, replace(plan, trees=made), name, stored)
        plan = replace(plan, trees=made)
    # Files are checked as typed ones are, except those made here.
    own = {tree.name for tree in plan.trees.values()}
    paths.check_named({**plan.privacy, "coarsen": plan.coarsen}, own=own)
    return plan


def _stored(paths: AllowedPaths, step: dict[str, Any]) -> dict[str, Any]:
    """Write the file of a stored step; all other steps stay unchanged."""
    if step["do"] != "file":
        return step
    return {"do": "file", "path": str(store_file(paths, base64.b64decode(step["content"], validate=True)))}
