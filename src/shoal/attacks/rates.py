"""Success rates of attacks with confidence intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

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
