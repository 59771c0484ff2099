"""A ground distance given by a matrix."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from shoal._core.validation import exact_fraction
from shoal._messages import Part, Subject
from shoal.errors import DataError, ParameterError
from shoal.io import read_lines
from shoal.models.base import GroupCounts, Rule, RuleKind
from shoal.models.domain import Domain
from shoal.models.ground_distance import (
    GroundDistance,
    compile_limit,
    describe_missing,
    promote,
    shares_of,
    smallest_group,
)
from shoal.models.linear import LinearForm, transport_form
from shoal.models.naming import find_repeated, places_of
from shoal.models.population import Population
from shoal.models.transport import cheapest_transport

_NUMBER = re.compile(
    r"[-+]?([0-9]{1,40}(\.[0-9]{0,40})?|\.[0-9]{1,40})([eE][-+]?[0-9]{1,2})?|[0-9]{1,40}/[1-9][0-9]{0,39}"
)
_CHUNK = 1 << 22
"""Number of counts that are laid out densely at a time."""
_SOLVED: WeakKeyDictionary[GroupCounts, tuple[MetricDistance, NDArray[Any]]] = WeakKeyDictionary()
"""Cache of the latest transport costs, for groups that are still in use."""


@dataclass(frozen=True, repr=False)
class MetricDistance(GroundDistance):
    """A metric between values, given as a symmetric matrix with zero diagonal and the triangle inequality.

    The matrix is scaled so that the largest distance is 1 (`normalised` reports whether this changed it). All entries
    are exact: a float denotes its decimal number. Values of the matrix that do not occur in a table have no effect. A
    value of the table that the matrix lacks is an error.

    Examples
    --------
    >>> metric = MetricDistance(["flu", "cold", "ulcer"], [[0, 1, 4], [1, 0, 4], [4, 4, 0]])
    >>> metric, metric.normalised
    (MetricDistance(3 values), True)
    """

    values: Sequence[Any]
    """Distinct values in the order of the rows and columns of the matrix; None denotes a missing value."""
    matrix: Sequence[Sequence[Real | float]]
    """Distances of all pairs of values; stored as exact fractions of at most 1."""
    normalised: bool = field(init=False, default=False)
    """Whether the matrix was divided by its largest distance, because that was not 1."""

    name: ClassVar[str] = "metric"
    flag: ClassVar[str] = "file:METRIC.csv"

    def __post_init__(self) -> None:
        if isinstance(self.values, str | bytes) or not isinstance(self.values, Iterable):
            got = type(self.values).__name__
            raise ParameterError.refusing("MetricDistance", "values", "a list of values", got=got)
        values = tuple(self.values)
        twice = find_repeated(values)
        if twice is not None:
            raise ParameterError(f"The metric names a value twice, as number {twice[0]} and as number {twice[1]}.")
        # Scaling comes last, after all conditions are checked.
        exact = _exact_matrix(self.matrix, len(values))
        _check_metric(exact)
        largest = max(max(row) for row in exact)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "matrix", tuple(tuple(one / largest for one in row) for row in exact))
        object.__setattr__(self, "normalised", largest != 1)

    @classmethod
    def from_csv(
        cls, path: str | os.PathLike[str], *, delimiter: str | None = None, encoding: str | None = None
    ) -> MetricDistance:
        """Read a metric from a square table whose first line and first column list the values in the same order.

        Parameters
        ----------
        path : path-like
            The CSV file.
        delimiter, encoding : str, optional
            Format of the file, detected by default.

        Raises
        ------
        DataError
            If the file cannot be read or is not such a table. The message names the line, never a value.
        ParameterError
            If the distances are not a metric. The message states the violated condition and the positions of the
            values.
        """
        about = f"The metric '{Path(path).name}'"
        # The corner cell of the table is ignored.
        (_, (_, *values)), *lines = read_lines(path, delimiter=delimiter, encoding=encoding)
        if len(lines) != len(values):
            raise DataError(
                f"{about} names {len(values)} values in its first line, and has {len(lines)} lines below it. It needs "
                "one for each value: the value, then its distance to every value in the order of the first line."
            )
        matrix = []
        for (number, (name, *entries)), value in zip(lines, values, strict=True):
            if len(entries) != len(values):
                raise DataError(f"{about} has {len(entries)} distances in line {number} instead of {len(values)}.")
            if name != value:
                raise DataError(
                    f"{about} names another value in line {number} than at the same place of its first line. Name them "
                    "in the same order."
                )
            for place, entry in enumerate(entries, start=1):
                if not _NUMBER.fullmatch(entry):
                    raise DataError(f"{about} has something else than a number as distance {place} of line {number}.")
            matrix.append([Fraction(entry) for entry in entries])
        return cls(values, matrix)

    def misfit(self, domain: Domain) -> Part | None:  # noqa: D102
        return describe_missing(domain, self.values, "the metric")

    @cached_property
    def _unit(self) -> int:
        """Least common denominator of all distances."""
        return math.lcm(*{one.denominator for row in self._exact for one in row})

    @property
    def _exact(self) -> tuple[tuple[Fraction, ...], ...]:
        return self.matrix  # type: ignore[return-value]

    def _code_distances(self, table: Population) -> list[list[Fraction]]:
        """Return the distances of all pairs of codes."""
        self.check_values(table.domain)
        places = places_of(table.domain.labels or (), self.values).tolist()
        return [[self._exact[i][j] for j in places] for i in places]

    def costs(self, groups: GroupCounts) -> tuple[NDArray[Any], int]:  # noqa: D102
        known = _SOLVED.get(groups)
        if known is None or known[0] != self:
            # The verification first judges groups and then reports their largest distance, from the same transports.
            known = _SOLVED[groups] = (self, self._solve_transports(groups))
        return known[1].copy(), self._unit

    def _solve_transports(self, groups: GroupCounts) -> NDArray[Any]:
        whole = [[int(one * self._unit) for one in row] for row in self._code_distances(groups.population)]
        found: dict[bytes | tuple[int, ...], int] = {}
        costs = np.zeros(len(groups.sizes), dtype=object)
        for g, gains in _gains(groups):
            # Groups with the same surpluses share a transport.
            key = gains.tobytes() if gains.dtype != object else tuple(gains)
            if key not in found:
                found[key] = _transport(gains, whole)
            costs[g] = found[key]
        return costs

    def rule(self, table: Population, t: Fraction) -> Rule:  # noqa: D102
        among = self._code_distances(table)
        rows = table.rows
        # Distances that are rounded up still satisfy the triangle inequality, and can only refuse groups.
        unit = min(self._unit, max((2**62 - 1) // rows**2, 1))
        scaled = np.array([math.ceil(one * unit) for row in among for one in row], dtype=np.int64)
        a, b, c, s = compile_limit(t, unit, rows)
        least = min((one for i, row in enumerate(among) for one in row[:i]), default=Fraction(1))
        return Rule(
            kind=RuleKind.CLOSE_METRIC,
            a=a,
            b=b,
            c=c,
            bounds=np.concatenate(([rows, scaled.max(initial=0)], table.totals, scaled)),
            smallest=smallest_group(table.totals, t, least),
            exact=unit == self._unit and s == 0,
        )

    @property
    def is_linear(self) -> bool:  # noqa: D102
        return True

    def linear_form(self, table: Population, t: Fraction) -> LinearForm:  # noqa: D102
        # Direct arcs suffice, because of the triangle inequality.
        among = self._code_distances(table)
        arcs = [(i, j, one) for i, row in enumerate(among) for j, one in enumerate(row) if i != j]
        return transport_form(shares_of(table), arcs, len(among), len(among), t)

    def drawing_order(self, table: Population) -> NDArray[np.integer]:  # noqa: D102
        # Greedy tour: continue from each value to the nearest one not visited yet.
        apart = np.array(self._code_distances(table), dtype=np.float64).reshape(-1, len(table.totals))
        order = [0]
        while len(order) < len(apart):
            apart[:, order[-1]] = np.inf
            order.append(int(np.argmin(apart[order[-1]])))
        return np.array(order)

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {"distance": self.name, "values": len(self.values), "normalised": self.normalised}

    def __repr__(self) -> str:
        return f"MetricDistance({len(self.values)} values)"


def _exact_matrix(matrix: Any, values: int) -> list[list[Fraction]]:
    """Convert the entries to fractions, and check their number and type."""
    rows = [list(row) for row in matrix] if isinstance(matrix, Iterable) else []
    if len(rows) != values or any(len(row) != values for row in rows):
        raise ParameterError(
            Subject("MetricDistance", "matrix"), f" must have a row and a column for each of the {values} values."
        )
    # Booleans are numbers in Python, but not distances.
    for i, row in enumerate(rows, start=1):
        for j, one in enumerate(row, start=1):
            if isinstance(one, bool) or not isinstance(one, Real | Decimal) or not math.isfinite(one):
                raise ParameterError(f"The metric has no finite number for the values number {i} and {j}.")
    return [[Fraction(one) if isinstance(one, Decimal) else exact_fraction(one) for one in row] for row in rows]


def _check_metric(exact: list[list[Fraction]]) -> None:
    """Check that the matrix is a metric; errors name the first violating pair by position, as values are cells."""
    # Integers on a common scale make the comparisons exact.
    unit = math.lcm(*{one.denominator for row in exact for one in row})
    whole = [[int(one * unit) for one in row] for row in exact]
    fits = all(-(2**62) < one < 2**62 for row in whole for one in row)
    matrix = np.array(whole, dtype=np.int64 if fits else object).reshape(len(whole), len(whole))
    conditions = (
        (matrix < 0, "is negative"),
        ((matrix != 0) & np.eye(len(matrix), dtype=np.bool_), "is not zero, although they are the same value"),
        (matrix != matrix.T, "is not the same in both directions (symmetry)"),
    )
    for fails, what in conditions:
        if fails.any():
            i, j = (int(place) + 1 for place in np.argwhere(fails)[0])
            raise ParameterError(f"This is not a metric: the distance of the values number {i} and {j} {what}.")
    # The triangle inequality through each intermediate value k.
    for k in range(len(matrix)):
        fails = matrix > matrix[:, k, None] + matrix[None, k, :]
        if fails.any():
            i, j = (int(place) + 1 for place in np.argwhere(fails)[0])
            raise ParameterError(
                f"This is not a metric: the distance of the values number {i} and {j} is more than the way through "
                f"number {k + 1} (triangle inequality)."
            )
    if not matrix.any():
        raise ParameterError("The metric has no distance above 0, so every group would be equal to the table.")


def _gains(groups: GroupCounts) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Iterate over groups with their surplus of each value: the excess over the table's share, times |G| n.

    Groups without any surplus are skipped. Mass that a group shares with the table stays in place, because moving it
    never helps if the triangle inequality holds.
    """
    rows, values = groups.population.rows, len(groups.totals)
    step = max(_CHUNK // max(values, 1), 1)
    for start in range(0, len(groups.sizes), step):
        sizes = groups.sizes[start : start + step]
        entries = slice(groups.starts[start], groups.starts[start + len(sizes)])
        totals, counts, sizes = promote(rows * rows, groups.totals, groups.counts[entries], sizes)
        gains = -totals * sizes[:, None]
        of_entry = np.repeat(np.arange(len(sizes)), groups.distinct[start : start + step])
        gains[of_entry, groups.values[entries]] += counts * rows
        # Only groups with a surplus need a transport.
        for at in np.flatnonzero(gains.any(axis=1)).tolist():
            yield start + at, gains[at]


def _transport(gains: NDArray[np.int64], among: list[list[int]]) -> int:
    """Return the least cost of moving the surplus of a group to the values that it lacks."""
    supplies, demands = np.flatnonzero(gains > 0).tolist(), np.flatnonzero(gains < 0).tolist()
    return cheapest_transport(
        gains[supplies].tolist(), (-gains[demands]).tolist(), [[among[i][j] for j in demands] for i in supplies]
    )
