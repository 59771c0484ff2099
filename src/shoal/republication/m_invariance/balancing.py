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
    "assignments",
    "assignments_of_similar",
    "assignments_to_known",
    "fewest_counterfeits",
    "largest_m",
    "shared_out",
    "withheld",
]


def largest_m(supply: Counts) -> int:
    """Return the largest m for which rows are m-eligible: no value on more than 1/m of them. 0 where there is no row.

    Parameters
    ----------
    supply : array
        How many rows have each sensitive value.

    Examples
    --------
    >>> largest_m(np.array([2, 3, 4]))
    2
    """
    return int(supply.sum()) // int(supply.max()) if supply.any() else 0


def withheld(supply: Counts, demand: Counts, m: int) -> tuple[Counts, Counts]:
    """Return how many new rows of each value must balance a bucket or wait, for the others to be m-eligible.

    Cutting every value to at most c rows leaves sum(min(n_v, c)) of them, which must be at least m c. That sum is
    concave in c, so the largest such c leaves most rows. What exceeds it balances buckets as far as there is a demand,
    and the rest waits: the fewest rows possible.

    Parameters
    ----------
    supply : array
        How many new rows have each value.
    demand : array
        How many rows of each value the buckets lack.
    m : int
        The m of m-invariance.

    Returns
    -------
    balancing, waiting : array
        Of each value, the rows beyond c that balance a bucket, and those that are held back.
    """
    low, high = 0, int(supply.max(initial=0))
    while low < high:
        cut = (low + high + 1) // 2
        if int(np.minimum(supply, cut).sum()) >= m * cut:
            low = cut
        else:
            high = cut - 1
    beyond = np.maximum(supply - low, 0)
    balancing = np.minimum(beyond, demand)
    return balancing, beyond - balancing


def fewest_counterfeits(supply: Counts, demand: Counts, m: int) -> Counts:
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


def shared_out(taken: Counts, deficits: Counts, signatures: Signatures, urgency: Counts) -> Counts:
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


def assignments(rest: Counts, m: int) -> Steps:
    """Return the steps that assign m-eligible rows to balanced buckets (Figure 3, Lemma 5).

    Parameters
    ----------
    rest : array
        How many rows have each value.
    m : int
        The m of m-invariance.

    Returns
    -------
    list of (int, array)
        Of each step alpha, the number of rows per value, and the values (ascending): the signature of their bucket.
    """
    order = np.argsort(-rest, kind="stable")
    alphas, betas, chosen = assign_values(rest, order, m)
    if int((alphas * betas).sum()) != int(rest.sum()):
        raise InternalError("the assignment left rows behind")
    ends = np.cumsum(betas)
    return [
        (int(alpha), np.sort(chosen[end - beta : end]).astype(np.int32))
        for alpha, beta, end in zip(alphas, betas, ends, strict=True)
    ]


_MOST_BUCKETS = 2_000
_MOST_STEPS = 2_000
"""So many buckets, the tallest, are looked at for so many steps: far more than a usual series has use for."""
_FALL = 0.77
_LEAST_MERIT = 0.05
_RARITY = 4


def assignments_to_known(rest: Counts, signatures: Signatures, heights: Counts, m: int, totals: Counts) -> Steps:
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
        How many rows of the whole release have each value.

    Returns
    -------
    list of (int, array)
        As `assignments`.
    """
    if not rest.any():
        return []
    buckets = np.argsort(-heights, kind="stable")[:_MOST_BUCKETS]
    buckets = buckets[heights[buckets] > 0]
    turnover = rest.sum() / totals.sum()
    merits = np.maximum(1 - _FALL / np.sqrt(turnover * heights[buckets]), _LEAST_MERIT)
    weights = (totals.mean() / np.maximum(totals, 1)) ** _RARITY
    order = np.argsort(-rest, kind="stable")
    chosen, alphas = assign_to_known(
        rest.copy(), order, signatures.starts, signatures.values, buckets, merits, weights, m, _MOST_STEPS
    )
    return [(int(alpha), signatures[bucket]) for bucket, alpha in zip(chosen.tolist(), alphas, strict=True)]


_CHOICE = 3
"""Similar values are looked for among the 3 m commonest ones."""
_LEAST_SHARE = 100
"""A bucket of similar values is made for at least a hundredth of the rows: few tall buckets need few counterfeits."""


def assignments_of_similar(rest: Counts, profiles: NDArray[np.float64], m: int) -> Steps:
    """Return steps that put values into one bucket whose rows have similar quasi-identifiers.

    The paper takes the beta commonest values at each step. Any m values will do, as long as the rows that are left stay
    m-eligible; values whose rows are alike leave groups with narrower sub-domains. The commonest value is always taken,
    and then, m - 1 times, the value whose mean is nearest to that of the values taken.

    Parameters
    ----------
    rest : array
        How many rows have each value; they are m-eligible.
    profiles : array, shape (values, d)
        The mean of the quasi-identifiers of each value's rows, in comparable units.
    m : int
        The m of m-invariance.

    Returns
    -------
    list of (int, array)
        As `assignments`; the rows that are left are m-eligible.
    """
    left = rest.copy()
    steps: Steps = []
    while True:
        rows = int(left.sum())
        commonest = np.argsort(-left, kind="stable")[: _CHOICE * m]
        others = [int(value) for value in commonest if left[value] > 0]
        if len(others) < m:
            return steps
        chosen = [others.pop(0)]
        while len(chosen) < m:
            away = profiles[others] - profiles[chosen].mean(axis=0)
            chosen.append(others.pop(int((away**2).sum(axis=1).argmin())))
        signature = np.sort(np.array(chosen, dtype=np.int32))
        outside = left.copy()
        outside[signature] = 0
        alpha = min(int(left[signature].min()), (rows - m * int(outside.max())) // m)
        if alpha <= 0 or alpha * m * _LEAST_SHARE < int(rest.sum()):
            return steps
        left[signature] -= alpha
        steps.append((alpha, signature))
