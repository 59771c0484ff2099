"""Saved reviews: the decision about a published table and the figures that it rests on, in the studio's folder.

`NAME.shoal-review.toml` is a spec file (`shoal audit --spec`) with a section `studio` that only the studio reads. Only
its owner can read it; it holds no record of the table. The figures are compared with a new count, never believed.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.errors import ParameterError, UsageError
from shoal.request.notation import toml_lines
from shoal.studio.allowed_paths import AllowedPaths
from shoal.studio.projects import REVIEW, find_projects, name_project, read_saved, write_project
from shoal.studio.state import Review

_VERSION = 1
_MAX_MEGABYTES = 5
"""Size of a review that is read; those that were seen have a few kilobytes."""
_HEAD = "# Made by shoal studio, which opens it again. It is also a spec file: shoal audit TABLE --spec FILE"
_DAMAGED = "It is not a review of this version of the studio, or it was changed by hand and is damaged."


def summarize_figures(counted: Mapping[str, Any], attacks: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the figures that a decision rests on as JSON: those of the count, and the results of the attacks."""
    audit = counted["audit"]
    measured = {name: audit[name] for name in ("rows", "achieved", "risk")}
    return {
        "figures": json.dumps(measured, sort_keys=True, ensure_ascii=False),
        "attacks": json.dumps(attacks, sort_keys=True, ensure_ascii=False),
    }


def save_review(paths: AllowedPaths, own: Review, figures: Mapping[str, str]) -> Review:
    """Save a review if it has changed, and return it with the name of its file; the name is empty if that fails."""
    file = own.file or name_project(paths, own.shown.rstrip("/"), ending=REVIEW)
    columns = {name: [*given] for name, given in own.roles.items() if given is not None}
    kept = {"version": _VERSION, "release": own.shown, **figures}
    if own.identifiers:
        kept["identifiers"] = [*own.identifiers]
    if own.original is not None:
        kept |= {"original": own.original, "person": own.person or "", "hierarchies": dict(own.hierarchies)}
    # The decision is the section of the words of a report, so that the command line reads it, too.
    content = {"columns": columns, "report": dict(own.words), "studio": kept}
    text = "\n".join([_HEAD, *toml_lines({name: one for name, one in content.items() if one})]) + "\n"
    path = paths.home / file
    try:
        if not path.is_file() or path.read_bytes() != text.encode():
            write_project(path, text)
    except OSError:  # a folder that cannot be written; the screen says that nothing is kept
        return replace(own, file="")
    return replace(own, file=file, figures=figures["figures"])


def find_reviews(paths: AllowedPaths) -> list[tuple[str, Review]]:
    """List the saved reviews with their file names, the newest first; damaged ones are left out."""
    found = []
    for path in find_projects(paths.home, ending=REVIEW):
        try:
            found.append((path.name, _parse(path)))
        except UsageError:
            continue
    return found


def load_review(paths: AllowedPaths, name: str) -> Review:
    """Load a saved review, and find its table.

    Raises
    ------
    UsageError
        If there is no such review, it is damaged, or its table is gone.
    """
    path = next((one for one in find_projects(paths.home, ending=REVIEW) if one.name == name), None)
    if path is None:
        raise UsageError("There is no such review in this folder.")
    # The paths are checked as typed ones are, because the file may come from someone else.
    own = _parse(path)
    for file in (own.original, *own.hierarchies.values()):
        if file:
            paths.table(file)
    return replace(own, source=str(paths.published(own.shown)))


def _parse(path: Path) -> Review:
    """Parse a saved review; its source is empty until its path is checked."""
    import msgspec

    from shoal.report import About

    try:
        text = read_saved(path, most=_MAX_MEGABYTES)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(_DAMAGED) from error
    try:
        content = tomllib.loads(text)
        kept, roles = content["studio"], content.get("columns", {})
        if kept["version"] != _VERSION:
            raise UsageError(_DAMAGED)
        words = msgspec.convert(content.get("report", {}), dict[str, str])
        About(**words)  # type: ignore[arg-type]
        texts = {name: msgspec.convert(kept.get(name, ""), str) for name in ("release", "figures", "person")}
        return Review(
            source="",
            shown=texts["release"],
            quasi_identifiers=msgspec.convert(roles.get("quasi_identifiers"), tuple[str, ...] | None),
            sensitive=msgspec.convert(roles.get("sensitive"), tuple[str, ...] | None),
            original=msgspec.convert(kept.get("original"), str | None),
            identifiers=msgspec.convert(kept.get("identifiers", ()), tuple[str, ...]),
            person=texts["person"],
            hierarchies=msgspec.convert(kept.get("hierarchies", {}), dict[str, str]),
            words=words,
            file=path.name,
            figures=texts["figures"],
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, ParameterError) as error:
        raise UsageError(_DAMAGED) from error
