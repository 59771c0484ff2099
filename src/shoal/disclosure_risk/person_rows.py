"""Persons with several rows in a table: classes count distinct persons, and a person has the highest risk of her rows.

A table is reduced to one row for each person and combination of quasi-identifiers, an *entry*. The classes of the
entries then have as many entries as persons, so that the measures of rows apply to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.disclosure_risk.frequencies import Frequencies, number_classes
from shoal.models.rationals import largest_ratio
from shoal.table import Column

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
    largest_share: Fraction
    """Largest share that one person has of the rows of a class."""

    @classmethod
    def of(cls, columns: Sequence[Column], owners: pl.Series) -> PersonRows:
        """Find the entries of a table.

        Parameters
        ----------
        columns : sequence of Column
            The quasi-identifiers.
        owners : polars.Series
            A number for the person of each row (`number_units`).

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
            largest_share=largest_ratio(rows, sizes[class_of[first]]),
        )

    @property
    def repeated(self) -> bool:
        """Whether some person has several combinations of quasi-identifiers."""
        return len(self.person_of) > self.persons

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
