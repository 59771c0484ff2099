"""Compatible rows: for people with known quasi-identifiers, the rows of a release that may be about them.

A row is compatible with a person if each of its cells may stand for the person's value. Distinct people and distinct
rows are processed once, with their counts, and a tree over boxes of cells finds the compatible pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.progress import Progress, silent
from shoal.joins import BoxJoin, distinct_rows
from shoal.verification.covered_ranks import CoveredRanks
from shoal.verification.placing import place_cells
from shoal.verification.published_columns import (
    ReadColumn,
    ReadingProblem,
    ReadTable,
    check_true_values,
    not_understood_error,
    suggest_declaration,
)
from shoal.verification.sub_domains import Everything

Coverage: TypeAlias = Literal["population", "members", "exactly", "some"]
"""The assumption about which people and rows belong together."""
_MAX_VALUES_PER_PASS = 64
"""Number of sensitive values that are counted in one pass over the tree."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class CompatibilityJoin:
    """The join of distinct people (points) with distinct rows of a release (boxes over the people's values)."""

    covered: CoveredRanks
    """Ranks that the cells of all columns cover; the last entries are single values."""
    boxes: NDArray[np.int32]
    """The distinct rows: a cell for each column."""
    box_of: NDArray[np.int64]
    """The box of each row of the release."""
    points: NDArray[np.int32]
    """The distinct people: a single value for each column."""
    point_of: NDArray[np.int64]
    """The point of each person."""

    @cached_property
    def _join(self) -> BoxJoin:
        return BoxJoin(self.points, self.covered, self.boxes, self.covered)

    def sum_over_rows(self, carried: NDArray[np.int64], progress: Progress = silent) -> NDArray[np.int64]:
        """Sum weights of compatible boxes for each point; `carried` has shape (boxes, m)."""
        return self._join.to_left(carried, progress)

    def sum_over_people(self, carried: NDArray[np.int64], progress: Progress = silent) -> NDArray[np.int64]:
        """Sum weights of compatible points for each box; `carried` has shape (points, m)."""
        return self._join.to_right(carried, progress)

    def count_values(
        self, codes: NDArray[np.int64], start: int, stop: int, progress: Progress = silent
    ) -> NDArray[np.int64]:
        """Count the compatible rows of each point with each code from `start` to before `stop`, given those of rows."""
        here = (codes >= start) & (codes < stop)
        carried = np.zeros((len(self.boxes), stop - start), dtype=np.int64)
        np.add.at(carried, (self.box_of[here], codes[here] - start), 1)
        return self.sum_over_rows(carried, progress)

    def __repr__(self) -> str:
        return f"CompatibilityJoin(boxes={len(self.boxes)}, points={len(self.points)})"


def join_compatible(understood: ReadTable, people: pl.DataFrame) -> CompatibilityJoin:
    """Join a release with people, with its cells placed on the values of these people.

    Parameters
    ----------
    understood : ReadTable
        The quasi-identifiers of the release.
    people : polars.DataFrame
        True quasi-identifiers of at least one person.
    """
    columns = list(understood.columns.values())
    ranks = np.empty((people.height, len(columns)), dtype=np.int32)
    parts, problems = [], []
    # Place the cells of each column on the ranks of the people's values.
    for at, column in enumerate(columns):
        given = people.get_column(column.name)
        # True values must be of the column's kind, such as dates for intervals of dates.
        check_true_values(column, given, "the people")
        values, ranks[:, at] = column.values(given)
        parts.append(place_cells(column, values))
        if column.scale in ("number", "date", "time") and not values.placed and not column.is_plain:
            kind = {"number": "numbers", "date": "dates", "time": "times"}[column.scale]
            why = f"its cells are intervals of {kind}, and the values of the people are none"
            problems.append(ReadingProblem(column=column.name, why=why, how=suggest_declaration(column.name)))
    if problems:
        raise not_understood_error(problems)
    # Single values follow the cells in one list of covered ranks.
    sizes = [int(one.max()) + 1 for one in ranks.T]
    singles = map(CoveredRanks.singles, sizes)
    offsets = np.cumsum([0, *(len(one) for one in parts), *sizes])
    d = len(columns)
    labels, box_of = distinct_rows(np.column_stack([column.codes for column in columns]).astype(np.int32))
    points, point_of = distinct_rows(ranks)
    return CompatibilityJoin(
        covered=CoveredRanks.joined([*parts, *singles]),
        boxes=(labels + offsets[:d]).astype(np.int32),
        box_of=box_of,
        points=(points + offsets[d : 2 * d]).astype(np.int32),
        point_of=point_of,
    )


