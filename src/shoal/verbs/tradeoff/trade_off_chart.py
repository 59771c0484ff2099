"""Chart of a trade-off by level: the risks on the left, the kept information on the right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal._core.figures import new_figure
from shoal._core.words import percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from shoal.disclosure_risk import Reidentification
    from shoal.verbs.tradeoff.choice import Choice

__all__ = ["plot_choices"]

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""One colour for each series, distinguishable with impaired colour vision (Wong 2011)."""
_INK = "#14232b"
_RISK: tuple[tuple[str, str, str], ...] = (
    ("highest_risk", "o-", "finds the most exposed person"),
    ("average_risk", "s--", "finds a person, on average"),
    ("confidence", "^:", "is sure of a sensitive value, at most"),
)
_KEPT: tuple[tuple[str, str, str], ...] = (
    ("kept_share_at_most", "_:", "no release can keep more cells"),
    ("kept_share", "o-", "cells kept as they are"),
    ("information", "s--", "information kept (1 - loss)"),
)
"""For each measure: its name, its marker and line style, and its label."""


def plot_choices(
    choices: Sequence[Choice],
    before: Reidentification,
    *,
    knee: Choice | None = None,
    axes: Sequence[Axes] | None = None,
) -> Sequence[Axes]:
    """Plot the measures of choices that have a release, by level, and return the two axes.

    Parameters
    ----------
    choices : sequence of Choice
        Choices sorted by l and then by k. There is one series for each l, unless only l differs.
    before : Reidentification
        The original risk, drawn as a line.
    knee : Choice, optional
        The choice to mark in both panels.
    axes : two matplotlib Axes, optional
        The axes to draw into; new ones by default.
    """
    left, right = _new_axes() if axes is None else axes
    # One series for each value of the other parameter.
    along = "k" if len({choice.k for choice in choices}) > 1 or choices[0].l is None else "l"
    other = "l" if along == "k" else "k"
    places = {value: at for at, value in enumerate(sorted({getattr(one, along) for one in choices}))}
    series: dict[Any, list[tuple[int, Choice]]] = {}
    for choice in choices:
        series.setdefault(getattr(choice, other), []).append((places[getattr(choice, along)], choice))
    # Both panels have the same levels on the horizontal axis.
    for ax, measures in ((left, _RISK), (right, _KEPT)):
        shown = [one for one in measures if any(_value(choice, one[0]) is not None for choice in choices)]
        _draw(ax, list(series.values()), shown)
        for name, colour in zip(series, _COLOURS, strict=False) if len(series) > 1 else ():
            ax.plot([], [], color=colour, linewidth=5, label=f"{other} = {name}")
        ax.set_xticks(list(places.values()), [str(value) for value in places])
        ax.set_xlabel(f"level of protection: {along}")
        ax.set(ylim=(-0.03, 1.03), xlim=(-0.4, len(places) - 0.6))
        shares = [0, 0.25, 0.5, 0.75, 1]
        ax.set_yticks(shares, [percent(share) for share in shares])
        ax.grid(axis="y", color="#dbe3e7", linewidth=0.8)
        ax.spines[["top", "right"]].set_visible(False)
    left.axhline(before.average, color=_INK, linewidth=1, linestyle=(0, (1, 2)), label="on average, before")
    left.set(title="What somebody finds out", ylabel="probability")
    right.set(title="What analysts keep", ylabel="share")
    # Circle the knee in both panels.
    for ax, measure in ((left, "highest_risk"), (right, "kept_share")):
        if knee is not None:
            place = places[getattr(knee, along)], getattr(knee, measure)
            form: Any = {"markersize": 15, "markerfacecolor": "none", "markeredgecolor": _INK, "linestyle": "none"}
            ax.plot(*place, "o", **form, label="knee")
        ax.legend(frameon=False, fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.16))
    return left, right


def _draw(ax: Axes, series: Sequence[list[tuple[int, Choice]]], measures: Sequence[tuple[str, str, str]]) -> None:
    """Draw a line for each measure of each series; colours distinguish series if there are several, else measures."""
    # With several series, line styles distinguish measures instead.
    several = len(series) > 1
    for at, (measure, form, title) in enumerate(measures):
        for number, points in enumerate(series):
            known = [(place, value) for place, one in points if (value := _value(one, measure)) is not None]
            colour = _COLOURS[(number if several else at) % len(_COLOURS)]
            ax.plot(*zip(*known, strict=True), form, color=colour, markersize=6, label=None if several else title)
        if several:  # one legend entry, in no series' colour
            ax.plot([], [], form, color=_INK, label=title)


def _value(choice: Choice, measure: str) -> float | None:
    value: float | None = 1 - (choice.loss or 0.0) if measure == "information" else getattr(choice, measure)
    return value


def _new_axes() -> Sequence[Axes]:
    axes: Sequence[Axes] = new_figure(10, 5.2).subplots(1, 2)
    return axes
