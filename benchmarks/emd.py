"""The earth mover's distance of many groups at once, for the ground distances that large tables are asked with."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from benchmarks.harness import median_seconds, seconds_of
from benchmarks.results import Grid, Part, Target
from shoal.models import Domain, EqualDistance, GroupCounts, MetricDistance, OrderedDistance, Population

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from benchmarks.settings import Settings

    Counts = NDArray[np.int64]

__all__ = ["measure"]

_GROUPS, _VALUES = 100_000, 50
_LIMIT = 50.0
_METRIC_VALUES = 14


def measure(settings: Settings) -> Part:
    """Measure compiled loops over all groups, and the exact code that verification uses."""
    part = Part(name="emd", title="Earth mover's distance")
    groups = 10_000 if settings.quick else _GROUPS
    counts = random_counts(groups, _VALUES, settings.seed)
    part.say(
        f"{groups:,} groups of {_VALUES} sensitive values, {int(counts.sizes.sum()):,} rows and {len(counts.counts):,} "
        f"different values in all groups together; medians of {settings.repeats} after a warm-up."
    )
    layout = (counts.sizes, counts.starts, counts.values, counts.counts, counts.totals)
    rows: list[tuple[str, str, float]] = []
    for distance, kernel in ((EqualDistance(), equal_costs), (OrderedDistance(), ordered_costs)):
        costs = np.empty(groups, dtype=np.int64)
        milliseconds = 1000 * median_seconds(partial(kernel, *layout, costs), settings.repeats)
        if not np.array_equal(costs, distance.costs(counts)[0]):
            raise AssertionError("the kernel and the model disagree")
        what = f"{groups:,} groups, {distance.name} distance"
        part.targets.append(Target(what=what, limit=_LIMIT, measured=milliseconds, unit=" ms"))
        rows.append((what, "compiled", milliseconds))
        rows.append((what, "verification", 1000 * median_seconds(partial(distance.costs, counts), settings.repeats)))
    few = random_counts(groups // 100, _METRIC_VALUES, settings.seed)
    metric = MetricDistance(
        range(_METRIC_VALUES),
        [
            [(abs(i - j) ** 0.5).__round__(6) if i != j else 0 for i in range(_METRIC_VALUES)]
            for j in range(_METRIC_VALUES)
        ],
    )
    what = f"{len(few.sizes):,} groups of {_METRIC_VALUES} values, a metric"
    rows.append((what, "verification", 1000 * seconds_of(partial(metric.costs, few))))
    part.show(Grid(title="Milliseconds for all distances:", header=("what", "code", "ms"), rows=rows))
    return part


def random_counts(groups: int, values: int, seed: int) -> GroupCounts:
    """Return counts of groups in which every value occurs, or nearly every one."""
    counts = np.random.default_rng(seed).poisson(4, size=(groups, values))
    counts[:, 0] += counts.sum(axis=1) == 0
    group, codes = np.nonzero(counts)
    return GroupCounts(
        sizes=counts.sum(axis=1),
        starts=np.searchsorted(group, np.arange(groups + 1)),
        values=codes,
        counts=counts[group, codes],
        population=Population(
            totals=counts.sum(axis=0), domain=Domain.of(labels=list(range(values)), ranks=np.arange(values))
        ),
    )


@njit(cache=True)
def equal_costs(sizes: Counts, starts: Counts, values: Counts, counts: Counts, totals: Counts, costs: Counts) -> None:
    """Fill in the cost of every group under the equal distance (unit 1).

    Parameters
    ----------
    sizes, starts, values, counts, totals : int64 arrays
        Counted groups, see `shoal.models.GroupCounts`; fewer than 2**31 rows.
    costs : int64[groups]
        Receives the costs.
    """
    rows = totals.sum()
    for g in range(sizes.size):
        cost = 0
        for j in range(starts[g], starts[g + 1]):
            cost += max(counts[j] * rows - totals[values[j]] * sizes[g], 0)
        costs[g] = cost


@njit(cache=True)
def ordered_costs(sizes: Counts, starts: Counts, values: Counts, counts: Counts, totals: Counts, costs: Counts) -> None:
    """Fill in the cost of every group under the ordered distance (unit m - 1), codes being ranks.

    Parameters
    ----------
    sizes, starts, values, counts, totals : int64 arrays
        Counted groups, see `shoal.models.GroupCounts`; rows**2 * m is below 2**63.
    costs : int64[groups]
        Receives the costs.
    """
    rows = totals.sum()
    here = np.zeros(totals.size, np.int64)
    for g in range(sizes.size):
        size = sizes[g]
        for j in range(starts[g], starts[g + 1]):
            here[values[j]] = counts[j]
        cost = 0
        prefix = 0
        for v in range(totals.size):
            prefix += here[v] * rows - totals[v] * size
            cost += abs(prefix)
        here[:] = 0
        costs[g] = cost
