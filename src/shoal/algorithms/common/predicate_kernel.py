# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators, allow-any-generics
"""The compiled predicate: decide from integer counts whether a group of rows is acceptable.

`shoal.models` states the clauses (`Rule`), `shoal.algorithms.common.compiled` lays them out as arrays, and algorithms
call `acceptable` millions of times. The numbers of the kinds are those of `shoal.models.RuleKind`; a test compares
them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal._core.compiling import allocating_step, inlined, kernel
from shoal.algorithms.common.emd_kernel import within_equal, within_hierarchical, within_metric, within_ordered
from shoal.algorithms.common.whole_kernel import NO, ONE, YES, ZERO

Codes = NDArray[np.int32]
Counts = NDArray[np.int64]


__all__ = ["SHARE_SCALE", "Predicate", "acceptable"]

SIZE, FREQUENCY, DISTINCT, ENTROPY, RECURSIVE, SPREAD, SHARE, PRESENCE, HEIGHT = range(9)
CLOSE, CLOSE_ORDERED, CLOSE_HIERARCHICAL, CLOSE_METRIC = range(9, 13)

SHARE_SCALE = 2**31
"""Bounds on shares count in multiples of 1 / SHARE_SCALE; products stay below 2**63 for groups under 2**31 rows."""

LONG_BASE = 2**31
"""Base of the digits of long numbers."""
POWERS_UP_TO = 20_000
"""Largest group, in multiples of the counts' common divisor, whose entropy is compared by integer powers: the same as
of `shoal.models.diversity`."""

_ERROR = 1e-15
"""Relative error per term of the float sums of `c * log(c)`: 4 ulp, above that of any libm."""


class Predicate(NamedTuple):
    """Requirement for a group: all arguments of `acceptable` besides the group itself."""

    starts: Counts
    """Start of the codes of each sensitive attribute, shape (q + 1,); the last entry is their total number."""
    rules: Counts
    """The clauses, shape (r, 6): kind, attribute, a, b, c, offset into `bounds`."""
    bounds: Counts
    """Additional numbers of the clauses that need them."""
    smallest: int
    """A lower bound on the rows of an acceptable group, at least 1: smaller groups need not be tested."""


@inlined
def _frequency(touched: Codes, distinct: int, counts: Counts, first: int, last: int, a: int, limit: int) -> bool:
    """Test whether a * c(v) <= limit for every value v."""
    # Codes of all attributes share one numbering: [first, last) are those of this attribute.
    for i in range(distinct):
        v = touched[i]
        if first <= v < last and a * counts[v] > limit:
            return False
    return True


@inlined
def _distinct(touched: Codes, distinct: int, first: int, last: int) -> int:
    """Count the distinct values of one attribute."""
    found = 0
    for i in range(distinct):
        if first <= touched[i] < last:
            found += 1
    return found


@allocating_step
def _multiply(number, length, factor, times):
    """Multiply a long number, digits to the base 2^31 of which `length` are in use, by a power; return its length."""
    for _ in range(times if factor > 1 else 0):
        carry = ZERO
        for i in range(length):
            carry += number[i] * factor
            number[i] = carry & (LONG_BASE - 1)
            carry >>= 31
        if carry:
            number[length] = carry
            length += 1
    return length


@allocating_step
def _exact_entropy(size, touched, distinct, counts, first, last, a, b):
    """Test whether (b |G|)^|G| >= a^|G| * product of c^c, for 31-bit numbers; very large groups are refused."""
    # The entropy depends on the shares only: a common divisor cancels.
    unit = ZERO
    for i in range(distinct):
        if first <= touched[i] < last:
            unit = math.gcd(unit, counts[touched[i]])
    rows = size // unit
    if rows > POWERS_UP_TO:
        return False
    # Both sides have two factors below 2^31 for each row.
    left, right = np.zeros(2 * rows + 1, np.int64), np.zeros(2 * rows + 1, np.int64)
    left[0] = right[0] = 1
    ends = _multiply(left, _multiply(left, ONE, rows, rows), b, rows)
    others = _multiply(right, ONE, a, rows)
    for i in range(distinct):
        if first <= touched[i] < last:
            others = _multiply(right, others, counts[touched[i]] // unit, counts[touched[i]] // unit)
    if ends != others:
        return ends > others
    while ends > 1 and left[ends - 1] == right[ends - 1]:
        ends -= 1
    return left[ends - 1] >= right[ends - 1]


@allocating_step
def _entropy(size: int, touched: Codes, distinct: int, counts: Counts, first: int, last: int, a: int, b: int) -> bool:
    """Test whether |G| log |G| - sum c log c >= |G| log(a / b): the entropy times |G|."""
    # One pass: the number of values, the extreme counts, and the sum of c log c.
    values = 0
    least = size
    most = 0
    spread = 0.0
    for i in range(distinct):
        v = touched[i]
        if first <= v < last:
            c = counts[v]
            values += 1
            least = min(least, c)
            most = max(most, c)
            spread += c * math.log(c)
    # The entropy never exceeds log(values), and equals it exactly if all counts are equal.
    if values * b < a:
        return False
    if least == most:
        return True
    # Floats decide outside of a margin for rounding, integers within it.
    whole = size * math.log(size)
    surplus = whole - spread - size * math.log(a / b)
    if abs(surplus) >= (values + 8) * _ERROR * whole:
        return surplus > 0
    return bool(_exact_entropy(size, touched, distinct, counts, first, last, a, b))


@allocating_step
def _recursive(size, touched, distinct, counts, first, last, a, b, l):
    """Test whether b * r_1 < a * (r_l + ... + r_m): the rows of the group beyond its l - 1 largest counts."""
    # Keep the l - 1 largest counts sorted, by insertion; l is small.
    largest = np.zeros(max(l - 1, 1), np.int64)
    kept = len(largest)
    for i in range(distinct):
        v = touched[i]
        if first <= v < last and counts[v] > largest[kept - 1]:
            c = counts[v]
            place = kept - 1
            while place > 0 and largest[place - 1] < c:
                largest[place] = largest[place - 1]
                place -= 1
            largest[place] = c
    # The tail r_l + ... + r_m is everything but these.
    tail = size
    for i in range(l - 1):
        tail -= largest[i]
    return bool(b * largest[0] < a * tail)


@inlined
def _spread(touched: Codes, distinct: int, first: int, numbers: int, bounds: Counts, offset: int) -> bool:
    """Test whether largest code in G >= bounds[smallest code in G], among the attribute's first `numbers` codes."""
    # Codes above are missing values: they have no number.
    least = numbers
    most = -1
    for i in range(distinct):
        v = touched[i] - first
        if 0 <= v < numbers:
            least = min(least, v)
            most = max(most, v)
    return most >= 0 and bool(most >= bounds[offset + least])


