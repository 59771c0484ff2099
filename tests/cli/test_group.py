"""`shoal group labels|ordered|points`: a table in, a folder with classes, facts and a picture out."""

from __future__ import annotations

import json

import polars as pl
import pytest

SECRET = "Zyzzyva"
COUNTS = f"name,n\n{SECRET}1,5\n{SECRET}2,4\n{SECRET}3,3\n{SECRET}4,3\n{SECRET}5,2\n{SECRET}6,1\n"
AGES = "id,age,people\na,20,1\nb,9,2\nc,21,1\nd,21,2\ne,30,1\nf,44,1\n"
POINTS = "lon,lat,n\n0,0,1\n1,9,1\n2,1,2\n3,8,1\n"
PROMISED = {"k", "classes", "largest", "smallest", "lower_bound", "optimal", "overfull_ratio", "method", "seconds"}


@pytest.fixture
def files(tmp_path):
    for name, text in (("counts.csv", COUNTS), ("ages.csv", AGES), ("points.csv", POINTS)):
        (tmp_path / name).write_text(text)
    return tmp_path


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.drawn
def test_labels(shoal, files):
    call = ("group", "labels", files / "counts.csv", "--column", "name", "--count", "n", "-k", 9)
    done = shoal(*call, "-o", files / "out", "--json")
    assert done.code == 0, done.err
    assert names_in(files / "out") == ["classes.csv", "picture.svg", "result.json"]
    facts = json.loads((files / "out" / "result.json").read_text())
    assert facts.pop("files") == ["classes.csv", "picture.svg", "result.json"]
    assert facts == done.json
    assert set(facts) >= PROMISED
    assert (facts["classes"], facts["largest"], facts["optimal"], facts["overfull_ratio"]) == (2, 9, True, 1.0)
    assert SECRET not in done.out
    classes = pl.read_csv(files / "out" / "classes.csv")
    assert classes.columns == ["value", "class"]
    assert classes["value"].to_list() == [f"{SECRET}{number}" for number in range(1, 7)]
    joined = classes.join(pl.read_csv(files / "counts.csv"), left_on="value", right_on="name")
    assert joined.group_by("class").agg(pl.col("n").sum())["n"].to_list() == [9, 9]
    assert shoal(*call, "-o", files / "out").code == 2, "an existing folder is kept"
    again = shoal(
        *call, "-o", files / "out", "--force", "--param", "method=fold", "--param", "order=random", "--seed", 3
    )
    assert again.code == 0, again.err
    assert "Theorem 7" in again.out
    relaxed = shoal(*call[:-1], 10, "-o", files / "relaxed", "--param", "method=relaxed", "--param", "eps=1/2")
    assert relaxed.code == 0, relaxed.err
    assert "not k-anonymity" in " ".join(relaxed.out.split())


@pytest.mark.drawn
def test_the_order_of_the_lines_changes_nothing(shoal, files):
    head, *lines = COUNTS.splitlines()
    (files / "back.csv").write_text("\n".join([head, *lines[::-1]]) + "\n")
    for name in ("counts", "back"):
        assert shoal("group", "labels", files / f"{name}.csv", "-k", 6, "--seed", 1, "-o", files / name).code == 0
    assert (files / "counts" / "classes.csv").read_text() == (files / "back" / "classes.csv").read_text()


@pytest.mark.drawn
def test_ordered(shoal, files):
    out = files / "out"
    done = shoal("group", "ordered", files / "ages.csv", "--column", "age", "-k", 2, "-o", out, "--json")
    assert done.code == 0, done.err
    assert names_in(out) == ["classes.csv", "intervals.csv", "picture.svg", "result.json"]
    assert set(done.json) >= PROMISED
    assert (out / "classes.csv").read_text() == "value,class\n9,0\n20,0\n21,1\n30,2\n44,2\n"
    assert (out / "intervals.csv").read_text() == "class,lowest,highest,weight\n0,9,20,2\n1,21,21,2\n2,30,44,2\n"
    counted = ("--column", "age", "--count", "people", "-k", 4, "--force", "--json")
    done = shoal("group", "ordered", files / "ages.csv", *counted, "-o", out)
    assert (done.json["records"], done.json["largest"], done.json["optimal"]) == (8, 8, True)


