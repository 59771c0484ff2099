"""Optimal 2-anonymity and 2-diversity by matching rows in pairs and triples (Liang and Yuan 2013, Theorem 11).

References
----------
.. [1] H. Liang, H. Yuan: On the complexity of t-closeness anonymization and related problems. DASFAA 2013, LNCS 7825,
   pages 331-345. https://doi.org/10.1007/978-3-642-37487-6_26
.. [2] J. Blocki, R. Williams: Resolving the complexity of some data privacy problems. ICALP 2010, LNCS 6199, pages
   393-404. https://doi.org/10.1007/978-3-642-14162-1_33
.. [3] E. Anshelevich, A. Karagiozova: Terminal backup, 3D matching, and covering cubic graphs. SIAM Journal on
   Computing 40(3), 2011, pages 678-708. https://doi.org/10.1137/090752699
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from shoal._core.facts import Fact
from shoal._core.validation import Optional, RationalIn, parameter
from shoal.algorithms.base import TIME_LIMIT, Algorithm, Guarantee, Partition
from shoal.algorithms.m_approximation.m_approximation import MApproximation
from shoal.algorithms.matching.bipartite import cheapest_pairs
from shoal.algorithms.matching.cover_problem import MOST_ATTRIBUTES, Cover, CoverProblem, GroupPrices, split_cover
from shoal.algorithms.matching.simplex_matching import cheapest_cover
from shoal.algorithms.tp.three_phase import ThreePhase

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.algorithms.base import Problem
    from shoal.models import Requirement
    from shoal.table import Table

__all__ = ["Matching"]

_MOST_TYPES = 20_000
"""Types of rows up to which the program over pairs and triples is solved."""


@dataclass(frozen=True)
class Matching(Algorithm):
    """The fewest stars for k = 2, and for frequency l-diversity with l = 2, proven.

    Parameters
    ----------
    time_limit : float, optional, default 60
        Seconds, >= 0, after which the best partition so far is returned, with the bound on all others that was proven
        by then; None searches to the end. An interrupt (Ctrl-C) does the same.

    Notes
    -----
    Groups of two or three rows suffice, since splitting a group never costs more: for k = 2 any group of four or more
    rows is a pair and a rest of at least two; for "at most half of a group share a sensitive value" any group splits
    into pairs and triples of different values (the paper's Lemma 2). That is not so of "at least two distinct values":
    one row of a value among many of another cannot be split, so groups have any size; nor of entropy and recursive
    2-diversity. Those are not served.

    The paper refers to a combinatorial algorithm for simplex matching; here the program over all pairs and triples is
    solved by column generation with parity cuts, and what is left by branch and bound (`simplex_matching`).
    With two sensitive values it is a bipartite matching. The search starts from the d-approximation for k-anonymity or
    from TP+, split like in Lemma 2, and never returns anything worse. Tables of more than 20,000 distinct rows or more
    than 62 quasi-identifiers are not searched: that start is returned.
    """

    time_limit: Real | float | None = field(
        default=60, metadata=parameter(Optional(RationalIn(low=Fraction(0))), **TIME_LIMIT)
    )
    name: ClassVar[str] = "matching"
    """What users and certificates call it."""

    def unsupported(self, requirement: Requirement) -> str | None:
        """Explain why a requirement cannot be served, in words that follow "because"."""
        form = requirement.frequency_form()
        if form is not None and form.k <= 2 and form.l in (1, 2):
            return None
        return (
            "it serves k = 2, and l = 2 in the frequency variant on one sensitive attribute: only there do groups of "
            "two and three rows suffice"
        )

    def group_rows(self, problem: Problem) -> Partition:
        """Find the groups; see `Algorithm.partition`."""
        form = problem.frequency_form
        problem.progress(self.name, 0, 1)
        types = _Types.of(problem.table, diverse=form.l > 1)
        if form.k == 1 and form.l == 1:
            cover = _every_row_alone(np.diff(types.starts))
        elif len(types.codes) > _MOST_TYPES or types.codes.shape[1] > MOST_ATTRIBUTES:
            return _unsearched(_start(types).partition(problem))
        else:
            cover = self._cover(problem, types)
        groups = types.groups_of_rows(cover.groups)
        problem.progress(self.name, 1, 1)
        details = {"distinct_rows": len(types.codes), "pairs_and_triples": len(cover.groups)}
        return Partition.of(groups, _guarantee(cover), details=details)

    def _cover(self, problem: Problem, types: _Types) -> Cover:
        cover = CoverProblem(
            codes=types.codes,
            counts=np.diff(types.starts),
            prices=GroupPrices.of_weights([1] * types.codes.shape[1]),
            values=types.values,
        )
        if types.values is not None and len(np.unique(types.values)) == 2:
            paired = cheapest_pairs(cover)
            if paired is not None:
                return paired
        start = split_cover(cover, types.types_by_group(_start(types).partition(problem).groups))
        limit = None if self.time_limit is None else float(self.time_limit)
        return cheapest_cover(cover, start=start, time_limit=limit, progress=problem.progress)


def _start(types: _Types) -> Algorithm:
    """Return the algorithm whose partition the search starts from."""
    return MApproximation() if types.values is None else ThreePhase()


def _every_row_alone(counts: NDArray[np.int64]) -> Cover:
    groups = np.full((int(counts.sum()), 3), -1, dtype=np.int64)
    groups[:, 0] = np.repeat(np.arange(len(counts)), counts)
    return Cover(groups=groups, cost=0, bound=0, proof=Fact("costs_nonnegative"), complete=True)


def _unsearched(partition: Partition) -> Partition:
    """Return a partition that was no more than a start, with what is guaranteed of it."""
    promise = Fact("one_after_other", one=partition.guarantee.promise, other=Fact("too_large_to_search"))
    return replace(partition, guarantee=replace(partition.guarantee, promise=promise))


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Types:
    """Rows that are interchangeable: those of a class, or of a cell of it where sensitive values count."""

    order: NDArray[np.int32]
    """The rows, type after type."""
    starts: NDArray[np.int64]
    """Where each type starts in `order`; one more than there are types."""
    codes: NDArray[np.int32]
    """Quasi-identifiers of each type."""
    values: NDArray[np.int64] | None
    """Sensitive value of each type, where it counts."""

    @classmethod
    def of(cls, table: Table, *, diverse: bool) -> _Types:
        classes = table.classes
        starts = classes.cell_starts if diverse else classes.cell_starts[classes.class_starts]
        firsts = classes.order[starts[:-1]]
        columns = [column.codes[firsts].astype(np.int32) for column in table.quasi_identifiers]
        return cls(
            order=classes.order,
            starts=starts.astype(np.int64),
            codes=np.column_stack([np.empty((len(firsts), 0), dtype=np.int32), *columns]),
            values=classes.cell_values.astype(np.int64) if diverse else None,
        )

    def types_by_group(self, groups: NDArray[np.int32]) -> list[NDArray[np.int64]]:
        """Return the types of the rows of each group; in an order that only the groups' contents decide."""
        types = np.repeat(np.arange(len(self.codes)), np.diff(self.starts))
        group = groups[self.order]
        by_group = np.lexsort((types, group))
        members = np.split(types[by_group], np.flatnonzero(np.diff(group[by_group])) + 1)
        return sorted(members, key=lambda one: one.tolist())

    def groups_of_rows(self, groups: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the group of each row; groups within one class are one group."""
        groups = groups[np.lexsort(groups.T[::-1])]
        whole = np.where(groups >= 0, groups, groups[:, :1])
        alike = (self.codes[whole] == self.codes[groups[:, :1]]).all(axis=(1, 2))
        # Classes are numbered by their first type: those of equal quasi-identifiers follow one another.
        new_class = np.concatenate(([True], (self.codes[1:] != self.codes[:-1]).any(axis=1)))
        label = np.where(alike, np.cumsum(new_class)[groups[:, 0]], len(self.codes) + 1 + np.arange(len(groups)))
        number = np.unique(label, return_inverse=True)[1].astype(np.int32)
        group, _ = np.nonzero(groups >= 0)
        by_type = np.argsort(groups[groups >= 0], kind="stable")
        of_row = np.empty(len(self.order), dtype=np.int32)
        of_row[self.order] = number[group[by_type]]
        return of_row


def _guarantee(cover: Cover) -> Guarantee:
    assert cover.cost is not None
    if cover.optimal:
        return Guarantee(promise=Fact("proven_optimal"), stars_ratio=1, stars_bound=cover.cost, proof=cover.proof)
    if cover.bound == 0:
        return Guarantee(promise=Fact("nothing_proven"))
    return Guarantee(
        promise=Fact("search_stopped", more=cover.cost - cover.bound),
        stars_bound=cover.bound,
        proof=cover.proof,
    )
