"""What every privacy model declares about itself.

A model is a predicate on one group of rows, or on a whole release. It says the same thing twice, for two readers that
share no code:

* `GroupModel.acceptable` judges groups from their exact counts, with integers and rationals, and `TableModel.satisfied`
  a release. They are the definitions; the verification of a release calls them.
* `GroupModel.rules` hands the compiled kernels a few integers that imply the same predicate, so that an algorithm can
  ask it millions of times, and `TableModel.release_rules` algorithms a few integers about a release. Where a model is
  not rational, its rules are rounded against the publisher.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import MISSING, dataclass, fields
from enum import IntEnum
from fractions import Fraction
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shoal.errors import InternalError, ParameterError
from shoal.models.rationals import rounded_up

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from shoal._messages import Part, Voice
    from shoal.models.domain import Domain
    from shoal.models.feasible import SensitiveCounts
    from shoal.models.linear import LinearForm
    from shoal.models.population import Population
    from shoal.models.population_table import PopulationTable
    from shoal.models.release_counts import ReleaseCounts

__all__ = [
    "GroupCounts",
    "GroupModel",
    "PrivacyModel",
    "ReleaseRule",
    "Rule",
    "RuleKind",
    "ShareModel",
    "TableModel",
]

_DIGITS = 4
"""Digits of figures in certificates."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class GroupCounts:
    """How often each sensitive value occurs in each group, as compressed rows.

    Group `g` holds `counts[j]` rows with the sensitive value `values[j]` for `starts[g] <= j < starts[g + 1]`; no count
    is zero and no value is repeated within a group.
    """

    sizes: NDArray[np.int64]
    """Rows of each group."""
    starts: NDArray[np.int64]
    """Where each group's entries start in `values` and `counts`; one more than there are groups."""
    values: NDArray[np.int64]
    """Sensitive values as codes of the population."""
    counts: NDArray[np.int64]
    """Rows of the group with that value, at least 1."""
    population: Population
    """The whole table; the groups may be some of its groups only."""

    @classmethod
    def whole(cls, population: Population) -> GroupCounts:
        """Return the whole table as one group."""
        values = np.flatnonzero(population.totals)
        return cls(
            sizes=np.array([population.rows], dtype=np.int64),
            starts=np.array([0, len(values)], dtype=np.int64),
            values=values.astype(np.int64),
            counts=population.totals[values].astype(np.int64),
            population=population,
        )

    @classmethod
    def joined(cls, parts: Sequence[GroupCounts]) -> GroupCounts:
        """Return the groups of several parts of one table, in their order.

        Raises
        ------
        InternalError
            Where there is no part, or they are not of one population.
        """
        if not parts or any(not np.array_equal(part.totals, parts[0].totals) for part in parts):
            raise InternalError("groups can be joined only where they are of one population")
        ends = np.cumsum([0, *(len(part.values) for part in parts)])
        starts = [part.starts[:-1] + end for part, end in zip(parts, ends[:-1], strict=True)]
        return cls(
            sizes=np.concatenate([part.sizes for part in parts]),
            starts=np.concatenate([*starts, ends[-1:]]).astype(np.int64),
            values=np.concatenate([part.values for part in parts]),
            counts=np.concatenate([part.counts for part in parts]),
            population=parts[0].population,
        )

    def chosen(self, which: NDArray[Any] | slice) -> GroupCounts:
        """Return some of the groups, of the same population.

        Parameters
        ----------
        which : slice, or array of bool or int
            The groups: a range of them, a truth value for each, or their numbers in any order.
        """
        numbers = np.arange(len(self.sizes))[which]
        lengths = self.distinct[numbers]
        starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
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
        """Rows of the whole table with each sensitive value."""
        return self.population.totals

    @property
    def domain(self) -> Domain:
        """What the codes stand for."""
        return self.population.domain

    @cached_property
    def heights(self) -> NDArray[np.int64]:
        """Pillar height h(G) of each group: the largest of its counts."""
        return np.maximum.reduceat(self.counts, self.starts[:-1]) if len(self.sizes) else self.sizes

    @cached_property
    def distinct(self) -> NDArray[np.int64]:
        """Number of different sensitive values in each group."""
        return np.diff(self.starts)

    @cached_property
    def sizes_by_entry(self) -> NDArray[np.int64]:
        """Size of the group that each entry of `counts` belongs to."""
        return np.repeat(self.sizes, self.distinct)

    def __repr__(self) -> str:
        return f"GroupCounts(groups={len(self.sizes)}, values={len(self.totals)})"


