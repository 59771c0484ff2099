"""Pattern-guided k-anonymity (Bredereck, Nichterlein, Niedermeier 2013): every row's stars follow a given pattern.

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
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shoal._core.facts import Fact
from shoal._core.validation import Boolean, OneOf, RationalIn, parameter
from shoal.algorithms.base import TIME_LIMIT, Algorithm, Capabilities, Guarantee, Partition
from shoal.algorithms.common.row_types import RowTypes
from shoal.algorithms.patterns.assignment import Assignment
from shoal.algorithms.patterns.patterns import PatternRule, Patterns, ResolvedPatterns, weights_in
from shoal.errors import InfeasibleError
from shoal.recoding import STAR_LEVEL

if TYPE_CHECKING:
    from numbers import Real

    from numpy.typing import NDArray

    from shoal.algorithms.base import Problem
    from shoal.models import Requirement

__all__ = ["PatternGuided"]

_EVERY_PATTERN = 12
_MANY_PATTERNS = 1 << 12
_ROUNDS = 4
_IMPROVED_WORK = 1 << 31
"""Distinct rows times patterns up to which the greedy choice is improved."""


@dataclass(frozen=True)
class PatternGuided(Algorithm):
    """k-anonymity in which every published row keeps one of the given combinations of attributes.

    Parameters
    ----------
    patterns : list of patterns, Patterns or PatternRule, optional
        Each pattern as the attributes that are kept: names ("age, zip"), or bits in the order of the quasi-identifiers
        ("101"); or a rule. By default every pattern is allowed (with more than 12 quasi-identifiers those of
        few stars, up to 4,096, and the one that keeps nothing).
    optimal : bool, default False
        Whether to prove the fewest stars, or how close the release is, rather than be quick.
    weights : mapping of str to number, optional
        What a star in each quasi-identifier costs; 1 by default.
    improve : bool, default True
        Whether the greedy algorithm is followed by an improvement. It never makes the release worse.
    method : {"program", "matching", "fixed-parameter"}
        How the optimum is searched for: by the integer program; by simplex matching (k = 2, Theorem 2); or over all
        choices of output row types (Theorem 3, tiny tables).
    time_limit : number, default 60
        Seconds that the search for the optimum may take, >= 0.

    Notes
    -----
    The paper's Algorithm 1 leaves fewer than k rows completely suppressed, if it comes to that. Here the group of
    completely suppressed rows has at least k rows like every other: it is filled with rows that cost least. The factor
    d of Theorem 4 holds all the same. Between the costs, rows that wait are completed with rows that finished groups
    can spare, as long as that costs less than the next pattern would (`improve`).
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
            None, "What a star in each quasi-identifier costs, age=2,zip=1.", metavar="NAME=NUMBER,...", read=weights_in
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
    """What it can do."""

    def __post_init__(self) -> None:
        super().__post_init__()
        given = self.patterns
        if isinstance(given, Mapping):
            object.__setattr__(self, "patterns", PatternRule(**given))
        elif given is not None and not isinstance(given, Patterns | PatternRule):
            object.__setattr__(self, "patterns", Patterns(given))

    @property
    def name(self) -> str:
        """The name that users and certificates call it by."""
        return "patterns-optimal" if self.optimal else "patterns"

    def parameters(self) -> dict[str, Any]:
        """Return the parameters as they appear in a certificate."""
        said: dict[str, Any] = {
            "patterns": self.patterns.describe() if isinstance(self.patterns, Patterns | PatternRule) else None,
            "optimal": self.optimal,
            "weights": None if self.weights is None else {name: float(w) for name, w in self.weights.items()},
            "improve": self.improve,
        }
        if self.optimal:
            said |= {"method": self.method, "time_limit": float(self.time_limit)}
        return said

    def unsupported(self, requirement: Requirement) -> str | None:
        """Explain why a requirement cannot be served, in words that follow "because"."""
        form = requirement.frequency_form()
        if form is None or form.l != 1:
            return "it serves k-anonymity alone"
        return "matching is for k = 2" if self.optimal and self.method == "matching" and form.k != 2 else None

    def resolve(self, attributes: tuple[str, ...]) -> ResolvedPatterns:
        """Return the patterns over some quasi-identifiers.

        Raises
        ------
        ColumnError, ParameterError
            Where a pattern names something else, has another length, or is there twice.
        """
        if isinstance(self.patterns, Patterns | PatternRule):
            return self.patterns.resolve(attributes)
        return PatternRule(most_stars=_most_stars(len(attributes))).resolve(attributes)

    def group_rows(self, problem: Problem) -> Partition:
        """Find the groups; see `Algorithm.partition`.

        Raises
        ------
        InfeasibleError
            Where some rows fit no pattern together with k - 1 others, or no release was found that follows the
            patterns. The error's `rows` are the numbers of such rows.
        """
        form = problem.frequency_form
        patterns = self.resolve(problem.table.schema.quasi_identifiers)
        costs, unit = patterns.costs(self.weights)
        rows = RowTypes.of(problem.table, problem.requirement)
        improvable = self.improve and len(rows.counts) * len(costs) <= _IMPROVED_WORK
        ways = (False, True) if improvable else (False,)
        served = [Assignment(rows.codes, rows.counts, patterns.starred, costs, form.k) for _ in ways]
        for one, improve in zip(served, ways, strict=True):
            _serve(one, problem, improve=improve)
        # What is shared out between two costs may leave less for later ones: then the plain choice stays.
        found = min(reversed(served), key=lambda one: (one.waiting, one.cost()))
        bound, proof = None, None
        if self.optimal:
            from shoal.algorithms.patterns.optimum import prove  # what it needs is an extra

            found, bound, proof = prove(found, problem, method=self.method, seconds=float(self.time_limit))
        if found.waiting:
            _refuse(found, rows, patterns, form.k)
        groups, pattern = _rows_of(found, rows, deepcopy(problem.rng))
        sizes = np.bincount(groups, minlength=len(pattern))
        used = {_spoken(patterns, j): int(sizes[pattern == j].sum()) for j in found.order if np.any(pattern == j)}
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
    """Return how many stars the patterns have at most that are tried by default: as many as a few thousand allow."""
    if d <= _EVERY_PATTERN:
        return None
    return max(stars for stars in range(1, d) if sum(comb(d, size) for size in range(stars + 1)) <= _MANY_PATTERNS)


