"""Tables larger than memory: whole processes of `shoal anonymize` over folders of Parquet, beside what an engine takes.

`python -m benchmarks large --large-folder FOLDER` makes the tables there, piece by piece, and removes them afterwards.
A table that is there already, from an interrupted run for example, is taken as it is and stays.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from benchmarks.machine import describe_load
from benchmarks.processes import Taken, taken_by
from benchmarks.results import Grid, Part, Target
from benchmarks.settings import ROOT
from shoal.datasets import QUASI_IDENTIFIERS, census

if TYPE_CHECKING:
    from benchmarks.settings import Settings

__all__ = ["measure", "measure_billion", "write_census"]

_PIECE = 5_000_000
"""Rows of each file of a table, which is made at once."""
_RATIO = 3.0
"""Time over that of one group_by and one copy, at most."""
_MEMORY = {100_000_000: 1_500_000_000, 1_000_000_000: 2_000_000_000}
"""Bytes that a run over so many rows may take; the smallest size that is not smaller counts."""
_VALUES = "visit"
"""An insensitive column: numbers, a different one for each row."""
_VALUES_RATIO = 6.0
_VALUES_MEMORY = 4_000_000_000
_ROOMY = "8GB"
"""The memory of the runs in which all rows shall be worked on at once."""
_PARTS_MEMORY = "12GB"
"""The memory of the run that is solved in parts."""
_PARTS_LOSS = 1.05
_OTHER_TREE = 0.18
_TWO_CORES = 1.6
_UNTOLD = 0.02
"""The share of the time that may be in no step of the certificate."""
_YARDSTICK = """
import sys
import polars as pl
what, source, destination = sys.argv[1:]
table = pl.scan_parquet(source + "/*.parquet")
if what == "group_by":
    names = [name for name in table.collect_schema().names() if name != "visit"]
    table.group_by(names).agg(pl.len()).collect(engine="streaming")
else:
    table.sink_parquet(destination)
