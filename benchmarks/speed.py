"""How long it takes and how much memory, against one group-by of Polars."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import shoal
from benchmarks.harness import Ratio, command_seconds, peak_memory, processor_seconds_of, ratio, shoal_command
from benchmarks.results import Grid, Part, Target
from benchmarks.sweep import encoded, partitioned
from shoal.algorithms import ALGORITHMS
from shoal.datasets import QUASI_IDENTIFIERS, census
from shoal.models import Requirement

if TYPE_CHECKING:
    import polars as pl

    from benchmarks.settings import Settings

__all__ = ["measure"]

_SENSITIVE = "income"
_PARTITION_LIMITS = {(4, "tp"): 1.5, (4, "tp+"): 4.0, (7, "tp+"): 12.0}
_WHOLE_LIMITS = {(4, "tp"): 8.0, (4, "tp+"): 12.0}
_IN_PROCESS_LIMIT, _MANY_IN_PROCESS_LIMIT = 2.5, 1.5
"""Of the whole `anonymize()`, since tables are counted first: of the table, and of one of ten times the rows."""
_GROWTH_LIMIT = 11.0
_VERSION_LIMIT, _WARM_LIMIT, _FIRST_LIMIT = 0.4, 3.0, 20.0


def measure(settings: Settings) -> Part:
    """Measure times against the yardstick, growth with the rows, peak memory, and the command line."""
    part = Part(name="speed", title="Speed and memory")
    part.say(
        "The yardstick is one Polars `frame.group_by(quasi-identifiers + sensitive).len()` on the same "
        f"{settings.rows:,} census-like rows in the same process; both are measured in turns, medians of "
        f"{settings.repeats} after a warm-up; l = {settings.fixed_l}."
    )
    table = census(settings.rows, seed=settings.seed)
    dimensions = [d for d in settings.dimensions if d in (4, 7)]
    frames = {d: table.select(*QUASI_IDENTIFIERS[:d], _SENSITIVE) for d in dimensions}
    _measure_ratios(part, settings, frames)
    _measure_text(part, settings, frames[dimensions[0]])
    with tempfile.TemporaryDirectory() as folder:
        _measure_growth(part, settings, dimensions[0], Path(folder))
        _measure_commands(part, settings, Path(folder))
    return part


def _whole(
    frame: pl.DataFrame, algorithm: str, settings: Settings, by_step: list[Mapping[str, float]] | None = None
) -> None:
    """Publish a table in memory; note the seconds of each step."""
    release = shoal.anonymize(
        frame,
        quasi_identifiers=frame.columns[:-1],
        sensitive=frame.columns[-1],
        privacy=shoal.LDiversity(settings.fixed_l),
        algorithm=algorithm,
    )
    if by_step is not None:
        by_step.append(release.certificate.seconds)


def _encode_and_partition(frame: pl.DataFrame, algorithm: str, settings: Settings) -> object:
    *names, sensitive = frame.columns
    requirement = Requirement.of(shoal.LDiversity(settings.fixed_l), (sensitive,))
    return partitioned(encoded(frame, names, sensitive), ALGORITHMS[algorithm], requirement)


def _yardstick(frame: pl.DataFrame) -> Callable[[], object]:
    return lambda: frame.group_by(frame.columns).len()


def _row(d: int, what: str, found: Ratio, limit: float | None) -> tuple[object, ...]:
    met = None if limit is None else "yes" if found.value <= limit else "NO"
    return (d, what, found.seconds, found.fastest, found.slowest, found.yardstick, found.value, limit, met)


_RATIO_HEADER = ("d", "what", "seconds", "fastest", "slowest", "group_by", "ratio", "limit", "met")


def _measure_ratios(part: Part, settings: Settings, frames: dict[int, pl.DataFrame]) -> None:
    rows, steps = [], []
    names: list[str] = []
    for d, frame in frames.items():
        for algorithm in ("tp", "tp+", "hilbert"):
            work = partial(_encode_and_partition, frame, algorithm, settings)
            found = ratio(work, _yardstick(frame), settings.repeats)
            limit = _PARTITION_LIMITS.get((d, algorithm))
            rows.append(_row(d, f"encode + partition, {algorithm}", found, limit))
            _target(part, f"encode + partition, {algorithm}, d = {d}", limit, found)
        for algorithm in ("tp", "tp+"):
            by_step: list[Mapping[str, float]] = []
            found = ratio(partial(_whole, frame, algorithm, settings, by_step), _yardstick(frame), settings.repeats)
            limit = _WHOLE_LIMITS.get((d, algorithm))
            rows.append(_row(d, f"anonymize(), {algorithm}", found, limit))
            _target(part, f"anonymize(), {algorithm}, d = {d}", limit, found)
            if limit is not None:
                _in_process(part, frame, algorithm, _IN_PROCESS_LIMIT, found)
            by_step.sort(key=lambda seconds: seconds["total"])
            steps.append((d, algorithm, *by_step[len(by_step) // 2].values()))
            names = list(by_step[0])
    part.show(Grid(title="Times against the yardstick, in seconds:", header=_RATIO_HEADER, rows=rows))
    part.show(Grid(title="Steps of anonymize(), in seconds:", header=("d", "algorithm", *names), rows=steps))


def _target(part: Part, what: str, limit: float | None, found: Ratio) -> None:
    if limit is not None:
        part.targets.append(Target(what=f"{what}, over one group_by", limit=limit, measured=found.value, unit=" x"))


def _in_process(part: Part, frame: pl.DataFrame, algorithm: str, limit: float, found: Ratio) -> None:
    _target(part, f"{frame.height:,} rows in process, {algorithm}, d = {frame.width - 1}", limit, found)


def _measure_text(part: Part, settings: Settings, frame: pl.DataFrame) -> None:
    """Measure the same table as text: what a CSV file of labels would be."""
    import polars as pl

    text = frame.select(pl.format(f"{name} {{}}", pl.col(name)).alias(name) for name in frame.columns)
    rows = []
    for what, work in (("encode + partition", _encode_and_partition), ("anonymize()", _whole)):
        for algorithm in ("tp", "tp+"):
            found = ratio(partial(work, text, algorithm, settings), _yardstick(text), settings.repeats)
            rows.append(_row(frame.width - 1, f"{what}, {algorithm}", found, None)[:7])
    part.show(Grid(title="The same table as text, without a target:", header=_RATIO_HEADER[:7], rows=rows))


def _measure_growth(part: Part, settings: Settings, d: int, folder: Path) -> None:
    """Measure ten times the rows: time and peak memory."""
    many = census(settings.many_rows, quasi_identifiers=d, seed=settings.seed)
    few = many.head(settings.rows)
    rows = []
    for what, work in (("encode + partition", _encode_and_partition), ("anonymize()", _whole)):
        for algorithm in ("tp", "tp+"):
            publish_few, publish_many = (
                partial(work, few, algorithm, settings),
                partial(work, many, algorithm, settings),
            )
            publish_few()  # the warm-up of both
            short = statistics.median(processor_seconds_of(publish_few) for _ in range(settings.repeats))
            long = statistics.median(processor_seconds_of(publish_many) for _ in range(settings.many_repeats))
            rows.append((f"{what}, {algorithm}", short, long, long / short))
            name = f"{what}, {algorithm}: {settings.many_rows:,} rows over {settings.rows:,}"
            part.targets.append(Target(what=name, limit=_GROWTH_LIMIT, measured=long / short, unit=" x"))
    over = []
    for algorithm in ("tp", "tp+"):
        found = ratio(partial(_whole, many, algorithm, settings), _yardstick(many), settings.many_repeats)
        over.append(_row(d, f"anonymize(), {algorithm}", found, _MANY_IN_PROCESS_LIMIT))
        _in_process(part, many, algorithm, _MANY_IN_PROCESS_LIMIT, found)
    part.show(Grid(title=f"{settings.many_rows:,} rows against the yardstick:", header=_RATIO_HEADER, rows=over))
    header = ("what", f"{settings.rows:,} rows", f"{settings.many_rows:,} rows", "ratio")
    part.show(Grid(title=f"Growth with the rows (d = {d}), in seconds of processor time:", header=header, rows=rows))
    _measure_memory(part, settings, {len(few): few, len(many): many}, folder)


def _measure_memory(part: Part, settings: Settings, frames: dict[int, pl.DataFrame], folder: Path) -> None:
    rows = []
    for height, frame in frames.items():
        for algorithm in ("tp", "tp+"):
            found = peak_memory(frame, sensitive=_SENSITIVE, l=settings.fixed_l, algorithm=algorithm, folder=folder)
            sizes = (found.arrow, found.before, found.peak, found.peak - found.before, found.limit)
            rows.append((height, algorithm, *(round(size / 1e6) for size in sizes)))
            name = f"peak memory of anonymize(), {algorithm}, {height:,} rows"
            limit, measured = found.limit / 1e6, found.peak / 1e6
            part.targets.append(Target(what=name, limit=limit, measured=measured, unit=" MB"))
    header = ("rows", "algorithm", "Arrow size", "before anonymize()", "peak", "peak - before", "limit")
    title = "Memory of a process that publishes the table, in MB; before: interpreter, libraries and the table:"
    part.show(Grid(title=title, header=header, rows=rows))


def _measure_commands(part: Part, settings: Settings, folder: Path) -> None:
    """Measure the installed command: its start, a CSV file with compiled kernels at hand, and without."""
    shoal_ = shoal_command()
    source = folder / "table.csv"
    census(settings.csv_rows, seed=settings.seed).write_csv(source)
    names = ",".join(QUASI_IDENTIFIERS)
    request = [*shoal_, "anonymize", str(source), "--qi", names, "--sensitive", _SENSITIVE, "-l", str(settings.fixed_l)]
    request += ["--force", "-o", str(folder / "out")]
    version = command_seconds([*shoal_, "version"], repeats=settings.repeats)
    warm = command_seconds(request, repeats=settings.repeats)
    with tempfile.TemporaryDirectory() as empty:
        first = command_seconds(request, repeats=1, environment={"NUMBA_CACHE_DIR": empty}, warm=False)
    csv = f"shoal anonymize, CSV of {settings.csv_rows:,} rows"
    for what, limit, measured in (
        ("shoal version", _VERSION_LIMIT, version),
        (f"{csv}, kernels compiled before", _WARM_LIMIT, warm),
        (f"{csv}, the very first time", _FIRST_LIMIT, first),
    ):
        part.targets.append(Target(what=what, limit=limit, measured=measured, unit=" s"))
