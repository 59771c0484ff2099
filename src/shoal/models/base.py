"""Base classes of the privacy models, and the facts that every model declares about itself.

A model is a predicate on one group of rows, or on a whole release. Each model states this predicate twice, for two
callers that share no code:

* `GroupModel.acceptable` decides for groups from their exact counts, with integers and rationals, and
  `TableModel.satisfied` decides for a release. These methods are the definitions; the verification of a release calls
  them.
* `GroupModel.rules` returns a few integers that imply the same predicate, so that compiled kernels can evaluate it
  millions of times. `TableModel.release_rules` does the same for conditions on a whole release. If a model involves
  irrational numbers, its rules are rounded so that they can only be stricter.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields
from enum import IntEnum
from fractions import Fraction
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal._messages import PYTHON, Audience, Part
from shoal.errors import ParameterError
from shoal.models.domain import Domain
from shoal.models.feasible import SensitiveCounts
from shoal.models.linear import LinearForm
from shoal.models.population import Population
from shoal.models.population_table import PopulationTable
from shoal.models.rationals import round_up
from shoal.models.release_counts import ReleaseCounts

_DIGITS = 4
"""Number of decimal digits of figures in certificates."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class GroupCounts:
    """Counts of the sensitive values in each group, in compressed row format.

    Group `g` holds `counts[j]` rows with the sensitive value `values[j]` for `starts[g] <= j < starts[g + 1]`. No count
    is zero, and no value is repeated within a group.
    """

    sizes: NDArray[np.int64]
    """Number of rows of each group."""
    starts: NDArray[np.int64]
    """Index of each group's first entry in `values` and `counts`, followed by the number of entries."""
    values: NDArray[np.int64]
    """Codes of the sensitive values, as in the population."""
    counts: NDArray[np.int64]
    """Number of rows of the group with that value, at least 1."""
    population: Population
    """Counts of the whole table; the groups may cover a part of it."""

    @classmethod
    def whole(cls, population: Population) -> GroupCounts:
        """Create the counts of the whole table as a single group."""
        # Codes that do not occur have no entry.
        values = np.flatnonzero(population.totals)
        return cls(
            sizes=np.array([population.rows], dtype=np.int64),
            starts=np.array([0, len(values)], dtype=np.int64),
            values=values.astype(np.int64),
            counts=population.totals[values].astype(np.int64),
            population=population,
        )

    def select(self, which: NDArray[Any] | slice) -> GroupCounts:
        """Select some of the groups; the population stays the same.

        Parameters
        ----------
        which : slice, or array of bool or int
            The groups to keep: a range, a mask with one value per group, or group numbers in any order.
        """
        numbers = np.arange(len(self.sizes))[which]
        lengths = self.distinct[numbers]
        starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        # Indices of the entries of the selected groups, laid out group by group.
        entries = np.arange(starts[-1]) + np.repeat(self.starts[:-1][numbers] - starts[:-1], lengths)
        return GroupCounts(
            sizes=self.sizes[numbers],
            starts=starts,
            values=self.values[entries],
            counts=self.counts[entries],
            population=self.population,
        )

    @property
    def totals(self) -> NDArray[np.int64]:
        """Number of rows of the whole table with each sensitive value."""
        return self.population.totals

    @property
    def domain(self) -> Domain:
        """The sensitive values behind the codes."""
        return self.population.domain

    @cached_property
    def heights(self) -> NDArray[np.int64]:
        """Pillar height h(G) of each group, the largest of its counts."""
        return np.maximum.reduceat(self.counts, self.starts[:-1]) if len(self.sizes) else self.sizes

    @cached_property
    def distinct(self) -> NDArray[np.int64]:
        """Number of different sensitive values in each group."""
        return np.diff(self.starts)

    @cached_property
    def sizes_by_entry(self) -> NDArray[np.int64]:
        """Size of the group to which each entry of `counts` belongs."""
        return np.repeat(self.sizes, self.distinct)

    def __repr__(self) -> str:
        return f"GroupCounts(groups={len(self.sizes)}, values={len(self.totals)})"


