"""Models that require large groups: k-anonymity, and variants with one more condition."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal._core.validation import Integer, RationalIn, exact_fraction, parameter, validate_declared
from shoal._messages import Part
from shoal.models.base import GroupCounts, GroupModel, Rule, RuleKind
from shoal.models.domain import Domain
from shoal.models.linear import LinearForm, LinearRow
from shoal.models.population import Population
from shoal.models.rationals import at_most, json_number, neighbours, round_up

_K = parameter(Integer(low=1), "Every group has at least k records.", flag="-k", metavar="NUMBER")


def _size_rule(k: int, table: Population) -> Rule:
    # A k above the number of rows refuses every group. It is capped, so that it fits into 64 bits.
    return Rule(kind=RuleKind.SIZE, a=min(k, table.rows + 1))


def _size_row(k: int, table: Population) -> LinearRow:
    return LinearRow(coefficients={len(table.totals): 1}, constant=min(k, table.rows + 1))


def _largest_k(table: Population) -> str:
    # Singular and plural are texts of their own.
    rows = table.rows
    if rows == 1:
        return "the table has 1 row, so k can be at most 1"
    return f"the table has {rows} rows, so k can be at most {rows}"


@dataclass(frozen=True, repr=False)
class KAnonymity(GroupModel):
    """k-anonymity: every group has at least k rows.

    References
    ----------
    L. Sweeney, "k-anonymity: a model for protecting privacy", IJUFKS 10(5), 2002. doi:10.1142/S0218488502001648

    Examples
    --------
    >>> KAnonymity(10)
    KAnonymity(10)
    """

    k: int = field(metadata=_K)
    """Smallest number of rows of a group, >= 1."""

    name: ClassVar[str] = "k-anonymity"
    needs_sensitive: ClassVar[bool] = False

    def __post_init__(self) -> None:
        validate_declared("KAnonymity", self)

    def acceptable(self, groups: GroupCounts) -> NDArray[np.bool_]:  # noqa: D102
        return at_most(np.ones_like(groups.sizes), int(self.k), groups.sizes, 1)

    def rules(self, table: Population) -> tuple[Rule, ...]:  # noqa: D102
        return (_size_rule(int(self.k), table),)

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {"model": self.name, "k": int(self.k)}

    def best_feasible(self, table: Population) -> str:  # noqa: D102
        return _largest_k(table)

    def frequency_form(self) -> tuple[int, Fraction] | None:  # noqa: D102
        return int(self.k), Fraction(1)

    @property
    def is_linear(self) -> bool:  # noqa: D102
        return True

    def linear_form(self, table: Population) -> LinearForm:  # noqa: D102
        return LinearForm(rows=(_size_row(int(self.k), table),))


@dataclass(frozen=True, repr=False)
class AlphaKAnonymity(GroupModel):
    """(alpha, k)-anonymity: groups of at least k rows, in which no sensitive value has a share above alpha.

    References
    ----------
    R. C.-W. Wong, J. Li, A. W.-C. Fu, K. Wang, "(alpha, k)-anonymity", KDD 2006. doi:10.1145/1150402.1150499

    Examples
    --------
    >>> AlphaKAnonymity(0.5, 4)
    AlphaKAnonymity(alpha=0.5, k=4)
    """

    alpha: Real | float = field(
        metadata=parameter(
            RationalIn(low=Fraction(0), high=Fraction(1), low_included=False),
            "(alpha, k)-anonymity, with -k: the largest share of one value in a group.",
            flag="--alpha",
            metavar="NUMBER",
        )
    )
    """Largest share of a group with the same sensitive value, > 0 and <= 1; a float denotes its decimal number."""
    k: int = field(metadata=_K)
    """Smallest number of rows of a group, >= 1."""

    name: ClassVar[str] = "(alpha, k)-anonymity"

    def __post_init__(self) -> None:
        validate_declared("AlphaKAnonymity", self)

    @property
    def _share(self) -> Fraction:
        return exact_fraction(self.alpha)

    def acceptable(self, groups: GroupCounts) -> NDArray[np.bool_]:  # noqa: D102
        share = self._share
        # h(G) / |G| <= alpha, without a division.
        rare = at_most(groups.heights, share.denominator, groups.sizes, share.numerator)
        return rare & KAnonymity(self.k).acceptable(groups)

    def rules(self, table: Population) -> tuple[Rule, ...]:  # noqa: D102
        # The closest share of denominator up to n gives the same decisions with small integers.
        share = neighbours(self._share, table.rows)[0]
        frequency = Rule(kind=RuleKind.FREQUENCY, a=share.denominator, b=share.numerator)
        return _size_rule(int(self.k), table), frequency

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {"model": self.name, "alpha": json_number(self.alpha), "k": int(self.k)}

    def best_feasible(self, table: Population) -> str:  # noqa: D102
        smallest = round_up(Fraction(table.height, table.rows), 4)
        return f"{_largest_k(table)}, and the smallest feasible alpha is {smallest}"

    def frequency_form(self) -> tuple[int, Fraction] | None:  # noqa: D102
        return int(self.k), 1 / self._share

    @property
    def is_linear(self) -> bool:  # noqa: D102
        return True

    def linear_form(self, table: Population) -> LinearForm:  # noqa: D102
        return LinearForm(rows=(_size_row(int(self.k), table), *rare_rows(self._share, table)))

    def necessary_distinct(self) -> int:  # noqa: D102
        return math.ceil(1 / self._share)


@dataclass(frozen=True, repr=False)
class KEAnonymity(GroupModel):
    """(k, e)-anonymity: groups of at least k rows, whose sensitive numbers have a range of at least e.

    A missing sensitive value counts as a row, but not as a number.

    References
    ----------
    Q. Zhang, N. Koudas, D. Srivastava, T. Yu, "Aggregate query answering on anonymized tables", ICDE 2007.
    doi:10.1109/ICDE.2007.367857

    Examples
    --------
    >>> KEAnonymity(5, 1000)
    KEAnonymity(k=5, e=1000)
    """

    k: int = field(metadata=_K)
    """Smallest number of rows of a group, >= 1."""
    e: Real | float = field(
        metadata=parameter(
            RationalIn(low=Fraction(0)),
            "(k, e)-anonymity, with -k: the smallest allowed range of a numeric attribute in a group.",
            flag="--e",
            metavar="NUMBER",
        )
    )
    """Smallest allowed range of a group's numbers, >= 0; a float denotes its decimal number."""

    name: ClassVar[str] = "(k, e)-anonymity"

    def __post_init__(self) -> None:
        validate_declared("KEAnonymity", self)

    @property
    def _distance(self) -> Fraction:
        return exact_fraction(self.e)

    @property
    def reads_values(self) -> bool:  # noqa: D102
        return True

    def misfit(self, domain: Domain) -> Part | None:  # noqa: D102
        return "it needs a numeric sensitive attribute" if domain.numbers is None else None

    def _numbers(self, table: Population) -> tuple[Fraction | None, ...]:
        self.check_values(table.domain)
        return table.numbers or ()

    def acceptable(self, groups: GroupCounts) -> NDArray[np.bool_]:  # noqa: D102
        if not len(groups.sizes):
            return np.zeros(0, dtype=np.bool_)
        numbers = self._numbers(groups.population)
        present = np.array([number is not None for number in numbers], dtype=np.bool_)
        whole, distance = _rescale([number or Fraction(0) for number in numbers], self._distance)
        # Rank of each code by its number. Missing values get a rank beyond either end, so that they never decide.
        order = np.argsort(whole, kind="stable")
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        counts = present[groups.values]
        least = np.minimum.reduceat(np.where(counts, place[groups.values], len(order)), groups.starts[:-1])
        most = np.maximum.reduceat(np.where(counts, place[groups.values], -1), groups.starts[:-1])
        # Only groups with at least one number have a range.
        some = most >= 0
        spread = whole[order[most[some]]] - whole[order[least[some]]]
        apart = np.zeros(len(groups.sizes), dtype=np.bool_)
        apart[some] = (spread >= distance).astype(np.bool_)
        return apart & KAnonymity(self.k).acceptable(groups)

    def rules(self, table: Population) -> tuple[Rule, ...]:  # noqa: D102
        numbers = [number for number in self._numbers(table) if number is not None]
        whole, distance = _rescale(numbers, self._distance)
        bounds = np.searchsorted(whole, whole + distance).astype(np.int64)
        # For each code, the smallest code that is at least e above it. The bound is len(numbers), which no code
        # reaches, if the table has no such number.
        return _size_rule(int(self.k), table), Rule(kind=RuleKind.SPREAD, a=len(numbers), bounds=bounds)

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {"model": self.name, "k": int(self.k), "e": json_number(self.e)}

    def best_feasible(self, table: Population) -> str:  # noqa: D102
        numbers = [number for number in self._numbers(table) if number is not None]
        if not numbers:
            return f"{_largest_k(table)}, and no e is feasible because all sensitive values are missing"
        return f"{_largest_k(table)}, and e at most {json_number(max(numbers) - min(numbers))}"

    def necessary_distinct(self) -> int:  # noqa: D102
        return 2 if self._distance > 0 else 1

    @property
    def is_linear(self) -> bool:  # noqa: D102
        return True

    def linear_form(self, table: Population) -> LinearForm:  # noqa: D102
        # Binary variables mark a low and a high value of the group. At least one low value is marked, and each marked
        # low value requires a marked high value that is at least e above it.
        numbers = self._numbers(table)
        m = len(numbers)
        present = [v for v, number in enumerate(numbers) if number is not None]
        low = {v: m + 1 + place for place, v in enumerate(present)}
        high = {v: m + 1 + len(present) + place for place, v in enumerate(present)}
        rows = [_size_row(int(self.k), table), LinearRow(coefficients=dict.fromkeys(low.values(), 1), constant=1)]
        for v in present:
            # A value can be marked only if it occurs in the group.
            rows += [LinearRow(coefficients={v: 1, chosen[v]: -1}) for chosen in (low, high)]
            far = [w for w in present if numbers[w] - numbers[v] >= self._distance]  # type: ignore[operator]
            rows.append(LinearRow(coefficients={low[v]: -1, **{high[w]: 1 for w in far}}))
        return LinearForm(auxiliaries=2 * len(present), binary=True, rows=tuple(rows))


