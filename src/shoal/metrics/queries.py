"""Query workload error: how far counts on a release are from counts on the microdata. Lower is better."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.metrics.queries_kernel import count_rows, estimate_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["random_ranges", "workload_error"]


def random_ranges(
    sizes: Sequence[int], selectivity: float, count: int, rng: np.random.Generator
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return random ranges of codes for counting queries of an expected selectivity.

    Each range has on average |A| * selectivity ** (1 / attributes) of the |A| codes of its attribute: where that is no
    whole number, chance decides between the two next to it. It has at least one code, and starts anywhere.

    Parameters
    ----------
    sizes : sequence of int
        The number of codes of every attribute, the sensitive one last.
    selectivity : float
        The share of all rows that a query is expected to count, if all were spread evenly.
    count : int
        The number of queries.
    rng : numpy.random.Generator
        Decides lengths and places.

    Returns
    -------
    low, high : arrays of shape (count, attributes)
        The first and the last code of each range.

    References
    ----------
    X. Xiao and Y. Tao, "m-Invariance: towards privacy preserving re-publication of dynamic datasets", SIGMOD 2007,
    Section 5.2. doi:10.1145/1247480.1247556
    """
    domain = np.asarray(sizes, dtype=np.int64)
    wanted = domain * selectivity ** (1 / len(domain))
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
    """Return the median relative error |true - estimated| / true of some counting queries, from 0 up.

    A group contributes its people times the share of its ranges that a query's overlap times the share of its rows
    whose sensitive value the query asks for. Queries that no row fulfils have no relative error and are left out.

    Parameters
    ----------
    codes : array, shape (n, d + 1)
        The microdata: quasi-identifiers, then the sensitive attribute.
    groups : pair of arrays, shape (groups, d)
        The first and the last code of each group on each quasi-identifier.
    people : array
        Rows of each group that are no counterfeits.
    values : array, shape (groups, sensitive codes)
        How many rows of each group, counterfeits included, have each sensitive code.
    queries : pair of arrays, shape (queries, d + 1)
        The first and the last code of every range.
    """
    low, high = (np.ascontiguousarray(one, dtype=np.int32) for one in queries)
    true = count_rows(np.ascontiguousarray(codes, dtype=np.int32), low, high)
    below = np.zeros((len(people), values.shape[1] + 1), dtype=np.int32)
    np.cumsum(values, axis=1, out=below[:, 1:])
    first, last = (np.ascontiguousarray(one, dtype=np.int32) for one in groups)
    estimated = estimate_rows(first, last, np.ascontiguousarray(people, dtype=np.int64), below, low, high)
    known = true > 0
    return float(np.median(np.abs(true - estimated)[known] / true[known])) if known.any() else 0.0
