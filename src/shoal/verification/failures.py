"""The groups of a table that fail a privacy model: their numbers and sizes, never their cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.words import quote_columns
from shoal._messages import PYTHON, Audience
from shoal.models import PrivacyModel
from shoal.models.base import GroupCounts
from shoal.models.release_counts import PeopleCounts, ReleaseCounts
from shoal.models.requirement import Requirement
from shoal.verification.column_sets import place_groups_of_sets
from shoal.verification.counting import count_and_place_groups
from shoal.verification.units import name_units
from shoal.verification.verify import find_failing_groups, release_fails

_MAX_GROUPS_LISTED = 1000
"""Largest number of failing groups that a dictionary lists."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Failure:
    """A privacy model that a table fails, for one sensitive attribute if the model needs one."""

    model: PrivacyModel
    """The model that fails."""
    attribute: str | None
    """The sensitive attribute; None if the model does not need one."""
    groups: int
    """Number of groups of the table."""
    numbers: NDArray[np.int64]
    """The failing groups, numbered from 1 in the order of their first rows."""
    sizes: NDArray[np.int64]
    """Number of rows of each failing group."""
    first_rows: NDArray[np.int64]
    """The first row, from 1, of each failing group."""
    found: str | None = None
    """The measured value in words, if the model is one of the whole release: then no single group fails it."""
    achieved: Any = None
    """The measured value as a figure, or several figures by name."""
    of: str = "records"
    """What sizes count: "records", or the "persons" of bundles of linked rows."""
    columns: tuple[str, ...] = ()
    """The set of quasi-identifiers whose groups fail; empty if all quasi-identifiers together make the groups."""

    @property
    def sentence(self) -> str:
        """The failure in one sentence: the model, the number of groups and the number of records."""
        return self.render(PYTHON)

    def render(self, audience: Audience) -> str:
        """Phrase the failure for an audience."""
        if self.found is not None:
            return f"The table fails {self.model.render(audience)}: {self.found}."
        about = "" if self.attribute is None else f" of '{self.attribute}'"
        about += f" for {quote_columns(self.columns)}" if self.columns else ""
        return (
            f"The table fails {self.model.render(audience)}{about} in {len(self.numbers):,} of {self.groups:,} groups, "
            f"with {int(self.sizes.sum()):,} {self.of}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Convert the failure to a dictionary, which lists the first thousand failing groups."""
        if self.found is not None:
            found = {"attribute": None, "groups": self.groups, "found": self.achieved}
            return {"model": self.model.to_dict(), **found}
        columns = zip(self.numbers.tolist(), self.sizes.tolist(), self.first_rows.tolist(), strict=True)
        listed = [
            {"group": number, "size": size, "first_row": row}
            for number, size, row in list(columns)[:_MAX_GROUPS_LISTED]
        ]
        return {
            "model": self.model.to_dict(),
            "attribute": self.attribute,
            **({"columns": list(self.columns)} if self.columns else {}),
            "groups": self.groups,
            "failing_groups": len(self.numbers),
            f"failing_{'rows' if self.of == 'records' else self.of}": int(self.sizes.sum()),
            "failing": listed,
        }

    def __repr__(self) -> str:
        return f"Failure({self.model!r}, failing={len(self.numbers)} of {self.groups} groups)"


def find_failures(
    frame: pl.DataFrame,
    quasi_identifiers: Sequence[str],
    requirement: Requirement,
    people: PeopleCounts | None = None,
    *,
    times: NDArray[np.int64] | None = None,
    places: NDArray[np.int64] | None = None,
    units: pl.DataFrame | None = None,
) -> tuple[Failure, ...]:
    """Find the models of a requirement that a table fails, and the failing groups; empty if the table satisfies all.

    Parameters
    ----------
    frame : polars.DataFrame
        Any table, one row per person, at least one row.
    quasi_identifiers : sequence of str
        Columns whose combinations make the groups.
    requirement : Requirement
        The models, and the sensitive attributes that they apply to.
    people : PeopleCounts, optional
        Number of people of the population who fit each group, if a model needs it.
    times, places : int64 arrays, optional
        If `frame` holds distinct rows only: the multiplicity of each row, and its first row in the whole table (from
        0), in ascending order.
    units : polars.DataFrame, optional
        The unit of each row, if the requirement counts units (`number_units`).
    """
    if requirement.sets:
        placed = place_groups_of_sets(frame, quasi_identifiers, requirement, times=times, units=units)
        return tuple(
            replace(failure, columns=one.columns)
            for one, counts, first_rows in placed
            for failure in _fail_groups(requirement.of_set(one), counts, first_rows, places)
        )
    with_units, named = name_units(frame, units)
    asked = [named.get(name, name) for name in requirement.attributes]
    counts, first_rows = count_and_place_groups(with_units, quasi_identifiers, asked, times=times)
    found = []
    units_of = requirement.fewest_units([one.population for one in counts])
    release = ReleaseCounts.of(counts[0].sizes, people, units_of)
    none = np.zeros(0, dtype=np.int64)
    # Models of the whole release: no single group fails them.
    for whole in requirement.table_models:
        if release_fails(whole, release):
            figures = whole.measure(release)
            one = Failure(
                model=whole,
                attribute=None,
                groups=release.groups,
                numbers=none,
                sizes=none,
                first_rows=none,
                found=whole.describe(release),
                achieved=next(iter(figures.values())) if len(figures) == 1 else figures or None,
            )
            found.append(one)
    return (*found, *_fail_groups(requirement, counts, first_rows, places))


def _fail_groups(
    requirement: Requirement,
    counts: Sequence[GroupCounts],
    first_rows: NDArray[np.int64],
    places: NDArray[np.int64] | None,
) -> tuple[Failure, ...]:
    """Find the models of groups that fail, with the failing groups in the order of their numbers."""
    # Rows were merged, so first rows refer to the whole table.
    if places is not None:
        first_rows = places[first_rows]
    # Groups are numbered in the order of their first rows, as readers meet them.
    numbers = np.argsort(np.argsort(first_rows)) + 1
    found = []
    for model in requirement.group_models:
        for position in requirement.positions_of(model):
            of_groups = counts[position]
            attribute = requirement.attributes[position] if model.needs_sensitive else None
            failing = np.flatnonzero(find_failing_groups(model, of_groups))
            failing = failing[np.argsort(numbers[failing])]
            if len(failing):
                one = Failure(
                    model=model,
                    attribute=attribute,
                    groups=len(of_groups.sizes),
                    numbers=numbers[failing],
                    sizes=of_groups.sizes[failing].astype(np.int64),
                    first_rows=first_rows[failing] + 1,
                )
                found.append(one)
    return tuple(found)
