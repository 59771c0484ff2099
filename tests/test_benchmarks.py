"""The benchmarks run on small tables, and what they print is what they measured."""

from __future__ import annotations

import gc
import importlib
import json
import re
import subprocess
import sys
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.cli.main import app
from shoal.metrics import random_ranges, workload_error

ROOT = Path(__file__).resolve().parent.parent
DEMANDING_LIMITS = (
    "101,766 rows x 15, entropy l = 2: stars of auto over the fewest",
    "99,762 rows, 299 attributes: seconds of cluster",
    "99,762 rows, 3 attributes of many values, two sensitive ones: seconds of cluster",
    "1,048,575 rows x 8, k = 10 and l = 2: stars over the bound",
)
EFFORT_LIMITS = (
    "SAL: tp+ with * orders / best bound, d = 4, l = 2..10",
    "OCC: tp+ with * orders / best bound, d = 4, l = 2..10",
)
ENDS_LIMITS = ("*, *: loss over that of exact ends",)
LARGE_LIMITS = (
    "100,000,000 rows, d = 4: time over one group_by and one copy",
    "100,000,000 rows, d = 4: peak memory",
    "* rows, d = 4: share of the time that is in no step",
    "* rows, d = 4: temporary files left behind",
    "100,000,000 rows, d = 4: time over the other tree",
    "100,000,000 rows, an insensitive column: time over one group_by and one copy",
    "100,000,000 rows, an insensitive column: peak memory",
    "* rows, d = 4, in pieces: stars over those in memory",
    "* rows, d = 4, Spark on local[2]: stars over those in memory",
    "* rows, d = 7, in pieces: loss over that of a tenth of the rows in memory",
    "* rows, partition and verify: two cores over one",
)
LEDGER_LIMITS = (
    "*: whole publish into SQLite",
    "*: bytes of the ledger for each person, after * releases over after two",
    "2,000,000 people alive: releases that were not published",
)
WAITING_LIMITS = (
    "inspect, 1,000,000 rows x 20 columns, over one n_unique of all columns",
    "shoal demo, no loop compiled before",
    "shoal studio: first page",
    "what the extra studio adds",
)
MODULES = (
    "__main__",
    "adult",
    "attacks",
    "automatic",
    "closeness",
    "comparison",
    "compiling",
    "demanding",
    "divergence",
    "durations",
    "effort",
    "emd",
    "ends",
    "estimators",
    "exact",
    "figure7",
    "figures",
    "full_domain",
    "harness",
    "large",
    "ledger",
    "linked",
    "local",
    "machine",
    "matching",
    "minimality",
    "paper",
    "patterns",
    "plane",
    "processes",
    "refinement",
    "regions",
    "republish",
    "results",
    "risk",
    "rivals",
    "rows",
    "safepub",
    "same_releases",
    "sets",
    "settings",
    "speed",
    "stars",
    "starting",
    "sweep",
    "tune",
    "waiting",
)


@pytest.fixture(scope="module")
def benchmarks():
    """Return the modules of the benchmarks, which are not part of the package.

    They search for garbage before each time that they measure: what is there already is left out of that.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        modules = {name: importlib.import_module(f"benchmarks.{name}") for name in MODULES}
        importlib.import_module("matplotlib.backends.backend_svg")
        gc.collect()
        gc.freeze()
        yield SimpleNamespace(**modules)


@pytest.fixture
def settings(benchmarks, tmp_path):
    return benchmarks.settings.Settings(
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
        point_counts=(500,),
        ordered_values=500,
        adult=tmp_path / "nowhere.csv",
        counties=tmp_path / "nowhere",
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
        tuning_seconds=0.2,
        large_rows=2_000,
        most_rows=3_000,
        orders=5,
        spark_rows=1_500,
        parts_rows=4_000,
        quick=True,
        results=tmp_path,
    )


def draws_its_figures(benchmarks, part, folder):
    """Save a part, and check that each of the papers' figures that it measures is drawn from it."""
    figures, results = benchmarks.figures, folder / "results"
    benchmarks.results.save_part(part, results, quick=False)
    figures.main(["--results", str(results), "--folder", str(folder / "figures")])
    page = (folder / "figures" / "README.md").read_text(encoding="utf-8")
    mine = [figure for figure in figures.FIGURES if figure.part == part.name]
    assert mine
    assert page.count(".svg)") == len(mine)
    for figure in mine:
        drawn = folder / "figures" / f"{figure.name}.svg"
        text = drawn.read_text(encoding="utf-8")
        panels, _ = figures.panels_of(figure, results)
        assert all(name in text for panel in panels for name in panel.curves if len(panel.curves) > 1)
        figures.draw(figure, panels, drawn)
        assert drawn.read_text(encoding="utf-8") == text, "the same points give the same bytes"


def test_choices_are_all_or_a_seeded_sample_with_the_first(benchmarks):
    choices, names = benchmarks.sweep.choices, benchmarks.sweep.QUASI_IDENTIFIERS
    assert len(choices(4, None)) == 35
    sample = choices(4, 5, seed=3)
    assert sample == choices(4, 5, seed=3)
    assert sample[0] == names[:4]
    assert len(set(sample)) == 5
    assert choices(7, 5) == [names]


def test_the_sweep_measures_every_table_once(benchmarks, settings):
    found = benchmarks.sweep.run_sweep(settings)
    assert benchmarks.sweep.run_sweep(replace(settings)) is found
    keys = [(one.table, one.quasi_identifiers, one.l) for one in found]
    assert len(set(keys)) == len(keys) == 2 * 2 * (2 + 2 + 2)
    counted = [one for one in found if one.stars]
    assert {(len(one.quasi_identifiers), one.l) for one in counted} == {(1, 4), (2, 2), (2, 4), (4, 4)}
    for one in counted:
        assert 0 < one.bound <= min(one.stars.values())
        assert one.stars["tp"] >= one.stars["tp+"]
        assert set(one.stars) == set(benchmarks.sweep.RIVALS)
    assert sum(one.raised_bound is not None for one in counted) == 2 * 2


def test_the_kernels_and_the_verification_find_the_same_distances(benchmarks, settings):
    part = benchmarks.emd.measure(settings)  # fails where they do not
    assert [target.limit for target in part.targets] == [50.0, 50.0]
    (figures,) = part.figures.values()
    assert len(figures["rows"]) == 5


def test_risk_is_measured_in_groupings(benchmarks, settings):
    part = benchmarks.results.Part(name="risk", title="Disclosure risk")
    benchmarks.risk._times(part, replace(settings, rows=600))
    assert [(target.limit, target.measured > 0) for target in part.targets] == [(10.0, True)]
    (times,) = part.figures.values()
    assert len(times["rows"]) == 4


def test_local_recoding_is_measured_beside_its_rivals(benchmarks, settings):
    part = benchmarks.local.measure(replace(settings, rows=600))
    assert [target.unit for target in part.targets] == [" s"] * 2, "there is no copy of Adult"
    (census,) = part.figures.values()
    assert [row[:3] for row in census["rows"]] == [
        [kind, "k = 5", name]
        for kind in ("with intervals", "with automatic hierarchies")
        for name in ("cluster", "mondrian", "hilbert")
    ]
    for first in (0, 3):
        assert census["rows"][first][3] < min(row[3] for row in census["rows"][first + 1 : first + 3])


def test_auto_is_measured_beside_what_it_could_have_taken(benchmarks, settings):
    part = benchmarks.automatic.measure(replace(settings, rows=150, quick=True))
    (grid,) = part.figures.values()
    assert [(row[0], row[1]) for row in grid["rows"][:2]] == [("150, stars", "k = 10"), ("150, stars", "l = 4")]
    assert {row[2] for row in grid["rows"]} == {"m-approximation", "tp+", "cluster"}
    for row in grid["rows"]:
        assert 0 <= row[5] <= max(100 * (row[3] / min(lost for lost in row[6::2] if lost is not None) - 1), 0) + 1e-9
    assert part.targets[0].measured == max(row[5] for row in grid["rows"])