def require_matching(understood: ReadTable, people: pl.DataFrame, who: Coverage) -> ReadTable:
    """Check that columns without a declared meaning match the values of these people.

    A column that does not looks like plain values, but may contain names of classes: the attack would seem to fail.

    Parameters
    ----------
    understood : ReadTable
        The quasi-identifiers of the release.
    people : polars.DataFrame
        True quasi-identifiers.
    who : Coverage
        "population" if all rows are about these people, so that each cell shows a person's value; "members" if all
        people are in the release, so that a cell shows each person's value or a star hides it; "exactly" if both are
        claimed but a few rows may be about other people; "some" if neither is known, so that at least one cell should
        show a person's value.

    Returns
    -------
    ReadTable
        The same quasi-identifiers.

    Raises
    ------
    NotUnderstoodError
        If a column does not match.
    """
    problems = []
    for column in understood.columns.values():
        if column.is_plain:
            values, ranks = column.values(people.get_column(column.name))
            problems += _check_column(column, place_cells(column, values), ranks, who)
    if problems:
        raise not_understood_error(problems)
    return understood


def _check_column(
    column: ReadColumn, covered: CoveredRanks, ranks: NDArray[np.int32], who: Coverage
) -> list[ReadingProblem]:
    """Check whether the cells of a plain column match the people's values, as far as `who` demands."""
    stars = np.array([isinstance(one, Everything) for one in column.sub_domains], dtype=np.bool_)
    plain = int(np.count_nonzero(~stars))
    nobody = int(np.count_nonzero(covered.low[~stars] > covered.high[~stars]))
    shown = covered.low[~stars & (covered.low <= covered.high)]
    unmatched = int(np.count_nonzero(~np.isin(ranks, shown)))
    # The conditions under which the cells may be something else than plain values.
    doubtful = {
        "population": nobody > 0,
        "members": unmatched > 0 and (plain == len(stars) or unmatched == len(ranks)),
        "exactly": unmatched > 0 and (plain == len(stars) or nobody > 0),
        "some": nobody == plain,
    }[who]
    if not doubtful or not plain:
        return []
    why = (
        f"{unmatched} of {len(ranks)} people have a value that none of its cells shows, and {nobody} of its "
        f"{len(stars)} distinct cells show what is no value of these people"
    )
    return [ReadingProblem(column=column.name, why=why, how=suggest_declaration(column.name))]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class CompatibleValues:
    """Sensitive values of the compatible rows of each person, and the true value."""

    rows: NDArray[np.int64]
    """Number of compatible rows."""
    distinct: NDArray[np.int64]
    """Number of distinct values."""
    most: NDArray[np.int64]
    """Number of rows with the most common value."""
    guess: NDArray[np.int64]
    """The most common value (the first if tied); -1 if no row is compatible."""
    least: NDArray[np.int64]
    """The smallest code of the values; -1 if no row is compatible."""
    greatest: NDArray[np.int64]
    """The largest code of the values; -1 if no row is compatible."""
    truth: NDArray[np.int64]
    """The true value; -1 if the release does not show it anywhere."""
    own: NDArray[np.int64]
    """Number of rows with the true value."""
    together: NDArray[np.int64]
    """Number of rows of the same person that are among the same rows; 1 if each row is another person's."""
    excludable: NDArray[np.int64] | None = None
    """For 0, 1, ... excluded values: the most rows with so many values that no row of the person has; only for persons
    with several rows, if values are excluded."""

    @property
    def certain(self) -> NDArray[np.bool_]:
        """Whether some row of the person has the true value in every matching: too few rows have another value."""
        return np.asarray((self.own > 0) & (self.own + self.together > self.rows))

    def __repr__(self) -> str:
        return f"CompatibleValues(people={len(self.rows)})"


