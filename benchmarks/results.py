"""What a part of the run says: targets, tables and sentences, as text that reads well in a terminal and as Markdown."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from benchmarks.machine import describe_load, describe_machine

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Grid", "Part", "Target", "format_targets", "is_measured", "load_part", "save_part", "write_summary"]


@dataclass(frozen=True, kw_only=True)
class Target:
    """A figure with the limit that it should stay below."""

    what: str
    """What was measured."""
    limit: float
    """The most that it should be."""
    measured: float
    """What it is."""
    unit: str = ""
    """Printed after both."""

    @property
    def met(self) -> bool:
        """Whether the figure is within its limit."""
        return self.measured <= self.limit


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A table of figures."""

    title: str
    """A sentence that says what it shows."""
    header: Sequence[str]
    """Names of the columns."""
    rows: Sequence[Sequence[object]]
    """Cells; floats are rounded to something readable."""

    def lines(self) -> list[str]:
        """Return the table as aligned Markdown."""
        cells = [[_text(cell) for cell in row] for row in self.rows]
        widths = [max(map(len, column)) for column in zip(self.header, *cells, strict=True)]
        columns = list(zip(*self.rows, strict=True)) or [()] * len(widths)
        to_the_right = [all(cell is None or isinstance(cell, int | float) for cell in column) for column in columns]

        def line(row: Sequence[str]) -> str:
            padded = zip(row, widths, to_the_right, strict=True)
            return "| " + " | ".join(text.rjust(w) if right else text.ljust(w) for text, w, right in padded) + " |"

        dashes = ("-" * (w + 1) + (":" if right else "-") for w, right in zip(widths, to_the_right, strict=True))
        rule = "|" + "|".join(dashes) + "|"
        return [self.title, "", line(self.header), rule, *map(line, cells)]


@dataclass(kw_only=True)
class Part:
    """What one part of the run found."""

    name: str
    """speed, stars, paper, ..."""
    title: str
    """A heading."""
    when: str = field(default_factory=lambda: f"commit {describe_machine()['commit']}, {describe_load()}")
    """Of which commit, when it began, and what else the machine was doing."""
    seconds: float | None = None
    """How long the run of this part took; None: of a run that did not note it."""
    processor_seconds: float | None = None
    """The CPU of all its processes."""
    targets: list[Target] = field(default_factory=list)
    """Figures with a limit."""
    blocks: list[list[str]] = field(default_factory=list)
    """Paragraphs and tables, as lines."""
    figures: dict[str, Any] = field(default_factory=dict)
    """The same for programs."""

    def say(self, *paragraphs: str) -> None:
        """Add sentences."""
        self.blocks.extend([text] for text in paragraphs)

    def show(self, grid: Grid) -> None:
        """Add a table, with its figures."""
        self.blocks.append(grid.lines())
        self.figures[grid.title] = {"header": list(grid.header), "rows": [list(row) for row in grid.rows]}

    def text(self) -> str:
        """Return the part as Markdown."""
        took = "" if self.seconds is None else f"; took {self.seconds / 60:.1f} min"
        took += "" if self.processor_seconds is None else f", {self.processor_seconds / 60:.1f} min of CPU"
        lines = [f"## {self.title}", "", f"_{self.when}{took}_"]
        if self.targets:
            lines += ["", *format_targets(self.targets).lines()]
        for block in self.blocks:
            lines += ["", *block]
        return "\n".join(lines) + "\n"


def format_targets(targets: Iterable[Target], title: str = "Targets:") -> Grid:
    """Return targets as a table: what, limit, measured, met."""
    rows = [(t.what, _text(t.limit) + t.unit, _text(t.measured) + t.unit, "yes" if t.met else "NO") for t in targets]
    return Grid(title=title, header=("what", "limit", "measured", "met"), rows=rows)


def save_part(part: Part, folder: Path, *, quick: bool) -> Path:
    """Write a part as JSON; short runs get a name of their own, so that they never replace a full one."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{part.name}{'-quick' if quick else ''}.json"
    path.write_text(json.dumps({**asdict(part), "machine": describe_machine()}, indent=1), encoding="utf-8")
    return path


def load_part(path: Path) -> Part:
    """Read what `save_part` wrote."""
    stored = json.loads(path.read_text(encoding="utf-8"))
    stored.pop("machine")
    targets = [Target(**target) for target in stored.pop("targets")]
    return Part(targets=targets, **stored)


def is_measured(name: str, folder: Path) -> bool:
    """Return whether the figures of a part are of the commit that is checked out, with no change in the sources."""
    path, commit = folder / f"{name}.json", describe_machine()["commit"]
    if not path.exists() or not commit.isalnum() or commit == "unknown":
        return False
    return json.loads(path.read_text(encoding="utf-8"))["machine"]["commit"] == commit


HEADLINE = "rivals"
"""The part that the page shows whole: other tools on the same tables."""


def write_summary(folder: Path, destination: Path, order: Iterable[str]) -> None:
    """Write one page for each part, and RESULTS.md: other tools, and a line for each part in the given order."""
    order = list(order)
    stored = {name: json.loads(path.read_text("utf-8")) for name in order if (path := folder / f"{name}.json").exists()}
    parts = {name: load_part(folder / f"{name}.json") for name in stored}
    facts = {name: fact for name, fact in describe_machine().items() if name != "commit"}
    lines = ["# What `make bench` measured", ""]
    lines += ["Written by the runs, a part at a time; do not edit. The machine of the newest run:", ""]
    lines += [*(f"- {name}: {fact}" for name, fact in facts.items()), ""]
    rows = []
    for name, part in parts.items():
        (folder / f"{name}.md").write_text(part.text().replace("## ", "# ", 1), encoding="utf-8")
        met = f"{sum(one.met for one in part.targets)} of {len(part.targets)}" if part.targets else "-"
        page = f"[{part.title}]({os.path.relpath(folder / f'{name}.md', destination.parent)})"
        rows.append((f"`{name}`", page, met, stored[name]["machine"]["commit"]))
    header = ("part", "what it measures", "limits met", "commit")
    lines += Grid(title="Each part has a page with its tables and limits:", header=header, rows=rows).lines()
    never = [name for name in order if name not in parts]
    if never:
        lines += ["", f"Parts without a full run: {', '.join(never)}."]
    text = "\n".join(lines) + "\n"
    if HEADLINE in parts:
        text += "\n" + parts[HEADLINE].text()
    destination.write_text(text, encoding="utf-8")


def _text(cell: object) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, bool) or not isinstance(cell, float):
        return f"{cell:,}" if isinstance(cell, int) else str(cell)
    size = abs(cell)
    if size >= 1000:
        return f"{cell:,.0f}"
    return f"{cell:.1f}" if size >= 100 else f"{cell:.2f}" if size >= 10 else f"{cell:.3f}"