def test_closeness_is_measured_on_census_like_and_on_tiny_tables(benchmarks, settings):
    part = benchmarks.closeness.measure(replace(settings, rows=600))
    assert not part.targets, "there is no copy of Adult"
    census, tiny = part.figures.values()
    assert [row[:2] for row in census["rows"]] == [[600, "sabre"], [600, "mondrian"]]
    assert census["rows"][0][2] <= census["rows"][1][2]
    assert all(row[2] >= 0 for row in tiny["rows"]), "nobody is below the optimum"


def test_the_public_files_tell_an_adversary_nothing_more(benchmarks):
    known = pl.DataFrame({"q": [0, 0, 1, 1]})
    table, public, proof, full = benchmarks.minimality.exposure(known, "tp", "suppression")
    assert table == public
    assert table[1] == 6 * 3 + 3 * 12, "two values twice each, or one twice and two once"
    assert table[2] <= proof[2] <= full[2] <= 1


def test_marks_and_the_run_say_the_same_of_refinement():
    """The catalogue and the newest run of `python -m benchmarks refinement`: Adult, with the default ends."""
    from shoal.algorithms.algorithm_list import CATALOGUE

    figures = json.loads((ROOT / "benchmarks" / "results" / "refinement.json").read_text())["figures"]
    refined, singled = (
        {tuple(row[:4]): row[4:] for row in figures[title]["rows"]} for title in ("Refinement:", "Singling out:")
    )
    marked = 0
    for entry in CATALOGUE:
        mark = entry.refinement
        if mark is not None:
            ends = {"suppression": "-", "generalization": "shared"}[mark.recoding]
            name = ("Adult", entry.algorithm.name, mark.recoding, ends)
            name = name if name in refined else (*name[:3], "automatic nodes")
            known = [None if one == "-" else round(one / 100, 5) for one in (refined[name][1], refined[name][5])]
            assert [mark.known, mark.by_chance, mark.singled_out] == [*known, round(singled[name][3] / 100, 5)]
            marked += 1
    assert marked == len({name[1] for name in refined if name[0] == "Adult" and name[3] != "nodes"})


def test_marks_tables_and_the_run_say_the_same_of_minimality():
    """The catalogue, the guide, SECURITY.md and the newest run of `python -m benchmarks minimality`."""
    from shoal.algorithms.algorithm_list import CATALOGUE

    (figure,) = json.loads((ROOT / "benchmarks" / "results" / "minimality.json").read_text())["figures"].values()
    run = {(row[0], row[1]): row[3:] for row in figure["rows"]}
    marks = {entry.algorithm.name: entry.minimality for entry in CATALOGUE if entry.minimality is not None}
    assert {name for name, _ in run} == set(marks)
    for (name, _), (share, belief, *_) in run.items():
        assert (marks[name].share, marks[name].belief) == (round(share, 3), round(belief, 3))

    def rows(path, columns):
        lines = [
            line.strip().strip("|").split("|")
            for line in (ROOT / path).read_text().splitlines()
            if "` " in line or "`," in line
        ]
        return [[cell.strip() for cell in line] for line in lines if len(line) == columns and "%" in line[1]]

    def of(said):
        name, _, kind = said.partition(",")
        found = [
            row for key, row in run.items() if key[0] == name.strip("`") and kind.strip() in (key[1], "either recoding")
        ]
        assert found, said
        return found

    guide = rows("docs/guide/attacks.md", 3)
    assert len(guide) == len({name for name, _ in run})
    for said, share, belief in guide:
        for row in of(said):
            assert (share, belief) == (f"{100 * row[0]:.1f} %", f"{row[1]:.2f}".removesuffix(".00"))
    security = rows("SECURITY.md", 4)
    assert len(security) >= 5
    for said, *cells in security:
        for row in of(said):
            assert [float(cell.split(" %")[0]) for cell in cells] == [round(100 * row[at], 1) for at in (0, 2, 4)]
            assert row[4] == row[6], "a proof tells as much as the full certificate"


def test_the_guide_has_the_estimates_of_the_run():
    """The table of docs/guide/risk.md and the newest run of `python -m benchmarks estimators`."""
    run = json.loads((ROOT / "benchmarks" / "results" / "estimators.json").read_text())
    rows = run["figures"]["Population uniques (percent):"]["rows"]
    by_place = {(row[0].removesuffix(" (0.3, 0.1)"), f"{100 * row[1]:.0f} %"): row for row in rows}
    section = (
        (ROOT / "docs/guide/risk.md").read_text().partition("## Population uniques")[2].partition("So of small")[0]
    )
    told, title = 0, ""
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 6 or not cells[2].endswith("%"):
            continue
        title = cells[0] or title
        row = by_place[title, cells[2]]
        told += 1
        assert cells[1] in ("", f"{row[2]:.1f} %")
        said = [float(part.strip(" %")) for cell in cells[3:] for part in cell.split(",")]
        assert said == [round(figure) for figure in row[3:9]]
    assert told == len(rows) - 1, "all but the smallest sample of the population with the fewest uniques"


def test_risk_is_measured_against_references_and_groupings(benchmarks, settings, monkeypatch, tmp_path):
    monkeypatch.setattr(benchmarks.risk, "_SPECIAL_ROWS", 2_000)
    part = benchmarks.risk.measure(settings)
    assert [target.limit for target in part.targets] == [10, 10, 10, 60]
    assert [row[3] > 0 for row in part.figures["What is known:"]["rows"]] == [True] * 4
    wild = part.figures["Wildcards:"]["rows"]
    assert [row[4] is None for row in wild] == [True, False] * 2
    assert all(row[3] >= 4 for row in wild), "l = 4: nobody fits fewer rows"
    frame = shoal.datasets.census(500, quasi_identifiers=4, seed=1)
    frame.write_csv(tmp_path / "adult.csv", separator=";")
    there = replace(settings, adult=tmp_path / "adult.csv")
    references = benchmarks.risk.measure(there)
    assert not references.targets[0].met, "another table has other figures"
    assert references.figures["Adult, all nine columns, 500 rows, sampling fraction 0.1:"]["rows"][3][3] < 1e-12


def test_estimates_are_held_against_stated_limits(benchmarks, settings, monkeypatch):
    for name, size in {"_PEOPLE": 4_000, "_CLASSES": 10_000, "_QUICK_MODELS": 5}.items():
        monkeypatch.setattr(benchmarks.estimators, name, size)
    part = benchmarks.estimators.measure(settings)
    by_what = {target.what: target for target in part.targets}
    assert len(by_what) == 6
    assert by_what["estimated k-map: share of errors"].measured < 0.02
    assert by_what["Wilson's intervals that miss"].measured < 0.1
    assert by_what["individual risk under its own law: bias"].measured < 10
    rows = part.figures["Population uniques (percent):"]["rows"]
    assert {row[0] for row in rows} >= {"census-like, 4 columns", "slide negative binomial (0.3, 0.1)"}
    assert all(0 < row[2] <= 100 for row in rows)


def test_divergences_of_every_table_are_averaged(benchmarks, settings, tmp_path):
    part = benchmarks.divergence.measure(settings)
    draws_its_figures(benchmarks, part, tmp_path)
    assert [target.limit for target in part.targets] == [1.0, 1.0, 1.0, 1.0, 10.0]
    (over_l, over_d) = (figure["rows"] for figure in part.figures.values())
    assert [row[0] for row in over_l] == [2, 4]
    assert [row[0] for row in over_d] == [1, 2, 4]
    assert over_l[1][1:] == over_d[1][1:], "both are at d = 2 and l = 4"
    assert all(cell >= 0 for row in (*over_l, *over_d) for cell in row)
    task = benchmarks.divergence._Task(rows=3_000, seed=0, table="OCC", quasi_identifiers=("age",), l_values=(4,))
    (one,) = benchmarks.divergence._measure(task)
    assert (one.table, one.d, one.l) == ("OCC", 1, 4)
    assert list(one.by_algorithm) == ["tds", "tp+ hilbert", "tp+"]
    assert all(0 < value < 1 for value in one.by_algorithm.values())
    assert "has the lower divergence in" in part.text()


