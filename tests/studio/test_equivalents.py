"""The command, the spec file and the Python that a screen shows ask for the same as the studio itself."""

from __future__ import annotations

import html
import re
import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import shoal
from shoal._core.quoting import listed_names
from shoal.cli.main import app
from shoal.studio.equivalents import of_comparing, of_inspecting, of_publishing, of_risk
from shoal.studio.plan import Plan
from shoal.studio.requests import arguments_in

pytestmark = pytest.mark.drawn

NAMES = (
    "age",
    "zip code",
    "a,b",
    'say "x"',
    "it's",
    "born",
    "équipe",
    "-k",
    "x=y",
    " edge ",
    "\u202ename",
    "new\u2028line",
    "two\nlines",
    "a:b",
)
HOSTILE = '-n=a,"m: e'
"""A name of a column with characters that options give a meaning."""
COARSENINGS = (
    "",
    "prefix:3",
    "bins:10",
    "date:year",
    "cuts:18,30,65",
    "quantiles:4",
    "top:90",
    "bottom:18",
    "ends:18:90",
    "round:5",
    "labels:50",
    "ordered:50",
    "zip3",
    "any",
)


@st.composite
def plans(draw: Any) -> Plan:
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=2))
    roles = dict(zip(names, ["quasi_identifier", "sensitive"], strict=False))
    others = st.sampled_from(["quasi_identifier", "sensitive", "direct_identifier", "insensitive"])
    roles |= {name: draw(others) for name in names[2:]}
    privacy = {"k": draw(st.sampled_from(["2", "10"]))}
    privacy |= draw(st.sampled_from([{}, {"l": "3"}, {"t": "0.25"}, {"l": "2", "t": "0.1"}]))
    privacy = draw(st.sampled_from([privacy, privacy, {"epsilon": "0.5", "delta": "0.000001"}]))
    quasi = [name for name, role in roles.items() if role == "quasi_identifier"]
    persons: dict[str, Any] = {}
    if "direct_identifier" in roles.values() and draw(st.booleans()):
        person = next(name for name, role in roles.items() if role == "direct_identifier")
        roles[person] = "person"
        persons = {"rows": "several", "person": person, "unnamed_are_persons": draw(st.booleans())}
        persons |= {"treatment": draw(st.sampled_from(["counted", "one", "linked"])), "order": names[0]}
        persons |= {"kept_rows": draw(st.sampled_from(["random", "first"]))}
    # Sets of columns must have every quasi-identifier, and names of several kinds in quotes.
    together = draw(
        st.sampled_from([{}, {"knows": "1"}, {"sets": (listed_names(quasi), f"{listed_names(quasi[:1])}:7")}])
    )
    return Plan(
        **persons,
        **together,
        harmless=draw(st.sampled_from([(), ("healthy", "a, b")])),
        weights=draw(st.sampled_from([{}, {quasi[0]: "2"}, {quasi[0]: "1/2"}])),
        resist=draw(st.sampled_from(["", "minimality"])),
        normalize=draw(st.booleans()),
        report=draw(st.sampled_from([{}, {"title": 'It\'s\u202e "2025"', "notes": "-n", "signatures": ["A b", "C"]}])),
        source="/private/table.csv",
        shown=draw(st.sampled_from(["table.csv", "my table's.csv", "-table.csv"[1:], "t\u202e.csv"])),
        roles=roles,
        privacy=privacy,
        recoding=draw(st.sampled_from(["generalization", "suppression"])),
        missing_sensitive=draw(st.sampled_from(["error", "value", "drop"])),
        coarsen={name: draw(st.sampled_from(COARSENINGS)) for name in quasi},
        reading=draw(
            st.sampled_from([{}, {"delimiter": ";", "decimal": ","}, {"sheet": "März 'x'", "header_row": "3"}])
        ),
        derived=draw(st.sampled_from([{}, {"new": 'days:"a:b":2025-12-31'}])),
        replaced=draw(st.sampled_from([{}, {names[0]: 'W,"a,b":w;99:', "*": "k.A.:"}])),
        dates=draw(st.sampled_from([{}, {names[0]: "%d.%m.%Y"}])),
    )


