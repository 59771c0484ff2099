"""Stars, bounds and phases on many census-like tables: what the figures about quality are made of."""

from __future__ import annotations

import math
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from shoal import LDiversity
from shoal.algorithms import Hilbert, ThreePhase
from shoal.algorithms.base import Algorithm, Partition, Problem
from shoal.algorithms.bounds import lower_bound
from shoal.algorithms.hilbert.hilbert import hilbert_groups
from shoal.datasets import QUASI_IDENTIFIERS, census
from shoal.metrics import kl_divergence
from shoal.models.requirement import Requirement
from shoal.recoding import recode
from shoal.table import Schema, Table, encode

if TYPE_CHECKING:
    import polars as pl

    from benchmarks.settings import Settings

__all__ = [
    "ALGORITHMS",
    "RIVALS",
    "SENSITIVE",
    "Measurement",
    "choices",
    "encoded",
    "partitioned",
    "run_sweep",
    "side_by_side",
    "yardstick_frame",
]

_T = TypeVar("_T")
_M = TypeVar("_M")

SENSITIVE = {"SAL": "income", "OCC": "occupation"}
"""The paper's tables by the sensitive attribute of ours."""

ALGORITHMS: dict[str, Algorithm] = {
    "tp+": ThreePhase(),
    "tp+ hilbert": ThreePhase(refine="hilbert"),
    "hilbert": Hilbert(),
    "tp": ThreePhase(refine=None),
}
"""What is compared: the default, the paper's TP+, its baseline, and TP."""


class _ScaledRefinement(Algorithm):
    """TP refined by Hilbert with every domain stretched to the same width, as the baseline Hilbert has it.

    The paper does not say how domains of different sizes share a curve, and it decides how good the refinement is;
    `refine="hilbert"` takes the codes as they are.
    """

    name = "tp+ scaled"

    def parameters(self) -> dict[str, Any]:
        """Return what distinguishes it."""
        return {"refine": "hilbert", "stretch": True}

    def unsupported(self, requirement: Requirement) -> str | None:
        """Return why a requirement cannot be served."""
        return ALGORITHMS["tp"].unsupported(requirement)

    def group_rows(self, problem: Problem) -> Partition:
        """Run TP, then partition its residue, which is the last group."""
        partition = ALGORITHMS["tp"].partition(problem)
        if not partition.details["residue"]:
            return partition
        groups = partition.groups.copy()
        residue = np.flatnonzero(groups == partition.count - 1)
        groups[residue] = partition.count - 1 + hilbert_groups(problem, residue, stretch=True)
        return Partition(groups=groups, count=int(groups.max()) + 1, guarantee=partition.guarantee)


RIVALS: dict[str, Algorithm] = {**ALGORITHMS, "tp+ scaled": _ScaledRefinement()}
"""The same, and the paper's TP+ with a curve that stretches every domain."""


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """What the algorithms make of one table and one l."""

    table: str
    """SAL or OCC."""
    quasi_identifiers: tuple[str, ...]
    l: int
    phase: int
    """The phase that ended TP."""
    stars: dict[str, int]
    """By algorithm; empty where only the phase was asked for."""
    suppressed_tuples: dict[str, int]
    """By algorithm."""
    divergence: dict[str, float | None]
    """KL-divergence in nats by algorithm, on the first d quasi-identifiers; None where it would take too long."""
    bound: int = 0
    """The certificate's lower bound on stars."""
    raised_bound: int | None = None
    """The same after more work, where that was asked for."""
    raised_seconds: float = 0.0
    """What the raised bound took."""


@dataclass(frozen=True, kw_only=True)
class _Task:
    """One table, and what is to be measured on it."""

    rows: int
    seed: int
    table: str
    quasi_identifiers: tuple[str, ...]
    stars_at: tuple[int, ...]
    """The values of l for which every algorithm runs."""
    phases_at: tuple[int, ...]
    """The values of l for which only TP runs."""
    raised_at: tuple[int, ...]
    """The values of l for which the bound is computed with more work, too."""
    raised_work: int

    @property
    def first(self) -> bool:
        """Whether it has the first d quasi-identifiers."""
        return self.quasi_identifiers == QUASI_IDENTIFIERS[: len(self.quasi_identifiers)]


def choices(d: int, most: int | None, seed: int = 0) -> list[tuple[str, ...]]:
    """Return choices of d of the seven quasi-identifiers: all, or a seeded sample with the first d among them."""
    everything = list(combinations(QUASI_IDENTIFIERS, d))
    if most is None or most >= len(everything):
        return everything
    others = np.random.default_rng([seed, d]).choice(len(everything) - 1, size=most - 1, replace=False) + 1
    return [everything[0], *(everything[i] for i in sorted(others))]


