"""Real tables of thirty thousand rows: what every algorithm makes of them, with both recodings."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import shoal
from benchmarks.results import Grid, Part
from shoal.algorithms import ALGORITHMS
from shoal.errors import InfeasibleError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from benchmarks.settings import Settings
    from shoal.algorithms import Algorithm

__all__ = ["Source", "adult", "measure"]

_L_VALUES = (2, 3, 4, 5, 6)
_K = 5
_Recoding = Literal["suppression", "generalization"]
_RECODINGS: tuple[_Recoding, ...] = ("suppression", "generalization")
_FOR_DIVERSITY: dict[str, Algorithm] = {
    "tp": ALGORITHMS["tp"],
    "tp+ hilbert": shoal.ThreePhase(refine="hilbert"),
    **{name: ALGORITHMS[name] for name in ("tp+", "hilbert", "mondrian", "mondrian-relaxed")},
}
_FOR_ANONYMITY: dict[str, Algorithm] = {
    name: ALGORITHMS[name] for name in ("m-approximation", "tp", "tp+", "hilbert", "mondrian", "mondrian-relaxed")
}


@dataclass(frozen=True, kw_only=True)
class Source:
    """A table with its roles."""

    name: str
    frame: pl.DataFrame
    quasi_identifiers: tuple[str, ...]
    sensitive: str
    insensitive: tuple[str, ...]


def measure(settings: Settings) -> Part:
    """Publish Adult, where a copy exists, and the demonstration table with every algorithm."""
    part = Part(name="adult", title="Real tables")
    demo = shoal.datasets.demo()
    sources = [
        Source(
            name="demo",
            frame=demo.frame,
            quasi_identifiers=demo.quasi_identifiers,
            sensitive=demo.sensitive,
            insensitive=demo.insensitive,
        )
    ]
    if settings.adult.exists():
        sources.insert(0, adult(settings))
    else:
        part.say("There is no copy of Adult here: name one with --adult FILE (fields separated by ';').")
    part.say(
        "Whole `anonymize()`, verification and bound included. `bound` is the certificate's lower bound, of stars or "
        "of cells that are not published as they were; `gcp` the global certainty penalty; seconds of one run."
    )
    for source in sources:
        part.say(f"{source.name}: {source.frame.height:,} rows, sensitive: {source.sensitive}.")
        for recoding in _RECODINGS:
            _show(part, source, recoding, settings)
    return part


def adult(settings: Settings) -> Source:
    """Return Adult with the roles that all parts give it."""
    import polars as pl

    frame = pl.read_csv(settings.adult, separator=";")
    return Source(
        name="Adult",
        frame=frame,
        quasi_identifiers=("sex", "age", "race", "marital-status", "education", "native-country", "workclass"),
        sensitive="occupation",
        insensitive=("salary-class",),
    )


def _show(part: Part, source: Source, recoding: _Recoding, settings: Settings) -> None:
    requests: list[tuple[str, shoal.PrivacyModel, Mapping[str, Algorithm]]] = [
        (f"l = {l}", shoal.LDiversity(l), _FOR_DIVERSITY) for l in _L_VALUES if not settings.quick or l % 2 == 0
    ]
    requests.append((f"k = {_K}", shoal.KAnonymity(_K), _FOR_ANONYMITY))
    rows: list[tuple[object, ...]] = []
    for request, model, algorithms in requests:
        try:
            for name, algorithm in algorithms.items():
                _publish(source, recoding, model, algorithm)  # a warm-up
                rows.append((request, name, *_publish(source, recoding, model, algorithm)))
        except InfeasibleError:
            part.say(f"{source.name} allows no release with {request}.")
    header = ("request", "algorithm", "cells", "tuples", "bound", "cells / bound", "groups", "gcp", "seconds", "note")
    title = f"{source.name}, {recoding}: cells and tuples that are not published as they were:"
    part.show(Grid(title=title, header=header, rows=rows))


def _publish(
    source: Source, recoding: _Recoding, model: shoal.PrivacyModel, algorithm: Algorithm
) -> tuple[object, ...]:
    start = time.perf_counter()
    release = shoal.anonymize(
        source.frame,
        quasi_identifiers=source.quasi_identifiers,
        sensitive=source.sensitive,
        insensitive=source.insensitive,
        privacy=model,
        algorithm=algorithm,
        recoding=recoding,
        seed=1,
    )
    seconds = time.perf_counter() - start
    cost = release.certificate.cost
    bound = cost.bound.stars
    return (
        cost.recoded_cells,
        cost.recoded_tuples,
        bound,
        cost.recoded_cells / bound if bound else None,
        release.certificate.achieved["groups"],
        release.metrics.gcp,
        seconds,
        "optimal" if cost.optimal else "",
    )
