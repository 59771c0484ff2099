"""Comparing algorithms on one table and one request: what each loses, and how long it takes."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.algorithms import ALGORITHMS, PROVING
from shoal.errors import UnsupportedError
from shoal.models import Requirement
from shoal.publish import anonymize, open_data, roles

if TYPE_CHECKING:
    import polars as pl

    from shoal.algorithms import Algorithm
    from shoal.models import PrivacyModel

__all__ = ["Comparison", "compare"]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One row per algorithm."""

    rows: tuple[dict[str, Any], ...]
    """Per algorithm: its name, seconds, stars, suppressed_tuples, recoded_cells, groups, gcp, kl_divergence,
    average_class_size, guarantee, lower_bound (of recoded cells) and error (why it could not run, else None)."""

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as a dictionary."""
        return {"rows": [dict(row) for row in self.rows]}

    def to_json(self) -> str:
        """Return the comparison as JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def to_frame(self) -> pl.DataFrame:
        """Return the comparison as a Polars frame."""
        import polars as pl

        return pl.DataFrame(list(self.rows))


def compare(
    data: Any,
    *,
    quasi_identifiers: Sequence[str],
    sensitive: str | Sequence[str] | None = None,
    privacy: PrivacyModel | Sequence[PrivacyModel],
    algorithms: Sequence[str | Algorithm] | None = None,
    **options: Any,
) -> Comparison:
    """Run several algorithms on the same request and measure what each loses.

    Parameters
    ----------
    data, quasi_identifiers, sensitive, privacy
        As for `anonymize`.
    algorithms : sequence of str or Algorithm, optional
        By default every algorithm that can serve the request, but for those that prove an optimum: name these.
    **options
        What else `anonymize` takes.

    Returns
    -------
    Comparison
        An algorithm that cannot serve the request has its reason in `error`; all others were verified.
    """
    opened = open_data(data, delimiter=options.pop("delimiter", None), encoding=options.pop("encoding", None))
    schema = roles(quasi_identifiers, sensitive)
    if isinstance(algorithms, str):
        algorithms = [algorithms]
    if algorithms is None:
        requirement = Requirement.of(privacy, schema.sensitive)
        quick = [name for name in ALGORITHMS if name not in PROVING]
        algorithms = [name for name in quick if ALGORITHMS[name].unsupported(requirement) is None]
    request = {"quasi_identifiers": quasi_identifiers, "sensitive": sensitive, "privacy": privacy, **options}
    rows = [_measure(opened.frame, algorithm, request) for algorithm in algorithms]
    # Each bound holds for every release of the table: the best one is everybody's.
    best = max((row["lower_bound"] for row in rows if row["error"] is None), default=None)
    return Comparison(rows=tuple(row if row["error"] else row | {"lower_bound": best} for row in rows))


def _measure(frame: pl.DataFrame, algorithm: str | Algorithm, request: dict[str, Any]) -> dict[str, Any]:
    name = algorithm if isinstance(algorithm, str) else algorithm.name
    start = time.perf_counter()
    try:
        release = anonymize(frame, algorithm=algorithm, **request)
    except UnsupportedError as error:
        empty = dict.fromkeys(_MEASURES)
        return {"algorithm": name, "seconds": None, **empty, "error": str(error)}
    seconds = time.perf_counter() - start
    certificate, metrics = release.certificate, release.metrics
    measures = {
        "stars": certificate.cost.stars,
        "suppressed_tuples": certificate.cost.suppressed_tuples,
        "recoded_cells": certificate.cost.recoded_cells,
        "lower_bound": certificate.cost.bound.stars,
        "groups": certificate.achieved["groups"],
        "gcp": metrics.gcp,
        "kl_divergence": metrics.kl_divergence,
        "average_class_size": metrics.recoding.rows / max(metrics.recoding.classes.count, 1),
        "guarantee": certificate.guarantee.text,
    }
    return {"algorithm": name, "seconds": round(seconds, 4), **measures, "error": None}


_MEASURES = (
    "stars",
    "suppressed_tuples",
    "recoded_cells",
    "lower_bound",
    "groups",
    "gcp",
    "kl_divergence",
    "average_class_size",
    "guarantee",
)
