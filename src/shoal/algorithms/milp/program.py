"""The integer program over generalization vectors (Liang and Yuan 2013, Theorem 9), on arrays.

A generalization vector `v*` keeps the values of some quasi-identifiers and stars the others. Rows of every type that it
generalizes may be assigned to it. The assigned rows form one group, and each of them costs the stars of the vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from shoal._core.optional import require
from shoal.solver.highs import Program, Rows


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class LinearCondition:
    """Linear conditions on every group: `matrix @ (counts, size, auxiliaries) >= constant`, or equality.

    The counts are those of the values of one sensitive attribute in the group.
    """

    attribute: int
    """Position of the sensitive attribute."""
    matrix: NDArray[np.float64]
    """Coefficients, one row per condition: a column for each value, one for the size, one for each auxiliary
    variable."""
    constant: NDArray[np.float64]
    """Right-hand side of each condition, at least 0."""
    equal: NDArray[np.bool_]
    """Conditions that require equality."""
    binary: bool
    """If True, the auxiliary variables are 0 or 1."""

    @property
    def auxiliaries(self) -> int:
        """Number of auxiliary variables."""
        return int(self.matrix.shape[1]) - self.values - 1

    values: int
    """Number of values of the attribute."""

    def can_hold(self, supply: NDArray[np.int64]) -> bool:
        """Test if a group can satisfy each inequality without auxiliary variables on its own.

        Parameters
        ----------
        supply : int64 array
            Available rows of each value.

        Returns
        -------
        bool
            False if some inequality excludes every group from this supply.
        """
        # With all rows of its supply, a group has the largest possible left-hand side.
        plain = ~self.matrix[:, self.values + 1 :].any(axis=1) & ~self.equal
        gains = self.matrix[plain, : self.values] + self.matrix[plain, self.values, np.newaxis]
        most = np.maximum(gains, 0) @ supply
        return bool((most >= self.constant[plain] * (1 - 1e-9)).all())


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Vectors:
    """Generalization vectors, with the row types that each generalizes."""

    starred: NDArray[np.bool_]
    """Quasi-identifiers that each vector stars, shape (vectors, d)."""
    starts: NDArray[np.int64]
    """Start of each vector in `types`, shape (vectors + 1,)."""
    types: NDArray[np.int64]
    """Row types, vector after vector."""

    @classmethod
    def of(cls, codes: NDArray[np.int32]) -> Vectors:
        """List the vectors that a group can publish.

        If the rows of a vector agree on an attribute that it stars, another vector has the same rows and fewer stars;
        such vectors are not listed.
        """
        d = codes.shape[1]
        starred: list[NDArray[np.bool_]] = []
        parts: list[NDArray[np.int64]] = []
        # For each set of starred attributes, a vector for each combination of the others.
        for stars in range(d + 1):
            for chosen in combinations(range(d), stars):
                kept = [a for a in range(d) if a not in chosen]
                for part in _group_equal_rows(codes[:, kept]):
                    inside = codes[part][:, [*chosen]]
                    if (inside != inside[:1]).any(axis=0).all():
                        starred.append(np.isin(np.arange(d), chosen))
                        parts.append(part)
        return cls(
            starred=np.array(starred, dtype=np.bool_).reshape(-1, d),
            starts=np.concatenate(([0], np.cumsum([len(part) for part in parts], dtype=np.int64))).astype(np.int64),
            types=np.concatenate([np.empty(0, dtype=np.int64), *parts]),
        )

    def kept(self, chosen: NDArray[np.bool_]) -> Vectors:
        """Select vectors by a mask."""
        sizes = np.diff(self.starts)
        return Vectors(
            starred=self.starred[chosen],
            starts=np.concatenate(([0], np.cumsum(sizes[chosen]))).astype(np.int64),
            types=self.types[np.repeat(chosen, sizes)],
        )

    @property
    def of_entry(self) -> NDArray[np.int64]:
        """The vector of each entry of `types`."""
        return np.repeat(np.arange(len(self.starred)), np.diff(self.starts))


def _group_equal_rows(codes: NDArray[np.int32]) -> list[NDArray[np.int64]]:
    """List the positions of each set of equal rows."""
    if codes.shape[1] == 0:
        return [np.arange(len(codes))]
    _, inverse, sizes = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(inverse.ravel(), kind="stable")
    return np.split(order, np.cumsum(sizes)[:-1])


class GeneralizationProgram:
    """The integer program: the number of rows of each type assigned to each vector.

    Variables, in this order: the rows of each entry (vector and type); the rows of each vector by value of each
    attribute; the rows of each vector; if some condition needs it, an indicator of each vector with rows; and auxiliary
    variables.

    If there is one attribute, only the rows by vector and value must be integers: the rest is a transportation problem
    for each value, which has integral vertices. If there are several attributes, the entries are integers.

    Parameters
    ----------
    codes : int32 array of shape (types, d)
        Quasi-identifiers of each type.
    values : int32 array of shape (types, q)
        Sensitive values of each type; q >= 1.
    counts : int64 array
        Number of rows of each type.
    conditions : sequence of LinearCondition
        Conditions on every group.
    """

    def __init__(
        self,
        *,
        codes: NDArray[np.int32],
        values: NDArray[np.int32],
        counts: NDArray[np.int64],
        conditions: Sequence[LinearCondition],
    ) -> None:
        self.counts, self.values, self.conditions = counts, values, tuple(conditions)
        # Vectors whose rows can satisfy no condition are not needed.
        vectors = Vectors.of(codes)
        possible = [
            all(condition.can_hold(self._supply(part, condition)) for condition in self.conditions)
            for part in np.split(vectors.types, vectors.starts[1:-1])
        ]
        self.vectors = vectors.kept(np.array(possible, dtype=np.bool_))
        self._number_variables()
        self.program = self._build()

    def _supply(self, types: NDArray[np.int64], condition: LinearCondition) -> NDArray[np.int64]:
        column = self.values[types, condition.attribute]
        return np.bincount(column, weights=self.counts[types], minlength=condition.values).astype(np.int64)

    def _number_variables(self) -> None:
        """Assign numbers to the variables: entries, rows by value, rows, indicators, auxiliary variables."""
        vectors, entries = len(self.vectors.starred), len(self.vectors.types)
        self._vector = self.vectors.of_entry
        self._cells: list[dict[tuple[int, int], int]] = []
        self._cell_of: list[NDArray[np.int64]] = []
        # After the entries, a variable for each vector and value of each attribute that occurs.
        number = entries
        for attribute in range(self.values.shape[1]):
            value = self.values[self.vectors.types, attribute].astype(np.int64)
            keys, inverse = np.unique(self._vector * (value.max(initial=0) + 1) + value, return_inverse=True)
            pairs = [divmod(int(key), int(value.max(initial=0)) + 1) for key in keys]
            self._cells.append({pair: number + place for place, pair in enumerate(pairs)})
            self._cell_of.append(inverse.ravel() + number)
            number += len(keys)
        # Indicators are needed for conditions with a constant, which do not hold for an empty group.
        self._size = number
        self._indicator = number + vectors
        indicated = any(bool(condition.constant.any()) for condition in self.conditions)
        self._auxiliary = self._indicator + (vectors if indicated else 0)
        self._indicated = indicated
        self._variables = self._auxiliary + vectors * sum(condition.auxiliaries for condition in self.conditions)

    def _build(self) -> Program:
        entries, vectors = len(self.vectors.types), len(self.vectors.starred)
        stars = self.vectors.starred.sum(axis=1).astype(np.float64)
        several = self.values.shape[1] > 1
        costs, upper = np.zeros(self._variables), np.full(self._variables, np.inf)
        integer = np.zeros(self._variables, dtype=np.bool_)
        # No vector has more rows than its types provide.
        supply = self.counts[self.vectors.types].astype(np.float64)
        upper[:entries] = supply
        for cells in self._cell_of:
            upper[cells] = 0
            np.add.at(upper, cells, supply)
        # The integer variables carry the costs: the entries if there are several attributes, else the rows by value.
        if several:
            costs[:entries], integer[:entries] = stars[self._vector], True
        else:
            costs[self._cell_of[0]], integer[self._cell_of[0]] = stars[self._vector], True
        upper[self._size : self._size + vectors] = np.bincount(self._vector, weights=supply, minlength=vectors)
        # Indicators and some auxiliary variables are binary.
        if self._indicated:
            integer[self._indicator : self._auxiliary] = True
            upper[self._indicator : self._auxiliary] = 1
        for start, condition in self._auxiliary_blocks():
            if condition.binary:
                block = slice(start, start + vectors * condition.auxiliaries)
                integer[block], upper[block] = True, 1
        rows = [self._assignment(), *self._sums(), *self._links()]
        rows += [self._condition_rows(start, condition) for start, condition in self._auxiliary_blocks()]
        return Program(
            costs=costs, integer=integer, lower=np.zeros(self._variables), upper=upper, rows=Rows.stack(rows)
        )

    def _auxiliary_blocks(self) -> list[tuple[int, LinearCondition]]:
        """List the conditions with the number of their first auxiliary variable; vectors follow one another."""
        sizes = [condition.auxiliaries * len(self.vectors.starred) for condition in self.conditions]
        starts = self._auxiliary + np.concatenate(([0], np.cumsum(sizes)))[:-1].astype(np.int64)
        return list(zip(starts.tolist(), self.conditions, strict=True))

    def _assignment(self) -> Rows:
        """Require that all rows of each type are assigned (equation 6 of the paper)."""
        order = np.argsort(self.vectors.types, kind="stable")
        return Rows(
            starts=np.concatenate(([0], np.cumsum(np.bincount(self.vectors.types, minlength=len(self.counts))))),
            columns=order,
            coefficients=np.ones(len(order)),
            lower=self.counts.astype(np.float64),
            upper=self.counts.astype(np.float64),
        )

    def _sums(self) -> list[Rows]:
        """Define the rows by vector and value as sums of entries, and the rows of each vector as sums of these."""
        sums = [(cells, np.arange(len(cells))) for cells in self._cell_of]
        first = self._cells[0]
        sums.append((self._size + np.array([v for v, _ in first], dtype=np.int64), np.array(list(first.values()))))
        # One equation for each total.
        listed = []
        for totals, parts in sums:
            order = np.argsort(totals, kind="stable")
            found, sizes = np.unique(totals, return_counts=True)
            # Each equation has its parts, then the total with a negative sign.
            ends = np.cumsum(sizes)
            columns = np.insert(parts[order], ends, found)
            coefficients = np.insert(np.ones(len(parts)), ends, -1.0)
            zeros = np.zeros(len(found))
            starts = np.concatenate(([0], ends + np.arange(1, len(found) + 1))).astype(np.int64)
            listed.append(Rows(starts=starts, columns=columns, coefficients=coefficients, lower=zeros, upper=zeros))
        return listed

    def _links(self) -> list[Rows]:
        """Assign no row to a vector with indicator 0: one inequality per entry is tighter than one per vector."""
        if not self._indicated:
            return []
        entries = len(self.vectors.types)
        columns = np.column_stack((np.arange(entries), self._indicator + self._vector)).ravel()
        supply = self.counts[self.vectors.types].astype(np.float64)
        coefficients = np.column_stack((np.ones(entries), -supply)).ravel()
        return [
            Rows(
                starts=np.arange(0, 2 * entries + 1, 2),
                columns=columns,
                coefficients=coefficients,
                lower=np.full(entries, -np.inf),
                upper=np.zeros(entries),
            )
        ]

    def _condition_rows(self, start: int, condition: LinearCondition) -> Rows:
        """Build a condition for every vector; the constants are multiplied by the vector's indicator."""
        cells = self._cells[condition.attribute]
        listed = []
        for vector in range(len(self.vectors.starred)):
            of_value = [cells.get((vector, value), -1) for value in range(condition.values)]
            first = start + vector * condition.auxiliaries
            auxiliary = range(first, first + condition.auxiliaries)
            columns = np.array([*of_value, self._size + vector, *auxiliary, self._indicator + vector])
            for row, constant, equal in zip(condition.matrix, condition.constant, condition.equal, strict=True):
                coefficients = np.append(row, -constant)
                used = (coefficients != 0) & (columns >= 0)
                listed.append((columns[used], coefficients[used], 0.0, 0.0 if equal else np.inf))
        return Rows.of(listed)

    def start(self, shares: NDArray[np.int64], starred: NDArray[np.bool_]) -> NDArray[np.float64] | None:
        """Convert a partition to a start for the solver.

        Parameters
        ----------
        shares : int64 array of shape (groups, types)
            Number of rows of each type in each group.
        starred : bool array of shape (groups, d)
            Attributes that each group stars.

        Returns
        -------
        float64 array or None
            Value of each variable, NaN for auxiliary variables; None if a group publishes a vector that is not listed.
        """
        # Find the entry of each vector and type.
        at: dict[tuple[bytes, int], int] = {}
        for entry, (vector, kind) in enumerate(zip(self._vector.tolist(), self.vectors.types.tolist(), strict=True)):
            at[self.vectors.starred[vector].tobytes(), kind] = entry
        values = np.full(self._variables, np.nan)
        values[: self._auxiliary] = 0
        for group, kind in np.argwhere(shares).tolist():
            place = at.get((starred[group].tobytes(), kind))
            if place is None:
                return None
            values[place] += shares[group, kind]
        # The other variables are sums of the entries.
        for cells in self._cell_of:
            np.add.at(values, cells, values[: len(cells)])
        np.add.at(values, self._size + self._vector, values[: len(self._vector)])
        if self._indicated:
            sizes = values[self._size : self._indicator]
            values[self._indicator : self._auxiliary] = sizes > 0
        return values

    def shares(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Convert a solution to the number of rows of each type in each group, shape (groups, types).

        Fractional entries are replaced by integers with the same rows by vector and value.
        """
        entries = len(self.vectors.types)
        # With one attribute, the entries of the solution may be fractional.
        flow = np.rint(values[:entries]).astype(np.int64)
        if self.values.shape[1] == 1:
            flow = self._solve_transport(np.rint(values[self._cell_of[0]]).astype(np.int64))
        whole = np.zeros((len(self.vectors.starred), len(self.counts)), dtype=np.int64)
        whole[self._vector, self.vectors.types] = flow
        return whole[whole.any(axis=1)]

    def _solve_transport(self, totals: NDArray[np.int64]) -> NDArray[np.int64]:
        """Find integral entries with given sums by type and by vector and value (`totals`), as a maximum flow."""
        sparse = require("scipy.sparse", extra="exact", purpose="A proven optimum")
        graphs = require("scipy.sparse.csgraph", extra="exact", purpose="A proven optimum")
        kinds, cells = len(self.counts), self._cell_of[0] - len(self._cell_of[0])
        count = len(self._cells[0])
        # Edges from the source to the types, from types to cells, and from cells to the sink.
        source, sink = kinds + count, kinds + count + 1
        by_cell = np.zeros(count, dtype=np.int64)
        by_cell[cells] = totals
        tails = np.concatenate((np.full(kinds, source), self.vectors.types, kinds + np.arange(count)))
        heads = np.concatenate((np.arange(kinds), kinds + cells, np.full(count, sink)))
        capacity = np.concatenate((self.counts, self.counts[self.vectors.types], by_cell)).astype(np.int32)
        graph = sparse.csr_array((capacity, (tails, heads)), shape=(sink + 1, sink + 1))
        flow = graphs.maximum_flow(graph, source, sink).flow
        carried: NDArray[np.int64] = np.asarray(flow[self.vectors.types, kinds + cells]).ravel().astype(np.int64)
        return carried
