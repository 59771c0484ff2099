"""Publish a table and print the process's memory: run by `harness.peak_memory` in a process of its own."""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

__all__ = ["main"]


def main(path: str, sensitive: str, l: str, algorithm: str) -> None:
    """Read an Arrow file, publish it, print peak, base and input size in bytes as JSON."""
    import polars as pl

    import shoal

    frame = pl.read_ipc(path)
    publish, requirement = shoal.anonymize, shoal.LDiversity(int(l))
    before = _status("VmRSS")
    publish(
        frame,
        quasi_identifiers=[name for name in frame.columns if name != sensitive],
        sensitive=sensitive,
        privacy=requirement,
        algorithm=algorithm,
    )
    peak = _status("VmHWM")
    arrow = frame.to_arrow().nbytes
    sys.stdout.write(json.dumps({"peak": peak, "before": before, "arrow": arrow}))


def _status(field: str) -> int:
    """Return a field of the process's status; `ru_maxrss` would count the parent's memory at the fork, too."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="ascii").splitlines():
            if line.startswith(field):
                return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


if __name__ == "__main__":
    main(*sys.argv[1:])
