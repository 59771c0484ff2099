"""k-anonymity within a factor d of the fewest stars (Liang and Yuan 2013, Theorem 10; d is the paper's m).

References
----------
.. [1] H. Liang, H. Yuan: On the complexity of t-closeness anonymization and related problems. DASFAA 2013, LNCS 7825,
   pages 331-345. https://doi.org/10.1007/978-3-642-37487-6_26
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal._core.validation import Boolean, parameter
from shoal.algorithms.base import UNTOUCHED, Algorithm, Capabilities, Guarantee, Partition, Problem
from shoal.algorithms.tp.cascade import (
    MOST_ATTRIBUTES,
    Cascade,
    entries_of_classes,
    partition_of_entries,
    share_kept_rows,
    starred_attributes,
)
from shoal.models.requirement import Requirement


@dataclass(frozen=True)
class MApproximation(Algorithm):
    """The d-approximation for k-anonymity, refined by default.

    Parameters
    ----------
    refine : bool, default True
        Whether the cascade partitions the mixed group further. It never leaves more stars than without.

    Notes
    -----
    The paper does not state which rows fill up the mixed group in its third case: here the rows of the classes with the
    largest surplus. If there are more than 63 quasi-identifiers, nothing is refined.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.census(400, quasi_identifiers=["age", "gender"], seed=1)
    >>> release = shoal.anonymize(
    ...     people,
    ...     quasi_identifiers=["age", "gender"],
    ...     sensitive="income",
    ...     k=5, algorithm=shoal.algorithms.MApproximation(), seed=1,
    ... )
    >>> release.certificate.achieved["k"] >= 5
    True
    """

    capabilities: ClassVar[Capabilities] = Capabilities(divisible=True, bytes_per_row=90)
    """Capabilities of the algorithm."""

    refine: bool = field(
        default=True, metadata=parameter(Boolean(), "Whether the mixed group is partitioned further by the cascade.")
    )
    name: ClassVar[str] = "m-approximation"
    """Name of the algorithm in requests and certificates."""

    def unsupported(self, requirement: Requirement) -> str | None:
        """Explain why a requirement cannot be served, in words that follow "because"."""
        form = requirement.frequency_form()
        return None if form is not None and form.l == 1 else "it serves k-anonymity alone"

    def works_on_counts(self, attributes: int) -> bool:
        """Return True: it computes with cells."""
        return True

    def group_rows(self, problem: Problem) -> Partition:
        """Find the groups; see `Algorithm.partition`."""
        problem.progress(self.name, 0, 1)
        classes = problem.table.classes
        sizes = classes.class_sizes
        # The theorem's partition: classes that stay, and one mixed group.
        keep, case = _rows_that_stay(sizes, problem.frequency_form.k)
        kept = share_kept_rows(keep, classes.cell_counts, classes.class_starts)
        mixed = int(sizes.sum() - keep.sum())
        details = {"classes": classes.count, "case": case, "mixed_group": mixed}
        # The refinement replaces it if it costs no more stars.
        entries = None
        if mixed and self.refine:
            entries = _refine(problem, sizes, mixed * starred_attributes(problem.table, kept), details)
        if entries is None:
            entries = entries_of_classes(classes, kept, rest=True)
        problem.progress(self.name, 1, 1)
        return partition_of_entries(problem.table, entries, _guarantee(problem, case, refined=self.refine), details)


def _refine(problem: Problem, sizes: NDArray[np.int64], cost: int, details: dict[str, Any]) -> NDArray[np.int32] | None:
    """Let the cascade group the rows of the small classes; None if that costs more than `cost` stars."""
    form, table = problem.frequency_form, problem.table
    if len(table.quasi_identifiers) > MOST_ATTRIBUTES:
        return None
    # Large classes stay whole; only rows of small classes enter the cascade.
    stays = np.repeat(sizes >= form.k, np.diff(table.classes.class_starts))
    keep = np.where(stays, table.classes.cell_counts, 0).astype(np.int32)
    cascade = Cascade(table=table, form=form, keep=keep, progress=problem.progress)
    cascade.run()
    details["rows_by_stars"] = cascade.rows_by_stars()
    return cascade.entries if cascade.stars() <= cost else None


def _rows_that_stay(sizes: NDArray[np.int64], k: int) -> tuple[NDArray[np.int64], int]:
    """Count the rows that stay in each class, and choose the case of the theorem's proof (0: nothing to do)."""
    small = sizes < k
    keep = np.where(small, 0, sizes)
    waiting = int(sizes[small].sum())
    if waiting == 0:
        return keep, 0
    # Case 1: the small classes are enough for a group.
    if waiting >= k:
        return keep, 1
    # Case 2: rows of large classes fill the group, from the largest surplus down.
    missing = k - waiting
    surplus = np.where(small, 0, sizes - k)
    if int(surplus.sum()) >= missing:
        order = np.argsort(-surplus, kind="stable")
        before = np.cumsum(surplus[order]) - surplus[order]
        keep[order] -= np.clip(missing - before, 0, surplus[order])
        return keep, 2
    # Case 3: the smallest large class joins the group as a whole.
    keep[np.flatnonzero(~small)[np.argmin(sizes[~small])]] = 0
    return keep, 3


def _guarantee(problem: Problem, case: int, *, refined: bool) -> Guarantee:
    d = len(problem.table.quasi_identifiers)
    if case == 0:
        return Guarantee(promise=UNTOUCHED, tuples_ratio=1, stars_ratio=1)
    promise = Fact("m_approximation", d=d, case=case)
    return Guarantee(promise=promise, tuples_ratio=None if refined else 1, stars_ratio=d)
