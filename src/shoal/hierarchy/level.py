"""Values as the nodes of a hierarchy, all at one level."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from shoal._validation import Integer, validate
from shoal.errors import ParameterError
from shoal.hierarchy.coarsening import Coarsened, Coarsening
from shoal.hierarchy.columns import by_code, encoded, in_order
from shoal.hierarchy.tree import Hierarchy
from shoal.table.text import dictionary_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Level", "as_hierarchy", "tree_after"]


@dataclass(frozen=True)
class Level(Coarsening):
    """Values become their nodes at one level of a hierarchy.

    Where the values of the column are ordered and every node stands for a run of them, the nodes are ordered, too. A
    missing value stays missing, unless the hierarchy has a line for it, whose value is empty.

    Parameters
    ----------
    hierarchy : Hierarchy or path
        The tree, or a file of it as ARX writes it.
    level : int
        How many steps up: 0 leaves the values as they are, the height makes them all one.

    Examples
    --------
    >>> import polars as pl
    >>> tree = Hierarchy.from_rows([("flu", "lung", "*"), ("cough", "lung", "*"), ("ulcer", "stomach", "*")])
    >>> Level(tree, 1).apply((pl.Series("disease", ["ulcer", "flu", None]),))[0].to_list()
    ['stomach', 'lung', None]
    """

    takes_text: ClassVar[bool] = True

    hierarchy: Hierarchy | str | os.PathLike[str]
    """The tree."""
    level: int
    """How many steps up."""

    def __post_init__(self) -> None:
        tree = as_hierarchy("The 'hierarchy' parameter of Level", self.hierarchy)
        object.__setattr__(self, "hierarchy", tree)
        validate("Level", {"level": self.level}, {"level": Integer(low=0, high=tree.height)})

    def apply(self, columns: tuple[pl.Series, ...]) -> tuple[pl.Series, ...]:
        """Return the column with the node of each value; see `Coarsening.apply`."""
        return self.applied(columns).columns

    def applied(self, columns: tuple[pl.Series, ...]) -> Coarsened:
        """Return the coarser column, and which values each node stands for; see `Coarsening.applied`."""
        (series,) = columns
        column = encoded(series)
        if column is None or self.level == 0:
            return Coarsened(columns=columns, classes={})
        tree = as_hierarchy("The hierarchy", self.hierarchy)
        positions = tree.positions(dictionary_text(column.dictionary).to_list(), column=series.name)
        names, nodes = tree.labels[self.level], tree.levels[self.level][positions[positions >= 0]]
        labels = [names[node] for node in nodes.tolist()]
        if len(labels) == column.size:  # no value is missing, or the hierarchy says what becomes of a missing one
            present = column.size - column.has_missing
            ordered = column.ordered and _in_runs(nodes[:present])
            kind = pl.Enum(list(dict.fromkeys(labels))) if ordered else pl.String
            coarser = pl.Series(labels, dtype=kind).gather(pl.Series(column.codes)).alias(series.name)
        elif column.ordered and _in_runs(nodes):
            coarser = in_order(column, labels, series.name)
        else:
            coarser = by_code(column, pl.Series(labels, dtype=pl.String), series.name)
        classes: dict[str, list[str]] = {name: [] for name in labels}
        for value, node in zip(tree.values, tree.levels[self.level].tolist(), strict=True):
            classes.get(tree.labels[self.level][node], []).append(value)
        return Coarsened(columns=(coarser,), classes=classes)

    def to_dict(self) -> dict[str, Any]:
        """Return the coarsening as it appears in a certificate."""
        tree = as_hierarchy("The hierarchy", self.hierarchy)
        return {"coarsening": "level", "level": self.level, "height": tree.height}


def _in_runs(nodes: NDArray[np.int32]) -> bool:
    """Return whether equal nodes stand side by side."""
    return int(np.count_nonzero(np.diff(nodes))) + 1 == len(np.unique(nodes))


def as_hierarchy(what: str, given: object) -> Hierarchy:
    """Return a hierarchy, read from its file where a path was given.

    Raises
    ------
    ParameterError
        Where something else was given; the message starts with `what`.
    """
    if isinstance(given, Hierarchy):
        return given
    if isinstance(given, str | os.PathLike):
        return Hierarchy.from_csv(Path(given).expanduser())
    raise ParameterError(f"{what} must be a Hierarchy or a path to its file. Got {type(given).__name__}.")


def tree_after(tree: Hierarchy, coarsening: object) -> Hierarchy:
    """Return what is left of a column's hierarchy when the column was coarsened to one of its levels.

    The hierarchy itself where the column was coarsened otherwise, or not at all: it has the coarser values then.
    """
    if isinstance(coarsening, Level):
        climbed = as_hierarchy("The hierarchy", coarsening.hierarchy)
        if climbed.labels == tree.labels and np.array_equal(climbed.levels, tree.levels):
            return tree.above(coarsening.level)
    return tree