@inlined
def _share(size, touched, distinct, counts, first, last, bounds, offset, least):
    """Test whether each v in G has c(v) * SHARE_SCALE <= bounds[v] * |G|, or >= if `least`."""
    # Cross-multiplied, so that shares are compared exactly.
    for i in range(distinct):
        v = touched[i]
        if first <= v < last:
            excess = counts[v] * SHARE_SCALE - bounds[offset + v - first] * size
            if excess < 0 if least else excess > 0:
                return False
    return True


@kernel
def acceptable(
    size: int, touched: Codes, distinct: int, counts: Counts, starts: Counts, rules: Counts, bounds: Counts
) -> bool:
    """Decide whether a group satisfies every clause.

    Parameters
    ----------
    size : int64
        Rows of the group, below 2**31. A group of no rows is not acceptable.
    touched : int32[:]
        Its first `distinct` entries are the sensitive codes that occur in the group, each once and in any order, over
        all sensitive attributes in one numbering: code `v` of attribute `j` is `starts[j] + v`.
    distinct : int64
        Number of valid entries of `touched`.
    counts : int64[:]
        Rows of the group with each such code; only entries named by `touched` are read.
    starts : int64[q + 1]
        Start of each attribute's codes.
    rules : int64[r, 6]
        One clause per row: kind, attribute, a, b, c, offset into `bounds`. See `RuleKind`.
    bounds : int64[:]
        Additional numbers of a clause, from its offset on, for the kinds that need them: one per value of the attribute
        unless `RuleKind` states otherwise.

    Returns
    -------
    bool
        True only if all clauses hold.
    """
    if size < 1:
        return False
    # The clauses are sorted by cost; the first that fails decides.
    for r in range(rules.shape[0]):
        kind = rules[r, 0]
        first = starts[rules[r, 1]]
        last = starts[rules[r, 1] + 1]
        a = rules[r, 2]
        b = rules[r, 3]
        offset = rules[r, 5]
        # One branch for each kind, in place of a call by table: numba inlines it.
        if kind == SIZE:
            holds = size >= a
        elif kind == FREQUENCY:
            holds = _frequency(touched, distinct, counts, first, last, a, b * size)
        elif kind == DISTINCT:
            holds = _distinct(touched, distinct, first, last) >= a
        elif kind == ENTROPY:
            holds = _entropy(size, touched, distinct, counts, first, last, a, b)
        elif kind == RECURSIVE:
            holds = _recursive(size, touched, distinct, counts, first, last, a, b, rules[r, 4])
        elif kind == SPREAD:
            holds = _spread(touched, distinct, first, a, bounds, offset)
        elif kind == SHARE:
            holds = _share(size, touched, distinct, counts, first, last, bounds, offset, NO)
        elif kind == PRESENCE:
            # Every value of the table has a positive bound, so every value must occur.
            holds = _distinct(touched, distinct, first, last) == last - first and _share(
                size, touched, distinct, counts, first, last, bounds, offset, YES
            )
        elif kind == HEIGHT:
            holds = _frequency(touched, distinct, counts, first, last, ONE, a)
        elif kind == CLOSE:
            holds = within_equal(size, touched, distinct, counts, first, last, a, b, rules[r, 4], bounds, offset)
        elif kind == CLOSE_ORDERED:
            holds = within_ordered(size, touched, distinct, counts, first, last, a, b, rules[r, 4], bounds, offset)
        elif kind == CLOSE_HIERARCHICAL:
            holds = within_hierarchical(size, touched, distinct, counts, first, last, a, b, rules[r, 4], bounds, offset)
        elif kind == CLOSE_METRIC:
            holds = within_metric(size, touched, distinct, counts, first, last, a, b, rules[r, 4], bounds, offset)
        # An unknown kind is never satisfied.
        else:
            holds = False
        if not holds:
            return False
    return True
