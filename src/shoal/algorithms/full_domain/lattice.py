"""The lattice of full-domain generalizations: a level of its hierarchy for each attribute, and classes at each node."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.base import PeopleOfNodes, Problem
from shoal.algorithms.common.compiled import compile_requirement
from shoal.algorithms.common.predicate_kernel import Predicate
from shoal.algorithms.full_domain.lattice_kernel import Classes, roll_up
from shoal.models.base import ReleaseRule, RuleKind
from shoal.models.requirement import Requirement
from shoal.recoding import Levels
from shoal.recoding.order import rank

Node = tuple[int, ...]
"""A full-domain generalization: for each attribute a place in `Lattice.levels`."""

_MOST_CACHED = 1 << 24
"""Largest number of numbers to cache for classes of other nodes."""

_LASTING = (RuleKind.SIZE, RuleKind.DISTINCT, RuleKind.SPREAD)
"""Clauses that hold for a group if they hold for a part of it."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Lattice:
    """The levels at which each attribute may be published."""

    levels: tuple[tuple[int, ...], ...]
    """The levels of each attribute's hierarchy that differ; the last one is stars."""
    nodes: tuple[tuple[NDArray[np.int32], ...], ...]
    """For each level the node of each code."""
    lowest: tuple[tuple[NDArray[np.int32], ...], ...]
    """For each level and code the lowest level at which the node has the same name."""
    bottom: Node
    """The lowest node that is searched: the original values, unless levels have limits."""
    ceiling: Node
    """The highest node that is searched: stars everywhere, unless levels have limits."""

    @classmethod
    def of(cls, levels: Sequence[Levels], limits: Sequence[tuple[int, int] | None] | None = None) -> Lattice:
        """Build the lattice of all attributes.

        A level is left out if it joins only values that the level below joins, and below the last level if its only
        node reads as a star.

        Parameters
        ----------
        levels : sequence of Levels
        limits : sequence of pairs or None, optional
            The lowest and the highest level at which each attribute may be published; None: any.
        """
        found = [_usable(each, limit) for each, limit in zip(levels, limits or [None] * len(levels), strict=True)]
        usable = tuple(kept for kept, _, _ in found)
        return cls(
            bottom=tuple(low for _, low, _ in found),
            ceiling=tuple(high for _, _, high in found),
            levels=usable,
            nodes=tuple(tuple(each.nodes[level] for level in kept) for each, kept in zip(levels, usable, strict=True)),
            lowest=tuple(
                tuple(each.lowest[level] for level in kept) for each, kept in zip(levels, usable, strict=True)
            ),
        )

    @cached_property
    def top(self) -> Node:
        """The node of stars everywhere."""
        return tuple(len(kept) - 1 for kept in self.levels)

    @property
    def size(self) -> int:
        """Number of nodes that are searched."""
        return prod(high - low + 1 for low, high in zip(self.bottom, self.ceiling, strict=True))


def _usable(levels: Levels, limit: tuple[int, int] | None) -> tuple[tuple[int, ...], int, int]:
    """Select the levels that differ, and the places of the lowest and the highest level within a limit.

    The original values and stars are always included: roll-ups start from the first, and suppressed rows are the
    second.
    """
    least, most = limit or (0, levels.height)
    kept: list[int] = []
    # A level counts only if it differs from the one below.
    for level in range(least, min(most + 1, levels.height)):
        if (levels.lowest[level] == levels.height).any():
            continue
        if not kept or levels.nodes[level].max() != levels.nodes[kept[-1]].max():
            kept.append(level)
    within = len(kept) + (most == levels.height or not kept)  # a level that reads as a star is one
    below = [] if least == 0 else [0]
    every = [*below, *kept, levels.height]
    return tuple(every), len(below), len(below) + within - 1


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Judge:
    """The requirement in the form of the kernels, and the distinct rows of the table."""

    classes: Classes
    """The distinct combinations of quasi-identifiers, in their order."""
    class_of_row: NDArray[np.int64]
    predicate: Predicate
    """Requirement for a group; combinations of sensitive values, if they count, have codes after the others."""
    lasting: NDArray[np.int64]
    """Clauses that no part of a group satisfies unless the group does."""
    release: tuple[ReleaseRule, ...]
    """Requirements on the release as a whole."""
    people: PeopleOfNodes | None
    """The population to compare with; None if no model needs it."""
    value_codes: tuple[int, int]
    """Range of the sensitive codes that stand for combinations of sensitive values."""

    @classmethod
    def of(cls, problem: Problem, *, combinations: bool = False) -> Judge:
        """Prepare a problem; with `combinations` the counts of combinations of sensitive values are included."""
        table = problem.table
        compiled = compile_requirement(table, problem.requirement)
        uses_sensitive = bool((compiled.rules[:, 0] != RuleKind.SIZE).any())
        # Distinct rows, in their order, with one row of each.
        of_row, count = rank([(column.codes, column.size) for column in table.quasi_identifiers], table.rows)
        offset = compiled.starts
        columns = list(compiled.codes.T) if uses_sensitive or (combinations and len(offset) == 2) else []
        value_codes = (0, int(offset[1]))
        # Several sensitive attributes: their combinations get codes of their own.
        if combinations and len(offset) > 2:
            value, values = rank([(column.codes, column.size) for column in table.sensitive], table.rows)
            value_codes = (int(offset[-1]), int(offset[-1]) + values)
            columns.append(value + value_codes[0])
            offset = np.append(offset, value_codes[1])
        first = np.empty(count, dtype=np.int64)
        first[of_row[::-1]] = np.arange(table.rows)[::-1]
        starts, values_of, counts = _counted(of_row, count, columns, int(offset[-1]))
        codes = np.empty((count, len(table.quasi_identifiers)), dtype=np.int32)
        for a, column in enumerate(table.quasi_identifiers):
            codes[:, a] = column.codes[first]
        return cls(
            classes=Classes(
                codes=codes,
                sizes=np.bincount(of_row, minlength=count).astype(np.int64),
                starts=starts,
                values=values_of,
                counts=counts,
            ),
            class_of_row=of_row,
            predicate=compiled.predicate._replace(starts=offset),
            lasting=_lasting(problem.requirement, compiled.rules),
            release=compiled.release,
            people=problem.people,
            value_codes=value_codes,
        )

    @property
    def exact(self) -> bool:
        """Whether a class that is not acceptable never has an acceptable part."""
        return bool(np.isin(self.predicate.rules[:, 0], [int(kind) for kind in _LASTING]).all())


