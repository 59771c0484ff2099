"""Ground distances between sensitive values, and the earth mover's distance that they induce.

The earth mover's distance of a group G from the table is the cost of the cheapest transport of one distribution into
the other. In multiples of 1 / (unit * |G| * n) it is an integer for every ground distance of this package, and is
computed as one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal._core.validation import parameter
from shoal._messages import Part, Phrase, Suggestion
from shoal.errors import ParameterError
from shoal.models.base import GroupCounts, Rule, RuleKind
from shoal.models.domain import Domain
from shoal.models.linear import LinearForm, LinearRow, transport_form
from shoal.models.naming import find_repeated, places_of
from shoal.models.population import Population
from shoal.models.rationals import largest_ratio, neighbours

EXACT = 2**62
"""Bound below which integers stay in 64-bit arithmetic."""
_DISTINCT_SEARCHED = 64
"""Largest group size that `smallest_group` tries; a sharper bound than that is not needed."""


class GroundDistance(ABC):
    """A distance between sensitive values, at most 1, with its earth mover's distance.

    A ground distance is a value: frozen and comparable, with a `repr` that contains no sensitive value.
    """

    name: ClassVar[str]
    """Name in certificates."""
    flag: ClassVar[str] = ""
    """Argument of --t-distance that selects the distance; empty if there is none."""
    reads_values: ClassVar[bool] = True
    """Whether the distance depends on the values themselves."""

    @property
    def names_values(self) -> bool:
        """Whether the parameters of the distance name sensitive values."""
        return self.reads_values

    def misfit(self, domain: Domain) -> Part | None:
        """Explain why the distance is not defined for these values, to follow a colon; None if it is."""
        return None

    def check_values(self, domain: Domain) -> None:
        """Check that the distance is defined for these values.

        Raises
        ------
        ParameterError
            If it is not; the message gives the reason.
        """
        reason = self.misfit(domain)
        if reason is not None:
            raise ParameterError(f"{self!r} does not apply to these values: ", reason, ".")

    @abstractmethod
    def costs(self, groups: GroupCounts) -> tuple[NDArray[Any], int]:
        """Compute an integer cost for each group, and the unit of the costs.

        The earth mover's distance of a group is cost / (unit * |G| * n). The costs are 64-bit integers if they fit,
        otherwise Python integers. The distance must be defined for the values (see `misfit`).
        """

    @abstractmethod
    def rule(self, table: Population, t: Fraction) -> Rule:
        """Compile the condition "the distance is at most t" into a clause that is never weaker."""

    @property
    def is_linear(self) -> bool:
        """Whether `linear_form` can express the distance."""
        return False

    def linear_form(self, table: Population, t: Fraction) -> LinearForm | None:
        """Express "the distance is at most t" as linear inequalities, or return None if it is not linear."""
        return None

    def drawing_order(self, table: Population) -> NDArray[np.integer] | None:
        """Order all codes so that close values are adjacent; None if all distances are equal."""
        return None

    def to_dict(self) -> dict[str, Any]:
        """Serialize the distance as in a certificate, without any value."""
        return {"distance": self.name}


def distances(groups: GroupCounts, distance: GroundDistance) -> list[Fraction]:
    """Compute the exact earth mover's distance of each group from the table.

    Parameters
    ----------
    groups : GroupCounts
        Counts of the groups, and of the table they belong to.
    distance : GroundDistance
        Ground distance between two values.

    Returns
    -------
    list of Fraction
        One distance per group, from 0 to 1.

    Examples
    --------
    >>> from shoal.models.population import Population
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
    # Exact division, because callers compare these numbers with t.
    costs, unit = distance.costs(groups)
    rows = groups.population.rows
    return [
        Fraction(cost, unit * size * rows) for cost, size in zip(costs.tolist(), groups.sizes.tolist(), strict=True)
    ]


def largest_distance(groups: GroupCounts, distance: GroundDistance) -> Fraction:
    """Compute the largest earth mover's distance of any group, exactly."""
    # The common factors of all groups are divided out once.
    costs, unit = distance.costs(groups)
    return largest_ratio(costs, groups.sizes) / (unit * groups.population.rows)


def compile_limit(t: Fraction, unit: int, rows: int) -> tuple[int, int, int, int]:
    """Return `(a, b, c, s)` such that a cost is within t if cost / 2^s, rounded up, is at most a |G| + b |G| // c.

    All terms fit into 63 bits for groups of up to `rows` rows. To achieve this, s is above 0 for huge tables, and
    rounding up then only refuses groups. The remainder b / c is replaced by a neighbour with a denominator of at most
    `rows`; this changes no decision, because |G| is such a denominator.
    """
    s = max(0, (unit * rows * rows).bit_length() - 62)
    threshold = t * unit * rows / 2**s
    # The integer part applies to every group; the fractional part is rounded to a neighbour.
    whole = threshold.numerator // threshold.denominator
    rest = neighbours(threshold - whole, rows)[0]
    return whole, rest.numerator, rest.denominator, s


