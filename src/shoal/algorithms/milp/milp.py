"""Integer program: the fewest stars under models that are linear in a group's counts, for tables of few combinations.

References
----------
.. [1] H. Liang, H. Yuan: On the complexity of t-closeness anonymization and related problems. DASFAA 2013, LNCS 7825,
   pages 331-345. https://doi.org/10.1007/978-3-642-37487-6_26
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal._core.validation import RationalIn, parameter
from shoal.algorithms.base import TIME_LIMIT, Algorithm, Capabilities, Guarantee, Partition, Problem
from shoal.algorithms.bounds.stars import lower_bound
from shoal.algorithms.cluster import Cluster
from shoal.algorithms.common.compiled import populations_of
from shoal.algorithms.common.row_types import RowTypes, counted_groups, one_value
from shoal.algorithms.hilbert.hilbert import Hilbert
from shoal.algorithms.m_approximation import MApproximation
from shoal.algorithms.milp.program import GeneralizationProgram, LinearCondition
from shoal.algorithms.mondrian.mondrian import Mondrian
from shoal.algorithms.sabre import Sabre
from shoal.algorithms.tp.three_phase import ThreePhase
from shoal.errors import UnsupportedError
from shoal.models.linear import LinearForm
from shoal.models.requirement import Requirement
from shoal.solver.highs import Solution, solve

_STARTS: tuple[Algorithm, ...] = (
    ThreePhase(),
    MApproximation(),
    Hilbert(),
    Mondrian(),
    Mondrian(relaxed=True),
    Sabre(),
    Cluster(),
)
"""Algorithms that provide a start of the program; its result never has more stars than the best of them."""
_MAX_ENTRIES = 400_000
"""Largest number of entries of the program (pairs of a vector and a row type)."""


@dataclass(frozen=True)
class GeneralizationVectors(Algorithm):
    """Integer program over generalization vectors: Theorem 9 of Liang and Yuan, for all linear models.

    Parameters
    ----------
    time_limit : float, default 60
        Seconds for the solver, > 0. After this time, or after Ctrl-C, the best partition so far is returned with the
        bound that was proven by then. It is never worse than the partition of the best heuristic for the request.
    gap : float, default 0
        Stop as soon as no release can have fewer stars by more than this share of them, from 0 to 1.

    Notes
    -----
    * The paper's transport variables are used for metrics only. Each model provides its own inequalities (such as
      positive parts for the equal distance, flows between adjacent ranks for the ordered distance, and indicators of
      values for distinct l-diversity), and the program requires all of them.
    * The program contains only vectors that a group can publish: if a vector stars an attribute, the rows that it
      generalizes differ in it.
    * If there is one sensitive attribute, only the numbers of rows by vector and sensitive value are integer variables.
      The rows of each type then form a transportation problem, which has an integral solution.
    * The solver computes in floating point. The models therefore check its partition exactly. Its bound is rounded up
      to an integer after a margin of one millionth is subtracted.

    Examples
    --------
    >>> import polars as pl
    >>> import shoal
    >>> table = pl.DataFrame({"age": [30, 30, 47, 48], "zip": ["A", "A", "B", "B"]})
    >>> release = shoal.anonymize(
    ...     table, quasi_identifiers=["age", "zip"], k=2, algorithm=shoal.algorithms.GeneralizationVectors()
    ... )
    >>> release.certificate
    Certificate(algorithm='milp', stars=2, optimal=True)
    """

    time_limit: Real | float = field(
        default=60, metadata=parameter(RationalIn(low=Fraction(0), low_included=False), **TIME_LIMIT)
    )
    gap: Real | float = field(
        default=0,
        metadata=parameter(
            RationalIn(low=Fraction(0), high=Fraction(1)),
            "Stop as soon as no release can have fewer stars by more than this share of them.",
        ),
    )
    capabilities: ClassVar[Capabilities] = Capabilities(sums_columns=True)
    """Capabilities of the algorithm."""

    name: ClassVar[str] = "milp"
    """Name of the algorithm in requests and certificates."""

    def parameters(self) -> dict[str, Any]:
        """Return the parameters as they appear in a certificate."""
        return {"time_limit": float(self.time_limit), "gap": float(self.gap)}

    def unsupported(self, requirement: Requirement) -> str | None:
        """Explain why a requirement cannot be served, in words that follow "because"."""
        for model in requirement.group_models if requirement.monotone else ():
            if not model.is_linear:
                return f"it serves models that are linear inequalities on a group's counts, and {model.words} is not"
        return super().unsupported(requirement)

    def group_rows(self, problem: Problem) -> Partition:
        """Find the groups; see `Algorithm.partition`.

        Raises
        ------
        UnsupportedError
            If the program is too large. The error is raised before the search, with the size of the program.
        """
        types = RowTypes.of(problem.table, problem.requirement)
        _check_size(types)
        # The program is not needed if a heuristic reaches the lower bound.
        best = _best_heuristic(problem, types)
        bound = lower_bound(problem.table, problem.requirement, target=best.stars)
        if bound.stars >= best.stars:
            problem.progress(self.name, 1, 1)
            return _to_partition(types, best, bound.stars, bound.why, None, {})
        # Solve from the best heuristic's partition; keep the program's if it has fewer stars.
        program = _build_program(problem, types)
        start = program.start(best.shares, best.starred)
        solution = solve(
            program.program,
            time_limit=float(self.time_limit),
            gap=float(self.gap),
            start=start,
            keep_interrupted=True,
            step=self.name,
            progress=problem.progress,
        )
        # The solver's partition counts only if the models accept it exactly.
        if math.isfinite(solution.bound):
            bound = bound.sharpened(int(solution.bound), Fact("milp_program"))
        if solution.values is not None:
            found = _Release.of(types, program.shares(solution.values), "the program")
            if found.stars < best.stars and _is_acceptable(problem, types, found.shares):
                best = found
        problem.progress(self.name, 1, 1)
        details = {
            "distinct_rows": len(types.codes),
            "vectors": len(program.vectors.starred),
            "variables": len(program.program.costs),
            "inequalities": len(program.program.rows),
            "solver_seconds": round(solution.seconds, 3),
        }
        return _to_partition(types, best, min(bound.stars, best.stars), bound.why, solution, details)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Release:
    """A partition, given by the rows of each type in each group."""

    shares: NDArray[np.int64]
    """Number of rows of each type in each group, shape (groups, types)."""
    starred: NDArray[np.bool_]
    """Attributes that each group stars, shape (groups, d)."""
    stars: int
    """Number of stars."""
    origin: str
    """Name of the algorithm that found the partition."""

    @classmethod
    def of(cls, types: RowTypes, shares: NDArray[np.int64], origin: str) -> _Release:
        """Count the stars of a partition: each group stars the attributes in which its rows differ."""
        starred = np.empty((len(shares), types.codes.shape[1]), dtype=np.bool_)
        for group, rows in enumerate(shares):
            codes = types.codes[rows > 0]
            starred[group] = (codes != codes[:1]).any(axis=0)
        stars = int((starred.sum(axis=1) * shares.sum(axis=1)).sum())
        return cls(shares=shares, starred=starred, stars=stars, origin=origin)


def _best_heuristic(problem: Problem, types: RowTypes) -> _Release:
    """Find the partition with the fewest stars among those of the heuristics that serve the requirement."""
    # The type of each row, to count the rows by group and type.
    number = np.empty(problem.table.rows, dtype=np.int64)
    number[types.order] = np.repeat(np.arange(len(types.codes)), types.counts)
    # Every heuristic that serves the requirement is tried.
    found = []
    for algorithm in _STARTS:
        if algorithm.unsupported(problem.requirement) is None:
            partition = algorithm.partition(problem)
            keys = partition.groups.astype(np.int64) * len(types.codes) + number
            shares = np.bincount(keys, minlength=partition.count * len(types.codes))
            found.append(_Release.of(types, shares.reshape(partition.count, -1), f"'{algorithm.name}'"))
    return min(found, key=lambda release: release.stars)


def _check_size(types: RowTypes) -> None:
    """Refuse tables whose program would be too large to solve."""
    classes = len(np.unique(types.codes, axis=0)) if len(types.codes) <= _MAX_ENTRIES else len(types.codes)
    d = types.codes.shape[1]
    # Each type is generalized by at most 2**d vectors.
    entries = len(types.codes) * 2**d
    if entries > _MAX_ENTRIES:
        raise UnsupportedError(
            f"The algorithm 'milp' cannot serve this table: with {classes} different combinations of {d} "
            f"quasi-identifiers its program would have up to {entries:.1e} variables, and it stops at "
            f"{_MAX_ENTRIES:.1e}. Coarsen quasi-identifiers so that fewer combinations are left, or take an algorithm "
            "for large tables."
        )


def _build_program(problem: Problem, types: RowTypes) -> GeneralizationProgram:
    """Build the integer program of a table and its requirement."""
    tables = populations_of(problem.table)
    # The linear conditions of all models, for each sensitive attribute.
    conditions = []
    places = {position: place for place, position in enumerate(types.attributes)}
    for position, form in problem.requirement.linear_forms(tables):
        if form.rows:
            conditions.append(
                _to_condition(form, places.get(position, 0), len(tables[position].totals), by_value=bool(places))
            )
    # Without a sensitive attribute, all rows have the same value.
    values = types.values if places else np.zeros((len(types.codes), 1), dtype=np.int32)
    return GeneralizationProgram(codes=types.codes, values=values, counts=types.counts, conditions=conditions)


def _to_condition(form: LinearForm, attribute: int, values: int, *, by_value: bool) -> LinearCondition:
    """Convert the inequalities of a model to a matrix; without `by_value`, all rows count as having one value."""
    width = values if by_value else 1
    matrix = np.zeros((len(form.rows), width + 1 + form.auxiliaries))
    for place, row in enumerate(form.rows):
        for variable, coefficient in row.coefficients.items():
            matrix[place, variable - values + width] = float(coefficient)
    return LinearCondition(
        attribute=attribute,
        values=width,
        matrix=matrix,
        constant=np.array([row.constant for row in form.rows], dtype=np.float64),
        equal=np.array([row.equal for row in form.rows], dtype=np.bool_),
        binary=form.binary,
    )


def _is_acceptable(problem: Problem, types: RowTypes, shares: NDArray[np.int64]) -> bool:
    """Test exactly that the shares are a partition of the rows and that all models accept its groups."""
    if not np.array_equal(shares.sum(axis=0), types.counts) or shares.min(initial=0) < 0:
        return False
    # The models count group sizes, and the sensitive values of each group by attribute.
    tables = populations_of(problem.table)
    sizes = counted_groups(shares.sum(axis=1)[:, np.newaxis], one_value(tables[0]))
    for model in problem.requirement.group_models:
        if not model.needs_sensitive and not model.acceptable(sizes).all():
            return False
        asked = problem.requirement.positions_of(model) if model.needs_sensitive else ()
        for place, position in enumerate(types.attributes):
            if position not in asked:
                continue
            one_hot = np.eye(len(tables[position].totals), dtype=np.int64)[types.values[:, place]]
            if not model.acceptable(counted_groups(shares @ one_hot, tables[position])).all():
                return False
    return True


def _to_partition(
    types: RowTypes, release: _Release, proven: int, why: Fact, solution: Solution | None, details: dict[str, Any]
) -> Partition:
    """Convert a release to a partition with its guarantee."""
    # The guarantee states an optimum, or the gap and what ended the search.
    if release.stars <= proven:
        promise = Fact("proven_optimal")
    else:
        assert solution is not None
        # An error of the solver counts as a limit of its work.
        ends = {"time-limit": "milp_time_limit", "interrupted": "milp_interrupted", "work-limit": "milp_interrupted"}
        ended = ends.get(solution.status, "milp_gap")
        most = math.ceil(1000 * (release.stars - proven) / release.stars) / 10
        promise = Fact(ended, least=proven, gap=most)
    return Partition(
        groups=types.groups(list(release.shares)),
        count=len(release.shares),
        guarantee=Guarantee(
            promise=promise,
            stars_ratio=Fraction(release.stars, proven) if proven else (1 if release.stars == 0 else None),
            stars_bound=proven,
            proof=why,
        ),
        details={"status": "optimal" if solution is None else solution.status, "found_by": release.origin, **details},
    )
