"""Estimates of risk: bias and coverage, from samples of populations that are known, against stated limits."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import shoal
from benchmarks.results import Grid, Part, Target
from shoal.attacks.rates import Rate
from shoal.disclosure_risk import count_frequencies, log_linear_risk, population_uniques
from shoal.disclosure_risk.individual import individual_risks
from shoal.models.poisson import smallest_class
from shoal.models.unique_estimates import SampleHistogram
from shoal.table import Schema, encode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from benchmarks.settings import Settings
    from shoal.table import Column

__all__ = ["measure"]

_PEOPLE = 200_000
_CLASSES = 50_000
"""Classes of the population that follows a law."""
_QUICK, _FULL = 50, 1_000
"""Samples in a short run, and in a full one."""
_QUICK_MODELS = _QUICK
"""Samples that log-linear models are fitted to in a short run."""
_FRACTIONS = (Fraction(1, 100), Fraction(1, 10), Fraction(1, 2))
_ESTIMATES = ("pitman", "zayatz", "snb", "dankar")
_CLOSE = 0.2
"""A close estimate is at most so far from the truth, relative to it."""
_MANY = 0.1
"""Populations of which at least this share is unique: of fewer all estimates say too much, as the guide tells."""
_BIASES = {Fraction(1, 10): 25.0, Fraction(1, 2): 10.0}
"""The bias that the estimate of Dankar et al. may have with such a population, in percent, by sampling fraction."""
_OWN_LAW = 2.0
"""The bias, in percent, that an estimate may have where its own law holds."""
_MISSED = 0.07
"""The share of 95 % intervals that may miss: summed exactly, Wilson's miss up to 6.4 % at these rates."""


def measure(settings: Settings) -> Part:
    """Measure bias and coverage of the estimates."""
    part = Part(name="estimators", title="Estimates of risk")
    samples = _QUICK if settings.quick else _FULL
    _uniques(part, samples)
    _individual(part, samples)
    _k_map(part, samples)
    _log_linear(part, _QUICK_MODELS if settings.quick else _FULL)
    _intervals(part, 10 * samples)
    return part


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
    populations["slide negative binomial (0.3, 0.1)"] = 1 + rng.negative_binomial(0.3, 0.1, _CLASSES)
    rows: list[tuple[object, ...]] = []
    worst = dict.fromkeys(_BIASES, 0.0)
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
                fitted = len(relative) > 0  # a model may fit none of the samples
                close = 100 * float((np.abs(relative) <= _CLOSE).mean()) if fitted else None
                cells += [100 * float(relative.mean()) if fitted else None, close]
            rows.append((title, float(p), 100 * true, *cells))
            if true >= _MANY and p in _BIASES:
                worst[p] = max(worst[p], abs(float(cells[-2])))  # type: ignore[arg-type]
    header = ["population", "p", "true"]
    header += [f"{name} {what}" for name in _ESTIMATES for what in ("bias", "close")]
    for p, limit in _BIASES.items():
        what = f"population uniques, {_MANY:.0%} or more unique, {float(p):.0%} drawn: bias of dankar"
        part.targets.append(Target(what=what, limit=limit, measured=worst[p], unit=" %"))
    part.show(Grid(title="Population uniques (percent):", header=header, rows=rows))


