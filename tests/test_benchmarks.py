"""The benchmarks run on small tables, and what they print is what they measured."""

from __future__ import annotations

import importlib
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

import shoal

ROOT = Path(__file__).resolve().parent.parent
MODULES = (
    "__main__",
    "adult",
    "automatic",
    "closeness",
    "comparison",
    "compiling",
    "divergence",
    "emd",
    "exact",
    "figure7",
    "full_domain",
    "harness",
    "local",
    "machine",
    "matching",
    "minimality",
    "paper",
    "plane",
    "regions",
    "republish",
    "results",
    "risk",
    "rows",
    "same_releases",
    "settings",
    "speed",
    "stars",
    "starting",
    "sweep",
    "tune",
)


@pytest.fixture
def benchmarks(monkeypatch):
    """Return the modules of the benchmarks, which are not part of the package."""
    monkeypatch.syspath_prepend(str(ROOT))
    return SimpleNamespace(**{name: importlib.import_module(f"benchmarks.{name}") for name in MODULES})


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
        queried_releases=2,
        tuning_seconds=0.2,
        quick=True,
        results=tmp_path,
    )


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


def test_divergences_of_every_table_are_averaged(benchmarks, settings):
    part = benchmarks.divergence.measure(settings)
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


def test_stars_and_the_papers_figures_are_tables_of_the_sweep(benchmarks, settings):
    stars = benchmarks.stars.measure(settings)
    sweep = [one for one in benchmarks.sweep.run_sweep(settings) if one.stars and one.table == "SAL"]
    over_l = stars.figures["SAL: average stars over l, d = 2:"]
    average = sum(one.stars["tp+"] for one in sweep if one.l == 2) / 2
    assert over_l["rows"][0][:3] == [2, 2, round(average)]
    assert all(
        row[1] == 0 for row in stars.figures["What should not happen, in 16 pairs of a table and an l:"]["rows"][:4]
    )
    assert {target.limit for target in stars.targets} == {0.40, 1.03}

    paper = benchmarks.paper.measure(settings)
    phases = next(figure for title, figure in paper.figures.items() if title.startswith("How often"))
    assert sum(phases["rows"][-1][1:]) == 24
    assert "Figure 6: seconds over n (d = 2, l = 4):" in paper.figures
    assert "Figure 8" in paper.text()


def test_speed_measures_ratios_growth_and_commands(benchmarks, settings, monkeypatch):
    commands, published = [], []
    memory = benchmarks.harness.Memory(peak=400_000_000, before=1, arrow=10_000_000)
    monkeypatch.setattr(benchmarks.speed, "peak_memory", lambda frame, **_: published.append(len(frame)) or memory)
    monkeypatch.setattr(benchmarks.speed, "command_seconds", lambda command, **_: commands.append(command) or 0.1)
    part = benchmarks.speed.measure(settings)
    ratios = part.figures["Times against the yardstick, in seconds:"]["rows"]
    assert [row[0] for row in ratios] == [4] * 5
    assert all(row[3] <= row[2] <= row[4] and row[6] == pytest.approx(row[2] / row[5]) for row in ratios)
    assert published == [3_000, 3_000, 6_000, 6_000]
    over = [target for target in part.targets if target.what.startswith("peak memory")]
    assert {(target.limit, target.measured, target.met) for target in over} == {(360.0, 400.0, False)}
    assert commands[0][-1] == "version"
    assert [command.count("anonymize") for command in commands] == [0, 1, 1]


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
    assert found["run"] == "census-like, d = 4, l = 6, tp+, Parquet, 200 rows"
    assert found["ratio"] == found["seconds"] / found["there"]
    assert found["gcp %"] == found["at most"] > 0
    assert min(found["CPU"], found["CPU there"]) > 0.1
    assert found["peak MB"] > 50
    assert not part.targets  # small tables are start-up
    frame = pl.DataFrame({"a": range(1000), "b": [row % 2 for row in range(1000)]})
    drawn = benchmarks.rows._drawn(frame, 5_000, 0)
    assert drawn.equals(benchmarks.rows._drawn(frame, 5_000, 0))
    changed = (drawn["a"] % 2 != drawn["b"]).mean()
    assert 0.1 < changed < 0.2  # half of 1 - 0.85**2


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
    assert "1 of 2 targets are met." in summary
    assert summary.count("| small |") == 2

    assert benchmarks.__main__.main(["speed", "--quick", "--results", str(tmp_path)]) == 0
    assert (tmp_path / "RESULTS.md").read_text() == summary


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
    frame = shoal.datasets.census(300, quasi_identifiers=7, seed=1)
    names = (*benchmarks.matching._QUASI_IDENTIFIERS, benchmarks.matching._SENSITIVE)
    frame = frame.rename(dict(zip(frame.columns, names, strict=True)))
    frame.with_columns(frame[names[0]].alias("salary-class")).write_csv(tmp_path / "adult.csv", separator=";")
    part = benchmarks.comparison
    monkeypatch.setattr(part, "_REQUESTS", {"k = 5": [shoal.KAnonymity(5)]})
    there = replace(settings, adult=tmp_path / "adult.csv")
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
        assert all(0 <= row[2] <= 100 and 0 <= row[3] <= 1 and row[6] * 5 <= 300 for row in measured)
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


def test_groupings_of_one_attribute(benchmarks, settings):
    figure = benchmarks.figure7.measure(settings)
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
    heuristics += ["cluster", "tds", "full-domain"]
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


def test_republication_is_measured_over_a_history(benchmarks, settings):
    part = benchmarks.republish.measure(settings)
    measured = {target.what: target.measured for target in part.targets}
    for name in ("OCC", "SAL"):
        for balancing in ("independent", "fewest"):
            what = f"{name}, m = 4, r = 500, {balancing}: "
            assert measured[what + "vulnerable people"] == 0
            assert measured[what + "greatest confidence"] <= 1 / 4
            history = part.figures[what + "counterfeits (Figure 5):"]
            counts = [int(one) for _, line in history["rows"] for one in line.split()]
            assert len(counts) == 1 + 2_000 // 500
            assert measured[what + "most counterfeits of a release"] == max(counts)
        assert part.figures[f"{name}: l-diversity by Mondrian (Figure 4):"]["rows"][0][:3] == [1_000, 2, 3]


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
    losses = [row[6] for row in best["rows"] if row[2] == "100%" and row[0] == 7]
    assert all(percent <= 100 * loss + 1e-9 for (_, percent, *_), loss in zip(local["rows"], losses, strict=True))
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
