"""Pattern-guided k-anonymity (Bredereck, Nichterlein, Niedermeier 2013): the stars of every row follow a given pattern.

References
----------
.. [1] R. Bredereck, A. Nichterlein, R. Niedermeier: Pattern-guided k-anonymity. Algorithms 6(4), 2013, pages 678-701.
   https://doi.org/10.3390/a6040678
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from fractions import Fraction
from math import comb
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal._core.validation import Boolean, OneOf, RationalIn, parameter
from shoal.algorithms.base import TIME_LIMIT, Algorithm, Capabilities, Guarantee, Partition, Problem
from shoal.algorithms.common.row_types import RowTypes
from shoal.algorithms.patterns.assignment import Assignment
from shoal.algorithms.patterns.patterns import PatternRule, Patterns, ResolvedPatterns, parse_weights
from shoal.errors import InfeasibleError
from shoal.models.requirement import Requirement
from shoal.recoding import STAR_LEVEL

_MAX_ATTRIBUTES_WITH_ALL_PATTERNS = 12
"""Largest number of quasi-identifiers for which all patterns are allowed by default."""
_MAX_DEFAULT_PATTERNS = 1 << 12
"""Largest number of patterns that are allowed by default."""
_ROUNDS = 4
"""Largest number of rounds of improvement after the greedy algorithm."""
_MAX_WORK_TO_IMPROVE = 1 << 31
"""Largest number of distinct rows times patterns for which the greedy solution is improved."""


@dataclass(frozen=True)
class PatternGuided(Algorithm):
    """k-anonymity in which every published row keeps one of the given combinations of attributes.

    Parameters
    ----------
    patterns : list of patterns, Patterns or PatternRule, optional
        Each pattern as the attributes that it keeps: names ("age, zip"), or bits in the order of the quasi-identifiers
        ("101"); or a rule. By default all patterns are allowed. If there are more than 12 quasi-identifiers, only the
        patterns with the fewest stars are allowed (up to 4,096), and the pattern that keeps nothing.
    optimal : bool, default False
        If True, search for the fewest stars with a proof, or with a bound on the gap, which takes longer.
    weights : mapping of str to number, optional
        Cost of a star in each quasi-identifier; 1 by default.
    improve : bool, default True
        If True, improve the result of the greedy algorithm. The release never gets worse.
    method : {"program", "matching", "fixed-parameter"}
        Method of the search for the optimum: the integer program, simplex matching (k = 2, Theorem 2), or enumeration
        of all choices of output row types (tiny tables, Theorem 3).
    time_limit : number, default 60
        Seconds that the search for the optimum may take, >= 0.

    Notes
    -----
    Algorithm 1 of the paper may leave fewer than k completely suppressed rows. Here the group of completely suppressed
    rows has at least k rows like every other group, because the cheapest other rows are added to it. The factor d of
    Theorem 4 still holds. With `improve`, waiting rows also form groups with rows that finished groups can spare, if
    that costs less than the next pattern.

    Examples
    --------
    >>> import polars as pl
    >>> import shoal
    >>> table = pl.DataFrame({"age": [30, 30, 47, 48], "zip": ["A", "A", "B", "B"]})
    >>> algorithm = shoal.algorithms.PatternGuided(["age, zip", "zip", ""])
    >>> shoal.anonymize(table, quasi_identifiers=["age", "zip"], k=2, algorithm=algorithm).certificate
    Certificate(algorithm='patterns', stars=2, optimal=True)
    """

    patterns: Iterable[str | Iterable[str]] | Patterns | PatternRule | None = field(
        default=None,
        metadata=parameter(
            None,
            "The combinations of attributes that a row may keep, one a line (attributes separated by commas; an empty "
            "line keeps none), or a JSON list of them.",
            flag="--patterns",
            metavar="FILE",
            read=Patterns.from_file,
        ),
    )
    optimal: bool = field(default=False, metadata=parameter(Boolean(), "Whether to prove the fewest stars."))
    weights: Mapping[str, Real | float] | None = field(
        default=None,
        metadata=parameter(
            None,
            "What a star in each quasi-identifier costs, age=2,zip=1.",
            metavar="NAME=NUMBER,...",
            read=parse_weights,
        ),
    )
    improve: bool = field(
        default=True, metadata=parameter(Boolean(), "Whether the greedy algorithm is followed by an improvement.")
    )
    method: str = field(
        default="program",
        metadata=parameter(
            OneOf(("program", "matching", "fixed-parameter")),
            "How the optimum is searched for: program, matching (k = 2) or fixed-parameter (tiny tables).",
        ),
    )
    time_limit: float = field(default=60.0, metadata=parameter(RationalIn(low=Fraction(0)), **TIME_LIMIT))
    capabilities: ClassVar[Capabilities] = Capabilities(weights=True)
    """Capabilities of the algorithm."""

    def __post_init__(self) -> None:
        super().__post_init__()
        given = self.patterns
        if isinstance(given, Mapping):
            object.__setattr__(self, "patterns", PatternRule(**given))
        elif given is not None and not isinstance(given, Patterns | PatternRule):
            object.__setattr__(self, "patterns", Patterns(given))

    @property
    def name(self) -> str:
        """Name of the algorithm in requests and certificates: `patterns-optimal` if an optimum is requested."""
        return "patterns-optimal" if self.optimal else "patterns"

    def parameters(self) -> dict[str, Any]:
        """Return the parameters as they appear in a certificate."""
        stated: dict[str, Any] = {
            "patterns": self.patterns.describe() if isinstance(self.patterns, Patterns | PatternRule) else None,
            "optimal": self.optimal,
            "weights": None if self.weights is None else {name: float(w) for name, w in self.weights.items()},
            "improve": self.improve,
        }
        if self.optimal:
            stated |= {"method": self.method, "time_limit": float(self.time_limit)}
        return stated

    def unsupported(self, requirement: Requirement) -> str | None:
        """Explain why a requirement cannot be served, in words that follow "because"."""
        form = requirement.frequency_form()
        if form is None or form.l != 1:
            return "it serves k-anonymity alone"
        return "matching is for k = 2" if self.optimal and self.method == "matching" and form.k != 2 else None

    def resolve(self, attributes: tuple[str, ...]) -> ResolvedPatterns:
        """Resolve the patterns for given quasi-identifiers.

        Raises
        ------
        ColumnError, ParameterError
            If a pattern names an unknown attribute, has a wrong length, or is listed twice.
        """
        if isinstance(self.patterns, Patterns | PatternRule):
            return self.patterns.resolve(attributes)
        return PatternRule(most_stars=_most_stars(len(attributes))).resolve(attributes)

    def group_rows(self, problem: Problem) -> Partition:
        """Find the groups; see `Algorithm.partition`.

        Raises
        ------
        InfeasibleError
            If some rows match no pattern together with k - 1 others, or if no release was found that follows the
            patterns. The `rows` of the error are the numbers of these rows.
        """
        form = problem.frequency_form
        patterns = self.resolve(problem.table.schema.quasi_identifiers)
        costs, unit = patterns.costs(self.weights)
        rows = RowTypes.of(problem.table, problem.requirement)
        # Run the greedy algorithm, with and without improvement.
        improvable = self.improve and len(rows.counts) * len(costs) <= _MAX_WORK_TO_IMPROVE
        ways = (False, True) if improvable else (False,)
        served = [Assignment(rows.codes, rows.counts, patterns.starred, costs, form.k) for _ in ways]
        for one, improve in zip(served, ways, strict=True):
            _run_greedy(one, problem, improve=improve)
        # Improvement between two costs may leave fewer rows for later patterns; the plain solution is then better.
        found = min(reversed(served), key=lambda one: (one.waiting, one.cost()))
        bound, proof = None, None
        if self.optimal:
            from shoal.algorithms.patterns.optimum import prove  # needs an extra

            found, bound, proof = prove(found, problem, method=self.method, seconds=float(self.time_limit))
        if found.waiting:
            _raise_infeasible(found, rows, patterns, form.k)
        # Assign rows to groups, and collect the facts for the certificate.
        groups, pattern = _assign_rows(found, rows, deepcopy(problem.rng))
        sizes = np.bincount(groups, minlength=len(pattern))
        used = {
            _kept_attributes(patterns, j): int(sizes[pattern == j].sum()) for j in found.order if np.any(pattern == j)
        }
        facts: dict[str, Any] = {
            "patterns": len(patterns.starred),
            "rows_by_pattern": used,
            "completely_suppressed": int(sizes[patterns.starred[pattern].all(axis=1)].sum()),
            "cost": found.cost() / unit,
        }
        if bound is not None:
            facts |= {"cost_bound": bound / unit, "gap": (found.cost() - bound) / max(found.cost(), 1)}
        return Partition(
            groups=groups,
            count=len(pattern),
            guarantee=_guarantee(found, patterns, bound, proof, weighted=self.weights is not None),
            facts=facts,
            least=np.where(patterns.starred[pattern], np.int32(STAR_LEVEL), np.int32(0)),
        )


def _most_stars(d: int) -> int | None:
    """Compute the largest number of stars of the default patterns; None if all patterns are allowed."""
    if d <= _MAX_ATTRIBUTES_WITH_ALL_PATTERNS:
        return None
    return max(
        stars for stars in range(1, d) if sum(comb(d, size) for size in range(stars + 1)) <= _MAX_DEFAULT_PATTERNS
    )


def _run_greedy(found: Assignment, problem: Problem, *, improve: bool) -> None:
    """Run Algorithm 1: in ascending order of cost, each pattern takes all projections with at least k waiting rows."""
    costs = found.costs
    levels = np.unique(costs)
    steps = len(levels) + (_ROUNDS if improve else 0)
    for step, level in enumerate(levels):
        problem.progress("patterns", step, steps)
        here = [j for j in found.order if costs[j] == level]
        for j in here:
            found.take(j)
        # Serving a waiting row now is worth the cost of the next patterns.
        if improve and step + 1 < len(levels):
            worth = np.full(len(found.codes), levels[step + 1], dtype=np.int64)
            for j in here:
                found.open_groups(j, worth)
    # Move rows to cheaper groups until nothing changes.
    if improve:
        anything = np.full(len(found.codes), 2 * int(costs.max()) + 1, dtype=np.int64)
        for round_ in range(_ROUNDS):
            problem.progress("patterns", len(levels) + round_, steps)
            if sum(found.open_groups(j, anything) for j in found.order) == 0:
                break
    found.suppress_waiting_rows()
    if improve:
        found.tighten()
    problem.progress("patterns", steps, steps)


def _assign_rows(
    found: Assignment, rows: RowTypes, rng: np.random.Generator
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Assign the rows of each type to its groups at random.

    Returns
    -------
    groups : int32 array
        Group of each row, numbered without gaps.
    patterns : int32 array
        Pattern of each group.
    """
    # Groups of the rows in the order of their types.
    used = np.bincount(found.groups, minlength=len(found.pattern)) > 0
    number = np.cumsum(used) - 1
    by_type = np.argsort(found.types, kind="stable")
    labels = np.repeat(number[found.groups[by_type]], found.counts[by_type]).astype(np.int32)
    order = rows.order.copy()
    # Shuffle the rows of types that several groups share.
    fragments = np.bincount(found.types, minlength=len(rows.counts))
    for i in np.flatnonzero(fragments > 1):
        rng.shuffle(order[rows.starts[i] : rows.starts[i + 1]])
    groups = np.empty(len(order), dtype=np.int32)
    groups[order] = labels
    return groups, found.pattern[used]


