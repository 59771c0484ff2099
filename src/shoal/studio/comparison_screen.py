"""The screen that compares levels of protection by risk and information loss, and algorithms by loss."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from shoal.errors import ShoalError, UsageError
from shoal.studio import equivalents
from shoal.studio.jobs import tables as jobs
from shoal.studio.pages import page
from shoal.studio.rejected_forms import FieldError
from shoal.studio.requests import arguments_in, request_in
from shoal.studio.screen_inputs import hash_plan, inspect_with_roles
from shoal.studio.state import Studio
from shoal.studio.words import COMPARED

_MAX_LEVELS = 20
_USUAL = "3, 5, 10, 20, 50"
"""The levels of k that are proposed at first."""


def compare(studio: Studio, query: Mapping[str, str]) -> str:
    """Render the screen; a comparison runs only on request, because each level takes as long as a release."""
    inspect_with_roles(studio, "compare")
    plan = studio.plan
    # Comparisons that were requested, or the wait for them.
    asked = studio.levels
    found = _compare_levels(studio) if asked is not None and asked["plan"] == hash_plan(_compared(studio)) else None
    ways = _measure_algorithms(studio) if studio.ways == hash_plan(_without_algorithm(studio)) else None
    levels = asked or {"k": _USUAL, "l": plan.privacy.get("l", "")}
    return page(
        "compare.html.j2",
        studio,
        step="compare",
        found=found,
        ways=ways,
        drawing=None if found is None else _lay_out_drawing(found),
        levels=levels,
        sensitive=plan.names_of("sensitive"),
        compared=COMPARED,
        equivalents=_build_equivalents(studio, levels),
    )


def _compare_levels(studio: Studio) -> Any:
    """Return the risk and the loss of each requested level."""
    levels = studio.levels or {}
    asked = {name: _parse_levels(name, levels[name]) for name in ("k", "l")}
    arguments: dict[str, Any] = {"content": _compared(studio), **asked}
    return studio.facts("compare", "Comparing levels of protection", jobs.compare, arguments, back="/compare")


def _compared(studio: Studio) -> dict[str, Any]:
    """Return the plan of a comparison, whose levels replace k and l: choosing one does not repeat it."""
    work = studio.plan.work
    privacy = {name: 2 if name in ("k", "l") else value for name, value in work["privacy"].items()}
    return {**work, "privacy": privacy}


def _without_algorithm(studio: Studio) -> dict[str, Any]:
    """Return the plan of a comparison of algorithms: choosing one does not repeat it."""
    return {name: value for name, value in studio.plan.work.items() if name != "algorithm"}


def _measure_algorithms(studio: Studio) -> Any:
    """Return the loss of each algorithm."""
    arguments = {"content": _without_algorithm(studio)}
    return studio.facts("compare", "Comparing algorithms", jobs.compare_algorithms, arguments, back="/compare")


def compare_algorithms(studio: Studio, form: Mapping[str, str]) -> str:
    """Request a comparison of the algorithms that can make the release."""
    arguments_in(studio.plan.work)  # raises an error if the plan is invalid
    studio.ways = hash_plan(_without_algorithm(studio))
    return "/compare#ways"


def choose_algorithm(studio: Studio, form: Mapping[str, str]) -> str:
    """Choose the algorithm of the release; an empty name leaves the choice to the program."""
    from shoal.algorithms.algorithm_list import ALGORITHMS

    # The form offers known algorithms only, but a request may name any.
    name = form.get("algorithm", "")
    if name and name not in ALGORITHMS:
        raise UsageError("There is no such algorithm.")
    description = f"Algorithm: {name}" if name else "Algorithm: the one that fits"
    studio.history.change(description, algorithm=name)
    return "/compare#ways" if form.get("do") == "stay" else "/publish"


_WIDE, _HIGH, _LEFT, _ABOVE, _BELOW = 640, 320, 60, 40, 58
"""Width and height of the drawing, and its margins for the labels of both axes, by its own scale."""
_LETTER, _LINE = 12, 22
"""Width of a letter and height of a line of its text on the narrowest screens, by the same scale."""


def _lay_out_drawing(found: Mapping[str, Any]) -> dict[str, Any]:
    """Compute the positions of levels in a drawing of risk against loss, with the lower bound of the loss if known."""
    points = [(at, one) for at, one in enumerate(found["points"]) if one is not None]
    # The horizontal axis ends a little beyond the largest risk.
    most_risk = max([one["risk"] for _, one in points], default=1.0) * 1.1
    across, down = _WIDE - _LEFT - 20, _HIGH - _BELOW - _ABOVE

    def place(risk: float, loss: float) -> tuple[float, float]:
        return round(_LEFT + across * risk / most_risk, 1), round(_ABOVE + down * loss, 1)

    drawn: list[dict[str, Any]] = []
    for at, one in points:
        x, y = place(one["risk"], one["loss"])
        bound = None if one["least"] is None else place(one["risk"], one["least"])[1]
        text = found["columns"]["level"][at]
        drawn.append({"at": at, "x": x, "y": y, "bound": bound, "text": text})
    # A label has what is not the same of all points: l, if only k differs.
    parts = [{*one["text"].split(", ")} for one in drawn]
    same = set.intersection(*parts) if len(parts) > 1 else set()
    for one in drawn:
        one["label"] = ", ".join(part for part in one["text"].split(", ") if part not in same)
    # Sorted by risk, so that a line can join the points; it climbs to the right, and a label below it is free.
    drawn.sort(key=lambda one: one["x"])
    for number, one in enumerate(drawn):
        wide, before = _LETTER * len(one["label"]), drawn[max(number - 1, 0)]
        near = not before.get("late", True) and one["x"] - before["x"] < wide
        one["late"] = one["x"] + wide > _WIDE or (near and abs(one["y"] - before["y"]) < _LINE)
    ticks = [{"x": place(most_risk * step / 4, 0)[0], "share": most_risk * step / 4} for step in range(5)]
    lines = [{"y": place(0, step / 4)[1], "share": step / 4} for step in range(5)]
    return {"points": drawn, "ticks": ticks, "lines": lines, "wide": _WIDE, "high": _HIGH, "left": _LEFT}


def _build_equivalents(studio: Studio, levels: Mapping[str, str]) -> equivalents.Equivalents | None:
    try:
        k, l = (_parse_levels(name, levels[name]) for name in ("k", "l"))
        return equivalents.of_comparing(studio.plan, k=k, l=l, output=studio.paths.free_folder())
    except ShoalError:
        return None


def _parse_levels(name: str, text: str) -> list[int]:
    """Parse a comma-separated list of levels."""
    listed = [one.strip() for one in text.split(",") if one.strip()]
    # Each level takes as long as a release, so their number is limited.
    if not all(re.fullmatch(r"\d{1,6}", one) for one in listed) or len(listed) > _MAX_LEVELS:
        wrong = f"Levels of {name} are at most {_MAX_LEVELS} whole numbers, separated by commas: 5, 10, 20."
        raise FieldError(wrong, field=name)
    return [int(one) for one in listed]


def set_levels(studio: Studio, form: Mapping[str, str]) -> str:
    """Request a comparison of the levels in a form."""
    from shoal.models.promises import find_refusal

    refused = find_refusal(request_in(studio.plan.work).features | {"explore"})
    if refused is not None:
        raise FieldError(refused[2], field="k")
    levels = {"k": form.get("k", ""), "l": form.get("l", "") if studio.plan.names_of("sensitive") else ""}
    if not _parse_levels("k", levels["k"]):
        raise FieldError("Name levels of k to compare: 5, 10, 20.", field="k")
    _parse_levels("l", levels["l"])
    studio.levels = {**levels, "plan": hash_plan(_compared(studio))}
    return "/compare"


def choose_level(studio: Studio, form: Mapping[str, str]) -> str:
    """Apply one of the compared levels to the plan."""
    chosen = {name: form[name] for name in ("k", "l") if re.fullmatch(r"\d{1,6}", form.get(name, ""))}
    if not chosen:
        return "/compare"
    # Only k and l are compared; the other models stay.
    others = {name: value for name, value in studio.plan.privacy.items() if name not in ("k", "l")}
    levels = tuple(f"{name} = {value}" for name, value in chosen.items())
    studio.history.change(f"Chose {', '.join(levels)}", privacy={**chosen, **others})
    return "/publish"
