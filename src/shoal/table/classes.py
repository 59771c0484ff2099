"""Equivalence classes: rows that agree on all quasi-identifiers, with their sensitive counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from shoal.table.encoding import Table

__all__ = ["EquivalenceClasses"]


@dataclass(frozen=True, kw_only=True, repr=False)
class EquivalenceClasses:
    """Rows sorted by quasi-identifiers, then by the first sensitive value: classes, each a run of cells.

    A *class* is a maximal set of rows with the same quasi-identifiers; a *cell* is a maximal set of rows of a class with
    the same value of the first sensitive attribute. Rows of one cell are interchangeable (Xiao, Yi, Tao 2010,
    Section 5.1), so algorithms do their arithmetic on cells.
    """

    order: NDArray[np.int32]
    """The rows, sorted; rows of one cell stand together."""
    cell_starts: NDArray[np.int32]
    """Where each cell starts in `order`; one more than there are cells."""
    cell_values: NDArray[np.int32]
    """The sensitive value of each cell, as a code (0 where there is no sensitive attribute)."""
    class_starts: NDArray[np.int32]
    """Where each class starts among the cells; one more than there are classes."""

    @property
    def count(self) -> int:
        """Number of classes: the paper's s."""
        return len(self.class_starts) - 1

    @classmethod
    def of(cls, table: Table) -> EquivalenceClasses:
        """Group the rows of a table."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"EquivalenceClasses(rows={len(self.order)}, cells={len(self.cell_values)}, classes={self.count})"
