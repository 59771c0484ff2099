"""Evaluation of a request on a wide table, and of five columns next to a release of them: seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import shoal
from benchmarks.harness import median_seconds
from benchmarks.results import Grid, Part, Target

if TYPE_CHECKING:
    from benchmarks.settings import Settings

__all__ = ["measure"]

_ROWS, _COLUMNS = 100_000, 50


def measure(settings: Settings) -> Part:
    """Evaluate a request on 50 columns, all proposed, and make a release of five of them."""
    part = Part(name="evaluating", title=f"Evaluation of {_COLUMNS} columns before a release")
    table = _draw_table(min(_ROWS, settings.rows), settings.seed)
    found = shoal.evaluate(table)
    seconds = median_seconds(lambda: shoal.evaluate(table), settings.many_repeats)
    some = ["age", "sex", "zip", "diagnosis", "income"]
    request = shoal.evaluate(table[some]).mended
    few = median_seconds(lambda: shoal.evaluate(table[some], request), settings.many_repeats)
    release = median_seconds(lambda: shoal.anonymize(table[some], request, seed=settings.seed), settings.many_repeats)
    rows = [(repr(found), seconds), ("five columns", few), ("a release of these", release)]
    part.show(Grid(title=f"{table.height:,} rows", header=("what", "seconds"), rows=rows))
    part.targets += [Target(what=f"evaluate, {table.height:,} x {_COLUMNS}", limit=1, measured=seconds, unit=" s")]
    return part


def _draw_table(rows: int, seed: int) -> pl.DataFrame:
    """Draw columns of every kind, most of them without a name that says what they are."""
    rng = np.random.default_rng(seed)
    named = {
        "age": rng.integers(18, 91, rows),
        "sex": rng.choice(["f", "m"], rows),
        "zip": rng.integers(10_000, 10_400, rows).astype(str),
        "diagnosis": rng.choice([f"D{at}" for at in range(60)], rows),
        "income": rng.lognormal(10, 1, rows).round(0),
        "patient_no": np.arange(rows) + 10**6,
        "bmi": rng.normal(27, 5, rows).round(1),
    }
    drawn = (
        lambda: rng.integers(0, 5, rows),
        lambda: rng.choice(["a", "b", "c", "d"], rows),
        lambda: rng.normal(0, 1, rows).round(2),
        lambda: rng.integers(0, 1000, rows),
        lambda: rng.choice([f"v{at}" for at in range(200)], rows),
    )
    others = {f"c{at}": drawn[at % len(drawn)]() for at in range(_COLUMNS - len(named))}
    return pl.DataFrame({**named, **others})
