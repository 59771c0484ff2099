"""Measuring times in one process, and the command that other processes run."""

from __future__ import annotations

import gc
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

__all__ = ["cpu_of_all_processes", "median_seconds", "seconds_of", "shoal_command"]


def seconds_of(action: Callable[[], object]) -> float:
    """Return the wall time of an action; what earlier ones left behind is collected first."""
    gc.collect()
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def cpu_of_all_processes() -> float:
    """Return the processor time of this process and of all that it started and that have ended, user and system."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def median_seconds(action: Callable[[], object], repeats: int) -> float:
    """Return the median wall time of some repetitions, after one that is not counted."""
    action()
    return statistics.median(seconds_of(action) for _ in range(repeats))


def shoal_command() -> list[str]:
    """Return the command line of the installed `shoal`."""
    script = Path(sys.executable).with_name("shoal")
    return [str(script)] if script.exists() else [sys.executable, "-m", "shoal"]
