"""A recoding: what every group of a partition publishes instead of its rows' quasi-identifiers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from shoal.recoding.order import rank
from shoal.recoding.penalty import LARGEST_SET

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

__all__ = ["RecodedColumn", "Recoding", "SubDomains", "sub_domains_of"]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class SubDomains:
    """The values that each label of a column stands for, as runs of dictionary codes.

    Label `i` stands for every code from `first[r]` to `last[r]`, both included, for `starts[i] <= r < starts[i + 1]`. A
    kept value stands for itself, a star for the whole domain.
    """

    starts: NDArray[np.int64]
    """Where each label's runs start; one more than there are labels."""
    first: NDArray[np.int32]
    """First code of each run; the runs of a label ascend and do not touch."""
    last: NDArray[np.int32]
    """Last code of each run."""

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of values that each label stands for."""
        lengths = np.concatenate(([0], np.cumsum(self.last.astype(np.int64) - self.first + 1)))
        return lengths[self.starts[1:]] - lengths[self.starts[:-1]]

    def __repr__(self) -> str:
        return f"SubDomains(labels={len(self.starts) - 1})"


def sub_domains_of(starts: NDArray[np.int64], members: NDArray[np.int32]) -> SubDomains:
    """Return sets of codes as runs of consecutive ones.

    Parameters
    ----------
    starts : int64 array
        Where the codes of each label start in `members`; one more than there are labels.
    members : int32 array
        The codes of label after label, ascending within each.
    """
    row = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
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
    """One quasi-identifier as it is published."""

    name: str
    labels: pl.Series
    """The distinct published values, by the values that they stand for, a star last (`shown_order` is how they are
    published). They have the column's own type where no cell was recoded, else they are text; a missing value stays
    null."""
    group_codes: NDArray[np.int32]
    """The published value of each group, as a position in `labels`."""
    kept: NDArray[np.bool_]
    """Whether all rows of the group share the value, so that its cells are unchanged."""
    stars: NDArray[np.bool_]
    """Whether the group publishes a star."""
    penalty: NDArray[np.float64]
    """Normalized certainty penalty of one cell of the group: 0 where it is kept, 1 where it is a star."""
    sub_domains: SubDomains
    """The values of the domain that each label stands for."""
    levels: NDArray[np.int32] | None = None
    """How many steps up its hierarchy each group publishes a node, the height for a star; None without a hierarchy."""
    height: int = 1
    """How many steps its hierarchy has; without one, a step makes a value a star."""

    def __repr__(self) -> str:
        return f"RecodedColumn({self.name!r}, groups={len(self.group_codes)}, labels={len(self.labels)})"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class PublishedClasses:
    """The equivalence classes that a reader of the release sees: groups with equal published cells are one class."""

    of_group: NDArray[np.int32]
    """Class of each group; classes are numbered in the order of their labels."""
    representatives: NDArray[np.int32]
    """A group of each class."""
    sizes: NDArray[np.int64]
    """Rows of each class."""

    @property
    def count(self) -> int:
        """Number of classes."""
        return len(self.sizes)

    def __repr__(self) -> str:
        return f"PublishedClasses(groups={len(self.of_group)}, classes={self.count})"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Recoding:
    """What every group of a partition publishes, quasi-identifier by quasi-identifier."""

    method: str
    """How it was made: "suppression" or "generalization"."""
    star: str
    """The symbol that stands for a suppressed value."""
    columns: tuple[RecodedColumn, ...]
    """The quasi-identifiers, in the order of the table."""
    sizes: NDArray[np.int64]
    """Rows of each group."""
    largest_set: int = LARGEST_SET
    """Sets of more values were published as stars."""

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
        return int(self.sizes[self._any_group([column.stars for column in self.columns])].sum())

    @cached_property
    def recoded_cells(self) -> int:
        """Number of cells that are not published as they were: stars and sub-domains."""
        return sum(int(self.sizes[~column.kept].sum()) for column in self.columns)

    @cached_property
    def recoded_tuples(self) -> int:
        """Number of rows with at least one recoded cell."""
        return int(self.sizes[self._any_group([~column.kept for column in self.columns])].sum())

    @cached_property
    def classes(self) -> PublishedClasses:
        """The equivalence classes of the release; groups with equal published cells are one class."""
        groups = len(self.sizes)
        ranks, count = rank([(column.group_codes, len(column.labels)) for column in self.columns], groups)
        of_group = ranks.astype(np.int32)
        representatives = np.empty(count, dtype=np.int32)
        representatives[of_group] = np.arange(groups, dtype=np.int32)
        sizes = np.zeros(count, dtype=np.int64)
        np.add.at(sizes, of_group, self.sizes)
        return PublishedClasses(of_group=of_group, representatives=representatives, sizes=sizes)

    def _any_group(self, masks: list[NDArray[np.bool_]]) -> NDArray[np.bool_]:
        result = np.zeros(len(self.sizes), dtype=np.bool_)
        for mask in masks:
            result |= mask
        return result

    def __repr__(self) -> str:
        return f"Recoding({self.method!r}, rows={self.rows}, groups={len(self.sizes)}, stars={self.stars})"
