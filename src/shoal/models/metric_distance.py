"""A ground distance that the publisher gives as a matrix."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np

from shoal._core.validation import exact_fraction
from shoal._messages import Subject
from shoal.errors import DataError, ParameterError
from shoal.io import read_lines
from shoal.models.base import GroupCounts, Rule, RuleKind
from shoal.models.ground_distance import GroundDistance, in_range, limit_of, missed, shares_of, smallest_group
from shoal.models.linear import LinearForm, transported
from shoal.models.naming import places_of, repeated
from shoal.models.transport import cheapest_transport

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from shoal._messages import Part
    from shoal.models.domain import Domain
    from shoal.models.population import Population

__all__ = ["MetricDistance"]

_NUMBER = re.compile(
    r"[-+]?([0-9]{1,40}(\.[0-9]{0,40})?|\.[0-9]{1,40})([eE][-+]?[0-9]{1,2})?|[0-9]{1,40}/[1-9][0-9]{0,39}"
)
_CHUNK = 1 << 22
"""Counts that are laid out at a time."""
_SOLVED: WeakKeyDictionary[GroupCounts, tuple[MetricDistance, NDArray[Any]]] = WeakKeyDictionary()
"""The costs that were last found of groups that are still in use."""


@dataclass(frozen=True, repr=False)
class MetricDistance(GroundDistance):
    """Distances between values as a matrix: zero from a value to itself, symmetric, with the triangle inequality.

    The largest distance is made 1 (`normalised` says whether that changed something). All entries are exact: a float
    means its decimal number. Values of the matrix that do not occur in a table change nothing; a value of the table
    that the matrix misses is an error.

    Examples
    --------
    >>> metric = MetricDistance(["flu", "cold", "ulcer"], [[0, 1, 4], [1, 0, 4], [4, 4, 0]])
    >>> metric, metric.normalised
    (MetricDistance(3 values), True)
    """

    values: Sequence[Any]
    """The values, each once, in the order of the rows and columns of the matrix; None is a missing value."""
    matrix: Sequence[Sequence[Real | float]]
    """The distance of every two values; becomes exact fractions of at most 1."""
    normalised: bool = field(init=False, default=False)
    """Whether the largest distance was not 1, so that all of them were divided by it."""

    name: ClassVar[str] = "metric"
    flag: ClassVar[str] = "file:METRIC.csv"

    def __post_init__(self) -> None:
        if isinstance(self.values, str | bytes) or not isinstance(self.values, Iterable):
            got = type(self.values).__name__
            raise ParameterError.refusing("MetricDistance", "values", "a list of values", got=got)
        values = tuple(self.values)
        twice = repeated(values)
        if twice is not None:
            raise ParameterError(f"The metric names a value twice, as number {twice[0]} and as number {twice[1]}.")
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
        """Read a square table: its first line and its first column name the values, in the same order.

        Raises
        ------
        DataError
            Where the file cannot be read, or is no such table. Names the line, never a value.
        ParameterError
            Where the distances are no metric; names the condition that fails, and for which values by their numbers.
        """
        about = f"The metric '{Path(path).name}'"
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
        return missed(domain, self.values, "the metric")

    @cached_property
    def _unit(self) -> int:
        """The smallest whole number that makes every distance whole."""
        return math.lcm(*{one.denominator for row in self._exact for one in row})

    @property
    def _exact(self) -> tuple[tuple[Fraction, ...], ...]:
        return self.matrix  # type: ignore[return-value]

    def _among(self, table: Population) -> list[list[Fraction]]:
        """Return the distance of every two codes."""
        self.check_values(table.domain)
        places = places_of(table.domain.labels or (), self.values).tolist()
        return [[self._exact[i][j] for j in places] for i in places]

    def costs(self, groups: GroupCounts) -> tuple[NDArray[Any], int]:  # noqa: D102
        known = _SOLVED.get(groups)
        if known is None or known[0] != self:
            # A verification decides about groups, then states their largest distance: both need the same transports.
            known = _SOLVED[groups] = (self, self._solved(groups))
        return known[1].copy(), self._unit

    def _solved(self, groups: GroupCounts) -> NDArray[Any]:
        whole = [[int(one * self._unit) for one in row] for row in self._among(groups.population)]
        found: dict[bytes | tuple[int, ...], int] = {}
        costs = np.zeros(len(groups.sizes), dtype=object)
        for g, gains in _gains(groups):
            key = gains.tobytes() if gains.dtype != object else tuple(gains)
            if key not in found:
                found[key] = _transport(gains, whole)
            costs[g] = found[key]
        return costs

    def rule(self, table: Population, t: Fraction) -> Rule:  # noqa: D102
        among = self._among(table)
        rows = table.rows
        # Distances rounded up keep the triangle inequality, and only ever refuse.
        unit = min(self._unit, max((2**62 - 1) // rows**2, 1))
        scaled = np.array([math.ceil(one * unit) for row in among for one in row], dtype=np.int64)
        a, b, c, s = limit_of(t, unit, rows)
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
        among = self._among(table)
        arcs = [(i, j, one) for i, row in enumerate(among) for j, one in enumerate(row) if i != j]
        return transported(shares_of(table), arcs, len(among), len(among), t)

    def drawing_order(self, table: Population) -> NDArray[np.integer]:  # noqa: D102
        # From each value to the nearest that is left.
        apart = np.array([[float(one) for one in row] for row in self._among(table)]).reshape(-1, len(table.totals))
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
    """Return the entries as fractions, or say where they are no numbers, or too many or too few."""
    rows = [list(row) for row in matrix] if isinstance(matrix, Iterable) else []
    if len(rows) != values or any(len(row) != values for row in rows):
        raise ParameterError(
            Subject("MetricDistance", "matrix"), f" must have a row and a column for each of the {values} values."
        )
    for i, row in enumerate(rows, start=1):
        for j, one in enumerate(row, start=1):
            if isinstance(one, bool) or not isinstance(one, Real | Decimal) or not math.isfinite(one):
                raise ParameterError(f"The metric has no finite number for the values number {i} and {j}.")
    return [[Fraction(one) if isinstance(one, Decimal) else exact_fraction(one) for one in row] for row in rows]


def _check_metric(exact: list[list[Fraction]]) -> None:
    """Check the conditions of a metric; the first pair that fails is named by position, for the values are cells."""
    unit = math.lcm(*{one.denominator for row in exact for one in row})
    whole = [[int(one * unit) for one in row] for row in exact]
    fits = all(-(2**62) < one < 2**62 for row in whole for one in row)
    matrix = np.array(whole, dtype=np.int64 if fits else object).reshape(len(whole), len(whole))
    conditions = (
        (matrix < 0, "is negative"),
        ((matrix != 0) & np.eye(len(matrix), dtype=np.bool_), "is not zero, though they are the same value"),
        (matrix != matrix.T, "is not the same in both directions (symmetry)"),
    )
    for fails, what in conditions:
        if fails.any():
            i, j = (int(place) + 1 for place in np.argwhere(fails)[0])
            raise ParameterError(f"The metric is none: the distance of the values number {i} and {j} {what}.")
    for k in range(len(matrix)):
        fails = matrix > matrix[:, k, None] + matrix[None, k, :]
        if fails.any():
            i, j = (int(place) + 1 for place in np.argwhere(fails)[0])
            raise ParameterError(
                f"The metric is none: the distance of the values number {i} and {j} is more than the way through "
                f"number {k + 1} (triangle inequality)."
            )
    if not matrix.any():
        raise ParameterError("The metric has no distance above 0: every group would be as close as can be.")


def _gains(groups: GroupCounts) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Give for each group by how much its share of each value exceeds the table's, times |G| n; nothing where by none.

    What both have stays where it is: by the triangle inequality nothing is gained by moving it.
    """
    rows, values = groups.population.rows, len(groups.totals)
    step = max(_CHUNK // max(values, 1), 1)
    for start in range(0, len(groups.sizes), step):
        sizes = groups.sizes[start : start + step]
        entries = slice(groups.starts[start], groups.starts[start + len(sizes)])
        totals, counts, sizes = in_range(rows * rows, groups.totals, groups.counts[entries], sizes)
        gains = -totals * sizes[:, None]
        of_entry = np.repeat(np.arange(len(sizes)), groups.distinct[start : start + step])
        gains[of_entry, groups.values[entries]] += counts * rows
        for at in np.flatnonzero(gains.any(axis=1)).tolist():
            yield start + at, gains[at]


def _transport(gains: NDArray[np.int64], among: list[list[int]]) -> int:
    """Return the least cost of bringing what a group has too much of to where it has too little."""
    supplies, demands = np.flatnonzero(gains > 0).tolist(), np.flatnonzero(gains < 0).tolist()
    return cheapest_transport(
        gains[supplies].tolist(), (-gains[demands]).tolist(), [[among[i][j] for j in demands] for i in supplies]
    )
