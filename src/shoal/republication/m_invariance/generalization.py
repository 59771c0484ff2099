"""Counterfeited generalization: the groups of one release of an m-invariant sequence (Xiao, Tao 2007).

References
----------
.. [1] X. Xiao, Y. Tao: m-Invariance: towards privacy preserving re-publication of dynamic datasets. SIGMOD 2007.
   https://doi.org/10.1145/1247480.1247556
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal._core.progress import Progress, silent
from shoal._core.validation import Integer, OneOf, validate
from shoal.errors import InfeasibleError, InternalError, ParameterError
from shoal.republication.m_invariance.balancing import (
    Steps,
    find_largest_m,
    minimize_counterfeits,
    plan_assignments,
    plan_assignments_to_known,
    share_out,
)
from shoal.republication.m_invariance.invariance_kernel import balance_in_order, find_slots, sort_lists, split_buckets
from shoal.republication.m_invariance.near_signatures import plan_near_assignments
from shoal.republication.m_invariance.shared_boxes import form_runs
from shoal.republication.m_invariance.signatures import Signatures

Counts = NDArray[np.int64]


BALANCINGS = ("independent", "fewest", "paper")
"""How buckets are balanced: with counterfeits only, with new rows so that counterfeits are fewest, or as in the
paper."""
_FINEST = 1 << 20
"""Number of steps into which the range of positions is divided."""
_MAX_ROWS_PER_CALL = 100_000
"""Rows that are split between two reports of progress: well below a second."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Generalization:
    """The groups of a release: every group has one row for each value of its signature."""

    groups: NDArray[np.int32]
    """Group of each input row."""
    count: int
    """Number of groups; they are numbered at random."""
    counterfeit_groups: NDArray[np.int32]
    """Group of each counterfeit."""
    counterfeit_values: NDArray[np.int32]
    """Sensitive code of each counterfeit."""
    boxes: NDArray[np.int32]
    """Box of each group. Groups of a box show the same quasi-identifiers, which cover the people of all of them."""
    signatures: Signatures
    """The known signatures in their order, followed by the new ones."""
    signature_of: NDArray[np.int64]
    """Signature of each input row, for life."""
    details: dict[str, int]
    """Numbers of rows kept and new, of new rows that balanced a bucket, of buckets, and of new signatures."""

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
        Number of sensitive codes, including those of known signatures.
    signature_of : array, shape (n,)
        Number of each person's signature; -1 for a person who is new.
    signatures : Signatures
        The known signatures.
    m : int
        An adversary must not infer a sensitive value with a confidence above 1/m; at least 2.
    rng : numpy.random.Generator
        Chooses the rows that balance a bucket, and the numbers of the groups.
    balancing : {"independent", "fewest", "paper"}
        How to fill a bucket that lacks a value. With "independent" only counterfeits fill it: published cells do not
        depend on which person has which value of a signature, so the bound 1/m also holds for readers who know this
        algorithm. With "fewest" as many new rows as possible fill it, and with "paper" new rows in a random order, as
        in the paper. New rows then go to existing buckets if possible, which saves counterfeits in later releases, and
        otherwise follow the paper's Figure 3; with "paper" they always do.
    near : array, optional
        All sensitive codes in the order of their values. If given, the values of new signatures lie near each other in
        that order, as far as the numbers of new rows allow. Splits then measure boxes by the share of the rows that
        they span instead of the share of the values.
    min_real : int
        Minimum number of real people of a box of quasi-identifiers. Groups with fewer share a box, and their
        counterfeits evenly, with other groups of their bucket. If a bucket has too few people in total, its box is
        shared with the nearest groups of other buckets. No person is left out.
    progress : callable
        Called with (step, done, total) from time to time.

    Returns
    -------
    Generalization
        A group for every row and every counterfeit.

    Raises
    ------
    InfeasibleError
        If the new rows are not m-eligible (the message gives the largest feasible m, and what is safe), or if there are
        fewer than `min_real` rows.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.republication import Signatures
    >>> made = generalize(
    ...     quasi_identifiers=np.array([[0], [1], [5], [6]]),
    ...     sensitive=np.array([0, 1, 0, 1]),
    ...     values=2,
    ...     signature_of=np.full(4, -1),
    ...     signatures=Signatures.of([]),
    ...     m=2,
    ...     rng=np.random.default_rng(0),
    ... )
    >>> made
    Generalization(rows=4, groups=2, counterfeits=0)
    >>> bool(made.groups[0] == made.groups[1])
    True
    """
    asked = {"m": m, "balancing": balancing, "min_real": min_real}
    validate("generalize", asked, {"m": Integer(low=2), "balancing": OneOf(BALANCINGS), "min_real": Integer(low=1)})
    if 0 < len(sensitive) < min_real:
        raise _explain_too_few(len(sensitive), min_real)
    # Shuffle the rows, so that nothing depends on the order of the input.
    rows = rng.permutation(len(sensitive))
    rows = rows[np.argsort(sensitive[rows], kind="stable")]
    value_of = sensitive[rows].astype(np.int64)
    # Phase one, division: each kept row goes into the bucket of its signature.
    slots = find_slots(signature_of[rows], value_of, signatures.starts, signatures.values)
    if (slots == _NO_SLOT).any():
        raise ParameterError("The 'signature_of' parameter of generalize gives a row a signature without its value.")
    is_new = slots == _NEW
    supply = np.bincount(value_of[is_new], minlength=values)
    if find_largest_m(supply) < m and supply.any():
        raise _explain_not_eligible(supply, m)
    # Phase two, balancing: fill the slots that are lower than their bucket.
    filled = np.bincount(slots[~is_new], minlength=len(signatures.values))
    heights = _compute_heights(filled, signatures)
    # Rows that each slot lacks.
    deficits = np.repeat(heights, signatures.sizes) - filled
    given = _balance(supply, deficits, signatures, m, balancing, rng)
    rest = supply - _sum_by_value(given, signatures.values, values)
    # Phase three, assignment: existing buckets, then near values, then Figure 3.
    steps = [] if balancing == "paper" else _assign_to_known(rest, heights, signatures, m)
    if near is not None:
        steps += _assign_near(rest - _count_assigned(steps, values), near, m)
    steps += plan_assignments(rest - _count_assigned(steps, values), m, rng)
    grown, bucket_of = _add_buckets(steps, signatures)
    heights = np.concatenate((heights, np.zeros(len(grown) - len(signatures), dtype=np.int64)))
    for (alpha, _), bucket in zip(steps, bucket_of, strict=True):
        heights[bucket] += alpha
    # Slots of the new rows: those that balance, then those of the steps.
    slots[is_new] = _assign_slots(given, steps, bucket_of, signatures, grown)
    # Phase four, split: cut every bucket into groups.
    positions = quasi_identifiers if near is None else _compute_positions(quasi_identifiers)
    groups, boxes, counterfeit_groups, counterfeit_slots = _split(
        (quasi_identifiers[rows], positions[rows]), slots, heights, grown, rng, min_real=min_real, progress=progress
    )
    # Undo the shuffle.
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


def _explain_too_few(people: int, least: int) -> InfeasibleError:
    """Create the error for a release that has fewer people than must share quasi-identifiers."""
    return InfeasibleError(
        f"The release has too few people ({people}): no quasi-identifiers can be shown of {least} real "
        f"people. At least {least} people must be in it, or fewer be asked for."
    )


def _explain_not_eligible(supply: Counts, m: int) -> InfeasibleError:
    """Create the error for new rows that are not m-eligible, with the ways out that `test_ways_out` found safe."""
    new, best = int(supply.sum()), find_largest_m(supply)
    # Too few new people, which discloses only their number.
    if new < m:
        return InfeasibleError(
            f"The new rows are not {m}-eligible: there are {new}, and a release needs at least {m} new "
            "people, or none. Leave all of them out until there are enough: their number alone decides "
            "that, so that their absence shows nothing of their values."
        )
    # Too many new people share a value.
    shared = int(supply.max())
    return InfeasibleError(
        f"The new rows are not {m}-eligible: {shared} of {new} have the same sensitive value.",
        (
            f" The largest m that would do is {best}. For these people, publish them in a new series of their "
            "own with that m, or leave all of them out, of this release and of all later ones."
        )
        if best >= 2
        else (
            " No m of 2 or more would do. For these people, leave all of them out, of this release and of all "
            "later ones."
        ),
        " Do not let some or all of them wait for a later release: who is absent now and there later is betrayed, "
        "up to certainty. That none of them is in a release shows that too many share a value, and not which.",
    )


def _compute_heights(filled: Counts, signatures: Signatures) -> Counts:
    """Compute the height of each signature's bucket: the number of rows of its most frequent value."""
    return np.maximum.reduceat(filled, signatures.starts[:-1]) if len(signatures) else np.zeros(0, dtype=np.int64)


