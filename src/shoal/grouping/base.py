"""What every grouping of one attribute's values is: classes, their weights, and how close they are to the best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal._core.figures import svg_element, write_picture
from shoal._core.language import gettext as _
from shoal._core.validation import Integer, validate
from shoal._core.words import number
from shoal.errors import DataError, InfeasibleError, InternalError
from shoal.grouping.class_charts import plot_weights

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "SUPPRESSED",
    "Grouping",
    "GroupingGuarantee",
    "GroupingBound",
    "check_feasible",
    "check_grouping",
    "check_k",
    "checked_weights",
    "simple_lower_bound",
]

SUPPRESSED = -1
"""The class number of an item that is in no class."""
LARGEST_TOTAL = 1 << 53
"""Weights add up to less than this, so that sums in floating point are exact too."""


@dataclass(frozen=True, kw_only=True)
class GroupingGuarantee:
    """What a method's proof says of this very run."""

    text: str
    """The theorem, in a sentence."""
    largest: int | None = None
    """No class weighs more than this; None where that is not proven."""
    ratio: float | None = None
    """The largest class is at most so many times the smallest possible one; None where that is not proven."""

    def to_dict(self) -> dict[str, Any]:
        """Return the guarantee as `result.json` holds it."""
        return {"text": self.text, "largest": self.largest, "ratio": self.ratio}


