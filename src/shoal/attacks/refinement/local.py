"""Local recoding: classes of a finer node that were too small at its turn, and what that says of later groups.

A full-domain recoding whose suppressed records are recoded again, as often as that publishes more, publishes each group
at a node: one level of each hierarchy. If a published node is finer than that of a group, its turn came first. Then no
record of the group lies in a group that was published at its turn, and fewer than k records of the group lie in any
other of its classes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from shoal.verification.meaning import Tree

_MAX_CLASSES = 4_096
"""Largest number of classes of a finer node within a group that are considered."""
_MAX_STEPS = 20_000_000
"""Limit on records times classes times k of one group whose tables are counted: below a second."""


@dataclass(frozen=True, kw_only=True)
class LocalColumn:
    """The nodes of one column: which levels each label is a node of, and which values are below it."""

    tree: Tree
    levels: tuple[tuple[int, int], ...]
    """The lowest and the highest level with each label."""
    below: tuple[frozenset[int], ...]
    """The values below each label."""

    @classmethod
    def of(cls, tree: Tree, labels: Sequence[str | None], star: str) -> LocalColumn | None:
        """Look up labels in a hierarchy; None if one is not a node. A star that is none is the root."""
        levels, below = [], []
        for label in labels:
            found = [level for level, names in enumerate(tree.labels) if label in names]
            if found:
                nodes = [at for at, name in enumerate(tree.labels[found[0]]) if name == label]
                leaves = np.flatnonzero(np.isin(np.asarray(tree.levels[found[0]]), nodes))
                levels.append((found[0], found[-1]))
            elif label == star:
                leaves = np.arange(len(tree.labels[0]))
                levels.append((len(tree.labels), len(tree.labels)))
            else:
                return None
            below.append(frozenset(leaves.tolist()))
        return cls(tree=tree, levels=tuple(levels), below=tuple(below))

    def list_children(self, label: int, level: int) -> list[frozenset[int]]:
        """List the nodes of a level that are below a label, as sets of values; the label itself if it is not above."""
        if level >= self.levels[label][0]:
            return [self.below[label]]
        nodes = np.asarray(self.tree.levels[level])
        children: dict[int, set[int]] = {}
        for leaf in self.below[label]:
            children.setdefault(int(nodes[leaf]), set()).add(leaf)
        return [frozenset(one) for _, one in sorted(children.items())]


@dataclass(frozen=True, kw_only=True)
class LocalBounds:
    """Bounds of the rows of one group."""

    least: tuple[dict[frozenset[int], int], ...]
    """For each column, the smallest number of rows of each child node."""
    greatest: tuple[dict[frozenset[int], int], ...]
    """The same with the largest number."""
    share: float | None
    """The share of the tables within the cells that satisfy the conditions; None if they were not counted."""


def bound_local(
    columns: Sequence[LocalColumn], groups: NDArray[np.int64], sizes: Sequence[int], k: int
) -> Iterator[LocalBounds | None]:
    """Bound the rows of each group in the nodes below its cells.

    Parameters
    ----------
    columns : sequence of LocalColumn
        The quasi-identifiers.
    groups : int64[groups, columns]
        The label of each group in each column.
    sizes : sequence of int
        The number of rows of each group.
    k : int
        The k of k-anonymity.

    Yields
    ------
    LocalBounds or None
        None if no published node is finer than that of the group, or if no table satisfies the conditions.
    """
    low, high = (
        np.column_stack([np.array(column.levels)[:, end][groups[:, at]] for at, column in enumerate(columns)])
        for end in (0, 1)
    )
    roots = [frozenset(range(len(column.tree.labels[0]))) for column in columns]
    for group, (labels, rows) in enumerate(zip(groups.tolist(), sizes, strict=True)):
        # Nodes that are certainly finer, although a name may stand for nodes of several levels.
        finer = np.flatnonzero((high <= low[group]).all(axis=1) & (high < low[group]).any(axis=1))
        # Classes that were large enough may have joined suppressed records, so that these are k.
        if all(column.below[at] == root for column, at, root in zip(columns, labels, roots, strict=True)):
            finer = finer[:0]
        published = [
            [column.below[at] for column, at in zip(columns, groups[one].tolist(), strict=True)]
            for one in finer.tolist()
            if all(
                column.below[at] & column.below[label]
                for column, at, label in zip(columns, groups[one].tolist(), labels, strict=True)
            )
        ]
        found = None
        for levels in sorted({tuple(one) for one in low[finer].tolist()}):
            children = [
                column.list_children(label, level) for column, label, level in zip(columns, labels, levels, strict=True)
            ]
            if math.prod(map(len, children)) > _MAX_CLASSES:
                continue
            found = _tightest(found, _bound(children, published, rows, k))
        yield found


def _bound(
    children: Sequence[list[frozenset[int]]], published: Sequence[Sequence[frozenset[int]]], rows: int, k: int
) -> LocalBounds | None:
    """Bound the rows of a group by the classes of one finer node: fewer than k in each, none in published groups."""
    # Classes of the finer node that no published group contains.
    classes = [
        one
        for one in product(*children)
        if not any(all(part <= box for part, box in zip(one, boxes, strict=True)) for boxes in published)
    ]
    most = k - 1
    if rows > most * len(classes):
        return None
    # Each has at most k - 1 rows, so the others must hold the rest.
    least, greatest = [], []
    for place, parts in enumerate(children):
        within = Counter(one[place] for one in classes)
        least.append({part: max(0, rows - most * (len(classes) - within[part])) for part in parts})
        greatest.append({part: min(rows, most * within[part]) for part in parts})
    weights = [math.prod(map(len, one)) for one in classes]
    whole = math.prod(sum(map(len, parts)) for parts in children)
    return LocalBounds(
        least=tuple(least), greatest=tuple(greatest), share=_share_of_tables(Counter(weights), whole, rows, most)
    )


def _tightest(first: LocalBounds | None, second: LocalBounds | None) -> LocalBounds | None:
    """Combine the bounds by two nodes; each holds."""
    if first is None or second is None:
        return first or second
    # Bounds of the same child count once; the others stand side by side.
    least = tuple(
        {part: max(one.get(part, 0), other.get(part, 0)) for part in {**one, **other}}
        for one, other in zip(first.least, second.least, strict=True)
    )
    greatest = tuple(
        {part: min(bounds) for part in {**one, **other} if (bounds := [by[part] for by in (one, other) if part in by])}
        for one, other in zip(first.greatest, second.greatest, strict=True)
    )
    shares = [one.share for one in (first, second) if one.share is not None]
    return LocalBounds(least=least, greatest=greatest, share=min(shares) if shares else None)


def _share_of_tables(weights: Counter[int], whole: int, rows: int, most: int) -> float | None:
    """Compute the share of all tables that put at most so many rows in each class, and none elsewhere.

    With rows of classes that are independent Poisson numbers, the share is the probability of these numbers given
    their sum.
    """
    if rows * sum(weights.values()) * (most + 1) > _MAX_STEPS:
        return None
    joint = np.ones(1)
    for weight, times in weights.items():
        mean = rows * weight / whole
        few = np.array([math.exp(j * math.log(mean) - mean - math.lgamma(j + 1)) for j in range(most + 1)])
        for _ in range(times):
            joint = np.convolve(joint, few)[: rows + 1]
    outside = rows * (1 - sum(weight * times for weight, times in weights.items()) / whole)
    chance = float(joint[rows]) * math.exp(-outside) if len(joint) > rows else 0.0
    whole_chance = math.exp(rows * math.log(rows) - rows - math.lgamma(rows + 1))
    return chance / whole_chance if chance else None
