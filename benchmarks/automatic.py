"""What `auto` takes beside what it could have taken: a grid of requests, by every quick algorithm that serves them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import shoal
from benchmarks.adult import adult
from benchmarks.results import Grid, Part, Target
from benchmarks.sweep import side_by_side
from shoal.algorithms import ALGORITHMS, choose, unsupported
from shoal.hierarchy import Hierarchy
from shoal.models import Requirement

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from benchmarks.settings import Settings
    from shoal.algorithms import Algorithm

__all__ = ["measure"]

_REQUESTS: dict[str, list[shoal.PrivacyModel]] = {
    "k = 10": [shoal.KAnonymity(10)],
    "l = 4": [shoal.LDiversity(4)],
    "l = 2 (distinct), k = 10": [shoal.LDiversity(2, variant="distinct"), shoal.KAnonymity(10)],
    "l = 3 (entropy)": [shoal.LDiversity(3, variant="entropy")],
    "l = 3 (recursive, c = 2)": [shoal.LDiversity(3, variant="recursive", c=2)],
    "t = 0.2, k = 5": [shoal.TCloseness(0.2), shoal.KAnonymity(5)],
    "beta = 1, k = 5": [shoal.BetaLikeness(1), shoal.KAnonymity(5)],
}
_ALGORITHMS = ("tp+", "m-approximation", "hilbert", "mondrian", "cluster", "sabre")
_SIZES = (3_000, 30_000)
"""Rows of the smaller tables; the largest has `Settings.rows`."""
_BEHIND = 3.0
"""How much more than the best algorithm of its time `auto` may lose, in percent."""
_SAME_TIME = 1.1
"""An algorithm runs in the same time if it takes at most so many times as long."""
_WARM_UP_ROWS = 500


@dataclass(frozen=True, kw_only=True)
class _Kind:
    """A table, and how it is recoded."""

    name: str
    frame: pl.DataFrame
    sensitive: str
    recoding: str
    hierarchies: Mapping[str, Hierarchy] | None = None


def measure(settings: Settings) -> Part:
    """Publish tables of three sizes with every request of the grid, by `auto` and by what else can serve it."""
    part = Part(name="automatic", title="What auto takes")
    part.say(
        "Whole `anonymize()`: the global certainty penalty in percent, and seconds of processor time of one run after "
        f"a warm-up, {settings.workers} tables at a time. `behind` is how much more `auto` loses than the best of "
        f"those that take at most {_SAME_TIME} times as long, in percent."
    )
    kinds = _kinds(settings)
    found = side_by_side(_requested, kinds[::-1], settings.workers)  # the largest first
    rows = [row for kind in kinds for row in found if row[0] == kind.name]
    header = ["table", "request", "auto takes", "auto", "s", "behind"]
    header += [text for name in _ALGORITHMS for text in (name, "s")]
    part.show(Grid(title="Loss in percent and seconds:", header=header, rows=rows))
    worst = max(float(str(row[5])) for row in rows)
    what = f"auto behind the best algorithm of its time, the worst of {len(rows)} requests"
    part.targets.append(Target(what=what, limit=_BEHIND, measured=worst, unit=" %"))
    return part


def _requested(kind: _Kind) -> list[tuple[Any, ...]]:
    """Publish a table with every request."""
    warm: set[tuple[str, str]] = set()
    rows = []
    for request, models in _REQUESTS.items():
        figures = _figures(kind, request, warm)
        requirement = Requirement.of(models, (kind.sensitive,))
        chosen = choose("auto", requirement, kind.recoding)[0]
        usual = chosen is ALGORITHMS[chosen.name]
        loss, seconds = figures[chosen.name] if usual else _publish(kind, kind.frame, request, chosen)
        least = min([loss, *(lost for lost, took in figures.values() if took <= _SAME_TIME * seconds)])
        behind = 100 * (loss / least - 1) if least else 0.0
        given = {} if usual else chosen.parameters()
        told = ", ".join([chosen.name, *(f"{name} {value}" for name, value in given.items())])
        listed = [x for name in _ALGORITHMS for x in figures.get(name, (None, None))]
        rows.append((kind.name, request, told, loss, seconds, behind, *listed))
    return rows


def _kinds(settings: Settings) -> list[_Kind]:
    """Return the tables with their recodings: Adult (or one like it) in two sizes, and a large census-like table."""
    kinds: list[_Kind] = []
    given: dict[str, Hierarchy] = {}
    if settings.adult.exists():
        source = adult(settings)
        frame, sensitive = source.frame.select(*source.quasi_identifiers, source.sensitive), source.sensitive
        paths = {name: settings.adult.with_name(f"adult_hierarchy_{name}.csv") for name in source.quasi_identifiers}
        if all(path.exists() for path in paths.values()):
            given = {name: Hierarchy.from_csv(path) for name, path in paths.items()}
    else:
        frame = shoal.datasets.census(max(_SIZES), seed=settings.seed)
        sensitive = frame.columns[-1]
    for size in _SIZES[:1] if settings.quick else _SIZES:
        some = frame.sample(min(size, frame.height, settings.rows), seed=1)
        kinds += [_Kind(name=f"{some.height:,}, stars", frame=some, sensitive=sensitive, recoding="suppression")]
        kinds += [_Kind(name=f"{some.height:,}, sets", frame=some, sensitive=sensitive, recoding="generalization")]
        if given:
            name = f"{some.height:,}, hierarchies"
            kinds.append(
                _Kind(name=name, frame=some, sensitive=sensitive, recoding="generalization", hierarchies=given)
            )
    if not settings.quick:
        large = shoal.datasets.census(settings.rows, seed=settings.seed)
        kinds += [
            _Kind(name=f"{large.height:,}, {what}", frame=large, sensitive=large.columns[-1], recoding=recoding)
            for what, recoding in (("stars", "suppression"), ("sets", "generalization"))
        ]
    return kinds


def _figures(kind: _Kind, request: str, warm: set[tuple[str, str]]) -> dict[str, tuple[float, float]]:
    """Return loss and seconds of every algorithm that can serve a request."""
    requirement = Requirement.of(_REQUESTS[request], (kind.sensitive,))
    figures: dict[str, tuple[float, float]] = {}
    for name in _ALGORITHMS:
        if unsupported(ALGORITHMS[name], requirement) is not None:
            continue
        if (name, kind.recoding) not in warm:
            _publish(kind, kind.frame.head(_WARM_UP_ROWS), request, name)
            warm.add((name, kind.recoding))
        figures[name] = _publish(kind, kind.frame, request, name)
    return figures


def _publish(kind: _Kind, frame: pl.DataFrame, request: str, algorithm: str | Algorithm) -> tuple[float, float]:
    start = time.process_time()
    release = shoal.anonymize(
        frame,
        quasi_identifiers=[column for column in frame.columns if column != kind.sensitive],
        sensitive=kind.sensitive,
        privacy=_REQUESTS[request],
        algorithm=algorithm,
        recoding=kind.recoding,  # type: ignore[arg-type]
        hierarchies=kind.hierarchies,
        seed=1,
    )
    return 100 * release.metrics.gcp, time.process_time() - start
