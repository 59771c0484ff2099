from __future__ import annotations

import itertools
import json
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.every import every

import shoal
from shoal.algorithms.base import Algorithm
from shoal.errors import ColumnError, InfeasibleError, ParameterError, UsageError
from shoal.grouping import Points
from shoal.hierarchy import OneValue
from shoal.verbs.explore import evaluation

TREE = shoal.Hierarchy.from_rows(
    [("a", "ab", "*"), ("b", "ab", "*"), ("c", "cd", "*"), ("d", "cd", "*"), ("e", "e", "*")], source="town.csv"
)
TABLE = pl.DataFrame(
    {
        "age": [20 + row * 7 % 23 for row in range(60)],
        "town": ["abcde"[row * row % 5] for row in range(60)],
        "disease": [f"Zyzzyva {row * 5 % 7}" for row in range(60)],
    }
)
REQUEST: dict[str, Any] = {
    "quasi_identifiers": ["age", "town"],
    "sensitive": "disease",
    "privacy": shoal.LDiversity(3),
}
LADDERS: dict[Any, Any] = {"age": [shoal.Bins(5), shoal.Bins(10), OneValue()], "town": [shoal.Level(TREE, 1)]}


def loss_of(release: shoal.Release, loss: str) -> Any:
    return getattr(release.metrics, loss)


@cache
def releases_of_settings(recoding: Any, insensitive: bool) -> dict[str, shoal.Release]:
    """Publish the table with each pair of rungs, without tuning; return the release of each setting."""
    table = TABLE.with_row_index("visit") if insensitive else TABLE
    request = REQUEST | {"insensitive": ["visit"] if insensitive else [], "recoding": recoding}
    found = {}
    for age, town in itertools.product([None, *LADDERS["age"]], [None, *LADDERS["town"]]):
        coarsen = {name: one for name, one in (("age", age), ("town", town)) if one is not None}
        key = json.dumps({name: one.to_dict() for name, one in coarsen.items()}, sort_keys=True)
        found[key] = shoal.anonymize(table, coarsen=coarsen, seed=3, **request)
    return found


@every("recoding", ["suppression", "generalization"], drawn=True)
@every("loss", ["kl_divergence", "gcp", "non_uniform_entropy"], drawn=True)
@every("insensitive", [False, True])
def test_every_setting_loses_what_its_release_loses(recoding: Any, loss: str, insensitive: bool) -> None:
    table = TABLE.with_row_index("visit") if insensitive else TABLE
    request = REQUEST | {"insensitive": ["visit"] if insensitive else [], "recoding": recoding}
    tuning = shoal.explore(table, loss=loss, coarsenings=LADDERS, seed=3, **request)
    assert tuning.ended == "complete"
    assert tuning.searched.size == len(tuning.rows) == 8
    found = {
        key: (loss_of(release, loss), release.metrics.stars, release.metrics.suppressed_tuples)
        for key, release in releases_of_settings(recoding, insensitive).items()
    }
    for setting in tuning.rows:
        of_setting = {str(name): rung.coarsening.to_dict() for name, rung in setting.rungs.items()}
        expected = found[json.dumps(of_setting, sort_keys=True)]
        assert setting.loss == pytest.approx(expected[0], abs=1e-12)
        assert (setting.figures["stars"], setting.figures["suppressed_tuples"]) == expected[1:]
    assert tuning.best.loss == min(setting.loss for setting in tuning.rows if setting.loss is not None)
    assert loss_of(tuning.choose(), loss) == pytest.approx(tuning.best.loss, abs=1e-12)


