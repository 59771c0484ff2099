"""Weights, limits and the limit of suppressed rows: on the command line, in specs and in Python, in their words."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from tests.every import every

import shoal
from shoal.algorithms.algorithm_list import ALGORITHMS, unsupported
from shoal.algorithms.preferences import Preferences
from shoal.errors import ColumnError, ParameterError, UnsupportedError, UsageError
from shoal.models.requirement import Requirement
from shoal.request.words import Words
from shoal.wording import sentence

PEOPLE = pl.DataFrame(
    {
        "age": [20 + at * 7 % 40 for at in range(60)],
        "town": [f"{'north' if at % 4 < 2 else 'south'} {at % 4}" for at in range(60)],
        "ill": [["flu", "cough", "ulcer"][at % 3] for at in range(60)],
    }
)
ROLES: dict[str, Any] = {"quasi_identifiers": ["age", "town"], "sensitive": "ill", "k": 4, "seed": 1}


def loss_of(release: shoal.Release) -> dict[str, float]:
    return release.metrics.ncp


@pytest.mark.drawn
def test_what_counts_more_loses_less_and_the_certificate_says_so() -> None:
    asked = {**ROLES, "recoding": "generalization"}
    plain = shoal.anonymize(PEOPLE, algorithm="full-domain", **asked)
    for name, other in (("age", "town"), ("town", "age")):
        weighed = shoal.anonymize(PEOPLE, weights={name: 50}, algorithm="full-domain", **asked)
        assert loss_of(weighed)[name] <= loss_of(plain)[name]
        assert weighed.certificate.parameters["weights"] == {name: 50}
        assert weighed.certificate.algorithm == "full-domain"
        assert "with weights of attributes" in sentence(weighed.certificate.guarantee.promise)
        ncp = loss_of(weighed)
        assert weighed.certificate.details["value"] == pytest.approx((50 * ncp[name] + ncp[other]) / 51)
    assert loss_of(shoal.anonymize(PEOPLE, weights={"age": 50}, **asked)) != loss_of(
        shoal.anonymize(PEOPLE, weights={"town": 50}, **asked)
    )
    assert "weights of attributes" in sentence(shoal.anonymize(PEOPLE, weights={"age": 2}, **asked).certificate.reason)
    assert "weights" not in plain.certificate.parameters


@pytest.mark.drawn
@pytest.mark.parametrize("recoding", ["suppression", "generalization"])
def test_the_default_serves_weights_by_a_local_search(recoding: str) -> None:
    asked = {**ROLES, "recoding": recoding}
    losses = {}
    for name in ("age", "town"):
        weighed = shoal.anonymize(PEOPLE, weights={name: 9}, **asked)
        assert weighed.certificate.algorithm == "cluster"
        assert "with weights of attributes" in sentence(weighed.certificate.guarantee.promise)
        losses[name] = loss_of(weighed)
    assert losses["age"]["age"] <= losses["town"]["age"]
    assert losses["town"]["town"] <= losses["age"]["town"]
    assert recoding == "suppression" or losses["town"]["town"] < losses["age"]["town"]


def test_the_fewest_weighted_stars_are_found_and_bounds_stay_those_of_all_stars() -> None:
    frame = PEOPLE.head(14).with_columns(pl.col("age") // 10)
    asked = {**ROLES, "sensitive": None, "k": 2, "quasi_identifiers": ["age", "town"], "recoding": "suppression"}
    found = {}
    for weights in ({}, {"age": 3}, {"town": 3}):
        release = shoal.anonymize(frame.drop("ill"), **asked, weights=weights, algorithm="exact")
        stars = {name: (release.data[name].cast(str) == "*").sum() for name in ("age", "town")}
        found[tuple(weights)] = stars
        assert release.certificate.cost.bound.stars <= sum(stars.values())
    for name, other in (("age", "town"), ("town", "age")):
        best = 3 * found[name,][name] + found[name,][other]
        assert all(best <= 3 * stars[name] + stars[other] for stars in found.values())


def test_weights_without_a_small_unit_go_to_full_domain() -> None:
    asked = {**ROLES, "recoding": "generalization", "weights": {"age": 1.001}}
    assert shoal.anonymize(PEOPLE, **asked).certificate.algorithm == "full-domain"
    with pytest.raises(UnsupportedError, match="small multiples of one another"):
        shoal.anonymize(PEOPLE, **asked, algorithm="cluster")


def test_limits_hold_in_the_published_table() -> None:
    tree = shoal.Hierarchy.from_rows(
        [(f"{side} {at}", side, "*") for at, side in enumerate(["north", "north", "south", "south"])]
    )
    asked = {**ROLES, "recoding": "generalization", "hierarchies": {"town": tree}}
    for algorithm in ("auto", "full-domain"):
        held = shoal.anonymize(PEOPLE, limits={"town": (1, 1)}, algorithm=algorithm, **asked)
        assert set(held.data["town"]) <= {"north", "south", "*"}
        assert held.certificate.parameters["limits"] == {"town": [1, 1]}
        assert held.certificate.algorithm == {"auto": "cluster"}.get(algorithm, algorithm)
    assert held.certificate.details["levels"]["town"] == 1
    # A limit of a hierarchy that is built automatically needs the algorithm that builds it.
    built = shoal.anonymize(PEOPLE, limits={"age": (1, 2)}, **asked)
    assert built.certificate.algorithm == "full-domain"
    untouched = shoal.anonymize(PEOPLE, limits={"town": (0, 0)}, suppression_limit=0, **asked)
    assert untouched.data["town"].sort().equals(PEOPLE["town"].sort())
    assert "levels" not in str(untouched.public_certificate.to_dict()["parameters"])


def test_a_limit_of_suppressed_rows_is_kept() -> None:
    for limit in (0, 0.05, Fraction(1, 4)):
        release = shoal.anonymize(PEOPLE, suppression_limit=limit, recoding="generalization", **ROLES)
        assert release.certificate.details["suppressed_rows"] <= limit * 60
        assert release.certificate.parameters["suppression_limit"] == float(limit)
    kept = shoal.anonymize(PEOPLE, algorithm=shoal.algorithms.FullDomain(cost="stars"), suppression_limit=0.1, **ROLES)
    assert (kept.certificate.parameters["cost"], kept.certificate.parameters["suppression_limit"]) == ("stars", 0.1)


def test_patterns_take_weights_as_their_own() -> None:
    asked = {**ROLES, "sensitive": None, "algorithm": "patterns"}
    frame = PEOPLE.drop("ill")
    given = shoal.anonymize(frame, weights={"age": 9}, **asked)
    own = shoal.anonymize(
        frame, **{**asked, "algorithm": shoal.algorithms.PatternGuided(weights={"age": 9, "town": 1})}
    )
    assert given.data.equals(own.data)
    assert given.certificate.parameters == own.certificate.parameters


WRONG: list[tuple[dict[str, Any], type[UsageError], str]] = [
    ({"weights": {"age": 0}}, ParameterError, "'weights' parameter of anonymize must be numbers > 0. Got 0."),
    ({"weights": {"age": "2"}}, ParameterError, "must be numbers > 0"),
    ({"weights": ["age"]}, ParameterError, "must be a mapping of names of columns. Got list."),
    (
        {"weights": {"aeg": 2}},
        ColumnError,
        "'aeg', which is not a quasi-identifier. Did you mean 'age'",
    ),
    ({"limits": {"age": 2}}, ParameterError, "must be pairs of levels"),
    ({"limits": {"age": (2, 1)}}, ParameterError, "must be pairs of levels"),
    ({"limits": {"age": (0, 1.5)}}, ParameterError, "must be pairs of levels"),
    (
        {"limits": {"age": (0, 2)}, "recoding": "suppression"},
        ParameterError,
        "names level 2 of 'age', whose levels go from 0 (its values) to 1",
    ),
    ({"limits": {"ill": (0, 1)}}, ColumnError, "'ill', which is not a quasi-identifier"),
    ({"suppression_limit": 1.5}, ParameterError, "'suppression_limit' parameter of full-domain must be"),
]


@every(("asked", "error", "said"), WRONG)
def test_wrong_values(asked: dict[str, Any], error: type[UsageError], said: str) -> None:
    with pytest.raises(error) as found:
        shoal.anonymize(PEOPLE, **ROLES, **asked)
    assert said in str(found.value)


SERVED = {
    "weights": {"cluster", "exact", "full-domain", "milp", "patterns", "patterns-optimal", "sabre"},
    "limits": set(ALGORITHMS) - {"tds", "safepub", "transparent", "matching"},
    "suppression_limit": {"full-domain"},
}
PROVING = {"patterns-optimal", "exact", "milp"}
GIVEN: dict[str, Any] = {"weights": {"age": 2}, "limits": {"age": (0, 1)}, "suppression_limit": 0.5}


@pytest.mark.drawn
@pytest.mark.parametrize("name", SERVED)
def test_every_other_algorithm_says_that_it_cannot(name: str) -> None:
    preferences = Preferences.of(["age"], **{name: GIVEN[name]})
    requirement = Requirement.of(shoal.KAnonymity(4), ("ill",))
    able = {called for called, one in ALGORITHMS.items() if unsupported(one, requirement, preferences) is None}
    assert able == SERVED[name]
    with pytest.raises(UnsupportedError, match=r"'tds' cannot serve this request: it.* These can: .*full-domain"):
        shoal.anonymize(PEOPLE, algorithm="tds", **ROLES, **{name: GIVEN[name]})
    found = shoal.explore(PEOPLE, **ROLES, **{name: GIVEN[name]})
    assert {row.algorithm for row in found.rows if row.able} == SERVED[name] - PROVING
    lists = {"sensitive": "ill", "lists": {"ill": ";"}, "quasi_identifiers": "age", "l": 2}
    with pytest.raises(UnsupportedError, match="roups of linked records and of lists have neither"):
        shoal.anonymize(PEOPLE.drop("town").with_columns(pl.col("ill").cast(pl.String)), **lists, **{name: GIVEN[name]})


def test_costs_that_have_no_weights_say_which_do() -> None:
    for algorithm, said in (
        (
            shoal.algorithms.FullDomain(cost="discernability"),
            "a sum over cells: gcp, precision, non_uniform_entropy, stars",
        ),
        (
            shoal.algorithms.FullDomain(cost="precision", local=True),
            "local recoding weighs attributes for gcp and stars only",
        ),
    ):
        with pytest.raises(UnsupportedError, match=said):
            shoal.anonymize(PEOPLE, algorithm=algorithm, weights={"age": 2}, **ROLES)


def test_flags_and_keys(shoal: Any, tmp_path: Any) -> None:
    PEOPLE.write_csv(tmp_path / "p.csv")
    words = ("anonymize", tmp_path / "p.csv", "--qi", "age,town", "--insensitive", "rest", "-k", "4")
    said = ("--recoding", "generalization", "--weight", "age=2", "--weight", "town=1/2", "--limit", "age=0:3")
    found = shoal(*words, *said, "--suppression-limit", "0.2", "--json", "-o", tmp_path / "out")
    assert found.code == 0, found.err
    assert found.json["parameters"]["weights"] == {"age": 2, "town": 0.5}
    assert found.json["parameters"]["limits"] == {"age": [0, 3]}
    assert found.json["parameters"]["suppression_limit"] == 0.2
    assert found.json["columns"]["insensitive"] == ["ill"]
    spec = tmp_path / "spec.toml"
    spec.write_text('weights.age = 2\nweights.town = "1/2"\nlimits.age = [0, 3]\nsuppression_limit = 0.2')
    again = shoal(*words, *said[:2], "--spec", spec, "--json", "-o", tmp_path / "again")
    assert again.json["parameters"] == found.json["parameters"]
    for given, message in (
        (("--weight", "age=0"), "--set weights must be numbers > 0. Got 0."),
        (("--weight", "aeg=2"), "--set weights names the column 'aeg', which is not a quasi-identifier."),
        (("--limit", "age=0:9"), "--set limits names level 9 of 'age', whose levels go from 0"),
        (("--limit", "age=x"), "--limit takes a column and two levels, NAME=LOW:HIGH, such as age=1:3. Got 'x'."),
        (("--weight", "age=2", "--algorithm", "mondrian"), "it minimizes no loss in which attributes have weights."),
        (("--limit", "age=0:1", "--algorithm", "tds"), "its groups cannot be kept within limits of levels."),
        (
            ("--suppression-limit", "0.1", "--algorithm", "tp+"),
            "--param suppression_limit needs an algorithm that has one",
        ),
    ):
        wrong = shoal(*words, *given, "-o", tmp_path / "no")
        assert wrong.code == 2, wrong.err
        assert message in " ".join(wrong.err.split())


def test_an_algorithm_follows_from_a_parameter_that_it_alone_has() -> None:
    (chosen,) = Words.of_options({"suppression_limit": "1/20"}).algorithms()
    assert chosen == shoal.algorithms.FullDomain(suppression_limit=Fraction(1, 20))
