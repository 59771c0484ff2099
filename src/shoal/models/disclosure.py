"""Models that compare the share of each sensitive value in a group with its share in the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal._core.validation import (
    OneOf,
    RationalIn,
    exact_fraction,
    parameter,
    validate_declared,
)
from shoal.models.base import GroupCounts, GroupModel, Rule, RuleKind
from shoal.models.linear import LinearForm, LinearRow
from shoal.models.population import Population
from shoal.models.rationals import exponential, json_number, logarithm, neighbours

SHARE_SCALE = 2**31
"""Unit of the compiled bounds on shares, equal to the constant in `shoal.algorithms.common.predicate_kernel`."""


@dataclass(frozen=True, repr=False)
class BetaLikeness(GroupModel):
    """beta-likeness: an adversary's confidence in any sensitive value grows by a factor of at most 1 + beta.

    Let p be the share of a value in the table and q > p its share in the group. The basic variant requires (q - p) / p
    <= beta, the enhanced variant (q - p) / p <= min(beta, -ln p), so that a frequent value does not become certain. The
    logarithm is replaced by a lower bound, so that rounding can only refuse groups.

    References
    ----------
    J. Cao, P. Karras, "Publishing microdata with a robust privacy guarantee", PVLDB 5(11), 2012, Definitions 2 and 3.
    doi:10.14778/2350229.2350255

    Examples
    --------
    >>> BetaLikeness(2, variant="enhanced")
    BetaLikeness(2, variant='enhanced')
    """

    beta: Real | float = field(
        metadata=parameter(
            RationalIn(low=Fraction(0), low_included=False),
            "beta-likeness: the largest relative gain of confidence in a value.",
            flag="--beta",
            metavar="NUMBER",
        )
    )
    """Largest allowed relative gain, > 0; a float denotes its decimal number."""
    variant: str = field(
        default="basic",
        kw_only=True,
        metadata=parameter(
            OneOf(("basic", "enhanced")),
            "The variant of beta-likeness.",
            flag="--beta-variant",
            metavar="basic|enhanced",
        ),
    )
    """Variant of the definition, "basic" or "enhanced"."""

    name: ClassVar[str] = "beta-likeness"
    compares_with_table: ClassVar[bool] = True

    def __post_init__(self) -> None:
        validate_declared("BetaLikeness", self)

    def _largest_share(self, share: Fraction) -> Fraction:
        """Bound the share in a group of a value with this share in the table."""
        # The lower bound on -ln p keeps the share rational, and can only make the bound stricter.
        gain = exact_fraction(self.beta)
        if self.variant == "enhanced":
            gain = min(gain, max(Fraction(0), logarithm(1 / share)[0]))
        return min(Fraction(1), (1 + gain) * share)

    def acceptable(self, groups: GroupCounts) -> NDArray[np.bool_]:  # noqa: D102
        top, bottom = _by_value(groups.population, lambda share, rows: neighbours(self._largest_share(share), rows)[0])
        # c(v) / |G| <= bound, by cross-multiplication.
        holds = groups.counts * bottom[groups.values] <= top[groups.values] * groups.sizes_by_entry
        return _all_entries(groups, holds)

    def rules(self, table: Population) -> tuple[Rule, ...]:  # noqa: D102
        bounds = _by_value(
            table, lambda share, rows: upper_bound(neighbours(self._largest_share(share), rows)[0], rows)
        )
        return (Rule(kind=RuleKind.SHARE, bounds=bounds[0].astype(np.int64)),)

    def share_limits(self, share: Fraction) -> tuple[Fraction, Fraction] | None:  # noqa: D102
        # Only gains of confidence are bounded, so a value may be absent from a group.
        return Fraction(0), self._largest_share(share) if share else Fraction(0)

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {"model": self.name, "variant": self.variant, "beta": json_number(self.beta)}

    def best_feasible(self, table: Population) -> str:  # noqa: D102
        return "the whole table as one group meets every beta"

    @property
    def is_linear(self) -> bool:  # noqa: D102
        return True

    def linear_form(self, table: Population) -> LinearForm:  # noqa: D102
        bounds = _by_value(table, lambda share, rows: neighbours(self._largest_share(share), rows)[0])
        return LinearForm(rows=_share_rows(bounds, 1))


@dataclass(frozen=True, repr=False)
class DeltaDisclosure(GroupModel):
    """delta-disclosure privacy: a group changes the probability of every value by a factor of less than 2^delta.

    For every value of the table, with share p in the table and share q in the group, |log2(q / p)| < delta. Hence every
    value occurs in every group. Powers of two are replaced by bounds, so that rounding can only refuse groups.

    References
    ----------
    J. Brickell, V. Shmatikov, "The cost of privacy: destruction of data-mining utility in anonymized data publishing",
    KDD 2008, Definition 3. doi:10.1145/1401890.1401904

    Notes
    -----
    The paper leaves the base of the logarithm open. Base 2 is the stricter reading: a release that satisfies it also
    satisfies the same delta in natural logarithms.

    Examples
    --------
    >>> DeltaDisclosure(1.5)
    DeltaDisclosure(1.5)
    """

    delta: Real | float = field(
        metadata=parameter(
            RationalIn(low=Fraction(0), low_included=False),
            "delta-disclosure privacy: the largest log-ratio of a value's shares in a group and in the table.",
            flag="--delta",
            metavar="NUMBER",
        )
    )
    """Exclusive bound on the logarithm of the factor, > 0; a float denotes its decimal number."""

    name: ClassVar[str] = "delta-disclosure"
    compares_with_table: ClassVar[bool] = True

    def __post_init__(self) -> None:
        validate_declared("DeltaDisclosure", self)

    def _largest_share(self, share: Fraction, rows: int) -> Fraction:
        # 2^64 times any share of a table exceeds 1, so any larger delta is equivalent to 64.
        power = exponential(2, min(exact_fraction(self.delta), Fraction(64)))[0]
        return min(Fraction(1), _next_below(share * power, rows))

    def _smallest_share(self, share: Fraction, rows: int) -> Fraction:
        # The strict inequality becomes a weak one at the next share that a group can have.
        power = exponential(2, min(exact_fraction(self.delta), Fraction(64)))[0]
        return _next_above(share / power, rows)

    def acceptable(self, groups: GroupCounts) -> NDArray[np.bool_]:  # noqa: D102
        # Upper bounds on the shares of the values that occur.
        top, bottom = _by_value(groups.population, self._largest_share)
        counts, values, sizes = groups.counts, groups.values, groups.sizes_by_entry
        holds = counts * bottom[values] <= top[values] * sizes
        # Lower bounds, which apply to all values of the table: a group that lacks a value is refused below.
        top, bottom = _by_value(groups.population, self._smallest_share)
        holds &= counts * bottom[values] >= top[values] * sizes
        complete: NDArray[np.bool_] = groups.distinct == groups.population.distinct
        return _all_entries(groups, holds) & complete

    def rules(self, table: Population) -> tuple[Rule, ...]:  # noqa: D102
        # One clause bounds the shares from above, the other one from below.
        upper, _ = _by_value(table, lambda share, rows: upper_bound(self._largest_share(share, rows), rows))
        lower, _ = _by_value(table, lambda share, rows: _lower_bound(self._smallest_share(share, rows), rows))
        return (
            Rule(kind=RuleKind.SHARE, bounds=upper.astype(np.int64)),
            Rule(kind=RuleKind.PRESENCE, bounds=lower.astype(np.int64)),
        )

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {"model": self.name, "delta": json_number(self.delta)}

    def best_feasible(self, table: Population) -> str:  # noqa: D102
        return "the whole table as one group meets every delta"

    @property
    def is_linear(self) -> bool:  # noqa: D102
        return True

    def linear_form(self, table: Population) -> LinearForm:  # noqa: D102
        # The lower bounds are positive, so they also require that every value occurs.
        above = _share_rows(_by_value(table, self._largest_share), 1)
        below = _share_rows(_by_value(table, self._smallest_share), -1)
        return LinearForm(rows=above + below)


def _by_value(table: Population, threshold: Callable[[Fraction, int], Fraction]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Compute a threshold for each value from its share and the number of rows.

    Values with equal frequencies share a threshold, so that few thresholds are computed.

    Returns
    -------
    tuple of arrays
        Numerators and denominators of the thresholds, one per value.
    """
    rows = table.rows
    frequencies, which = np.unique(table.totals, return_inverse=True)
    thresholds = [threshold(Fraction(total, rows), rows) if total else Fraction(0) for total in frequencies.tolist()]
    # Denominators are at most n, so products with counts fit into 64 bits if n < 2^31.
    fits = np.int64 if rows < 2**31 else object
    numerators = np.array([bound.numerator for bound in thresholds], dtype=fits)
    denominators = np.array([bound.denominator for bound in thresholds], dtype=fits)
    return numerators[which], denominators[which]


