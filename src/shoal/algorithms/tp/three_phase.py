"""TP and TP+: l-diversity by suppression with an approximation guarantee (Xiao, Yi, Tao 2010).

References
----------
.. [1] X. Xiao, K. Yi, Y. Tao: The hardness and approximation algorithms for l-diversity. EDBT 2010, pages 135-146.
   https://doi.org/10.1145/1739041.1739060
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shoal._validation import Integer, OneOf, Optional, parameter, validate_declared
from shoal.algorithms.base import Guarantee, Partition
from shoal.algorithms.hilbert.hilbert import hilbert_groups
from shoal.algorithms.tp.cascade import MOST_ATTRIBUTES, split_rows, starred_attributes
from shoal.algorithms.tp.pattern_orders import best_cascade
from shoal.algorithms.tp.residue import complete_residue
from shoal.algorithms.tp.three_phase_kernel import phase_one

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.algorithms.base import Problem
    from shoal.models import FrequencyForm, Requirement

__all__ = ["Residue", "ThreePhase", "three_phases"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Residue:
    """What TP moved: for each cell of the table's classes, the rows that stay and the phase that ended it."""

    keep: NDArray[np.int32]
    """Rows of each cell that stay in their class."""
    keep_one: NDArray[np.int32]
    """Rows of each cell that phase one alone would let stay."""
    size: int
    """Rows moved to the residue R."""
    size_one: int
    """Rows that phase one alone moves: |R1|."""
    height_one: int
    """Pillar height of the residue after phase one: h(R1)."""
    phase: int
    """The phase that ended it; 4 where whole classes had to be dissolved, which the paper's requirement never needs."""


@dataclass(frozen=True)
class ThreePhase:
    """TP, and TP+ which partitions TP's residue further.

    Parameters
    ----------
    refine : {"cascade", "hilbert", None}, default "cascade"
        None publishes the residue as one group (TP). "hilbert" partitions it with Hilbert, its coordinates the codes as
        they are: the TP+ of the paper. "cascade" repeats phase one on all but one attribute, all but two, and so on,
        which leaves far fewer stars.
    orders : int, default 0
        Orders of the patterns of stars that the cascade tries beyond its own, from 0 to 1,000,000: a search that keeps
        what leaves fewer stars. Each takes as long as the cascade.

    Notes
    -----
    Serves "at most one in l rows of a group share a sensitive value, and a group has at least k rows" for any rational
    l >= 1; the paper's requirement is an integer l and k <= l. Beyond it (k above l, or a fractional l) phases two and
    three respect k, and dissolve whole classes in the end if they must; the guarantee then is that of phase one alone.
    Beyond 63 quasi-identifiers "cascade" stands for "hilbert".
    The order in which the paper leaves choices open: values with equal counts by their code, groups by their position.
    """

    divisible: ClassVar[bool] = True
    """Parts of a table may be solved one after another, where it does not fit into memory."""
    bytes_per_row: ClassVar[int] = 40
    """Memory that a row takes meanwhile, in bytes, > 0."""
    bytes_per_code: ClassVar[int] = 5
    """Memory that it takes for each quasi-identifier beside, in bytes, >= 0."""

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

    def __post_init__(self) -> None:
        validate_declared("tp+", self)

    @property
    def name(self) -> str:
        """`tp` without a refinement, `tp+` with one."""
        return "tp" if self.refine is None else "tp+"

    def parameters(self) -> dict[str, Any]:
        """Return the parameters as they appear in a certificate."""
        return {"refine": self.refine} | ({"orders": self.orders} if self.refine == "cascade" else {})

    def unsupported(self, requirement: Requirement) -> str | None:
        """Return why a requirement cannot be served, in words that follow "because"."""
        if requirement.frequency_form() is None:
            return "it serves k-anonymity, l-diversity by frequency and (alpha, k)-anonymity on one sensitive attribute"
        return None

    def partition(self, problem: Problem) -> Partition:
        """Partition the rows; see `Algorithm.partition`."""
        form = problem.requirement.frequency_form()
        assert form is not None
        form = form.within(problem.table.rows)
        problem.progress(self.name, 0, 1)
        residue = three_phases(problem, form)
        details: dict[str, Any] = {
            "classes": problem.table.classes.count,
            "residue_after_phase_one": residue.size_one,
            "residue": residue.size,
            "phase": residue.phase,
        }
        groups, suppressed = None, residue.size
        refine = self.refine
        if refine == "cascade" and len(problem.table.quasi_identifiers) > MOST_ATTRIBUTES:
            refine = "hilbert"
        if refine == "cascade" and residue.size:
            groups, suppressed = _refine_by_cascade(problem, form, residue, self.orders, details)
        if groups is None:
            groups, rows = split_rows(problem.table.classes, residue.keep)
            if len(rows):
                first = groups.max() + np.int32(1)
                groups[rows] = first if refine is None else hilbert_groups(problem, rows, stretch=False) + first
        problem.progress(self.name, 1, 1)
        count = int(groups.max()) + 1
        guarantee = _guarantee(problem, form, residue, more_tuples=suppressed > residue.size)
        return Partition(groups=groups, count=count, guarantee=guarantee, details=details)


