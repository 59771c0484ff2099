"""Top-down specialization: from stars everywhere to more and more specific values (Fung, Wang, Yu 2005).

References
----------
.. [1] B. C. M. Fung, K. Wang, P. S. Yu: Top-down specialization for information and privacy preservation. ICDE 2005.
   https://doi.org/10.1109/ICDE.2005.143
.. [2] B. C. M. Fung, K. Wang, P. S. Yu: Anonymizing classification data for privacy preservation. IEEE Transactions on
   Knowledge and Data Engineering 19(5), 2007. https://doi.org/10.1109/TKDE.2007.1015
.. [3] X. Xiao, K. Yi, Y. Tao: The hardness and approximation algorithms for l-diversity. EDBT 2010, Section 6.2.
   https://doi.org/10.1145/1739041.1739060
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal.algorithms.base import Algorithm, Capabilities, Guarantee, Partition, Problem
from shoal.algorithms.common.compiled import CompiledRequirement, compile_requirement
from shoal.algorithms.common.predicate_kernel import Predicate
from shoal.algorithms.tds.specialization_kernel import (
    ANONYMITY,
    DECIDED,
    DONE,
    GROUPS,
    LISTED,
    MORE,
    PERFORMED,
    REFUSED,
    ROOM,
    UNIT,
    VALID,
    Candidates,
    Groups,
    Scratch,
    Trees,
    assess,
    describe,
    specialize,
    weights_table,
)
from shoal.recoding import Levels
from shoal.recoding.order import rank
from shoal.table import Table


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


_RECORDS_PER_CALL = 10_000_000
"""Number of records that the kernel scans between two progress reports: well below a second."""
_WEIGHTS = 1 << 16
"""Largest count whose logarithm is tabulated."""
_ENDLESS = 1 << 62
"""More than the size of any group: the initial value of a minimum."""


@dataclass(frozen=True)
class TopDownSpecialization(Algorithm):
    """Start from stars everywhere and specialize the values with the largest gain for their loss of privacy.

    The recoding is global: a cut through the hierarchy of each attribute, below which nothing is published. A
    specialization replaces a node by its children. It is valid if every group stays acceptable.

    Notes
    -----
    Differences from the paper:

    * the table has no class attribute, so the gain of a specialization is the drop in KL-divergence between the table
      and the release (equation 2 of [3]_); the score is gain / (loss of anonymity + 1), as in [2]_, and the anonymity
      is the size of the smallest group;
    * any monotone requirement replaces the paper's k: of the valid specializations the one with
      the best score is performed; ties go to the earlier attribute, then to the earlier values;
    * a numeric attribute has a hierarchy like every other, instead of splits that are found on the way;
    * counts belong to groups of equal rows, and each group keeps its contribution to the score of each node above it; a
      specialization updates the contributions of its own groups, as the paper's TIPS does.

    If the union of acceptable groups is acceptable, an invalid specialization stays invalid however far the other
    attributes are specialized: its groups would then be parts of the groups that it would make now, and if all parts
    were acceptable, so would be their unions. So each node is refused for good, and in the end no finer cut at all is
    acceptable. Clauses that are rounded to the safe side might break that rule, so refused nodes are tried once more
    before the search ends.

    Without a hierarchy (under suppression, always) an attribute has two levels: every value, or stars for all rows.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.census(400, quasi_identifiers=["age", "gender"], seed=1)
    >>> release = shoal.anonymize(
    ...     people,
    ...     quasi_identifiers=["age", "gender"],
    ...     sensitive="income",
    ...     k=5, algorithm=shoal.algorithms.TopDownSpecialization(), recoding="generalization", seed=1,
    ... )
    >>> release.certificate.achieved["k"] >= 5
    True
    """

    name: ClassVar[str] = "tds"
    """Name of the algorithm in requests and certificates."""
    capabilities: ClassVar[Capabilities] = Capabilities(hierarchical=True)
    """Capabilities of the algorithm."""

    def group_rows(self, problem: Problem) -> Partition:
        """Find the groups; see `Algorithm.partition`."""
        table = problem.table
        taxonomy = Taxonomy.of(problem.levels)
        search = _Search.of(table, compile_requirement(table, problem.requirement), taxonomy)
        search.run(problem, self.name)
        # Groups are the rows with the same nodes in the cut.
        cuts = _places_in_cut(taxonomy)
        of_row, count = rank(
            [(place[column.codes], size) for column, (place, size) in zip(table.quasi_identifiers, cuts, strict=True)],
            table.rows,
        )
        groups = of_row.astype(np.int32)
        row = np.empty(count, dtype=np.int32)
        row[groups] = np.arange(table.rows, dtype=np.int32)
        # The level of each published value; recoding publishes nothing finer.
        least = np.empty((count, len(cuts)), dtype=np.int32)
        for a, (column, start) in enumerate(zip(table.quasi_identifiers, taxonomy.offsets, strict=False)):
            least[:, a] = taxonomy.level[taxonomy.trees.cut[start + column.codes[row]]]
        return Partition(
            groups=groups,
            count=count,
            guarantee=Guarantee(promise=Fact("no_specialization")),
            facts={
                "specializations": int(search.state[PERFORMED]),
                "published_values": {
                    column.name: size for column, (_, size) in zip(table.quasi_identifiers, cuts, strict=True)
                },
            },
            least=least,
        )


@dataclass(kw_only=True, repr=False, eq=False)
class _Search:
    """The arrays of a search, starting from the most general cut."""

    records: NDArray[np.int32]
    trees: Trees
    groups: Groups
    candidates: Candidates
    predicate: Predicate
    scratch: Scratch
    state: NDArray[np.int64]

    @classmethod
    def of(cls, table: Table, compiled: CompiledRequirement, taxonomy: Taxonomy) -> _Search:
        """Lay a table out as one group."""
        records, combinations = _records(table, compiled, taxonomy)
        trees, nodes = taxonomy.trees, len(taxonomy.level)
        width = int(np.diff(trees.child_starts).max(initial=1))
        codes = int(compiled.starts[-1])
        search = cls(
            records=records,
            trees=trees,
            groups=_allocate_groups(len(taxonomy.roots), 1),
            candidates=Candidates(
                status=np.zeros(nodes, dtype=np.int8),
                gain=np.zeros(nodes, dtype=np.int64),
                smallest=np.full(nodes, _ENDLESS, dtype=np.int64),
                listed=np.zeros(nodes, dtype=np.int32),
                where=np.zeros(nodes, dtype=np.int32),
            ),
            predicate=compiled.predicate,
            scratch=Scratch(
                spare=np.empty_like(records),
                rows=np.empty(len(records), dtype=np.int32),
                sizes=np.zeros(width, dtype=np.int64),
                places=np.zeros(width, dtype=np.int64),
                branches=np.empty(width, dtype=np.int32),
                counts=np.zeros(codes, dtype=np.int64),
                touched=np.empty(codes, dtype=np.int32),
                combination_counts=np.zeros(combinations, dtype=np.int64),
                weights=weights_table(min(table.rows + 1, _WEIGHTS)),
            ),
            state=np.zeros(6, dtype=np.int64),
        )
        # The first group has all records; only roots with children are candidates.
        search.groups.stops[0] = len(records)
        search.groups.nodes[:, 0] = taxonomy.roots
        search.state[GROUPS] = 1
        search.state[ANONYMITY] = describe(records, search.groups, 0, search.scratch)
        search._open(taxonomy.roots[np.diff(trees.child_starts)[taxonomy.roots] > 0])
        return search

    def run(self, problem: Problem, name: str) -> None:
        """Specialize while any candidate is valid."""
        inner = np.diff(self.trees.child_starts) > 0
        total = max(int(inner.sum()), 1)
        ended = MORE
        # `ROOM` enlarges the arrays; `DONE` ends the search unless a refused node is valid after all.
        while ended != DONE or self._reopen_refused():
            problem.progress(name, int(self.state[DECIDED]), total)
            if ended == ROOM:
                self.groups = _enlarge(self.groups, min(2 * len(self.groups.starts), len(self.records)))
            ended = specialize(
                self.records,
                self.trees,
                self.groups,
                self.candidates,
                self.predicate,
                self.scratch,
                self.state,
                _RECORDS_PER_CALL,
            )
        problem.progress(name, total, total)

    def _open(self, nodes: NDArray[np.integer]) -> None:
        """Make candidates of nodes of the cut, if specializing them is valid."""
        candidates = self.candidates
        candidates.status[nodes] = VALID
        candidates.gain[nodes] = 0
        candidates.smallest[nodes] = _ENDLESS
        first = int(self.state[LISTED])
        candidates.listed[first : first + len(nodes)] = nodes
        candidates.where[nodes] = np.arange(first, first + len(nodes))
        self.state[LISTED] += len(nodes)
        # Every group is evaluated for the new candidates.
        count = int(self.state[GROUPS])
        self.groups.changed[:count] = np.arange(count)
        assess(self.records, self.trees, self.groups, candidates, self.predicate, self.scratch, self.state, count)

    def _reopen_refused(self) -> bool:
        """Try all refused nodes once more; return whether any is valid after all."""
        refused = np.flatnonzero(self.candidates.status == REFUSED)
        self.state[DECIDED] -= self.trees.parts[refused].sum()
        self._open(refused)
        return bool(self.state[LISTED] > 0)


def _records(table: Table, compiled: CompiledRequirement, taxonomy: Taxonomy) -> tuple[NDArray[np.int32], int]:
    """Build the records of the distinct rows; return them and the number of combinations of sensitive values."""
    columns = [(column.codes, column.size) for column in table.sensitive]
    combination_counts, combinations = rank(columns, table.rows)
    # With several sensitive attributes a record is a row type of its own.
    if len(columns) > 1:
        point, count = rank(
            [*((column.codes, column.size) for column in table.quasi_identifiers), (combination_counts, combinations)],
            table.rows,
        )
        rows = np.empty(count, dtype=np.int32)
        rows[point] = np.arange(table.rows, dtype=np.int32)
        counts: NDArray[Any] = np.bincount(point, minlength=count)
    else:
        rows, counts = table.classes.first_rows, table.classes.cell_counts
    d, kinds = len(table.quasi_identifiers), compiled.codes.shape[1]
    records = np.empty((len(rows), d + kinds + 2), dtype=np.int32)
    for a, column in enumerate(table.quasi_identifiers):
        records[:, a] = column.codes[rows] + taxonomy.offsets[a]
    records[:, d : d + kinds] = compiled.codes[rows]
    records[:, -2] = combination_counts[rows]
    records[:, -1] = counts
    return records, combinations


def _allocate_groups(columns: int, room: int) -> Groups:
    return Groups(
        starts=np.zeros(room, dtype=np.int64),
        stops=np.zeros(room, dtype=np.int64),
        spread=np.zeros(room, dtype=np.int64),
        nodes=np.zeros((columns, room), dtype=np.int32),
        gains=np.zeros((columns, room), dtype=np.int64),
        following=np.full((columns, room), -1, dtype=np.int32),
        changed=np.zeros(room, dtype=np.int32),
    )


def _enlarge(groups: Groups, room: int) -> Groups:
    """Copy the groups into larger arrays."""
    larger = _allocate_groups(len(groups.nodes), room)
    for name, old in groups._asdict().items():
        getattr(larger, name)[..., : old.shape[-1]] = old
    return larger


def _places_in_cut(taxonomy: Taxonomy) -> list[tuple[NDArray[np.int64], int]]:
    """Find the node of the cut above each code, numbered from 0 in each column, and the number of nodes."""
    places = []
    for start, stop in zip(taxonomy.offsets[:-1], taxonomy.offsets[1:], strict=True):
        nodes, place = np.unique(taxonomy.trees.cut[start:stop], return_inverse=True)
        places.append((place, len(nodes)))
    return places
