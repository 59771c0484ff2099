"""What people wait for: a look at a table, the demo where nothing was compiled, the studio, and what its extra adds."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING
from urllib.request import HTTPCookieProcessor, build_opener

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import shoal
from benchmarks.harness import command_seconds, ratio, shoal_command
from benchmarks.results import Grid, Part, Target
from benchmarks.settings import ROOT
from shoal.datasets import census

if TYPE_CHECKING:
    import polars as pl

    from benchmarks.settings import Settings

__all__ = ["bytes_of", "measure", "needed"]

_ROWS, _COLUMNS = 1_000_000, 20
_INSPECTED, _DEMO, _FIRST_PAGE, _ADDED = 10, 15.0, 2.0, 20.0
"""Limits: multiples of one `n_unique` of all columns, seconds, seconds, megabytes."""


def measure(settings: Settings) -> Part:
    """Measure each of them, the commands as processes of their own."""
    part = Part(name="waiting", title="What people wait for")
    rows = settings.rows if settings.quick else _ROWS
    _measure_inspection(part, rows, settings)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        demo = command_seconds(
            [*shoal_command(), "demo", "--force", "-o", str(folder / "demo")],
            repeats=1,
            environment={"NUMBA_CACHE_DIR": str(folder / "loops")},
            warm=False,
        )
        pages = [_seconds_to_a_page(folder) for _ in range(settings.repeats)]
    added = sum(map(bytes_of, needed("studio") - needed(*SHARED))) + _own_bytes()
    part.targets += [
        Target(what="shoal demo, no loop compiled before", limit=_DEMO, measured=demo, unit=" s"),
        Target(what="shoal studio: first page", limit=_FIRST_PAGE, measured=median(pages), unit=" s"),
        Target(what="what the extra studio adds", limit=_ADDED, measured=added / 1e6, unit=" MB"),
    ]
    part.say(
        "The demo is one run with an empty cache of compiled loops. The studio's first page is there when its address "
        f"has answered with all of it, from the start of the command, the median of {settings.repeats}; a browser "
        "draws it after that. The extra adds the installed files of the packages that neither shoal nor other extras "
        "need, and the studio's own files."
    )
    return part


def _measure_inspection(part: Part, rows: int, settings: Settings) -> None:
    frame = _wide(rows, settings.seed)
    found = ratio(lambda: shoal.inspect(frame), lambda: [column.n_unique() for column in frame], settings.repeats)
    what = f"inspect, {rows:,} rows x {frame.width} columns, over one n_unique of all columns"
    part.targets.append(Target(what=what, limit=_INSPECTED, measured=found.value, unit=" x"))
    header = ("rows", "columns", "seconds", "fastest", "slowest", "n_unique", "ratio")
    figures = (rows, frame.width, found.seconds, found.fastest, found.slowest, found.yardstick, found.value)
    part.show(Grid(title="`shoal.inspect` beside one `n_unique` of all columns:", header=header, rows=[figures]))


def _wide(rows: int, seed: int) -> pl.DataFrame:
    """Return a table of many columns: those of several census-like tables side by side, every other one as text."""
    import polars as pl

    columns: list[pl.Series] = []
    while len(columns) < _COLUMNS:
        for column in census(rows, quasi_identifiers=7, seed=seed + len(columns)):
            name = f"{column.name}_{len(columns)}"
            text = len(columns) % 2 == 1
            columns.append((("v" + column.cast(pl.String)) if text else column).alias(name))
    return pl.DataFrame(columns[:_COLUMNS])


def _seconds_to_a_page(folder: Path) -> float:
    """Start the studio over a folder, ask for its first page, and return the seconds until it was there."""
    command = [sys.executable, "-m", "shoal", "studio", "--no-browser"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "COLUMNS": "200"}  # its address on one line
    start = time.perf_counter()
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found is not None, "the studio says where it is in its first line"
            opener = build_opener(HTTPCookieProcessor())  # the address carries a token, and answers with a cookie
            with opener.open(found.group(), timeout=60) as answer:
                page = answer.read()
            seconds = time.perf_counter() - start
            assert b"</html>" in page
        finally:
            process.terminate()
    return seconds


SHARED = ("plots", "excel", "ledger")
"""Extras that the studio includes, and others use."""


def needed(*extras: str) -> set[str]:
    """Return the distributions that shoal needs by itself and by given extras, and what these need in turn."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    found: set[str] = set()
    waiting = [*project["dependencies"], *(one for extra in extras for one in project["optional-dependencies"][extra])]
    while waiting:
        one = Requirement(waiting.pop())
        plain = canonicalize_name(one.name)
        if plain == project["name"]:  # an extra that includes others
            waiting += [each for extra in sorted(one.extras) for each in project["optional-dependencies"][extra]]
        elif plain not in found and (one.marker is None or one.marker.evaluate({"extra": ""})):
            found.add(plain)
            waiting += metadata.requires(plain) or ()
    return found


def bytes_of(name: str) -> int:
    """Return the size of the installed files of a distribution."""
    files = metadata.files(name) or ()
    return sum(path.stat().st_size for one in files if (path := Path(str(one.locate()))).is_file())


def _own_bytes() -> int:
    files = (ROOT / "src" / "shoal" / "studio").rglob("*")
    return sum(path.stat().st_size for path in files if path.is_file() and "__pycache__" not in path.parts)
