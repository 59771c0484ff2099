"""Generalization hierarchies: the values of an attribute and their ancestors, level by level.

Level 0 contains the values, and the last level a single root. Files use the format of ARX: a line for each value, from
the value to the root, separated by semicolons.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.private_files import draft_for, make_private_writer
from shoal.errors import DataError
from shoal.io import read_lines, write_lines
from shoal.io.equal_values import unify

_log = logging.getLogger(__name__)
_STEP = " < "
"""Stands between the names of a path."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Hierarchy:
    """A generalization hierarchy over the values of an attribute, with all leaves at the same depth.

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
    """Names of the nodes of each level, in order of first occurrence; `labels[0]` are the values."""
    levels: NDArray[np.int32]
    """Node of each value at each level, of shape (height + 1, values); `levels[0]` counts up, `levels[-1]` is all
    zero."""
    source: str = ""
    """Origin of the hierarchy, such as the name of a file, for messages."""

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[str]], *, source: str = "", by_path: bool = False) -> Hierarchy:
        """Create a hierarchy from one row per value, from the value to the root.

        Parameters
        ----------
        rows : iterable of sequence of str
            Rows of equal length with a common last entry; values are unique.
        source : str
            Name of a file, for messages.
        by_path : bool
            Whether names may repeat, as in a hierarchy that is read for distances only: nodes of the same name are then
            different ones if they have different ancestors, and each is named by its path to the root.

        Raises
        ------
        DataError
            If the rows do not form a tree: different lengths, a repeated value, two roots, a node with two parents, or
            a name that denotes different sets of values at two levels. The message gives the row (from 1), never a
            value.
        """
        given: Any = rows
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise DataError(f"A hierarchy takes a row of text for each value. Got {type(given).__name__}.")
        # Errors refer to rows by number, because names are cells.
        numbered: list[tuple[int, tuple[str, ...]]] = []
        for number, row in enumerate(given, start=1):
            if isinstance(row, str) or not isinstance(row, Sequence) or not all(isinstance(name, str) for name in row):
                raise DataError(
                    f"Row {number} of a hierarchy must be the names from a value to the root, as text: ('39', '30-39', "
                    "'*'). It is not."
                )
            numbered.append((number, tuple(row)))
        return cls._of(_name_by_path(numbered) if by_path else numbered, source, "row")

    @classmethod
    def from_csv(
        cls,
        path: str | os.PathLike[str],
        *,
        delimiter: str | None = None,
        encoding: str | None = None,
        by_path: bool = False,
    ) -> Hierarchy:
        """Read a hierarchy from a file in the format of ARX: no header, a line per value, from the value to the root.

        Parameters
        ----------
        path : path-like
            The file.
        delimiter, encoding : str, optional
            Format of the file, detected by default.
        by_path : bool
            As for `from_rows`.

        Raises
        ------
        DataError
            If the file cannot be read or does not contain a tree. The message gives the line, never a value.
        """
        lines = read_lines(path, delimiter=delimiter, encoding=encoding)
        rows = [(number, tuple(fields)) for number, fields in lines]
        # A line of names above the tree: it alone has a last entry and a value of its own.
        if len(rows) > 2 and len({row[-1] for _, row in rows[1:]}) == 1 != len({row[-1] for _, row in rows}):
            _log.warning("The first line of '%s' is taken for the names of its levels.", Path(path).name)
            rows = rows[1:]
        return cls._of(_name_by_path(rows) if by_path else rows, Path(path).name, "line")

    @classmethod
    def _of(cls, rows: list[tuple[int, tuple[str, ...]]], source: str, unit: str) -> Hierarchy:
        # Messages name the file, if there is one.
        about = f"The hierarchy{f' {source!r}' if source else ''}"
        if not rows:
            raise DataError(f"{about} has no value.")
        _check_shape(rows, about, unit)
        labels: list[tuple[str, ...]] = []
        levels = np.empty((len(rows[0][1]), len(rows)), dtype=np.int32)
        for level in range(len(levels)):
            # Number the nodes of each level in order of first occurrence.
            names: dict[str, int] = {}
            levels[level] = [names.setdefault(row[level], len(names)) for _, row in rows]
            labels.append(tuple(names))
        _check_tree(levels, rows, about, unit)
        _check_names(labels, levels, about)
        return cls(labels=tuple(labels), levels=levels, source=source)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the hierarchy in the format of ARX, readable by its owner only; `from_csv` reads it back."""
        with draft_for(path) as draft:
            make_private_writer(partial(write_lines, rows=self.rows()))(draft)

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
        """Number of values below each node of each level."""
        return tuple(
            np.bincount(nodes, minlength=len(names)) for names, nodes in zip(self.labels, self.levels, strict=True)
        )

    @cached_property
    def _position(self) -> dict[str, int]:
        return {value: position for position, value in enumerate(self.values)}

    def positions(
        self,
        values: Sequence[str | None],
        *,
        column: str,
        first_row: Callable[[NDArray[np.bool_]], str | None] | None = None,
        of_people: bool = False,
    ) -> NDArray[np.int32]:
        """Look up the position of each value of a column in the hierarchy.

        A missing value (None) is at the line of the empty value, or at -1 if there is no such line. If the column also
        contains empty text, the line belongs to that text, and the missing value is at -1 as well.

        Parameters
        ----------
        values : sequence of str or None
            Distinct values, as text.
        column : str
            Name of the column, for the message.
        first_row : callable, optional
            Describes the first row of the input with one of the flagged values; None if equal rows were counted.
        of_people : bool
            Whether the column is that of a population.

        Raises
        ------
        DataError
            If the hierarchy lacks values; the message gives their number and the first row, never a value.
        """
        # Empty text in the column takes precedence over missing values.
        missing_value = -1 if "" in values else self._position.get("", -1)
        places = [missing_value if value is None else self._position.get(value, -2) for value in values]
        # -2 marks a value that the hierarchy lacks.
        found = np.array(places, dtype=np.int32)
        if (found == -2).any():
            found = self._by_value(values, found)
        missing = int(np.count_nonzero(found == -2))
        if missing:
            name = f" {self.source!r}" if self.source else ""
            wrong = np.append(found == -2, False)  # also for a missing value, which is not looked up
            row = None if first_row is None else first_row(wrong)
            place = " of the population" if of_people else "" if row is None else f", the first in {row}"
            raise DataError(
                f"The hierarchy{name} misses {missing} of the {len(values)} values of the column '{column}'{place}. "
                "Add a line for each of them."
            )
        return found

    def _by_value(self, values: Sequence[str | None], found: NDArray[np.int32]) -> NDArray[np.int32]:
        """Look up lacking values as equal dates or numbers in another notation, unless distinct values would coincide.

        pandas writes integers as "30.0" if some values are missing, and adds a time to dates. Where several lines name
        one value, as `+5` and `5` do, the one that is spelled so is taken; any of them, if all have the same ancestors.
        """
        leaves, texts = pl.Series(self.values, dtype=pl.String), pl.Series(values, dtype=pl.String)
        plain = texts.str.strip_suffix(".0").str.strip_suffix("T00:00:00")
        places, above = found.tolist(), self.levels[1:].T.tolist()
        for lines, wanted in ((leaves, plain), unify(leaves, texts)):
            place: dict[str, int] = {}
            for at, name in enumerate(lines):
                first = place.setdefault(name, at)
                if first >= 0 and above[first] != above[at]:
                    place[name] = -2  # which of them is meant, nothing says
            placed = [place.get(name, at) if at == -2 else at for at, name in zip(places, wanted, strict=True)]
            known = [at for at in placed if at >= 0]
            # Two spellings of one value must not be merged.
            places = placed if len(set(known)) == len(known) else places
        return np.array(places, dtype=np.int32)

    def above(self, level: int) -> Hierarchy:
        """Return the hierarchy of the nodes of a level.

        Examples
        --------
        >>> tree = Hierarchy.from_rows([("flu", "lung", "*"), ("cough", "lung", "*"), ("ulcer", "stomach", "*")])
        >>> tree.above(1).rows()
        [('lung', '*'), ('stomach', '*')]
        """
        return Hierarchy.from_rows(dict.fromkeys(row[level:] for row in self.rows()), source=self.source)

    def without_lone_nodes(self, level: int) -> Hierarchy:
        """Return the hierarchy in which no node from a level on, at least 1, has a single value.

        Such a node, which publishes the value exactly, is joined with the other nodes of its parent: all of them then
        have the name of the parent.

        Examples
        --------
        >>> tree = Hierarchy.from_rows([("a", "A", "AB", "*"), ("b", "B", "AB", "*"), ("c", "B", "AB", "*")])
        >>> tree.without_lone_nodes(1).rows()
        [('a', 'AB', 'AB', '*'), ('b', 'AB', 'AB', '*'), ('c', 'AB', 'AB', '*')]
        """
        named = np.array(self.rows(), dtype=object)
        for here in range(self.height - 1, level - 1, -1):
            lone = self.leaves[here][self.levels[here]] == 1
            joined = np.isin(named[:, here + 1], named[lone, here + 1])
            named[joined, here] = named[joined, here + 1]
        return Hierarchy.from_rows(map(tuple, named.tolist()), source=self.source)

    def to_dict(self) -> dict[str, int]:
        """Summarize the hierarchy as in a certificate, without any value."""
        return {"values": len(self.values), "height": self.height}

    def __repr__(self) -> str:
        return f"Hierarchy(values={len(self.values)}, height={self.height})"