@pytest.mark.drawn
@settings(max_examples=25, deadline=None)
@given(st.data())
def test_it_is_never_worse_than_no_coarsening(data: st.DataObject) -> None:
    n = data.draw(st.integers(4, 20))
    table = pl.DataFrame(
        {
            "x": data.draw(st.lists(st.integers(0, 30), min_size=n, max_size=n)),
            "y": data.draw(st.lists(st.sampled_from("abcdef"), min_size=n, max_size=n)),
            "s": ["uvw"[row % 3] for row in range(n)],
        }
    )
    if table["x"].n_unique() < 2:
        return
    k = data.draw(st.integers(1, 3))
    tuning = shoal.explore(
        table, quasi_identifiers=["x", "y"], sensitive="s", privacy=shoal.KAnonymity(k), coarsenings=True
    )
    assert tuning.rows[0].loss is not None
    assert tuning.best.loss is not None
    assert tuning.best.loss <= tuning.rows[0].loss
    for setting in tuning.rows:
        coarse, added = setting.losses
        assert coarse >= 0
        assert added >= -1e-9
        assert setting.loss == pytest.approx(coarse + added)
    front = [setting.losses for setting in tuning.front]
    assert tuning.best.losses in front
    assert front == sorted(front)
    assert [added for _, added in front] == sorted((added for _, added in front), reverse=True)
    if k == 1:
        assert tuning.best is tuning.rows[0]


@pytest.mark.drawn
def test_the_same_input_gives_the_same_result() -> None:
    one, two = (shoal.explore(TABLE, **REQUEST, coarsenings=True).to_dict() for _ in range(2))
    figures = [[(row["coarsen"], row["loss"], row["stars"]) for row in result["rows"]] for result in (one, two)]
    assert figures[0] == figures[1]


@pytest.mark.drawn
def test_the_best_setting_in_all_its_forms(tmp_path: Path) -> None:
    asked = {**REQUEST, "recoding": "suppression", "seed": 1}
    tuning = shoal.explore(TABLE, hierarchies={"town": TREE}, **asked, coarsenings=True)
    assert tuning.best is not tuning.rows[0]
    spec = tomllib.loads(tuning.to_toml())
    assert spec == {"coarsen": tuning.words}
    assert set(tuning.coarsen) == {key for key, _ in tuning.best.rungs.items()}
    again = shoal.anonymize(TABLE, coarsen=tuning.coarsen, **asked)
    release = tuning.choose()
    assert release.certificate.parameters["coarsen"] == again.certificate.parameters["coarsen"] != {}
    assert release.data.equals(again.data)
    assert "trade" not in release.certificate.to_json()
    frame = tuning.to_frame()
    assert frame.height == len(tuning.rows)
    assert {"text", "loss", "loss_of_coarsening", "stars", "stars_share", "seconds"} <= set(frame.columns)
    assert json.loads(tuning.to_json())["best"] == tuning.best.text
    release.save(tmp_path / "out")
    page = (tmp_path / "out.private" / "report.html").read_text()
    assert "How coarse was best" in page
    assert "settings were tried" in page
    assert page.count("<svg") == 1
    assert page.count("(best, chosen)") == 1
    assert "http://" not in page.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", ""
    )
    tuning.save_plot(tmp_path / "curve.png")
    tuning.save_plot(tmp_path / "curve.svg")
    assert (tmp_path / "curve.svg").read_text().count("Zyzzyva") == 0
    assert "Zyzzyva" not in repr(tuning) + repr(tuning.best) + tuning.to_json()
    public = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert public["parameters"]["coarsen"] == {}, "what was chosen depends on the table"
    assert "<svg" not in (tmp_path / "out" / "report.html").read_text()


def test_the_release_is_of_the_kind_that_came_in() -> None:
    pandas = pytest.importorskip("pandas")
    frame = TABLE.to_pandas()
    tuning = shoal.explore(frame, coarsenings={"age": [shoal.Bins(10)]}, **REQUEST)
    assert isinstance(tuning.choose().data, pandas.DataFrame)


@pytest.mark.drawn
def test_a_hierarchy_counts_from_the_level_that_a_column_was_coarsened_to() -> None:
    request = REQUEST | {"recoding": "generalization", "hierarchies": {"town": TREE}}
    tuning = shoal.explore(TABLE, coarsenings={"town": [shoal.Level(TREE, 1)]}, seed=1, **request)
    by_town = [setting for setting in tuning.rows if "town" in setting.rungs]
    assert by_town
    assert all(setting.error is None for setting in by_town)
    release = shoal.anonymize(TABLE, coarsen={"town": shoal.Level(TREE, 1)}, seed=1, **request)
    assert set(release.data["town"]) <= {"ab", "cd", "e", "*"}
    assert release.metrics.gcp == pytest.approx(by_town[0].loss)