def summarize_compatible(
    join: CompatibilityJoin,
    codes: NDArray[np.int64],
    truth: NDArray[np.int64],
    *,
    progress: Progress = silent,
) -> CompatibleValues:
    """Summarize the sensitive values of the rows that are compatible with each person.

    Parameters
    ----------
    join : CompatibilityJoin
        The people and the release.
    codes : int64 array
        The sensitive value of each row of the release, at least 0.
    truth : int64 array
        The true value of each person.
    progress : Progress, optional
        Called from time to time.
    """
    points, size = len(join.points), int(codes.max()) + 1
    rows, distinct, most = (np.zeros(points, dtype=np.int64) for _ in range(3))
    guess, least, greatest = (np.full(points, -1, dtype=np.int64) for _ in range(3))
    own = np.zeros(len(truth), dtype=np.int64)
    for start in range(0, size, _MAX_VALUES_PER_PASS):
        stop = min(start + _MAX_VALUES_PER_PASS, size)
        # Count the rows of each value for each distinct person.
        counts = join.count_values(codes, start, stop, progress)
        some = counts > 0
        any_of_these, best = some.any(axis=1), counts.argmax(axis=1)
        first, last = some.argmax(axis=1), counts.shape[1] - 1 - some[:, ::-1].argmax(axis=1)
        # Merge with the values of earlier passes.
        best_count = counts[np.arange(points), best]
        # A later value replaces the guess only if it is strictly more common.
        guess = np.where(best_count > most, start + best, guess)
        least = np.where((least < 0) & any_of_these, start + first, least)
        greatest = np.where(any_of_these, start + last, greatest)
        most, rows, distinct = np.maximum(most, best_count), rows + counts.sum(axis=1), distinct + some.sum(axis=1)
        known = np.flatnonzero((truth >= start) & (truth < stop))
        own[known] = counts[join.point_of[known], truth[known] - start]
    of = join.point_of
    return CompatibleValues(
        rows=rows[of],
        distinct=distinct[of],
        most=most[of],
        guess=guess[of],
        least=least[of],
        greatest=greatest[of],
        truth=truth,
        own=own,
        together=np.ones(len(truth), dtype=np.int64),
    )


def summarize_groups(group_of: NDArray[np.int64], codes: NDArray[np.int64]) -> CompatibleValues:
    """Summarize the sensitive values of each row's group, as if the group of each person were known.

    Parameters
    ----------
    group_of : int64 array
        The group of each row.
    codes : int64 array
        The sensitive value of each row, at least 0.
    """
    width = int(codes.max()) + 1
    # Runs of equal (group, value) pairs, sorted.
    keys, which, count = np.unique(group_of * width + codes, return_inverse=True, return_counts=True)
    group, value = keys // width, keys % width
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    entries = np.diff(starts, append=len(group))
    # The first of the most common values of each group.
    most = np.maximum.reduceat(count, starts)
    at_most = np.flatnonzero(count == np.repeat(most, entries))
    place = np.repeat(np.arange(len(starts)), entries)
    first_at_most = at_most[np.unique(place[at_most], return_index=True)[1]]
    of = place[which]
    return CompatibleValues(
        rows=np.add.reduceat(count, starts)[of],
        distinct=entries[of],
        most=most[of],
        guess=value[first_at_most][of],
        least=np.minimum.reduceat(value, starts)[of],
        greatest=np.maximum.reduceat(value, starts)[of],
        truth=codes,
        own=count[which],
        together=np.ones(len(codes), dtype=np.int64),
    )