def _share_rows(bounds: tuple[NDArray[Any], NDArray[Any]], sign: int) -> tuple[LinearRow, ...]:
    """Build the linear rows that bound each value's share of a group, from above (sign 1) or from below (-1)."""
    # sign * (share * |G| - c(v)) >= 0 for each value v.
    shares = [Fraction(top, bottom) for top, bottom in zip(*(part.tolist() for part in bounds), strict=True)]
    size = len(shares)
    return tuple(LinearRow(coefficients={v: -sign, size: sign * share}) for v, share in enumerate(shares))


def _all_entries(groups: GroupCounts, holds: NDArray[Any]) -> NDArray[np.bool_]:
    """Test if a condition holds for all entries of each group."""
    # `reduceat` does not accept empty input.
    if not len(groups.sizes):
        return np.zeros(0, dtype=np.bool_)
    every: NDArray[np.bool_] = np.logical_and.reduceat(holds.astype(np.bool_), groups.starts[:-1])
    return every


def _next_below(threshold: Fraction, rows: int) -> Fraction:
    """Return the largest fraction strictly below a threshold, with a denominator of at most `rows`."""
    # Such fractions differ from each other and from the threshold by at least this amount.
    return neighbours(max(Fraction(0), threshold - Fraction(1, 2 * rows * threshold.denominator)), rows)[0]


def _next_above(threshold: Fraction, rows: int) -> Fraction:
    """Return the smallest fraction strictly above a threshold, with a denominator of at most `rows`."""
    return neighbours(threshold + Fraction(1, 2 * rows * threshold.denominator), rows)[1]


def upper_bound(share: Fraction, rows: int) -> Fraction:
    """Convert an upper bound on a share to the compiled scale, rounding down if that is too coarse for equivalence."""
    # Rounding up is safe only if no fraction of denominator up to n lies between.
    up = -(-share.numerator * SHARE_SCALE // share.denominator)
    same = neighbours(Fraction(up, SHARE_SCALE), rows)[0] == share
    return Fraction(up if same else share.numerator * SHARE_SCALE // share.denominator)


def _lower_bound(share: Fraction, rows: int) -> Fraction:
    """Convert a lower bound on a share to the compiled scale, rounding up if that is too coarse for equivalence."""
    # Rounding down is safe only if no fraction of denominator up to n lies between.
    down = share.numerator * SHARE_SCALE // share.denominator
    same = down > 0 and neighbours(Fraction(down, SHARE_SCALE), rows)[1] == share
    return Fraction(down if same else -(-share.numerator * SHARE_SCALE // share.denominator))
