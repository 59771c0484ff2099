"""Whole processes of `shoal anonymize` on one machine, in turns with another source tree: time, memory and loss.

`python -m benchmarks rows --against SRC` compares with the sources in a folder, as `git worktree add` makes one: no
run may take more than 1.05 times that tree's time. Without it, the limits of seconds, memory and loss hold alone.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from benchmarks.processes import taken_by
from benchmarks.results import Grid, Part, Target
from benchmarks.settings import ROOT
from shoal.datasets import census

if TYPE_CHECKING:
    from benchmarks.settings import Settings

__all__ = ["measure", "measure_cores"]

_QUASI_IDENTIFIERS = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass")
_SENSITIVE = "occupation"
"""The roles of Adult's columns."""
_REDRAWN = 0.15
"""The share of cells that are drawn again from the marginal of their column."""
_SLOWER = 1.05
"""Time over the other tree's, at most."""
_CENSUS = ("--qi", "age,gender,race,marital_status", "--sensitive", "income", "-l", "6", "--algorithm", "tp+")


@dataclass(frozen=True, kw_only=True)
class _Run:
    """A row of the table of limits."""

    what: str
    table: str
    request: tuple[str, ...]
    seconds: float | None = None
    """Seconds, at most."""
    megabytes: float | None = None
    """Peak memory, at most."""
    loss: float | None = None
    """Global certainty penalty in percent, at most; None: what the other tree loses."""
    hierarchies: bool = False


@dataclass(frozen=True, kw_only=True)
class _Found:
    """What a process took."""

    seconds: float
    cpu: float
    megabytes: float
    loss: float


_RUNS = (
    _Run(what="Adult, k = 5", table="adult", request=("-k", "5"), seconds=1.6, loss=2.9, hierarchies=True),
    _Run(
        what="Adult, l = 3", table="adult", request=("-l", "3", "--l-variant", "distinct"), loss=2.9, hierarchies=True
    ),
    _Run(what="Adult, t = 0.2", table="adult", request=("-t", "0.2"), loss=24.3, hierarchies=True),
    _Run(what="Adult, k = 5, hilbert", table="adult", request=("-k", "5", "--algorithm", "hilbert")),
    _Run(what="drawn, k = 5", table="drawn", request=("-k", "5"), seconds=3.5, loss=0.65, hierarchies=True),
    _Run(
        what="drawn, l = 3", table="drawn", request=("-l", "3", "--l-variant", "distinct"), loss=0.75, hierarchies=True
    ),
    _Run(what="drawn, t = 0.2", table="drawn", request=("-t", "0.2"), loss=14, hierarchies=True),
    _Run(what="many, k = 5, suppression", table="many", request=("-k", "5"), seconds=9),
    _Run(what="many, k = 5, hilbert", table="many", request=("-k", "5", "--algorithm", "hilbert"), seconds=9),
    _Run(
        what="many, k = 5", table="many", request=("-k", "5"), seconds=15, megabytes=1200, loss=0.21, hierarchies=True
    ),
    _Run(what="census-like, d = 4, l = 6, tp+, Parquet", table="census", request=_CENSUS),
)
_DIVIDED = (
    *(run for run in _RUNS if run.what in ("drawn, k = 5", "many, k = 5", "many, k = 5, suppression")),
    _Run(what="census-like in pieces of 1 GB", table="census", request=(*_CENSUS, "--memory", "1GB"), megabytes=1000),
)
"""The runs that are measured on 1, 2, 4, 8 and 16 cores, as far as there are some."""


