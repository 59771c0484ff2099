"""Utility in the terms of statisticians: one table of measures of a release against its original.

References
----------
.. [1] J. Snoke, G. M. Raab, B. Nowok, C. Dibben, A. Slavkovic: General and specific utility measures for synthetic
   data. JRSS A 181(3), 2018, pages 663-688. https://doi.org/10.1111/rssa.12358 (pMSE and its ratio)
.. [2] A. F. Karr, C. N. Kohnen, A. Oganian, J. P. Reiter, A. P. Sanil: A framework for evaluating the utility of data
   altered to protect confidentiality. The American Statistician 60(3), 2006, pages 224-232.
   https://doi.org/10.1198/000313006X124640 (overlap of confidence intervals)
.. [3] C. Task, K. Bhagat, G. Howarth: SDNist v2: Deidentified data report tool. NIST, 2023.
   https://doi.org/10.18434/mds2-2943 (k-marginals)
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.metrics import Metrics
from shoal.release.analysis.expected_columns import ExpectedColumn, columns_of, cross_moments
from shoal.report import AnalystMeasure
from shoal.report.card import Card, HasCard
from shoal.report.notebook import PRIVATE

Floats = NDArray[np.float64]


_MAX_CELLS_OF_DESIGN = 30_000_000
"""Largest number of numbers in the design of the propensity model."""
_ROUNDS, _ENOUGH = 50, 1e-10
"""Steps of Newton's method at most, and the change of the coefficients at which it ends."""
_RIDGE = 1e-9
"""Keeps Newton's method finite if the tables differ perfectly in some variable."""
_NORMAL_95 = 1.959963984540054
"""Quantile of the standard normal distribution for intervals of 95 %."""
_TOO_LARGE = "the table is too large for it: measure a release of a sample"
_TAKES_LONG = "it takes long on a table of this size; shoal report --utility computes it"
_MEANINGS = {
    "pmse": (
        "Mean squared distance from one half of a classifier's probability that a record is of the release: 0 "
        "if the two tables cannot be distinguished, 0.25 if they always can."
    ),
    "pmse_ratio": (
        "The same divided by its expectation for another sample of the same population: about 1 if the release "
        "differs no more than such a sample."
    ),
    "marginals": (
        "Agreement of the joint distributions of all pairs of columns, as in the k-marginal score of NIST: "
        "1,000 if all are the same."
    ),
    "margins": "Mean share of the records that would have to change for the same distribution of a column.",
    "correlations": "Mean absolute difference of the correlations of columns of numbers.",
    "overlap": (
        "The last column of numbers is explained by all others, before and after. Mean share that the confidence "
        "intervals of a coefficient have in common: 1 if they are the same, negative if they are apart."
    ),
}
"""The meaning of each measure, for reports."""


@dataclass(frozen=True, kw_only=True, repr=False)
class AnalystUtility(HasCard):
    """What analysts lose by working with a release. Private: the figures depend on the original table.

    A published cell counts as each of its values with the same probability, independently of the other cells of its
    record; a star as each value of the column.
    """

    measures: tuple[AnalystMeasure, ...]
    """The measures, from the whole table to single columns."""
    margins: dict[str, float]
    """Total variation distance of the distribution of each quasi-identifier, from 0 (the same) to 1."""
    overlaps: dict[str, float]
    """Overlap of the confidence intervals of each coefficient of the regression, 1 if they are the same."""

    def __getitem__(self, name: str) -> float | None:
        """Return the value of a measure by its key."""
        return next(one.value for one in self.measures if one.name == name)

    def to_dict(self) -> dict[str, Any]:
        """Return the measures by key, and the figures of columns and coefficients."""
        return {
            "measures": [dict(vars(one)) for one in self.measures],
            "margins": dict(self.margins),
            "overlaps": dict(self.overlaps),
        }

    def _card(self) -> Card:
        """Make the card, which is for the publisher only."""
        shown = ["-" if one.value is None else f"{one.value:.4g}" for one in self.measures]
        columns = {
            "measure": [one.title for one in self.measures],
            "release": shown,
            "best": [f"{one.best:g}" for one in self.measures],
        }
        reasons = [f"{one.title}: {one.reason}." for one in self.measures if one.reason]
        return Card(title="What analysts lose", columns=columns, sentences=reasons, private=PRIVATE)

    def __repr__(self) -> str:
        parts = [f"{one.name}={one.value:.4g}" for one in self.measures if one.value is not None]
        return f"AnalystUtility({', '.join(parts)})"


def measure_analyst_utility(metrics: Metrics, *, most: int = _MAX_CELLS_OF_DESIGN) -> AnalystUtility:
    """Compute all measures of a release from its cells with counts.

    Parameters
    ----------
    metrics : Metrics
        The original table, its groups, and the published cells of every group.
    most : int
        Largest number of cells that a measure may scan; a measure that scans more has no value, and states that.
    """
    return compare_columns(*columns_of(metrics), recoded=len(metrics.table.quasi_identifiers), most=most)


