"""Points in the plane in disjoint rectangles of at least k records, the largest as small as possible.

References
----------
W. Du, D. Eppstein, M. T. Goodrich, G. S. Lueker, "On the approximability of geometric and geographic generalization
and the min-max bin covering problem", WADS 2009, Section 3. doi:10.1007/978-3-642-03367-4_22, arXiv:0904.3756.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal._core.private_files import write_private_text
from shoal._core.validation import Boolean, OneOf, validate
from shoal.errors import DataError, InternalError
from shoal.grouping.base import (
    Grouping,
    GroupingGuarantee,
    check_feasible,
    check_grouping,
    check_k,
    checked_weights,
    simple_lower_bound,
)
from shoal.grouping.points.kd_tree_kernel import cut_rectangles, outside, overlapping
from shoal.grouping.points.point_pictures import plot_rectangles

if TYPE_CHECKING:
    from os import PathLike

    import polars as pl
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

__all__ = ["PointGrouping", "check_rectangles", "is_geographic", "points"]

_LONGITUDES, _LATITUDES = ("lon", "lng", "long", "longitude"), ("lat", "latitude")

COORDINATES = {
    True: "longitudes and latitudes in degrees (WGS 84)",
    False: "as given: not known to be longitudes and latitudes in WGS 84, which RFC 7946 asks for",
}
"""What is said of coordinates, by whether they are geographic."""
_MOST_POINTS = (1 << 31) - 1
_MOST_COMPARED = 1_000_000
"""Points for which several rules of cutting are compared."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class PointGrouping(Grouping):
    """Points in rectangles."""

    rectangles: NDArray[np.float64]
    """x_min, x_max, y_min, y_max of each class: the smallest rectangle around its points. No two share a point."""

    @property
    def rectangle_of(self) -> NDArray[np.float64]:
        """The rectangle of each point, row by row."""
        return np.asarray(self.rectangles[self.classes])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the rectangles, shaded by their weight, and return the axes; see `Grouping.plot`."""
        return plot_rectangles(self.rectangles, self.weights, self.k, ax)

    def to_frame(self) -> pl.DataFrame:
        """Return the rectangles as a table: class, x_min, x_max, y_min, y_max, weight."""
        import polars as pl

        columns: dict[str, Any] = {"class": np.arange(len(self.weights))}
        columns.update(zip(("x_min", "x_max", "y_min", "y_max"), self.rectangles.T, strict=True))
        return pl.DataFrame(columns | {"weight": self.weights})

    def to_geojson(self) -> dict[str, Any]:
        """Return the rectangles as a GeoJSON FeatureCollection, x being the longitude.

        RFC 7946 knows longitudes and latitudes in WGS 84 only. Of points that were not said to be geographic the
        coordinates stay as given, and a member `note` says so.
        """
        features = []
        for number, ((x_min, x_max, y_min, y_max), weight) in enumerate(
            zip(self.rectangles.tolist(), self.weights.tolist(), strict=True)
        ):
            ring = [[x_min, y_min], [x_max, y_min], [x_max, y_max], [x_min, y_max], [x_min, y_min]]
            features.append(
                {
                    "type": "Feature",
                    "properties": {"class": number, "weight": weight},
                    "geometry": {"type": "Polygon", "coordinates": [ring]},
                }
            )
        said = {} if self.details["geographic"] else {"note": f"The coordinates are {COORDINATES[False]}."}
        return {"type": "FeatureCollection", **said, "features": features}

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
    """Group points into rectangles of at least k records; the largest class is to be small.

    Parameters
    ----------
    xy : array_like of shape (n, 2)
        Coordinates. Points at the same place are in the same class.
    k : int
        The least number of records of a class.
    multiplicity : array_like of int, optional
        The number of records of each point, at least 1; one each by default.
    geographic : bool, default False
        Whether x is a longitude (-180 to 180) and y a latitude (-90 to 90) in degrees, which is checked then.
    method : {"best", "even", "median"}, default "best"
        Where a rectangle is cut. "median" halves it. "even" moves that cut to the nearest place that leaves both sides
        a whole number of classes of average weight: where no two points share a coordinate, the result is optimal.
        "best" is "even"; where that is not proven optimal, for up to a million points, it is compared with "median" and
        with a cut between the two.

    Returns
    -------
    PointGrouping
        With a rectangle for each class. Classes are numbered along the tree: neighbours are near each other.

    Raises
    ------
    ParameterError
        A parameter has a value that it cannot have.
    DataError
        Coordinates are missing, infinite or out of range; multiplicities are no whole numbers of at least 1.
    InfeasibleError
        There are less than k records.

    Notes
    -----
    A kd-tree: the wider side is cut first, the other one before a rectangle is given up. Cuts run between points, so
    points with equal coordinates are never separated, and it is enough to look at the two cuts beside the point where
    the cut is wanted: if both leave less than k on a side, all do. A rectangle that cannot be cut has then less than k
    on each of the four sides of one place: at most 4 (k - 1) records beside the heaviest place. That is 5 k - 4 where
    no place has more than k (Theorem 4). Linear time per level, with selection by random pivots.

    Rectangles are the smallest around their points, so their sides tell coordinates of points.

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
    coordinates = _coordinates(xy, geographic=geographic)
    count = len(coordinates)
    weights = None
    if multiplicity is not None:
        weights = checked_weights("points", multiplicity, what="multiplicities", least=1)
        if len(weights) != count:
            raise DataError(
                f"The multiplicities of points must be one for each point. Got {len(weights)} for {count} points."
            )
    total = count if weights is None else int(weights.sum())
    check_feasible("points", total, k)
    cut = _cut(coordinates, weights, total, k, method)
    bound = simple_lower_bound(cut.heaviest, total, k)
    if method == "best" and cut.cost > bound.value and count <= _MOST_COMPARED:
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
            text="at most 4 (k - 1) records beside the heaviest place, or k (Theorem 4)",
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
    """What one run of the tree leaves."""

    rule: str
    classes: NDArray[np.int32]
    weights: NDArray[np.int64]
    rectangles: NDArray[np.float64]
    heaviest: int
    """The weight of the heaviest place, or k where that is less."""

    @property
    def cost(self) -> int:
        return int(self.weights.max())


