"""Counterfeited generalization: the groups of one release of an m-invariant sequence (Xiao, Tao 2007).

References
----------
.. [1] X. Xiao, Y. Tao: m-Invariance: towards privacy preserving re-publication of dynamic datasets. SIGMOD 2007.
   https://doi.org/10.1145/1247480.1247556
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal._core.progress import Progress, silent
from shoal._core.validation import Integer, OneOf, validate
from shoal.errors import InfeasibleError, InternalError, ParameterError
from shoal.republication.m_invariance.balancing import (
    find_largest_m,
    minimize_counterfeits,
    plan_assignments,
    plan_assignments_to_known,
    share_out,
)
from shoal.republication.m_invariance.invariance_kernel import balance_in_order, find_slots, sort_lists, split_buckets
from shoal.republication.m_invariance.near_signatures import plan_near_assignments
from shoal.republication.m_invariance.shared_boxes import form_runs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.republication.m_invariance.balancing import Steps
    from shoal.republication.m_invariance.signatures import Signatures

    Counts = NDArray[np.int64]

__all__ = ["BALANCINGS", "Generalization", "generalize"]

BALANCINGS = ("independent", "fewest", "paper")
"""How buckets are balanced: with counterfeits alone, or with new rows and the fewest counterfeits, or in the paper's
way."""
_FINEST = 1 << 20
"""Positions are whole multiples of such a part of the way from the first to the last."""
_MAX_ROWS_PER_CALL = 100_000
"""Rows that are split before the caller hears of it: well below a second."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Generalization:
    """The groups of one release: every group has one row for each value of its signature."""

    groups: NDArray[np.int32]
    """Group of each row of the input."""
    count: int
    """Number of groups. They are numbered at random."""
    counterfeit_groups: NDArray[np.int32]
    """Group of each counterfeit."""
    counterfeit_values: NDArray[np.int32]
    """Sensitive code of each counterfeit."""
    boxes: NDArray[np.int32]
    """Box of each group: groups with one number show the same quasi-identifiers, which cover the people of all."""
    signatures: Signatures
    """The known signatures, numbered as they were given, and the new ones behind them."""
    signature_of: NDArray[np.int64]
    """Signature of each row of the input, for life."""
    details: dict[str, int]
    """Counts of what was done: rows kept and new, new rows that balanced a bucket, buckets, new signatures."""

    @property
    def counterfeits(self) -> int:
        """Number of counterfeits."""
        return len(self.counterfeit_groups)

    def __repr__(self) -> str:
        return f"Generalization(rows={len(self.groups)}, groups={self.count}, counterfeits={self.counterfeits})"


