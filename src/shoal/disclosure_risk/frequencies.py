"""Sample and population frequencies: how many rows, and how many people, share each combination of quasi-identifiers.

Everything that is measured by counting is computed from these: the classes of the table with their sizes f and, where
the population is known, F. One sort of one integer per row makes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal._messages import Suggestion
from shoal.errors import DataError
from shoal.table.classes import mixed_radix_keys
from shoal.table.counts import rows_by_code
from shoal.table.sorting_kernel import sort_by_key
from shoal.verification.cell_syntax import cell_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from shoal.table import Column

__all__ = ["Frequencies", "class_numbers", "count_frequencies", "count_pairs"]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Frequencies:
    """The equivalence classes of a table: rows with the same cells in all quasi-identifiers."""

    class_of: NDArray[np.int64]
    """Class of each row; the classes are in the order of their cells, whatever the order of the rows."""
    rows_of: NDArray[np.int64]
    """Rows of each class."""
    first_rows: NDArray[np.int64]
    """A row of each class."""
    sample: NDArray[np.int64]
    """f of each class: the rows of the table that may be meant by its cells."""
    population: NDArray[np.int64] | None = None
    """F of each class: the people of the population who may be meant by its cells."""
    people: int | None = None
    """People of the population."""
    outside: int | None = None
    """People of the population who match no class of the table."""
    overlapping: bool = False
    """Whether somebody of the population matches several classes."""
    join: Callable[[NDArray[np.int64]], NDArray[np.int64]] | None = None
    """Adds up what classes carry, shape (classes, m), over the classes that each class is compatible with; None where
    each is compatible with itself only."""

    @property
    def rows(self) -> int:
        """Rows of the table: n."""
        return len(self.class_of)

    @property
    def classes(self) -> int:
        """Number of classes: u."""
        return len(self.rows_of)

    def matching(self, carried: NDArray[np.int64]) -> NDArray[np.int64]:
        """Add up what classes carry over the classes that each class is compatible with, itself among them.

        Parameters
        ----------
        carried : int64 array, shape (classes, m)
        """
        return carried if self.join is None else self.join(carried)

    def __repr__(self) -> str:
        return f"Frequencies(rows={self.rows}, classes={self.classes}, people={self.people})"


def class_numbers(
    columns: Sequence[tuple[NDArray[np.integer], int]], rows: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Give the distinct combinations of some columns numbers, in their order.

    Parameters
    ----------
    columns : sequence of (codes, size)
        Codes of each column, 0 <= code < size.
    rows : int
        Number of rows.

    Returns
    -------
    class_of : int64 array, shape (rows,)
        The combination of each row.
    sizes : int64 array
        Rows of each combination.
    first_rows : int64 array
        The first row of each combination.
    """
    keys, bits = mixed_radix_keys(columns, rows)
    keys, order = sort_by_key(keys, np.arange(rows, dtype=np.int32), bits)
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))) if rows else np.zeros(0, dtype=np.int64)
    sizes = np.diff(starts, append=rows)
    class_of = np.empty(rows, dtype=np.int64)
    class_of[order] = np.repeat(np.arange(len(starts)), sizes)
    return class_of, sizes, order[starts].astype(np.int64)


def count_frequencies(
    columns: Sequence[Column], population: Sequence[Column] | None = None, *, released: bool = True
) -> Frequencies:
    """Count the rows of each class of a table and, where the population is given, the people of each.

    Parameters
    ----------
    columns : sequence of Column
        The quasi-identifiers of the table: at least one, with at least one row.
    population : sequence of Column, optional
        The same columns of the population. Cells are compared as text: `34` in a file is 34 in a frame.
    released : bool
        Whether the table may be a release, whose cells stand for several values.

    Raises
    ------
    DataError
        Where the population is smaller than the table, or some people of the table are not in it.
    """
    rows = len(columns[0].codes)
    if population is None:
        class_of, sizes, first = class_numbers([(column.codes, column.size) for column in columns], rows)
        return Frequencies(class_of=class_of, rows_of=sizes, first_rows=first, sample=sizes)
    people = len(population[0].codes)
    if people < rows:
        raise DataError(
            f"The population has {people:,} row(s), fewer than the {rows:,} of the table. It must hold everybody who "
            "may be meant, with one row per person, the people of the table among them."
        )
    both = [_together(column, other) for column, other in zip(columns, population, strict=True)]
    found, _, _ = class_numbers(both, rows + people)
    kinds = int(found.max()) + 1
    of_all, in_population = (np.bincount(part, minlength=kinds) for part in (found[:rows], found[rows:]))
    here = np.flatnonzero(of_all)
    number = np.zeros(kinds, dtype=np.int64)
    number[here] = np.arange(len(here))
    first = np.full(kinds, rows, dtype=np.int64)
    np.minimum.at(first, found[:rows], np.arange(rows))
    f, big = of_all[here], in_population[here]
    _check_people(f, big, columns, population, released=released, both=both)
    return Frequencies(
        class_of=number[found[:rows]],
        rows_of=f,
        first_rows=first[here],
        sample=f,
        population=big,
        people=people,
        outside=people - int(big.sum()),
    )


