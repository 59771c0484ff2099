"""Run the benchmarks and print what they found."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks import divergence, evaluating, figure7, paper, patterns, republish, rivals, rows, stars
from benchmarks.harness import cpu_of_all_processes
from benchmarks.machine import describe_load, describe_machine
from benchmarks.results import Part, format_targets, is_measured, save_part, write_summary
from benchmarks.settings import ROOT, Settings

__all__ = ["main"]

_PARTS: dict[str, Callable[[Settings], Part]] = {
    "rows": rows.measure,
    "cores": rows.measure_cores,
    "stars": stars.measure,
    "paper": paper.measure,
    "divergence": divergence.measure,
    "figure7": figure7.measure,
    "patterns": patterns.measure,
    "republish": republish.measure,
    "rivals": rivals.measure,
    "evaluating": evaluating.measure,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the parts that are named, print them, and keep the figures.

    Returns
    -------
    int
        0, whether or not the targets are met: missing one is a finding, not a failure.
    """
    options = _options().parse_args(arguments)
    settings = Settings.short() if options.quick else Settings()
    names = ("rows", "tables", "raised_work", "workers", "adult", "arx", "against", "results")
    given = {name: getattr(options, name) for name in names}
    settings = replace(settings, **{name: value for name, value in given.items() if value is not None})
    _print_machine()
    left = list(options.parts or _PARTS)
    if options.resume:
        there = [name for name in left if is_measured(name, settings.results)]
        left = [name for name in left if name not in there]
        print(f"Measured at this commit already: {', '.join(there) or 'nothing'}.")
    parts = []
    while left:
        name = left.pop(0)
        part = _measured(name, settings)
        print(part.text(), flush=True)
        path = save_part(part, settings.results, quick=settings.quick)
        print(f"{name}: {part.seconds:.0f} s, {part.processor_seconds:.0f} s of CPU, figures in {path}")
        parts.append(part)
    targets = [target for part in parts for target in part.targets]
    if targets:
        print("\n".join(format_targets(targets, "All targets:").lines()), end="\n\n")
    print(describe_load())
    if not settings.quick:
        summary = ROOT / "benchmarks" / "RESULTS.md" if options.results is None else settings.results / "RESULTS.md"
        write_summary(settings.results, summary, _PARTS)
        print(f"The newest full run of every part is in {summary}.")
    return 0


def _measured(name: str, settings: Settings) -> Part:
    """Measure a part, and note how long that took."""
    start, used = time.perf_counter(), cpu_of_all_processes()
    part = _PARTS[name](settings)
    part.seconds = round(time.perf_counter() - start, 1)
    part.processor_seconds = round(cpu_of_all_processes() - used, 1)
    return part


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "parts", nargs="*", choices=[*_PARTS, []], metavar="PART", help=f"{', '.join(_PARTS)}; all by default"
    )
    parser.add_argument("--quick", action="store_true", help="about two minutes: fewer tables, fewer repetitions")
    parser.add_argument(
        "--resume", action="store_true", help="leave out parts that have figures of this very commit already"
    )
    parser.add_argument("--rows", type=int, help="rows of the census-like tables")
    parser.add_argument("--tables", type=int, help="choices of d of the seven quasi-identifiers (default: all)")
    parser.add_argument("--raised-work", type=int, help="operations of the raised lower bound")
    parser.add_argument(
        "--workers", type=int, help="processes side by side where nothing is timed (default: all cores, at most eight)"
    )
    parser.add_argument("--adult", type=Path, help="a copy of the Adult table, fields separated by ';'")
    parser.add_argument("--arx", type=Path, help="a jar of ARX, to be measured beside the other tools")
    parser.add_argument(
        "--against", type=Path, help="sources, such as ../before/src, that whole commands are compared with"
    )
    parser.add_argument("--results", type=Path, help="folder for the figures, and for RESULTS.md")
    return parser


def _print_machine() -> None:
    for name, fact in describe_machine().items():
        print(f"{name}: {fact}")
    print(f"{describe_load()}\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
