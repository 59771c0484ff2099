"""How the tests of algorithms make a problem: from columns of values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.algorithms.base import Problem
from shoal.hierarchy import Hierarchy
from shoal.models import PrivacyModel
from shoal.models.requirement import Requirement
from shoal.table import Schema, encode


def make_problem(
    columns: Sequence[Sequence[Any]],
    sensitive: Sequence[Sequence[Any]],
    privacy: PrivacyModel | Sequence[PrivacyModel],
    hierarchies: Mapping[str, Hierarchy] | None = None,
    **how: Any,
) -> Problem:
    """Return the problem of a table with the quasi-identifiers q0, q1, ... and the sensitive attributes s0, s1, ...

    With hierarchies, even without any, it will be recoded by generalization, unless `how` says otherwise.
    """
    named = {f"q{place}": column for place, column in enumerate(columns)}
    named |= {f"s{place}": column for place, column in enumerate(sensitive)}
    schema = Schema(
        quasi_identifiers=tuple(name for name in named if name[0] == "q"),
        sensitive=tuple(name for name in named if name[0] == "s"),
    )
    made = Problem(
        table=encode(pl.DataFrame(named), schema),
        requirement=Requirement.of(privacy, schema.sensitive),
        rng=np.random.default_rng(0),
        recoding="suppression" if hierarchies is None else "generalization",
        hierarchies=hierarchies or {},
    )
    return replace(made, **how)


@pytest.fixture(scope="session")
def problem_of() -> Callable[..., Problem]:
    """Return the function that makes a problem of columns, sensitive columns and models."""
    return make_problem