def compare_columns(
    before: list[ExpectedColumn], after: list[ExpectedColumn], *, recoded: int, most: int = _MAX_CELLS_OF_DESIGN
) -> AnalystUtility:
    """Compute all measures from columns before and after, the first of which are the quasi-identifiers."""
    margins = {
        one.name: _distance(one.margin, other.margin) for one, other in zip(before, after[:recoded], strict=False)
    }
    pairs = list(combinations(range(len(before)), 2))
    error, ratio, refused = _propensity(before, after, most)
    # Every pair of columns is a scan of the rows; only callers with little time skip it.
    long = _TAKES_LONG if most < _MAX_CELLS_OF_DESIGN and len(before[0].labels) * len(pairs) > most else None
    overlaps, no_regression = _overlaps(before, after) if long is None else ({}, long)
    # A measure without a value states why.
    no_pairs = long or (None if pairs else "there is a single column")
    marginal = None if no_pairs else 1000 * (1 - _mean([_pair_distance(before, after, *pair) for pair in pairs]))
    # Correlations need two columns of numbers that vary.
    numeric = [place for place, one in enumerate(before) if long is None and _varies(one)]
    correlations = [
        abs(_correlation(before[i], before[j]) - _correlation(after[i], after[j])) for i, j in combinations(numeric, 2)
    ]
    few = long or (None if correlations else "there are fewer than two columns of numbers")
    measures = (
        ("pmse", "propensity score, mean squared error", error, 0.0, refused),
        ("pmse_ratio", "propensity score, ratio to its expectation", ratio, 0.0, refused),
        ("marginals", "marginals of pairs (of 1000)", marginal, 1000.0, no_pairs),
        ("margins", "distributions of columns, mean distance", _mean([*margins.values()]), 0.0, None),
        ("correlations", "correlations, mean difference", _mean(correlations) if correlations else None, 0.0,
         few),
        ("overlap", "regression, overlap of intervals", _mean([*overlaps.values()]) if overlaps else None, 1.0,
         no_regression),
    )  # fmt: skip
    return AnalystUtility(
        measures=tuple(
            AnalystMeasure(name=name, title=title, value=value, best=best, reason=reason, meaning=_MEANINGS[name])
            for name, title, value, best, reason in measures
        ),
        margins=margins,
        overlaps=overlaps,
    )


def _mean(numbers: list[float]) -> float:
    return float(np.mean(numbers)) if numbers else 0.0


def _distance(one: Floats, other: Floats) -> float:
    """Compute the total variation distance of two distributions."""
    return float(np.abs(one - other).sum() / 2)


def _pair_distance(before: list[ExpectedColumn], after: list[ExpectedColumn], i: int, j: int) -> float:
    """Compute the total variation distance of the joint distribution of two columns."""
    tables = [
        cross_moments(columns[i], columns[j], columns[i].memberships, columns[j].memberships)
        for columns in (before, after)
    ]
    return _distance(*(table / one[i].counts.sum() for table, one in zip(tables, (before, after), strict=True)))


def _varies(column: ExpectedColumn) -> bool:
    """Check whether a column of numbers has two different ones."""
    return column.numeric and bool(np.ptp(column.values) > 0)


def _correlation(one: ExpectedColumn, other: ExpectedColumn) -> float:
    """Compute Pearson's correlation of two columns of numbers from expected moments; 0 if one is constant."""
    # Variances include those within cells, so that a wide cell weakens the correlation.
    total = float(one.counts.sum())
    means = [float(column.weights @ column.values) / total for column in (one, other)]
    spreads = [
        float(column.weights @ column.squares) / total - mean**2
        for column, mean in zip((one, other), means, strict=True)
    ]
    together = float(cross_moments(one, other, one.values[:, None], other.values[:, None])[0, 0]) / total
    scale = np.sqrt(max(spreads[0], 0.0) * max(spreads[1], 0.0))
    return float((together - means[0] * means[1]) / scale) if scale > 0 else 0.0


def _propensity(
    before: list[ExpectedColumn], after: list[ExpectedColumn], most: int
) -> tuple[float | None, float | None, str | None]:
    """Compute the pMSE, and its ratio to the expectation for a table from the same distribution.

    The propensity score is the probability that a record is of the release, by a logistic regression on the categories
    of all columns.
    """
    width = 1 + sum(one.memberships.shape[1] - 1 for one in before)
    rows = len(before[0].labels)
    if (rows + len(after[0].labels)) * width > most:
        return None, None, _TOO_LARGE if most >= _MAX_CELLS_OF_DESIGN else _TAKES_LONG
    # One half of the records is the original, the other one the release, which may have left some out.
    halves = (before, after)
    designs = [
        np.hstack([np.ones((len(half[0].labels), 1)), *(one.memberships[one.labels, 1:] for one in half)])
        for half in halves
    ]
    design, counts = np.vstack(designs), np.concatenate([half[0].counts for half in halves]).astype(np.float64)
    released = np.repeat([0.0, 1.0], [len(half[0].labels) for half in halves])
    # Scores of tables that differ perfectly are 0 and 1.
    with np.errstate(over="ignore"):
        scores = 1 / (1 + np.exp(-design @ _logistic(design, released, counts)))
    records = float(counts.sum())
    share = float(after[0].counts.sum()) / records
    error = float(counts @ (scores - share) ** 2) / records
    # Expected error: (k - 1) (1 - c)^2 c / N, with k parameters and the share c of the release.
    expected = (int(np.linalg.matrix_rank(design[:rows])) - 1) * ((1 - share) ** 2 * share) / records
    return (
        error,
        error / expected if expected > 0 else None,
        None if expected > 0 else "no column has two values",
    )


