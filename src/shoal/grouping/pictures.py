"""Pictures of groupings, drawn with matplotlib: maps, rectangles, weights of classes, overfull ratios.

Nothing here keeps state: figures are objects, no window is opened, and no cell of the input is written on them. The
colours can be told apart by people who see colours differently (Wong 2011, Tol 2021), and borders are drawn besides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from shoal._figures import new_axes, svg_element, write_picture

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

    from shoal.grouping.base import Grouping
    from shoal.grouping.regions.regionalization import RegionGrouping

__all__ = ["plot", "plot_rectangles", "plot_regions", "plot_weights", "ratio_curve", "save", "svg"]

_INK, _BAR, _LINE, _LEFT_OUT = "#14232b", "#0072b2", "#d55e00", "#d9dee1"
_CLASSES = ("#77aadd", "#ee8866", "#eedd88", "#ffaabb", "#99ddff", "#44bb99", "#bbcc33", "#aaaa00")
"""Tol's light colours; neighbouring classes get different ones."""
_CURVES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_MARKERS = "osD^vPX"
_LAID_OUT, _MAJORIZATIONS = 400, 30
"""Graphs without coordinates are laid out where they have no more nodes, in so many steps."""
_BARS = 100
"""Up to so many classes have a bar each."""
_SEPARATE = 20_000
"""More shapes than this are one image within an SVG: a file of a hundred megabytes opens nowhere."""


def plot(grouping: Grouping, ax: Axes | None = None) -> Axes:
    """Draw a grouping the way that tells most of it, and return the axes: a map where there is one, else bars.

    Parameters
    ----------
    grouping : Grouping
    ax : matplotlib Axes, optional
        Where to; new axes by default.
    """
    ax = new_axes() if ax is None else ax
    rectangles = getattr(grouping, "rectangles", None)
    if rectangles is not None:
        return plot_rectangles(rectangles, grouping.weights, grouping.k, ax)
    if hasattr(grouping, "graph") and _can_be_drawn(grouping):
        return plot_regions(cast("RegionGrouping", grouping), ax)
    return plot_weights(grouping, ax)


def plot_weights(grouping: Grouping, ax: Axes | None = None) -> Axes:
    """Draw the weights of the classes: largest first, or in their order where the values have one."""
    ax = new_axes() if ax is None else ax
    in_order = grouping.kind == "ordered"
    weights = grouping.weights if in_order else np.sort(grouping.weights)[::-1]
    few = len(weights) <= _BARS
    if few:  # with a gap between them
        ax.bar(np.arange(1, len(weights) + 1), weights, width=0.8, color=_BAR, label="class")
    else:
        ax.stairs(weights, baseline=0, fill=True, color=_BAR, label="class")
    ax.axhline(grouping.k, color=_LINE, linestyle="--", label="k")
    ax.set(
        xlabel="classes, " + ("in the order of their values" if in_order else "largest first"),
        ylabel="records",
        ylim=(0, 1.2 * weights.max()),
        title=_title(grouping),
    )
    ax.legend(frameon=False, loc="upper right", ncols=2)  # above the bars
    return ax


def plot_regions(grouping: RegionGrouping, ax: Axes | None = None) -> Axes:
    """Draw a map of regions: their polygons, or their graph where they came without.

    The graph is drawn at the coordinates given with it; a small one without is laid out so that neighbours are near.
    """
    ax = new_axes() if ax is None else ax
    colours = _region_colours(grouping)
    if grouping.graph.polygons is not None:
        _draw_polygons(grouping, colours, ax)
    else:
        _draw_graph(grouping, colours, ax)
    ax.set_axis_off()
    ax.set_title(_title(grouping))
    return ax


def plot_rectangles(rectangles: ArrayLike, weights: ArrayLike, k: int, ax: Axes | None = None) -> Axes:
    """Draw rectangles, shaded by their weight in units of k.

    Parameters
    ----------
    rectangles : array_like
        x_min, x_max, y_min, y_max of each class, one row per class.
    weights : array_like
        The records of each class.
    k : int
        What each class weighs at least.
    ax : matplotlib Axes, optional
    """
    from matplotlib.collections import PolyCollection

    ax = new_axes() if ax is None else ax
    x_min, x_max, y_min, y_max = np.asarray(rectangles, dtype=np.float64).T
    corners = np.stack([np.stack(c, axis=-1) for c in ((x_min, y_min), (x_max, y_min), (x_max, y_max), (x_min, y_max))])
    ratios = np.asarray(weights, dtype=np.float64) / k
    drawn = PolyCollection(
        list(np.swapaxes(corners, 0, 1)), array=ratios, cmap="cividis_r", edgecolors=_INK, linewidths=0.3
    )
    drawn.set_rasterized(len(ratios) > _SEPARATE)
    ax.add_collection(drawn)
    ax.autoscale_view()
    ax.set_aspect("equal", adjustable="datalim")
    ax.get_figure().colorbar(drawn, ax=ax, label="records in units of k", shrink=0.8)  # type: ignore[union-attr]
    ax.set_title(f"{len(ratios):,} rectangles, the largest {ratios.max():.3g} times k = {k:,}")
    return ax


