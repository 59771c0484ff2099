"""Whole processes of `shoal anonymize` on one machine, in turns with another source tree: time and loss.

`python -m benchmarks rows --against SRC` compares with the sources in a folder, as `git worktree add` makes one: the
limits are of times over that tree's (they were set against commit 11a055f). Without it, seconds alone are printed.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.adult import adult
from benchmarks.results import Grid, Part, Target
from benchmarks.settings import ROOT
from shoal.datasets import census

if TYPE_CHECKING:
    import polars as pl

    from benchmarks.settings import Settings

__all__ = ["measure"]

_REDRAWN = 0.15
"""The share of cells that are drawn again from the marginal of their column."""
_CENSUS = ("--qi", "age,gender,race,marital_status", "--sensitive", "income", "-l", "6", "--algorithm", "tp+")


@dataclass(frozen=True, kw_only=True)
class _Run:
    """A row of the table of limits."""

    what: str
    table: str
    request: tuple[str, ...]
    ratio: float
    """Time over the other tree's, at most."""
    loss: float | None = None
    """Global certainty penalty in percent, at most; None: what the other tree loses."""
    hierarchies: bool = False


@dataclass(frozen=True, kw_only=True)
class _Found:
    """What a process took."""

    seconds: float
    cpu: float
    loss: float


_RUNS = (
    _Run(what="Adult, k = 5, the default", table="adult", request=("-k", "5"), ratio=0.35, loss=3.1, hierarchies=True),
    _Run(what="Adult, k = 5, --effort 100", table="adult", request=("-k", "5"), ratio=1.0, hierarchies=True),
    _Run(what="Adult, k = 5, hilbert", table="adult", request=("-k", "5", "--algorithm", "hilbert"), ratio=0.45),
    _Run(what="drawn, k = 5, the default", table="drawn", request=("-k", "5"), ratio=0.45, loss=0.65, hierarchies=True),
    _Run(
        what="drawn, l = 3 distinct, the default",
        table="drawn",
        request=("-l", "3", "--l-variant", "distinct"),
        ratio=0.45,
        loss=0.80,
        hierarchies=True,
    ),
    _Run(
        what="drawn, t = 0.2, the default", table="drawn", request=("-t", "0.2"), ratio=0.5, loss=34, hierarchies=True
    ),
    _Run(what="many drawn, suppression, k = 5", table="many", request=("-k", "5"), ratio=0.35),
    _Run(what="many drawn, hilbert", table="many", request=("-k", "5", "--algorithm", "hilbert"), ratio=0.35),
    _Run(what="many drawn, the default", table="many", request=("-k", "5"), ratio=0.25, loss=0.21, hierarchies=True),
    _Run(what="census-like, d = 4, l = 6, tp+, Parquet", table="census", request=_CENSUS, ratio=0.35),
)
_AIMED_AT = {"drawn, t = 0.2, the default": 30.0}
"""Lower losses than those of the table that were asked for later, in percent."""
_ONLY_HERE = {"Adult, k = 5, --effort 100": ("--effort", "100")}
"""Flags that the other tree need not know: it does as much by default."""