def _kept_attributes(patterns: ResolvedPatterns, j: int) -> str:
    """Format the attributes that a pattern keeps."""
    return ", ".join(
        name for name, star in zip(patterns.attributes, patterns.starred[j].tolist(), strict=True) if not star
    )


def _raise_infeasible(found: Assignment, rows: RowTypes, patterns: ResolvedPatterns, k: int) -> None:
    """Raise an error with the numbers of the rows that follow no pattern."""
    lonely = found.find_unreachable_types()
    # Rows that match no pattern with k - 1 others are the reason if there are any.
    waiting = np.unique(found.types[found.groups == 0]) if not lonely.any() else np.flatnonzero(lonely)
    numbers = np.concatenate([rows.order[rows.starts[i] : rows.starts[i + 1]] for i in waiting])
    advice = "Allow more patterns (the empty one keeps nothing and always works), or ask for a smaller k."
    if lonely.any():
        raise InfeasibleError(
            f"{len(numbers)} row(s) match no pattern together with at least {k - 1} others. {advice}",
            rows=np.sort(numbers),
        )
    raise InfeasibleError(
        f"No release that follows the {len(patterns.starred)} pattern(s) was found: {found.waiting} row(s) are left "
        f"over. There may be one: algorithm='patterns-optimal' searches further. {advice}",
        rows=np.sort(numbers),
    )


