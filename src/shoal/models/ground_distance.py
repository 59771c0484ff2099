"""Ground distances: how far apart two sensitive values are, and what it costs to turn one distribution into another.

The earth mover's distance of a group G from the table is the cheapest transport of one distribution into the other. In
units of 1 / (unit * |G| * n) it is a whole number for every ground distance here, and is computed as one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shoal._core.validation import parameter
from shoal._messages import Phrase, Suggestion
from shoal.errors import ParameterError
from shoal.models.base import GroupCounts, Rule, RuleKind
from shoal.models.linear import LinearForm, LinearRow, transported
from shoal.models.naming import places_of, repeated
from shoal.models.rationals import largest_ratio, neighbours

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shoal._messages import Part
    from shoal.models.domain import Domain
    from shoal.models.population import Population

__all__ = ["EqualDistance", "GroundDistance", "OrderedDistance", "distances", "largest_distance"]

EXACT = 2**62
"""Whole numbers below this stay in 64-bit arithmetic."""
_DISTINCT_SEARCHED = 64
"""Smallest groups up to this many rows are searched for; larger ones are not needed."""


class GroundDistance(ABC):
    """A distance between sensitive values, at most 1, and its earth mover's distance.

    A value: frozen and comparable, with a `repr` that shows no sensitive value.
    """

    name: ClassVar[str]
    """As it appears in certificates."""
    flag: ClassVar[str] = ""
    """How --t-distance names it; empty where it does not."""
    reads_values: ClassVar[bool] = True
    """Whether the distance depends on what the values are."""

    @property
    def names_values(self) -> bool:
        """Whether the distance was given values by name."""
        return self.reads_values

    def misfit(self, domain: Domain) -> Part | None:
        """Return why the distance says nothing of such values, in words that follow a colon; None where it does."""
        return None

    def check_values(self, domain: Domain) -> None:
        """Check that the distance says how far apart such values are.

        Raises
        ------
        ParameterError
            It does not; says why.
        """
        reason = self.misfit(domain)
        if reason is not None:
            raise ParameterError(f"{self!r} cannot be asked of these values: ", reason, ".")

    @abstractmethod
    def costs(self, groups: GroupCounts) -> tuple[NDArray[Any], int]:
        """Return a whole number for each group, and the unit.

        Their quotient, over the group's rows and the table's, is the earth mover's distance: cost / (unit * |G| * n).
        The numbers are 64-bit integers where they fit, else Python's. The values must fit (`misfit`).
        """

    @abstractmethod
    def rule(self, table: Population, t: Fraction) -> Rule:
        """Return the clause "the distance is at most t" for the compiled kernels, never laxer."""

    @property
    def is_linear(self) -> bool:
        """Whether `linear_form` says what the distance is."""
        return False

    def linear_form(self, table: Population, t: Fraction) -> LinearForm | None:
        """Return "the distance is at most t" as linear inequalities on a group's counts; None where not `is_linear`."""
        return None

    def drawing_order(self, table: Population) -> NDArray[np.integer] | None:
        """Return all codes in an order in which near values stand together; None where all are equally far apart."""
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return the distance as it appears in a certificate, without a value."""
        return {"distance": self.name}


def distances(groups: GroupCounts, distance: GroundDistance) -> list[Fraction]:
    """Return the exact earth mover's distance of each group's distribution from the table's.

    Parameters
    ----------
    groups : GroupCounts
        Counted groups; the table is what `totals` says.
    distance : GroundDistance
        How far apart the values are.

    Returns
    -------
    list of Fraction
        From 0 to 1, one per group.

    Examples
    --------
    >>> from shoal.models import Population
    >>> table = GroupCounts(
    ...     sizes=np.array([2, 8]),
    ...     starts=np.array([0, 2, 5]),
    ...     values=np.array([0, 1, 0, 1, 2]),
    ...     counts=np.array([1, 1, 2, 2, 4]),
    ...     population=Population(totals=np.array([3, 3, 4])),
    ... )
    >>> distances(table, EqualDistance())
    [Fraction(2, 5), Fraction(1, 10)]
    """
    costs, unit = distance.costs(groups)
    rows = groups.population.rows
    return [
        Fraction(cost, unit * size * rows) for cost, size in zip(costs.tolist(), groups.sizes.tolist(), strict=True)
    ]


def largest_distance(groups: GroupCounts, distance: GroundDistance) -> Fraction:
    """Return the largest distance of a group, exactly."""
    costs, unit = distance.costs(groups)
    return largest_ratio(costs, groups.sizes) / (unit * groups.population.rows)


def limit_of(t: Fraction, unit: int, rows: int) -> tuple[int, int, int, int]:
    """Return `(a, b, c, s)` so that a cost is within t where cost / 2^s, rounded up, is at most a |G| + b |G| // c.

    Every term fits into 63 bits for groups of up to `rows` rows, which is what s is for: 0 but for huge tables, where
    rounding up only ever refuses. The rest b / c is a neighbour, of denominator up to `rows`, of the one that t asks
    for, which changes no decision: |G| is such a denominator.
    """
    s = max(0, (unit * rows * rows).bit_length() - 62)
    threshold = t * unit * rows / 2**s
    whole = threshold.numerator // threshold.denominator
    rest = neighbours(threshold - whole, rows)[0]
    return whole, rest.numerator, rest.denominator, s


def smallest_group(totals: NDArray[np.int64], t: Fraction, least: Fraction) -> int:
    """Return a lower bound on the rows of a group that is t-close, where different values are at least so far apart.

    The distance is then at least `least` times the equal one. A group of g rows comes closest when each row takes the
    value that moves most: its j-th row of a value adds min(j / g, p) - min((j - 1) / g, p) to what stays in place.
    """
    rows = int(totals.sum())
    if t >= least:
        return 1
    for size in range(1, min(rows, _DISTINCT_SEARCHED) + 1):
        # In units of 1 / (size * rows).
        shares = totals[totals > 0].astype(object) * size
        full = shares // rows
        kept = int(full.sum()) * rows
        if int(full.sum()) < size:
            rest = np.sort(shares - full * rows)[::-1]
            kept += int(rest[: size - int(full.sum())].sum())
        if (size * rows - kept) * least <= t * size * rows:
            return size
    return min(rows, _DISTINCT_SEARCHED + 1)


@dataclass(frozen=True)
class EqualDistance(GroundDistance):
    """Any two different values are at distance 1: half the L1 norm of the two distributions."""

    name: ClassVar[str] = "equal"
    flag: ClassVar[str] = "equal"
    reads_values: ClassVar[bool] = False

    def costs(self, groups: GroupCounts) -> tuple[NDArray[Any], int]:  # noqa: D102
        return _summed(np.maximum(_excess(groups), 0), groups), 1

    def rule(self, table: Population, t: Fraction) -> Rule:  # noqa: D102
        rows = table.rows
        a, b, c, _ = limit_of(t, 1, rows)  # s is 0 for fewer than 2**31 rows
        return Rule(
            kind=RuleKind.CLOSE,
            a=a,
            b=b,
            c=c,
            bounds=np.concatenate(([rows], table.totals)),
            smallest=smallest_group(table.totals, t, Fraction(1)),
        )

    @property
    def is_linear(self) -> bool:  # noqa: D102
        return True

    def linear_form(self, table: Population, t: Fraction) -> LinearForm:  # noqa: D102
        # Each value's excess over its share, where it is positive: one auxiliary variable a value.
        m = len(table.totals)
        shares = shares_of(table)
        rows = [LinearRow(coefficients={m + 1 + v: 1, v: -1, m: shares[v]}) for v in range(m)]
        within = LinearRow(coefficients={m: t, **{m + 1 + v: -1 for v in range(m)}})
        return LinearForm(auxiliaries=m, rows=(*rows, within))


@dataclass(frozen=True, repr=False)
class OrderedDistance(GroundDistance):
    """Two of m values in order are at distance |i - j| / (m - 1), with i and j their places.

    m is the number of values that occur in the table's sensitive attribute. Numbers go by size, dates by time, declared
    categories as declared; two spellings of a number in text are two values. Text without an order needs one.

    Examples
    --------
    >>> OrderedDistance(["mild", "severe", "fatal"])
    OrderedDistance(order of 3 values)
    """

    order: Sequence[Any] | None = field(
        default=None,
        metadata=parameter(
            None,
            "The order of the values for --t-distance ordered, where they are text. Separated by commas.",
            flag="--t-order",
            metavar="VALUES",
            many=True,
        ),
    )
    """All values of the attribute in their order, where it has none of its own or another one is meant; it may hold
    more values than the table does. None alone stands for a missing value."""

    name: ClassVar[str] = "ordered"
    flag: ClassVar[str] = "ordered"

    def __post_init__(self) -> None:
        if self.order is None:
            return
        if isinstance(self.order, str | bytes) or not isinstance(self.order, Iterable):
            raise ParameterError.refusing(
                "OrderedDistance", "order", "a list of the values in their order", got=type(self.order).__name__
            )
        object.__setattr__(self, "order", tuple(self.order))
        twice = repeated(self.order)
        if twice is not None:
            raise ParameterError(f"The order names a value twice, as number {twice[0]} and as number {twice[1]}.")

    @property
    def names_values(self) -> bool:  # noqa: D102
        return self.order is not None

    def misfit(self, domain: Domain) -> Part | None:  # noqa: D102
        if self.order is not None:
            return missed(domain, self.order, "the order")
        if domain.ranks is None:
            return Phrase(
                "its values have no order, for they are neither numbers, nor dates, nor declared categories; name one "
                "with ",
                Suggestion("order", owner="OrderedDistance", python="OrderedDistance(order=[...])"),
                ", or take another distance",
            )
        if len(domain.ranks) and int(domain.ranks.min()) < 0:
            return Phrase(
                "a missing value has no place among the others; leave such rows out with ",
                Suggestion("missing_sensitive", "drop"),
                ", or name an order in which None has a place",
            )
        return None

    def _ranks(self, table: Population) -> NDArray[np.int64]:
        """Return the place of each code among the values that occur, in their order; -1 for those that do not."""
        domain = table.domain
        places = domain.ranks if self.order is None else places_of(domain.labels or (), self.order)
        self.check_values(domain)
        assert places is not None
        ranks = np.full(len(places), -1, dtype=np.int64)
        occurring = np.flatnonzero(table.totals > 0)
        ranks[occurring[np.argsort(places[occurring], kind="stable")]] = np.arange(len(occurring))
        return ranks

    def costs(self, groups: GroupCounts) -> tuple[NDArray[Any], int]:  # noqa: D102
        ranks = self._ranks(groups.population)
        return _path_costs(groups, ranks), max(int(ranks.max(initial=0)), 1)

    def rule(self, table: Population, t: Fraction) -> Rule:  # noqa: D102
        ranks = self._ranks(table)
        rows, unit = table.rows, max(int(ranks.max()), 1)
        a, b, c, s = limit_of(t, unit, rows)
        by_rank = table.totals[np.argsort(ranks)[np.count_nonzero(ranks < 0) :]]
        return Rule(
            kind=RuleKind.CLOSE_ORDERED,
            a=a,
            b=b,
            c=c,
            bounds=np.concatenate(([rows, s, len(by_rank)], by_rank, ranks)),
            smallest=smallest_group(table.totals, t, Fraction(1, unit)),
        )

    @property
    def is_linear(self) -> bool:  # noqa: D102
        return True

    def linear_form(self, table: Population, t: Fraction) -> LinearForm:  # noqa: D102
        # Mass is carried from one value to the next, either way; what crosses a place is the prefix sum there.
        ranks = self._ranks(table)
        places = np.argsort(ranks)[np.count_nonzero(ranks < 0) :].tolist()
        step = Fraction(1, max(len(places) - 1, 1))
        pairs = [pair for low, high in pairwise(places) for pair in ((low, high), (high, low))]
        m = len(table.totals)
        return transported(shares_of(table), [(one, other, step) for one, other in pairs], m, m, t)

    def drawing_order(self, table: Population) -> NDArray[np.integer]:  # noqa: D102
        return np.argsort(self._ranks(table), kind="stable")

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {"distance": self.name} if self.order is None else {"distance": self.name, "order": "given"}

    def __repr__(self) -> str:
        return "OrderedDistance()" if self.order is None else f"OrderedDistance(order of {len(self.order)} values)"


def missed(domain: Domain, names: Sequence[Any], what: str) -> str | None:
    """Return how many values of an attribute some names miss, as a misfit; None where they miss none."""
    if domain.labels is None:
        return "nothing is known of its values but how often they occur"
    absent = int(np.count_nonzero(places_of(domain.labels, names) < 0))
    if not absent:
        return None
    return f"{what} misses {absent} of its {len(domain.labels)} values; add them"


def _excess(groups: GroupCounts) -> NDArray[Any]:
    """Return for each entry how far its share of the group exceeds its share of the table, times |G| n."""
    rows = groups.population.rows
    counts, totals, sizes = in_range(rows * rows, groups.counts, groups.totals[groups.values], groups.sizes_by_entry)
    excess: NDArray[Any] = counts * rows - totals * sizes
    return excess


def in_range(largest: int, *arrays: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
    """Return whole numbers whose products stay below a bound: as they are where it fits, else as Python's."""
    return arrays if largest < EXACT else tuple(array.astype(object) for array in arrays)


