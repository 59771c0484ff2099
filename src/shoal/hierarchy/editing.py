"""Create and edit hierarchies by hand: merge nodes under a name, and insert levels."""

from __future__ import annotations

from collections.abc import Sequence

from shoal._core.validation import Integer, validate
from shoal.errors import ParameterError
from shoal.hierarchy.tree import Hierarchy


def join_nodes(tree: Hierarchy, nodes: Sequence[str], name: str, *, level: int = 1) -> Hierarchy:
    """Merge nodes of the level below into one named node.

    The ancestors of the new node are those of the first merged node. Nodes that lose all their children are removed.

    Parameters
    ----------
    tree : Hierarchy
        The hierarchy to edit; it is not modified.
    nodes : sequence of str
        Names of nodes of the level below, or of values if `level` is 1.
    name : str
        Name of the merged node. If a node of the same level has this name, it absorbs the others.
    level : int
        Level of the merged node: at least 1 and below the height. `insert_level` inserts a level.

    Returns
    -------
    Hierarchy

    Raises
    ------
    ParameterError
        If none of the nodes exists, or if the name is empty.
    DataError
        If the result is not a hierarchy, for example because the name denotes other values at another level.

    Examples
    --------
    >>> from shoal.hierarchy import flat_hierarchy
    >>> tree = insert_level(flat_hierarchy(["flu", "cough", "ulcer"]), 1)
    >>> join_nodes(tree, ["flu", "cough"], "lung").rows()
    [('cough', 'lung', '*'), ('flu', 'lung', '*'), ('ulcer', 'ulcer', '*')]
    """
    validate("join_nodes", {"level": level}, {"level": Integer(low=1, high=max(tree.height - 1, 1))})
    # The root cannot absorb other nodes.
    if level >= tree.height:
        raise ParameterError("The hierarchy has no level to join nodes on: add one with insert_level(tree, 1).")
    if not name.strip():
        raise ParameterError.refusing("join_nodes", "name", "the name of the node", got="nothing")
    chosen, rows = set(nodes), tree.rows()
    # Rows below the merged nodes.
    joined = [row for row in rows if row[level - 1] in chosen]
    if not joined:
        raise ParameterError.refusing("join_nodes", "nodes", f"names of nodes of level {level - 1}", got="others")
    # The ancestors come from an existing node of that name, or from the first merged node.
    taking = next((row for row in rows if row[level] == name), joined[0])
    return Hierarchy.from_rows(
        ((*row[:level], name, *taking[level + 1 :]) if row[level - 1] in chosen else row for row in rows),
        source=tree.source,
    )


def insert_level(tree: Hierarchy, level: int) -> Hierarchy:
    """Insert a level into a hierarchy; each node of the new level has the node below as its only child.

    Parameters
    ----------
    tree : Hierarchy
        The hierarchy to edit; it is not modified.
    level : int
        Number of the new level, from 1 to the height (directly below the root).

    Returns
    -------
    Hierarchy

    Examples
    --------
    >>> from shoal.hierarchy import flat_hierarchy
    >>> insert_level(flat_hierarchy(["a", "b"]), 1).rows()
    [('a', 'a', '*'), ('b', 'b', '*')]
    """
    validate("insert_level", {"level": level}, {"level": Integer(low=1, high=max(tree.height, 1))})
    # Each row repeats its node of the level below.
    return Hierarchy.from_rows(
        ((*row[:level], row[level - 1], *row[level:]) for row in tree.rows()), source=tree.source
    )
