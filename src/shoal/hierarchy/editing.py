"""Hierarchies made and changed by hand: nodes joined under a name, and levels that are added."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shoal._core.validation import Integer, validate
from shoal.errors import DataError, ParameterError
from shoal.hierarchy.distinct_values import encoded
from shoal.hierarchy.tree import Hierarchy
from shoal.table.text import dictionary_text

if TYPE_CHECKING:
    import polars as pl

__all__ = ["flat_hierarchy", "join_nodes", "with_level"]

_ROOT = "*"


def flat_hierarchy(values: pl.Series | Sequence[Any]) -> Hierarchy:
    """Return the values under one root, with no level between: what groups by hand begin with.

    Parameters
    ----------
    values : series or sequence
        The column; missing values are left out.

    Raises
    ------
    DataError
        Where the column has no value.

    Examples
    --------
    >>> flat_hierarchy(["b", "a", "b"]).rows()
    [('a', '*'), ('b', '*')]
    """
    import polars as pl

    column = encoded(values if isinstance(values, pl.Series) else pl.Series("values", list(values)))
    if column is None:
        raise DataError("flat_hierarchy needs a column with a value: this one has none.")
    texts = dictionary_text(column.dictionary.drop_nulls()).to_list()
    root = _ROOT
    while root in texts:
        root += _ROOT
    return Hierarchy.from_rows((text, root) for text in texts)


def join_nodes(tree: Hierarchy, nodes: Sequence[str], name: str, *, level: int = 1) -> Hierarchy:
    """Return the hierarchy with some nodes of the level below under one node, which has a name.

    What is above it is what was above the first of them; nodes that lose all that was below them disappear.

    Parameters
    ----------
    tree : Hierarchy
    nodes : sequence of str
        Names of nodes of the level below, or of values where `level` is 1.
    name : str
        What the node is called. A node of that level that has the name already takes them in.
    level : int
        The level of the node: at least 1, and below the height. `with_level` adds one.

    Raises
    ------
    ParameterError
        Where none of the nodes is there, or the name is empty.
    DataError
        Where the result is no hierarchy: the name stands for other values at another level, say.

    Examples
    --------
    >>> tree = with_level(flat_hierarchy(["flu", "cough", "ulcer"]), 1)
    >>> join_nodes(tree, ["flu", "cough"], "lung").rows()
    [('cough', 'lung', '*'), ('flu', 'lung', '*'), ('ulcer', 'ulcer', '*')]
    """
    validate("join_nodes", {"level": level}, {"level": Integer(low=1, high=max(tree.height - 1, 1))})
    if level >= tree.height:
        raise ParameterError("The hierarchy has no level to join nodes on: add one with with_level(tree, 1).")
    if not name.strip():
        raise ParameterError.refusing("join_nodes", "name", "the name of the node", got="nothing")
    chosen, rows = set(nodes), tree.rows()
    joined = [row for row in rows if row[level - 1] in chosen]
    if not joined:
        raise ParameterError.refusing("join_nodes", "nodes", f"names of nodes of level {level - 1}", got="others")
    taking = next((row for row in rows if row[level] == name), joined[0])
    return Hierarchy.from_rows(
        ((*row[:level], name, *taking[level + 1 :]) if row[level - 1] in chosen else row for row in rows),
        source=tree.source,
    )


def with_level(tree: Hierarchy, level: int) -> Hierarchy:
    """Return the hierarchy with one more level, on which everything is as on the level below.

    Parameters
    ----------
    tree : Hierarchy
    level : int
        Its number: from 1 to the height, which makes it the last below the root.

    Examples
    --------
    >>> with_level(flat_hierarchy(["a", "b"]), 1).rows()
    [('a', 'a', '*'), ('b', 'b', '*')]
    """
    validate("with_level", {"level": level}, {"level": Integer(low=1, high=max(tree.height, 1))})
    return Hierarchy.from_rows(
        ((*row[:level], row[level - 1], *row[level:]) for row in tree.rows()), source=tree.source
    )
