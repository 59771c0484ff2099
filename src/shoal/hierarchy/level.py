"""Values as the nodes of a hierarchy, all at one level."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from shoal._core.validation import Integer, validate
from shoal.errors import ParameterError
from shoal.hierarchy.coarsening import Coarsened, Coarsening
from shoal.hierarchy.distinct_values import encoded
from shoal.hierarchy.reach import ranks_of
from shoal.hierarchy.tree import Hierarchy
from shoal.table.natural_order import NUMBER
from shoal.table.text import dictionary_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Level", "as_hierarchy", "tree_after"]

_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"


@dataclass(frozen=True)
class Level(Coarsening):
    """Values become their nodes at one level of a hierarchy.

    The nodes are ordered where the values are and every node stands for a run of them. What counts are all values of
    the hierarchy, whether or not the column has them, and the type of the column; text is ordered where all values of
    the hierarchy are numbers, or all are dates as 2020-01-31. A missing value stays missing, unless the hierarchy has a
    line for it, whose value is empty.

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
    streams: ClassVar[bool] = True
    """Whether a table that is read in pieces can be coarsened so: only values matter, not how many rows have them."""

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
        order = _order_of_nodes(tree, self.level, column.dictionary.dtype)
        kind = pl.String if order is None else pl.Enum([names[node] for node in order])
        published = pl.Series(labels, dtype=kind)
        if len(labels) < column.size:  # the hierarchy does not say what becomes of a missing value
            published = published.extend_constant(None, 1)
        coarser = published.rechunk().gather(pl.Series(column.codes)).alias(series.name)
        classes: dict[str, list[str]] = {name: [] for name in labels}
        for value, node in zip(tree.values, tree.levels[self.level].tolist(), strict=True):
            classes.get(tree.labels[self.level][node], []).append(value)
        return Coarsened(columns=(coarser,), classes=classes)

    def to_dict(self) -> dict[str, Any]:
        """Return the coarsening as it appears in a certificate."""
        tree = as_hierarchy("The hierarchy", self.hierarchy)
        return {"coarsening": "level", "level": self.level, "height": tree.height}


def _order_of_nodes(tree: Hierarchy, level: int, kind: pl.DataType) -> list[int] | None:
    """Return the nodes of a level in the order of the values below them; None where they have none.

    That depends on the hierarchy and the type of the column, not on which values it has.
    """
    places = _places(tree, kind)
    if places is None:
        return None
    by_place = np.argsort(places, kind="stable")[np.count_nonzero(places < 0) :]
    nodes = tree.levels[level][by_place]
    starts = nodes[np.flatnonzero(np.diff(nodes, prepend=-1))]
    if len(starts) > len(np.unique(starts)):
        return None
    others = np.setdiff1d(tree.levels[level], starts)  # of values that such a column cannot have, or of the missing one
    return [*starts.tolist(), *others.tolist()]


def _places(tree: Hierarchy, kind: pl.DataType) -> NDArray[np.int64] | None:
    """Return where each value of a hierarchy stands in a column of a type, -1 for what no such column has.

    None where such columns have no order.
    """
    values = pl.Series(tree.values, dtype=pl.String)
    if isinstance(kind, pl.Enum):
        declared = pl.DataFrame({"value": kind.categories, "place": np.arange(len(kind.categories))})
        placed = values.alias("value").to_frame().join(declared, on="value", how="left", maintain_order="left")
        return np.asarray(placed["place"].fill_null(-1).to_numpy(), dtype=np.int64)
    if kind.is_numeric():
        possible = values.cast(pl.Float64, strict=False).is_not_null()
    elif kind in (pl.Date, pl.Datetime, pl.Time):
        possible = values.str.contains("^[0-9]")
    elif kind == pl.String:
        possible = values != ""
        said = values.filter(possible)
        if not (said.str.contains(f"^{NUMBER}$").all() or said.str.contains(_DATE).all()):
            return None
    else:
        return None
    return np.where(possible.to_numpy(), ranks_of(tree), -1)


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
