"""Labels as a coarsening: a column of names becomes a column of classes of at least k records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from shoal._core.validation import Integer, OneOf, validate
from shoal.grouping.base import check_k
from shoal.grouping.coarsened_columns import (
    check_told_apart,
    class_names,
    coarsened,
    counted_values,
    members_of,
    order_of_members,
)
from shoal.grouping.labels.bin_covering import labels as group_labels
from shoal.hierarchy import Coarsening, CoarseningResult
from shoal.hierarchy.distinct_values import expand_to_rows
from shoal.recoding.star_symbol import dictionary_text

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Labels"]


@dataclass(frozen=True, repr=True)
class Labels(Coarsening):
    """Names without an order become classes of at least k records each, the largest as small as possible.

    The counts are those of the column itself; a missing value stays missing and does not count.

    Parameters
    ----------
    k : int
        What each class has at least.
    labels : {"members", "numbers"}
        What is published: the set of a class's values, `{a, b}` (a number where there are more than 256, and a single
        value as it is), or `class 1`, `class 2`, ... from the largest to the smallest.
    seed : int
        Of the solver's random steps: the same column and seed give the same classes.

    Examples
    --------
    >>> import polars as pl
    >>> diseases = pl.Series("disease", ["flu"] * 3 + ["gout"] * 2 + ["mumps"])
    >>> Labels(k=3).apply((diseases,))[0].unique().sort().to_list()
    ['flu', '{gout, mumps}']
    """

    takes: ClassVar[int] = 1
    takes_text: ClassVar[bool] = True

    k: int = field(kw_only=True)
    """What each class has at least."""
    labels: str = field(default="members", kw_only=True)
    """What is published for a class."""
    seed: int = field(default=0, kw_only=True)
    """Of the random steps."""

    def __post_init__(self) -> None:
        check_k("Labels", self.k)
        validate(
            "Labels",
            {"labels": self.labels, "seed": self.seed},
            {"labels": OneOf(("members", "numbers")), "seed": Integer(low=0)},
        )

    def apply(self, columns: tuple[pl.Series, ...]) -> tuple[pl.Series, ...]:
        """Return the column with a class for each value; see `Coarsening.apply`."""
        return self.coarsen(columns).columns

    def coarsen(self, columns: tuple[pl.Series, ...]) -> CoarseningResult:
        """Return the coarser column with what is to say and to draw of it; see `Coarsening.coarsen`."""
        (series,) = columns
        column, counts = counted_values("Labels", series)
        grouping = group_labels(counts, self.k, seed=self.seed)
        text = dictionary_text(column.dictionary.drop_nulls())
        published = class_names(
            grouping.classes,
            text,
            word="class",
            numbered=self.labels == "numbers",
            order=order_of_members(column, text),
        )
        check_told_apart(published, text)
        coarser = expand_to_rows(column, published, series.name)
        return coarsened(grouping, (coarser,), classes=members_of(published, text))

    def to_dict(self) -> dict[str, Any]:
        """Return the coarsening as it appears in a certificate."""
        return {"coarsening": "labels", "k": self.k, "labels": self.labels, "seed": self.seed}
