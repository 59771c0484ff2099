"""Pictures of points in rectangles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from shoal._core.figures import new_axes
from shoal._core.words import number
from shoal.grouping.class_charts import INK, MAX_SEPARATE_SHAPES

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_rectangles(rectangles: ArrayLike, weights: ArrayLike, k: int, ax: Axes | None = None) -> Axes:
    """Draw rectangles, shaded by their weight in units of k.

    Parameters
    ----------
    rectangles : array_like
        x_min, x_max, y_min, y_max of each class, one row per class.
    weights : array_like
        Number of records of each class.
    k : int
        Smallest weight of a class.
    ax : matplotlib Axes, optional
        Axes to draw on; new axes by default.
    """
    from matplotlib.collections import PolyCollection

    ax = new_axes() if ax is None else ax
    x_min, x_max, y_min, y_max = np.asarray(rectangles, dtype=np.float64).T
    corners = np.stack([np.stack(c, axis=-1) for c in ((x_min, y_min), (x_max, y_min), (x_max, y_max), (x_min, y_max))])
    ratios = np.asarray(weights, dtype=np.float64) / k
    shapes = PolyCollection(
        list(np.swapaxes(corners, 0, 1)), array=ratios, cmap="cividis_r", edgecolors=INK, linewidths=0.3
    )
    shapes.set_rasterized(len(ratios) > MAX_SEPARATE_SHAPES)
    ax.add_collection(shapes)
    ax.autoscale_view()
    ax.set_aspect("equal", adjustable="datalim")
    ax.get_figure().colorbar(shapes, ax=ax, label="records in units of k", shrink=0.8)  # type: ignore[union-attr]
    title = "{count} rectangles, the largest {times} times k = {k}"
    ax.set_title(title.format(count=number(len(ratios)), times=f"{ratios.max():.3g}", k=number(k)))
    return ax
