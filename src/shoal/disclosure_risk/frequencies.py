"""Sample and population frequencies: the numbers of rows, and of people, with each combination of quasi-identifiers.

All counting measures derive from them: the classes of the table with their sizes f and, if the population is known, F.
They are computed by sorting one integer per row.

A table of persons with several rows (`PersonRows`) is reduced to one row for each person and combination of
quasi-identifiers, an *entry*. The classes of the entries then have as many entries as persons, so that the measures of
rows apply to them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._messages import Suggestion
from shoal.errors import DataError
from shoal.models.rationals import largest_ratio
from shoal.table import Column
from shoal.table.classes import mixed_radix_keys
from shoal.table.counts import rows_by_code
from shoal.table.sorting_kernel import sort_by_key
from shoal.verification.cell_syntax import cell_text


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Frequencies:
    """The equivalence classes of a table: rows with the same cells in all quasi-identifiers."""

    class_of: NDArray[np.int64]
    """Class of each row. Classes are in the order of their cells, independent of the order of the rows."""
    rows_of: NDArray[np.int64]
    """Number of rows of each class."""
    first_rows: NDArray[np.int64]
    """One row of each class."""
    sample: NDArray[np.int64]
    """f of each class: number of rows of the table that are compatible with its cells."""
    population: NDArray[np.int64] | None = None
    """F of each class: number of people of the population who are compatible with its cells."""
    people: int | None = None
    """Number of people of the population."""
    outside: int | None = None
    """Number of people of the population who match no class of the table."""
    overlapping: bool = False
    """Whether a person of the population matches several classes."""
    join: Callable[[NDArray[np.int64]], NDArray[np.int64]] | None = None
    """Sums weights of shape (classes, m) over the classes that are compatible with each class; None if each is
    compatible only with itself."""

    @property
    def rows(self) -> int:
        """Number of rows of the table, n."""
        return len(self.class_of)

    @property
    def classes(self) -> int:
        """Number of classes, u."""
        return len(self.rows_of)

    def matching(self, carried: NDArray[np.int64]) -> NDArray[np.int64]:
        """Sum weights over the classes that are compatible with each class, including itself.

        Parameters
        ----------
        carried : int64 array, shape (classes, m)
            The weights.
        """
        return carried if self.join is None else self.join(carried)

    def __repr__(self) -> str:
        return f"Frequencies(rows={self.rows}, classes={self.classes}, people={self.people})"


def number_classes(
    columns: Sequence[tuple[NDArray[np.integer], int]], rows: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Assign numbers to the distinct combinations of columns, in their order.

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
        Number of rows of each combination.
    first_rows : int64 array
        The first row of each combination.
    """
    # Mixed-radix keys keep the order of the cells.
    keys, bits = mixed_radix_keys(columns, rows)
    keys, order = sort_by_key(keys, np.arange(rows, dtype=np.int32), bits)
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))) if rows else np.zeros(0, dtype=np.int64)
    sizes = np.diff(starts, append=rows)
    # Scatter the number of each run back to its rows.
    class_of = np.empty(rows, dtype=np.int64)
    class_of[order] = np.repeat(np.arange(len(starts)), sizes)
    return class_of, sizes, order[starts].astype(np.int64)


def count_frequencies(
    columns: Sequence[Column], population: Sequence[Column] | None = None, *, released: bool = True
) -> Frequencies:
    """Count the rows of each class of a table and, if the population is given, the people of each.

    Parameters
    ----------
    columns : sequence of Column
        The quasi-identifiers of the table: at least one, with at least one row.
    population : sequence of Column, optional
        The same columns of the population. Cells are compared as text: `34` in a file equals 34 in a frame.
    released : bool
        Whether the table may be a release, whose cells stand for several values.

    Raises
    ------
    DataError
        If the population is smaller than the table, or lacks people of the table.
    """
    rows = len(columns[0].codes)
    if population is None:
        class_of, sizes, first = number_classes([(column.codes, column.size) for column in columns], rows)
        return Frequencies(class_of=class_of, rows_of=sizes, first_rows=first, sample=sizes)
    people = len(population[0].codes)
    if people < rows:
        raise DataError(
            f"The population has {people:,} row(s), fewer than the {rows:,} of the table. It must contain every person "
            "who may be in the table, with one row per person."
        )
    # Number the classes of the table and the population together, then keep those of the table.
    both = [_encode_together(column, other) for column, other in zip(columns, population, strict=True)]
    found, _, _ = number_classes(both, rows + people)
    kinds = int(found.max()) + 1
    of_all, in_population = (np.bincount(part, minlength=kinds) for part in (found[:rows], found[rows:]))
    # Classes that occur in the table, renumbered without gaps.
    here = np.flatnonzero(of_all)
    number = np.zeros(kinds, dtype=np.int64)
    number[here] = np.arange(len(here))
    # The first row of each class.
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
    """Count each value in each class: the classes, values and counts of the pairs that occur.

    `times` is the multiplicity of each row; one by default.
    """
    # Rows with multiplicities: add up their counts.
    if times is not None:
        pairs, place = np.unique(class_of * size + codes, return_inverse=True)
        return pairs // size, pairs % size, rows_by_code(place, len(pairs), times)
    _, counts, first = number_classes([(class_of, max(classes, 1)), (codes, size)], len(class_of))
    return class_of[first], codes[first].astype(np.int64), counts