def words_of(command: str, folder: Path) -> list[str]:
    import subprocess

    listed = command.replace("\\\n", " ").replace("shoal ", "printf '%s\\0' shoal ", 1)
    said = subprocess.run(["bash", "-c", listed], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"}).stdout
    words = said.decode().split("\0")[1:-1]
    return [str(folder / word) if word == "release.toml" else word for word in words]


@settings(max_examples=25, deadline=None, phases=[Phase.explicit, Phase.generate], report_multiple_bugs=False)
@given(plan=plans())
def test_three_ways_and_the_studio_ask_for_the_same(plan, tmp_path_factory):
    folder = tmp_path_factory.mktemp("same")
    same = of_publishing(plan, output="out")
    wanted = arguments_in(plan.content())
    source, wanted = wanted.pop("data"), shoal.Request(**wanted)
    asked: list[tuple[Any, str, shoal.Request]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "shoal.cli.anonymize.publish",
            lambda terminal, data, out, words, request: asked.append((data, out.name, request)),
        )
        (folder / "release.toml").write_text(same.spec, encoding="utf-8")
        for words in (words_of(same.command, folder), ["anonymize", "--spec", str(folder / "release.toml")]):
            outcome = CliRunner().invoke(app, words)
            assert outcome.exit_code == 0, (words, outcome.stderr)

        class Made:
            def __init__(self, data: Any, **arguments: Any) -> None:
                self.asked = (data, arguments)

            def save(self, out: str, about: shoal.About | None = None) -> None:
                asked.append((self.asked[0], out, shoal.Request(**self.asked[1], about=about)))

        patch.setattr(shoal, "anonymize", Made)
        exec(same.python, {})
    assert len(asked) == 3
    for data, out, request in asked:
        assert Path(data).name == source
        assert out == "out"
        assert replace(request, output=None, about=None) == wanted
        report = plan.content().get("report")
        assert request.about == (None if report is None else shoal.About(**report))
    for text in (same.command, same.python, same.spec):
        assert all(one.isprintable() or one == "\n" for one in text), "nothing is hidden in it"


@pytest.mark.drawn
@pytest.mark.parametrize("gender", ["gender", HOSTILE, "two\nlines"])
def test_what_the_risk_and_the_columns_show_runs(home, monkeypatch, gender):
    monkeypatch.chdir(home)
    _rename(home / "patients.csv", "gender", gender)
    roles = {
        "name": "direct_identifier",
        "age": "quasi_identifier",
        gender: "quasi_identifier",
        "disease": "sensitive",
    }
    reading = {"delimiter": ",", "header_row": "2"}
    (home / "patients.csv").write_text("Ward 7\n" + (home / "patients.csv").read_text())
    plan = Plan(shown="patients.csv", roles=roles, sampling_fraction="0.05", reading=reading)
    plan = replace(plan, replaced={gender: "F:f;M:", "*": "99:"})
    for same in (of_inspecting(plan, output="out"), of_risk(plan, suda=2, output="out")):
        outcome = CliRunner().invoke(app, words_of(same.command, home))
        assert outcome.exit_code == 0, outcome.stderr
        made: dict[str, Any] = {}
        exec(same.python, made)
        assert made.get("inspection", made.get("risk")) is not None
    assert (home / "release.toml").exists()


def test_what_the_comparison_shows_asks_for_the_levels(monkeypatch):
    roles = {"age": "quasi_identifier", "x,y": "quasi_identifier", "disease": "sensitive"}
    plan = Plan(shown="t.csv", roles=roles, privacy={"k": "10", "l": "3", "t": "0.3"}, coarsen={"age": "bins:10"})
    plan = replace(plan, harmless=("healthy",))
    same = of_comparing(plan, k=[3, 5], l=[1, 2], output="out")
    asked = []
    assert callable(shoal.explore), "the real one is what is put back"

    class AskedError(Exception):
        pass

    def compared(data: str, request: Any = None, *, k: Any, l: Any, progress: Any = None, **options: Any) -> None:
        asked.append((data, k, l, request or shoal.Request(**options)))
        raise AskedError

    monkeypatch.setattr("shoal.verbs.explore.explore", compared)
    CliRunner().invoke(app, words_of(same.command, Path()))
    monkeypatch.setattr(shoal, "explore", compared)
    with pytest.raises(AskedError):
        exec(same.python, {})
    assert len(asked) == 2
    for data, k, l, request in asked:
        assert data == "t.csv"
        assert (list(k), list(l)) == ([3, 5], [1, 2])
        assert request.quasi_identifiers == ("age", "x,y")
        assert [type(one).__name__ for one in request.privacy][-1] == "TCloseness"
        assert request.requirement.harmless == ("healthy",)
        assert request.coarsen == {"age": shoal.Bins(10)}


def test_the_made_up_table_is_made_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = Plan(shown="patients.csv", demo=True)
    same = of_inspecting(plan, output="out")
    first, second = same.command.splitlines()
    for line in (first, second):
        assert CliRunner().invoke(app, shlex.split(line)[1:]).exit_code == 0
    exec(same.python, {})


@pytest.mark.drawn
@pytest.mark.parametrize("name", [pytest.param("name", marks=pytest.mark.thorough), HOSTILE])
def test_the_commands_and_the_python_of_attacks_and_series_run(browser, home, monkeypatch, capsys, name):
    monkeypatch.chdir(home)
    _rename(home / "patients.csv", "name", name)
    browser.decided()
    browser.send("/goal", {"k": "4", "recoding": "generalization"})
    browser.send("/publish", {"folder": "made"})
    attack = _shown(browser.send("/attack", {"identifier": "0"}).text)
    series = _shown(browser.look("/series").text)
    for command in (*attack["command"], *series["command"]):
        words = shlex.split(command)
        assert words.pop(0) == "shoal"
        outcome = CliRunner().invoke(app, words)
        assert outcome.exit_code == 0, (command, outcome.stdout, outcome.stderr)
    attacks = ["linking", "refinement", "singling-out", "homogeneity"]
    assert [words.split("--method ")[1].split()[0] for words in attack["command"]] == attacks
    assert [words.split()[2] for words in series["command"]] == ["start", "publish", "verify"]
    for one in home.glob("releases.db*"):
        one.unlink()
    for folder in ("release", "release.private"):
        shutil.rmtree(home / folder)
    for program in ("\n".join(attack["python"]), "\n".join(series["python"]).replace("'admissions'", "'others'")):
        exec(compile(program, "shown", "exec"), {})
    assert "linked to one person" in capsys.readouterr().out


def _rename(table: Path, name: str, new: str) -> None:
    """Rename a column of a table."""
    quoted = '"' + new.replace('"', '""') + '"'
    table.write_text(table.read_text().replace(name, quoted, 1))


def _shown(page: str) -> dict[str, list[str]]:
    """Return the lines of what a page shows to do the same; a command that goes on is one line."""
    found = dict(re.findall(r'<code data-same="(command|python)">(.*?)</code>', page, re.S))
    said = {name: html.unescape(text) for name, text in found.items()}
    return {"command": said["command"].replace("\\\n", "").split("\n"), "python": said["python"].split("\n")}
