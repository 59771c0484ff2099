"""What an attack returns: how often it succeeded, next to a baseline and to people who are not in the release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shoal.attacks.rates import Rate, residual

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["AttackResult", "share_right"]


@dataclass(frozen=True, kw_only=True, repr=False)
class AttackResult:
    """How often an attack succeeded. It holds no cell of a person."""

    attack: str
    """Its name, as in `shoal attack NAME`."""
    outcome: Rate
    """Attempts and successes."""
    baseline: Rate
    """What guessing from the published marginal distribution alone would have achieved."""
    control: Rate | None = None
    """The same attack on people who are not in the release: what it learns of them is statistics, not disclosure."""
    columns: tuple[str, ...] = ()
    """The quasi-identifiers that the adversary knows."""
    sensitive: tuple[str, ...] = ()
    """The sensitive columns whose value was attacked: one, or several for the combination of their values."""
    figures: Mapping[str, Any] = field(default_factory=dict)
    """What else this attack found, by name."""
    each: tuple[AttackResult, ...] = ()
    """With several sensitive columns, the results of each column alone and of their combination. The figures of this
    result are those of the worst of them."""
    not_measured: Mapping[tuple[str, ...], str] = field(default_factory=dict)
    """With several sensitive columns, those that could not be attacked, and why."""

    @property
    def attempts(self) -> int:
        """How many records (linking: rows of the release) were attacked."""
        return self.outcome.attempts

    @property
    def successes(self) -> int | float:
        """For how many the attack was right."""
        return self.outcome.successes

    @property
    def rate(self) -> float | None:
        """Successes over attempts."""
        return self.outcome.rate

    @property
    def low(self) -> float:
        """The lower end of the rate's interval (Wilson, 95 %)."""
        return self.outcome.low

    @property
    def high(self) -> float:
        """The upper end."""
        return self.outcome.high

    @property
    def residual(self) -> dict[str, float] | None:
        """What comes from being in the release, where there are controls; see `shoal.attacks.residual`."""
        return None if self.control is None else residual(self.outcome, self.control)

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as JSON takes them; nobody is named."""
        return {
            "attack": self.attack,
            "attempts": self.attempts,
            "successes": self.successes,
            **self.outcome.to_dict(),
            "baseline": self.baseline.to_dict(),
            "control": None if self.control is None else self.control.to_dict(),
            "residual": self.residual,
            "columns_not_understood": [],
            "quasi_identifiers": list(self.columns),
            "sensitive": list(self.sensitive),
            **self.figures,
            "each": [one.to_dict() for one in self.each],
            "not_measured": [{"sensitive": list(names), "why": why} for names, why in self.not_measured.items()],
        }

    def sentences(self) -> list[str]:
        """Return what was found, in plain words: of several sensitive columns, the worst first, then the others."""
        from shoal.attacks.attack_list import ATTACKS, column_sentences

        facts = self.to_dict()
        compared = (
            [] if self.attack == "linking" else _compared(facts)
        )  # whom linking claims outside, it claims wrongly
        return [*ATTACKS[self.attack].sentences(facts), *compared, *column_sentences(facts)]

    def __getitem__(self, name: str) -> Any:
        return self.to_dict()[name]

    def __repr__(self) -> str:
        worst = f", worst of {len(self.each)}" if self.each else ""
        unmeasured = f", not measured: {len(self.not_measured)}" if self.not_measured else ""
        return (
            f"AttackResult({self.attack}, {self.successes} of {self.attempts}, "
            f"sensitive={list(self.sensitive)}{worst}{unmeasured})"
        )


def _compared(facts: Mapping[str, Any]) -> list[str]:
    """Return how the success compares with that among people who are not in the release."""
    from shoal._core.words import percent

    control, left = facts["control"], facts["residual"]
    if control is None or control["rate"] is None:
        return []
    said = f"Of people who are not in the release, the same attack is right about {percent(control['rate'])}"
    if left is None:
        return [f"{said}: being in it adds nothing."]
    if left["low"] <= 0:
        return [f"{said}: within the error of the figures, being in the release tells nothing more."]
    return [f"{said}: what is above that comes from being in the release."]


def share_right(right: NDArray[np.bool_]) -> Rate:
    """Return the rate of an attack, given about whom it was right."""
    return Rate(successes=int(right.sum()), attempts=len(right))