def generalize(
    *,
    quasi_identifiers: NDArray[np.integer],
    sensitive: NDArray[np.integer],
    values: int,
    signature_of: NDArray[np.int64],
    signatures: Signatures,
    m: int,
    rng: np.random.Generator,
    balancing: str = "independent",
    near: NDArray[np.integer] | None = None,
    min_real: int = 1,
    progress: Progress = silent,
) -> Generalization:
    """Group the rows of a release so that the sequence of releases stays m-invariant.

    Parameters
    ----------
    quasi_identifiers : array, shape (n, d)
        Codes of the quasi-identifiers, from 0 in each column, in the order of their values.
    sensitive : array, shape (n,)
        Code of each row's sensitive value.
    values : int
        Number of sensitive codes, those of known signatures included.
    signature_of : array, shape (n,)
        Number of the signature with which each row's person was published before; -1 for a person who is new.
    signatures : Signatures
        The known signatures.
    m : int
        Nobody shall learn a sensitive value with a confidence above 1/m; at least 2.
    rng : numpy.random.Generator
        Which rows balance a bucket, and the numbers of the groups, are random.
    balancing : {"independent", "fewest", "paper"}
        What fills a bucket in which a value is short. With "independent" counterfeits alone do: then nothing that a
        reader sees depends on who has which value of a signature, and the bound 1/m holds for readers who know this
        algorithm, too. With "fewest" as many new rows as possible do, and with "paper" new rows in a random order, as
        in the paper. New rows go to buckets that are there already where they can, which spares later releases
        counterfeits, and else as in the paper's Figure 3; with "paper" always so.
    near : array, optional
        All sensitive codes in the order of their values. Where it is given, new signatures have values that lie near
        each other in that order, as far as the numbers of new rows allow. The splits then keep boxes short that are
        measured by the share of the rows they reach over, in place of the share of the values.
    min_real : int
        How many real people a box of quasi-identifiers must have. Groups with fewer share a box, and their
        counterfeits evenly, with others of their bucket; where all people of a bucket are fewer, its box is shared with
        the nearest groups of other buckets. Nobody is left out.
    progress : callable
        Called with (step, done, total) now and then.

    Returns
    -------
    Generalization
        One group for every row and for every counterfeit.

    Raises
    ------
    InfeasibleError
        If the new rows are not m-eligible (the message names the largest m that would do, and what is safe), or there
        are fewer than `min_real` rows.
    """
    asked = {"m": m, "balancing": balancing, "min_real": min_real}
    validate("generalize", asked, {"m": Integer(low=2), "balancing": OneOf(BALANCINGS), "min_real": Integer(low=1)})
    if 0 < len(sensitive) < min_real:
        raise InfeasibleError(
            f"The release has {len(sensitive)} people, so that no quasi-identifiers can be shown of {min_real} real "
            f"people. At least {min_real} people must be in it, or fewer be asked for."
        )
    # Chance decides between rows with the same value, not the order that they came in.
    rows = rng.permutation(len(sensitive))
    rows = rows[np.argsort(sensitive[rows], kind="stable")]
    value_of = sensitive[rows].astype(np.int64)
    # Division: each kept row goes into the bucket of its signature.
    slots = find_slots(signature_of[rows], value_of, signatures.starts, signatures.values)
    if (slots == _NO_SLOT).any():
        raise ParameterError("The 'signature_of' parameter of generalize gives a row a signature without its value.")
    is_new = slots == _NEW
    supply = np.bincount(value_of[is_new], minlength=values)
    if find_largest_m(supply) < m and supply.any():
        raise _explain_not_eligible(supply, m)
    filled = np.bincount(slots[~is_new], minlength=len(signatures.values))
    heights = _compute_heights(filled, signatures)
    deficits = np.repeat(heights, signatures.sizes) - filled
    given = _balance(supply, deficits, signatures, m, balancing, rng)
    rest = supply - _sum_by_value(given, signatures.values, values)
    steps = [] if balancing == "paper" else _assign_to_known(rest, heights, signatures, m)
    if near is not None:
        steps += _assign_near(rest - _count_assigned(steps, values), near, m)
    steps += plan_assignments(rest - _count_assigned(steps, values), m, rng)
    grown, bucket_of = _add_buckets(steps, signatures)
    heights = np.concatenate((heights, np.zeros(len(grown) - len(signatures), dtype=np.int64)))
    for (alpha, _), bucket in zip(steps, bucket_of, strict=True):
        heights[bucket] += alpha
    slots[is_new] = _assign_slots(given, steps, bucket_of, signatures, grown)
    positions = quasi_identifiers if near is None else _compute_positions(quasi_identifiers)
    groups, boxes, counterfeit_groups, counterfeit_slots = _split(
        (quasi_identifiers[rows], positions[rows]), slots, heights, grown, rng, min_real=min_real, progress=progress
    )
    groups_of_rows = np.empty(len(rows), dtype=np.int32)
    groups_of_rows[rows] = groups
    signature_of_rows = np.empty(len(rows), dtype=np.int64)
    signature_of_rows[rows] = np.repeat(np.arange(len(grown)), grown.sizes)[slots]
    return Generalization(
        groups=groups_of_rows,
        count=len(boxes),
        boxes=boxes,
        counterfeit_groups=counterfeit_groups,
        counterfeit_values=grown.values[counterfeit_slots],
        signatures=grown,
        signature_of=signature_of_rows,
        details={
            "kept": int(np.count_nonzero(~is_new)),
            "new": int(np.count_nonzero(is_new)),
            "balanced_with_new": int(given.sum()),
            "buckets": int(np.count_nonzero(heights)),
            "new_signatures": len(grown) - len(signatures),
        },
    )


_NEW, _NO_SLOT = -1, -2


