"""How many rows of each sensitive value go where: balancing and assignment as arithmetic on counts.

Everything here is about numbers of rows; which rows they are is chance's choice (`generalization`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import InternalError
from shoal.republication.m_invariance.invariance_kernel import assign_to_known, assign_values

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.republication.m_invariance.signatures import Signatures

    Counts = NDArray[np.int64]
    Steps = list[tuple[int, NDArray[np.int32]]]

__all__ = [
    "plan_assignments",
    "plan_assignments_to_known",
    "minimize_counterfeits",
    "find_largest_m",
    "share_out",
]


def find_largest_m(supply: Counts) -> int:
    """Return the largest m for which rows are m-eligible: no value on more than 1/m of them. 0 where there is no row.

    Parameters
    ----------
    supply : array
        How many rows have each sensitive value.

    Examples
    --------
    >>> find_largest_m(np.array([2, 3, 4]))
    2
    """
    return int(supply.sum()) // int(supply.max()) if supply.any() else 0


def minimize_counterfeits(supply: Counts, demand: Counts, m: int) -> Counts:
    """Return how many new rows of each value balance a bucket, so that the fewest counterfeits are needed.

    Only how many rows of a value are taken matters, not for which bucket: with N new rows and X taken ones, the others
    are m-eligible when n_v - x_v <= (N - X) / m for every v. Let t be the right side, rounded down. Every value must
    give at least n_v - t rows, which it can for t >= max(n_v - u_v) with u_v = min(n_v, demand); and X can then be
    anything up to sum(u_v) with N - X >= m t, since N - m t is at least the sum of max(0, n_v - t) for m-eligible new
    rows. So the smallest t allows the largest X.

    Parameters
    ----------
    supply : array
        How many new rows have each value; they are m-eligible.
    demand : array
        How many rows of each value the buckets lack.
    m : int
        The m of m-invariance.

    Returns
    -------
    array
        Rows of each value to take. No other choice takes more in all and leaves m-eligible rows.
    """
    usable = np.minimum(supply, demand)
    rows, all_usable = int(supply.sum()), int(usable.sum())
    tallest = max((rows - all_usable) // m, int((supply - usable).max(initial=0)))
    wanted = min(all_usable, rows - m * tallest)
    taken = np.minimum(np.maximum(supply - tallest, 0), usable)
    # What else can be taken comes from the rarest values: a later release is the least likely to have rows of those.
    rarest = np.argsort(supply, kind="stable")
    room = (usable - taken)[rarest]
    before = np.cumsum(room) - room
    taken[rarest] += np.clip(wanted - int(taken.sum()) - before, 0, room)
    return taken


def share_out(taken: Counts, deficits: Counts, signatures: Signatures, urgency: Counts) -> Counts:
    """Return how many rows each slot gets, when so many of each value are taken: the most urgent slots first.

    Parameters
    ----------
    taken : array
        Rows of each value.
    deficits : array
        What each slot lacks.
    signatures : Signatures
        The values of the slots.
    urgency : array
        A number for each slot; higher is served first.
    """
    order = np.lexsort((-urgency, signatures.values))
    values, wanted = signatures.values[order], deficits[order]
    before = np.cumsum(wanted) - wanted
    first = np.searchsorted(values, np.arange(len(taken)))
    of_value = before - np.append(before, 0)[first][values]  # wanted by the more urgent slots of the same value
    given = np.empty_like(deficits)
    given[order] = np.clip(taken[values] - of_value, 0, wanted)
    return given


def plan_assignments(rest: Counts, m: int, rng: np.random.Generator) -> Steps:
    """Return the steps that assign m-eligible rows to balanced buckets (Figure 3, Lemma 5).

    Parameters
    ----------
    rest : array
        How many rows have each value.
    m : int
        The m of m-invariance.
    rng : numpy.random.Generator
        Which of equally frequent values come first is random.

    Returns
    -------
    list of (int, array)
        Of each step alpha, the number of rows per value, and the values (ascending): the signature of their bucket.
    """
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
_MAX_STEPS = 2_000
"""So many buckets, the tallest, are looked at for so many steps: far more than a usual series has use for."""
_FALL = 0.77
_MIN_MERIT = 0.05
_RARITY = 4


def plan_assignments_to_known(rest: Counts, signatures: Signatures, heights: Counts, m: int, totals: Counts) -> Steps:
    """Return steps that assign rows to buckets that are there already, which spares later releases counterfeits.

    What a bucket will lack at the next release is the spread of what its values lose: it grows with the square root of
    its height, so that a row in a tall bucket costs less than one in a low bucket. The expected largest of some
    binomial counts says how much less. A rare value is dear, because few new rows have it. After each step the rows
    that are left are m-eligible, so that the paper's assignment can always follow.

    Parameters
    ----------
    rest : array
        How many rows have each value; they are m-eligible.
    signatures : Signatures
        The known signatures.
    heights : array
        Height of the balanced bucket of each signature, 0 where there is none.
    m : int
        The m of m-invariance.
    totals : array
        How many rows of the whole release have each value, counterfeits among them.

    Returns
    -------
    list of (int, array)
        As `plan_assignments`.
    """
    if not rest.any():
        return []
    buckets = np.argsort(-heights, kind="stable")[:_MAX_BUCKETS]
    buckets = buckets[heights[buckets] > 0]
    turnover = rest.sum() / totals.sum()
    merits = np.maximum(1 - _FALL / np.sqrt(turnover * heights[buckets]), _MIN_MERIT)
    weights = (totals.mean() / np.maximum(totals, 1)) ** _RARITY
    order = np.argsort(-rest, kind="stable")
    chosen, alphas = assign_to_known(
        rest.copy(), order, signatures.starts, signatures.values, buckets, merits, weights, m, _MAX_STEPS
    )
    return [(int(alpha), signatures[bucket]) for bucket, alpha in zip(chosen.tolist(), alphas, strict=True)]
