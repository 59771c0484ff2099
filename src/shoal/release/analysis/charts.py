"""Charts that compare a release with its original: those of the private report, as matplotlib figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shoal._core.figures import AFTER, BEFORE, BEFORE_EDGE, GRID, INK, new_figure
from shoal._core.words import percent
from shoal.errors import ColumnError, near_matches
from shoal.report import Distribution

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ACROSS = 2
"""Maximum number of attributes side by side."""
_WIDTH, _BAR, _HEAD = 9.0, 0.34, 0.95
"""Width of a figure, height of a pair of bars, and extra height of an axis, in inches."""
_LONGEST = 26
"""Maximum number of characters of a label."""
_PRIVATE = "Private: what was before depends on the original table."

Row = tuple[str, float | None, float]
"""The label of a pair of bars, and the length of both, from 0 to 1."""


def plot_distributions(spread: Sequence[Distribution], columns: Sequence[str] | None = None) -> Figure:
    """Plot distributions, with an axis for each attribute.

    Parameters
    ----------
    spread : sequence of Distribution
        The distribution of each quasi-identifier.
    columns : sequence of str, optional
        The quasi-identifiers to plot; all by default.

    Raises
    ------
    ColumnError
        If there is no such quasi-identifier.
    """
    known = {one.name: one for one in spread}
    named = list(known) if columns is None else [columns] if isinstance(columns, str) else list(columns)
    for name in named:
        if name not in known:
            raise ColumnError(f"The column '{name}' is not a quasi-identifier. {near_matches(name, list(known))}")
    shown = [known[name] for name in named]
    across = min(_ACROSS, max(len(shown), 1))
    # The height of each line of axes is that of its largest number of bars.
    lines = [shown[at : at + across] for at in range(0, len(shown), across)]
    rooms = [max(*(len(one.bars) for one in line), 2) for line in lines]
    heights = [_HEAD + _BAR * room for room in rooms]
    figure = new_figure(_WIDTH, max(sum(heights), 1.5) + 0.5)
    if shown:
        grid = figure.subplots(len(lines), across, squeeze=False, height_ratios=heights)
        for place, ax in enumerate(grid.flat):
            if place >= len(shown):
                ax.set_axis_off()
                continue
            _draw_distribution(ax, shown[place], rooms[place // across])
        _finish(figure)
    return figure


def _draw_distribution(ax: Axes, one: Distribution, room: int) -> None:
    _pairs(ax, [(bar.label, bar.before, bar.after) for bar in one.bars], room)
    ax.set_title(_short(one.name), loc="left", fontsize="medium", fontweight="bold", color=INK, parse_math=False)
    if not one.bars:
        ax.set_axis_off()
        ax.text(0, 0.9, "Every cell is a star: nothing is told of it.", color=INK, va="top", transform=ax.transAxes)
    elif one.told < 1:
        ax.set_xlabel(f"share of the records; {percent(1 - one.told)} of the cells are stars and not counted after")
    else:
        ax.set_xlabel("share of the records")
    ax.xaxis.label.set_fontsize("small")


def plot_risk(found: Sequence[Row], sizes: Sequence[Row]) -> Figure:
    """Plot the success of adversaries on the left, and the distribution of group sizes on the right.

    Parameters
    ----------
    found : sequence of Row
        Descriptions of attacks, with their probability of success before and after.
    sizes : sequence of Row
        Sizes of groups, and the shares of the records in them before and after.
    """
    figure = new_figure(11.0, _HEAD + 0.9 + _BAR * 1.35 * max(len(found), len(sizes), 3))
    left, right = figure.subplots(1, 2, width_ratios=(1.15, 1))
    for ax, rows, title, along in (
        (left, found, "What someone who knows the quasi-identifiers does", "probability, or share"),
        (right, sizes, "People who look alike", "share of the records"),
    ):
        _pairs(ax, rows, max(len(rows), 3))
        ax.set_title(title, loc="left", fontsize="medium", fontweight="bold", color=INK)
        ax.set_xlabel(along, fontsize="small")
    right.set_ylabel("size of the group", fontsize="small")
    left.set_xlim(0, 1.14)
    _finish(figure)
    return figure


_FILLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("before", {"facecolor": BEFORE, "edgecolor": BEFORE_EDGE, "hatch": "////", "linewidth": 0.8}),
    ("after", {"facecolor": AFTER}),
)


def _pairs(ax: Axes, rows: Sequence[Row], room: int) -> None:
    """Draw two labelled bars for each row from top to bottom, before above after.

    `room` is the number of rows that the axis has room for.
    """
    places = range(len(rows))
    longest = max([max(before or 0, after) for _, before, after in rows], default=1.0) or 1.0
    for side, (_, fill) in enumerate(_FILLS, start=1):
        # The bar of "before" is drawn above that of "after".
        offset = 0.4 * side - 0.6
        # What was not measured before has no bar.
        ends = [(before, after)[side - 1] for _, before, after in rows]
        lengths = {at: float(end) for at, end in enumerate(ends) if end is not None}
        ax.barh([at + offset for at in lengths], list(lengths.values()), height=0.38, **fill)
        for at, length in lengths.items():
            ax.text(length + longest * 0.015, at + offset, percent(length), va="center", fontsize="x-small", color=INK)
    ax.set_yticks(list(places), [_short(row[0], 46) for row in rows], parse_math=False)
    ax.set_ylim(max(len(rows), room) - 0.4, -0.6)
    ax.set_xlim(0, longest * 1.14)
    ax.xaxis.set_major_formatter(lambda share, _: percent(share))
    ax.locator_params(axis="x", nbins=5)
    ax.tick_params(colors=INK, labelsize="small", length=0)
    ax.grid(axis="x", color=GRID, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "bottom"]].set_visible(False)
    ax.spines["left"].set_color(GRID)


def _finish(figure: Figure) -> None:
    """Add a legend, and a notice that the figure is private."""
    from matplotlib.patches import Patch

    handles = [Patch(label=label, **fill) for label, fill in _FILLS]
    figure.legend(handles=handles, loc="outside upper right", ncols=2, frameon=False, fontsize="small")
    figure.supxlabel(_PRIVATE, x=0.01, ha="left", fontsize="small", color=INK)


def _short(text: str, longest: int = _LONGEST) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= longest else plain[: longest - 1] + "\u2026"