def test_stars_and_the_papers_figures_are_tables_of_the_sweep(benchmarks, settings, tmp_path):
    stars = benchmarks.stars.measure(settings)
    sweep = [one for one in benchmarks.sweep.run_sweep(settings) if one.stars and one.table == "SAL"]
    over_l = stars.figures["SAL: average stars over l, d = 2:"]
    average = sum(one.stars["tp+"] for one in sweep if one.l == 2) / 2
    assert over_l["rows"][0][:3] == [2, 2, round(average)]
    assert all(
        row[1] == 0 for row in stars.figures["What should not happen, in 16 pairs of a table and an l:"]["rows"][:4]
    )
    assert {target.limit for target in stars.targets} == {0.40, 1.03, 1.15}

    draws_its_figures(benchmarks, stars, tmp_path / "stars")
    paper = benchmarks.paper.measure(settings)
    draws_its_figures(benchmarks, paper, tmp_path)
    phases = next(figure for title, figure in paper.figures.items() if title.startswith("How often"))
    assert sum(phases["rows"][-1][1:]) == 24
    assert "Figure 6: times over one group_by, over n (d = 2, l = 4):" in paper.figures
    assert "Figure 8" in paper.text()


def test_speed_measures_ratios_growth_and_commands(benchmarks, settings, monkeypatch):
    commands, published = [], []
    memory = benchmarks.harness.Memory(peak=400_000_000, before=1, arrow=10_000_000)
    monkeypatch.setattr(benchmarks.speed, "peak_memory", lambda frame, **_: published.append(len(frame)) or memory)
    monkeypatch.setattr(benchmarks.speed, "command_seconds", lambda command, **_: commands.append(command) or 0.1)
    part = benchmarks.speed.measure(settings)
    ratios = part.figures["Times against the yardstick, in seconds:"]["rows"]
    assert [row[0] for row in ratios] == [4] * 5
    many = part.figures["6,000 rows against the yardstick:"]["rows"]
    assert [row[6] for row in many] == [row[2] / row[5] for row in many]
    assert all(row[3] <= row[2] <= row[4] and row[6] == pytest.approx(row[2] / row[5]) for row in ratios)
    assert published == [3_000, 3_000, 6_000, 6_000]
    over = [target for target in part.targets if target.what.startswith("peak memory")]
    assert {(target.limit, target.measured, target.met) for target in over} == {(360.0, 400.0, False)}
    within = [target.limit for target in part.targets if "rows in process" in target.what]
    assert within == [2.5, 2.5, 1.5, 1.5]
    assert commands[0][-1] == "version"
    assert [command.count("anonymize") for command in commands] == [0, 1, 1]


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux begins a peak anew")
def test_a_peak_is_that_of_an_action(benchmarks):
    large = benchmarks.harness.peak_of(lambda: b"x" * 300_000_000)
    small = benchmarks.harness.peak_of(lambda: b"x" * 30_000_000)
    assert 200e6 < large - small < 320e6


def test_memory_is_that_of_a_process_of_its_own(benchmarks, tmp_path):
    frame = benchmarks.speed.census(2_000, quasi_identifiers=2)
    found = benchmarks.harness.peak_memory(frame, sensitive="income", l=2, algorithm="tp", folder=tmp_path)
    assert found.arrow == 2_000 * 3 * 2
    assert 30e6 < found.before <= found.peak < 2e9
    assert found.limit == 300_000_000 + 6 * found.arrow
    assert list(tmp_path.iterdir()) == []


def test_commands_are_measured_and_a_failure_is_no_measurement(benchmarks, capfd):
    command = benchmarks.harness.shoal_command()
    assert 0 < benchmarks.harness.command_seconds([*command, "version"], repeats=1, warm=False) < 30
    with pytest.raises(benchmarks.harness.subprocess.CalledProcessError):
        benchmarks.harness.command_seconds([*command, "no-such-command"], repeats=1, warm=False)
    assert capfd.readouterr().err


def test_starting_is_measured_in_cpu_of_all_processes(benchmarks, tmp_path):
    environment = {"PATH": "/usr/bin:/bin"}
    idle = benchmarks.starting.cpu_of(["-c", "import time; time.sleep(0.3)"], environment, tmp_path)
    busy = "import time\nwhile time.process_time() < 0.5: pass"
    nested = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}])"
    assert idle < 0.3, "sleep is no work"
    assert benchmarks.starting.cpu_of(["-c", nested], environment, tmp_path) >= 0.5


def test_whole_processes_are_measured_against_another_tree(benchmarks, settings):
    part = benchmarks.rows.measure(replace(settings, against=ROOT / "src"))
    (grid,) = part.figures.values()
    (row,) = grid["rows"]  # the census-like table: there is no copy of Adult
    found = dict(zip(grid["header"], row, strict=True))
    assert (found["run"], found["rows"]) == ("census-like, d = 4, l = 6, tp+, Parquet", 200)
    assert found["ratio"] == found["seconds"] / found["there"]
    assert found["CPU ratio"] == found["CPU"] / found["CPU there"]
    assert found["gcp %"] == found["gcp % there"] > 0
    assert min(found["CPU"], found["CPU there"]) > 0.1
    assert min(found["MB"], found["MB there"]) > 50
    assert not part.targets  # small tables are start-up
    frame = pl.DataFrame({"a": range(1000), "b": [row % 2 for row in range(1000)]})
    drawn = benchmarks.rows._drawn(frame, 5_000, 0)
    assert drawn.equals(benchmarks.rows._drawn(frame, 5_000, 0))
    changed = (drawn["a"] % 2 != drawn["b"]).mean()
    assert 0.1 < changed < 0.2  # half of 1 - 0.85**2


def test_divided_work_is_planned_for_more_cores(benchmarks):
    batches = []
    with benchmarks.rows._timed_pieces(batches):
        benchmarks.rows.neighbourhood.map_in_threads(lambda item: item, range(3), finished=lambda done: None)
    assert [len(pieces) for pieces in batches] == [3]
    pieces = [3.0, 1.0, 1.0, 1.0, 2.0]
    assert [benchmarks.rows._makespan(pieces, cores) for cores in (1, 2, 5, 16)] == [8.0, 5.0, 3.0, 3.0]


def test_what_a_process_takes_counts_those_that_it_started(benchmarks, monkeypatch):
    taken_by = benchmarks.processes.taken_by
    monkeypatch.setenv("LEAST", "none")
    busy = "import time\nheld = b'x' * 150_000_000\nwhile time.process_time() < 0.4: pass"
    started = f"subprocess.run([sys.executable, '-c', {busy!r}])"
    nested = f"import os, subprocess, sys; os.environ['LEAST'] == 'some' and {started}"
    alone = taken_by([benchmarks.processes.sys.executable, "-c", nested])
    found = taken_by([benchmarks.processes.sys.executable, "-c", nested], {"LEAST": "some"}, cores=[0])
    assert found.seconds >= found.user + found.system - 0.05 >= 0.3, "it had one core"
    assert alone.user < found.user
    if Path("/proc/self/status").exists():
        assert alone.peak < 100e6
        assert 150e6 < found.peak < 400e6
    with pytest.raises(subprocess.CalledProcessError):
        taken_by([benchmarks.processes.sys.executable, "-c", "raise SystemExit(3)"])


