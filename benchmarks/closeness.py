"""t-closeness on a large real table: what drawing groups in proportion loses, and what cutting the space loses."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING

import numpy as np

import shoal
from benchmarks.harness import seconds_of
from benchmarks.results import Grid, Part, Target
from shoal.algorithms import ALGORITHMS

if TYPE_CHECKING:
    import polars as pl

    from benchmarks.settings import Settings

__all__ = ["measure"]

_T_VALUES = (0.1, 0.2, 0.3, 0.4, 0.5)
_K = 5
_TARGET_T, _TARGET_LOSS, _TARGET_SECONDS = 0.2, 40.0, 10.0
_TARGET_OF_DEFAULT = 35.6
"""What `cluster` lost when it was given ten times its time."""
_ALGORITHMS = ("sabre", "mondrian", "hilbert")
_QUASI_IDENTIFIERS = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass")
_SMALL_TABLES, _SMALL_ROWS = 30, 12


def measure(settings: Settings) -> Part:
    """Publish Adult with t-closeness by every algorithm for large tables, census-like tables, and tiny ones."""
    part = Part(name="closeness", title="t-closeness")
    part.say(
        f"Whole `anonymize()` with the equal distance, k = {_K} and generalization, verification and bound included; "
        "`gcp` is the global certainty penalty in percent; seconds of one run after a warm-up."
    )
    if settings.adult.exists():
        _measure_adult(part, settings)
        _measure_hierarchies(part, settings)
    else:
        part.say("There is no copy of Adult here: name one with --adult FILE (fields separated by ';').")
    _measure_census(part, settings)
    _measure_gap(part, settings)
    return part


def _measure_adult(part: Part, settings: Settings) -> None:
    import polars as pl

    frame = pl.read_csv(settings.adult, separator=";").select(*_QUASI_IDENTIFIERS, "occupation")
    rows: list[tuple[object, ...]] = []
    for t, name in itertools.product((_TARGET_T,) if settings.quick else _T_VALUES, _ALGORITHMS):
        figures = _publish(frame, t, name, "occupation")
        rows.append((t, name, *figures))
        if t == _TARGET_T and name == "sabre":
            what = f"Adult, t = {t}, k = {_K}"
            part.targets.append(Target(what=f"{what}: gcp", limit=_TARGET_LOSS, measured=figures[0], unit=" %"))
            part.targets.append(Target(what=what, limit=_TARGET_SECONDS, measured=figures[2], unit=" s"))
    header = ("t", "algorithm", "gcp", "groups", "seconds")
    part.show(Grid(title=f"Adult, {frame.height:,} rows, sensitive: occupation:", header=header, rows=rows))


def _measure_hierarchies(part: Part, settings: Settings) -> None:
    """Publish Adult with its hierarchies by the default and by SABRE, and compare processor time."""
    import polars as pl

    frame = pl.read_csv(settings.adult, separator=";").select(*_QUASI_IDENTIFIERS, "occupation")
    files = {name: settings.adult.with_name(f"adult_hierarchy_{name}.csv") for name in _QUASI_IDENTIFIERS}
    trees = {name: str(file) for name, file in files.items() if file.exists()}
    if len(trees) < len(files):
        part.say("There are no hierarchies of Adult beside its copy here.")
        return

    def publish(table: pl.DataFrame, name: str) -> shoal.Release:
        return shoal.anonymize(
            table,
            quasi_identifiers=_QUASI_IDENTIFIERS,
            sensitive="occupation",
            privacy=shoal.TCloseness(_TARGET_T),
            algorithm=name,
            recoding="generalization",
            hierarchies=trees,
            seed=1,
        )

    rows: list[tuple[object, ...]] = []
    taken: dict[str, float] = {}
    for name in ("auto", "sabre"):
        publish(frame.head(500), name)  # a warm-up
        start = time.process_time()
        release = publish(frame, name)
        taken[name] = time.process_time() - start
        lost = 100 * release.metrics.gcp
        rows.append((name, release.certificate.algorithm, lost, release.certificate.achieved["groups"], taken[name]))
        if name == "auto":
            what = f"Adult with its hierarchies, t = {_TARGET_T}, the default: gcp"
            part.targets.append(Target(what=what, limit=_TARGET_OF_DEFAULT, measured=lost, unit=" %"))
    what = f"Adult with its hierarchies, t = {_TARGET_T}: processor time of the default over sabre's"
    part.targets.append(Target(what=what, limit=1.0, measured=taken["auto"] / taken["sabre"]))
    header = ("asked for", "algorithm", "gcp", "groups", "processor seconds")
    part.show(Grid(title=f"Adult with its hierarchies, t = {_TARGET_T}:", header=header, rows=rows))


def _measure_census(part: Part, settings: Settings) -> None:
    sizes = (settings.rows,) if settings.quick else (settings.rows // 10, settings.rows)
    rows: list[tuple[object, ...]] = []
    for size, name in itertools.product(sizes, ("sabre", "mondrian")):
        rows.append((size, name, *_publish(shoal.datasets.census(size), 0.2, name, "income")))
    header = ("rows", "algorithm", "gcp", "groups", "seconds")
    part.show(Grid(title="Census-like tables, sensitive: income, t = 0.2:", header=header, rows=rows))


def _publish(frame: pl.DataFrame, t: float, name: str, sensitive: str) -> tuple[float, int, float]:
    """Return the loss in percent, the groups and the seconds."""
    made: list[shoal.Release] = []

    def publish(table: pl.DataFrame) -> None:
        made.append(
            shoal.anonymize(
                table,
                quasi_identifiers=[column for column in table.columns if column != sensitive],
                sensitive=sensitive,
                privacy=[shoal.TCloseness(t), shoal.KAnonymity(_K)],
                algorithm=name,
                recoding="generalization",
                seed=1,
            )
        )

    publish(frame.head(500))  # a warm-up
    seconds = seconds_of(lambda: publish(frame))
    return 100 * made[-1].metrics.gcp, made[-1].certificate.achieved["groups"], seconds


def _measure_gap(part: Part, settings: Settings) -> None:
    """Compare the stars of random tiny tables with the proven optimum."""
    import polars as pl

    stars = dict.fromkeys(("exact", *_ALGORITHMS), 0)
    optimal = dict.fromkeys(_ALGORITHMS, 0)
    tables = _SMALL_TABLES // 3 if settings.quick else _SMALL_TABLES
    for seed in range(tables):
        rng = np.random.default_rng(seed)
        columns = {f"q{place}": rng.integers(0, size, _SMALL_ROWS) for place, size in enumerate((3, 3, 2))}
        frame = pl.DataFrame({**columns, "s": rng.integers(0, 4, _SMALL_ROWS)})
        of_table = {
            name: shoal.anonymize(
                frame,
                quasi_identifiers=list(columns),
                sensitive="s",
                privacy=[shoal.TCloseness(0.4), shoal.KAnonymity(2)],
                algorithm=ALGORITHMS[name],
                seed=1,
            ).certificate.cost.recoded_cells
            for name in stars
        }
        for name, count in of_table.items():
            stars[name] += count
            if name != "exact":
                optimal[name] += count == of_table["exact"]
    rows = [(name, stars[name], 100 * (stars[name] / stars["exact"] - 1), optimal[name]) for name in _ALGORITHMS]
    title = (
        f"Stars of {tables} random tables of {_SMALL_ROWS} rows (t = 0.4, k = 2) beyond the proven optimum of "
        f"{stars['exact']}:"
    )
    part.show(Grid(title=title, header=("algorithm", "stars", "% beyond", "tables solved"), rows=rows))
