"""What compiling costs: CPU for each algorithm from an empty cache, function by function, and what loading costs.

`python -m benchmarks.compiling cluster tp+` prints the functions of some algorithms, dearest first;
`python -m benchmarks compiling` measures all algorithms against their limits.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.results import Grid, Part, Target
from benchmarks.settings import ROOT

if TYPE_CHECKING:
    from benchmarks.settings import Settings

__all__ = ["LIMITS", "Compiled", "compiled", "main", "measure", "request_of"]

LIMITS = {"tp+": 8.0, "mondrian": 12.0, "cluster": 20.0, "sabre": 20.0}
"""Seconds of CPU from an empty cache that we want to stay below."""
_MEASURED = (
    "tp",
    "tp+",
    "hilbert",
    "mondrian",
    "m-approximation",
    "patterns",
    "matching",
    "sabre",
    "cluster",
    "tds",
    "full-domain",
    "exact",
)
_BY_GENERALIZATION = ("mondrian", "sabre", "cluster", "tds", "full-domain")
_SIZES_ONLY = ("m-approximation", "patterns")
_ROWS = {"exact": 14, "matching": 100}
"""Rows of the tables of algorithms that prove an optimum; the others publish 400."""


@dataclass(frozen=True, kw_only=True)
class Compiled:
    """What one run of `anonymize` compiled, and what it took."""

    seconds: float
    """CPU that compiling took."""
    rest: float
    """CPU of the same run beyond that: imports, loading, and the work itself."""
    functions: Mapping[str, float] = field(default_factory=dict)
    """CPU of each function and signature, without that of the functions that it calls."""


def request_of(algorithm: str) -> dict[str, Any]:
    """Return arguments of `anonymize` for a small census-like table that an algorithm can publish quickly."""
    import shoal
    import shoal.hierarchy

    frame = shoal.datasets.census(_ROWS.get(algorithm, 400), quasi_identifiers=4, seed=1)
    asked = {"sabre": shoal.TCloseness(0.5), **dict.fromkeys(_SIZES_ONLY, shoal.KAnonymity(2))}
    generalized = algorithm in _BY_GENERALIZATION
    return {
        "data": frame,
        "quasi_identifiers": frame.columns[:4],
        "sensitive": "income",
        "privacy": asked.get(algorithm, shoal.LDiversity(2)),
        "algorithm": algorithm,
        "recoding": "generalization" if generalized else "suppression",
        "hierarchies": {"age": shoal.hierarchy.frequency_hierarchy(frame["age"])} if generalized else None,
        "seed": 1,
    }


def compiled(algorithm: str, cache: Path | str) -> Compiled:
    """Publish a table in a new process with compiled functions in a folder, and return what was compiled there."""
    command = [sys.executable, "-m", "benchmarks.compiling", "--child", algorithm]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.stderr.write(done.stderr)
        done.check_returncode()
    return Compiled(**json.loads(done.stdout))


def measure(settings: Settings) -> Part:
    """Measure every algorithm from an empty cache, and once more with what is there then."""
    part = Part(name="compiling", title="Compiling")
    part.say(
        "CPU of one process that publishes 400 census-like rows (fewer where an optimum is proven) from an empty "
        "cache; and of another that finds everything compiled."
    )
    rows = []
    for algorithm in _MEASURED:
        with tempfile.TemporaryDirectory() as cache:
            cold = compiled(algorithm, cache)
            warm = compiled(algorithm, cache)
            size = sum(path.stat().st_size for path in Path(cache).rglob("*.nb?")) / 1e6
        rows.append((algorithm, len(cold.functions), cold.seconds, cold.rest, warm.seconds, warm.rest, size))
        if algorithm in LIMITS:
            what = f"compiling what {algorithm} uses, CPU"
            part.targets.append(Target(what=what, limit=LIMITS[algorithm], measured=cold.seconds, unit=" s"))
    header = ("algorithm", "functions", "compiling", "rest", "compiling again", "rest again", "MB of cache")
    part.show(Grid(title="Seconds of CPU:", header=header, rows=rows))
    return part


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what the functions of some algorithms cost to compile."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compiling", description=__doc__)
    parser.add_argument("algorithms", nargs="*", default=_MEASURED)
    parser.add_argument("--functions", type=int, default=12, help="functions to print of each, dearest first")
    parser.add_argument("--cache", type=Path, help="a folder to keep what was compiled in (default: an empty one each)")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        sys.stdout.write(json.dumps(asdict(_here(options.child))))
        return
    for algorithm in options.algorithms:
        with tempfile.TemporaryDirectory() as empty:
            found = compiled(algorithm, options.cache or empty)
        print(f"{algorithm}: {found.seconds:.1f} s in {len(found.functions)} functions, and {found.rest:.1f} s")
        dearest = sorted(found.functions.items(), key=lambda one: -one[1])
        for name, seconds in dearest[: options.functions]:
            print(f"  {seconds:6.2f}  {name}")
        sys.stdout.flush()


def _here(algorithm: str) -> Compiled:
    """Publish a table in this process; note what numba compiles meanwhile."""
    from numba.core.event import Event, Listener, install_listener

    functions: dict[str, float] = {}

    class Stopwatch(Listener):
        """Gives the CPU of each compilation to the innermost function that is being compiled."""

        stack: list[str] = []  # noqa: RUF012
        last = 0.0
        total = 0.0

        def _passed(self) -> None:
            now = time.process_time()
            if self.stack:
                functions[self.stack[-1]] = functions.get(self.stack[-1], 0.0) + now - self.last
                self.total += now - self.last
            self.last = now

        def on_start(self, event: Event) -> None:
            self._passed()
            self.stack.append(_described(event.data))

        def on_end(self, event: Event) -> None:
            self._passed()
            self.stack.pop()

    stopwatch = Stopwatch()
    with install_listener("numba:compile", stopwatch):
        import shoal

        shoal.anonymize(**request_of(algorithm))
    return Compiled(seconds=stopwatch.total, rest=time.process_time() - stopwatch.total, functions=functions)


def _described(data: dict[str, Any]) -> str:
    function = data["dispatcher"].py_func
    module = function.__module__.removeprefix("shoal.").replace("algorithms.", "")
    return f"{module}.{function.__qualname__}({', '.join(map(str, data['args']))})"


if __name__ == "__main__":
    main()
