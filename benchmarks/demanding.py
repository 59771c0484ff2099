"""Tables that once took too long or lost too much: many attributes, two sensitive columns, suppression without tp+."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import shoal
from benchmarks.harness import processor_seconds_of
from benchmarks.results import Grid, Part, Target

if TYPE_CHECKING:
    from benchmarks.settings import Settings

__all__ = ["measure"]

_LATENT = 40
"""Kinds of people; what an attribute shows depends on the kind and on chance."""
_NOISE = 0.2
"""The share of cells that depend on chance alone."""
_BEHIND = 1.03
"""How many times the stars of the best algorithm `auto` may leave."""
_ENDS = 200.0
"""Processor seconds after which a search once had no result."""
_LARGE_LIMIT = 2.15
"""How many times the bound the large table once lost."""
_QUICK = 50
"""Short runs have so many times fewer rows, and ten times fewer of many attributes."""


def measure(settings: Settings) -> Part:
    """Publish one table of each kind."""
    part = Part(name="demanding", title="Demanding tables")
    part.say(
        f"Made-up people of {_LATENT} kinds: an attribute has the value of the kind, or in {_NOISE:.0%} of the cells "
        "any. Whole `anonymize()`; seconds are those of the processor, of one run after a warm-up."
    )
    fewer = _QUICK if settings.quick else 1
    _measure_stars(part, 101_766 // fewer)
    _measure_end(part, 99_762 // fewer, 299 // (10 if settings.quick else 1))
    _measure_large(part, 1_048_575 // fewer)
    return part


def people(rows: int, sizes: list[int], seed: int) -> pl.DataFrame:
    """Return made-up people with attributes q0, q1, ... of so many values, and two sensitive ones.

    Parameters
    ----------
    rows : int
        How many people.
    sizes : list of int
        How many values the attributes have.
    seed : int
        Of all choices.
    """
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, _LATENT, rows)
    columns = {}
    for place, size in enumerate([*sizes, 3, 12]):
        shown = rng.integers(0, size, _LATENT)[kind]
        columns[f"q{place}"] = np.where(rng.random(rows) < _NOISE, rng.integers(0, size, rows), shown)
    frame = pl.DataFrame(columns)
    return frame.rename({f"q{len(sizes)}": "s0", f"q{len(sizes) + 1}": "s1"})


def _publish(
    frame: pl.DataFrame, algorithm: str, privacy: list[shoal.PrivacyModel], recoding: str, sensitive: tuple[str, ...]
) -> tuple[shoal.Release, float]:
    """Return a release and the processor seconds that it took."""
    names = [name for name in frame.columns if name.startswith("q")]
    made: list[shoal.Release] = []

    def publish(table: pl.DataFrame) -> None:
        made.append(
            shoal.anonymize(
                table.select(*names, *sensitive),
                quasi_identifiers=names,
                sensitive=sensitive,
                privacy=privacy,
                algorithm=algorithm,
                recoding=recoding,  # type: ignore[arg-type]
                seed=1,
            )
        )

    publish(frame.head(500))  # a warm-up
    seconds = processor_seconds_of(lambda: publish(frame))
    return made[-1], seconds


def _measure_stars(part: Part, rows: int) -> None:
    """Suppress for entropy l-diversity, which no bound of TP speaks of."""
    frame = people(rows, [2, 3, 5, 9, 16] * 3, seed=1)
    found: list[tuple[str, int, int, float]] = []
    for name in ("auto", "cluster", "hilbert"):
        release, seconds = _publish(frame, name, [shoal.LDiversity(2, variant="entropy")], "suppression", ("s1",))
        cost = release.certificate.cost
        found.append((name, cost.stars, cost.bound.stars, seconds))
    least = min(stars for _, stars, _, _ in found)
    part.show(
        Grid(
            title=f"{rows:,} rows, 15 attributes, entropy l = 2, stars:",
            header=("algorithm", "stars", "bound", "seconds"),
            rows=found,
        )
    )
    what = f"{rows:,} rows x 15, entropy l = 2: stars of auto over the fewest"
    part.targets.append(Target(what=what, limit=_BEHIND, measured=found[0][1] / least))


def _measure_end(part: Part, rows: int, attributes: int) -> None:
    """Cluster many attributes, and two sensitive columns beside three attributes of many values."""
    distinct: list[shoal.PrivacyModel] = [shoal.LDiversity(2, variant="distinct")]
    wide = people(rows, [2 + place % 15 for place in range(attributes)], seed=2)
    many = people(rows, [rows // 4, rows // 8, 500], seed=3)
    told = []
    for what, frame, sensitive in (
        (f"{attributes} attributes", wide, ("s1",)),
        ("3 attributes of many values, two sensitive ones", many, ("s0", "s1")),
    ):
        for algorithm in ("cluster", "mondrian"):
            release, seconds = _publish(frame, algorithm, distinct, "generalization", sensitive)
            told.append((what, algorithm, 100 * release.metrics.gcp, seconds))
            if algorithm == "cluster":
                name = f"{rows:,} rows, {what}: seconds of cluster"
                part.targets.append(Target(what=name, limit=_ENDS, measured=seconds, unit=" s"))
    header = ("table", "algorithm", "gcp", "seconds")
    part.show(Grid(title=f"{rows:,} rows, generalization, distinct l = 2, loss in percent:", header=header, rows=told))


def _measure_large(part: Part, rows: int) -> None:
    """Suppress a large table where k is above l."""
    frame = people(rows, [2, 3, 4, 5, 6, 8, 9, 12], seed=4)
    release, seconds = _publish(frame, "tp+", [shoal.LDiversity(2), shoal.KAnonymity(10)], "suppression", ("s1",))
    cost = release.certificate.cost
    over = cost.stars / cost.bound.stars if cost.bound.stars else float(cost.stars > 0)
    header = ("rows", "stars", "bound", "over the bound", "seconds")
    row = (rows, cost.stars, cost.bound.stars, over, seconds)
    part.show(Grid(title="Eight attributes, k = 10 and l = 2, tp+:", header=header, rows=[row]))
    what = f"{rows:,} rows x 8, k = 10 and l = 2: stars over the bound"
    part.targets.append(Target(what=what, limit=_LARGE_LIMIT, measured=over))
