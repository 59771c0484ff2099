"""The utility of a release: the same people, before and after, held against the same truth."""

from __future__ import annotations

from importlib.util import find_spec
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import ColumnError, DataError, ParameterError
from shoal.release.analysis import prediction_utility as module

pytestmark = pytest.mark.skipif(find_spec("sklearn") is None, reason="scikit-learn is not installed")


def people(rows: int = 120, seed: int = 1) -> pl.DataFrame:
    """A table whose target follows from the age, and whose numbers tell people apart."""
    chance = Random(seed)
    ages = [chance.randrange(20, 60) for _ in range(rows)]
    return pl.DataFrame(
        {
            "age": ages,
            "town": [chance.choice(["a", "b"]) for _ in range(rows)],
            "old": ["yes" if age >= 40 else "no" for age in ages],
            "pay": [float(1000 + 50 * age) for age in ages],
            "number": list(range(rows)),
        }
    )


ROLES: dict[str, Any] = {"quasi_identifiers": ["age", "town"], "sensitive": ["old", "pay"], "seed": 1}


def tree() -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(random_state=0)


def test_views_show_the_same_people_in_each_row(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr("shoal.release.analysis.views.utility_of", lambda views, *_, **__: seen.append(views))
    table = people()
    for keep_order in (False, True):
        release = shoal.anonymize(
            table, k=4, insensitive="rest", coarsen={"town": shoal.hierarchy.OneValue()}, keep_order=keep_order, **ROLES
        )
        release.utility("old")
        views = seen.pop()
        assert views.original["number"].to_list() == release.rows.tolist()
        assert views.original.equals(table[release.rows.tolist()].select(views.original.columns))
        assert views.bounds["number"].equals(views.original["number"])
        assert views.middles["number"].equals(views.original["number"])


def test_a_release_without_loss_has_the_score_of_the_original() -> None:
    release = shoal.anonymize(people(), k=1, direct_identifiers=["number"], **ROLES)
    assert release.certificate.cost.stars == 0
    found = release.utility("old", tree())
    assert found.before == found.after
    assert min(found.before) > 0.9
    assert max(found.baseline) < 0.75
    assert (found.score, found.model, found.rows) == ("accuracy", "DecisionTreeClassifier", 120)


def test_stars_everywhere_leave_the_baseline() -> None:
    table = people().select("age", "town", "old")
    release = shoal.anonymize(table, quasi_identifiers=["age", "town"], sensitive="old", k=120)
    found = release.utility("old", tree())
    assert found.after == found.baseline
    assert np.mean(found.before) > 0.95


def test_the_scores_are_those_of_scikit_learn() -> None:
    """Of one feature that is published as it was: the same as cross-validation by hand."""
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    table = people().select("age", "old")
    release = shoal.anonymize(table, quasi_identifiers=[], insensitive="age", sensitive="old", k=1, keep_order=True)
    found = release.utility("old", tree(), folds=4, seed=3)
    folds = StratifiedKFold(4, shuffle=True, random_state=3)
    model = make_pipeline(StandardScaler(), tree())
    expected = cross_val_score(model, table.select("age").to_numpy(), table["old"].to_numpy(), cv=folds)
    assert found.before == pytest.approx(tuple(expected))
    assert found.after == pytest.approx(tuple(expected))


@pytest.mark.drawn
def test_numbers_are_predicted_as_numbers() -> None:
    release = shoal.anonymize(people(), k=3, recoding="generalization", direct_identifiers=["number"], **ROLES)
    pay = release.utility("pay")
    assert (pay.score, pay.model) == ("r2", "RandomForestRegressor")
    assert np.mean(pay.before) > 0.95
    assert np.mean(pay.baseline) < np.mean(pay.after) <= np.mean(pay.before)
    age = release.utility("age", folds=3)  # a quasi-identifier: learned from middles of intervals
    assert len(age.after) == 3
    assert np.mean(age.after) > 0.5
    town = release.utility("town", scoring="balanced_accuracy")
    assert town.score == "balanced_accuracy"


@pytest.mark.drawn
def test_dates_are_predicted_as_numbers() -> None:
    from datetime import date, timedelta

    ages = people()["age"]
    table = pl.DataFrame({"age": ages, "born": [date(2020, 1, 1) - timedelta(days=365 * age) for age in ages]})
    release = shoal.anonymize(table, quasi_identifiers=["age"], insensitive="rest", k=2, recoding="generalization")
    found = release.utility("born")
    assert found.score == "r2"
    assert min(found.before) > 0.95
    assert np.mean(found.after) > 0.9
    of_quasi_identifier = shoal.anonymize(table, quasi_identifiers=["born", "age"], k=2, recoding="generalization")
    assert np.mean(of_quasi_identifier.utility("born").after) > 0.9


@pytest.mark.drawn
def test_linear_models_see_numbers_of_one_scale(recwarn: pytest.WarningsRecorder) -> None:
    from sklearn.linear_model import LogisticRegression, Ridge

    release = shoal.anonymize(people(), k=2, direct_identifiers=["number"], recoding="generalization", **ROLES)
    assert np.mean(release.utility("old", LogisticRegression()).before) > 0.9
    assert np.mean(release.utility("pay", Ridge()).before) > 0.9
    assert not [one for one in recwarn if one.category is not shoal.ReleaseWarning]


def test_what_cannot_be_measured_is_said() -> None:
    table = people().select("age", "town", "old")
    roles: dict[str, Any] = {"quasi_identifiers": ["age", "town"], "sensitive": "old"}
    release = shoal.anonymize(table, k=120, **roles)
    with pytest.raises(ColumnError, match=r"no column 'olt'. Did you mean 'old'"):
        release.utility("olt")
    with pytest.raises(DataError, match="No published cell of 'town' is a value"):
        release.utility("town")
    with pytest.raises(DataError, match="too few for 100 folds"):
        release.utility("old", folds=100)
    with pytest.raises(ParameterError, match="'folds'"):
        release.utility("old", folds=1)
    from sklearn.linear_model import LinearRegression

    with pytest.raises(ParameterError, match="'old' holds no numbers"):
        release.utility("old", LinearRegression())
    alone = shoal.anonymize(table.select("old"), quasi_identifiers=[], sensitive="old", k=1)
    with pytest.raises(ParameterError, match="nothing to predict from"):
        alone.utility("old")


def test_it_shows_itself_without_a_cell() -> None:
    table = people().with_columns(old=pl.lit("Zyzzyva") + pl.col("old")).rename({"old": "<script>"})
    release = shoal.anonymize(
        table.drop("number", "pay"), quasi_identifiers=["age", "town"], sensitive="<script>", k=3, seed=1
    )
    found = release.utility("<script>", tree())
    html = found._repr_html_()
    assert "Private" in html
    assert "<script>" not in html
    assert "Zyzzyva" not in html + repr(found) + str(found.to_dict())
    assert f"{np.mean(found.before):.3f}" in html
    assert found.to_dict()["folds"]["after"] == list(found.after)


def test_a_release_of_any_size_says_that_it_is_too_large(tmp_path: Any) -> None:
    people().select("age", "town", "old").write_parquet(tmp_path / "p.parquet")
    release = shoal.anonymize(
        tmp_path / "p.parquet", quasi_identifiers=["age", "town"], sensitive="old", k=3, engine="stream",
        algorithm="mondrian",
    )  # fmt: skip
    with pytest.raises(ParameterError, match="engine='memory'"):
        release.utility("old")


def test_dates_and_times_become_numbers() -> None:
    from datetime import date, datetime, time, timedelta

    assert module._number(date(1970, 1, 2)) - module._number(date(1970, 1, 1)) == 1
    assert module._number(datetime(2020, 1, 1, 0, 1)) - module._number(datetime(2020, 1, 1)) == 60
    assert module._number(time(1, 1, 1)) == 3661
    assert module._number(timedelta(seconds=2)) == 2
    assert np.isnan(module._number(None))
