"""The goals of a request: the models that a release can satisfy, what prevents the others, and what mends them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any

import numpy as np
import polars as pl

from shoal._core.quoting import assigned, quote_for_shell
from shoal._core.validation import exact_fraction
from shoal._messages import Audience, Suggestion, current_audience
from shoal.errors import InfeasibleError
from shoal.hierarchy.fitting import SuggestedCoarsening, suggest_steps
from shoal.models import GroupModel, LDiversity, PrivacyModel, TCloseness
from shoal.models.base import GroupCounts
from shoal.models.population import Population
from shoal.models.requirement import Infeasible, Requirement
from shoal.request.request import Request

_LIKE_TABLE = 0.2
"""The t of groups that are like the table, if they cannot be diverse."""


@dataclass(frozen=True, kw_only=True)
class Goal:
    """A privacy model of a request, and whether some release of the table satisfies it."""

    model: PrivacyModel
    """The model."""
    error: InfeasibleError | None = field(default=None, repr=False)
    """Why no release satisfies it, with the best that is feasible; None if some release does."""
    columns: tuple[str, ...] = ()
    """The sensitive columns that prevent it."""
    steps: tuple[str, ...] = ()
    """Those that prevent it only by the steps that the request makes of their values."""
    mend: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The fields of the request to change so that it is feasible; empty if nothing is to change, or no change is
    known."""
    of: str = ""
    """What it counts, as certificates state it; empty if that is records and nothing suggests persons."""

    @property
    def feasible(self) -> bool:
        """Whether some release of the table satisfies the model."""
        return self.error is None

    def mended(self, request: Request) -> Request:
        """Return a request with the changes of `mend`."""
        return replace(request, **self.mend)

    def render(self, audience: Audience) -> str:
        """Phrase the verdict for an audience."""
        of = {"persons": ", of persons", "records": ", of one record of a person"}.get(self.of, "")
        return f"{self.model.render(audience)}{of}: possible." if self.error is None else self.error.render(audience)

    def to_dict(self) -> dict[str, Any]:
        """Return the goal as a dictionary, for JSON."""
        facts = {"feasible": self.feasible, "columns": list(self.columns), "steps": list(self.steps)}
        return {**self.model.to_dict(), **facts, "text": self.render(current_audience())}


def explain_goal(
    model: PrivacyModel,
    refused: Infeasible,
    requirement: Requirement,
    tables: Sequence[Population],
    request: Request,
    finer: pl.DataFrame | None,
) -> Goal:
    """Explain why no release satisfies a model: by values, or by steps of the request; and find a change that mends it.

    Parameters
    ----------
    model : PrivacyModel
        A model of the request.
    refused : Infeasible
        What no release satisfies of it.
    requirement : Requirement
        The requirement that was checked: all of the request, or this model alone.
    tables : sequence of Population
        The frequencies of each of its attributes in the whole table.
    request : Request
    finer : polars.DataFrame, optional
        The published rows of the columns with steps, before these.
    """
    part, names = refused.model, requirement.attributes
    if not isinstance(part, GroupModel):
        return Goal(model=model, error=refused.error)
    columns = tuple(names[at] for at in refused.positions) if part.needs_sensitive and not part.of_units else ()
    # Steps that are too coarse can be finer; values of the table cannot.
    steps: dict[str, SuggestedCoarsening] = {}
    if finer is not None and isinstance(part, LDiversity) and part.variant == "frequency" and not part.harmless:
        found = ((name, _finer_steps(finer[name], part)) for name in columns if name in finer.columns)
        steps = {name: one for name, one in found if one is not None}
    error, mend = refused.error, dict[str, Any]()
    if steps:
        mend["coarsen"] = {**(request.coarsen or {}), **{name: one.words for name, one in steps.items()}}
        asked = {name: _suggest(name, one) for name, one in steps.items()}
        error = requirement.explain_infeasible(part, refused.positions, tables, asked)
    others = [tables[at] for at in refused.positions if not columns or names[at] not in steps]
    if others:
        mend |= _replace_model(request, model, _weaken(model, part, others))
    return Goal(model=model, error=error, columns=columns, steps=tuple(steps), mend=mend)


def _suggest(name: str, steps: SuggestedCoarsening) -> Suggestion:
    words = quote_for_shell(assigned([name], steps.words, listed=True))
    return Suggestion("coarsen", words, python=f"coarsen={{{name!r}: {steps.python}}}")


def _finer_steps(column: pl.Series, model: LDiversity) -> SuggestedCoarsening | None:
    """Suggest steps of a column that l-diversity allows; None if its values are not numbers, or forbid it."""
    column = column.drop_nulls()
    numbers = column.cast(pl.Float64, strict=False)
    if column.dtype.is_temporal() or numbers.null_count() or not len(numbers):
        return None
    counted = pl.DataFrame({"value": numbers}).group_by("value", maintain_order=True).len()
    counts = counted["len"].to_numpy().astype(np.int64)
    l = exact_fraction(model.l)
    if counts.max() * l > len(numbers):
        return None
    return suggest_steps(counted["value"], counts, column.name, l=ceil(l))


def _weaken(model: PrivacyModel, part: GroupModel, tables: Sequence[Population]) -> PrivacyModel | None:
    """Find a weaker model that some release satisfies: the largest parameter, or groups that are like the table."""
    name = next((name for name in ("l", "k") if hasattr(part, name)), "")
    low, high = 1, ceil(exact_fraction(getattr(part, name))) if name else 1
    # Smaller parameters are weaker: `low` is feasible (or bounds nothing), `high` is not.
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _is_feasible(replace(part, **{name: middle}), tables) else (low, middle)
    if low > 1:
        return replace(model, **{name: low})
    # Every table is like itself, so that this is feasible for any values.
    return TCloseness(_LIKE_TABLE) if part.needs_sensitive and not part.of_units else None


def _is_feasible(model: GroupModel, tables: Sequence[Population]) -> bool:
    return all(bool(model.acceptable(GroupCounts.whole(one))[0]) for one in tables)


def _replace_model(request: Request, model: PrivacyModel, new: PrivacyModel | None) -> dict[str, Any]:
    """Replace a model of a request; a second model of its kind is not needed."""
    if new is None:
        return {}
    listed = [one for one in request.requirement.models if one != model]
    listed += [] if any(isinstance(one, type(new)) for one in listed) else [new]
    return {"privacy": tuple(listed), "k": None, "l": None, "t": None, "harmless": None}
