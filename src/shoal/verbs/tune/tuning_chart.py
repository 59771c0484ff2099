"""Chart of a search: the loss added by anonymization against the loss of the coarsening."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal._core.figures import new_axes

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
    """Plot the settings, their trade-off, and the line of equal total loss through the best setting.

    Parameters
    ----------
    settings : sequence of pairs
        For each setting, the loss of the coarsening and the loss added by anonymization; the first one tried comes
        first.
    trade_off : sequence of pairs
        The losses of the Pareto-optimal settings.
    best : pair
        The losses of the best setting.
    loss : str
        The title of the loss.
    ax : matplotlib Axes, optional
        The axes to draw into; new ones by default.
    """
    ax = new_axes(8, 4.6) if ax is None else ax
    # All settings as points, the trade-off as steps, and the best setting as a star.
    x, y = zip(*settings, strict=True)
    ax.scatter(x, y, s=14, color=_POINT, alpha=0.6, linewidths=0, label="setting")
    ax.plot(
        *zip(*trade_off, strict=True),
        color=_FRONT,
        marker="o",
        markersize=4,
        drawstyle="steps-post",
        label="not beaten in both",
    )
    ax.plot(*settings[0], "s", color=_INK, label="first tried")
    ax.plot(*best, "*", color=_BEST, markersize=14, label="best")
    # Settings on this line have the same total loss as the best one.
    ax.axline(
        best,
        slope=-1,
        color=_BEST,
        linestyle=":",
        linewidth=1,
        label="as good as the best",
    )
    ax.set(
        xlabel=f"lost by coarsening ({loss})",
        ylabel="added by anonymization",
        xlim=(-0.04 * max(*x, 1e-9), None),
        ylim=(-0.04 * max(*y, 1e-9), None),
    )
    ax.legend(frameon=False, fontsize="small")
    return ax
