"""Graphs of neighbouring regions, from lists of edges, networkx, libpysal or polygons (extra `geo`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal._core.optional import require
from shoal._messages import Subject
from shoal.errors import ColumnError, DataError, InternalError, ParameterError, near_matches
from shoal.io import open_frame


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class RegionGraph:
    """Graph of neighbouring regions."""

    names: tuple[Hashable, ...]
    """Name of each node; all names differ."""
    edges: NDArray[np.int32]
    """The two nodes of each edge, the smaller number first, without duplicates or loops."""
    named: bool = True
    """False if the names are only the numbers of the nodes."""
    source: Any = None
    """The GeoDataFrame or networkx graph that the graph was read from; None if there is none."""
    positions: NDArray[np.float64] | None = None
    """Two coordinates of each node, for pictures; None if there are none."""

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.names)

    @cached_property
    def numbers(self) -> dict[Hashable, int]:
        """Number of the node with each name."""
        return {name: number for number, name in enumerate(self.names)}

    @cached_property
    def adjacency(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
        """Adjacency lists: start of each node's neighbours, the sorted neighbours, and the edge to each neighbour."""
        left, right = self.edges[:, 0], self.edges[:, 1]
        nodes = np.concatenate((left, right))
        neighbours = np.concatenate((right, left))
        numbers = np.concatenate([np.arange(len(self.edges), dtype=np.int32)] * 2)
        order = np.lexsort((neighbours, nodes))
        starts = np.concatenate(([0], np.cumsum(np.bincount(nodes, minlength=self.nodes)))).astype(np.int64)
        return starts, neighbours[order].astype(np.int32), numbers[order]

    @property
    def polygons(self) -> Any | None:
        """The GeoDataFrame that the graph was read from; None if there is none."""
        return self.source if _is_polygons(self.source) else None

    def part(self, nodes: NDArray[np.int32]) -> RegionGraph:
        """Build the subgraph of some nodes, given in ascending order."""
        place = np.full(self.nodes, -1, dtype=np.int32)
        place[nodes] = np.arange(len(nodes), dtype=np.int32)
        edges = place[self.edges]
        return RegionGraph(
            names=tuple(self.names[node] for node in nodes), edges=edges[(edges >= 0).all(axis=1)], named=self.named
        )


def read_graph(
    owner: str,
    source: Any,
    *,
    names: str | Sequence[Hashable] | None = None,
    layer: str | None = None,
    nodes: Sequence[Hashable] | int | None = None,
) -> RegionGraph:
    """Read a graph of regions.

    Parameters
    ----------
    owner : str
        Name of the calling function or class, for messages.
    source : array, list of pairs, frame, networkx graph, libpysal weights, GeoDataFrame or path
        The edges, or polygons (a path can be a file such as GeoJSON, TopoJSON or GeoPackage). Polygons are neighbours
        if they share a border of positive length.
    names : str or sequence, optional
        Names of the nodes, in their order; for polygons, the column with the names.
    layer : str, optional
        Layer of a file with several layers.
    nodes : sequence or int, optional
        Names that edges may use, or the number of nodes; by default the names that the edges use.

    Raises
    ------
    DataError
        If edges are not pairs, join a node with itself, are listed twice, or use unknown nodes, or if names are not
        unique. Messages have counts, but no names.
    """
    # Polygons, from a file or a GeoDataFrame.
    if isinstance(source, str | PathLike):
        source = read_polygons(source, layer=layer)
    if _is_polygons(source):
        called = _column_of(owner, source, names) if isinstance(names, str) else names
        called = list(source.index) if called is None else called
        return _graph(owner, called, shared_borders(source), source=source, named=names is not None)
    if isinstance(names, str):
        raise ParameterError(Subject(owner, "names"), " names a column of polygons. There are none here.")
    # Graphs of networkx and libpysal, then lists of edges.
    if hasattr(source, "nodes") and hasattr(source, "adj"):
        own = list(source.nodes)
        return _graph(
            owner, own if names is None else names, _number_pairs(own, _distinct(source.edges())), source=source
        )
    weights = _libpysal_neighbours(source)
    if weights is not None:
        own, pairs = weights
        return _graph(owner, own if names is None else names, _number_pairs(own, _distinct(pairs)))
    return _from_list(owner, source, names, nodes)


