"""Other tools beside shoal on the same tables: time, memory, loss, and whether what they publish is what was asked.

Each runs as a program of its own in an environment with its own versions. All that is told of a release is read from
the file that was published, by the same code for every tool.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from platformdirs import user_cache_path

import shoal
from benchmarks.harness import shoal_command
from benchmarks.results import Grid, Part
from benchmarks.settings import ROOT

if TYPE_CHECKING:
    from benchmarks.settings import Settings

__all__ = ["TOOLS", "Published", "Tool", "measure", "read_release", "values_of_cell"]

QUASI_IDENTIFIERS = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass")
SENSITIVE = "occupation"
_REQUESTS = {"k = 5": (5, 0), "k = 5, l = 3 (distinct)": (5, 3)}
_REDRAWN = 0.15
"""The share of the cells of an enlarged table that are drawn anew from their column."""
_INTERVAL = re.compile(r"^\s*([\[(\]]?)\s*(-?\d+)\s*(?:(?<=\d),(?=.*[\])\[])|\.\.|~|-)\s*(-?\d+)\s*([\])\[]?)\s*$")
"""Two numbers; with a comma between them only in brackets, or it is a set."""


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A program that publishes a table."""

    name: str
    """As its users know it."""
    script: str
    """The program in `benchmarks/rival_tools`."""
    pins: tuple[str, ...]
    """What its environment has, each with its version; the first is the tool."""
    diverse: bool = True
    """Whether it can be asked for l-diversity."""
    lets_out: bool = False
    """Whether it may leave out records."""


