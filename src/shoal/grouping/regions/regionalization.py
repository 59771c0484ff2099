"""Grouping of regions into connected classes of at least k records, with the largest as small as possible."""

from __future__ import annotations

import secrets
import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

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
    validate_weights,
)
from shoal.grouping.coarsened_columns import list_members, make_coarsened, name_classes
from shoal.grouping.regions.graph import (
    RegionGraph,
    check_connected,
    check_positions,
    components_of,
    dissolve,
    read_graph,
    to_mapping,
    weights_of,
)
from shoal.grouping.regions.region_parts import cut_along_tree, exact_parts, recombine, region_bound
from shoal.grouping.regions.region_pictures import has_map, plot_regions
from shoal.hierarchy import Coarsening, CoarseningResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

METHODS = ("best", "tree", "exact")
"""Methods: the paper's algorithm ("tree"), a refinement ("best"), and a proven optimum for small graphs ("exact")."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class RegionGrouping(Grouping):
    """Regions in connected classes of at least k records each.

    Examples
    --------
    >>> grouping = regions([("a", "b"), ("b", "c")], {"a": 2, "b": 1, "c": 3}, k=3, seed=1)
    >>> grouping.names, grouping.classes.tolist()
    (('a', 'b', 'c'), [0, 0, 1])
    """

    graph: RegionGraph
    """Graph of neighbouring regions."""
    degree: int
    """Degree of the spanning tree that was cut, at most one above the smallest possible degree."""

    @property
    def names(self) -> tuple[Hashable, ...]:
        """Name of each region, in the order of `classes`."""
        return self.graph.names

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw a map if the graph allows it, otherwise bars; see `Grouping.plot`."""
        if not has_map(self.graph):
            return super().plot(ax)
        outlines = None if self.graph.polygons is None else self.dissolved()
        return plot_regions(self.graph, self.classes, outlines=outlines, title=self.title, ax=ax)

    def table(self) -> pl.DataFrame:
        """Return a table with the columns `value` and `class`; the class is null if a region was left out."""
        numbers = [None if number == SUPPRESSED else number for number in self.classes.tolist()]
        return pl.DataFrame({"value": [str(name) for name in self.names], "class": pl.Series(numbers, dtype=pl.Int32)})

    def dissolved(self) -> Any:
        """Merge the polygons of each class into a GeoDataFrame (extra `geo`).

        Raises
        ------
        ParameterError
            If the regions have no polygons.
        """
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
    """Group regions into connected classes of at least k records, with the largest as small as possible.

    Parameters
    ----------
    edges : array, list of pairs, frame, networkx graph, libpysal weights, GeoDataFrame or path
        Neighbouring regions: pairs of node numbers or names, each pair once (or once in each direction); a graph; or
        polygons, also as a path to a file (such as GeoJSON, TopoJSON or GeoPackage). Polygons are neighbours if they
        share a border of positive length.
    weights : array, mapping, frame or str
        Number of records of each region, integers of at least 0: in the order of the nodes, by name, or the name of a
        column of the polygons or of an attribute of the networkx graph.
    k : int
        Smallest weight of a class.
    names : str or sequence, optional
        Names of the regions, in their order; for polygons, the column with the names.
    method : {"best", "tree", "exact"}
        "tree" cuts a spanning tree of low degree, with the paper's guarantee. "best" improves the result by moving
        regions and recombining neighbouring classes; the guarantee still holds. "exact" also searches for a proven
        optimum, which succeeds for small graphs (extra `exact`).
    suppress_small : bool, default False
        If True, leave out components with fewer than k records: their class is -1. Otherwise they are an error.
    seed : int, optional
        Seed of the random steps; from the operating system by default.
    time_limit : float, default 60
        Seconds for the proof of method "exact".
    layer : str, optional
        Layer of a file with several layers of polygons.
    positions : array, optional
        Two coordinates of each region, in their order, for pictures of graphs.
    progress : callable, optional
        Called with (step, done, total) from time to time.

    Returns
    -------
    RegionGrouping
        The class of each region; classes are numbered in the order of their first regions.

    Raises
    ------
    DataError
        If the edges or the weights are invalid. Messages have counts, but no names.
    InfeasibleError
        If there are fewer than k records in total or in a component of the graph.

    Notes
    -----
    For a tree of degree d, no class weighs more than kappa + d (k - 1), with kappa the larger of k and the largest
    region: at most 4 times the optimum if d = 3, and 3 times if d = 2 (Theorem 3). This implementation goes beyond the
    paper in the following points. The tree is found by the local search of Fuerer and Raghavachari for any connected
    graph, planar or not. It is cut in one pass from the leaves up, which keeps the bounds of Lemmas 1 and 2. Then two
    or three neighbouring classes at a time are merged and cut again along random trees, single regions move, and the
    best division is kept. Method "exact" chooses among all connected sets of regions by integer
    programs, if there are few enough of them.

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
    weights = to_mapping("regions", weights)
    # The weights may name the nodes, or at least give their number.
    known = list(weights) if isinstance(weights, Mapping) else None
    if known is None and weights is not None and not isinstance(weights, str):
        known = len(weights)  # type: ignore[assignment]
    graph = read_graph("regions", edges, names=names, layer=layer, nodes=known)
    if weights is None:
        raise DataError("regions needs the records of each region: name them with 'weights'.")
    if positions is not None:
        graph = replace(graph, positions=check_positions("regions", positions, graph.nodes))
    counted = validate_weights("regions", weights_of("regions", graph, weights), what="weights", least=0)
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
    """Group the nodes of a `RegionGraph` with validated weights; see `regions`."""
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
    # Divide each component separately, and prove optimality if requested.
    components, left_out = _components(graph, weights, k, suppress_small=suppress_small)
    divided = [
        _divide(graph.part(nodes), weights[nodes], k, nodes=nodes, refined=method != "tree", rng=rng, progress=progress)
        for nodes in components
    ]
    if method == "exact":
        divided = _prove(divided, k, time_limit=time_limit, progress=progress)
    # Combine the components: the largest class, bound and degree count.
    classes = _number_classes(graph.nodes, divided)
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
    """A divided component of the graph."""

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
    """Find the components with at least k records.

    Returns
    -------
    components : list of int32 arrays
        Nodes of each component.
    left_out : (int, int)
        Number of other components, and of their records.
    """
    # The nodes of each component, and their records.
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
    """Divide a connected graph along a tree, and refine the division."""
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


def _prove(divided: list[_Divided], k: int, *, time_limit: float, progress: Progress) -> list[_Divided]:
    """Prove optima of the components that determine the cost, the worst first, until the time limit."""
    end = time.perf_counter() + time_limit
    divided = sorted(divided, key=lambda one: -one.cost)
    # Components with the largest cost come first, because the cost of the result is the maximum.
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
            progress=progress,
        )
        bound = GroupingBound(value=proven, why=why) if proven > one.bound.value else one.bound
        divided[place] = replace(one, parts=parts, bound=bound)
        reached = max(reached, proven)
    return divided


def _number_classes(nodes: int, divided: list[_Divided]) -> NDArray[np.int32]:
    """Sort the classes of all components by their first nodes, so that their numbers reveal nothing else."""
    classes = np.full(nodes, SUPPRESSED, dtype=np.int32)
    count = 0
    for one in divided:
        classes[one.nodes] = one.parts + count
        count += int(one.parts.max()) + 1
    # Renumber the classes by their first nodes.
    inside = classes >= 0
    _, first, inverse = np.unique(classes[inside], return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    classes[inside] = rank[inverse]
    return classes


ELSEWHERE = "elsewhere"
"""Published value of places in components of the graph with too few records, if they are suppressed."""


@dataclass(frozen=True, repr=False)
class Regions(Coarsening):
    """Coarsen places to connected regions of at least k records, with the largest as small as possible.

    Parameters
    ----------
    graph : array, list of pairs, frame, networkx graph, libpysal weights, GeoDataFrame or path
        Graph of neighbouring places, in a form of `shoal.grouping.regions`. It includes places without a row, because
        they connect others.
    k : int
        Smallest number of records of a class.
    names : str or sequence, optional
        Names of the places in the table; for polygons, the column with the names.
    labels : {"members", "numbers"}
        Published value of a class. "members" is the set of its places, such as `{a, b}`, the place itself if there is
        only one, or a number if there are more than 256. "numbers" is `region 1`, `region 2`, ... in the order of their
        first places. Sets and numbers depend on the graph, not on the rows: places without a row are listed as well.
    suppress_small : bool
        If True, places in components of the graph with fewer than k records share the value `elsewhere`; otherwise
        they are an error. Components without records do not matter.
    method : {"best", "tree", "exact"}
        Method of `shoal.grouping.regions`.
    seed : int
        Seed of the random steps. The same table, graph and seed give the same classes.
    time_limit : float
        Seconds for the proof of method "exact".
    layer : str, optional
        Layer of a file with several layers of polygons.

    Examples
    --------
    >>> import polars as pl
    >>> coarsening = Regions([("a", "b"), ("b", "c"), ("c", "d")], k=2)
    >>> coarsening.apply((pl.Series("place", ["a", "b", "d", "d", "d"]),))[0].to_list()
    ['{a, b, c}', '{a, b, c}', 'd', 'd', 'd']
    """

    takes: ClassVar[int] = 1
    takes_text: ClassVar[bool] = True

    graph: Any
    """Graph of neighbouring places."""
    k: int = field(kw_only=True)
    """Smallest number of records of a class."""
    names: str | Sequence[Hashable] | None = field(default=None, kw_only=True)
    """Names of the places in the table."""
    labels: str = field(default="members", kw_only=True)
    """Published value of a class: "members" or "numbers"."""
    suppress_small: bool = field(default=False, kw_only=True)
    """If True, places in components with too few records share a value."""
    method: str = field(default="best", kw_only=True)
    """Method of `shoal.grouping.regions`."""
    seed: int = field(default=0, kw_only=True)
    """Seed of the random steps."""
    time_limit: float = field(default=60.0, kw_only=True)
    """Seconds for the proof of method "exact"."""
    layer: str | None = field(default=None, kw_only=True)
    """Layer of a file with several layers of polygons."""

    def __post_init__(self) -> None:
        check_k("Regions", self.k)
        validate(
            "Regions",
            {name: getattr(self, name) for name in ("labels", "suppress_small", "method", "seed", "time_limit")},
            {
                "labels": OneOf(("members", "numbers")),
                "suppress_small": Boolean(),
                "method": OneOf(METHODS),
                "seed": Integer(low=0),
                "time_limit": RationalIn(low=0),  # type: ignore[arg-type]
            },
        )

    def apply(self, columns: tuple[pl.Series, ...]) -> tuple[pl.Series, ...]:
        """Replace each place by its region; see `Coarsening.apply`."""
        return self.coarsen(columns).columns

    def coarsen(self, columns: tuple[pl.Series, ...]) -> CoarseningResult:
        """Replace each place by its region, with facts and a picture of the grouping; see `Coarsening.coarsen`."""
        (column,) = columns
        grouping = self.group(column)
        labels = self._labels(grouping)
        by_text = {str(name): labels[node] for node, name in enumerate(grouping.names)}
        coarser = column.cast(pl.String).replace_strict(by_text, return_dtype=pl.String).alias(column.name)
        return make_coarsened(grouping, (coarser,), classes=list_members(by_text.values(), by_text))

    def group(self, column: pl.Series) -> RegionGrouping:
        """Group the places of a column.

        Raises
        ------
        DataError
            If some values are not places of the graph, or if the column is neither text nor integers.
        InfeasibleError
            If there are fewer than k records in total or in a component of the graph.
        """
        kind = column.dtype
        if not (kind.is_integer() or kind in (pl.String, pl.Categorical, pl.Enum)):
            raise DataError(f"Regions takes places as text or whole numbers. Got {kind.base_type()}.")
        # Match places by their text, and count the rows of each.
        graph = read_graph("Regions", self.graph, names=self.names, layer=self.layer)
        places = {str(name): node for node, name in enumerate(graph.names)}
        if len(places) < graph.nodes:
            raise DataError("Some places of the graph have the same name as text.")
        counted = column.cast(pl.String).drop_nulls().value_counts(name="shoal: rows").rows()
        unknown = [rows for value, rows in counted if value not in places]
        if unknown:
            raise DataError(
                f"{len(unknown)} value(s) in {sum(unknown)} row(s) are no place of the graph of Regions, which has "
                f"{graph.nodes}. Codes read as numbers may have lost their leading zeros."
            )
        # Places without a row have weight 0.
        weights = np.zeros(graph.nodes, dtype=np.int64)
        for value, rows in counted:
            weights[places[value]] = rows
        return self._group(graph, weights)

    def _group(self, graph: RegionGraph, weights: Any) -> RegionGrouping:
        """Group the nodes; components without records are left out silently."""
        # Small components with records are an error, unless they are suppressed.
        tops = np.array(components_of(graph.nodes, graph.edges.tolist()))
        loads = np.bincount(tops, weights=weights)[tops]
        small = bool(((loads > 0) & (loads < self.k)).any())
        return group_regions(
            graph,
            weights,
            self.k,
            method=self.method,
            suppress_small=self.suppress_small or not small,
            seed=self.seed,
            time_limit=self.time_limit,
        )

    def _labels(self, grouping: RegionGrouping) -> list[str]:
        """Name the class of each node."""
        plain = pl.Series([str(name) for name in grouping.names], dtype=pl.String)
        published = name_classes(
            grouping.classes, plain, word="region", numbered=self.labels == "numbers", left_out=ELSEWHERE
        )
        made = set(published.filter(published != plain))
        if made & set(plain):
            raise DataError("A place of the graph is called like one of the classes. Choose other 'labels'.")
        return published.to_list()

    def to_dict(self) -> dict[str, Any]:
        """Return the coarsening as it appears in a certificate."""
        return {
            "coarsening": "regions",
            "k": self.k,
            "labels": self.labels,
            "suppress_small": self.suppress_small,
            "method": self.method,
            "seed": self.seed,
        }

    def __repr__(self) -> str:
        return f"Regions({type(self.graph).__name__}, k={self.k}, labels={self.labels!r}, method={self.method!r})"
