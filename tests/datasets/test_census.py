"""Census-like tables: shape, stability for ever, skew and dependence."""

import hashlib

import numpy as np
import polars as pl
import pytest
from tests.every import every

from shoal.datasets import QUASI_IDENTIFIERS, census
from shoal.errors import ParameterError

DOMAINS = {
    "age": 79,
    "gender": 2,
    "race": 9,
    "marital_status": 6,
    "birth_place": 56,
    "education": 17,
    "work_class": 9,
}


@pytest.fixture(scope="module")
def sal() -> pl.DataFrame:
    return census()


@pytest.fixture(scope="module")
def occ() -> pl.DataFrame:
    return census(sensitive="occupation")


def entropy(frame: pl.DataFrame, *columns: str) -> float:
    shares = frame.group_by(columns).len()["len"].to_numpy() / frame.height
    return float(-(shares * np.log2(shares)).sum())


def information(frame: pl.DataFrame, one: str, other: str) -> float:
    return entropy(frame, one) + entropy(frame, other) - entropy(frame, one, other)


def test_the_same_seed_gives_the_same_table_for_ever() -> None:
    digests = {
        sensitive: hashlib.sha256(
            census(70_000, sensitive=sensitive, seed=7).to_numpy().astype("<i2").tobytes()
        ).hexdigest()
        for sensitive in ("income", "occupation")
    }
    assert digests == {
        "income": "09fae73359ebf27114817d30f6944efee876a95bc1da4b4952ed3563e07b6339",
        "occupation": "e4ad3e8e4dca7c043c27059499da7c5dfba326b55a7af192b54ed82740dc1f59",
    }


def test_domains_are_those_of_the_paper(sal: pl.DataFrame, occ: pl.DataFrame) -> None:
    assert tuple(sal.columns) == (*QUASI_IDENTIFIERS, "income")
    assert tuple(occ.columns) == (*QUASI_IDENTIFIERS, "occupation")
    assert sal.height == 600_000
    assert set(sal.dtypes) == {pl.Int16()}
    for name, size in (DOMAINS | {"income": 50}).items():
        lowest = 17 if name == "age" else 0
        assert (sal[name].min(), sal[name].max(), sal[name].n_unique()) == (lowest, lowest + size - 1, size), name
    assert (occ["occupation"].min(), occ["occupation"].max(), occ["occupation"].n_unique()) == (0, 49, 50)


def test_the_people_are_the_same_whatever_is_selected(sal: pl.DataFrame, occ: pl.DataFrame) -> None:
    assert sal.drop("income").equals(occ.drop("occupation"))
    assert census(5000, quasi_identifiers=4).equals(sal.head(5000).select(*QUASI_IDENTIFIERS[:4], "income"))
    chosen = census(5000, quasi_identifiers=["education", "age"])
    assert chosen.equals(sal.head(5000).select("education", "age", "income"))
    assert census(10, quasi_identifiers=0).columns == ["income"]


def test_seeds_differ_and_small_tables_exist() -> None:
    assert not census(100, seed=1).equals(census(100, seed=2))
    assert census(0).shape == (0, 8)
    assert census(1).equals(census(65_537).head(1))


def test_ten_diversity_is_feasible(sal: pl.DataFrame, occ: pl.DataFrame) -> None:
    for frame, sensitive in ((sal, "income"), (occ, "occupation")):
        largest = frame[sensitive].value_counts()["count"].max()
        assert isinstance(largest, int)
        assert largest / frame.height < 0.08


def test_skew(sal: pl.DataFrame) -> None:
    assert entropy(sal, "race") < 1.6
    assert 0.55 < sal["work_class"].value_counts()["count"].max() / sal.height < 0.65  # type: ignore[operator]
    places = sal["birth_place"].value_counts(sort=True)["count"]
    assert places[0] / places[-1] > 40
    assert sal.filter(pl.col("age") > 80).height < 0.02 * sal.height


@pytest.mark.drawn
def test_dependences_are_as_strong_as_in_the_survey(sal: pl.DataFrame, occ: pl.DataFrame) -> None:
    measured = {
        ("marital_status", "age"): (0.30, 0.37),
        ("education", "age"): (0.13, 0.18),
        ("race", "marital_status"): (0.035, 0.055),
        ("birth_place", "race"): (0.25, 0.4),
        ("work_class", "education"): (0.04, 0.08),
        ("work_class", "age"): (0.03, 0.08),
        ("income", "education"): (0.19, 0.27),
        ("income", "age"): (0.18, 0.26),
        ("income", "gender"): (0.02, 0.035),
    }
    for pair, (low, high) in measured.items():
        assert low < information(sal, *pair) < high, pair
    assert information(occ, "occupation", "education") > 0.3
    assert information(occ, "occupation", "gender") > 0.1
    assert information(occ, "occupation", "work_class") > 0.15


def test_dependences_leave_noise(sal: pl.DataFrame, occ: pl.DataFrame) -> None:
    assert entropy(sal, "income", "education", "gender") - entropy(sal, "education", "gender") > 4.5
    assert entropy(occ, "occupation", "education", "gender") - entropy(occ, "education", "gender") > 4.0


def test_columns_are_independent_given_their_causes(sal: pl.DataFrame) -> None:
    # Gender depends on age alone: within an age it must tell nothing about race (streams are not correlated).
    at_thirty = sal.filter(pl.col("age") == 30)
    assert information(at_thirty, "gender", "race") < 0.002


@every(
    ("parameters", "message"),
    [
        ({"n": -1}, "'n' parameter of census must be an int >= 0"),
        ({"n": 2.5}, "'n' parameter of census"),
        ({"sensitive": "wage"}, "'sensitive' parameter of census must be one of 'income', 'occupation'"),
        ({"seed": -1}, "'seed' parameter of census"),
        ({"quasi_identifiers": 8}, "'quasi_identifiers' parameter of census must be an int from 0 to 7"),
        ({"quasi_identifiers": True}, "'quasi_identifiers' parameter of census"),
        ({"quasi_identifiers": 1.5}, "'quasi_identifiers' parameter of census"),
        ({"quasi_identifiers": ["age", "gendr"]}, "Did you mean 'gender'"),
        ({"quasi_identifiers": ["age", "age"]}, "each attribute once"),
    ],
)
def test_bad_parameters(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        census(**{"n": 10} | parameters)  # type: ignore[arg-type]
