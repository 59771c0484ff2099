"""Levels side by side: figures recounted by plain Python, models, the knee, interrupts, and what is chosen."""

from __future__ import annotations

import itertools
import json
import math
import random
import stat
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.every import every, few

import shoal
from shoal.errors import ColumnError, InfeasibleError, ParameterError, UnsupportedError
from shoal.verbs.explore.candidate import knee_of, unbeaten

SECRET = "Zyzzyva"
QI = ["age", "town"]


def people(rows: int = 90, seed: int = 5) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 28, rows),
            "town": rng.choice([f"{SECRET} town {letter}" for letter in "abc"], rows),
            "disease": rng.choice([f"{SECRET} {value}" for value in "uvwxyz"], rows),
        }
    )


REQUEST: dict[str, Any] = {"quasi_identifiers": QI, "sensitive": "disease", "seed": 3}


@pytest.fixture(scope="module")
def found() -> shoal.results.Exploration:
    return shoal.explore(people(), k=[6, 2, 3, 12, 3], **REQUEST)


@pytest.mark.drawn
def test_each_choice_is_the_release_of_its_request(found: shoal.results.Exploration) -> None:
    assert [row.k for row in found.rows] == [2, 3, 6, 12]
    for row in found.rows:
        assert row.k is not None
        alone = shoal.anonymize(people(), privacy=shoal.KAnonymity(row.k), **REQUEST)
        chosen = found.choose(k=row.k)
        assert chosen.data.equals(alone.data)
        assert chosen.public_certificate.to_json() == alone.public_certificate.to_json(), "nothing else is told"
        assert row.requested == ({"model": "k-anonymity", "k": row.k},)


@pytest.mark.drawn
@pytest.mark.parametrize("recoding", ["suppression", "generalization"])
def test_figures_are_what_anybody_recounts(recoding: Any) -> None:
    table = people(60, seed=8)
    found = shoal.explore(table, k=[1, 2, 4], l=[1, 2], recoding=recoding, **REQUEST)
    assert [row.text for row in found.rows[:4]] == [
        "k = 1, l = 1",
        "k = 2, l = 1",
        "k = 4, l = 1",
        "k = 1, l = 2",
    ]
    for row in found.rows:
        assert row.release is not None
        published = row.release.data
        classes: dict[Any, Counter[str]] = {}
        for *known, disease in published.select(*QI, "disease").iter_rows():
            classes.setdefault(tuple(known), Counter())[disease] += 1
        sizes = [sum(values.values()) for values in classes.values()]
        assert row.figures["smallest_class"] == min(sizes)
        assert row.figures["groups"] == len(sizes)
        assert row.figures["highest_risk"] == 1 / min(sizes)
        assert row.figures["average_risk"] == pytest.approx(len(sizes) / 60)
        worst = max(Fraction(max(values.values()), sum(values.values())) for values in classes.values())
        assert row.figures["confidence"] == pytest.approx(float(worst), abs=1e-4)
        assert Fraction(str(row.figures["confidence"])) >= worst, "rounded against the publisher"
        originals = table[row.release.rows.tolist()]
        same = sum(
            str(shown) == str(came)
            for name in QI
            for shown, came in zip(published[name].to_list(), originals[name].to_list(), strict=True)
        )
        assert row.figures["kept_share"] == pytest.approx(same / 120)
        assert row.figures["kept_share_at_most"] is not None
        assert row.figures["kept_share"] <= row.figures["kept_share_at_most"] <= 1
        assert row.loss == pytest.approx(sum(row.figures["loss_by_column"].values()) / 2)  # type: ignore[union-attr]
        if recoding == "suppression":
            assert row.loss == pytest.approx(1 - row.figures["kept_share"])
    counted = Counter(table.select(QI).iter_rows())
    assert found.before["average"] == pytest.approx(len(counted) / 60)
    assert found.before["sample_uniques"] == pytest.approx(sum(size == 1 for size in counted.values()) / 60)
    assert found.find(k=1, l=1).figures["kept_share"] == 1