@lru_cache(maxsize=2)
def yardstick_frame(rows: int, sensitive: str, seed: int) -> pl.DataFrame:
    """Return a census-like table with all seven quasi-identifiers; the last two are kept."""
    return census(rows, sensitive=sensitive, seed=seed)  # type: ignore[arg-type]


def encoded(frame: pl.DataFrame, quasi_identifiers: Sequence[str], sensitive: str) -> Table:
    """Encode some columns of a frame."""
    schema = Schema(quasi_identifiers=tuple(quasi_identifiers), sensitive=(sensitive,))
    return encode(frame.select(*quasi_identifiers, sensitive), schema)


def partitioned(table: Table, algorithm: Algorithm, requirement: Requirement) -> Partition:
    """Partition an encoded table; the random source is always the same."""
    return algorithm.partition(Problem(table=table, requirement=requirement, rng=np.random.default_rng(0)))


@lru_cache(maxsize=4)
def run_sweep(settings: Settings) -> tuple[Measurement, ...]:
    """Measure all tables that the settings ask for, side by side; equal settings are measured once."""
    return tuple(side_by_side(_measure, list(_tasks(settings)), settings.workers))


def side_by_side(work: Callable[[_T], list[_M]], tasks: list[_T], workers: int) -> list[_M]:
    """Return what every task measures, in their order; a terminal sees how far it is."""
    found: list[_M] = []
    start = time.perf_counter()
    with _mapper(workers) as mapper:
        for done, measurements in enumerate(mapper(work, tasks), 1):
            found.extend(measurements)
            if sys.stderr.isatty():
                sys.stderr.write(f"\r{done} of {len(tasks)}, {time.perf_counter() - start:.0f} s ")
    if sys.stderr.isatty():
        sys.stderr.write("\n")
    return found


@contextmanager
def _mapper(workers: int) -> Iterator[Callable[..., Any]]:
    if workers <= 1:
        yield map
        return
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool.map


def _tasks(settings: Settings) -> Iterable[_Task]:
    """Say what is to be measured: the longest tables first, so that the processes end together."""
    for d in sorted(settings.dimensions, key=lambda d: -math.comb(len(QUASI_IDENTIFIERS), d)):
        stars_at = {settings.fixed_l, *(settings.l_values if d == settings.fixed_d else ())}
        for quasi_identifiers in choices(d, settings.tables, settings.seed):
            first = quasi_identifiers == QUASI_IDENTIFIERS[:d]
            raised_at = (
                set(settings.raised_l if d == settings.fixed_d else (settings.fixed_l,)) if first and d > 1 else ()
            )
            for table in SENSITIVE:
                yield _Task(
                    rows=settings.rows,
                    seed=settings.seed,
                    table=table,
                    quasi_identifiers=quasi_identifiers,
                    stars_at=tuple(sorted(stars_at)),
                    phases_at=tuple(sorted(set(settings.l_values) - stars_at)),
                    raised_at=tuple(sorted(raised_at)),
                    raised_work=settings.raised_work,
                )


def _measure(task: _Task) -> list[Measurement]:
    sensitive = SENSITIVE[task.table]
    table = encoded(yardstick_frame(task.rows, sensitive, task.seed), task.quasi_identifiers, sensitive)
    found = [_measure_stars(task, table, l) for l in task.stars_at]
    for l in task.phases_at:
        phase = partitioned(table, ALGORITHMS["tp"], Requirement.of(LDiversity(l), (sensitive,))).guarantee.phase
        found.append(_measurement(task, l, phase))
    return found


def _measurement(task: _Task, l: int, phase: int | None, **facts: Any) -> Measurement:
    found: dict[str, Any] = {"stars": {}, "suppressed_tuples": {}, "divergence": {}, **facts}
    return Measurement(table=task.table, quasi_identifiers=task.quasi_identifiers, l=l, phase=phase or 0, **found)


def _measure_stars(task: _Task, table: Table, l: int) -> Measurement:
    requirement = Requirement.of(LDiversity(l), (SENSITIVE[task.table],))
    stars, tuples, divergence, phase = {}, {}, {}, None
    for name, algorithm in RIVALS.items():
        partition = partitioned(table, algorithm, requirement)
        recoded = recode(table, partition.groups, partition.count)
        stars[name], tuples[name] = recoded.stars, recoded.suppressed_tuples
        if task.first:
            divergence[name] = kl_divergence(table, recoded, partition.groups).value
        if name == "tp":
            phase = partition.guarantee.phase
    bound = lower_bound(table, requirement, target=stars["tp+"]).stars
    raised, seconds = None, 0.0
    if l in task.raised_at:
        start = time.perf_counter()
        raised = lower_bound(table, requirement, target=stars["tp+"], work=task.raised_work).stars
        seconds = time.perf_counter() - start
    return _measurement(
        task,
        l,
        phase,
        stars=stars,
        suppressed_tuples=tuples,
        divergence=divergence,
        bound=bound,
        raised_bound=raised,
        raised_seconds=seconds,
    )
