"""Statistics of the whole table for privacy models: the number of rows and the frequencies of the sensitive values."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shoal.models.domain import Domain


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Population:
    """Frequencies of the sensitive values in the whole table, to which the counts of groups are compared.

    They are counted once. If a table is processed in parts, all parts share one population.
    """

    totals: NDArray[np.int64]
    """Number of rows of the whole table with each value, by code. Without a sensitive attribute, all rows have one
    value."""
    domain: Domain = field(default_factory=Domain)
    """The values behind the codes. Codes need not be in the order of the values."""

    @cached_property
    def rows(self) -> int:
        """Number of rows of the whole table, which may be 2**31 or more."""
        return int(np.sum(self.totals, dtype=np.int64))

    @cached_property
    def height(self) -> int:
        """Number of rows with the most frequent value."""
        return int(np.max(self.totals, initial=0))

    @cached_property
    def distinct(self) -> int:
        """Number of distinct values that occur."""
        return int(np.count_nonzero(self.totals))

    @property
    def numbers(self) -> tuple[Fraction | None, ...] | None:
        """The values by code as exact numbers (None if missing), if they are numbers."""
        return self.domain.numbers

    def __repr__(self) -> str:
        return f"Population(rows={self.rows}, values={len(self.totals)})"
