"""Grouping of points in the plane into disjoint rectangles of at least k records, minimizing the largest.

References
----------
W. Du, D. Eppstein, M. T. Goodrich, G. S. Lueker, "On the approximability of geometric and geographic generalization
and the min-max bin covering problem", WADS 2009, Section 3. doi:10.1007/978-3-642-03367-4_22, arXiv:0904.3756.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from shoal._core.figures import new_axes
from shoal._core.private_files import write_private_text
from shoal._core.validation import Boolean, OneOf, Optional, validate
from shoal._core.words import number
from shoal.errors import DataError, InternalError
from shoal.grouping.base import (
    INK,
    MAX_SEPARATE_SHAPES,
    Grouping,
    GroupingGuarantee,
    check_feasible,
    check_grouping,
    check_k,
    simple_lower_bound,
    validate_weights,
)
from shoal.grouping.coarsened_columns import encode_column, format_intervals, make_coarsened
from shoal.grouping.points.kd_tree_kernel import cut_rectangles, outside, overlapping
from shoal.hierarchy import Coarsening, CoarseningResult
from shoal.table import Column
from shoal.table.text import dictionary_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_rectangles(rectangles: ArrayLike, weights: ArrayLike, k: int, ax: Axes | None = None) -> Axes:
    """Draw rectangles, shaded by their weight in multiples of k.

    Parameters
    ----------
    rectangles : array_like
        x_min, x_max, y_min, y_max of each class, one row per class.
    weights : array_like
        Number of records of each class.
    k : int
        Smallest weight of a class.
    ax : matplotlib Axes, optional
        Axes to draw on; new axes by default.
    """
    from matplotlib.collections import PolyCollection

    ax = new_axes() if ax is None else ax
    x_min, x_max, y_min, y_max = np.asarray(rectangles, dtype=np.float64).T
    corners = np.stack([np.stack(c, axis=-1) for c in ((x_min, y_min), (x_max, y_min), (x_max, y_max), (x_min, y_max))])
    ratios = np.asarray(weights, dtype=np.float64) / k
    shapes = PolyCollection(
        list(np.swapaxes(corners, 0, 1)), array=ratios, cmap="cividis_r", edgecolors=INK, linewidths=0.3
    )
    shapes.set_rasterized(len(ratios) > MAX_SEPARATE_SHAPES)
    ax.add_collection(shapes)
    ax.autoscale_view()
    ax.set_aspect("equal", adjustable="datalim")
    ax.get_figure().colorbar(shapes, ax=ax, label="records in multiples of k", shrink=0.8)  # type: ignore[union-attr]
    title = "{count} rectangles, the largest {times} times k = {k}"
    ax.set_title(title.format(count=number(len(ratios)), times=f"{ratios.max():.3g}", k=number(k)))
    return ax


_LONGITUDES, _LATITUDES = ("lon", "lng", "long", "longitude"), ("lat", "latitude")

COORDINATES = {
    True: "longitudes and latitudes in degrees (WGS 84)",
    False: "as given: not known to be longitudes and latitudes in WGS 84, which RFC 7946 asks for",
}
"""Descriptions of coordinates in results, by `geographic`."""
_MAX_POINTS = (1 << 31) - 1
_MAX_POINTS_TO_COMPARE = 1_000_000
"""Largest number of points for which several cutting rules are compared."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class PointGrouping(Grouping):
    """Points in rectangles.

    Examples
    --------
    >>> grouping = points([[0, 0], [1, 9], [2, 1], [3, 8]], 2)
    >>> grouping.rectangle_of[0].tolist()
    [0.0, 2.0, 0.0, 1.0]
    """

    rectangles: NDArray[np.float64]
    """x_min, x_max, y_min, y_max of each class: the bounding box of its points. Rectangles are disjoint."""

    @property
    def rectangle_of(self) -> NDArray[np.float64]:
        """The rectangle of each point, one row per point."""
        return np.asarray(self.rectangles[self.classes])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the rectangles, shaded by their weight; see `Grouping.plot`."""
        return plot_rectangles(self.rectangles, self.weights, self.k, ax)

    def to_frame(self) -> pl.DataFrame:
        """Return the rectangles as a table with the columns class, x_min, x_max, y_min, y_max and weight."""
        columns: dict[str, Any] = {"class": np.arange(len(self.weights))}
        columns.update(zip(("x_min", "x_max", "y_min", "y_max"), self.rectangles.T, strict=True))
        return pl.DataFrame(columns | {"weight": self.weights})

    def to_geojson(self) -> dict[str, Any]:
        """Return the rectangles as a GeoJSON FeatureCollection, with x as the longitude.

        RFC 7946 allows only longitudes and latitudes in WGS 84. If the points are not geographic, the coordinates stay
        as given, and a member `note` states this.
        """
        features = []
        for index, ((x_min, x_max, y_min, y_max), weight) in enumerate(
            zip(self.rectangles.tolist(), self.weights.tolist(), strict=True)
        ):
            ring = [[x_min, y_min], [x_max, y_min], [x_max, y_max], [x_min, y_max], [x_min, y_min]]
            features.append(
                {
                    "type": "Feature",
                    "properties": {"class": index, "weight": weight},
                    "geometry": {"type": "Polygon", "coordinates": [ring]},
                }
            )
        note = {} if self.details["geographic"] else {"note": f"The coordinates are {COORDINATES[False]}."}
        return {"type": "FeatureCollection", **note, "features": features}

    def write_geojson(self, path: str | PathLike[str]) -> None:
        """Write the rectangles as GeoJSON."""
        write_private_text(path, json.dumps(self.to_geojson(), separators=(",", ":")) + "\n")


def points(
    xy: ArrayLike,
    k: int,
    *,
    multiplicity: ArrayLike | None = None,
    geographic: bool = False,
    method: str = "best",
) -> PointGrouping:
    """Group points into rectangles of at least k records, with the largest class as small as possible.

    Parameters
    ----------
    xy : array_like of shape (n, 2)
        Coordinates. Points at the same place are in the same class.
    k : int
        Smallest number of records of a class.
    multiplicity : array_like of int, optional
        Number of records of each point, at least 1; 1 by default.
    geographic : bool, default False
        If True, x is a longitude (-180 to 180) and y a latitude (-90 to 90) in degrees, and the ranges are checked.
    method : {"best", "even", "median"}, default "best"
        Rule for cutting a rectangle. "median" halves it. "even" moves this cut to the nearest place with a multiple of
        the average class weight on both sides; if no two points share a coordinate, the result is optimal. "best" is
        "even"; if its result is not proven optimal and there are at most a million points, it is compared with "median"
        and with a rule between the two.

    Returns
    -------
    PointGrouping
        The classes with their rectangles. Classes are numbered along the tree, so that successive classes are close.

    Raises
    ------
    ParameterError
        If a parameter is invalid.
    DataError
        If coordinates are missing, infinite or out of range, or if multiplicities are not integers of at least 1.
    InfeasibleError
        If there are fewer than k records.

    Notes
    -----
    The algorithm builds a kd-tree. The wider side of a rectangle is cut first, and the other side before the rectangle
    becomes a class. Cuts run between points, so points with equal coordinates are never separated. It suffices to try
    the two cuts next to the desired one: if both leave fewer than k records on a side, all cuts do. A rectangle that
    cannot be cut has fewer than k records on each of the four sides of one place, hence at most 4 (k - 1) records
    besides the heaviest place. This is 5 k - 4 if no place has more than k records (Theorem 4). Each level of the tree
    takes linear time, with selection by random pivots.

    Rectangles are bounding boxes of their points, so their sides reveal coordinates of points.

    References
    ----------
    W. Du, D. Eppstein, M. T. Goodrich, G. S. Lueker, "On the approximability of geometric and geographic
    generalization and the min-max bin covering problem", WADS 2009, Section 3. doi:10.1007/978-3-642-03367-4_22.

    Examples
    --------
    >>> grouping = points([[0, 0], [1, 9], [2, 1], [3, 8]], 2)
    >>> grouping.rectangles.tolist()
    [[0.0, 2.0, 0.0, 1.0], [1.0, 3.0, 8.0, 9.0]]
    """
    start = time.perf_counter()
    k = check_k("points", k)
    validate(
        "points",
        {"geographic": geographic, "method": method},
        {"geographic": Boolean(), "method": OneOf(("best", "even", "median"))},
    )
    # Validate coordinates and multiplicities.
    coordinates = _coordinates(xy, geographic=geographic)
    count = len(coordinates)
    weights = None
    if multiplicity is not None:
        weights = validate_weights("points", multiplicity, what="multiplicities", least=1)
        if len(weights) != count:
            raise DataError(
                f"The multiplicities of points must be one for each point. Got {len(weights)} for {count} points."
            )
    total = count if weights is None else int(weights.sum())
    check_feasible("points", total, k)
    # If the first rule is not proven optimal, compare it with others.
    cut = _cut(coordinates, weights, total, k, method)
    bound = simple_lower_bound(cut.heaviest, total, k)
    if method == "best" and cut.cost > bound.value and count <= _MAX_POINTS_TO_COMPARE:
        others = [_cut(coordinates, weights, total, k, other) for other in ("between", "median")]
        cut = min(cut, *others, key=lambda one: (one.cost, -len(one.weights)))
    grouping = PointGrouping(
        kind="points",
        classes=cut.classes,
        weights=cut.weights,
        k=k,
        lower_bound=bound.value,
        lower_bound_why=bound.why.replace("the most frequent value", "the heaviest place"),
        method=method,
        guarantee=GroupingGuarantee(
            text="at most 4 (k - 1) records next to the heaviest place, or k (Theorem 4)",
            largest=4 * (k - 1) + cut.heaviest,
            ratio=5.0,
        ),
        details={"geographic": geographic, "coordinates": COORDINATES[bool(geographic)], "cut": cut.rule},
        rectangles=cut.rectangles,
    )
    check_grouping(grouping, weights)
    check_rectangles(coordinates, grouping.classes, grouping.rectangles)
    return replace(grouping, seconds=time.perf_counter() - start)


@dataclass(frozen=True, kw_only=True)
class _Cut:
    """Result of one run of the kd-tree."""

    rule: str
    classes: NDArray[np.int32]
    weights: NDArray[np.int64]
    rectangles: NDArray[np.float64]
    heaviest: int
    """Weight of the heaviest place, or k if it is lighter."""

    @property
    def cost(self) -> int:
        return int(self.weights.max())


def _cut(coordinates: NDArray[np.float64], weights: NDArray[np.int64] | None, total: int, k: int, method: str) -> _Cut:
    """Cut the plane until no rectangle can be cut, by the rule of a method."""
    # The class size that cuts aim at; 0 halves. Points that cannot be separated need some room above k.
    rule = "even" if method == "best" else method
    wanted = {"even": k, "between": k + -(-k // 8), "median": 0}[rule]
    count, most = len(coordinates), min(len(coordinates), total // k)
    classes = np.empty(count, dtype=np.int32)
    rectangles, levels = np.empty((most, 4), dtype=np.float64), np.empty(most, dtype=np.int64)
    made, heaviest = cut_rectangles(
        # Convert -0.0 to 0.0.
        coordinates[:, 0] + 0.0,
        coordinates[:, 1] + 0.0,
        np.arange(count, dtype=np.int32),
        np.empty(0, dtype=np.int64) if weights is None else weights.copy(),
        total,
        k,
        wanted,
        classes,
        rectangles,
        levels,
    )
    return _Cut(
        rule=rule,
        classes=classes,
        weights=levels[:made].copy(),
        rectangles=rectangles[:made].copy(),
        heaviest=int(heaviest),
    )


def check_rectangles(xy: NDArray[np.float64], classes: NDArray[np.int32], rectangles: NDArray[np.float64]) -> None:
    """Verify that rectangles are disjoint and contain their points, by a sweep that is independent of the kd-tree.

    Parameters
    ----------
    xy : array of float64, shape (n, 2)
        The points.
    classes : array of int32, shape (n,)
        Class of each point, from 0.
    rectangles : array of float64, shape (classes, 4)
        Smallest and largest x, and smallest and largest y, of each class.

    Raises
    ------
    InternalError
        If two rectangles share a point, or if a point is outside the rectangle of its class.

    Examples
    --------
    >>> xy = np.array([[0.0, 0.0], [1.0, 9.0], [2.0, 1.0], [3.0, 8.0]])
    >>> grouping = points(xy, 2)
    >>> check_rectangles(xy, grouping.classes, grouping.rectangles)
    """
    if outside(xy[:, 0], xy[:, 1], classes, rectangles):
        raise InternalError("a point is outside of the rectangle of its class")
    # Sweep along x, with rectangles as intervals of ranks along y.
    numbers = np.arange(len(rectangles))
    ranks = [np.unique(rectangles[:, side : side + 2], return_inverse=True) for side in (0, 2)]
    (_, along), (places, across) = ((values, inverse.reshape(-1, 2).astype(np.int64)) for values, inverse in ranks)
    opening = np.stack([along[:, 0], numbers], axis=1)[np.argsort(along[:, 0], kind="stable")]
    closing = np.stack([along[:, 1], numbers], axis=1)[np.argsort(along[:, 1], kind="stable")]
    if overlapping(opening, closing, across[:, 0].copy(), across[:, 1].copy(), len(places)):
        raise InternalError("two rectangles share a point")


def is_geographic(x: str, y: str) -> bool:
    """Test if the names of two columns are those of longitude and latitude.

    Raises
    ------
    DataError
        If they are in the wrong order.
    """
    first, second = x.strip().lower(), y.strip().lower()
    if first in _LATITUDES and second in _LONGITUDES:
        raise DataError(f"'{x}' and '{y}' are swapped: x is the longitude, y the latitude.")
    return first in _LONGITUDES and second in _LATITUDES


def _coordinates(xy: ArrayLike, *, geographic: bool) -> NDArray[np.float64]:
    """Validate coordinates; return them as floats."""
    array = np.asarray(xy)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iuf":
        raise DataError(
            f"The points must be an array of numbers with two columns, x and y. Got shape {array.shape} of type "
            f"{array.dtype}."
        )
    if len(array) == 0:
        raise DataError("points was given no points: there is nothing to group.")
    if len(array) > _MAX_POINTS:
        raise DataError(f"There are {len(array)} points, above the limit of {_MAX_POINTS}.")
    coordinates = array.astype(np.float64, copy=False)
    finite = np.isfinite(coordinates)
    if not finite.all():
        wrong = int(np.count_nonzero(~finite.all(axis=1)))
        raise DataError(f"{wrong} of {len(coordinates)} points have a coordinate that is missing or infinite.")
    if geographic:
        _check_degrees(coordinates)
    return coordinates


def _check_degrees(coordinates: NDArray[np.float64]) -> None:
    """Check that x is a longitude and y a latitude."""
    farthest = np.maximum(np.abs(coordinates.min(axis=0)), np.abs(coordinates.max(axis=0)))
    if farthest[0] <= 180 and farthest[1] <= 90:
        return
    if farthest[0] <= 90 and farthest[1] <= 180:
        raise DataError(
            "Latitude and longitude look swapped: y goes beyond 90 degrees and x does not. Give the longitude as x "
            "and the latitude as y."
        )
    wrong = int(np.count_nonzero((np.abs(coordinates) > (180, 90)).any(axis=1)))
    raise DataError(
        f"{wrong} of {len(coordinates)} points are no longitude (-180 to 180) and latitude (-90 to 90) in degrees. "
        "Correct them, or group projected coordinates without geographic."
    )


@dataclass(frozen=True, repr=True)
class Points(Coarsening):
    """Coarsen two columns of coordinates to rectangles of at least k records, with the largest as small as possible.

    The columns become intervals `[x_min, x_max]` and `[y_min, y_max]`, ordered by their ends. Together they are the
    rectangle of a class; rectangles are disjoint. Their ends are coordinates of records, and a release moves them
    outward (`exact_ends`) unless enough records have them. A row must have both coordinates or none; missing
    coordinates stay missing and do not count.

    Parameters
    ----------
    k : int
        Smallest number of records of a class.
    geographic : bool, optional
        If True, the columns are longitude and latitude in degrees, and their ranges are checked. By default it depends
        on the names of the columns.

    Examples
    --------
    >>> import polars as pl
    >>> x, y = pl.Series("x", [0, 1, 2, 3]), pl.Series("y", [0, 9, 1, 8])
    >>> [column.to_list()[:2] for column in Points(k=2).apply((x, y))]
    [['[0, 2]', '[1, 3]'], ['[0, 1]', '[8, 9]']]
    """

    takes: ClassVar[int] = 2
    self_evident: ClassVar[bool] = True
    ends_at_values: ClassVar[bool] = True

    k: int = field(kw_only=True)
    """Smallest number of records of a class."""
    geographic: bool | None = field(default=None, kw_only=True)
    """True if the columns are longitude and latitude; None to decide by their names."""

    def __post_init__(self) -> None:
        check_k("Points", self.k)
        validate("Points", {"geographic": self.geographic}, {"geographic": Optional(Boolean())})

    def apply(self, columns: tuple[pl.Series, ...]) -> tuple[pl.Series, ...]:
        """Replace both coordinates by the sides of rectangles; see `Coarsening.apply`."""
        return self.coarsen(columns).columns

    def coarsen(self, columns: tuple[pl.Series, ...]) -> CoarseningResult:
        """Replace both coordinates by the sides of rectangles, with facts and a picture; see `Coarsening.coarsen`."""
        x, y = columns
        # A row must have both coordinates or none.
        encoded = [encode_column("Points", series) for series in columns]
        present, other = (column.codes < column.size - column.has_missing for column in encoded)
        if not np.array_equal(present, other):
            wrong = int(np.count_nonzero(present != other))
            raise DataError(f"{wrong} of {len(x)} rows have one coordinate and miss the other.")
        numbers = [_as_numbers(column)[column.codes[present]] for column in encoded]
        geographic = is_geographic(x.name, y.name) if self.geographic is None else self.geographic
        grouping = points(np.stack(numbers, axis=1), self.k, geographic=geographic)
        sides = [
            _intervals_of_rows(column, column.codes[present], grouping.classes, present, len(grouping.weights))
            for column in encoded
        ]
        return make_coarsened(grouping, (sides[0].alias(x.name), sides[1].alias(y.name)), of_intervals=True)

    def to_dict(self) -> dict[str, Any]:
        """Return the coarsening as it appears in a certificate."""
        return {"coarsening": "points", "k": self.k, "geographic": self.geographic}


def _as_numbers(column: Column) -> NDArray[np.float64]:
    """Convert the values of a numeric column to numbers, by code; the missing value is NaN."""
    kind = column.dictionary.dtype
    if not column.ordered or not (kind.is_numeric() or kind == pl.String):
        raise DataError("Points needs numbers.")
    numbers = column.dictionary.cast(pl.Float64, strict=False)
    if numbers.null_count() > column.has_missing:
        raise DataError("Points needs numbers: dates are none.")
    return np.asarray(numbers.to_numpy())


def _intervals_of_rows(
    column: Column,
    codes: NDArray[np.unsignedinteger],
    classes: NDArray[np.int32],
    present: NDArray[np.bool_],
    count: int,
) -> pl.Series:
    """Compute the side of each row's rectangle along one coordinate; missing if the coordinate is missing."""
    low, high = np.full(count, column.size, dtype=np.int64), np.full(count, -1, dtype=np.int64)
    np.minimum.at(low, classes, codes)
    np.maximum.at(high, classes, codes)
    # Equal sides of different rectangles are one category; categories are ordered by their ends.
    pairs, side_of_class = np.unique(low * column.size + high, return_inverse=True)
    text = dictionary_text(column.dictionary)
    sides = format_intervals(text.gather(pairs // column.size), text.gather(pairs % column.size))
    numbers = np.full(len(present), -1, dtype=np.int64)
    numbers[present] = side_of_class[classes]
    kind = pl.Enum(sides)
    of_row = pl.Series(numbers)
    return sides.cast(kind).gather(of_row.set(of_row < 0, None))