def measure(settings: Settings) -> Part:
    """Publish tables of thousands to millions of rows by whole processes, each tree in turns."""
    part = Part(name="rows", title="Whole processes on one machine, over another tree")
    trees = {"here": ROOT / "src", **({} if settings.against is None else {"there": settings.against.resolve()})}
    if not settings.adult.exists():
        part.say("There is no copy of Adult here: name one with --adult FILE. The census-like table alone is measured.")
    part.say(
        f"Median of {settings.repeats} runs of each tree ({settings.many_repeats} of large tables), in turns, after "
        "one that is not counted; `there` is the other tree. CPU is that of the process and of all that it started, "
        "user and system. drawn and many are Adult's rows drawn with replacement, 15 % of their cells again from their "
        "column; without a name of an algorithm it is the default with Adult's hierarchies."
    )
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        sizes = _write_tables(folder, settings)
        rows = []
        for run in _RUNS:
            if run.table in sizes:
                found = _measure_in_turns(run, folder, trees, settings)
                rows.append(_row(run, sizes[run.table], found["here"], found.get("there")))
                if not settings.quick:  # small tables are start-up
                    part.targets += _targets(run, found["here"], found.get("there"))
        header = (
            "run", "rows", "seconds", "there", "ratio", "CPU", "CPU there", "CPU ratio", "MB", "MB there",
            "gcp %", "gcp % there",
        )  # fmt: skip
        part.show(Grid(title="`shoal anonymize`, from file to folder:", header=header, rows=rows))
    return part


def _row(run: _Run, rows: int, here: _Found, there: _Found | None) -> tuple[object, ...]:
    """Return a line of the table."""
    if there is None:
        return (run.what, rows, here.seconds, None, None, here.cpu, None, None, here.megabytes, None, here.loss, None)
    return (
        run.what, rows, here.seconds, there.seconds, here.seconds / there.seconds, here.cpu, there.cpu,
        here.cpu / there.cpu, here.megabytes, there.megabytes, here.loss, there.loss,
    )  # fmt: skip


def _targets(run: _Run, here: _Found, there: _Found | None) -> Iterable[Target]:
    """Yield the figures of a run that have a limit."""
    if run.seconds is not None:
        yield Target(what=f"{run.what}: seconds", limit=run.seconds, measured=here.seconds, unit=" s")
    if run.megabytes is not None:
        yield Target(what=f"{run.what}: memory", limit=run.megabytes, measured=here.megabytes, unit=" MB")
    if there is not None:
        yield Target(what=f"{run.what}: time over the other tree", limit=_SLOWER, measured=here.seconds / there.seconds)
    # A loss that shall be as before may differ in the last digit.
    most = run.loss if run.loss is not None or there is None else there.loss * (1 + 1e-9)
    if most is not None:
        yield Target(what=f"{run.what}: gcp", limit=most, measured=here.loss, unit=" %")


def measure_cores(settings: Settings) -> Part:
    """Publish tables by whole processes on one core and on more, in turns."""
    part = Part(name="cores", title="Whole processes on 1, 2, 4, 8 and 16 cores")
    part.say(
        f"Medians of {settings.many_repeats} runs in turns, on as many cores as the machine has; the tables are those "
        "of `rows`. MB are the peak of all processes together."
    )
    usable = sorted(os.sched_getaffinity(0))
    numbers = [number for number in (1, 2, 4, 8, 16) if number <= len(usable)]
    rows: list[tuple[object, ...]] = []
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        sizes = _write_tables(folder, settings)
        for run in _DIVIDED:
            if run.table not in sizes:
                continue
            command = _command(run, folder, settings)
            each: dict[int, list[_Found]] = {number: [] for number in numbers}
            for _ in range(settings.many_repeats):
                for number, several in each.items():
                    several.append(_publish(command, ROOT / "src", folder / "out", cores=usable[:number]))
            found = {number: _median(several) for number, several in each.items()}
            for number, one in found.items():
                ratio = one.seconds / found[1].seconds
                rows.append((run.what, sizes[run.table], number, one.seconds, ratio, one.cpu, one.megabytes, one.loss))
                if run.megabytes is not None and not settings.quick:
                    what = f"{run.what}, {number} cores: memory"
                    part.targets.append(Target(what=what, limit=run.megabytes, measured=one.megabytes, unit=" MB"))
    header = ("run", "rows", "cores", "seconds", "over one core", "CPU", "MB", "gcp %")
    part.show(Grid(title="`shoal anonymize`, from file to folder:", header=header, rows=rows))
    return part