TOOLS = (
    Tool(name="anonypy", script="anonypy_mondrian.py", pins=("anonypy==0.2.1", "pandas==2.3.3", "numpy==2.0.2")),
    Tool(name="anonypyx", script="anonypyx_mondrian.py", pins=("anonypyx==0.2.11", "pandas==2.3.3", "numpy==2.0.2")),
    Tool(
        name="anonymity-api",
        script="anonymity_api_cuts.py",
        pins=("anonymity-api==1.0.4", "pandas==2.3.3", "numpy==2.0.2", "scipy==1.15.3"),
    ),
    Tool(name="anjana", script="anjana_levels.py", pins=("anjana==1.2.3", "pycanon==1.3.5"), lets_out=True),
    Tool(
        name="crowds",
        script="crowds_lattice.py",
        pins=("crowds==0.0.1", "pandas==2.3.3", "numpy==2.0.2"),
        diverse=False,
        lets_out=True,
    ),
)
"""What PyPI has for these models."""
READER = Tool(name="pycanon", script="pycanon_reading.py", pins=("pycanon==1.3.6",))
"""It publishes nothing; it reads k and l from what shoal published."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """What a program took."""

    seconds: float
    """Wall time."""
    cpu: float
    """Seconds of all its cores."""
    megabytes: float
    """Its largest resident set."""
    failed: str = ""
    """Why there is no result."""
    late: bool = False
    """Whether there is none because it took too long."""


@dataclass(frozen=True, kw_only=True)
class Published:
    """What a published table shows."""

    rows: int
    """Records that it has."""
    loss: float
    """The mean over the cells of all records of (n - 1) / (N - 1): n values of the column's N fit the cell; 1 for the
    cells of records that were left out."""
    k: int
    """Records of the smallest group."""
    l: int
    """Different sensitive values of the group that has fewest."""


def measure(settings: Settings) -> Part:
    """Run every tool on every table with every request."""
    part = Part(name="rivals", title="Other tools")
    part.say(
        f"On {datetime.now(UTC):%Y-%m-%d}, each tool as a program of its own that reads a file and writes one, once. "
        "The loss is read from the published file: the mean over all cells of (n - 1) / (N - 1), where n of the N "
        "values of a column fit the cell, and 1 for the cells of records that a tool left out (at most 5 % where it "
        f"may). A tool that had no result in {settings.rival_seconds:.0f} s is not asked for the stricter request, or "
        "with more records."
    )
    late: set[str] = set()
    with TemporaryDirectory() as folder:
        for frame, name, trees in _tables(settings, Path(folder)):
            rows = []
            for request, (k, l) in _REQUESTS.items():
                rows += list(_rows(frame, trees, request, (k, l), settings, late))
            header = ("request", "tool", "seconds", "CPU", "MB", "records", "loss in %", "k", "l", "as asked")
            part.show(Grid(title=f"{name}, {frame.height:,} records:", header=header, rows=rows))
    return part


def _rows(
    frame: pl.DataFrame, trees: Path, request: str, asked: tuple[int, int], settings: Settings, late: set[str]
) -> Iterable[tuple[object, ...]]:
    """Yield a line for each tool; those that took too long for less are in `late`, and are not asked."""
    leaves = {name: _leaves(trees / f"{name}.csv") for name in QUASI_IDENTIFIERS}
    with TemporaryDirectory() as folder:
        source = Path(folder) / "table.csv"
        frame.write_csv(source, separator=";")
        ways: dict[str, Callable[[Path], Run]] = {}
        for algorithm in ("auto", "mondrian"):
            ways[f"shoal {shoal.__version__}, {algorithm}"] = partial(_shoal, source, trees, asked, settings, algorithm)
        for tool in TOOLS if not asked[1] else [tool for tool in TOOLS if tool.diverse]:
            ways[tool.pins[0].replace("==", " ")] = partial(_tool, tool, source, trees, asked, settings)
        if settings.arx is not None:
            ways["ARX, local recoding"] = partial(_arx, settings.arx, source, trees, asked, settings)
        ours = None
        for name, run in ways.items():
            target = Path(folder) / f"{hashlib.sha256(name.encode()).hexdigest()}.csv"
            if name in late:
                yield request, name, None, None, None, None, None, None, None, "not asked: no result for less"
                continue
            took = run(target)
            if took.late:
                late.add(name)
            if took.failed:
                yield request, name, None, None, None, None, None, None, None, took.failed
                continue
            with target.open(encoding="utf-8") as file:
                separator = ";" if ";" in file.readline() else ","
            published = read_release(pl.read_csv(target, separator=separator, infer_schema=False), frame, leaves)
            right = published.k >= asked[0] and published.l >= asked[1]
            yield (
                *(request, name, took.seconds, took.cpu, round(took.megabytes), published.rows, 100 * published.loss),
                *(published.k, published.l, "yes" if right else "NO"),
            )
            ours = ours or target
        if ours is not None:
            found = Path(folder) / "read.json"
            took = _tool(READER, ours, trees, asked, settings, found)
            read = "" if took.failed else json.loads(found.read_text(encoding="utf-8"))
            said = took.failed or f"reads k = {read['k']}, l = {read['l']} of the first line"
            figures = (None, None, None) if took.failed else (took.seconds, took.cpu, round(took.megabytes))
            yield request, READER.pins[0].replace("==", " "), *figures, None, None, None, None, said


def _tables(settings: Settings, folder: Path) -> Iterable[tuple[pl.DataFrame, str, Path]]:
    """Yield tables, what they are, and the folder of their hierarchies."""
    columns = [*QUASI_IDENTIFIERS, SENSITIVE]
    trees = folder / "hierarchies"
    trees.mkdir()
    if settings.adult.exists():
        frame, name = pl.read_csv(settings.adult, separator=";").select(columns), "Adult"
        for column in QUASI_IDENTIFIERS:
            given = settings.adult.with_name(f"adult_hierarchy_{column}.csv").read_text(encoding="utf-8")
            (trees / f"{column}.csv").write_text(given, encoding="utf-8")
    else:
        made = shoal.datasets.census(settings.csv_rows, quasi_identifiers=7, seed=settings.seed)
        frame, name = made.rename(dict(zip(made.columns, columns, strict=True))), "Census-like"
        for column in QUASI_IDENTIFIERS:
            shoal.hierarchy.frequency_hierarchy(frame[column]).to_csv(trees / f"{column}.csv")
    yield frame, name, trees
    if settings.rows > frame.height:
        yield enlarged(frame, settings.rows, settings.seed), f"{name}, enlarged", trees


def enlarged(frame: pl.DataFrame, rows: int, seed: int) -> pl.DataFrame:
    """Return rows that are drawn with replacement, some cells of which are drawn anew from their column."""
    rng = np.random.default_rng(seed)
    drawn = frame[rng.integers(0, frame.height, rows)]
    cells = []
    for name in frame.columns:
        other = frame[name][rng.integers(0, frame.height, rows)]
        anew = pl.Series(rng.random(rows) < _REDRAWN)
        cells.append(pl.select(pl.when(anew).then(other).otherwise(drawn[name]).alias(name)).to_series())
    return pl.DataFrame(cells)


def read_release(
    published: pl.DataFrame, original: pl.DataFrame, leaves: Mapping[str, Mapping[str, frozenset[str]]]
) -> Published:
    """Read a published table, in whatever form its cells are.

    Raises
    ------
    ValueError
        Where a cell fits no value of its column.
    """
    names = [name for name in original.columns if name in leaves]
    sensitive = next(name for name in original.columns if name not in leaves)
    kept = published.select([*names, sensitive]).cast(pl.String).fill_null("*")
    lost = 0.0
    for name in names:
        values = original[name].cast(pl.String).unique().to_list()
        cells = kept[name].value_counts(name="rows")
        for cell, times in cells.iter_rows():
            fits = len(values_of_cell(cell, values, leaves[name]))
            if not fits:
                raise ValueError(f"a cell of '{name}' fits no value")
            lost += times * (fits - 1) / max(len(values) - 1, 1)
    left_out = original.height - kept.height
    groups = kept.group_by(names).agg(pl.len().alias("size"), pl.col(sensitive).n_unique().alias("values"))
    return Published(
        rows=kept.height,
        loss=(lost + left_out * len(names)) / (original.height * len(names)),
        k=int(groups["size"].min() or 0),  # type: ignore[arg-type]
        l=int(groups["values"].min() or 0),  # type: ignore[arg-type]
    )


def values_of_cell(cell: str, values: Sequence[str], leaves: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Return the values of a column that a published cell may stand for, in the form of any of the tools.

    Examples
    --------
    >>> sorted(values_of_cell("20-29", ["19", "20", "25"], {}))
    ['20', '25']
    >>> sorted(values_of_cell("{a, b}", ["a", "b", "c"], {}))
    ['a', 'b']
    """
    known = frozenset(values)
    if cell in known:
        return frozenset([cell])
    if cell in {"*", ""}:
        return known
    if cell in leaves:
        return leaves[cell] & known
    if (found := _INTERVAL.match(cell)) is not None:
        opening, low, high, closing = found.groups()
        first, last = int(low) + (opening in {"(", "]"}), int(high) - (closing in {")", "["})
        return frozenset(one for one in known if one.lstrip("-").isdigit() and first <= int(one) <= last)
    members = frozenset(part.strip() for part in cell.strip("{}").split(",")) & known
    if members:
        return members
    return frozenset(one for one in known if f"-{one}-" in f"-{cell}-")


