"""Which groups of a table fail which privacy model: their numbers and sizes, never their cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal._messages import PYTHON
from shoal.models.release_counts import ReleaseCounts
from shoal.verification.counting import count_and_place_groups
from shoal.verification.units import name_units
from shoal.verification.verify import refused, refused_release

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal._messages import Voice
    from shoal.models import PeopleCounts, PrivacyModel, Requirement

__all__ = ["Failure", "failures"]

_LISTED = 1000
"""Failing groups that a dictionary lists."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Failure:
    """One privacy model that a table fails, for one sensitive attribute where the model asks about these."""

    model: PrivacyModel
    """The model."""
    attribute: str | None
    """The sensitive attribute; None where the model does not ask about one."""
    groups: int
    """Groups of the table."""
    numbers: NDArray[np.int64]
    """The failing groups: groups are numbered from 1 in the order in which they first occur in the table."""
    sizes: NDArray[np.int64]
    """Rows of each failing group."""
    first_rows: NDArray[np.int64]
    """The row, from 1, in which each failing group first occurs."""
    found: str | None = None
    """What the table has, in words, where the model is one of a release as a whole: no group fails it alone, and none
    is listed."""
    achieved: Any = None
    """The same as a figure, or several by their names."""

    @property
    def sentence(self) -> str:
        """What fails, in how many groups and for how many rows."""
        return self.told(PYTHON)

    def told(self, voice: Voice) -> str:
        """Return what fails in the words of those who read it."""
        if self.found is not None:
            return f"The table fails {self.model.told(voice)}: {self.found}."
        about = "" if self.attribute is None else f" of '{self.attribute}'"
        return (
            f"The table fails {self.model.told(voice)}{about} in {len(self.numbers):,} of {self.groups:,} groups, "
            f"with {int(self.sizes.sum()):,} records."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the failure as a dictionary; it lists the first thousand failing groups."""
        if self.found is not None:
            found = {"attribute": None, "groups": self.groups, "found": self.achieved}
            return {"model": self.model.to_dict(), **found}
        columns = zip(self.numbers.tolist(), self.sizes.tolist(), self.first_rows.tolist(), strict=True)
        listed = [{"group": number, "size": size, "first_row": row} for number, size, row in list(columns)[:_LISTED]]
        return {
            "model": self.model.to_dict(),
            "attribute": self.attribute,
            "groups": self.groups,
            "failing_groups": len(self.numbers),
            "failing_rows": int(self.sizes.sum()),
            "failing": listed,
        }

    def __repr__(self) -> str:
        return f"Failure({self.model!r}, failing={len(self.numbers)} of {self.groups} groups)"


def failures(
    frame: pl.DataFrame,
    quasi_identifiers: Sequence[str],
    requirement: Requirement,
    people: PeopleCounts | None = None,
    *,
    times: NDArray[np.int64] | None = None,
    places: NDArray[np.int64] | None = None,
    units: pl.DataFrame | None = None,
) -> tuple[Failure, ...]:
    """Return which models of a requirement a table fails, and in which groups; empty where it satisfies all.

    Parameters
    ----------
    frame : polars.DataFrame
        Any table, one row per person, at least one row.
    quasi_identifiers : sequence of str
        Columns whose combinations make the groups.
    requirement : Requirement
        The models, asked of its sensitive attributes.
    people : PeopleCounts, optional
        How many people of the population fit the groups, where a model asks for that.
    times, places : int64 arrays, optional
        Where `frame` has rows that are alike only once: how often each stands in the table, and the row of the table,
        from 0, in which it does first. The rows are in the order of these.
    units : polars.DataFrame, optional
        Whose each row is, if the requirement counts units (`number_units`).
    """
    beside, named = name_units(frame, units)
    asked = [named.get(name, name) for name in requirement.attributes]
    counts, first_rows = count_and_place_groups(beside, quasi_identifiers, asked, times=times)
    if places is not None:
        first_rows = places[first_rows]
    numbers = np.argsort(np.argsort(first_rows)) + 1
    found = []
    release = ReleaseCounts.of(counts[0].sizes, people)
    none = numbers[:0]
    for whole in requirement.table_models:
        if refused_release(whole, release):
            figures = whole.measure(release)
            one = Failure(
                model=whole,
                attribute=None,
                groups=release.groups,
                numbers=none,
                sizes=none,
                first_rows=none,
                found=whole.describe(release),
                achieved=next(iter(figures.values())) if len(figures) == 1 else figures,
            )
            found.append(one)
    for model in requirement.group_models:
        for position in requirement.positions_of(model):
            of_groups = counts[position]
            attribute = requirement.attributes[position] if model.needs_sensitive else None
            failing = np.flatnonzero(refused(model, of_groups))
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