@pytest.mark.drawn
def test_a_model_of_the_population_has_a_k_of_its_own() -> None:
    everybody = people(400, seed=6)
    asked = shoal.KMap(9, population=everybody)
    found = shoal.explore(
        people(), k=[2, 4], privacy=asked, algorithm="full-domain", recoding="generalization", **REQUEST
    )
    for k, row in zip((2, 4), found.rows, strict=True):
        assert row.release is not None
        told = {model["model"]: model["k"] for model in row.requested}
        assert told == {"k-map": 9, "k-anonymity": k}


def test_coarsening_counts_as_lost_and_has_no_bound() -> None:
    found = shoal.explore(people(), k=[2, 4], coarsen={"age": shoal.Bins(4)}, **REQUEST)
    for row in found.rows:
        assert row.figures["kept_share"] is not None
        assert row.figures["kept_share"] <= 0.5
        assert row.figures["kept_share_at_most"] is None
    assert "at most" not in found.columns()


def models_of(**asked: Any) -> list[list[str]]:
    found = shoal.explore(people(), algorithms="auto", **{**REQUEST, **asked})
    return [[json.dumps(dict(model)) for model in row.requested] for row in found.rows]


@pytest.mark.drawn
def test_models_with_a_k_or_an_l_take_those_of_the_level() -> None:
    alpha = '{"model": "(alpha, k)-anonymity", "alpha": 0.6, "k": %d}'
    assert models_of(privacy=shoal.AlphaKAnonymity(0.6, 9), k=[2, 4]) == [[alpha % 2], [alpha % 4]]
    entropy = shoal.LDiversity(7, variant="entropy")
    close = shoal.TCloseness(0.9)
    told = models_of(privacy=[entropy, close], l=[1, 2, 2.5])
    assert [len(models) for models in told] == [1, 2, 2]
    assert all("t-closeness" in models[-1] for models in told)
    assert '"l": 2' in told[1][0]
    assert '"l": 2.5' in told[2][0]
    assert '"entropy"' in told[2][0]
    assert models_of(l=1) == [['{"model": "k-anonymity", "k": 1}']]
    usual = models_of(sensitive=None, insensitive=["disease"])
    assert [json.loads(models[0])["k"] for models in usual] == [3, 5, 10, 20, 50]


def test_levels_that_cannot_be_met_say_why(found: shoal.results.Exploration) -> None:
    some = shoal.explore(people(), k=[2, 91], **REQUEST)
    assert [row.release is None for row in some.rows] == [False, True]
    assert some.rows[1].to_dict()["highest_risk"] is None
    assert "at most 90" in some.rows[1].to_dict()["error"]
    assert some.mark(some.rows[1]) == "no release"
    with pytest.raises(InfeasibleError, match="at most 90"):
        some.choose(k=91)
    with pytest.raises(InfeasibleError, match="at most 90"):
        shoal.explore(people(), k=91, **REQUEST)
    unable = shoal.explore(people(), k=[2, 3], algorithm="matching", **REQUEST)
    assert isinstance(unable.rows[1].error, UnsupportedError)
    with pytest.raises(UnsupportedError):
        shoal.explore(people(), k=3, algorithm="matching", **REQUEST)
    with pytest.raises(ParameterError, match="There is no such candidate: k = 2, k = 3, k = 6 or k = 12"):
        found.choose(k=4)
    with pytest.raises(ParameterError, match="Several levels match, name one: k = 2"):
        found.choose()


@every(
    ("asked", "error", "said"),
    [
        ({"k": 0}, ParameterError, "The 'k' parameter of explore must be an int >= 1. Got 0"),
        ({"k": []}, ParameterError, "must be a number or a list of them"),
        ({"k": "3,5"}, ParameterError, "Got '3,5'"),
        ({"k": pl.Series([123456])}, ParameterError, "Got Series"),
        ({"l": [2, 0.5]}, ParameterError, "'l' parameter"),
        ({"l": [2.5]}, ParameterError, "LDiversity"),
        ({"k": 2, "privacy": shoal.KAnonymity}, ParameterError, "the class KAnonymity"),
        (
            {"k": 2, "l": 2, "sensitive": None, "insensitive": ["disease"]},
            ParameterError,
            "needs a sensitive attribute",
        ),
        ({"k": 2, "quasi_identifiers": [], "insensitive": QI}, ColumnError, "Name at least one quasi-identifier"),
        ({"k": 2, "recording": "suppression"}, ParameterError, "explore has no parameter 'recording'"),
    ],
)
def test_wrong_calls(asked: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said.replace("(", r"\(")):
        shoal.explore(people(), **{**REQUEST, **asked})


