"""What the first minute costs: CPU of whole commands, from empty caches and warm, in turns with another checkout.

`python -m benchmarks.starting --against SRC` compares with the sources in a folder, as `git worktree add` makes one,
and keeps the figures with those of the other parts. Both are copied, so that neither finds what was compiled before.
"""

from __future__ import annotations

import argparse
import compileall
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.results import Grid, Part, Target, save_part
from benchmarks.settings import ROOT, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["cpu_of", "main", "measure"]

_REQUEST = ("--qi", "age,gender,race", "--sensitive", "income", "-l", "2", "--force", "-o", "out")
_MODULE = ("-m", "shoal")
_YARDSTICK = "import polars, numba"
_RELEASE, _GENERALIZED = "shoal anonymize, 400 rows", "shoal anonymize --recoding generalization"
_COMMANDS: Mapping[str, tuple[str, ...]] = {
    _YARDSTICK: ("-c", "import polars, numba"),
    "import shoal": ("-c", "import shoal"),
    "shoal version": (*_MODULE, "version"),
    "shoal --help": (*_MODULE, "--help"),
    "shoal anonymize --help": (*_MODULE, "anonymize", "--help"),
    _RELEASE: (*_MODULE, "anonymize", "table.csv", *_REQUEST),
    _GENERALIZED: (*_MODULE, "anonymize", "table.csv", *_REQUEST, "--recoding", "generalization"),
}
LIMITS = {_RELEASE: 1.3}
"""CPU of commands that we want to stay below, warm, as a multiple of that of the yardstick."""


def cpu_of(command: Sequence[str], environment: Mapping[str, str], folder: Path) -> float:
    """Return the seconds of CPU of a process and of all that it started, user and system."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *command], env=dict(environment), cwd=folder, check=False, capture_output=True, text=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.stderr.write(done.stderr)
        done.check_returncode()
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(settings: Settings) -> Part:
    """Measure whole commands of these sources, and of those that `settings.against` names, in turns."""
    part = Part(name="starting", title="Starting")
    part.say(
        "CPU of whole processes, user and system, their imports included: the first call with no compiled loop kept "
        "(the modules are compiled), and the median of later calls, in turns, on a table of 400 rows. A ratio is the "
        f"median of those to `{_YARDSTICK}` of the same turn."
    )
    places = {"these sources": ROOT / "src"}
    if settings.against is not None:
        places["compared with"] = settings.against.resolve()
        part.say(f"Compared with {_described(settings.against)}.")
    with tempfile.TemporaryDirectory() as made:
        found = _measured(Path(made), places, settings.repeats)
    rows = []
    for (what, name), (first, *later) in found.items():
        yardstick = found[_YARDSTICK, name][1:]
        ratio = median(one / unit for one, unit in zip(later, yardstick, strict=True))
        rows.append((what, name, first, median(later), ratio))
        if what in LIMITS and name == "these sources":
            told = f"{what}, warm, CPU in units of {_YARDSTICK}"
            part.targets.append(Target(what=told, limit=LIMITS[what], measured=ratio))
    part.show(Grid(title="Seconds of CPU:", header=("command", "of", "first", "later", "ratio"), rows=rows))
    return part


def _measured(folder: Path, places: Mapping[str, Path], repeats: int) -> dict[tuple[str, str], list[float]]:
    """Return the seconds of each command and each tree: of the first call, and of the later ones."""
    environments = dict(_environments(folder, places))
    write = "import shoal; shoal.datasets.census(400, quasi_identifiers=3, seed=1).write_csv('table.csv')"
    cpu_of(["-c", write], next(iter(environments.values())), folder)
    found: dict[tuple[str, str], list[float]] = {}
    for _ in range(1 + repeats):
        for what, command in _COMMANDS.items():
            for name, environment in environments.items():
                found.setdefault((what, name), []).append(cpu_of(command, environment, folder))
    return found


def _environments(folder: Path, places: Mapping[str, Path]) -> Iterator[tuple[str, dict[str, str]]]:
    """Copy sources without what was compiled, and yield the environment that runs each copy with a cache of its own."""
    for number, (name, place) in enumerate(places.items()):
        copy = folder / f"tree{number}"
        shutil.copytree(place, copy, ignore=shutil.ignore_patterns("__pycache__", "*.nb?"))
        compileall.compile_dir(copy, quiet=1)
        kept = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
        kept.pop("PYTHONDONTWRITEBYTECODE", None)
        yield name, {**kept, "NUMBA_CACHE_DIR": str(folder / f"loops{number}"), "PYTHONPATH": str(copy)}


def _described(sources: Path) -> str:
    """Return which commit sources are of."""
    asked = ["git", "-C", str(sources), "log", "-1", "--format=commit %h (%s)"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "other sources"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and keep the figures for RESULTS.md."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.starting", description=__doc__)
    parser.add_argument("--against", type=Path, help="another folder of sources, such as ../before/src")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--results", type=Path, help="folder for the figures")
    options = parser.parse_args(arguments)
    settings = Settings(against=options.against, repeats=options.repeats)
    settings = settings if options.results is None else replace(settings, results=options.results)
    part = measure(settings)
    print(part.text())
    print(f"figures in {save_part(part, settings.results, quick=False)}")


if __name__ == "__main__":
    main()