def test_coarsenings_that_must_be_count_and_stay() -> None:
    tuning = shoal.explore(TABLE, coarsen={"age": shoal.Bins(10)}, seed=1, **REQUEST, coarsenings=True)
    assert tuning.coarsen["age"] == shoal.Bins(10)
    assert tuning.words["age"] == "bins:10"
    assert all("age" not in setting.rungs for setting in tuning.rows)
    fixed = shoal.anonymize(TABLE, coarsen={"age": shoal.Bins(10)}, seed=1, **REQUEST)
    assert tuning.rows[0].loss == pytest.approx(fixed.metrics.gcp)
    assert tuning.rows[0].losses[0] > 0


def test_columns_that_are_coarsened_together() -> None:
    table = TABLE.with_columns(x=pl.col("age") % 5, y=pl.col("age") % 7)
    tuning = shoal.explore(
        table,
        quasi_identifiers=["x", "y"],
        sensitive="disease",
        direct_identifiers=["age", "town"],
        privacy=shoal.KAnonymity(4),
        coarsenings={("x", "y"): [Points(k=5), Points(k=20)]},
    )
    assert tuning.ended == "complete"
    assert [setting.text for setting in tuning.rows] == ["untouched", "x,y=points:5", "x,y=points:20"]
    assert all(setting.error is None for setting in tuning.rows)


def test_when_the_time_is_over_the_best_so_far_is_kept() -> None:
    tuning = shoal.explore(TABLE, seconds=1e-9, **REQUEST, coarsenings=True)
    assert (tuning.ended, len(tuning.rows)) == ("time", 1)
    assert tuning.best is tuning.rows[0]
    assert "the time was over" in tuning.sentences()[0]


def test_ctrl_c_keeps_what_was_found() -> None:
    calls: list[int] = []

    def interrupts(step: str, done: int, total: int) -> None:
        calls.append(done)
        assert 0 <= done <= total
        if step == "search" and len(calls) > 5:
            raise KeyboardInterrupt

    tuning = shoal.explore(TABLE, progress=interrupts, **REQUEST, coarsenings=True)
    assert (tuning.ended, len(tuning.rows)) == ("interrupted", 4)
    calls.clear()

    def in_compiled_code(step: str, done: int, total: int) -> None:
        try:
            interrupts(step, done, total)
        except KeyboardInterrupt as struck:
            raise SystemError("returned a result with an exception set") from struck

    assert shoal.explore(TABLE, progress=in_compiled_code, **REQUEST, coarsenings=True).ended == "interrupted"

    def at_once(step: str, done: int, total: int) -> None:
        if step == "search":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shoal.explore(TABLE, progress=at_once, **REQUEST, coarsenings=True)


def test_a_setting_that_cannot_be_published_is_told() -> None:
    # The label of the coarser column reads like a star.
    ladders = {"age": [OneValue(label="*"), shoal.Bins(10)]}
    tuning = shoal.explore(
        TABLE, coarsenings=ladders, **REQUEST | {"quasi_identifiers": ["age"], "insensitive": ["town"]}
    )
    failed = tuning.rows[1]
    assert failed.loss is None
    assert failed.losses == (float("inf"), float("inf"))
    assert "star symbol" in str(failed.error)
    assert tuning.to_dict()["rows"][1]["error"] == str(failed.error)
    assert failed not in tuning.front