def count_pairs(
    class_of: NDArray[np.int64],
    classes: int,
    codes: NDArray[np.unsignedinteger],
    size: int,
    times: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Count how often each value occurs in each class: the classes, values and counts of the pairs that occur.

    `times` says how many rows each row stands for, where that is not one.
    """
    if times is not None:
        pairs, place = np.unique(class_of * size + codes, return_inverse=True)
        return pairs // size, pairs % size, rows_by_code(place, len(pairs), times)
    _, counts, first = class_numbers([(class_of, max(classes, 1)), (codes, size)], len(class_of))
    return class_of[first], codes[first].astype(np.int64), counts


def _together(column: Column, other: Column) -> tuple[NDArray[np.uint32], int]:
    """Return the codes of a column of the table and of the population, one after the other, equal where cells are."""
    codes: dict[str | None, int] = {}
    parts = []
    for one in (column, other):
        texts = cell_text(one.dictionary).to_list()
        translated = np.array([codes.setdefault(text, len(codes)) for text in texts], dtype=np.uint32)
        parts.append(np.take(translated, one.codes))
    return np.concatenate(parts), max(len(codes), 1)


def _found_without(names: Sequence[str], both: Sequence[tuple[NDArray[np.integer], int]], rows: int) -> str:
    """Return which column alone keeps rows from being found, in a sentence; empty where it is not one."""
    guilty = []
    for at, name in enumerate(names):
        others = [*both[:at], *both[at + 1 :]]
        if not others:
            return ""
        found, _, _ = class_numbers(others, len(others[0][0]))
        kinds = int(found.max()) + 1
        if (np.bincount(found[:rows], minlength=kinds) <= np.bincount(found[rows:], minlength=kinds)).all():
            guilty.append(f"'{name}'")
    if len(guilty) != 1:
        return ""
    return f" Without the column {guilty[0]} all of them are found: compare how it is written in both tables."


def _check_people(
    sample: NDArray[np.int64],
    population: NDArray[np.int64],
    columns: Sequence[Column],
    others: Sequence[Column],
    *,
    released: bool,
    both: Sequence[tuple[NDArray[np.integer], int]],
) -> None:
    """Raise where some people of the table are not in the population, naming the columns that tell."""
    short = population < sample
    if not short.any():
        return
    missing = int((sample - population)[short].sum())
    without = _found_without([column.name for column in columns], both, int(sample.sum()))
    strange = []
    for column, other in zip(columns, others, strict=True):
        known = set(cell_text(other.dictionary).to_list())
        unknown = np.array([text not in known for text in cell_text(column.dictionary).to_list()], dtype=np.bool_)
        if unknown.any():
            rows = int(np.bincount(column.codes, minlength=column.size)[unknown].sum())
            strange.append(f"'{column.name}' ({rows:,} row(s) with {int(unknown.sum()):,} value(s) that nobody has)")
    where = f" The columns that do not match: {', '.join(strange)}." if strange else without
    raise DataError(
        f"{missing:,} row(s) of the table are not in the population, which must hold everybody of the table.{where} "
        "Give a population of the same people with cells of the same form",
        *(
            (
                "; for a table whose cells are generalized or suppressed, compare what they stand for: ",
                Suggestion("stars", "wildcard"),
            )
            if released
            else ()
        ),
        ".",
    )
