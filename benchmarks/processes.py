"""What whole processes take: time, CPU, and the peak of the memory of all that they start."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Taken", "taken_by"]

_INTERVAL = 0.05
"""Seconds between two looks at the memory of a process."""


@dataclass(frozen=True, kw_only=True)
class Taken:
    """What a process took, with all that it started."""

    seconds: float
    """Wall time."""
    user: float
    """CPU seconds in programs."""
    system: float
    """CPU seconds in the system."""
    peak: int
    """The most resident memory of all of them together, in bytes."""


def taken_by(
    command: Sequence[str], environment: Mapping[str, str] | None = None, *, cores: Sequence[int] | None = None
) -> Taken:
    """Run a command to its end, and return what it took.

    Parameters
    ----------
    command : sequence of str
    environment : mapping, optional
        What is different in its environment.
    cores : sequence of int, optional
        The cores that it may use; all that this process may by default.

    Raises
    ------
    subprocess.CalledProcessError
        Where the command fails: a failure is no measurement.
    """
    usable = os.sched_getaffinity(0) if cores is not None else None
    with tempfile.TemporaryFile() as said:
        start = time.perf_counter()
        if cores is not None:
            os.sched_setaffinity(0, cores)  # what is started inherits it
        try:
            process = subprocess.Popen(
                list(command), env={**os.environ, **(environment or {})}, stdout=subprocess.DEVNULL, stderr=said
            )
        finally:
            if usable is not None:
                os.sched_setaffinity(0, usable)
        ended, peaks = threading.Event(), [0]
        watcher = threading.Thread(target=_watch, args=(process.pid, ended, peaks))
        watcher.start()
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        ended.set()
        watcher.join()
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            sys.stderr.write(said.read().decode(errors="replace"))
            raise subprocess.CalledProcessError(process.returncode, list(command))
    peak = peaks[0] or used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return Taken(seconds=seconds, user=used.ru_utime, system=used.ru_stime, peak=peak)


def _watch(root: int, ended: threading.Event, peaks: list[int]) -> None:
    """Keep the largest memory of a process and its descendants until it ends; nothing where there is no /proc.

    The peak that the system knows of the process itself counts, too: it misses no moment.
    """
    while True:
        peaks[0] = max(peaks[0], sum(_memory(one, "VmRSS:") for one in _descendants(root)), _memory(root, "VmHWM:"))
        if ended.wait(_INTERVAL):
            return


def _descendants(root: int) -> list[int]:
    found = [root]
    for process in found:
        try:
            for thread in Path(f"/proc/{process}/task").iterdir():
                found += map(int, (thread / "children").read_text().split())
        except OSError:
            continue  # it has ended
    return found


def _memory(process: int, what: str) -> int:
    try:
        lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(what)), 0)
