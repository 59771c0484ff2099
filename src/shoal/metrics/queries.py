"""Workload error: the accuracy of counting queries on a release. Lower is better."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.metrics.queries_kernel import count_rows, estimate_rows


def random_ranges(
    sizes: Sequence[int], selectivity: float, count: int, rng: np.random.Generator
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Generate random ranges of codes for counting queries of an expected selectivity.

    A range covers |A| * selectivity ** (1 / attributes) of the |A| codes of its attribute on average. If this is not an
    integer, the length is rounded up or down at random. A range has at least one code, and its position is uniform.

    Parameters
    ----------
    sizes : sequence of int
        Number of codes of every attribute, the sensitive one last.
    selectivity : float
        Expected share of the rows that a query counts, if rows are uniformly distributed.
    count : int
        Number of queries.
    rng : numpy.random.Generator
        Source of lengths and positions.

    Returns
    -------
    low, high : arrays of shape (count, attributes)
        First and last code of each range.

    References
    ----------
    X. Xiao and Y. Tao, "m-Invariance: towards privacy preserving re-publication of dynamic datasets", SIGMOD 2007,
    Section 5.2. doi:10.1145/1247480.1247556

    Examples
    --------
    >>> low, high = random_ranges([100, 10], 0.25, 3, np.random.default_rng(0))
    >>> (high - low + 1).tolist()
    [[50, 5], [50, 5], [50, 5]]
    """
    domain = np.asarray(sizes, dtype=np.int64)
    wanted = domain * selectivity ** (1 / len(domain))
    # Randomized rounding keeps the expected length.
    lengths = np.floor(wanted + rng.random((count, len(domain)))).astype(np.int64)
    lengths = np.clip(lengths, 1, domain)
    low = rng.integers(0, domain - lengths + 1)
    return low.astype(np.int32), (low + lengths - 1).astype(np.int32)


def workload_error(
    codes: NDArray[np.integer],
    groups: tuple[NDArray[np.integer], NDArray[np.integer]],
    people: NDArray[np.integer],
    values: NDArray[np.integer],
    queries: tuple[NDArray[np.integer], NDArray[np.integer]],
) -> float:
    """Compute the median relative error |true - estimated| / true of counting queries, at least 0.

    A group contributes its real rows, times the share of its box that the query covers, times the share of its rows
    with a sensitive value in the query's range. Queries that no row satisfies have no relative error and are left out.

    Parameters
    ----------
    codes : array, shape (n, d + 1)
        The microdata: quasi-identifiers, then the sensitive attribute.
    groups : pair of arrays, shape (groups, d)
        First and last code of each group on each quasi-identifier.
    people : array
        Number of rows of each group that are not counterfeits.
    values : array, shape (groups, sensitive codes)
        Number of rows of each group, including counterfeits, with each sensitive code.
    queries : pair of arrays, shape (queries, d + 1)
        First and last code of every range.
    """
    low, high = (np.ascontiguousarray(one, dtype=np.int32) for one in queries)
    true = count_rows(np.ascontiguousarray(codes, dtype=np.int32), low, high)
    # Prefix sums over the sensitive codes answer each range by a difference.
    below = np.zeros((len(people), values.shape[1] + 1), dtype=np.int32)
    np.cumsum(values, axis=1, out=below[:, 1:])
    first, last = (np.ascontiguousarray(one, dtype=np.int32) for one in groups)
    estimated = estimate_rows(first, last, np.ascontiguousarray(people, dtype=np.int64), below, low, high)
    # Relative errors are undefined if the true count is 0.
    known = true > 0
    return float(np.median(np.abs(true - estimated)[known] / true[known])) if known.any() else 0.0
