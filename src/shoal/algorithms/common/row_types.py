"""Rows that nobody can tell apart: what algorithms that prove an optimum count with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from shoal.models.base import GroupCounts
from shoal.table.classes import mixed_radix_keys
from shoal.table.sorting_kernel import sort_by_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shoal.models import Population, Requirement
    from shoal.table import Table

__all__ = ["RowTypes", "counted_groups", "one_value"]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class RowTypes:
    """The distinct rows of a table with their multiplicities.

    Rows of a type agree on all quasi-identifiers and on those sensitive attributes that some model looks at. They can
    be exchanged for one another in any release; they need not be in the same group.
    """

    attributes: tuple[int, ...]
    """Positions of the sensitive attributes that some model looks at."""
    order: NDArray[np.int32]
    """The rows, type after type."""
    starts: NDArray[np.int64]
    """Where each type starts in `order`; one more than there are types."""
    codes: NDArray[np.int32]
    """Quasi-identifiers of each type, shape (types, d)."""
    values: NDArray[np.int32]
    """Sensitive codes of each type, one column for each of `attributes`."""

    @classmethod
    def of(cls, table: Table, requirement: Requirement) -> RowTypes:
        """Sort the rows of a table into types, by quasi-identifiers and then by sensitive values."""
        looked_at = any(model.needs_sensitive for model in requirement.group_models)
        attributes = tuple(range(len(table.sensitive))) if looked_at else ()
        columns = (*table.quasi_identifiers, *(table.sensitive[place] for place in attributes))
        keys, bits = mixed_radix_keys([(column.codes, column.size) for column in columns], table.rows)
        # Within a type the rows stand as in the classes, which tell nothing more of the order of the table.
        order = table.classes.order
        keys, order = sort_by_key(keys[order], order.copy(), bits)
        starts = np.flatnonzero(np.concatenate(([True], np.diff(keys) != 0, [True])))
        firsts = order[starts[:-1]]
        coded = np.column_stack(
            [np.zeros((len(firsts), 0), dtype=np.int32), *(column.codes[firsts].astype(np.int32) for column in columns)]
        ).astype(np.int32)
        d = len(table.quasi_identifiers)
        return cls(
            attributes=attributes,
            order=order,
            starts=starts.astype(np.int64),
            codes=np.ascontiguousarray(coded[:, :d]),
            values=np.ascontiguousarray(coded[:, d:]),
        )

    @property
    def counts(self) -> NDArray[np.int64]:
        """Rows of each type."""
        return np.diff(self.starts)

    def groups(self, shares: Sequence[NDArray[np.int64]]) -> NDArray[np.int32]:
        """Return the group of each row, given how many rows of each type every group takes.

        Parameters
        ----------
        shares : sequence of int64 arrays
            For each group its rows by type; together they take every row.
        """
        taken = np.asarray(shares, dtype=np.int64)
        # Type by type, each group in turn takes its share of the rows that stand there.
        labels = np.tile(np.arange(len(taken), dtype=np.int32), taken.shape[1])
        groups = np.empty(len(self.order), dtype=np.int32)
        groups[self.order] = np.repeat(labels, taken.T.ravel())
        return groups

    def __repr__(self) -> str:
        return f"RowTypes(rows={len(self.order)}, types={len(self.codes)})"


def one_value(table: Population) -> Population:
    """Return the whole table with a single sensitive value, for models that see none."""
    return replace(table, totals=np.array([table.rows], dtype=np.int64))


def counted_groups(vectors: NDArray[np.int64], table: Population) -> GroupCounts:
    """Return groups of rows, each given by how many rows it has of each sensitive value of a table; none is empty."""
    group, values = np.nonzero(vectors)
    return GroupCounts(
        sizes=vectors.sum(axis=1),
        starts=np.searchsorted(group, np.arange(len(vectors) + 1)).astype(np.int64),
        values=values.astype(np.int64),
        counts=vectors[group, values],
        population=table,
    )
