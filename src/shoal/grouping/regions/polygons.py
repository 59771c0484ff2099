"""Polygons of regions: reading them, finding shared borders, and dissolving classes (extra `geo`)."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal._core.optional import require
from shoal.errors import DataError

_PURPOSE = "Reading polygons"


def read_polygons(path: str | PathLike[str], *, layer: str | None = None) -> Any:
    """Read polygons from a file that GDAL supports, such as GeoJSON, TopoJSON or GeoPackage, as a GeoDataFrame.

    Raises
    ------
    DataError
        If the file does not exist or cannot be read.
    """
    geopandas = require("geopandas", extra="geo", purpose=_PURPOSE)
    if not Path(path).exists():
        raise DataError(f"There is no file '{path}'.")
    try:
        frame = geopandas.read_file(path) if layer is None else geopandas.read_file(path, layer=layer)
    except Exception as error:  # each format's reader has its own exceptions
        raise DataError(
            f"'{path}' cannot be read as polygons{'' if layer is None else f', layer {layer!r}'} "
            f"({type(error).__name__}). GeoJSON, TopoJSON, GeoPackage and shapefiles can."
        ) from error
    # A table without geometries is read without an error.
    if not hasattr(frame, "geometry") or not hasattr(frame, "total_bounds"):
        raise DataError(f"'{path}' holds no polygons.")
    return frame


def shared_borders(polygons: Any) -> NDArray[np.int32]:
    """Find the pairs of polygons that share a border of positive length, the smaller number first.

    Polygons that touch only in a point are not neighbours. Polygons that overlap slightly, as digitized borders do, are
    neighbours.

    Raises
    ------
    DataError
        If some geometries are missing or are not polygons.
    """
    shapely = require("shapely", extra="geo", purpose=_PURPOSE)
    shapes = np.asarray(polygons.geometry.values, dtype=object)
    wrong = int(np.count_nonzero(~np.isin(shapely.get_type_id(shapes), (3, 6)) | shapely.is_empty(shapes)))
    if wrong:
        raise DataError(f"{wrong} of {len(shapes)} geometries are missing, empty or no polygons.")
    shapes = np.where(shapely.is_valid(shapes), shapes, shapely.make_valid(shapes))
    left, right = shapely.STRtree(shapes).query(shapes, predicate="intersects")
    pairs = np.column_stack((left, right))[left < right]
    common = shapely.intersection(shapes[pairs[:, 0]], shapes[pairs[:, 1]])
    neighbours: NDArray[np.int32] = pairs[shapely.length(common) > 0].astype(np.int32)
    return neighbours


def dissolve(polygons: Any, classes: NDArray[np.int32], weights: NDArray[np.int64]) -> Any:
    """Merge the polygons of each class into a GeoDataFrame with the columns class, weight and geometry."""
    geopandas = require("geopandas", extra="geo", purpose=_PURPOSE)
    plain = geopandas.GeoDataFrame({"class": classes}, geometry=polygons.geometry.values, crs=polygons.crs)
    merged = plain[plain["class"] >= 0].dissolve(by="class", as_index=False)
    merged["weight"] = weights[merged["class"].to_numpy()]
    return merged[["class", "weight", "geometry"]]
