"""Attacks: how long linking takes with as many people as rows, and what the attacks learn of people and of controls."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import shoal
from benchmarks.results import Grid, Part, Target
from shoal import attacks

if TYPE_CHECKING:
    import polars as pl

    from benchmarks.settings import Settings

__all__ = ["measure"]

_WAYS = (("mondrian", "generalization"), ("tp+", "suppression"))
_LIMIT = 300.0
"""Seconds that linking as many rows as people may take at the largest size."""
_ATTACKED = 20_000
"""People of the releases that are attacked; the release holds half of them."""


def measure(settings: Settings) -> Part:
    """Measure times of linking, and rates of attacks."""
    part = Part(name="attacks", title="Attacks")
    _linking(part, settings)
    _rates(part, settings)
    return part


def _linking(part: Part, settings: Settings) -> None:
    sizes = (settings.rows // 100, settings.rows // 10) if settings.quick else (60_000, settings.rows)
    part.say(
        "Census-like tables with seven quasi-identifiers, published with l = 4 and linked with a table of the same "
        "people, who is who being known; one process."
    )
    rows: list[tuple[object, ...]] = []
    for size in sizes:
        for algorithm, recoding in _WAYS:
            frame = shoal.datasets.census(size, quasi_identifiers=7, seed=settings.seed)
            release = _release(frame, algorithm, recoding, settings.seed)
            people = frame.with_row_index("id")
            start = time.perf_counter()
            found = attacks.linking_attack(release, people, identifier="id", truth=release.rows)
            seconds = time.perf_counter() - start
            rows.append((size, algorithm, recoding, seconds, found["unique_matches"], found["expected_matches"]))
    longest = max(float(row[3]) for row in rows)  # type: ignore[arg-type]
    part.targets.append(
        Target(what=f"linking {sizes[-1]:,} rows with as many people", limit=_LIMIT, measured=longest, unit=" s")
    )
    header = ("rows and people", "algorithm", "recoding", "seconds", "linked rows", "expected matches")
    part.show(Grid(title="Linking:", header=header, rows=rows))


def _rates(part: Part, settings: Settings) -> None:
    frame = shoal.datasets.census(_ATTACKED, quasi_identifiers=4, seed=settings.seed)
    members, others = frame[: _ATTACKED // 2], frame[_ATTACKED // 2 :]
    part.say(
        f"Releases of {members.height:,} people with four quasi-identifiers and l = 4, attacked with their true values "
        f"and with {others.height:,} controls from the same distribution. The residual is what comes from being in the "
        "release."
    )
    rows: list[tuple[object, ...]] = []
    for algorithm, recoding in _WAYS:
        release = _release(members, algorithm, recoding, settings.seed)
        for name, attack, extra in (
            ("homogeneity", attacks.homogeneity_attack, {}),
            ("background, j = 1", attacks.background_knowledge_attack, {"j": 1}),
            ("background, j = 3", attacks.background_knowledge_attack, {"j": 3}),
            ("skewness", attacks.skewness_attack, {}),
            ("inference", attacks.inference_attack, {"seed": settings.seed}),
        ):
            found = attack(release, targets=members, controls=others, **extra)  # type: ignore[operator]
            assert found.control is not None
            left = found.residual or {"rate": 0.0, "low": 0.0}
            rows.append(
                (algorithm, name, found.rate, found.baseline.rate, found.control.rate, left["rate"], left["low"])
            )
    header = ("algorithm", "attack", "rate", "baseline", "controls", "residual", "at least")
    part.show(Grid(title="Rates:", header=header, rows=rows))


def _release(frame: pl.DataFrame, algorithm: str, recoding: str, seed: int) -> shoal.Release:
    """Return an l-diverse release of a census-like table."""
    *names, sensitive = frame.columns
    return shoal.anonymize(
        frame,
        quasi_identifiers=names,
        sensitive=sensitive,
        privacy=shoal.LDiversity(4),
        algorithm=algorithm,
        recoding=recoding,  # type: ignore[arg-type]
        seed=seed,
    )
