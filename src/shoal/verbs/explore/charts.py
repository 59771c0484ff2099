"""Charts of an exploration: risk and kept information by level, or the losses of candidates as points."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shoal._core.figures import GRID, INK, new_axes, new_figure
from shoal._core.words import percent
from shoal.verbs.explore.candidate import Candidate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""One colour for each series, distinguishable with impaired colour vision (Wong 2011)."""
_MARKERS = "osD^vPX*<>hp"
_RISK = (
    ("highest_risk", "o-", "finds the most exposed person"),
    ("average_risk", "s--", "finds a person, on average"),
    ("confidence", "^:", "is sure of a sensitive value, at most"),
)
_KEPT = (
    ("kept_share_at_most", "_:", "no release can keep more cells"),
    ("kept_share", "o-", "cells kept as they are"),
    ("information", "s--", "information kept (1 - loss)"),
)
"""For each measure: its name, its marker and line style, and its label."""


def plot_levels(
    candidates: Sequence[Candidate],
    before: float,
    *,
    along: str,
    series_of: Callable[[Candidate], str],
    knee: Candidate | None,
    axes: Sequence[Axes] | None,
) -> Sequence[Axes]:
    """Plot the measures of candidates by level, and return the two axes.

    Parameters
    ----------
    candidates : sequence of Candidate
        Candidates that have a release, sorted by level.
    before : float
        The average risk of the original rows, drawn as a line.
    along : str
        The parameter on the horizontal axis, "k" or "l".
    series_of : callable
        Returns the name of a candidate's series.
    knee : Candidate or None
        The candidate to mark in both panels.
    axes : two matplotlib Axes, optional
        The axes to draw into; new ones by default.
    """
    left, right = new_figure(10, 5.2).subplots(1, 2) if axes is None else axes
    places = {value: at for at, value in enumerate(sorted({getattr(one, along) for one in candidates}))}
    series: dict[str, list[tuple[int, Candidate]]] = {}
    for one in candidates:
        series.setdefault(series_of(one), []).append((places[getattr(one, along)], one))
    # Both panels have the same levels on the horizontal axis.
    for ax, measures in ((left, _RISK), (right, _KEPT)):
        _draw(ax, series, [one for one in measures if any(_value(other, one[0]) is not None for other in candidates)])
        ax.set_xticks(list(places.values()), [str(value) for value in places])
        ax.set_xlabel(f"level of protection: {along}")
        ax.set(ylim=(-0.03, 1.03), xlim=(-0.4, len(places) - 0.6))
        shares = [0, 0.25, 0.5, 0.75, 1]
        ax.set_yticks(shares, [percent(share) for share in shares])
        ax.grid(axis="y", color=GRID, linewidth=0.8)
        ax.spines[["top", "right"]].set_visible(False)
    left.axhline(before, color=INK, linewidth=1, linestyle=(0, (1, 2)), label="on average, before")
    left.set(title="What someone finds out", ylabel="probability")
    right.set(title="What analysts keep", ylabel="share")
    # Circle the knee in both panels.
    for ax, measure in ((left, "highest_risk"), (right, "kept_share")):
        if knee is not None:
            form: Any = {"markersize": 15, "markerfacecolor": "none", "markeredgecolor": INK, "linestyle": "none"}
            ax.plot(places[getattr(knee, along)], knee.figures[measure], "o", **form, label="knee")
        ax.legend(frameon=False, fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.16))
    return left, right


def _draw(
    ax: Axes, series: Mapping[str, Sequence[tuple[int, Candidate]]], measures: Sequence[tuple[str, str, str]]
) -> None:
    """Draw a line for each measure of each series; colours distinguish series if there are several, else measures."""
    several = len(series) > 1
    for at, (measure, form, title) in enumerate(measures):
        for number, points in enumerate(series.values()):
            known = [(place, value) for place, one in points if (value := _value(one, measure)) is not None]
            colour = _COLOURS[(number if several else at) % len(_COLOURS)]
            ax.plot(*zip(*known, strict=True), form, color=colour, markersize=6, label=None if several else title)
        if several:  # one legend entry, in no series' colour
            ax.plot([], [], form, color=INK, label=title)
    for number, name in enumerate(series) if several else ():
        ax.plot([], [], color=_COLOURS[number % len(_COLOURS)], linewidth=5, label=name)


def _value(candidate: Candidate, measure: str) -> float | None:
    found: Any = candidate.figures["loss_by_column" if measure == "information" else measure]
    value: float | None = 1 - sum(found.values()) / max(len(found), 1) if measure == "information" else found
    return value


def plot_times(candidates: Sequence[Candidate], loss: str, ax: Axes | None) -> Axes:
    """Plot the loss of each algorithm against its running time; `loss` is the title of the metric."""
    ax = new_axes(7, 4.6) if ax is None else ax
    for at, one in enumerate(candidates):
        form: Any = {"color": _COLOURS[at % len(_COLOURS)], "markersize": 8, "linestyle": "none", "label": one.text}
        point: tuple[Any, Any] = one.seconds, one.loss
        ax.plot(*point, _MARKERS[at % len(_MARKERS)], **form)
    ax.set(xlabel="seconds", ylabel=loss)
    if candidates:
        ax.set_xscale("log")
        ax.set_ylim(bottom=0)
        ax.margins(x=0.1)
        # The legend stands outside the axes: labels at the points would overlap if algorithms are alike.
        ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5), title="best first")
    return ax


def plot_coarsenings(
    candidates: Sequence[Candidate], front: Sequence[Candidate], best: Candidate, loss: str, ax: Axes | None
) -> Axes:
    """Plot the loss added by anonymization against the loss of the coarsening; the first candidate was tried first."""
    ax = new_axes(8, 4.6) if ax is None else ax
    # All candidates as points, the front as steps, and the best as a star.
    x, y = zip(*(one.losses for one in candidates), strict=True)
    ax.scatter(x, y, s=14, color="#8fa3ad", alpha=0.6, linewidths=0, label="setting")
    steps: Any = {"color": _COLOURS[0], "marker": "o", "markersize": 4, "drawstyle": "steps-post"}
    ax.plot(*zip(*(one.losses for one in front), strict=True), **steps, label="not beaten in both")
    ax.plot(*candidates[0].losses, "s", color=INK, label="first tried")
    ax.plot(*best.losses, "*", color=_COLOURS[1], markersize=14, label="best")
    # Candidates on this line have the same total loss as the best one.
    line: Any = {"slope": -1, "color": _COLOURS[1], "linestyle": ":", "linewidth": 1}
    ax.axline(best.losses, **line, label="as good as the best")
    ax.set(xlabel=f"lost by coarsening ({loss})", ylabel="added by anonymization")
    ax.set(xlim=(-0.04 * max(*x, 1e-9), None), ylim=(-0.04 * max(*y, 1e-9), None))
    ax.legend(frameon=False, fontsize="small")
    return ax