class RuleKind(IntEnum):
    """Kinds of clauses that a compiled predicate may have.

    The numbers are shared with `shoal.algorithms.common.predicate_kernel`. In the descriptions, `a` and `b` are the
    integers of the rule, `c(v)` is the group's count of the value `v`, and `h` is the largest count.
    """

    SIZE = 0
    """|G| >= a"""
    FREQUENCY = 1
    """a * h <= b * |G|"""
    DISTINCT = 2
    """at least a distinct values"""
    ENTROPY = 3
    """entropy of the distribution >= log(a / b), rounded so that the rule can only be stricter"""
    RECURSIVE = 4
    """b * r_1 < a * (r_l + ... + r_m) with l = c, the counts r sorted in descending order"""
    SPREAD = 5
    """largest code in G >= bounds[smallest code in G], among the codes below a: the range of the numbers is large
    enough"""
    SHARE = 6
    """c(v) * SHARE_SCALE <= bounds[v] * |G| for every v in G"""
    PRESENCE = 7
    """c(v) * SHARE_SCALE >= bounds[v] * |G| for every v of the table (bounds[v] > 0 for each v)"""
    HEIGHT = 8
    """h <= a"""
    CLOSE = 9
    """equal distance: D <= a |G| + b |G| // c, with D the sum of max(0, c(v) n - T(v) |G|) and T(v) the table's count;
    bounds = n, then T by code"""
    CLOSE_ORDERED = 10
    """ordered distance: as CLOSE, with D the sum of |prefix sums of c(v) n - T(v) |G||, each divided by 2^s and rounded
    up; bounds = n, s, m, then T by rank, then the rank of each code"""
    CLOSE_HIERARCHICAL = 11
    """hierarchical distance: as CLOSE, with D the sum over nodes below the root of max(0, c(node) n - T(node) |G|),
    each divided by 2^s and rounded up; bounds = n, s, levels, w, then T of w nodes for each level, then the node of
    each code for each level"""
    CLOSE_METRIC = 12
    """a metric: as CLOSE, with D the least cost of a transport; bounds = n, the largest integer distance, T by code,
    then the integer distances of all pairs of codes, row by row"""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One clause of a compiled predicate; a group is acceptable if it satisfies all clauses."""

    kind: RuleKind
    a: int = 0
    b: int = 0
    c: int = 0
    bounds: NDArray[np.int64] | None = None
    """Further numbers, for the kinds that need them: one per sensitive value unless the kind states otherwise."""
    smallest: int = 1
    """Lower bound on the number of rows of a group that the clause accepts, if the model knows one."""
    exact: bool = False
    """Whether the clause accepts every group that the model accepts. This matters if the compiled clause is much faster
    than the model and the caller needs an exact answer."""


_WITH = "with"


@dataclass(frozen=True, repr=False)
class PrivacyModel(ABC):
    """A condition on each group of a release (`GroupModel`), or on all groups together (`TableModel`).

    Models are values: they are frozen and comparable, and their `repr` reads like the call that created them.

    Examples
    --------
    >>> import shoal
    >>> shoal.KAnonymity(5) == shoal.KAnonymity(5)
    True
    >>> shoal.KAnonymity(5).monotone, shoal.KAnonymity(5).needs_sensitive
    (True, False)
    """

    name: ClassVar[str]
    """Name of the model in the literature, as shown in certificates."""
    monotone: ClassVar[bool] = True
    """Whether merging two groups never violates the model. For a model of groups: whether the union of two acceptable
    groups is acceptable."""
    needs_sensitive: ClassVar[bool] = True
    """Whether the model depends on a sensitive attribute."""

    @property
    def reads_values(self) -> bool:
        """Whether the model depends on the values themselves (`GroupCounts.domain`), not only on their counts."""
        return False

    @property
    def parts(self) -> tuple[PrivacyModel, ...]:
        """Models whose conjunction this model is; the model itself, unless it is defined in terms of others."""
        return (self,)

    @property
    def names_values(self) -> bool:
        """Whether the parameters of the model name sensitive values as they are written in the table."""
        return False

    @property
    def words(self) -> str:
        """Name of the model with its parameters, as used in sentences.

        Examples
        --------
        >>> from shoal.models import LDiversity
        >>> LDiversity(20, variant="distinct").words
        'l-diversity (distinct) with l = 20'
        """
        return self._in_words(PYTHON)

    def _in_words(self, audience: Audience) -> str:
        # Variants and ground distances go in parentheses; numbers follow "with".
        given = self._given_parameters()
        senses = [_name_of_sense(value) for value in given.values() if not isinstance(value, Real)]
        numbers = [f"{name} = {value}" for name, value in given.items() if isinstance(value, Real)]
        numbers_in_words = f" {_WITH} " + " and ".join(numbers) if numbers else ""
        return self.name + (f" ({', '.join(senses)})" if senses else "") + numbers_in_words

    def render(self, audience: Audience) -> str:
        """Render the model as a part of a message: its words and, for users of the command line, its flags."""
        # Parameters without a flag in this audience, such as objects, or with the words above are left out.
        flags = [
            audience.assigned(name, called, value if isinstance(value, Real | str) else value.flag)
            for name, value in self._given_parameters().items()
            if not isinstance(value, tuple)
            and getattr(value, "flag", True)
            and (called := audience.called(name, type(self).__name__) or "").startswith("-")
        ]
        return self._in_words(audience) + (f" ({' '.join(flags)})" if flags else "")

    def _given_parameters(self) -> dict[str, Any]:
        """Collect the parameters that have no default or differ from it."""
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.default is MISSING or getattr(self, field.name) != field.default
        }

    def __repr__(self) -> str:
        # A single required parameter is shown by position, all others by keyword.
        declared = fields(self)
        required = [field for field in declared if field.default is MISSING]
        given = [field for field in declared if field.default is MISSING or getattr(self, field.name) != field.default]
        shown = [
            repr(getattr(self, field.name)) if required == [field] else f"{field.name}={getattr(self, field.name)!r}"
            for field in given
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    def misfit(self, domain: Domain) -> Part | None:
        """Explain why the model does not apply to these values, or return None if it does.

        The explanation follows a colon. It never mentions a single value, because messages end up in logs.
        """
        return None

    def check_values(self, domain: Domain, *, attribute: str | None = None) -> None:
        """Check that the model applies to the values of an attribute.

        Raises
        ------
        ParameterError
            If it does not. The message explains what is wrong with the values, and what to do.
        """
        reason = self.misfit(domain) if self.reads_values else None
        if reason is not None:
            # The message names the attribute, not its values.
            about = "these values" if attribute is None else f"'{attribute}'"
            raise ParameterError(self, f" does not apply to {about}: ", reason, ".")

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Serialize the model as in a certificate: {"model": name, parameter: value, ...}."""

    @abstractmethod
    def best_feasible(self, table: Population) -> Part:
        """Describe the best parameters that the whole table, as one group, satisfies: the end of an error message."""