def shares_of(table: Population) -> dict[int, Fraction]:
    """Return the share of each value in the table."""
    rows = table.rows
    return {v: Fraction(total, rows) for v, total in enumerate(table.totals.tolist())}


def _summed(entries: NDArray[Any], groups: GroupCounts) -> NDArray[Any]:
    """Return the sum of the entries of each group."""
    return np.add.reduceat(entries, groups.starts[:-1]) if len(groups.sizes) else entries[:0]


def _path_costs(groups: GroupCounts, ranks: NDArray[np.int64]) -> NDArray[Any]:
    """Return for each group the sum over i of |prefix sum up to rank i of c(v) n - T(v) |G||.

    From one value of a group to its next one the group's prefix sum stays, while the table's grows: their difference
    changes its sign at most once, at a place that a binary search finds.
    """
    if not len(groups.sizes):
        return groups.sizes
    rows, values = groups.population.rows, int(np.count_nonzero(groups.totals))
    places, counts = _in_order(groups, ranks[groups.values])
    by_rank = np.argsort(ranks)[np.count_nonzero(ranks < 0) :]
    below = np.cumsum(groups.totals[by_rank])
    sums = np.concatenate(([0], np.cumsum(below)))
    first, sizes = groups.starts[:-1], groups.sizes_by_entry
    running = np.cumsum(counts)
    inside = running - np.repeat(running[first] - counts[first], groups.distinct)
    following = np.append(places[1:], values - 1)
    following[groups.starts[1:] - 1] = values - 1
    (wide,) = in_range(rows * rows, inside)
    turn = np.clip(np.searchsorted(below, (wide * rows // sizes).astype(np.int64), side="right"), places, following)
    inside, sizes, sums = in_range(rows * rows * values, inside, sizes, sums)
    level = inside * rows
    entries = (turn - places) * level - sizes * (sums[turn] - sums[places])
    entries += sizes * (sums[following] - sums[turn]) - (following - turn) * level
    return _summed(entries, groups) + sizes[first] * sums[places[first]]


def _in_order(groups: GroupCounts, places: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places and counts of all entries, those of each group in the order of their places."""
    falls = places[1:] < places[:-1]
    falls[groups.starts[1:-1] - 1] = False
    if not falls.any():
        return places, groups.counts
    group = np.repeat(np.arange(len(groups.sizes)), groups.distinct)
    order = np.lexsort((places, group))
    return places[order], groups.counts[order]
