"""Grouping of labels into classes of at least k records, with the largest as small as possible: min-max bin covering.

References
----------
W. Du, D. Eppstein, M. T. Goodrich, G. S. Lueker, "On the approximability of geometric and geographic generalization
and the min-max bin covering problem", WADS 2009. doi:10.1007/978-3-642-03367-4_22, arXiv:0904.3756.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from shoal._core.validation import Integer, OneOf, Optional, RationalIn, exact_fraction, validate
from shoal._messages import Subject
from shoal.errors import ParameterError
from shoal.grouping.base import (
    Grouping,
    GroupingBound,
    GroupingGuarantee,
    check_feasible,
    check_grouping,
    check_k,
    validate_weights,
)
from shoal.grouping.coarsened_columns import (
    check_unambiguous,
    count_values,
    list_members,
    make_coarsened,
    name_classes,
    rank_members,
)
from shoal.grouping.labels.packings import best, cover_bound, fold, levels_of, scheme, spread, spread_simplified
from shoal.hierarchy import Coarsening, CoarseningResult
from shoal.hierarchy.distinct_values import expand_to_rows
from shoal.table.text import dictionary_text

METHODS = ("best", "fold", "spread", "spread-simplified", "scheme", "relaxed")
_SEED_BITS = 63


def labels(
    sizes: ArrayLike,
    k: int,
    *,
    method: str = "best",
    order: str = "sorted",
    eps: float | Fraction = Fraction(1, 2),
    seed: int | None = None,
) -> Grouping:
    """Group labels without an order into classes of at least k records, with the largest class as small as possible.

    Parameters
    ----------
    sizes : array_like
        Number of records of each label, at least 1.
    k : int
        Smallest number of records of a class.
    method : {"best", "fold", "spread", "spread-simplified", "scheme", "relaxed"}, default "best"
        "best" balances as many classes as possible and improves them until they meet a lower bound; small instances
        are searched exhaustively. "fold" is the paper's 3-approximation (Theorem 7), "spread" its 5/2-approximation
        (Theorem 9), and "spread-simplified" the variant of its experiments (Section 5). "scheme" (Theorem 10) and
        "relaxed" (Theorem 11) are for about a dozen labels; classes of "relaxed" have at least (1 - eps) k records,
        which is not k-anonymity.
    order : {"sorted", "random"}, default "sorted"
        Order in which "fold" and "spread-simplified" pack the labels: most frequent first, or random.
    eps : number, default 1/2
        Precision of "scheme" and "relaxed", above 0 and at most 1.
    seed : int, optional
        Seed of random orders and disturbances; from the operating system by default.

    Returns
    -------
    Grouping
        The class of each label; classes are numbered from the largest to the smallest.

    Raises
    ------
    ParameterError
        If a parameter is invalid, or if the scheme would have to try too many types.
    DataError
        If the sizes are not integers of at least 1.
    InfeasibleError
        If there are fewer than k records.

    Notes
    -----
    The paper leaves two choices open: here the last bin of Fold is merged into the lightest bin, and the three parts of
    Spread go to the three lightest bins. If Spread is worse than Fold, Fold's packing is the result, as in the proof
    for an optimum above 6/5 k. The paper omits the proof of the relaxed variant; its inner precision is eps / 2.

    References
    ----------
    W. Du, D. Eppstein, M. T. Goodrich, G. S. Lueker, "On the approximability of geometric and geographic
    generalization and the min-max bin covering problem", WADS 2009. doi:10.1007/978-3-642-03367-4_22, arXiv:0904.3756.

    Examples
    --------
    >>> grouping = labels([5, 4, 3, 3, 2, 1], 9)
    >>> grouping.cost, grouping.optimal, grouping.weights.tolist()
    (9, True, [9, 9])
    """
    start = time.perf_counter()
    k = check_k("labels", k)
    validate(
        "labels",
        {"method": method, "order": order, "eps": eps, "seed": seed},
        {
            "method": OneOf(METHODS),
            "order": OneOf(("sorted", "random")),
            "eps": RationalIn(low=Fraction(0), high=Fraction(1), low_included=False),
            "seed": Optional(Integer(low=0)),
        },
    )
    if order == "random" and method not in ("fold", "spread-simplified"):
        raise ParameterError(
            Subject("labels", "order"), f" can be 'random' for 'fold' and 'spread-simplified' only. Got '{method}'."
        )
    items = validate_weights("labels", sizes, what="sizes", least=1)
    check_feasible("labels", int(items.sum()), k)
    # The methods work on items in decreasing order.
    ranked = np.argsort(-items, kind="stable")
    descending = items[ranked]
    rng = np.random.default_rng(secrets.randbits(_SEED_BITS) if seed is None else seed)
    made = _run_method(descending, k, method, order, exact_fraction(eps), rng)
    bin_of = np.empty(len(items), dtype=np.int64)
    bin_of[ranked] = made.pop("bin_of")
    classes, weights = _number_classes(items, bin_of)
    grouping = Grouping(
        kind="labels",
        classes=classes,
        weights=weights,
        k=k,
        method=method,
        seed=seed,
        **made,
    )
    return replace(check_grouping(grouping, items), seconds=time.perf_counter() - start)


def _run_method(
    sizes: NDArray[np.int64], k: int, method: str, order: str, eps: Fraction, rng: np.random.Generator
) -> dict[str, Any]:
    """Run a method on items in decreasing order; return the bins, the bound and the guarantee as fields of a grouping.

    The fields are those of `Grouping`; `bin_of` has the bin of each item.
    """
    if method == "best":
        packing = best(sizes, k, rng)
        return {"bin_of": packing.bin_of, **_bound(packing.bound), "details": packing.details}
    bound = _bound(cover_bound(sizes, k))
    if method in ("scheme", "relaxed"):
        packed, tried = scheme(sizes, k, eps, relaxed=method == "relaxed")
        ratio = float(2 * (1 + eps)) if method == "scheme" else float(1 + eps)
        text = (
            f"at most 1 + {eps} times the smallest possible one and k together (Theorem 10)"
            if method == "scheme"
            else f"at most 1 + {eps} times the smallest possible one, with classes of at least (1 - {eps}) k records "
            "(Theorem 11): this is not k-anonymity"
        )
        least = {"least": -int(-(1 - eps) * k // 1)} if method == "relaxed" else {}
        guarantee = GroupingGuarantee(text=text, ratio=ratio)
        return {
            "bin_of": packed,
            **bound,
            **least,
            "guarantee": guarantee,
            "details": {"eps": str(eps), "types": tried},
        }
    # The algorithms of the paper, with their guarantees.
    places = rng.permutation(len(sizes)) if order == "random" else np.arange(len(sizes))
    if method == "spread":
        packed, case = spread(sizes, k)
        guarantee = GroupingGuarantee(text="at most 5/2 times the smallest possible (Theorem 9)", ratio=2.5)
        return {"bin_of": packed, **bound, "guarantee": guarantee, "details": {"case": case}}
    if method == "fold":
        largest = max(k - 1 + int(sizes[0]), 3 * k - 3)
        guarantee = GroupingGuarantee(
            text="at most max(k - 1 + the most frequent label, 3 k - 3) records (Theorem 7)", largest=largest, ratio=3.0
        )
        return {"bin_of": fold(sizes, places, k), **bound, "guarantee": guarantee, "details": {"order": order}}
    return {"bin_of": spread_simplified(sizes, places, k), **bound, "details": {"order": order}}


def _bound(bound: GroupingBound) -> dict[str, Any]:
    return {"lower_bound": bound.value, "lower_bound_why": bound.why}


def _number_classes(sizes: NDArray[np.int64], bin_of: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Sort the classes from the largest to the smallest, ties by their first label; return them and their weights."""
    levels = levels_of(sizes, bin_of)
    used, first = np.unique(bin_of, return_index=True)
    order = used[np.lexsort((first, -levels[used]))]
    number = np.empty(len(levels), dtype=np.int32)
    number[order] = np.arange(len(order))
    return number[bin_of], levels[order]


