"""Coarsening of values to their ancestors at one level of a hierarchy."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.validation import Integer, validate
from shoal.errors import ParameterError
from shoal.hierarchy.coarsening import Coarsening, CoarseningResult
from shoal.hierarchy.distinct_values import encode_values, expand_to_rows, find_first_row
from shoal.hierarchy.reach import rank_values
from shoal.hierarchy.tree import Hierarchy
from shoal.table.natural_order import NUMBER
from shoal.table.text import dictionary_text

_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"


@dataclass(frozen=True)
class Level(Coarsening):
    """Coarsen values to their ancestors at one level of a hierarchy.

    The nodes are ordered if the values are ordered and every node covers a contiguous range of them. This depends on
    all values of the hierarchy, not only on those of the column, and on the type of the column. Text is ordered if all
    values of the hierarchy are numbers, or if all are ISO dates. A missing value stays missing, unless the hierarchy
    has a line for the empty value.

    Parameters
    ----------
    hierarchy : Hierarchy or path
        The hierarchy, or a file in the format of ARX.
    level : int
        Number of generalization steps: 0 keeps the values, and the height merges all of them.

    Examples
    --------
    >>> import polars as pl
    >>> tree = Hierarchy.from_rows([("flu", "lung", "*"), ("cough", "lung", "*"), ("ulcer", "stomach", "*")])
    >>> Level(tree, 1).apply((pl.Series("disease", ["ulcer", "flu", None]),))[0].to_list()
    ['stomach', 'lung', None]
    """

    takes_text: ClassVar[bool] = True
    streams: ClassVar[bool] = True
    """Whether the result depends on values but not on their frequencies."""

    hierarchy: Hierarchy | str | os.PathLike[str]
    """The hierarchy."""
    level: int
    """Number of generalization steps."""

    def __post_init__(self) -> None:
        # Files are read once, when the coarsening is created.
        tree = as_hierarchy("The 'hierarchy' parameter of Level", self.hierarchy)
        object.__setattr__(self, "hierarchy", tree)
        validate("Level", {"level": self.level}, {"level": Integer(low=0, high=tree.height)})

    def apply(self, columns: tuple[pl.Series, ...]) -> tuple[pl.Series, ...]:
        """Replace each value by its ancestor; see `Coarsening.apply`."""
        return self.coarsen(columns).columns

    def coarsen(self, columns: tuple[pl.Series, ...]) -> CoarseningResult:
        """Replace each value by its ancestor, and list the values of each node; see `Coarsening.coarsen`."""
        (series,) = columns
        column = encode_values(series)
        if column is None or self.level == 0:
            return CoarseningResult(columns=columns, classes={})
        tree = as_hierarchy("The hierarchy", self.hierarchy)
        # Look up the distinct values in the hierarchy, and take their ancestors.
        positions = tree.positions(
            dictionary_text(column.dictionary).to_list(), column=series.name, first_row=partial(find_first_row, column)
        )
        names, nodes = tree.labels[self.level], tree.levels[self.level][positions[positions >= 0]]
        labels = [names[node] for node in nodes.tolist()]
        # Ordered nodes are published as a category in their order.
        order = _order_of_nodes(tree, self.level, column.dictionary.dtype)
        kind = pl.String if order is None else pl.Enum([names[node] for node in order])
        coarser = expand_to_rows(column, pl.Series(labels, dtype=kind))
        # All values of the hierarchy belong to the classes, even if the column lacks them.
        classes: dict[str, list[str]] = {name: [] for name in labels}
        for value, node in zip(tree.values, tree.levels[self.level].tolist(), strict=True):
            classes.get(tree.labels[self.level][node], []).append(value)
        return CoarseningResult(columns=(coarser,), encoded=column, classes=classes)

    def to_dict(self) -> dict[str, Any]:
        """Serialize the coarsening as in a certificate."""
        tree = as_hierarchy("The hierarchy", self.hierarchy)
        return {"coarsening": "level", "level": self.level, "height": tree.height}


def _order_of_nodes(tree: Hierarchy, level: int, kind: pl.DataType) -> list[int] | None:
    """Order the nodes of a level by the values below them, or return None if they have no order.

    The order depends on the hierarchy and the type of the column, not on the values that occur in it.
    """
    places = _places(tree, kind)
    if places is None:
        return None
    # A node that starts twice covers no contiguous range.
    by_place = np.argsort(places, kind="stable")[np.count_nonzero(places < 0) :]
    nodes = tree.levels[level][by_place]
    starts = nodes[np.flatnonzero(np.diff(nodes, prepend=-1))]
    if len(starts) > len(np.unique(starts)):
        return None
    others = np.setdiff1d(tree.levels[level], starts)  # of values that such a column cannot have, or of the missing one
    return [*starts.tolist(), *others.tolist()]


def _places(tree: Hierarchy, kind: pl.DataType) -> NDArray[np.int64] | None:
    """Rank each value of a hierarchy within a column of a type, -1 if such a column cannot contain it.

    None if such columns have no order.
    """
    values = pl.Series(tree.values, dtype=pl.String)
    # Declared categories define the order themselves.
    if isinstance(kind, pl.Enum):
        declared = pl.DataFrame({"value": kind.categories, "place": np.arange(len(kind.categories))})
        placed = values.alias("value").to_frame().join(declared, on="value", how="left", maintain_order="left")
        return np.asarray(placed["place"].fill_null(-1).to_numpy(), dtype=np.int64)
    # Other types: rank those values that can be parsed.
    if kind.is_numeric():
        possible = values.cast(pl.Float64, strict=False).is_not_null()
    elif kind in (pl.Date, pl.Datetime, pl.Time):
        possible = values.str.contains("^[0-9]")
    elif kind == pl.String:
        possible = values != ""
        present = values.filter(possible)
        if not (present.str.contains(f"^{NUMBER}$").all() or present.str.contains(_DATE).all()):
            return None
    else:
        return None
    return np.where(possible.to_numpy(), rank_values(tree), -1)


def as_hierarchy(what: str, given: object) -> Hierarchy:
    """Return a hierarchy, reading it from its file if a path is given.

    Raises
    ------
    ParameterError
        If the argument is neither a hierarchy nor a path; the message starts with `what`.
    """
    if isinstance(given, Hierarchy):
        return given
    if isinstance(given, str | os.PathLike):
        # `~` in a path refers to the home directory.
        return Hierarchy.from_csv(Path(given).expanduser())
    raise ParameterError(f"{what} must be a Hierarchy or a path to its file. Got {type(given).__name__}.")


def drop_coarsened_levels(tree: Hierarchy, coarsening: object) -> Hierarchy:
    """Return the part of a column's hierarchy that remains after coarsening the column to one of its levels.

    If the column was not coarsened, or in another way, its values belong to the hierarchy itself, which is returned
    unchanged.
    """
    if isinstance(coarsening, Level):
        # Another hierarchy of the same column has other nodes.
        climbed = as_hierarchy("The hierarchy", coarsening.hierarchy)
        if climbed.labels == tree.labels and np.array_equal(climbed.levels, tree.levels):
            return tree.above(coarsening.level)
    return tree