def _name_by_path(rows: list[tuple[int, tuple[str, ...]]]) -> list[tuple[int, tuple[str, ...]]]:
    """Name each node between a value and the root by its path to the root; nodes without a name stay so."""

    def path(row: tuple[str, ...], level: int) -> str:
        return _STEP.join(row[level:]) if row[level] and 0 < level < len(row) - 1 else row[level]

    return [(number, tuple(path(row, level) for level in range(len(row)))) for number, row in rows]


def _check_shape(rows: list[tuple[int, tuple[str, ...]]], about: str, unit: str) -> None:
    depth = len(rows[0][1])
    if depth == 0:
        raise DataError(f"{about} has no value in its first {unit}.")
    seen: set[str] = set()
    # A tree of equal depth with distinct values and named nodes.
    for number, row in rows:
        if len(row) != depth:
            raise DataError(
                f"{about} has {depth} level(s) in its first {unit} and {len(row)} in {unit} {number}. Every value "
                "needs as many; repeat a node where a branch is shorter."
            )
        if "" in row[1:]:
            raise DataError(f"{about} has a node without a name in {unit} {number}.")
        if row[0] in seen:
            raise DataError(
                f"{about} has the value of {unit} {number} twice: a hierarchy has one {unit} for each value. It may be "
                "another file."
            )
        seen.add(row[0])


