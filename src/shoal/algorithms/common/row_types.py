"""Indistinguishable rows: the row types that algorithms with proven optima count with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoal.models.base import GroupCounts
from shoal.models.population import Population
from shoal.models.requirement import Requirement
from shoal.table import Table
from shoal.table.classes import mixed_radix_keys
from shoal.table.sorting_kernel import sort_by_key


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class RowTypes:
    """The distinct rows of a table with their multiplicities.

    Rows of a type agree on all quasi-identifiers and on the sensitive attributes that some model uses. They can
    be exchanged for one another in any release; they need not be in the same group.
    """

    attributes: tuple[int, ...]
    """Positions of the sensitive attributes that some model uses."""
    order: NDArray[np.int32]
    """The rows, type after type."""
    starts: NDArray[np.int64]
    """Start of each type in `order`; one more than there are types."""
    codes: NDArray[np.int32]
    """Quasi-identifiers of each type, shape (types, d)."""
    values: NDArray[np.int32]
    """Sensitive codes of each type, one column for each of `attributes`."""

    @classmethod
    def of(cls, table: Table, requirement: Requirement) -> RowTypes:
        """Sort the rows of a table into types, by quasi-identifiers and then by sensitive values."""
        # Sensitive attributes count only if some model uses them.
        uses_sensitive = any(model.needs_sensitive for model in requirement.group_models)
        attributes = tuple(range(len(table.sensitive))) if uses_sensitive else ()
        columns = (*table.quasi_identifiers, *(table.sensitive[place] for place in attributes))
        keys, bits = mixed_radix_keys([(column.codes, column.size) for column in columns], table.rows)
        # Rows of a type keep the order of the classes, which reveals nothing of the order of the table.
        order = table.classes.order
        keys, order = sort_by_key(keys[order], order.copy(), bits)
        # A type starts at each change of the key.
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
        """Assign each row to a group, given the number of rows of each type in every group.

        Parameters
        ----------
        shares : sequence of int64 arrays
            For each group its rows by type; together they take every row.
        """
        taken = np.asarray(shares, dtype=np.int64)
        # Type by type, each group in turn takes its share of the type's rows.
        labels = np.tile(np.arange(len(taken), dtype=np.int32), taken.shape[1])
        groups = np.empty(len(self.order), dtype=np.int32)
        groups[self.order] = np.repeat(labels, taken.T.ravel())
        return groups


def one_value(table: Population) -> Population:
    """Replace the values of a population by a single one, for models that do not use sensitive values."""
    return replace(table, totals=np.array([table.rows], dtype=np.int64))


def counted_groups(vectors: NDArray[np.int64], table: Population) -> GroupCounts:
    """Build the counts of groups from their rows by sensitive value; a group is not empty."""
    # The nonzero entries, group by group, are the sparse form of the counts.
    group, values = np.nonzero(vectors)
    return GroupCounts(
        sizes=vectors.sum(axis=1),
        starts=np.searchsorted(group, np.arange(len(vectors) + 1)).astype(np.int64),
        values=values.astype(np.int64),
        counts=vectors[group, values],
        population=table,
    )
