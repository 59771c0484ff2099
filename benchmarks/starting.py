"""What the first minute costs: CPU of whole commands, from an empty cache and warm, in turns with another checkout.

`python -m benchmarks.starting --against SRC` compares with the sources in a folder, as `git worktree add` makes one.
Compiled loops and modules are kept in temporary folders, so that nothing is written there.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmarks.settings import ROOT

__all__ = ["cpu_of", "main"]

_REQUEST = ("--qi", "age,gender,race", "--sensitive", "income", "-l", "2", "--force")
_MODULE = ("-m", "shoal")
_COMMANDS: Mapping[str, tuple[str, ...]] = {
    "import polars, numba": ("-c", "import polars, numba"),
    "import shoal": ("-c", "import shoal"),
    "shoal version": (*_MODULE, "version"),
    "shoal --help": (*_MODULE, "--help"),
    "shoal anonymize --help": (*_MODULE, "anonymize", "--help"),
    "shoal anonymize, 400 rows": (*_MODULE, "anonymize", "table.csv", *_REQUEST, "-o", "out"),
}
_YARDSTICK = "import polars, numba"


def cpu_of(command: Sequence[str], environment: Mapping[str, str], folder: Path) -> float:
    """Return the seconds of CPU of a process and of all that it started, user and system."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *command], env=dict(environment), cwd=folder, check=True, capture_output=True, text=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(arguments: Sequence[str] | None = None) -> None:
    """Print seconds of CPU: the first run from empty caches, and the median of later ones."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.starting", description=__doc__)
    parser.add_argument("--against", type=Path, help="another folder of sources, such as ../before/src")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args(arguments)
    places = {"here": ROOT / "src", **({} if options.against is None else {"there": options.against.resolve()})}
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        environments = {}
        for name, place in places.items():
            caches = {
                "NUMBA_CACHE_DIR": str(folder / name / "loops"),
                "PYTHONPYCACHEPREFIX": str(folder / name / "pyc"),
            }
            kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
            environments[name] = {**kept, **caches, "PYTHONPATH": str(place)}
            (folder / name).mkdir()
        write = "import shoal; shoal.datasets.census(400, quasi_identifiers=3, seed=1).write_csv('table.csv')"
        cpu_of(["-c", write], environments["here"], folder)
        found: dict[tuple[str, str], list[float]] = {}
        for _ in range(1 + options.repeats):
            for what, command in _COMMANDS.items():
                for name, environment in environments.items():
                    found.setdefault((what, name), []).append(cpu_of(command, environment, folder))
    for (what, name), (first, *later) in found.items():
        ratio = median(later) / median(found[_YARDSTICK, name][1:])
        print(f"{what:27} {name:6} first {first:6.2f} s, later {median(later):5.2f} s, {ratio:4.1f} x {_YARDSTICK}")


if __name__ == "__main__":
    main()
