"""Sentences say the numbers of the request, and round against the publisher."""

from __future__ import annotations

from math import ceil
from typing import Any

import polars as pl
from tests.every import every

import shoal
from shoal.metrics import METRICS
from shoal.report import achieved_for, gap_sentence, model_title, promise, reservations
from shoal.report.figures import read_figures
from shoal.report.remarks import counted
from shoal.report.sentences import describe_guess


@every(
    ("request_", "said"),
    [
        ({"model": "k-anonymity", "k": 10}, ["at least 9 others", "10 or more"]),
        ({"model": "l-diversity", "variant": "frequency", "l": 4}, ["'flu'", "1 in 4 (25%)"]),
        ({"model": "l-diversity", "variant": "distinct", "l": 3}, ["at least 3 different"]),
        ({"model": "l-diversity", "variant": "entropy", "l": 2.5}, ["2.5 equally common"]),
        ({"model": "l-diversity", "variant": "recursive", "l": 3, "c": 2}, ["less than 2 times", "number 3 on"]),
        ({"model": "(alpha, k)-anonymity", "alpha": 0.5, "k": 4}, ["at least 4 records", "50%"]),
        ({"model": "(k, e)-anonymity", "k": 4, "e": 1000}, ["at least 4 records", "1,000"]),
        ({"model": "beta-likeness", "variant": "basic", "beta": 2}, ["1 + 2 over"]),
        ({"model": "beta-likeness", "variant": "enhanced", "beta": 2}, ["common already"]),
        ({"model": "delta-disclosure", "delta": 1.5}, ["within 1.5"]),
        (
            {"model": "t-closeness", "distance": "equal", "t": 0.2},
            ["any set of values", "at most 20 percentage points"],
        ),
        (
            {"model": "t-closeness", "distance": "ordered", "t": 0.05},
            ["5% of the way from the first value to the last"],
        ),
        ({"model": "t-closeness", "distance": "hierarchical", "t": 1}, ["100% of", "hierarchy"]),
        (
            {"model": "t-closeness", "distance": "metric", "values": 3, "normalised": True, "t": 0.5},
            ["50% of the largest distance", "divided by the largest"],
        ),
        ({"model": "something new", "x": 1}, ["something new, x = 1"]),
        # What is counted has a sentence of its own, or the one of records.
        ({"model": "k-anonymity", "k": 3, "of": "persons"}, ["3 or more persons", "one in 3"]),
        (
            {"model": "(alpha, k)-anonymity", "alpha": 0.5, "k": 4, "of": "persons"},
            ["4 or more persons", "at least 4 records"],
        ),
        ({"model": "k-anonymity", "k": 3, "of": "linked_persons"}, ["under a pseudonym", "at least 3 persons"]),
        ({"model": "l-diversity", "variant": "frequency", "l": 4, "of": "linked_persons"}, ["Of the persons", "25%"]),
        ({"model": "t-closeness", "distance": "equal", "t": 0.2, "of": "linked_persons"}, ["share of persons", "20%"]),
        ({"model": "(alpha, k)-anonymity", "alpha": 0.5, "k": 4, "of": "lists"}, ["3 others", "alone or among", "50%"]),
        ({"model": "l-diversity", "variant": "frequency", "l": 4, "of": "records"}, ["1 in 4 (25%)"]),
        ({"model": "average risk", "risk": 0.2, "of": "persons"}, ["over all persons"]),
        ({"model": "average risk", "risk": 0.2, "of": "one_record_each"}, ["over all records"]),
    ],
)
def test_promises(request_: dict[str, Any], said: list[str]) -> None:
    sentence = promise(request_, ["flu"])
    assert all(part in sentence for part in said)
    assert sentence.endswith((".", ")"))


def test_achieved_is_rounded_against_the_publisher() -> None:
    achieved = {"k": 4, "l": {"frequency": 3.99999}, "alpha": 0.25001, "t": {}}
    assert achieved_for({"model": "l-diversity", "variant": "frequency", "l": 3}, achieved) == "l = 3.999"
    assert achieved_for({"model": "(alpha, k)-anonymity", "alpha": 0.3, "k": 2}, achieved) == "k = 4, alpha = 0.251"
    assert achieved_for({"model": "delta-disclosure", "delta": 1}, achieved) == "satisfied in every group"


def test_several_attributes_are_told_apart() -> None:
    assert achieved_for({"model": "t-closeness", "t": 0.5}, {"t": {"a": 0.1, "b": 0.2}}) == (
        "t = 0.1 (a, equal distance), t = 0.2 (b, equal distance)"
    )


