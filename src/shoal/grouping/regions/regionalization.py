"""Regions: neighbouring places in connected classes of at least k records each, the largest as small as possible."""

from __future__ import annotations

import secrets
import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal._core.progress import Progress, silent
from shoal._core.validation import Boolean, Integer, OneOf, Optional, RationalIn, validate
from shoal._messages import Suggestion
from shoal.errors import DataError, InfeasibleError, ParameterError
from shoal.grouping.base import (
    SUPPRESSED,
    Grouping,
    GroupingBound,
    GroupingGuarantee,
    check_feasible,
    check_grouping,
    check_k,
    checked_weights,
)
from shoal.grouping.regions.connectivity import check_connected, components_of
from shoal.grouping.regions.graph import RegionGraph, check_positions, mapping_of, read_graph, weights_of
from shoal.grouping.regions.region_bounds import region_bound
from shoal.grouping.regions.region_parts import cut_along_tree, exact_parts, recombine
from shoal.grouping.regions.region_pictures import can_be_drawn, plot_regions

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

__all__ = ["METHODS", "RegionGrouping", "group_regions", "regions"]

METHODS = ("best", "tree", "exact")
"""tree: the paper's algorithm alone; best: refined beyond it; exact: and proven, where the graph is small enough."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class RegionGrouping(Grouping):
    """Regions in connected classes of at least k records each."""

    graph: RegionGraph
    """The regions and which of them are neighbours."""
    degree: int
    """The degree of the spanning tree that was cut; no spanning tree has a degree lower by more than one."""

    @property
    def names(self) -> tuple[Hashable, ...]:
        """What each region is called, in the order of `classes`."""
        return self.graph.names

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw a map where the graph allows one, else bars, and return the axes; see `Grouping.plot`."""
        if not can_be_drawn(self.graph):
            return super().plot(ax)
        outlines = None if self.graph.polygons is None else self.dissolved()
        return plot_regions(self.graph, self.classes, outlines=outlines, title=self.title, ax=ax)

    def table(self) -> pl.DataFrame:
        """Return the class of every region as a table: `value`, `class` (null where a region was left out)."""
        import polars as pl

        numbers = [None if number == SUPPRESSED else number for number in self.classes.tolist()]
        return pl.DataFrame({"value": [str(name) for name in self.names], "class": pl.Series(numbers, dtype=pl.Int32)})

    def dissolved(self) -> Any:
        """Return a GeoDataFrame with the outline of each class, where the regions came as polygons (extra `geo`).

        Raises
        ------
        ParameterError
            Where they did not.
        """
        from shoal.grouping.regions.polygons import dissolve

        if self.graph.polygons is None:
            raise ParameterError("These regions came as a graph without polygons: there is nothing to dissolve.")
        return dissolve(self.graph.polygons, self.classes, self.weights)


