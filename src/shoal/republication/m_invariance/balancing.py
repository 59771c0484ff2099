"""Balancing and assignment of new rows as arithmetic on counts (phases two and three of counterfeited generalization).

These functions decide how many rows of each sensitive value go to which bucket. Which rows these are is random, see
`generalization`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InternalError
from shoal.republication.m_invariance.invariance_kernel import assign_to_known, assign_values
from shoal.republication.m_invariance.signatures import Signatures

Counts = NDArray[np.int64]
Steps = list[tuple[int, NDArray[np.int32]]]


def find_largest_m(supply: Counts) -> int:
    """Find the largest m for which rows are m-eligible: no value on more than 1/m of them. Return 0 if there is no row.

    Parameters
    ----------
    supply : array
        Number of rows of each sensitive value.

    Examples
    --------
    >>> find_largest_m(np.array([2, 3, 4]))
    2
    """
    return int(supply.sum()) // int(supply.max()) if supply.any() else 0


def minimize_counterfeits(supply: Counts, demand: Counts, m: int) -> Counts:
    """Choose how many new rows of each value balance buckets, so that the number of counterfeits is minimal.

    Only the number x_v of rows of each value matters, not their bucket. With N new rows of which X are used, the others
    are m-eligible if n_v - x_v <= (N - X) / m for every v. Let t be the right side, rounded down. Every value must give
    at least n_v - t rows, which is possible if t >= max(n_v - u_v) with u_v = min(n_v, demand). X can then be any
    number up to sum(u_v) with N - X >= m t, because N - m t is at least the sum of max(0, n_v - t) if the new rows are
    m-eligible. Therefore the smallest t allows the largest X.

    Parameters
    ----------
    supply : array
        Number of new rows of each value; they are m-eligible.
    demand : array
        Number of rows of each value that the buckets lack.
    m : int
        The m of m-invariance.

    Returns
    -------
    array
        Number of rows of each value to use. No other choice uses more rows in total and leaves m-eligible rows.
    """
    # u_v, the rows of each value that buckets can use.
    usable = np.minimum(supply, demand)
    rows, all_usable = int(supply.sum()), int(usable.sum())
    # The smallest feasible t, and the largest X for it.
    tallest = max((rows - all_usable) // m, int((supply - usable).max(initial=0)))
    wanted = min(all_usable, rows - m * tallest)
    taken = np.minimum(np.maximum(supply - tallest, 0), usable)
    # Further rows come from the rarest values, because a later release is least likely to have rows of these.
    rarest = np.argsort(supply, kind="stable")
    room = (usable - taken)[rarest]
    before = np.cumsum(room) - room
    taken[rarest] += np.clip(wanted - int(taken.sum()) - before, 0, room)
    return taken


def share_out(taken: Counts, deficits: Counts, signatures: Signatures, urgency: Counts) -> Counts:
    """Share out the used rows of each value among the slots, the most urgent slots first.

    Parameters
    ----------
    taken : array
        Number of rows of each value.
    deficits : array
        Number of rows that each slot lacks.
    signatures : Signatures
        The values of the slots.
    urgency : array
        A number for each slot; higher numbers are served first.

    Returns
    -------
    array
        Number of rows of each slot.
    """
    # Slots of each value, by urgency.
    order = np.lexsort((-urgency, signatures.values))
    values, wanted = signatures.values[order], deficits[order]
    before = np.cumsum(wanted) - wanted
    first = np.searchsorted(values, np.arange(len(taken)))
    of_value = before - np.append(before, 0)[first][values]  # wanted by the more urgent slots of the same value
    given = np.empty_like(deficits)
    given[order] = np.clip(taken[values] - of_value, 0, wanted)
    return given


def plan_assignments(rest: Counts, m: int, rng: np.random.Generator) -> Steps:
    """Plan the assignment of m-eligible rows to balanced buckets (Figure 3, Lemma 5).

    Parameters
    ----------
    rest : array
        Number of rows of each value.
    m : int
        The m of m-invariance.
    rng : numpy.random.Generator
        Breaks ties between equally frequent values.

    Returns
    -------
    list of (int, array)
        For each step alpha, the number of rows of each value, and the values in ascending order: the signature of the
        bucket.
    """
    # Values by descending count, ties at random.
    order = rng.permutation(len(rest))
    order = order[np.argsort(-rest[order], kind="stable")]
    alphas, betas, chosen = assign_values(rest, order, m)
    if int((alphas * betas).sum()) != int(rest.sum()):
        raise InternalError("the assignment left rows behind")
    ends = np.cumsum(betas)
    return [
        (int(alpha), np.sort(chosen[end - beta : end]).astype(np.int32))
        for alpha, beta, end in zip(alphas, betas, ends, strict=True)
    ]


_MAX_BUCKETS = 2_000
"""Largest number of buckets that are considered, tallest first."""
_MAX_STEPS = 2_000
"""Largest number of steps. Both limits are far above the needs of usual series."""
_FALL = 0.77
"""Factor of the expected maximum of binomial counts."""
_MIN_MERIT = 0.05
"""Smallest merit of a bucket."""
_RARITY = 4
"""Exponent that makes rare values expensive."""


def plan_assignments_to_known(rest: Counts, signatures: Signatures, heights: Counts, m: int, totals: Counts) -> Steps:
    """Plan the assignment of rows to existing buckets, which saves counterfeits in later releases.

    The rows that a bucket will lack at the next release depend on the spread of the losses of its values. The spread
    grows with the square root of the height, so a row in a tall bucket costs less than a row in a low one; the expected
    maximum of binomial counts gives the factor. A rare value is expensive because few new rows have it. After each step
    the remaining rows are m-eligible, so that the paper's assignment can always follow.

    Parameters
    ----------
    rest : array
        Number of rows of each value; they are m-eligible.
    signatures : Signatures
        The known signatures.
    heights : array
        Height of the balanced bucket of each signature, 0 if it has no bucket.
    m : int
        The m of m-invariance.
    totals : array
        Number of rows of each value in the whole release, including counterfeits.

    Returns
    -------
    list of (int, array)
        See `plan_assignments`.
    """
    if not rest.any():
        return []
    # The tallest buckets.
    buckets = np.argsort(-heights, kind="stable")[:_MAX_BUCKETS]
    buckets = buckets[heights[buckets] > 0]
    # Merit of each bucket, weight of each value.
    turnover = rest.sum() / totals.sum()
    merits = np.maximum(1 - _FALL / np.sqrt(turnover * heights[buckets]), _MIN_MERIT)
    weights = (totals.mean() / np.maximum(totals, 1)) ** _RARITY
    # The kernel takes the bucket with the largest gain in each step.
    order = np.argsort(-rest, kind="stable")
    chosen, alphas = assign_to_known(
        rest.copy(), order, signatures.starts, signatures.values, buckets, merits, weights, m, _MAX_STEPS
    )
    return [(int(alpha), signatures[bucket]) for bucket, alpha in zip(chosen.tolist(), alphas, strict=True)]
