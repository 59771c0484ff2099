"""Generalization with a hierarchy: a value that varies within a group becomes the lowest common ancestor.

The published label is the name of the node, with three exceptions:

* The root, which represents all values of the hierarchy, is published as a star. It carries the same information, and
  all stars are equal.
* If some rows of a group lack the value and others do not, the group publishes a star, because no node represents a
  missing value. If the hierarchy has a line for the empty value, however, a missing value is a leaf like any other.
* If all rows of a group lack the value, its cells stay missing.

Only values that occur in the table count: a node represents the occurring values below it, and its penalty is (number
of these - 1) / (number of occurring values - 1), without the missing value. Sets and stars count in the same way. Nodes
are ordered as in the given hierarchy, so that the order does not reveal which values occur.

References
----------
L. Sweeney, "Achieving k-anonymity privacy protection using generalization and suppression", International Journal of
Uncertainty, Fuzziness and Knowledge-Based Systems 10(5), 2002. doi:10.1142/S021848850200165X
J. Xu, W. Wang, J. Pei, X. Wang, B. Shi and A. W.-C. Fu, "Utility-based anonymization using local recoding", KDD 2006,
Section 2.2. doi:10.1145/1150402.1150504
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._messages import Suggestion
from shoal.errors import ParameterError
from shoal.hierarchy import Hierarchy
from shoal.hierarchy.distinct_values import find_first_row
from shoal.hierarchy.reach import rank_values, reach
from shoal.recoding.extents_kernel import group_extents
from shoal.recoding.levels import lowest_levels
from shoal.recoding.penalty import set_penalty
from shoal.recoding.recoded import RecodedColumn, build_sub_domains
from shoal.recoding.suppression import check_star, keep_column
from shoal.table import Column
from shoal.table.compressed import entries_of_rows
from shoal.table.text import dictionary_text


def check_coverage(column: Column, tree: Hierarchy, *, people: bool = False) -> None:
    """Check that a hierarchy contains every value of a column, which may be that of a population.

    Raises
    ------
    DataError
        If it lacks values; the message gives their number and the first row.
    """
    texts = dictionary_text(column.dictionary.drop_nulls()).to_list()
    first = None if people else partial(find_first_row, column)
    tree.positions(texts, column=column.name, first_row=first, of_people=people)


def generalize_by(
    tree: Hierarchy,
    column: Column,
    groups: NDArray[np.int32],
    count: int,
    star: str,
    *,
    least: NDArray[np.int32] | None = None,
) -> RecodedColumn:
    """Recode a quasi-identifier to lowest common ancestors, or to higher nodes if a group has a `least` level.

    Parameters
    ----------
    tree : Hierarchy
        The hierarchy of the column.
    column : Column
        The quasi-identifier.
    groups : int32 array of shape (rows,)
        Group of each row.
    count : int
        Number of groups.
    star : str
        Symbol of a suppressed value.
    least : int32 array of shape (count,), optional
        Lowest level at which each group may publish a node; 0 by default.

    Raises
    ------
    ParameterError
        If the star symbol is a value of the column, or the name of a published node.
    DataError
        If the hierarchy lacks values of the column.
    """
    text = dictionary_text(column.dictionary)
    check_star(column, text, star)
    # In depth-first order, the values below a node are consecutive, so that the extent of a group determines its lowest
    # common ancestor.
    walk = _DepthFirst.of(tree, column, text)
    low, high = group_extents(walk.rank[column.codes], groups, count)
    mixed = (high == walk.values) & (low < high)  # the missing value ranks last
    level = walk.meeting_level(low, np.where(mixed, low, high))
    # Levels from the height on mean a star, even for a single value.
    forced = np.zeros(count, dtype=np.bool_)
    if least is not None:
        forced = least >= tree.height
        level = walk.lift(level, np.minimum(least, tree.height).astype(np.int32), low)
    kept = (low == high) & (level == 0) & ~forced
    if kept.all():
        # Levels are kept, because a kept value may be a node of a coarsened column.
        return replace(keep_column(column, walk.order[low]), levels=level, height=tree.height)
    begin, end = walk.extent(level, low)
    stars = mixed | forced | (~kept & walk.is_root(level, low))
    level[stars] = tree.height
    nodes = _find_published_nodes(walk, level, begin, end, stars)
    # A node must not have the name of the star symbol.
    names = walk.names(nodes.level, nodes.begin, text)
    if names.filter(pl.Series(nodes.level > 0)).eq(star).any():
        raise ParameterError(
            f"The star symbol is the name of a node in the hierarchy of '{column.name}', so readers "
            "could not tell the two apart. Choose another symbol with ",
            Suggestion("star"),
            ".",
        )
    # The star is the last label and represents the whole domain.
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
        sub_domains=build_sub_domains(starts, members),
        levels=level,
        height=tree.height,
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _DepthFirst:
    """The values of a column in depth-first order, in which the values below a node are consecutive."""

    tree: Hierarchy
    values: int
    """Number of values in the hierarchy: all of them, or all but the missing value."""
    rank: NDArray[np.int32]
    """Position of each code. A missing value that is not in the hierarchy comes last."""
    order: NDArray[np.int32]
    """Code at each position."""
    nodes: NDArray[np.int32]
    """Node of each position at each level, of shape (height + 1, values)."""
    lowest: NDArray[np.int32]
    """Lowest level at which the node of each position at each level has the same name; the same shape."""

    @classmethod
    def of(cls, tree: Hierarchy, column: Column, text: pl.Series) -> _DepthFirst:
        positions = tree.positions(text.to_list(), column=column.name)
        positions = positions[positions >= 0]  # the missing value comes last
        nodes = tree.levels[:, positions]
        values = nodes.shape[1]
        # Sorting by nodes from the top down yields a depth-first order.
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
        """Return the lowest level at which the values at two positions have the same node; 0 for a missing value."""
        if self.values == 0:
            return np.zeros(len(low), dtype=np.int32)
        # A missing value is beyond the last position; the result for it is not used.
        low, high = np.minimum(low, self.values - 1), np.minimum(high, self.values - 1)
        level = np.zeros(len(low), dtype=np.int32)
        for nodes in self.nodes:  # paths that have met stay together
            level += nodes[low] != nodes[high]
        return level

    def lift(self, level: NDArray[np.int32], least: NDArray[np.int32], place: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the level at which a node is published given a lower bound on it; a missing value stays at 0."""
        if self.values == 0:
            return level
        # A node that repeats its child's name counts as the child.
        there = place < self.values
        wanted = np.maximum(level, least)
        return np.where(there, self.lowest[wanted, np.where(there, place, 0)], level)

    def extent(self, level: NDArray[np.int32], place: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the first position below each node, and the position after its last."""
        begin, end = place.copy(), place + np.int32(1)
        for number, nodes in enumerate(self.nodes):
            here = (level == number) & (place < self.values)
            # Nodes of a level are runs of positions.
            borders = np.flatnonzero(np.diff(nodes, prepend=-1, append=-1)).astype(np.int32)
            run = np.searchsorted(borders, place[here], side="right")
            begin[here], end[here] = borders[run - 1], borders[run]
        return begin, end

    def is_root(self, level: NDArray[np.int32], place: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Test if each node represents all values of the hierarchy."""
        of_one = np.array([len(names) == 1 for names in self.tree.labels])
        return np.asarray(of_one[level] & (place < self.values))

    def reach(self, level: NDArray[np.int32], place: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the ranks of the first and the last value of the hierarchy below each node.

        Values that do not occur in the table are included.
        """
        first, last = (np.full(len(level), len(self.tree.values), dtype=np.int64) for _ in range(2))  # missing: last
        ranks = rank_values(self.tree)
        for number in np.unique(level).tolist():
            here = np.flatnonzero((level == number) & (place < self.values))
            nodes = self.nodes[number, place[here]]
            first[here], last[here] = (places[nodes] for places in reach(self.tree, number, ranks))
        return first, last

    def names(self, level: NDArray[np.int32], place: NDArray[np.int32], text: pl.Series) -> pl.Series:
        """Return the names of nodes; level 0 uses the text of the table."""
        named: list[str | None] = [
            self.tree.labels[up][self.nodes[up, at]] if up else text[code]
            for up, at, code in zip(level.tolist(), place.tolist(), self.order[place].tolist(), strict=True)
        ]
        return pl.Series(named, dtype=pl.String)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Nodes:
    """The distinct published nodes, ordered by the first and the last value below them in the hierarchy."""

    level: NDArray[np.int32]
    begin: NDArray[np.int32]
    """First position of each node."""
    starts: NDArray[np.int64]
    """Index of each node's first entry in `members`, followed by the number of entries."""
    members: NDArray[np.int32]
    """Codes below each node, in ascending order."""
    of_group: NDArray[np.int32]
    """Node of each group; arbitrary if the group publishes a star."""


def _find_published_nodes(
    walk: _DepthFirst,
    level: NDArray[np.int32],
    begin: NDArray[np.int32],
    end: NDArray[np.int32],
    stars: NDArray[np.bool_],
) -> _Nodes:
    places = len(walk.order)
    # A node is identified by its level and first position.
    keys, a_group, of_key = np.unique(
        (level.astype(np.int64) * places + begin)[~stars], return_index=True, return_inverse=True
    )
    ends = end[~stars][a_group]
    levels, begins = (keys // places).astype(np.int32), (keys % places).astype(np.int32)
    # Canonical order by the hierarchy alone, not by the values that occur.
    first, last = walk.reach(levels, begins)
    canonical = np.lexsort((levels, last, first))
    number = np.empty(len(keys), dtype=np.int32)
    number[canonical] = np.arange(len(keys))
    of_group = np.zeros(len(level), dtype=np.int32)
    of_group[~stars] = number[of_key]
    owner, codes = _list_codes_below(walk, begins[canonical], ends[canonical])
    return _Nodes(
        level=levels[canonical],
        begin=begins[canonical],
        starts=np.searchsorted(owner, np.arange(len(keys) + 1)).astype(np.int64),
        members=codes,
        of_group=of_group,
    )


def _list_codes_below(
    walk: _DepthFirst, begins: NDArray[np.int32], ends: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """List the codes below each node, in ascending order per node, and the node of each code."""
    owner = np.repeat(np.arange(len(begins)), ends - begins)
    codes = walk.order[entries_of_rows(begins, ends)]
    return owner, codes[np.lexsort((codes, owner))]
