"""What every algorithm of the catalogue loses on Adult by generalization, with the table's hierarchies and without."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import shoal
from benchmarks.adult import adult
from benchmarks.results import Grid, Part, Target
from shoal.algorithms import ALGORITHMS, PROVING
from shoal.errors import InfeasibleError, UnsupportedError
from shoal.hierarchy import Hierarchy
from shoal.models import Requirement

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from benchmarks.adult import Source
    from benchmarks.settings import Settings

__all__ = ["measure"]

_REQUESTS: dict[str, list[shoal.PrivacyModel]] = {
    "k = 5": [shoal.KAnonymity(5)],
    "l = 3 (distinct), k = 5": [shoal.LDiversity(3, variant="distinct"), shoal.KAnonymity(5)],
    "l = 3": [shoal.LDiversity(3)],
}
_HEADER = (
    "request", "algorithm", "gcp", "precision", "entropy", "divergence", "groups", "suppressed rows", "seconds"
)  # fmt: skip
_RIVALS = {
    "with hierarchies": [
        ("k = 5", "a leading tool's local recoding", 3.3),
        ("k = 5", "a plain Mondrian", 5.9),
        ("l = 3 (distinct), k = 5", "a leading tool's local recoding", 11.4),
        ("l = 3 (distinct), k = 5", "a plain Mondrian", 6.9),
    ],
    "with intervals and sets": [
        ("k = 5", "Mondrian with normalised spans", 1.6),
        ("k = 5", "MDAV", 1.9),
        ("k = 5", "a simple clustering by nearest neighbours", 1.2),
        ("l = 3 (distinct), k = 5", "Mondrian with normalised spans (1.8 to 2.1)", 1.8),
    ],
}
"""Penalties in percent that other programs were measured to lose on this table; constants, not measured here."""
_WARM_UP_ROWS = 2_000
_LIMITS = {
    "with hierarchies": {"k = 5": 2.5, "l = 3 (distinct), k = 5": 4.5},
    "with intervals and sets": {"k = 5": 1.1, "l = 3 (distinct), k = 5": 1.5},
}
"""The most that the best algorithm should lose, in percent."""


def measure(settings: Settings) -> Part:
    """Publish Adult with every algorithm that fits a request."""
    part = Part(name="comparison", title="Local and global recoding of Adult, algorithm by algorithm")
    if not settings.adult.exists():
        part.say("There is no copy of Adult here: name one with --adult FILE (fields separated by ';').")
        return part
    source = adult(settings)
    part.say(
        f"{source.frame.height:,} rows, {len(source.quasi_identifiers)} quasi-identifiers, sensitive: "
        f"{source.sensitive}. Whole `anonymize()`, verification and bound included, after a warm-up on some rows; "
        "`gcp` is the global certainty penalty in percent, `entropy` the non-uniform entropy, `divergence` the "
        "KL-divergence. Lines without further figures are what other programs were measured to lose elsewhere. Where "
        "no hierarchies are given, algorithms that climb them have them built automatically."
    )
    given = _hierarchies(settings.adult.parent, source)
    if given:
        _compare(part, source, "with hierarchies", given)
    else:
        part.say("The hierarchies of Adult are not beside the table: adult_hierarchy_NAME.csv for each attribute.")
    _compare(part, source, "with intervals and sets", {})
    return part


def _hierarchies(folder: Path, source: Source) -> dict[str, Hierarchy]:
    """Return the hierarchy of each quasi-identifier; nothing where a file is missing."""
    paths = {name: folder / f"adult_hierarchy_{name}.csv" for name in source.quasi_identifiers}
    if not all(path.exists() for path in paths.values()):
        return {}
    return {name: Hierarchy.from_csv(path) for name, path in paths.items()}


def _compare(part: Part, source: Source, kind: str, given: Mapping[str, Hierarchy]) -> None:
    rows: list[tuple[object, ...]] = []
    warm_up = replace(source, frame=source.frame.sample(min(_WARM_UP_ROWS, source.frame.height), seed=1))
    for request, models in _REQUESTS.items():
        best = None
        for name in _able(models, source.sensitive):
            try:
                _publish(warm_up, models, name, given)
                figures = _publish(source, models, name, given)
            except (InfeasibleError, UnsupportedError) as error:
                part.say(f"{request}, {name}, {kind}: {type(error).__name__}.")
                continue
            best = figures[0] if best is None else min(best, figures[0])
            rows.append((request, name, *figures))
        others = [(other, gcp) for asked, other, gcp in _RIVALS[kind] if asked == request]
        rows += [(request, other, gcp, *[None] * (len(_HEADER) - 3)) for other, gcp in others]
        if best is not None and request in _LIMITS[kind]:
            what = f"Adult, {kind}, {request}: least gcp"
            part.targets.append(Target(what=what, limit=_LIMITS[kind][request], measured=best, unit=" %"))
    part.show(Grid(title=f"Adult {kind}:", header=_HEADER, rows=rows))


def _able(models: list[shoal.PrivacyModel], sensitive: str) -> list[str]:
    """Return the algorithms that can serve a request on a table of this size."""
    requirement = Requirement.of(models, (sensitive,))
    return [
        name
        for name, algorithm in ALGORITHMS.items()
        if name not in PROVING and algorithm.unsupported(requirement) is None
    ]


def _publish(
    source: Source, models: list[shoal.PrivacyModel], algorithm: str, given: Mapping[str, Hierarchy]
) -> tuple[float, float, float, float | None, int, int, float]:
    start = time.perf_counter()
    release = shoal.anonymize(
        source.frame,
        quasi_identifiers=source.quasi_identifiers,
        sensitive=source.sensitive,
        insensitive=source.insensitive,
        privacy=models,
        algorithm=algorithm,
        recoding="generalization",
        hierarchies=given,
        seed=1,
    )
    seconds = time.perf_counter() - start
    metrics = release.metrics
    stars = sum(column.stars[metrics.groups].astype(int) for column in metrics.recoding.columns)
    return (
        100 * metrics.gcp,
        metrics.precision,
        metrics.non_uniform_entropy,
        metrics.kl_divergence,
        release.certificate.achieved["groups"],
        int((stars == len(source.quasi_identifiers)).sum()),
        seconds,
    )
