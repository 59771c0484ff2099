"""Metrics of classes and cells: class sizes, numbers of stars, and the certainty penalty. Lower is better."""

from __future__ import annotations

import numpy as np

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
    # Python integers, because squares of large classes overflow 64 bits.
    distinct, times = np.unique(recoding.classes.sizes, return_counts=True)
    return sum(int(size) ** 2 * int(count) for size, count in zip(distinct, times, strict=True))


def average_class_size(recoding: Recoding, k: int | None = None) -> float:
    """Compute the average size of the published equivalence classes, divided by the smallest allowed size.

    This is C_avg of the paper, n / classes / k. For a k-anonymous release it is at least 1, which is the optimum; lower
    is better. Without `k` it is the plain average (k = 1). 0 if there are no rows.

    References
    ----------
    K. LeFevre, D. J. DeWitt and R. Ramakrishnan, "Mondrian multidimensional k-anonymity", ICDE 2006, Section 2.2.
    doi:10.1109/ICDE.2006.101
    """
    return mean_class_size(recoding) / (k or 1)


def mean_class_size(recoding: Recoding) -> float:
    """Compute the average size of the published equivalence classes, rows per class; 0 if there are no rows."""
    sizes = recoding.classes.sizes
    return int(sizes.sum()) / len(sizes) if len(sizes) else 0.0


def ncp(recoding: Recoding) -> dict[str, float]:
    """Compute the normalized certainty penalty of each quasi-identifier, averaged over its cells.

    The penalty of a cell is 0 if its value was kept, and 1 for a star. For an interval, it is the length of the
    interval divided by the length of the domain (numbers and dates by value, declared categories by rank). For a set,
    it is (values in the set - 1) / (values in the domain - 1). For a node of a hierarchy, it is (values below the node
    - 1) / (values below the root - 1). Domains consist of the values that occur in the table. In [0, 1]; lower is
    better.

    References
    ----------
    J. Xu, W. Wang, J. Pei, X. Wang, B. Shi and A. W.-C. Fu, "Utility-based anonymization using local recoding", KDD
    2006, Section 2.2. doi:10.1145/1150402.1150504

    Examples
    --------
    >>> import polars as pl, shoal
    >>> frame = pl.DataFrame({"age": [31, 31, 40, 44], "city": ["Bonn", "Ulm", "Bonn", "Bonn"]})
    >>> release = shoal.anonymize(frame, k=2, quasi_identifiers=["age", "city"], algorithm="mondrian")
    >>> sorted(release.metrics.ncp)
    ['age', 'city']
    """
    rows = max(recoding.rows, 1)
    return {column.name: float(np.dot(column.penalty, recoding.sizes)) / rows for column in recoding.columns}


def gcp(recoding: Recoding) -> float:
    """Compute the global certainty penalty: `ncp` averaged over all cells of all quasi-identifiers.

    In [0, 1]; lower is better. For suppression this is the share of stars. 0 if there is no quasi-identifier.

    References
    ----------
    G. Ghinita, P. Karras, P. Kalnis and N. Mamoulis, "Fast data anonymization with low information loss", VLDB 2007,
    pp. 758-769.
    """
    penalties = ncp(recoding).values()
    return sum(penalties) / len(penalties) if penalties else 0.0


def stars(recoding: Recoding) -> int:
    """Count the suppressed cells, the objective of star minimization.

    From 0 (no suppression) to the number of rows times the number of quasi-identifiers; lower is better.

    References
    ----------
    A. Meyerson and R. Williams, "On the complexity of optimal k-anonymity", PODS 2004. doi:10.1145/1055558.1055591
    """
    return recoding.stars


def stars_fraction(recoding: Recoding) -> float:
    """Compute the share of quasi-identifier cells that are stars, in [0, 1]; 0 if there are no cells."""
    cells = recoding.rows * len(recoding.columns)
    return recoding.stars / cells if cells else 0.0


def stars_by_attribute(recoding: Recoding) -> dict[str, int]:
    """Count the stars of each quasi-identifier, by name."""
    # A group publishes the same cells for all its rows, so group sizes are the weights.
    return {column.name: int(recoding.sizes[column.stars].sum()) for column in recoding.columns}


def recoded_cells_by_attribute(recoding: Recoding) -> dict[str, int]:
    """Count the cells of each quasi-identifier that differ from the original: stars, intervals and sets."""
    return {column.name: int(recoding.sizes[~column.kept].sum()) for column in recoding.columns}


def suppressed_tuples(recoding: Recoding) -> int:
    """Count the rows with at least one star, the objective of tuple minimization.

    From 0 to the number of rows; lower is better.

    References
    ----------
    X. Xiao, K. Yi and Y. Tao, "The hardness and approximation algorithms for l-diversity", EDBT 2010, Section 3.
    """
    return recoding.suppressed_tuples


def suppressed_tuples_fraction(recoding: Recoding) -> float:
    """Compute the share of rows with at least one star, in [0, 1]; 0 if there are no rows."""
    return recoding.suppressed_tuples / recoding.rows if recoding.rows else 0.0