"""


@dataclass(frozen=True, kw_only=True)
class _Run:
    """A release that was written by a process of its own."""

    what: str
    rows: int
    taken: Taken
    facts: Mapping[str, Any]
    """The private certificate."""
    left: int
    """Files and folders that stayed behind, beside those of the release."""

    @property
    def stars(self) -> int:
        """Stars of the release."""
        return int(self.facts["cost"]["stars"])

    @property
    def over_bound(self) -> float | None:
        """Stars over the fewest that any release can have; None where that may be none."""
        least = self.facts["cost"]["lower_bound"]["stars"]
        return self.stars / least if least else None

    @property
    def steps(self) -> dict[str, float]:
        """Seconds of each step; what is in none is called so."""
        steps = dict(self.facts["seconds"])
        total = steps.pop("total")
        return {**steps, "in no step": total - sum(steps.values()), "total": total}


def measure(settings: Settings) -> Part:
    """Publish a table of many rows in pieces; with Spark; in parts; and on one core and two."""
    part = Part(name="large", title="Tables larger than memory")
    _explain(part)
    with _workspace(settings) as folder:
        runs, beside = _measure_scale(part, settings, folder, settings.large_rows)
        with_values, beside_these = _measure_values(part, settings, folder, settings.large_rows)
        runs += with_values
        beside += beside_these
        runs += _measure_engines(part, settings, folder)
        runs += _measure_parts(part, settings, folder)
        runs += _measure_cores(part, settings, folder)
    _show(part, runs, beside)
    part.say(f"At the end of the runs: {describe_load()}.")
    return part


def measure_billion(settings: Settings) -> Part:
    """Publish the largest table in pieces, once."""
    part = Part(name="billion", title="A billion rows")
    _explain(part)
    with _workspace(settings) as folder:
        runs, beside = _measure_scale(part, settings, folder, settings.most_rows)
    _show(part, runs, beside)
    part.say(f"At the end of the runs: {describe_load()}.")
    return part


def write_census(folder: Path, rows: int, dimensions: int, seed: int, *, values: bool = False) -> None:
    """Write a census-like table as a folder of Parquet files, a piece at a time; pieces that are there stay.

    Each piece is a census-like table of its own seed.

    Parameters
    ----------
    folder : Path
    rows : int
    dimensions : int
        The number of quasi-identifiers.
    seed : int
    values : bool
        Whether to add a column of numbers, each of which one row has, in a random order within a piece.
    """
    folder.mkdir(exist_ok=True)
    for number, start in enumerate(range(0, rows, _PIECE)):
        path = folder / f"part-{number:05d}.parquet"
        if path.exists():
            continue
        piece = census(min(_PIECE, rows - start), quasi_identifiers=dimensions, seed=1_000_000 * seed + number)
        if values:
            numbers = start + np.random.default_rng(seed + number).permutation(piece.height)
            piece = piece.with_columns(pl.Series(_VALUES, numbers, dtype=pl.Int64))
        made = folder / f".{path.name}"
        piece.write_parquet(made)
        made.rename(path)


@contextmanager
def _workspace(settings: Settings) -> Iterator[Path]:
    """Give a folder for tables and releases; what is made in it is removed."""
    if settings.large_folder is None:
        with tempfile.TemporaryDirectory() as made:
            yield Path(made)
        return
    settings.large_folder.mkdir(parents=True, exist_ok=True)
    before = set(settings.large_folder.iterdir())
    try:
        yield settings.large_folder
    finally:
        for path in set(settings.large_folder.iterdir()) - before:
            _remove(path)


@contextmanager
def _table(folder: Path, rows: int, dimensions: int, seed: int, *, values: bool = False) -> Iterator[Path]:
    """Give a census-like table; one that was not there before is removed as soon as it is not needed any more."""
    path = folder / f"census-{dimensions}-{rows}{'-values' if values else ''}"
    known = path.exists()
    write_census(path, rows, dimensions, seed, values=values)
    yield path
    if not known:
        shutil.rmtree(path)


def _remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def _explain(part: Part) -> None:
    part.say(
        "Census-like tables as folders of Parquet files, each file with a seed of its own; l = 6 and `tp+`. Every line "
        "is a process of its own, run once: wall time, CPU of the process and of all that it started, and the peak of "
        "the resident memory of all of them together, looked up 20 times a second. The yardsticks are one streaming "
        "`group_by` of Polars on all columns of the same folder but insensitive ones, and one streaming copy of it "
        "into one file.",
        f"The command of a line in pieces: `shoal anonymize FOLDER --memory BYTES --seed 1 -o OUT --qi "
        f"{','.join(QUASI_IDENTIFIERS[:4])} --sensitive income -l 6 --algorithm tp+`. All of this again, from making "
        f"the tables on: `python -m benchmarks {part.name}`.",
    )


def _measure_scale(
    part: Part, settings: Settings, folder: Path, rows: int
) -> tuple[list[_Run], list[tuple[str, int, Taken]]]:
    """Publish a table in pieces, beside the yardsticks, and beside another tree where there is one."""
    what, allowed = f"{rows:,} rows, d = 4", _allowed(rows)
    copy = folder / "copy.parquet"
    with _table(folder, rows, 4, settings.seed) as table:
        beside = [
            (f"one {name}", rows, taken_by([sys.executable, "-c", _YARDSTICK, *words, str(table), str(copy)]))
            for name, words in {"group_by": ("group_by",), "copy": ("copy",)}.items()
        ]
        run = _published(what, rows, table, folder, "--memory", str(allowed))
        if settings.against is not None:
            other = _published(what, rows, copy, folder, tree=settings.against)
            limit = Target(
                what=f"{what}: time over the other tree",
                limit=_OTHER_TREE,
                measured=run.taken.seconds / other.taken.seconds,
            )
            part.targets += [limit] * (not settings.quick)
            beside.append((f"{what}, the other tree, in memory", rows, other.taken))
        copy.unlink()
    base = sum(one.seconds for name, _, one in beside[:2])
    steps = run.steps
    part.targets += [
        Target(what=f"{what}: time over one group_by and one copy", limit=_RATIO, measured=run.taken.seconds / base),
        Target(what=f"{what}: peak memory", limit=allowed / 1e9, measured=run.taken.peak / 1e9, unit=" GB"),
        Target(
            what=f"{what}: share of the time that is in no step",
            limit=_UNTOLD,
            measured=steps["in no step"] / steps["total"],
        ),
        Target(what=f"{what}: temporary files left behind", limit=0, measured=run.left),
    ]
    return [run], beside


def _measure_values(
    part: Part, settings: Settings, folder: Path, rows: int
) -> tuple[list[_Run], list[tuple[str, int, Taken]]]:
    """Publish a table with an insensitive column in pieces, beside the yardsticks."""
    what, copy = f"{rows:,} rows, an insensitive column", folder / "copy.parquet"
    with _table(folder, rows, 4, settings.seed, values=True) as table:
        beside = [
            (f"{what}: one {word}", rows, taken_by([sys.executable, "-c", _YARDSTICK, word, str(table), str(copy)]))
            for word in ("group_by", "copy")
        ]
        copy.unlink()
        run = _published(what, rows, table, folder, "--memory", str(_VALUES_MEMORY), "--insensitive", _VALUES)
    ratio = run.taken.seconds / sum(one.seconds for _, _, one in beside)
    part.targets += [
        Target(what=f"{what}: time over one group_by and one copy", limit=_VALUES_RATIO, measured=ratio),
        Target(what=f"{what}: peak memory", limit=_VALUES_MEMORY / 1e9, measured=run.taken.peak / 1e9, unit=" GB"),
    ]
    return [run], beside


def _allowed(rows: int) -> int:
    return _MEMORY[min((size for size in _MEMORY if size >= rows), default=max(_MEMORY))]


def _measure_engines(part: Part, settings: Settings, folder: Path) -> list[_Run]:
    """Publish the same table in memory, in pieces, and with Spark where there is Java."""
    rows = settings.spark_rows
    what = f"{rows:,} rows, d = 4"
    with _table(folder, rows, 4, settings.seed) as table:
        single = folder / "single.parquet"
        taken_by([sys.executable, "-c", _YARDSTICK, "copy", str(table), str(single)])
        runs = [
            _published(f"{what}, in memory", rows, single, folder, "--engine", "memory"),
            _published(f"{what}, in pieces", rows, table, folder, "--memory", _ROOMY),
        ]
        missing = _without_spark()
        if missing is None:
            words = ("--engine", "spark", "--master", "local[2]", "--memory", _ROOMY)
            runs.append(_published(f"{what}, Spark on local[2]", rows, table, folder, *words))
        else:
            part.say(f"**Spark was not measured: {missing}**")
        single.unlink()
    for run in runs[1:]:
        ratio = run.stars / runs[0].stars if runs[0].stars else 1.0
        part.targets.append(Target(what=f"{run.what}: stars over those in memory", limit=1.0, measured=ratio))
    return runs


def _without_spark() -> str | None:
    """Return what Spark lacks here; None: nothing."""
    if importlib.util.find_spec("pyspark") is None:
        return "there is no pyspark. Install the extra `spark`."
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and (Path(home) / "bin" / "java").exists()):
        return "there is no Java. Install version 17 or newer."
    return None


def _measure_parts(part: Part, settings: Settings, folder: Path) -> list[_Run]:
    """Publish a table of seven quasi-identifiers in parts, and a tenth of as many rows in memory."""
    rows = settings.parts_rows
    runs = []
    for size, words in ((rows // 10, ("--engine", "memory")), (rows, ("--memory", _PARTS_MEMORY))):
        with _table(folder, size, 7, settings.seed) as table:
            single = folder / "single.parquet"
            if "memory" in words:
                taken_by([sys.executable, "-c", _YARDSTICK, "copy", str(table), str(single)])
            source = single if "memory" in words else table
            how = "in memory" if "memory" in words else "in pieces"
            runs.append(_published(f"{size:,} rows, d = 7, {how}", size, source, folder, *words, dimensions=7))
            single.unlink(missing_ok=True)
    whole, parts = (run.facts["cost"]["gcp"] for run in runs)
    part.targets.append(
        Target(
            what=f"{runs[1].what}: loss over that of a tenth of the rows in memory",
            limit=_PARTS_LOSS,
            measured=parts / whole if whole else 1.0,
        )
    )
    return runs


def _measure_cores(part: Part, settings: Settings, folder: Path) -> list[_Run]:
    """Publish a table in memory on one core and on two."""
    if not hasattr(os, "sched_getaffinity") or len(usable := sorted(os.sched_getaffinity(0))) < 2:
        part.say("**One core against two was not measured: this machine has one, or does not say which.**")
        return []
    rows, runs = settings.many_rows, []
    single = folder / "single.parquet"
    census(rows, quasi_identifiers=4, seed=settings.seed).write_parquet(single)
    for cores, name in ((usable[:1], "one core"), (usable[:2], "two cores")):
        what = f"{rows:,} rows, d = 4, in memory, {name}"
        runs.append(_published(what, rows, single, folder, "--engine", "memory", cores=cores))
    single.unlink()
    one, two = (sum(run.steps[name] for name in ("partition", "verify")) for run in runs)
    if not settings.quick:  # small tables are over at once
        what = f"{rows:,} rows, partition and verify: two cores over one"
        part.targets.append(Target(what=what, limit=1 / _TWO_CORES, measured=two / one))
    return runs


def _published(
    what: str,
    rows: int,
    table: Path,
    folder: Path,
    *words: str,
    dimensions: int = 4,
    tree: Path = ROOT / "src",
    cores: Sequence[int] | None = None,
) -> _Run:
    """Publish a table by a process of its own, and return what that took and what the certificate says."""
    work = Path(tempfile.mkdtemp(prefix="release-", dir=folder))
    temporary, out = work / "temporary", work / "out"
    temporary.mkdir()
    command = [sys.executable, "-m", "shoal", "anonymize", str(table), *words, "--seed", "1", "-o", str(out)]
    command += ["--qi", ",".join(QUASI_IDENTIFIERS[:dimensions]), "--sensitive", "income", "-l", "6"]
    environment = {"PYTHONPATH": str(tree), "TMPDIR": str(temporary)}
    taken = taken_by([*command, "--algorithm", "tp+"], environment, cores=cores)
    private = out.with_name("out.private")
    facts = json.loads(((private if private.exists() else out) / "certificate.json").read_text(encoding="utf-8"))
    left = len(set(work.iterdir()) - {temporary, out, private}) + len(list(temporary.iterdir()))
    shutil.rmtree(work)
    return _Run(what=what, rows=rows, taken=taken, facts=facts, left=left)


def _show(part: Part, runs: Sequence[_Run], beside: Sequence[tuple[str, int, Taken]]) -> None:
    header = (
        "run",
        "rows",
        "seconds",
        "user",
        "system",
        "peak GB",
        "cells",
        "parts",
        "stars",
        "over the bound",
        "left",
    )
    lines: list[tuple[object, ...]] = [
        (what, rows, taken.seconds, taken.user, taken.system, taken.peak / 1e9, None, None, None, None, None)
        for what, rows, taken in beside
    ]
    for run in runs:
        taken, engine = run.taken, run.facts.get("engine", {})
        lines.append((
            run.what, run.rows, taken.seconds, taken.user, taken.system, taken.peak / 1e9, engine.get("cells"),
            engine.get("parts"), run.stars, run.over_bound, run.left,
        ))  # fmt: skip
    part.show(Grid(title="Whole processes; `left` counts files that stayed behind:", header=header, rows=lines))
    names = list(dict.fromkeys(name for run in runs for name in run.steps))
    names = [*(name for name in names if name not in ("in no step", "total")), "in no step", "total"]
    steps = [(run.what, *(run.steps.get(name) for name in names)) for run in runs]
    part.show(Grid(title="Seconds of each step, as the certificates say them:", header=("run", *names), rows=steps))