def _sum_by_value(amounts: Counts, slot_values: NDArray[np.int32], values: int) -> Counts:
    """Sum amounts per slot for each sensitive value."""
    return np.bincount(slot_values, weights=amounts, minlength=values).astype(np.int64)


def _balance(
    supply: Counts, deficits: Counts, signatures: Signatures, m: int, balancing: str, rng: np.random.Generator
) -> Counts:
    """Choose how many new rows each slot gets; counterfeits fill the rest."""
    if balancing == "independent":
        return np.zeros_like(deficits)
    # A random order of the slots decides who is served first.
    order = rng.permutation(len(deficits))
    if balancing == "paper":
        given = np.empty_like(deficits)
        given[order] = balance_in_order(deficits[order], signatures.values[order], supply.copy(), m)
        return given
    demand = _sum_by_value(deficits, signatures.values, len(supply))
    return share_out(minimize_counterfeits(supply, demand, m), deficits, signatures, order)


def _assign_to_known(rest: Counts, heights: Counts, signatures: Signatures, m: int) -> Steps:
    """Plan the assignment of the remaining new rows to existing buckets.

    The decisions are the same for every way to distribute the values of a signature among its people: they depend only
    on numbers of rows, heights of buckets and the order of the values.
    """
    if not heights.any():
        return []
    standing = _sum_by_value(np.repeat(heights, signatures.sizes), signatures.values, len(rest))
    return plan_assignments_to_known(rest, signatures, heights, m, standing + rest)