def regions(
    edges: Any,
    weights: Any = None,
    k: int = 0,
    *,
    names: str | Sequence[Hashable] | None = None,
    method: str = "best",
    suppress_small: bool = False,
    seed: int | None = None,
    time_limit: float = 60.0,
    layer: str | None = None,
    positions: ArrayLike | None = None,
    progress: Progress | None = None,
) -> RegionGrouping:
    """Group regions into connected classes of at least k records each, the largest as small as possible.

    Parameters
    ----------
    edges : array, list of pairs, frame, networkx graph, libpysal weights, GeoDataFrame or path
        Which regions are neighbours: pairs of node numbers or names, each pair once (or once in each direction); a
        graph; or polygons (a path to GeoJSON, TopoJSON or GeoPackage too), which are neighbours where they share a
        border of some length.
    weights : array, mapping, frame or str
        The records of each region, whole numbers of at least 0: one for each node in their order, or by name; or the
        name of a column of the polygons, or of an attribute of the networkx graph.
    k : int
        What each class weighs at least.
    names : str or sequence, optional
        What the regions are called, in their order; for polygons the column with the names.
    method : {"best", "tree", "exact"}
        "tree" cuts a spanning tree of low degree, with the paper's guarantee; "best" improves that by moving regions
        and recombining neighbouring classes, and never falls behind the guarantee; "exact" also searches for the
        proven optimum, which succeeds for small graphs (extra `exact`).
    suppress_small : bool, default False
        Leave components out that weigh less than k: their class is -1. By default they are an error.
    seed : int, optional
        Of the random steps; from the operating system by default.
    time_limit : float, default 60
        Seconds for the search and the proof of method "exact". The search counts work that a quiet machine does in half
        of that time, so that a seed gives the same classes on machines that are not much slower.
    layer : str, optional
        Of a file of polygons with several.
    positions : array, optional
        Two coordinates of each region in their order, for pictures of graphs.
    progress : callable, optional
        Called with (step, done, total) now and then.

    Returns
    -------
    RegionGrouping
        Classes are numbered in the order of their first regions.

    Raises
    ------
    DataError
        The edges or the weights are not as described. Messages hold counts, no names.
    InfeasibleError
        There are less than k records, or a component of the graph has less.

    Notes
    -----
    For a tree of degree d no class weighs more than kappa + d (k - 1), kappa the larger of k and the largest region:
    at most 4 times the optimum where d = 3, 3 times where d = 2 (Theorem 3). Beyond the paper: the tree is found by
    the local search of Fuerer and Raghavachari for any connected graph, planar or not; it is cut in one pass from the
    leaves up, which keeps the bounds of Lemmas 1 and 2; then two or three neighbouring classes at a time are joined
    and cut again along random trees, single regions move or trade places, and the best division is kept. Method "exact"
    chooses among all connected sets of regions by integer programs; where these are too many, classes are cut off one
    after the other so that their weights meet the lower bound.

    References
    ----------
    W. Du, D. Eppstein, M. T. Goodrich, G. S. Lueker, "On the approximability of geometric and geographic
    generalization and the min-max bin covering problem", WADS 2009, doi:10.1007/978-3-642-03367-4_22.
    M. Fuerer, B. Raghavachari, "Approximating the minimum-degree Steiner tree to within one of optimal", Journal of
    Algorithms 17(3), 1994, doi:10.1006/jagm.1994.1042.
    D. DeFord, M. Duchin, J. Solomon, "Recombination: a family of Markov chains for redistricting", Harvard Data
    Science Review 3(1), 2021, doi:10.1162/99608f92.eb30390f.

    Examples
    --------
    >>> made = regions([(0, 1), (1, 2), (2, 3), (3, 4)], [2, 2, 1, 4, 1], k=3, seed=1)
    >>> made.classes.tolist(), made.cost, made.optimal
    ([0, 0, 0, 1, 1], 5, True)
    """
    k = check_k("regions", k)
    weights = mapping_of("regions", weights)
    known = list(weights) if isinstance(weights, Mapping) else None
    if known is None and weights is not None and not isinstance(weights, str):
        known = len(weights)  # type: ignore[assignment]
    graph = read_graph("regions", edges, names=names, layer=layer, nodes=known)
    if weights is None:
        raise DataError("regions needs the records of each region: name them with 'weights'.")
    if positions is not None:
        graph = replace(graph, positions=check_positions("regions", positions, graph.nodes))
    counted = checked_weights("regions", weights_of("regions", graph, weights), what="weights", least=0)
    return group_regions(
        graph,
        counted,
        k,
        method=method,
        suppress_small=suppress_small,
        seed=seed,
        time_limit=time_limit,
        progress=progress or silent,
    )


def group_regions(
    graph: RegionGraph,
    weights: NDArray[np.int64],
    k: int,
    *,
    method: str = "best",
    suppress_small: bool = False,
    seed: int | None = None,
    time_limit: float = 60.0,
    progress: Progress = silent,
) -> RegionGrouping:
    """Group the nodes of a graph that was read, with checked weights; see `regions`."""
    validate(
        "regions",
        {"method": method, "suppress_small": suppress_small, "seed": seed, "time_limit": time_limit},
        {
            "method": OneOf(METHODS),
            "suppress_small": Boolean(),
            "seed": Optional(Integer(low=0)),
            "time_limit": RationalIn(low=0),  # type: ignore[arg-type]
        },
    )
    began = time.perf_counter()
    check_feasible("regions", int(weights.sum()), k)
    rng = np.random.default_rng(secrets.randbits(256) if seed is None else seed)
    components, left_out = _components(graph, weights, k, suppress_small=suppress_small)
    divided = [
        _divide(graph.part(nodes), weights[nodes], k, nodes=nodes, refined=method != "tree", rng=rng, progress=progress)
        for nodes in components
    ]
    if method == "exact":
        divided = _proven(divided, k, time_limit=time_limit, rng=rng, progress=progress)
    classes = _numbered(graph.nodes, divided)
    loads = np.bincount(classes[classes >= 0], weights=weights[classes >= 0]).astype(np.int64)
    bound = max((one.bound for one in divided), key=lambda bound: bound.value)
    degree = max(one.degree for one in divided)
    heaviest = max(k, *(int(one.weights.max()) for one in divided))
    grouping = RegionGrouping(
        kind="regions",
        classes=classes,
        weights=loads,
        k=k,
        lower_bound=bound.value,
        lower_bound_why=bound.why,
        method=method,
        guarantee=GroupingGuarantee(
            text=f"a spanning tree of degree {degree} was cut: no class weighs more than kappa + {degree} (k - 1), "
            "kappa the larger of k and the largest region",
            largest=heaviest + degree * (k - 1),
        ),
        seed=seed,
        seconds=time.perf_counter() - began,
        details={
            "regions": graph.nodes,
            "edges": len(graph.edges),
            "components": len(components),
            "components_left_out": left_out[0],
            "records_left_out": left_out[1],
            "tree_degree": degree,
            "tree_largest": max(one.tree_cost for one in divided),
        },
        graph=graph,
        degree=degree,
    )
    check_connected(classes.tolist(), graph.edges.tolist())
    check_grouping(grouping, weights)
    return grouping


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Divided:
    """One component, divided."""

    nodes: NDArray[np.int32]
    graph: RegionGraph
    weights: NDArray[np.int64]
    parts: NDArray[np.int32]
    bound: GroupingBound
    degree: int
    tree_cost: int

    @property
    def cost(self) -> int:
        return _largest(self.parts, self.weights)


