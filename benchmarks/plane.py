"""Points in rectangles and ordered values in intervals: time, growth, memory and quality."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.harness import median_seconds
from benchmarks.results import Grid, Part, Target
from benchmarks.settings import ROOT
from shoal import grouping

if TYPE_CHECKING:
    from benchmarks.settings import Settings

__all__ = ["main", "measure_ordered", "measure_points"]

_K = 50
_KINDS = ("uniform", "clustered", "rounded")


def measure_points(settings: Settings) -> Part:
    """Group points of several kinds, each number of points in a process of its own."""
    part = Part(name="points", title="Points in rectangles")
    part.say(
        f"k = {_K}. Uniform in a square; clustered around 1,000 places; clustered and rounded to a grid, so that many "
        "points share coordinates. Time of `grouping.points` with its checks, after compiling; peak memory of the "
        "whole process, input and interpreter included."
    )
    rows = []
    for kind in _KINDS:
        for count in settings.point_counts:
            found = _in_a_process(kind, count)
            rows.append(
                (kind, count, *(found[what] for what in ("seconds", "megabytes", "classes", "ratio", "optimal")))
            )
            if count == max(settings.point_counts):
                part.targets.append(
                    Target(what=f"{count:,} {kind} points, seconds", limit=10, measured=found["seconds"], unit=" s")
                )
                part.targets.append(
                    Target(what=f"{count:,} {kind} points, memory", limit=2000, measured=found["megabytes"], unit=" MB")
                )
            part.targets.append(
                Target(what=f"{count:,} {kind} points, largest / bound of Theorem 4", limit=1, measured=found["share"])
            )
    header = ("points", "count", "seconds", "MB", "classes", "largest / k", "optimal")
    part.show(Grid(title="Rectangles", header=header, rows=rows))
    first, last = min(settings.point_counts), max(settings.point_counts)
    for kind in _KINDS:
        times = {row[1]: row[2] for row in rows if row[0] == kind}
        part.targets.append(
            Target(
                what=f"{kind}: seconds per point at {last:,} / at {first:,} (the tree is deeper by its logarithm)",
                limit=1.5,
                measured=times[last] / last / (times[first] / first),
            )
        )
    return part


def _in_a_process(kind: str, count: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.plane", kind, str(count)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.stderr.write(done.stderr)
        done.check_returncode()
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main(kind: str, count: str) -> None:
    """Group points of a kind and print what that took, as JSON."""
    rng = np.random.default_rng(7)
    xy = rng.random((int(count), 2))
    if kind != "uniform":
        centres, spread = rng.random((1000, 2)), rng.exponential(0.01, 1000)
        of = rng.integers(0, 1000, int(count))
        xy = centres[of] + (xy - 0.5) * spread[of, None]
        if kind == "rounded":
            xy = np.round(xy, 4)
    grouping.points(xy[:1000], _K)
    start = time.perf_counter()
    found = grouping.points(xy, _K)
    seconds = time.perf_counter() - start
    unit = 1e6 if sys.platform == "darwin" else 1e3
    assert found.guarantee is not None
    assert found.guarantee.largest is not None
    facts = {
        "seconds": seconds,
        "megabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit),
        "classes": len(found.weights),
        "ratio": found.overfull_ratio,
        "optimal": found.optimal,
        "share": found.cost / found.guarantee.largest,
    }
    sys.stdout.write(json.dumps(facts))


def measure_ordered(settings: Settings) -> Part:
    """Group distinct values of several types into intervals."""
    part = Part(name="ordered", title="Ordered values in intervals")
    rng = np.random.default_rng(settings.seed)
    count = settings.ordered_values
    shuffled = rng.permutation(count)
    kinds: dict[str, tuple[Any, Any]] = {
        "whole numbers": (shuffled, None),
        "decimal numbers": (rng.random(count), None),
        "whole numbers with counts": (shuffled, rng.integers(1, 1000, count)),
        "numbers as text": (shuffled.astype(str), None),
    }
    rows = []
    for kind, (values, counts) in kinds.items():
        for k in (_K, max(_K, count // 40)):
            found = grouping.ordered(values, k, counts=counts)
            seconds = median_seconds(lambda v=values, c=counts, k=k: grouping.ordered(v, k, counts=c), 1)  # type: ignore[misc]
            rows.append((kind, count, k, seconds, len(found.weights), found.overfull_ratio, found.optimal))
            if k == _K:
                part.targets.append(Target(what=f"{count:,} {kind}, seconds", limit=2, measured=seconds, unit=" s"))
    header = ("values", "count", "k", "seconds", "classes", "largest / k", "optimal")
    part.show(Grid(title="Intervals, the largest as small as possible", header=header, rows=rows))
    return part


if __name__ == "__main__":
    main(*sys.argv[1:])