def _check_tree(levels: NDArray[np.int32], rows: list[tuple[int, tuple[str, ...]]], about: str, unit: str) -> None:
    for level in range(1, len(levels) - 1):
        # The first row with a node determines its parent; later rows must agree.
        parent = np.full(int(levels[level].max()) + 1, -1, dtype=np.int32)
        parent[levels[level][::-1]] = levels[level + 1][::-1]
        wrong = np.flatnonzero(parent[levels[level]] != levels[level + 1])
        if len(wrong):
            raise DataError(
                f"{about} gives a node of level {level} two parents: {unit} {rows[int(wrong[0])][0]} disagrees with an "
                "earlier one."
            )
    # The last level must consist of a single node.
    roots = int(levels[-1].max()) + 1
    if roots > 1:
        raise DataError(
            f"{about} has {roots} roots: the last entry must be the same in every {unit} ({unit} "
            f"{rows[int(np.argmax(levels[-1] > 0))][0]} differs from the first). Add a level that joins them, '*' for "
            "example."
        )


def _check_names(labels: list[tuple[str, ...]], levels: NDArray[np.int32], about: str) -> None:
    """Check that names are unambiguous: a name may occur at two levels only if it denotes the same values."""
    seen: dict[str, int] = {}
    for level, names in enumerate(labels):
        for node, name in enumerate(names):
            if name not in seen:
                seen[name] = level
            else:
                earlier = seen[name]
                # The same set of values at both levels, as for a node with a single child.
                first = levels[earlier] == labels[earlier].index(name)
                if not np.array_equal(first, levels[level] == node):
                    raise DataError(
                        f"{about} has a name that stands for different values at level {earlier} and at level {level}, "
                        "so readers could not tell the two apart. Rename one of them."
                    )
