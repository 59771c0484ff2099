"""Maps of regions: their polygons, or their graph if they have none.

Neighbouring classes get different colours (Tol's light scheme, which colour-blind readers can distinguish).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal._core.figures import new_axes
from shoal.grouping.base import INK, MAX_SEPARATE_SHAPES
from shoal.grouping.regions.graph import RegionGraph

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEFT_OUT = "#d9dee1"
_COLOURS = ("#77aadd", "#ee8866", "#eedd88", "#ffaabb", "#99ddff", "#44bb99", "#bbcc33", "#aaaa00")
_MAX_NODES_TO_LAY_OUT, _MAJORIZATIONS = 400, 30
"""Largest number of nodes of a graph that is laid out, and the number of majorization steps of the layout."""


def has_map(graph: RegionGraph) -> bool:
    """Test if a graph can be drawn: it has polygons or coordinates, or is small enough to lay out."""
    return graph.polygons is not None or graph.positions is not None or 2 < graph.nodes <= _MAX_NODES_TO_LAY_OUT


def plot_regions(
    graph: RegionGraph, classes: NDArray[np.int32], *, outlines: Any = None, title: str, ax: Axes | None = None
) -> Axes:
    """Draw a map of regions.

    A graph is drawn at its coordinates; without coordinates, it is laid out so that neighbours are close.

    Parameters
    ----------
    graph : RegionGraph
    classes : array of int32
        Class of each region, -1 for regions in no class.
    outlines : GeoDataFrame, optional
        Outline of each class, if the regions are polygons.
    title : str
        Title of the picture.
    ax : matplotlib Axes, optional
        Axes to draw on; new axes by default.
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
    """Colour the classes greedily, so that neighbouring classes have different colours if possible."""
    near: dict[int, set[int]] = {}
    for a, b in np.unique(classes[edges], axis=0).tolist():
        if a != b and min(a, b) >= 0:
            near.setdefault(a, set()).add(b)
            near.setdefault(b, set()).add(a)
    chosen: list[int] = []
    for number in range(int(classes.max()) + 1):
        taken = {chosen[other] for other in near.get(number, ()) if other < number}
        free = [colour for colour in range(len(_COLOURS)) if colour not in taken] or [0]
        # Rotate through the free colours: the first free one would leave a map of two or three colours.
        chosen.append(free[number % len(free)])
    return [_COLOURS[colour] for colour in chosen]


def _draw_graph(graph: RegionGraph, classes: NDArray[np.int32], fill: list[str], ax: Axes) -> None:
    """Draw the nodes of a graph, and its edges within and between classes."""
    from matplotlib.collections import LineCollection

    places = lay_out(graph.edges, graph.nodes) if graph.positions is None else graph.positions
    within = classes[graph.edges[:, 0]] == classes[graph.edges[:, 1]]
    width = float(np.clip(60 / np.sqrt(graph.nodes), 0.6, 5))
    inner = [fill[node] for node in graph.edges[within, 0].tolist()]
    for edges, style in (
        (graph.edges[~within], {"colors": "#c3ccd1", "linewidths": 0.5}),
        (graph.edges[within], {"colors": inner, "linewidths": width}),
    ):
        ax.add_collection(
            LineCollection(list(places[edges]), zorder=1, rasterized=len(edges) > MAX_SEPARATE_SHAPES, **style)
        )
    ax.scatter(places[:, 0], places[:, 1], s=width**2 * 3, c=fill, edgecolors=INK, linewidths=0.3, zorder=2)
    ax.set_aspect("equal", adjustable="datalim")


def lay_out(edges: NDArray[np.int32], nodes: int) -> NDArray[np.float64]:
    """Lay out a graph so that Euclidean distances approximate path lengths.

    The method is classical scaling, followed by a few steps of stress majorization (Gansner, Koren, North 2004).
    """
    # Classical scaling of the path lengths.
    distances = _distances(edges, nodes)
    centred = np.eye(nodes) - 1 / nodes
    values, vectors = np.linalg.eigh(-0.5 * centred @ distances**2 @ centred)
    places = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0))
    # Stress majorization with weights of one over the squared path length.
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
    """Compute path lengths between all pairs of nodes; pairs without a path get slightly more than the largest."""
    near: list[list[int]] = [[] for _ in range(nodes)]
    for a, b in edges.tolist():
        near[a].append(b)
        near[b].append(a)
    # Breadth-first search from each node; other components are a little farther than the farthest node.
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
