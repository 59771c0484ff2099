"""Regions as a coarsening of a column, up to a release with a map in its report."""

from __future__ import annotations

import polars as pl
import pytest

import shoal
from shoal.errors import ColumnError, DataError, InfeasibleError, ParameterError
from shoal.grouping import Regions

PATH = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")]


def column(text, name="place"):
    return pl.Series(name, list(text))


def coarser(coarsening, series):
    return coarsening.apply((series,))[0]


def test_places_become_the_sets_of_their_classes():
    made = coarser(Regions(PATH, k=3), column("aabccddee"))
    assert made.name == "place"
    assert made.to_list() == ["{a, b, c}"] * 5 + ["{d, e}"] * 4
    assert Regions(PATH, k=3, labels="numbers").apply((column("aabccddee"),))[0][0] == "region 1"


def test_the_order_of_the_rows_changes_nothing_and_missing_stays_missing():
    rows = [*"aabccddee", None, None]
    there = dict(zip(rows, coarser(Regions(PATH, k=3), pl.Series("p", rows)), strict=True))
    back = dict(zip(rows[::-1], coarser(Regions(PATH, k=3), pl.Series("p", rows[::-1])), strict=True))
    assert there == back
    assert there[None] is None


def test_a_place_without_a_row_connects_and_is_named_like_any_other():
    made = coarser(Regions(PATH, k=4), column("aaee"))
    assert set(made) == {"{a, b, c, d, e}"}


def test_numbers_and_categories_are_places_too():
    by_number = coarser(Regions([(1, 2), (2, 3)], k=2), pl.Series("p", [1, 2, 3, 3]))
    assert by_number.to_list() == ["{1, 2}", "{1, 2}", "3", "3"]
    categories = column("aabb").cast(pl.Categorical)
    assert (
        coarser(Regions(PATH, k=2), categories).to_list()[:2]
        == coarser(Regions(PATH, k=2), column("aabb"))[:2].to_list()
    )


def test_large_classes_are_numbered():
    edges = [(v, v + 1) for v in range(300)]
    made = coarser(Regions(edges, k=4), pl.Series("p", [0, 0, 299, 299]))
    assert set(made) == {"region 1"}


def test_places_that_read_like_sets_are_quoted_and_never_taken_for_classes():
    made = coarser(Regions([("a, b", "c")], k=2), pl.Series("p", ["a, b", "c"]))
    assert made[0] == '{"a, b", c}'
    with pytest.raises(DataError, match="called like one of the classes"):
        coarser(Regions([("region 1", "c")], k=2, labels="numbers"), pl.Series("p", ["c", "region 1"]))


def test_unknown_places_are_counted_and_not_shown():
    with pytest.raises(DataError, match=r"1 value\(s\) in 2 row\(s\)") as caught:
        coarser(Regions(PATH, k=2), column("aabbqq"))
    assert "q" not in str(caught.value).replace("quasi", "")
    with pytest.raises(DataError, match="text or whole numbers"):
        coarser(Regions(PATH, k=2), pl.Series("p", [1.5]))


def test_small_components():
    edges = [*PATH, ("x", "y"), ("z", "w")]
    assert set(coarser(Regions(edges, k=2), column("aabb"))) == {"a", "{b, c, d, e}"}
    with pytest.raises(InfeasibleError, match="2 of 3 components"):
        coarser(Regions(edges, k=2), column("aabbx"))
    made = coarser(Regions(edges, k=2, suppress_small=True), column("aabbx"))
    assert made.to_list()[-1] == "elsewhere"


@pytest.mark.parametrize(
    "wrong", [{"k": 0}, {"k": 2, "labels": "names"}, {"k": 2, "seed": None}, {"k": 2, "method": "x"}]
)
def test_wrong_parameters_are_refused_at_once(wrong):
    with pytest.raises(ParameterError):
        Regions(PATH, **wrong)


def test_it_shows_no_place():
    coarsening = Regions([("Zion", "Ur")], k=2)
    assert "Zion" not in repr(coarsening) + str(coarsening.to_dict())
    assert coarsening.to_dict()["coarsening"] == "regions"


@pytest.mark.drawn
def test_a_release_of_a_table_by_region(tmp_path):
    libpysal = pytest.importorskip("libpysal")
    pytest.importorskip("geopandas")
    import geopandas

    polygons = geopandas.read_file(libpysal.examples.get_path("sids2.shp"))
    births = dict(zip(polygons["FIPS"], (polygons["BIR74"] // 100).astype(int), strict=True))
    table = pl.DataFrame({"county": [fips for fips, count in births.items() for _ in range(count)]})
    table = table.with_columns(age=pl.int_range(pl.len()) % 3, disease=pl.int_range(pl.len()) % 7)
    release = shoal.anonymize(
        table,
        quasi_identifiers=["county", "age"],
        sensitive="disease",
        privacy=shoal.KAnonymity(25),
        coarsen={"county": Regions(polygons, names="FIPS", k=100)},
        seed=1,
    )
    facts = release.certificate.parameters["coarsen"]["county"]
    assert facts["largest"] == facts["lower_bound"] == max(births.values())
    assert facts["optimal"]
    counties = set(release.data["county"]) - {"*"}
    assert all(value.startswith(("{37", "37")) for value in counties)
    assert 10 < len(counties) <= facts["classes"]
    release.save(tmp_path / "out")
    page = (tmp_path / "out.private" / "report.html").read_text()
    assert page.count("<svg") == 1
    assert "Coarsened before: county" in page
    assert "37001" not in page


def test_published_columns_alone_are_coarsened():
    table = pl.DataFrame({"place": list("abcd"), "x": [1, 2, 1, 2]})
    request = {"quasi_identifiers": ["x"], "privacy": shoal.KAnonymity(2), "coarsen": {"place": Regions(PATH, k=2)}}
    with pytest.raises(ColumnError, match="place"):
        shoal.anonymize(table, **request, direct_identifiers=["place"])
    release = shoal.anonymize(table, **request, insensitive=["place"], keep_order=True)
    shown = release.data["place"].to_list()
    assert shown[0] == shown[1] != shown[2] == shown[3], "PATH connects a and b, and c and d"


def test_what_types_declare_is_in_no_message() -> None:
    """Categories and the fields of structures may be made of cells."""
    from shoal.errors import DataError

    for kind, cells in (
        (pl.List(pl.Enum(["Zyzzyva", "b"])), [["b"]] * 4),
        (pl.Struct({"Zyzzyva": pl.String}), [None] * 4),
    ):
        with pytest.raises(DataError, match="takes places as text") as found:
            Regions([("a", "b")], k=2).apply((pl.Series("place", cells, dtype=kind),))
        assert "Zyzzyva" not in str(found.value)
