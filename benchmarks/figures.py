"""Figures drawn from what the parts measured: `python -m benchmarks.figures` writes one SVG for each.

Other tools come first, then the papers' figures. Axes are the papers'; the curves are ours, on census-like tables in
the place of the papers' extracts.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.settings import ROOT
from benchmarks.sweep import RIVALS

__all__ = ["FIGURES", "Figure", "Panel", "draw", "main", "panels_of"]

_SAID = (
    "Written by `python -m benchmarks.figures` from the newest full run of each part; do not edit. The axes of papers' "
    "figures are theirs; the tables are census-like ones in the place of their extracts, so shapes can be compared, "
    "and numbers cannot. Stars and divergences over d are on logarithmic scales, since they span powers of ten."
)
FOLDER = ROOT / "benchmarks" / "figures"
_COLOURS = ("#1b5e8c", "#c2571a", "#3d7a3d", "#7d4a94", "#8a6d1f", "#5f6670", "#b03a6b")
_MARKS = ("o", "s", "^", "D", "v", "x", "P")
_DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1)), (0, (3, 1, 1, 1)))
_MANY_POINTS = 25
"""Curves of so many points are lines without marks."""
_LETTERS = 13
"""Letters of the legend that an inch has room for, with a mark of seven before each name."""
_FEW_TICKS = 10
"""So many different values have a tick each."""


@dataclass(frozen=True)
class Panel:
    """One pair of axes: points of each curve."""

    title: str
    """OCC, SAL, FEMALE-1990, ..."""
    curves: Mapping[str, Sequence[tuple[float, float]]]
    """By name, in their order."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure of a paper."""

    name: str
    """Of the file."""
    title: str
    """Which figure of which paper it stands beside."""
    part: str
    """The part that measured it."""
    axes: tuple[str, str]
    """What is on x and y."""
    panels: Callable[[Mapping[str, Any]], list[Panel]]
    """Find the points among the part's tables."""
    scales: tuple[str, str] = ("linear", "linear")
    """Logarithmic where curves span powers of ten; the papers' texts do not tell theirs."""
    shared: bool = False
    """Whether all panels have the same axes, with powers of ten as ticks."""
    text: str = field(default="")
    """What the paper says of it, and how ours differs."""


def wide(
    start: str = "",
    *,
    ending: str = "",
    named: Callable[[str, str], tuple[str, str]] = lambda _, head: (head.partition(" ")[0], head.partition(" ")[2]),
    x: Callable[[Any], float | None] = lambda cell: cell,
    only: Collection[str] | None = None,
) -> Callable[[Mapping[str, Any]], list[Panel]]:
    """Read the tables with such titles, whose first column is x and whose others are curves.

    Parameters
    ----------
    start, ending : str
        Of the titles.
    named
        The panel and the curve of a title and the head of a column; the words of `TABLE curve` if not given.
    x
        The point of a cell of the first column, or None for lines that are no points.
    only
        The heads of the columns that are curves; all if not given.
    """

    def panels(tables: Mapping[str, Any]) -> list[Panel]:
        found: dict[str, dict[str, list[tuple[float, float]]]] = {}
        for title, table in tables.items():
            if not (title.startswith(start) and title.endswith(ending)):
                continue
            for column, head in enumerate(table["header"][1:], 1):
                if only is not None and head not in only:
                    continue
                panel, curve = named(title, str(head))
                points = [(x(row[0]), row[column]) for row in table["rows"] if row[column] is not None]
                found.setdefault(panel, {})[curve] = [(at, y) for at, y in points if at is not None]
        return [Panel(title, curves) for title, curves in found.items()]

    return panels


def _middle(cell: str) -> float:
    """Return the middle of a subrange, `A to B`."""
    low, _, high = cell.partition(" to ")
    return (int(low) + int(high)) / 2


def long(
    pattern: Callable[[str], str | None],
    x: str,
    y: str,
    by: str,
    curve: str = "{}",
) -> Callable[[Mapping[str, Any]], list[Panel]]:
    """Read tables with a line for each point; `pattern` gives the panel of a table's title, or None."""

    def panels(tables: Mapping[str, Any]) -> list[Panel]:
        found: dict[str, dict[str, list[tuple[float, float]]]] = {}
        for title, table in tables.items():
            panel = pattern(title)
            if panel is None:
                continue
            curves = found.setdefault(panel, {})
            for row in table["rows"]:
                cells = dict(zip(table["header"], row, strict=True))
                if cells[y] is not None:
                    curves.setdefault(curve.format(cells[by]), []).append((cells[x], cells[y]))
        return [Panel(title, curves) for title, curves in found.items() if curves]

    return panels


