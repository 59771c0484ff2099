"""Points: disjoint rectangles, Theorem 4 with every possibility tried as the judge, degenerate inputs."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.every import every
from tests.oracles.grouping import smallest_largest_rectangle

from shoal.errors import DataError, InfeasibleError, InternalError, ParameterError
from shoal.grouping import check_grouping, check_rectangles, points
from shoal.grouping.points import kd_tree_kernel as kernels

METHODS = ("best", "even", "median")


def uncuttable(xy: np.ndarray, weights: np.ndarray, k: int) -> bool:
    """Tell by trying every line whether points cannot be cut into two sides of k each."""
    for axis in (0, 1):
        for at in np.unique(xy[:, axis]):
            side = xy[:, axis] <= at
            if weights[side].sum() >= k and weights[~side].sum() >= k:
                return False
    return True


def check_all(found, xy, weights, k):
    check_grouping(found, weights)
    check_rectangles(xy, found.classes, found.rectangles)
    places = np.unique(xy, axis=0, return_inverse=True)[1].ravel()
    heaviest = np.bincount(places, weights=weights).max()
    # Theorem 4: 5 k - 4 where no place has more than k.
    assert found.cost <= 4 * (k - 1) + max(k, heaviest) <= 5 * max(k, heaviest)
    assert found.guarantee.largest == 4 * (k - 1) + max(k, heaviest)
    assert found.lower_bound >= heaviest
    for c in range(len(found.weights)):
        mine = found.classes == c
        inside = xy[mine]
        box = [inside[:, 0].min(), inside[:, 0].max(), inside[:, 1].min(), inside[:, 1].max()]
        assert found.rectangles[c].tolist() == box, "the smallest rectangle around its points"
        assert uncuttable(inside, weights[mine], k), "nothing that can be cut is left"


def test_small_sets_of_points_with_every_grouping_as_the_judge():
    choose = random.Random(3)
    for _ in range(150):
        count, side = choose.randint(1, 6), choose.choice([2, 3, 10])
        xy = np.array([[choose.randrange(side), choose.randrange(side)] for _ in range(count)], dtype=float)
        weights = np.array([choose.choice([1, 1, 2, 5]) for _ in range(count)])
        k = choose.randint(1, int(weights.sum()))
        best = smallest_largest_rectangle([tuple(p) for p in xy.tolist()], weights.tolist(), k)
        assert best is not None
        for method in METHODS:
            found = points(xy, k, multiplicity=weights, method=method)
            check_all(found, xy, weights, k)
            assert found.lower_bound <= best <= found.cost <= 5 * best


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_what_is_true_of_every_set_of_points(data):
    side = data.draw(st.sampled_from([2, 5, 30, 1000]))
    coordinate = st.integers(-side, side)
    xy = np.array(data.draw(st.lists(st.tuples(coordinate, coordinate), min_size=1, max_size=120)), dtype=float)
    weights = np.array(data.draw(st.lists(st.integers(1, 4), min_size=len(xy), max_size=len(xy))))
    k = data.draw(st.integers(1, int(weights.sum())))
    method = data.draw(st.sampled_from(METHODS))
    found = points(xy, k, multiplicity=weights, method=method)
    check_all(found, xy, weights, k)
    order = np.array(data.draw(st.permutations(range(len(xy)))))
    again = points(xy[order], k, multiplicity=weights[order], method=method)
    assert np.array_equal(again.classes, found.classes[order]), "the order of the input changes nothing"
    # A point of multiplicity w is w points.
    apart = points(np.repeat(xy, weights, axis=0), k, method=method)
    assert np.array_equal(apart.classes, np.repeat(found.classes, weights))


@pytest.mark.parametrize("k", [2, 7, 50])
def test_the_degenerate_case_of_section_3_2(k):
    """Four points of multiplicity k - 1 in the north, south, east and west of a point of multiplicity k."""
    xy = np.array([[0, 1], [0, -1], [1, 0], [-1, 0], [0, 0]], dtype=float)
    for method in METHODS:
        found = points(xy, k, multiplicity=[k - 1, k - 1, k - 1, k - 1, k], method=method)
        assert found.cost == 5 * k - 4
        assert found.weights.tolist() == [5 * k - 4]


@pytest.mark.drawn
@pytest.mark.parametrize(("count", "k"), [(1000, 1), (1000, 7), (5003, 50), (20_000, 333)])
def test_without_equal_coordinates_the_result_is_optimal(count, k):
    rng = np.random.default_rng(count)
    xy = np.stack([rng.permutation(count), rng.permutation(count)], axis=1).astype(float)
    found = points(xy, k)
    check_all(found, xy, np.ones(count, dtype=np.int64), k)
    assert found.optimal
    assert found.cost == -(-count // (count // k))
    assert points(xy, k, method="median").cost < 2 * k


def test_rounded_coordinates():
    xy = np.round(np.random.default_rng(1).normal(size=(20_000, 2)), 1)
    costs = {method: points(xy, 40, method=method).cost for method in METHODS}
    assert costs["best"] <= min(costs["even"], costs["median"])
    check_all(points(xy, 40), xy, np.ones(len(xy), dtype=np.int64), 40)


@pytest.mark.drawn
def test_the_deaths_of_the_cholera_of_1854():
    geopandas = pytest.importorskip("geopandas")
    examples = pytest.importorskip("libpysal.examples")
    deaths = geopandas.read_file(examples.get_path("SohoPeople.shp")).query("Count > 0")
    xy = np.stack([deaths.geometry.x, deaths.geometry.y], axis=1)
    weights = deaths["Count"].to_numpy().astype(np.int64)
    found = points(xy, 25, multiplicity=weights)
    check_all(found, xy, weights, 25)
    assert (len(found.weights), found.cost, found.lower_bound) == (12, 37, 27)


@every(
    "xy",
    [
        np.zeros((50, 2)),
        np.stack([np.zeros(50), np.arange(50)], axis=1),
        np.stack([np.arange(50), np.arange(50)], axis=1)[::-1],
        np.stack([np.arange(50) % 2, np.arange(50) % 3], axis=1),
        np.array([[-0.0, 0.0], [0.0, -0.0]] * 25),
        np.full((50, 2), 1e308),
    ],
)
def test_degenerate_sets(xy):
    for k in (1, 2, 9, 25, 26, 50):
        check_all(points(xy, k), np.asarray(xy, dtype=float) + 0.0, np.ones(50, dtype=np.int64), k)


def test_rectangles_for_others(tmp_path):
    found = points([[0, 0], [1, 9], [2, 1], [3, 8]], 2)
    assert found.to_frame().columns == ["class", "x_min", "x_max", "y_min", "y_max", "weight"]
    assert found.rectangle_of[2].tolist() == [0, 2, 0, 1]
    found.write_geojson(tmp_path / "rectangles.geojson")
    written = json.loads((tmp_path / "rectangles.geojson").read_text())
    assert written["type"] == "FeatureCollection"
    assert "as given" in written["note"]
    assert found.to_dict()["details"]["coordinates"] in written["note"]
    degrees = points([[0, 0], [1, 9], [2, 1], [3, 8]], 2, geographic=True)
    assert set(degrees.to_geojson()) == {"type", "features"}
    assert "WGS 84" in degrees.to_dict()["details"]["coordinates"]
    first = written["features"][0]
    assert first["properties"] == {"class": 0, "weight": 2}
    assert first["geometry"] == {"type": "Polygon", "coordinates": [[[0, 0], [2, 0], [2, 1], [0, 1], [0, 0]]]}


def test_the_check_finds_what_is_wrong():
    xy = np.array([[0, 0], [4, 4], [2, 2], [6, 6]], dtype=float)
    crossing = np.array([[0, 4, 0, 4], [2, 6, 2, 6]], dtype=float)
    with pytest.raises(InternalError, match="share a point"):
        check_rectangles(xy, np.array([0, 0, 1, 1], dtype=np.int32), crossing)
    with pytest.raises(InternalError, match="outside"):
        check_rectangles(xy, np.array([0, 0, 1, 0], dtype=np.int32), crossing)
    touching = np.array([[0, 4, 0, 4], [4, 6, 4, 6]], dtype=float)
    with pytest.raises(InternalError, match="share a point"):
        check_rectangles(xy[:1], np.array([0], dtype=np.int32), touching)


def test_the_sweep_agrees_with_every_pair():
    rng = np.random.default_rng(7)
    answers = set()
    for _ in range(200):
        low = rng.integers(0, 12, (4, 2))
        high = low + rng.integers(0, 5, (4, 2))
        boxes = np.stack([low[:, 0], high[:, 0], low[:, 1], high[:, 1]], axis=1).astype(float)
        share = any((low[a] <= high[b]).all() and (low[b] <= high[a]).all() for a in range(4) for b in range(a))
        answers.add(share)
        arguments = (low.astype(float), np.arange(4, dtype=np.int32), boxes)
        if share:
            with pytest.raises(InternalError):
                check_rectangles(*arguments)
        else:
            check_rectangles(*arguments)
    assert answers == {True, False}


def test_the_kernels_are_the_same_in_plain_python(monkeypatch):
    rng = np.random.default_rng(5)
    x, y = rng.integers(0, 40, (2, 150)).astype(float)

    def run(function):
        room = np.empty(150, dtype=np.int32), np.empty((30, 4)), np.empty(30, dtype=np.int64)
        found = function(
            x.copy(), y.copy(), np.arange(150, dtype=np.int32), np.empty(0, dtype=np.int64), 150, 5, 6, *room
        )
        return found, room[0].tolist(), room[1][: found[0]].tolist(), room[2][: found[0]].tolist()

    compiled = run(kernels.cut_rectangles)
    for name in ("_swap", "_pivot", "select", "_extent", "_target", "_cut", "_place"):
        monkeypatch.setattr(kernels, name, getattr(kernels, name).py_func)
    assert run(kernels.cut_rectangles.py_func) == compiled


def test_selection_puts_equal_values_together():
    rng = np.random.default_rng(6)
    for weighted in (False, True):
        for _ in range(60):
            n = int(rng.integers(1, 400))
            a = rng.integers(0, rng.choice([3, 30, 3000]), n).astype(float)
            weight = rng.integers(1, 5, n) if weighted else np.empty(0, dtype=np.int64)
            each = weight if weighted else np.ones(n, dtype=np.int64)
            target = int(rng.integers(0, each.sum()))
            b, index, moved = a * 2, np.arange(n, dtype=np.int32), a.copy()
            total = int(each.sum())
            v, lt, gt, below, above = kernels.select(
                moved, b, index, weight.copy(), weighted, 0, n, total, target, np.array([1])
            )
            assert (moved[:lt] < v).all()
            assert (moved[lt:gt] == v).all()
            assert (moved[gt:] > v).all()
            assert (below, above) == (each[a < v].sum(), each[a > v].sum())
            assert below <= target < total - above
            assert np.array_equal(a[index], moved)
            assert np.array_equal(b, 2 * moved)


@every(
    ("xy", "k", "options", "error", "message"),
    [
        ([[0, 0], [np.nan, 1]], 1, {}, DataError, "1 of 2 points have a coordinate that is missing or infinite"),
        ([[0, 0], [np.inf, 1], [-np.inf, 2]], 1, {}, DataError, "2 of 3 points"),
        ([[0, 0, 0]], 1, {}, DataError, "two columns"),
        ([0, 1], 1, {}, DataError, "two columns"),
        ([["a", "b"]], 1, {}, DataError, "two columns"),
        (np.empty((0, 2)), 1, {}, DataError, "nothing to group"),
        ([[0, 0]], 2, {}, InfeasibleError, "The largest k that can be met is 1"),
        ([[0, 0]], 0, {}, ParameterError, "'k' parameter of points"),
        ([[0, 0]], 1, {"method": "none"}, ParameterError, "'method' parameter of points"),
        ([[0, 0]], 1, {"geographic": 1}, ParameterError, "'geographic' parameter of points"),
        ([[0, 0]], 1, {"multiplicity": [0]}, DataError, "at least 1"),
        ([[0, 0]], 1, {"multiplicity": [1, 1]}, DataError, "one for each point. Got 2 for 1"),
        ([[47.1, -122.3], [40.7, -74.0]], 1, {"geographic": True}, DataError, "look swapped"),
        ([[200.0, 10.0], [0, 0]], 1, {"geographic": True}, DataError, "1 of 2 points are no longitude"),
        ([[500_000.0, 4_000_000.0]], 1, {"geographic": True}, DataError, "projected coordinates"),
    ],
)
def test_bad_input(xy, k, options, error, message):
    with pytest.raises(error, match=message):
        points(xy, k, **options)


def test_degrees_are_taken_where_they_are_in_range():
    assert points([[-122.3, 47.1], [-74.0, 40.7]], 2, geographic=True).cost == 2
