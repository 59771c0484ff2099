"""What is asked for a table, checked and with an algorithm chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from shoal.algorithms import NO_PREFERENCES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shoal.algorithms import Algorithm, Preferences
    from shoal.hierarchy import Coarsening, Hierarchy
    from shoal.models import Requirement
    from shoal.table import Schema

__all__ = ["Request"]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Request:
    """What is asked for a table, checked and with an algorithm chosen."""

    schema: Schema
    """The roles of its columns."""
    requirement: Requirement
    """What every group, and the release, must satisfy."""
    algorithm: Algorithm
    """What partitions the table."""
    reason: str
    """Why that one, in words."""
    recoding: Literal["suppression", "generalization"]
    """How a partition is recoded."""
    largest_set: int
    """For generalization: a set of more values becomes a star."""
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
    preferences: Preferences = NO_PREFERENCES
    """What else is asked of the algorithm."""

    @property
    def climbs(self) -> bool:
        """Whether every quasi-identifier needs a hierarchy, built automatically where none was given."""
        return self.recoding == "generalization" and bool(getattr(self.algorithm, "hierarchical", False))

    def __repr__(self) -> str:
        return f"Request({list(self.requirement.models)!r}, algorithm={self.algorithm.name!r})"
