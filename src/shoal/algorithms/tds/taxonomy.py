"""The hierarchies of all quasi-identifiers as one forest of nodes with a cut, for top-down search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.tds.specialization_kernel import UNIT, Trees
from shoal.recoding import Levels


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Taxonomy:
    """A tree for each column over the codes in use, without steps that split nothing.

    A node is a set of codes. If several levels of the hierarchy have the same set, the node has the lowest of them: the
    most specific value that a table can publish. The nodes of all columns have one numbering, in which leaves come
    before their ancestors; so have the places of their codes, column after column.
    """

    trees: Trees
    """The nodes, with the most general cut."""
    level: NDArray[np.int32]
    """Level of each node in the hierarchy of its column."""
    roots: NDArray[np.int32]
    """The node of all codes, for each column."""
    offsets: NDArray[np.int64]
    """Start of the places of each column; one more than there are columns."""

    @classmethod
    def of(cls, levels: Sequence[Levels]) -> Taxonomy:
        """Build the forest from the levels of the columns."""
        columns = [_Column.of(tree) for tree in levels]
        # Shift places and nodes of each column into the common numbering.
        offsets = np.concatenate(([0], np.cumsum([len(column.order) for column in columns]))).astype(np.int64)
        numbers = np.concatenate(([0], np.cumsum([len(column.begin) for column in columns]))).astype(np.int64)
        column = np.repeat(np.arange(len(columns), dtype=np.int32), np.diff(numbers))
        begin = np.concatenate([tree.begin for tree in columns]) + offsets[column]
        end = np.concatenate([tree.end for tree in columns]) + offsets[column]
        first = np.concatenate([tree.first for tree in columns]) + offsets[column]
        parent = np.concatenate(
            [np.where(tree.parent < 0, -1, tree.parent + n) for tree, n in zip(columns, numbers[:-1], strict=True)]
        )
        order = np.concatenate([tree.order + start for tree, start in zip(columns, offsets[:-1], strict=True)]).astype(
            np.int32
        )
        # Children by parent, in the order of their codes.
        roots = np.flatnonzero(parent < 0).astype(np.int32)
        below = np.flatnonzero(parent >= 0)
        children = below[np.lexsort((first[below], parent[below]))].astype(np.int32)
        child_starts = np.searchsorted(parent[children], np.arange(len(parent) + 1)).astype(np.int64)
        parts = (np.diff(child_starts) > 0).astype(np.int64)
        for node in np.flatnonzero((parts > 0) & (parent >= 0)).tolist():  # descendants before their ancestors
            parts[parent[node]] += parts[node]
        # The most general cut: the roots.
        cut = np.repeat(roots, np.diff(offsets))
        branch = np.zeros(len(order), dtype=np.int32)
        for root in roots.tolist():
            for number, child in enumerate(children[child_starts[root] : child_starts[root + 1]].tolist()):
                branch[order[begin[child] : end[child]]] = number
        trees = Trees(
            begin=begin,
            end=end,
            column=column,
            first=first,
            parts=parts,
            child_starts=child_starts,
            children=children,
            log_sizes=np.rint(np.log(end - begin) * UNIT).astype(np.int64),
            order=order,
            cut=cut,
            branch=branch,
            heads=np.where(parent < 0, 0, -1).astype(np.int32),  # a single group has all rows
        )
        level = np.concatenate([tree.level for tree in columns])
        return cls(trees=trees, level=level, roots=roots, offsets=offsets)

    def __repr__(self) -> str:
        return f"Taxonomy(columns={len(self.roots)}, nodes={len(self.level)})"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Column:
    """The tree of one column, leaves before their ancestors; code `c` is node `c`."""

    order: NDArray[np.int32]
    """The codes; the codes below a node are neighbours."""
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    first: NDArray[np.int64]
    """Smallest code below each node."""
    parent: NDArray[np.int64]
    """-1 for the root."""
    level: NDArray[np.int32]

    @classmethod
    def of(cls, levels: Levels) -> _Column:
        # Start with the leaves, and add a node whenever a level joins sets.
        size = levels.nodes.shape[1]
        place = np.empty(size, dtype=np.int64)
        place[levels.order] = np.arange(size)
        node = np.arange(size)  # of each code, at the level so far
        begin, end, first = [place], [place + 1], [np.arange(size)]
        level, parent = [np.zeros(size, dtype=np.int32)], np.full(size, -1)
        width = np.ones(size, dtype=np.int64)
        for number, level_nodes in enumerate(levels.nodes[1:], start=1):
            _, smallest, of_code, sizes = np.unique(
                level_nodes, return_index=True, return_inverse=True, return_counts=True
            )
            # A set that has not grown is the node below.
            grown = sizes > width[node[smallest]]
            new = np.cumsum(grown) - 1 + len(parent)
            climbs = grown[of_code]
            start = np.full(len(sizes), size)
            np.minimum.at(start, of_code, place)
            begin.append(start[grown])
            end.append((start + sizes)[grown])
            first.append(smallest[grown])
            level.append(np.full(int(grown.sum()), number, dtype=np.int32))
            width = np.append(width, sizes[grown])
            # Connect the nodes of the level before to their new parents.
            parent[node[climbs]] = new[of_code[climbs]]
            parent = np.append(parent, np.full(int(grown.sum()), -1))
            node = np.where(climbs, new[of_code], node)
        return cls(
            order=levels.order,
            begin=np.concatenate(begin),
            end=np.concatenate(end),
            first=np.concatenate(first),
            parent=parent,
            level=np.concatenate(level),
        )