def apart(panels: Callable[[Mapping[str, Any]], list[Panel]], curve: str) -> Callable[..., list[Panel]]:
    """Show a curve in panels of its own, before the others, whose figures are of another order."""

    def split(tables: Mapping[str, Any]) -> list[Panel]:
        found = panels(tables)
        own = [
            Panel(f"{panel.title}: {curve}", {curve: panel.curves[curve]}) for panel in found if curve in panel.curves
        ]
        rest = [
            Panel(panel.title, {name: points for name, points in panel.curves.items() if name != curve})
            for panel in found
        ]
        return own + [panel for panel in rest if panel.curves]

    return split


def _counterfeits(tables: Mapping[str, Any]) -> list[Panel]:
    """Read the counterfeits of each release, which are printed ten to a line."""
    found: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for title, table in tables.items():
        if "counterfeits (Figure 5)" in title:
            counts = [int(one) for _, line in table["rows"] for one in str(line).split()]
            name, balancing = title.partition(",")[0], title.partition(":")[0].rpartition(", ")[2]
            found.setdefault(name, {})[balancing] = [(n, float(count)) for n, count in enumerate(counts, 1)]
    return [Panel(name, curves) for name, curves in found.items()]


def _errors(tables: Mapping[str, Any]) -> list[Panel]:
    """Read the query errors over a history, for each number of people replaced."""
    found: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for title, table in tables.items():
        if "query error (Figure 7)" in title:
            said = title.partition(":")[0].split(", ")
            found.setdefault(said[0], {})[", ".join(said[2:])] = [(row[0], row[1]) for row in table["rows"]]
    return [Panel(name, curves) for name, curves in found.items()]


def _table(ending: str) -> Callable[[str], str | None]:
    return lambda title: title.partition(":")[0] if ending in title else None


def _over_k(title: str) -> str | None:
    """Return which table stars were counted over k of: Adult, or a census-like one."""
    return title.rpartition(", every pattern; ")[0] or None


def _stars(over: str) -> Callable[[Mapping[str, Any]], list[Panel]]:
    """Read the average stars over l or d."""

    def panels(tables: Mapping[str, Any]) -> list[Panel]:
        asked = {title: table for title, table in tables.items() if f"average stars {over}" in title}
        return wide(named=lambda title, head: (title.partition(":")[0], head), only=(*RIVALS, "bound"))(asked)

    return panels


_ARX = {"Adult": (2.8, 3.07), "drawn": (4.65, 0.84), "many": (19.2, 0.366)}
"""Seconds (the middle of several runs) and loss of ARX in percent by leaves, k = 5, measured beside commit bcac10b."""


def _beside_others(tables: Mapping[str, Any]) -> list[Panel]:
    """Read time and loss for k = 5: of whole processes here, and of other tools' newest run on the same tables."""
    (runs,) = (table for title, table in tables.items() if "from file to folder" in title)
    place = {name: runs["header"].index(name) for name in ("run", "rows", "seconds", "gcp %")}
    found: dict[str, dict[str, list[tuple[float, float]]]] = {}
    sizes: dict[str, str] = {}
    for row in runs["rows"]:
        name, _, request = str(row[place["run"]]).partition(", ")
        if request == "k = 5":
            sizes[f"{row[place['rows']]:,} records"] = name
            found[name] = {"shoal": [(row[place["seconds"]], row[place["gcp %"]])], "ARX": [_ARX[name]]}
    rivals = json.loads((ROOT / "benchmarks" / "results" / "rivals.json").read_text(encoding="utf-8"))
    for title, table in rivals["figures"].items():
        curves = found[sizes[title.rpartition(", ")[2].removesuffix(":")]]
        for request, tool, seconds, *_, loss, _k, _l, _asked in table["rows"]:
            if request == "k = 5" and loss is not None and not tool.startswith("shoal"):
                curves[tool.partition(" ")[0]] = [(seconds, loss)]
    return [Panel(next(size for size, one in sizes.items() if one == name), curves) for name, curves in found.items()]