@dataclass(frozen=True, repr=True)
class Labels(Coarsening):
    """Coarsen labels without an order to classes of at least k records, with the largest as small as possible.

    Values are counted in the column itself. Missing values stay missing and do not count.

    Parameters
    ----------
    k : int
        Smallest number of records of a class.
    labels : {"members", "numbers"}
        Published value of a class. "members" is the set of its values, such as `{a, b}`, the value itself if there is
        only one, or a number if there are more than 256. "numbers" is `class 1`, `class 2`, ... from the largest class
        to the smallest.
    seed : int
        Seed of the random steps; the same column and seed give the same classes.

    Examples
    --------
    >>> import polars as pl
    >>> diseases = pl.Series("disease", ["flu"] * 3 + ["gout"] * 2 + ["mumps"])
    >>> Labels(k=3).apply((diseases,))[0].unique().sort().to_list()
    ['flu', '{gout, mumps}']
    """

    takes: ClassVar[int] = 1
    takes_text: ClassVar[bool] = True

    k: int = field(kw_only=True)
    """Smallest number of records of a class."""
    labels: str = field(default="members", kw_only=True)
    """Published value of a class: "members" or "numbers"."""
    seed: int = field(default=0, kw_only=True)
    """Seed of the random steps."""

    def __post_init__(self) -> None:
        check_k("Labels", self.k)
        validate(
            "Labels",
            {"labels": self.labels, "seed": self.seed},
            {"labels": OneOf(("members", "numbers")), "seed": Integer(low=0)},
        )

    def apply(self, columns: tuple[pl.Series, ...]) -> tuple[pl.Series, ...]:
        """Replace each value by its class; see `Coarsening.apply`."""
        return self.coarsen(columns).columns

    def coarsen(self, columns: tuple[pl.Series, ...]) -> CoarseningResult:
        """Replace each value by its class, with facts and a picture of the grouping; see `Coarsening.coarsen`."""
        (series,) = columns
        column, counts = count_values("Labels", series)
        grouping = labels(counts, self.k, seed=self.seed)
        text = dictionary_text(column.dictionary.drop_nulls())
        published = name_classes(
            grouping.classes,
            text,
            word="class",
            numbered=self.labels == "numbers",
            order=rank_members(column, text),
        )
        check_unambiguous(published, text)
        coarser = expand_to_rows(column, published)
        return make_coarsened(grouping, (coarser,), classes=list_members(published, text))

    def to_dict(self) -> dict[str, Any]:
        """Return the coarsening as it appears in a certificate."""
        return {"coarsening": "labels", "k": self.k, "labels": self.labels, "seed": self.seed}