def smallest_group(totals: NDArray[np.int64], t: Fraction, least: Fraction) -> int:
    """Return a lower bound on the size of a t-close group if any two distinct values are at least `least` apart.

    The distance is then at least `least` times the equal distance. A group of g rows is closest to the table if each
    row takes the value that keeps the most mass in place: the j-th row of a value keeps min(j / g, p) - min((j - 1) /
    g, p).
    """
    rows = int(totals.sum())
    if t >= least:
        return 1
    for size in range(1, min(rows, _DISTINCT_SEARCHED) + 1):
        # All masses are integers in multiples of 1 / (size * rows).
        shares = totals[totals > 0].astype(object) * size
        full = shares // rows
        kept = int(full.sum()) * rows
        if int(full.sum()) < size:
            # Rows that are left over go to the values with the largest fractional shares.
            rest = np.sort(shares - full * rows)[::-1]
            kept += int(rest[: size - int(full.sum())].sum())
        if (size * rows - kept) * least <= t * size * rows:
            return size
    return min(rows, _DISTINCT_SEARCHED + 1)


@dataclass(frozen=True)
class EqualDistance(GroundDistance):
    """The equal distance: 1 between any two distinct values, which yields half the L1 norm of two distributions.

    Examples
    --------
    >>> EqualDistance()
    EqualDistance()
    """

    name: ClassVar[str] = "equal"
    flag: ClassVar[str] = "equal"
    reads_values: ClassVar[bool] = False

    def costs(self, groups: GroupCounts) -> tuple[NDArray[Any], int]:  # noqa: D102
        return _sum_by_group(np.maximum(_excess(groups), 0), groups), 1

    def rule(self, table: Population, t: Fraction) -> Rule:  # noqa: D102
        rows = table.rows
        a, b, c, _ = compile_limit(t, 1, rows)  # s is 0 for fewer than 2**31 rows
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
        # One auxiliary variable per value bounds the positive part of its excess over its share.
        m = len(table.totals)
        shares = shares_of(table)
        rows = [LinearRow(coefficients={m + 1 + v: 1, v: -1, m: shares[v]}) for v in range(m)]
        within = LinearRow(coefficients={m: t, **{m + 1 + v: -1 for v in range(m)}})
        return LinearForm(auxiliaries=m, rows=(*rows, within))


@dataclass(frozen=True, repr=False)
class OrderedDistance(GroundDistance):
    """The ordered distance: |i - j| / (m - 1) between the i-th and the j-th of m ordered values.

    m is the number of values that occur in the table's sensitive attribute. Numbers are ordered by size, dates by time,
    and declared categories as declared. Text has no order by default; two spellings of a number in text are two values.

    Examples
    --------
    >>> OrderedDistance(["mild", "severe", "fatal"])
    OrderedDistance(order of 3 values)
    """

    order: Sequence[Any] | None = field(
        default=None,
        metadata=parameter(
            None,
            "The order of the values for --t-distance ordered, if they are text. Separated by commas.",
            flag="--t-order",
            metavar="VALUES",
            many=True,
        ),
    )
    """All values of the attribute in order, if it has no natural order or another order is preferred. The list may
    contain values that do not occur in the table. None alone denotes a missing value."""

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
        # A repeated value would have two ranks.
        twice = find_repeated(self.order)
        if twice is not None:
            raise ParameterError(f"The order names a value twice, as number {twice[0]} and as number {twice[1]}.")

    @property
    def names_values(self) -> bool:  # noqa: D102
        return self.order is not None

    def misfit(self, domain: Domain) -> Part | None:  # noqa: D102
        # An explicit order must contain every value; a natural order must exist.
        if self.order is not None:
            return describe_missing(domain, self.order, "the order")
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
        """Rank each code among the values that occur; -1 for codes that do not occur."""
        domain = table.domain
        places = domain.ranks if self.order is None else places_of(domain.labels or (), self.order)
        self.check_values(domain)
        assert places is not None
        # Ranks skip values that do not occur, so that m is the number of occurring values.
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
        a, b, c, s = compile_limit(t, unit, rows)
        # Totals of the occurring values in the order of their ranks.
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
        # Mass flows between adjacent values in both directions; the flow across a gap is the prefix sum there.
        ranks = self._ranks(table)
        places = np.argsort(ranks)[np.count_nonzero(ranks < 0) :].tolist()
        step = Fraction(1, max(len(places) - 1, 1))
        pairs = [pair for low, high in pairwise(places) for pair in ((low, high), (high, low))]
        m = len(table.totals)
        return transport_form(shares_of(table), [(one, other, step) for one, other in pairs], m, m, t)

    def drawing_order(self, table: Population) -> NDArray[np.integer]:  # noqa: D102
        return np.argsort(self._ranks(table), kind="stable")

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {"distance": self.name} if self.order is None else {"distance": self.name, "order": "given"}

    def __repr__(self) -> str:
        return "OrderedDistance()" if self.order is None else f"OrderedDistance(order of {len(self.order)} values)"


