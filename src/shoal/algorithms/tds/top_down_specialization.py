"""Top-down specialization: from stars everywhere to ever more specific values (Fung, Wang, Yu 2005).

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

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shoal.algorithms.base import Guarantee, Partition, monotone_only
from shoal.algorithms.common.compiled import compile_requirement
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
    VALID,
    Candidates,
    Groups,
    Scratch,
    assess,
    describe,
    specialize,
    weights_table,
)
from shoal.algorithms.tds.taxonomy import Taxonomy
from shoal.recoding.order import rank

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.algorithms.base import Problem
    from shoal.algorithms.common.compiled import CompiledRequirement
    from shoal.algorithms.common.predicate_kernel import Asked
    from shoal.algorithms.tds.specialization_kernel import Trees
    from shoal.models import Requirement
    from shoal.table import Table

__all__ = ["TopDownSpecialization"]

_RECORDS_PER_CALL = 10_000_000
"""Records that the kernel looks at before it lets the caller hear of it: well below a second."""
_WEIGHTS = 1 << 16
"""Counts up to which logarithms are tabulated."""
_ENDLESS = 1 << 62
"""More than the size of any group: nothing is known of a node yet."""


@dataclass(frozen=True)
class TopDownSpecialization:
    """Start from stars everywhere and specialize, for all rows alike, what gains most for the privacy that it costs.

    The recoding is global: a cut through the hierarchy of each attribute, below which nothing is told. A specialization
    puts the children of a node in its place. It is valid where every group stays acceptable.

    Notes
    -----
    What differs from the paper:

    * the table has no class attribute, so what a specialization gains is the drop in KL-divergence between the table
      and the release (equation 2 of [3]_); the score is gain / (loss of anonymity + 1), as in [2]_, and the anonymity
      is the size of the smallest group;
    * any monotone requirement takes the place of the paper's k: of several specializations that are valid the one with
      the best score is performed, ties going to the earlier attribute, then to the earlier values;
    * a numeric attribute has a hierarchy like every other, instead of splits that are found on the way;
    * counts belong to groups of equal rows, and each group keeps what it adds to the score of each node above it; a
      specialization brings those of its own groups up to date, as the paper's TIPS does.

    Where the union of acceptable groups is acceptable, what is invalid stays invalid however far the other attributes
    are specialized: the groups that it would make then are parts of those that it would make now, and if all parts were
    acceptable, so would be their unions. So each node is refused for good, and in the end no finer cut at all is
    acceptable. Clauses that are rounded against the publisher might break that rule, so nodes that were refused are
    tried once more before the search ends.

    Without a hierarchy (under suppression, always) an attribute has two levels: every value, or stars for all rows.
    """

    hierarchical: ClassVar[bool] = True
    """It climbs hierarchies: a column without one gets one that is made of its values."""

    @property
    def name(self) -> str:
        """`tds`."""
        return "tds"

    def parameters(self) -> dict[str, Any]:
        """Return the parameters as they appear in a certificate: none."""
        return {}

    def unsupported(self, requirement: Requirement) -> str | None:
        """Return why a requirement cannot be served, in words that follow "because"."""
        return monotone_only(requirement)

    def partition(self, problem: Problem) -> Partition:
        """Partition the rows; see `Algorithm.partition`."""
        table = problem.table
        guarantee = Guarantee(
            text="No value can be specialized further for all rows alike. Nothing is promised about the cost."
        )
        if not table.rows or not table.quasi_identifiers:
            problem.progress(self.name, 1, 1)
            groups = np.zeros(table.rows, dtype=np.int32)
            return Partition(groups=groups, count=min(table.rows, 1), guarantee=guarantee)
        taxonomy = Taxonomy.of(problem.levels)
        search = _Search.of(table, compile_requirement(table, problem.requirement), taxonomy)
        search.run(problem, self.name)
        cuts = _places_in_cut(taxonomy)
        of_row, count = rank(
            [(place[column.codes], size) for column, (place, size) in zip(table.quasi_identifiers, cuts, strict=True)],
            table.rows,
        )
        groups = of_row.astype(np.int32)
        row = np.empty(count, dtype=np.int32)
        row[groups] = np.arange(table.rows, dtype=np.int32)
        least = np.empty((count, len(cuts)), dtype=np.int32)
        for a, (column, start) in enumerate(zip(table.quasi_identifiers, taxonomy.offsets, strict=False)):
            least[:, a] = taxonomy.level[taxonomy.trees.cut[start + column.codes[row]]]
        return Partition(
            groups=groups,
            count=count,
            guarantee=guarantee,
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
    """The arrays of a search, from the most general cut on."""

    records: NDArray[np.int32]
    trees: Trees
    groups: Groups
    candidates: Candidates
    asked: Asked
    scratch: Scratch
    state: NDArray[np.int64]

    @classmethod
    def of(cls, table: Table, compiled: CompiledRequirement, taxonomy: Taxonomy) -> _Search:
        """Lay out a table whose rows are one group."""
        records, combinations = _records(table, compiled, taxonomy)
        trees, nodes = taxonomy.trees, len(taxonomy.level)
        width = int(np.diff(trees.child_starts).max(initial=1))
        codes = int(compiled.starts[-1])
        search = cls(
            records=records,
            trees=trees,
            groups=_room(len(taxonomy.roots), 1),
            candidates=Candidates(
                status=np.zeros(nodes, dtype=np.int8),
                gain=np.zeros(nodes, dtype=np.int64),
                smallest=np.full(nodes, _ENDLESS, dtype=np.int64),
                listed=np.zeros(nodes, dtype=np.int32),
                where=np.zeros(nodes, dtype=np.int32),
            ),
            asked=compiled.asked,
            scratch=Scratch(
                spare=np.empty_like(records),
                rows=np.empty(len(records), dtype=np.int32),
                sizes=np.zeros(width, dtype=np.int64),
                places=np.zeros(width, dtype=np.int64),
                branches=np.empty(width, dtype=np.int32),
                counts=np.zeros(codes, dtype=np.int64),
                touched=np.empty(codes, dtype=np.int32),
                said=np.zeros(combinations, dtype=np.int64),
                weights=weights_table(min(table.rows + 1, _WEIGHTS)),
            ),
            state=np.zeros(6, dtype=np.int64),
        )
        search.groups.stops[0] = len(records)
        search.groups.nodes[:, 0] = taxonomy.roots
        search.state[GROUPS] = 1
        search.state[ANONYMITY] = describe(records, search.groups, 0, search.scratch)
        search._open(taxonomy.roots[np.diff(trees.child_starts)[taxonomy.roots] > 0])
        return search

    def run(self, problem: Problem, name: str) -> None:
        """Specialize as long as anything is valid."""
        inner = np.diff(self.trees.child_starts) > 0
        total = max(int(inner.sum()), 1)
        ended = MORE
        while ended != DONE or self._reopened():
            problem.progress(name, int(self.state[DECIDED]), total)
            if ended == ROOM:
                self.groups = _grown(self.groups, min(2 * len(self.groups.starts), len(self.records)))
            ended = specialize(
                self.records,
                self.trees,
                self.groups,
                self.candidates,
                self.asked,
                self.scratch,
                self.state,
                _RECORDS_PER_CALL,
            )
        problem.progress(name, total, total)

    def _open(self, nodes: NDArray[np.integer]) -> None:
        """Make candidates of nodes of the cut, as far as specializing them is valid."""
        known = self.candidates
        known.status[nodes] = VALID
        known.gain[nodes] = 0
        known.smallest[nodes] = _ENDLESS
        first = int(self.state[LISTED])
        known.listed[first : first + len(nodes)] = nodes
        known.where[nodes] = np.arange(first, first + len(nodes))
        self.state[LISTED] += len(nodes)
        count = int(self.state[GROUPS])
        self.groups.changed[:count] = np.arange(count)
        assess(self.records, self.trees, self.groups, known, self.asked, self.scratch, self.state, count)

    def _reopened(self) -> bool:
        """Try all refused nodes once more, and return whether one is valid after all."""
        refused = np.flatnonzero(self.candidates.status == REFUSED)
        self.state[DECIDED] -= self.trees.parts[refused].sum()
        self._open(refused)
        return bool(self.state[LISTED] > 0)


def _records(table: Table, compiled: CompiledRequirement, taxonomy: Taxonomy) -> tuple[NDArray[np.int32], int]:
    """Return the distinct rows as the kernel wants them, and how many combinations of sensitive values there are."""
    columns = [(column.codes, column.size) for column in table.sensitive]
    said, combinations = rank(columns, table.rows)
    if len(columns) > 1:
        point, count = rank(
            [*((column.codes, column.size) for column in table.quasi_identifiers), (said, combinations)], table.rows
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
    records[:, -2] = said[rows]
    records[:, -1] = counts
    return records, combinations


def _room(columns: int, room: int) -> Groups:
    return Groups(
        starts=np.zeros(room, dtype=np.int64),
        stops=np.zeros(room, dtype=np.int64),
        spread=np.zeros(room, dtype=np.int64),
        nodes=np.zeros((columns, room), dtype=np.int32),
        gains=np.zeros((columns, room), dtype=np.int64),
        following=np.full((columns, room), -1, dtype=np.int32),
        changed=np.zeros(room, dtype=np.int32),
    )


def _grown(groups: Groups, room: int) -> Groups:
    """Return the groups in arrays with more room."""
    larger = _room(len(groups.nodes), room)
    for name, old in groups._asdict().items():
        getattr(larger, name)[..., : old.shape[-1]] = old
    return larger


def _places_in_cut(taxonomy: Taxonomy) -> list[tuple[NDArray[np.int64], int]]:
    """Return for each column which node of the cut each code is below, numbered from 0, and how many there are."""
    places = []
    for start, stop in zip(taxonomy.offsets[:-1], taxonomy.offsets[1:], strict=True):
        nodes, place = np.unique(taxonomy.trees.cut[start:stop], return_inverse=True)
        places.append((place, len(nodes)))
    return places