def _encode_together(column: Column, other: Column) -> tuple[NDArray[np.uint32], int]:
    """Encode a column of the table and of the population with common codes, one after the other."""
    codes: dict[str | None, int] = {}
    parts = []
    for one in (column, other):
        texts = cell_text(one.dictionary).to_list()
        translated = np.array([codes.setdefault(text, len(codes)) for text in texts], dtype=np.uint32)
        parts.append(np.take(translated, one.codes))
    return np.concatenate(parts), max(len(codes), 1)


def _explain_missing(names: Sequence[str], both: Sequence[tuple[NDArray[np.integer], int]], rows: int) -> str:
    """Name the only column without which all rows would be found, in a sentence; empty if there is no such column."""
    guilty = []
    for at, name in enumerate(names):
        # Leave out one column: are all rows found then?
        others = [*both[:at], *both[at + 1 :]]
        if not others:
            return ""
        found, _, _ = number_classes(others, len(others[0][0]))
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
    """Check that the population contains the people of the table, and name the columns that differ."""
    short = population < sample
    if not short.any():
        return
    missing = int((sample - population)[short].sum())
    without = _explain_missing([column.name for column in columns], both, int(sample.sum()))
    # Columns of the table with values that no person of the population has.
    strange = []
    for column, other in zip(columns, others, strict=True):
        known = set(cell_text(other.dictionary).to_list())
        unknown = np.array([text not in known for text in cell_text(column.dictionary).to_list()], dtype=np.bool_)
        if unknown.any():
            rows = int(np.bincount(column.codes, minlength=column.size)[unknown].sum())
            strange.append(f"'{column.name}' ({rows:,} row(s) with {int(unknown.sum()):,} value(s) that no person has)")
    where = f" The columns that do not match: {', '.join(strange)}." if strange else without
    raise DataError(
        f"{missing:,} row(s) of the table are not in the population, which must contain all its persons.{where}"
        " Give a population of the same people with cells of the same form",
        *(
            (
                "; for a table whose cells are generalized or suppressed, compare their meanings: ",
                Suggestion("stars", "wildcard"),
            )
            if released
            else ()
        ),
        ".",
    )