def _individual(part: Part, samples: int) -> None:
    """Under the law that it assumes, and of people drawn with different probabilities, weights being the inverses."""
    rng = np.random.default_rng(3)
    part.say(
        "Individual risk, 1: the people of a class drawn from the law that the estimate assumes, "
        f"{100 * samples:,} times; the mean of 1 / F against the risk."
    )
    rows: list[tuple[object, ...]] = []
    for f in (1, 2, 5, 20):
        for p in (0.01, 0.1, 0.5):
            people = f + rng.negative_binomial(f, p, 100 * samples)
            risk = float(individual_risks(np.array([f]), np.array([f / p]))[0])
            rows.append((f, p, risk, 100 * (risk / float((1 / people).mean()) - 1)))
    worst = max(abs(float(row[3])) for row in rows)  # type: ignore[arg-type]
    part.targets.append(
        Target(what="individual risk under its own law: bias", limit=_OWN_LAW, measured=worst, unit=" %")
    )
    part.show(Grid(title="Individual risk, own law (percent):", header=("f", "p", "risk", "bias"), rows=rows))
    part.say(
        f"Individual risk, 2: {samples:,} samples of census-like people, drawn with probabilities between p / 2 and "
        "2 p: expected number of re-identifications over the true sum of 1 / F, less 1, in percent, and its spread. "
        "The law is wrong there, so no limit is stated: the guide says that the risk is underestimated."
    )
    rows = []
    for d in (4, 5, 6):
        frame = shoal.datasets.census(_PEOPLE, quasi_identifiers=d, seed=2)
        classes = frame.select(pl.struct(frame.columns[:d]).rank("dense") - 1).to_series().to_numpy().astype(np.int64)
        sizes = np.bincount(classes)
        for p in (0.01, 0.05, 0.2):
            rng = np.random.default_rng(3)
            chances = p * np.exp2(rng.uniform(-1, 1, _PEOPLE))
            errors = []
            for _ in range(samples):
                drawn = np.flatnonzero(rng.random(_PEOPLE) < chances)
                counted = np.bincount(classes[drawn], minlength=len(sizes))
                weights = np.bincount(classes[drawn], weights=1 / chances[drawn], minlength=len(sizes))
                here = np.flatnonzero(counted)
                f = counted[here]
                risks = individual_risks(f, np.maximum(weights[here], f))
                errors.append(float((risks * f).sum() / (f / sizes[here]).sum() - 1))
            rows.append((d, p, 100 * float(np.mean(errors)), 100 * float(np.std(errors))))
    part.show(Grid(title="Individual risk, surveys (percent):", header=("columns", "p", "bias", "spread"), rows=rows))


def _k_map(part: Part, samples: int) -> None:
    """How often a class of too few people shows so many rows that k people are inferred."""
    part.say(
        f"The estimated k-map: {100 * samples:,} classes of k people each, of whom each is drawn with the probability "
        "p; the share that shows at least the k' rows from which more than k people are inferred, with an allowed "
        "error of 1 %."
    )
    rng = np.random.default_rng(5)
    rows: list[tuple[object, ...]] = []
    for k in (2, 5, 20, 100):
        for p in (Fraction(1, 100), Fraction(1, 10), Fraction(1, 2)):
            needed = smallest_class(k, p, Fraction(1, 100))
            rows.append((k, float(p), needed, float((rng.binomial(k, float(p), 100 * samples) >= needed).mean())))
    worst = max(float(row[3]) for row in rows)  # type: ignore[arg-type]
    part.targets.append(Target(what="estimated k-map: share of errors", limit=0.01, measured=worst))
    part.show(Grid(title="Estimated k-map:", header=("k", "p", "k'", "errors"), rows=rows))


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
    own = [abs(float(bias)) for row in rows if row[:2] == ("independent columns", "independence") for bias in row[3:]]  # type: ignore[arg-type]
    part.targets.append(
        Target(what="log-linear models where the model holds: bias", limit=5 * _OWN_LAW, measured=max(own), unit=" %")
    )
    part.show(Grid(title="Log-linear models (percent):", header=header, rows=rows))


def _intervals(part: Part, samples: int) -> None:
    part.say(f"Wilson's intervals of attacks: the share of {samples:,} intervals for 95 % that miss the true rate.")
    rng = np.random.default_rng(6)
    rows: list[tuple[object, ...]] = []
    for attempts in (100, 1_000, 10_000):
        for true in (0.02, 0.1, 0.5, 0.9):
            counted = rng.binomial(attempts, true, samples).tolist()
            found = [Rate(successes=count, attempts=attempts) for count in counted]
            missed = math.fsum(not one.low <= true <= one.high for one in found) / samples
            rows.append((attempts, true, missed))
    worst = max(float(row[2]) for row in rows)  # type: ignore[arg-type]
    part.targets.append(Target(what="Wilson's intervals that miss", limit=_MISSED, measured=worst))
    part.show(Grid(title="Wilson's intervals:", header=("attempts", "rate", "missed"), rows=rows))


def _columns(frame: pl.DataFrame) -> tuple[Column, ...]:
    return encode(frame, Schema(quasi_identifiers=tuple(frame.columns))).quasi_identifiers


def _class_sizes(frame: pl.DataFrame, columns: int) -> NDArray[np.int64]:
    return frame.group_by(frame.columns[:columns]).len()["len"].to_numpy().astype(np.int64)
