"""The rows of an input whose persons publish their rows together."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.linked.strata import Strata


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class LinkedRows:
    """The rows of an input whose persons publish their rows together."""

    strata: Strata
    """How many rows each person publishes."""
    persons: NDArray[np.int64]
    """Person of each row of the input, numbered from 0 in random order; -1 for rows that cannot be published."""
    positions: NDArray[np.int64]
    """Place of each row among the published rows of its person; -1 for rows that are left out."""
    ordered: bool
    """Whether the order of the rows of a person is a fact, not one of their values."""
    rows: int
    """Number of rows that could be published."""

    def select(self, rows: NDArray[np.integer]) -> LinkedRows:
        """Select rows of the input (repeats allowed)."""
        return replace(self, persons=self.persons[rows], positions=self.positions[rows])

    def to_dict(self) -> dict[str, int]:
        """Serialize the numbers of persons and rows of the input as in a certificate."""
        return {
            "persons": len(self.strata.lengths),
            "rows_left_out": self.rows - int(self.strata.lengths.sum()),
            "fewest_rows_left_out": self.strata.fewest_left_out,
        }
