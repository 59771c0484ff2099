"""The screen of levels of protection: the risk that each leaves, what it loses, and the choice of one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shoal.errors import ShoalError, UsageError
from shoal.studio import jobs, same
from shoal.studio.pages import page
from shoal.studio.screens import looked_at
from shoal.studio.state import Studio, Waiting
from shoal.studio.words import COMPARED

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["choose_level", "compare", "picture_of", "set_levels"]

_MOST_LEVELS = 20
_USUAL = "3, 5, 10, 20, 50"
"""The levels of k that the screen begins with."""


def compare(studio: Studio, query: Mapping[str, str]) -> str | Waiting:
    """Return the screen; nothing is compared until somebody asks, for each level takes as long as a release."""
    looked = looked_at(studio, "compare")
    if isinstance(looked, Waiting):
        return looked
    plan = studio.plan
    if not plan.decided:
        return Waiting(path="/columns")
    found = None
    if studio.levels is not None:
        found = _found(studio)
        if isinstance(found, Waiting):
            return found
    levels = studio.levels or {"k": _USUAL, "l": plan.privacy.get("l", "")}
    return page(
        "compare.html.j2",
        studio,
        step="compare",
        found=found,
        levels=levels,
        sensitive=plan.names_of("sensitive"),
        compared=COMPARED,
        same=_same(studio, levels),
    )


def _found(studio: Studio) -> dict[str, list[str]] | Waiting:
    """Return what the levels that were asked for leave and lose."""
    asked = {name: _numbers(name, text) for name, text in (studio.levels or {}).items()}
    content = studio.plan.content(source=studio.plan.source)
    arguments = {"content": content, "arguments": studio.requests.arguments, **asked}
    found: dict[str, list[str]] | Waiting = studio.facts(
        "compare", "Comparing levels of protection", jobs.compare, arguments, back="/compare"
    )
    return found


def _same(studio: Studio, levels: Mapping[str, str]) -> same.Same | None:
    try:
        k, l = (_numbers(name, levels[name]) for name in ("k", "l"))
        return same.of_comparing(studio.plan, studio.requests, k=k, l=l, output=studio.places.free_folder())
    except ShoalError:
        return None


def _numbers(name: str, text: str) -> list[int]:
    """Return levels of protection as numbers."""
    listed = [one.strip() for one in text.split(",") if one.strip()]
    if not all(re.fullmatch(r"\d{1,6}", one) for one in listed) or len(listed) > _MOST_LEVELS:
        raise UsageError(f"Levels of {name} are at most {_MOST_LEVELS} whole numbers, separated by commas: 5, 10, 20.")
    return [int(one) for one in listed]


def set_levels(studio: Studio, form: Mapping[str, str]) -> str:
    """Compare the levels of a form."""
    levels = {"k": form.get("k", ""), "l": form.get("l", "") if studio.plan.names_of("sensitive") else ""}
    if not _numbers("k", levels["k"]):
        raise UsageError("Name levels of k to compare: 5, 10, 20.")
    _numbers("l", levels["l"])
    studio.levels = levels
    return "/compare"


def choose_level(studio: Studio, form: Mapping[str, str]) -> str:
    """Take over a level that was compared."""
    chosen = {name: form[name] for name in ("k", "l") if re.fullmatch(r"\d{1,6}", form.get(name, ""))}
    if not chosen:
        return "/compare"
    others = {name: value for name, value in studio.plan.privacy.items() if name not in ("k", "l")}
    told = ", ".join(f"{name} = {value}" for name, value in chosen.items())
    studio.history.change(f"Chose {told}", privacy={**chosen, **others})
    return "/publish"


def picture_of(studio: Studio) -> str | None:
    """Return the picture of the levels that were compared; None where none were."""
    if studio.levels is None:
        return None
    found = _found(studio)
    return None if isinstance(found, Waiting) else str(found["picture"])