def test_large_tables_are_published_beside_their_yardsticks(benchmarks, settings, tmp_path):
    benchmarks.large.write_census(kept := tmp_path / "kept", 1_000, 4, 0)
    assert pl.read_parquet(kept / "part-00000.parquet").height == 1_000
    folder = tmp_path / "made"
    part = benchmarks.large.measure_billion(replace(settings, large_folder=folder))
    assert list(folder.iterdir()) == [], "what is made is removed"
    measured = {target.what.partition(": ")[2]: target for target in part.targets}
    assert measured["temporary files left behind"].measured == 0
    assert 0.1 < measured["peak memory"].measured < measured["peak memory"].limit == 1.5
    assert measured["time over one group_by and one copy"].limit == 3
    assert measured["share of the time that is in no step"].met
    whole, steps = (figure["rows"] for figure in part.figures.values())
    assert [row[0] for row in whole] == ["one group_by", "one copy", "3,000 rows, d = 4"]
    assert sum(steps[0][1:-1]) == pytest.approx(steps[0][-1])


def test_differential_privacy_is_measured(benchmarks, settings, monkeypatch, tmp_path):
    part = benchmarks.safepub

    def here(command):
        done = CliRunner().invoke(app, command[3:])
        assert done.exit_code == 0, done.output
        return benchmarks.processes.Taken(seconds=2.0, user=1.0, system=0.5, peak=10**9)

    frame = pl.DataFrame({"sex": ["f", "m"] * 600, "pay": ["low", "low", "high"] * 400})
    frame.write_csv(tmp_path / "adult.csv", separator=";")
    for name, lines in {"sex": "f;*\nm;*", "pay": "low;any pay;*\nhigh;any pay;*\nnone;any pay;*"}.items():
        (tmp_path / f"adult_hierarchy_{name}.csv").write_text(lines)
    # Neither column loses anything at the lowest levels; at the highest all is lost.
    monkeypatch.setattr(part, "_FIXED", ((1.0, 1e-4, (0, 0), 0.0), (1.0, 1e-4, (1, 2), 1.0)))
    monkeypatch.setattr(part, "taken_by", here)
    monkeypatch.setattr(part, "write_census", lambda folder, *_: (folder.mkdir(), shoal.datasets.census(
        40_000, quasi_identifiers=4, seed=1).write_parquet(folder / "part.parquet")))  # fmt: skip
    found = part.measure(replace(settings, adult=tmp_path / "adult.csv"))
    fixed, drawn, streamed = (figure["rows"] for figure in found.figures.values())
    assert [0.05 > row[5] - row[4] > -0.05 for row in fixed] == [True, True]
    assert [row[0] for row in drawn] == ["ARX, 10 steps", "ARX, 100 steps", "ours", "ours"]
    assert 0 < drawn[3][4] < drawn[2][4] < 1, "more records stay if less of epsilon is for the levels"
    assert [row[0] for row in streamed] == ["fixed levels", "drawn levels"]
    assert streamed[1][8].startswith("age:")
    assert all(row[6] > 100 and 0 < row[7] < 0.64 for row in streamed)


def test_engines_parts_and_cores_are_measured(benchmarks, settings, monkeypatch, tmp_path):
    large, commands = benchmarks.large, []

    def here(command, environment=None, *, cores=None):
        """Do what a process would, in this one."""
        commands.append((command[1:], cores))
        if command[1] == "-c":
            monkeypatch.setattr(sys, "argv", ["-c", *command[3:]])
            exec(command[2], {})
        else:
            done = CliRunner().invoke(app, command[3:])
            assert done.exit_code == 0, done.output
        return benchmarks.processes.Taken(seconds=2.0, user=1.0, system=0.5, peak=10**9)

    monkeypatch.setattr(large, "taken_by", here)
    monkeypatch.setattr(large, "_PIECE", 900)
    monkeypatch.setattr(large, "_without_spark", lambda: "there is no Java. Install version 17 or newer.")
    monkeypatch.setattr(large.os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    monkeypatch.setattr(large.tempfile, "tempdir", str(tmp_path))
    part = large.measure(replace(settings, many_rows=1_000, against=tmp_path))
    measured = {target.what: target.measured for target in part.targets}
    assert measured["1,500 rows, d = 4, in pieces: stars over those in memory"] == 1
    assert 0 < measured["4,000 rows, d = 7, in pieces: loss over that of a tenth of the rows in memory"] < 1
    assert measured["2,000 rows, d = 4: time over one group_by and one copy"] == 0.5
    assert measured["2,000 rows, an insensitive column: time over one group_by and one copy"] == 0.5
    assert measured["2,000 rows, an insensitive column: peak memory"] == 1
    beside = next(words for words, _ in commands if "--insensitive" in words)
    assert beside[beside.index("--insensitive") + 1] == large._VALUES
    assert beside[beside.index("--memory") + 1] == "4000000000"
    assert "**Spark was not measured: there is no Java." in part.text()
    assert [cores for _, cores in commands if cores] == [[0], [0, 1]]
    assert [row[:2] for row in next(iter(part.figures.values()))["rows"]][2] == [
        "2,000 rows, d = 4, the other tree, in memory",
        2_000,
    ]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("tmp")] == []
    names = [target.what.replace("2,000", "100,000,000") for target in part.targets]
    assert all(any(fnmatchcase(name, pattern.replace("[", "[[]")) for pattern in LARGE_LIMITS) for name in names)


