"""Check that published cells are within the limits of levels, by the names of the nodes alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import polars as pl

from shoal.errors import ReleaseUnsafeError
from shoal.verification.cell_syntax import cell_text, read_cell
from shoal.verification.meaning import Tree


def check_level_limits(
    published: pl.DataFrame,
    *,
    quasi_identifiers: Sequence[str],
    limits: Mapping[str, tuple[int, int]],
    trees: Mapping[str, Tree],
    values: Mapping[str, Collection[str]],
    star: str = "*",
) -> None:
    """Check that each cell has a name of an allowed level; rows of stars only are suppressed, and always allowed.

    Parameters
    ----------
    published : polars.DataFrame
        The release.
    quasi_identifiers : sequence of str
    limits : mapping of column to pair of int
        The lowest and the highest level of some columns.
    trees : mapping of column to Tree
        Hierarchies. Other columns have level 0, their values, and level 1.
    values : mapping of column to collection of str
        The values of limited columns without a hierarchy.
    star : str
        The symbol of a suppressed cell.

    Raises
    ------
    ReleaseUnsafeError
        If cells are outside of the limits. The message names the columns, never a cell.

    Examples
    --------
    >>> frame = pl.DataFrame({"age": ["20", "*"], "zip": ["47677", "*"]})
    >>> names = ["age", "zip"]
    >>> check_level_limits(frame, quasi_identifiers=names, limits={"age": (0, 0)}, trees={}, values={"age": ["20"]})
    """
    if not limits or not published.height:
        return
    shown = published.select(cell_text(published[name]).alias(name) for name in quasi_identifiers)
    # Missing cells are values.
    kept = shown.filter(~pl.all_horizontal(pl.all().eq_missing(pl.lit(star))))
    for name, (low, high) in limits.items():
        tree = trees.get(name)
        by_level = [] if tree is None else _names_of_several(tree)
        # From the first level on whose only node is the root, cells are stars.
        first = 0 if tree is None else next(up for up, names in enumerate(tree.labels) if up and len(names) == 1)
        for text in kept.get_column(name).unique().to_list():
            if tree is None:
                levels = _levels_without_tree(text, values[name], star)
            else:
                levels = _levels_of_name(text, by_level, star, low, first)
            if not any(low <= level <= high for level in levels):
                raise ReleaseUnsafeError(
                    f"The release has cells of '{name}' outside of the limits of its levels. Nothing was published. "
                    "This is a bug in shoal: please report it."
                )


def _names_of_several(tree: Tree) -> list[set[str]]:
    """List the names of the nodes of each level; above level 0, those of several values and the root."""
    found = [set(tree.labels[0])]
    for names, nodes in zip(tree.labels[1:], tree.levels[1:], strict=True):
        leaves = np.bincount(nodes, minlength=len(names))
        found.append({name for name, count in zip(names, leaves.tolist(), strict=True) if count > 1 or len(names) == 1})
    return found


def _levels_without_tree(text: str | None, values: Collection[str], star: str) -> Collection[int]:
    if text == star:
        return (1,)
    generalized = text is not None and text not in values and read_cell(text, star).kind in ("interval", "set")
    return (1,) if generalized else (0,)


def _levels_of_name(
    text: str | None, by_level: Sequence[Collection[str]], star: str, low: int, first: int
) -> Collection[int]:
    """Return the levels with a node of a name; a node of one value is at level 0, and a missing value is in all."""
    height = len(by_level) - 1
    if text is None and "" not in by_level[0]:
        return range(height)
    if text == star:
        return (height, *((low,) if low >= first else ()))
    found = [level for level in range(height) if (text or "") in by_level[level]]
    return found or (0,)
