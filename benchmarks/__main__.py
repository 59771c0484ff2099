"""Run the benchmarks and print what they found."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks import (
    adult,
    attacks,
    automatic,
    closeness,
    comparison,
    compiling,
    demanding,
    divergence,
    effort,
    emd,
    ends,
    estimators,
    exact,
    figure7,
    full_domain,
    large,
    ledger,
    linked,
    local,
    matching,
    minimality,
    paper,
    patterns,
    plane,
    refinement,
    regions,
    republish,
    risk,
    rivals,
    rows,
    safepub,
    sets,
    speed,
    stars,
    starting,
    tune,
    waiting,
)
from benchmarks.durations import minutes_of
from benchmarks.harness import cpu_of_all_processes
from benchmarks.machine import describe_load, describe_machine
from benchmarks.results import Part, format_targets, is_measured, save_part, write_summary
from benchmarks.settings import ROOT, Settings

__all__ = ["main"]

_PARTS: dict[str, Callable[[Settings], Part]] = {
    "speed": speed.measure,
    "rows": rows.measure,
    "stars": stars.measure,
    "effort": effort.measure,
    "paper": paper.measure,
    "divergence": divergence.measure,
    "adult": adult.measure,
    "comparison": comparison.measure,
    "automatic": automatic.measure,
    "demanding": demanding.measure,
    "compiling": compiling.measure,
    "starting": starting.measure,
    "waiting": waiting.measure,
    "emd": emd.measure,
    "closeness": closeness.measure,
    "ends": ends.measure,
    "linked": linked.measure,
    "sets": sets.measure,
    "local": local.measure,
    "exact": exact.measure,
    "matching": matching.measure,
    "regions": regions.measure,
    "figure7": figure7.measure,
    "points": plane.measure_points,
    "ordered": plane.measure_ordered,
    "patterns": patterns.measure,
    "republish": republish.measure,
    "ledger": ledger.measure,
    "tune": tune.measure,
    "full-domain": full_domain.measure,
    "minimality": minimality.measure,
    "risk": risk.measure,
    "estimators": estimators.measure,
    "attacks": attacks.measure,
    "refinement": refinement.measure,
    "safepub": safepub.measure,
    "large": large.measure,
    "billion": large.measure_billion,
    "rivals": rivals.measure,
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
    given = {
        name: getattr(options, name)
        for name in (
            *("rows", "tables", "raised_work", "workers", "adult", "counties", "arx", "against", "results"),
            *("large_rows", "most_rows", "large_folder"),
        )
    }
    settings = replace(settings, **{name: value for name, value in given.items() if value is not None})
    _print_machine()
    left = list(options.parts or _PARTS)
    if options.resume:
        there = [name for name in left if is_measured(name, settings.results)]
        left = [name for name in left if name not in there]
        print(f"Measured at this commit already: {', '.join(there) or 'nothing'}.")
    _print_left(left, settings)
    parts = []
    while left:
        name = left.pop(0)
        part = _measured(name, settings)
        print(part.text(), flush=True)
        path = save_part(part, settings.results, quick=settings.quick)
        print(f"{name}: {part.seconds:.0f} s, {part.processor_seconds:.0f} s of CPU, figures in {path}")
        _print_left(left, settings)
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


def _print_left(names: Sequence[str], settings: Settings) -> None:
    """Say how long the parts that are left will take; of a short run nobody needs to know."""
    if names and not settings.quick:
        minutes = sum(minutes_of(name, settings.results) for name in names)
        print(f"Left: {', '.join(names)}; about {max(1, round(minutes))} minutes where nothing else runs.")
    print(flush=True)


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
    parser.add_argument("--counties", type=Path, help="a folder with the graph of the US counties")
    parser.add_argument("--arx", type=Path, help="a jar of ARX, to be measured beside the other tools")
    parser.add_argument(
        "--against", type=Path, help="sources, such as ../before/src, that whole commands are compared with"
    )
    parser.add_argument("--large-rows", type=int, help="rows of the table that is larger than memory")
    parser.add_argument("--most-rows", type=int, help="rows of the largest table, of the part `billion`")
    parser.add_argument("--large-folder", type=Path, help="where large tables are made, and removed again")
    parser.add_argument("--results", type=Path, help="folder for the figures, and for RESULTS.md")
    return parser


def _print_machine() -> None:
    for name, fact in describe_machine().items():
        print(f"{name}: {fact}")
    print(f"{describe_load()}\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
