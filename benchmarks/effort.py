"""Stars after more orders of TP+'s cascade, beside the bound after more work: what an effort of a minute buys."""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from benchmarks.results import Grid, Part, Target
from benchmarks.sweep import SENSITIVE, choices, encoded, partitioned, side_by_side, yardstick_frame
from shoal import LDiversity, ThreePhase
from shoal.algorithms import lower_bound
from shoal.models import Requirement
from shoal.recoding import recode

if TYPE_CHECKING:
    from benchmarks.settings import Settings

__all__ = ["measure"]

_LIMIT = 1.15
"""How many times the better bound TP+ should leave, averages over l."""


@dataclass(frozen=True, kw_only=True)
class _Found:
    """A table and an l."""

    table: str
    l: int
    usual: int
    """Stars by the cascade's own order."""
    best: int
    """Stars after more orders."""
    seconds: float
    """Processor time of these."""
    bound: int
    """The lower bound after more work."""
    bound_seconds: float


def measure(settings: Settings) -> Part:
    """Run TP+ with as many orders as settings say, on the first choices of d quasi-identifiers."""
    part = Part(name="effort", title="Stars with an effort")
    part.say(
        f"TP+ with {settings.orders} orders of its cascade, {settings.rows:,} census-like rows, the first "
        f"{settings.effort_tables} choice(s) of d = {settings.fixed_d}; the bound after {settings.raised_work:,} "
        "operations. Seconds are those of the processor."
    )
    tables = choices(settings.fixed_d, settings.effort_tables, settings.seed)
    tasks = [(settings, name, names, l) for l in settings.l_values for name in SENSITIVE for names in tables]
    found = side_by_side(_measured, tasks, settings.workers)
    for name in SENSITIVE:
        rows = []
        for l in settings.l_values:
            mine = [one for one in found if (one.table, one.l) == (name, l)]
            means = [fmean(getattr(one, figure) for one in mine) for figure in ("usual", "best", "bound")]
            seconds = [fmean(getattr(one, figure) for one in mine) for figure in ("seconds", "bound_seconds")]
            rows.append((l, *map(round, means), *(_over(stars, means[2]) for stars in means[:2]), *seconds))
        header = ("l", "tp+", "with orders", "bound", "tp+ / bound", "with orders / bound", "s", "s of the bound")
        part.show(Grid(title=f"{name}, averages of {len(tables)} table(s), stars:", header=header, rows=rows))
        mine = [one for one in found if one.table == name]
        over = _over(fmean(one.best for one in mine), fmean(one.bound for one in mine))
        what = f"{name}: tp+ with {settings.orders} orders / best bound, d = {settings.fixed_d}, "
        what += f"l = {min(settings.l_values)}..{max(settings.l_values)}"
        part.targets.append(Target(what=what, limit=_LIMIT, measured=over))
    return part


def _over(above: float, below: float) -> float:
    """Return a ratio; nothing over nothing is 1."""
    return above / below if below else (1.0 if above == 0 else float("inf"))


def _measured(task: tuple[Settings, str, tuple[str, ...], int]) -> list[_Found]:
    settings, name, quasi_identifiers, l = task
    sensitive = SENSITIVE[name]
    table = encoded(yardstick_frame(settings.rows, sensitive, settings.seed), quasi_identifiers, sensitive)
    requirement = Requirement.of(LDiversity(l), (sensitive,))
    stars: dict[int, int] = {}
    seconds = 0.0
    for orders in (0, settings.orders):
        start = time.process_time()
        partition = partitioned(table, ThreePhase(orders=orders), requirement)
        seconds = time.process_time() - start
        stars[orders] = recode(table, partition.groups, partition.count).stars
    start = time.process_time()
    bound = lower_bound(table, requirement, target=stars[settings.orders], work=settings.raised_work).stars
    took = time.process_time() - start
    return [
        _Found(
            table=name,
            l=l,
            usual=stars[0],
            best=stars[settings.orders],
            seconds=seconds,
            bound=bound,
            bound_seconds=took,
        )
    ]