def test_an_interrupt_keeps_what_was_measured() -> None:
    def stop_at(level: str) -> Any:
        def progress(step: str, done: int, total: int, /) -> None:
            if step == level:
                raise KeyboardInterrupt

        return progress

    found = shoal.explore(people(), k=[2, 4, 8], progress=stop_at("k = 4"), **REQUEST)
    assert (found.ended, [row.k for row in found.rows]) == ("interrupted", [2])
    assert "interrupted" in found.sentences()[-1]
    with pytest.raises(KeyboardInterrupt):
        shoal.explore(people(), k=[2, 4, 8], progress=stop_at("k = 2"), **REQUEST)


def test_the_front_has_whatever_nothing_beats() -> None:
    rng = random.Random(4)
    for _ in range(few(200)):
        points = [tuple(rng.randint(0, 4) for _ in range(3)) for _ in range(rng.randint(1, 9))]
        beaten = {
            at
            for at, other in itertools.product(range(len(points)), points)
            if all(b <= a for a, b in zip(points[at], other, strict=True)) and other != points[at]
        }
        assert unbeaten(points) == [at for at in range(len(points)) if at not in beaten]


def test_the_knee_is_farthest_from_the_chord() -> None:
    """By geometry: the distance to the line through the ends; here protection is drawn from exact powers of two."""
    rng = random.Random(9)
    knees = 0
    for _ in range(300):
        halvings = sorted(rng.sample(range(12), rng.randint(3, 7)))
        losses = sorted(rng.sample(range(1, 100), len(halvings)))
        points = [
            ((x - halvings[0]) / (halvings[-1] - halvings[0]), (y - losses[0]) / (losses[-1] - losses[0]))
            for x, y in zip(halvings, losses, strict=True)
        ]
        below = [(x - y) / math.sqrt(2) for x, y in points]
        assert all(
            abs(one) == pytest.approx(abs(np.cross((1, 1, 0), (*at, 0))[2]) / math.sqrt(2))
            for one, at in zip(below, points, strict=True)
        )
        best = max(below)
        at = knee_of([2.0**-x for x in halvings], [y / 100 for y in losses])
        if at is None:
            assert best * math.sqrt(2) < 0.05 + 1e-9
        else:
            knees += 1
            assert below[at] == pytest.approx(best)
            assert at not in (0, len(losses) - 1)
    assert knees > 100
    # A quadratic cost of each halving: the derivative equals that of the chord half-way.
    assert knee_of([2.0**-x for x in range(9)], [x * x / 64 for x in range(9)]) == 4
    assert knee_of([1 / 2, 1 / 4, 1 / 8], [0.2, 0.2, 0.2]) is None
    assert knee_of([1 / 4, 1 / 4, 1 / 4], [0.1, 0.2, 0.3]) is None


@pytest.mark.drawn
def test_knee_and_front_of_a_result_are_those_of_its_figures(found: shoal.results.Exploration) -> None:
    points = [(one.figures["highest_risk"], one.figures["confidence"], one.loss) for one in found.rows]
    assert [row.k for row in found.front] == [found.rows[at].k for at in unbeaten(points)]  # type: ignore[arg-type]
    at = knee_of([one.figures["highest_risk"] or 0.0 for one in found.front], [one.loss or 0.0 for one in found.front])
    assert found.knee is (None if at is None else found.front[at])
    assert found.to_dict()["knee"] == (None if found.knee is None else found.knee.text)
    grid = shoal.explore(people(), k=[2, 3, 6], l=[1, 2, 3], **REQUEST)
    assert grid.knee is None, "a grid is no curve"


