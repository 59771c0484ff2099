"""A requirement: the models that a release must satisfy together, each bound to a sensitive attribute."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal._core.words import quote_columns
from shoal._messages import Suggestion
from shoal.errors import InfeasibleError, ParameterError
from shoal.models.base import GroupCounts, GroupModel, TableModel
from shoal.models.feasible import SensitiveCounts
from shoal.models.rationals import neighbours
from shoal.models.release_counts import ReleaseCounts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shoal.models.base import PrivacyModel, ReleaseRule, Rule
    from shoal.models.linear import LinearForm
    from shoal.models.population import Population
    from shoal.models.population_table import PopulationTable

__all__ = ["FrequencyForm", "Requirement"]


@dataclass(frozen=True, kw_only=True)
class FrequencyForm:
    """A requirement that is exactly "|G| >= k and l * h(G) <= |G|" on at most one sensitive attribute."""

    k: int
    """Smallest allowed group."""
    l: Fraction
    """At most one in `l` rows of a group may share a sensitive value; 1 asks nothing."""
    sensitive: int | None
    """Position of the sensitive attribute that `l` speaks of; None when `l` is 1."""

    def within(self, rows: int) -> FrequencyForm:
        """Return the form that says the same of any group of at most so many rows, with an `l` of small integers.

        Both the numerator and the denominator of its `l` are at most `rows`, so that kernels can multiply them by
        counts of rows: h / |G| <= 1 / l, a fraction of denominator up to `rows`, holds if and only if it holds of the
        largest such fraction.

        Examples
        --------
        >>> FrequencyForm(k=1, l=Fraction(10**18, 3 * 10**17 - 1), sensitive=0).within(100).l
        Fraction(97, 29)
        """
        share = neighbours(1 / self.l, max(rows, 1))[0]
        return self if share == 0 else replace(self, l=1 / share)


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """The conjunction of privacy models, each asked of the sensitive attributes that it concerns."""

    models: tuple[PrivacyModel, ...]
    """The models as they were requested."""
    sensitive: tuple[str, ...]
    """Names of the sensitive attributes; a model that needs one is asked of each."""

    @classmethod
    def of(cls, models: PrivacyModel | Sequence[PrivacyModel], sensitive: Sequence[str]) -> Requirement:
        """Make a requirement of one model or several.

        Raises
        ------
        ParameterError
            Where there is no model, something that is no model, or a model that needs a sensitive attribute and none
            is named.
        """
        listed: tuple[Any, ...] = tuple(models) if isinstance(models, Iterable) else (models,)
        if not listed:
            raise ParameterError.refusing(
                "anonymize", "privacy", "at least one privacy model, KAnonymity(5) for example", got="none"
            )
        for model in listed:
            if not isinstance(model, GroupModel | TableModel):
                got = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
                raise ParameterError.refusing(
                    "anonymize", "privacy", "a privacy model or a list of them, KAnonymity(5) for example", got=got
                )
            if model.needs_sensitive and not sensitive:
                raise ParameterError(
                    model, " needs a sensitive attribute: name one with ", Suggestion("sensitive"), "."
                )
        populations = {model.people for model in listed if isinstance(model, TableModel)} - {None}
        if len(populations) > 1:
            raise ParameterError("All models that ask about a population must be given the same table of it.")
        return cls(models=listed, sensitive=tuple(sensitive))

    @cached_property
    def parts(self) -> tuple[PrivacyModel, ...]:
        """The models that are checked: a model that is asked for in terms of others is these."""
        return tuple(part for model in self.models for part in getattr(model, "parts", (model,)))

    @cached_property
    def population(self) -> PopulationTable | None:
        """The table of the population that models ask about; None where none does."""
        return next((model.people for model in self.table_models if model.people is not None), None)

    @cached_property
    def group_models(self) -> tuple[GroupModel, ...]:
        """The models that every group satisfies."""
        return tuple(part for part in self.parts if isinstance(part, GroupModel))

    @cached_property
    def table_models(self) -> tuple[TableModel, ...]:
        """The models that the release satisfies as a whole."""
        return tuple(part for part in self.parts if isinstance(part, TableModel))

    @property
    def monotone(self) -> bool:
        """Whether joining two groups never breaks a model of groups."""
        return all(model.monotone for model in self.group_models)

    @property
    def compares_with_table(self) -> bool:
        """Whether some model asks that groups be like the table."""
        return any(model.compares_with_table for model in self.group_models)

    @property
    def k(self) -> int:
        """The rows that every group has at least, by the models that name a k; 1 where none does."""
        return max([1, *(int(getattr(model, "k", 1)) for model in self.group_models)])

    @property
    def least_size(self) -> int:
        """The rows that every group has at least, as the models imply; 1 where they imply nothing."""
        sizes = [self.k]
        for model in self.group_models:
            form = model.frequency_form()
            sizes += [model.necessary_distinct(), *(math.ceil(share) for share in form or ())]
        return max(sizes)

    def to_list(self) -> list[dict[str, Any]]:
        """Return the request as it appears in a certificate."""
        return [model.to_dict() for model in self.models]

    def frequency_form(self) -> FrequencyForm | None:
        """Return what is asked of every group as one `FrequencyForm` when it is exactly that, else None."""
        k, l = 1, Fraction(1)
        for model in self.group_models:
            form = model.frequency_form()
            if form is None:
                return None
            k, l = max(k, form[0]), max(l, form[1])
        if l > 1 and len(self.sensitive) != 1:
            return None
        return FrequencyForm(k=k, l=l, sensitive=0 if l > 1 else None)

    @property
    def is_linear(self) -> bool:
        """Whether every model of groups is linear inequalities on a group's counts."""
        return all(model.is_linear for model in self.group_models)

    def linear_forms(self, tables: Sequence[Population]) -> tuple[tuple[int, LinearForm], ...]:
        """Return the form of every model with the position of its sensitive attribute (0 where it looks at none).

        Parameters
        ----------
        tables : sequence of Population
            As for `rules`. The requirement is linear.
        """
        forms: list[tuple[int, LinearForm]] = []
        for model in self.group_models:
            for position in range(len(self.sensitive)) if model.needs_sensitive else range(1):
                form = model.linear_form(tables[position])
                assert form is not None
                forms.append((position, form))
        return tuple(forms)

    def drawing_order(self, table: Population) -> NDArray[np.integer]:
        """Return the codes of an attribute's values in an order in which values that are alike stand together.

        The first model that has such an order decides; without one the most frequent value comes first.
        """
        for model in self.group_models:
            order = model.drawing_order(table)
            if order is not None:
                return order
        return np.argsort(-table.totals, kind="stable")

    def rules(self, tables: Sequence[Population]) -> tuple[tuple[int, Rule], ...]:
        """Return every clause with the position of its sensitive attribute (0 where it looks at none).

        Parameters
        ----------
        tables : sequence of Population
            The whole table: one for each sensitive attribute; where there is none, one with a single value.
        """
        clauses: list[tuple[int, Rule]] = []
        for model in self.group_models:
            positions = range(len(self.sensitive)) if model.needs_sensitive else range(1)
            for position in positions:
                clauses.extend((position, rule) for rule in model.rules(tables[position]))
        return tuple(clauses)

    def release_rules(self, tables: Sequence[Population]) -> tuple[ReleaseRule, ...]:
        """Return every clause on the whole release; `tables` as for `rules`."""
        return tuple(rule for model in self.table_models for rule in model.release_rules(tables[0]))

    def check_feasible(self, tables: Sequence[Population], people: int | None = None) -> None:
        """Check that the whole table, as one group, is acceptable: for monotone models, that some release exists.

        Parameters
        ----------
        tables : sequence of Population
            As for `rules`.
        people : int, optional
            People of the population that models ask about.

        Raises
        ------
        ParameterError
            Where a sensitive attribute is of no kind that a model can be asked of.
        InfeasibleError
            Names the model that fails, the best value that would work for each attribute, and what else would.
        """
        for whole in self.table_models:
            if whole.monotone and not whole.satisfied(ReleaseCounts.whole(tables[0].rows, people)):
                raise InfeasibleError("No release can satisfy ", whole, f": {whole.best_feasible(tables[0])}.")
        for model in self.group_models:
            positions = range(len(self.sensitive)) if model.needs_sensitive else range(1)
            if model.needs_sensitive:
                for position in positions:
                    model.check_values(tables[position].domain, attribute=self.sensitive[position])
            refused = [
                position
                for position in positions
                if model.monotone and not bool(model.acceptable(GroupCounts.whole(tables[position]))[0])
            ]
            if refused:
                raise self._infeasible(model, refused, tables)

    def _infeasible(self, model: GroupModel, refused: Sequence[int], tables: Sequence[Population]) -> InfeasibleError:
        """Return the error that names the best feasible values of all sensitive attributes that refuse a model."""
        if not model.needs_sensitive:
            return InfeasibleError("No release can satisfy ", model, f": {model.best_feasible(tables[0])}.")
        best: dict[str, list[str]] = {}
        for position in refused:
            best.setdefault(model.best_feasible(tables[position]), []).append(self.sensitive[position])
        said = ";".join(f" of {quote_columns(names)}: {value}" for value, names in best.items())
        advice = model.advise(
            [
                SensitiveCounts(name=name, rows=table.rows, height=table.height, distinct=table.distinct)
                for name, table in zip(self.sensitive, tables, strict=True)
            ]
        )
        return InfeasibleError("No release can satisfy ", model, f"{said}.", *([" ", advice] if advice else []))
