"""The ground distance induced by a hierarchy of values."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal._messages import Part
from shoal.errors import ParameterError
from shoal.hierarchy.tree import Hierarchy
from shoal.models.base import GroupCounts, Rule, RuleKind
from shoal.models.domain import Domain
from shoal.models.ground_distance import (
    EXACT,
    GroundDistance,
    compile_limit,
    describe_missing,
    promote,
    shares_of,
    smallest_group,
)
from shoal.models.linear import LinearForm, transport_form
from shoal.models.naming import places_of
from shoal.models.population import Population


@dataclass(frozen=True, repr=False)
class HierarchicalDistance(GroundDistance):
    """The hierarchical distance: the height of the lowest common ancestor, divided by the height of the hierarchy.

    Values of the hierarchy that do not occur in a table have no effect. A value of the table that the hierarchy lacks
    is an error.

    Examples
    --------
    >>> from shoal.hierarchy import Hierarchy
    >>> tree = Hierarchy.from_rows([("flu", "lung", "*"), ("cough", "lung", "*"), ("ulcer", "stomach", "*")])
    >>> HierarchicalDistance(tree)
    HierarchicalDistance(Hierarchy(values=3, height=2))
    """

    hierarchy: Hierarchy
    """Hierarchy with the values as leaves, all at the same depth."""

    name: ClassVar[str] = "hierarchical"
    flag: ClassVar[str] = "hierarchy:TREE.csv"

    def __post_init__(self) -> None:
        # Duck typing, because importing the class at run time would be circular.
        if not {"levels", "values", "height"} <= set(dir(self.hierarchy)):
            got = type(self.hierarchy).__name__
            raise ParameterError.refusing("HierarchicalDistance", "hierarchy", "a Hierarchy", got=got)

    def misfit(self, domain: Domain) -> Part | None:  # noqa: D102
        return describe_missing(domain, self.hierarchy.values, "the hierarchy")

    def _nodes(self, table: Population) -> NDArray[np.int64]:
        """Return the node of each code on each level below the root; an edge leads up from each of these nodes."""
        self.check_values(table.domain)
        places = places_of(table.domain.labels or (), self.hierarchy.values)
        return self.hierarchy.levels[:-1, places].astype(np.int64)

    def costs(self, groups: GroupCounts) -> tuple[NDArray[Any], int]:  # noqa: D102
        nodes = self._nodes(groups.population)
        rows = groups.population.rows
        exact = rows * rows * max(len(nodes), 1) < EXACT
        costs = np.zeros(len(groups.sizes), dtype=np.int64 if exact else object)
        group = np.repeat(np.arange(len(groups.sizes)), groups.distinct)
        for level in nodes if len(groups.sizes) else ():
            # The surplus of the values below a node must cross the edge above the node. Half of the mass that crosses
            # an edge moves up, so that positive surpluses alone are summed.
            node = level[groups.values]
            order = np.lexsort((node, group))
            node, owner, counts = node[order], group[order], groups.counts[order]
            # Sum the counts of each node within each group.
            first = np.flatnonzero(np.r_[True, (node[1:] != node[:-1]) | (owner[1:] != owner[:-1])])
            totals = np.zeros(int(level.max()) + 1, dtype=np.int64)
            np.add.at(totals, level, groups.totals)
            parts = (np.add.reduceat(counts, first), totals[node[first]], groups.sizes[owner[first]])
            held, expected, sizes = promote(rows * rows, *parts)
            excess = held * rows - expected * sizes
            np.add.at(costs, owner[first], np.maximum(excess, 0))
        return costs, max(len(nodes), 1)

    def rule(self, table: Population, t: Fraction) -> Rule:  # noqa: D102
        nodes = self._nodes(table)
        rows, unit = table.rows, max(len(nodes), 1)
        a, b, c, s = compile_limit(t, unit, rows)
        width = int(nodes.max(initial=0)) + 1
        # Totals of the table by level and node, padded to the widest level.
        totals = np.zeros((len(nodes), width), dtype=np.int64)
        for level, of_node in zip(nodes, totals, strict=True):
            np.add.at(of_node, level, table.totals)
        return Rule(
            kind=RuleKind.CLOSE_HIERARCHICAL,
            a=a,
            b=b,
            c=c,
            bounds=np.concatenate(([rows, s, len(nodes), width], totals.ravel(), nodes.ravel())),
            smallest=smallest_group(table.totals, t, Fraction(1, unit)),
        )

    @property
    def is_linear(self) -> bool:  # noqa: D102
        return True

    def linear_form(self, table: Population, t: Fraction) -> LinearForm:  # noqa: D102
        # Mass moves up to a common ancestor and down again, at half of the distance each way. The leaves are the values
        # themselves; the nodes of all levels are numbered consecutively, with the root last.
        nodes = np.vstack((np.arange(len(table.totals)), self._nodes(table)[1:]))
        starts = np.concatenate(([0], np.cumsum(nodes.max(axis=1, initial=0) + 1)))
        places = np.vstack((nodes + starts[:-1, None], np.full((1, len(table.totals)), starts[-1])))
        edges = sorted({pair for low, high in pairwise(places.tolist()) for pair in zip(low, high, strict=True)})
        half = Fraction(1, 2 * len(nodes))
        arcs = [(*way, half) for low, high in edges for way in ((low, high), (high, low))]
        return transport_form(shares_of(table), arcs, int(starts[-1]) + 1, len(table.totals), t)

    def drawing_order(self, table: Population) -> NDArray[np.integer]:  # noqa: D102
        nodes = self._nodes(table)
        # Sorted by the highest level first, so that siblings are adjacent.
        return np.lexsort(nodes) if len(nodes) else np.arange(len(table.totals))

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {"distance": self.name, "height": self.hierarchy.height}

    def __repr__(self) -> str:
        return f"HierarchicalDistance({self.hierarchy!r})"
