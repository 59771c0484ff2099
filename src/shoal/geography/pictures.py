"""Pictures of groupings, drawn with matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes

    from shoal.geography.grouping import Grouping

__all__ = ["plot", "save"]


def plot(grouping: Grouping, ax: Axes | None = None) -> Axes:
    """Draw the weights of the classes, largest first, and return the axes."""
    from matplotlib.figure import Figure

    ax = Figure(layout="constrained").subplots() if ax is None else ax
    weights = np.sort(grouping.weights)[::-1]
    ax.stairs(weights, baseline=0, fill=True, color="#0072b2", label="class")
    ax.axhline(grouping.k, color="#d55e00", label="k")
    ax.set(xlabel="classes, largest first", ylabel="records", ylim=(0, None))
    ax.legend(frameon=False)
    return ax


def save(grouping: Grouping, path: str | PathLike[str]) -> None:
    """Write the picture as SVG or PNG, whichever the name ends in."""
    plot(grouping).get_figure().savefig(Path(path))  # type: ignore[union-attr]
