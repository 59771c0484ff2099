"""Coarsening of a column of labels to classes of at least k records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import polars as pl

from shoal._core.validation import Integer, OneOf, validate
from shoal.grouping.base import check_k
from shoal.grouping.coarsened_columns import (
    check_unambiguous,
    count_values,
    list_members,
    make_coarsened,
    name_classes,
    rank_members,
)
from shoal.grouping.labels.bin_covering import labels as group_labels
from shoal.hierarchy import Coarsening, CoarseningResult
from shoal.hierarchy.distinct_values import expand_to_rows
from shoal.table.text import dictionary_text


@dataclass(frozen=True, repr=True)
class Labels(Coarsening):
    """Coarsen labels without an order to classes of at least k records, with the largest as small as possible.

    Values are counted in the column itself. Missing values stay missing and do not count.

    Parameters
    ----------
    k : int
        Smallest number of records of a class.
    labels : {"members", "numbers"}
        Published value of a class. "members" is the set of its values, such as `{a, b}`, the value itself if there is
        only one, or a number if there are more than 256. "numbers" is `class 1`, `class 2`, ... from the largest class
        to the smallest.
    seed : int
        Seed of the random steps; the same column and seed give the same classes.

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
    """Smallest number of records of a class."""
    labels: str = field(default="members", kw_only=True)
    """Published value of a class: "members" or "numbers"."""
    seed: int = field(default=0, kw_only=True)
    """Seed of the random steps."""

    def __post_init__(self) -> None:
        check_k("Labels", self.k)
        validate(
            "Labels",
            {"labels": self.labels, "seed": self.seed},
            {"labels": OneOf(("members", "numbers")), "seed": Integer(low=0)},
        )

    def apply(self, columns: tuple[pl.Series, ...]) -> tuple[pl.Series, ...]:
        """Replace each value by its class; see `Coarsening.apply`."""
        return self.coarsen(columns).columns

    def coarsen(self, columns: tuple[pl.Series, ...]) -> CoarseningResult:
        """Replace each value by its class, with facts and a picture of the grouping; see `Coarsening.coarsen`."""
        (series,) = columns
        column, counts = count_values("Labels", series)
        grouping = group_labels(counts, self.k, seed=self.seed)
        text = dictionary_text(column.dictionary.drop_nulls())
        published = name_classes(
            grouping.classes,
            text,
            word="class",
            numbered=self.labels == "numbers",
            order=rank_members(column, text),
        )
        check_unambiguous(published, text)
        coarser = expand_to_rows(column, published, series.name)
        return make_coarsened(grouping, (coarser,), classes=list_members(published, text))

    def to_dict(self) -> dict[str, Any]:
        """Return the coarsening as it appears in a certificate."""
        return {"coarsening": "labels", "k": self.k, "labels": self.labels, "seed": self.seed}
