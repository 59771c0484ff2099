"""One choice of a trade-off: what a level of protection asks for, the release that meets it, its risk and its loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

from shoal._core.unpicklable import Unpicklable
from shoal._core.words import number

if TYPE_CHECKING:
    from shoal.errors import ShoalError
    from shoal.release.release import Release

__all__ = ["Choice"]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Choice(Unpicklable):
    """One level of protection: the release that meets it, how risky it is and what it loses; or why there is none.

    All figures are None where there is no release.
    """

    _instead: ClassVar[str] = "Pickle to_dict() of it."

    k: int | None
    """The level's k; None where no k is asked for."""
    l: Real | float | None
    """The level's l; None where no l is asked for."""
    requested: tuple[Mapping[str, Any], ...]
    """All models that the release satisfies, as a certificate has them."""
    release: Release | None = None
    """The verified release that was measured."""
    error: ShoalError | None = None
    """Why there is no release."""
    seconds: float | None = None
    """How long it took, wall time; the first run of an algorithm may have compiled it."""

    @property
    def text(self) -> str:
        """The level in words, `k = 10, l = 2`."""
        told = {"k": self.k, "l": self.l}
        return ", ".join(f"{name} = {_level(value)}" for name, value in told.items() if value is not None)

    @property
    def highest_risk(self) -> float | None:
        """The probability of finding the row of the most exposed person, above 0, at most 1: 1 / (smallest class).

        The adversary knows the quasi-identifiers of somebody who is in the table (prosecutor risk).
        """
        return None if self.release is None else float(self.release.certificate.risk["after"]["highest"])

    @property
    def average_risk(self) -> float | None:
        """The same on average over the people, above 0, at most 1."""
        return None if self.release is None else float(self.release.certificate.risk["after"]["average"])

    @property
    def confidence(self) -> float | None:
        """How sure somebody can be of a person's sensitive value, at most: the largest share of a value in a class.

        From 0 to 1, rounded up; the worst of several sensitive attributes. None without one.
        """
        return None if self.release is None else self.release.certificate.achieved.get("alpha")

    @property
    def smallest_class(self) -> int | None:
        """Rows of the smallest class of rows that look the same."""
        return None if self.release is None else int(self.release.certificate.achieved["k"])

    @property
    def groups(self) -> int | None:
        """Classes of rows that look the same."""
        return None if self.release is None else int(self.release.certificate.achieved["groups"])

    @property
    def kept_share(self) -> float | None:
        """Share of the cells of quasi-identifiers that are published as they were before any coarsening, 0 to 1."""
        return None if self.release is None else 1 - self.release.metrics.recoded_cells / self._cells

    @property
    def kept_share_at_most(self) -> float | None:
        """The share that no release of this level can exceed, 0 to 1; None where columns were coarsened beforehand.

        A lower bound on the cells that must be recoded gives it.
        """
        if self.release is None or self.release.certificate.for_readers["coarsen"]:
            return None
        return 1 - self.release.certificate.cost.bound.stars / self._cells

    @property
    def loss(self) -> float | None:
        """What a cell lost on average, 0 to 1: the global certainty penalty, coarsening beforehand included."""
        return None if self.release is None else self.release.metrics.gcp

    @property
    def loss_by_column(self) -> dict[str, float] | None:
        """The same of each quasi-identifier."""
        return None if self.release is None else dict(self.release.metrics.ncp)

    @property
    def _cells(self) -> int:
        recoding = self.release.metrics.recoding  # type: ignore[union-attr]
        return max(recoding.rows * len(recoding.columns), 1)

    @property
    def risks(self) -> tuple[float, ...]:
        """What a release of it leaves to adversaries, of finding people and of knowing values; for comparisons."""
        return (self.highest_risk or 1.0, *(() if self.confidence is None else (self.confidence,)))

    def to_dict(self) -> dict[str, Any]:
        """Return the choice and its figures, for JSON."""
        return {
            "level": self.text,
            "k": self.k,
            "l": _json(self.l),
            "requested": [dict(model) for model in self.requested],
            **{name: getattr(self, name) for name in _FIGURES},
            "seconds": None if self.seconds is None else round(self.seconds, 4),
            "error": None if self.error is None else str(self.error),
        }

    def __repr__(self) -> str:
        if self.release is None:
            return f"Choice({self.text!r}, no release)"
        return f"Choice({self.text!r}, highest_risk={self.highest_risk:.4g}, kept_share={self.kept_share:.4g})"


_FIGURES = (
    *("smallest_class", "groups", "highest_risk", "average_risk", "confidence"),
    *("kept_share", "kept_share_at_most", "loss", "loss_by_column"),
)
"""The figures of a choice, in the order in which they are told."""


def _level(value: Real | float) -> str:
    return number(value) if isinstance(value, int | float) else str(value)


def _json(value: Any) -> int | float | str | None:
    return value if value is None or isinstance(value, int | float) else str(value)
