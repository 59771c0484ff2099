"""What there is to choose from."""

from __future__ import annotations

from typing import Any

import pytest

from shoal.algorithms.algorithm_list import ALGORITHMS
from shoal.attacks import ATTACKS
from shoal.disclosure_risk import MEASURES
from shoal.metrics import METRICS
from shoal.models.model_list import MODELS

TABLES = [
    ("algorithms", ALGORITHMS),
    ("models", MODELS),
    ("metrics", METRICS),
    ("measures", [one.name for one in MEASURES]),
    ("attacks", list(ATTACKS)),
]


@pytest.mark.parametrize(("what", "table"), TABLES)
def test_a_table_is_listed(shoal: Any, what: str, table: Any) -> None:
    listed = shoal("list", what, "--json").json[what]
    assert [one["name"] for one in listed] == list(table)
    assert all(one["help"].endswith((".", ":", "?")) for one in listed)
    said = shoal("list", what).out
    assert all(name in said for name in table)


def test_parameters_are_listed_by_what_they_are_called(shoal: Any) -> None:
    algorithms = {one["name"]: one["parameters"] for one in shoal("list", "algorithms", "--json").json["algorithms"]}
    assert set(algorithms["milp"]) == {"--param time_limit", "--param gap=..."}
    assert set(algorithms["cluster"]) == {"--param effort"}


def test_something_else_cannot_be_listed(shoal: Any) -> None:
    found = shoal("list", "planets")
    assert found.code == 2
    assert "'planets' is none of algorithms, models, metrics, measures, attacks, warnings, keys." in found.err