def describe_missing(domain: Domain, names: Sequence[Any], what: str) -> str | None:
    """Describe how many values of an attribute a list of names lacks, as a misfit; None if it is complete."""
    # Counts without labels, as in tests or in streamed tables.
    if domain.labels is None:
        return "only the frequencies of its values are known"
    absent = int(np.count_nonzero(places_of(domain.labels, names) < 0))
    if not absent:
        return None
    return f"{what} misses {absent} of its {len(domain.labels)} values; add them"


def _excess(groups: GroupCounts) -> NDArray[Any]:
    """Compute the excess of each entry's share of the group over its share of the table, times |G| n."""
    rows = groups.population.rows
    counts, totals, sizes = promote(rows * rows, groups.counts, groups.totals[groups.values], groups.sizes_by_entry)
    excess: NDArray[Any] = counts * rows - totals * sizes
    return excess


def promote(largest: int, *arrays: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
    """Return the arrays unchanged if products up to `largest` fit into 64 bits, otherwise as Python integers."""
    return arrays if largest < EXACT else tuple(array.astype(object) for array in arrays)


def shares_of(table: Population) -> dict[int, Fraction]:
    """Return the share of each value in the table."""
    rows = table.rows
    return {v: Fraction(total, rows) for v, total in enumerate(table.totals.tolist())}


def _sum_by_group(entries: NDArray[Any], groups: GroupCounts) -> NDArray[Any]:
    """Sum the entries of each group."""
    return np.add.reduceat(entries, groups.starts[:-1]) if len(groups.sizes) else entries[:0]


def _path_costs(groups: GroupCounts, ranks: NDArray[np.int64]) -> NDArray[Any]:
    """Compute, for each group, the sum over i of |prefix sum up to rank i of c(v) n - T(v) |G||.

    Between two consecutive values of a group, the group's prefix sum is constant while the table's grows. Their
    difference changes sign at most once, at a rank found by binary search.
    """
    if not len(groups.sizes):
        return groups.sizes
    rows, values = groups.population.rows, int(np.count_nonzero(groups.totals))
    places, counts = _in_order(groups, ranks[groups.values])
    by_rank = np.argsort(ranks)[np.count_nonzero(ranks < 0) :]
    # Prefix sums of the table's counts, and prefix sums of these.
    below = np.cumsum(groups.totals[by_rank])
    sums = np.concatenate(([0], np.cumsum(below)))
    first, sizes = groups.starts[:-1], groups.sizes_by_entry
    # Prefix sums of the counts within each group.
    running = np.cumsum(counts)
    inside = running - np.repeat(running[first] - counts[first], groups.distinct)
    # Rank of the group's next value; the last value extends to the end.
    following = np.append(places[1:], values - 1)
    following[groups.starts[1:] - 1] = values - 1
    # Rank at which the difference changes sign.
    (wide,) = promote(rows * rows, inside)
    turn = np.clip(np.searchsorted(below, (wide * rows // sizes).astype(np.int64), side="right"), places, following)
    inside, sizes, sums = promote(rows * rows * values, inside, sizes, sums)
    # Differences up to the sign change are positive, those after it negative.
    level = inside * rows
    entries = (turn - places) * level - sizes * (sums[turn] - sums[places])
    entries += sizes * (sums[following] - sums[turn]) - (following - turn) * level
    # Below the first value of a group its prefix sum is 0.
    return _sum_by_group(entries, groups) + sizes[first] * sums[places[first]]


def _in_order(groups: GroupCounts, places: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sort the entries of each group by rank; return their ranks and counts."""
    falls = places[1:] < places[:-1]
    # A decrease from one group to the next does not matter.
    falls[groups.starts[1:-1] - 1] = False
    if not falls.any():
        return places, groups.counts
    group = np.repeat(np.arange(len(groups.sizes)), groups.distinct)
    order = np.lexsort((places, group))
    return places[order], groups.counts[order]