def rare_rows(share: Fraction, table: Population) -> tuple[LinearRow, ...]:
    """Build the linear rows for "no value has more than a share of the group"."""
    size = len(table.totals)
    return tuple(LinearRow(coefficients={v: -1, size: share}) for v in range(size))


def _rescale(numbers: list[Fraction], distance: Fraction) -> tuple[NDArray[Any], int]:
    """Convert numbers and a distance to integer multiples of a common unit.

    The numbers are 64-bit integers if they fit, otherwise Python integers.
    """
    unit = math.lcm(distance.denominator, *{number.denominator for number in numbers})
    whole = [number.numerator * (unit // number.denominator) for number in numbers]
    span = int(distance * unit)
    # A margin of two bits, so that differences of two numbers do not overflow.
    fits = max(abs(min(whole, default=0)), abs(max(whole, default=0)), span) < 2**61
    return np.array(whole, dtype=np.int64 if fits else object), span


@dataclass(frozen=True, repr=False)
class MUniqueness(GroupModel):
    """m-uniqueness: every group has at least m rows, whose sensitive values are all distinct.

    The model is not monotone, because the union of two such groups may repeat a value.

    References
    ----------
    X. Xiao, Y. Tao, "m-invariance: towards privacy preserving re-publication of dynamic datasets", SIGMOD 2007,
    Definition 4. doi:10.1145/1247480.1247556

    Examples
    --------
    >>> MUniqueness(3)
    MUniqueness(3)
    """

    m: int = field(metadata=parameter(Integer(low=1), "Rows that every group has at least."))
    """Smallest number of rows of a group, >= 1."""

    name: ClassVar[str] = "m-uniqueness"
    monotone: ClassVar[bool] = False

    def __post_init__(self) -> None:
        validate_declared("MUniqueness", self)

    def acceptable(self, groups: GroupCounts) -> NDArray[np.bool_]:  # noqa: D102
        differ: NDArray[np.bool_] = groups.heights <= 1
        return differ & KAnonymity(self.m).acceptable(groups)

    def rules(self, table: Population) -> tuple[Rule, ...]:  # noqa: D102
        return _size_rule(int(self.m), table), Rule(kind=RuleKind.HEIGHT, a=1)

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {"model": self.name, "m": int(self.m)}

    def best_feasible(self, table: Population) -> str:  # noqa: D102
        return f"the largest feasible m is {table.rows // table.height}"

    def necessary_distinct(self) -> int:  # noqa: D102
        return int(self.m)
