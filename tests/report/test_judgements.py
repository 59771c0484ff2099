"""Pages of audits and attacks: which groups fail, how often an attack is right, and no cell."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.cli.main import app
from shoal.report import collect_review

SECRET = "Zyzzyva"
TABLE = pl.DataFrame({"town": [f"{SECRET}{row // 3}" for row in range(9)] + ["alone"], "s": [*"xxxxyzxyz", "x"]})


@pytest.fixture
def table(tmp_path: Path) -> Path:
    TABLE.write_csv(tmp_path / "table.csv")
    return tmp_path / "table.csv"


def test_an_audit_says_which_groups_fail(table: Path, tmp_path: Path) -> None:
    words = ["audit", str(table), "--qi", "town", "--sensitive", "s", "-k", "3", "-l", "2"]
    told = CliRunner().invoke(app, [*words, "-o", str(tmp_path / "out")])
    assert told.exit_code == 3
    assert str(tmp_path / "out") in told.stdout.replace("\n", "")
    page = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    rows = re.findall(r'<tr><th scope="row">(\d+)</th><td class="n">(\d+)</td><td class="n">(\d+)</td></tr>', page)
    assert rows == [("4", "1", "10"), ("1", "3", "1"), ("4", "1", "10")]
    assert "Where it fails k-anonymity, k = 3" in page
    assert "Where it fails l-diversity (frequency), l = 2, s" in page
    assert "1 record is unique" in page
    assert json.loads((tmp_path / "out/result.json").read_text())["failures"][0]["failing_groups"] == 1
    for file in (tmp_path / "out").iterdir():
        assert SECRET not in file.read_text(encoding="utf-8")
        assert file.stat().st_mode & 0o777 == 0o600
    assert "<script" not in page
    again = CliRunner().invoke(app, [*words, "-o", str(tmp_path / "out")])
    assert again.exit_code == 2
    assert "--force" in again.stderr


def test_an_audit_without_a_requirement_has_no_verdict(table: Path, tmp_path: Path) -> None:
    told = CliRunner().invoke(app, ["audit", str(table), "--qi", "town", "-o", str(tmp_path / "page.html")])
    assert told.exit_code == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Audit of table.csv" in page
    assert 'class="verdict' not in page


def test_an_attack_stands_beside_its_baseline(table: Path, tmp_path: Path) -> None:
    words = [
        "attack",
        "--method",
        "homogeneity",
        str(table),
        "--qi",
        "town",
        "--sensitive",
        "s",
        "--cells",
        "town=values",
    ]
    told = CliRunner().invoke(app, [*words, "-o", str(tmp_path / "page.html"), "--json"])
    assert told.exit_code == 0, told.stderr
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    facts = json.loads(told.stdout)
    assert facts["successes"] == 4
    assert f"{100 * facts['rate']:.0f}%" in page
    assert "someone who guesses" not in page, "who is certain is not compared with a guess"
    assert "the same attack on people" not in page, "nobody was named who is not in the table"
    assert SECRET not in page


def test_an_audit_shows_attacks_and_a_decision(table: Path, tmp_path: Path) -> None:
    named = [str(table), "--qi", "town", "--sensitive", "s"]
    attack = ["attack", "--method", "homogeneity", *named, "--cells", "town=values", "-o", str(tmp_path / "alike")]
    assert CliRunner().invoke(app, attack).exit_code == 0
    spec = tmp_path / "decision.toml"
    spec.write_text('[report]\ndecision = "refused"\nconditions = "One is alone."\nvalid_until = "2028-01-31"\n')
    words = ["audit", *named, "--spec", str(spec), "--attack", str(tmp_path / "alike"), "--reviewed-by", "A. Officer"]
    told = CliRunner().invoke(app, [*words, "-o", str(tmp_path / "page.html")])
    assert told.exit_code == 0, told.stderr
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    for shown in (
        *(">Refused</p>", "Reasons", "One is alone.", "2028-01-31", "A. Officer", "Signature of the reviewer"),
        *(
            "at most 100%",
            "10% of the records have quasi-identifiers of their own",
            "What attacks on the release found",
        ),
        "Attack “Homogeneity”: 4 of 10 records",
    ):
        assert shown in page, shown
    assert SECRET not in page


def test_an_audit_of_persons_says_what_is_inferred_of_a_person(tmp_path: Path) -> None:
    visits = pl.DataFrame({"who": [*"aabbccdd"], "town": ["x"] * 8, "s": [*"uvuvwuwu"]})
    visits.write_csv(tmp_path / "visits.csv")
    words = ["audit", str(tmp_path / "visits.csv"), "--qi", "town", "--sensitive", "s", "--person", "who"]
    told = CliRunner().invoke(app, [*words, "-o", str(tmp_path / "page.html")])
    assert told.exit_code == 0, told.stderr
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Persons are counted, identified by who." in page
    assert (
        "From all records of a person together, a value of the person is guessed rightly with a probability of at most"
        in page
    )
    assert "The most common value of a group" not in page


def test_persons_are_counted_without_quasi_identifiers_too() -> None:
    visits = pl.DataFrame({"who": [*"aabbccdd"], "s": [*"uvuvwuwu"]})
    made = shoal.anonymize(visits, quasi_identifiers=[], sensitive="s", person="who", k=2, seed=1)
    assert collect_review(made.certificate.to_dict())["unit"] == "Persons are counted, identified by who."
