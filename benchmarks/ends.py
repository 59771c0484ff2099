"""Ends of intervals that no single record has: what they cost, and whom exact ends single out."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

import shoal
from benchmarks.harness import processor_seconds_of
from benchmarks.results import Grid, Part, Target

if TYPE_CHECKING:
    import polars as pl

    from benchmarks.settings import Settings

__all__ = ["measure", "people_with_birth_dates"]

_K = 5
_ALGORITHMS = ("mondrian", "hilbert", "cluster")
_MOST_LOST = 1.1
"""How many times the loss of exact ends they may lose where values are well populated."""
_ADULT = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass")


def measure(settings: Settings) -> Part:
    """Publish each table with exact ends and without."""
    part = Part(name="ends", title="Ends of intervals")
    part.say(
        f"Whole `anonymize()` by intervals and sets, k = {_K}: with `exact_ends`, and without, where no end and no "
        "member of a set is the value of fewer than k records. Losses in percent: the global certainty penalty and the "
        "non-uniform entropy. `singled out` are the records that an exact end or member and the other cells of its "
        "group fit alone; seconds are those of the processor, of one run after a warm-up."
    )
    rows: list[tuple[object, ...]] = []
    for name, frame, quasi_identifiers in _tables(settings):
        for algorithm in _ALGORITHMS:
            _publish(frame.head(500), quasi_identifiers, algorithm, exact=True)  # a warm-up
            exact, before = _publish(frame, quasi_identifiers, algorithm, exact=True)
            wide, seconds = _publish(frame, quasi_identifiers, algorithm, exact=False)
            alone = next((one.text.split(" of ")[0] for one in exact.warnings if one.code == "exact_ends"), "0")
            losses = [100 * getattr(one.metrics, loss) for loss in _LOSSES for one in (exact, wide)]
            rows.append((name, algorithm, alone, *losses, before, seconds))
            if name.startswith(("Adult", "census")):
                what = f"{name}, {algorithm}: loss over that of exact ends"
                part.targets.append(Target(what=what, limit=_MOST_LOST, measured=losses[1] / losses[0]))
    header = ("table", "algorithm", "singled out", "gcp, exact", "gcp", "entropy, exact", "entropy", "s, exact", "s")
    part.show(Grid(title="With exact ends, and without:", header=header, rows=rows))
    return part


_LOSSES = ("gcp", "non_uniform_entropy")


def _tables(settings: Settings) -> Iterator[tuple[str, pl.DataFrame, tuple[str, ...]]]:
    """Yield tables whose values many records have, and one of exact birth dates."""
    import polars as pl

    fewer = 20 if settings.quick else 1
    if settings.adult.exists():
        adult = pl.read_csv(settings.adult, separator=";").select(*_ADULT, pl.col("occupation").alias("told"))
        adult = adult.head(adult.height // fewer)
        yield f"Adult, {adult.height:,} rows", adult, _ADULT
    census = shoal.datasets.census(60_000 // fewer, quasi_identifiers=4, seed=settings.seed)
    census = census.select(*census.columns[:4], pl.col("income").alias("told"))
    yield f"census-like, {census.height:,} rows", census, tuple(census.columns[:4])
    for rows in sorted({3_000, 60_000 // fewer}):
        people = people_with_birth_dates(rows, settings.seed)
        yield f"birth dates, {rows:,} rows", people, ("born", "sex", "zip")


def people_with_birth_dates(rows: int, seed: int) -> pl.DataFrame:
    """Return made-up people with exact birth dates."""
    import polars as pl

    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "born": [dt.date(1930, 1, 1) + dt.timedelta(days=int(day)) for day in rng.integers(0, 27_000, rows)],
            "sex": rng.choice(["f", "m"], rows),
            "zip": rng.integers(10_000, 10_300, rows),
            "told": rng.choice(["flu", "cold", "ulcer"], rows),
        }
    )


def _publish(
    frame: pl.DataFrame, quasi_identifiers: tuple[str, ...], algorithm: str, *, exact: bool
) -> tuple[shoal.Release, float]:
    """Return a release and the processor seconds that it took."""
    made: list[shoal.Release] = []

    def publish() -> None:
        made.append(
            shoal.anonymize(
                frame,
                quasi_identifiers=quasi_identifiers,
                sensitive="told",
                k=_K,
                algorithm=algorithm,
                recoding="generalization",
                exact_ends=exact,
                seed=1,
            )
        )

    seconds = processor_seconds_of(publish)
    return made[0], seconds