def _assign_near(rest: Counts, order: NDArray[np.integer], m: int) -> Steps:
    """Plan the assignment of new rows to signatures of near values; `order` is the order of the values."""
    found = plan_near_assignments(rest[order], m)
    return [(alpha, np.sort(order[places]).astype(np.int32)) for alpha, places in found]


def _count_assigned(steps: Steps, values: int) -> Counts:
    """Count the rows of each value that the steps assign."""
    assigned = np.zeros(values, dtype=np.int64)
    for alpha, chosen in steps:
        assigned[chosen] += alpha
    return assigned


def _add_buckets(steps: Steps, signatures: Signatures) -> tuple[Signatures, list[int]]:
    """Add the signatures of the steps, and look up the bucket of each step."""
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
    """Assign a slot to each new row; the rows are sorted by value."""
    of_steps = (np.arange(grown.starts[bucket], grown.starts[bucket + 1]) for bucket in bucket_of)
    slots: list[Counts] = [np.arange(len(given)), *of_steps]
    values: list[NDArray[np.integer]] = [known.values, *(chosen for _, chosen in steps)]
    amounts = [given, *(np.full(len(chosen), alpha) for alpha, chosen in steps)]
    order = np.argsort(np.concatenate(values), kind="stable")
    return np.repeat(np.concatenate(slots)[order], np.concatenate(amounts)[order])


def _compute_positions(codes: NDArray[np.integer]) -> Counts:
    """Compute the position of each row on each attribute: the number of rows before the middle of those with its code.

    Readers spread the people of a group evenly over its intervals. If most people have one value, an interval from this
    value to the next reveals little about their position. Measured by shares of rows such an interval is long; measured
    by values it would be the shortest.
    """
    positions = np.zeros(codes.shape, dtype=np.int64)
    for a in range(codes.shape[1]) if len(codes) else ():
        # Twice the middle of each code, so that positions stay integers.
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
    """Split every bucket into groups.

    Parameters
    ----------
    placed : pair of arrays
        The codes of the rows, by which they are sorted, and their positions, by which boxes are measured.

    Returns
    -------
    groups : array
        Group of each row.
    boxes : array
        Box of each group.
    counterfeit_groups, counterfeit_slots : arrays
        Group and slot of each counterfeit.
    """
    # Lay out a place for every row and counterfeit, bucket after bucket and value after value.
    length = np.repeat(heights, signatures.sizes)
    list_starts = np.concatenate(([0], np.cumsum(length)))
    places = int(list_starts[-1])
    by_slot = np.argsort(slots, kind="stable")
    sorted_slots = slots[by_slot]
    first = np.searchsorted(sorted_slots, np.arange(len(length)))
    place_of = list_starts[sorted_slots] + np.arange(len(by_slot)) - first[sorted_slots]
    coded, measured = np.full((2, places, placed[0].shape[1]), -1, dtype=np.int32)
    coded[place_of], measured[place_of] = (one[by_slot] for one in placed)
    # Sort the places of each slot by each attribute, and split.
    group_of = np.full(places, -1, dtype=np.int32)
    weights = _compute_weights(measured)
    list_of = np.repeat(np.arange(len(list_starts) - 1), np.diff(list_starts))
    orders = sort_lists(coded, list_of, list_starts, coded.max(axis=0, initial=0).astype(np.int64) + 1)
    bucket_starts = np.append(list_starts[signatures.starts[:-1][heights > 0]], places)
    sizes = signatures.sizes[heights > 0]
    count = _split_places((measured, weights, orders), bucket_starts, sizes, group_of, progress=progress)
    if count != int(heights.sum()):
        raise InternalError("the split of the buckets left rows behind")
    # Places without a row are counterfeits.
    is_counterfeit = np.ones(places, dtype=np.bool_)
    is_counterfeit[place_of] = False
    # Random numbers hide the order of the splits; runs share boxes.
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
    """Compute the weight of one step on each attribute, so that all domains have equal length."""
    places, d = codes.shape
    sizes = codes.max(axis=0, initial=0).astype(np.int64) + 1
    # Weights are integers, small enough that no sum of lengths can overflow.
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
    """Write the group of every place, numbered bucket after bucket, and return the number of groups."""
    group = done = 0
    while done < len(sizes):
        progress("split", int(bucket_starts[done]), int(bucket_starts[-1]))
        # Several buckets per call, at least one.
        upto = int(np.searchsorted(bucket_starts, bucket_starts[done] + _MAX_ROWS_PER_CALL))
        upto = min(max(upto, done + 1), len(sizes))
        group = split_buckets(*sorted_places, bucket_starts[done : upto + 1], sizes[done:upto], group, group_of)
        done = upto
    return group