@dataclass(frozen=True, kw_only=True)
class GroupingBound:
    """A weight that the largest class of every feasible grouping reaches."""

    value: int
    """The weight."""
    why: str
    """Why no grouping can do with less."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Grouping:
    """Items in classes of at least k records each."""

    kind: str
    """What was grouped: "labels", "ordered", "points" or "regions"."""
    classes: NDArray[np.int32]
    """The class of each item: 0, 1, ... without a gap (-1 where an item was left out, as asked for)."""
    weights: NDArray[np.int64]
    """The number of records of each class."""
    k: int
    """The least number of records of a class."""
    lower_bound: int
    """No grouping whatsoever has a largest class below this."""
    lower_bound_why: str
    """Why not."""
    method: str
    """The method that made it."""
    guarantee: GroupingGuarantee | None = None
    """What the method's proof promises of this run, where it has one."""
    least: int | None = None
    """What each class weighs at least, where that is less than k: a relaxed grouping, which is not k-anonymous."""
    seed: int | None = None
    """The seed of its random choices; None where there were none, or they came from the operating system."""
    seconds: float = 0.0
    """Wall time."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What else the method says of itself; no cell of the input."""

    @property
    def cost(self) -> int:
        """The largest class: what is minimized."""
        return int(self.weights.max())

    @property
    def optimal(self) -> bool:
        """Whether it is proven that no grouping has a smaller largest class."""
        return self.feasible and self.cost == self.lower_bound

    @property
    def feasible(self) -> bool:
        """Whether every class has at least k records: False for a relaxed grouping only."""
        return int(self.weights.min()) >= self.k

    @property
    def overfull_ratio(self) -> float:
        """The largest class in units of k."""
        return self.cost / self.k

    @property
    def gap(self) -> float:
        """By which share the largest class may be above the smallest possible one; 0 where it is optimal."""
        return max(0.0, self.cost / self.lower_bound - 1.0)

    def to_dict(self) -> dict[str, Any]:
        """Return what `result.json` holds: counts and parameters, no cell of the input."""
        return {
            "format": 1,
            "kind": self.kind,
            "k": self.k,
            "classes": len(self.weights),
            "largest": self.cost,
            "smallest": int(self.weights.min()),
            "lower_bound": self.lower_bound,
            "lower_bound_why": self.lower_bound_why,
            "optimal": self.optimal,
            "overfull_ratio": self.overfull_ratio,
            "gap": self.gap,
            "method": self.method,
            "guarantee": None if self.guarantee is None else self.guarantee.to_dict(),
            "k_anonymous": self.feasible,
            "items": len(self.classes),
            "items_left_out": int(np.count_nonzero(self.classes == SUPPRESSED)),
            "records": int(self.weights.sum()),
            "seed": self.seed,
            "seconds": self.seconds,
            "details": dict(self.details),
        }

    @property
    def title(self) -> str:
        """The heading of a picture: how many classes there are, how large, and whether that is the best possible."""
        said = (
            _("{count} classes of {smallest} to {largest} records (the smallest possible), k = {k}")
            if self.optimal
            else _("{count} classes of {smallest} to {largest} records (at least {bound} is needed), k = {k}")
        )
        return said.format(
            count=number(len(self.weights)),
            smallest=number(int(self.weights.min())),
            largest=number(self.cost),
            bound=number(self.lower_bound),
            k=number(self.k),
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the grouping the way that tells most of it, and return the axes: a map where there is one, else bars.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to; new axes by default.
        """
        return plot_weights(self.weights, self.k, in_order=self.kind == "ordered", title=self.title, ax=ax)

    def save_picture(self, path: str | PathLike[str]) -> None:
        """Write the picture as SVG or PNG, whichever the name ends in.

        Raises
        ------
        OutputError
            The name ends in something else.
        """
        write_picture(self.plot(), path)

    def svg(self) -> str:
        """Return the picture as one SVG element, to stand within a page."""
        return svg_element(self.plot())

    def __repr__(self) -> str:
        proven = "optimal" if self.optimal else f"lower_bound={self.lower_bound}"
        return (
            f"{type(self).__name__}({self.kind!r}, k={self.k}, classes={len(self.weights)}, largest={self.cost}, "
            f"{proven}, method={self.method!r})"
        )


def check_k(owner: str, k: object) -> int:
    """Return k as an int.

    Raises
    ------
    ParameterError
        Where it is no whole number of at least 1.
    """
    validate(owner, {"k": k}, {"k": Integer(low=1)})
    return int(k)  # type: ignore[call-overload, no-any-return]


def checked_weights(owner: str, weights: ArrayLike, *, what: str, least: int) -> NDArray[np.int64]:
    """Return weights as whole numbers.

    Parameters
    ----------
    owner : str
        The function that was given them, for the message.
    weights : array_like
        One whole number per item. Floats are taken where they are whole.
    what : str
        What the weights are, for the message: "sizes".
    least : int
        The smallest that is allowed: 0 or 1.

    Raises
    ------
    DataError
        Where they are no such numbers. The message holds counts of what is wrong, no weight.
    """
    array = np.asarray(weights)
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        raise DataError(
            f"The {what} of {owner} must be a one-dimensional array of whole numbers. "
            f"Got {array.ndim} dimension(s) of type {array.dtype}."
        )
    if len(array) == 0:
        raise DataError(f"{owner} was given no {what}: there is nothing to group.")
    if array.dtype.kind == "f":
        wrong = np.count_nonzero(~np.isfinite(array) | (array != np.floor(array)))
        if wrong:
            raise DataError(f"The {what} of {owner} must be whole numbers: {wrong} of {len(array)} are not.")
    low = np.count_nonzero(array < least)
    if low:
        raise DataError(
            f"The {what} of {owner} must be at least {least}: {low} of {len(array)} "
            f"{'is' if low == 1 else 'are'} less. Leave them out, or correct them."
        )
    if float(np.sum(array, dtype=np.float64)) >= LARGEST_TOTAL:
        raise DataError(f"The {what} of {owner} add up to 2**53 records or more.")
    return array.astype(np.int64)


def check_feasible(owner: str, total: int, k: int) -> None:
    """Check that there are k records in all.

    Raises
    ------
    InfeasibleError
        Where there are not; the message names the largest k that is feasible.
    """
    if total < k:
        raise InfeasibleError(
            f"{owner} cannot make a class of {k} records: there are only {total} in all. The largest k that can be "
            f"met is {total}."
        )


def simple_lower_bound(largest_item: int, total: int, k: int) -> GroupingBound:
    """Return what the largest class weighs at least, whatever the classes may look like.

    Parameters
    ----------
    largest_item : int
        The largest weight of a single item, which cannot be divided.
    total : int
        The weight of all items.
    k : int
        What each class weighs at least.

    Examples
    --------
    >>> simple_lower_bound(3, 29, 10).value  # two classes at most
    15
    """
    bounds = [
        GroupingBound(value=k, why="every class has at least k records"),
        GroupingBound(value=largest_item, why="the most frequent value cannot be divided"),
    ]
    if total >= k:
        most = total // k
        bounds.append(
            GroupingBound(value=-(-total // most), why=f"there cannot be more than {most} classes of k records")
        )
    return max(bounds, key=lambda bound: bound.value)


def check_grouping(grouping: Grouping, sizes: NDArray[np.int64] | None = None) -> Grouping:
    """Check a grouping against its items, by counting alone, and return it.

    Parameters
    ----------
    grouping : Grouping
        What an algorithm made.
    sizes : array of int64, optional
        The records of each item; one each by default.

    Raises
    ------
    InternalError
        Where an item is in no class, a weight is wrong, a class is empty or has less records than it must have, or the
        cost contradicts a bound.
    """
    classes, weights = grouping.classes, grouping.weights
    count = len(weights)
    if classes.dtype != np.int32 or weights.dtype != np.int64 or classes.ndim != 1 or count == 0:
        raise InternalError("a grouping is not made of classes (int32) and weights (int64)")
    if sizes is not None and len(sizes) != len(classes):
        raise InternalError("a grouping has not one class for each item")
    if int(classes.min()) < SUPPRESSED or int(classes.max()) >= count:
        raise InternalError("a grouping has a class number without a class")
    inside = classes if int(classes.min()) >= 0 else classes[classes != SUPPRESSED]
    if sizes is None:
        counted = np.bincount(inside, minlength=count)
    else:
        kept = sizes if len(inside) == len(classes) else sizes[classes != SUPPRESSED]
        # Sums of whole numbers below 2**53 are exact.
        counted = np.bincount(inside, weights=kept, minlength=count).astype(np.int64)
    if not np.array_equal(counted, weights):
        raise InternalError("the weights of a grouping are not those of its items")
    if int(counted.min()) < (grouping.k if grouping.least is None else grouping.least):
        raise InternalError("a class of a grouping has too few records")
    if grouping.feasible and grouping.cost < grouping.lower_bound:
        raise InternalError("the largest class of a grouping is below what was called a lower bound")
    promise = grouping.guarantee
    if promise is not None and promise.largest is not None and grouping.cost > promise.largest:
        raise InternalError("the largest class of a grouping is above what its method guarantees")
    return grouping
