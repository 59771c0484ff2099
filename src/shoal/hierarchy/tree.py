"""A generalization hierarchy: every value of an attribute, and what it becomes level by level.

Level 0 holds the values themselves, the last level one node that stands for all of them. The file form is ARX's: a
line for each value, from the value to the root, divided by semicolons.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal._core.private_files import privately
from shoal.errors import DataError
from shoal.io import read_lines, write_lines

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Hierarchy"]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Hierarchy:
    """A tree over the values of an attribute, all of its leaves at the same depth.

    References
    ----------
    L. Sweeney, "Achieving k-anonymity privacy protection using generalization and suppression", International Journal
    of Uncertainty, Fuzziness and Knowledge-Based Systems 10(5), 2002. doi:10.1142/S021848850200165X

    Examples
    --------
    >>> tree = Hierarchy.from_rows([("flu", "lung", "*"), ("cough", "lung", "*"), ("ulcer", "stomach", "*")])
    >>> tree
    Hierarchy(values=3, height=2)
    >>> tree.levels.tolist()
    [[0, 1, 2], [0, 0, 1], [0, 0, 0]]
    >>> tree.labels[1]
    ('lung', 'stomach')
    """

    labels: tuple[tuple[str, ...], ...]
    """The names of the nodes of each level, in the order in which they first occur; `labels[0]` are the values."""
    levels: NDArray[np.int32]
    """Node of each value at each level, shape (height + 1, values); `levels[0]` counts up, `levels[-1]` is all zero."""
    source: str = ""
    """Where it came from (the name of a file), for messages."""

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[str]], *, source: str = "") -> Hierarchy:
        """Make a hierarchy of one row per value, from the value itself to the root.

        Parameters
        ----------
        rows : iterable of sequence of str
            All of the same length, the last entry the same in all of them. No value twice.
        source : str
            The name of a file, for messages.

        Raises
        ------
        DataError
            Where the rows are no tree: different lengths, a repeated value, two roots, a node with two parents, or a
            name that stands for different sets of values at two levels. Names the row (from 1), never a value.
        """
        given: Any = rows
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise DataError(f"A hierarchy takes a row of text for each value. Got {type(given).__name__}.")
        numbered: list[tuple[int, tuple[str, ...]]] = []
        for number, row in enumerate(given, start=1):
            if isinstance(row, str) or not isinstance(row, Sequence) or not all(isinstance(name, str) for name in row):
                raise DataError(
                    f"Row {number} of a hierarchy must be the names from a value to the root, as text: ('39', '30-39', "
                    "'*'). It is not."
                )
            numbered.append((number, tuple(row)))
        return cls._of(numbered, source, "row")

    @classmethod
    def from_csv(
        cls, path: str | os.PathLike[str], *, delimiter: str | None = None, encoding: str | None = None
    ) -> Hierarchy:
        """Read a hierarchy from a file as ARX writes it: no header, a line per value, from the value to the root.

        Raises
        ------
        DataError
            Where the file cannot be read or is no tree; names the line, never a value.
        """
        lines = read_lines(path, delimiter=delimiter, encoding=encoding)
        return cls._of([(number, tuple(fields)) for number, fields in lines], Path(path).name, "line")

    @classmethod
    def _of(cls, rows: list[tuple[int, tuple[str, ...]]], source: str, unit: str) -> Hierarchy:
        about = f"The hierarchy{f' {source!r}' if source else ''}"
        if not rows:
            raise DataError(f"{about} has no value.")
        _check_shape(rows, about, unit)
        labels: list[tuple[str, ...]] = []
        levels = np.empty((len(rows[0][1]), len(rows)), dtype=np.int32)
        for level in range(len(levels)):
            names: dict[str, int] = {}
            levels[level] = [names.setdefault(row[level], len(names)) for _, row in rows]
            labels.append(tuple(names))
        _check_tree(levels, rows, about, unit)
        _check_names(labels, levels, about)
        return cls(labels=tuple(labels), levels=levels, source=source)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the hierarchy in the form of ARX; `from_csv` reads it back. Only its owner can read the file."""
        privately(partial(write_lines, rows=self.rows()))(Path(path))

    def rows(self) -> list[tuple[str, ...]]:
        """Return one row per value, from the value to the root."""
        named = [np.array(names, dtype=object)[nodes] for names, nodes in zip(self.labels, self.levels, strict=True)]
        return list(zip(*named, strict=True))

    @property
    def values(self) -> tuple[str, ...]:
        """The values, as text."""
        return self.labels[0]

    @property
    def height(self) -> int:
        """Number of generalization steps from a value to the root."""
        return len(self.levels) - 1

    @cached_property
    def leaves(self) -> tuple[NDArray[np.int64], ...]:
        """Number of values under each node of each level."""
        return tuple(
            np.bincount(nodes, minlength=len(names)) for names, nodes in zip(self.labels, self.levels, strict=True)
        )

    @cached_property
    def _position(self) -> dict[str, int]:
        return {value: position for position, value in enumerate(self.values)}

    def positions(self, values: Sequence[str | None], *, column: str) -> NDArray[np.int32]:
        """Return where each value of a column stands in the hierarchy.

        A missing one (None) stands at the line whose value is empty, and at -1 where there is no such line, or where
        the column has empty text as well: the line is that of the text then.

        Parameters
        ----------
        values : sequence of str or None
            Distinct values, as text.
        column : str
            Name of the column, for the message.

        Raises
        ------
        DataError
            Where the hierarchy misses values; says how many.
        """
        missing_value = -1 if "" in values else self._position.get("", -1)
        places = [missing_value if value is None else self._position.get(value, -2) for value in values]
        found = np.array(places, dtype=np.int32)
        if (found == -2).any():
            found = self._by_plain_names(values, found)
        missing = int(np.count_nonzero(found == -2))
        if missing:
            name = f" {self.source!r}" if self.source else ""
            raise DataError(
                f"The hierarchy{name} misses {missing} of the {len(values)} values of the column '{column}'. Add a "
                "line for each of them."
            )
        return found

    def _by_plain_names(self, values: Sequence[str | None], found: NDArray[np.int32]) -> NDArray[np.int32]:
        """Find what is missing without a decimal or a time of day that says nothing, unless values become one then.

        Such are whole numbers beside missing ones in pandas ("30.0"), and its dates.
        """
        plain = [
            self._position.get(value.removesuffix(".0").removesuffix("T00:00:00"), -2)
            if place == -2 and value is not None
            else place
            for value, place in zip(values, found.tolist(), strict=True)
        ]
        placed = [place for place in plain if place >= 0]
        return found if len(set(placed)) < len(placed) else np.array(plain, dtype=np.int32)

    def above(self, level: int) -> Hierarchy:
        """Return the hierarchy of the nodes of a level.

        Examples
        --------
        >>> tree = Hierarchy.from_rows([("flu", "lung", "*"), ("cough", "lung", "*"), ("ulcer", "stomach", "*")])
        >>> tree.above(1).rows()
        [('lung', '*'), ('stomach', '*')]
        """
        return Hierarchy.from_rows(dict.fromkeys(row[level:] for row in self.rows()), source=self.source)

    def to_dict(self) -> dict[str, int]:
        """Return the hierarchy as it appears in a certificate, without a value."""
        return {"values": len(self.values), "height": self.height}

    def __repr__(self) -> str:
        return f"Hierarchy(values={len(self.values)}, height={self.height})"


