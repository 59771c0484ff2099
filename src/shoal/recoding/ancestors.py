"""Generalization with a hierarchy: a value that a group does not share becomes the lowest common ancestor.

What is published is the name of the node, with three exceptions:

* a node that stands for all values of the hierarchy (the root) is a star: that says no more, and all stars read alike;
* a group where some rows miss the value and others do not publishes a star: no node stands for a missing value, unless
  the hierarchy has a line for it, whose value is empty: a missing value is a leaf like the others then;
* a group whose rows all miss the value keeps it: its cells stay missing.

The hierarchy counts for the values that occur in the table: a node stands for those of them that are below it, and its
penalty is (these - 1) / (all that occur - 1), a missing value not counted. That is what sets and stars count, too. The
order of the nodes is that of the hierarchy as it was given, so that it does not tell which values occur.

References
----------
L. Sweeney, "Achieving k-anonymity privacy protection using generalization and suppression", International Journal of
Uncertainty, Fuzziness and Knowledge-Based Systems 10(5), 2002. doi:10.1142/S021848850200165X
J. Xu, W. Wang, J. Pei, X. Wang, B. Shi and A. W.-C. Fu, "Utility-based anonymization using local recoding", KDD 2006,
Section 2.2. doi:10.1145/1150402.1150504
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shoal._messages import Suggestion
from shoal.errors import ParameterError
from shoal.hierarchy.reach import ranks_of, reach
from shoal.recoding.extents_kernel import group_extents
from shoal.recoding.levels import lowest_levels
from shoal.recoding.penalty import set_penalty
from shoal.recoding.recoded import RecodedColumn, sub_domains_of
from shoal.recoding.star_symbol import check_star
from shoal.recoding.suppression import unchanged
from shoal.table.compressed import entries_of_rows
from shoal.table.text import dictionary_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.hierarchy import Hierarchy
    from shoal.table import Column

__all__ = ["check_coverage", "generalize_by"]


def check_coverage(column: Column, tree: Hierarchy) -> None:
    """Check that a hierarchy has every value of a column.

    Raises
    ------
    DataError
        Where it misses some; says how many.
    """
    tree.positions(dictionary_text(column.dictionary.drop_nulls()).to_list(), column=column.name)


def generalize_by(
    tree: Hierarchy,
    column: Column,
    groups: NDArray[np.int32],
    count: int,
    star: str,
    *,
    least: NDArray[np.int32] | None = None,
) -> RecodedColumn:
    """Recode one quasi-identifier to lowest common ancestors, or to the node at a group's `least` level above them.

    Raises
    ------
    ParameterError
        Where the star symbol is a value of the column, or the name of a published node.
    DataError
        Where the hierarchy misses values of the column.
    """
    text = dictionary_text(column.dictionary)
    check_star(column, text, star)
    walk = _DepthFirst.of(tree, column, text)
    low, high = group_extents(walk.rank[column.codes], groups, count)
    mixed = (high == walk.values) & (low < high)  # the missing value ranks last
    level = walk.meeting_level(low, np.where(mixed, low, high))
    forced = np.zeros(count, dtype=np.bool_)
    if least is not None:
        forced = least >= tree.height
        level = walk.raised(level, np.minimum(least, tree.height).astype(np.int32), low)
    kept = (low == high) & (level == 0) & ~forced
    if kept.all():
        # Still of a hierarchy: a coarse value that is kept counts like one beside nodes.
        return replace(unchanged(column, walk.order[low]), levels=level, height=tree.height)
    begin, end = walk.extent(level, low)
    stars = mixed | forced | (~kept & walk.is_root(level, low))
    level[stars] = tree.height
    nodes = _published_nodes(walk, level, begin, end, stars)
    names = walk.names(nodes.level, nodes.begin, text)
    if names.filter(pl.Series(nodes.level > 0)).eq(star).any():
        raise ParameterError(
            f"The star symbol is the name of a node in the hierarchy of '{column.name}', so readers could not tell the "
            "two apart. Choose another symbol with ",
            Suggestion("star"),
            ".",
        )
    starts, members = nodes.starts, nodes.members
    if stars.any():
        names = names.extend(pl.Series([star], dtype=pl.String)).rechunk()
        starts = np.append(starts, len(members) + column.size)
        members = np.append(members, np.arange(column.size, dtype=np.int32))
    return RecodedColumn(
        name=column.name,
        labels=names.alias(column.name),
        group_codes=np.where(stars, np.int32(len(nodes.level)), nodes.of_group).astype(np.int32),
        kept=kept,
        stars=stars,
        penalty=np.where(stars, 1.0, np.where(kept, 0.0, set_penalty(end - begin, walk.values))),
        sub_domains=sub_domains_of(starts, members),
        levels=level,
        height=tree.height,
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _DepthFirst:
    """The values of a column in the order of a walk through the hierarchy: those below a node stand side by side."""

    tree: Hierarchy
    values: int
    """How many values the hierarchy has: all, or all but the missing one."""
    rank: NDArray[np.int32]
    """Place of each code; that of a missing value that the hierarchy has not is the last."""
    order: NDArray[np.int32]
    """Code at each place."""
    nodes: NDArray[np.int32]
    """Node of each place at each level, shape (height + 1, values)."""
    lowest: NDArray[np.int32]
    """The lowest level at which the node of each place at each level has the same name; the same shape."""

    @classmethod
    def of(cls, tree: Hierarchy, column: Column, text: pl.Series) -> _DepthFirst:
        positions = tree.positions(text.to_list(), column=column.name)
        positions = positions[positions >= 0]  # the missing value comes last
        nodes = tree.levels[:, positions]
        values = nodes.shape[1]
        order = np.append(np.lexsort(nodes), np.arange(values, column.size)).astype(np.int32)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        present = order[:values]
        return cls(
            tree=tree,
            values=values,
            rank=rank,
            order=order,
            nodes=nodes[:, present],
            lowest=lowest_levels(tree, positions)[:, present],
        )

    def meeting_level(self, low: NDArray[np.int32], high: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the lowest level at which the values at two places have the same node; 0 for a missing value."""
        if self.values == 0:
            return np.zeros(len(low), dtype=np.int32)
        low, high = np.minimum(low, self.values - 1), np.minimum(high, self.values - 1)
        level = np.zeros(len(low), dtype=np.int32)
        for nodes in self.nodes:  # paths that have met stay together
            level += nodes[low] != nodes[high]
        return level

    def raised(self, level: NDArray[np.int32], least: NDArray[np.int32], place: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the level at which a node is published that has to be at a least one; a missing value stays at 0."""
        if self.values == 0:
            return level
        there = place < self.values
        wanted = np.maximum(level, least)
        return np.where(there, self.lowest[wanted, np.where(there, place, 0)], level)

    def extent(self, level: NDArray[np.int32], place: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the first place below each node, and the one behind its last."""
        begin, end = place.copy(), place + np.int32(1)
        for number, nodes in enumerate(self.nodes):
            here = (level == number) & (place < self.values)
            borders = np.flatnonzero(np.diff(nodes, prepend=-1, append=-1)).astype(np.int32)
            run = np.searchsorted(borders, place[here], side="right")
            begin[here], end[here] = borders[run - 1], borders[run]
        return begin, end

    def is_root(self, level: NDArray[np.int32], place: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which nodes stand for all values of the hierarchy."""
        of_one = np.array([len(names) == 1 for names in self.tree.labels])
        return np.asarray(of_one[level] & (place < self.values))

    def reach(self, level: NDArray[np.int32], place: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the ranks of the first and the last value that the hierarchy has below nodes, in the table or not."""
        first, last = (np.full(len(level), len(self.tree.values), dtype=np.int64) for _ in range(2))  # missing: last
        ranks = ranks_of(self.tree)
        for number in np.unique(level).tolist():
            here = np.flatnonzero((level == number) & (place < self.values))
            nodes = self.nodes[number, place[here]]
            first[here], last[here] = (places[nodes] for places in reach(self.tree, number, ranks))
        return first, last

    def names(self, level: NDArray[np.int32], place: NDArray[np.int32], text: pl.Series) -> pl.Series:
        """Return the names of nodes; a value reads as it is written in the table."""
        named: list[str | None] = [
            self.tree.labels[up][self.nodes[up, at]] if up else text[code]
            for up, at, code in zip(level.tolist(), place.tolist(), self.order[place].tolist(), strict=True)
        ]
        return pl.Series(named, dtype=pl.String)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Nodes:
    """The distinct nodes that groups publish, by the first and the last values that the hierarchy has below them."""

    level: NDArray[np.int32]
    begin: NDArray[np.int32]
    """First place of each node."""
    starts: NDArray[np.int64]
    """Where the values of each node start; one more than there are nodes."""
    members: NDArray[np.int32]
    """Codes below each node, ascending."""
    of_group: NDArray[np.int32]
    """Node of each group; anything where it publishes a star."""


def _published_nodes(
    walk: _DepthFirst,
    level: NDArray[np.int32],
    begin: NDArray[np.int32],
    end: NDArray[np.int32],
    stars: NDArray[np.bool_],
) -> _Nodes:
    places = len(walk.order)
    keys, a_group, of_told = np.unique(
        (level.astype(np.int64) * places + begin)[~stars], return_index=True, return_inverse=True
    )
    ends = end[~stars][a_group]
    levels, begins = (keys // places).astype(np.int32), (keys % places).astype(np.int32)
    first, last = walk.reach(levels, begins)
    canonical = np.lexsort((levels, last, first))
    number = np.empty(len(keys), dtype=np.int32)
    number[canonical] = np.arange(len(keys))
    of_group = np.zeros(len(level), dtype=np.int32)
    of_group[~stars] = number[of_told]
    owner, codes = _below(walk, begins[canonical], ends[canonical])
    return _Nodes(
        level=levels[canonical],
        begin=begins[canonical],
        starts=np.searchsorted(owner, np.arange(len(keys) + 1)).astype(np.int64),
        members=codes,
        of_group=of_group,
    )


def _below(
    walk: _DepthFirst, begins: NDArray[np.int32], ends: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the codes below each node, ascending node by node, and whose they are."""
    owner = np.repeat(np.arange(len(begins)), ends - begins)
    codes = walk.order[entries_of_rows(begins, ends)]
    return owner, codes[np.lexsort((codes, owner))]