class RuleKind(IntEnum):
    """The forms that a compiled predicate can have; `shoal.algorithms.common.predicate_kernel` knows the same numbers.

    `a`, `b` are the integers of the rule; `c(v)` is the group's count of value `v`, `h` the largest count.
    """

    SIZE = 0
    """|G| >= a"""
    FREQUENCY = 1
    """a * h <= b * |G|"""
    DISTINCT = 2
    """at least a different values"""
    ENTROPY = 3
    """entropy of the distribution >= log(a / b), rounded against the publisher"""
    RECURSIVE = 4
    """b * r_1 < a * (r_l + ... + r_m) with l = c, the counts r sorted in descending order"""
    SPREAD = 5
    """largest code in G >= bounds[smallest code in G], of the codes below a: numbers that are far enough apart"""
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
    """ordered distance: the same with D the sum of |prefix sums of c(v) n - T(v) |G||, each over 2^s and rounded up;
    bounds = n, s, m, then T by rank, then the rank of each code"""
    CLOSE_HIERARCHICAL = 11
    """hierarchical distance: the same with D the sum over nodes below the root of max(0, c(node) n - T(node) |G|), each
    over 2^s and rounded up; bounds = n, s, levels, w, then T of w nodes for each level, then each code's for each"""
    CLOSE_METRIC = 12
    """a metric: the same with D the least cost of a transport; bounds = n, the largest whole distance, T by code,
    then the whole distances of every two codes, row by row"""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One clause of a compiled predicate; all clauses must hold."""

    kind: RuleKind
    a: int = 0
    b: int = 0
    c: int = 0
    bounds: NDArray[np.int64] | None = None
    """Further numbers, for the kinds that need them: one per sensitive value unless the kind says otherwise."""
    smallest: int = 1
    """A lower bound on the rows of a group that the clause accepts, where the model knows one."""
    exact: bool = False
    """Whether the clause is known to refuse no group that the model accepts, either. It matters where the compiled
    clause is much faster than the model, and only what is exact will do."""


@dataclass(frozen=True, repr=False)
class PrivacyModel(ABC):
    """What a release must satisfy: each of its groups (`GroupModel`), or all of them together (`TableModel`).

    Models are values: frozen, comparable, with a `repr` that reads like the call that made them.
    """

    name: ClassVar[str]
    """The field's name of the model, as it appears in certificates."""
    monotone: ClassVar[bool] = True
    """Whether joining two groups never breaks the model: for a model of groups, whether the union of two acceptable
    groups is acceptable."""
    needs_sensitive: ClassVar[bool] = True
    """Whether the model looks at a sensitive attribute at all."""

    @property
    def reads_values(self) -> bool:
        """Whether the model looks at what the sensitive values are (`GroupCounts.domain`), not only at their counts."""
        return False

    @property
    def parts(self) -> tuple[PrivacyModel, ...]:
        """The models that this one is the conjunction of; itself, unless it is asked for in terms of others."""
        return (self,)

    @property
    def names_values(self) -> bool:
        """Whether the model was given sensitive values by name, as they are written in the table."""
        return False

    @property
    def words(self) -> str:
        """The model as sentences name it.

        Examples
        --------
        >>> from shoal.models import LDiversity
        >>> LDiversity(20, variant="distinct").words
        'l-diversity (distinct) with l = 20'
        """
        given = self._given()
        senses = [_sense(value) for value in given.values() if not isinstance(value, Real)]
        numbers = [f"{name} = {value}" for name, value in given.items() if isinstance(value, Real)]
        return (
            self.name
            + (f" ({', '.join(senses)})" if senses else "")
            + (f" with {' and '.join(numbers)}" if numbers else "")
        )

    def told(self, voice: Voice) -> str:
        """Return the model as a part of a message: its words and, for those who wrote them, its flags."""
        flags = [
            f"{called} {value if isinstance(value, Real | str) else value.flag}"
            for name, value in self._given().items()
            if getattr(value, "flag", True) and (called := voice.called(name, type(self).__name__)) is not None
        ]
        return self.words + (f" ({' '.join(flags)})" if flags else "")

    def _given(self) -> dict[str, Any]:
        """Return the parameters that have no default, or another value."""
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.default is MISSING or getattr(self, field.name) != field.default
        }

    def __repr__(self) -> str:
        asked = fields(self)
        required = [field for field in asked if field.default is MISSING]
        given = [field for field in asked if field.default is MISSING or getattr(self, field.name) != field.default]
        shown = [
            repr(getattr(self, field.name)) if required == [field] else f"{field.name}={getattr(self, field.name)!r}"
            for field in given
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    def misfit(self, domain: Domain) -> Part | None:
        """Return why the model cannot be asked of such values, in words that follow a colon; None where it can.

        They say nothing of single values: messages end up in logs.
        """
        return None

    def check_values(self, domain: Domain, *, attribute: str | None = None) -> None:
        """Check that the model can be asked of the values of an attribute.

        Raises
        ------
        ParameterError
            Says what is wrong with the values, and what to do.
        """
        reason = self.misfit(domain) if self.reads_values else None
        if reason is not None:
            about = "these values" if attribute is None else f"'{attribute}'"
            raise ParameterError(self, f" cannot be asked of {about}: ", reason, ".")

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the request as it appears in a certificate: {"model": name, parameter: value, ...}."""

    @abstractmethod
    def best_feasible(self, table: Population) -> str:
        """Return the best parameters that the whole table, as one group, would meet: the end of an error message."""


@dataclass(frozen=True, repr=False)
class GroupModel(PrivacyModel):
    """A predicate on one group of rows, which every group of a release satisfies."""

    compares_with_table: ClassVar[bool] = False
    """Whether a group must be like the table, so that groups which draw from it in proportion meet the model."""

    @abstractmethod
    def acceptable(self, groups: GroupCounts) -> NDArray[np.bool_]:
        """Return for each group whether it is acceptable, decided exactly (or against the publisher)."""

    @abstractmethod
    def rules(self, table: Population) -> tuple[Rule, ...]:
        """Return the clauses that imply the predicate, given the whole table."""

    def advise(self, columns: Sequence[SensitiveCounts]) -> Part:
        """Return what to ask for if no better value of the model is feasible, in sentences; empty if one is.

        Parameters
        ----------
        columns : sequence of SensitiveCounts
            All sensitive columns, at least one of which the model is not feasible for.
        """
        return ""

    def measured(self, groups: GroupCounts) -> tuple[dict[str, Any], Fraction] | None:
        """Return a distance that the model measures by, and the largest that a group has; None where it has none.

        The distance is described as in a certificate. The equal one is None too: certificates state it in any case.
        """
        return None

    def frequency_form(self) -> tuple[int, Fraction] | None:
        """Return `(k, l)` when the model is exactly "|G| >= k and l * h(G) <= |G|", else None.

        Algorithms that are made for that form (TP and its kin) ask for it; `l = 1` asks nothing of the frequencies.
        """
        return None

    @property
    def is_linear(self) -> bool:
        """Whether the predicate is linear inequalities on a group's counts: `linear_form` returns them."""
        return False

    def linear_form(self, table: Population) -> LinearForm | None:
        """Return the predicate as linear inequalities on a group's counts, given the whole table.

        They hold of whole numbers if and only if the group is acceptable. None where `is_linear` is False.
        """
        return None

    def drawing_order(self, table: Population) -> NDArray[np.integer] | None:
        """Return the codes of all sensitive values in an order in which values that are alike stand together.

        Algorithms that draw groups from a table in proportion draw in this order, so that a value may stand in for the
        one before it. None where the model takes no two values for more alike than any others.
        """
        return None

    def necessary_distinct(self) -> int:
        """Return how many different sensitive values every acceptable group has at least; lower bounds use it."""
        return 1


@dataclass(frozen=True, kw_only=True)
class ReleaseRule:
    """What a model of the whole release asks of it, for algorithms; all rules, and all of their parts, must hold."""

    most_groups: int | None = None
    """The release has at most so many groups."""
    most_uniques: int | None = None
    """At most so many groups of it are a single row."""
    least_people: int | None = None
    """At least so many people of the population fit each group."""
    presence: tuple[Fraction, Fraction] | None = None
    """f / F of each group is from the first number to the second one, f its rows and F the people who fit it; where the
    first is above 0, everybody fits a group."""
    sizes: Callable[[NDArray[np.int64]], bool] | None = None
    """Whether a release with groups of these sizes is acceptable. Nothing is known of how joining groups changes it."""


@dataclass(frozen=True, repr=False)
class TableModel(PrivacyModel):
    """A predicate on a release as a whole.

    No group satisfies it or fails it alone. Algorithms that judge one group at a time cannot serve it; those that can
    declare it (`Capabilities.judges_releases`).
    """

    @abstractmethod
    def satisfied(self, release: ReleaseCounts) -> bool:
        """Return whether a release satisfies the model, decided exactly (or against the publisher)."""

    @abstractmethod
    def achieved(self, release: ReleaseCounts) -> dict[str, Any]:
        """Return what the model bounds as a release has it, rounded against the publisher: for certificates."""

    @abstractmethod
    def found(self, release: ReleaseCounts) -> str:
        """Return what a release has, in words that follow "fails ...:"; they name no cell."""

    @abstractmethod
    def release_rules(self, table: Population) -> tuple[ReleaseRule, ...]:
        """Return the clauses that imply the predicate, given the whole table."""

    @property
    def people(self) -> PopulationTable | None:
        """The people whom the model asks about; None where it looks at the release only."""
        return None


@dataclass(frozen=True, repr=False)
class ShareModel(TableModel):
    """A model of a release as a whole that bounds a share, counted over all of its groups."""

    @property
    @abstractmethod
    def limit(self) -> Fraction:
        """The largest share allowed."""

    @abstractmethod
    def ratio(self, release: ReleaseCounts) -> tuple[int, int]:
        """Return numerator and denominator of the share, exactly (or rounded against the publisher)."""

    @property
    @abstractmethod
    def measure(self) -> str:
        """The name of the share, as certificates state what was achieved."""

    def satisfied(self, release: ReleaseCounts) -> bool:  # noqa: D102
        part, whole = self.ratio(release)
        return part * self.limit.denominator <= self.limit.numerator * whole

    def achieved(self, release: ReleaseCounts) -> dict[str, Any]:  # noqa: D102
        return {self.measure: rounded_up(Fraction(*self.ratio(release)), _DIGITS)}

    def found(self, release: ReleaseCounts) -> str:  # noqa: D102
        return f"over all of its groups it is {rounded_up(Fraction(*self.ratio(release)), _DIGITS)}"


def _sense(value: object) -> str:
    """Return in which sense a model is meant: the name of a variant, or of a ground distance."""
    return value if isinstance(value, str) else str(getattr(value, "name", type(value).__name__))
