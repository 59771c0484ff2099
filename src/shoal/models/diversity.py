"""l-diversity in four variants."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Context, Decimal
from fractions import Fraction
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal._core.validation import (
    Integer,
    OneOf,
    Optional,
    RationalIn,
    exact_fraction,
    format_value,
    parameter,
    validate,
    validate_declared,
)
from shoal._messages import Allowed, Part, Subject
from shoal.errors import ParameterError
from shoal.models.anonymity import rare_rows
from shoal.models.base import GroupCounts, GroupModel, Rule, RuleKind
from shoal.models.disclosure import SHARE_SCALE, upper_bound
from shoal.models.feasible import SensitiveCounts, advise_diversity
from shoal.models.linear import LinearForm, LinearRow
from shoal.models.naming import places_of
from shoal.models.population import Population
from shoal.models.rationals import at_most, json_number, largest_ratio, logarithm, neighbours, round_down
from shoal.wording import Sentence

_POWERS_UP_TO = 20_000
"""Group size (in multiples of the counts' common divisor) up to which entropies are compared by integer powers."""

_ERROR = 1e-15
"""Relative error per term of a float sum of `c * log(c)`."""


@dataclass(frozen=True, repr=False)
class LDiversity(GroupModel):
    """l-diversity: the sensitive values of every group are diverse, in one of four senses.

    * ``frequency`` (the default): at most one row in `l` has the same value, l * h(G) <= |G|.
    * ``distinct``: at least `l` distinct values.
    * ``entropy``: the entropy of the values is at least log l; `l` may be fractional.
    * ``recursive``: r_1 < c (r_l + ... + r_m), with the counts r in descending order.

    Values in `harmless` do not need protection, such as "healthy". For `frequency` they may be as common as they are:
    each row with such a value counts as a value of its own, so that |G| >= l and l * c(v) <= |G| for all other values.

    References
    ----------
    A. Machanavajjhala, J. Gehrke, D. Kifer, M. Venkitasubramaniam, "l-diversity: privacy beyond k-anonymity", ACM TKDD
    1(1), 2007. doi:10.1145/1217299.1217302
    X. Xiao, K. Yi, Y. Tao, "The hardness and approximation algorithms for l-diversity", EDBT 2010 (frequency).
    doi:10.1145/1739041.1739060

    Examples
    --------
    >>> LDiversity(4), LDiversity(2.5, variant="entropy"), LDiversity(3, variant="recursive", c=2)
    (LDiversity(4), LDiversity(2.5, variant='entropy'), LDiversity(3, variant='recursive', c=2))
    """

    l: Real | float = field(
        metadata=parameter(
            RationalIn(low=Fraction(1)),
            "l-diversity: at most 1 in l records of a group share a sensitive value.",
            flag="-l",
            metavar="NUMBER",
        )
    )
    """Smallest diversity of a group, >= 1: an int, or any number if the variant is "entropy"."""
    variant: str = field(
        default="frequency",
        kw_only=True,
        metadata=parameter(
            OneOf(("frequency", "distinct", "entropy", "recursive")),
            "How -l counts diversity: frequency (default), distinct, entropy or recursive.",
            flag="--l-variant",
            metavar="VARIANT",
        ),
    )
    """Measure of diversity: "frequency", "distinct", "entropy" or "recursive"."""
    c: Real | float | None = field(
        default=None,
        kw_only=True,
        metadata=parameter(
            Optional(RationalIn(low=Fraction(0), low_included=False)),
            "The c of recursive (c, l)-diversity.",
            flag="--c",
            metavar="NUMBER",
        ),
    )
    """Largest allowed dominance of the most frequent value, > 0; required by the "recursive" variant, invalid
    otherwise."""
    harmless: str | Sequence[str] = field(
        default=(),
        kw_only=True,
        metadata=parameter(
            None,
            "A sensitive value that needs no protection, such as healthy: -l does not count it. Repeat it for others.",
            flag="--harmless",
            metavar="VALUE",
            read=str,
            many=True,
        ),
    )
    """Sensitive values that need no protection, as they are written in the table; for the "frequency" variant."""

    name: ClassVar[str] = "l-diversity"

    def __post_init__(self) -> None:
        # Only entropies can be compared with fractional l.
        if self.variant != "entropy":
            validate("LDiversity", {"l": self.l}, {"l": Integer(low=1)})
        validate_declared("LDiversity", self)
        # c belongs to the recursive variant only.
        if self.variant == "recursive":
            validate("LDiversity", {"c": self.c}, {"c": RationalIn(low=Fraction(0), low_included=False)})
        elif self.c is not None:
            what = Allowed("None unless the variant is 'recursive'", "left out unless the variant is 'recursive'")
            raise ParameterError.refusing("LDiversity", "c", what, got=format_value(self.c))
        self._check_harmless()

    def _check_harmless(self) -> None:
        """Check the harmless values, and keep them as a tuple; errors do not name them."""
        # One value may be given without a list.
        given: Any = (self.harmless,) if isinstance(self.harmless, str) else self.harmless
        if not isinstance(given, list | tuple) or not all(isinstance(value, str) and value for value in given):
            values = "a value as text, or a list of values"
            raise ParameterError.refusing("LDiversity", "harmless", values, got=type(self.harmless).__name__)
        if given and self.variant != "frequency":
            what = Allowed("empty unless the variant is 'frequency'", "left out unless the variant is 'frequency'")
            raise ParameterError.refusing("LDiversity", "harmless", what, got=f"{len(given)} value(s)")
        object.__setattr__(self, "harmless", tuple(dict.fromkeys(given)))

    @property
    def names_values(self) -> bool:  # noqa: D102
        return bool(self.harmless)

    @property
    def reads_values(self) -> bool:  # noqa: D102
        return bool(self.harmless)

    def with_own_values(self) -> LDiversity:
        """Return the equivalent model for a table in which each harmless row has a value of its own."""
        return replace(self, harmless=())

    def check_occurrence(self, tables: Sequence[Population]) -> None:
        """Check that each harmless value occurs in a sensitive attribute, because a misspelling would protect all.

        Raises
        ------
        ParameterError
            If one does not; the message does not name it.
        """
        labels = [label for table in tables for label in table.domain.labels or ()]
        absent = len(self.harmless) - len({*places_of(labels, self.harmless).tolist()} - {-1})
        if self.harmless and labels and absent:
            raise ParameterError(
                Subject("LDiversity", "harmless"),
                f" names {absent} value(s) that occur in no sensitive column. Check the spelling, or leave them out.",
            )

    def find_harmless(self, table: Population) -> NDArray[np.bool_]:
        """Flag the codes of the harmless values of an attribute; none if its values are unknown."""
        return _flag_named(table, self.harmless)

    @property
    def _l(self) -> Fraction:
        return exact_fraction(self.l)

    @property
    def _c(self) -> Fraction:
        return Fraction(1) if self.c is None else exact_fraction(self.c)

    def acceptable(self, groups: GroupCounts) -> NDArray[np.bool_]:  # noqa: D102
        if self.variant == "frequency":
            return at_most(self._heights(groups), int(self._l), groups.sizes, 1)
        if self.variant == "distinct":
            return at_most(np.ones_like(groups.distinct), int(self._l), groups.distinct, 1)
        if self.variant == "entropy":
            return _entropy_at_least(groups, self._l)
        return _recursive(groups, int(self._l), self._c)

    def measure_l(self, groups: GroupCounts) -> Fraction:
        """Compute the largest `l` that every group satisfies with these harmless values."""
        return 1 / largest_ratio(self._heights(groups), groups.sizes)

    def _heights(self, groups: GroupCounts) -> NDArray[np.int64]:
        """Count the rows with the most frequent value of each group; each row with a harmless value counts once."""
        if not self.harmless or not len(groups.sizes):
            return groups.heights
        counts = count_harmless_once(groups, self.harmless)
        heights: NDArray[np.int64] = np.maximum.reduceat(counts, groups.starts[:-1])
        return heights

    def rules(self, table: Population) -> tuple[Rule, ...]:  # noqa: D102
        rows, values = table.rows, table.distinct
        if self.harmless:
            # A share of 1 does not restrict a harmless value; the size covers groups that have no other.
            share = upper_bound(neighbours(1 / self._l, max(rows, 1))[0], max(rows, 1))
            bounds = np.where(self.find_harmless(table), SHARE_SCALE, int(share))
            size = Rule(kind=RuleKind.SIZE, a=min(int(self._l), rows + 1))
            return size, Rule(kind=RuleKind.SHARE, bounds=bounds)
        # An l beyond the table refuses every group. It is capped, so that it fits into 64 bits.
        if self.variant == "frequency":
            return (Rule(kind=RuleKind.FREQUENCY, a=min(int(self._l), rows + 1), b=1),)
        if self.variant == "distinct":
            return (Rule(kind=RuleKind.DISTINCT, a=min(int(self._l), values + 1)),)
        if self.variant == "entropy":
            # The entropy kernel takes fractions of 31-bit terms; rounding up is the stricter side.
            bound = neighbours(min(self._l, Fraction(values + 1)), 2**31)[1]
            return (Rule(kind=RuleKind.ENTROPY, a=bound.numerator, b=bound.denominator),)
        # Both r_1 and the tail are at most n, so c or 1 / c can be replaced by a neighbour of small denominator.
        if self._c <= 1:
            above = neighbours(self._c, rows)[1]
            a, b = above.numerator, above.denominator
        else:
            below = neighbours(1 / self._c, rows)[0]
            a, b = below.denominator, below.numerator
        return (Rule(kind=RuleKind.RECURSIVE, a=a, b=b, c=min(int(self._l), values + 1)),)

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        parameters = {"model": self.name, "variant": self.variant, "l": json_number(self.l)}
        if self.harmless:
            return {**parameters, "harmless": list(self.harmless)}
        return parameters if self.c is None else {**parameters, "c": json_number(self.c)}

    def best_feasible(self, table: Population) -> str:  # noqa: D102
        if self.variant == "recursive" and not self.harmless:
            # The recursive variant may be infeasible for any l.
            largest = self._largest_recursive(table)
            if largest == 0:
                return f"no l is feasible unless c is more than {Fraction(table.height, table.rows)}"
            return f"the largest feasible l at c = {self.c} is {largest}"
        # The largest l of the other variants is a number that the whole table has.
        best: object
        if self.harmless:
            # A row with a harmless value counts once.
            best = table.rows // max(1, int(np.max(table.totals[~self.find_harmless(table)], initial=0)))
        elif self.variant == "distinct":
            best = table.distinct
        elif self.variant == "entropy":
            best = largest_entropy_l(GroupCounts.whole(table), 2)
        else:
            best = table.rows // table.height
        return f"the largest feasible l is {best}"

    def advise(self, columns: Sequence[SensitiveCounts]) -> Part:  # noqa: D102
        # If even l = 2 is infeasible, no smaller l is worth a suggestion.
        if self.harmless:
            return ""
        stuck = {
            "frequency": any(one.largest_l < 2 for one in columns),
            "distinct": any(one.distinct < 2 for one in columns),
        }
        return Sentence(advise_diversity(columns)) if stuck.get(self.variant, False) else ""

    def _largest_recursive(self, table: Population) -> int:
        """Return the largest `l` that the whole table satisfies for this `c`, or 0 if there is none."""
        descending = -np.sort(-table.totals[table.totals > 0])
        # tails[l - 1] = r_l + ... + r_m decreases with l, so the feasible values of l are the smallest ones.
        tails = descending[::-1].cumsum()[::-1]
        refused = at_most(tails, self._c.numerator, np.full_like(tails, descending[0]), self._c.denominator)
        return int(np.count_nonzero(~refused))

    def frequency_form(self) -> tuple[int, Fraction] | None:  # noqa: D102
        if self.harmless:
            return None
        if self.variant == "frequency":
            return 1, self._l
        # With l = 1, every variant but the recursive one with c <= 1 accepts any group.
        always = self._l == 1 and (self.variant != "recursive" or self._c > 1)
        return (1, Fraction(1)) if always else None

    @property
    def is_linear(self) -> bool:  # noqa: D102
        return self.variant != "entropy" or self._l == 1

    def linear_form(self, table: Population) -> LinearForm | None:  # noqa: D102
        if self.variant == "frequency":
            rare = rare_rows(1 / self._l, table)
            if not self.harmless:
                return LinearForm(rows=rare)
            # The other values are rare, and the group has l rows.
            others = np.flatnonzero(~self.find_harmless(table)).tolist()
            size = LinearRow(coefficients={len(table.totals): 1}, constant=min(int(self._l), table.rows + 1))
            return LinearForm(rows=(size, *(rare[v] for v in others)))
        if self.variant == "distinct":
            return _distinct_form(min(int(self._l), table.distinct + 1), len(table.totals))
        if self.variant == "recursive":
            return _recursive_form(int(self._l), self._c, len(table.totals))
        return LinearForm(rows=()) if self._l == 1 else None

    def least_rows(self) -> int:  # noqa: D102
        # A group of harmless values only has at least l rows as well.
        return math.ceil(self._l) if self.harmless else super().least_rows()

    def necessary_distinct(self) -> int:  # noqa: D102
        if self.harmless:
            return 1
        # Recursive variant: r_1 < c * (m - l + 1) * r_1 must hold, so m - l + 1 > 1 / c.
        beyond = math.floor(1 / self._c) if self.variant == "recursive" else 0
        return math.ceil(self._l) + beyond


def _distinct_form(l: int, m: int) -> LinearForm:
    # One binary variable per value; it may be 1 only if the value occurs in the group.
    occurs = [LinearRow(coefficients={v: 1, m + 1 + v: -1}) for v in range(m)]
    enough = LinearRow(coefficients={m + 1 + v: 1 for v in range(m)}, constant=l)
    return LinearForm(auxiliaries=m, binary=True, rows=(*occurs, enough))


def _recursive_form(l: int, c: Fraction, m: int) -> LinearForm:
    # With c = a / b the condition is b r_1 + a (r_1 + ... + r_(l-1)) < a |G| in integers. The sum of the l - 1 largest
    # counts is the minimum over theta of (l - 1) theta + sum of max(0, count - theta).
    a, b = c.numerator, c.denominator
    largest, theta = m + 1, m + 2
    over = {v: m + 3 + v for v in range(m)}
    # `largest` bounds every count; `over` bounds the excess of each count over theta.
    rows = [LinearRow(coefficients={largest: 1, v: -1}) for v in range(m)]
    rows += [LinearRow(coefficients={over[v]: 1, theta: 1, v: -1}) for v in range(m)]
    tail = {m: a, largest: -b, theta: -a * (l - 1), **{over[v]: -a for v in range(m)}}
    # Without l - 1 largest counts, theta is not needed.
    if l == 1:
        rows, tail = rows[:m], {m: a, largest: -b}
    return LinearForm(auxiliaries=m + 2, rows=(*rows, LinearRow(coefficients=tail, constant=1)))


def _recursive(groups: GroupCounts, l: int, c: Fraction) -> NDArray[np.bool_]:
    """Test if r_1 < c (r_l + ... + r_m) for each group."""
    # Sort each group's counts in descending order, then sum those from the l-th on.
    group = np.repeat(np.arange(len(groups.sizes)), groups.distinct)
    descending = groups.counts[np.lexsort((-groups.counts, group))]
    place = np.arange(len(descending)) - groups.starts[:-1][group]
    tails = np.zeros(len(groups.sizes), dtype=np.int64)
    remains = place >= l - 1
    np.add.at(tails, group[remains], descending[remains])
    return ~at_most(tails, c.numerator, groups.heights, c.denominator)


def count_harmless_once(groups: GroupCounts, harmless: Sequence[str]) -> NDArray[np.int64]:
    """Count the rows of each value in each group as if each row with a harmless value had a value of its own."""
    return np.where(_flag_named(groups.population, harmless)[groups.values], 1, groups.counts)


def _flag_named(table: Population, names: Sequence[str]) -> NDArray[np.bool_]:
    """Flag the codes of the named values of an attribute; none if its values are unknown."""
    labels = table.domain.labels
    return np.zeros(len(table.totals), dtype=np.bool_) if labels is None else places_of(labels, names) >= 0


def _entropy_at_least(groups: GroupCounts, l: Fraction) -> NDArray[np.bool_]:
    """Test if the entropy of each group is at least log l, with floats if they are conclusive, else exactly."""
    if not len(groups.sizes):
        return np.zeros(0, dtype=np.bool_)
    if l > 2**62:  # No group has so many values.
        return np.zeros(len(groups.sizes), dtype=np.bool_)
    surplus, error = _entropy_surplus(groups, l)
    decided = surplus > error
    enough = at_most(np.ones_like(groups.distinct), l.numerator, groups.distinct, l.denominator)
    # Equal counts have entropy log(number of values), so no arithmetic is needed.
    even = np.minimum.reduceat(groups.counts, groups.starts[:-1]) == groups.heights
    decided = np.where(even, enough, decided & enough)
    # The remaining groups lie within the error of the floats.
    open_ = np.flatnonzero(~even & enough & (np.abs(surplus) <= error))
    for g in open_:
        decided[g] = _exact_entropy(groups.counts[groups.starts[g] : groups.starts[g + 1]].tolist(), l)
    return decided


def _entropy_surplus(groups: GroupCounts, l: Fraction) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute |G| log |G| - sum c log c - |G| log l for each group, and a bound on the rounding error."""
    sizes = groups.sizes.astype(np.float64)
    parts = np.add.reduceat(groups.counts * np.log(groups.counts), groups.starts[:-1])
    whole = sizes * np.log(sizes)
    log_l = float(logarithm(l)[0])
    return whole - parts - sizes * log_l, (groups.distinct + 8) * _ERROR * (whole + sizes * log_l)


def _exact_entropy(counts: Sequence[int], l: Fraction) -> bool:
    """Test if n^n >= l^n * product of c^c.

    Large groups are compared by 60-digit logarithms, and refused in case of doubt.
    """
    # The entropy depends on the shares only, so a common divisor cancels.
    unit = math.gcd(*counts)
    counts = [count // unit for count in counts]  # the entropy depends on the shares only
    rows = sum(counts)
    if rows <= _POWERS_UP_TO and max(l.numerator, l.denominator).bit_length() <= 256:
        powers = math.prod(count**count for count in counts)
        return bool((rows * l.denominator) ** rows >= l.numerator**rows * powers)
    # Beyond that size, logarithms with an error far below the margin of the comparison.
    context = Context(prec=60)
    parts = sum((Fraction(count) * Fraction(context.ln(Decimal(count))) for count in counts), Fraction(0))
    whole = rows * Fraction(context.ln(Decimal(rows)))
    surplus = whole - parts - rows * logarithm(l)[1]
    return surplus >= (whole + parts) * Fraction(1, 10**50)


def largest_entropy_l(groups: GroupCounts, digits: int) -> float:
    """Return the largest `l`, to a number of decimal digits, for which every group has entropy at least log l.

    Parameters
    ----------
    groups : GroupCounts
        At least one group.
    digits : int
        Decimal digits of the result, at least 0.

    Returns
    -------
    float
        At most the true value.
    """
    # With l = 1 the surplus is |G| times the entropy.
    surplus, error = _entropy_surplus(groups, Fraction(1))
    # Only groups that may be the least diverse are compared exactly.
    entropy, doubt = surplus / groups.sizes, error / groups.sizes
    lowest = np.flatnonzero(entropy - doubt <= (entropy + doubt).min())
    candidates = groups.select(lowest)
    # Start at the rounded float and step down until all candidates pass.
    whole = math.floor(math.exp(float(entropy[lowest].min())) * 10**digits + 0.5)
    while whole > 10**digits and not bool(_entropy_at_least(candidates, Fraction(whole, 10**digits)).all()):
        whole -= 1
    return round_down(Fraction(max(whole, 10**digits), 10**digits), digits)
