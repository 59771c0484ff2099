"""Sets of quasi-identifiers: stars, bounds and seconds of k-anonymity for any two or three columns."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import shoal
from benchmarks.adult import adult
from benchmarks.results import Grid, Part, Target

if TYPE_CHECKING:
    import polars as pl

    from benchmarks.settings import Settings

__all__ = ["measure"]

_K = 5
_WIDE_SIZES = (2, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 30, 60)
"""Numbers of values of the columns of the wide table, with frequencies like 1 / rank ** 1.2."""
_SDNIST = (
    *("PUMA", "AGEP", "SEX", "MSP", "HISP", "RAC1P", "NOC", "NPF", "HOUSING_TYPE", "OWN_RENT", "INDP_CAT", "EDU"),
    *("PINCP_DECILE", "DVET", "DREM", "DPHY", "DEYE", "DEAR"),
)
"""The categorical columns of SDNist's excerpts of the American Community Survey."""
_MOST_SECONDS = 60
_OTHERS = (
    "sdcMicro publishes one count that can be compared: its tests expect 97 suppressions of `localSuppression` on its "
    "`testdata2` (93 records, 7 key variables, k = 2, all of them together; tests/testthat/test_localSuppression.R of "
    "version 5.8.1). There a missing value agrees with every other. If only equal cells agree, no release has fewer "
    "than 109 stars, which is the bound here, so that those 97 do not suffice; the default has 123 and `cluster` 117. "
    "Any two of the columns take 65 and any three 123. No count with `combs` was found for tables that are public."
)
"""Published counts of another tool; these tables are not part of the benchmarks."""


@dataclass(frozen=True, kw_only=True)
class _Table:
    name: str
    frame: pl.DataFrame
    knows: tuple[int, ...]


def measure(settings: Settings) -> Part:
    """Protect each table against adversaries who know any two or three columns."""
    part = Part(name="sets", title="Sets of quasi-identifiers")
    part.say(
        f"`shoal.anonymize(..., k={_K}, knows=2)` and 3, verification and bound included. `stars` are suppressed, "
        "`%` their share of all cells, `bound` is the certificate's lower bound of any release with the same request, "
        "`gap` the stars over it. `together` are the stars of the default algorithm if all columns are protected "
        "together, which protects every set. Seconds are of one run, after a warm-up."
    )
    part.say(_OTHERS)
    rows: list[tuple[object, ...]] = []
    for table in _tables(settings):
        names = table.frame.columns
        shoal.anonymize(table.frame.head(300), quasi_identifiers=names, k=_K, knows=2, seed=1)
        together = shoal.anonymize(table.frame, quasi_identifiers=names, k=_K, seed=1).certificate.cost.stars
        for knows in table.knows:
            start = time.perf_counter()
            release = shoal.anonymize(table.frame, quasi_identifiers=names, k=_K, knows=knows, seed=1)
            seconds = time.perf_counter() - start
            cost, cells = release.certificate.cost, table.frame.height * table.frame.width
            sets = release.certificate.achieved["sets"]["sets"]
            what = f"{table.name}, knows {knows}"
            gap = cost.stars / max(cost.bound.stars, 1)
            rows.append((what, sets, cost.stars, 100 * cost.stars / cells, cost.bound.stars, gap, together, seconds))
            part.targets.append(Target(what=what, limit=_MOST_SECONDS, measured=round(seconds, 1), unit=" s"))
    header = ("table", "sets", "stars", "%", "bound", "gap", "together", "s")
    part.show(Grid(title="k-anonymity of every set:", header=header, rows=rows))
    return part


def _tables(settings: Settings) -> Iterator[_Table]:
    """Yield Adult and SDNist's excerpts, if there are copies, and a wide table of a generator."""
    import polars as pl

    if settings.adult.exists():
        source = adult(settings)
        frame = source.frame.select(source.quasi_identifiers).head(2_000 if settings.quick else source.frame.height)
        yield _Table(name=f"Adult, {frame.height:,} x {frame.width}", frame=frame, knows=(2, 3))
    excerpts = settings.adult.parent.parent / "sdnist_acs_2018_2019.parquet"
    if excerpts.exists() and not settings.quick:
        survey = pl.read_parquet(excerpts)
        for (name,), part in sorted(survey.group_by("EXCERPT")):
            frame = part.select(_SDNIST)
            yield _Table(name=f"SDNist {name}, {frame.height:,} x {frame.width}", frame=frame, knows=(2, 3))
    frame = _make_wide(1_000 if settings.quick else 100_000)
    yield _Table(name=f"wide, {frame.height:,} x {frame.width}", frame=frame, knows=(2,) if settings.quick else (2, 3))


def _make_wide(rows: int) -> pl.DataFrame:
    """Draw a table of 20 columns; every third depends on a hidden one with twelve values."""
    import polars as pl

    rng = np.random.default_rng(1)
    hidden, columns = rng.integers(0, 12, rows), {}
    for place, size in enumerate(_WIDE_SIZES):
        weights = 1 / np.arange(1, size + 1) ** 1.2
        base = rng.choice(size, rows, p=weights / weights.sum())
        orders = np.array([rng.permutation(size) for _ in range(12)])
        depends = (rng.random(rows) < 0.5) & (place % 3 == 0)
        columns[f"c{place}"] = np.where(depends, orders[hidden, base], base)
    return pl.DataFrame(columns)