@dataclass(frozen=True, repr=False)
class GroupModel(PrivacyModel):
    """A predicate that every group of a release must satisfy.

    Examples
    --------
    >>> import shoal
    >>> isinstance(shoal.LDiversity(2), shoal.models.GroupModel)
    True
    """

    of_units: ClassVar[bool] = False
    """Whether the model is about the owners that are protected (persons, households) rather than a sensitive attribute:
    the values that it needs are the owners whose the rows are."""
    compares_with_table: ClassVar[bool] = False
    """Whether a group's distribution must resemble the table's. If so, groups that sample the table proportionally
    satisfy the model."""

    @abstractmethod
    def acceptable(self, groups: GroupCounts) -> NDArray[np.bool_]:
        """Test if each group is acceptable, exactly or erring on the safe side."""

    @abstractmethod
    def rules(self, table: Population) -> tuple[Rule, ...]:
        """Compile the predicate into clauses that imply it, given the whole table."""

    def advise(self, columns: Sequence[SensitiveCounts]) -> Part:
        """Suggest another request if no better parameter of the model is feasible.

        Parameters
        ----------
        columns : sequence of SensitiveCounts
            All sensitive columns. The model is infeasible for at least one of them.

        Returns
        -------
        Part
            Complete sentences, or an empty text if a better parameter is feasible.
        """
        return ""

    def measure_distance(self, groups: GroupCounts) -> tuple[dict[str, Any], Fraction] | None:
        """Compute the largest distance of a group, or return None if the model has no ground distance.

        The distance is described as in a certificate. For the equal ground distance the result is None as well, because
        certificates always state that distance.
        """
        return None

    def frequency_form(self) -> tuple[int, Fraction] | None:
        """Return `(k, l)` if the model is exactly "|G| >= k and l * h(G) <= |G|", else None.

        Algorithms designed for this form, such as TP, call this method. If `l = 1`, frequencies are not restricted.
        """
        return None

    def share_limits(self, share: Fraction) -> tuple[Fraction, Fraction] | None:
        """Compute the smallest and largest share of the owners of a bundle that may have a sensitive value in some row.

        Parameters
        ----------
        share : Fraction
            Share of all owners that have the value.

        Returns
        -------
        tuple of Fraction or None
            None if the model does not support linked rows.
        """
        form = self.frequency_form()
        return None if form is None else (Fraction(0), 1 / form[1])

    @property
    def is_linear(self) -> bool:
        """Whether `linear_form` expresses the predicate as linear inequalities on a group's counts."""
        return False

    def linear_form(self, table: Population) -> LinearForm | None:
        """Express the predicate as linear inequalities on a group's counts, or return None if it is not linear.

        The inequalities hold for integer counts if and only if the group is acceptable.
        """
        return None

    def drawing_order(self, table: Population) -> NDArray[np.integer] | None:
        """Order the codes of all sensitive values so that similar values are adjacent.

        Algorithms that sample groups from the table proportionally follow this order, so that a value can replace the
        value before it. The result is None if the model treats all pairs of distinct values alike.
        """
        return None

    def necessary_distinct(self) -> int:
        """Return the least number of distinct sensitive values in any acceptable group; lower bounds use it."""
        return 1

    def least_rows(self) -> int:
        """Return the least number of rows of any acceptable group that follows from the parameters."""
        # l * h(G) <= |G| implies at least l rows, as does a number of distinct values.
        k, l = self.frequency_form() or (1, Fraction(1))
        return max(self.necessary_distinct(), k, math.ceil(l), int(getattr(self, "k", 1)))