def _leaves(path: Path) -> dict[str, frozenset[str]]:
    """Return the values below each node of a hierarchy."""
    found: dict[str, set[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        value, *nodes = line.split(";")
        for node in nodes:
            found.setdefault(node, set()).add(value)
    return {node: frozenset(values) for node, values in found.items()}


def _shoal(source: Path, trees: Path, asked: tuple[int, int], settings: Settings, algorithm: str, target: Path) -> Run:
    out = target.with_suffix("")
    command = [
        *shoal_command(),
        "anonymize",
        str(source),
        "--qi",
        ",".join(QUASI_IDENTIFIERS),
        "--sensitive",
        SENSITIVE,
    ]
    command += [
        "-k",
        str(asked[0]),
        "--recoding",
        "generalization",
        "--algorithm",
        algorithm,
        "-o",
        str(out),
        "--force",
    ]
    command += ["-l", str(asked[1]), "--l-variant", "distinct"] if asked[1] else []
    for name in QUASI_IDENTIFIERS:
        command += ["--hierarchy", f"{name}={trees / name}.csv"]
    took = run_program(command, settings.rival_seconds)
    if not took.failed:
        (out / "release.csv").replace(target)
    return took


def _tool(tool: Tool, source: Path, trees: Path, asked: tuple[int, int], settings: Settings, target: Path) -> Run:
    try:
        python = environment(tool.pins)
    except subprocess.CalledProcessError:
        return Run(seconds=0, cpu=0, megabytes=0, failed="could not be installed")
    script = ROOT / "benchmarks" / "rival_tools" / tool.script
    return run_program([python, str(script), *_arguments(source, target, asked, trees)], settings.rival_seconds)


def _arx(jar: Path, source: Path, trees: Path, asked: tuple[int, int], settings: Settings, target: Path) -> Run:
    script = ROOT / "benchmarks" / "rival_tools" / "Arx.java"
    command = ["java", "-cp", str(jar), str(script), *_arguments(source, target, asked, trees)]
    return run_program(command, settings.rival_seconds)


def _arguments(source: Path, target: Path, asked: tuple[int, int], trees: Path) -> list[str]:
    return [str(source), str(target), *map(str, asked), SENSITIVE, str(trees), *QUASI_IDENTIFIERS]


def environment(pins: Sequence[str]) -> str:
    """Return the interpreter of an environment with some packages, made once and kept in the user's cache.

    Raises
    ------
    subprocess.CalledProcessError
        Where they cannot be installed.
    """
    folder = user_cache_path("shoal-benchmarks") / hashlib.sha256("\n".join(pins).encode()).hexdigest()[:16]
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True, capture_output=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *pins]
        subprocess.run(install, check=True, capture_output=True)
        (folder / "complete").touch()
    return str(python)


def run_program(command: Sequence[str], most_seconds: float) -> Run:
    """Run a program to its end, or for so many seconds, and return what it took."""
    clean = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME"}}
    variables = dict(os.environ) if command[0] == shoal_command()[0] else clean
    start, megabytes = time.perf_counter(), 0.0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=variables) as process:
        while True:
            done, status, used = os.wait4(process.pid, os.WNOHANG)
            if done:
                break
            if time.perf_counter() - start > most_seconds:
                process.kill()
                os.wait4(process.pid, 0)
                process.returncode = -9
                return Run(seconds=0, cpu=0, megabytes=0, failed=f"no result in {most_seconds:.0f} s", late=True)
            megabytes = max(megabytes, _peak(process.pid))
            time.sleep(0.01)
        process.returncode = os.waitstatus_to_exitcode(status)
    failed = "" if process.returncode == 0 else "failed"
    return Run(
        seconds=time.perf_counter() - start,
        cpu=used.ru_utime + used.ru_stime,
        megabytes=megabytes or used.ru_maxrss / 1024,
        failed=failed,
    )


def _peak(process: int) -> float:
    """Return the largest resident set of a running process until now in MB; 0 where the system does not tell.

    What `os.wait4` tells begins with the memory of whoever started the process.
    """
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0.0
    found = re.search(r"^VmHWM:\s*(\d+) kB$", status, re.MULTILINE)
    return int(found[1]) / 1024 if found else 0.0
