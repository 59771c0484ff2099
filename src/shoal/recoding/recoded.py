"""The result of a recoding: published quasi-identifiers of every group of a partition."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.recoding.order import rank
from shoal.recoding.penalty import LARGEST_SET


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class SubDomains:
    """The values that each label of a column represents, as runs of dictionary codes.

    Label `i` represents every code from `first[r]` to `last[r]`, inclusive, for `starts[i] <= r < starts[i + 1]`. A
    kept value represents itself, a star the whole domain.
    """

    starts: NDArray[np.int64]
    """Index of each label's first run, followed by the number of runs."""
    first: NDArray[np.int32]
    """First code of each run; the runs of a label are ascending and not adjacent."""
    last: NDArray[np.int32]
    """Last code of each run."""

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of values that each label represents."""
        lengths = np.concatenate(([0], np.cumsum(self.last.astype(np.int64) - self.first + 1)))
        return lengths[self.starts[1:]] - lengths[self.starts[:-1]]


def build_sub_domains(starts: NDArray[np.int64], members: NDArray[np.int32]) -> SubDomains:
    """Convert sets of codes to runs of consecutive codes.

    Parameters
    ----------
    starts : int64 array
        Index of each label's first code in `members`, followed by the number of codes.
    members : int32 array
        Codes of all labels, label by label and ascending within each.
    """
    row = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    # A run begins if the label changes, or if the code is not the successor of the code before.
    apart = np.ones(len(members) + 1, dtype=np.bool_)
    apart[1:-1] = (row[1:] != row[:-1]) | (members[1:] != members[:-1] + 1)
    begin = np.flatnonzero(apart)
    return SubDomains(
        starts=np.searchsorted(row[begin[:-1]], np.arange(len(starts))).astype(np.int64),
        first=members[begin[:-1]],
        last=members[begin[1:] - 1],
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class RecodedColumn:
    """The published values of one quasi-identifier."""

    name: str
    labels: pl.Series
    """Distinct published values, ordered by the values that they represent, with a star last; `shown_order` gives the
    order of publication. If no cell was recoded, labels have the column's own type, otherwise they are text. A missing
    value is null."""
    group_codes: NDArray[np.int32]
    """Index in `labels` of each group's published value."""
    kept: NDArray[np.bool_]
    """Whether all rows of the group share the value, so that its cells are unchanged."""
    stars: NDArray[np.bool_]
    """Whether the group publishes a star."""
    penalty: NDArray[np.float64]
    """Normalized certainty penalty of one cell of the group: 0 if it is kept, 1 if it is a star."""
    sub_domains: SubDomains
    """Values of the domain that each label represents."""
    levels: NDArray[np.int32] | None = None
    """Generalization level of each group, the height for a star; None without a hierarchy."""
    height: int = 1
    """Height of the hierarchy; 1 without a hierarchy, because a single step turns a value into a star."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class PublishedClasses:
    """The equivalence classes of a release: groups with equal published cells form one class."""

    of_group: NDArray[np.int32]
    """Class of each group; classes are numbered in the order of their labels."""
    representatives: NDArray[np.int32]
    """One group of each class."""
    sizes: NDArray[np.int64]
    """Number of rows of each class."""

    @property
    def count(self) -> int:
        """Number of classes."""
        return len(self.sizes)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Recoding:
    """The published cells of every group of a partition, by quasi-identifier."""

    method: str
    """Recoding method, "suppression" or "generalization"."""
    star: str
    """Symbol of a suppressed value."""
    columns: tuple[RecodedColumn, ...]
    """Quasi-identifiers, in the order of the table."""
    sizes: NDArray[np.int64]
    """Number of rows of each group."""
    largest_set: int = LARGEST_SET
    """Largest number of values of a set; larger sets were published as stars."""

    @cached_property
    def rows(self) -> int:
        """Number of published rows."""
        return int(self.sizes.sum())

    @cached_property
    def stars(self) -> int:
        """Number of suppressed cells."""
        return sum(int(self.sizes[column.stars].sum()) for column in self.columns)

    @cached_property
    def suppressed_tuples(self) -> int:
        """Number of rows with at least one star."""
        return int(self.sizes[np.any([column.stars for column in self.columns], axis=0)].sum())

    @cached_property
    def recoded_cells(self) -> int:
        """Number of cells that differ from the original: stars and sub-domains."""
        return sum(int(self.sizes[~column.kept].sum()) for column in self.columns)

    @cached_property
    def recoded_tuples(self) -> int:
        """Number of rows with at least one recoded cell."""
        return int(self.sizes[np.any([~column.kept for column in self.columns], axis=0)].sum())

    @cached_property
    def classes(self) -> PublishedClasses:
        """The equivalence classes of the release."""
        groups = len(self.sizes)
        ranks, count = rank([(column.group_codes, len(column.labels)) for column in self.columns], groups)
        of_group = ranks.astype(np.int32)
        # Any group of a class can represent it.
        representatives = np.empty(count, dtype=np.int32)
        representatives[of_group] = np.arange(groups, dtype=np.int32)
        sizes = np.zeros(count, dtype=np.int64)
        np.add.at(sizes, of_group, self.sizes)
        return PublishedClasses(of_group=of_group, representatives=representatives, sizes=sizes)
