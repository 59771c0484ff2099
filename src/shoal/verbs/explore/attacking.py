"""The success rates of attacks on the releases of an exploration, all with the same knowledge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from shoal._core.validation import exact_fraction
from shoal.attacks import (
    AttackResult,
    background_knowledge_attack,
    homogeneity_attack,
    linking_attack,
    minimality_attack,
    refinement_attack,
    singling_out_attack,
    skewness_attack,
)
from shoal.errors import ShoalError
from shoal.models import LDiversity
from shoal.release.release import Release
from shoal.request.request import Request

_COMPARED = (
    *("linking", "homogeneity", "background", "skewness", "similarity", "inference", "minimality"),
    *("refinement", "singling-out"),
)
"""The attacks on one release, in the order of their columns."""
_NUMBER = "number of the row"
"""The column that names the rows of the original table for linking."""
_NEEDS_MORE: Mapping[str, str] = {
    "similarity": "An exploration does not know which values are similar.",
    "inference": "An exploration has no people who are not in the release.",
}
"""The attacks that need more than the table and the request."""
_ALGORITHM_DIFFERS: Mapping[str, str] = {
    "transparent": "The formula assumes that groups are as small as possible, which transparent does not make.",
    "safepub": "The attack needs exactly the people of the release, and differential privacy publishes a sample.",
}
"""The algorithms for which the formula of the minimality attack is wrong."""


def measure_attacks(release: Release, people: pl.DataFrame, request: Request, algorithm: str) -> dict[str, Any]:
    """Attack a release with knowledge of all people of the original table.

    Parameters
    ----------
    release : Release
    people : frame
        The original table.
    request : Request
        The request of the exploration: its quasi-identifiers are known, and its sensitive attributes are attacked, also
        if the release treats all columns alike.
    algorithm : str
        The algorithm of the release.

    Returns
    -------
    dict
        For each attack `rate`, `low`, `high`, `baseline`, `attempts` and `successes`; or `rate`, which is None, and
        `not_measured`, the reason.
    """
    schema = request.schema
    persons = (request.person,) if isinstance(request.person, str) else tuple(request.person or ())
    known: Any = {"quasi_identifiers": schema.quasi_identifiers, "person": persons}
    if request.hierarchies and algorithm != "safepub":
        known["hierarchies"] = request.hierarchies
    aimed: Any = {**known, "sensitive": schema.sensitive, "targets": people}
    # Linking attacks the persons whom its identifier names.
    named, identifier = (people, persons[0]) if persons else (people.with_row_index(_NUMBER), _NUMBER)
    bounds = [exact_fraction(one.l) for one in request.requirement.models if isinstance(one, LDiversity)]
    whole = [int(l) for l in bounds if l.denominator == 1]
    runs: dict[str, Callable[[], AttackResult]] = {
        "linking": lambda: linking_attack(release, named, identifier=identifier, **known),
        "refinement": lambda: refinement_attack(release, **known),
        "singling-out": lambda: singling_out_attack(release, people, **known),
    }
    reasons = dict(_NEEDS_MORE)
    if schema.sensitive:
        runs["homogeneity"] = lambda: homogeneity_attack(release, **aimed)
        runs["background"] = lambda: background_knowledge_attack(release, **aimed)
        runs["skewness"] = lambda: skewness_attack(release, **aimed)
    # The formula of minimality holds for some algorithms only.
    if algorithm in _ALGORITHM_DIFFERS:
        reasons["minimality"] = _ALGORITHM_DIFFERS[algorithm]
    elif schema.sensitive and whole and (l := max(whole)) >= 2:
        valued = {**known, "sensitive": schema.sensitive}
        runs["minimality"] = lambda: minimality_attack(release, people, l=l, **valued)
    else:
        reasons["minimality"] = "The request has no l-diversity with a whole number l."
    return {
        name: _run(runs[name]) if name in runs else _skip(reasons.get(name, "There is no sensitive attribute."))
        for name in _COMPARED
    }


def _run(attack: Callable[[], AttackResult]) -> dict[str, Any]:
    """Run an attack and return its figures, or the reason why it does not apply."""
    try:
        found = attack()
    except ShoalError as error:
        return _skip(str(error))
    if found.rate is None:
        return _skip("There is nothing to attack.")
    return {
        "rate": found.rate,
        "low": found.low,
        "high": found.high,
        "baseline": found.baseline.rate,
        "attempts": found.attempts,
        "successes": found.successes,
    }


def _skip(reason: str) -> dict[str, Any]:
    return {"rate": None, "not_measured": reason}