def _check_shape(rows: list[tuple[int, tuple[str, ...]]], about: str, unit: str) -> None:
    depth = len(rows[0][1])
    if depth == 0:
        raise DataError(f"{about} has no value in its first {unit}.")
    seen: set[str] = set()
    for number, row in rows:
        if len(row) != depth:
            raise DataError(
                f"{about} has {depth} level(s) in its first {unit} and {len(row)} in {unit} {number}. Every value "
                "needs as many; repeat a node where a branch is shorter."
            )
        if "" in row[1:]:
            raise DataError(f"{about} has a node without a name in {unit} {number}.")
        if row[0] in seen:
            raise DataError(f"{about} has the value of {unit} {number} twice.")
        seen.add(row[0])


def _check_tree(levels: NDArray[np.int32], rows: list[tuple[int, tuple[str, ...]]], about: str, unit: str) -> None:
    for level in range(1, len(levels) - 1):
        parent = np.full(int(levels[level].max()) + 1, -1, dtype=np.int32)
        parent[levels[level][::-1]] = levels[level + 1][::-1]
        wrong = np.flatnonzero(parent[levels[level]] != levels[level + 1])
        if len(wrong):
            raise DataError(
                f"{about} gives a node of level {level} two parents: {unit} {rows[int(wrong[0])][0]} disagrees with an "
                "earlier one."
            )
    roots = int(levels[-1].max()) + 1
    if roots > 1:
        raise DataError(
            f"{about} has {roots} roots: the last entry must be the same in every {unit} ({unit} "
            f"{rows[int(np.argmax(levels[-1] > 0))][0]} differs from the first). Add a level that joins them, '*' for "
            "example."
        )


def _check_names(labels: list[tuple[str, ...]], levels: NDArray[np.int32], about: str) -> None:
    """Check that a name says which values it stands for: at two levels it may stand for the same ones only."""
    seen: dict[str, int] = {}
    for level, names in enumerate(labels):
        for node, name in enumerate(names):
            if name not in seen:
                seen[name] = level
            else:
                earlier = seen[name]
                first = levels[earlier] == labels[earlier].index(name)
                if not np.array_equal(first, levels[level] == node):
                    raise DataError(
                        f"{about} has a name that stands for different values at level {earlier} and at level {level}, "
                        "so readers could not tell the two apart. Rename one of them."
                    )
