"""What enters an algorithm and what leaves it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from shoal._progress import Progress, silent
from shoal.algorithms.preferences import NO_PREFERENCES, Preferences
from shoal.errors import InternalError
from shoal.recoding import LARGEST_SET, Levels

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from shoal.hierarchy import Hierarchy
    from shoal.models import Requirement
    from shoal.table import Table

__all__ = ["TIME_LIMIT", "Algorithm", "Guarantee", "Partition", "PeopleOfNodes", "Problem", "monotone_only"]

TIME_LIMIT: Any = {
    "help": "Seconds to search for a proven optimum; then the best so far is published with its gap.",
    "flag": "--time-limit",
    "metavar": "SECONDS",
}
"""How algorithms that prove an optimum declare their `time_limit`; see `shoal._validation.parameter`."""


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

    @cached_property
    def levels(self) -> tuple[Levels, ...]:
        """The levels of each quasi-identifier: those of its hierarchy, or a value and a star."""
        return tuple(Levels.of(column, self.hierarchies.get(column.name)) for column in self.table.quasi_identifiers)


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """What an algorithm promises about the cost of the partition that it returned, for this very run."""

    text: str
    """In words, ready for a certificate."""
    tuples_ratio: Fraction | int | None = None
    """Suppressed tuples are at most this many times the fewest possible; None where nothing is promised."""
    stars_ratio: Fraction | int | None = None
    """Stars are at most this many times the fewest possible; None where nothing is promised."""
    phase: int | None = None
    """The phase of TP that ended the run, where there is one."""
    stars_bound: int | None = None
    """Stars (recoded cells) that this run proved every release to have at least; None where it proved nothing."""
    proof: str | None = None
    """How `stars_bound` was proven, in words; needed with it."""
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


class Algorithm(Protocol):
    """A published algorithm that partitions a table.

    One that climbs hierarchies may say so with an attribute `hierarchical = True`: under generalization every
    quasi-identifier then has one, built automatically where none was given. One that decides about all groups together
    may say so with an attribute `judges_releases = True`: it serves models of the whole release
    (`Requirement.release_rules`), for which every other one is refused.

    One whose groups depend on the rows near them, so that parts of a table may be solved one after another, may say so
    with an attribute `divisible = True`: engines do that where a table does not fit into memory. How many bytes a row
    takes meanwhile may be said with attributes `bytes_per_row`, and `bytes_per_code` for each quasi-identifier of it.

    One that minimizes a loss in which the attributes can have weights (`Problem.preferences`) says so with an attribute
    `no_weights`: None, or why it has none with its parameters, in words that follow "because". One that publishes
    attributes at the levels that it is told says so with an attribute `keeps_to_limits = True`. Parameters `weights`
    and `suppression_limit` of its own take what is asked for.

    One that searches long may name a quick algorithm that serves the same requirements with an attribute `stand_in`:
    its losses tell which of many coarsenings are worth the search.
    """

    @property
    def name(self) -> str:
        """The name that users and certificates call it by; it may depend on the parameters (`tp`, `tp+`)."""

    def unsupported(self, requirement: Requirement) -> str | None:
        """Return why the algorithm cannot serve a requirement, in words that follow "because"; None when it can."""

    def parameters(self) -> dict[str, Any]:
        """Return the parameters as they appear in a certificate."""

    def partition(self, problem: Problem) -> Partition:
        """Partition the rows so that every group is acceptable.

        The table is not changed. An algorithm is only called with a requirement that it supports.
        """


def monotone_only(requirement: Requirement) -> str | None:
    """Return why an algorithm that joins groups cannot serve a requirement, in the words of `unsupported`."""
    if requirement.monotone:
        return None
    return "it serves monotone models only: the union of two acceptable groups must be acceptable"
