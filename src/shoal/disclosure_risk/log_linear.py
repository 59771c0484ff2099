"""Estimates of population uniques, and the risk of sample uniques under a log-linear model of the population.

References
----------
C. Skinner and N. Shlomo, "Assessing identification risk in survey microdata using log-linear models", Journal of the
American Statistical Association 103(483), 2008. doi:10.1198/016214507000001328
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal._core.progress import Progress, silent
from shoal._messages import Suggestion
from shoal.disclosure_risk.figures import Figures
from shoal.disclosure_risk.frequencies import Frequencies
from shoal.errors import ParameterError
from shoal.models.unique_estimates import SampleHistogram, estimates
from shoal.table import Column

LOG_LINEAR_MODELS = ("independence", "two-way")
"""Main effects only, or main effects and all interactions of two quasi-identifiers."""

_MAX_CELLS = 5_000_000
"""Largest number of cells of the table that the two-way model is fitted on."""
_MAX_SWEEPS = 1_000
"""Largest number of sweeps of proportional fitting."""
_TOLERANCE = 1e-6
"""The fit ends when every fitted margin is this close to its count, relative to the number of rows."""


@dataclass(frozen=True, kw_only=True)
class LogLinear(Figures):
    """Risk of the sample uniques under a log-linear model."""

    model: str
    """"independence" or "two-way"."""
    tau_1: float
    """Expected number of sample uniques that are unique in the population."""
    tau_2: float
    """Expected number of sample uniques that are matched with the right person: the sum of 1 / F."""


def log_linear_risk(
    columns: Sequence[Column],
    frequencies: Frequencies,
    sampling_fraction: Fraction,
    *,
    model: str,
    progress: Progress = silent,
) -> LogLinear:
    r"""Estimate tau_1 and tau_2 of the sample uniques.

    Let :math:`\lambda = \hat\mu / p`, with :math:`\hat\mu` the expected sample frequency of the cell of a sample unique
    in the fitted model. Then

    .. math:: \tau_1 = \sum e^{-\lambda (1 - p)}, \qquad
              \tau_2 = \sum \frac{1 - e^{-\lambda (1 - p)}}{\lambda (1 - p)}

    Population frequencies are assumed to be independent and Poisson, and every person is in the sample with the same
    probability p.

    Parameters
    ----------
    columns : sequence of Column
        The quasi-identifiers.
    frequencies : Frequencies
        Their classes.
    sampling_fraction : Fraction
        p, above 0 and at most 1.
    model : {"independence", "two-way"}
        Main effects, or with all interactions of two columns.
    progress : Progress, optional
        Called from time to time.

    Raises
    ------
    ParameterError
        If the two-way model has more than five million cells.
    """
    # The cells of the sample uniques, and their expected frequencies in the sample.
    uniques = np.flatnonzero(frequencies.sample == 1)
    cells = [column.codes[frequencies.first_rows[uniques]].astype(np.int64) for column in columns]
    fitted = expected_frequencies(columns, frequencies, cells, model=model, progress=progress)
    p = float(sampling_fraction)
    # Expected number of other people in the cell: lambda (1 - p).
    rate = fitted / p * (1 - p)
    alone = np.exp(-rate)
    found = np.divide(-np.expm1(-rate), rate, out=np.ones_like(rate), where=rate > 0)
    return LogLinear(model=model, tau_1=math.fsum(alone.tolist()), tau_2=math.fsum(found.tolist()))


def expected_frequencies(
    columns: Sequence[Column],
    frequencies: Frequencies,
    cells: Sequence[NDArray[np.int64]],
    *,
    model: str,
    progress: Progress = silent,
) -> NDArray[np.float64]:
    """Compute the expected frequencies of cells in a fitted model; `cells` has the codes by column."""
    if model == "two-way" and len(columns) > 1:
        return _fit_two_way(columns, frequencies, cells, progress)
    # Independence: products of the marginal shares.
    rows = frequencies.rows
    expected = np.full(len(cells[0]), float(rows))
    for column, codes in zip(columns, cells, strict=True):
        expected *= np.bincount(column.codes, minlength=column.size)[codes] / rows
    return expected


def _fit_two_way(
    columns: Sequence[Column], frequencies: Frequencies, cells: Sequence[NDArray[np.int64]], progress: Progress
) -> NDArray[np.float64]:
    """Fit the model of all two-way interactions by iterative proportional fitting."""
    shape = tuple(column.size for column in columns)
    if math.prod(shape) > _MAX_CELLS:
        raise ParameterError(
            f"The two-way log-linear model is fitted to every combination of values, {math.prod(shape):,} here; at "
            f"most {_MAX_CELLS:,} are allowed. Take ",
            Suggestion("log_linear", "independence"),
            ", name fewer quasi-identifiers, or coarsen them first.",
        )
    # The observed table and its two-way margins.
    observed = np.zeros(shape)
    at = tuple(column.codes[frequencies.first_rows].astype(np.int64) for column in columns)
    observed[at] = frequencies.rows_of
    axes = range(len(shape))
    pairs = list(combinations(axes, 2))
    others = {pair: tuple(axis for axis in axes if axis not in pair) for pair in pairs}
    margins = {pair: observed.sum(axis=others[pair], keepdims=True) for pair in pairs}
    # Scale the fitted table to each margin in turn, until all are close.
    fitted = np.full(shape, frequencies.rows / observed.size)
    for sweep in range(_MAX_SWEEPS):
        progress("log-linear", sweep, _MAX_SWEEPS)
        distance = 0.0
        for pair in pairs:
            margin = fitted.sum(axis=others[pair], keepdims=True)
            distance = max(distance, float(np.abs(margin - margins[pair]).max()))
            fitted *= np.divide(margins[pair], margin, out=np.zeros_like(margin), where=margin > 0)
        if distance <= _TOLERANCE * frequencies.rows:
            break
    return np.asarray(fitted[tuple(cells)])


@dataclass(frozen=True, kw_only=True)
class PopulationUniques(Figures):
    """Estimated shares of people who are unique in the population; None if a model does not fit the sample."""

    pitman: float | None
    """Pitman's model."""
    zayatz: float
    """Zayatz' estimator."""
    snb: float | None
    """Slide negative binomial model."""
    dankar: float
    """The estimate that the decision rule of Dankar et al. selects."""


def population_uniques(sample: SampleHistogram, p: Fraction) -> PopulationUniques:
    """Compute every estimate for a sample of at least one class; p is the sampling fraction, in (0, 1]."""
    found: dict[str, Any] = estimates(sample, p)
    return PopulationUniques(**found)
