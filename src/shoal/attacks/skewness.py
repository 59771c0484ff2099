"""The skewness attack: a group whose sensitive values differ much from the table's distribution discloses them.

References
----------
.. [1] N. Li, T. Li, S. Venkatasubramanian: t-Closeness: privacy beyond k-anonymity and l-diversity. ICDE 2007,
   Section 3. https://doi.org/10.1109/ICDE.2007.367856
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Unpack

import numpy as np

from shoal._core.progress import Progress, silent
from shoal._core.validation import RationalIn, exact_fraction, validate
from shoal.attacks.attack_result import AttackResult
from shoal.attacks.attacked_people import People, open_people
from shoal.attacks.column_sets import attack_each_column
from shoal.attacks.published_table import PublishedTable, Reading, open_published
from shoal.models.ground_distance import EqualDistance, GroundDistance, largest_distance
from shoal.models.rationals import STATED_DIGITS, round_up
from shoal.verification.counting import count_groups


def skewness_attack(
    release: Any,
    *,
    t: float | Fraction = 0.2,
    distance: GroundDistance | None = None,
    targets: Any = None,
    controls: Any = None,
    progress: Progress = silent,
    **reading: Unpack[Reading],
) -> AttackResult:
    """Measure how much better the values of a group predict those of its records than the values of the table do.

    The adversary guesses for each person the most common value among the compatible rows. This may be right much more
    often than guessing the table's most common value, and the adversary's belief in a rare value may grow by a large
    factor.

    Formula: successes = sum over the groups of their most common value's count; with targets, the number of targets
    whose guess is right. Baseline: the table's most common value is guessed for every record. If a value v has c of the
    |G|
    rows of a group and n_v of the n rows of the table, the belief in v grows by the factor (c / |G|) / (n_v / n). The
    distance of a group is the earth mover's distance of its distribution from the table's.

    The assumptions are those of the homogeneity attack, and that the adversary knows the table's distribution
    beforehand.

    Parameters
    ----------
    release : frame, path, or Release
        The published table of any tool: a frame, a file, or the folder of a release.
    t : number
        Rows of groups with a larger distance are counted; from 0 to 1.
    distance : GroundDistance, optional
        Distance of sensitive values; by default all are equally far apart.
    targets, controls, progress, **reading
        See `homogeneity_attack`.

    Returns
    -------
    AttackResult
        With the figures `t`, `distance` (its name), `largest_distance` (rounded up, as in an audit), `rows_above_t`,
        `largest_factor`, `belief_before` and `belief_after` (of the value and the group with the largest factor),
        `not_covered` and, if there are targets, `values_not_shown`. If there are several sensitive columns, it is the
        one
        whose rate exceeds that of the controls (or of the baseline) most; `each` has all of them and their combination.

    Raises
    ------
    NotUnderstoodError
        If the meaning of a column's cells is in doubt. Nothing is measured then.
    UsageError
        If the call or a table is invalid.

    References
    ----------
    [1]_ of this module, Section 3.

    Examples
    --------
    The paper's example: 1 % of 10,000 people are positive, and one group has equally many positive and negative people.

    >>> import polars as pl
    >>> frame = pl.DataFrame({
    ...     "zip": ["47*"] * 100 + ["48*"] * 9900,
    ...     "test": ["positive"] * 50 + ["negative"] * 50 + ["positive"] * 50 + ["negative"] * 9850,
    ... })
    >>> found = skewness_attack(frame, quasi_identifiers=["zip"], sensitive="test")
    >>> found["largest_factor"], found["belief_before"], found["belief_after"], found["rows_above_t"]
    (50.0, 0.01, 0.5, 100)
    """
    validate("skewness_attack", {"t": t}, {"t": RationalIn(low=Fraction(0), high=Fraction(1))})
    table = open_published(release, reading)
    people, limit = open_people(table, targets, controls, attack="skewness"), exact_fraction(t)
    return attack_each_column(table, lambda one: _attack(one, people, distance or EqualDistance(), limit, progress))


def _attack(
    table: PublishedTable, people: People, distance: GroundDistance, t: Fraction, progress: Progress
) -> AttackResult:
    """Attack one sensitive column, or one combination."""
    found = people.collect_values(table, progress=progress)
    # A guess counts as correct only if the value is shown in the group.
    outcome, control = found.rates(lambda shown: (shown.guess == shown.truth) & (shown.own > 0))
    return AttackResult(
        attack="skewness",
        outcome=outcome,
        baseline=found.rate(found.shown.truth == int(table.totals.argmax())),
        control=control,
        columns=table.names,
        figures={
            **_measure_distances(table, distance, t),
            **_find_largest_factor(table),
            **found.lost,
        },
    )


def _measure_distances(table: PublishedTable, distance: GroundDistance, t: Fraction) -> dict[str, Any]:
    """Measure the distances of the groups from the table."""
    import polars as pl

    one = table.frame.get_column(table.secrets[0]) if len(table.secrets) == 1 else table.secret
    frame = pl.DataFrame([pl.Series("group", table.group_of), one.alias("secret")])
    (groups,) = count_groups(frame, ["group"], ["secret"])
    distance.check_values(groups.domain)
    costs, unit = distance.costs(groups)
    # Compare in integers: cost / (unit * rows * size) > t.
    limit = t * unit * table.rows
    # Sizes of the groups whose distance exceeds t.
    above = [
        size
        for cost, size in zip(costs.tolist(), groups.sizes.tolist(), strict=True)
        if cost * limit.denominator > limit.numerator * size
    ]
    return {
        "t": float(t),
        "distance": distance.name,
        "largest_distance": round_up(largest_distance(groups, distance), STATED_DIGITS),
        "rows_above_t": sum(above),
    }


def _find_largest_factor(table: PublishedTable) -> dict[str, Any]:
    """Find the group and the value for which the belief grows by the largest factor."""
    group, value, count = table.counts
    sizes = np.bincount(group, weights=count)
    # Floats find the maximum; the reported figures are exact fractions.
    factors = count * table.rows / (sizes[group] * table.totals[value])
    at = int(factors.argmax())
    before, after = (
        Fraction(int(table.totals[value[at]]), table.rows),
        Fraction(int(count[at]), int(sizes[group[at]])),
    )
    return {
        "largest_factor": float(after / before),
        "belief_before": float(before),
        "belief_after": float(after),
    }
