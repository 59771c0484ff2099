from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.algorithms.full_domain.lattice_costs import COSTS
from shoal.metrics import METRICS, Divergence, Metrics, divergence
from shoal.recoding import recode
from shoal.table import Schema, encode


@pytest.fixture
def made() -> Metrics:
    frame = pl.DataFrame({"age": [20, 25, 30, 60], "city": ["secret", "secret", "c", "d"], "s": [1, 2, 3, 4]})
    table = encode(frame, Schema(quasi_identifiers=("age", "city"), sensitive=("s",)))
    groups = np.array([0, 0, 1, 1], dtype=np.int32)
    return Metrics(table, recode(table, groups, 2), groups, k=2)


def test_every_metric_by_its_name(made: Metrics) -> None:
    facts: dict[str, Any] = made.to_dict()
    assert json.loads(json.dumps(facts)) == facts
    assert facts["stars"] == made.stars == 6
    assert facts["stars_fraction"] == made.stars_fraction == 0.75
    assert facts["suppressed_tuples"] == made.suppressed_tuples == 4
    assert facts["suppressed_tuples_fraction"] == made.suppressed_tuples_fraction == 1.0
    assert facts["discernability"] == made.discernability == 8
    assert facts["average_class_size"] == made.average_class_size == 1.0
    assert facts["gcp"] == made.gcp == 0.75
    assert facts["kl_divergence"] == made.kl_divergence
    assert made.ncp == {"age": 1.0, "city": 0.5}
    assert facts["precision"] == made.precision == 0.25
    # Bits: 8 of 8 for the ages, 4 of 6 for the cities.
    assert facts["non_uniform_entropy"] == made.non_uniform_entropy == pytest.approx(12 / 14)
    entropy = facts["by_attribute"]["city"].pop("non_uniform_entropy")
    assert entropy == pytest.approx(4 / 6)
    # The stars give a third of two cities to each; the ages are as even as stars have them.
    apart = facts["by_attribute"]["city"].pop("kl_divergence")
    assert apart == pytest.approx(math.log(3 / 4) / 2 + math.log(3 / 2) / 2)
    even = {"kl_divergence": 0.0}
    assert facts["by_attribute"] == {
        "age": {"stars": 4, "recoded_cells": 4, "ncp": 1.0, "precision": 0.0, "non_uniform_entropy": 1.0, **even},
        "city": {"stars": 2, "recoded_cells": 2, "ncp": 0.5, "precision": 0.5},
    }


def test_the_table_of_metrics_lists_what_is_computed(made: Metrics) -> None:
    assert list(made.totals()) == list(METRICS)
    told = made.to_dict()
    assert set(told) - {"by_attribute", "kl_divergence_reason"} == set(METRICS)
    assert METRICS["precision"].badness(0.25) < METRICS["precision"].badness(0.2)
    assert made.mean_class_size == 2.0 == made.average_class_size * 2
    assert set(COSTS) < set(METRICS)


def test_repr_is_short_and_shows_no_cell(made: Metrics) -> None:
    assert repr(made) == "Metrics(stars=6, suppressed_tuples=4, gcp=0.7500)"


def test_metrics_are_computed_once_and_only_when_asked_for(made: Metrics, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def counted(*arguments: object) -> Divergence:
        calls.append(len(arguments))
        return Divergence(value=None, reason="too long")

    monkeypatch.setattr(divergence, "kl_divergence", counted)
    assert made.gcp == 0.75
    assert calls == []
    assert made.kl_divergence is made.kl_divergence is None
    assert calls == [3]
    assert made.to_dict()["kl_divergence_reason"] == "too long"
