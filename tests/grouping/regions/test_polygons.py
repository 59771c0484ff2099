"""Polygons: borders that are shared, files that are read, outlines that come back."""

from __future__ import annotations

import json

import numpy as np
import pytest

from shoal.errors import ColumnError, DataError
from shoal.grouping import regions
from shoal.grouping.regions.graph import dissolve, read_polygons, shared_borders

geopandas = pytest.importorskip("geopandas")
shapely = pytest.importorskip("shapely")

CELLS = [(0, 0), (1, 0), (0, 1), (1, 1), (3, 3)]


def squares(cells=CELLS, **columns):
    return geopandas.GeoDataFrame(columns, geometry=[shapely.box(x, y, x + 1, y + 1) for x, y in cells], crs=4326)


def test_corners_are_no_borders():
    assert shared_borders(squares()).tolist() == [[0, 1], [0, 2], [1, 3], [2, 3]]


def test_borders_need_no_common_corners():
    # One long side beside two short ones, and an overlap as digitizing leaves it.
    shapes = [shapely.box(0, 0, 1, 2), shapely.box(1, 0, 2, 1), shapely.box(0.999, 1, 2, 2)]
    assert shared_borders(geopandas.GeoDataFrame(geometry=shapes)).tolist() == [[0, 1], [0, 2], [1, 2]]


@pytest.mark.parametrize("wrong", [None, shapely.Point(0, 0), shapely.Polygon()])
def test_what_is_no_polygon_is_counted(wrong):
    shapes = [shapely.box(0, 0, 1, 1), wrong]
    with pytest.raises(DataError, match="1 of 2 geometries"):
        shared_borders(geopandas.GeoDataFrame(geometry=shapes))


def test_outlines_of_classes():
    outlines = dissolve(squares(), np.array([0, 0, 1, 1, -1], dtype=np.int32), np.array([7, 8]))
    assert outlines["class"].tolist() == [0, 1]
    assert outlines["weight"].tolist() == [7, 8]
    assert shapely.area(outlines.geometry.values).tolist() == [2, 2]
    assert outlines.crs == 4326


@pytest.mark.parametrize("suffix", ["geojson", "gpkg"])
def test_files_are_read(tmp_path, suffix):
    path = tmp_path / f"cells.{suffix}"
    squares(CELLS[:4], place=["a", "b", "c", "d"], n=[2, 2, 2, 2]).to_file(path)
    made = regions(path, "n", 4, names="place", seed=1)
    assert made.names == ("a", "b", "c", "d")
    assert (made.cost, made.optimal) == (4, True)
    with pytest.raises(ColumnError, match="no column 'people'"):
        regions(path, "people", 4)


def test_topojson_is_read(tmp_path):
    ring = [[0, 0], [0, 1], [1, 1], [1, 0], [0, 0]]
    beside = [[1, 0], [1, 1], [2, 1], [2, 0], [1, 0]]
    shapes = [{"type": "Polygon", "arcs": [[arc]], "properties": {"place": str(arc), "n": 3}} for arc in range(2)]
    topology = {
        "type": "Topology",
        "arcs": [ring, beside],
        "objects": {"cells": {"type": "GeometryCollection", "geometries": shapes}},
    }
    path = tmp_path / "cells.topojson"
    path.write_text(json.dumps(topology))
    made = regions(path, "n", 6, names="place", layer="cells", seed=1)
    assert made.cost == 6


def test_what_is_no_map_is_refused(tmp_path):
    with pytest.raises(DataError, match="no file"):
        read_polygons(tmp_path / "nowhere.gpkg")
    (tmp_path / "bad.geojson").write_text("no map")
    with pytest.raises(DataError, match="cannot be read as polygons"):
        read_polygons(tmp_path / "bad.geojson")
