"""What enters an algorithm and what leaves it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shoal._core.facts import Fact
from shoal._core.progress import Progress, silent
from shoal._core.validation import parameters_of, validate_declared
from shoal.algorithms.preferences import NO_PREFERENCES, Preferences
from shoal.errors import InternalError
from shoal.recoding import LARGEST_SET, Levels

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from shoal.hierarchy import Hierarchy
    from shoal.models import FrequencyForm, Requirement
    from shoal.table import Table

__all__ = [
    "NOTHING_TO_CHANGE",
    "TIME_LIMIT",
    "UNTOUCHED",
    "Algorithm",
    "Capabilities",
    "Guarantee",
    "Partition",
    "PeopleOfNodes",
    "Problem",
]

TIME_LIMIT: Any = {
    "help": "Seconds to search for a proven optimum; then the best so far is published with its gap.",
    "flag": "--time-limit",
    "metavar": "SECONDS",
}
"""How algorithms that prove an optimum declare their `time_limit`; see `shoal._core.validation.parameter`."""
UNTOUCHED = Fact("untouched")
"""The guarantee of a partition that loses nothing."""
NOTHING_TO_CHANGE = Fact("all_can_stay")
"""The proof of a lower bound of 0."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class PeopleOfNodes:
    """The people of a population, each different one once, and which node of each level they fit."""

    counts: NDArray[np.int64]
    """How many people each of them is, shape (p,)."""
    codes: NDArray[np.int32]
    """The value of each of them on each quasi-identifier, shape (p, d)."""
    nodes: tuple[NDArray[np.int32], ...]
    """For each quasi-identifier the node, as in `Levels.nodes`, that each value fits at each level, shape (height + 1,
    values); -1 where it fits none that the table has."""

    @property
    def everybody(self) -> int:
        """People of the population."""
        return int(self.counts.sum())

    def __repr__(self) -> str:
        return f"PeopleOfNodes(people={self.everybody}, different={len(self.counts)})"


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A table and what its release must satisfy. It was checked to be feasible."""

    table: Table
    requirement: Requirement
    rng: np.random.Generator
    """Source of every random choice, seeded by the caller (from the operating system unless a seed was asked for)."""
    progress: Progress = silent
    recoding: str = "suppression"
    """How the partition will be recoded, for algorithms that minimize what that loses."""
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    """Quasi-identifiers that will be recoded to nodes of a tree."""
    largest_set: int = LARGEST_SET
    """Sets of more values will be stars."""
    people: PeopleOfNodes | None = None
    """The population that models of the release ask about; None where none does."""
    preferences: Preferences = NO_PREFERENCES
    """Weights of attributes and limits of their levels, for algorithms that serve them."""

    @property
    def frequency_form(self) -> FrequencyForm:
        """The requirement as a bound on frequencies, for algorithms that serve no other."""
        form = self.requirement.frequency_form()
        if form is None:
            raise InternalError("an algorithm got a requirement that it does not support")
        return form

    @cached_property
    def levels(self) -> tuple[Levels, ...]:
        """The levels of each quasi-identifier: those of its hierarchy, or a value and a star."""
        return tuple(Levels.of(column, self.hierarchies.get(column.name)) for column in self.table.quasi_identifiers)


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """What an algorithm promises about the cost of the partition that it returned, for this very run."""

    promise: Fact
    """What it is."""
    tuples_ratio: Fraction | int | None = None
    """Suppressed tuples are at most this many times the fewest possible; None where nothing is promised."""
    stars_ratio: Fraction | int | None = None
    """Stars are at most this many times the fewest possible; None where nothing is promised."""
    phase: int | None = None
    """The phase of TP that ended the run, where there is one."""
    stars_bound: int | None = None
    """Stars (recoded cells) that this run proved every release to have at least; None where it proved nothing."""
    proof: Fact | None = None
    """How `stars_bound` was proven; needed with it."""
    loss_bound: float | None = None
    """The global certainty penalty that this run proved every release to have at least, from 0 to 1; None where it
    proved nothing."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Partition:
    """A group number for every row."""

    groups: NDArray[np.int32]
    """Group of each row, 0 <= group < count; every group occurs."""
    count: int
    """Number of groups."""
    guarantee: Guarantee
    details: dict[str, Any] = field(default_factory=dict)
    """What a researcher wants to know of the run: counts and names, never a cell."""
    facts: dict[str, Any] = field(default_factory=dict)
    """What the certificate tells of the run beyond the guarantee: counts and names that are meant for its readers."""
    least: NDArray[np.int32] | None = None
    """The least level of its hierarchy at which a group publishes each attribute, even where its rows agree on less,
    shape (count, quasi-identifiers); 0 asks nothing, `STAR_LEVEL` for a star. None where nothing is asked."""

    @classmethod
    def of(cls, groups: NDArray[np.int32], guarantee: Guarantee, **more: Any) -> Partition:
        """Make a partition of at least one row, and count its groups."""
        return cls(groups=groups, count=int(groups.max()) + 1, guarantee=guarantee, **more)

    def check(self, rows: int, attributes: int) -> None:
        """Check what compiled code relies on: an algorithm may be the caller's own.

        Parameters
        ----------
        rows, attributes : int
            Of the table.

        Raises
        ------
        InternalError
            Where it is no partition of the table.
        """
        groups = self.groups
        if groups.shape != (rows,) or not np.issubdtype(groups.dtype, np.integer):
            raise InternalError("an algorithm returned something else than one group number for each row")
        if groups.min() < 0 or groups.max() >= self.count or not np.bincount(groups, minlength=self.count).all():
            raise InternalError("an algorithm returned group numbers that are not 0, 1, ... without a gap")
        if self.least is not None and self.least.shape != (self.count, attributes):
            raise InternalError("an algorithm returned something else than a least level for each group and attribute")

    def __repr__(self) -> str:
        return f"Partition(rows={len(self.groups)}, groups={self.count})"


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """What an algorithm can do, as `choose`, the engines and `tune` need to know it. By default it can do least."""

    hierarchical: bool = False
    """It climbs hierarchies: under generalization every quasi-identifier has one, built automatically if none is
    given."""
    judges_releases: bool = False
    """It decides about all groups together, and serves models of the whole release (`Requirement.release_rules`)."""
    weights: bool = False
    """It minimizes a loss in which attributes can have weights (`Problem.preferences`, or a parameter `weights` of its
    own); `Algorithm.refused_weights` explains for which parameters it has none."""
    limits: bool = False
    """It publishes attributes at the levels that `Problem.preferences` allow."""
    makes_ends: bool = True
    """The ends of intervals and the members of sets are of the table's own values, if no hierarchy has them."""
    reason: str = "requested"
    """The code of the reason that certificates state for it, if it is requested as such."""
    divisible: bool = False
    """Its groups depend on the rows near them only: parts of a table that does not fit into memory may be solved one
    after another."""
    bytes_per_row: int = 150
    """Bytes that a row takes while the algorithm works on it, > 0."""
    bytes_per_code: int = 0
    """Bytes that a row takes in addition for each of its quasi-identifiers, >= 0."""
    stand_in: Algorithm | None = None
    """A quick algorithm that serves the same requirements: its losses show which of many coarsenings are worth a long
    search. None for an algorithm that is quick itself."""

    def bytes_of_row(self, attributes: int) -> int:
        """Compute the bytes that a row with so many quasi-identifiers takes while the algorithm works on it."""
        return self.bytes_per_row + attributes * self.bytes_per_code


