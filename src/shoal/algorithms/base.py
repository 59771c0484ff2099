"""Interface of an algorithm: the problem that it solves, and the partition and guarantee that it returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal._core.progress import Progress, silent
from shoal._core.validation import parameters_of, validate_declared
from shoal.algorithms.preferences import NO_PREFERENCES, Preferences
from shoal.errors import InternalError
from shoal.hierarchy import Hierarchy
from shoal.models.requirement import FrequencyForm, Requirement
from shoal.recoding import LARGEST_SET, Levels
from shoal.table import Table
from shoal.table.counts import rows_by_code

TIME_LIMIT: Any = {
    "help": "Seconds to search for a proven optimum; then the best so far is published with its gap.",
    "flag": "--time-limit",
    "metavar": "SECONDS",
}
"""Declaration of the `time_limit` of algorithms that prove an optimum; see `shoal._core.validation.parameter`."""
UNTOUCHED = Fact("untouched")
"""The guarantee of a partition that loses nothing."""
NOTHING_TO_CHANGE = Fact("all_can_stay")
"""The proof of a lower bound of 0."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class PeopleOfNodes:
    """The distinct members of a population, and the hierarchy nodes that they match at each level."""

    counts: NDArray[np.int64]
    """Number of people with each combination of values, shape (p,)."""
    codes: NDArray[np.int32]
    """Values of each combination, shape (p, d)."""
    nodes: tuple[NDArray[np.int32], ...]
    """For each quasi-identifier, the node (as in `Levels.nodes`) that each value matches at each level, shape
    (height + 1, values); -1 if it matches no node of the table."""

    @property
    def everybody(self) -> int:
        """Number of people in the population."""
        return int(self.counts.sum())


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A table and the requirement on its release, which is known to be feasible."""

    table: Table
    requirement: Requirement
    rng: np.random.Generator
    """Source of all random choices, seeded by the caller (from the operating system by default)."""
    progress: Progress = silent
    """Callback for progress reports."""
    recoding: str = "suppression"
    """Recoding of the groups, for algorithms that minimize its loss."""
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    """Hierarchies of the quasi-identifiers that are recoded to nodes of a tree."""
    largest_set: int = LARGEST_SET
    """Largest number of values of a published set; larger sets become stars."""
    people: PeopleOfNodes | None = None
    """The population that models of the release need; None if no model needs one."""
    preferences: Preferences = NO_PREFERENCES
    """Weights of attributes and limits of their levels, for algorithms that support them."""

    @property
    def frequency_form(self) -> FrequencyForm:
        """The requirement as a bound on frequencies, for algorithms that support no other."""
        form = self.requirement.frequency_form()
        if form is None:
            raise InternalError("an algorithm was called with a requirement that it does not support")
        return form

    @cached_property
    def levels(self) -> tuple[Levels, ...]:
        """The levels of each quasi-identifier: those of its hierarchy, or value and star if it has none."""
        return tuple(Levels.of(column, self.hierarchies.get(column.name)) for column in self.table.quasi_identifiers)


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """Guarantee on the cost of the partition of a single run."""

    promise: Fact
    """The guarantee in words."""
    tuples_ratio: Fraction | int | None = None
    """Upper bound on the ratio of suppressed tuples to the fewest possible; None if there is none."""
    stars_ratio: Fraction | int | None = None
    """Upper bound on the ratio of stars to the fewest possible; None if there is none."""
    phase: int | None = None
    """The phase of TP that ended the run; None for other algorithms."""
    stars_bound: int | None = None
    """Lower bound on the stars (recoded cells) of any release that this run proved; None if it proved none."""
    proof: Fact | None = None
    """Proof of `stars_bound`; required with it."""
    loss_bound: float | None = None
    """Lower bound on the global certainty penalty of any release that this run proved, from 0 to 1; None if it proved
    none."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Partition:
    """A partition of the rows into groups."""

    groups: NDArray[np.int32]
    """Group of each row (or entry), 0 <= group < count; every group occurs."""
    count: int
    """Number of groups."""
    guarantee: Guarantee
    """Guarantee on the cost of the partition."""
    details: dict[str, Any] = field(default_factory=dict)
    """Details of the run for researchers: counts and names, never a cell."""
    facts: dict[str, Any] = field(default_factory=dict)
    """Facts about the run for the readers of the certificate: counts and names, never a cell."""
    least: NDArray[np.int32] | None = None
    """Lowest hierarchy level at which a group may publish each attribute, even if its rows agree on a lower level,
    shape (count, quasi-identifiers): 0 for no restriction, `STAR_LEVEL` for a star. None without any restriction."""
    rows: NDArray[np.int32] | None = None
    """Row of the table of each entry, if the table has counts and its rows were divided: an entry is some of
    the rows that it represents. None if each row of the table is one entry."""
    counts: NDArray[np.int64] | None = None
    """Number of rows that each entry represents; None without entries."""

    @classmethod
    def of(cls, groups: NDArray[np.int32], guarantee: Guarantee, **more: Any) -> Partition:
        """Build a partition of at least one row from group numbers."""
        return cls(groups=groups, count=int(groups.max()) + 1, guarantee=guarantee, **more)

    def check(self, table: Table) -> None:
        """Check the invariants that compiled code relies on, because algorithms may be defined by users.

        Raises
        ------
        InternalError
            If this is not a partition of the table.
        """
        # One group number for each row, or entries with the counts of the rows.
        groups = self.groups
        if self.rows is None or self.counts is None:
            complete = groups.shape == (table.rows,)
        else:
            times = rows_by_code(self.rows, table.rows, self.counts)
            complete = groups.shape == self.rows.shape and np.array_equal(times, table.multiplicities)
        if not complete or not np.issubdtype(groups.dtype, np.integer):
            raise InternalError("an algorithm did not return one group number for each row")
        # Groups are numbered from 0 without gaps.
        if groups.min() < 0 or groups.max() >= self.count or not np.bincount(groups, minlength=self.count).all():
            raise InternalError("an algorithm returned group numbers that are not 0, 1, ... without a gap")
        # Lowest levels are given for each group and attribute, or not at all.
        if self.least is not None and self.least.shape != (self.count, len(table.quasi_identifiers)):
            raise InternalError("an algorithm did not return a lowest level for each group and attribute")


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """Capabilities of an algorithm, for `choose`, `tune` and the engines. The defaults are the fewest capabilities."""

    hierarchical: bool = False
    """If True, the algorithm needs hierarchies: under generalization every quasi-identifier has one, which is built
    automatically if none is given."""
    judges_releases: bool = False
    """If True, the algorithm decides about all groups together, and serves models of the whole release
    (`Requirement.release_rules`)."""
    weights: bool = False
    """If True, the loss that the algorithm minimizes can have weights of attributes (`Problem.preferences`, or its own
    parameter `weights`); `Algorithm.refused_weights` explains with which parameters it cannot."""
    sums_columns: bool = False
    """If True, the algorithm minimizes a sum over the quasi-identifiers: the pipeline then serves weights by repeating
    columns (`Preferences.copies`)."""
    limits: bool = False
    """If True, the algorithm publishes attributes at the levels that `Problem.preferences` allow. The pipeline serves
    limits of other algorithms that group rows by similarity (`serves_limits`)."""
    resists_minimality: bool = False
    """If True, an adversary who knows the algorithm learns no more of a record than the requirement allows."""
    keeps_classes: bool = False
    """If True, every class of equal rows is a group, as differential privacy needs."""
    makes_ends: bool = True
    """If True, ends of intervals and members of sets are values of the table, unless a hierarchy provides them."""
    reason: str = "requested"
    """Code of the reason in certificates, if the algorithm is requested by an object."""
    divisible: bool = False
    """If True, groups depend on nearby rows only. Parts of a table that does not fit into memory can then be solved one
    after another."""
    bytes_per_row: int = 150
    """Memory per row during a run in bytes, > 0."""
    bytes_per_code: int = 0
    """Additional memory per row and quasi-identifier in bytes, >= 0."""
    stand_in: Algorithm | None = None
    """A quick algorithm for the same requirements. Its losses show which of many coarsenings are worth a long search.
    None if the algorithm itself is quick."""

    @property
    def serves_limits(self) -> bool:
        """Whether levels can have limits: those of the algorithm itself, or of groups that are searched in blocks."""
        return self.limits or self.divisible or self.sums_columns or self.weights

    def bytes_of_row(self, attributes: int) -> int:
        """Compute the memory per row in bytes during a run, for a number of quasi-identifiers."""
        return self.bytes_per_row + attributes * self.bytes_per_code


