"""Boxes with enough real people: against their definition, to readers who know everything, and in whole releases."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from tests.every import THOROUGH, every, few
from tests.republication.m_invariance.test_posterior import LINE, greatest_confidence

import shoal
from shoal.errors import InfeasibleError, ReleaseUnsafeError
from shoal.republication import Signatures, generalize
from shoal.republication.m_invariance import generalization
from shoal.republication.m_invariance.verification import verify_real_people


def random_history(rng, min_real, *, balancing="independent"):
    """Yield two or three releases of a random small table: the values of its rows, and the groups."""
    people, kinds, m = int(rng.integers(12, 90)), int(rng.integers(4, 9)), int(rng.integers(2, 4))
    codes = np.column_stack([rng.integers(0, 12, people), rng.integers(0, 3, people)]).astype(np.int32)
    values = rng.integers(0, kinds, people)
    signature_of, signatures = np.full(people, -1), Signatures.of([])
    present = np.flatnonzero(rng.random(people) < 0.8)
    for _ in range(3):
        try:
            made = generalize(
                quasi_identifiers=codes[present],
                sensitive=values[present],
                values=kinds,
                signature_of=signature_of[present],
                signatures=signatures,
                m=m,
                rng=rng,
                balancing=balancing,
                min_real=min_real,
            )
        except InfeasibleError:
            return
        yield values[present], made
        signature_of[present], signatures = made.signature_of, made.signatures
        here = np.isin(np.arange(people), present)
        present = np.flatnonzero(rng.random(people) < np.where(here, 0.4, 0.3))


@every("balancing", generalization.BALANCINGS)
@every("min_real", [2, 3, 5])
def test_boxes_have_enough_people_and_so_have_groups_where_their_bucket_does(min_real, balancing):
    rng = np.random.default_rng(min_real)
    seen = Counter()
    for _ in range(few(25, least=6)):
        for values, made in random_history(rng, min_real, balancing=balancing):
            people_of_box = Counter(made.boxes[made.groups].tolist())
            assert min(people_of_box.values()) >= min_real
            assert sorted(people_of_box) == list(range(len(people_of_box)))
            people = Counter(made.groups.tolist())
            shown = defaultdict(list)
            for row, group in enumerate(made.groups.tolist()):
                shown[group].append(values[row])
            for group, value in zip(made.counterfeit_groups.tolist(), made.counterfeit_values.tolist(), strict=True):
                shown[group].append(value)
            bucket = dict(zip(made.groups.tolist(), made.signature_of.tolist(), strict=True))
            assert all(sorted(shown[group]) == made.signatures[bucket[group]].tolist() for group in range(made.count))
            all_people, all_groups = Counter(made.signature_of.tolist()), Counter(bucket.values())
            for group in range(made.count):
                enough = all_people[bucket[group]] >= min_real * all_groups[bucket[group]]
                assert people[group] >= min_real or not enough
                seen["thin"] += people[group] < min_real
            by_box = defaultdict(list)
            for group in range(made.count):
                by_box[made.boxes[group], bucket[group]].append(people[group])
            # Of the groups of one bucket that share a box none has more than one person more than another.
            assert all(max(counts) - min(counts) <= 1 for counts in by_box.values())
            seen["shared"] += made.count - len(people_of_box)
    assert seen["shared"] > few(30)
    assert seen["thin"] > 0 or not THOROUGH


def test_a_group_joins_the_neighbour_that_makes_its_box_grow_less():
    # One value has people at 0, 5, 6 and 9; of the other only one at 9 is left, so that three groups have one person.
    made = generalize(
        quasi_identifiers=np.array([[0], [5], [6], [9], [9]], dtype=np.int32),
        sensitive=np.array([0, 0, 0, 0, 1]),
        values=2,
        signature_of=np.zeros(5, dtype=np.int64),
        signatures=Signatures.of([{0, 1}]),
        m=2,
        rng=np.random.default_rng(1),
        min_real=2,
    )
    boxes = made.boxes[made.groups].tolist()
    assert (boxes[3] == boxes[4], len(set(boxes))) == (True, 2)
    assert made.counterfeits == 3


def test_who_stays_alone_in_a_bucket_shares_the_box_of_the_nearest_group_of_another():
    made = generalize(
        quasi_identifiers=np.array([[10], [0], [2], [12], [13]], dtype=np.int32),
        sensitive=np.array([0, 2, 3, 2, 3]),
        values=4,
        signature_of=np.array([0, 1, 1, 1, 1]),
        signatures=Signatures.of([{0, 1}, {2, 3}]),
        m=2,
        rng=np.random.default_rng(1),
        min_real=2,
    )
    boxes = made.boxes[made.groups]
    assert boxes[0] == boxes[3] == boxes[4]
    assert boxes[1] == boxes[2] != boxes[0]
    assert made.groups[0] != made.groups[3]


def test_fewer_people_than_are_asked_for_are_an_error():
    with pytest.raises(InfeasibleError, match=r"too few people \(4\)"):
        generalize(
            quasi_identifiers=np.zeros((4, 1), dtype=np.int32),
            sensitive=np.array([0, 1, 0, 1]),
            values=2,
            signature_of=np.full(4, -1),
            signatures=Signatures.of([]),
            m=2,
            rng=np.random.default_rng(1),
            min_real=5,
        )


@every("min_real", [2, 3], drawn=True)
@pytest.mark.parametrize(
    ("tables", "kinds", "m"),
    [
        pytest.param([[0, 1, 2, 3], [0, 2, 4, 5]], 3, 2, id="half are new"),
        pytest.param([[0, 1, 2, 3], [0, 4, 5], [0, 1, 4]], 3, 2, id="one returns", marks=pytest.mark.thorough),
        pytest.param([[0, 1, 2, 3, 4, 5], [0, 1, 3]], 3, 2, id="half leave", marks=pytest.mark.thorough),
        pytest.param([[0, 1, 2], [0, 3, 4, 5]], 4, 3, id="three values", marks=pytest.mark.thorough),
    ],
)
def test_shared_boxes_leave_one_in_m_to_somebody_who_knows_the_algorithm(tables, kinds, m, min_real, monkeypatch):
    found = []
    form_runs = generalization.form_runs

    def counted(*arguments):
        runs = form_runs(*arguments)
        found.append((len(runs.box_of_group), len(set(runs.boxes.tolist()))))
        return runs

    monkeypatch.setattr(generalization, "form_runs", counted)
    assert greatest_confidence(LINE, tables, kinds=kinds, m=m, min_real=min_real) == Fraction(1, m)
    assert any(groups > boxes for groups, boxes in found), "groups share boxes"


def test_so_do_shared_boxes_of_random_histories():
    rng = np.random.default_rng(11)
    found = []
    for _ in range(few(8)):
        people, releases = int(rng.integers(4, 6)), int(rng.integers(2, 4))
        codes = rng.integers(0, 3, (people, int(rng.integers(1, 3))))
        tables = [np.flatnonzero(rng.random(people) < 0.8).tolist() for _ in range(releases)]
        found.append(greatest_confidence(codes, [one for one in tables if one], kinds=3, m=2, min_real=2))
    assert max(found) == Fraction(1, 2)
    assert found.count(Fraction(1, 2)) >= few(3, least=1), "some of the histories can be published"


# The verification, which shares nothing with the above.


def verify(groups_shown, people, fakes):
    """Verify groups, each with the ages that it shows and its values, of people in some groups (from 0)."""
    rows = [(number, age, value) for number, (age, values) in enumerate(groups_shown, 1) for value in values]
    verify_real_people(
        pl.DataFrame(rows, schema=["group_id", "age", "s"], orient="row"),
        pl.DataFrame({"group_id": list(fakes), "count": list(fakes.values())}),
        quasi_identifiers=["age"],
        sensitive=["s"],
        min_real=2,
        groups=None if people is None else np.array(people),
    )


SHARED = [("[30, 50]", "ab"), ("[30, 50]", "ab"), ("[30, 50]", "cd")]


@pytest.mark.parametrize("people", [None, [0, 1, 2]])
def test_groups_of_one_person_may_show_the_same(people):
    verify(SHARED, people, {1: 1, 2: 1, 3: 1})


@pytest.mark.parametrize(
    ("shown", "people", "fakes", "wrong"),
    [
        pytest.param([("30", "ab"), ("31", "ab")], [0, 1], {1: 1, 2: 1}, "shown of fewer than 2", id="apart"),
        pytest.param([("30", "ab"), ("31", "cd")], None, {1: 1}, "shown of fewer than 2", id="one apart"),
        pytest.param(
            [("30", "abc"), ("30", "abc")], None, {1: 2}, "although there are enough", id="three could give one away"
        ),
        pytest.param(SHARED, [0, 1, 1], {1: 1, 2: 1, 3: 1}, "other people than", id="other people"),
        pytest.param(SHARED, [0, 1], {1: 1, 2: 1, 3: 1}, "other people than", id="people are missing"),
    ],
)
def test_the_verification_counts_people_by_what_is_shown(shown, people, fakes, wrong):
    with pytest.raises(ReleaseUnsafeError, match=wrong):
        verify(shown, people, fakes)


def _quarters():
    """Return a table of 300 people, and one with a tenth of them."""
    rng = np.random.default_rng(2)
    rows = {"id": [f"p{n}" for n in range(300)], "age": rng.permutation(300), "s": rng.integers(0, 8, 300)}
    people = pl.DataFrame(rows)
    return people, people.sample(30, seed=3)


def ignoring(**given):
    """Make a release as if one real person were enough."""
    return generalize(**given | {"min_real": 1})


def exact_people(publication):
    """Return how many people stand in cells that show one age of one person."""
    counted = publication.frame.group_by("group_id", "age").len()
    counted = counted.join(publication.counterfeit_frame, on="group_id", how="left").fill_null(0)
    shown = counted.group_by("age").agg((pl.col("len") - pl.col("count")).sum().alias("people"))
    return shown.filter(pl.col("people") == 1).height


@pytest.mark.drawn
def test_a_series_shows_nobodys_own_cells_where_two_are_asked_for(tmp_path):
    first, second = _quarters()
    with shoal.Ledger(tmp_path / "a.db", create=True) as ledger:
        series = ledger.start("s", m=4, identifier="id", quasi_identifiers=["age"], sensitive="s")
        series.publish(first, tmp_path / "1", seed=1)
        alone = series.publish(second, tmp_path / "2", seed=2, min_real=1)
        assert exact_people(alone) > 0
        series.rollback(unpublished=True)
        shared = series.publish(second, tmp_path / "3", seed=2, min_real=2)
        assert exact_people(shared) == 0
        assert shared.certificate.parameters["min_real"] == 2
        assert json.loads((tmp_path / "3.private/certificate.json").read_text())["parameters"]["min_real"] == 2
        assert "min_real" not in shared.certificate.public()["parameters"]
        assert (shared.frame.height, shared.counterfeit_frame["count"].sum()) == (
            alone.frame.height,
            alone.counterfeit_frame["count"].sum(),
        )
        assert series.verify([tmp_path / "1", tmp_path / "3"]).problems == ()
        later = series.publish(first, tmp_path / "4", seed=3, min_real=np.int64(3))
        assert later.certificate.parameters["min_real"] == 3
        with pytest.raises(InfeasibleError, match=r"too few people \(2\)"):
            series.publish(first.head(2), min_real=3)
        with pytest.raises(shoal.errors.ParameterError, match="The 'min_real' parameter of publish must be"):
            series.publish(first, min_real=0)


def test_a_release_without_enough_people_is_not_published(tmp_path, monkeypatch):
    first, second = _quarters()
    with shoal.Ledger(tmp_path / "a.db", create=True) as ledger:
        series = ledger.start("s", m=4, identifier="id", quasi_identifiers=["age"], sensitive="s")
        series.publish(first, tmp_path / "1", seed=1)
        monkeypatch.setattr("shoal.republication.release_stages.generalize", ignoring)
        with pytest.raises(ReleaseUnsafeError, match="quasi-identifiers are shown of fewer than 2 real people"):
            series.publish(second, tmp_path / "2", seed=2, min_real=2)
        assert not (tmp_path / "2").exists()


def test_verifying_a_series_counts_real_people_again(tmp_path, monkeypatch):
    first, second = _quarters()
    with shoal.Ledger(tmp_path / "a.db", create=True) as ledger:
        series = ledger.start("s", m=4, identifier="id", quasi_identifiers=["age"], sensitive="s")
        series.publish(first, tmp_path / "1", seed=1)
        monkeypatch.setattr("shoal.republication.release_stages.generalize", ignoring)
        monkeypatch.setattr("shoal.republication.release_stages.verify_real_people", lambda *_, **__: None)
        series.publish(second, tmp_path / "2", seed=2, min_real=2)
        assert any("fewer than 2 real people" in problem for problem in series.verify().problems)
