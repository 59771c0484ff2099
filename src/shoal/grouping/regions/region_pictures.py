"""Maps of regions: their polygons, or their graph where they came without.

Neighbouring classes get different colours (Tol's light ones, which people who see colours differently can tell apart).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shoal._core.figures import new_axes
from shoal.grouping.class_charts import INK, SEPARATE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from shoal.grouping.regions.graph import RegionGraph

__all__ = ["can_be_drawn", "plot_regions"]

_LEFT_OUT = "#d9dee1"
_COLOURS = ("#77aadd", "#ee8866", "#eedd88", "#ffaabb", "#99ddff", "#44bb99", "#bbcc33", "#aaaa00")
_LAID_OUT, _MAJORIZATIONS = 400, 30
"""Nodes up to which a graph without coordinates is laid out, and the steps that this takes."""


def can_be_drawn(graph: RegionGraph) -> bool:
    """Return whether there is a map of a graph: it has polygons or coordinates, or is small enough to be laid out."""
    return graph.polygons is not None or graph.positions is not None or 2 < graph.nodes <= _LAID_OUT


def plot_regions(
    graph: RegionGraph, classes: NDArray[np.int32], *, outlines: Any = None, title: str, ax: Axes | None = None
) -> Axes:
    """Draw a map of regions, and return the axes.

    The graph is drawn at the coordinates given with it; a small one without is laid out so that neighbours are near.

    Parameters
    ----------
    graph : RegionGraph
    classes : array of int32
        The class of each region, -1 for those in none.
    outlines : GeoDataFrame, optional
        The outline of each class, where the regions are polygons.
    title : str
    ax : matplotlib Axes, optional
        Where to; new axes by default.
    """
    ax = new_axes() if ax is None else ax
    colours = class_colours(graph.edges, classes)
    fill = [colours[number] if number >= 0 else _LEFT_OUT for number in classes.tolist()]
    if graph.polygons is not None:
        graph.polygons.geometry.plot(ax=ax, color=fill, edgecolor="white", linewidth=0.25)
        outlines.geometry.boundary.plot(ax=ax, color=INK, linewidth=0.7)
    else:
        _draw_graph(graph, classes, fill, ax)
    ax.set_axis_off()
    ax.set_title(title)
    return ax


def class_colours(edges: NDArray[np.int32], classes: NDArray[np.int32]) -> list[str]:
    """Return a colour for each class, in the order of their numbers, that no neighbouring class before it has."""
    near: dict[int, set[int]] = {}
    for a, b in np.unique(classes[edges], axis=0).tolist():
        if a != b and min(a, b) >= 0:
            near.setdefault(a, set()).add(b)
            near.setdefault(b, set()).add(a)
    chosen: list[int] = []
    for number in range(int(classes.max()) + 1):
        taken = {chosen[other] for other in near.get(number, ()) if other < number}
        free = [colour for colour in range(len(_COLOURS)) if colour not in taken] or [0]
        # Not always the first free one: the map would be of two or three colours.
        chosen.append(free[number % len(free)])
    return [_COLOURS[colour] for colour in chosen]


def _draw_graph(graph: RegionGraph, classes: NDArray[np.int32], fill: list[str], ax: Axes) -> None:
    from matplotlib.collections import LineCollection

    places = laid_out(graph.edges, graph.nodes) if graph.positions is None else graph.positions
    within = classes[graph.edges[:, 0]] == classes[graph.edges[:, 1]]
    width = float(np.clip(60 / np.sqrt(graph.nodes), 0.6, 5))
    inner = [fill[node] for node in graph.edges[within, 0].tolist()]
    for edges, style in (
        (graph.edges[~within], {"colors": "#c3ccd1", "linewidths": 0.5}),
        (graph.edges[within], {"colors": inner, "linewidths": width}),
    ):
        ax.add_collection(LineCollection(list(places[edges]), zorder=1, rasterized=len(edges) > SEPARATE, **style))
    ax.scatter(places[:, 0], places[:, 1], s=width**2 * 3, c=fill, edgecolors=INK, linewidths=0.3, zorder=2)
    ax.set_aspect("equal", adjustable="datalim")


def laid_out(edges: NDArray[np.int32], nodes: int) -> NDArray[np.float64]:
    """Return coordinates of the nodes of a graph that has none, so that distances are nearly those along the edges.

    Classical scaling of the distances, then a few steps of majorization (Gansner, Koren, North 2004).
    """
    distances = _distances(edges, nodes)
    centred = np.eye(nodes) - 1 / nodes
    values, vectors = np.linalg.eigh(-0.5 * centred @ distances**2 @ centred)
    places = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0))
    with np.errstate(divide="ignore"):
        wanted = np.where(distances > 0, distances**-2.0, 0)
    weights = np.diag(wanted.sum(axis=1)) - wanted
    inverse = np.linalg.pinv(weights)
    for _ in range(_MAJORIZATIONS):
        apart = np.linalg.norm(places[:, None, :] - places[None, :, :], axis=2)
        pull = -wanted * distances / np.maximum(apart, 1e-9)
        np.fill_diagonal(pull, 0)
        np.fill_diagonal(pull, -pull.sum(axis=1))
        places = inverse @ (pull @ places)
    laid: NDArray[np.float64] = places
    return laid


def _distances(edges: NDArray[np.int32], nodes: int) -> NDArray[np.float64]:
    """Return the number of edges between any two nodes; a little more than the largest where there is no path."""
    near: list[list[int]] = [[] for _ in range(nodes)]
    for a, b in edges.tolist():
        near[a].append(b)
        near[b].append(a)
    distances = np.full((nodes, nodes), -1.0)
    for start in range(nodes):
        found = {start: 0}
        waiting = [start]
        for node in waiting:
            for other in near[node]:
                if other not in found:
                    found[other] = found[node] + 1
                    waiting.append(other)
        distances[start, list(found)] = list(found.values())
    distances[distances < 0] = distances.max() + 2
    return distances
