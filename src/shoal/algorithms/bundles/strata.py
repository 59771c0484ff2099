"""Strata: persons that publish equally many rows, enough of them, and with sensitive values that bundles can hide.

Each person has a set of sensitive values, and each value a largest share of the persons.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shoal._messages import Suggestion
from shoal.algorithms.bundles.choosing_kernel import RowValues, choose_rows
from shoal.algorithms.bundles.lengths_kernel import cheapest_runs
from shoal.errors import InfeasibleError
from shoal.models.rationals import neighbours


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ValueSets:
    """The distinct sensitive values of each person, over one sensitive attribute or several.

    Values of all attributes are numbered together: those of the second attribute follow those of the first.
    """

    starts: NDArray[np.int64]
    """First entry of each person in `values`; one more than there are persons."""
    values: NDArray[np.int32]
    """Numbers of the values, person by person, ascending within a person."""
    sizes: tuple[int, ...]
    """Number of values of each attribute."""

    @classmethod
    def of(cls, count: int, columns: Sequence[tuple[NDArray[np.integer], NDArray[np.integer], int]]) -> ValueSets:
        """Collect the values of persons.

        Parameters
        ----------
        count : int
            Number of persons.
        columns : sequence of (persons, codes, size)
            For each sensitive attribute, person (from 0 to count - 1) and code of each value, and the number of codes.
        """
        # One key for each pair of a person and a value; a value that occurs in several rows of a person is counted
        # once.
        sizes = tuple(size for _, _, size in columns)
        width = max(sum(sizes), 1)
        before, keys = 0, []
        for persons, codes, size in columns:
            keys.append(persons.astype(np.int64) * width + codes + before)
            before += size
        found = np.unique(np.concatenate(keys)) if keys else np.empty(0, dtype=np.int64)
        of_person, values = np.divmod(found, width)
        starts = np.zeros(count + 1, dtype=np.int64)
        np.cumsum(np.bincount(of_person, minlength=count), out=starts[1:])
        return cls(starts=starts, values=values.astype(np.int32), sizes=sizes)

    @property
    def persons(self) -> int:
        """Number of persons."""
        return len(self.starts) - 1

    @property
    def width(self) -> int:
        """Number of values of all attributes together."""
        return sum(self.sizes)

    def counts(self) -> NDArray[np.int64]:
        """Count the persons that have each value."""
        return np.bincount(self.values, minlength=self.width).astype(np.int64)

    def select(self, persons: NDArray[np.integer]) -> ValueSets:
        """Select the values of some persons."""
        # Entry e of a selected person is entry e of the same person here.
        sizes = np.diff(self.starts)[persons]
        starts = np.zeros(len(persons) + 1, dtype=np.int64)
        np.cumsum(sizes, out=starts[1:])
        entries = np.repeat(self.starts[persons] - starts[:-1], sizes) + np.arange(starts[-1])
        return ValueSets(starts=starts, values=self.values[entries], sizes=self.sizes)

    def most_common(self) -> list[NDArray[np.int32]]:
        """Find the value of each person that most persons have, in each attribute, as a code of the attribute.

        A bundle in which more persons share this value than a limit allows has more persons with the value in any row,
        too: a limit on these values is necessary for the limit on all.
        """
        counts = self.counts()
        person = np.repeat(np.arange(self.persons), np.diff(self.starts))
        found = []
        before = 0
        for size in self.sizes:
            entries = np.flatnonzero((self.values >= before) & (self.values < before + size))
            # The last entry of each person has its largest count; ties go to the smaller code.
            order = entries[np.lexsort((-self.values[entries], counts[self.values[entries]], person[entries]))]
            last = np.searchsorted(person[order], np.arange(self.persons), side="right") - 1
            found.append((self.values[order[last]] - before).astype(np.int32))
            before += size
        return found


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ShareLimits:
    """The largest, and the smallest, share of the persons of a bundle that may have each value, in exact integers."""

    least: int
    """Fewest persons of a bundle."""
    highest: NDArray[np.int64]
    """Numerators and denominators of the largest shares, shape (values, 2)."""
    lowest: NDArray[np.int64]
    """Numerators and denominators of the smallest shares, shape (values, 2)."""

    @classmethod
    def of(
        cls, least: int, highest: Sequence[Fraction], persons: int, lowest: Sequence[Fraction] | None = None
    ) -> ShareLimits:
        """Convert limits to fractions whose denominators are at most the number of persons: no decision changes by it.

        Parameters
        ----------
        least : int
            Fewest persons of a bundle.
        highest, lowest : sequence of Fraction
            Limits for each value; `lowest` is 0 by default.
        persons : int
            Number of persons of the table.
        """

        def below(limit: Fraction) -> tuple[int, int]:
            return neighbours(max(limit, Fraction(0)), persons)[0].as_integer_ratio()

        def above(limit: Fraction) -> tuple[int, int]:
            return neighbours(max(limit, Fraction(0)), persons)[1].as_integer_ratio()

        lowest = [Fraction(0)] * len(highest) if lowest is None else lowest
        return cls(
            least=least,
            highest=np.array([below(limit) for limit in highest], dtype=np.int64).reshape(-1, 2),
            lowest=np.array([above(limit) for limit in lowest], dtype=np.int64).reshape(-1, 2),
        )

    def most(self, persons: int) -> NDArray[np.int64]:
        """Compute how many of so many persons may have each value."""
        return self.highest[:, 0] * persons // self.highest[:, 1]

    def exceeded(self, counts: NDArray[np.int64], persons: int) -> NDArray[np.int64]:
        """List the values whose share among so many persons is too large or too small."""
        high = counts * self.highest[:, 1] > self.highest[:, 0] * persons
        low = counts * self.lowest[:, 1] < self.lowest[:, 0] * persons
        return np.flatnonzero(high | low)


def published_lengths(lengths: NDArray[np.integer], least: int) -> NDArray[np.int64]:
    """Choose how many rows each person publishes, so that each number is shared and the fewest rows are left out.

    Persons are sorted by their numbers of rows and cut into runs of at least `least` persons; every person of a run
    publishes as many rows as the shortest one has. An optimal choice of shared numbers always has this form: exchanging
    two persons whose order differs from that of their numbers never leaves out more.

    Parameters
    ----------
    lengths : integer array
        Number of rows of each person, each at least 1.
    least : int
        Fewest persons that publish a number of rows, from 1 to the number of persons.

    Returns
    -------
    int64 array
        Number of rows that each person publishes, at most its own.

    Examples
    --------
    >>> published_lengths(np.array([5, 1, 5, 2, 1]), 2)
    array([5, 1, 5, 1, 1])
    """
    # The kernel works on persons in the order of their numbers of rows.
    order = np.argsort(lengths, kind="stable")
    ascending = np.ascontiguousarray(lengths[order], dtype=np.int64)
    shortest = np.empty_like(ascending)
    cheapest_runs(ascending, least, shortest)
    # Back to the order of the persons.
    published = np.empty_like(shortest)
    published[order] = shortest
    return published


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Strata:
    """How many rows each person publishes, and what the published rows hold."""

    lengths: NDArray[np.int64]
    """Number of rows that each person publishes, at least 1."""
    kept: NDArray[np.bool_]
    """Whether each row is published."""
    values: ValueSets
    """Sensitive values of each person in its published rows."""
    limits: ShareLimits
    """What each bundle must satisfy."""
    fewest_left_out: int
    """Rows that any choice of lengths leaves out if each is shared by `limits.least` persons."""


def choose_strata(
    persons: NDArray[np.integer],
    positions: NDArray[np.integer],
    columns: Sequence[tuple[NDArray[np.integer], NDArray[np.integer], int]],
    limits_of: Callable[[ValueSets], ShareLimits],
    least: int,
) -> Strata:
    """Choose how many rows each person publishes, so that every stratum can be cut into bundles.

    The choice that leaves out the fewest rows comes first, and the first rows of each person stay. If a sensitive value
    has too large a share of a stratum, other rows of its persons stay. If that does not help, the stratum is joined
    with the next shorter one, or the shortest with the next longer one, until none fails.

    Parameters
    ----------
    persons : integer array
        Person of each row, from 0 on; every number occurs.
    positions : integer array
        Place of each row among those of its person, from 0 on.
    columns : sequence of (rows, codes, size)
        Sensitive values in each attribute: the row and the code of each, and the number of codes. A row may have
        several values.
    limits_of : callable
        Computes the limits from the sensitive values of all persons.
    least : int
        Fewest persons of a bundle.

    Raises
    ------
    InfeasibleError
        There are fewer persons than `least`, or a value is too frequent even if each person publishes one row.
    """
    of_persons = np.bincount(persons)
    count = len(of_persons)
    if count < least:
        raise InfeasibleError(
            f"The table has {count} persons, fewer than the {least} that each group needs. The largest value is ",
            Suggestion("k", count),
            ".",
        )
    # Start from the choice that leaves out the fewest rows; it ignores sensitive values.
    lengths = published_lengths(of_persons, least)
    fewest = int(of_persons.sum() - lengths.sum())
    in_order: _RowsOfPersons | None = None
    while True:
        kept = positions < lengths[persons]
        # Other rows stay only if the first ones fail.
        for attempt in range(2):
            held = [(persons[rows[kept[rows]]], codes[kept[rows]], size) for rows, codes, size in columns]
            values = ValueSets.of(count, held)
            limits = limits_of(values)
            failing = _failing(lengths, values, limits)
            if not failing:
                return Strata(lengths=lengths, kept=kept, values=values, limits=limits, fewest_left_out=fewest)
            if attempt == 0:
                in_order = in_order or _RowsOfPersons.of(persons, positions, columns)
                kept = in_order.choose([np.flatnonzero(lengths == length) for length in failing], kept, limits)
        # Longest first: joining with a shorter stratum leaves out rows of one stratum only.
        lengths = _shortened(lengths, failing[-1])


def _failing(lengths: NDArray[np.int64], values: ValueSets, limits: ShareLimits) -> list[int]:
    """List the numbers of rows of the strata in which a sensitive value has too large or too small a share."""
    strata = {length: np.flatnonzero(lengths == length) for length in np.unique(lengths).tolist()}
    return [
        length
        for length, members in strata.items()
        if len(limits.exceeded(values.select(members).counts(), len(members)))
    ]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _RowsOfPersons:
    """All rows, person by person, with their sensitive values."""

    order: NDArray[np.integer]
    """The rows in the order of their persons and positions."""
    rows: RowValues
    """Their values."""

    @classmethod
    def of(
        cls,
        persons: NDArray[np.integer],
        positions: NDArray[np.integer],
        columns: Sequence[tuple[NDArray[np.integer], NDArray[np.integer], int]],
    ) -> _RowsOfPersons:
        """Sort the rows; see `choose_strata`."""
        order = np.lexsort((positions, persons))
        places = np.argsort(order)
        sets = ValueSets.of(len(order), [(places[rows], codes, size) for rows, codes, size in columns])
        starts = np.concatenate(([0], np.cumsum(np.bincount(persons)))).astype(np.int64)
        return cls(order=order, rows=RowValues(starts=starts, entries=sets.starts, values=sets.values))

    def choose(
        self, strata: Sequence[NDArray[np.integer]], kept: NDArray[np.bool_], limits: ShareLimits
    ) -> NDArray[np.bool_]:
        """Choose other rows of the persons of some strata, as many of each as before."""
        stays = kept[self.order]
        for members in strata:
            choose_rows(members, self.rows, limits.most(len(members)), stays)
        chosen = np.empty_like(kept)
        chosen[self.order] = stays
        return chosen


def _shortened(lengths: NDArray[np.int64], failing: int) -> NDArray[np.int64]:
    """Join a failing stratum with its neighbour; the shorter number of rows is that of both."""
    known = np.unique(lengths)
    place = int(np.searchsorted(known, failing))
    if place > 0:
        return np.where(lengths == failing, known[place - 1], lengths)
    if len(known) > 1:
        return np.where(lengths == known[1], failing, lengths)
    if failing > 1:
        return lengths - 1
    raise InfeasibleError(
        "A sensitive value is too frequent: even if each person publishes one row, more persons share it than the "
        "models allow. Choose a smaller value of ",
        Suggestion("l"),
        ", or more values.",
    )