def _logistic(design: Floats, outcomes: Floats, counts: Floats) -> Floats:
    """Fit a logistic regression by Newton's method."""
    coefficients = np.zeros(design.shape[1])
    for _ in range(_ROUNDS):
        # One step: solve the linear system of the second derivatives.
        scores = 1 / (1 + np.exp(-design @ coefficients))
        slopes = counts * scores * (1 - scores)
        curvature = design.T @ (design * slopes[:, None]) + _RIDGE * np.eye(design.shape[1])
        step = np.linalg.lstsq(curvature, design.T @ (counts * (outcomes - scores)), rcond=None)[0]
        coefficients = coefficients + step
        if float(np.abs(step).max()) < _ENOUGH:
            break
    return np.asarray(coefficients)


def _overlaps(before: list[ExpectedColumn], after: list[ExpectedColumn]) -> tuple[dict[str, float], str | None]:
    """Compute the overlap of confidence intervals of each coefficient of a linear regression.

    The last column of numbers is explained by all other columns.
    """
    numeric = [place for place, one in enumerate(before) if _varies(one)]
    if not numeric or len(before) < 2:
        return {}, "there is no column of numbers that other columns could explain"
    intervals = [_regression(columns, numeric[-1]) for columns in (before, after)]
    if intervals[0] is None or intervals[1] is None:
        return {}, "the regression has no unique solution"
    # A column of categories has a coefficient for each one but the first.
    names = [
        one.name if one.numeric else f"{one.name} {number}"
        for place, one in enumerate(before)
        if place != numeric[-1]
        for number in range(1, one.design.shape[1] + 1)
    ]
    found = zip(names, intervals[0], intervals[1], strict=True)
    return {name: _overlap(one, other) for name, one, other in found}, None


def _regression(columns: list[ExpectedColumn], target: int) -> list[tuple[float, float]] | None:
    """Return the intervals of 95 % of the coefficients, except the constant; None without a unique solution."""
    others = [one for place, one in enumerate(columns) if place != target]
    explained = columns[target]
    total = float(explained.counts.sum())
    # The normal equations follow from expected moments of pairs of columns.
    sizes = np.cumsum([1, *(one.design.shape[1] for one in others)])
    moments, with_target = np.zeros((sizes[-1], sizes[-1])), np.zeros(sizes[-1])
    moments[0, 0], with_target[0] = total, explained.weights @ explained.values
    for place, one in enumerate(others):
        mine = slice(sizes[place], sizes[place + 1])
        moments[0, mine] = moments[mine, 0] = one.weights @ one.design
        moments[mine, mine] = one.own_moments
        with_target[mine] = cross_moments(one, explained, one.design, explained.values[:, None])[:, 0]
        for later in range(place + 1, len(others)):
            theirs = slice(sizes[later], sizes[later + 1])
            moments[mine, theirs] = cross_moments(one, others[later], one.design, others[later].design)
            moments[theirs, mine] = moments[mine, theirs].T
    # Variables of very different scales are compared on a common one.
    degrees = total - len(moments)
    scale = np.sqrt(np.maximum(np.diag(moments), 1e-300))
    if degrees <= 0 or np.linalg.matrix_rank(moments / np.outer(scale, scale), tol=1e-10) < len(moments):
        return None
    inverse = np.linalg.inv(moments / np.outer(scale, scale)) / np.outer(scale, scale)
    coefficients = inverse @ with_target
    residual = max(float(explained.weights @ explained.squares - coefficients @ with_target), 0.0) / degrees
    reach = _NORMAL_95 * np.sqrt(residual * np.diag(inverse))
    return [(float(one - far), float(one + far)) for one, far in zip(coefficients[1:], reach[1:], strict=True)]


def _overlap(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Compute the mean share of two intervals that they have in common; negative if they are apart."""
    # The common part may be negative.
    common = min(one[1], other[1]) - max(one[0], other[0])
    widths = [high - low for low, high in (one, other)]
    if min(widths) <= 0:
        return float(one == other)
    return common / 2 * (1 / widths[0] + 1 / widths[1])
