"""The result of an attack: its success rates, next to a baseline and to people who are not in the release.

Each sensitive column is attacked alone, then their combination: two columns whose combination is certain for no record
may each be certain for many.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal._messages import current_audience
from shoal.attacks.published_table import PublishedTable
from shoal.errors import NotUnderstoodError, UsageError

_Z = 1.959963984540054
"""The 97.5 % quantile of the normal distribution, for intervals of 95 %."""


@dataclass(frozen=True, kw_only=True)
class Rate:
    """A success rate with Wilson's score interval of 95 %.

    With z = 1.96 the interval is (p + z^2 / 2n +- z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n), if a share p of
    n attempts succeeded. It never leaves [0, 1], and has a positive width even if no attempt or every attempt
    succeeded.

    Examples
    --------
    >>> rate = Rate(successes=850, attempts=1000)
    >>> f"{rate.rate:.3f}: {rate.centre:.3f} +- {rate.half_width:.3f}"
    '0.850: 0.849 +- 0.022'

    References
    ----------
    .. [1] E. B. Wilson: Probable inference, the law of succession, and statistical inference. Journal of the American
       Statistical Association 22, 1927. https://doi.org/10.1080/01621459.1927.10502953
    """

    successes: int | float
    """Number of successes; an expected number if guesses are random."""
    attempts: int
    """Number of attempts."""

    @property
    def rate(self) -> float | None:
        """Successes divided by attempts, or None if there is no attempt."""
        return self.successes / self.attempts if self.attempts else None

    @property
    def centre(self) -> float:
        """Centre of the interval."""
        return (self.successes + _Z**2 / 2) / (self.attempts + _Z**2)

    @property
    def half_width(self) -> float:
        """Half of the width of the interval."""
        n = self.attempts
        # Without attempts the interval is [0, 1].
        if not n:
            return 0.5
        p = self.successes / n
        return _Z * math.sqrt(p * (1 - p) / n + _Z**2 / (4 * n * n)) / (1 + _Z**2 / n)

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return max(0.0, self.centre - self.half_width) if self.successes else 0.0

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return min(1.0, self.centre + self.half_width) if self.successes < self.attempts else 1.0

    def to_dict(self) -> dict[str, Any]:
        """Convert the rate and its interval to a dictionary."""
        return {"rate": self.rate, "low": self.low, "high": self.high}


def residual(rate: Rate, control: Rate) -> dict[str, float] | None:
    """Compute how much better an attack succeeds with people of the release than with people who are not in it.

    The residual is (r - c) / (1 - c) for rates r and c at the centres of their intervals: the share of the remaining
    uncertainty that being in the table removes. Its error follows from those of both rates. The result is None if c is
    1.

    Parameters
    ----------
    rate, control : Rate
        Successes and attempts with people of the release, and with others; rates are from 0 to 1.

    Examples
    --------
    >>> found = residual(Rate(successes=900, attempts=1000), Rate(successes=850, attempts=1000))
    >>> round(found["rate"], 2)
    0.33

    References
    ----------
    .. [1] M. Giomi, F. Boenisch, C. Wehmeyer, B. Tasnadi: A unified framework for quantifying privacy risk in synthetic
       data. PoPETs 2023(2). https://doi.org/10.56553/popets-2023-0055
    """
    return _residual(rate.centre, rate.half_width, control.centre, control.half_width)


def _residual(rate: float, error: float, control: float, control_error: float) -> dict[str, float] | None:
    """Compute the residual and its interval by propagation of errors."""
    left = 1 - control
    if left <= 0:
        return None
    value = (rate - control) / left
    # First-order propagation of both errors.
    half = math.hypot(error / left, (1 - rate) * control_error / left**2)
    return {"rate": value, "low": max(-1.0, value - half), "high": min(1.0, value + half)}


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


def rate_of_persons(right: NDArray[np.bool_], owners: NDArray[np.int64]) -> Rate:
    """Compute the success rate of an attack among persons, against whom it succeeds with any of their rows."""
    return compute_rate(np.bincount(owners, weights=right) > 0)


_GUESSES = frozenset(("skewness", "inference"))
"""Attacks that guess for every record; the rate of a column with a common value is high even without any disclosure."""


def list_column_sets(secrets: Sequence[str]) -> list[tuple[str, ...]]:
    """List the sets of sensitive columns to attack: each column alone and, if there are several, all together.

    Examples
    --------
    >>> list_column_sets(["disease", "salary"])
    [('disease',), ('salary',), ('disease', 'salary')]
    """
    alone: list[tuple[str, ...]] = [(name,) for name in secrets]
    return [*alone, tuple(secrets)] if len(alone) > 1 else alone


def attack_each_column(table: PublishedTable, attack: Callable[[PublishedTable], AttackResult]) -> AttackResult:
    """Attack each sensitive column of a table alone, then their combination.

    Parameters
    ----------
    table : PublishedTable
        A table with at least one sensitive column.
    attack : callable
        Attacks the sensitive columns of a table as one: the combination of their values.

    Returns
    -------
    AttackResult
        The worst result: the one with the highest rate or, if the attack guesses for every record, with the largest
        difference between its rate and that of the control (without controls, the baseline). It has all results as
        `each`,
        and the columns that could not be attacked as `not_measured`.

    Raises
    ------
    UsageError
        If no column can be attacked: the error of the first one.
    """
    results: list[AttackResult] = []
    errors: dict[tuple[str, ...], UsageError] = {}
    for names in list_column_sets(table.secrets):
        try:
            # One column that cannot be attacked must not prevent the attack on the others.
            results.append(replace(attack(table.select_sensitive(names)), sensitive=names))
        except NotUnderstoodError:
            raise  # of the quasi-identifiers: no column can be attacked
        except UsageError as error:
            errors[names] = error
    if not results:
        raise next(iter(errors.values()))
    worst = max(results, key=_severity)
    several = {
        # No attack puts the records of a person together, nor takes lists of values apart.
        "several_records": table.several_records,
        "lists": bool((table.certificate.get("parameters") or {}).get("lists")),
    }
    worst = replace(worst, figures={**worst.figures, **{name: True for name, is_so in several.items() if is_so}})
    if len(table.secrets) == 1:
        return worst
    not_measured = {names: error.render(current_audience()) for names, error in errors.items()}
    return replace(worst, each=tuple(results), not_measured=not_measured)


def _severity(result: AttackResult) -> tuple[float, ...]:
    """Compute the key by which results are compared."""
    rate = result.rate or 0.0
    compared = (result.control or result.baseline).rate or 0.0
    return (rate - compared, rate) if result.attack in _GUESSES else (rate,)
