"""The result of an attack: its success rate, next to a baseline and to people who are not in the release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.rates import Rate, residual


@dataclass(frozen=True, kw_only=True, repr=False)
class AttackResult:
    """The success rate of an attack. It contains no cell of a person.

    Examples
    --------
    >>> result = AttackResult(
    ...     attack="homogeneity", outcome=Rate(successes=2, attempts=4), baseline=Rate(successes=1, attempts=4)
    ... )
    >>> result.rate, result["baseline"]["rate"]
    (0.5, 0.25)
    """

    attack: str
    """Name of the attack, as in `shoal attack --method NAME`."""
    outcome: Rate
    """Attempts and successes."""
    baseline: Rate
    """Success rate of guessing from the published marginal distribution alone."""
    control: Rate | None = None
    """The same attack on people who are not in the release; its success is statistics, not disclosure."""
    columns: tuple[str, ...] = ()
    """The quasi-identifiers that the adversary knows."""
    sensitive: tuple[str, ...] = ()
    """The attacked sensitive column, or several columns if the combination of their values was attacked."""
    figures: Mapping[str, Any] = field(default_factory=dict)
    """Further figures of this attack, by name."""
    each: tuple[AttackResult, ...] = ()
    """If there are several sensitive columns, the results of each column alone and of their combination. The figures
    of this result are those of the worst."""
    not_measured: Mapping[tuple[str, ...], str] = field(default_factory=dict)
    """If there are several sensitive columns, those that could not be attacked, with the reason."""

    @property
    def attempts(self) -> int:
        """Number of attacked records (linking: rows of the release)."""
        return self.outcome.attempts

    @property
    def successes(self) -> int | float:
        """Number of successful attempts."""
        return self.outcome.successes

    @property
    def rate(self) -> float | None:
        """Successes divided by attempts."""
        return self.outcome.rate

    @property
    def low(self) -> float:
        """Lower end of the rate's 95 % interval (Wilson)."""
        return self.outcome.low

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.outcome.high

    @property
    def residual(self) -> dict[str, float] | None:
        """The part of the success that is due to being in the release, if there are controls."""
        return None if self.control is None else residual(self.outcome, self.control)

    def to_dict(self) -> dict[str, Any]:
        """Convert the result to the keys of its JSON form; no person is identified."""
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
        """Describe the result in plain words; of several sensitive columns, the worst first, then the others."""
        from shoal.attacks.attack_list import ATTACKS, describe_columns

        facts = self.to_dict()
        # Whom linking claims outside, it claims wrongly; the controls of the others say it themselves.
        compared = [] if self.attack in ("linking", "refinement", "singling-out") else _compare_with_control(facts)
        return [*ATTACKS[self.attack].sentences(facts), *compared, *describe_columns(facts)]

    def __getitem__(self, name: str) -> Any:
        return self.to_dict()[name]

    def __repr__(self) -> str:
        worst = f", worst of {len(self.each)}" if self.each else ""
        unmeasured = f", not measured: {len(self.not_measured)}" if self.not_measured else ""
        return (
            f"AttackResult({self.attack}, {self.successes} of {self.attempts}, "
            f"sensitive={list(self.sensitive)}{worst}{unmeasured})"
        )


def _compare_with_control(facts: Mapping[str, Any]) -> list[str]:
    """Compare the success rate with that among people who are not in the release."""
    from shoal._core.words import percent

    control, left = facts["control"], facts["residual"]
    if control is None or control["rate"] is None:
        return []
    said = f"Of people who are not in the release, the same attack is right about {percent(control['rate'])}"
    if left is None:
        return [f"{said}: being in it adds nothing."]
    # The interval of the residual contains zero.
    if left["low"] <= 0:
        return [f"{said}: within the error of the figures, being in the release tells nothing more."]
    return [f"{said}: what is above that comes from being in the release."]


def compute_rate(right: NDArray[np.bool_]) -> Rate:
    """Compute the success rate of an attack from its successes."""
    return Rate(successes=int(right.sum()), attempts=len(right))