def _write_tables(folder: Path, settings: Settings) -> dict[str, int]:
    """Write the tables that there are sources for, and return their numbers of rows."""
    sizes = {"census": settings.many_rows // 30 if settings.quick else settings.many_rows}
    census(sizes["census"], quasi_identifiers=4, seed=settings.seed).write_parquet(folder / "census.parquet")
    if settings.adult.exists():
        frame = pl.read_csv(settings.adult, separator=";").select(*_QUASI_IDENTIFIERS, _SENSITIVE)
        tables = {
            "adult": frame,
            "drawn": _drawn(frame, 20_000 if settings.quick else settings.rows, settings.seed),
            "many": _drawn(frame, 200_000 if settings.quick else settings.drawn_rows, settings.seed),
        }
        for name, table in tables.items():
            table.write_csv(folder / f"{name}.csv")
            sizes[name] = table.height
    return sizes


def _drawn(frame: pl.DataFrame, rows: int, seed: int) -> pl.DataFrame:
    """Draw rows with replacement, and some of their cells again from the marginals."""
    rng = np.random.default_rng(seed)
    drawn = frame[rng.integers(0, frame.height, rows)]
    columns = []
    for column in drawn:
        other = frame.get_column(column.name)[rng.integers(0, frame.height, rows)]
        columns.append(column.zip_with(pl.Series(rng.random(rows) >= _REDRAWN), other))
    return pl.DataFrame(columns)


def _hierarchies(settings: Settings) -> dict[str, Path]:
    """Find the hierarchies of Adult's columns."""
    paths = {n: settings.adult.with_name(f"adult_hierarchy_{n}.csv") for n in _QUASI_IDENTIFIERS}
    return {name: path for name, path in paths.items() if path.exists()}


def _command(run: _Run, folder: Path, settings: Settings) -> list[str]:
    """Return the arguments of `shoal anonymize`."""
    source = folder / ("census.parquet" if run.table == "census" else f"{run.table}.csv")
    command = [str(source), *run.request, "--seed", "1"]
    if run.table != "census":
        command += ["--qi", ",".join(_QUASI_IDENTIFIERS), "--sensitive", _SENSITIVE]
        command += ["--recoding", "generalization" if run.hierarchies else "suppression"]
        if run.hierarchies:
            command += [
                part for name, path in _hierarchies(settings).items() for part in ("--hierarchy", f"{name}={path}")
            ]
    return command


def _measure_in_turns(run: _Run, folder: Path, trees: Mapping[str, Path], settings: Settings) -> dict[str, _Found]:
    """Return the medians of a run by each tree, measured in turns."""
    command = _command(run, folder, settings)
    few = run.table in ("adult", "drawn")
    repeats = 1 if settings.quick else settings.repeats if few else settings.many_repeats
    each: dict[str, list[_Found]] = {name: [] for name in trees}
    for _ in range(repeats + 1):
        for name, tree in trees.items():
            each[name].append(_publish(command, tree, folder / "out"))
    return {name: _median(several[1:]) for name, several in each.items()}


def _publish(command: Sequence[str], tree: Path, out: Path, cores: Sequence[int] | None = None) -> _Found:
    """Run a process and return what it took."""
    # Bytecode is kept, as that of an installed package is.
    environment = {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": ""}
    own = tree.with_name(".venv") / "bin" / "python"  # with what that tree depends on
    python = str(own) if own.exists() else sys.executable
    taken = taken_by([python, "-m", "shoal", "anonymize", *command, "-o", str(out)], environment, cores=cores)
    private = out.with_name(f"{out.name}.private")
    told = json.loads(((private if private.exists() else out) / "certificate.json").read_text(encoding="utf-8"))
    for written in (out, private):
        shutil.rmtree(written, ignore_errors=True)
    return _Found(
        seconds=taken.seconds,
        cpu=taken.user + taken.system,
        megabytes=taken.peak / 1e6,
        loss=100 * told["cost"]["gcp"],
    )


def _median(found: Sequence[_Found]) -> _Found:
    return _Found(
        seconds=statistics.median(one.seconds for one in found),
        cpu=statistics.median(one.cpu for one in found),
        megabytes=statistics.median(one.megabytes for one in found),
        loss=found[-1].loss,
    )
