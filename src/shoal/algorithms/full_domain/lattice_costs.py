"""Costs of the nodes of the lattice by each metric, in whole numbers, and bounds on the costs of other nodes.

Every cost is a sum of two parts: the loss of the generalization on all rows, which is never less at a more general
node, and the additional loss of suppressing the unacceptable rows, which is never less at a more specific node as long
as the same rows stay unacceptable. So the first part at the lowest node of a box of the lattice and the second part at
its highest node bound the costs of all nodes between them.
"""

# ruff: noqa: D102 - the methods are those of the base class

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.base import Problem
from shoal.algorithms.full_domain.lattice import Judge, Lattice, Node
from shoal.algorithms.full_domain.lattice_kernel import Classes, log_densities
from shoal.recoding import Levels
from shoal.table import Table

_BITS = 60
"""Number of bits for the sum of all losses, in whole numbers."""
_DIVERGENCE_UNIT = 2.0**-40
"""The divergence, in nats, of one unit."""
_ROUNDING = 1 << 8
"""Largest rounding error of a sum of logarithms."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class NodeCosts:
    """Results of the kernels at a node."""

    node: Node
    classes: Classes
    verdict: NDArray[np.int8]
    tally: NDArray[np.int64]
    """Rows, classes, squared sizes and surcharges; see `judge`."""
    complete: bool = False
    """Whether the suppressed rows are an acceptable group, or none, without other classes."""
    people: NDArray[np.int64] | None = None
    """Number of people of the population who fit each class; None if no model needs it."""

    @property
    def in_vain(self) -> NDArray[np.int64]:
        """The tally of the classes that finer partitions do not make acceptable."""
        return np.asarray(self.tally[0])

    @property
    def refused(self) -> NDArray[np.int64]:
        """The tally of all suppressed classes."""
        return np.asarray(self.tally[1])

    @property
    def whole(self) -> NDArray[np.int64]:
        """The tally of all classes, without surcharges."""
        return np.asarray(self.tally[2])


class LatticeCost(ABC):
    """A metric as whole numbers; lower is better."""

    precomputed: ClassVar[bool] = False
    """Whether `floor` is known without an evaluation."""

    @abstractmethod
    def floor(self, node: Node, found: NodeCosts | None = None) -> int:
        """Return the loss of the generalization alone."""

    @abstractmethod
    def added(self, found: NodeCosts) -> int:
        """Return a lower bound on the loss that suppression adds, here and at all more specific nodes."""

    def joint(self, floor: int, added: int) -> int:
        """Combine the floor of one node and the addition of a more general node into a bound."""
        return floor + added

    @abstractmethod
    def total(self, found: NodeCosts) -> int:
        """Return the cost."""

    def least(self, found: NodeCosts) -> int:
        """Return a lower bound on the cost if further classes are suppressed for the sake of the others."""
        return self.total(found)

    def value(self, total: int) -> float:
        """Convert a cost to the metric."""
        return float(total)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class CellLosses:
    """Loss of each cell by the node that it publishes, in whole numbers."""

    losses: tuple[tuple[NDArray[np.int64], ...], ...]
    """By attribute and level of the lattice, for each node."""
    stars: tuple[int, ...]
    """The loss of a star, by attribute."""
    unit: float
    """The loss of one unit."""
    norm: float
    """Divisor of the sum over all cells."""
    base: int = 0
    """Constant to subtract from the sum."""

    @classmethod
    def of(
        cls, name: str, lattice: Lattice, levels: Sequence[Levels], table: Table, weights: Mapping[str, Fraction]
    ) -> CellLosses:
        """Compute the losses of cells by a metric, times the weights of their attributes (1 by default)."""
        weight = [float(weights.get(column.name, 1)) for column in table.quasi_identifiers]
        counts = [np.bincount(column.codes, minlength=column.size) for column in table.quasi_identifiers]
        raw: list[list[NDArray[np.float64]]] = []
        for a, kept in enumerate(lattice.levels):
            raw.append([])
            for place, level in enumerate(kept):
                nodes = lattice.nodes[a][place]
                of_node = np.zeros(int(nodes.max(initial=0)) + 1)
                if name == "gcp":
                    of_node[nodes] = levels[a].penalty[level]
                elif name == "precision":
                    of_node[nodes] = lattice.lowest[a][place] / max(levels[a].height, 1)
                elif name == "non_uniform_entropy":
                    of_node = np.log2(np.bincount(nodes, weights=counts[a], minlength=len(of_node)))
                if place == lattice.top[a]:
                    of_node[:] = math.log2(table.rows) if name == "non_uniform_entropy" else 1.0
                raw[-1].append(of_node)
        most = math.log2(table.rows) if name == "non_uniform_entropy" else 1.0
        # The scale keeps the sum of all cells within the bits.
        cells = max(table.rows * math.fsum(weight), 1.0)
        scale = 2.0 ** (_BITS - math.ceil(math.log2(cells * max(most, 1.0))) - 1)
        scales = [scale * each for each in weight]
        base, norm = 0, cells
        if name == "non_uniform_entropy":
            own = [count * np.log2(count) for count in counts]
            base = sum(
                int((count * np.rint(np.log2(count) * of_column).astype(np.int64)).sum())
                for count, of_column in zip(counts, scales, strict=True)
            )
            norm = math.fsum(
                each * (table.rows * most - float(bits.sum()))
                for each, bits, count in zip(weight, own, counts, strict=True)
                if len(count) > 1
            )
        elif name == "stars":
            norm = 1.0
        return cls(
            losses=tuple(
                tuple(np.rint(each * times).astype(np.int64) for each in of_column)
                for of_column, times in zip(raw, scales, strict=True)
            ),
            stars=tuple(round(most * times) for times in scales),
            unit=1 / scale,
            norm=norm or 1.0,
            base=base,
        )

    def charged(self, factor: float) -> CellLosses:
        """Scale the loss of a suppressed cell, but never below its loss without suppression."""
        return CellLosses(
            losses=self.losses,
            stars=tuple(round(star * factor) for star in self.stars),
            unit=self.unit,
            norm=self.norm,
            base=self.base,
        )

    def surcharges(self) -> NDArray[np.int64]:
        """Compute what suppressing a cell adds to its loss, by attribute, level and node in one array."""
        added = [
            np.maximum(star - each, 0)
            for star, of_column in zip(self.stars, self.losses, strict=True)
            for each in of_column
        ]
        return np.concatenate(added) if added else np.empty(0, dtype=np.int64)

    def totals(self, lattice: Lattice, classes: Classes) -> tuple[tuple[int, ...], ...]:
        """Compute the loss of each level of each attribute on the rows of given classes."""
        rows = [
            np.bincount(classes.codes[:, a], weights=classes.sizes, minlength=len(of_column[0])).astype(np.int64)
            for a, of_column in enumerate(lattice.nodes)
        ]
        return tuple(
            tuple(int((rows[a] * each[nodes]).sum()) for each, nodes in zip(of_column, lattice.nodes[a], strict=True))
            for a, of_column in enumerate(self.losses)
        )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class CellCost(LatticeCost):
    """A metric that is a sum over cells: gcp, precision, non-uniform entropy, stars."""

    name: str
    cells: CellLosses
    totals: tuple[tuple[int, ...], ...]
    row: int = 0
    """Index of this metric's surcharges in an evaluation."""

    def floor(self, node: Node, found: NodeCosts | None = None) -> int:
        return sum(of_column[level] for of_column, level in zip(self.totals, node, strict=True))

    def added(self, found: NodeCosts) -> int:
        return int(found.in_vain[3 + self.row])

    def total(self, found: NodeCosts) -> int:
        return self.floor(found.node) + int(found.refused[3 + self.row])

    def value(self, total: int) -> float:
        lost = max(total - self.cells.base, 0) * self.cells.unit / self.cells.norm
        return 1.0 - lost if self.name == "precision" else lost


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class SuppressedTuples(LatticeCost):
    """Rows with a star: all rows if an attribute is at its top."""

    rows: int
    top: Node

    def floor(self, node: Node, found: NodeCosts | None = None) -> int:
        return self.rows * any(level == most for level, most in zip(node, self.top, strict=True))

    def added(self, found: NodeCosts) -> int:
        return int(found.in_vain[0])

    def joint(self, floor: int, added: int) -> int:
        return max(floor, added)

    def total(self, found: NodeCosts) -> int:
        return max(self.floor(found.node), int(found.refused[0]))


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Discernability(LatticeCost):
    """The sum of the squared sizes of classes: suppressed rows are one class."""

    def floor(self, node: Node, found: NodeCosts | None = None) -> int:
        return 0 if found is None else int(found.whole[2])

    def added(self, found: NodeCosts) -> int:
        return int(found.in_vain[0]) ** 2 - int(found.in_vain[2])

    def total(self, found: NodeCosts) -> int:
        return int(found.whole[2]) + int(found.refused[0]) ** 2 - int(found.refused[2])


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class AverageClassSize(LatticeCost):
    """Rows by class over k: the cost is lower for more classes."""

    rows: int
    k: int

    def floor(self, node: Node, found: NodeCosts | None = None) -> int:
        return -self.rows if found is None else -int(found.whole[1])

    def added(self, found: NodeCosts) -> int:
        return max(int(found.in_vain[1]) - 1, 0)

    def joint(self, floor: int, added: int) -> int:
        return min(floor + added, -1)

    def total(self, found: NodeCosts) -> int:
        return -int(found.whole[1]) + max(int(found.refused[1]) - 1, 0)

    def value(self, total: int) -> float:
        return self.rows / -total / self.k


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class KLDivergence(LatticeCost):
    """The divergence of the release from the table, to rounding."""

    judge: Judge
    log_shares: NDArray[np.float64]
    places: tuple[tuple[int, ...], ...]
    entropy: float
    """Minus the entropy of the table, relative to the whole domain."""
    rows: int

    def _sums(self, found: NodeCosts) -> NDArray[np.float64]:
        places = np.array([of_column[level] for of_column, level in zip(self.places, found.node, strict=True)])
        sums: NDArray[np.float64] = log_densities(
            found.classes,
            *self.judge.value_codes,
            self.log_shares,
            places.astype(np.int64),
            found.verdict,
            float(self.rows),
        )
        return sums

    def floor(self, node: Node, found: NodeCosts | None = None) -> int:
        if found is None:
            return 0
        lost = self.entropy - float(self._sums(found)[0]) / self.rows
        return max(math.floor(lost / _DIVERGENCE_UNIT) - _ROUNDING, 0)

    def added(self, found: NodeCosts) -> int:
        return max(math.floor(float(self._sums(found)[2]) / _DIVERGENCE_UNIT) - _ROUNDING, 0)

    def total(self, found: NodeCosts) -> int:
        return max(round((self.entropy - float(self._sums(found)[1]) / self.rows) / _DIVERGENCE_UNIT), 0)

    def least(self, found: NodeCosts) -> int:
        return self.floor(found.node, found) + self.added(found)

    def value(self, total: int) -> float:
        return total * _DIVERGENCE_UNIT