class Algorithm(ABC):
    """A published algorithm that partitions a table.

    A subclass has a `name` and one method, `group_rows`; `unsupported` if it serves less than all monotone models, and
    `capabilities` if it can do more than partition a table in memory. If it is a dataclass whose fields are declared
    with `shoal._core.validation.parameter`, they are validated and appear in certificates and on the command line.
    """

    capabilities: ClassVar[Capabilities] = Capabilities()
    """What it can do."""

    def __post_init__(self) -> None:
        validate_declared(self.name, self)

    @property
    @abstractmethod
    def name(self) -> str:
        """The name that users and certificates call it by; it may depend on the parameters (`tp`, `tp+`)."""

    def parameters(self) -> dict[str, Any]:
        """Return the parameters as they appear in a certificate."""
        return {name: getattr(self, name) for name in parameters_of(self)}

    def unsupported(self, requirement: Requirement) -> str | None:
        """Explain why the algorithm cannot serve a requirement, in words that follow "because"; None if it can."""
        if requirement.monotone:
            return None
        return "it serves monotone models only: the union of two acceptable groups must be acceptable"

    def refused_weights(self) -> str | None:
        """Explain why attributes have no weights in its loss, in words that follow "because"; None if they have."""
        return None if self.capabilities.weights else "it minimizes no loss in which attributes have weights"

    def partition(self, problem: Problem) -> Partition:
        """Partition the rows so that every group is acceptable.

        The table is not changed. An algorithm is only called with a requirement that it supports and that the table as
        one group satisfies.

        Raises
        ------
        InfeasibleError
            Limits of the algorithm's own leave no partition.
        UnsupportedError
            The table is too large for the algorithm.
        """
        table = problem.table
        if table.rows and table.quasi_identifiers:
            return self.group_rows(problem)
        # All rows publish the same: they are one group, whatever the algorithm.
        problem.progress(self.name, 1, 1)
        groups = np.zeros(table.rows, dtype=np.int32)
        untouched = Guarantee(promise=UNTOUCHED, tuples_ratio=1, stars_ratio=1, stars_bound=0, proof=NOTHING_TO_CHANGE)
        return Partition(groups=groups, count=min(table.rows, 1), guarantee=untouched)

    @abstractmethod
    def group_rows(self, problem: Problem) -> Partition:
        """Find the groups of `partition`, for a table with rows and quasi-identifiers."""
