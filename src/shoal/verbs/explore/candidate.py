"""One row of an exploration: what was requested, its risk and loss, and which rows no other one beats."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar

from shoal._core.quoting import listed_names
from shoal._core.unpicklable import Unpicklable
from shoal.errors import ShoalError
from shoal.metrics import METRICS
from shoal.release.release import Release
from shoal.report.figures import read_figures
from shoal.verbs.explore.ladders import Rung
from shoal.wording import sentence

FIGURES = (
    *("smallest_class", "groups", "highest_risk", "average_risk", "confidence"),
    *("kept_share", "kept_share_at_most", "stars_share", "published", "loss_of_coarsening", "loss_by_column"),
    *("guarantee", "lower_bound_stars", "lower_bound_recoded_cells"),
    *METRICS,
)
"""The figures of a candidate, in the order of the output; see `Candidate.figures`."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Candidate(Unpicklable):
    """A release that could be published, or the reason why there is none."""

    _instead: ClassVar[str] = "Pickle to_dict() of it."

    text: str
    """What was varied, such as `k = 10, l = 2`, the name of an algorithm, or `age=bins:5 zip=prefix:3`."""
    k: int | None = None
    """The level's k; None if no level of k is requested."""
    l: Real | float | None = None
    """The level's l; None if no level of l is requested."""
    algorithm: str
    """The name of the requested algorithm, which may be "auto"."""
    rungs: Mapping[str | tuple[str, ...], Rung] = field(default_factory=dict)
    """The coarsening of each searched column that has one, in addition to those of the request."""
    requested: tuple[Mapping[str, Any], ...] = ()
    """All models of the release, in the form of a certificate."""
    metric: str = "gcp"
    """The metric of `loss`."""
    release: Release | None = None
    """The verified release; None if there is none, or only its figures were measured."""
    error: ShoalError | None = None
    """The reason if there is no release."""
    seconds: float | None = None
    """Wall time without the compilation of code."""
    measured: Mapping[str, Any] = field(default_factory=dict)
    """The figures of a candidate without `release`."""
    utility: Mapping[str, float | None] | None = None
    """What analysts lose, by measure, if that was requested."""
    attacks: Mapping[str, Mapping[str, Any]] | None = None
    """The rate of each attack with its interval, if that was requested; or None as rate, and `not_measured`."""

    @cached_property
    def figures(self) -> Mapping[str, Any]:
        """The figures by name; those that were not measured are None or missing.

        `smallest_class` and `groups` count the rows of the smallest equivalence class, and the classes. `highest_risk`
        and `average_risk` are the probabilities of finding the row of a person whose quasi-identifiers are known
        (prosecutor risk). `confidence` is the highest confidence in a sensitive value, of a person or of another kind
        that is counted. If a column identifies persons, these figures count persons. `kept_share` is the share of the
        cells of quasi-identifiers with their original value, `kept_share_at_most` a bound of it for any release,
        `stars_share` the share of stars, `published` the share of the records that are in the release.
        `loss_of_coarsening` is that of the coarsening alone, `loss_by_column` the normalized certainty penalty.
        `guarantee` states the cost that the algorithm guarantees, and `lower_bound_stars` and
        `lower_bound_recoded_cells` hold for any release. The others are those of `shoal.metrics.METRICS`.
        """
        return self.measured if self.release is None else figures_of(self.release)

    @property
    def able(self) -> bool:
        """Whether there is a release."""
        return self.error is None

    @property
    def loss(self) -> float | None:
        """The loss by the metric of the exploration, including any coarsening beforehand."""
        if self.release is not None:
            value: float | None = getattr(self.release.metrics, self.metric)
            return value
        return self.measured.get(self.metric)

    @property
    def badness(self) -> float:
        """The loss with lower values better; infinite if there is no release."""
        return math.inf if self.loss is None else METRICS[self.metric].badness(self.loss)

    @property
    def losses(self) -> tuple[float, float]:
        """Loss of the coarsening alone, and loss added by anonymization; infinite if they were not measured."""
        alone = self.measured.get("loss_of_coarsening")
        return (math.inf, math.inf) if alone is None or self.loss is None else (alone, self.loss - alone)

    @property
    def risks(self) -> tuple[float, ...]:
        """The risks that remain, of finding people and of knowing values; for comparisons."""
        confidence = self.figures.get("confidence")
        return (self.figures.get("highest_risk") or 1.0, *(() if confidence is None else (confidence,)))

    def to_dict(self) -> dict[str, Any]:
        """Return the candidate and its figures as a dictionary, for JSON."""
        # All metrics are computed here, some of which take long.
        figures = {**self.figures, **({} if self.release is None else self.release.metrics.totals())}
        return {
            "text": self.text,
            "k": self.k,
            "l": self.l if self.l is None or isinstance(self.l, int | float) else str(self.l),
            "algorithm": self.algorithm,
            "coarsen": {listed_names(key): rung.text for key, rung in self.rungs.items()},
            "requested": [dict(model) for model in self.requested],
            "loss": self.loss,
            **{name: figures.get(name) for name in FIGURES},
            **({} if self.utility is None else {"utility": dict(self.utility)}),
            **({} if self.attacks is None else {"attacks": {name: dict(one) for name, one in self.attacks.items()}}),
            "seconds": None if self.seconds is None else round(self.seconds, 4),
            "error": None if self.error is None else str(self.error),
        }

    def __repr__(self) -> str:
        shown = "no release" if self.loss is None else f"{self.metric}={self.loss:.4g}"
        return f"Candidate({self.text!r}, {shown})"


