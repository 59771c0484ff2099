"""The figures of Xiao, Yi and Tao, EDBT 2010, Section 6, as tables: stars, phases, seconds, divergence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING

from benchmarks.harness import seconds_of
from benchmarks.results import Grid, Part
from benchmarks.sweep import (
    ALGORITHMS,
    SENSITIVE,
    Measurement,
    choices,
    encoded,
    partitioned,
    run_sweep,
    yardstick_frame,
)
from shoal import LDiversity
from shoal.models.requirement import Requirement

if TYPE_CHECKING:
    import polars as pl

    from benchmarks.settings import Settings
    from shoal.algorithms.base import Algorithm

__all__ = ["measure"]


def measure(settings: Settings) -> Part:
    """Measure what Figures 2 to 8 of the paper show, and how often each phase ended TP."""
    part = Part(name="paper", title="The paper's experiments")
    part.say(
        "Xiao, Yi, Tao: The hardness and approximation algorithms for l-diversity, EDBT 2010, Section 6, on "
        f"census-like tables of {settings.rows:,} rows in the place of SAL and OCC. `tp+ hilbert` is the paper's TP+; "
        "`tp+` is ours."
    )
    sweep = run_sweep(settings)
    _show_stars(part, settings, sweep)
    _show_phases(part, settings, sweep)
    _show_seconds(part, settings)
    _show_divergence(part, settings, sweep)
    return part


def _show_stars(part: Part, settings: Settings, sweep: Iterable[Measurement]) -> None:
    counted = [one for one in sweep if one.stars]
    at_d = [one for one in counted if len(one.quasi_identifiers) == settings.fixed_d]
    at_l = [one for one in counted if one.l == settings.fixed_l]
    title = f"Figure 2: average stars over l (d = {settings.fixed_d}):"
    part.show(_stars_grid(title, "l", {l: [one for one in at_d if one.l == l] for l in settings.l_values}))
    by_d = {d: [one for one in at_l if len(one.quasi_identifiers) == d] for d in settings.dimensions}
    part.show(_stars_grid(f"Figure 3: average stars over d (l = {settings.fixed_l}):", "d", by_d))


def _stars_grid(title: str, letter: str, by_key: dict[int, list[Measurement]]) -> Grid:
    rows = [
        (
            key,
            *(
                round(fmean(one.stars[name] for one in found if one.table == table))
                for table in SENSITIVE
                for name in ALGORITHMS
            ),
        )
        for key, found in by_key.items()
    ]
    return Grid(title=title, header=(letter, *_headings()), rows=rows)


def _headings() -> list[str]:
    return [f"{table} {name}" for table in SENSITIVE for name in ALGORITHMS]


def _show_phases(part: Part, settings: Settings, sweep: Iterable[Measurement]) -> None:
    ended = Counter((one.l, one.phase) for one in sweep)
    phases = range(1, 4)
    rows: list[tuple[object, ...]] = [(l, *(ended[l, phase] for phase in phases)) for l in settings.l_values]
    rows.append(("all", *(sum(ended[l, phase] for l in settings.l_values) for phase in phases)))
    title = "How often each phase ended TP, over tables of every d (the paper: phase three never runs):"
    part.show(Grid(title=title, header=("l", "phase one", "phase two", "phase three"), rows=rows))


def _show_seconds(part: Part, settings: Settings) -> None:
    """Show Figures 4 to 6: encoding and partitioning over one group_by, in this process, one table after the other."""
    part.say(
        f"Times to encode and partition over that of one Polars group_by of the same columns, averages over "
        f"{settings.timed_tables} choice(s) of d of the seven quasi-identifiers, each timed once after a warm-up, in "
        "one process."
    )
    frames = {table: yardstick_frame(settings.rows, sensitive, settings.seed) for table, sensitive in SENSITIVE.items()}

    def averages(d: int, l: int, rows: int) -> list[float]:
        found = []
        for table, sensitive in SENSITIVE.items():
            for algorithm in ALGORITHMS.values():
                times = []
                for names in choices(d, settings.timed_tables, settings.seed):
                    frame = frames[table].head(rows).select(*names, sensitive)
                    unavoidable = seconds_of(partial(_grouped, frame))
                    times.append(seconds_of(_work(frame, algorithm, l)) / unavoidable)
                found.append(fmean(times))
        return found

    averages(settings.fixed_d, settings.fixed_l, settings.rows)
    d, l = settings.fixed_d, settings.fixed_l
    figures = {
        f"Figure 4: times over one group_by, over l (d = {d}):": (
            "l",
            [(x, *averages(d, x, settings.rows)) for x in settings.l_values],
        ),
        f"Figure 5: times over one group_by, over d (l = {l}):": (
            "d",
            [(x, *averages(x, l, settings.rows)) for x in settings.dimensions],
        ),
        f"Figure 6: times over one group_by, over n (d = {d}, l = {l}):": (
            "n",
            [(x, *averages(d, l, x)) for x in settings.figure_rows],
        ),
    }
    for title, (letter, rows) in figures.items():
        part.show(Grid(title=title, header=(letter, *_headings()), rows=rows))


def _show_divergence(part: Part, settings: Settings, sweep: Iterable[Measurement]) -> None:
    """Show what Figures 7 and 8 show of all star algorithms, on one table each; `divergence` has TDS, and averages."""
    measured = [one for one in sweep if one.divergence]
    d, l = settings.fixed_d, settings.fixed_l

    def rows(chosen: Callable[[Measurement], int | None]) -> list[tuple[object, ...]]:
        keys = sorted({key for one in measured if (key := chosen(one)) is not None})
        by_key = {(chosen(one), one.table): one.divergence for one in measured}
        return [(key, *(by_key[key, table][name] for table in SENSITIVE for name in ALGORITHMS)) for key in keys]

    over_l = rows(lambda one: one.l if len(one.quasi_identifiers) == d else None)
    over_d = rows(lambda one: len(one.quasi_identifiers) if one.l == l else None)
    for title, letter, found in (
        (f"Figure 7: KL-divergence over l (the first d = {d} quasi-identifiers), in nats:", "l", over_l),
        (f"Figure 8: KL-divergence over d (the first d quasi-identifiers, l = {l}), in nats:", "d", over_d),
    ):
        part.show(Grid(title=title, header=(letter, *_headings()), rows=found))


def _grouped(frame: pl.DataFrame) -> None:
    frame.group_by(frame.columns).len()


def _work(frame: pl.DataFrame, algorithm: Algorithm, l: int) -> Callable[[], object]:
    *names, sensitive = frame.columns
    requirement = Requirement.of(LDiversity(l), (sensitive,))
    return lambda: partitioned(encoded(frame, names, sensitive), algorithm, requirement)
