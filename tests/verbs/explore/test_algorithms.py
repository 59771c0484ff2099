"""Algorithms side by side: those that fail, options that do not exist, losses and charts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.every import every

import shoal
from shoal.algorithms.base import Algorithm
from shoal.attacks import ATTACKS
from shoal.errors import ColumnError, InfeasibleError, OutputError, ParameterError, UnsupportedError
from shoal.metrics import METRICS
from shoal.verbs.explore.measuring import fitting_algorithms

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
    "seed": 1,
}


class _Refuses(Algorithm):
    name = "refuses"

    def group_rows(self, problem: Any) -> Any:
        raise InfeasibleError("No node within the limit.")


def test_an_algorithm_that_finds_no_release_is_a_row_with_its_error() -> None:
    found = shoal.explore(TABLE, algorithms=["tp", _Refuses(), "mondrian"], **REQUEST)
    assert [row["error"] for row in found.to_dict()["rows"]] == [None, "No node within the limit.", None]
    assert found.rows[1].seconds is None
    assert [row.loss for row in found.measured] == sorted(row.loss for row in found.rows if row.error is None)
    assert found.to_frame().height == 3
    least = found.measured[0]
    assert found.best is least
    assert repr(found) == f"Exploration(rows=3, best={least.text!r}, gcp={least.loss:.4g}, ended='complete')"
    assert found.choose().data.equals(found.choose(algorithm=least.algorithm).data)
    with pytest.raises(InfeasibleError, match="No node within the limit"):
        found.choose(algorithm="refuses")
    with pytest.raises(InfeasibleError, match="No node within the limit"):
        shoal.explore(TABLE, algorithms=[_Refuses()], **REQUEST)


def test_a_bound_says_what_it_bounds() -> None:
    stars = shoal.explore(TABLE, algorithms=["tp"], recoding="suppression", **REQUEST).to_dict()["rows"][0]
    assert 0 < stars["lower_bound_stars"] == stars["lower_bound_recoded_cells"]
    intervals = shoal.explore(TABLE, algorithms=["mondrian"], recoding="generalization", **REQUEST).to_dict()["rows"][0]
    assert (intervals["lower_bound_stars"], intervals["stars"]) != (intervals["lower_bound_recoded_cells"], 0)
    assert intervals["lower_bound_stars"] == 0 < intervals["lower_bound_recoded_cells"] <= intervals["recoded_cells"]


@every(
    ("options", "error", "message"),
    [
        ({"foo": 1}, ParameterError, "explore has no parameter 'foo'. Known are 'data'"),
        ({"hierarchy": {}}, ParameterError, "Did you mean 'hierarchies'"),
        ({"loss": "l2"}, ParameterError, "The 'loss' parameter of explore must be one of 'gcp'"),
        ({"coarsen": {"nothing": shoal.Bins(2)}}, ColumnError, "'nothing' cannot be coarsened"),
        ({"recoding": "none"}, ParameterError, "recoding"),
    ],
)
def test_bad_input(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        shoal.explore(TABLE, **REQUEST, **options)


@every("loss", METRICS, drawn=True)
def test_every_loss_can_be_charted(loss: str, tmp_path: Path) -> None:
    found = shoal.explore(TABLE, algorithms=["tp", "tp+", "m-approximation"], loss=loss, **REQUEST)
    assert found.to_dict()["loss"] == loss
    losses = [row.badness for row in found.measured]
    assert len(losses) == 2
    assert losses == sorted(losses)
    (ax,) = found.plot()
    assert len(ax.lines) == 2
    assert ax.get_ylabel() == METRICS[loss].title
    assert {METRICS[loss].badness(line.get_ydata()[0]) for line in ax.lines} == set(losses)
    found.save_plot(tmp_path / "chart.svg")
    assert "tp+" in (tmp_path / "chart.svg").read_text()


@pytest.mark.drawn
def test_names_that_are_no_picture_and_an_algorithm_that_serves_nothing(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="serves k-anonymity alone"):
        shoal.explore(TABLE, algorithms=["m-approximation"], **REQUEST)
    found = shoal.explore(TABLE, algorithms=["tp"], **REQUEST)
    with pytest.raises(OutputError, match=r"\.svg or \.png"):
        found.save_plot(tmp_path / "chart.pdf")
    with pytest.raises(OutputError, match="cannot be written"):
        found.save_plot(tmp_path / "nowhere" / "chart.svg")


def test_options_of_anonymize_are_taken() -> None:
    tree = shoal.Hierarchy.from_rows([(town, "ab" if town in "ab" else "cde", "*") for town in "abcde"])
    told: list[str] = []
    found = shoal.explore(
        TABLE.with_row_index("visit"),
        algorithms=["mondrian", "hilbert"],
        recoding="generalization",
        hierarchies={"town": tree},
        coarsen={"age": shoal.Bins(5)},
        direct_identifiers=["visit"],
        progress=lambda name, done, total: told.append(name),
        **REQUEST,
    )
    assert [row.error for row in found.rows] == [None, None]
    assert set(told) == {"read", "mondrian", "hilbert"}
    # Bins lose something even where nothing else does.
    assert all(row.loss > 0 for row in found.rows)


def test_fitting_algorithms_are_quick_and_able() -> None:
    names = fitting_algorithms(shoal.Request(quasi_identifiers=["age"], k=3))
    assert "m-approximation" in names
    assert not {"exact", "milp", "matching"} & set(names)
    assert "m-approximation" not in fitting_algorithms(shoal.Request(quasi_identifiers=["age"], sensitive="s", l=3))


@pytest.mark.drawn
def test_the_default_transparent_and_differential_privacy_side_by_side() -> None:
    people = pl.DataFrame(
        {
            "age": [20 + row * 7 % 41 for row in range(2000)],
            "ill": [("flu", "gout", "acne")[row * row % 11 % 3] for row in range(2000)],
        }
    )
    models = [shoal.LDiversity(2), shoal.models.DifferentialPrivacy(epsilon=1, delta=1e-4)]
    roles: Any = {"quasi_identifiers": "age", "sensitive": "ill", "coarsen": {"age": shoal.Bins(20)}, "seed": 1}
    found = shoal.explore(people, privacy=models, algorithms=["auto", "transparent"], attacks=True, **roles)
    rows = {row["algorithm"]: row for row in found.to_dict()["rows"]}
    assert list(rows) == ["auto", "transparent", "safepub"]
    assert [row.error for row in found.rows] == [None] * 3
    # Every attack has a rate with its interval, or the reason why there is none: a missing rate is never 0.
    for row in rows.values():
        assert set(row["attacks"]) == set(ATTACKS) - {"intersection"}
        for facts in row["attacks"].values():
            assert facts["not_measured"] if facts["rate"] is None else facts["low"] <= facts["rate"] <= facts["high"]
        assert row["attacks"]["homogeneity"]["attempts"] == people.height
    assert rows["auto"]["attacks"]["minimality"]["rate"] == 0
    assert "as small as possible" in rows["transparent"]["attacks"]["minimality"]["not_measured"]
    assert found.columns()["minimality"][1:] == ["-", "-"]
    # Records that were left out are lost, and losses of other records are not compared.
    sampled = rows["safepub"]
    assert 0.4 < sampled["published"] < 0.7
    assert sampled["gcp"] > rows["auto"]["gcp"]
    assert sampled["kl_divergence"] is sampled["stars"] is sampled["lower_bound_stars"] is None
    assert rows["auto"]["lower_bound_stars"] == 0
    assert found.columns()["published"][0] == "100%"


def test_differential_privacy_draws_levels_of_the_hierarchies_of_a_comparison() -> None:
    people = pl.DataFrame(
        {"age": [20 + row * 7 % 41 for row in range(2000)], "ill": ["flu", "gout", "flu", "acne"] * 500}
    )
    tree = shoal.Hierarchy.from_rows([(str(at), f"{at // 20 * 20}-{at // 20 * 20 + 19}", "*") for at in range(20, 61)])
    models = [shoal.LDiversity(2), shoal.models.DifferentialPrivacy(epsilon=1, delta=1e-4, level_epsilon=0.2)]
    roles: Any = {"quasi_identifiers": "age", "sensitive": "ill", "recoding": "generalization"}
    found = shoal.explore(people, privacy=models, algorithms="hilbert", hierarchies={"age": tree}, **roles)
    assert [(row.algorithm, row.error) for row in found.rows] == [("hilbert", None), ("safepub", None)]
    assert 0.4 < found.rows[1].figures["published"] < 0.6


def test_differential_privacy_alone_is_not_compared() -> None:
    model = shoal.models.DifferentialPrivacy(epsilon=1, delta=1e-4)
    with pytest.raises(UnsupportedError, match="covers one release"):
        shoal.explore(TABLE, quasi_identifiers=["age", "town"], privacy=model)
