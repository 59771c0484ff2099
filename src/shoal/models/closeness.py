"""t-closeness: no group's distribution of sensitive values is far from the whole table's."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

from shoal._validation import RationalIn, exact_fraction, validate
from shoal.errors import ParameterError
from shoal.models.base import GroupCounts, PrivacyModel, Rule
from shoal.models.ground_distance import Equal, GroundDistance, Ordered, largest_distance
from shoal.models.rationals import at_most, json_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from shoal.models.domain import Domain
    from shoal.models.linear import LinearForm

__all__ = ["TCloseness"]

_NAMED = {"equal": Equal(), "ordered": Ordered()}


@dataclass(frozen=True, repr=False)
class TCloseness(PrivacyModel):
    """The earth mover's distance of every group's distribution of sensitive values from the table's is at most t.

    Of several sensitive attributes each is asked, with the same ground distance: one that says nothing of the values of
    an attribute is an error, never a reason to leave the attribute out.

    References
    ----------
    N. Li, T. Li, S. Venkatasubramanian, "t-closeness: privacy beyond k-anonymity and l-diversity", ICDE 2007.
    doi:10.1109/ICDE.2007.367856

    H. Liang, H. Yuan, "On the complexity of t-closeness anonymization and related problems", DASFAA 2013.
    doi:10.1007/978-3-642-37487-6_26

    Examples
    --------
    >>> TCloseness(0.2, distance="ordered")
    TCloseness(0.2, distance='ordered')
    """

    t: Real | float
    """Largest allowed distance, >= 0 and <= 1; a float means its decimal number."""
    distance: str | GroundDistance = field(default="equal", kw_only=True)
    """How far apart two sensitive values are: "equal" (all the same), "ordered" (by their places in the order of
    numbers, dates or declared categories), or a ground distance of `shoal.models`."""

    name: ClassVar[str] = "t-closeness"
    flags: ClassVar[Mapping[str, str]] = {"t": "-t", "distance": "--t-distance"}
    compares_with_table: ClassVar[bool] = True

    def __post_init__(self) -> None:
        validate("TCloseness", {"t": self.t}, {"t": RationalIn(low=Fraction(0), high=Fraction(1))})
        asked: object = self.distance
        if isinstance(asked, GroundDistance) or (isinstance(asked, str) and asked in _NAMED):
            return
        got = repr(asked) if isinstance(asked, str) else type(asked).__name__
        raise ParameterError(
            "The 'distance' parameter of TCloseness must be 'equal', 'ordered', or a ground distance such as "
            f"shoal.models.Ordered(order=[...]). Got {got}."
        )

    @property
    def ground(self) -> GroundDistance:
        """The ground distance."""
        return _NAMED[self.distance] if isinstance(self.distance, str) else self.distance

    @property
    def reads_values(self) -> bool:  # noqa: D102
        return self.ground.reads_values

    @property
    def names_values(self) -> bool:  # noqa: D102
        return self.ground.names_values

    def misfit(self, domain: Domain) -> str | None:  # noqa: D102
        return self.ground.misfit(domain)

    def acceptable(self, groups: GroupCounts) -> NDArray[np.bool_]:  # noqa: D102
        self.check_values(groups.domain)
        costs, unit = self.ground.costs(groups)
        t = exact_fraction(self.t)
        return at_most(costs, t.denominator, groups.sizes, t.numerator * unit * int(groups.totals.sum()))

    def rules(self, table: GroupCounts) -> tuple[Rule, ...]:  # noqa: D102
        self.check_values(table.domain)
        return (self.ground.rule(table, exact_fraction(self.t)),)

    def drawing_order(self, table: GroupCounts) -> NDArray[np.integer] | None:  # noqa: D102
        return self.ground.drawing_order(table)

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {"model": self.name, **self.ground.to_dict(), "t": json_number(self.t)}

    def measured(self, groups: GroupCounts) -> tuple[dict[str, Any], Fraction] | None:  # noqa: D102
        if not self.reads_values:
            return None
        return self.ground.to_dict(), largest_distance(groups, self.ground)

    def best_feasible(self, table: GroupCounts) -> str:  # noqa: D102
        return "the whole table as one group meets every t"

    @property
    def is_linear(self) -> bool:  # noqa: D102
        return self.ground.is_linear

    def linear_form(self, table: GroupCounts) -> LinearForm | None:  # noqa: D102
        self.check_values(table.domain)
        return self.ground.linear_form(table, exact_fraction(self.t))