@pytest.mark.drawn
def test_points(shoal, files):
    out = files / "out"
    done = shoal("group", "points", files / "points.csv", "--x", "lon", "--y", "lat", "-k", 2, "-o", out, "--json")
    assert done.code == 0, done.err
    assert names_in(out) == ["classes.csv", "picture.svg", "rectangles.csv", "rectangles.geojson", "result.json"]
    assert set(done.json) >= PROMISED
    assert done.json["details"]["geographic"] is True
    assert (out / "classes.csv").read_text() == "row,class\n0,0\n1,1\n2,0\n3,1\n"
    rectangles = "class,x_min,x_max,y_min,y_max,weight\n0,0.0,2.0,0.0,1.0,2\n1,1.0,3.0,8.0,9.0,2\n"
    assert (out / "rectangles.csv").read_text() == rectangles
    assert len(json.loads((out / "rectangles.geojson").read_text())["features"]) == 2
    weighed = ("--x", "lon", "--y", "lat", "--count", "n", "-k", 2, "--param", "method=median", "--force", "--json")
    assert shoal("group", "points", files / "points.csv", *weighed, "-o", out).json["records"] == 5


def test_it_is_said_in_a_few_lines(shoal, files):
    done = shoal("group", "labels", files / "counts.csv", "-k", 9, "-o", files / "out")
    said = " ".join(done.out.split())
    assert "2 of 9 to 9 records" in said
    assert "1 times k; the smallest possible" in said
    assert SECRET not in done.out + done.err


@pytest.mark.drawn
@pytest.mark.parametrize(
    ("command", "change", "words", "code", "message"),
    [
        ("labels", (",1\n", ",0\n"), ("-k", 2), 2, "sizes of labels must be at least 1: 1 of 6"),
        ("labels", (",1\n", ",-1\n"), ("-k", 2), 2, "at least 1"),
        ("labels", (",1\n", f",{SECRET}\n"), ("-k", 2), 2, "'n' must hold whole numbers: 1 of 6 cells"),
        ("labels", (",1\n", ",\n"), ("-k", 2), 2, "whole numbers: 1 of 6"),
        ("labels", (f"{SECRET}6", f"{SECRET}1"), ("-k", 2), 2, "0 are missing and 1 repeated"),
        ("labels", None, ("-k", 19), 1, "largest k that can be met is 18"),
        ("labels", None, ("-k", 0), 2, "0 is not in the range x>=1"),
        ("labels", None, ("-k", 2, "--column", "nam"), 2, "Did you mean 'name'"),
        ("labels", None, ("-k", 2, "--param", "method=x"), 2, "must be one of 'best'"),
        ("labels", None, ("-k", 2, "--param", "eps=none"), 2, "not a number"),
        ("ordered", None, ("--column", "id", "-k", 2), 2, "have no order"),
        ("ordered", None, ("--column", "ages", "-k", 2), 2, "Did you mean 'age'"),
        ("ordered", ("44", ""), ("--column", "age", "-k", 2), 2, "1 of the 6 values of ordered are missing"),
        ("ordered", None, ("--column", "age", "-k", 9), 1, "largest k that can be met is 6"),
        ("points", None, ("--x", "lat", "--y", "lon", "-k", 2), 2, "swapped"),
        ("points", ("3,8", "200,98"), ("--x", "lon", "--y", "lat", "-k", 2), 2, "no longitude"),
        ("points", ("3,8", "3,-122"), ("--x", "lon", "--y", "lat", "-k", 2), 2, "look swapped"),
        (
            "points",
            ("3,8", "3,nan"),
            ("--x", "lon", "--y", "lat", "-k", 2),
            2,
            "must hold numbers: 1 of 4 cells do not",
        ),
        ("points", ("3,8", f"3,{SECRET}"), ("--x", "lon", "--y", "lat", "-k", 2), 2, "must hold numbers: 1 of 4"),
        ("points", None, ("--x", "lon", "--y", "lat", "-k", 5), 1, "largest k that can be met is 4"),
    ],
)
def test_bad_input_is_said_and_nothing_is_written(shoal, files, command, change, words, code, message):
    source = files / {"labels": "counts.csv", "ordered": "ages.csv", "points": "points.csv"}[command]
    if change is not None:
        source.write_text(source.read_text().replace(*change, 1))
    done = shoal("group", command, source, *words, "-o", files / "out", "--json")
    assert done.code == code, done.err
    assert message in " ".join(done.json["error"].split())
    assert SECRET not in done.out + done.err
    assert not (files / "out").exists()