def test_a_run_prints_keeps_and_summarises_its_figures(benchmarks, settings, monkeypatch, capsys, tmp_path):
    def part(given):
        found = benchmarks.results.Part(name="speed", title="Speed", when="now")
        found.targets = [
            benchmarks.results.Target(what="fast", limit=2, measured=1.5, unit=" s"),
            benchmarks.results.Target(what="small", limit=2, measured=2.5, unit=" MB"),
        ]
        found.show(benchmarks.results.Grid(title="Rows:", header=("n", "text"), rows=[(given.rows, "a"), (None, "b")]))
        return found

    monkeypatch.setitem(benchmarks.__main__._PARTS, "speed", part)
    assert benchmarks.__main__.main(["speed", "--rows", "123456", "--results", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "numba: " in printed
    assert "| fast  | 2 s" in printed
    assert "| 123,456 | a    |" in printed
    assert json.loads((tmp_path / "speed.json").read_text())["figures"]["Rows:"]["rows"][0] == [123456, "a"]
    summary = (tmp_path / "RESULTS.md").read_text()
    cells = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in summary.splitlines() if line.startswith("| `")
    ]
    assert [line[:3] for line in cells] == [["`speed`", "[Speed](speed.md)", "1 of 2"]]
    assert "Parts without a full run: " in summary
    page = (tmp_path / "speed.md").read_text()
    assert page.startswith("# Speed\n")
    assert "| fast  | 2 s" in page

    assert benchmarks.__main__.main(["speed", "--quick", "--results", str(tmp_path)]) == 0
    assert (tmp_path / "RESULTS.md").read_text() == summary


def test_a_run_goes_on_where_it_was_interrupted_and_marks_what_is_of_an_earlier_commit(
    benchmarks, settings, monkeypatch, capsys, tmp_path
):
    runs = []

    def part(name):
        def measure(given):
            runs.append(name)
            found = benchmarks.results.Part(name=name, title=name, when="commit x, 2026-11-22 10:00 UTC, load")
            found.targets = [benchmarks.results.Target(what=f"{name} is fast", limit=2, measured=1.5)]
            return found

        return measure

    parts = {name: part(name) for name in ("speed", "stars")}
    monkeypatch.setattr(benchmarks.__main__, "_PARTS", parts)
    commit = {"commit": "abc1"}
    machine = benchmarks.results.describe_machine
    monkeypatch.setattr(benchmarks.results, "describe_machine", lambda: {**machine(), **commit})
    resume = ["--resume", "--results", str(tmp_path)]
    assert benchmarks.__main__.main(["speed", "--results", str(tmp_path)]) == 0
    assert benchmarks.__main__.main(resume) == 0
    assert runs == ["speed", "stars"], "what was measured at this commit is not measured again"
    commit["commit"] = "abc2 with changes in src"
    assert benchmarks.__main__.main(["stars", *resume]) == 0
    assert runs == ["speed", "stars", "stars"], "figures of changed sources are of no commit"
    commit["commit"] = "abc3"
    stored = json.loads((tmp_path / "stars.json").read_text())
    (tmp_path / "stars.json").write_text(json.dumps({**stored, "when": "commit abc3, 2026-11-23 10:00 UTC, load"}))
    benchmarks.results.write_summary(tmp_path, tmp_path / "RESULTS.md", parts)
    text = (tmp_path / "RESULTS.md").read_text()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| `")]
    assert [(line[0], line[-1]) for line in cells] == [("`speed`", "abc1"), ("`stars`", "abc2 with changes in src")]


def test_each_part_runs_in_a_test(benchmarks):
    tested = Path(__file__).read_text(encoding="utf-8")
    modules = {part.__module__.removeprefix("benchmarks.") for part in benchmarks.__main__._PARTS.values()}
    assert not [name for name in modules if not re.search(rf"benchmarks\.{name}\b", tested)]


def test_what_people_wait_for_is_measured(benchmarks, settings, monkeypatch):
    commands = []
    monkeypatch.setattr(benchmarks.waiting, "command_seconds", lambda command, **_: commands.append(command) or 12.5)
    part = benchmarks.waiting.measure(settings)
    looked, demo, page, added = part.targets
    assert looked.measured > 0.1
    assert [row[:2] for row in next(iter(part.figures.values()))["rows"]] == [[3_000, 20]]
    assert commands[0][-4:-1] == ["demo", "--force", "-o"]
    assert (demo.measured, demo.met) == (12.5, True)
    assert 0.05 < page.measured < 60
    assert 1 < added.measured < 20
    assert fit(WAITING_LIMITS, {one.what.replace("3,000 rows", "1,000,000 rows") for one in part.targets})


def test_ends_of_intervals_are_measured(benchmarks, settings, monkeypatch):
    frame = pl.DataFrame({"age": [20 + row * 7 % 50 for row in range(120)], "told": [row % 3 for row in range(120)]})
    monkeypatch.setattr(benchmarks.ends, "_tables", lambda settings: [("Adult, cut", frame, ("age",))])
    part = benchmarks.ends.measure(settings)
    (rows,) = (figure["rows"] for figure in part.figures.values())
    assert [row[1] for row in rows] == ["mondrian", "hilbert", "cluster"]
    assert all(row[4] >= row[3] > 0 for row in rows), "wider ends never lose less"
    assert [one.measured >= 1 for one in part.targets] == [True] * 3
    assert fit(ENDS_LIMITS, {one.what for one in part.targets})


def test_a_ledger_is_measured_over_a_series(benchmarks, settings, monkeypatch):
    monkeypatch.setattr(benchmarks.ledger, "_RELEASES", 4)
    part = benchmarks.ledger.measure(replace(settings, fixed_volume=200, rows=3_000))
    whole, growth, missing = part.targets
    (grid,) = part.figures.values()
    assert [row[:2] for row in grid["rows"]] == [[1_000, 1], [1_000, 2], [10_000, 1], [10_000, 2]]
    assert min(row[2] for row in grid["rows"]) > 0.001
    assert grid["rows"][1][4] == 1_200
    assert whole.measured < 60
    assert 0.2 < growth.measured < 1.3
    assert (missing.limit, missing.measured) == (0, 0)
    told = {one.what.replace("10,000 people alive", "2,000,000 people alive") for one in part.targets}
    assert fit(LEDGER_LIMITS, told)


def test_real_tables_say_what_every_algorithm_makes_of_them(benchmarks, settings, monkeypatch):
    import shoal

    demo = shoal.datasets.demo()
    monkeypatch.setattr(shoal.datasets, "demo", lambda: replace(demo, frame=demo.frame.head(1_000)))
    part = benchmarks.adult.measure(settings)
    assert any("no copy of Adult" in block[0] for block in part.blocks)
    assert "demo allows no release with l = 6." in [block[0] for block in part.blocks]
    rows = part.figures["demo, suppression: cells and tuples that are not published as they were:"]["rows"]
    assert {row[0] for row in rows} == {"l = 2", "l = 4", "k = 5"}
    assert all(row[2] >= row[4] > 0 for row in rows)


def test_every_algorithm_is_compared_with_hierarchies_and_without(benchmarks, settings, monkeypatch, tmp_path):
    frame = shoal.datasets.census(120, quasi_identifiers=7, seed=1)
    names = (*benchmarks.matching._QUASI_IDENTIFIERS, benchmarks.matching._SENSITIVE)
    frame = frame.rename(dict(zip(frame.columns, names, strict=True)))
    frame.with_columns(frame[names[0]].alias("salary-class")).write_csv(tmp_path / "adult.csv", separator=";")
    part = benchmarks.comparison
    monkeypatch.setattr(part, "_REQUESTS", {"k = 5": [shoal.KAnonymity(5)]})
    monkeypatch.setattr(part, "_WARM_UP_ROWS", 40)
    monkeypatch.setattr("shoal.algorithms.bounds.loss._WORK_OF_PRICES", 10**4)  # bounds are not shown
    monkeypatch.setattr("shoal.algorithms.bounds.loss._WORK_OF_LISTING", 10**4)
    there = replace(settings, adult=tmp_path / "adult.csv")
    with monkeypatch.context() as patch:
        patch.setattr(part, "ALGORITHMS", {name: part.ALGORITHMS[name] for name in ("mondrian", "tp+")})
        found = part.measure(there)
    assert any("hierarchies of Adult are not beside" in block[0] for block in found.blocks)
    assert list(found.figures) == ["Adult with intervals and sets:"]
    for name in names[:-1]:
        tree = shoal.hierarchy.frequency_hierarchy(frame[name])
        tree.to_csv(tmp_path / f"adult_hierarchy_{name}.csv")
    found = part.measure(there)
    assert [target.limit for target in found.targets] == [2.5, 1.1]
    able = part._able([shoal.KAnonymity(5)], "occupation")
    for grid, kind in zip(found.figures.values(), ("with hierarchies", "with intervals and sets"), strict=True):
        measured = [row for row in grid["rows"] if row[-1] is not None]
        assert [row[1] for row in measured] == able
        assert all(0 <= row[2] <= 100 and 0 <= row[3] <= 1 and row[6] * 5 <= 120 for row in measured)
        assert len(grid["rows"]) == len(able) + sum(asked == "k = 5" for asked, *_ in part._RIVALS[kind])
    assert "no copy of Adult" in part.measure(settings).text()


def test_regions_are_held_against_the_tree_and_the_bound(benchmarks, settings, monkeypatch, tmp_path):
    pytest.importorskip("libpysal")
    pytest.importorskip("geopandas")
    import gzip

    edges = [(v, v + 1) for v in range(24) if v % 5 < 4] + [(v, v + 5) for v in range(20)]
    folder = tmp_path / "maps"
    folder.mkdir()
    with gzip.open(folder / "us_counties_edges_planar.csv.gz", "wt") as file:
        file.write("fips_a,fips_b\n" + "".join(f"{a:05},{b:05}\n" for a, b in edges))
    with gzip.open(folder / "us_counties_nodes.csv.gz", "wt") as file:
        file.write("fips,population_2019,in_main_component\n" + "".join(f"{v:05},300000,True\n" for v in range(25)))
    monkeypatch.setattr(benchmarks.regions, "_EXAMPLES", benchmarks.regions._EXAMPLES[1:2])
    part = benchmarks.regions.measure(replace(settings, counties=folder))
    assert len(part.targets) == 6
    assert all(target.met for target in part.targets[1::2]), "a small map takes no time"
    maps = next(figure for title, figure in part.figures.items() if title.startswith("Maps"))
    assert len(maps["rows"]) == 4
    assert all(row[2] >= row[3] >= row[5] >= row[7] for row in maps["rows"])
    assert "no graph of the US counties" in benchmarks.regions.measure(settings).text()


def test_groupings_of_one_attribute(benchmarks, settings, tmp_path):
    figure = benchmarks.figure7.measure(settings)
    draws_its_figures(benchmarks, figure, tmp_path)
    assert {target.measured for target in figure.targets if "proof" in target.what or "rival" in target.what} == {0}
    for grid in figure.figures.values():
        assert grid["header"][-2:] == ["ours", "lower bound"]
        for _, *rivals, ours, bound in grid["rows"]:
            assert bound == ours <= min(rivals)
    points = benchmarks.plane.measure_points(settings)
    assert len(points.figures["Rectangles"]["rows"]) == 3
    assert all(target.met for target in points.targets if "Theorem 4" in target.what)
    ordered = benchmarks.plane.measure_ordered(settings)
    assert all(row[-1] for (grid,) in [ordered.figures.values()] for row in grid["rows"])


def test_proven_optima_are_timed_and_the_heuristics_are_never_below(benchmarks, settings, monkeypatch):
    monkeypatch.setattr(benchmarks.exact, "_ROWS", {6: 1.0, 7: 3.0})
    monkeypatch.setattr(benchmarks.exact, "_PROGRAM_SECONDS", 0.2)
    part = benchmarks.exact.measure(settings)
    assert [target.limit for target in part.targets] == [1.0, 3.0, 2.0]
    rows = part.figures["exact:"]["rows"]
    assert len(rows) == 2 * 2 * 7
    assert all(row[3] >= 0 and row[4] > 0 for row in rows)
    found = part.figures["milp:"]
    assert len(found["rows"]) == 4
    heuristics = ["tp", "tp+", "hilbert", "mondrian", "mondrian-relaxed", "m-approximation", "patterns", "sabre"]
    heuristics += ["cluster", "tds", "full-domain", "transparent", "safepub"]
    assert found["header"][7:] == heuristics
    for _, _, _, stars, bound, gap, seconds, *others in found["rows"]:
        assert bound <= stars <= min(one for one in others if one is not None)
        assert 0 <= gap <= 100
        assert seconds > 0


def test_matching_is_proven_beside_its_heuristics(benchmarks, settings, monkeypatch, tmp_path):
    frame = shoal.datasets.census(300, quasi_identifiers=7, seed=1)
    adult = tmp_path / "adult.csv"
    names = (*benchmarks.matching._QUASI_IDENTIFIERS, benchmarks.matching._SENSITIVE)
    frame.rename(dict(zip(frame.columns, names, strict=True))).write_csv(adult, separator=";")
    monkeypatch.setattr(benchmarks.matching, "_TARGET_ROWS", 60)
    monkeypatch.setattr(benchmarks.matching, "_LARGER", (90, 120))
    part = benchmarks.matching.measure(replace(settings, adult=adult))
    assert [target.limit for target in part.targets] == [60, 60]
    assert all(target.met for target in part.targets)
    (grid,) = part.figures.values()
    for _, _, _, stars, bound, heuristic, _, note in grid["rows"]:
        assert stars == bound <= heuristic
        assert note == "optimal"
    assert "no copy of Adult" in benchmarks.matching.measure(settings).text()


def test_attacks_are_measured_beside_their_baselines(benchmarks, settings, monkeypatch):
    monkeypatch.setattr(benchmarks.attacks, "_ATTACKED", 800)
    part = benchmarks.attacks.measure(settings)
    linking, rates = (figure["rows"] for figure in part.figures.values())
    assert [row[0] for row in linking] == [30, 30, 300, 300]
    assert [target.met for target in part.targets] == [True]
    assert len(rates) == 2 * 5
    assert all(0 <= row[column] <= 1 for row in rates for column in (2, 3, 4))


def test_patterns_are_measured_from_the_greedy_choice_to_the_proof(benchmarks, settings, monkeypatch, tmp_path):
    part = benchmarks.patterns
    monkeypatch.setattr(part, "_limit", lambda _: 1.0)
    without = part.measure(settings)
    speed, over_k = without.figures.values()
    assert [row[:2] for row in speed["rows"]] == [["300", "greedy"], ["300", "improved"]]
    by_k = {(row[0], row[1]): row[2] for row in over_k["rows"]}
    for k in (2, 5):
        assert by_k[k, "patterns-optimal"] <= by_k[k, "improved"] <= by_k[k, "greedy"]
    assert not without.targets, "only Adult has targets"
    assert speed["rows"][1][5] <= speed["rows"][0][5], "the improvement never has more stars"
    frame = shoal.datasets.census(200, quasi_identifiers=7, seed=1)
    adult = tmp_path / "adult.csv"
    frame.rename(dict(zip(frame.columns, part._ADULT, strict=True))).write_csv(adult, separator=";")
    monkeypatch.setattr(part, "_SAMPLES", ((60, 20.0),))
    monkeypatch.setattr(part, "_K_VALUES", (2,))
    monkeypatch.setattr(part, "_BUSY", 1)
    found = part.measure(replace(settings, adult=adult))
    _, _, quality, counts, samples = (figure["rows"] for figure in found.figures.values())
    greedy, improved, best, _ = (row[2] for row in quality)
    assert best <= improved <= greedy
    assert [row[0] for row in counts[::2]] == sorted(row[0] for row in counts[::2])
    assert samples[0][2] >= samples[0][3] > 0
    assert [target.limit for target in found.targets] == [1.1, 1.0, 0.0]
    draws_its_figures(benchmarks, found, tmp_path)
    monkeypatch.setattr(part, "_LARGER_SAMPLE", 90)
    assert part._LIMIT_SECONDS <= 600, "ten minutes are allowed"
    monkeypatch.setattr(part, "_LIMIT_SECONDS", 20.0)
    monkeypatch.setattr(part, "_speed", lambda *_: None)
    whole = part.measure(replace(settings, adult=adult, quick=False))
    assert [row[0] for row in whole.figures[list(whole.figures)[-1]]["rows"]] == [60, 90]
    assert [target.limit for target in whole.targets] == [1.1, 1.0, 0.0, 0.7, 1.0]
    assert whole.targets[-1].measured <= 100


def test_compiling_is_measured_from_an_empty_cache_and_from_a_full_one(benchmarks, settings, monkeypatch):
    part, caches = benchmarks.compiling, []

    def compiled(algorithm, cache):
        (Path(cache) / "one.nbi").write_bytes(b"x" * 1000)
        caches.append((algorithm, len(list(Path(cache).iterdir()))))
        return part.Compiled(seconds=9.0, rest=1.0, functions={"f": 9.0})

    monkeypatch.setattr(part, "compiled", compiled)
    found = part.measure(settings)
    assert caches[:2] == [("tp", 1), ("tp", 1)], "the second run has the cache of the first"
    assert {target.what: target.met for target in found.targets} == {
        f"compiling what {name} uses, CPU": limit >= 9 for name, limit in part.LIMITS.items()
    }


def test_republication_is_measured_over_a_history(benchmarks, settings, tmp_path):
    part = benchmarks.republish.measure(settings)
    draws_its_figures(benchmarks, part, tmp_path)
    measured = {target.what: target.measured for target in part.targets}
    for name in ("OCC", "SAL"):
        title = f"{name}, the first release with m = 4: what independence and what boxes cost:"
        costs = part.figures[title]["rows"]
        assert [row[0] for row in costs] == ["independent", "independent, near values", "l-diversity by Mondrian"]
        assert all(one > 0 for row in costs for one in row[1:])
        for balancing in ("independent", "fewest", "independent, near values"):
            what = f"{name}, m = 4, r = 500, {balancing}: "
            assert measured[what + "vulnerable people"] == 0
            assert measured[what + "greatest confidence"] <= 1 / 4
            history = part.figures[what + "counterfeits (Figure 5):"]
            counts = [int(one) for _, line in history["rows"] for one in line.split()]
            assert len(counts) == 1 + 2_000 // 500
            assert measured[what + "most counterfeits of a release"] == max(counts)
        assert part.figures[f"{name}: l-diversity by Mondrian (Figure 4):"]["rows"][0][:3] == [1_000, 2, 3]


def test_what_independence_costs_is_the_error_of_each_persons_own_cell_with_the_values_of_the_group(
    benchmarks, settings
):
    republish = benchmarks.republish
    people = republish.People.of(settings, "income")
    codes = people.codes[next(people.history(settings, 500))]
    queries = random_ranges(people.sizes, 0.1, 200, np.random.default_rng(3))
    own = np.ascontiguousarray(codes[:, :-1])
    for releases in (
        republish._invariant(people, settings, 4, 500, "independent"),
        republish._diverse(people, settings, 4, 500),  # groups of several sizes
    ):
        one = next(releases)
        alone = workload_error(codes, (own, own), np.ones(len(own), dtype=np.int64), one.values[one.groups], queries)
        assert republish._error_of_exact_cells(codes, one, people.sizes, queries) == pytest.approx(alone)
        dealt = republish._dealt_anew(codes, one.groups, 1)
        assert (dealt[:, :-1] == own).all()
        assert (dealt != codes).any()
        for group in range(5):
            assert sorted(dealt[one.groups == group, -1]) == sorted(codes[one.groups == group, -1])


def fit(patterns, names):
    """Return whether each name fits a pattern, and each pattern a name."""
    fits = [[fnmatchcase(name, pattern.replace("[", "[[]")) for name in names] for pattern in patterns]
    return all(map(any, fits)) and all(map(any, zip(*fits, strict=True)))


def test_linked_rows_are_measured_beside_their_neighbours(benchmarks, settings):
    part = benchmarks.linked.measure(settings)
    rows, *_ = (figure["rows"] for figure in part.figures.values())
    assert [row[0].rpartition("= ")[2] for row in rows] == ["3", "5", "11"] * 2
    for _, lost, least, stars, bound, gap, left_out, fewest, unlinked, one_row, whole_persons, one_cell, _ in rows:
        assert 0 < unlinked <= lost
        assert stars >= bound > 0
        assert gap == stars / bound
        assert 0 < least <= lost
        assert left_out >= fewest >= 0
        assert 0 < lost <= whole_persons
        assert 0 < one_row < 100
        assert lost <= one_cell + 5, "wide records are grouped by the columns of all rows together, too"


def test_sets_lose_less_than_all_columns_together(benchmarks, settings):
    part = benchmarks.sets.measure(settings)
    (rows,) = (figure["rows"] for figure in part.figures.values())
    for _, sets, stars, share, bound, gap, together, _ in rows:
        assert sets > 1
        assert 0 < bound <= stars < together
        assert gap == pytest.approx(stars / bound)
        assert 0 < share < 100


def test_an_effort_never_leaves_more_stars_and_no_fewer_than_the_bound(benchmarks, settings):
    part = benchmarks.effort.measure(settings)
    assert [target.what.partition(":")[0] for target in part.targets] == ["SAL", "OCC"]
    for grid, target in zip(part.figures.values(), part.targets, strict=True):
        assert [row[0] for row in grid["rows"]] == [2, 4]
        assert all(usual >= best >= bound > 0 for _, usual, best, bound, *_ in grid["rows"])
        best, bound = (sum(row[column] for row in grid["rows"]) for column in (2, 3))
        assert target.measured == pytest.approx(best / bound)
    told = {target.what.replace("d = 2, l = 2..4", "d = 4, l = 2..10") for target in part.targets}
    assert fit(EFFORT_LIMITS, told)


def test_demanding_tables_are_published(benchmarks, settings, monkeypatch):
    monkeypatch.setattr(benchmarks.demanding, "_QUICK", 200)
    part = benchmarks.demanding.measure(settings)
    stars, loss, large = (figure["rows"] for figure in part.figures.values())
    assert [row[0] for row in stars] == ["auto", "cluster", "hilbert"]
    assert part.targets[0].measured == stars[0][1] / min(row[1] for row in stars)
    assert [target.limit for target in part.targets] == [1.03, 200, 200, 2.15]
    assert all(0 < row[2] <= 100 and row[3] > 0 for row in loss)
    assert part.targets[3].measured == large[0][1] / large[0][2] >= 1
    full = {f"{rows // 200:,} rows": f"{rows:,} rows" for rows in (101_766, 99_762, 1_048_575)}
    full["29 attributes"] = "299 attributes"
    told = {target.what for target in part.targets}
    for short, long in full.items():
        told = {what.replace(short, long) for what in told}
    assert fit(DEMANDING_LIMITS, told)


def test_nobody_fits_two_groups_of_strict_mondrian(benchmarks, settings):
    republish = benchmarks.republish
    people = republish.People.of(settings, "income")
    present = next(people.history(settings, 500))
    (one,) = list(republish._diverse(people, settings, 4, 4_000))[:1]
    carried = np.left_shift(np.uint64(1), np.arange(len(one.people), dtype=np.uint64) % np.uint64(64))
    assert len(one.people) > 3
    assert np.array_equal(carried[one.groups], republish._of_all_groups(people.codes[present], one, carried))


def test_the_tuner_is_held_against_no_coarsening(benchmarks, settings, tmp_path, monkeypatch):
    demo = shoal.datasets.demo()
    monkeypatch.setattr(shoal.datasets, "demo", lambda: replace(demo, frame=demo.frame.head(1_000)))
    frame = shoal.datasets.census(600, quasi_identifiers=7, seed=1)
    adult = tmp_path / "adult.csv"
    names = (*benchmarks.tune._QUASI_IDENTIFIERS, benchmarks.tune._SENSITIVE)
    frame.rename(dict(zip(frame.columns, names, strict=True))).write_csv(adult, separator=";")
    ages = sorted(set(frame.to_series(1)))
    (tmp_path / "adult_hierarchy_age.csv").write_text("".join(f"{age};{age // 10}x;*\n" for age in ages))
    part = benchmarks.tune.measure(replace(settings, adult=adult))
    assert [target.limit for target in part.targets] == [0.9999, 60]
    assert part.targets[0].measured <= 1
    (grid,) = part.figures.values()
    assert len(grid["rows"]) == 6
    for _, _, _, untouched, best, coarse, *_ in grid["rows"]:
        assert 0 <= coarse <= best <= untouched
    assert "no copy of Adult" in benchmarks.tune.measure(settings).text()


def test_full_domain_generalization_is_timed_by_limit_and_local_recoding_loses_less(benchmarks, settings, tmp_path):
    frame = shoal.datasets.census(400, quasi_identifiers=7, seed=1)
    names = (*benchmarks.full_domain._SEVEN, benchmarks.full_domain._SENSITIVE)
    frame = frame.rename(dict(zip(frame.columns, names, strict=True))).with_columns(
        frame[:, 1].alias("salary-class") % 2
    )
    frame.write_csv(tmp_path / "adult.csv", separator=";")
    for name in frame.columns:
        values = sorted(set(map(str, frame[name])))
        lines = "".join(f"{value};{name} {len(value)}x;*\n" for value in values)
        (tmp_path / f"adult_hierarchy_{name}.csv").write_text(lines)
    part = benchmarks.full_domain.measure(replace(settings, adult=tmp_path / "adult.csv"))
    best, local = part.figures.values()
    assert len(best["rows"]) == 12
    for attributes, _, limit, _, nodes, evaluated, optimum, gcp, hidden, _ in best["rows"]:
        if optimum == "infeasible":
            continue
        assert optimum == pytest.approx(gcp)
        assert evaluated <= nodes <= 3**attributes
        assert hidden <= 400 * {"0%": 0, "5%": 0.05, "100%": 1}[limit]
    losses = {row[1]: row[6] for row in best["rows"] if row[2] == "100%" and row[0] == 7}
    both = [(percent, losses[request]) for request, percent, *_ in local["rows"] if request in losses]
    assert len(both) == len(losses)
    assert all(percent <= 100 * loss + 1e-9 for percent, loss in both)
    assert "no copy of Adult" in benchmarks.full_domain.measure(settings).text()


def test_the_same_releases_have_the_same_hashes(benchmarks, capsys, tmp_path):
    few = ["--rows", "90", "--adult-rows", "90", "--few", "8", "--only", "mondrian", "--adult", str(tmp_path / "none")]
    found = []
    for _ in range(2):
        assert benchmarks.same_releases.main(few) == 0
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        found.append({line["release"]: line.get("sha256", line.get("error")) for line in lines})
    assert found[0] == found[1]
    assert len(found[0]) == 12
    assert len(set(found[0].values())) > 4


def test_points_of_a_figure_are_those_of_the_table(benchmarks):
    tables = {"Figure 2: stars": {"header": ["l", "SAL tp", "OCC tp"], "rows": [[2, 10, 20], [4, None, 30]]}}
    sal, occ = benchmarks.figures.wide("Figure 2")(tables)
    assert (sal.title, sal.curves) == ("SAL", {"tp": [(2, 10)]})
    assert (occ.title, occ.curves) == ("OCC", {"tp": [(2, 20), (4, 30)]})
    panels = {figure.name: figure.panels for figure in benchmarks.figures.FIGURES}
    names = {"header": ["k", "sorted fold", "ours"], "rows": [["10 to 20", 1.5, 1.1], ["21 to 30", 1.4, None]]}
    (female,) = panels["geography-7-overfull-ratio"]({"FEMALE-1990, 4,275 names": names})
    assert female.title == "FEMALE-1990"
    assert female.curves == {"sorted fold": [(15, 1.5), (25.5, 1.4)], "ours": [(15, 1.1)]}
    ended = {"header": ["l", "phase one", "phase three"], "rows": [[2, 5, 0], ["all", 5, 0]]}
    (phases,) = panels["l-diversity-phases"]({"How often each phase ended TP:": ended})
    assert phases.curves == {"phase one": [(2, 5)], "phase three": [(2, 0)]}


CELLS = {
    "*": 5,
    "": 5,
    "25": 1,
    "20-29": 2,
    "[20, 30]": 3,
    "[20, 30[": 2,
    "]20, 30]": 2,
    "20 - 25": 2,
    "{20, 40}": 2,
    "20,40": 2,
    "young": 2,
    "71": 0,
}


def test_published_cells_of_any_tool_are_read(benchmarks):
    values, leaves = ["20", "25", "30", "40", "50"], {"young": frozenset({"20", "25", "99"})}
    assert {cell: len(benchmarks.rivals.values_of_cell(cell, values, leaves)) for cell in CELLS} == CELLS
    names = ["a-b", "c", "d"]
    assert benchmarks.rivals.values_of_cell("a-b-c", names, {}) == {"a-b", "c"}


def test_another_tool_is_judged_by_the_file_that_it_published(benchmarks, settings, monkeypatch, tmp_path):
    rivals = benchmarks.rivals
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


def test_the_memory_of_a_program_is_its_own(benchmarks):
    ballast = bytearray(400_000_000)
    ballast[::4096] = b"x" * len(ballast[::4096])
    run = benchmarks.rivals.run_program
    idle = run([benchmarks.rivals.sys.executable, "-S", "-c", "import time; time.sleep(0.3)"], 30)
    filled = "import time; x = bytearray(10**8); x[::4096] = b'x' * len(x[::4096]); time.sleep(0.3)"
    full = run([benchmarks.rivals.sys.executable, "-S", "-c", filled], 30)
    assert len(ballast) > 1e8 * 3
    assert 1 < idle.megabytes < 60
    assert 90 < full.megabytes < 200


def test_a_tool_that_took_too_long_is_not_asked_for_more(benchmarks, settings, monkeypatch, tmp_path):
    rivals = benchmarks.rivals
    script = tmp_path / "slow.py"
    script.write_text("import time\ntime.sleep(60)\n")
    monkeypatch.setattr(rivals, "TOOLS", (rivals.Tool(name="slow", script=str(script), pins=("slow==1",)),))
    monkeypatch.setattr(rivals, "READER", rivals.Tool(name="none", script=str(tmp_path / "no"), pins=("none==2",)))
    monkeypatch.setattr(rivals, "environment", lambda pins: rivals.sys.executable)
    monkeypatch.setattr(rivals, "_shoal", lambda *_: rivals.Run(seconds=0, cpu=0, megabytes=0, failed="failed"))
    part = rivals.measure(replace(settings, rows=0, csv_rows=400, rival_seconds=0.5))
    (table,) = part.figures.values()
    said = {row[0]: row[-1] for row in table["rows"] if row[1] == "slow 1"}
    assert said == {"k = 5": "no result in 0 s", "k = 5, l = 3 (distinct)": "not asked: no result for less"}


def test_every_part_says_how_long_it_took_and_the_run_how_much_is_left(benchmarks, monkeypatch, capsys, tmp_path):
    def measure(given):
        end = benchmarks.harness.cpu_of_all_processes() + 0.2
        while benchmarks.harness.cpu_of_all_processes() < end:
            pass
        return benchmarks.results.Part(name="speed", title="Speed")

    monkeypatch.setattr(benchmarks.__main__, "_PARTS", {"speed": measure, "stars": measure})
    monkeypatch.setattr(benchmarks.durations, "MINUTES", {"speed": 4.0, "stars": 9.0})
    assert benchmarks.__main__.main(["speed", "stars", "--results", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "Left: speed, stars; about 13 minutes" in printed
    assert "Left: stars; about 9 minutes" in printed
    stored = json.loads((tmp_path / "speed.json").read_text())
    assert 0.2 <= stored["processor_seconds"] <= stored["seconds"] + 0.1
    assert "; took 0.0 min, 0.0 min of CPU_" in (tmp_path / "speed.md").read_text()
    assert benchmarks.durations.minutes_of("speed", tmp_path) == stored["seconds"] / 60, "the last run knows better"
    assert benchmarks.durations.minutes_of("stars", tmp_path / "nowhere") == 9


def test_a_full_run_ends_within_three_hours(benchmarks):
    parts = benchmarks.__main__._PARTS
    assert set(parts) <= set(benchmarks.durations.MINUTES), "every part has an estimate"
    assert sum(benchmarks.durations.MINUTES[name] for name in parts) <= 172


def test_refinement_and_singling_out_are_measured_by_way(benchmarks, settings, monkeypatch):
    monkeypatch.setattr(
        benchmarks.refinement, "_WAYS", (("mondrian", "generalization"), ("transparent", "suppression"))
    )
    monkeypatch.setattr(benchmarks.refinement, "_COMPARED", [("mondrian", "generalization", False)])
    tables = list(benchmarks.refinement._tables(settings))
    small = [(name, frame.head(150), trees) for name, frame, trees in tables[:1]]
    monkeypatch.setattr(benchmarks.refinement, "_tables", lambda _: iter(small))
    part = benchmarks.refinement.measure(settings)
    grids = list(part.figures.values())
    assert [row[1:4] for row in grids[0]["rows"]] == [
        ["mondrian", "generalization", "exact"], ["mondrian", "generalization", "shared"],
        ["transparent", "suppression", "-"],
    ]  # fmt: skip
    assert all(len(grid["rows"]) in (1, 3) for grid in grids)


def test_the_page_of_other_tools_shows_the_newest_chart():
    charts = [ROOT / folder / "beside-others.svg" for folder in ("benchmarks/figures", "docs/_static")]
    assert charts[0].read_bytes() == charts[1].read_bytes()