def measure(settings: Settings) -> Part:
    """Publish tables of thousands to millions of rows by whole processes, each tree in turns."""
    part = Part(name="rows", title="Whole processes on one machine, over another tree")
    trees = {"here": ROOT / "src", **({} if settings.against is None else {"there": settings.against.resolve()})}
    if not settings.adult.exists():
        part.say("There is no copy of Adult here: name one with --adult FILE. The census-like table alone is measured.")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        sizes = _write_tables(folder, settings)
        found = {run: _measured(run, folder, trees, settings) for run in _RUNS if run.table in sizes}
    rows: list[tuple[object, ...]] = []
    for run, by_tree in found.items():
        here, there = by_tree["here"], by_tree.get("there")
        ratio = None if there is None else here.seconds / there.seconds
        what = f"{run.what}, {sizes[run.table]:,} rows"
        most = run.loss if run.loss is not None else None if there is None else there.loss
        rows.append((
            what, here.seconds, None if there is None else there.seconds, ratio, run.ratio,
            here.cpu, None if there is None else there.cpu, here.loss, most,
        ))  # fmt: skip
        if run.what in _AIMED_AT and not settings.quick:
            target = Target(what=f"{what}: gcp aimed at", limit=_AIMED_AT[run.what], measured=here.loss, unit=" %")
            part.targets.append(target)
        if ratio is not None and not settings.quick:  # small tables are start-up
            part.targets.append(Target(what=f"{what}: time over the other tree", limit=run.ratio, measured=ratio))
        if most is not None and not settings.quick:
            # A loss that shall be as before may differ in the last digit.
            limit = most if run.loss is not None else most * (1 + 1e-9)
            part.targets.append(Target(what=f"{what}: gcp", limit=limit, measured=here.loss, unit=" %"))
    part.say(
        f"Median of {settings.repeats} runs of each tree ({settings.many_repeats} of large tables, one where it shall "
        "be quick), in turns, after one that is not counted; `there` is the other tree. CPU is that of the "
        "process and of all that it started, user and system."
    )
    header = (
        "run", "seconds", "there", "ratio", "limit", "CPU", "CPU there", "gcp %", "at most",
    )  # fmt: skip
    part.show(Grid(title="`shoal anonymize`, from file to folder:", header=header, rows=rows))
    return part


def _write_tables(folder: Path, settings: Settings) -> dict[str, int]:
    """Write the tables that there are sources for, and return their numbers of rows."""
    sizes = {"census": settings.many_rows // 30 if settings.quick else settings.many_rows}
    census(sizes["census"], quasi_identifiers=4, seed=settings.seed).write_parquet(folder / "census.parquet")
    if settings.adult.exists():
        source = adult(settings)
        frame = source.frame.select(*source.quasi_identifiers, source.sensitive)
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
    import polars as pl

    rng = np.random.default_rng(seed)
    drawn = frame[rng.integers(0, frame.height, rows)]
    columns = []
    for column in drawn:
        other = frame.get_column(column.name)[rng.integers(0, frame.height, rows)]
        columns.append(column.zip_with(pl.Series(rng.random(rows) >= _REDRAWN), other))
    return pl.DataFrame(columns)


def _measured(run: _Run, folder: Path, trees: Mapping[str, Path], settings: Settings) -> dict[str, _Found]:
    """Return the medians of a run by each tree, measured in turns."""
    source = folder / ("census.parquet" if run.table == "census" else f"{run.table}.csv")
    command = [str(source), *run.request, "--seed", "1"]
    if run.table != "census":
        roles = adult(settings)
        command += ["--qi", ",".join(roles.quasi_identifiers), "--sensitive", roles.sensitive]
        if run.hierarchies:
            command += ["--recoding", "generalization"]
            for name in roles.quasi_identifiers:
                path = settings.adult.with_name(f"adult_hierarchy_{name}.csv")
                command += ["--hierarchy", f"{name}={path}"] if path.exists() else []
    few = run.table in ("adult", "drawn")
    repeats = 1 if settings.quick else settings.repeats if few else settings.many_repeats
    each: dict[str, list[_Found]] = {name: [] for name in trees}
    for _ in range(repeats + 1):
        for name, tree in trees.items():
            own = _ONLY_HERE.get(run.what, ()) if name == "here" else ()
            each[name].append(_publish([*command, *own], tree, folder / "out"))
    return {name: _median(several[1:]) for name, several in each.items()}


def _publish(command: Sequence[str], tree: Path, out: Path) -> _Found:
    """Run a process and return what it took; a failure is no measurement."""
    # Bytecode is kept, as that of an installed package is.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment = {**kept, "PYTHONPATH": str(tree)}
    start = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "shoal", "anonymize", *command, "-o", str(out)],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    private = out.with_name(f"{out.name}.private")
    told = json.loads(((private if private.exists() else out) / "certificate.json").read_text(encoding="utf-8"))
    for written in (out, private):
        shutil.rmtree(written, ignore_errors=True)
    return _Found(
        seconds=seconds,
        cpu=used.ru_utime + used.ru_stime,
        loss=100 * told["cost"]["gcp"],
    )


def _median(found: Sequence[_Found]) -> _Found:
    return _Found(
        seconds=statistics.median(one.seconds for one in found),
        cpu=statistics.median(one.cpu for one in found),
        loss=found[-1].loss,
    )
