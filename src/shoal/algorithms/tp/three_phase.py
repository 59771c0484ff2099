"""TP and TP+: l-diversity by suppression with an approximation guarantee (Xiao, Yi, Tao 2010).

References
----------
.. [1] X. Xiao, K. Yi, Y. Tao: The hardness and approximation algorithms for l-diversity. EDBT 2010, pages 135-146.
   https://doi.org/10.1145/1739041.1739060
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal._core.validation import Integer, OneOf, Optional, parameter
from shoal.algorithms.base import UNTOUCHED, Algorithm, Capabilities, Guarantee, Partition, Problem
from shoal.algorithms.hilbert.hilbert import hilbert_groups
from shoal.algorithms.tp.cascade import (
    MOST_ATTRIBUTES,
    best_cascade,
    complete_residue,
    entries_of_classes,
    partition_of_entries,
    starred_attributes,
)
from shoal.algorithms.tp.three_phase_kernel import phase_one
from shoal.models.requirement import FrequencyForm, Requirement


@dataclass(frozen=True, kw_only=True, repr=False)
class Residue:
    """Result of TP's three phases: the rows of each cell that stay in their class, and the phase that ended TP."""

    keep: NDArray[np.int32]
    """Rows of each cell that stay in their class."""
    keep_one: NDArray[np.int32]
    """Rows of each cell that stay if TP ends after phase one."""
    size: int
    """Rows moved to the residue R."""
    size_one: int
    """Rows that phase one alone moves: |R1|."""
    height_one: int
    """Pillar height of the residue after phase one: h(R1)."""
    phase: int
    """The phase that ended TP; 4 if whole classes had to be dissolved, which the paper's requirement never needs."""


@dataclass(frozen=True)
class ThreePhase(Algorithm):
    """TP, and TP+ which partitions TP's residue further.

    Parameters
    ----------
    refine : {"cascade", "hilbert", None}, default "cascade"
        None publishes the residue as one group (TP). "hilbert" partitions it with Hilbert, with the raw codes as
        coordinates: the TP+ of the paper. "cascade" repeats phase one on all but one attribute, all but two, and so on,
        which leaves far fewer stars.
    orders : int, default 0
        Orders of the patterns of stars that the cascade tries after its own, from 0 to 1,000,000: a search that keeps
        the order with the fewest stars. Each takes as long as the cascade.

    Notes
    -----
    Serves "at most one in l rows of a group share a sensitive value, and a group has at least k rows" for any rational
    l >= 1; the paper's requirement is an integer l and k <= l. Beyond it (k above l, or a fractional l) phases two and
    three respect k, and dissolve whole classes if nothing else helps; the guarantee then is that of phase one alone. If
    there are more than 63 quasi-identifiers, "cascade" is replaced by "hilbert".
    If the paper leaves a choice open, values with equal counts are ordered by their code, groups by their position.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.census(400, quasi_identifiers=["age", "gender"], seed=1)
    >>> release = shoal.anonymize(
    ...     people,
    ...     quasi_identifiers=["age", "gender"],
    ...     sensitive="income",
    ...     l=2, algorithm=shoal.algorithms.ThreePhase(refine="hilbert"), seed=1,
    ... )
    >>> release.certificate.achieved["l"]["frequency"] >= 2
    True
    """

    capabilities: ClassVar[Capabilities] = Capabilities(divisible=True, bytes_per_row=40, bytes_per_code=5)
    """Capabilities of the algorithm."""

    refine: str | None = field(
        default="cascade",
        metadata=parameter(
            Optional(OneOf(("cascade", "hilbert"))), "How the rows that TP moved are partitioned: cascade or hilbert."
        ),
    )

    orders: int = field(
        default=0,
        metadata=parameter(
            Integer(low=0, high=1_000_000), "Orders of the patterns of stars that the cascade tries beyond its own."
        ),
    )

    @property
    def name(self) -> str:
        """`tp` without a refinement, `tp+` with one."""
        return "tp" if self.refine is None else "tp+"

    def parameters(self) -> dict[str, Any]:
        """Return the parameters as they appear in a certificate."""
        return {"refine": self.refine} | ({"orders": self.orders} if self.refine == "cascade" else {})

    def unsupported(self, requirement: Requirement) -> str | None:
        """Explain why a requirement cannot be served, in words that follow "because"."""
        if requirement.frequency_form() is None:
            return "it serves k-anonymity, l-diversity by frequency and (alpha, k)-anonymity on one sensitive attribute"
        return None

    def works_on_counts(self, attributes: int) -> bool:
        """Check whether it partitions distinct rows with counts: all but Hilbert does."""
        return self.refine is None or (self.refine == "cascade" and attributes <= MOST_ATTRIBUTES)

    def group_rows(self, problem: Problem) -> Partition:
        """Find the groups; see `Algorithm.partition`."""
        form = problem.frequency_form.within(problem.table.people)
        problem.progress(self.name, 0, 1)
        # TP itself; its figures go into the certificate.
        residue = three_phases(problem, form)
        details: dict[str, Any] = {
            "classes": problem.table.classes.count,
            "residue_after_phase_one": residue.size_one,
            "residue": residue.size,
            "phase": residue.phase,
        }
        # TP+: partition the residue further, by the cascade or by Hilbert.
        entries, suppressed = None, residue.size
        refine = self.refine
        if refine == "cascade" and len(problem.table.quasi_identifiers) > MOST_ATTRIBUTES:
            refine = "hilbert"
        if refine == "cascade" and residue.size:
            entries, suppressed = _refine_by_cascade(problem, form, residue, self.orders, details)
        # TP, or a cascade that was worse: the residue is one group, or is divided by Hilbert.
        if entries is None:
            entries = entries_of_classes(problem.table.classes, residue.keep, rest=True)
            if refine is not None and residue.size:
                entries = _divide_by_hilbert(problem, entries)
        problem.progress(self.name, 1, 1)
        guarantee = _guarantee(problem, form, residue, more_tuples=suppressed > residue.size)
        return partition_of_entries(problem.table, entries, guarantee, details)


