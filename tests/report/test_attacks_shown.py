"""What attacks found is in the publisher's report, beside baseline and control, and in no other."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.cli.main import app
from shoal.errors import DataError
from shoal.report import About, attack_result, render_again

PEOPLE = pl.DataFrame(
    {
        "age": [20 + row * 7 % 50 for row in range(60)],
        "town": [["Aach", "Bonn", "Celle"][row % 3] for row in range(60)],
        "s": ["xyz"[row * 11 % 3] for row in range(60)],
    }
)
HEADING = "What attacks on the release found"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    release = shoal.anonymize(
        PEOPLE,
        quasi_identifiers=["age", "town"],
        sensitive="s",
        privacy=shoal.KAnonymity(3),
        algorithm="mondrian",
        seed=0,
    )
    release.save(tmp_path / "out")
    PEOPLE.write_csv(tmp_path / "people.csv")
    PEOPLE.with_columns(age=pl.col("age") + 1).write_csv(tmp_path / "others.csv")
    return tmp_path / "out"


def ran(*words: str) -> str:
    told = CliRunner().invoke(app, list(words))
    assert told.exit_code == 0, told.output
    return told.stdout


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_a_report_shows_attacks_with_baseline_and_control(out: Path) -> None:
    private, folder = out.with_name("out.private"), out.with_name("found")
    before = text(out / "report.html")
    assert HEADING not in text(private / "report.html")
    given = ["--targets", str(out.with_name("people.csv")), "--controls", str(out.with_name("others.csv"))]
    ran("attack", "--method", "skewness", str(out), *given, "-o", str(folder))
    ran("report", str(out), "--attack", str(folder))
    page = text(private / "report.html")
    shown = page.partition(HEADING)[2].partition("</section>")[0]
    facts = json.loads(text(folder / "result.json"))
    for rate in (facts["rate"], facts["baseline"]["rate"], facts["control"]["rate"]):
        assert f'width: {100 * rate:.2f}%"' in shown
    for said in (
        "Skewness",
        "someone who guesses by what is published",
        "the same attack on people who are not in the release",
        "knows age and town",
        "60 attempts",
    ):
        assert said in shown
    assert text(out / "report.html") == before, "readers are told nothing of it"
    assert "attacks" not in json.loads(text(out / "report.json"))


def test_results_stay_and_the_same_attack_takes_its_place(out: Path) -> None:
    private = out.with_name("out.private")
    printed = out.with_name("homogeneity.json")
    printed.write_text(ran("attack", "--method", "homogeneity", str(out), "--json"), encoding="utf-8")
    result = attack_result(printed)
    render_again(out, attacks=[result])
    render_again(out, attacks=[dict(result, attempts=59)])
    render_again(private, attacks=[dict(result, quasi_identifiers=["age"])], about=About(title="Visits"))
    attacks = json.loads(text(private / "report.json"))["attacks"]
    assert [(one["attempts"], one["quasi_identifiers"]) for one in attacks] == [(59, ["age", "town"]), (60, ["age"])]
    page = text(private / "report.html")
    assert page.count("<h3>Homogeneity</h3>") == 2
    assert "<h1>Visits</h1>" in page
    render_again(private)
    assert text(private / "report.html") == page


@pytest.mark.drawn
@pytest.mark.parametrize("told", ["{", "[]", "{}", '{"attack": "skewness"}', '{"releases": 2, "people": 5}', None])
def test_what_is_no_result_of_an_attack_is_refused(out: Path, told: str | None) -> None:
    file = out.with_name("result.json")
    if told is not None:
        file.write_text(told, encoding="utf-8")
    with pytest.raises(DataError, match="no result of an attack on one release"):
        attack_result(file)


def test_attacks_need_the_publishers_report(out: Path) -> None:
    result = json.loads(ran("attack", "--method", "homogeneity", str(out), "--json"))
    before = text(out / "report.html")
    out.with_name("out.private").rename(out.with_name("elsewhere"))
    with pytest.raises(DataError, match="publisher's report only"):
        render_again(out, attacks=[result])
    assert text(out / "report.html") == before


def test_attacks_on_the_public_table_are_shown_with_what_they_are_compared_with(out: Path) -> None:
    private = out.with_name("out.private")
    for name, given, compared in (
        ("refinement", (), "the same without knowing the method"),
        (
            "singling-out",
            ("--targets", str(out.with_name("people.csv"))),
            "random descriptions that fit as rarely",
        ),
    ):
        folder = out.with_name(name)
        ran("attack", "--method", name, str(out), *given, "-o", str(folder))
        ran("report", str(out), "--attack", str(folder))
        shown = text(private / "report.html").partition(HEADING)[2].partition("</section>")[0]
        facts = json.loads(text(folder / "result.json"))
        assert f"{facts['attempts']:,} attempts" in shown
        assert "The adversary knows" not in shown
        assert compared in shown if facts["rate"] is not None else "could not be measured" in shown
        assert compared in text(folder / "report.html") or facts["rate"] is None
