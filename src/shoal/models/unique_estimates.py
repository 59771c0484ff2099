"""Estimators of population uniqueness from the class sizes of a sample.

A *sample histogram* contains the class sizes that occur, in ascending order, and the number of classes of each size,
c_i. All estimates are shares of the population, whose size is N = n / p.

References
----------
.. [1] L. Zayatz, "Estimation of the number of unique population elements using a sample", Proceedings of the Survey
   Research Methods Section, American Statistical Association, 1991.
.. [2] N. Hoshino, "Applying Pitman's sampling formula to microdata disclosure risk assessment", Journal of Official
   Statistics 17(4), 2001.
.. [3] G. Chen and S. Keller-McNulty, "Estimation of identification disclosure risk in microdata", Journal of Official
   Statistics 14(1), 1998.
.. [4] P. J. Haas and L. Stokes, "Estimating the number of classes in a finite population", Journal of the American
   Statistical Association 93(444), 1998, Section 3.2. doi:10.1080/01621459.1998.10473807
.. [5] F. K. Dankar, K. El Emam, A. Neisa and T. Roffey, "Estimating the re-identification risk of clinical data sets",
   BMC Medical Informatics and Decision Making 12:66, 2012. doi:10.1186/1472-6947-12-66
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SMALL_FRACTION = Fraction(1, 10)
"""Largest sampling fraction for which Dankar et al. found Pitman's model to be the best."""
# Both concern the logarithm of theta + alpha.
_LARGEST_LOGARITHM, _WIDTH = 60.0, 90.0
"""Of theta + alpha, where the maximum of a likelihood is looked for."""


@dataclass(frozen=True, kw_only=True)
class SampleHistogram:
    """Histogram of the class sizes of a sample."""

    sizes: NDArray[np.int64]
    """Class sizes that occur, in ascending order."""
    counts: NDArray[np.int64]
    """Number of classes of each size."""

    @classmethod
    def of(cls, sizes: NDArray[np.int64]) -> SampleHistogram:
        """Count the sizes of classes."""
        found, counts = np.unique(sizes, return_counts=True)
        return cls(sizes=found, counts=counts)

    @property
    def rows(self) -> int:
        """Number of rows of the sample, n."""
        return int(np.dot(self.sizes, self.counts))

    @property
    def classes(self) -> int:
        """Number of classes of the sample, u."""
        return int(self.counts.sum())

    def of_size(self, size: int) -> int:
        """Return c_i, the number of classes of size i."""
        return int(self.counts[self.sizes == size].sum())


def estimates(sample: SampleHistogram, p: Fraction) -> dict[str, float | None]:
    """Compute all estimates by name; an estimate is None if its model does not fit the sample.

    Parameters
    ----------
    sample : SampleHistogram
        At least one class.
    p : Fraction
        The sampling fraction, above 0 and at most 1.
    """
    by_pitman, by_zayatz, by_snb = pitman(sample, p), zayatz(sample, p), slide_negative_binomial(sample, p)
    chosen = dankar(p, pitman=by_pitman, zayatz=by_zayatz, snb=by_snb)
    return {"pitman": by_pitman, "zayatz": by_zayatz, "snb": by_snb, "dankar": chosen}


def dankar(p: Fraction, *, pitman: float | None, zayatz: float, snb: float | None) -> float:
    """Select the estimate that performed best in the simulations of [5]_ for this sampling fraction.

    If p <= 0.1 this is Pitman's model, otherwise the smaller of Zayatz' estimate and the slide negative binomial model.
    If the model does not fit, Zayatz' estimate is used.
    """
    if p <= _SMALL_FRACTION:
        return zayatz if pitman is None else pitman
    return zayatz if snb is None else min(zayatz, snb)