def _serve(found: Assignment, problem: Problem, *, improve: bool) -> None:
    """Algorithm 1: the patterns in the order of their cost, each takes every projection with k rows that wait."""
    costs = found.costs
    levels = np.unique(costs)
    steps = len(levels) + (_ROUNDS if improve else 0)
    for step, level in enumerate(levels):
        problem.progress("patterns", step, steps)
        here = [j for j in found.order if costs[j] == level]
        for j in here:
            found.take(j)
        if improve and step + 1 < len(levels):
            worth = np.full(len(found.codes), levels[step + 1], dtype=np.int64)
            for j in here:
                found.found(j, worth)
    if improve:
        anything = np.full(len(found.codes), 2 * int(costs.max()) + 1, dtype=np.int64)
        for round_ in range(_ROUNDS):
            problem.progress("patterns", len(levels) + round_, steps)
            if sum(found.found(j, anything) for j in found.order) + found.dissolve() == 0:
                break
    found.suppress_the_rest()
    if improve:
        found.tighten()
    problem.progress("patterns", steps, steps)


def _rows_of(
    found: Assignment, rows: RowTypes, rng: np.random.Generator
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the group of each row, groups numbered without gaps, and the pattern of each group.

    Which rows of a type go to which of its groups is left to chance.
    """
    used = np.bincount(found.groups, minlength=len(found.pattern)) > 0
    number = np.cumsum(used) - 1
    by_type = np.argsort(found.types, kind="stable")
    labels = np.repeat(number[found.groups[by_type]], found.counts[by_type]).astype(np.int32)
    order = rows.order.copy()
    pieces = np.bincount(found.types, minlength=len(rows.counts))
    for i in np.flatnonzero(pieces > 1):
        rng.shuffle(order[rows.starts[i] : rows.starts[i + 1]])
    groups = np.empty(len(order), dtype=np.int32)
    groups[order] = labels
    return groups, found.pattern[used]


def _spoken(patterns: ResolvedPatterns, j: int) -> str:
    """Return the attributes that a pattern keeps."""
    return ", ".join(
        name for name, star in zip(patterns.attributes, patterns.starred[j].tolist(), strict=True) if not star
    )


def _refuse(found: Assignment, rows: RowTypes, patterns: ResolvedPatterns, k: int) -> None:
    """Raise the error that says which rows follow no pattern."""
    lonely = found.unreachable()
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
        over = -(-10_000 * (found.cost() - bound) // max(bound, 1)) / 100  # rounded up
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
    """Return by which factor a cost exceeds the fewest stars at most."""
    if bound is None or (bound == 0 and cost > 0):
        return d
    return min(Fraction(cost, bound), Fraction(d)) if bound > 0 else 1