_MAX_PERSONS_PER_PASS = 64
"""Persons whose compatible classes are found in one pass over the classes."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class PersonRows:
    """The entries of a table: one row for each person and combination of quasi-identifiers."""

    first_rows: NDArray[np.int64]
    """A row of the table for each entry."""
    person_of: NDArray[np.int64]
    """Person of each entry, from 0."""
    entry_of: NDArray[np.int64]
    """Entry of each row of the table."""
    persons: int
    """Number of persons."""
    largest_share: float
    """Largest share that one person has of the rows of a class."""

    @classmethod
    def of(cls, columns: Sequence[Column], owners: pl.Series) -> PersonRows:
        """Find the entries of a table.

        Parameters
        ----------
        columns : sequence of Column
            The quasi-identifiers.
        owners : polars.Series
            A number for the person of each row (`find_owners`).

        Examples
        --------
        >>> import polars as pl
        >>> from shoal.table import Schema, encode
        >>> columns = encode(pl.DataFrame({"age": [30, 30, 31]}), Schema(quasi_identifiers=("age",))).quasi_identifiers
        >>> found = PersonRows.of(columns, pl.Series([7, 7, 7]))
        >>> found.persons, found.entry_of.tolist()
        (1, [0, 0, 1])
        """
        # An entry is a class of the quasi-identifiers together with a person.
        numbers, person = np.unique(owners.to_numpy(), return_inverse=True)
        class_of, sizes, _ = number_classes([(column.codes, column.size) for column in columns], len(person))
        parts = [(class_of.astype(np.uint32), max(len(sizes), 1)), (person.astype(np.uint32), max(len(numbers), 1))]
        entry_of, rows, first = number_classes(parts, len(person))
        return cls(
            first_rows=first,
            person_of=person[first].astype(np.int64),
            entry_of=entry_of,
            persons=len(numbers),
            largest_share=float(largest_ratio(rows, sizes[class_of[first]])),
        )

    @property
    def repeated(self) -> bool:
        """Whether some person has several combinations of quasi-identifiers."""
        return len(self.person_of) > self.persons

    def members_of(self, home_of: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the members of households, each person once in a household, and the household of each member."""
        pairs = np.unique(np.column_stack((self.person_of[self.entry_of], home_of)), axis=0)
        return pairs[:, 0], pairs[:, 1]

    def smallest_of_entries(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the smallest value of the rows of each entry."""
        found = np.full(len(self.person_of), np.inf)
        np.minimum.at(found, self.entry_of, values)
        return found

    def at_risk(self, frequencies: Frequencies, sizes: NDArray[np.int64] | NDArray[np.float64]) -> Frequencies:
        """Put each person into the one of her classes whose size is least, which has the highest risk.

        Parameters
        ----------
        frequencies : Frequencies
            The classes of the entries.
        sizes : array
            A size of each class.

        Returns
        -------
        Frequencies
            Classes of persons: `class_of` is in the order of their numbers, and `rows_of` may be zero.
        """
        of_entries = frequencies.class_of
        # Sort the entries of each person by the size of their class, and take the first.
        order = np.lexsort((of_entries, sizes[of_entries], self.person_of))
        first = np.flatnonzero(np.diff(self.person_of[order], prepend=-1))
        chosen = of_entries[order[first]]
        return replace(frequencies, class_of=chosen, rows_of=np.bincount(chosen, minlength=frequencies.classes))

    def count_distinct(self, frequencies: Frequencies) -> Frequencies:
        """Count the distinct persons who are compatible with each class, if classes match several combinations."""
        if frequencies.join is None or not self.repeated:
            return frequencies
        # Persons of one entry are added up; each of the others counts once for a class, over all of her entries.
        several = np.bincount(self.person_of, minlength=self.persons)[self.person_of] > 1
        alone = np.bincount(frequencies.class_of[~several], minlength=frequencies.classes)
        sample = frequencies.matching(alone[:, None])[:, 0].copy()
        classes = frequencies.class_of[several]
        numbers, place = np.unique(self.person_of[several], return_inverse=True)
        for start in range(0, len(numbers), _MAX_PERSONS_PER_PASS):
            some = (place >= start) & (place < start + _MAX_PERSONS_PER_PASS)
            carried = np.zeros((frequencies.classes, min(_MAX_PERSONS_PER_PASS, len(numbers) - start)), dtype=np.int64)
            carried[classes[some], place[some] - start] = 1
            sample += (frequencies.matching(carried) > 0).sum(axis=1)
        return replace(frequencies, sample=sample)

    def __repr__(self) -> str:
        return f"PersonRows(entries={len(self.person_of)}, persons={self.persons})"


@dataclass(frozen=True)
class EachRow:
    """The entries of a table in which each row is another person's: its rows; see `PersonRows`."""

    persons: int
    """Number of rows."""

    first_rows: ClassVar[slice] = slice(None)
    entry_of: ClassVar[slice] = slice(None)
    person_of: ClassVar[None] = None
    """None, because rows need no numbers."""
    repeated: ClassVar[bool] = False
    largest_share: ClassVar[None] = None

    def members_of(self, home_of: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return all rows, and their households."""
        return np.arange(self.persons), home_of

    def smallest_of_entries(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the value of each row."""
        return values

    def at_risk(self, frequencies: Frequencies, sizes: NDArray[np.int64] | NDArray[np.float64]) -> Frequencies:
        """Return the classes of the rows."""
        return frequencies

    def count_distinct(self, frequencies: Frequencies) -> Frequencies:
        """Return the classes of the rows."""
        return frequencies