def zayatz(sample: SampleHistogram, p: Fraction) -> float:
    """Compute Zayatz' estimate [1]_.

    By Bayes' rule, P(F = 1 | f = 1) = P(F = 1) P(f = 1 | F = 1) / sum_i P(F = i) P(f = 1 | F = i). Here P(F = i) is
    estimated by the share of sample classes of size i, and P(f = 1 | F = i) is hypergeometric. The estimate is this
    probability times the share of sample uniques. If p = 1, it equals the share of sample uniques. In [0, 1]; lower is
    safer.
    """
    rows, uniques = sample.rows, sample.of_size(1)
    # The population size is known up to rounding only.
    people = round(rows / p)
    # P(f = 1 | F = i) = i n / N * (N - n)(N - n - 1) ... / ((N - 1)(N - 2) ...), with i - 1 factors each.
    largest = min(int(sample.sizes[-1]), people)
    steps = np.arange(1, largest)
    ratios = np.maximum(people - rows - steps + 1, 0) / (people - steps)
    others_out = np.concatenate(([1.0], np.cumprod(ratios)))
    alone = sample.counts * sample.sizes * others_out[np.minimum(sample.sizes, largest) - 1]
    return uniques / math.fsum(alone.tolist()) * uniques / rows if uniques else 0.0


def pitman(sample: SampleHistogram, p: Fraction) -> float | None:
    r"""Compute the estimate by Pitman's model [2]_, with maximum likelihood parameters.

    .. math:: \frac{E(C_1)}{N} \approx \frac{\Gamma(\theta + 1)}{\Gamma(\theta + \alpha)} N^{\alpha - 1}

    Hoshino's expression for large N. In [0, 1]; lower is safer. None if the likelihood has no maximum.
    """
    fitted = fit_pitman(sample)
    if fitted is None:
        return None
    theta, alpha = fitted
    # Outside of [0, 1] the approximation for large N does not apply.
    share = _gamma_ratio(theta, alpha) * float(sample.rows / p) ** (alpha - 1)
    return share if 0 <= share <= 1 else None


def fit_pitman(sample: SampleHistogram) -> tuple[float, float] | None:
    """Fit the parameters theta and alpha of Pitman's model by maximum likelihood; None if there is no maximum.

    For each alpha in (0, 1) the likelihood has one maximum in theta. The search finds a zero of the derivative along
    these maxima. If the derivative is not positive at alpha = 0, the result is alpha = 0 (Ewens' model).
    """
    n, u = sample.rows, sample.classes
    if u in {1, n}:  # all rows alike, or all different: the likelihood grows for ever
        return None

    def distance(alpha: float) -> float:
        """Return the most likely theta + alpha for this alpha, which is above 0."""

        def score(logarithm: float) -> float:
            return _score_theta(math.exp(logarithm), alpha, n, u)

        # Bracket the zero of the score on a logarithmic scale.
        high = 0.0
        while score(high) > 0 and high < _LARGEST_LOGARITHM:
            high += 2
        return math.exp(_root(score, high - _WIDTH, high, 1e-14))

    def along(alpha: float) -> float:
        return _score_alpha(distance(alpha), alpha, sample)

    try:
        if along(0.0) <= 0:
            return distance(0.0), 0.0
        alpha = _root(along, 0.0, 1 - 1e-9, 1e-12)
        return _refine_by_newton(distance(alpha) - alpha, alpha, sample)
    except (ValueError, ArithmeticError, np.linalg.LinAlgError):  # no change of sign: no maximum inside
        return None


def _score_theta(distance: float, alpha: float, n: int, u: int) -> float:
    """Differentiate the log-likelihood in theta: sum_{i<u} 1/(theta + i alpha) - sum_{i<n} 1/(theta + i)."""
    theta = distance - alpha
    return _sums(distance, alpha, u)[0] - float(_digamma(theta + n) - _digamma(theta + 1))


def _score_alpha(distance: float, alpha: float, sample: SampleHistogram) -> float:
    """Differentiate the log-likelihood in alpha: sum_{i<u} i/(theta + i alpha) - sum_j c_j sum_{i<j} 1/(i - alpha)."""
    second = np.dot(sample.counts, _digamma(sample.sizes - alpha) - _digamma(1 - alpha))
    return _sums(distance, alpha, sample.classes)[1] - float(second)


def _sums(distance: float, alpha: float, u: int) -> tuple[float, float]:
    """Compute the sums of 1/(theta + i alpha) and of i/(theta + i alpha) over i from 1 to u - 1."""
    if alpha == 0:
        return (u - 1) / distance, u * (u - 1) / 2 / distance
    if alpha < 0.01:  # the closed form would be a difference of large numbers
        i = np.arange(1, u)
        terms = 1 / (distance + (i - 1) * alpha)
        return float(terms.sum()), float((i * terms).sum())
    # The digamma recurrence gives the first sum, which determines the second one.
    first = float(_digamma(distance / alpha + u - 1) - _digamma(distance / alpha)) / alpha
    return first, (u - 1 - (distance - alpha) * first) / alpha


