"""What the groups of a release count: records, persons, one record of each person, or persons with linked records.

One object answers everything that depends on it; nothing else asks which way of counting it is.
"""

# ruff: noqa: D102 - the methods are those of the base class

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shoal._core.validation import Integer, exact_fraction, parameter, validate_declared
from shoal._messages import Suggestion
from shoal.errors import InternalError, ParameterError
from shoal.models.anonymity import KAnonymity, rare_rows
from shoal.models.average_risk import AverageRisk
from shoal.models.base import GroupCounts, GroupModel, PrivacyModel, ReleaseRule, Rule, RuleKind, TableModel
from shoal.models.column_sets import ColumnSet
from shoal.models.linear import LinearForm
from shoal.models.population import Population
from shoal.models.presence import DeltaPresence, KMap
from shoal.models.rationals import at_most, round_up
from shoal.models.release_counts import ReleaseCounts

PSEUDONYM = "pseudonym"
"""The column of pseudonyms in a release of linked rows."""
Kind: TypeAlias = "tuple[str, ...]"
"""The columns that together identify each unit of a kind, such as each person."""


@dataclass(frozen=True, repr=False)
class UnitAnonymity(GroupModel):
    """k-anonymity of units: no unit has more than one in k rows of a group, so every group has at least k units.

    This is frequency l-diversity with the unit in place of the sensitive value: r(u, G) / |G| <= 1 / k, where r(u, G)
    is the number of rows of unit u in the group G. The model is monotone, and feasible if and only if no unit has more
    than n / k of all n rows. `KAnonymity(k)` is interpreted in this way if a table has a person column.
    """

    k: int = field(metadata=parameter(Integer(low=1), "Units that every group has at least."))
    """Smallest number of units of a group, >= 1; each unit has at most one in k of its rows."""

    name: ClassVar[str] = "k-anonymity of persons"
    of_units: ClassVar[bool] = True
    of: ClassVar[str] = "persons"
    """What the units are called."""

    def __post_init__(self) -> None:
        validate_declared("UnitAnonymity", self)

    def acceptable(self, groups: GroupCounts) -> NDArray[np.bool_]:
        return at_most(groups.heights, int(self.k), groups.sizes, 1)

    def rules(self, table: Population) -> tuple[Rule, ...]:
        # A k above the number of rows refuses every group. It is capped, so that it fits into 64 bits.
        return (Rule(kind=RuleKind.FREQUENCY, a=min(int(self.k), table.rows + 1), b=1),)

    def to_dict(self) -> dict[str, Any]:
        return {**KAnonymity(self.k).to_dict(), "of": self.of}

    def best_feasible(self, table: Population) -> str:
        return (
            f"one has {table.height} of the {table.rows} rows, so the largest feasible k is "
            f"{table.rows // table.height}"
        )

    def frequency_form(self) -> tuple[int, Fraction] | None:
        return 1, Fraction(int(self.k))

    @property
    def is_linear(self) -> bool:
        return True

    def linear_form(self, table: Population) -> LinearForm:
        return LinearForm(rows=rare_rows(Fraction(1, int(self.k)), table))

    def necessary_distinct(self) -> int:
        return int(self.k)


class FurtherAnonymity(UnitAnonymity):
    """k-anonymity of units that are not persons, such as households."""

    name = "k-anonymity of units"
    of = "units"


