"""A table of everybody who may be meant, as models are given it."""

from __future__ import annotations

from os import PathLike, fspath
from typing import Any

from shoal.errors import ParameterError

__all__ = ["PopulationTable"]


class PopulationTable:
    """The table of a population: a frame, or where to read it. It is opened by whoever needs its rows.

    Two are the same where they are the same frame, or the same path. Its `repr` shows no cell.
    """

    name = "of a population table"

    def __init__(self, source: Any) -> None:
        self.source = source

    @classmethod
    def of(cls, source: Any, owner: str) -> PopulationTable:
        """Return the table of a population as it was given.

        Raises
        ------
        ParameterError
            Where it is neither a frame nor a path.
        """
        if isinstance(source, PopulationTable):
            return source
        if isinstance(source, str | PathLike) or hasattr(source, "columns") or hasattr(source, "column_names"):
            return cls(source)
        allowed = "a frame or a path: everybody who may be meant, the people of the table among them"
        raise ParameterError.refusing(owner, "population", allowed, got=type(source).__name__)

    @property
    def path(self) -> str | None:
        """Where it is read; None for a frame."""
        return fspath(self.source) if isinstance(self.source, str | PathLike) else None

    @property
    def flag(self) -> str:
        """What stands behind the option of the command line."""
        return self.path or ""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PopulationTable):
            return NotImplemented
        return self.source is other.source if self.path is None else self.path == other.path

    def __hash__(self) -> int:
        return id(self.source) if self.path is None else hash(self.path)

    def __repr__(self) -> str:
        return repr(self.path) if self.path is not None else f"<{type(self.source).__name__}>"
