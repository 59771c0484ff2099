"""One choice of a trade-off: a level of protection with its release, risk and loss."""

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
    """One level of protection: the release that satisfies it, its risk and its loss, or the reason why there is none.

    All figures are None if there is no release.
    """

    _instead: ClassVar[str] = "Pickle to_dict() of it."

    k: int | None
    """The level's k; None if no k is requested."""
    l: Real | float | None
    """The level's l; None if no l is requested."""
    requested: tuple[Mapping[str, Any], ...]
    """All models that the release satisfies, in the form of a certificate."""
    release: Release | None = None
    """The verified release."""
    error: ShoalError | None = None
    """The reason if there is no release."""
    seconds: float | None = None
    """Wall time; the first run of an algorithm may include compilation."""

    @property
    def text(self) -> str:
        """The level as text, such as `k = 10, l = 2`."""
        levels = {"k": self.k, "l": self.l}
        return ", ".join(f"{name} = {_level(value)}" for name, value in levels.items() if value is not None)

    @property
    def highest_risk(self) -> float | None:
        """The probability of finding the row of the most exposed person: 1 / (smallest class), above 0, at most 1.

        The adversary knows the quasi-identifiers of a person who is in the table (prosecutor risk). If a column
        identifies persons, classes count them, here and in the other figures of risk.
        """
        return None if self.release is None else float(self._risk["highest"])

    @property
    def average_risk(self) -> float | None:
        """The mean probability of finding the row of a person, above 0, at most 1."""
        return None if self.release is None else float(self._risk["average"])

    @property
    def confidence(self) -> float | None:
        """The highest confidence in a person's sensitive value: the largest share of a value in a class.

        It is between 0 and 1, rounded up, and the maximum over all sensitive attributes. None if there are none. If a
        column identifies persons, it is the confidence that a person has the value in any row.
        """
        if self.release is None:
            return None
        if self._persons is None:
            return self.release.certificate.achieved.get("alpha")
        return max((one["largest"] for one in self._persons["confidence"].values()), default=None)

    @property
    def smallest_class(self) -> int | None:
        """Rows, or persons, of the smallest equivalence class."""
        if self.release is None:
            return None
        counted = self._persons
        return int(self.release.certificate.achieved["k"] if counted is None else counted["least_in_group"])

    @property
    def groups(self) -> int | None:
        """Number of equivalence classes."""
        return None if self.release is None else int(self.release.certificate.achieved["groups"])

    @property
    def kept_share(self) -> float | None:
        """Share of the cells of quasi-identifiers that are published with their original values, 0 to 1."""
        return None if self.release is None else 1 - self.release.metrics.recoded_cells / self._cells

    @property
    def kept_share_at_most(self) -> float | None:
        """Upper bound of that share for any release of this level, 0 to 1; None if columns were coarsened beforehand.

        It follows from a lower bound on the number of recoded cells.
        """
        if self.release is None or self.release.certificate.for_readers["coarsen"]:
            return None
        return 1 - self.release.certificate.cost.bound.stars / self._cells

    @property
    def loss(self) -> float | None:
        """Mean loss of a cell, 0 to 1: the global certainty penalty, including any coarsening beforehand."""
        return None if self.release is None else self.release.metrics.gcp

    @property
    def loss_by_column(self) -> dict[str, float] | None:
        """The normalized certainty penalty of each quasi-identifier."""
        return None if self.release is None else dict(self.release.metrics.ncp)

    @property
    def _persons(self) -> Mapping[str, Any] | None:
        """The figures of persons in the release; None if no column identifies them."""
        return next(iter(self.release.certificate.persons), None)  # type: ignore[union-attr]

    @property
    def _risk(self) -> Mapping[str, Any]:
        """The risk of the persons, or of the rows, in the release."""
        found = self._persons
        return self.release.certificate.risk["after"] if found is None else found["risk"]  # type: ignore[union-attr]

    @property
    def _cells(self) -> int:
        recoding = self.release.metrics.recoding  # type: ignore[union-attr]
        return max(recoding.rows * len(recoding.columns), 1)

    @property
    def risks(self) -> tuple[float, ...]:
        """The risks that remain, of finding people and of knowing values; for comparisons."""
        return (self.highest_risk or 1.0, *(() if self.confidence is None else (self.confidence,)))

    def to_dict(self) -> dict[str, Any]:
        """Return the choice and its figures as a dictionary, for JSON."""
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
"""The figures of a choice, in the order of the output."""


def _level(value: Real | float) -> str:
    return number(value) if isinstance(value, int | float) else str(value)


def _json(value: Any) -> int | float | str | None:
    return value if value is None or isinstance(value, int | float) else str(value)
