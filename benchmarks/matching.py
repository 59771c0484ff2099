"""Optimal 2-anonymity and 2-diversity: how long a proof takes on rows of Adult, and what heuristics leave beside it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

import shoal
from benchmarks.results import Grid, Part, Target

if TYPE_CHECKING:
    import polars as pl

    from benchmarks.settings import Settings
    from shoal.release.certificate import Cost

__all__ = ["measure"]

_QUASI_IDENTIFIERS = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass")
_SENSITIVE = "occupation"
_MODELS: dict[str, tuple[shoal.PrivacyModel, str]] = {
    "l = 2": (shoal.LDiversity(2), "tp+"),
    "k = 2": (shoal.KAnonymity(2), "m-approximation"),
}
_LIMIT = 60.0
_TARGET_ROWS = 200
_SEEDS = (None, 1, 2, 3, 4, 5)
_LARGER = (400, 800, 1_600, 3_200, 8_000)
_LONG = 60.0
_TWO_VALUES = 4_000


def measure(settings: Settings) -> Part:
    """Measure proofs on Adult, where a copy exists, and an assignment of two sensitive values."""
    part = Part(name="matching", title="Optimal 2-anonymity and 2-diversity")
    part.say(
        "Whole `anonymize()` after a warm-up; seconds of one run. `bound` is what was proven of every release, "
        "`heuristic` the stars of tp+ (l = 2) or m-approximation (k = 2)."
    )
    _two_values(part, quick=settings.quick)
    if settings.adult.exists():
        _adult(part, settings)
    else:
        part.say("There is no copy of Adult here: name one with --adult FILE (fields separated by ';').")
    return part


def _adult(part: Part, settings: Settings) -> None:
    import polars as pl

    frame = pl.read_csv(settings.adult, separator=";").select(*_QUASI_IDENTIFIERS, _SENSITIVE)
    sizes = [(_TARGET_ROWS, seed) for seed in _SEEDS[: 2 if settings.quick else None]]
    sizes += [(rows, 1) for rows in _LARGER[: 2 if settings.quick else None]]
    rows: list[tuple[object, ...]] = []
    slowest = 0.0
    for name, (model, heuristic) in _MODELS.items():
        _publish(frame.head(50), model, shoal.Matching())  # a warm-up
        for size, seed in sizes:
            some = frame.head(size) if seed is None else frame.sample(size, seed=seed)
            limit = _LIMIT if size == _TARGET_ROWS else _LONG
            cost, seconds = _publish(some, model, shoal.Matching(time_limit=limit))
            other, _ = _publish(some, model, heuristic)
            drawn = "the first" if seed is None else f"random, {seed}"
            proven = "optimal" if cost.optimal else ""
            rows.append((name, size, drawn, cost.stars, cost.bound.stars, other.stars, seconds, proven))
            if size == _TARGET_ROWS:
                slowest = max(slowest, seconds if cost.optimal else np.inf)
    header = ("request", "rows", "which", "stars", "bound", "heuristic", "seconds", "note")
    part.show(Grid(title="Rows of Adult, seven quasi-identifiers:", header=header, rows=rows))
    what = f"{_TARGET_ROWS} rows of Adult, proven optimal, slowest"
    part.targets.append(Target(what=what, limit=_LIMIT, measured=slowest, unit=" s"))


def _two_values(part: Part, *, quick: bool) -> None:
    """Assign the rows of a made-up table with two sensitive values, whose rows are nearly all distinct."""
    import polars as pl

    rows = _TWO_VALUES // 10 if quick else _TWO_VALUES
    chance = np.random.default_rng(0)
    columns = {f"q{place}": chance.integers(0, size, rows) for place, size in enumerate((79, 2, 9, 6, 56, 17, 9))}
    frame = pl.DataFrame({**columns, _SENSITIVE: chance.permutation(np.arange(rows) % 2)})
    names = tuple(columns)
    half = [frame.filter(pl.col(_SENSITIVE) == value).head(20) for value in (0, 1)]
    _publish(pl.concat(half), shoal.LDiversity(2), shoal.Matching(), names)  # a warm-up
    cost, seconds = _publish(frame, shoal.LDiversity(2), shoal.Matching(), names)
    if not cost.optimal:
        raise AssertionError("an assignment was not proven")
    what = f"{rows:,} rows with two sensitive values, proven optimal"
    part.targets.append(Target(what=what, limit=_LIMIT, measured=seconds, unit=" s"))
    part.say(f"{what}: {cost.stars} stars in {seconds:.1f} s.")


def _publish(
    frame: pl.DataFrame,
    model: shoal.PrivacyModel,
    algorithm: str | shoal.Matching,
    quasi_identifiers: tuple[str, ...] = _QUASI_IDENTIFIERS,
) -> tuple[Cost, float]:
    start = time.perf_counter()
    release = shoal.anonymize(
        frame, quasi_identifiers=quasi_identifiers, sensitive=_SENSITIVE, privacy=model, algorithm=algorithm, seed=1
    )
    return release.certificate.cost, time.perf_counter() - start
