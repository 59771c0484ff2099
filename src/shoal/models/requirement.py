"""The conjunction of privacy models that a release must satisfy, with their sensitive attributes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal._messages import Part, Suggestion
from shoal.errors import InfeasibleError, ParameterError
from shoal.models.anonymity import KAnonymity
from shoal.models.base import GroupCounts, GroupModel, PrivacyModel, ReleaseRule, Rule, TableModel
from shoal.models.column_sets import ColumnSet
from shoal.models.counting import Records
from shoal.models.differential_privacy import DifferentialPrivacy
from shoal.models.diversity import LDiversity
from shoal.models.feasible import SensitiveCounts
from shoal.models.linear import LinearForm
from shoal.models.population import Population
from shoal.models.population_table import PopulationTable
from shoal.models.promises import check_together
from shoal.models.rationals import neighbours
from shoal.models.release_counts import ReleaseCounts
from shoal.wording import Sentence


class Infeasible(NamedTuple):
    """A model that no release of a table satisfies."""

    model: PrivacyModel
    """The model."""
    positions: tuple[int, ...]
    """The attributes whose counts violate it, by position; empty for a model of the whole release."""
    error: InfeasibleError
    """The error with the best that is feasible, and advice."""


@dataclass(frozen=True, kw_only=True)
class FrequencyForm:
    """A requirement of the exact form "|G| >= k and l * h(G) <= |G|" on at most one sensitive attribute."""

    k: int
    """Smallest allowed group size."""
    l: Fraction
    """At most one in `l` rows of a group may share a sensitive value; 1 if frequencies are not restricted."""
    sensitive: int | None
    """Position of the sensitive attribute that `l` refers to, or None if `l` is 1."""

    def within(self, rows: int) -> FrequencyForm:
        """Return an equivalent form for groups of at most `rows` rows whose `l` has small terms.

        The numerator and the denominator of the new `l` are at most `rows`, so that kernels can multiply them by counts
        of rows. The share h / |G| has a denominator of at most `rows`, so replacing 1 / l by the largest such fraction
        below it changes no decision.

        Examples
        --------
        >>> FrequencyForm(k=1, l=Fraction(10**18, 3 * 10**17 - 1), sensitive=0).within(100).l
        Fraction(97, 29)
        """
        # A share of 0 means that no group of this size is acceptable; then l stays as it is.
        share = neighbours(1 / self.l, max(rows, 1))[0]
        return self if share == 0 else replace(self, l=1 / share)


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """A conjunction of privacy models, each applied to the sensitive attributes that it concerns."""

    models: tuple[PrivacyModel, ...]
    """The requested models."""
    sensitive: tuple[str, ...]
    """Names of the sensitive attributes; a model that needs one applies to each of them."""
    counting: Records = field(default_factory=Records)
    """What the models count."""

    @classmethod
    def of(
        cls,
        models: PrivacyModel | Sequence[PrivacyModel],
        sensitive: Sequence[str],
        counting: Records | None = None,
    ) -> Requirement:
        """Create a requirement from one model or several.

        Parameters
        ----------
        models : PrivacyModel or sequence of PrivacyModel
        sensitive : sequence of str
            Names of the sensitive attributes.
        counting : Records, optional
            What the models count; records by default.

        Raises
        ------
        ParameterError
            If there is no model, if an element is not a model, if a model needs a sensitive attribute and none is
            named, or if it cannot be asked of what is counted.
        """
        counting = counting or Records()
        listed: tuple[Any, ...] = tuple(models) if isinstance(models, Iterable) else (models,)
        if not listed:
            raise ParameterError.refusing(
                "anonymize", "privacy", "at least one privacy model, such as KAnonymity(5)", got="none"
            )
        for model in listed:
            if not isinstance(model, GroupModel | TableModel):
                got = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
                raise ParameterError.refusing(
                    "anonymize", "privacy", "a privacy model or a list of them, such as KAnonymity(5)", got=got
                )
            if model.needs_sensitive and not sensitive:
                raise ParameterError(
                    model, " needs a sensitive attribute: name one with ", Suggestion("sensitive"), "."
                )
        # Population members are counted once, for all models.
        populations = {model.people for model in listed if isinstance(model, TableModel)} - {None}
        if len(populations) > 1:
            raise ParameterError("All models that refer to a population must be given the same population table.")
        asked = {
            "knows" if counting.knows is not None else "qi_sets": counting.sets,
            "link": counting.pseudonym,
            # Lists are measured in any case, but are of no concern to an algorithm if no model reads them.
            "lists": counting.separators and counting.in_bundles(listed),
            "harmless": any(isinstance(model, LDiversity) and model.harmless for model in listed),
            "of_release": any(isinstance(model, TableModel) for model in listed),
            "epsilon": (sampling := [model for model in listed if isinstance(model, DifferentialPrivacy)]),
            "second_epsilon": len(sampling) > 1,
        }
        check_together([name for name, there in asked.items() if there])
        counting.check_models(listed)
        return cls(models=listed, sensitive=tuple(sensitive), counting=counting)

    def of_set(self, known: ColumnSet) -> Requirement:
        """Return the requirement of the groups of one set of quasi-identifiers."""
        others = (model for model in self.models if not isinstance(model, KAnonymity))
        models = (*self.counting.implied, *self.models) if known.k is None else (KAnonymity(known.k), *others)
        return replace(self, counting=replace(self.counting, sets=(), knows=None), models=models)

    @cached_property
    def with_own_values(self) -> Requirement:
        """The equivalent requirement for a table in which each harmless row has a value of its own.

        It is the same object if there are no harmless values, or if another model reads sensitive values as they are.
        """
        # Every model that reads the attribute must list the same values.
        reading = [model for model in self.models if _reads_attribute(model)]
        listed = {model.harmless if isinstance(model, LDiversity) else () for model in reading}
        if len(listed) != 1 or listed == {()}:
            return self
        models = (model.with_own_values() if isinstance(model, LDiversity) else model for model in self.models)
        return replace(self, models=tuple(models))

    @cached_property
    def parts(self) -> tuple[PrivacyModel, ...]:
        """The models to check for rows; see `Records.parts`."""
        return self.counting.parts(self.models)

    @property
    def keeps(self) -> tuple[str, ...]:
        """How rows are chosen to be published; see `Records.keeps`."""
        return self.counting.keeps(self.models)

    @cached_property
    def counts_units(self) -> bool:
        """Whether some model counts owners."""
        return any(model.of_units for model in self.group_models)

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The attributes whose values models count: the kinds of owners if a model counts them, then sensitive ones."""
        if not self.counts_units:
            return self.sensitive
        return self.counting.counted + (
            self.sensitive if any(_uses_values(model) for model in self.group_models) else ()
        )

    def positions_of(self, model: GroupModel) -> range:
        """Find the positions of the attributes that a model applies to; 0 for a model of group sizes alone."""
        begin = len(self.counting.counted) if self.counts_units else 0
        if model.of_units:
            return range(begin)
        return range(begin, len(self.attributes)) if model.needs_sensitive else range(1)

    @cached_property
    def population(self) -> PopulationTable | None:
        """The population table that the models refer to, or None if no model does."""
        return next((model.people for model in self.table_models if model.people is not None), None)

    @cached_property
    def group_models(self) -> tuple[GroupModel, ...]:
        """The models that every group must satisfy."""
        return tuple(part for part in self.parts if isinstance(part, GroupModel))

    @cached_property
    def table_models(self) -> tuple[TableModel, ...]:
        """The models that the release must satisfy as a whole."""
        return tuple(part for part in self.parts if isinstance(part, TableModel))

    @property
    def measured(self) -> tuple[PrivacyModel, ...]:
        """The models whose figures the published table shows: readers do not know the owners that others count."""
        return tuple(model for model in self.models if not isinstance(model, self.counting.hidden))

    @property
    def sampling(self) -> DifferentialPrivacy | None:
        """The model that publishes a random sample of the records, or None if all may be published."""
        return next((model for model in self.models if isinstance(model, DifferentialPrivacy)), None)

    @property
    def monotone(self) -> bool:
        """Whether merging two groups never violates a model of groups."""
        return all(model.monotone for model in self.group_models)

    @property
    def reads_sensitive(self) -> bool:
        """Whether a model reads a sensitive attribute, or counts owners."""
        return any(model.needs_sensitive for model in self.parts)

    @property
    def compares_with_table(self) -> bool:
        """Whether some model requires that groups resemble the table."""
        return any(model.compares_with_table for model in self.group_models)

    @property
    def k(self) -> int:
        """Smallest group size according to the models with a parameter k; 1 if there is none."""
        own = [one.k for one in self.counting.sets if one.k is not None]
        return max([1, *own, *(int(getattr(model, "k", 1)) for model in self.group_models)])

    @property
    def least_size(self) -> int:
        """Smallest group size that all models together imply, at least 1."""
        return max([self.k, *(model.least_rows() for model in self.group_models)])

    @property
    def harmless(self) -> tuple[str, ...]:
        """The sensitive values that need no protection, as they are named."""
        named = (value for model in self.models if isinstance(model, LDiversity) for value in model.harmless)
        return tuple(dict.fromkeys(named))

    @property
    def value_share(self) -> Fraction | None:
        """The largest share of a group that one sensitive value may have, or None if no model bounds it."""
        models = [
            model.with_own_values() if isinstance(model, LDiversity) else model
            for model in self.group_models
            if _uses_values(model)
        ]
        forms = [model.frequency_form() for model in models]
        l = max([Fraction(1), *(form[1] for form in forms if form is not None)])
        return 1 / l if l > 1 else None

    def to_list(self) -> list[dict[str, Any]]:
        """Serialize the models as in a certificate, with what each of them is about, and each set that has own models.

        All sets of a number of columns come last, as one.
        """
        sets, knows = self.counting.sets, self.counting.knows
        named = [one for one in sets if knows is None or one.k is not None or len(one.columns) != knows]
        scopes: list[tuple[int | None, dict[str, Any]]] = [(one.k, {"columns": list(one.columns)}) for one in named]
        scopes += [(None, {"knows": knows})] * (knows is not None)
        return [
            {**model.to_dict(), **self.counting.state(model), **scope}
            for k, scope in scopes or [(None, {})]
            for model in (self.models if k is None else self.of_set(ColumnSet(columns=(), k=k)).models)
        ]

    def frequency_form(self) -> FrequencyForm | None:
        """Combine all models of groups into one `FrequencyForm` if that is exact, else return None."""
        k, l = 1, Fraction(1)
        bounded: set[int] = set()
        for model in self.group_models:
            form = model.frequency_form()
            if form is None:
                return None
            k, l = max(k, form[0]), max(l, form[1])
            bounded.update(self.positions_of(model) if form[1] > 1 else ())
        # A frequency bound on several attributes, or not on the first one, has no such form.
        if l > 1 and bounded != {0}:
            return None
        return FrequencyForm(k=k, l=l, sensitive=0 if l > 1 else None)

    @property
    def is_linear(self) -> bool:
        """Whether every model of groups can be expressed as linear inequalities on a group's counts."""
        return all(model.is_linear for model in self.group_models)

    def linear_forms(self, tables: Sequence[Population]) -> tuple[tuple[int, LinearForm], ...]:
        """Return the linear form of every model with the position of its sensitive attribute (0 if it needs none).

        Parameters
        ----------
        tables : sequence of Population
            As for `rules`. The requirement must be linear.
        """
        forms: list[tuple[int, LinearForm]] = []
        for model in self.group_models:
            for position in self.positions_of(model):
                form = model.linear_form(tables[position])
                # `is_linear` is a precondition.
                assert form is not None
                forms.append((position, form))
        return tuple(forms)

    def drawing_order(self, table: Population, position: int = 0) -> NDArray[np.integer]:
        """Order the codes of an attribute so that similar values are adjacent.

        The first model of the attribute at `position` with such an order decides. If there is none, values are ordered
        by descending frequency.
        """
        for model in self.group_models:
            order = model.drawing_order(table) if position in self.positions_of(model) else None
            if order is not None:
                return order
        return np.argsort(-table.totals, kind="stable")

    def rules(self, tables: Sequence[Population]) -> tuple[tuple[int, Rule], ...]:
        """Compile all models of groups into clauses with the position of their sensitive attribute (0 if none).

        Parameters
        ----------
        tables : sequence of Population
            Frequencies of each sensitive attribute in the whole table. If there is no sensitive attribute: one
            population with a single value.
        """
        clauses: list[tuple[int, Rule]] = []
        for model in self.group_models:
            # A model without a sensitive attribute is compiled once.
            for position in self.positions_of(model):
                clauses.extend((position, rule) for rule in model.rules(tables[position]))
        return tuple(clauses)

    def release_rules(self, tables: Sequence[Population]) -> tuple[ReleaseRule, ...]:
        """Compile all models of the whole release into clauses; `tables` as for `rules`."""
        table = self._table_of_release(tables)
        return tuple(rule for model in self.table_models for rule in model.release_rules(table))

    def _table_of_release(self, tables: Sequence[Population]) -> Population:
        """Select the frequencies that models of the whole release read: of owners, the kind that has the fewest."""
        # All tables have the same rows; the fewest owners are the worst case.
        return (
            min(tables[: len(self.counting.counted)], key=lambda one: one.distinct) if self.counts_units else tables[0]
        )

    def fewest_owners(self, tables: Sequence[Population]) -> int | None:
        """Count the owners of the kind that has the fewest; None if no model counts owners.

        Parameters
        ----------
        tables : sequence of Population
            As for `rules`.
        """
        return self._table_of_release(tables).distinct if self.counts_units else None

    def check_feasible(self, tables: Sequence[Population], people: int | None = None) -> None:
        """Check that the whole table, as one group, is acceptable; for monotone models, a release then exists."""
        for one in self.find_infeasible(tables, people):
            raise one.error

    def find_infeasible(self, tables: Sequence[Population], people: int | None = None) -> Iterator[Infeasible]:
        """Yield each model that the whole table, as one group, violates."""
        # Sets of quasi-identifiers differ in k only.
        for known in {one.k: one for one in self.counting.sets or [ColumnSet(columns=())]}.values():
            yield from self.of_set(known)._find_infeasible_groups(tables, people)

    def _find_infeasible_groups(self, tables: Sequence[Population], people: int | None) -> Iterator[Infeasible]:
        """Yield each model that the whole table, as one group, violates; see `find_infeasible`."""
        # Models of the whole release: a single group is the best case of a monotone model.
        for whole in self.table_models:
            single = ReleaseCounts.whole(tables[0].rows, people, self.fewest_owners(tables))
            if whole.monotone and not whole.satisfied(single):
                best = whole.best_feasible(self._table_of_release(tables))
                yield Infeasible(whole, (), InfeasibleError("No release can satisfy ", whole, ": ", best, "."))
        # Models of groups, for each sensitive attribute.
        for model in self.group_models:
            positions = self.positions_of(model)
            if isinstance(model, LDiversity):
                model.check_occurrence([tables[position] for position in positions])
            if model.needs_sensitive:
                for position in positions:
                    model.check_values(tables[position].domain, attribute=self.attributes[position])
            refused = [
                position
                for position in positions
                if model.monotone and not bool(model.acceptable(GroupCounts.whole(tables[position]))[0])
            ]
            if refused:
                yield Infeasible(model, tuple(refused), self._infeasible(model, refused, tables))

    def _infeasible(self, model: GroupModel, refused: Sequence[int], tables: Sequence[Population]) -> InfeasibleError:
        """Create the error with the best feasible parameters for all sensitive attributes that violate a model."""
        if not model.needs_sensitive:
            # The whole table is the best group.
            best_of_all = model.best_feasible(tables[0])
            return InfeasibleError("No release can satisfy ", model, ": ", best_of_all, ".")
        return self.explain_infeasible(model, refused, tables)

    def explain_infeasible(
        self,
        model: GroupModel,
        refused: Sequence[int],
        tables: Sequence[Population],
        finer: Mapping[str, Suggestion] = MappingProxyType({}),
    ) -> InfeasibleError:
        """Create the error of a model that some sensitive attributes violate.

        Parameters
        ----------
        model : GroupModel
        refused : sequence of int
            Positions of the attributes that violate it.
        tables : sequence of Population
            As for `rules`.
        finer : mapping of column to Suggestion
            The columns that violate it by their steps, not by their values, with steps that do not.
        """
        # Attributes with the same best parameter share a clause.
        best: dict[Part, list[str]] = {}
        for position in refused:
            best.setdefault(model.best_feasible(tables[position]), []).append(self.attributes[position])
        # Quoted in the order of the attributes.
        clauses: list[Part] = []
        for value, names in best.items():
            quoted = Sentence(Fact("names", columns=tuple(names)))
            clauses += [";" if clauses else "", " of ", quoted, ": ", value]
        counts = [one for one in SensitiveCounts.of(self.attributes, tables) if one.name not in finer]
        advice = model.advise(counts) if {self.attributes[at] for at in refused} - {*finer} else ""
        steps = [(" ", Sentence(Fact("steps_too_coarse", column=name, asked=one))) for name, one in finer.items()]
        said = [part for pair in steps for part in pair] + ([" ", advice] if advice else [])
        return InfeasibleError("No release can satisfy ", model, *clauses, ".", *said)


def _reads_attribute(model: PrivacyModel) -> bool:
    """Check if a model is about a sensitive attribute; objects that are not checked yet may lack the property."""
    return bool(getattr(model, "needs_sensitive", False))


def _uses_values(model: GroupModel) -> bool:
    """Check if a model is about sensitive values."""
    return model.needs_sensitive and not model.of_units
