"""`shoal group regions`: tables and polygons in, a folder with classes, facts and a map out."""

from __future__ import annotations

import json

import polars as pl
import pytest

EDGES = "from,to\n01,02\n02,03\n03,04\n04,05\n"
NODES = "fips,people,lon,lat\n05,3,4,0\n04,3,3,0\n03,3,2,1\n02,3,1,0\n01,3,0,0\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "edges.csv").write_text(EDGES)
    (tmp_path / "nodes.csv").write_text(NODES)
    return tmp_path


@pytest.mark.drawn
def test_edges_and_nodes_become_a_folder(shoal, files):
    out = files / "out"
    done = shoal("group", "regions", files / "edges.csv", "--nodes", files / "nodes.csv", "-k", 6, "-o", out, "--json")
    assert done.code == 0, done.err
    assert sorted(path.name for path in out.iterdir()) == ["classes.csv", "picture.svg", "result.json"]
    classes = pl.read_csv(out / "classes.csv", schema_overrides={"value": pl.String})
    assert classes.columns == ["value", "class"]
    assert classes["value"].to_list() == ["05", "04", "03", "02", "01"]
    facts = json.loads((out / "result.json").read_text())
    assert facts.pop("files") == ["classes.csv", "picture.svg", "result.json"]
    assert done.json == facts
    assert (facts["k"], facts["classes"], facts["largest"], facts["lower_bound"]) == (6, 2, 9, 8)
    assert facts["details"]["tree_degree"] == 2


def test_it_says_what_it_made_and_draws_a_map_by_coordinates(shoal, files):
    call = ("group", "regions", files / "edges.csv", "--nodes", files / "nodes.csv", "--count", "people", "-k", 6)
    done = shoal(*call, "--x", "lon", "--y", "lat", "--seed", 1, "-o", files / "out")
    assert done.code == 0, done.err
    assert "2 of 6 to 9 records" in done.out
    assert shoal(*call, "-o", files / "out").code == 2
    assert shoal(*call, "--param", "method=exact", "--force", "--json", "-o", files / "out").json["optimal"]


@pytest.mark.parametrize(
    ("change", "words", "code", "message"),
    [
        ({"edges.csv": EDGES + "05,99\n"}, (), 2, "1 of 5 edges have an unknown node"),
        ({"edges.csv": EDGES + "05,05\n"}, (), 2, "join a node with itself"),
        ({"edges.csv": "a,b,c\n1,2,3\n"}, (), 2, "must have two columns"),
        ({"nodes.csv": NODES.replace("01,3", "01,-3")}, (), 2, "at least 0: 1 of 5"),
        ({"nodes.csv": NODES.replace("01,3", "01,3.5")}, (), 2, "whole numbers: 1 of 5"),
        ({"nodes.csv": NODES.replace("01,3", "01,many")}, (), 2, "must hold numbers: 1 of 5"),
        ({"nodes.csv": NODES.replace("05,3", "01,3")}, (), 2, "occur once"),
        ({}, ("--count", "peple"), 2, "Did you mean 'people'"),
        ({}, ("--x", "lon"), 2, "both coordinates"),
        ({}, ("-k", "16"), 1, "largest k that can be met is 15"),
        ({}, ("-k", "0"), 2, "0 is not in the range x>=1"),
        ({"edges.csv": EDGES.replace("04,05\n", "")}, (), 1, "--param suppress_small=true"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(shoal, files, change, words, code, message):
    for name, text in change.items():
        (files / name).write_text(text)
    call = ("group", "regions", files / "edges.csv", "--nodes", files / "nodes.csv", "-k", 6, "-o", files / "out")
    done = shoal(*call, *words)
    assert (done.code, done.out) == (code, "")
    assert message in done.err.replace("\n", " ")
    assert not (files / "out").exists()


def test_small_components_are_left_out_when_asked(shoal, files):
    (files / "edges.csv").write_text(EDGES.replace("04,05\n", ""))
    call = ("group", "regions", files / "edges.csv", "--nodes", files / "nodes.csv", "-k", 6, "-o", files / "out")
    assert shoal(*call, "--param", "suppress_small=true", "--json").json["items_left_out"] == 1
    assert (files / "out" / "classes.csv").read_text().splitlines()[1] == "05,"


@pytest.mark.drawn
def test_polygons_come_back_dissolved(shoal, tmp_path):
    libpysal = pytest.importorskip("libpysal")
    geopandas = pytest.importorskip("geopandas")
    path = libpysal.examples.get_path("stl_hom.shp")
    call = ("group", "regions", path, "--count", "PO7984", "--column", "FIPS", "-k", 3_000_000, "--seed", 1)
    done = shoal(*call, "-o", tmp_path / "out", "--json")
    assert done.code == 0, done.err
    written = json.loads((tmp_path / "out" / "classes.geojson").read_text())
    assert geopandas.read_file(path).crs is None
    assert "as given" in written["note"], "nobody knows whether these are longitudes and latitudes"
    outlines = geopandas.read_file(tmp_path / "out" / "classes.geojson")
    assert outlines["class"].to_list() == list(range(done.json["classes"]))
    assert outlines["weight"].max() == done.json["largest"]
    assert (outlines.geometry.geom_type == "Polygon").all(), "connected regions have one outline"
    table = tmp_path / "people.csv"
    frame = geopandas.read_file(path)
    table.write_text("FIPS,n\n" + "".join(f"{a},{b}\n" for a, b in zip(frame["FIPS"], frame["PO7984"], strict=True)))
    again = shoal("group", "regions", path, "--nodes", table, "--column", "FIPS", "-k", 3_000_000, "--seed", 1,
                  "-o", tmp_path / "again", "--json")  # fmt: skip
    assert again.json["largest"] == done.json["largest"]
    assert shoal("group", "regions", path, "-k", 3, "-o", tmp_path / "x").code == 2
    assert "no file" in shoal("group", "regions", "nowhere.gpkg", "--count", "n", "-k", 3, "-o", tmp_path / "x").err
