"""The picture of a search: what anonymization adds to the loss against what the coarsening loses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal._core.figures import new_axes
from shoal._core.language import gettext as _

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

__all__ = ["plot_trade_off"]

_INK, _POINT, _FRONT, _BEST = "#14232b", "#8fa3ad", "#0072b2", "#d55e00"


def plot_trade_off(
    settings: Sequence[tuple[float, float]],
    trade_off: Sequence[tuple[float, float]],
    best: tuple[float, float],
    *,
    loss: str,
    ax: Axes | None = None,
) -> Axes:
    """Draw every setting as a point, the trade-off as a line, and the line of equal loss through the best one.

    Parameters
    ----------
    settings : sequence of pairs
        What the coarsening of each setting loses, and what anonymization adds; the first one tried comes first.
    trade_off : sequence of pairs
        The same of the settings that no other one beats in both.
    best : pair
        The same of the best setting.
    loss : str
        What the loss is called.
    ax : matplotlib Axes, optional
        Where to; new axes by default.
    """
    ax = new_axes(8, 4.6) if ax is None else ax
    x, y = zip(*settings, strict=True)
    ax.scatter(x, y, s=14, color=_POINT, alpha=0.6, linewidths=0, label=_("setting"))
    ax.plot(
        *zip(*trade_off, strict=True),
        color=_FRONT,
        marker="o",
        markersize=4,
        drawstyle="steps-post",
        label=_("not beaten in both"),
    )
    ax.plot(*settings[0], "s", color=_INK, label=_("first tried"))
    ax.plot(*best, "*", color=_BEST, markersize=14, label=_("best"))
    ax.axline(
        best,
        slope=-1,
        color=_BEST,
        linestyle=":",
        linewidth=1,
        label=_("as good as the best"),
    )
    ax.set(
        xlabel=_("lost by coarsening ({loss})").format(loss=_(loss)),
        ylabel=_("added by anonymization"),
        xlim=(-0.04 * max(*x, 1e-9), None),
        ylim=(-0.04 * max(*y, 1e-9), None),
    )
    ax.legend(frameon=False, fontsize="small")
    return ax
