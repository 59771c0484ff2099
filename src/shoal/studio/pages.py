"""Rendering of pages: the templates and the filters that they share."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from shoal._core.quoting import listed_names
from shoal._core.words import listed, number, percent, visible
from shoal.studio.state import Studio
from shoal.studio.words import EXPLAINED, SCREENS, STEPS, date_form_in_words, explained_of_persons, work_in_words
from shoal.wording import join_warnings
from shoal.wording.descriptions import COUNTS_CERTAIN, describe_coarsening

if TYPE_CHECKING:
    from jinja2 import Environment


def page(template: str, studio: Studio, *, step: str, **facts: Any) -> str:
    """Render a page.

    Parameters
    ----------
    template : str
        File name of the template.
    studio : Studio
        The state to show.
    step : str
        Name of the screen, which the navigation highlights.
    **facts
        Variables of the template; `plan` is the current one unless it is given.
    """
    made, plan = _environment().get_template(template), facts.pop("plan", studio.history.plan)
    explained = explained_of_persons() if plan.person and step in ("table", "goal", "publish", "release") else EXPLAINED
    return made.render(step=step, steps=STEPS, plan=plan, explained=explained, studio=studio, **facts)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    # Values of the table are escaped by default, and a misspelled variable is an error.
    environment = Environment(
        loader=PackageLoader("shoal.studio"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        number=number,
        percent=percent,
        listed=listed,
        visible=visible,
        coarsening=describe_coarsening,
        date_form=date_form_in_words,
        work=work_in_words,
        size=_size,
        moment=_moment,
        by_kind=_by_kind,
        names=listed_names,
        as_sentence=lambda text: text[:1].upper() + text[1:],
    )
    environment.globals |= {"counts_certain": COUNTS_CERTAIN, "measures": _measures}
    return environment


def _measures() -> Mapping[str, Any]:
    from shoal.disclosure_risk import MEASURES

    return {one.name: one for one in MEASURES}


def _by_kind(remarks: Iterable[Mapping[str, Any]]) -> list[list[str]]:
    """Join remarks of one kind, and group their texts by kind, in order of first occurrence."""
    kinds: dict[str, list[str]] = {}
    for code, text in join_warnings(remarks, SCREENS):
        kinds.setdefault(code, []).append(text)
    return list(kinds.values())


def _moment(seconds: float) -> str:
    """Format the time of a file in the zone of this machine."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def _size(bytes_: int) -> str:
    """Format the size of a file with a decimal unit."""
    # The largest unit that gives at least 1, with one decimal.
    for unit, name in ((1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")):
        if bytes_ >= unit:
            return f"{bytes_ / unit:.1f}".removesuffix(".0") + f" {name}"
    return f"{bytes_} bytes"
