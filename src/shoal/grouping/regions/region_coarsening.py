"""Coarsening of a column of places to connected regions of at least k records."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl

from shoal._core.validation import Boolean, Integer, OneOf, RationalIn, validate
from shoal.errors import DataError
from shoal.grouping.base import check_k
from shoal.grouping.coarsened_columns import list_members, make_coarsened, name_classes
from shoal.grouping.regions.graph import RegionGraph, read_graph
from shoal.grouping.regions.regionalization import METHODS, RegionGrouping, group_regions
from shoal.hierarchy import Coarsening, CoarseningResult

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
        from shoal.grouping.regions.connectivity import components_of

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