_EDBT = "Xiao, Yi, Tao (EDBT 2010), Figure "
_SIGMOD = "Xiao, Tao (SIGMOD 2007), Figure "
FIGURES = (
    Figure(
        name="beside-others",
        title="Other tools: loss over time, k = 5, Adult and tables drawn from it",
        part="rows",
        axes=("seconds", "loss in %"),
        panels=_beside_others,
        scales=("log", "log"),
        shared=True,
        text="Whole programs, from file to file: left is faster, below loses less. shoal and ARX recode with the same "
        "hierarchies; anonypy and anonypyx publish intervals and sets, which can lose less than nodes of hierarchies. "
        "Other tools had no result for 5,000,000 records, and some none for 600,000, in 200 s.",
    ),
    Figure(
        name="l-diversity-2-stars-over-l",
        title=_EDBT + "2: average number of stars over l, d = 4",
        part="stars",
        axes=("l", "stars"),
        panels=_stars("over l"),
        text="The paper: TP stays below Hilbert, and TP+ below both. Here TP+ does, with the codes as they are (`tp+ "
        "hilbert`) and with every domain stretched to the same width (`tp+ scaled`); TP has a few more stars "
        "than Hilbert for small l (2 and 3 of SAL, 2 and 4 of OCC; by 6 % at most), and fewer from l = 5 on. Our "
        "default (`tp+`) leaves fewest; `bound` is a proven lower bound.",
    ),
    Figure(
        name="l-diversity-3-stars-over-d",
        title=_EDBT + "3: average number of stars over d, l = 6",
        part="stars",
        axes=("d", "stars"),
        panels=_stars("over d"),
        scales=("linear", "log"),
        text="The paper: TP+ is best for every d, and TP is better than Hilbert up to d = 4 (SAL) and 6 (OCC). Here "
        "TP is up to d = 4. TP+ on codes as they are (`tp+ hilbert`) has more stars than Hilbert from d = 5 "
        "(SAL) and 6 (OCC) on; with every domain stretched to the same width (`tp+ scaled`), as our Hilbert has "
        "it, it has fewer for every d. The paper does not say which it takes. Our default (`tp+`) leaves "
        "fewest.",
    ),
    Figure(
        name="l-diversity-4-time-over-l",
        title=_EDBT + "4: time over l, d = 4",
        part="paper",
        axes=("l", "times over one group_by"),
        panels=wide("Figure 4"),
        text="The paper, in seconds of 2009: TP and TP+ take longer for a larger l, Hilbert less. Here TP and TP+ "
        "do; Hilbert takes about the same for every l. `tp+`, our default, buys its fewer stars with time.",
    ),
    Figure(
        name="l-diversity-5-time-over-d",
        title=_EDBT + "5: time over d, l = 6",
        part="paper",
        axes=("d", "times over one group_by"),
        panels=wide("Figure 5"),
        text="The paper: TP and TP+ take longer for a larger d, Hilbert the same. Here the group_by takes longer "
        "with d, too, so that Hilbert comes nearer to it.",
    ),
    Figure(
        name="l-diversity-6-time-over-n",
        title=_EDBT + "6: time over n, d = 4, l = 6",
        part="paper",
        axes=("n", "times over one group_by"),
        panels=wide("Figure 6"),
        text="The paper: linear for TP, almost linear for Hilbert. A constant ratio to a group_by is linear; what "
        "every call costs weighs more in small tables.",
    ),
    Figure(
        name="l-diversity-7-divergence-over-l",
        title=_EDBT + "7: KL-divergence over l, d = 4",
        part="divergence",
        axes=("l", "nats"),
        panels=wide("Figure 7"),
        text="The paper: TP+ loses much less than top-down specialization. Here, too: from a tenth of it (l = 2) to "
        "less than half (l = 10).",
    ),
    Figure(
        name="l-diversity-8-divergence-over-d",
        title=_EDBT + "8: KL-divergence over d, l = 6",
        part="divergence",
        axes=("d", "nats"),
        panels=wide("Figure 8"),
        scales=("linear", "log"),
        text="The paper: TP+ is below TDS for every d. Here, too, from d = 2 on; at d = 1 of SAL, where both lose "
        "next to nothing, TDS is lower on average.",
    ),
    Figure(
        name="l-diversity-phases",
        title="Xiao, Yi, Tao (EDBT 2010), Section 6: how often each phase ended TP",
        part="paper",
        axes=("l", "tables"),
        panels=wide(
            "How often each phase",
            named=lambda _, head: ("SAL and OCC, tables of every d", head),
            x=lambda cell: None if cell == "all" else cell,
        ),
        text="The paper: phase three never runs on its tables. Here neither, for 254 tables and nine l each.",
    ),
    Figure(
        name="geography-7-overfull-ratio",
        title="Du, Eppstein, Goodrich, Lueker (2009), Figure 7: overfull ratio over k",
        part="figure7",
        axes=("k", "largest class / k"),
        panels=wide(ending="names", named=lambda title, head: (title.partition(",")[0], head), x=_middle),
        text="The paper: Spread is better than Fold, and a random order often better than a sorted one. `ours` is "
        "proven optimal for nearly every k, where it lies on the lower bound.",
    ),
    Figure(
        name="m-invariance-4-vulnerable",
        title=_SIGMOD + "4: people whose value is certain, when l-diverse tables are published again and again",
        part="republish",
        axes=("r", "vulnerable people"),
        panels=long(_table("l-diversity by Mondrian"), "r", "vulnerable people", "l", "l = {}"),
        text="The paper: nearly 100,000 for l = 2 whatever r, fewer for larger l and r, never none. Here, too: "
        "fewest are 10 of OCC with l = 10 and r = 40,000; for l = 2 fewer with a larger r.",
    ),
    Figure(
        name="m-invariance-5-counterfeits",
        title=_SIGMOD + "5: counterfeits of each release, r = 5,000, m = 10",
        part="republish",
        axes=("release", "counterfeits"),
        panels=apart(_counterfeits, "fewest"),
        text="The paper: at most 10 (OCC) and 12 (SAL), and none at 51 and 33 releases. `fewest` is the paper's aim: "
        "at most 13 in both here. The default (`independent`) draws signatures independently of the "
        "quasi-identifiers, which the paper's 1/m needs against readers who know the algorithm, and pays with "
        "thousands; `near values` are signatures of values that are near each other, for better answers to "
        "queries.",
    ),
    Figure(
        name="m-invariance-6a-counterfeits-over-r",
        title=_SIGMOD + "6a: average counterfeits over r, m = 10",
        part="republish",
        axes=("r", "average counterfeits"),
        panels=apart(long(_table("over r"), "r", "average counterfeits", "balancing"), "fewest"),
        text="The paper: fewer for a larger r, none from r = 20,000 on. `fewest`: 1.1 and 1.2 at r = 5,000, none "
        "from 10,000 on. The default (`independent`) needs thousands, and fewer for a larger r (see Figure 5).",
    ),
    Figure(
        name="m-invariance-6b-counterfeits-over-m",
        title=_SIGMOD + "6b: average counterfeits over m, r = 5,000",
        part="republish",
        axes=("m", "average counterfeits"),
        panels=apart(long(_table("over m"), "m", "average counterfeits", "balancing"), "fewest"),
        text="The paper: never above 2.5. `fewest`: never above 1.3. The default (`independent`) needs more for a "
        "larger m.",
    ),
    Figure(
        name="m-invariance-7-error-over-time",
        title=_SIGMOD + "7: query error over the releases, theta = 10 %, m = 10",
        part="republish",
        axes=("release", "median relative error"),
        panels=_errors,
        text="The paper: at most 10 % for r = 5,000 and 40,000, the same at all times. Here it hardly changes with "
        "time and r, too, but is 13 % (SAL) and 16 to 19 % (OCC). What costs is that values are known up to "
        "their signature: with the exact cell of everybody the error on OCC is 16 %, too. `near "
        "values` is at 6 to 7 % on SAL, and 12 to 15 % on OCC.",
    ),
    Figure(
        name="m-invariance-8a-error-over-theta",
        title=_SIGMOD + "8a: query error over theta, r = 5,000, m = 10",
        part="republish",
        axes=("theta in %", "average error"),
        panels=long(_table("over theta"), "theta in %", "average query error", "balancing"),
        text="The paper: the larger the queries, the smaller the error. Here, too.",
    ),
    Figure(
        name="m-invariance-8b-error-over-m",
        title=_SIGMOD + "8b: query error over m, theta = 10 %, r = 5,000",
        part="republish",
        axes=("m", "average error"),
        panels=long(_table("over m"), "m", "average query error", "balancing"),
        text="The paper: a smaller m allows more accurate answers. Here, too.",
    ),
    Figure(
        name="m-invariance-9a-seconds-over-r",
        title=_SIGMOD + "9a: seconds of a generalization over r, m = 10",
        part="republish",
        axes=("r", "seconds"),
        panels=long(_table("over r"), "r", "average s", "balancing"),
        text="The paper: more for a larger r, since more new people are processed. Here it takes .18 to .28 s, with "
        "no such trend.",
    ),
    Figure(
        name="m-invariance-9b-seconds-over-m",
        title=_SIGMOD + "9b: seconds of a generalization over m, r = 5,000",
        part="republish",
        axes=("m", "seconds"),
        panels=long(_table("over m"), "m", "average s", "balancing"),
        text="The paper: less for a larger m, which needs fewer buckets. Here, too, up to m = 6.",
    ),
    Figure(
        name="patterns-stars-over-k",
        title="Bredereck, Nichterlein, Niedermeier (2013): stars over k, every pattern",
        part="patterns",
        axes=("k", "stars"),
        panels=long(_over_k, "k", "stars", "algorithm"),
        text="The paper: pattern-guided greedy leaves fewer stars than Mondrian's suppression. Here, too. "
        "`improved` is our search after it; `patterns-optimal`, the program with a minute, proves it within 1 to 5 % "
        "of the fewest, and finds hardly more.",
    ),
)
"""Every figure, in the order of the papers."""


