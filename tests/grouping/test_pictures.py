"""Pictures of groupings: maps, rectangles, bars and curves, as SVG and PNG, without a cell of the input."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import numpy as np
import pytest

from shoal.errors import OutputError, ParameterError
from shoal.grouping import labels, ordered, regions
from shoal.grouping.points.rectangles import plot_rectangles
from shoal.grouping.regions.region_pictures import class_colours, lay_out

GRID = [(v, v + 1) for v in range(36) if v % 6 < 5] + [(v, v + 6) for v in range(30)]


@pytest.fixture(scope="module")
def made():
    return regions(GRID, [1] * 36, 5, seed=1)


def elements(svg):
    return [element.tag.rpartition("}")[2] for element in ET.fromstring(svg).iter()]


def test_a_graph_without_coordinates_is_laid_out_with_neighbours_near(made):
    places = lay_out(made.graph.edges, 36)
    near = np.linalg.norm(places[made.graph.edges[:, 0]] - places[made.graph.edges[:, 1]], axis=1)
    assert 0.7 < near.min() <= near.max() < 1.3
    ax = made.plot()
    assert "classes of" in ax.get_title()
    assert len(ax.collections) == 3


def test_neighbouring_classes_have_different_colours(made):
    colours = class_colours(made.graph.edges, made.classes)
    a, b = made.classes[made.graph.edges].T
    assert all(colours[i] != colours[j] for i, j in zip(a, b, strict=True) if i != j)
    assert len(set(colours)) > 3


def test_coordinates_are_used_where_they_are_given():
    places = np.array([(v % 6, v // 6) for v in range(36)], dtype=float)
    ax = regions(GRID, [1] * 36, 5, seed=1, positions=places).plot()
    assert np.array_equal(ax.collections[-1].get_offsets(), places)
    with pytest.raises(ParameterError, match="36 pairs of finite numbers"):
        regions(GRID, [1] * 36, 5, positions=places[:-1])


def test_the_given_axes_are_used(made):
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    assert made.plot(ax) is ax


def test_large_graphs_without_coordinates_become_bars():
    path = regions([(v, v + 1) for v in range(500)], [1] * 501, 50, method="tree")
    assert path.plot().get_xlabel() == "classes, largest first"


@pytest.mark.drawn
def test_files_are_svg_or_png_and_always_the_same(made, tmp_path):
    for name in ("a.svg", "b.svg", "a.png"):
        made.save_picture(tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    assert elements((tmp_path / "a.svg").read_text())[0] == "svg"
    with pytest.raises(OutputError, match=r"\.svg or \.png"):
        made.save_picture(tmp_path / "a.pdf")


def test_the_element_for_a_page_is_one_svg_without_scripts_or_links(made):
    drawn = made.svg()
    assert drawn.startswith("<svg")
    assert not {"script", "image", "a", "metadata"} & set(elements(drawn))


def test_names_of_regions_are_not_written_on_the_map():
    made = regions([("Zion", "Ur"), ("Ur", "Nod")], {"Zion": 4, "Ur": 4, "Nod": 4}, 4, seed=1)
    assert "Zion" not in made.svg()


def test_bars_stand_largest_first_unless_the_values_have_an_order():
    ages = ordered([20] * 3 + [30] * 7 + [40] * 4, 3)
    assert [bar.get_height() for bar in ages.plot().patches] == [3, 7, 4]
    assert "order of their values" in ages.plot().get_xlabel()
    names = labels([3, 7, 4], 3)
    assert [bar.get_height() for bar in names.plot().patches] == [7, 4, 3]
    assert "largest first" in names.plot().get_xlabel()


def test_rectangles_are_shaded_by_weight():
    ax = plot_rectangles([[0, 1, 0, 1], [1, 3, 0, 1]], [5, 10], 5)
    (drawn,) = ax.collections
    assert drawn.get_array().tolist() == [1.0, 2.0]
    assert [path.get_extents().bounds for path in drawn.get_paths()] == [(0, 0, 1, 1), (1, 0, 2, 1)]
    assert "2 rectangles, the largest 2 times k = 5" in ax.get_title()


@pytest.mark.drawn
def test_polygons_are_drawn_as_a_map(made, tmp_path):
    libpysal = pytest.importorskip("libpysal")
    pytest.importorskip("geopandas")
    path = libpysal.examples.get_path("stl_hom.shp")
    drawn = regions(path, "PO7984", 800_000, names="FIPS", seed=1)
    assert drawn.optimal
    assert len(drawn.plot().collections) == 2
    drawn.save_picture(tmp_path / "map.svg")
    assert "path" in elements((tmp_path / "map.svg").read_text())
    outlines = drawn.dissolved()
    assert len(outlines) == len(drawn.weights)
    assert outlines["weight"].to_list() == drawn.weights.tolist()
    with pytest.raises(ParameterError, match="nothing to dissolve"):
        made.dissolved()