def _cut(coordinates: NDArray[np.float64], weights: NDArray[np.int64] | None, total: int, k: int, method: str) -> _Cut:
    """Cut the plane until nothing can be cut, with the cuts where a method wants them."""
    # The class size that cuts aim at; 0 halves. Points that cannot be parted need some room above k.
    rule = "even" if method == "best" else method
    wanted = {"even": k, "between": k + -(-k // 8), "median": 0}[rule]
    count, most = len(coordinates), min(len(coordinates), total // k)
    classes = np.empty(count, dtype=np.int32)
    rectangles, levels = np.empty((most, 4), dtype=np.float64), np.empty(most, dtype=np.int64)
    made, heaviest = cut_rectangles(
        # Minus zero is zero.
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
    """Check, by a sweep that knows nothing of any tree, that rectangles are disjoint and hold their points.

    Parameters
    ----------
    xy : array of float64, shape (n, 2)
        The points.
    classes : array of int32, shape (n,)
        The class of each point, from 0.
    rectangles : array of float64, shape (classes, 4)
        Of each class: least and greatest x, least and greatest y.

    Raises
    ------
    InternalError
        Where two rectangles share a point, or a point is outside of that of its class.
    """
    if outside(xy[:, 0], xy[:, 1], classes, rectangles):
        raise InternalError("a point is outside of the rectangle of its class")
    numbers = np.arange(len(rectangles))
    ranks = [np.unique(rectangles[:, side : side + 2], return_inverse=True) for side in (0, 2)]
    (_, along), (places, across) = ((values, inverse.reshape(-1, 2).astype(np.int64)) for values, inverse in ranks)
    opening = np.stack([along[:, 0], numbers], axis=1)[np.argsort(along[:, 0], kind="stable")]
    closing = np.stack([along[:, 1], numbers], axis=1)[np.argsort(along[:, 1], kind="stable")]
    if overlapping(opening, closing, across[:, 0].copy(), across[:, 1].copy(), len(places)):
        raise InternalError("two rectangles share a point")


def is_geographic(x: str, y: str) -> bool:
    """Return whether two columns are called longitude and latitude.

    Raises
    ------
    DataError
        They are called latitude and longitude.
    """
    first, second = x.strip().lower(), y.strip().lower()
    if first in _LATITUDES and second in _LONGITUDES:
        raise DataError(f"'{x}' and '{y}' are swapped: x is the longitude, y the latitude.")
    return first in _LONGITUDES and second in _LATITUDES


def _coordinates(xy: ArrayLike, *, geographic: bool) -> NDArray[np.float64]:
    array = np.asarray(xy)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iuf":
        raise DataError(
            f"The points must be an array of numbers with two columns, x and y. Got shape {array.shape} of type "
            f"{array.dtype}."
        )
    if len(array) == 0:
        raise DataError("points was given no points: there is nothing to group.")
    if len(array) > _MOST_POINTS:
        raise DataError(f"There are {len(array)} points, above the limit of {_MOST_POINTS}.")
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