@every(
    ("changes", "error", "message"),
    [
        ({"seconds": 0}, ParameterError, "The 'seconds' parameter of explore must be a number > 0. Got 0."),
        ({"seconds": -1.5}, ParameterError, "must be a number > 0"),
        ({"seconds": float("nan")}, ParameterError, "must be a number > 0"),
        ({"loss": "stars"}, ParameterError, "The 'loss' parameter of explore must be one of 'gcp'"),
        ({"recoding": "none"}, ParameterError, "The 'recoding' parameter of explore"),
        ({"seed": -1}, ParameterError, "The 'seed' parameter of explore"),
        ({"star": " "}, ParameterError, "The 'star' parameter of explore"),
        ({"coarsenings": {"disease": [OneValue()]}}, ColumnError, "not a quasi-identifier"),
        ({"coarsen": {"nothing": OneValue()}}, ColumnError, "'nothing' cannot be coarsened"),
        ({"hierarchies": {"disease": TREE}}, ColumnError, "not a quasi-identifier"),
        ({"coarsen": {"age": OneValue()}, "coarsenings": {"age": []}}, ParameterError, "give only one of them"),
        ({"coarsenings": {"age": [], "town": []}}, ParameterError, "No quasi-identifier can be made coarser"),
        ({"coarsen": {"age": OneValue(), "town": OneValue()}}, ParameterError, "can be made coarser"),
        ({"coarsenings": {"town": [shoal.Bins(2)]}}, UsageError, "needs numbers"),
        ({"coarsenings": {"age": [shoal.Bins]}}, ParameterError, "list of coarsenings"),
        ({"algorithm": "magic"}, ParameterError, "must be one of"),
        ({"privacy": shoal.LDiversity(8)}, InfeasibleError, "l"),
        ({"k": [2, 3]}, ParameterError, "one level of protection"),
        ({"algorithms": "all"}, ParameterError, "one algorithm"),
        ({"resist": "minimality"}, UsageError, "does not resist"),
        ({"star": "a"}, ParameterError, "star symbol is a value"),
    ],
)
def test_bad_input(changes: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        shoal.explore(TABLE, **REQUEST | {"coarsenings": True} | changes)


def test_a_table_of_equal_rows_cannot_be_made_coarser() -> None:
    with pytest.raises(ParameterError, match="can be made coarser"):
        shoal.explore(
            pl.DataFrame({"q": [1, 1], "s": [1, 2]}),
            quasi_identifiers=["q"],
            sensitive="s",
            privacy=shoal.KAnonymity(2),
            coarsenings=True,
        )


def test_a_loss_that_takes_too_long_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.metrics import Divergence

    monkeypatch.setattr(evaluation, "kl_divergence", lambda *_: Divergence(value=None, reason="too long"))
    with pytest.raises(UsageError, match="Search with another loss"):
        shoal.explore(TABLE, loss="kl_divergence", **REQUEST, coarsenings=True)


def wide_table(rows: int) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": [row * 7 % 71 for row in range(rows)],
            "born": [f"{1 + row * 11 % 28:02}.{1 + row * 5 % 12:02}.{1950 + row * 13 % 40}" for row in range(rows)],
            "zip": [f"0{1000 + row * row * 17 % 900}" for row in range(rows)],
            "disease": [f"Zyzzyva {row * 5 % 7}" for row in range(rows)],
        }
    )


@pytest.mark.drawn
def test_an_algorithm_that_searches_long_has_a_quick_one_look_first() -> None:
    request: dict[str, Any] = {
        "quasi_identifiers": ["age", "born", "zip"],
        "sensitive": "disease",
        "privacy": shoal.KAnonymity(5),
        "recoding": "generalization",
        "algorithm": shoal.algorithms.Cluster(effort=5),
        "coarsenings": {
            "age": [shoal.Bins(5), shoal.Bins(20)],
            "born": [shoal.DatePart("year")],
            "zip": [shoal.Prefix(4)],
        },
    }
    tuning = shoal.explore(wide_table(600), seconds=60, **request)
    assert (tuning.searched.stand_in, tuning.searched.screened, tuning.searched.size, tuning.ended) == (
        "mondrian",
        12,
        12,
        "settled",
    )
    assert 2 <= len(tuning.rows) <= 11
    assert tuning.best.loss == min(setting.loss for setting in tuning.rows if setting.loss is not None)
    assert tuning.choose().metrics.gcp == pytest.approx(tuning.best.loss)
    assert "12 of 12 settings were screened with mondrian" in tuning.sentences()[0]
    hurried = shoal.explore(wide_table(600), seconds=1e-9, **request)
    assert (hurried.ended, hurried.searched.screened) == ("time", 1)
    few = shoal.explore(wide_table(100), seconds=60, **request)
    assert (few.searched.stand_in, few.searched.screened, few.ended) == (None, 0, "complete")


