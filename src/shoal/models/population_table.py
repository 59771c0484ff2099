"""The population table that some models take as a parameter."""

from __future__ import annotations

from os import PathLike, fspath
from typing import Any

from shoal.errors import ParameterError


class PopulationTable:
    """The table of a population, given as a frame or a path and opened when its rows are needed.

    Two population tables are equal if they are the same frame object or have the same path. The `repr` shows no cell.
    """

    name = "of a population table"

    def __init__(self, source: Any) -> None:
        self.source = source

    @classmethod
    def of(cls, source: Any, owner: str) -> PopulationTable:
        """Wrap a population table given by a user.

        Raises
        ------
        ParameterError
            If the source is neither a frame nor a path.
        """
        if isinstance(source, PopulationTable):
            return source
        # Frames are recognized by their interface, because no frame library is required.
        if isinstance(source, str | PathLike) or hasattr(source, "columns") or hasattr(source, "column_names"):
            return cls(source)
        allowed = "a frame or a path: a table of the whole population, including the people of the input table"
        raise ParameterError.refusing(owner, "population", allowed, got=type(source).__name__)

    @property
    def path(self) -> str | None:
        """The path of the table, or None for a frame."""
        return fspath(self.source) if isinstance(self.source, str | PathLike) else None

    @property
    def flag(self) -> str:
        """Argument of the command-line option."""
        return self.path or ""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PopulationTable):
            return NotImplemented
        # Comparing the cells of two frames would be slow.
        return self.source is other.source if self.path is None else self.path == other.path

    def __hash__(self) -> int:
        return id(self.source) if self.path is None else hash(self.path)

    def __repr__(self) -> str:
        return repr(self.path) if self.path is not None else f"<{type(self.source).__name__}>"
