"""Figures 7 and 8 of Xiao, Yi and Tao, EDBT 2010: KL-divergence of TP+ against top-down specialization."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.harness import median_seconds
from benchmarks.results import Grid, Part, Target
from benchmarks.sweep import SENSITIVE, choices, encoded, side_by_side, yardstick_frame
from shoal import LDiversity
from shoal.algorithms import ThreePhase, TopDownSpecialization
from shoal.algorithms.base import Algorithm, Partition, Problem
from shoal.datasets import QUASI_IDENTIFIERS
from shoal.hierarchy import automatic_hierarchy
from shoal.metrics import kl_divergence
from shoal.models.requirement import Requirement
from shoal.recoding import recode

if TYPE_CHECKING:
    from benchmarks.settings import Settings
    from shoal.hierarchy import Hierarchy
    from shoal.table import Table

__all__ = ["ALGORITHMS", "Divergences", "measure"]

ALGORITHMS: dict[str, tuple[Algorithm, str]] = {
    "tds": (TopDownSpecialization(), "generalization"),
    "tp+ hilbert": (ThreePhase(refine="hilbert"), "suppression"),
    "tp+": (ThreePhase(), "suppression"),
}
"""What is compared, and how each is recoded: the paper's rival, the paper's TP+, and ours."""

_RIVAL = "tds"
_SHORT_ROWS = 60_000
_CHOICES = 12
"""Choices of d of the seven quasi-identifiers that are averaged; all 35 of d = 4 would take twice as long."""


@dataclass(frozen=True, kw_only=True)
class Divergences:
    """What one table and one l lose."""

    table: str
    """SAL or OCC."""
    d: int
    l: int
    by_algorithm: dict[str, float]
    """KL-divergence in nats; not a number where it would take too long."""


@dataclass(frozen=True, kw_only=True)
class _Task:
    """One table, and the values of l to measure on it."""

    rows: int
    seed: int
    table: str
    quasi_identifiers: tuple[str, ...]
    l_values: tuple[int, ...]


def measure(settings: Settings) -> Part:
    """Measure what Figures 7 and 8 of the paper show."""
    part = Part(name="divergence", title="KL-divergence of TP+ and top-down specialization")
    rows = min(settings.rows, _SHORT_ROWS) if settings.quick else settings.rows
    part.say(
        "Xiao, Yi, Tao: The hardness and approximation algorithms for l-diversity, EDBT 2010, Section 6.2, on "
        f"census-like tables of {rows:,} rows in the place of SAL and OCC; averages over at most {_most(settings)} "
        "choices of d of the seven quasi-identifiers. `tp+ hilbert` is the paper's TP+, `tp+` is ours; both publish "
        "stars. `tds` publishes nodes of hierarchies, one cut for the whole table. The paper does not say which "
        "hierarchies it used: these are the "
        "automatic ones, quantiles of the codes."
    )
    found = side_by_side(_measure, list(_tasks(settings, rows)), settings.workers)
    over_l = [one for one in found if one.d == settings.fixed_d]
    over_d = [one for one in found if one.l == settings.fixed_l]
    part.show(
        _grid(f"Figure 7: KL-divergence over l (d = {settings.fixed_d}), in nats:", "l", over_l, lambda one: one.l)
    )
    part.show(
        _grid(f"Figure 8: KL-divergence over d (l = {settings.fixed_l}), in nats:", "d", over_d, lambda one: one.d)
    )
    for name in ALGORITHMS:
        if name != _RIVAL:
            lower = sum(one.by_algorithm[name] < one.by_algorithm[_RIVAL] for one in found)
            equal = sum(one.by_algorithm[name] == one.by_algorithm[_RIVAL] for one in found)
            part.say(f"`{name}` has the lower divergence in {lower} of {len(found)} cases, an equal one in {equal}.")
            for table in SENSITIVE:
                ratio = _mean(found, table, name) / _mean(found, table, _RIVAL)
                what = f"KL-divergence of {name} over that of {_RIVAL}, averages over the grid, {table}"
                part.targets.append(Target(what=what, limit=1.0, measured=ratio))
    part.targets.append(_seconds(settings, rows))
    return part


def _most(settings: Settings) -> int:
    """Return how many choices of d of the quasi-identifiers are averaged at most."""
    return min(settings.tables or _CHOICES, _CHOICES)


def _seconds(settings: Settings, rows: int) -> Target:
    """Take the time of top-down specialization on all seven quasi-identifiers, after a run that is not counted."""
    sensitive = SENSITIVE["SAL"]
    frame = yardstick_frame(rows, sensitive, settings.seed)
    table = encoded(frame, QUASI_IDENTIFIERS, sensitive)
    trees = {name: automatic_hierarchy(frame.get_column(name)) for name in QUASI_IDENTIFIERS}
    seconds = median_seconds(
        lambda: _partitioned(table, *ALGORITHMS[_RIVAL], settings.fixed_l, trees), settings.repeats
    )
    return Target(what=f"TDS on {rows:,} rows, d = 7, l = {settings.fixed_l}", limit=10.0, measured=seconds, unit=" s")


def _mean(found: Iterable[Divergences], table: str, name: str) -> float:
    return fmean(one.by_algorithm[name] for one in found if one.table == table)


def _grid(title: str, letter: str, found: Sequence[Divergences], key: Callable[[Divergences], int]) -> Grid:
    rows = [
        (
            value,
            *(
                _mean([one for one in found if key(one) == value], table, name)
                for table in SENSITIVE
                for name in ALGORITHMS
            ),
        )
        for value in sorted({key(one) for one in found})
    ]
    return Grid(
        title=title, header=(letter, *(f"{table} {name}" for table in SENSITIVE for name in ALGORITHMS)), rows=rows
    )


def _tasks(settings: Settings, rows: int) -> Iterable[_Task]:
    """Say what is to be measured, the dimension with the most tables first."""
    for d in sorted(settings.dimensions, key=lambda d: -math.comb(len(QUASI_IDENTIFIERS), d)):
        l_values = {settings.fixed_l, *(settings.l_values if d == settings.fixed_d else ())}
        for quasi_identifiers in choices(d, _most(settings), settings.seed):
            for table in SENSITIVE:
                yield _Task(
                    rows=rows,
                    seed=settings.seed,
                    table=table,
                    quasi_identifiers=quasi_identifiers,
                    l_values=tuple(sorted(l_values)),
                )


def _measure(task: _Task) -> list[Divergences]:
    frame = yardstick_frame(task.rows, SENSITIVE[task.table], task.seed)
    table = encoded(frame, task.quasi_identifiers, SENSITIVE[task.table])
    trees = {name: automatic_hierarchy(frame.get_column(name)) for name in task.quasi_identifiers}
    return [
        Divergences(
            table=task.table,
            d=len(task.quasi_identifiers),
            l=l,
            by_algorithm={name: _divergence(table, *chosen, l, trees) for name, chosen in ALGORITHMS.items()},
        )
        for l in task.l_values
    ]


def _partitioned(table: Table, algorithm: Algorithm, recoding: str, l: int, trees: dict[str, Hierarchy]) -> Partition:
    return algorithm.partition(
        Problem(
            table=table,
            requirement=Requirement.of(LDiversity(l), (table.sensitive[0].name,)),
            rng=np.random.default_rng(0),
            recoding=recoding,
            hierarchies=trees if recoding == "generalization" else {},
        )
    )


def _divergence(table: Table, algorithm: Algorithm, recoding: str, l: int, trees: dict[str, Hierarchy]) -> float:
    partition = _partitioned(table, algorithm, recoding, l, trees)
    recoded = recode(
        table,
        partition.groups,
        partition.count,
        method=recoding,  # type: ignore[arg-type]
        hierarchies=trees if recoding == "generalization" else {},
        least=partition.least,
    )
    value = kl_divergence(table, recoded, partition.groups).value
    return math.nan if value is None else value
