"""t-closeness: the distribution of sensitive values in each group resembles the one in the table."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal._core.validation import RationalIn, exact_fraction, format_value, parameter, validate_declared
from shoal._messages import Part
from shoal.errors import ParameterError
from shoal.models.base import GroupCounts, GroupModel, Rule
from shoal.models.domain import Domain
from shoal.models.ground_distance import EqualDistance, GroundDistance, OrderedDistance, largest_distance
from shoal.models.linear import LinearForm
from shoal.models.population import Population
from shoal.models.rationals import at_most, json_number

_GROUND_DISTANCES = {"equal": EqualDistance(), "ordered": OrderedDistance()}


@dataclass(frozen=True, repr=False)
class TCloseness(GroupModel):
    """t-closeness: the earth mover's distance of every group's sensitive values from the table's is at most t.

    If there are several sensitive attributes, the model applies to each of them with the same ground distance. A ground
    distance that is not defined for the values of an attribute is an error; the attribute is never skipped.

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

    t: Real | float = field(
        metadata=parameter(
            RationalIn(low=Fraction(0), high=Fraction(1)),
            "t-closeness: the maximum distance of a group's sensitive values from the whole table's, 0 to 1.",
            flag="-t",
            metavar="NUMBER",
        )
    )
    """Largest allowed distance, >= 0 and <= 1; a float denotes its decimal number."""
    distance: str | GroundDistance = field(
        default="equal",
        kw_only=True,
        metadata=parameter(
            None,
            "The distance between two values for -t. equal (default): the same for all pairs. ordered: by their ranks. "
            "file:METRIC.csv: a square table of distances. hierarchy:TREE.csv: one line per value, from the value to "
            "the root.",
            flag="--t-distance",
            metavar="DISTANCE",
        ),
    )
    """Ground distance between two sensitive values: "equal" (1 for any two distinct values), "ordered" (by rank, for
    numbers, dates and declared categories), or a ground distance of `shoal.models`."""

    name: ClassVar[str] = "t-closeness"
    compares_with_table: ClassVar[bool] = True

    def __post_init__(self) -> None:
        validate_declared("TCloseness", self)
        # Names and objects, also of user-defined subclasses of GroundDistance.
        requested: object = self.distance
        if isinstance(requested, GroundDistance) or (isinstance(requested, str) and requested in _GROUND_DISTANCES):
            return
        expected = "'equal', 'ordered', or a ground distance such as shoal.models.OrderedDistance(order=[...])"
        got = format_value(requested) if isinstance(requested, str) else type(requested).__name__
        raise ParameterError.refusing("TCloseness", "distance", expected, got=got)

    @property
    def ground(self) -> GroundDistance:
        """The ground distance as an object."""
        return _GROUND_DISTANCES[self.distance] if isinstance(self.distance, str) else self.distance

    @property
    def reads_values(self) -> bool:  # noqa: D102
        return self.ground.reads_values

    @property
    def names_values(self) -> bool:  # noqa: D102
        return self.ground.names_values

    def misfit(self, domain: Domain) -> Part | None:  # noqa: D102
        return self.ground.misfit(domain)

    def acceptable(self, groups: GroupCounts) -> NDArray[np.bool_]:  # noqa: D102
        self.check_values(groups.domain)
        # cost / (unit * |G| * n) <= t, multiplied out: integers only, so no rounding decides.
        costs, unit = self.ground.costs(groups)
        t = exact_fraction(self.t)
        return at_most(costs, t.denominator, groups.sizes, t.numerator * unit * groups.population.rows)

    def rules(self, table: Population) -> tuple[Rule, ...]:  # noqa: D102
        # Values without a distance are reported here, before any search.
        self.check_values(table.domain)
        return (self.ground.rule(table, exact_fraction(self.t)),)

    def drawing_order(self, table: Population) -> NDArray[np.integer] | None:  # noqa: D102
        return self.ground.drawing_order(table)

    def share_limits(self, share: Fraction) -> tuple[Fraction, Fraction] | None:  # noqa: D102
        # For the equal distance, the change of one share alone is at most the earth mover's distance.
        if self.names_values or self.reads_values:
            return None
        t = exact_fraction(self.t)
        return max(share - t, Fraction(0)), min(share + t, Fraction(1))

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {"model": self.name, **self.ground.to_dict(), "t": json_number(self.t)}

    def measure_distance(self, groups: GroupCounts) -> tuple[dict[str, Any], Fraction] | None:  # noqa: D102
        # Certificates state the equal distance of every release anyway.
        if not self.reads_values:
            return None
        return self.ground.to_dict(), largest_distance(groups, self.ground)

    def best_feasible(self, table: Population) -> Part:  # noqa: D102
        return "the whole table as one group meets every t"

    @property
    def is_linear(self) -> bool:  # noqa: D102
        return self.ground.is_linear

    def linear_form(self, table: Population) -> LinearForm | None:  # noqa: D102
        self.check_values(table.domain)
        return self.ground.linear_form(table, exact_fraction(self.t))
