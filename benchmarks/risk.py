"""Disclosure risk: time as a multiple of grouping the table once, and estimates of samples of known populations."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import shoal
from benchmarks.harness import ratio
from benchmarks.results import Grid, Part, Target
from shoal.disclosure_risk import (
    Frequencies,
    count_frequencies,
    log_linear_risk,
    minimal_uniques,
    population_uniques,
)
from shoal.disclosure_risk.individual import individual_risks, sums_of_weights
from shoal.models.unique_estimates import SampleHistogram
from shoal.table import Schema, encode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from benchmarks.settings import Settings
    from shoal.table import Column

__all__ = ["measure"]

_GROUPINGS = 10.0
"""The most that all of risk but special uniques and log-linear models may take, in groupings of the same rows."""
_SPECIAL_ROWS, _SPECIAL_SIZE, _SPECIAL_LIMIT = 100_000, 4, 60.0
_PEOPLE = 200_000
_FRACTIONS = (Fraction(1, 100), Fraction(1, 20), Fraction(1, 10), Fraction(1, 5), Fraction(1, 2))
_ESTIMATES = ("pitman", "zayatz", "snb", "dankar")
_CLOSE = 0.2
"""A close estimate is at most so far from the truth, relative to it."""


def measure(settings: Settings) -> Part:
    """Measure times, and bias and spread of the estimates."""
    part = Part(name="risk", title="Disclosure risk")
    _times(part, settings)
    _special(part, settings)
    _wildcards(part, settings)
    samples = 50 if settings.quick else 1_000
    _uniques(part, samples)
    _weights(part, samples)
    _log_linear(part, samples // 10)
    return part


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
        "of the same columns, in turns."
    )
    rows: list[tuple[object, ...]] = []
    for title, arguments in known.items():

        def assess(arguments: dict[str, object] = arguments) -> object:
            return shoal.risk(frame, quasi_identifiers=names, **arguments)  # type: ignore[arg-type]

        found = ratio(assess, lambda: frame.group_by(names).len(), settings.repeats)
        rows.append((title, found.value, found.seconds, found.yardstick))
    part.targets.append(
        Target(
            what="everything but special uniques and log-linear models", limit=_GROUPINGS, measured=float(rows[-1][1])
        )  # type: ignore[arg-type]
    )
    part.show(Grid(title="What is known:", header=("known", "groupings", "seconds", "one grouping, s"), rows=rows))


def _special(part: Part, settings: Settings) -> None:
    frame = shoal.datasets.census(_SPECIAL_ROWS, quasi_identifiers=7, seed=settings.seed)
    columns = _columns(frame)
    minimal_uniques(columns, 2)
    rows: list[tuple[object, ...]] = []
    for size in (2, 3, _SPECIAL_SIZE, len(columns)):
        start = time.perf_counter()
        found = minimal_uniques(columns, size)
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
        )
        for population in (None, frame):
            start = time.perf_counter()
            found = shoal.risk(release.data, quasi_identifiers=names, population=population, stars="wildcard")
            seconds = time.perf_counter() - start
            k = None if found.k_map is None else found.k_map.k
            rows.append((recoding, found.classes, population is not None, found.smallest_class, k, seconds))
    header = ("recoding", "classes", "with a population", "fewest compatible rows", "fewest people", "seconds")
    part.show(Grid(title=f"Stars as any of their values, l = 4, {settings.rows:,} rows:", header=header, rows=rows))


def _uniques(part: Part, samples: int) -> None:
    part.say(
        f"Population uniques, estimated from {samples:,} simple random samples of each population; shares in percent. "
        f"`bias`: mean of the estimates over the truth, less 1; `close`: share of the estimates within {_CLOSE:.0%}."
    )
    rng = np.random.default_rng(1)
    populations = {
        f"census-like, {d} columns": _class_sizes(shoal.datasets.census(_PEOPLE, quasi_identifiers=d, seed=1), d)
        for d in (4, 5, 6)
    }
    populations["slide negative binomial (0.3, 0.1)"] = 1 + rng.negative_binomial(0.3, 0.1, 50_000)
    rows: list[tuple[object, ...]] = []
    for title, sizes in populations.items():
        people = int(sizes.sum())
        true = float((sizes == 1).sum() / people)
        for p in _FRACTIONS:
            n = int(people * p)
            found: dict[str, list[float]] = {name: [] for name in _ESTIMATES}
            for _ in range(samples):
                drawn = rng.multivariate_hypergeometric(sizes, n, method="marginals")
                estimated = population_uniques(SampleHistogram.of(drawn[drawn > 0]), Fraction(n, people))
                for name in _ESTIMATES:
                    if estimated[name] is not None:
                        found[name].append(estimated[name])
            cells: list[object] = []
            for name in _ESTIMATES:
                relative = np.array(found[name]) / true - 1
                cells += [100 * float(relative.mean()), 100 * float((np.abs(relative) <= _CLOSE).mean())]
            rows.append((title, float(p), 100 * true, *cells))
    header = ["population", "p", "true"]
    header += [f"{name} {what}" for name in _ESTIMATES for what in ("bias", "close")]
    part.show(Grid(title="Population uniques (percent):", header=header, rows=rows))


def _weights(part: Part, samples: int) -> None:
    """Draw people with different probabilities; weights are the inverses. True is the sum of 1 / F over the sample."""
    part.say(
        f"Individual risk, from {samples:,} samples drawn with probabilities between p / 2 and 2 p: expected number of "
        "re-identifications over the true sum of 1 / F, less 1, in percent, and its spread."
    )
    rows: list[tuple[object, ...]] = []
    for d in (4, 5, 6):
        frame = shoal.datasets.census(_PEOPLE, quasi_identifiers=d, seed=2)
        classes = frame.select(pl.struct(frame.columns[:d]).rank("dense") - 1).to_series().to_numpy().astype(np.int64)
        sizes = np.bincount(classes)
        for p in (0.01, 0.05, 0.2):
            rng = np.random.default_rng(3)
            chances = p * np.exp2(rng.uniform(-1, 1, _PEOPLE))
            errors = []
            for _ in range(samples):
                drawn = rng.random(_PEOPLE) < chances
                here, f = np.unique(classes[drawn], return_counts=True)
                number = np.searchsorted(here, classes[drawn])
                found = Frequencies(class_of=number, rows_of=f, first_rows=here, sample=f)
                risks = individual_risks(f, sums_of_weights(found, 1 / chances[drawn]))
                errors.append(float((risks * f).sum() / (f / sizes[here]).sum() - 1))
            rows.append((d, p, 100 * float(np.mean(errors)), 100 * float(np.std(errors))))
    part.show(Grid(title="Individual risk (percent):", header=("columns", "p", "bias", "spread"), rows=rows))


def _log_linear(part: Part, samples: int) -> None:
    part.say(
        f"Log-linear models, from {samples:,} samples of populations that follow independence, or a census-like one of "
        "which nobody knows the model: estimate over truth, less 1, in percent."
    )
    rng = np.random.default_rng(4)
    shares = [rng.dirichlet(np.full(size, 2.0)) for size in (12, 10, 8, 6)]
    means = np.array([1.0])
    for share in shares:
        means = np.multiply.outer(means, share).ravel()
    frame = shoal.datasets.census(_PEOPLE, quasi_identifiers=["age", "gender", "race", "marital_status"], seed=2)[:, :4]
    cells = _columns(frame)
    shape = tuple(column.size for column in cells)
    census = np.bincount(np.ravel_multi_index([column.codes for column in cells], shape), minlength=int(np.prod(shape)))
    populations: dict[str, tuple[tuple[int, ...], Callable[[], NDArray[np.int64]]]] = {
        "independent columns": ((12, 10, 8, 6), lambda: rng.poisson(40_000 * means)),
        "census-like": (shape, lambda: census),
    }
    rows: list[tuple[object, ...]] = []
    for title, (sizes, draw) in populations.items():
        for model in ("independence", "two-way"):
            for p in (0.02, 0.1):
                estimated, true = np.zeros(2), np.zeros(2)
                for _ in range(samples):
                    people = draw()
                    drawn = rng.binomial(people, p)
                    codes = np.unravel_index(np.repeat(np.arange(len(people)), drawn), sizes)
                    columns = _columns(pl.DataFrame({f"q{at}": code for at, code in enumerate(codes)}))
                    found = log_linear_risk(columns, count_frequencies(columns), Fraction(str(p)), model=model)
                    estimated += (found.tau_1, found.tau_2)
                    alone = drawn == 1
                    true += ((people[alone] == 1).sum(), (1 / people[alone]).sum())
                bias = 100 * (estimated / true - 1)
                rows.append((title, model, p, float(bias[0]), float(bias[1])))
    header = ("population", "model", "p", "tau_1 bias", "tau_2 bias")
    part.show(Grid(title="Log-linear models (percent):", header=header, rows=rows))


def _columns(frame: pl.DataFrame) -> tuple[Column, ...]:
    return encode(frame, Schema(quasi_identifiers=tuple(frame.columns))).quasi_identifiers


def _class_sizes(frame: pl.DataFrame, columns: int) -> NDArray[np.int64]:
    return frame.group_by(frame.columns[:columns]).len()["len"].to_numpy().astype(np.int64)
