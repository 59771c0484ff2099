"""Pattern-guided k-anonymity: stars and seconds of the greedy algorithm, its improvement, the optimum, and Mondrian."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import shoal
from benchmarks.results import Grid, Part, Target
from benchmarks.sweep import side_by_side
from shoal.algorithms.base import Problem
from shoal.datasets import census
from shoal.models.requirement import Requirement
from shoal.table import Schema, encode

if TYPE_CHECKING:
    from benchmarks.settings import Settings
    from shoal.algorithms.base import Algorithm

__all__ = ["measure"]

_K_VALUES = (2, 5, 10, 25)
_QI = ("age", "gender", "race", "marital_status", "birth_place", "education", "work_class")
_ADULT = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
_CENSUS_ROWS = 30_000
"""Census-like rows of which stars are counted over k, about as many as Adult has."""
_Proof = tuple[pl.DataFrame, int, float]
"""A table, k, and seconds."""


def measure(settings: Settings) -> Part:
    """Count stars over k of a census-like table, and of Adult where a copy exists."""
    part = Part(name="patterns", title="Pattern-guided k-anonymity")
    n = settings.rows // 10 if settings.quick else _CENSUS_ROWS
    _show_over_k(
        part, f"Census-like, {n:,} rows, d = 7", census(n, quasi_identifiers=list(_QI), seed=1).select(_QI), settings
    )
    if not settings.adult.exists():
        part.say("There is no copy of Adult: give one with --adult.")
        return part
    frame = pl.read_csv(settings.adult, separator=";", infer_schema=False).select(_ADULT)
    for k, stars, bound in _show_over_k(part, "Adult, eight attributes", frame, settings):
        over = {"the bound": (1.10, bound), "Mondrian": (1.0, stars["mondrian"])}
        part.targets += [
            Target(what=f"Adult, k = {k}: improved greedy over {what}", limit=limit, measured=stars["improved"] / other)
            for what, (limit, other) in over.items()
        ]
    return part


def _partition(frame: pl.DataFrame, algorithm: Algorithm, k: int) -> tuple[float, dict[str, float]]:
    """Return the seconds that a partition takes, encoding included, and what the algorithm tells of it."""
    start = time.perf_counter()
    requirement = Requirement.of(shoal.KAnonymity(k), ())
    table = encode(frame, Schema(quasi_identifiers=tuple(frame.columns)))
    found = algorithm.partition(Problem(table=table, requirement=requirement, rng=np.random.default_rng(1)))
    return time.perf_counter() - start, found.facts


def _proven(task: _Proof) -> list[tuple[float, dict[str, float]]]:
    """Return seconds and facts of a program, in a process beside others."""
    frame, k, limit = task
    return [_partition(frame, shoal.algorithms.PatternGuided(optimal=True, time_limit=limit), k)]


def _show_over_k(
    part: Part, name: str, frame: pl.DataFrame, settings: Settings
) -> list[tuple[int, dict[str, float], float]]:
    """Show stars over k by each algorithm; return of each k the stars and the bound that the program proved."""
    rows: list[tuple[object, ...]] = []
    found = []
    values, limit = (_K_VALUES[:2], 10.0) if settings.quick else (_K_VALUES, 60.0)
    tasks: list[_Proof] = [(frame, k, limit) for k in values]
    for k, (took, best) in zip(values, side_by_side(_proven, tasks, settings.workers), strict=True):
        asked = {"quasi_identifiers": frame.columns, "privacy": shoal.KAnonymity(k), "seed": 1}
        bound, stars = best["cost_bound"], {}
        for algorithm, seconds, facts in (
            ("greedy", *_partition(frame, shoal.algorithms.PatternGuided(improve=False), k)),
            ("improved", *_partition(frame, shoal.algorithms.PatternGuided(), k)),
            ("patterns-optimal", took, best),
        ):
            stars[algorithm] = facts["cost"]
            of_bound = None if algorithm == "greedy" else facts["cost"] / bound
            rows.append((k, algorithm, facts["cost"], of_bound, seconds))
        start = time.perf_counter()
        stars["mondrian"] = shoal.anonymize(frame, algorithm="mondrian", **asked).certificate.cost.stars
        rows.append((k, "mondrian", stars["mondrian"], stars["mondrian"] / bound, time.perf_counter() - start))
        found.append((k, stars, bound))
    part.show(
        Grid(
            title=f"{name}, every pattern; optimal with {limit:.0f} s, {settings.workers} at a time:",
            header=("k", "algorithm", "stars", "over the bound", "seconds"),
            rows=rows,
        )
    )
    return found
