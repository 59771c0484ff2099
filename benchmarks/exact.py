"""Algorithms that prove an optimum: how long they take, and what the quick ones lose beside it."""

from __future__ import annotations

import time
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from benchmarks.results import Grid, Part, Target
from benchmarks.sweep import side_by_side
from shoal.algorithms import ALGORITHMS, PROVING, Exact, GeneralizationVectors, Problem
from shoal.models import KAnonymity, LDiversity, MetricDistance, Requirement, TCloseness
from shoal.table import Schema, encode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.settings import Settings
    from shoal.models import PrivacyModel

__all__ = ["measure"]

_ROWS = {14: 1.0, 16: 3.0, 18: 30.0}
_PROGRAM_SECONDS = 120
_QUICK = [name for name in ALGORITHMS if name not in PROVING]


def measure(settings: Settings) -> Part:
    """Time `exact` on distinct rows and `milp` on tables of few values, and hold the heuristics against them."""
    part = Part(name="exact", title="Proven optima")
    _show_exact(part, settings)
    _show_program(part, settings)
    return part


def _problem(columns: Sequence[Sequence[int]], sensitive: Sequence[int], models: Sequence[PrivacyModel]) -> Problem:
    named = {f"q{place}": column for place, column in enumerate(columns)} | {"s": sensitive}
    schema = Schema(quasi_identifiers=tuple(named)[:-1], sensitive=("s",))
    return Problem(
        table=encode(pl.DataFrame(named), schema),
        requirement=Requirement.of(models, ("s",)),
        rng=np.random.default_rng(0),
    )


def _metric(values: int) -> MetricDistance:
    matrix = [[0 if i == j else 5 + (7 * (i + j)) % 5 for j in range(values)] for i in range(values)]
    return MetricDistance(range(values), matrix)


def _models(values: int) -> dict[str, list[PrivacyModel]]:
    return {
        "k = 3": [KAnonymity(3)],
        "l = 2": [LDiversity(2)],
        "distinct l = 3, k = 4": [LDiversity(3, variant="distinct"), KAnonymity(4)],
        "entropy l = 2": [LDiversity(2, variant="entropy")],
        "t = 0.3, equal": [TCloseness(0.3)],
        "t = 0.3, ordered": [TCloseness(0.3, distance="ordered")],
        "t = 0.3, metric": [TCloseness(0.3, distance=_metric(values))],
    }


def _show_exact(part: Part, settings: Settings) -> None:
    part.say("`exact`, after a warm-up, on distinct rows of five quasi-identifiers; one run each.")
    algorithm, chance = Exact(), Random(settings.seed)
    rows: list[tuple[object, ...]] = []
    for n, limit in _ROWS.items():
        slowest = 0.0
        for values in (5, n):
            columns = [[chance.randrange(3) for _ in range(n)] for _ in range(4)] + [list(range(n))]
            sensitive = [row % values for row in range(n)]
            for name, models in _models(values).items():
                if len(rows) < len(_models(values)):  # each model once
                    algorithm.partition(_problem([column[:6] for column in columns], sensitive[:6], models))
                start = time.perf_counter()
                found = algorithm.partition(_problem(columns, sensitive, models))
                seconds = time.perf_counter() - start
                slowest = max(slowest, seconds)
                rows.append((n, values, name, found.guarantee.stars_bound, seconds))
        part.targets.append(Target(what=f"exact, {n} distinct rows", limit=limit, measured=slowest, unit=" s"))
    part.show(Grid(title="exact:", header=("rows", "sensitive values", "model", "fewest stars", "seconds"), rows=rows))


def _show_program(part: Part, settings: Settings) -> None:
    part.say(
        f"`milp`, {_PROGRAM_SECONDS} seconds at most, {settings.workers} programs at the same time: 500 rows, three "
        "quasi-identifiers of four values, five sensitive values, k = 5 and t = 0.3; uniform columns and skewed ones. "
        "The last columns: stars of the quick algorithms."
    )
    tasks = [
        (seed, skewed, distance, _PROGRAM_SECONDS)
        for seed in range(settings.seed + 1, settings.seed + (2 if settings.quick else 3))
        for skewed in (False, True)
        for distance in ("equal", "ordered")
    ]
    rows = side_by_side(_solved, tasks, settings.workers)
    worst = max(row[5] for row in rows)
    part.targets.append(Target(what="milp, gap after two minutes at most", limit=2.0, measured=worst, unit=" %"))
    header = ("seed", "columns", "distance", "stars", "bound", "gap in %", "seconds", *_QUICK)
    part.show(Grid(title="milp:", header=header, rows=rows))


def _solved(task: tuple[int, bool, str, float]) -> list[tuple[Any, ...]]:
    """Solve the program of one table, and partition it by the quick algorithms."""
    seed, skewed, distance, limit = task
    chance = Random(seed)
    columns = [[_value(chance, size, skewed=skewed) for _ in range(500)] for size in (4, 4, 4, 5)]
    problem = _problem(columns[:3], columns[3], [KAnonymity(5), TCloseness(0.3, distance=distance)])
    start = time.perf_counter()
    found = GeneralizationVectors(time_limit=limit).partition(problem)
    seconds = time.perf_counter() - start
    ratio = float(found.guarantee.stars_ratio or 1)
    stars = round(ratio * (found.guarantee.stars_bound or 0))
    shape = "skewed" if skewed else "uniform"
    others = [_stars(problem, name) for name in _QUICK]
    return [(seed, shape, distance, stars, found.guarantee.stars_bound, 100 * (1 - 1 / ratio), seconds, *others)]


def _value(chance: Random, size: int, *, skewed: bool) -> int:
    return min(chance.randrange(size), chance.randrange(size)) if skewed else chance.randrange(size)


def _stars(problem: Problem, name: str) -> int | None:
    algorithm = ALGORITHMS[name]
    if algorithm.unsupported(problem.requirement) is not None:
        return None
    groups = algorithm.partition(problem).groups
    codes = np.column_stack([column.codes for column in problem.table.quasi_identifiers])
    return sum(
        int(len(inside) * (inside != inside[0]).any(axis=0).sum())
        for inside in (codes[groups == group] for group in range(groups.max() + 1))
    )
