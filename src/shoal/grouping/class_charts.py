"""The picture that every grouping has: the weights of its classes as bars, drawn with matplotlib.

Nothing here keeps state: figures are objects, no window is opened, and no cell of the input is written on them. Points
and regions have pictures of their own beside their algorithms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal._core.figures import new_axes
from shoal._core.language import gettext as _

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

__all__ = ["INK", "SEPARATE", "plot_weights"]

INK = "#14232b"
"""The colour of borders; the colours beside it can be told apart by people who see colours differently (Wong 2011)."""
SEPARATE = 20_000
"""More shapes than this are one image within an SVG: a file of a hundred megabytes opens nowhere."""
_BAR, _LINE = "#0072b2", "#d55e00"
_BARS = 100
"""Classes up to which each has a bar of its own."""


def plot_weights(weights: NDArray[np.int64], k: int, *, in_order: bool, title: str, ax: Axes | None = None) -> Axes:
    """Draw the weights of classes as bars, and return the axes.

    Parameters
    ----------
    weights : array of int64
        The records of each class.
    k : int
        What each class weighs at least: a line.
    in_order : bool
        Whether the classes stay in their order; else the largest comes first.
    title : str
    ax : matplotlib Axes, optional
        Where to; new axes by default.
    """
    ax = new_axes() if ax is None else ax
    shown = weights if in_order else np.sort(weights)[::-1]
    if len(shown) <= _BARS:  # with a gap between them
        ax.bar(np.arange(1, len(shown) + 1), shown, width=0.8, color=_BAR, label=_("class"))
    else:
        ax.stairs(shown, baseline=0, fill=True, color=_BAR, label=_("class"))
    ax.axhline(k, color=_LINE, linestyle="--", label="k")
    ax.set(
        xlabel=_("classes, in the order of their values") if in_order else _("classes, largest first"),
        ylabel=_("records"),
        ylim=(0, 1.2 * shown.max()),
        title=title,
    )
    ax.legend(frameon=False, loc="upper right", ncols=2)  # above the bars
    return ax