def _explain_not_eligible(supply: Counts, m: int) -> InfeasibleError:
    """Return the error of new rows that are not m-eligible, with the ways out that `test_ways_out` found safe."""
    new, best = int(supply.sum()), find_largest_m(supply)
    if new < m:
        return InfeasibleError(
            f"The new rows are not {m}-eligible: there are {new}, and a release needs at least {m} new people, or "
            "none. Leave all of them out until there are enough: their number alone decides that, so that their "
            "absence shows nothing of their values."
        )
    feasible = f"The largest m that would do is {best}." if best >= 2 else "No m of 2 or more would do."
    series = "publish them in a new series of their own with that m, or " if best >= 2 else ""
    return InfeasibleError(
        f"The new rows are not {m}-eligible: {int(supply.max())} of {new} have the same sensitive value. {feasible} "
        f"For these people, {series}leave all of them out, of this release and of all later ones. Do not let some or "
        "all of them wait for a later release: whoever is absent now and there later is betrayed, up to certainty. "
        "That none of them is in a release shows that too many share a value, and not which."
    )


def _compute_heights(filled: Counts, signatures: Signatures) -> Counts:
    """Return for each signature how many rows its commonest value has."""
    return np.maximum.reduceat(filled, signatures.starts[:-1]) if len(signatures) else np.zeros(0, dtype=np.int64)


def _sum_by_value(amounts: Counts, slot_values: NDArray[np.int32], values: int) -> Counts:
    """Return the sums of amounts by slot for each sensitive value."""
    return np.bincount(slot_values, weights=amounts, minlength=values).astype(np.int64)


def _balance(
    supply: Counts, deficits: Counts, signatures: Signatures, m: int, balancing: str, rng: np.random.Generator
) -> Counts:
    """Return how many new rows each slot gets; counterfeits fill the others."""
    if balancing == "independent":
        return np.zeros_like(deficits)
    order = rng.permutation(len(deficits))
    if balancing == "paper":
        given = np.empty_like(deficits)
        given[order] = balance_in_order(deficits[order], signatures.values[order], supply.copy(), m)
        return given
    demand = _sum_by_value(deficits, signatures.values, len(supply))
    return share_out(minimize_counterfeits(supply, demand, m), deficits, signatures, order)


def _assign_to_known(rest: Counts, heights: Counts, signatures: Signatures, m: int) -> Steps:
    """Return the steps that assign new rows that balance no bucket to buckets that are there.

    What decides here, and for the other rows, is the same for every way to share out the values of a signature among
    its people: numbers of rows, heights of buckets, and the order of the values.
    """
    if not heights.any():
        return []
    standing = _sum_by_value(np.repeat(heights, signatures.sizes), signatures.values, len(rest))
    return plan_assignments_to_known(rest, signatures, heights, m, standing + rest)


def _assign_near(rest: Counts, order: NDArray[np.integer], m: int) -> Steps:
    """Return the steps that assign new rows to signatures of values near each other, `order` being that of values."""
    found = plan_near_assignments(rest[order], m)
    return [(alpha, np.sort(order[places]).astype(np.int32)) for alpha, places in found]


def _count_assigned(steps: Steps, values: int) -> Counts:
    """Return how many rows of each value some steps assign."""
    assigned = np.zeros(values, dtype=np.int64)
    for alpha, chosen in steps:
        assigned[chosen] += alpha
    return assigned


def _add_buckets(steps: Steps, signatures: Signatures) -> tuple[Signatures, list[int]]:
    """Return the signatures with those that the assignment adds, and the bucket of each of its steps."""
    numbers = signatures.numbers() if steps else {}
    added: list[NDArray[np.int32]] = []
    bucket_of = []
    for _, chosen in steps:
        number = numbers.setdefault(chosen.tobytes(), len(numbers))
        if number == len(signatures) + len(added):
            added.append(chosen)
        bucket_of.append(number)
    return (signatures.extend(added) if added else signatures), bucket_of


def _assign_slots(given: Counts, steps: Steps, bucket_of: list[int], known: Signatures, grown: Signatures) -> Counts:
    """Return the slot of each new row, when these are sorted by value."""
    of_steps = (np.arange(grown.starts[bucket], grown.starts[bucket + 1]) for bucket in bucket_of)
    slots: list[Counts] = [np.arange(len(given)), *of_steps]
    values: list[NDArray[np.integer]] = [known.values, *(chosen for _, chosen in steps)]
    amounts = [given, *(np.full(len(chosen), alpha) for alpha, chosen in steps)]
    order = np.argsort(np.concatenate(values), kind="stable")
    return np.repeat(np.concatenate(slots)[order], np.concatenate(amounts)[order])


