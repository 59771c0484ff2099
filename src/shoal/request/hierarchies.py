"""The hierarchies of a request, read from their files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike

from shoal.errors import ColumnError, ParameterError, near_matches
from shoal.hierarchy import Hierarchy, as_hierarchy


def trees_of(
    hierarchies: Mapping[str, Hierarchy | str | PathLike[str]], allowed: Sequence[str]
) -> dict[str, Hierarchy]:
    """Return the hierarchies of columns; paths are read."""
    if not isinstance(hierarchies, Mapping):
        raise ParameterError(
            f"The 'hierarchies' parameter must map names of columns to hierarchies. Got {type(hierarchies).__name__}."
        )
    # Check the columns before any file is read.
    for name in hierarchies:
        if name not in allowed:
            raise ColumnError(
                f"The column '{name}' cannot have a hierarchy: not a quasi-identifier. {near_matches(name, allowed)}"
            )
    return {name: as_hierarchy(f"The hierarchy of '{name}'", given) for name, given in hierarchies.items()}
