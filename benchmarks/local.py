"""Local recoding for the least loss: clustering beside its rivals, on Adult and on large tables, and by stars."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING

import shoal
from benchmarks.adult import adult
from benchmarks.harness import seconds_of
from benchmarks.results import Grid, Part, Target
from shoal.hierarchy import Hierarchy, automatic_hierarchy

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from benchmarks.settings import Settings

__all__ = ["measure"]

_REQUESTS: dict[str, list[shoal.PrivacyModel]] = {
    "k = 5": [shoal.KAnonymity(5)],
    "l = 3 (distinct), k = 5": [shoal.LDiversity(3, variant="distinct"), shoal.KAnonymity(5)],
    "l = 3": [shoal.LDiversity(3)],
}
_STARS = {"k = 5": "m-approximation", "l = 3": "tp+"}
"""What has the fewest stars of the other algorithms."""
_ALGORITHMS = ("cluster", "mondrian", "hilbert")
_LIMITS = {
    ("with intervals and sets", "k = 5"): 1.1,
    ("with intervals and sets", "l = 3 (distinct), k = 5"): 1.5,
    ("with hierarchies", "k = 5"): 2.5,
    ("with hierarchies", "l = 3 (distinct), k = 5"): 4.5,
}
"""The most that clustering should lose on Adult, in percent."""
_LIMITS_BY_LEAVES = {"k = 5": (2.4, 2.2), "l = 3 (distinct), k = 5": (2.6,)}
"""The most that it should lose with hierarchies where a node counts all values below it, also those that no row has."""
_THOROUGH, _LONG = 100, 1_000
"""The efforts that are held against these limits."""
_ADULT_SECONDS, _CENSUS_SECONDS = 10.0, 15.0
_WARM_UP_ROWS = 2_000


def measure(settings: Settings) -> Part:
    """Publish Adult and a census-like table by clustering and its rivals."""
    part = Part(name="local", title="Local recoding for the least loss")
    part.say(
        "Whole `anonymize()`, verification and bound included; `gcp` is the global certainty penalty in percent; "
        "seconds of one run after a warm-up on some rows."
    )
    if settings.adult.exists():
        _measure_adult(part, settings)
    else:
        part.say("There is no copy of Adult here: name one with --adult FILE (fields separated by ';').")
    _measure_census(part, settings)
    return part


def _measure_adult(part: Part, settings: Settings) -> None:
    source = adult(settings)
    names, sensitive = source.quasi_identifiers, source.sensitive
    frame = source.frame.select(*names, sensitive)
    paths = {name: settings.adult.with_name(f"adult_hierarchy_{name}.csv") for name in names}
    kinds: dict[str, Mapping[str, Hierarchy]] = {"with intervals and sets": {}}
    if all(path.exists() for path in paths.values()):
        kinds["with hierarchies"] = {name: Hierarchy.from_csv(path) for name, path in paths.items()}
        _measure_by_leaves(part, frame, sensitive, kinds["with hierarchies"])
    rows: list[tuple[object, ...]] = []
    for (kind, given), request, name in itertools.product(kinds.items(), _REQUESTS, _ALGORITHMS):
        figures = _publish(frame, sensitive, request, name, given)
        rows.append((kind, request, name, *figures))
        if name == "cluster" and (kind, request) in _LIMITS:
            what = f"Adult, {kind}, {request}"
            part.targets.append(
                Target(what=f"{what}: gcp of cluster", limit=_LIMITS[kind, request], measured=figures[0], unit=" %")
            )
            part.targets.append(Target(what=what, limit=_ADULT_SECONDS, measured=figures[2], unit=" s"))
    header = ("recoding", "request", "algorithm", "gcp", "groups", "seconds")
    part.show(Grid(title=f"Adult, {frame.height:,} rows, sensitive: {sensitive}:", header=header, rows=rows))
    stars = [
        (request, name, *_publish(frame, sensitive, request, name, None))
        for request, other in _STARS.items()
        for name in ("cluster", other)
    ]
    header = ("request", "algorithm", "stars, % of the cells", "groups", "seconds")
    part.show(Grid(title="Adult by suppression:", header=header, rows=stars))


def _measure_by_leaves(part: Part, frame: pl.DataFrame, sensitive: str, trees: Mapping[str, Hierarchy]) -> None:
    rows: list[tuple[object, ...]] = []
    for request, limits in _LIMITS_BY_LEAVES.items():
        for effort in (_THOROUGH, _LONG):
            start = time.process_time()
            release = _release(frame, sensitive, request, shoal.Cluster(effort=effort), trees)
            seconds = time.process_time() - start
            lost = 100 * _gcp_by_leaves(release.frame, trees)
            least = release.certificate.to_dict()["cost"]["lower_bound"]
            figures = 100 * release.metrics.gcp, 100 * least["gcp"], lost
            rows.append((request, effort, *figures, release.certificate.achieved["groups"], seconds))
            what = f"Adult, with hierarchies, {request}, effort {effort}: gcp of cluster by leaves"
            part.targets += [Target(what=what, limit=limit, measured=lost, unit=" %") for limit in limits]
    header = ("request", "effort", "gcp", "bound on gcp", "gcp by leaves", "groups", "CPU seconds")
    title = "Adult by cluster with hierarchies; by leaves a node counts all values of the hierarchy below it:"
    part.show(Grid(title=title, header=header, rows=rows))


def _gcp_by_leaves(published: pl.DataFrame, trees: Mapping[str, Hierarchy]) -> float:
    """Return the penalty where a node counts all leaves of the hierarchy below it, also those that no row has."""
    total = 0.0
    for name, tree in trees.items():
        leaves = len(tree.labels[0])
        below: dict[str, float] = {}
        for labels, sizes in zip(reversed(tree.labels), reversed(tree.leaves), strict=True):
            below |= dict(zip(labels, sizes.tolist(), strict=True))
        below["*"] = leaves
        cells = published.get_column(name).cast(str)
        total += sum(count * (below[cell] - 1) / (leaves - 1) for cell, count in cells.value_counts().iter_rows())
    return total / (len(trees) * published.height)


def _measure_census(part: Part, settings: Settings) -> None:
    frame = shoal.datasets.census(settings.rows, seed=settings.seed)
    *names, sensitive = frame.columns
    told = frame.get_column(sensitive)
    kinds: dict[str, Mapping[str, Hierarchy]] = {
        "with intervals": {},
        "with automatic hierarchies": {name: automatic_hierarchy(frame.get_column(name), told) for name in names},
    }
    rows: list[tuple[object, ...]] = []
    for (kind, given), request, name in itertools.product(kinds.items(), _REQUESTS, _ALGORITHMS):
        if settings.quick and request != "k = 5":
            continue
        figures = _publish(frame, sensitive, request, name, given)
        rows.append((kind, request, name, *figures))
        if name == "cluster":
            what = f"{frame.height:,} census-like rows, {kind}, {request}"
            part.targets.append(Target(what=what, limit=_CENSUS_SECONDS, measured=figures[2], unit=" s"))
    header = ("recoding", "request", "algorithm", "gcp", "groups", "seconds")
    part.show(Grid(title=f"{frame.height:,} census-like rows, sensitive: {sensitive}:", header=header, rows=rows))


def _publish(
    frame: pl.DataFrame, sensitive: str, request: str, name: str, given: Mapping[str, Hierarchy] | None
) -> tuple[float, int, float]:
    """Return the loss in percent, the groups and the seconds; without hierarchies, even none, by suppression."""
    made: list[shoal.Release] = []

    def publish(table: pl.DataFrame) -> None:
        made.append(_release(table, sensitive, request, name, given))

    publish(frame.sample(min(_WARM_UP_ROWS, frame.height), seed=1))
    seconds = seconds_of(lambda: publish(frame))
    return 100 * made[-1].metrics.gcp, made[-1].certificate.achieved["groups"], seconds


def _release(
    frame: pl.DataFrame,
    sensitive: str,
    request: str,
    algorithm: str | shoal.Cluster,
    given: Mapping[str, Hierarchy] | None,
) -> shoal.Release:
    return shoal.anonymize(
        frame,
        quasi_identifiers=[column for column in frame.columns if column != sensitive],
        sensitive=sensitive,
        privacy=_REQUESTS[request],
        algorithm=algorithm,
        recoding="suppression" if given is None else "generalization",
        hierarchies=given,
        seed=1,
    )
