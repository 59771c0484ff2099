"""The benchmarks: each part on tiny tables, other tools judged by their files, and equal releases."""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # they are not part of the package
figures, rivals, run, same_releases = (
    importlib.import_module(f"benchmarks.{name}") for name in ("figures", "rivals", "__main__", "same_releases")
)


@pytest.fixture
def settings(tmp_path):
    return run.Settings(
        rows=3_000,
        many_rows=6_000,
        csv_rows=500,
        figure_rows=(1_000, 3_000),
        l_values=(2, 4),
        fixed_l=4,
        fixed_d=2,
        dimensions=(1, 2, 4),
        tables=2,
        timed_tables=1,
        repeats=1,
        many_repeats=1,
        raised_work=1_000_000,
        raised_l=(4,),
        workers=1,
        label_ks=10,
        adult=tmp_path / "nowhere.csv",
        alive=1_000,
        fixed_m=4,
        m_values=(2, 4),
        fixed_volume=500,
        update_volumes=(500, 1_000),
        swept_volume=1_000,
        diverse_volumes=(1_000,),
        diverse_l=(2,),
        queries=20,
        many_queries=40,
        queried_releases=2,
        quick=True,
        results=tmp_path / "results",
    )


def draw_figures(parts, results, folder):
    """Check that each of the papers' figures that the parts measured is drawn from their files."""
    for name in ("rows", "rivals"):
        (results / f"{name}.json").unlink(missing_ok=True)
    figures.main(["--results", str(results), "--folder", str(folder / "figures")])
    page = (folder / "figures" / "README.md").read_text(encoding="utf-8")
    mine = [figure for figure in figures.FIGURES if figure.part in parts]
    assert {figure.part for figure in mine} == set(parts)
    assert page.count(".svg)") == len(mine)
    for figure in mine:
        drawn = folder / "figures" / f"{figure.name}.svg"
        text = drawn.read_text(encoding="utf-8")
        panels, _ = figures.panels_of(figure, results)
        assert all(name in text for panel in panels for name in panel.curves if len(panel.curves) > 1)
        figures.draw(figure, panels, drawn)
        assert drawn.read_text(encoding="utf-8") == text, "the same points give the same bytes"


def test_every_part_is_measured_kept_and_drawn(settings, monkeypatch, capsys, tmp_path):
    """Other tools are left out: they are installed for it. Figures of other tools need a copy of Adult."""
    monkeypatch.setattr(run, "Settings", lambda: settings)
    names = [name for name in run._PARTS if name != "rivals"]
    assert run.main(names) == 0
    printed = capsys.readouterr().out
    for name in names:
        stored = json.loads((settings.results / f"{name}-quick.json").read_text(encoding="utf-8"))
        assert stored["figures"], name
        assert f"## {stored['title']}" in printed, name
        (settings.results / f"{name}.json").write_text(json.dumps(stored))
    draw_figures([name for name in names if name not in ("rows", "cores", "evaluating")], settings.results, tmp_path)
    stars = json.loads((settings.results / "stars.json").read_text())["figures"]
    wrong = stars["What should not happen, in 16 pairs of a table and an l:"]["rows"][:4]
    assert all(row[1] == 0 for row in wrong)
    republish = json.loads((settings.results / "republish.json").read_text())
    measured = {target["what"]: target["measured"] for target in republish["targets"]}
    assert measured["OCC, m = 4, r = 500, independent: vulnerable people"] == 0
    run.write_summary(settings.results, tmp_path / "RESULTS.md", run._PARTS)
    assert "Parts without a full run: rows, rivals." in (tmp_path / "RESULTS.md").read_text()


@pytest.mark.drawn
def test_the_same_releases_have_the_same_hashes(capsys, tmp_path):
    only = ["--only", "mondrian,linked persons", "--adult", str(tmp_path / "none")]
    few = ["--rows", "90", "--adult-rows", "90", "--few", "8", *only]
    found = []
    for _ in range(2):
        assert same_releases.main(few) == 0
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        found.append({line["release"]: line.get("sha256", line.get("error")) for line in lines})
    assert found[0] == found[1]
    assert len(found[0]) == 13
    assert len(set(found[0].values())) > 4


def test_another_tool_is_judged_by_the_file_that_it_published(settings, monkeypatch, tmp_path):
    scripts = {
        "stars": "names = sys.argv[7:]; frame[names] = '*'; frame.to_csv(sys.argv[2], sep=';', index=False)",
        "raw": "frame.to_csv(sys.argv[2], sep=';', index=False)",
        "half": "n = len(frame) // 2; names = sys.argv[7:]; frame[names] = '*';"
        "frame.iloc[:n].to_csv(sys.argv[2], sep=';', index=False)",
        "broken": "sys.exit(3)",
    }
    tools = []
    for name, text in scripts.items():
        script = tmp_path / f"{name}.py"
        script.write_text(f"import sys, pandas\nframe = pandas.read_csv(sys.argv[1], sep=';', dtype=str)\n{text}\n")
        tools.append(rivals.Tool(name=name, script=str(script), pins=(f"{name}==1",)))
    reader = tmp_path / "reader.py"
    reader.write_text("import sys\nopen(sys.argv[2], 'w').write('{\"k\": 5, \"l\": 3}')\n")
    monkeypatch.setattr(rivals, "TOOLS", tuple(tools))
    monkeypatch.setattr(rivals, "READER", rivals.Tool(name="reader", script=str(reader), pins=("reader==2",)))
    monkeypatch.setattr(rivals, "environment", lambda pins: rivals.sys.executable)
    monkeypatch.setattr(rivals, "_REQUESTS", {"k = 5": (5, 0)})
    part = rivals.measure(replace(settings, rows=0, csv_rows=400))
    (table,) = part.figures.values()
    lines = {row[1].split()[0]: row for row in table["rows"]}
    ours, stars, raw, half = (lines[name] for name in ("shoal", "stars", "raw", "half"))
    assert ours[-1] == stars[-1] == half[-1] == "yes"
    assert 0 < ours[6] < stars[6] == half[6] == 100
    assert (stars[5], half[5], raw[5]) == (400, 200, 400)
    assert (raw[6], raw[-1]) == (0, "NO")
    assert lines["broken"][-1] == "failed"
    assert lines["reader"][-1] == "reads k = 5, l = 3 of the first line"