def test_closeness_is_stated_under_the_distance_that_was_asked_for() -> None:
    achieved = {
        "t": {"job": 0.9},
        "closeness": [
            {"distance": "ordered", "t": {"job": 0.10001}},
            {"distance": "metric", "values": 3, "t": {"job": 0.2}},
        ],
    }
    asked = {"model": "t-closeness", "t": 0.5}
    assert achieved_for({**asked, "distance": "ordered"}, achieved) == "t = 0.101 (job, ordered distance)"
    assert achieved_for({**asked, "distance": "metric", "values": 3}, achieved) == "t = 0.2 (job, metric distance)"
    assert achieved_for({**asked, "distance": "equal"}, achieved) == "t = 0.9 (job, equal distance)"
    assert achieved_for({**asked, "distance": "hierarchical"}, achieved) == "satisfied in every group"
    assert model_title({**asked, "distance": "ordered"}) == "t-closeness (ordered distance), t = 0.5"


@every(
    ("cost", "said"),
    [
        ({"stars": 4, "lower_bound": {"stars": 4}, "optimal": True}, "proved optimal"),
        ({"stars": 4, "lower_bound": {"stars": 4}, "optimal": False}, "fewest that any"),
        ({"stars": 4, "lower_bound": {"stars": 0}, "optimal": False}, "not possible to prove"),
        ({"stars": 4, "lower_bound": None, "optimal": False}, "No lower bound"),
        ({"stars": 100_001, "lower_bound": {"stars": 100_000}, "optimal": False}, "factor of 1.001 "),
    ],
)
def test_the_gap(cost: dict[str, Any], said: str) -> None:
    assert said in gap_sentence(cost)


def test_the_gap_of_the_loss_is_told_on_the_safe_side() -> None:
    bound = {"stars": 0, "recoded_cells": 20, "gcp": 0.015799}
    cost = {"stars": 0, "recoded_cells": 40, "recoded_tuples": 30, "gcp": 0.025001, "lower_bound": bound}
    assert "at least 1.57% of its precision (GCP); of this one it loses 2.51%." in gap_sentence(cost)
    for without in ({**bound, "gcp": 0.00009}, {"stars": 0, "recoded_cells": 20}):
        assert "GCP" not in gap_sentence({**cost, "lower_bound": without})


def test_the_fewest_recoded_cells_are_no_optimum_of_the_loss() -> None:
    """Groups of other records lose less with as many recoded cells; wider ends lose more with as many."""
    table = pl.DataFrame({"age": [21, 23, 24, 61, 63, 67, 30, 41], "sex": list("ffffmmmm")})
    asked: dict[str, Any] = {"quasi_identifiers": ["age", "sex"], "k": 2, "recoding": "generalization", "seed": 1}
    costs = {}
    for algorithm in ("exact", "cluster"):
        for exact_ends in (False, True):
            made = shoal.anonymize(table, **asked, algorithm=algorithm, exact_ends=exact_ends)
            costs[algorithm, exact_ends] = made.certificate.to_dict()["cost"]
    assert all(cost["optimal"] for cost in costs.values())
    assert len({cost["gcp"] for cost in costs.values()}) == 4
    for cost in costs.values():
        assert "costs less" not in gap_sentence(cost)
        assert "8 cells recoded by grouping are the fewest" in gap_sentence(cost)
        assert f"it loses {ceil(cost['gcp'] * 10_000) / 100:.2f}%" in gap_sentence(cost)
        assert cost["lower_bound"]["gcp"] <= cost["gcp"], "bounds stay valid"


def test_k_anonymity_alone_says_what_it_misses() -> None:
    alone = " ".join(reservations([{"model": "k-anonymity", "k": 5}], ["age"], []))
    with_l = " ".join(reservations([{"model": "l-diversity", "l": 5}], ["age"], ["visit"]))
    assert "ask for l-diversity" in alone
    assert "ask for l-diversity" not in with_l
    assert "visit" in with_l


def test_a_certain_value_is_called_certain_and_not_at_most_100_percent() -> None:
    assert describe_guess(read_figures({"achieved": {"alpha": 1.0}})) == "a sensitive value is certain for some records"
    assert "at most 99%" in describe_guess(read_figures({"achieved": {"alpha": 0.99}}))


def test_cells_that_only_coarsening_changed_are_not_called_recoded_by_grouping() -> None:
    table = pl.DataFrame({"age": [row % 50 + 20 for row in range(200)], "sex": ["f", "m"] * 100})
    asked: dict[str, Any] = {"quasi_identifiers": ["age", "sex"], "k": 2, "coarsen": {"age": "bins:10"}, "seed": 1}
    release = shoal.anonymize(table, **asked)
    assert set(release.data["sex"]) == {"f", "m"}, "groups change nothing"
    assert (release.certificate.cost.recoded_cells, release.metrics.recoded_cells) == (0, 200)
    assert "by coarsening or by groups" in METRICS["recoded_cells"].meaning
    ranges = shoal.anonymize(table, **asked | {"k": 30}).certificate.to_dict()["cost"]
    assert counted(ranges)[:2] == ("cells recoded by grouping", ranges["recoded_cells"])