@pytest.mark.drawn
def test_it_shows_itself_without_a_cell(found: shoal.results.Exploration, tmp_path: Path) -> None:
    found.report(tmp_path / "page.html")
    assert stat.S_IMODE((tmp_path / "page.html").stat().st_mode) == 0o600
    page = (tmp_path / "page.html").read_text()
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org", "").replace("http://purl.org", "")
    chosen = found.choose(k=6)
    chosen.report(tmp_path / "release.html")
    released = (tmp_path / "release.html").read_text()
    assert "Protection and loss" in released
    assert "k = 6 (" in released
    chosen.report(tmp_path / "public.html", public=True)
    assert "Protection and loss" not in (tmp_path / "public.html").read_text()
    for shown in (page, repr(found), repr(found.rows), found.to_json(), " ".join(found.sentences())):
        assert SECRET not in shown
    assert repr(found.rows[0]).startswith("Candidate('k = 2', gcp=")
    assert repr(found).startswith("Exploration(rows=4, best='k = 2', gcp=")
    frame = found.to_frame()
    assert frame.height == 4
    assert frame["kept_share"].to_list() == [row.figures["kept_share"] for row in found.rows]
    for name in ("picture.svg", "picture.png"):
        found.save_plot(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000
    text = (tmp_path / "picture.svg").read_text()
    assert "What someone finds out" in text
    assert "What analysts keep" in text
    left, right = shoal.explore(people(), k=[2, 4], l=[1, 2], **REQUEST).plot()
    assert {"l = 1", "l = 2", "cells kept as they are"} <= {text.get_text() for text in right.get_legend().get_texts()}
    assert left.get_xlabel() == "level of protection: k"


def test_risks_are_of_persons_if_a_column_identifies_them() -> None:
    visits = pl.DataFrame(
        {
            "patient": [person for person in range(60) for _ in range(5)],
            "age": [20 + person // 2 for person in range(60) for _ in range(5)],
            "disease": [*"abcde"] * 60,
        }
    )
    asked = {"quasi_identifiers": ["age"], "sensitive": "disease", "person": "patient", "seed": 1}
    found = shoal.explore(visits, k=[5], algorithms="auto", **asked)
    (row,) = found.rows
    release = shoal.anonymize(visits, k=5, **asked)
    (persons,) = release.certificate.persons
    assert (row.figures["highest_risk"], row.figures["average_risk"]) == (
        persons["risk"]["highest"],
        persons["risk"]["average"],
    )
    assert row.figures["highest_risk"] == 1 / row.figures["smallest_class"] == 1 / persons["least_in_group"]
    assert row.figures["confidence"] == persons["confidence"]["disease"]["largest"] > 0.6
    assert (found.persons, found.before["average"], found.to_dict()["before"]["highest"]) == (60, 0.5, 0.5)
    assert "In the 300 rows of 60 persons as they came" in found.sentences()[0]
    # Of persons and households the highest confidence counts, as in the report of the release.
    homes = visits.with_columns(home=pl.col("patient") // 2)
    both = shoal.explore(homes, k=[5], algorithms="auto", units=["home"], **asked).rows[0]
    kinds = [one["confidence"]["disease"]["largest"] for one in both.release.certificate.persons]
    assert both.figures["confidence"] == max(kinds) == kinds[1] > kinds[0]


def test_harmless_values_are_those_of_every_level() -> None:
    table = pl.DataFrame({"q": [1, 1, 1, 1, 2, 2, 2, 2], "s": ["ok", "ok", "ok", "flu", "ok", "ok", "flu", "gout"]})
    asked: dict[str, Any] = {"quasi_identifiers": ["q"], "sensitive": "s", "algorithm": "tp"}
    with pytest.raises(InfeasibleError):
        shoal.explore(table, l=[2, 3], **asked)
    found = shoal.explore(table, l=[2, 3], harmless="ok", **asked)
    assert [one.error is None for one in found.rows] == [True, True]
    with pytest.raises(ParameterError, match="Harmless values need"):
        shoal.explore(table, k=[2], harmless="ok", **asked)