def _refine_by_cascade(
    problem: Problem, form: FrequencyForm, residue: Residue, orders: int, details: dict[str, Any]
) -> tuple[NDArray[np.int32] | None, int]:
    """Run the cascade from the end of phase one; return the groups and how many rows they suppress.

    There are none, and TP's own rows, where the cascade would leave more stars than TP itself.
    """
    table = problem.table
    cascade, groups = best_cascade(problem, form, residue.keep_one, orders)
    details["rows_by_stars"] = cascade.rows_by_stars()
    rows = split_rows(table.classes, residue.keep if residue.phase > 1 else residue.keep_one)[1]
    if cascade.stars() <= residue.size * starred_attributes(table, rows):
        return groups, cascade.suppressed_tuples()
    return None, residue.size


def three_phases(problem: Problem, form: FrequencyForm) -> Residue:
    """Run the three phases on the cells of the table's classes."""
    classes = problem.table.classes
    counts, starts = classes.cell_counts, classes.class_starts
    m = max(problem.table.sensitive[0].size, 1) if problem.table.sensitive else 1
    values = classes.cell_values
    num, den = form.l.numerator, form.l.denominator
    moved = np.zeros(m, dtype=np.int64)
    keep = phase_one(counts, values, starts, num, den, form.k, moved)
    size_one, height_one = int(moved.sum()), int(moved.max(initial=0))

    keep_one = keep.copy()
    phase = complete_residue(keep, values, starts, form, moved)
    return Residue(
        keep=keep, keep_one=keep_one, size=int(moved.sum()), size_one=size_one, height_one=height_one, phase=phase
    )


def _guarantee(problem: Problem, form: FrequencyForm, residue: Residue, *, more_tuples: bool) -> Guarantee:
    """State what the phase that ended TP proves, of TP's own suppressed tuples or of a refinement's stars.

    The cascade may suppress more tuples than TP (`more_tuples`); it keeps TP's bound on stars, for it never leaves more
    of them.
    """
    d = len(problem.table.quasi_identifiers)
    l = form.l
    if residue.size == 0:
        return Guarantee(
            text="No cell is suppressed: the table met the requirement as it was.",
            tuples_ratio=1,
            stars_ratio=1,
            phase=1,
        )
    if residue.phase == 1:
        ratio = Fraction(1)
        text = "Phase one ended TP: no release with this requirement suppresses fewer tuples"
    elif l.denominator == 1 and form.k <= l and residue.phase == 2:
        fewest = max(residue.size_one, int(l) * residue.height_one)
        ratio = min(Fraction(l), Fraction(fewest + int(l) - 1, fewest))
        text = f"Phase two ended TP: at most l - 1 = {int(l) - 1} suppressed tuples more than the fewest possible"
    elif l.denominator == 1 and form.k <= l:
        ratio = Fraction(l)
        text = f"Phase three ended TP: at most l = {int(l)} times the fewest suppressed tuples possible"
    else:
        text = (
            "No approximation is guaranteed for this requirement (k above l, or a fractional l); see the lower bound."
        )
        return Guarantee(text=text, phase=min(residue.phase, 3))
    stars = d * ratio
    if more_tuples:
        text = (
            f"At most {_decimal(stars)} times the fewest stars possible: phase {_WORDS[residue.phase]} ended TP, and "
            "the cascade leaves no more stars than TP."
        )
    else:
        text += f", and at most {_decimal(stars)} times the fewest stars."
    return Guarantee(text=text, tuples_ratio=None if more_tuples else ratio, stars_ratio=stars, phase=residue.phase)


_WORDS = {1: "one", 2: "two", 3: "three"}


def _decimal(ratio: Fraction) -> str:
    """Return a ratio with at most two decimals, rounded up."""
    return f"{-(-ratio.numerator * 100 // ratio.denominator) / 100:g}"