def weights_of(owner: str, graph: RegionGraph, weights: Any) -> Any:
    """Read the weights of the nodes in their order, one for each node, without checking their values.

    Raises
    ------
    DataError
        If a node has no weight, or if a weight belongs to no node of the graph.
    """
    # The name of a column of polygons, or of a node attribute of a networkx graph.
    if isinstance(weights, str):
        if graph.polygons is not None:
            return np.asarray(_column_of(owner, graph.polygons, weights))
        if hasattr(graph.source, "nodes"):
            found = dict(graph.source.nodes(data=weights))
            weights = {name: found[node] for name, node in zip(graph.names, graph.source.nodes, strict=True)}
        else:
            raise ParameterError(Subject(owner, "weights"), " names an attribute, but the graph has none.")
    if isinstance(weights, Mapping):
        # A mapping must have exactly the nodes of the graph.
        missing = sum(weights.get(name) is None for name in graph.names)
        unknown = sum(name not in graph.numbers for name in weights)
        if missing or unknown:
            raise DataError(
                f"{missing} of {graph.nodes} nodes of the graph have no weight, and "
                f"{unknown} weights belong to no node."
            )
        return np.asarray([weights[name] for name in graph.names])
    array = np.asarray(weights)
    if array.ndim != 1 or len(array) != graph.nodes:
        raise DataError(f"The graph has {graph.nodes} nodes: {owner} needs one weight for each. Got {array.shape}.")
    return array


def to_mapping(owner: str, weights: Any) -> Any:
    """Convert a frame of two columns to a mapping from names to weights; return anything else unchanged."""
    if not _is_frame(weights):
        return weights
    frame = open_frame(weights).frame
    if frame.width != 2:
        raise DataError(
            f"A frame of weights has two columns for {owner}: the node and its weight. Got {frame.width} column(s)."
        )
    nodes, numbers = frame.get_columns()
    if nodes.null_count() or nodes.n_unique() < len(nodes):
        raise DataError(f"Every node stands once in the weights of {owner}: some are missing or repeated.")
    return dict(zip(nodes.to_list(), numbers.to_list(), strict=True))


def check_positions(owner: str, positions: ArrayLike, nodes: int) -> NDArray[np.float64]:
    """Validate coordinates: an array of two finite columns with one row for each node.

    Raises
    ------
    ParameterError
        If the coordinates are anything else.
    """
    places = np.asarray(positions, dtype=np.float64)
    if places.shape != (nodes, 2) or not np.isfinite(places).all():
        raise ParameterError.refusing(owner, "positions", f"{nodes} pairs of finite numbers")
    return places


def _from_list(owner: str, source: Any, names: Any, nodes: Any) -> RegionGraph:
    """Read a list of edges; see `read_graph`."""
    pairs = _pairs(owner, source)
    numeric = isinstance(pairs, np.ndarray)
    if isinstance(nodes, int):
        if numeric:
            outside = int(np.count_nonzero(((pairs < 0) | (pairs >= nodes)).any(axis=1)))
            if outside:
                raise DataError(f"{outside} of {len(pairs)} edges have an unknown node: there are {nodes} nodes.")
            called = list(range(nodes)) if names is None else names
            return _graph(owner, called, pairs, named=names is not None, strict=True)
        if names is None:
            raise DataError(
                f"{owner} was given edges between names, but weights without names. Give the weights as a mapping from "
                "names to weights, or name the nodes in their order with 'names'."
            )
    # Without names, the edges define the nodes.
    known = list(names if names is not None else nodes if nodes is not None and not isinstance(nodes, int) else ())
    listed = pairs.tolist() if numeric else pairs
    if not known:
        known = list(dict.fromkeys(end for pair in listed for end in pair))
        try:
            known.sort()
        except TypeError:
            known.sort(key=lambda name: (type(name).__name__, str(name)))
    numbers = {name: number for number, name in enumerate(known)}
    outside = sum(a not in numbers or b not in numbers for a, b in listed)
    if outside:
        raise DataError(f"{outside} of {len(listed)} edges have an unknown node: it has no weight or name.")
    return _graph(owner, known, _number_pairs(known, listed), strict=True)


