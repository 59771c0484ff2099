"""Bar charts of the weights of classes, drawn with matplotlib; every grouping has one.

Figures are objects without global state: no window is opened, and no cell of the input appears on them. Points and
regions have additional pictures in their own packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal._core.figures import new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = "#14232b"
"""Colour of borders; the other colours are distinguishable for colour-blind readers (Wong 2011)."""
MAX_SEPARATE_SHAPES = 20_000
"""Largest number of separate shapes in an SVG; more shapes become one image, which keeps the file small."""
_BAR, _LINE = "#0072b2", "#d55e00"
_MAX_BARS = 100
"""Largest number of classes with separate bars."""


def plot_weights(weights: NDArray[np.int64], k: int, *, in_order: bool, title: str, ax: Axes | None = None) -> Axes:
    """Draw the weights of classes as bars, with a line at k.

    Parameters
    ----------
    weights : array of int64
        Number of records of each class.
    k : int
        Smallest weight of a class.
    in_order : bool
        If True, keep the order of the classes; otherwise sort them, the largest first.
    title : str
        Title of the picture.
    ax : matplotlib Axes, optional
        Axes to draw on; new axes by default.
    """
    ax = new_axes() if ax is None else ax
    shown = weights if in_order else np.sort(weights)[::-1]
    if len(shown) <= _MAX_BARS:  # with a gap between them
        ax.bar(np.arange(1, len(shown) + 1), shown, width=0.8, color=_BAR, label="class")
    else:
        ax.stairs(shown, baseline=0, fill=True, color=_BAR, label="class")
    ax.axhline(k, color=_LINE, linestyle="--", label="k")
    ax.set(
        xlabel="classes, in the order of their values" if in_order else "classes, largest first",
        ylabel="records",
        ylim=(0, 1.2 * shown.max()),
        title=title,
    )
    ax.legend(frameon=False, loc="upper right", ncols=2)  # above the bars
    return ax