def _guarantee(
    found: Assignment, patterns: ResolvedPatterns, bound: int | None, proof: Fact | None, *, weighted: bool
) -> Guarantee:
    d = len(patterns.attributes)
    of_weights = "_weighted" if weighted else ""
    if bound is not None and bound == found.cost():
        promise = Fact(f"patterns_optimal{of_weights}", proof=proof)
    elif bound is not None:
        over = -(-10_000 * (found.cost() - bound) // max(bound, 1)) / 100  # percent, rounded up
        promise = Fact(f"patterns_gap{of_weights}", gap=over, proof=proof)
    elif weighted:
        promise = Fact("patterns_weighted")
    else:
        promise = Fact("patterns_theorem_4", d=d)
    if weighted:
        return Guarantee(promise=promise)
    return Guarantee(
        promise=promise,
        stars_ratio=_ratio(found.cost(), bound, d),
        stars_bound=bound,
        proof=None if bound is None else Fact("following_patterns", proof=proof),
    )


def _ratio(cost: int, bound: int | None, d: int) -> Fraction | int:
    """Compute an upper bound on the ratio of a cost to the optimum."""
    if bound is None or (bound == 0 and cost > 0):
        return d
    return min(Fraction(cost, bound), Fraction(d)) if bound > 0 else 1