def places_of(lattice: Lattice) -> tuple[tuple[int, ...], ...]:
    """Compute the start of the nodes of each level of each attribute, in arrays of all nodes."""
    places, at = [], 0
    for of_column in lattice.nodes:
        starts = []
        for nodes in of_column:
            starts.append(at)
            at += int(nodes.max(initial=0)) + 1
        places.append(tuple(starts))
    return tuple(places)


def cost_of(
    name: str, problem: Problem, lattice: Lattice, judge: Judge, classes: Classes, cells: CellLosses
) -> LatticeCost:
    """Create the cost of a metric on the rows of given classes.

    Parameters
    ----------
    name : str
        One of `COSTS`.
    problem, lattice, judge
        The search.
    classes : Classes
        Its classes, or the remaining part of them.
    cells : CellLosses
        The losses by this metric, or by another metric if it has none.
    """
    if name in OF_CELLS:
        return CellCost(name=name, cells=cells, totals=cells.totals(lattice, classes))
    return _OF_CLASSES[name](problem, lattice, judge, classes)


def _divergence(problem: Problem, lattice: Lattice, judge: Judge, classes: Classes) -> KLDivergence:
    table, shares = problem.table, []
    for a, column in enumerate(table.quasi_identifiers):
        for place, nodes in enumerate(lattice.nodes[a]):
            shares.append(np.log(np.bincount(nodes) / column.size if place < lattice.top[a] else np.ones(1)))
    counted = (classes.values >= judge.value_codes[0]) & (classes.values < judge.value_codes[1])
    counts = classes.counts[counted]
    rows = classes.rows
    domain = math.fsum(math.log(column.size) for column in table.quasi_identifiers)
    return KLDivergence(
        judge=judge,
        log_shares=np.concatenate(shares) if shares else np.empty(0),
        places=places_of(lattice),
        entropy=math.fsum((counts * np.log(counts / rows)).tolist()) / rows + domain,
        rows=rows,
    )


OF_CELLS = ("gcp", "precision", "non_uniform_entropy", "stars")
"""Metrics that are sums over cells."""
_OF_CLASSES: Mapping[str, Callable[[Problem, Lattice, Judge, Classes], LatticeCost]] = {
    "suppressed_tuples": lambda _, lattice, __, classes: SuppressedTuples(rows=classes.rows, top=lattice.top),
    "discernability": lambda *_: Discernability(),
    "average_class_size": lambda problem, _, __, classes: AverageClassSize(rows=classes.rows, k=problem.requirement.k),
    "kl_divergence": _divergence,
}
"""Metrics of other kinds."""
COSTS = (*OF_CELLS, *_OF_CLASSES)
"""The metrics of `shoal.metrics.METRICS` that can be minimized (precision: maximized)."""
