"""Measuring: times against a yardstick in one process, commands, peak memory in a process of its own."""

from __future__ import annotations

import gc
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.settings import ROOT

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "Memory",
    "Ratio",
    "command_seconds",
    "cpu_of_all_processes",
    "median_seconds",
    "peak_memory",
    "peak_of",
    "processor_seconds_of",
    "ratio",
    "seconds_of",
    "shoal_command",
]


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """How long something takes, as a multiple of a yardstick measured in turns with it."""

    seconds: float
    """Median of the thing."""
    fastest: float
    """Its best repetition."""
    slowest: float
    """Its worst repetition."""
    yardstick: float
    """Median of the yardstick."""

    @property
    def value(self) -> float:
        """The ratio of the medians."""
        return self.seconds / self.yardstick


@dataclass(frozen=True, kw_only=True)
class Memory:
    """Memory of a process that published a table, in bytes."""

    peak: int
    """Peak resident set of the whole process, interpreter and libraries included."""
    before: int
    """Resident set when everything was imported and the table was in memory."""
    arrow: int
    """Arrow size of the input."""

    @property
    def limit(self) -> int:
        """The most that the peak should be: 6 times the Arrow size and 300 MB."""
        return 6 * self.arrow + 300_000_000


def seconds_of(action: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the time of an action, wall time unless given; what earlier ones left behind is collected first."""
    gc.collect()
    start = clock()
    action()
    return clock() - start


def processor_seconds_of(action: Callable[[], object]) -> float:
    """Return the processor time of an action in this process; what earlier ones left behind is collected first."""
    gc.collect()
    start = time.process_time()
    action()
    return time.process_time() - start


def cpu_of_all_processes() -> float:
    """Return the processor time of this process and of all that it started and that have ended, user and system."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def median_seconds(action: Callable[[], object], repeats: int) -> float:
    """Return the median wall time of some repetitions, after one that is not counted."""
    action()
    return statistics.median(seconds_of(action) for _ in range(repeats))


def ratio(
    action: Callable[[], object],
    yardstick: Callable[[], object],
    repeats: int,
    clock: Callable[[], float] = time.perf_counter,
) -> Ratio:
    """Measure an action against a yardstick in one process, in turns, so that noise meets both, after a warm-up.

    With `time.process_time` the CPU seconds of all threads count, whatever else the machine is doing.
    """
    action()
    yardstick()
    pairs = [(seconds_of(yardstick, clock), seconds_of(action, clock)) for _ in range(repeats)]
    bases, times = zip(*pairs, strict=True)
    return Ratio(
        seconds=statistics.median(times), fastest=min(times), slowest=max(times), yardstick=statistics.median(bases)
    )


def shoal_command() -> list[str]:
    """Return the command line of the installed `shoal`."""
    script = Path(sys.executable).with_name("shoal")
    return [str(script)] if script.exists() else [sys.executable, "-m", "shoal"]


def command_seconds(
    command: Sequence[str], *, repeats: int, environment: Mapping[str, str] | None = None, warm: bool = True
) -> float:
    """Return the median wall time of a command, after one run that is not counted if it shall be warm.

    Raises
    ------
    subprocess.CalledProcessError
        Where the command fails: a failure is no measurement.
    """

    def run() -> None:
        done = subprocess.run(
            list(command), env={**os.environ, **(environment or {})}, capture_output=True, text=True, check=False
        )
        if done.returncode:
            sys.stderr.write(done.stderr)
            done.check_returncode()

    return median_seconds(run, repeats) if warm else statistics.median(seconds_of(run) for _ in range(repeats))


def peak_of(action: Callable[[], object]) -> int:
    """Return the peak resident set of this process during an action, in bytes.

    Where the system does not begin anew when it is asked to, as only Linux does, that of the whole life of the process.
    """
    gc.collect()
    status = Path("/proc/self/status")
    with suppress(OSError):
        status.with_name("clear_refs").write_text("5", encoding="ascii")
    action()
    if status.exists():
        return int(status.read_text(encoding="ascii").partition("VmHWM:")[2].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def peak_memory(frame: pl.DataFrame, *, sensitive: str, l: int, algorithm: str, folder: Path) -> Memory:
    """Publish a table in a new process and return what memory that took.

    Parameters
    ----------
    frame : polars.DataFrame
        Quasi-identifiers and the sensitive attribute. It reaches the process as a file, so that making it costs nothing
        there.
    sensitive, l, algorithm
        The request.
    folder : Path
        Where the file may be.
    """
    path = folder / "memory.arrow"
    frame.write_ipc(path, compression="uncompressed")
    command = [sys.executable, "-m", "benchmarks.memory", str(path), sensitive, str(l), algorithm]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.stderr.write(done.stderr)
        done.check_returncode()
    path.unlink()
    return Memory(**json.loads(done.stdout))
