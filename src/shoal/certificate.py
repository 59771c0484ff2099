"""The certificate of a release: what was asked, achieved and guaranteed, and how far from the best possible it is."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shoal.algorithms import Guarantee, LowerBound
    from shoal.recoding import Recoding

__all__ = ["FORMAT", "Certificate", "Cost"]

FORMAT = 1
"""Version of the certificate's form. Keys are only ever added to a form."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a release lost."""

    stars: int
    """Suppressed cells: those published as a star."""
    suppressed_tuples: int
    """Rows with at least one star."""
    recoded_cells: int
    """Cells published less precisely than they were: stars, intervals and sets."""
    recoded_tuples: int
    """Rows with at least one such cell."""
    bound: LowerBound
    """What any release with the same requirement loses at least: cells and rows that cannot keep their values."""
    suppression: bool
    """Whether stars are the only way to recode a cell, so that the bound counts stars."""
    gcp: float
    """Global certainty penalty: what a cell lost on average, from 0 to 1, coarsening beforehand included."""

    @classmethod
    def of(cls, recoding: Recoding, bound: LowerBound, *, gcp: float) -> Cost:
        """Count what a recoding lost, beside the bound."""
        return cls(
            stars=recoding.stars,
            suppressed_tuples=recoding.suppressed_tuples,
            recoded_cells=recoding.recoded_cells,
            recoded_tuples=recoding.recoded_tuples,
            bound=bound,
            suppression=recoding.method == "suppression",
            gcp=gcp,
        )

    @property
    def optimal(self) -> bool:
        """Whether no release with this requirement has fewer recoded cells; only True when the bound proves it."""
        return self.recoded_cells == self.bound.stars

    def to_dict(self) -> dict[str, Any]:
        """Return the `cost` of the certificate."""
        cells, rows = self.bound.stars, self.bound.suppressed_tuples
        in_stars = (
            {"stars": cells, "suppressed_tuples": rows} if self.suppression else {"stars": 0, "suppressed_tuples": 0}
        )
        return {
            "stars": self.stars,
            "suppressed_tuples": self.suppressed_tuples,
            "recoded_cells": self.recoded_cells,
            "recoded_tuples": self.recoded_tuples,
            "gcp": self.gcp,
            "lower_bound": {**in_stars, "recoded_cells": cells, "recoded_tuples": rows, "why": self.bound.why},
            "optimal": self.optimal,
        }


@dataclass(frozen=True, kw_only=True, repr=False)
class Certificate:
    """Everything that is known of one release; it holds no cell of the input."""

    version: str
    """shoal's version."""
    algorithm: str
    """Name of the algorithm that ran."""
    reason: str
    """Why that one."""
    parameters: Mapping[str, Any]
    """Its parameters, and how the table was recoded."""
    seed: int | None
    """The seed that was asked for; None: randomness came from the operating system."""
    input: Mapping[str, Any]
    """Rows, roles and hash of the input."""
    requested: Sequence[Mapping[str, Any]]
    """The privacy models as requested."""
    achieved: Mapping[str, Any]
    """The privacy measured on the published cells."""
    cost: Cost
    guarantee: Guarantee
    seconds: Mapping[str, float]
    """Wall time of each step."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What the algorithm tells of its run: counts and names, never a cell."""
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Hash and rows of every file written; empty while the release is in memory only."""

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate with the keys of `certificate.json`."""
        return {
            "format": FORMAT,
            "shoal": self.version,
            "algorithm": self.algorithm,
            "reason": self.reason,
            "parameters": dict(self.parameters),
            "seed": self.seed,
            "randomness": "the operating system" if self.seed is None else "reproducible from the seed",
            "input": dict(self.input),
            "requested": [dict(model) for model in self.requested],
            "achieved": dict(self.achieved),
            "cost": self.cost.to_dict(),
            "guarantee": self._guarantee(),
            "details": dict(self.details),
            "seconds": {step: round(seconds, 4) for step, seconds in self.seconds.items()},
            "output": {"files": {name: dict(facts) for name, facts in self.files.items()}},
        }

    def to_json(self) -> str:
        """Return the certificate as JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def _guarantee(self) -> dict[str, Any]:
        """Return the guarantee; what the lower bound proves of this run counts as well as the algorithm's theorem."""
        bound = self.cost.bound
        return {
            "text": self.guarantee.text,
            "tuples_ratio": _tighter(self.guarantee.tuples_ratio, self.cost.recoded_tuples, bound.suppressed_tuples),
            "stars_ratio": _tighter(self.guarantee.stars_ratio, self.cost.recoded_cells, bound.stars),
            "phase": self.guarantee.phase,
        }

    def __repr__(self) -> str:
        return f"Certificate(algorithm={self.algorithm!r}, stars={self.cost.stars}, optimal={self.cost.optimal})"


def _tighter(promised: Fraction | int | None, cost: int, bound: int) -> float | None:
    """Return the smaller of a promised and a proven ratio, rounded up in the fourth decimal."""
    ratios = [] if promised is None else [Fraction(promised)]
    if bound > 0:
        ratios.append(Fraction(cost, bound))
    elif cost == 0:
        ratios.append(Fraction(1))
    if not ratios:
        return None
    scaled = min(ratios) * 10_000
    return -(-scaled.numerator // scaled.denominator) / 10_000