@pytest.mark.drawn
def test_dates_have_no_prefixes() -> None:
    request = {"quasi_identifiers": ["age", "born", "zip"], "sensitive": "disease", "privacy": shoal.KAnonymity(5)}
    for recoding in ("suppression", "generalization"):
        tuning = shoal.explore(wide_table(300), seconds=0.5, recoding=recoding, **request, coarsenings=True)
        words = {ladder.name: [rung.words for rung in ladder.rungs] for ladder in tuning.searched.ladders}
        dates = {f"date:{part}" for part in ("month", "quarter", "year", "5years", "decade")}
        assert {"date:month", "date:year"} <= set(words["born"]) <= dates | {"any"}
        assert words["zip"][0].startswith("prefix:")
    unread = wide_table(300).with_columns(born=pl.when(pl.col("age") == 7).then(pl.lit("?")).otherwise("born"))
    tuning = shoal.explore(unread, seconds=0.1, **request, coarsenings=True)
    assert [[rung.words for rung in ladder.rungs] for ladder in tuning.searched.ladders if ladder.name == "born"] == [
        ["any"]
    ]


@pytest.mark.drawn
def test_what_is_shown_is_cells_kept_and_loss() -> None:
    request = {"quasi_identifiers": ["age", "zip"], "direct_identifiers": ["born"], "sensitive": "disease"}
    stars = shoal.explore(wide_table(200), privacy=shoal.KAnonymity(3), seconds=1, **request, coarsenings=True)
    assert list(stars.columns()) == ["setting", "cells kept", "loss", "by coarsening", "by anonymization", "stars"]
    # Ages under generalization end as intervals: no stars, no column of them.
    ages = {**request, "quasi_identifiers": ["age"], "direct_identifiers": ["born", "zip"]}
    intervals = shoal.explore(
        wide_table(200),
        privacy=shoal.KAnonymity(3),
        recoding="generalization",
        algorithm="mondrian",
        seconds=1,
        **ages,
        coarsenings=True,
    )
    assert "stars" not in intervals.columns()
    assert intervals.columns()["loss"][0].endswith("%")
    release = intervals.choose()
    recoded = release.certificate.cost.recoded_cells
    assert intervals.best.figures["kept_share"] is not None
    if intervals.best is intervals.rows[0]:
        assert intervals.best.figures["kept_share"] == pytest.approx(1 - recoded / 200)
    assert intervals.sentences()[1].startswith("Recommended: ")


def test_nothing_can_be_published_in_any_setting() -> None:
    class Refuses(Algorithm):
        name = "refuses"

        def group_rows(self, problem: Any) -> Any:
            raise InfeasibleError("No node within the limit.")

    with pytest.raises(InfeasibleError, match="No node within the limit"):
        shoal.explore(TABLE, algorithm=Refuses(), **REQUEST, coarsenings=True)


def test_readers_are_not_told_by_a_warning_whether_the_search_left_a_column_untouched() -> None:
    names = [f"name {row * 7 % 40:02d}" for row in range(400)]
    table = pl.DataFrame({"name": names, "disease": [f"{row * 5 % 7}" for row in range(400)]})
    request: dict[str, Any] = {
        "quasi_identifiers": ["name"],
        "sensitive": "disease",
        "privacy": shoal.KAnonymity(60),
        "recoding": "generalization",
        "algorithm": "mondrian",
        "exact_ends": True,
    }
    plain = shoal.anonymize(table, **request)
    assert "large_sets" in {one.code for one in plain.warnings}
    tuning = shoal.explore(table, coarsenings={"name": [shoal.Prefix(6)]}, seed=1, **request)
    for setting in tuning.rows:
        release = tuning.choose(setting)
        assert "large_sets" not in {one.code for one in release.warnings}
        assert "large_sets" not in release.public_certificate.to_json()
