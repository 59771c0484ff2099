"""Differential privacy of a table of true rows, by sampling and leaving out small classes."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal._core.validation import RationalIn, exact_fraction, parameter, validate_declared
from shoal.errors import ParameterError
from shoal.models.anonymity import KAnonymity
from shoal.models.base import GroupCounts, GroupModel, Rule
from shoal.models.population import Population
from shoal.models.rationals import json_number
from shoal.models.sampling import least_class, sampling_threshold


@dataclass(frozen=True, repr=False)
class DifferentialPrivacy(GroupModel):
    """(epsilon, delta)-differential privacy: no single record changes the odds of any release by more than a factor.

    Each record stays with a probability of at most 1 - e^-epsilon, drawn by the operating system. The records that stay
    form classes of equal published records, and classes of fewer than `k` are left out; `k` is the least number for
    which the proof of Li, Qardaji and Su holds. The coarsening of the columns is fixed before the table is seen, or
    the levels of hierarchies are drawn by the exponential mechanism, for `level_epsilon` of the epsilon.

    The guarantee is one of the procedure, not of a table: a release can only be checked for classes of `k` records.

    References
    ----------
    F. McSherry and K. Talwar, "Mechanism design via differential privacy", FOCS 2007. doi:10.1109/FOCS.2007.66
    N. Li, W. Qardaji and D. Su, "On sampling, anonymization, and differential privacy", ASIACCS 2012, Theorem 4.
    doi:10.1145/2414456.2414474
    R. Bild, K. A. Kuhn and F. Prasser, "SafePub: a truthful data anonymization algorithm with strong privacy
    guarantees", PoPETs 2018(1). doi:10.1515/popets-2018-0004

    Examples
    --------
    >>> DifferentialPrivacy(1, 1e-6).k
    74
    """

    epsilon: Real | float = field(
        metadata=parameter(
            RationalIn(low=Fraction(0), high=Fraction(20), low_included=False),
            "Differential privacy, with --delta: the largest logarithm of the factor by which one record changes the "
            "odds of a release.",
            flag="--epsilon",
            metavar="NUMBER",
        )
    )
    """Bound on the logarithm of the factor, > 0 and <= 20; a float denotes its decimal number."""
    delta: Real | float = field(
        metadata=parameter(
            RationalIn(low=Fraction(0), high=Fraction(1, 2), low_included=False),
            "With --epsilon: the probability that the factor is exceeded, at most 0.5. Without: delta-disclosure "
            "privacy, the largest log-ratio of a value's shares in a group and in the table.",
            flag="--delta",
            metavar="NUMBER",
        )
    )
    """Probability that the factor is exceeded, > 0 and <= 1/2; a float denotes its decimal number."""
    level_epsilon: Real | float = field(
        default=0,
        metadata=parameter(
            RationalIn(low=Fraction(0), high=Fraction(20)),
            "With --epsilon and --hierarchy: the part of epsilon that pays for drawing the levels of the hierarchies, "
            "such as a tenth of it.",
            flag="--level-epsilon",
            metavar="NUMBER",
        ),
    )
    """Part of `epsilon` that is spent on drawing levels of hierarchies, >= 0 and < `epsilon`; 0 if they are fixed."""

    name: ClassVar[str] = "differential privacy"
    needs_sensitive: ClassVar[bool] = False

    def __post_init__(self) -> None:
        validate_declared("DifferentialPrivacy", self)
        if self.sampling_epsilon <= 0:
            raise ParameterError.refusing(
                "DifferentialPrivacy", "level_epsilon", "less than epsilon", got=repr(self.level_epsilon)
            )

    @property
    def sampling_epsilon(self) -> Fraction:
        """The rest of epsilon, for the draw of the records."""
        return exact_fraction(self.epsilon) - exact_fraction(self.level_epsilon)

    @cached_property
    def k(self) -> int:
        """Smallest number of records of a published class."""
        return least_class(self.sampling_epsilon, exact_fraction(self.delta))

    @cached_property
    def threshold(self) -> int:
        """A record stays if a random integer below 2^64 is below this number."""
        return sampling_threshold(self.sampling_epsilon)

    @property
    def _classes(self) -> KAnonymity:
        return KAnonymity(self.k)

    def acceptable(self, groups: GroupCounts) -> NDArray[np.bool_]:  # noqa: D102
        return self._classes.acceptable(groups)

    def rules(self, table: Population) -> tuple[Rule, ...]:  # noqa: D102
        return self._classes.rules(table)

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        spent = {"level_epsilon": json_number(self.level_epsilon)} if self.level_epsilon else {}
        bounds = {"epsilon": json_number(self.epsilon), "delta": json_number(self.delta)}
        return {"model": self.name, **bounds, **spent, "k": self.k}

    def best_feasible(self, table: Population) -> str:  # noqa: D102
        return self._classes.best_feasible(table)

    def frequency_form(self) -> tuple[int, Fraction] | None:  # noqa: D102
        return self._classes.frequency_form()