def _lasting(requirement: Requirement, rules: NDArray[np.int64]) -> NDArray[np.int64]:
    """Select the clauses that a group satisfies if a part of it satisfies the requirement."""
    kept = [row for row in rules if row[0] in _LASTING and row[0] != RuleKind.SIZE]
    for model in requirement.group_models:
        distinct = model.necessary_distinct()
        if distinct > 1:
            positions = requirement.positions_of(model)
            kept += [np.array([RuleKind.DISTINCT, at, distinct, 0, 0, 0]) for at in positions]
    return np.array(kept, dtype=np.int64).reshape(-1, 6)


def _counted(
    of_row: NDArray[np.int64], count: int, columns: Sequence[NDArray[np.integer]], codes: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Count each sensitive code in each class, as compressed rows."""
    if not columns:
        return np.zeros(count + 1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64)
    keys, counts = np.unique(np.concatenate([of_row * codes + column for column in columns]), return_counts=True)
    starts = np.searchsorted(keys // codes, np.arange(count + 1)).astype(np.int64)
    return starts, (keys % codes).astype(np.int32), counts.astype(np.int64)


class ClassesOfNodes:
    """The classes at any node, rolled up attribute by attribute from the classes of a finer node.

    The attributes with most values are rolled up first. Intermediate classes are cached: nodes that agree on the first
    attributes share them, and the remaining merges are small.
    """

    def __init__(self, lattice: Lattice, classes: Classes, codes: int) -> None:
        self._lattice, self._classes = lattice, classes
        self._numbers = np.zeros(max(codes, 1), dtype=np.int64)
        values = [len(np.unique(classes.codes[:, a])) for a in range(classes.codes.shape[1])]
        self._order = sorted(range(len(values)), key=lambda a: (-values[a], a))
        self._kept: OrderedDict[tuple[int, ...], Classes] = OrderedDict()
        self._held = 0

    def __call__(self, node: Node) -> Classes:
        """Compute the classes at a node."""
        # Start from the longest cached prefix.
        way = tuple(node[a] for a in self._order)
        known = len(way)
        while known and way[:known] not in self._kept:
            known -= 1
        classes = self._kept.get(way[:known], self._classes)
        if known:
            self._kept.move_to_end(way[:known])
        # Roll up the other attributes, and cache the results except the last.
        for place in range(known, len(way)):
            if way[place] > 0:
                classes = self._up(classes, self._order[place], way[place])
            if place < len(way) - 1 and way[place] > 0:
                self._keep(way[: place + 1], classes)
        return classes

    def numbered(self, node: Node) -> tuple[Classes, NDArray[np.int32]]:
        """Compute the classes at a node, and the class of each finest class."""
        classes = self._classes
        number = np.arange(len(classes.sizes), dtype=np.int32)
        for a in self._order:
            if node[a] > 0:
                classes, new_of = self._rolled(classes, a, node[a])
                number = new_of[number]
        return classes, number

    def _up(self, classes: Classes, attribute: int, level: int) -> Classes:
        return self._rolled(classes, attribute, level)[0]

    def _rolled(self, classes: Classes, attribute: int, level: int) -> tuple[Classes, NDArray[np.int32]]:
        nodes = self._lattice.nodes[attribute][level]
        rolled: tuple[Classes, NDArray[np.int32]] = roll_up(classes, attribute, nodes, self._numbers)
        return rolled

    def _keep(self, way: tuple[int, ...], classes: Classes) -> None:
        self._kept[way] = classes
        self._held += _weight(classes)
        while self._held > _MOST_CACHED and len(self._kept) > 1:
            self._held -= _weight(self._kept.popitem(last=False)[1])


def _weight(classes: Classes) -> int:
    return classes.codes.size + 2 * len(classes.sizes) + 2 * len(classes.values)