@dataclass(frozen=True, kw_only=True)
class ReleaseRule:
    """Compiled conditions on a whole release, for algorithms; all fields that are set must hold."""

    max_groups: int | None = None
    """Largest number of groups of the release."""
    max_uniques: int | None = None
    """Largest number of groups that consist of a single row."""
    min_people: int | None = None
    """Smallest number of population members that match each group."""
    presence: tuple[Fraction, Fraction] | None = None
    """Smallest and largest allowed ratio f / F of each group, with f its rows and F the population members that match
    it. If the smallest ratio is above 0, every population member must match some group."""
    sizes: Callable[[NDArray[np.int64]], bool] | None = None
    """Test if a release with groups of these sizes is acceptable. The outcome may change in either direction if groups
    are merged."""


@dataclass(frozen=True, repr=False)
class TableModel(PrivacyModel):
    """A predicate on a release as a whole.

    No group satisfies or violates it alone. Algorithms that judge one group at a time cannot enforce it; algorithms
    that can declare so (`Capabilities.judges_releases`).

    Examples
    --------
    >>> import shoal
    >>> isinstance(shoal.AverageRisk(0.1), shoal.models.TableModel)
    True
    """

    @abstractmethod
    def satisfied(self, release: ReleaseCounts) -> bool:
        """Test if a release satisfies the model, exactly or erring on the safe side."""

    @abstractmethod
    def measure(self, release: ReleaseCounts) -> dict[str, Any]:
        """Compute the bounded quantity for a release, rounded to the safe side, as stated in certificates."""

    @abstractmethod
    def describe(self, release: ReleaseCounts) -> str:
        """Describe the measured quantity of a release, to follow "fails ...:"; no cell is mentioned."""

    @abstractmethod
    def release_rules(self, table: Population) -> tuple[ReleaseRule, ...]:
        """Compile the predicate into clauses that imply it, given the whole table."""

    @property
    def people(self) -> PopulationTable | None:
        """The population that the model refers to, or None if the model depends on the release only."""
        return None


@dataclass(frozen=True, repr=False)
class ShareModel(TableModel):
    """A model of a whole release that bounds a share, computed over all groups."""

    @property
    @abstractmethod
    def limit(self) -> Fraction:
        """Largest allowed share."""

    @abstractmethod
    def ratio(self, release: ReleaseCounts) -> tuple[int, int]:
        """Return the numerator and denominator of the share, exactly or rounded to the safe side."""

    @property
    @abstractmethod
    def measure_name(self) -> str:
        """Name of the share, as used in certificates."""

    def satisfied(self, release: ReleaseCounts) -> bool:  # noqa: D102
        # part / whole <= limit, by cross-multiplication.
        part, whole = self.ratio(release)
        return part * self.limit.denominator <= self.limit.numerator * whole

    def measure(self, release: ReleaseCounts) -> dict[str, Any]:  # noqa: D102
        return {self.measure_name: round_up(Fraction(*self.ratio(release)), _DIGITS)}

    def describe(self, release: ReleaseCounts) -> str:  # noqa: D102
        return f"over all of its groups it is {round_up(Fraction(*self.ratio(release)), _DIGITS)}"


def _name_of_sense(value: object) -> str:
    """Name the variant or the ground distance of a model."""
    # Values of a column are counted, never shown. Ground distances have a name; other objects are shown by their class.
    if isinstance(value, tuple):
        return f"without {len(value)} harmless value{'s' if len(value) > 1 else ''}"
    return value if isinstance(value, str) else str(getattr(value, "name", type(value).__name__))
