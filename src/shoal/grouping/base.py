"""Base class of groupings of one attribute's values: classes, their weights, and a lower bound on the largest class.

Charts are drawn with matplotlib. Figures are objects without global state: no window is opened, and no cell of the
input appears on them. Points and regions have additional pictures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal._core.figures import new_axes, svg_element, write_picture
from shoal._core.validation import Integer, validate
from shoal._core.words import number
from shoal.errors import DataError, InfeasibleError, InternalError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = "#14232b"
"""Colour of borders; the other colours are distinguishable for colour-blind readers (Wong 2011)."""
MAX_SEPARATE_SHAPES = 20_000
"""Largest number of separate shapes in an SVG; more shapes become one image, which keeps the file small."""
_BAR, _LINE = "#0072b2", "#d55e00"
_MAX_BARS = 100
"""Largest number of classes with separate bars."""


def plot_weights(weights: NDArray[np.int64], k: int, *, in_order: bool, title: str, ax: Axes | None = None) -> Axes:
    """Draw the weights of classes as bars, with a line at k.

    Parameters
    ----------
    weights : array of int64
        Number of records of each class.
    k : int
        Smallest weight of a class.
    in_order : bool
        If True, keep the order of the classes; otherwise sort them, the largest first.
    title : str
        Title of the picture.
    ax : matplotlib Axes, optional
        Axes to draw on; new axes by default.
    """
    ax = new_axes() if ax is None else ax
    shown = weights if in_order else np.sort(weights)[::-1]
    if len(shown) <= _MAX_BARS:  # with a gap between them
        ax.bar(np.arange(1, len(shown) + 1), shown, width=0.8, color=_BAR, label="class")
    else:
        ax.stairs(shown, baseline=0, fill=True, color=_BAR, label="class")
    ax.axhline(k, color=_LINE, linestyle="--", label="k")
    ax.set(
        xlabel="classes, in the order of their values" if in_order else "classes, largest first",
        ylabel="records",
        ylim=(0, 1.2 * shown.max()),
        title=title,
    )
    ax.legend(frameon=False, loc="upper right", ncols=2)  # above the bars
    return ax


SUPPRESSED = -1
"""Class number of an item that is in no class."""
MAX_TOTAL = 1 << 53
"""Upper limit of the sum of weights: below it, sums in floating point are exact."""


@dataclass(frozen=True, kw_only=True)
class GroupingGuarantee:
    """Guarantee of a method for a single run.

    Examples
    --------
    >>> guarantee = GroupingGuarantee(text="No class has more than 2 k records.", largest=20, ratio=2.0)
    >>> guarantee.to_dict()["largest"]
    20
    """

    text: str
    """The theorem in one sentence."""
    largest: int | None = None
    """Upper bound on the weight of any class; None if none is proven."""
    ratio: float | None = None
    """Upper bound on the ratio of the largest class to the smallest possible one; None if none is proven."""

    def to_dict(self) -> dict[str, Any]:
        """Return the guarantee for `result.json`."""
        return {"text": self.text, "largest": self.largest, "ratio": self.ratio}


@dataclass(frozen=True, kw_only=True)
class GroupingBound:
    """Lower bound on the largest class of any feasible grouping.

    Examples
    --------
    >>> GroupingBound(value=9, why="every class has at least k records").value
    9
    """

    value: int
    """The bound."""
    why: str
    """Reason for the bound, in words."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Grouping:
    """Items in classes of at least k records each.

    Examples
    --------
    >>> from shoal.grouping import labels
    >>> grouping = labels([5, 4, 3, 3, 2, 1], 9)
    >>> grouping.classes.tolist(), grouping.cost, grouping.gap
    ([0, 0, 1, 1, 1, 1], 9, 0.0)
    """

    kind: str
    """Kind of the items: "labels", "ordered", "points" or "regions"."""
    classes: NDArray[np.int32]
    """Class of each item: 0, 1, ... without a gap, or -1 for items that were left out on request."""
    weights: NDArray[np.int64]
    """Number of records of each class."""
    k: int
    """Smallest number of records of a class."""
    lower_bound: int
    """Lower bound on the largest class of any grouping."""
    lower_bound_why: str
    """Reason for the bound, in words."""
    method: str
    """Name of the method."""
    guarantee: GroupingGuarantee | None = None
    """Guarantee of the method for this run; None if it has none."""
    least: int | None = None
    """Smallest weight of a class, if it is below k: a relaxed grouping, which is not k-anonymous."""
    seed: int | None = None
    """Seed of the random choices; None if there were none, or if they came from the operating system."""
    seconds: float = 0.0
    """Wall time in seconds."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Further facts of the method, without any cell of the input."""

    @property
    def cost(self) -> int:
        """Weight of the largest class, which is minimized."""
        return int(self.weights.max())

    @property
    def optimal(self) -> bool:
        """True if it is proven that no grouping has a smaller largest class."""
        return self.feasible and self.cost == self.lower_bound

    @property
    def feasible(self) -> bool:
        """True if every class has at least k records; only relaxed groupings are not feasible."""
        return int(self.weights.min()) >= self.k

    @property
    def overfull_ratio(self) -> float:
        """Weight of the largest class in multiples of k."""
        return self.cost / self.k

    @property
    def gap(self) -> float:
        """Upper bound on the relative distance of the largest class from the optimum; 0 if it is optimal."""
        return max(0.0, self.cost / self.lower_bound - 1.0)

    def to_dict(self) -> dict[str, Any]:
        """Return counts and parameters for `result.json`, without any cell of the input."""
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
        """Title of a picture: the number of classes, their sizes, and the lower bound."""
        proven = "the smallest possible" if self.optimal else f"at least {number(self.lower_bound)} is needed"
        return (
            f"{number(len(self.weights))} classes of {number(int(self.weights.min()))} to {number(self.cost)} records "
            f"({proven}), k = {number(self.k)}"
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the grouping as a map if possible, otherwise as bars.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; new axes by default.

        Returns
        -------
        matplotlib Axes
        """
        return plot_weights(self.weights, self.k, in_order=self.kind == "ordered", title=self.title, ax=ax)

    def save_picture(self, path: str | PathLike[str]) -> None:
        """Write the picture as SVG or PNG, according to the file extension.

        Raises
        ------
        OutputError
            If the name has another extension.
        """
        write_picture(self.plot(), path)

    def svg(self) -> str:
        """Return the picture as an SVG element for a page."""
        return svg_element(self.plot())

    def __repr__(self) -> str:
        proven = "optimal" if self.optimal else f"lower_bound={self.lower_bound}"
        return (
            f"{type(self).__name__}({self.kind!r}, k={self.k}, classes={len(self.weights)}, largest={self.cost}, "
            f"{proven}, method={self.method!r})"
        )


def check_k(owner: str, k: object) -> int:
    """Validate k, and return it as an int.

    Raises
    ------
    ParameterError
        If k is not an integer of at least 1.
    """
    validate(owner, {"k": k}, {"k": Integer(low=1)})
    return int(k)  # type: ignore[call-overload, no-any-return]


def validate_weights(owner: str, weights: ArrayLike, *, what: str, least: int) -> NDArray[np.int64]:
    """Validate weights, and return them as integers.

    Parameters
    ----------
    owner : str
        Name of the calling function, for messages.
    weights : array_like
        One integer per item; floats with integral values are accepted.
    what : str
        Name of the weights in messages, such as "sizes".
    least : int
        Smallest allowed weight: 0 or 1.

    Raises
    ------
    DataError
        If the weights are not such numbers. The message has counts of wrong weights, but no weight.
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
    # Sums of records must be exact in floating point.
    if float(np.sum(array, dtype=np.float64)) >= MAX_TOTAL:
        raise DataError(f"The {what} of {owner} add up to 2**53 records or more.")
    return array.astype(np.int64)


def check_feasible(owner: str, total: int, k: int) -> None:
    """Check that there are at least k records in total.

    Raises
    ------
    InfeasibleError
        If there are fewer; the message names the largest feasible k.
    """
    if total < k:
        raise InfeasibleError(
            f"{owner} cannot make a class of {k} records: there are only {total} in all. The largest k that can be "
            f"met is {total}."
        )


def simple_lower_bound(largest_item: int, total: int, k: int) -> GroupingBound:
    """Compute a lower bound on the largest class of any grouping.

    Parameters
    ----------
    largest_item : int
        Largest weight of a single item, which cannot be divided.
    total : int
        Total weight of all items.
    k : int
        Smallest weight of a class.

    Examples
    --------
    >>> simple_lower_bound(3, 29, 10).value  # at most two classes
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
    """Verify a grouping against its items by counting alone, and return it.

    Parameters
    ----------
    grouping : Grouping
        The result of an algorithm.
    sizes : array of int64, optional
        Number of records of each item; 1 by default.

    Raises
    ------
    InternalError
        If an item is in no class, a weight is wrong, a class is empty or too small, or the cost contradicts a bound.

    Examples
    --------
    >>> from shoal.grouping import labels
    >>> sizes = np.array([3, 2, 2])
    >>> check_grouping(labels(sizes, 3), sizes)
    Grouping('labels', k=3, classes=2, largest=4, optimal, method='best')
    """
    classes, weights = grouping.classes, grouping.weights
    count = len(weights)
    # Classes are numbered without gaps, one for each item.
    if classes.dtype != np.int32 or weights.dtype != np.int64 or classes.ndim != 1 or count == 0:
        raise InternalError("a grouping is not made of classes (int32) and weights (int64)")
    if sizes is not None and len(sizes) != len(classes):
        raise InternalError("a grouping has not one class for each item")
    if int(classes.min()) < SUPPRESSED or int(classes.max()) >= count:
        raise InternalError("a grouping has a class number without a class")
    # Count the records of each class again.
    inside = classes if int(classes.min()) >= 0 else classes[classes != SUPPRESSED]
    if sizes is None:
        counted = np.bincount(inside, minlength=count)
    else:
        kept = sizes if len(inside) == len(classes) else sizes[classes != SUPPRESSED]
        # Sums of integers below 2**53 are exact.
        counted = np.bincount(inside, weights=kept, minlength=count).astype(np.int64)
    if not np.array_equal(counted, weights):
        raise InternalError("the weights of a grouping are not those of its items")
    if int(counted.min()) < (grouping.k if grouping.least is None else grouping.least):
        raise InternalError("a class of a grouping has too few records")
    # The cost must agree with the lower bound and the guarantee.
    if grouping.feasible and grouping.cost < grouping.lower_bound:
        raise InternalError("the largest class of a grouping is below its lower bound")
    promise = grouping.guarantee
    if promise is not None and promise.largest is not None and grouping.cost > promise.largest:
        raise InternalError("the largest class of a grouping is above the guarantee of its method")
    return grouping
