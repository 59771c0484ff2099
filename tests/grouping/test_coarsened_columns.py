"""Labels, ordered values and points as coarsenings, up to a release that is read back and audited."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest
from tests.every import every

import shoal
from shoal.errors import DataError, InfeasibleError, ParameterError
from shoal.grouping import Labels, Ordered, Points


def coarser(coarsening, *columns):
    made = coarsening.apply(columns)
    assert [(one.name, len(one)) for one in made] == [(one.name, len(one)) for one in columns]
    return made[0].to_list() if len(made) == 1 else [one.to_list() for one in made]


DISEASES = pl.Series("disease", ["flu"] * 3 + ["gout", "mumps", None, "mumps, mild"])


def test_labels_become_sets_and_a_single_label_stays():
    found = coarser(Labels(k=3), DISEASES)
    assert found == ["flu"] * 3 + ['{gout, mumps, "mumps, mild"}'] * 2 + [None, '{gout, mumps, "mumps, mild"}']
    assert set(coarser(Labels(k=3, labels="numbers"), DISEASES)) == {"class 1", "class 2", None}


def test_large_classes_are_numbered():
    many = pl.Series("name", [f"name {number}" for number in range(600)])
    assert set(coarser(Labels(k=300), many)) == {"class 1", "class 2"}
    assert "{" in coarser(Labels(k=200), many)[0]


@pytest.mark.drawn
@pytest.mark.parametrize(
    ("coarsening", "columns"),
    [
        (Labels(k=3), (DISEASES,)),
        (Ordered(k=3), (pl.Series("age", [5, 1, None, 9, 9, 7, 1, 4, 30]),)),
        (Points(k=2), (pl.Series("x", [1.5, 2, 3, 3, None]), pl.Series("y", [1, 2, 1, 5, None]))),
    ],
)
def test_the_order_of_rows_changes_nothing(coarsening, columns):
    shuffled = np.random.default_rng(1).permutation(len(columns[0]))
    before = coarsening.apply(columns)
    after = coarsening.apply(tuple(one.gather(shuffled) for one in columns))
    for one, other in zip(before, after, strict=True):
        assert one.gather(shuffled).to_list() == other.to_list()
        assert one.is_null().to_list() == columns[0].is_null().to_list()
    facts = coarsening.coarsen(columns)
    assert facts.facts["smallest"] >= coarsening.k
    assert facts.picture().startswith("<svg")


def test_ordered_values_become_intervals_in_their_order():
    ages = pl.Series("age", ["9", "10", "11", "30", "30", "30", "44", "45", "45", None])
    (made,) = Ordered(k=3).apply((ages,))
    assert made.to_list() == ["[9, 11]"] * 3 + ["30"] * 3 + ["[44, 45]"] * 3 + [None]
    assert made.dtype == pl.Enum(["[9, 11]", "30", "[44, 45]"])
    dates = pl.Series("day", [dt.date(2021, 1, day) for day in (1, 2, 3, 4)])
    assert coarser(Ordered(k=2), dates)[0] == "[2021-01-01, 2021-01-02]"
    grades = pl.Series("grade", ["low", "high", "low", "mid"], dtype=pl.Enum(["low", "mid", "high"]))
    assert coarser(Ordered(k=2), grades) == ["low", "[mid, high]", "low", "[mid, high]"]


def test_points_become_the_sides_of_rectangles():
    x, y = pl.Series("lon", [0.0, 1, 2, 3, None]), pl.Series("lat", [0.0, 9, 0, 8, None])
    assert coarser(Points(k=2), x, y) == [
        ["[0.0, 2.0]", "[1.0, 3.0]", "[0.0, 2.0]", "[1.0, 3.0]", None],
        ["0.0", "[8.0, 9.0]", "0.0", "[8.0, 9.0]", None],
    ]
    text = (pl.Series("x", ["1", "2.50", "10", "11"]), pl.Series("y", ["1", "1", "1", "1"]))
    assert coarser(Points(k=2), *text) == [["[1, 2.50]"] * 2 + ["[10, 11]"] * 2, ["1"] * 4]


@every(
    ("coarsening", "columns", "error", "message"),
    [
        (Labels(k=9), (DISEASES,), InfeasibleError, "only 6 in all"),
        (Labels(k=1), (pl.Series("a", [None, None], dtype=pl.String),), DataError, "needs a column with a value"),
        (Labels(k=2), (pl.Series("a", ["x", "y", "{x, y}", "{x, y}"]),), DataError, "reads like one of the classes"),
        (Ordered(k=1), (DISEASES,), DataError, "have no order"),
        (Points(k=1), (DISEASES, DISEASES), DataError, "needs numbers"),
        (Points(k=1), (pl.Series("x", [1, None]), pl.Series("y", [1, 2])), DataError, "1 of 2 rows have one coord"),
        (Points(k=1), (pl.Series("lat", [1]), pl.Series("lon", [1])), DataError, "'lat' and 'lon' are swapped"),
        (Points(k=1), (pl.Series("lon", [47.0]), pl.Series("lat", [-122.0])), DataError, "look swapped"),
        (Points(k=1), (pl.Series("x", [dt.date(2021, 1, 1)]), pl.Series("y", [1])), DataError, "needs numbers"),
        (Points(k=1), (pl.Series("x", ["2021-01-01"]), pl.Series("y", [1])), DataError, "dates are none"),
    ],
)
def test_what_cannot_be_coarsened(coarsening, columns, error, message):
    with pytest.raises(error, match=message) as caught:
        coarsening.apply(columns)
    assert "mumps" not in str(caught.value)


def test_bad_parameters():
    for make in (Labels, Ordered, Points):
        with pytest.raises(ParameterError, match=f"'k' parameter of {make.__name__} must be an int >= 1"):
            make(k=0)
    with pytest.raises(ParameterError, match="'labels' parameter of Labels"):
        Labels(k=1, labels="both")
    with pytest.raises(ParameterError, match="'geographic' parameter of Points"):
        Points(k=1, geographic="yes")


@every("recoding", ["suppression", "generalization"], drawn=True)
def test_a_release_of_coarsened_columns_is_read_back_and_holds(recoding, tmp_path):
    rng = np.random.default_rng(3)
    rows = 600
    table = pl.DataFrame(
        {
            "name": rng.choice(
                ["ann", "bob", "eve", "joe", "liz", "may, jr", "pat"], rows, p=[0.4, 0.3, 0.1, 0.1, 0.05, 0.03, 0.02]
            ),
            "age": rng.integers(18, 80, rows),
            "lon": np.round(rng.normal(size=rows), 2),
            "lat": np.round(rng.normal(size=rows), 2),
            "disease": rng.choice(["flu", "gout", "mumps"], rows),
        }
    )
    roles = {"quasi_identifiers": ["name", "age", "lon", "lat"], "sensitive": "disease"}
    coarsen = {"name": Labels(k=60), "age": Ordered(k=100), ("lon", "lat"): Points(k=120)}
    release = shoal.anonymize(
        table, **roles, privacy=shoal.KAnonymity(5), coarsen=coarsen, recoding=recoding, seed=1, algorithm="mondrian"
    )
    said = release.certificate.parameters["coarsen"]
    assert set(said) == {"name", "age", "lon,lat"}
    assert said["age"]["coarsening"] == "ordered"
    assert said["lon,lat"]["largest"] >= said["lon,lat"]["smallest"] >= 120
    release.save(tmp_path / "out")
    audited = shoal.audit(tmp_path / "out" / "release.csv", **roles, privacy=[shoal.KAnonymity(5)])
    assert audited.to_dict()["violations"] == []
    assert audited.to_dict()["achieved"]["k"] >= 5
    written = (tmp_path / "out" / "release.csv").read_text()
    assert '"[' in written
    assert "<svg" in (tmp_path / "out.private" / "report.html").read_text()
    alone = shoal.anonymize(
        table.drop("name", "age"),
        quasi_identifiers=["lon", "lat"],
        sensitive="disease",
        privacy=shoal.KAnonymity(120),
        coarsen={("lon", "lat"): Points(k=120)},
        seed=1,
    )
    assert alone.certificate.cost.stars == 0, "rectangles of 120 records need no star for k = 120"
