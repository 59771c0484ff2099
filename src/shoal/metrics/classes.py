"""Metrics based on the sizes of the published equivalence classes. Lower is better."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.recoding import Recoding


def discernability(recoding: Recoding) -> int:
    """Compute the discernability metric: the sum of the squared sizes of the published equivalence classes.

    In other words, each row is charged the number of published rows with the same quasi-identifiers. The metric ranges
    from n (all rows are distinct) to n**2 (all rows are equal); lower is better. The paper charges n for each row that
    is removed from the release. In this package no row is removed: rows with stars in all quasi-identifiers form an
    ordinary class.

    References
    ----------
    R. J. Bayardo and R. Agrawal, "Data privacy through optimal k-anonymization", ICDE 2005, Section 3.
    doi:10.1109/ICDE.2005.42
    """
    return _sum_of_squares(recoding.classes.sizes)


def average_class_size(recoding: Recoding, k: int | None = None) -> float:
    """Compute the average size of the published equivalence classes, divided by the smallest allowed size.

    This is C_avg of the paper, n / classes / k. For a k-anonymous release it is at least 1, which is the optimum; lower
    is better. Without `k` it is the plain average (k = 1). 0 if there are no rows.

    References
    ----------
    K. LeFevre, D. J. DeWitt and R. Ramakrishnan, "Mondrian multidimensional k-anonymity", ICDE 2006, Section 2.2.
    doi:10.1109/ICDE.2006.101
    """
    return _mean_size(recoding.classes.sizes) / (k or 1)


def mean_class_size(recoding: Recoding) -> float:
    """Compute the average size of the published equivalence classes, rows per class; 0 if there are no rows."""
    return _mean_size(recoding.classes.sizes)


def _sum_of_squares(sizes: NDArray[np.int64]) -> int:
    """Sum the squares of class sizes, exactly."""
    # Python integers, because squares of large classes overflow 64 bits.
    distinct, times = np.unique(sizes, return_counts=True)
    return sum(int(size) ** 2 * int(count) for size, count in zip(distinct, times, strict=True))


def _mean_size(sizes: NDArray[np.int64]) -> float:
    """Average class sizes; 0 if there are no classes."""
    return int(sizes.sum()) / len(sizes) if len(sizes) else 0.0