def ratio_curve(ks: Sequence[int], curves: Mapping[str, Sequence[float]], ax: Axes | None = None) -> Axes:
    """Draw overfull ratios (largest class / k) against k, one curve for each method.

    Parameters
    ----------
    ks : sequence of int
        In ascending order.
    curves : mapping of str to sequence of float
        The ratios of each method, one for each k.
    ax : matplotlib Axes, optional
    """
    ax = new_axes() if ax is None else ax
    for place, (name, ratios) in enumerate(curves.items()):
        few = len(ks) <= 40
        ax.plot(
            ks,
            ratios,
            label=name,
            color=_CURVES[place % len(_CURVES)],
            marker=_MARKERS[place % len(_MARKERS)] if few else None,
            markersize=4,
            linewidth=1.4,
        )
    ax.set(xlabel="k", ylabel="overfull ratio: largest class / k", xscale="log")
    ax.axhline(1, color=_INK, linewidth=0.6)
    ax.legend(frameon=False)
    return ax


def save(grouping: Grouping, path: str | PathLike[str]) -> None:
    """Write the picture as SVG or PNG, whichever the name ends in.

    Raises
    ------
    OutputError
        The name ends in something else.
    """
    write_picture(plot(grouping), path)


def svg(grouping: Grouping) -> str:
    """Return the picture as one SVG element, to stand within a page."""
    return svg_element(plot(grouping))


def _title(grouping: Grouping) -> str:
    weights = grouping.weights
    proven = "the smallest possible" if grouping.optimal else f"at least {grouping.lower_bound:,} is needed"
    sizes = f"{int(weights.min()):,} to {grouping.cost:,} records ({proven})"
    return f"{len(weights):,} classes of {sizes}, k = {grouping.k:,}"


def _can_be_drawn(grouping: Any) -> bool:
    graph = grouping.graph
    return graph.polygons is not None or graph.positions is not None or 2 < graph.nodes <= _LAID_OUT


def _region_colours(grouping: RegionGrouping) -> list[str]:
    """Return a colour for each class, in the order of their numbers, that no neighbouring class before it has."""
    near: dict[int, set[int]] = {}
    for a, b in np.unique(grouping.classes[grouping.graph.edges], axis=0).tolist():
        if a != b and min(a, b) >= 0:
            near.setdefault(a, set()).add(b)
            near.setdefault(b, set()).add(a)
    chosen: list[int] = []
    for number in range(len(grouping.weights)):
        taken = {chosen[other] for other in near.get(number, ()) if other < number}
        free = [colour for colour in range(len(_CLASSES)) if colour not in taken] or [0]
        # Not always the first free one: the map would be of two or three colours.
        chosen.append(free[number % len(free)])
    return [_CLASSES[colour] for colour in chosen]


def _draw_polygons(grouping: RegionGrouping, colours: list[str], ax: Axes) -> None:
    polygons = grouping.graph.polygons
    assert polygons is not None
    fill = [colours[number] if number >= 0 else _LEFT_OUT for number in grouping.classes.tolist()]
    polygons.geometry.plot(ax=ax, color=fill, edgecolor="white", linewidth=0.25)
    grouping.dissolved().geometry.boundary.plot(ax=ax, color=_INK, linewidth=0.7)


def _draw_graph(grouping: RegionGrouping, colours: list[str], ax: Axes) -> None:
    from matplotlib.collections import LineCollection

    graph = grouping.graph
    places = _laid_out(graph.edges, graph.nodes) if graph.positions is None else graph.positions
    numbers = grouping.classes
    within = numbers[graph.edges[:, 0]] == numbers[graph.edges[:, 1]]
    width = float(np.clip(60 / np.sqrt(graph.nodes), 0.6, 5))
    for edges, style in (
        (graph.edges[~within], {"colors": "#c3ccd1", "linewidths": 0.5}),
        (graph.edges[within], {"colors": _colours_of(numbers[graph.edges[within, 0]], colours), "linewidths": width}),
    ):
        ax.add_collection(LineCollection(list(places[edges]), zorder=1, rasterized=len(edges) > _SEPARATE, **style))
    ax.scatter(
        places[:, 0],
        places[:, 1],
        s=width**2 * 3,
        c=_colours_of(numbers, colours),
        edgecolors=_INK,
        linewidths=0.3,
        zorder=2,
    )
    ax.set_aspect("equal", adjustable="datalim")


def _colours_of(numbers: NDArray[np.int32], colours: list[str]) -> list[str]:
    return [colours[number] if number >= 0 else _LEFT_OUT for number in numbers.tolist()]


def _laid_out(edges: NDArray[np.int32], nodes: int) -> NDArray[np.float64]:
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