def _refine_by_cascade(
    problem: Problem, form: FrequencyForm, residue: Residue, orders: int, details: dict[str, Any]
) -> tuple[NDArray[np.int32] | None, int]:
    """Run the cascade from the end of phase one; return its entries and the number of rows that they suppress.

    The entries are None, and the number is that of TP's own residue, if the cascade would leave more stars than TP
    itself.
    """
    # The cascade starts from phase one, not from TP's result: phases two and three would move rows that it can keep.
    cascade = best_cascade(problem, form, residue.keep_one, orders)
    details["rows_by_stars"] = cascade.rows_by_stars()
    # TP's stars: each row of its residue has a star for each attribute on which the residue differs.
    if cascade.stars() <= residue.size * starred_attributes(problem.table, residue.keep):
        return cascade.entries, cascade.suppressed_tuples()
    return None, residue.size


def _divide_by_hilbert(problem: Problem, entries: NDArray[np.int32]) -> NDArray[np.int32]:
    """Divide the last group by Hilbert, with the raw codes as coordinates; return all entries."""
    last = entries[:, 1] == entries[-1, 1]
    cells = np.repeat(entries[last, 0], entries[last, 2])
    rows = problem.table.entries(problem.table.classes.first_rows[cells], None)
    groups = hilbert_groups(replace(problem, table=rows), np.arange(len(cells)), stretch=False)
    keys, counts = np.unique(groups * np.int64(problem.table.rows) + cells, return_counts=True)
    groups, cells = np.divmod(keys, problem.table.rows)
    divided = np.column_stack([cells, groups + entries[-1, 1], counts])
    return np.concatenate([entries[~last], divided]).astype(np.int32)


def three_phases(problem: Problem, form: FrequencyForm) -> Residue:
    """Run the three phases on the cells of the table's classes."""
    # A table without a sensitive attribute counts as one with a single value.
    classes = problem.table.classes
    counts, starts = classes.cell_counts, classes.class_starts
    m = max(problem.table.sensitive[0].size, 1) if problem.table.sensitive else 1
    values = classes.cell_values
    num, den = form.l.numerator, form.l.denominator
    moved = np.zeros(m, dtype=np.int64)
    keep = phase_one(counts, values, starts, num, den, form.k, moved)
    size_one, height_one = int(moved.sum()), int(moved.max(initial=0))

    # Phase one's counts are kept: the cascade starts from them.
    keep_one = keep.copy()
    phase = complete_residue(keep, values, starts, form, moved)
    return Residue(
        keep=keep, keep_one=keep_one, size=int(moved.sum()), size_one=size_one, height_one=height_one, phase=phase
    )


def _guarantee(problem: Problem, form: FrequencyForm, residue: Residue, *, more_tuples: bool) -> Guarantee:
    """State the guarantee of the phase that ended TP, on TP's own suppressed tuples or on a refinement's stars.

    The cascade may suppress more tuples than TP (`more_tuples`); it keeps TP's bound on stars, because it never leaves
    more stars.
    """
    d = len(problem.table.quasi_identifiers)
    l = form.l
    # The ratio follows from the phase: 1, at most l - 1 tuples more, or l (Theorems of Section 5).
    if residue.size == 0:
        return Guarantee(
            promise=UNTOUCHED,
            tuples_ratio=1,
            stars_ratio=1,
            phase=1,
        )
    if residue.phase == 1:
        ratio = Fraction(1)
        promised: dict[str, int] = {}
    elif l.denominator == 1 and form.k <= l and residue.phase == 2:
        fewest = max(residue.size_one, int(l) * residue.height_one)
        ratio = min(Fraction(l), Fraction(fewest + int(l) - 1, fewest))
        promised = {"more": int(l) - 1}
    elif l.denominator == 1 and form.k <= l:
        ratio = Fraction(l)
        promised = {"l": int(l)}
    else:
        return Guarantee(promise=Fact("tp_no_guarantee"), phase=min(residue.phase, 3))
    # A suppressed tuple has at most d stars, and at least one in any solution: hence the factor d.
    stars = d * ratio
    if more_tuples:
        promise = Fact(f"cascade_phase_{_WORDS[residue.phase]}", stars=_rounded_up(stars))
    else:
        promise = Fact(f"tp_phase_{_WORDS[residue.phase]}", **promised, stars=_rounded_up(stars))
    return Guarantee(
        promise=promise, tuples_ratio=None if more_tuples else ratio, stars_ratio=stars, phase=residue.phase
    )


_WORDS = {1: "one", 2: "two", 3: "three"}


def _rounded_up(ratio: Fraction) -> float:
    """Round a ratio up to two decimals."""
    return -(-ratio.numerator * 100 // ratio.denominator) / 100