def _refine_by_newton(theta: float, alpha: float, sample: SampleHistogram) -> tuple[float, float]:
    """Refine the parameters by a few Newton steps.

    Sums are computed term by term, because differences of large numbers would lose digits.
    """
    n, u = sample.rows, sample.classes
    i, rest = np.arange(1, u), np.arange(1, n)
    large = sample.sizes > 1
    sizes, counts = sample.sizes[large], sample.counts[large]
    for _ in range(3):
        # Terms of the sums over classes, over rows, and over rows within classes.
        terms = 1 / (theta + alpha + (i - 1) * alpha)
        others = 1 / (theta + rest)
        below = 1 / (np.arange(1, int(sample.sizes[-1])) - alpha)
        gradient = np.array(
            [terms.sum() - others.sum(), (i * terms).sum() - np.dot(counts, np.cumsum(below)[sizes - 2])]
        )
        mixed = -(i * terms**2).sum()
        hessian = np.array(
            [
                [(others**2).sum() - (terms**2).sum(), mixed],
                [mixed, -((i * terms) ** 2).sum() - np.dot(counts, np.cumsum(below**2)[sizes - 2])],
            ]
        )
        step = np.linalg.solve(hessian, gradient)
        # Stop before a step leaves the parameter space.
        if not 0 < alpha - step[1] < 1 or theta - step[0] <= -(alpha - step[1]):
            break
        theta, alpha = theta - float(step[0]), alpha - float(step[1])
    return theta, alpha


def _gamma_ratio(theta: float, alpha: float) -> float:
    """Compute Gamma(theta + 1) / Gamma(theta + alpha) for 0 <= alpha <= 1 without cancellation."""
    shifted = 1.0
    while theta < 40:  # Gamma(x + 1) = x Gamma(x), until Stirling's series has all digits
        shifted *= (theta + alpha) / (theta + 1)
        theta += 1
    # Difference of the two Stirling series, with the leading terms combined.
    a, b, gap = theta + 1, theta + alpha, 1 - alpha
    exponent = (a - 0.5) * math.log1p(gap / b) + gap * (math.log(b) - 1)
    for power, factor in ((1, 1 / 12), (3, -1 / 360), (5, 1 / 1260), (7, -1 / 1680)):
        exponent += factor * (a**-power - b**-power)
    return shifted * math.exp(exponent)


def slide_negative_binomial(sample: SampleHistogram, p: Fraction) -> float | None:
    """Compute the estimate by the slide negative binomial model [3]_, K beta^alpha / N.

    F - 1 is negative binomial. The number K of population classes is estimated by `classes_in_population`. The
    parameters alpha and beta are chosen so that the expected numbers of sample classes of one and of two rows equal the
    observed ones. In [0, 1]; lower is safer. None if there are no such parameters.
    """
    # The sample is the population.
    if p == 1:
        return sample.of_size(1) / sample.rows
    classes = classes_in_population(sample, p)
    fitted = None if classes is None else fit_snb(classes, sample.of_size(1), sample.of_size(2), p)
    if classes is None or fitted is None:
        return None
    alpha, beta = fitted
    share = classes * math.exp(alpha * math.log(beta)) / float(sample.rows / p)
    return share if 0 <= share <= 1 else None


def classes_in_population(sample: SampleHistogram, p: Fraction) -> float | None:
    r"""Estimate the number of population classes by the modified estimator of Shlosser [4]_.

    .. math:: u + c_1 \frac{\sum_i i p^2 (1 - p^2)^{i-1} c_i}{\sum_i (1 - p)^i ((1 + p)^i - 1) c_i}
              \left(\frac{\sum_i (1 - p)^i c_i}{\sum_i i p (1 - p)^{i-1} c_i}\right)^2

    None if a denominator is 0.
    """
    q, i, c = float(p), sample.sizes.astype(np.float64), sample.counts
    uniques = sample.of_size(1)
    first = np.dot(c, i * q**2 * (1 - q**2) ** (i - 1))
    # (1 - q)^i (1 + q)^i equals (1 - q^2)^i, which does not overflow.
    second = np.dot(c, (1 - q**2) ** i - (1 - q) ** i)
    third, fourth = np.dot(c, (1 - q) ** i), np.dot(c, i * q * (1 - q) ** (i - 1))
    if uniques == 0 or p == 1:
        return float(sample.classes)
    return float(sample.classes + uniques * first / second * (third / fourth) ** 2) if second > 0 < fourth else None


