"""Coarsenings in words: on the command line, in specs, and what is no coarsening."""

from __future__ import annotations

import csv
import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.every import every

from shoal import Bins, BottomCode, DatePart, Level, Prefix, Round, TopCode
from shoal.errors import ShoalError
from shoal.grouping import Labels, Ordered, Points
from shoal.hierarchy import ThreeDigitZip
from shoal.request.coarsening_words import coarsenings_of
from shoal.request.texts import KINDS, columns_and_words

ROLES = ("--qi", "age,gender,zip", "--sensitive", "disease", "--id", "name", "--insensitive", "visit_id")


@every(
    ("words", "expected"),
    [
        ("prefix:3", Prefix(3)),
        ("bins:10", Bins(10)),
        ("bins:1/4", Bins(Fraction(1, 4))),
        ("cuts:18,30.5,65", Bins(cuts=[18, 30.5, 65])),
        ("quantiles:4", Bins(quantiles=4)),
        ("date:quarter", DatePart("quarter")),
        ("date:decade", DatePart("decade")),
        ("date:20years", DatePart("20years")),
        ("round:5", Round(5)),
        ("top:90", TopCode(90)),
        ("bottom:-3", BottomCode(-3)),
        ("labels:50", Labels(k=50)),
        ("ordered:50", Ordered(k=50)),
        ("points:50", Points(k=50)),
        ("zip3", ThreeDigitZip()),
    ],
)
def test_every_kind_has_words(words: str, expected: Any) -> None:
    assert coarsenings_of({"a": words}) == {"a": expected}


def test_columns_that_belong_together_and_a_level_of_a_file(tmp_path: Path) -> None:
    assert list(coarsenings_of({"lon,lat": "points:3", '"last, first"': "prefix:1"})) == [("lon", "lat"), "last, first"]
    tree = tmp_path / "tree:1.csv"
    tree.write_text("a;x;*\nb;x;*\n")
    made = coarsenings_of({"a": f"level:{tree}:1"})["a"]
    assert isinstance(made, Level)
    assert made.to_dict() == {"coarsening": "level", "level": 1, "height": 2}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("prefixes:3", "'prefixes' is not a coarsening"),
        ("prefix", "has the form prefix:3"),
        ("prefix:", "has the form prefix:3"),
        ("zip3:4", "has the form zip3"),
        ("prefix:0", "Its n must be a whole number >= 1. Got 0."),
        ("prefix:x", "'x' is not a number"),
        ("cuts:3,2", "must ascend. Got 2 after 3"),
        ("date:week", "one of 'year', 'quarter', 'month'"),
        ("date:1years", "'decade', '5years'. Got '1years'"),
        ("level:2", "has the form level:FILE:2"),
        ("level:none.csv:2", "cannot be read"),
        ("regions:2", "has the form regions:EDGES.csv:50"),
        ("regions:none.csv:2", "There is no file 'none.csv'"),
    ],
)
def test_what_is_no_coarsening(shoal: Any, patients: Path, words: str, message: str) -> None:
    found = shoal("anonymize", patients, *ROLES, "-k", 2, "--coarsen", f"zip={words}", "-o", patients.parent / "out")
    assert found.code == 2
    assert message in re.sub(r"\s+", " ", found.err)


@pytest.mark.parametrize("given", [["zip"], ["=prefix:3"], ["zip="], ["zip=prefix:3", "zip=bins:10"]])
def test_a_column_and_what_to_do(given: list[str]) -> None:
    with pytest.raises(ShoalError, match="--coarsen"):
        columns_and_words("--coarsen", given)


def test_a_release_and_its_certificate(shoal: Any, patients: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    flags = ("--coarsen", "zip=prefix:3", "--coarsen", "age=bins:20", "-k", 10, "--json", "-o", out)
    found = shoal("anonymize", patients, *ROLES, *flags)
    assert found.code == 0, found.err
    assert found.json["parameters"]["coarsen"] == {
        "zip": {"coarsening": "prefix", "n": 3},
        "age": {"coarsening": "bins", "width": 20, "start": 0},
    }
    rows = list(csv.DictReader((out / "release.csv").read_text().splitlines()))
    assert {row["zip"] for row in rows} == {"100"}
    assert {row["age"] for row in rows} == {"[20, 40)", "[40, 60)"}
    assert found.json["cost"]["stars"] == 0
    public = json.loads((out / "certificate.json").read_text())
    assert public["parameters"]["coarsen"] == found.json["parameters"]["coarsen"]


@pytest.mark.drawn
def test_regions_from_a_table_of_neighbours(shoal: Any, patients: Path, tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("a,b\n10001,10002\n10002,10003\n")
    words = f"zip=regions:{tmp_path / 'edges.csv'}:100"
    found = shoal("anonymize", patients, *ROLES, "--coarsen", words, "-k", 10, "--json", "-o", tmp_path / "out")
    assert found.code == 0, found.err
    assert found.json["parameters"]["coarsen"]["zip"]["coarsening"] == "regions"
    rows = list(csv.DictReader((tmp_path / "out/release.csv").read_text().splitlines()))
    assert {row["zip"] for row in rows} == {"{10001, 10002, 10003}"}


def test_a_comparison_of_the_coarsened_table_and_a_spec(shoal: Any, patients: Path, tmp_path: Path) -> None:
    spec = tmp_path / "release.toml"
    spec.write_text('[coarsen]\nzip = "prefix:3"\nage = "bins:20"\n')
    flags = ("--algorithms", "tp,mondrian", "-k", 10, "--json", "--spec", spec)
    found = shoal("explore", patients, *ROLES, *flags)
    assert found.code == 0, found.err
    assert {row["algorithm"]: row["stars"] for row in found.json["rows"]}["tp"] == 0


def test_the_help_names_every_kind(shoal: Any) -> None:
    said = re.sub(r"[\s│]+", "", shoal("anonymize", "--help").out)
    for kind in KINDS:
        assert kind in said


def test_hierarchies_on_the_command_line(shoal: Any, patients: Path, tmp_path: Path) -> None:
    (tmp_path / "age.csv").write_text("20;young;*\n30;young;*\n40;old;*\n50;old;*\n")
    flags = ("--hierarchy", f"age={tmp_path / 'age.csv'}", "-k", 30, "--json", "-o", tmp_path / "out")
    refused = shoal("anonymize", patients, *ROLES, *flags, "--recoding", "suppression")
    assert refused.code == 2
    assert "--recoding generalization" in json.dumps(refused.json)
    found = shoal("anonymize", patients, *ROLES, *flags, "--algorithm", "mondrian")
    assert found.code == 0, found.err
    assert found.json["parameters"]["hierarchies"] == {"age": {"values": 4, "height": 2, "automatic": False}}
    rows = csv.DictReader((tmp_path / "out" / "release.csv").read_text().splitlines())
    assert {row["age"] for row in rows} <= {"20", "30", "40", "50", "young", "old", "*"}
