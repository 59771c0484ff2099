"""The whole table as a privacy model sees it: how many rows it has, and which sensitive values they hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from shoal.models.domain import Domain

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

__all__ = ["Population"]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Population:
    """The sensitive values of the whole table: what a group's are compared with, however few groups are looked at.

    It is counted once. A table that is measured in parts has one population, never one for each part.
    """

    totals: NDArray[np.int64]
    """Rows of the whole table with each value, by code. Where there is no sensitive attribute, all rows have one."""
    domain: Domain = field(default_factory=Domain)
    """What the codes stand for. Codes need not be in the order of the values."""

    @cached_property
    def rows(self) -> int:
        """Rows of the whole table; there may be 2**31 or more."""
        return int(np.sum(self.totals, dtype=np.int64))

    @cached_property
    def height(self) -> int:
        """Rows with the most frequent value."""
        return int(np.max(self.totals, initial=0))

    @cached_property
    def distinct(self) -> int:
        """Number of values that occur."""
        return int(np.count_nonzero(self.totals))

    @property
    def numbers(self) -> tuple[Fraction | None, ...] | None:
        """The values as exact numbers, by code (None where missing), where they are numbers."""
        return self.domain.numbers

    def __repr__(self) -> str:
        return f"Population(rows={self.rows}, values={len(self.totals)})"
