"""Disclosure risk: the reference values of Adult, and time as a multiple of grouping the table once."""

from __future__ import annotations

import time
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import shoal
from benchmarks.harness import ratio
from benchmarks.results import Grid, Part, Target
from shoal.disclosure_risk import find_minimal_uniques
from shoal.table import Schema, encode

if TYPE_CHECKING:
    from benchmarks.settings import Settings
    from shoal.table import Column

__all__ = ["measure"]

_GROUPINGS = 10.0
"""The most that all of risk but special uniques and log-linear models may take, in groupings of the same rows."""
_SPECIAL_ROWS, _SPECIAL_SIZE, _SPECIAL_LIMIT = 100_000, 4, 60.0
_REFERENCES = MappingProxyType({"classes": 19_502, "pitman": 0.27684993883653597, "zayatz": 0.3207402393466189})
"""Of all nine columns of Adult, with a sampling fraction of 0.1: what a leading tool prints."""
_AGREE = 1e-10
"""How far a figure may be from its reference, relative to it: the other tool has 11 digits of Pitman's right."""


def measure(settings: Settings) -> Part:
    """Measure reference values, and times."""
    part = Part(name="risk", title="Disclosure risk")
    if settings.adult.exists():
        _references(part, settings)
    _times(part, settings)
    _wildcards(part, settings)
    _special(part, settings)
    return part


def _references(part: Part, settings: Settings) -> None:
    frame = pl.read_csv(settings.adult, separator=";")
    measured = [shoal.risk(frame, quasi_identifiers=frame.columns, sampling_fraction=p) for p in (0.1, 1)]
    estimates, whole = (one.population_uniques for one in measured)
    assert estimates is not None
    assert whole is not None
    figures = {"classes": measured[0].classes, "pitman": estimates.pitman, "zayatz": estimates.zayatz}
    rows: list[tuple[object, ...]] = [
        (name, repr(_REFERENCES[name]), repr(figure), abs(figure / _REFERENCES[name] - 1) if figure else None)
        for name, figure in figures.items()
    ]
    alone = measured[1].sample_uniques
    rows.append(("zayatz at p = 1: sample uniques", repr(alone), repr(whole.zayatz), abs((whole.zayatz or 0) - alone)))
    furthest = max(1.0 if row[3] is None else float(row[3]) for row in rows)  # type: ignore[arg-type]
    part.targets.append(Target(what="Adult: furthest from a reference value", limit=_AGREE, measured=furthest))
    header = ("figure", "reference", "measured", "apart")
    part.show(
        Grid(title=f"Adult, all nine columns, {frame.height:,} rows, sampling fraction 0.1:", header=header, rows=rows)
    )


def _times(part: Part, settings: Settings) -> None:
    frame = shoal.datasets.census(settings.rows, quasi_identifiers=7, seed=settings.seed)
    names = frame.columns[:7]
    rng = np.random.default_rng(settings.seed)
    frame = frame.with_columns(
        weight=pl.Series(rng.uniform(1, 50, settings.rows)), home=pl.Series(np.arange(settings.rows) // 3)
    )
    known: dict[str, dict[str, object]] = {
        "nothing else": {},
        "a sensitive attribute and a sampling fraction": {"sensitive": "income", "sampling_fraction": 0.1},
        "... weights and households": {
            "sensitive": "income",
            "sampling_fraction": 0.1,
            "weights": "weight",
            "household": "home",
        },
        "... and a population of as many rows": {
            "sensitive": "income",
            "sampling_fraction": 0.1,
            "weights": "weight",
            "household": "home",
            "population": frame,
        },
    }
    part.say(
        f"`shoal.risk` of {settings.rows:,} rows with seven quasi-identifiers, as a multiple of one Polars `group_by` "
        "of the same columns, in turns, in CPU seconds of all threads."
    )
    rows: list[tuple[object, ...]] = []
    for title, arguments in known.items():

        def assess(arguments: dict[str, object] = arguments) -> object:
            return shoal.risk(frame, quasi_identifiers=names, **arguments)  # type: ignore[arg-type]

        found = ratio(assess, lambda: frame.group_by(names).len(), settings.repeats, time.process_time)
        rows.append((title, found.value, found.seconds, found.yardstick))
    part.targets.append(
        Target(
            what="everything but special uniques and log-linear models", limit=_GROUPINGS, measured=float(rows[-1][1])
        )  # type: ignore[arg-type]
    )
    part.show(Grid(title="What is known:", header=("known", "groupings", "CPU seconds", "one grouping"), rows=rows))


def _special(part: Part, settings: Settings) -> None:
    frame = shoal.datasets.census(_SPECIAL_ROWS, quasi_identifiers=7, seed=settings.seed)
    columns = _columns(frame)
    find_minimal_uniques(columns, 2)
    rows: list[tuple[object, ...]] = []
    for size in (2, 3, _SPECIAL_SIZE, len(columns)):
        start = time.perf_counter()
        found = find_minimal_uniques(columns, size)
        rows.append((size, time.perf_counter() - start, int(found.by_row.sum())))
    part.targets.append(
        Target(
            what=f"special uniques of {_SPECIAL_ROWS:,} rows, up to {_SPECIAL_SIZE} of {len(columns)} columns",
            limit=_SPECIAL_LIMIT,
            measured=float(rows[2][1]),  # type: ignore[arg-type]
            unit=" s",
        )
    )
    part.show(
        Grid(
            title=f"Special uniques of {_SPECIAL_ROWS:,} rows with {len(columns)} columns:",
            header=("columns at most", "seconds", "minimal sample uniques"),
            rows=rows,
        )
    )


def _wildcards(part: Part, settings: Settings) -> None:
    frame = shoal.datasets.census(settings.rows, quasi_identifiers=7, seed=settings.seed)
    names = frame.columns[:7]
    part.say(
        'Stars, intervals and sets as any of their values (`stars="wildcard"`), over one grouping of the release; '
        "l = 4. A population has as many rows again."
    )
    rows: list[tuple[object, ...]] = []
    for recoding, algorithm in (("suppression", "tp+"), ("generalization", "mondrian")):
        release = shoal.anonymize(
            frame,
            quasi_identifiers=names,
            sensitive=frame.columns[7],
            privacy=shoal.LDiversity(4),
            recoding=recoding,  # type: ignore[arg-type]
            algorithm=algorithm,
            seed=1,
        ).data
        for population in (None, frame):

            def assess(release: pl.DataFrame = release, population: pl.DataFrame | None = population) -> shoal.Risk:
                return shoal.risk(release, quasi_identifiers=names, population=population, stars="wildcard")

            def group(release: pl.DataFrame = release) -> object:
                return release.group_by(names).len()

            found, timed = assess(), ratio(assess, group, settings.repeats, time.process_time)
            k = None if found.k_map is None else found.k_map.k
            rows.append(
                (recoding, found.classes, population is not None, found.smallest_class, k, timed.value, timed.seconds)
            )
    for with_population, what in ((False, "wildcards, the release alone"), (True, "wildcards, and a population")):
        slowest = max(float(row[5]) for row in rows if row[2] is with_population)  # type: ignore[arg-type]
        part.targets.append(Target(what=what, limit=_GROUPINGS, measured=slowest))
    header = ("recoding", "classes", "with a population", "fewest rows", "fewest people", "groupings", "CPU seconds")
    part.show(Grid(title="Wildcards:", header=header, rows=rows))


def _columns(frame: pl.DataFrame) -> tuple[Column, ...]:
    return encode(frame, Schema(quasi_identifiers=tuple(frame.columns))).quasi_identifiers
