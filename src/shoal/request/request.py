"""What is asked for a table, checked and with an algorithm chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from shoal.algorithms import NO_PREFERENCES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shoal._core.facts import Fact
    from shoal.algorithms import Algorithm, Preferences
    from shoal.hierarchy import Coarsening, Hierarchy
    from shoal.models import Requirement
    from shoal.table import Schema

__all__ = ["Request"]

_LEAST_SHARED = 3
"""Of two people with a value each knows that it is the other's."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Request:
    """What is asked for a table, checked and with an algorithm chosen."""

    schema: Schema
    """The roles of its columns."""
    requirement: Requirement
    """What every group, and the release, must satisfy."""
    algorithm: Algorithm
    """What partitions the table."""
    reason: Fact
    """Why that one, in words."""
    recoding: Literal["suppression", "generalization"]
    """How a partition is recoded."""
    largest_set: int
    """For generalization: a set of more values becomes a star."""
    exact_ends: bool | None
    """For generalization without a hierarchy: whether intervals end, and sets have members, at the values as they
    come, however few records have them. None: they are those of a plan, which were made of another table."""
    star: str
    """What a suppressed cell shows."""
    keep_order: bool
    """Whether the rows stay in the order of the input."""
    missing_sensitive: str
    """What a missing sensitive value is: an error, a value like any other, or a reason to leave the row out."""
    seed: int | None
    """For reproducible experiments; None: randomness comes from the operating system."""
    coarsen: Mapping[str | tuple[str, ...], Coarsening]
    """What is made less precise beforehand."""
    hierarchies: Mapping[str, Hierarchy]
    """The hierarchies of quasi-identifiers as they were given: over the values before any coarsening."""
    normalize: bool = False
    """Whether texts were normalized before anything else."""
    preferences: Preferences = NO_PREFERENCES
    """What else is asked of the algorithm."""

    @property
    def climbs(self) -> bool:
        """Whether every quasi-identifier needs a hierarchy, built automatically where none was given."""
        return self.recoding == "generalization" and self.algorithm.capabilities.hierarchical

    @property
    def about_cells(self) -> dict[str, str | bool]:
        """What certificates state of how cells and rows are published, for the publisher and for readers."""
        facts: dict[str, str | bool] = {
            "star": self.star,
            "keep_order": self.keep_order,
            "missing_sensitive": self.missing_sensitive,
        }
        return {**facts, "normalize": True} if self.normalize else facts

    @property
    def shared_by(self) -> int:
        """The records that the value of an end or a member has at least, or the cell of an end; 1: any may be shown."""
        return self.few if self.exact_ends is False else 1

    @property
    def few(self) -> int:
        """Fewer records than this must not have the value of an end, unless that is asked for; 1 without any end."""
        by_itself = set(self.schema.quasi_identifiers) - set(self.hierarchies)
        if self.recoding != "generalization" or self.climbs or not by_itself:
            return 1
        k = self.requirement.k
        return max(_LEAST_SHARED, k if k > 1 else self.requirement.least_size)

    def __repr__(self) -> str:
        return f"Request({list(self.requirement.models)!r}, algorithm={self.algorithm.name!r})"