def _compute_positions(codes: NDArray[np.integer]) -> Counts:
    """Return where rows lie on each attribute: how many rows come before the middle of those with the same code.

    Readers spread a group's people evenly over its intervals. Where most people have one value, an interval from that
    to the next one says little of where they are; by shares it is long, by values it is the shortest.
    """
    positions = np.zeros(codes.shape, dtype=np.int64)
    for a in range(codes.shape[1]) if len(codes) else ():
        counts = np.bincount(codes[:, a])
        middles = 2 * np.cumsum(counts) - counts
        least, most = middles[codes[:, a].min()], middles[codes[:, a].max()]
        positions[:, a] = ((middles - least) * _FINEST // max(most - least, 1))[codes[:, a]]
    return positions


def _split(
    placed: tuple[NDArray[np.integer], NDArray[np.integer]],
    slots: Counts,
    heights: Counts,
    signatures: Signatures,
    rng: np.random.Generator,
    *,
    min_real: int,
    progress: Progress,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], Counts]:
    """Split every bucket into groups: the group of each row, the box of each group, group and slot of counterfeits.

    `placed` has the codes of the rows, by which they are sorted, and the positions, by which boxes are measured.
    """
    # A place for every row and counterfeit, bucket after bucket and value after value.
    length = np.repeat(heights, signatures.sizes)
    list_starts = np.concatenate(([0], np.cumsum(length)))
    places = int(list_starts[-1])
    by_slot = np.argsort(slots, kind="stable")
    sorted_slots = slots[by_slot]
    first = np.searchsorted(sorted_slots, np.arange(len(length)))
    place_of = list_starts[sorted_slots] + np.arange(len(by_slot)) - first[sorted_slots]
    coded, measured = np.full((2, places, placed[0].shape[1]), -1, dtype=np.int32)
    coded[place_of], measured[place_of] = (one[by_slot] for one in placed)
    group_of = np.full(places, -1, dtype=np.int32)
    weights = _compute_weights(measured)
    list_of = np.repeat(np.arange(len(list_starts) - 1), np.diff(list_starts))
    orders = sort_lists(coded, list_of, list_starts, coded.max(axis=0, initial=0).astype(np.int64) + 1)
    bucket_starts = np.append(list_starts[signatures.starts[:-1][heights > 0]], places)
    sizes = signatures.sizes[heights > 0]
    count = _split_places((measured, weights, orders), bucket_starts, sizes, group_of, progress=progress)
    if count != int(heights.sum()):
        raise InternalError("the split of the buckets left rows behind")
    is_counterfeit = np.ones(places, dtype=np.bool_)
    is_counterfeit[place_of] = False
    numbers = rng.permutation(count).astype(np.int32)
    box_of_group: NDArray[np.integer] = numbers
    if min_real > 1 and count:
        runs = form_runs(measured, group_of, heights[heights > 0], weights, min_real)
        group_of, box_of_group = runs.even_out(group_of, ~is_counterfeit), runs.box_of_group
    group_of = numbers[group_of]
    boxes = np.empty(count, dtype=np.int32)
    boxes[numbers] = box_of_group
    groups = np.empty(len(slots), dtype=np.int32)
    groups[by_slot] = group_of[place_of]
    counterfeit_slots = np.searchsorted(list_starts, np.flatnonzero(is_counterfeit), side="right") - 1
    return groups, boxes, group_of[is_counterfeit], counterfeit_slots


def _compute_weights(codes: NDArray[np.int32]) -> Counts:
    """Return what one step is worth on each attribute, so that its domain has the same length as the others."""
    places, d = codes.shape
    sizes = codes.max(axis=0, initial=0).astype(np.int64) + 1
    # Lengths of intervals as whole multiples of a fraction of the domain, so that no sum can overflow.
    unit = 1 << (62 - places.bit_length() - d.bit_length())
    return np.where(sizes > 1, unit // np.maximum(sizes - 1, 1), 0).astype(np.int64)


def _split_places(
    sorted_places: tuple[NDArray[np.int32], Counts, NDArray[np.int32]],
    bucket_starts: Counts,
    sizes: Counts,
    group_of: NDArray[np.int32],
    *,
    progress: Progress,
) -> int:
    """Write the group of every place, numbered bucket after bucket, and return how many there are."""
    group = done = 0
    while done < len(sizes):
        progress("split", int(bucket_starts[done]), int(bucket_starts[-1]))
        upto = int(np.searchsorted(bucket_starts, bucket_starts[done] + _MAX_ROWS_PER_CALL))
        upto = min(max(upto, done + 1), len(sizes))
        group = split_buckets(*sorted_places, bucket_starts[done : upto + 1], sizes[done:upto], group, group_of)
        done = upto
    return group
