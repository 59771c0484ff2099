"""The ledger of a series: whole publishes into SQLite, how it grows, and many people alive."""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import shoal
from benchmarks.republish import People
from benchmarks.results import Grid, Part, Target

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.settings import Settings

__all__ = ["measure"]

_RELEASES = 21
"""Releases of the series that is published into a ledger."""
_TIMES_ALIVE = 10
"""So many times as many people are alive in the large series."""
_SECONDS = 3.0
_GROWTH = 1.1
"""Bytes for each person so far may grow so much from the second release on, which is the first with a release before
it: a copy of everybody for each release would be many times that."""


def measure(settings: Settings) -> Part:
    """Publish a series of many releases, and the first releases of a large one."""
    part = Part(name="ledger", title="A series in SQLite")
    m, volume, alive = settings.fixed_m, settings.fixed_volume, settings.alive
    part.say(
        f"`Series.publish` of census-like tables, m = {m}: from the frame to the verified folder and the "
        f"ledger's commit. {volume:,} people are replaced at each release."
    )
    series = list(_published(settings, _RELEASES))
    shown = (0, *range(1, len(series), 5))
    rows = [(alive, number + 1, *series[number], series[number][1] / series[number][2]) for number in shown]
    seconds = [one[0] for one in series[1:]]
    bytes_each = [size / people for _, size, people in series]
    what = f"m = {m}, r = {volume:,}"
    part.targets += [
        Target(what=f"{what}: whole publish into SQLite", limit=_SECONDS, measured=median(seconds), unit=" s"),
        Target(
            what=f"{what}: bytes of the ledger for each person, after {len(series)} releases over after two",
            limit=_GROWTH,
            measured=bytes_each[-1] / bytes_each[1],
        ),
    ]
    many = replace(settings, alive=alive * _TIMES_ALIVE, rows=alive * _TIMES_ALIVE + volume)
    large = list(_published(many, 2))
    rows += [(many.alive, number, *one, one[1] / one[2]) for number, one in enumerate(large, 1)]
    part.targets.append(
        Target(what=f"{many.alive:,} people alive: releases that were not published", limit=0, measured=2 - len(large))
    )
    header = ("alive", "release", "seconds", "bytes of the ledger", "people so far", "bytes for each")
    part.show(Grid(title="Releases:", header=header, rows=rows))
    return part


def _published(settings: Settings, releases: int) -> Iterator[tuple[float, int, int]]:
    """Publish a series; yield the seconds of each release, the bytes of its ledger then, and the people so far."""
    import polars as pl

    people = People.of(settings, "income")
    history = people.history(settings, settings.fixed_volume)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        path, vault = folder / "series.db", folder / "vault"
        vault.mkdir()
        with shoal.Ledger(path, key=vault / "series.key", create=True) as ledger:
            ledger.start(
                "people",
                m=settings.fixed_m,
                identifier="person",
                quasi_identifiers=people.frame.columns[:-1],
                sensitive=people.frame.columns[-1],
            )
            series = ledger.series("people")
            for number, present in enumerate(islice(history, releases)):
                frame = people.frame[present].with_columns(pl.Series("person", present))
                start = time.perf_counter()
                series.publish(frame, folder / f"release{number}")
                seconds = time.perf_counter() - start
                yield seconds, path.stat().st_size, settings.alive + number * settings.fixed_volume