@dataclass(frozen=True, repr=False)
class UnitAverageRisk(AverageRisk):
    """Average risk of units: the number of groups over the number of units.

    Choosing one row of a group at random finds a row of unit u with probability r(u, G) / |G|. Summed over all groups,
    this bounds the probability of finding u at all, and the mean of these sums over the units is the number of groups
    divided by that of units. `AverageRisk` is interpreted in this way if a table has a person column.
    """

    def ratio(self, release: ReleaseCounts) -> tuple[int, int]:
        if release.owners is None:
            raise InternalError("a model that counts units needs their number")
        return release.groups, release.owners

    def measure(self, release: ReleaseCounts) -> dict[str, Any]:
        # Readers do not know the number of units, which certificates must not disclose.
        return {}

    def release_rules(self, table: Population) -> tuple[ReleaseRule, ...]:
        # groups / units <= risk, rounded down.
        return (ReleaseRule(max_groups=self.limit.numerator * table.distinct // self.limit.denominator),)

    def best_feasible(self, table: Population) -> str:
        return (
            f"the smallest feasible risk is {round_up(Fraction(1, max(table.distinct, 1)), 4)}, all rows in one group"
        )


@dataclass(frozen=True, kw_only=True)
class Records:
    """Each record counts as another person's; the base of the other ways of counting.

    Examples
    --------
    >>> from shoal.models import LDiversity
    >>> Records(separators={"illness": ";"}).state(LDiversity(2))
    {'of': 'lists'}
    """

    kinds: tuple[Kind, ...] = ()
    """Whose the rows are: the persons first, then further kinds of units such as households. Their columns are never
    published."""
    most: int | None = None
    """Rows of each person that are published at most; None for all."""
    separators: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The separator of each sensitive attribute whose cells are lists of values. Models of sensitive values then count
    the rows that have a value among others."""
    sets: tuple[ColumnSet, ...] = ()
    """Sets of quasi-identifiers whose groups must satisfy the models, each set by itself; if empty, all
    quasi-identifiers together are the only set."""
    knows: int | None = None
    """Number of columns of the sets that were not named one by one; None if all were."""

    stated: ClassVar[frozenset[str]] = frozenset()
    """The words of certificates for what is counted, if they are of this way of counting alone."""
    several: ClassVar[bool] = False
    """Whether a person may have several records."""
    noted: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """The entry of the figures of each kind, if none of them is persons."""
    pseudonym: ClassVar[str | None] = None
    """The published column that shows whose the rows are."""
    hidden: ClassVar[tuple[type[PrivacyModel], ...]] = ()
    """Models whose figures the published table does not show: they count units, which readers do not know."""

    @property
    def counted(self) -> tuple[str, ...]:
        """Names of the kinds whose units a size counts; without any, it counts rows."""
        return ()

    @property
    def implied(self) -> tuple[PrivacyModel, ...]:
        """Models that always hold, and let the algorithm and the verification know the units."""
        return ()

    def in_bundles(self, models: Sequence[PrivacyModel]) -> bool:
        """Check if models are about bundles of persons, or about the values of lists, not about groups of rows."""
        return bool(self.separators) and any(model.needs_sensitive for model in models)

    def keeps(self, models: Sequence[PrivacyModel]) -> tuple[str, ...]:
        """Name the choices of the rows that are published, one after another; without any, all are.

        "some" rows of each person; "together", those of a person; "lists", each with its values.
        """
        return ("some",) * (self.most is not None) + ("lists",) * self.in_bundles(models)

    def parts(self, models: Sequence[PrivacyModel]) -> tuple[PrivacyModel, ...]:
        """Return the models to check for rows: a model that is defined in terms of others is replaced by them.

        If persons have bundles, or cells are lists, these are the models that follow for rows and whole cells.
        """
        parts = tuple(part for model in (*self.implied, *models) for part in self.parts_of(model))
        if not self.in_bundles(models):
            return parts
        following = (part for part in parts if isinstance(part, GroupModel) and part.frequency_form() is not None)
        return tuple(following) or self.parts_of(KAnonymity(1))

    def parts_of(self, model: PrivacyModel) -> tuple[PrivacyModel, ...]:
        """Return the models of rows that one model is defined by."""
        # User-defined objects that are not checked yet may lack `parts`.
        found: tuple[PrivacyModel, ...] = getattr(model, "parts", (model,))
        return found

    def check_models(self, models: Sequence[PrivacyModel]) -> None:
        """Check that models can be asked of what is counted.

        Raises
        ------
        ParameterError
            If a model compares persons with a population in a way that is not proven, or does not suit sets.
        """
        for model in models:
            if self.sets and not model.monotone:
                raise ParameterError(model, " cannot hold for sets of quasi-identifiers: it is not monotone.")

    def state(self, model: PrivacyModel) -> dict[str, str]:
        """Return the entry of certificates for what a model counts; empty if that is records."""
        return {"of": "lists"} if self.separators and model.needs_sensitive else {}


class CountedPersons(Records):
    """Units of each kind count, and values are those of records.

    Examples
    --------
    >>> from shoal.models import AlphaKAnonymity, LDiversity
    >>> persons = CountedPersons(kinds=(("name", "birthday"),))
    >>> persons.counted, persons.parts_of(KAnonymity(5)), persons.parts_of(LDiversity(2))
    (('name + birthday',), (UnitAnonymity(5),), (LDiversity(2),))
    >>> persons.parts_of(AlphaKAnonymity(0.5, 5))
    (AlphaKAnonymity(alpha=0.5, k=5), UnitAnonymity(5))
    >>> persons.parts_of(KMap(20, sampling_fraction=0.1))
    (UnitAnonymity(7),)
    """

    anonymity: ClassVar[type[UnitAnonymity]] = UnitAnonymity
    """k-anonymity of the units that are counted."""
    stated = frozenset({"persons", "records"})
    several = True
    # Their figures would show how many persons there are.
    hidden: ClassVar[tuple[type[PrivacyModel], ...]] = (AverageRisk, DeltaPresence)

    @property
    def counted(self) -> tuple[str, ...]:
        return tuple(" + ".join(kind) for kind in self.kinds)

    @property
    def implied(self) -> tuple[PrivacyModel, ...]:
        # A set with a k of its own makes the units known, to the other sets, too.
        return (KAnonymity(1),) * (bool(self.counted) and any(known.k is not None for known in self.sets))

    def parts_of(self, model: PrivacyModel) -> tuple[PrivacyModel, ...]:
        # k = 1 makes the units known to the algorithm and the verification.
        if isinstance(model, AverageRisk):
            return UnitAverageRisk(model.risk), self.anonymity(1)
        # k-map by a sampling fraction is k-anonymity, too.
        parts = tuple(self.anonymity(part.k) if isinstance(part, KAnonymity) else part for part in model.parts)
        also = isinstance(model, GroupModel) and _counts_units(model) and not isinstance(model, KAnonymity)
        return (*parts, self.anonymity(model.k)) if also else parts  # type: ignore[attr-defined]

    def check_models(self, models: Sequence[PrivacyModel]) -> None:
        super().check_models(models)
        for model in models:
            if len(self.kinds) > 1 and isinstance(model, TableModel) and model.people is not None:
                raise ParameterError(
                    model, " compares with a population, whose rows are units of one kind. Name one kind of unit."
                )
            # Counting rows, presence can only be too large.
            if isinstance(model, DeltaPresence) and exact_fraction(model.low) > 0:
                raise ParameterError(
                    model,
                    " has a lower bound, for which persons with several records cannot be counted. Set it to 0, or "
                    "give ",
                    Suggestion("rows_per_person", 1),
                    ".",
                )

    def state(self, model: PrivacyModel) -> dict[str, str]:
        return {"of": "persons" if _counts_units(model) else "records"}


class FurtherUnits(CountedPersons):
    """Units such as households count, and no column identifies persons.

    Each record is assumed to belong to a different person.
    """

    anonymity, stated, noted = FurtherAnonymity, frozenset({"units"}), MappingProxyType({"of": "units"})

    def state(self, model: PrivacyModel) -> dict[str, str]:
        return dict(self.noted) if _counts_units(model) else {}


class LinkedPersons(CountedPersons):
    """Persons count, in bundles that publish the same records; they have a column of pseudonyms."""

    stated = frozenset({"linked_persons"})
    pseudonym = PSEUDONYM

    def in_bundles(self, models: Sequence[PrivacyModel]) -> bool:
        return True

    def keeps(self, models: Sequence[PrivacyModel]) -> tuple[str, ...]:
        return ("together",)

    def state(self, model: PrivacyModel) -> dict[str, str]:
        return {"of": "linked_persons"}


class OneEach(Records):
    """Each person has one record, so that what holds for records holds for persons."""

    stated = frozenset({"one_record_each"})

    def state(self, model: PrivacyModel) -> dict[str, str]:
        return super().state(model) or {"of": "one_record_each"}


class OneEachAmongUnits(CountedPersons):
    """Each person has one record, so that persons need not be counted, but further kinds of units are."""

    anonymity = FurtherAnonymity
    stated, several, hidden = OneEach.stated, OneEach.several, OneEach.hidden

    @property
    def counted(self) -> tuple[str, ...]:
        return super().counted[1:]

    def state(self, model: PrivacyModel) -> dict[str, str]:
        return {"of": "one_record_each"}


def counting_of(
    kinds: Sequence[Kind], *, persons: bool = True, link: bool = False, most: int | None = None, **further: Any
) -> Records:
    """Choose the way of counting of rows that have these kinds of units.

    Parameters
    ----------
    kinds : sequence of tuple of str
        Whose the rows are.
    persons : bool
        Whether the first kind is persons.
    link : bool
        Whether the rows of a person are published together.
    most : int, optional
        Rows of each person that are published at most.
    **further
        The other fields of `Records`.
    """
    # With one row of each person, counting rows is counting persons.
    one_each = most == 1
    ways: tuple[type[Records], ...] = (
        (OneEach, OneEachAmongUnits) if one_each else (Records, CountedPersons if persons else FurtherUnits)
    )
    way = LinkedPersons if link else ways[len(kinds) > one_each]
    return way(kinds=tuple(kinds), most=most, **further)


def words_stated(certificate: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the words of a certificate for what its models count, such as "persons"; empty if it has none.

    Examples
    --------
    >>> words_stated({"requested": [{"model": "k-anonymity", "k": 5, "of": "persons"}]})
    ('persons',)
    """
    return tuple(dict.fromkeys(str(model["of"]) for model in certificate.get("requested") or () if model.get("of")))


def counting_stated(certificate: Mapping[str, Any]) -> Records:
    """Choose the way of counting that the models of a certificate state, as far as readers know it."""
    words = set(words_stated(certificate))
    way = next((way for way in (LinkedPersons, OneEach, FurtherUnits, CountedPersons) if words & way.stated), Records)
    return way(separators=(certificate.get("parameters") or {}).get("lists") or {})


def _counts_units(model: PrivacyModel) -> bool:
    """Check if a model counts units once units are protected: a model with a parameter k, or of people in all groups.

    A population has one row per unit, so that the models that compare with it count units.
    """
    # Models of sensitive values are about records.
    return isinstance(model, AverageRisk | KMap | DeltaPresence) or (
        isinstance(model, GroupModel) and hasattr(model, "k")
    )
