"""Pattern-guided k-anonymity: stars and seconds of the greedy algorithm, its improvement, the optimum, and Mondrian."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import shoal
from benchmarks.harness import median_seconds, peak_of
from benchmarks.results import Grid, Part, Target
from benchmarks.sweep import side_by_side
from shoal.algorithms import Problem
from shoal.datasets import census
from shoal.models import Requirement
from shoal.table import Schema, encode

if TYPE_CHECKING:
    from benchmarks.settings import Settings
    from shoal.algorithms import Algorithm

__all__ = ["measure"]

_K_VALUES = (2, 5, 10, 25)
_QI = ("age", "gender", "race", "marital_status", "birth_place", "education", "work_class")
_LIMIT_SECONDS, _QUALITY_SECONDS = 300.0, 60.0
"""Of the program with at most three stars, half of what its target allows; of those with every pattern."""
_ADULT = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
_FEW = shoal.PatternRule(most_stars=3)
_SAMPLES = ((300, 60.0), (500, 60.0))
"""Rows of a sample of Adult that is to be proven, and seconds."""
_LARGER_SAMPLE, _LARGER_SECONDS, _LARGER_GAP = 1_500, 120.0, 0.7
"""Rows of a sample that is to be bounded, seconds, and the gap in percent that is asked for."""
_CENSUS_ROWS = 30_000
"""Census-like rows of which stars are counted over k, about as many as Adult has."""
_Proof = tuple[pl.DataFrame, shoal.PatternRule | None, int, float]
"""A table, its patterns, k, and seconds."""
_BUSY = 4
"""Processes beside the proofs of the small samples."""


def measure(settings: Settings) -> Part:
    """Measure speed and stars on census-like tables, and the quality on Adult where a copy exists."""
    part = Part(name="patterns", title="Pattern-guided k-anonymity")
    _speed(part, settings)
    _census_over_k(part, settings)
    if not settings.adult.exists():
        part.say("There is no copy of Adult: give one with --adult.")
    else:
        frame = pl.read_csv(settings.adult, separator=";", infer_schema=False).select(_ADULT)
        _quality(part, frame, settings)
    return part


def _partition(frame: pl.DataFrame, algorithm: Algorithm, k: int) -> tuple[float, dict[str, float]]:
    """Return the seconds that a partition takes, encoding included, and what the algorithm tells of it."""
    start = time.perf_counter()
    requirement = Requirement.of(shoal.KAnonymity(k), ())
    table = encode(frame, Schema(quasi_identifiers=tuple(frame.columns)))
    found = algorithm.partition(Problem(table=table, requirement=requirement, rng=np.random.default_rng(1)))
    return time.perf_counter() - start, found.facts


def _note(made: list[tuple[float, dict[str, float]]], frame: pl.DataFrame, algorithm: Algorithm) -> None:
    made.append(_partition(frame, algorithm, 10))


def _proven(task: _Proof) -> list[tuple[float, dict[str, float]]]:
    """Return seconds and facts of a program, in a process beside others."""
    frame, rule, k, limit = task
    return [_partition(frame, shoal.PatternGuided(rule, optimal=True, time_limit=limit), k)]


def _group_by(frame: pl.DataFrame) -> None:
    frame.group_by(_QI).len()


def _speed(part: Part, settings: Settings) -> None:
    plain, improved = shoal.PatternGuided(_FEW, improve=False), shoal.PatternGuided(_FEW)
    rows: list[tuple[object, ...]] = []
    for n in (settings.rows // 10,) if settings.quick else (600_000, 10_000_000):
        frame = census(n, quasi_identifiers=list(_QI), seed=1).select(_QI)
        _partition(frame.head(5_000), improved, 10)
        unavoidable = median_seconds(partial(_group_by, frame), 3)
        for name, algorithm in (("greedy", plain), ("improved", improved)):
            made: list[tuple[float, dict[str, float]]] = []
            peak = peak_of(partial(_note, made, frame, algorithm)) / 1e9
            seconds, facts = made[0]
            rows.append((f"{n:,}", name, seconds, seconds / unavoidable, peak, facts["cost"]))
            if n == 600_000 and name == "greedy":
                part.targets.append(
                    Target(what="greedy, 600,000 rows, over one group_by", limit=25, measured=seconds / unavoidable)
                )
            if n == 10_000_000:
                what = f"{name}, 10,000,000 rows"
                part.targets.append(Target(what=what, limit=60, measured=seconds, unit=" s"))
                part.targets.append(Target(what=f"{what}: peak memory", limit=4, measured=peak, unit=" GB"))
    part.show(
        Grid(
            title="Census-like rows, d = 7, k = 10, every pattern of at most three stars and the all-star one:",
            header=("rows", "algorithm", "seconds with encoding", "over one group_by", "peak GB", "stars"),
            rows=rows,
        )
    )


def _values(settings: Settings) -> tuple[int, ...]:
    return _K_VALUES[:2] if settings.quick else _K_VALUES


def _limit(settings: Settings) -> float:
    return 10.0 if settings.quick else _QUALITY_SECONDS


def _census_over_k(part: Part, settings: Settings) -> None:
    """Show stars over k of a census-like table, as of Adult."""
    n = settings.rows // 10 if settings.quick else _CENSUS_ROWS
    frame = census(n, quasi_identifiers=list(_QI), seed=1).select(_QI)
    tasks: list[_Proof] = [(frame, None, k, _limit(settings)) for k in _values(settings)]
    _show_over_k(
        part, f"Census-like, {n:,} rows, d = 7", frame, settings, side_by_side(_proven, tasks, settings.workers)
    )


def _show_over_k(
    part: Part, name: str, frame: pl.DataFrame, settings: Settings, proofs: Sequence[tuple[float, dict[str, float]]]
) -> list[tuple[int, dict[str, float], float]]:
    """Show stars over k by each algorithm; return of each k the stars and the bound that the program proved."""
    rows: list[tuple[object, ...]] = []
    found = []
    for k, (took, best) in zip(_values(settings), proofs, strict=True):
        asked = {"quasi_identifiers": frame.columns, "privacy": shoal.KAnonymity(k), "seed": 1}
        bound, stars = best["cost_bound"], {}
        for algorithm, seconds, facts in (
            ("greedy", *_partition(frame, shoal.PatternGuided(improve=False), k)),
            ("improved", *_partition(frame, shoal.PatternGuided(), k)),
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
            title=f"{name}, every pattern; optimal with {_limit(settings):.0f} s, {settings.workers} at a time:",
            header=("k", "algorithm", "stars", "over the bound", "seconds"),
            rows=rows,
        )
    )
    return found


def _quality(part: Part, frame: pl.DataFrame, settings: Settings) -> None:
    values = _values(settings)
    tasks: list[_Proof] = [(frame, None, k, _limit(settings)) for k in values]
    if not settings.quick:
        sample = frame.sample(_LARGER_SAMPLE, seed=1)
        tasks = [(frame, _FEW, 5, _LIMIT_SECONDS), (sample, _FEW, 5, _LARGER_SECONDS), *tasks]
    proofs = side_by_side(_proven, tasks, settings.workers)
    few = proofs[: -len(values)]
    for k, stars, bound in _show_over_k(part, "Adult, eight attributes", frame, settings, proofs[-len(values) :]):
        part.targets += [
            Target(
                what=f"Adult, k = {k}: improved greedy over the bound", limit=1.10, measured=stars["improved"] / bound
            ),
            Target(
                what=f"Adult, k = {k}: improved greedy over Mondrian",
                limit=1.0,
                measured=stars["improved"] / stars["mondrian"],
            ),
        ]
    counts: list[tuple[object, ...]] = []
    for most in (1, 2, 3, 4, 8):
        rule = shoal.PatternRule(most_stars=most)
        patterns = len(rule.resolve(frame.columns).starred)
        for name, algorithm in (
            ("greedy", shoal.PatternGuided(rule, improve=False)),
            ("improved", shoal.PatternGuided(rule)),
        ):
            seconds, facts = _partition(frame, algorithm, 10)
            counts.append((patterns, name, facts["cost"], facts["completely_suppressed"], seconds))
    part.show(
        Grid(
            title="Adult, k = 10, by the number of patterns:",
            header=("patterns", "algorithm", "stars", "rows of stars", "seconds"),
            rows=counts,
        )
    )
    _samples(part, frame, settings, few[1:])
    if not few:
        return
    seconds, facts = few[0]
    part.targets.append(
        Target(
            what="Adult, k = 5, at most three stars: gap of the program within ten minutes",
            limit=1.0,
            measured=100 * facts["gap"],
            unit=" %",
        )
    )
    part.say(
        f"The program with at most three stars took {seconds:.0f} s; it had {_LIMIT_SECONDS:.0f}, where its target "
        "allows ten minutes."
    )


def _samples(
    part: Part, frame: pl.DataFrame, settings: Settings, larger: Sequence[tuple[float, dict[str, float]]]
) -> None:
    """Prove samples of a table while other processes compute, and show them with a larger one that was bounded."""
    found = []
    for n, limit in _SAMPLES[: 1 if settings.quick else None]:
        with _busy(_BUSY):
            found.append((n, limit, _BUSY, 0.0, _proven((frame.sample(n, seed=1), _FEW, 5, limit))[0]))
    found += [(_LARGER_SAMPLE, _LARGER_SECONDS, settings.workers - 1, _LARGER_GAP, one) for one in larger]
    rows: list[tuple[object, ...]] = []
    for n, limit, beside, asked, (seconds, facts) in found:
        gap = 100 * facts["gap"]
        rows.append((n, beside, facts["cost"], facts["cost_bound"], gap, seconds))
        what = f"{n:,} rows of Adult, k = 5, at most three stars, {limit:.0f} s, {beside} processes beside: gap"
        part.targets.append(Target(what=what, limit=asked, measured=gap, unit=" %"))
    part.show(
        Grid(
            title="Samples of Adult, k = 5, every pattern of at most three stars and the all-star one:",
            header=("rows", "processes beside", "stars", "bound", "gap in percent", "seconds"),
            rows=rows,
        )
    )


@contextmanager
def _busy(processes: int) -> Iterator[None]:
    """Let so many other processes compute."""
    forever = [sys.executable, "-c", "while True: pass"]
    running = [subprocess.Popen(forever) for _ in range(processes)]
    try:
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()
