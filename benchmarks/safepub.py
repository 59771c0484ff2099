"""Differential privacy with true records: losses beside ARX's published ones, and a table of many rows in pieces."""

from __future__ import annotations

import json
import math
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import shoal
from benchmarks.large import write_census
from benchmarks.processes import taken_by
from benchmarks.results import Grid, Part, Target
from shoal.models.sampling import SAMPLING_SCALE

if TYPE_CHECKING:
    from benchmarks.settings import Settings

__all__ = ["measure"]

_LN2, _LN3 = math.log(2), math.log(3)
_FIXED = (
    (2.0, 1e-5, (0, 2, 0, 1, 1, 1, 1, 1, 0), 0.6820705793543056),
    (1.5, 1e-6, (1, 3, 1, 2, 2, 2, 2, 2, 1), 0.8112222411559193),
    (_LN2, 1e-7, (0, 2, 0, 1, 1, 1, 1, 1, 0), 0.7437618217405468),
    (_LN3, 1e-8, (1, 2, 1, 1, 2, 1, 1, 1, 1), 0.6092780386290699),
    (2.0, 1e-5, (1, 2, 1, 1, 2, 1, 1, 1, 1), 0.5968589299712612),
    (1.5, 1e-6, (0, 2, 0, 1, 1, 1, 1, 1, 0), 0.6856395441402736),
)
"""Epsilon, delta and levels of Adult's nine attributes in the tests of ARX (TestAnonymizationDifferentialPrivacy), and
the loss that they expect of one draw."""
_DRAWN = ((10, -398.94499089253185), (100, -355.0808606716044))
"""Steps of ARX's search in the same tests, and the score that they expect of one draw: epsilon is 2, of which the
search has 1, and delta 1e-5."""
_DRAWS = 10
_FARTHEST = 0.025
"""Largest difference of the mean loss of our draws from that of one draw of ARX, at the same levels."""
_ROOM, _MINUTES = 1_500_000_000, 20
_NAMES = ("age", "gender", "race", "marital_status", "income")


def measure(settings: Settings) -> Part:
    """Compare losses with those that ARX publishes, and publish a table of many rows in pieces."""
    part = Part(name="safepub", title="Differential privacy with true records")
    if settings.adult.exists():
        _compare(part, settings)
    else:
        part.say("There is no copy of Adult here: name one with --adult FILE (fields separated by ';').")
    with tempfile.TemporaryDirectory(dir=settings.large_folder) as folder:
        _stream(part, Path(folder), settings.large_rows, settings.seed)
    return part


def _compare(part: Part, settings: Settings) -> None:
    import polars as pl

    frame = pl.read_csv(settings.adult, separator=";")
    trees = {
        name: shoal.Hierarchy.from_csv(settings.adult.with_name(f"adult_hierarchy_{name}.csv"))
        for name in frame.columns
    }
    draws = 2 if settings.quick else _DRAWS
    part.say(
        f"Adult, {frame.height:,} rows, all nine attributes, with the hierarchies of ARX, beside the losses that the "
        "tests of ARX expect: each of one draw with a fixed seed, so that a hundredth may be chance. Ours are the "
        f"mean and the range of {draws} draws by the operating system. The loss is ARX's, computed here from the "
        "published cells: for each attribute the mean over the sampled records of (values below the node - 1) / "
        "(values - 1), 1 for records in small classes; over the attributes the geometric mean of 1 + loss, less 1."
    )
    rows: list[tuple[object, ...]] = []
    for epsilon, delta, levels, theirs in _FIXED:
        coarsen = {name: shoal.Level(trees[name], level) for name, level in zip(frame.columns, levels, strict=True)}
        model = shoal.DifferentialPrivacy(epsilon=epsilon, delta=delta)
        sampled = frame.height * model.threshold / SAMPLING_SCALE
        losses = []
        for _ in range(draws):
            release = shoal.anonymize(frame, quasi_identifiers=frame.columns, privacy=model, coarsen=coarsen, star="?")
            lost = _losses(release, trees, sampled)
            losses.append(math.prod(1 + one for one in lost) ** (1 / len(lost)) - 1)
        mean = sum(losses) / draws
        rows.append((f"{epsilon:.4g}", f"{delta:g}", model.k, str(levels), theirs, mean, min(losses), max(losses)))
        what = f"Adult, epsilon {epsilon:.4g}, levels {levels}: difference from the loss of ARX"
        part.targets.append(Target(what=what, limit=_FARTHEST, measured=abs(mean - theirs)))
    header = ("epsilon", "delta", "k", "levels", "ARX", "ours", "least", "most")
    part.show(Grid(title="Fixed levels, loss:", header=header, rows=rows))
    part.say(
        "Levels that are drawn: the loss of all records, sampled or not, is the mean over the attributes; ARX's is "
        "computed from its score. ARX draws step by step from the top, with 1 of 2; ours scores all combinations."
    )
    searched: list[tuple[object, ...]] = []
    spent = 1.0
    least = shoal.DifferentialPrivacy(epsilon=2, delta=1e-5, level_epsilon=spent).k
    theirs_best = min(-score * (least - 1) / frame.height for _, score in _DRAWN)
    for steps, score in _DRAWN:
        searched.append((f"ARX, {steps} steps", 2, spent, least, -score * (least - 1) / frame.height, None, None))
    for part_of_epsilon in (spent, 0.1):
        model = shoal.DifferentialPrivacy(epsilon=2, delta=1e-5, level_epsilon=part_of_epsilon)
        losses = []
        for _ in range(draws):
            release = shoal.anonymize(
                frame, quasi_identifiers=frame.columns, privacy=model, hierarchies=trees, recoding="generalization"
            )
            lost = _losses(release, trees, frame.height)
            losses.append(sum(lost) / len(lost))
        searched.append(("ours", 2, part_of_epsilon, model.k, sum(losses) / draws, min(losses), max(losses)))
        if part_of_epsilon == spent:
            what = "Adult, epsilon 2, of which 1 draws the levels: loss over the best of ARX"
            part.targets.append(Target(what=what, limit=1.0, measured=sum(losses) / draws / theirs_best))
    header = ("what", "epsilon", "for levels", "k", "loss", "least", "most")
    part.show(Grid(title="Drawn levels, loss of all records:", header=header, rows=searched))
    part.say(
        "Not compared: the figures of the SafePub paper itself, whose text was not at hand, and the other tables of "
        "the tests of ARX, which are not here."
    )