class Algorithm(ABC):
    """A published algorithm that partitions a table.

    A subclass defines `name` and `group_rows`. It overrides `unsupported` if it does not serve all monotone models, and
    `capabilities` if it can do more than partition a table in memory. If it is a dataclass whose fields are declared
    with `shoal._core.validation.parameter`, the fields are validated and appear in certificates and on the command
    line.

    Examples
    --------
    >>> import shoal
    >>> from shoal.algorithms.algorithm_list import ALGORITHMS
    >>> from shoal.algorithms.base import Algorithm
    >>> isinstance(ALGORITHMS["mondrian"], Algorithm)
    True
    >>> shoal.algorithms.Cluster(effort=10).parameters()
    {'effort': 10}
    """

    capabilities: ClassVar[Capabilities] = Capabilities()
    """Capabilities of the algorithm."""

    def __post_init__(self) -> None:
        validate_declared(self.name, self)

    @property
    @abstractmethod
    def name(self) -> str:
        """Name in requests and certificates; it may depend on the parameters (such as `tp` and `tp+`)."""

    def parameters(self) -> dict[str, Any]:
        """Return the parameters as they appear in a certificate."""
        return {name: getattr(self, name) for name in parameters_of(self)}

    def unsupported(self, requirement: Requirement) -> str | None:
        """Explain why the algorithm cannot serve a requirement, in words that follow "because"; None if it can."""
        if requirement.monotone:
            return None
        return "it serves monotone models only: the union of two acceptable groups must be acceptable"

    def refused_weights(self) -> str | None:
        """Explain why the loss cannot have weights of attributes, in words that follow "because"; None if it can."""
        served = self.capabilities.weights or self.capabilities.sums_columns
        return None if served else "it minimizes no loss in which attributes have weights"

    def works_on_counts(self, attributes: int) -> bool:
        """Check whether it partitions distinct rows with counts in place of single rows.

        Parameters
        ----------
        attributes : int
            Number of quasi-identifiers.
        """
        return False

    def partition(self, problem: Problem) -> Partition:
        """Partition the rows so that every group is acceptable.

        The table is not changed. Callers ensure that the algorithm supports the requirement and that the table as one
        group satisfies it.

        Raises
        ------
        InfeasibleError
            If limits of the algorithm allow no partition.
        UnsupportedError
            If the table is too large for the algorithm.
        """
        table = problem.table
        if table.rows and table.quasi_identifiers:
            return self.group_rows(problem)
        # Without quasi-identifiers all rows publish the same cells: they are one group.
        problem.progress(self.name, 1, 1)
        groups = np.zeros(table.rows, dtype=np.int32)
        untouched = Guarantee(promise=UNTOUCHED, tuples_ratio=1, stars_ratio=1, stars_bound=0, proof=NOTHING_TO_CHANGE)
        return Partition(groups=groups, count=min(table.rows, 1), guarantee=untouched)

    @abstractmethod
    def group_rows(self, problem: Problem) -> Partition:
        """Partition the rows of a table that has rows and quasi-identifiers; see `partition`."""
