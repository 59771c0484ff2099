"""The machine that a measurement was made on."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.settings import ROOT
from shoal._core.threads import usable_cores

__all__ = ["describe_load", "describe_machine"]

_PACKAGES = ("shoal", "numpy", "numba", "polars", "pyarrow")


def describe_machine() -> dict[str, str]:
    """Return what a reader needs to judge the figures: processor, memory, versions, commit."""
    facts = {
        "processor": _processor(),
        "cores": f"{usable_cores()} usable of {os.cpu_count()}",
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.1f} GiB",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
    }
    for package in _PACKAGES:
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            facts[package] = "not installed"
    facts["commit"] = _commit()
    return facts


def describe_load() -> str:
    """Return the time and the load average: what else the machine was doing."""
    one, five, fifteen = os.getloadavg()
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, load average {one:.2f} {five:.2f} {fifteen:.2f}"


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _commit() -> str:
    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else ""

    try:
        commit = git("rev-parse", "--short", "HEAD")
        changed = bool(git("status", "--porcelain", "--untracked-files=no", "--", "src"))
    except FileNotFoundError:
        return "unknown"
    return (commit or "unknown") + (" with changes in src" if changed else "")
