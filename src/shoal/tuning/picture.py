"""The picture of a search: what anonymization adds to the loss against what the coarsening loses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal._figures import new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shoal.tuning.result import Tuning

__all__ = ["plot"]

_INK, _POINT, _FRONT, _BEST = "#14232b", "#8fa3ad", "#0072b2", "#d55e00"


def plot(tuning: Tuning, ax: Axes | None = None) -> Axes:
    """Draw every setting as a point, the trade-off as a line, and the line of equal loss through the best one.

    Parameters
    ----------
    tuning : Tuning
    ax : matplotlib Axes, optional
        Where to; new axes by default.
    """
    from shoal.tuning.result import LOSS_NAMES

    ax = new_axes(8, 4.6) if ax is None else ax
    able = [setting for setting in tuning.settings if setting.loss is not None]
    x, y = zip(*(setting.losses for setting in able), strict=True)
    ax.scatter(x, y, s=14, color=_POINT, alpha=0.6, linewidths=0, label="setting")
    ax.plot(
        *zip(*(setting.losses for setting in tuning.trade_off), strict=True),
        color=_FRONT,
        marker="o",
        markersize=4,
        drawstyle="steps-post",
        label="not beaten in both",
    )
    best = tuning.best.losses
    ax.plot(*able[0].losses, "s", color=_INK, label="first tried")
    ax.plot(*best, "*", color=_BEST, markersize=14, label="best")
    ax.axline(
        best,
        slope=-1,
        color=_BEST,
        linestyle=":",
        linewidth=1,
        label="as good as the best",
    )
    ax.set(
        xlabel=f"lost by coarsening ({LOSS_NAMES[tuning.loss]})",
        ylabel="added by anonymization",
        xlim=(-0.04 * max(*x, 1e-9), None),
        ylim=(-0.04 * max(*y, 1e-9), None),
    )
    ax.legend(frameon=False, fontsize="small")
    return ax
