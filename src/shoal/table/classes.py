"""Equivalence classes of rows with equal quasi-identifiers, and their sensitive counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from shoal.table.sorting_kernel import cell_runs, dense_ranks, sort_by_key

Coded = tuple[NDArray[np.unsignedinteger], int]


_KEY_LIMIT = 1 << 62
"""Bound on the keys of rows, so that they fit into 63 bits."""
_BLOCK = 1 << 14
"""Number of rows whose keys are combined at a time, so that the block stays in the cache."""


@dataclass(frozen=True, kw_only=True, repr=False)
class EquivalenceClasses:
    """Rows sorted by quasi-identifiers, then by the first sensitive attribute: classes, each a run of cells.

    A *class* is a maximal set of rows with the same quasi-identifiers. A *cell* is a maximal set of rows of a class
    with the same value of the first sensitive attribute. Rows of one cell are interchangeable (Xiao, Yi, Tao 2010,
    Section 5.1), so algorithms compute with cells.

    Examples
    --------
    >>> codes = np.array([0, 1, 0, 0], dtype=np.uint8)
    >>> disease = np.array([0, 0, 1, 0], dtype=np.uint8)
    >>> classes = EquivalenceClasses.of([(codes, 2)], (disease, 2), 4)
    >>> classes.class_sizes.tolist(), classes.cell_counts.tolist()
    ([3, 1], [2, 1, 1])
    """

    order: NDArray[np.int32]
    """The sorted rows; rows of one cell are consecutive, in the order of the table."""
    cell_starts: NDArray[np.int32]
    """Start of each cell in `order`, followed by the number of rows."""
    cell_values: NDArray[np.int32]
    """Sensitive value of each cell, as a code (0 if there is no sensitive attribute)."""
    class_starts: NDArray[np.int32]
    """First cell of each class, followed by the number of cells."""
    weights: NDArray[np.int64] | None = None
    """Multiplicity of each row of `order`, in this order; None if all are 1."""

    @property
    def first_rows(self) -> NDArray[np.int32]:
        """First row of each cell."""
        return self.order[self.cell_starts[:-1]]

    @property
    def count(self) -> int:
        """Number of classes, s in the paper."""
        return len(self.class_starts) - 1

    @property
    def cell_counts(self) -> NDArray[np.int32]:
        """Number of rows of each cell, h(Q, v) in the paper."""
        if self.weights is None:
            return np.diff(self.cell_starts)
        return np.add.reduceat(self.weights, self.cell_starts[:-1]).astype(np.int32)

    @property
    def class_sizes(self) -> NDArray[np.int64]:
        """Number of rows of each class, |Q| in the paper."""
        starts = self.cell_starts[self.class_starts]
        if self.weights is None:
            return np.diff(starts).astype(np.int64)
        return np.add.reduceat(self.weights, starts[:-1])

    @property
    def of_rows(self) -> NDArray[np.int64]:
        """Class of each row."""
        found = np.empty(len(self.order), dtype=np.int64)
        found[self.order] = np.repeat(np.arange(self.count), np.diff(self.cell_starts[self.class_starts]))
        return found

    @property
    def sizes_counted(self) -> dict[int, int]:
        """Number of classes of each size that occurs."""
        found, counts = np.unique(self.class_sizes, return_counts=True)
        return dict(zip(found.tolist(), counts.tolist(), strict=True))

    def expand_counts(self) -> EquivalenceClasses:
        """Expand multiplicities: return the same classes with one entry per row of the microdata."""
        if self.weights is None:
            return self
        ends = np.concatenate(([0], np.cumsum(self.weights)))
        starts = ends[self.cell_starts].astype(np.int32)
        return EquivalenceClasses(
            order=np.arange(ends[-1], dtype=np.int32),
            cell_starts=starts,
            cell_values=self.cell_values,
            class_starts=self.class_starts,
        )

    @classmethod
    def of(
        cls,
        quasi_identifiers: Sequence[Coded],
        sensitive: Coded | None,
        rows: int,
        counts: NDArray[np.int64] | None = None,
    ) -> EquivalenceClasses:
        """Group rows, in time linear in rows times quasi-identifiers.

        Parameters
        ----------
        quasi_identifiers : sequence of (codes, size)
            Codes of each column, 0 <= code < size.
        sensitive : (codes, size), optional
            Codes of the first sensitive attribute.
        rows : int
            Number of rows.
        counts : int64 array, optional
            Multiplicity of each row, with a sum below 2**31 in each cell; 1 by default.
        """
        columns = list(quasi_identifiers)
        radix = 1
        if sensitive is not None:
            codes, size = sensitive
            radix = max(size, 1)
            columns.append((codes, radix))
        keys, bits = mixed_radix_keys(columns, rows)
        keys, order = sort_by_key(keys, np.arange(rows, dtype=np.int32), bits)
        cell_starts, cell_values, class_starts = cell_runs(keys, radix)
        return cls(
            order=order,
            cell_starts=cell_starts,
            cell_values=cell_values,
            class_starts=class_starts,
            weights=None if counts is None else counts[order],
        )

    def __repr__(self) -> str:
        return f"EquivalenceClasses(rows={len(self.order)}, cells={len(self.cell_values)}, classes={self.count})"


def mixed_radix_keys(columns: Sequence[tuple[NDArray[np.integer], int]], rows: int) -> tuple[NDArray[np.int64], int]:
    """Combine columns of codes into one integer per row that sorts like the columns, the first being most significant.

    If the product of the domains exceeds 62 bits, the combination of the columns so far is replaced by its rank, which
    is less than the number of rows.

    Parameters
    ----------
    columns : sequence of (codes, size)
        Codes of each column, 0 <= code < size.
    rows : int
        Number of rows.

    Returns
    -------
    keys : int64 array of shape (rows,)
        Key of each row. The last column is the least significant digit: `key % size` is its code.
    bits : int
        Every key is below 2**bits.

    Examples
    --------
    >>> keys, bits = mixed_radix_keys([(np.array([0, 2, 1]), 3), (np.array([1, 0, 1]), 2)], 3)
    >>> keys.tolist(), bits
    ([1, 4, 3], 3)
    """
    keys = np.zeros(rows, dtype=np.int64)
    space = prod(max(size, 1) for _, size in columns)
    if space < _KEY_LIMIT:
        # Block by block, so that all columns are added while the keys are in the cache.
        for begin in range(0, rows, _BLOCK):
            some = keys[begin : begin + _BLOCK]
            for codes, size in columns:
                some *= max(size, 1)
                some += codes[begin : begin + _BLOCK]
        return keys, (space - 1).bit_length()
    space = 1
    for codes, size in columns:
        if space * max(size, 1) >= _KEY_LIMIT:
            # Compress the keys before they overflow.
            keys, space = dense_ranks(*sort_by_key(keys, np.arange(rows, dtype=np.int32), (space - 1).bit_length()))
        if space > 1:
            keys *= size
        keys += codes
        space *= max(size, 1)
    return keys, (space - 1).bit_length()