def _losses(release: shoal.Release, trees: Mapping[str, shoal.Hierarchy], records: float) -> list[float]:
    """Compute the loss of each attribute over so many records; those that are not published lose all."""
    levels = {name: one["level"] for name, one in release.certificate.to_dict()["parameters"]["coarsen"].items()}
    data, found = release.data, []
    for name, tree in trees.items():
        level, values = levels[name], len(tree.values)
        of_node = {
            "any" if label == "*" else label: (int(below) - 1) / max(values - 1, 1)
            for label, below in zip(tree.labels[level], tree.leaves[level], strict=True)
        } | {"*": 1.0}
        counted = data[name].cast(str).value_counts()
        shown = sum(of_node[text] * times for text, times in counted.iter_rows()) if level else 0.0
        found.append((shown + records - data.height) / records)
    return found


def _stream(part: Part, folder: Path, rows: int, seed: int) -> None:
    table, out = folder / "table", folder / "out"
    write_census(table, rows, 4, seed)
    words = ["--memory", str(_ROOM), "--qi", ",".join(_NAMES), "--epsilon", "1", "--delta", "1e-9"]
    files = list(_hierarchies(folder))
    shapes: Sequence[tuple[str, list[str]]] = (
        ("fixed levels", ["--coarsen", "age=bins:10"]),
        ("drawn levels", ["--level-epsilon", "0.1", "--recoding", "generalization", *files]),
    )
    found: list[tuple[object, ...]] = []
    for name, more in shapes:
        command = [sys.executable, "-m", "shoal", "anonymize", str(table), "--engine", "stream", "-o", str(out)]
        taken = taken_by([*command, "--force", *words, *more])
        facts = json.loads((out.with_name("out.private") / "certificate.json").read_text(encoding="utf-8"))
        levels = {key: one["level"] for key, one in facts["parameters"]["coarsen"].items() if "level" in one}
        share = (facts["input"]["rows"] - facts["input"]["rows_left_out"]) / facts["input"]["rows"]
        shown = " ".join(f"{key}:{level}" for key, level in levels.items()) or None
        cells, k = facts["engine"]["cells"], facts["achieved"]["k"]
        cpu = taken.user + taken.system
        found.append((name, rows, taken.seconds, cpu, taken.peak / 1e9, cells, k, share, shown))
        what = f"{rows:,} rows in pieces, {name}"
        part.targets.append(Target(what=f"{what}: CPU", limit=60 * _MINUTES, measured=cpu, unit=" s"))
        part.targets.append(
            Target(what=f"{what}: peak memory", limit=_ROOM / 1e9, measured=taken.peak / 1e9, unit=" GB")
        )
    part.say(
        f"A census-like table as a folder of Parquet files, `shoal anonymize FOLDER {' '.join(words)}`, ages in steps "
        "of ten or, with 0.1 of epsilon, at drawn levels (ages by 5, 10, 20 or any, income by 5, 10 or any, the others "
        "as they are or any). Every line is a process of its own."
    )
    header = ("what", "rows", "seconds", "CPU", "peak GB", "cells", "k", "share published", "levels")
    part.show(Grid(title="A whole run in pieces:", header=header, rows=found))


def _hierarchies(folder: Path) -> Iterator[str]:
    """Write hierarchies of the columns of the census-like table; yield the words that name them."""
    widths = {"age": (5, 10, 20), "income": (5, 10), "gender": (), "race": (), "marital_status": ()}
    values = {"age": 120, "income": 50, "gender": 2, "race": 9, "marital_status": 6}
    for name, steps in widths.items():
        file = folder / f"{name}.csv"
        lines = [
            ";".join([str(n), *(f"{n // step * step}-{n // step * step + step - 1}" for step in steps), "*"])
            for n in range(values[name])
        ]
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        yield from ("--hierarchy", f"{name}={file}")