def figures_of(release: Release) -> dict[str, Any]:
    """Return the figures of a release, without the metrics."""
    certificate, recoding = release.certificate, release.metrics.recoding
    cells = max(recoding.rows * len(recoding.columns), 1)
    counted = read_figures(certificate.to_dict())
    bound = certificate.cost.to_dict()["lower_bound"]
    coarse = bool(certificate.for_readers["coarsen"])
    return {
        "smallest_class": counted.smallest,
        "groups": int(certificate.achieved["groups"]),
        "highest_risk": float(counted.after["highest"]),
        "average_risk": float(counted.after["average"]),
        "confidence": counted.confidence,
        "kept_share": 1 - release.metrics.recoded_cells / cells,
        "kept_share_at_most": None if coarse else 1 - certificate.cost.bound.stars / cells,
        "stars_share": recoding.stars / cells,
        "published": 1.0,
        "loss_by_column": dict(release.metrics.ncp),
        "guarantee": sentence(certificate.guarantee.promise),
        "lower_bound_stars": bound["stars"],
        "lower_bound_recoded_cells": bound["recoded_cells"],
    }


_CLEAR = 0.05
"""Minimum distance of a knee below the chord, as a share of the curve's height; a straight line has no knee."""


def unbeaten(points: Sequence[tuple[float, ...]]) -> list[int]:
    """Return the indices of the Pareto-optimal points: no other point is as low in every measure and lower in one.

    Examples
    --------
    >>> unbeaten([(0.5, 0.1), (0.2, 0.3), (0.2, 0.4), (0.1, 0.3)])
    [0, 3]
    """

    def beats(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
        return one != other and all(a <= b for a, b in zip(one, other, strict=True))

    return [at for at, point in enumerate(points) if not any(beats(other, point) for other in points)]


def knee_of(risks: Sequence[float], losses: Sequence[float]) -> int | None:
    """Return the index of the knee of a trade-off, beyond which more protection costs more than before.

    The knee is the point farthest below the straight line from the lowest protection and loss to the highest.
    Protection is measured in halvings of the risk, -log2; both axes are scaled to their range.

    Parameters
    ----------
    risks : sequence of float
        The risk of each point, above 0 and at most 1.
    losses : sequence of float
        The loss of each point.

    Returns
    -------
    int or None
        None if there is no knee: fewer than three points, or a curve that is nowhere clearly below the line.

    References
    ----------
    V. Satopaa, J. Albrecht, D. Irwin, B. Raghavan, "Finding a 'kneedle' in a haystack: detecting knee points in system
    behavior", ICDCS Workshops 2011, Section III. doi:10.1109/ICDCSW.2011.20

    Examples
    --------
    >>> knee_of([1 / 2, 1 / 4, 1 / 8], [0.1, 0.2, 0.6])
    1
    >>> knee_of([1 / 2, 1 / 4, 1 / 8], [0.1, 0.2, 0.3])
    """
    # Scale both axes to 0 ... 1; a constant axis has no knee.
    halvings, lost = _scaled([-math.log2(risk) for risk in risks]), _scaled(losses)
    if len(losses) < 3 or halvings is None or lost is None:
        return None
    # The distance of each point from the chord of the scaled curve.
    below = [halving - loss for halving, loss in zip(halvings, lost, strict=True)]
    best = max(range(len(below)), key=lambda at: (below[at], -at))
    return best if below[best] >= _CLEAR else None


def _scaled(values: Sequence[float]) -> list[float] | None:
    """Scale values to 0 ... 1; return None if they are all equal."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    return [(value - low) / (high - low) for value in values] if high > low else None
