"""The tuner on real tables: what the best coarsening saves, and how soon it was found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

import shoal
from benchmarks.results import Grid, Part, Target

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.settings import Settings

__all__ = ["measure"]

_QUASI_IDENTIFIERS = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass")
_SENSITIVE = "occupation"
_L = 3
_LIMIT = 60
"""Seconds in which a coarsening that loses less than none should be found."""
_HEADER = (
    "table",
    "ladders",
    "loss",
    "untouched",
    "best",
    "by coarsening",
    "stars",
    "stars untouched",
    "tried",
    "of",
    "found after",
    "ended",
    "setting",
)


def measure(settings: Settings) -> Part:
    """Tune Adult, where a copy exists, with its hierarchies and without, and the demonstration table."""
    part = Part(name="tune", title="Tuning: which coarsening loses least after TP+")
    part.say(
        f"`shoal.tune` for l-diversity (frequency), `tp+`, {settings.tuning_seconds:g} s each. Losses are measured "
        "against the original table: `untouched` without a coarsening, `best` of all tried ones, `by coarsening` "
        "the part that the coarsening loses alone. `found after` in seconds of the wall clock, which other work on the "
        "machine makes longer; compilation is not in it. Searches for the least `gcp`, of which no target speaks, take "
        "half as long."
    )
    rows: list[tuple[object, ...]] = []
    if settings.adult.exists():
        frame = pl.read_csv(settings.adult, separator=";").select(*_QUASI_IDENTIFIERS, _SENSITIVE)
        files = {name: settings.adult.with_name(f"adult_hierarchy_{name}.csv") for name in _QUASI_IDENTIFIERS}
        trees = {name: str(file) for name, file in files.items() if file.exists()}
        for loss in ("kl_divergence", "gcp"):
            for given in ([trees] if trees else []) + [{}]:
                row, tuning = _tuned("Adult", frame, _QUASI_IDENTIFIERS, _SENSITIVE, _L, loss, given, settings)
                rows.append(row)
                if loss == "kl_divergence" and given:
                    _aim(part, tuning)
    else:
        part.say("There is no copy of Adult here: name one with --adult FILE (fields separated by ';').")
    demo = shoal.datasets.demo()
    frame = demo.frame.select(*demo.quasi_identifiers, demo.sensitive)
    for loss in ("kl_divergence", "gcp"):
        row, _ = _tuned("demo", frame, demo.quasi_identifiers, demo.sensitive, demo.suggested_l, loss, {}, settings)
        rows.append(row)
    part.show(Grid(title="Losses without a coarsening and with the best one:", header=_HEADER, rows=rows))
    return part


def _tuned(
    name: str,
    frame: pl.DataFrame,
    quasi_identifiers: tuple[str, ...],
    sensitive: str,
    l: int,
    loss: str,
    hierarchies: Mapping[str, str],
    settings: Settings,
) -> tuple[tuple[object, ...], shoal.Tuning]:
    request = {"quasi_identifiers": quasi_identifiers, "sensitive": sensitive, "privacy": shoal.LDiversity(l)}
    shoal.tune(frame, algorithm="tp+", loss=loss, seconds=0.001, seed=1, **request)  # a warm-up
    tuning = shoal.tune(
        frame,
        algorithm="tp+",
        loss=loss,
        hierarchies=hierarchies,
        seconds=settings.tuning_seconds / (1 if loss == "kl_divergence" else 2),
        seed=1,
        **request,
    )
    best, untouched = tuning.best, tuning.untouched
    row = (
        f"{name}, l = {l}",
        "hierarchies" if hierarchies else "automatic",
        loss,
        untouched.loss,
        best.loss,
        best.losses[0],
        best.stars,
        untouched.stars,
        len(tuning.settings),
        tuning.size,
        _found_after(tuning),
        tuning.ended,
        best.text,
    )
    return row, tuning


def _found_after(tuning: shoal.Tuning) -> float:
    """Return the seconds that the settings up to the best one took."""
    place = tuning.settings.index(tuning.best)
    return sum(setting.seconds for setting in tuning.settings[: place + 1])


def _aim(part: Part, tuning: shoal.Tuning) -> None:
    """Hold the best setting against none: it should lose less, and be found within a minute."""
    untouched, best = tuning.untouched.loss or 0.0, tuning.best.loss or 0.0
    part.targets.append(
        Target(
            what=f"Adult, l = {_L}: KL-divergence after TP+ with the best coarsening, over that without any",
            limit=0.9999,
            measured=best / untouched,
        )
    )
    part.targets.append(
        Target(what=f"Adult, l = {_L}: found after", limit=_LIMIT, measured=_found_after(tuning), unit=" s")
    )
