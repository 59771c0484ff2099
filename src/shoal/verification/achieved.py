"""The privacy that a table has, measured: what certificates and audits state."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import DataError
from shoal.models.diversity import largest_entropy_l
from shoal.models.rationals import rounded_down, rounded_up
from shoal.verification.counting import count_groups

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.models.base import GroupCounts, PrivacyModel

__all__ = ["Achieved", "achieved", "measure"]

_DIGITS = 4


@dataclass(frozen=True, kw_only=True)
class Achieved:
    """The privacy that the groups of a table have, every number rounded against the publisher.

    Of several sensitive attributes the worst counts, except for `t`, which is stated for each. Without a sensitive
    attribute there are only `k` and `groups`.
    """

    k: int
    """Rows of the smallest group."""
    groups: int
    """Number of groups: distinct combinations of published quasi-identifiers."""
    l_frequency: float | None = None
    """Smallest ratio of a group's rows to its most frequent sensitive value."""
    l_distinct: int | None = None
    """Smallest number of different sensitive values in a group."""
    l_entropy: float | None = None
    """Smallest exponential of the entropy of a group's sensitive values."""
    alpha: float | None = None
    """Largest share that a sensitive value takes of a group."""
    t: dict[str, float] = field(default_factory=dict)
    """For each sensitive attribute the largest distance of a group's distribution from the table's: half the L1 norm,
    which is the earth mover's distance where all values are equally far apart."""
    closeness: tuple[dict[str, Any], ...] = ()
    """The same under every other distance that was asked for: how a certificate describes it, and its own `t`."""
    sizes_counted: dict[int, int] = field(default_factory=dict, repr=False)
    """How many groups have each size that occurs."""

    def to_dict(self) -> dict[str, Any]:
        """Return the measurements with the keys of a certificate's "achieved"."""
        if self.l_frequency is None:
            return {"k": self.k, "groups": self.groups}
        return {
            "k": self.k,
            "l": {"frequency": self.l_frequency, "distinct": self.l_distinct, "entropy": self.l_entropy},
            "t": dict(self.t),
            **({"closeness": [dict(one) for one in self.closeness]} if self.closeness else {}),
            "alpha": self.alpha,
            "groups": self.groups,
        }


def measure(
    frame: pl.DataFrame,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    models: Sequence[PrivacyModel] = (),
) -> Achieved:
    """Measure the privacy of any table, whoever made it, from its cells alone.

    Parameters
    ----------
    frame : polars.DataFrame
        One row per person, at least one row. A missing cell (null or NaN) is a value of its own.
    quasi_identifiers : sequence of str
        Columns whose combinations make the groups; without any, all rows are one group.
    sensitive : sequence of str
        Columns that must not be linked to a person; may be empty.
    models : sequence of PrivacyModel
        Models with a distance of their own: it is measured too.

    Returns
    -------
    Achieved
        The same for any order of the rows and for any types that hold the same values.

    Raises
    ------
    ColumnError
        Where a column does not exist.
    DataError
        Where the table has no row, or a column holds nested data or Python objects.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"age": ["*", "*", "*"], "disease": ["flu", "flu", "HIV"]})
    >>> measure(frame, ["age"], ["disease"]).to_dict()
    {'k': 3, 'l': {'frequency': 1.5, 'distinct': 2, 'entropy': 1.8898}, 't': {'disease': 0.0}, 'alpha': 0.6667,
     'groups': 1}
    """
    return achieved(count_groups(frame, quasi_identifiers, sensitive), sensitive, models)


def achieved(counts: Sequence[GroupCounts], sensitive: Sequence[str], models: Sequence[PrivacyModel] = ()) -> Achieved:
    """Measure the privacy of counted groups.

    Parameters
    ----------
    counts : sequence of GroupCounts
        One per sensitive attribute, or one in all where there is none.
    sensitive : sequence of str
        Names of the sensitive attributes.
    models : sequence of PrivacyModel
        Models with a distance of their own.

    Raises
    ------
    DataError
        Where there is no group.
    """
    sizes = counts[0].sizes
    if not len(sizes):
        raise DataError("The table has no row: there is nothing to measure.")
    k, groups = int(sizes.min()), len(sizes)
    found, times = np.unique(sizes, return_counts=True)
    counted = dict(zip(found.tolist(), times.tolist(), strict=True))
    if not sensitive:
        return Achieved(k=k, groups=groups, sizes_counted=counted)
    alpha = max(_largest_ratio(groups_of.heights, groups_of.sizes) for groups_of in counts)
    return Achieved(
        k=k,
        groups=groups,
        l_frequency=rounded_down(1 / alpha, _DIGITS),
        l_distinct=min(int(groups_of.distinct.min()) for groups_of in counts),
        l_entropy=min(largest_entropy_l(groups_of, _DIGITS) for groups_of in counts),
        alpha=rounded_up(alpha, _DIGITS),
        t={
            name: rounded_up(_largest_distance(groups_of), _DIGITS)
            for name, groups_of in zip(sensitive, counts, strict=True)
        },
        closeness=_by_distance(counts, sensitive, models),
        sizes_counted=counted,
    )


def _by_distance(
    counts: Sequence[GroupCounts], sensitive: Sequence[str], models: Sequence[PrivacyModel]
) -> tuple[dict[str, Any], ...]:
    """Return what each distance of a model measures, for every sensitive attribute."""
    found: list[dict[str, Any]] = []
    for model in models:
        measured = [model.measured(groups_of) for groups_of in counts]
        stated = {name: one for name, one in zip(sensitive, measured, strict=True) if one is not None}
        for described, _ in list(stated.values())[:1]:
            one = {**described, "t": {name: rounded_up(largest, _DIGITS) for name, (_, largest) in stated.items()}}
            found += [] if one in found else [one]
    return tuple(found)


def _largest_ratio(numerators: NDArray[np.int64], denominators: NDArray[np.int64]) -> Fraction:
    """Return the largest of many fractions, exactly: floats find the candidates, fractions decide."""
    ratios = numerators / denominators
    near = ratios >= ratios.max() * (1 - 1e-12)
    tops, bottoms = numerators[near], denominators[near]
    divisors = np.gcd(tops, bottoms)
    tops, bottoms = tops // divisors, bottoms // divisors
    largest = Fraction(0)
    while len(tops):  # once for each different fraction: few are so close to one another
        largest = max(largest, Fraction(int(tops[0]), int(bottoms[0])))
        others = (tops != tops[0]) | (bottoms != bottoms[0])
        tops, bottoms = tops[others], bottoms[others]
    return largest


def _largest_distance(groups: GroupCounts) -> Fraction:
    """Return the largest half L1 distance of a group's distribution from the table's.

    Half the L1 norm of two distributions is the sum of the positive differences, and only values that occur in the
    group can have more than their share. In units of 1 / (|G| n) the differences are whole numbers below 2**62.
    """
    rows = int(groups.sizes.sum())
    excess = groups.counts * rows - groups.totals[groups.values] * groups.sizes_by_entry
    distances = np.add.reduceat(np.maximum(excess, 0), groups.starts[:-1])
    return _largest_ratio(distances, groups.sizes) / rows