def panels_of(figure: Figure, results: Path) -> tuple[list[Panel], str]:
    """Return the panels of a figure from the newest full run of its part, and of which commit that is; none: no run."""
    path = results / f"{figure.part}.json"
    if not path.exists():
        return [], ""
    stored = json.loads(path.read_text(encoding="utf-8"))
    return figure.panels(stored["figures"]), stored["machine"]["commit"]


def draw(figure: Figure, panels: Sequence[Panel], path: Path) -> None:
    """Write a figure as SVG; the same points give the same bytes."""
    import matplotlib as mpl
    from matplotlib.figure import Figure as Canvas
    from matplotlib.ticker import NullFormatter

    across = 2 if len(panels) % 2 == 0 else len(panels)
    styles = {name: _style(at) for at, name in enumerate(dict.fromkeys(name for one in panels for name in one.curves))}
    with mpl.rc_context({"svg.hashsalt": figure.name, "svg.fonttype": "none", "font.size": 9}):
        canvas = Canvas(figsize=(max(3.6 * across, 4.6), 3.0 * len(panels) / across), layout="constrained")
        for axes, panel in zip(
            canvas.subplots(
                -(-len(panels) // across), across, squeeze=False, sharex=figure.shared, sharey=figure.shared
            ).flat,
            panels,
            strict=True,
        ):
            for name, points in panel.curves.items():
                mark = {} if len(points) < _MANY_POINTS else {"marker": ""}
                axes.plot(*zip(*points, strict=True), **{**styles[name], **mark})
            axes.set(title=panel.title, xlabel=figure.axes[0], ylabel=figure.axes[1])
            axes.set(xscale=figure.scales[0], yscale=figure.scales[1])
            if figure.scales[1] == "linear":
                axes.set_ylim(bottom=0)
            for axis, scale in zip((axes.xaxis, axes.yaxis), figure.scales, strict=True):
                if scale == "linear":
                    axis.get_major_locator().set_params(nbins=6)
                axis.set_major_formatter(_told)
                if figure.shared:
                    axis.set_minor_formatter(NullFormatter())
            values = sorted({x for points in panel.curves.values() for x, _ in points})
            if len(values) < _FEW_TICKS and all(x == int(x) < 30 for x in values):
                axes.set_xticks(values)
            axes.grid(visible=True, color="#dddddd", linewidth=0.6)
            axes.set_axisbelow(True)
            axes.spines[["top", "right"]].set_visible(False)
        if len(styles) > 1:
            from matplotlib.lines import Line2D

            columns = max(int(_LETTERS * canvas.get_figwidth()) // (max(map(len, styles)) + 7), 1)
            lines = [Line2D([], [], **style) for style in styles.values()]
            canvas.legend(
                lines,
                list(styles),
                loc="outside lower center",
                ncols=columns,
                fontsize=8,
                frameon=False,
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        canvas.savefig(path, format="svg", metadata={"Date": None, "Title": figure.title})


def _style(at: int) -> dict[str, Any]:
    """Return what tells a curve from the others, in colour and in grey."""
    return {
        "color": _COLOURS[at % 7],
        "linestyle": _DASHES[at % 7],
        "linewidth": 1.2,
        "marker": _MARKS[at % 7],
        "markersize": 3.5,
    }


def _told(value: float, _: int) -> str:
    """Return a number as it stands at an axis: 600,000, not 6e5."""
    return f"{value:,.0f}" if abs(value) >= 10 else f"{value:g}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw every figure whose part was measured, and write the page that shows them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.figures", description=__doc__)
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    lines = ["# Figures", "", _SAID]
    for figure in FIGURES:
        panels, commit = panels_of(figure, options.results)
        lines += ["", f"## {figure.title}", ""]
        if panels:
            draw(figure, panels, options.folder / f"{figure.name}.svg")
            curves = ", ".join(dict.fromkeys(curve for panel in panels for curve in panel.curves))
            lines += [f"![{figure.axes[1]} over {figure.axes[0]}: {curves}]({figure.name}.svg)", ""]
            lines += [f"{figure.text} (Part `{figure.part}`, commit {commit}.)"]
        else:
            lines += [f"{figure.text} The part `{figure.part}` has no full run yet."]
    (options.folder / "README.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{options.folder / 'README.md'}")


if __name__ == "__main__":
    main()
