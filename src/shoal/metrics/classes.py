"""Metrics of the sizes of the published equivalence classes. Lower is better."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.recoding import Recoding

__all__ = ["average_class_size", "discernability", "mean_class_size"]


def discernability(recoding: Recoding) -> int:
    """Return the discernability metric: for every row, how many published rows look like it.

    That is the sum of the squared sizes of the equivalence classes that a reader sees. From n (all rows differ) to n**2
    (all look alike); lower is better. The paper charges n for each row that was removed from the release. Nothing is
    removed here: rows whose quasi-identifiers are all stars are one class like any other.

    References
    ----------
    R. J. Bayardo and R. Agrawal, "Data privacy through optimal k-anonymization", ICDE 2005, Section 3.
    doi:10.1109/ICDE.2005.42
    """
    return _sum_of_squares(recoding.classes.sizes)


def average_class_size(recoding: Recoding, k: int | None = None) -> float:
    """Return the average size of the published equivalence classes over the smallest allowed: n / classes / k.

    C_avg of the paper. At least 1 for a k-anonymous release, where 1 is the best possible; lower is better. Without `k`
    it is the plain average (k = 1). 0 where there is no row.

    References
    ----------
    K. LeFevre, D. J. DeWitt and R. Ramakrishnan, "Mondrian multidimensional k-anonymity", ICDE 2006, Section 2.2.
    doi:10.1109/ICDE.2006.101
    """
    return _mean_size(recoding.classes.sizes) / (k or 1)


def mean_class_size(recoding: Recoding) -> float:
    """Return the average size of the published equivalence classes: rows per class; 0 where there is no row."""
    return _mean_size(recoding.classes.sizes)


def _sum_of_squares(sizes: NDArray[np.int64]) -> int:
    """Return the discernability of classes of these sizes, exactly."""
    distinct, times = np.unique(sizes, return_counts=True)
    return sum(int(size) ** 2 * int(count) for size, count in zip(distinct, times, strict=True))


def _mean_size(sizes: NDArray[np.int64]) -> float:
    """Return the average of these class sizes; 0 where there is no class."""
    return int(sizes.sum()) / len(sizes) if len(sizes) else 0.0