def _graph(
    owner: str,
    names: Sequence[Hashable],
    pairs: NDArray[np.int32],
    *,
    named: bool = True,
    source: Any = None,
    strict: bool = False,
) -> RegionGraph:
    """Build a graph of edges between numbers; with `strict`, duplicate edges and loops are errors."""
    names = tuple(names)
    if len(set(names)) < len(names):
        raise DataError(f"The names of the nodes must differ for {owner}: {len(names) - len(set(names))} are repeated.")
    if len(pairs) and int(pairs.max()) >= len(names):
        raise DataError(f"The graph has more nodes than {owner} was given names: {len(names)}.")
    if source is not None and len(names) != len(source):
        raise DataError(f"The graph has {len(source)} nodes, and {owner} was given {len(names)} names.")
    # Lists of edges must not repeat an edge or join a node with itself.
    loops = pairs[:, 0] == pairs[:, 1]
    if strict:
        repeated = len(pairs) - len(np.unique(pairs, axis=0))
        if loops.any() or repeated:
            raise DataError(
                f"{int(loops.sum())} of {len(pairs)} edges join a node with itself, and {repeated} repeat another one. "
                "List each pair of neighbours once (or once in each direction)."
            )
    edges = np.unique(np.sort(pairs[~loops], axis=1), axis=0).astype(np.int32)
    return RegionGraph(names=names, edges=edges.reshape(-1, 2), named=named, source=source)


def _pairs(owner: str, source: Any) -> Any:
    """Convert edges to an integer array if they are numbers, otherwise to a list of pairs."""
    if _is_frame(source):
        frame = open_frame(source).frame
        if frame.width != 2:
            raise DataError(f"A frame of edges has two columns for {owner}. Got {frame.width}.")
        if any(column.null_count() for column in frame.get_columns()):
            raise DataError(f"Some edges miss a node for {owner}.")
        source = frame.rows() if not all(dtype.is_integer() for dtype in frame.dtypes) else frame.to_numpy()
    # Arrays of integers stay arrays; anything else becomes a list of pairs.
    if isinstance(source, np.ndarray):
        if source.ndim != 2 or source.shape[1] != 2:
            raise DataError(f"Edges are an array of two columns for {owner}. Got the shape {source.shape}.")
        if len(source) == 0:
            return np.empty((0, 2), dtype=np.int64)
        return source if source.dtype.kind in "iu" else [tuple(pair) for pair in source.tolist()]
    try:
        listed = [tuple(pair) for pair in source]
    except TypeError:
        raise DataError(
            f"{owner} takes edges as an array or frame of two columns, a list of pairs, a networkx graph, libpysal "
            f"weights, or polygons. Got {type(source).__name__}."
        ) from None
    if any(len(pair) != 2 for pair in listed):
        raise DataError(f"Every edge is a pair of nodes for {owner}: some are not.")
    if listed and all(
        isinstance(end, int | np.integer) and not isinstance(end, bool) for pair in listed for end in pair
    ):
        return np.array(listed, dtype=np.int64)
    return listed if listed else np.empty((0, 2), dtype=np.int64)


def _libpysal_neighbours(source: Any) -> tuple[list[Hashable], list[tuple[Hashable, Hashable]]] | None:
    """Read the nodes and the pairs of neighbours of libpysal's `W` or `Graph`; None for anything else."""
    if hasattr(source, "id_order") and hasattr(source, "neighbors"):
        return list(source.id_order), [(a, b) for a, near in source.neighbors.items() for b in near]
    if hasattr(source, "unique_ids") and hasattr(source, "adjacency"):
        pairs = source.adjacency  # a node without neighbours is listed as its own neighbour, with weight 0
        return list(source.unique_ids), [pair for pair, weight in pairs.items() if weight != 0]
    return None


def _number_pairs(names: Sequence[Hashable], pairs: Any) -> NDArray[np.int32]:
    numbers = {name: number for number, name in enumerate(names)}
    return np.array([(numbers[a], numbers[b]) for a, b in pairs], dtype=np.int32).reshape(-1, 2)


def _distinct(pairs: Any) -> list[tuple[Hashable, Hashable]]:
    return [(pair[0], pair[1]) for pair in pairs if pair[0] != pair[1]]


def _column_of(owner: str, polygons: Any, column: str) -> Any:
    if column not in polygons.columns:
        known = [str(name) for name in polygons.columns]
        raise ColumnError(f"The polygons have no column '{column}' for {owner}. {near_matches(column, known)}")
    return list(polygons[column])


def _is_polygons(source: Any) -> bool:
    return hasattr(source, "geometry") and hasattr(source, "total_bounds")


