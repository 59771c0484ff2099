"""Relative dates: whole days since the first date of the person, in place of dates that may be known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from shoal._core.validation import Instance, Optional, validate
from shoal.errors import UnsupportedError
from shoal.hierarchy.coarsening import Coarsening


@dataclass(frozen=True)
class SinceFirst(Coarsening):
    """Replace dates by whole days since the first of these dates of the person, in any row: true, unlike shifted dates.

    A key of several columns, such as `("admitted", "discharged")`, counts all of them from their common first date. The
    columns need not be quasi-identifiers, but they are published. Only `shoal.anonymize` counts days.

    Parameters
    ----------
    then : Coarsening, optional
        A coarsening of the days, such as `Bins(7)`, of each column.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> from datetime import date
    >>> days = [date(2024, month, 1) for month in (1, 2, 3, 4)]
    >>> visits = pl.DataFrame({"patient": [1, 1, 2, 2], "admitted": days, "disease": ["a", "b", "b", "a"]})
    >>> release = shoal.anonymize(
    ...     visits, quasi_identifiers=["admitted"], sensitive="disease", person="patient", link=True, k=2,
    ...     coarsen={"admitted": SinceFirst()}, order="admitted", seed=1,
    ... )
    >>> sorted(release.data["admitted"])
    [0, 0, 31, 31]
    """

    per_person: ClassVar[bool] = True
    """Whether the result depends on whose each row is."""

    then: Coarsening | None = None
    """A coarsening of the days."""

    def __post_init__(self) -> None:
        validate("SinceFirst", {"then": self.then}, {"then": Optional(Instance(Coarsening))})

    def apply(self, columns: tuple[pl.Series, ...]) -> tuple[pl.Series, ...]:
        """Refuse columns without persons; `shoal.anonymize` counts the days when it reads a table.

        Raises
        ------
        UnsupportedError
            Always.
        """
        raise UnsupportedError(
            "Days since the first date of a person are counted by anonymize alone. Leave out SinceFirst here."
        )

    def to_dict(self) -> dict[str, Any]:
        """Serialize the coarsening as in a certificate."""
        return {"coarsening": "since-first", **({} if self.then is None else {"then": self.then.to_dict()})}
