"""Regions as a coarsening: a column of places becomes a column of connected classes of at least k records."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shoal._core.validation import Boolean, Integer, OneOf, RationalIn, validate
from shoal.errors import DataError
from shoal.grouping.base import check_k
from shoal.grouping.coarsened_columns import class_names, coarsened, members_of
from shoal.grouping.regions.graph import read_graph
from shoal.grouping.regions.regionalization import METHODS, RegionGrouping, group_regions
from shoal.hierarchy import Coarsening, CoarseningResult

if TYPE_CHECKING:
    import polars as pl

    from shoal.grouping.regions.graph import RegionGraph

__all__ = ["Regions"]

ELSEWHERE = "elsewhere"
"""What regions are called whose component of the graph has too few records, where they shall share a value."""


@dataclass(frozen=True, repr=False)
class Regions(Coarsening):
    """Places become connected regions of at least k records each, the largest as small as possible.

    Parameters
    ----------
    graph : array, list of pairs, frame, networkx graph, libpysal weights, GeoDataFrame or path
        Which places are neighbours, as `shoal.grouping.regions` takes it. Places that no row names belong to it too:
        they connect others.
    k : int
        What each class has at least.
    names : str or sequence, optional
        What the places are called in the table; for polygons the column with the names.
    labels : {"members", "numbers"}
        What is published: the set of a class's places, `{a, b}` (a number where there are more than 256, and a single
        place as it is), or `region 1`, `region 2`, ... in the order of their first places. Sets and numbers come from
        the graph, never from the rows: a place that no row names stands in its set like any other.
    suppress_small : bool
        Whether places in components of the graph with less than k records share the value `elsewhere`; by default they
        are an error. Components without a record are no matter.
    method : {"best", "tree", "exact"}
    seed : int
        Of the random steps. The same table, graph and seed give the same classes.
    time_limit : float
        Seconds for the proof of method "exact".
    layer : str, optional
        Of a file of polygons with several.

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
    """The places and which of them are neighbours."""
    k: int = field(kw_only=True)
    """What each class has at least."""
    names: str | Sequence[Hashable] | None = field(default=None, kw_only=True)
    """What the places are called in the table."""
    labels: str = field(default="members", kw_only=True)
    """What is published for a class."""
    suppress_small: bool = field(default=False, kw_only=True)
    """Whether places in small components share a value."""
    method: str = field(default="best", kw_only=True)
    """As in `shoal.grouping.regions`."""
    seed: int = field(default=0, kw_only=True)
    """Of the random steps."""
    time_limit: float = field(default=60.0, kw_only=True)
    """Seconds for the proof of method "exact"."""
    layer: str | None = field(default=None, kw_only=True)
    """Of a file of polygons with several."""

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
        """Return the column with a class for each place; see `Coarsening.apply`."""
        return self.coarsen(columns).columns

    def coarsen(self, columns: tuple[pl.Series, ...]) -> CoarseningResult:
        """Return the coarser column with what is to say and to draw of it; see `Coarsening.coarsen`."""
        import polars as pl

        (column,) = columns
        grouping = self.group(column)
        labels = self._labels(grouping)
        by_text = {str(name): labels[node] for node, name in enumerate(grouping.names)}
        coarser = column.cast(pl.String).replace_strict(by_text, return_dtype=pl.String).alias(column.name)
        return coarsened(grouping, (coarser,), classes=members_of(by_text.values(), by_text))

    def group(self, column: pl.Series) -> RegionGrouping:
        """Return the classes that a column of places gets.

        Raises
        ------
        DataError
            Some values are no places of the graph, or no text or whole numbers.
        InfeasibleError
            There are less than k records, or a component of the graph has less.
        """
        import polars as pl

        kind = column.dtype
        if not (kind.is_integer() or kind in (pl.String, pl.Categorical, pl.Enum)):
            raise DataError(f"Regions takes places as text or whole numbers. Got {kind.base_type()}.")
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
        weights = np.zeros(graph.nodes, dtype=np.int64)
        for value, rows in counted:
            weights[places[value]] = rows
        return self._grouped(graph, weights)

    def _grouped(self, graph: RegionGraph, weights: Any) -> RegionGrouping:
        """Group the nodes; components without a record are left out and need no consent."""
        from shoal.grouping.regions.connectivity import components_of

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
        """Return what is published for each node."""
        import polars as pl

        plain = pl.Series([str(name) for name in grouping.names], dtype=pl.String)
        published = class_names(
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