def _largest(parts: NDArray[np.int32], weights: NDArray[np.int64]) -> int:
    return int(np.bincount(parts, weights=weights).max())


def _components(
    graph: RegionGraph, weights: NDArray[np.int64], k: int, *, suppress_small: bool
) -> tuple[list[NDArray[np.int32]], tuple[int, int]]:
    """Return the nodes of each component that can be published; how many others there are, and their records."""
    tops = np.array(components_of(graph.nodes, graph.edges.tolist()), dtype=np.int32)
    order = np.argsort(tops, kind="stable").astype(np.int32)
    bounds = np.flatnonzero(np.diff(tops[order])) + 1
    listed = [np.sort(nodes) for nodes in np.split(order, bounds)]
    loads = [int(weights[nodes].sum()) for nodes in listed]
    small = [load for load in loads if load < k]
    if small and not suppress_small:
        raise InfeasibleError(
            f"{len(small)} of {len(listed)} components of the graph have less than {k} records: {sum(small)} records "
            "in all cannot be in a connected class. Leave them out with ",
            Suggestion("suppress_small", True),
            f", connect them, or lower k to {min(small)}." if min(small) else " or connect them.",
        )
    kept = [nodes for nodes, load in zip(listed, loads, strict=True) if load >= k]
    if not kept:
        raise InfeasibleError(
            f"Every component of the graph has less than {k} records: no class can be made. The largest k that can "
            f"be met is {max(loads)}."
        )
    return kept, (len(small), sum(small))


def _divide(
    graph: RegionGraph,
    weights: NDArray[np.int64],
    k: int,
    *,
    nodes: NDArray[np.int32],
    refined: bool,
    rng: np.random.Generator,
    progress: Progress,
) -> _Divided:
    """Divide a connected graph along a tree, and refine what comes of it."""
    bound = region_bound(graph, weights, k)
    tree = cut_along_tree(graph, weights, k, progress=progress)
    parts = tree.parts
    if refined:
        parts = recombine(graph, weights, k, parts, bound=bound.value, rng=rng, progress=progress)
    return _Divided(
        nodes=nodes,
        graph=graph,
        weights=weights,
        parts=parts,
        bound=bound,
        degree=tree.degree,
        tree_cost=_largest(tree.parts, weights),
    )


def _proven(
    divided: list[_Divided], k: int, *, time_limit: float, rng: np.random.Generator, progress: Progress
) -> list[_Divided]:
    """Divide the components that decide the cost to the proven optimum, the worst first, while there is time."""
    end = time.perf_counter() + time_limit
    divided = sorted(divided, key=lambda one: -one.cost)
    reached = max(one.bound.value for one in divided)
    for place, one in enumerate(divided):
        if one.cost <= reached:
            continue
        parts, proven, why = exact_parts(
            one.graph,
            one.weights,
            k,
            one.parts,
            bound=one.bound.value,
            time_limit=max(end - time.perf_counter(), 0.0),
            rng=rng,
            progress=progress,
        )
        bound = GroupingBound(value=proven, why=why) if proven > one.bound.value else one.bound
        divided[place] = replace(one, parts=parts, bound=bound)
        reached = max(reached, proven)
    return divided


def _numbered(nodes: int, divided: list[_Divided]) -> NDArray[np.int32]:
    """Return the class of each node, numbered in the order of their first nodes: nothing else is to be told by it."""
    classes = np.full(nodes, SUPPRESSED, dtype=np.int32)
    count = 0
    for one in divided:
        classes[one.nodes] = one.parts + count
        count += int(one.parts.max()) + 1
    inside = classes >= 0
    _, first, inverse = np.unique(classes[inside], return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    classes[inside] = rank[inverse]
    return classes