def _is_frame(source: Any) -> bool:
    return hasattr(source, "columns") and not _is_polygons(source)


def components_of(nodes: int, edges: Iterable[tuple[int, int]]) -> list[int]:
    """Find a representative of the component of each node; connected nodes have the same one.

    Examples
    --------
    >>> components_of(4, [(0, 2), (2, 3)])
    [0, 1, 0, 0]
    """
    # Union-find with path halving; the smaller root represents a component.
    above = list(range(nodes))

    def found(node: int) -> int:
        while above[node] != node:
            above[node] = above[above[node]]
            node = above[node]
        return node

    for left, right in edges:
        first, second = sorted((found(left), found(right)))
        above[second] = first
    return [found(node) for node in range(nodes)]


def check_connected(classes: Sequence[int], edges: Iterable[tuple[int, int]]) -> None:
    """Check that the nodes of every class are connected by edges within the class; -1 is no class.

    Raises
    ------
    InternalError
        If a class is not connected.
    """
    within = (edge for edge in edges if classes[edge[0]] == classes[edge[1]])
    tops = components_of(len(classes), within)
    components = Counter(classes[top] for top in set(tops))
    apart = sum(count > 1 for number, count in components.items() if number >= 0)
    if apart:
        raise InternalError(f"{apart} class(es) of regions are not connected")


_PURPOSE = "Reading polygons"


def read_polygons(path: str | PathLike[str], *, layer: str | None = None) -> Any:
    """Read polygons from a file that GDAL supports, such as GeoJSON, TopoJSON or GeoPackage, as a GeoDataFrame.

    Raises
    ------
    DataError
        If the file does not exist or cannot be read.
    """
    geopandas = require("geopandas", extra="geo", purpose=_PURPOSE)
    if not Path(path).exists():
        raise DataError(f"There is no file '{path}'.")
    try:
        frame = geopandas.read_file(path) if layer is None else geopandas.read_file(path, layer=layer)
    except Exception as error:  # each format's reader has its own exceptions
        raise DataError(
            f"'{path}' cannot be read as polygons{'' if layer is None else f', layer {layer!r}'} "
            f"({type(error).__name__}). GeoJSON, TopoJSON, GeoPackage and shapefiles can."
        ) from error
    # A table without geometries is read without an error.
    if not hasattr(frame, "geometry") or not hasattr(frame, "total_bounds"):
        raise DataError(f"'{path}' holds no polygons.")
    return frame


def shared_borders(polygons: Any) -> NDArray[np.int32]:
    """Find the pairs of polygons that share a border of positive length, the smaller number first.

    Polygons that touch only in a point are not neighbours. Polygons that overlap slightly, as digitized borders do, are
    neighbours.

    Raises
    ------
    DataError
        If some geometries are missing or are not polygons.
    """
    shapely = require("shapely", extra="geo", purpose=_PURPOSE)
    shapes = np.asarray(polygons.geometry.values, dtype=object)
    wrong = int(np.count_nonzero(~np.isin(shapely.get_type_id(shapes), (3, 6)) | shapely.is_empty(shapes)))
    if wrong:
        raise DataError(f"{wrong} of {len(shapes)} geometries are missing, empty or no polygons.")
    shapes = np.where(shapely.is_valid(shapes), shapes, shapely.make_valid(shapes))
    left, right = shapely.STRtree(shapes).query(shapes, predicate="intersects")
    pairs = np.column_stack((left, right))[left < right]
    common = shapely.intersection(shapes[pairs[:, 0]], shapes[pairs[:, 1]])
    neighbours: NDArray[np.int32] = pairs[shapely.length(common) > 0].astype(np.int32)
    return neighbours


def dissolve(polygons: Any, classes: NDArray[np.int32], weights: NDArray[np.int64]) -> Any:
    """Merge the polygons of each class into a GeoDataFrame with the columns class, weight and geometry."""
    geopandas = require("geopandas", extra="geo", purpose=_PURPOSE)
    plain = geopandas.GeoDataFrame({"class": classes}, geometry=polygons.geometry.values, crs=polygons.crs)
    merged = plain[plain["class"] >= 0].dissolve(by="class", as_index=False)
    merged["weight"] = weights[merged["class"].to_numpy()]
    return merged[["class", "weight", "geometry"]]