def fit_snb(classes: float, uniques: float, pairs: float, p: Fraction) -> tuple[float, float] | None:
    """Fit alpha and beta of the slide negative binomial model, or return None if no parameters fit.

    Let B = 1 - (1 - p)(1 - beta), w = (1 - beta) / B and m = (1 - p) w. The expected number of sample classes of one
    row is K p (beta / B)^alpha (1 + alpha m), and of two rows K p^2 / 2 alpha w (beta / B)^alpha (2 + (1 + alpha) m).
    For each beta their ratio is a quadratic in alpha, which leaves one equation in beta.

    Parameters
    ----------
    classes : float
        K, the number of population classes.
    uniques, pairs : float
        Number of sample classes of one and of two rows.
    p : Fraction
        The sampling fraction.
    """
    if uniques <= 0 or pairs <= 0:
        return None
    q = float(p)
    wanted = 2 * pairs / (uniques * q)

    def alpha_of(beta: float) -> float:
        w = (1 - beta) / (1 - (1 - q) * (1 - beta))
        m = (1 - q) * w
        # a alpha^2 + b alpha - wanted = 0 has one positive solution; the form without cancellation depends on the sign
        # of b.
        a, b = w * m, w * (2 + m) - wanted * m
        root = math.sqrt(b * b + 4 * a * wanted)
        return 2 * wanted / (b + root) if b > 0 else (root - b) / (2 * a)

    def excess(logit: float) -> float:
        beta = 1 / (1 + math.exp(-logit))
        alpha, inner = alpha_of(beta), 1 - (1 - q) * (1 - beta)
        m = (1 - q) * (1 - beta) / inner
        return math.log(classes * q / uniques) + alpha * math.log(beta / inner) + math.log1p(alpha * m)

    # The logistic scale resolves values of beta near 0 and near 1.
    logit = _first_root(excess)
    if logit is None:
        return None
    beta = 1 / (1 + math.exp(-logit))
    return alpha_of(beta), beta


def _first_root(function: Callable[[float], float]) -> float | None:
    """Find a zero of a function on a grid from -20 to 20 with steps of 1/4, then refine it; None if there is none."""
    grid = np.arange(-20, 20.25, 0.25).tolist()
    values = [function(x) for x in grid]
    # The first change of sign is taken.
    for (x, y), (left, right) in zip(pairwise(grid), pairwise(values), strict=True):
        if left == 0:
            return float(x)
        if left * right < 0:
            return _root(function, x, y, 1e-12)
    return None


def _root(function: Callable[[float], float], low: float, high: float, width: float) -> float:
    """Find a zero between two numbers by the method of Ridders (IEEE Transactions on Circuits and Systems 26, 1979).

    Raises
    ------
    ValueError
        The function has the same sign at both.
    """
    at_low, at_high = function(low), function(high)
    if at_low * at_high > 0:
        raise ValueError("no change of sign")
    near = low if at_low == 0 else high
    while at_low and at_high:
        # The zero of the line through three values, of which those at the middle and the end are divided by powers of
        # an exponential.
        middle = (low + high) / 2
        at_middle = function(middle)
        before, rise = near, math.sqrt(at_middle * at_middle - at_low * at_high)
        near = middle + math.copysign(1, at_low - at_high) * (middle - low) * at_middle / rise
        at_near = function(near)
        if abs(near - before) <= width:
            break
        if at_middle * at_near < 0:
            low, at_low, high, at_high = middle, at_middle, near, at_near
        elif at_low * at_near < 0:
            high, at_high = near, at_near
        else:
            low, at_low = near, at_near
    return near


def _digamma(x: Any) -> Any:
    """Differentiate the logarithm of the gamma function at positive numbers, to fourteen digits."""
    below = sum(1 / (x + i) for i in range(10))
    inverse = 1 / np.square(x + 10.0)
    # Of the asymptotic series the next term is below 1e-15.
    series: Any = 0.0
    for factor in (691 / 32760, -1 / 132, 1 / 240, -1 / 252, 1 / 120, -1 / 12):
        series = (series + factor) * inverse
    return np.log(x + 10.0) - 0.5 / (x + 10.0) + series - below
