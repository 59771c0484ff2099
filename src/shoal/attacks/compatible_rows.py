"""What a release shows of people whose quasi-identifiers are known: the rows whose cells are compatible with theirs.

A row is compatible with a person where each of its cells may stand for the person's value. Everything is done on
different people and different rows, with their numbers, and a tree over boxes of cells finds which meet which.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from shoal._core.progress import Progress, silent
from shoal.joins import BoxJoin, distinct_rows
from shoal.verification.covered_ranks import CoveredRanks
from shoal.verification.placing import place
from shoal.verification.published_columns import ReadingProblem, check_true_values, how_to_say, not_understood
from shoal.verification.sub_domains import Everything

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal.verification.published_columns import ReadColumn, ReadTable

__all__ = ["Meeting", "Shown", "meet", "shown_in_groups", "shown_to", "why_not_matched"]

Who: TypeAlias = Literal["everybody", "members", "exactly", "some"]
"""Which people a release is held against."""
_TOGETHER = 64
"""Sensitive values that are counted in one walk."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Meeting:
    """People and rows of a release, each different one once, as boxes over the people's values."""

    covered: CoveredRanks
    """What the cells of all columns cover; the last entries are single values."""
    boxes: NDArray[np.int32]
    """The different rows: for each column a cell."""
    box_of: NDArray[np.int64]
    """Which of them each row of the release is."""
    points: NDArray[np.int32]
    """The different people: for each column a single value."""
    point_of: NDArray[np.int64]
    """Which of them each person is."""

    @cached_property
    def _join(self) -> BoxJoin:
        return BoxJoin(self.points, self.covered, self.boxes, self.covered)

    def rows_of_points(self, carried: NDArray[np.int64], progress: Progress = silent) -> NDArray[np.int64]:
        """Return for each different person the sum of what compatible boxes carry; `carried` has shape (boxes, m)."""
        return self._join.to_left(carried, progress)

    def people_of_boxes(self, carried: NDArray[np.int64], progress: Progress = silent) -> NDArray[np.int64]:
        """Return for each different row the sum of what compatible people carry; `carried` has shape (people, m)."""
        return self._join.to_right(carried, progress)

    def __repr__(self) -> str:
        return f"Meeting(boxes={len(self.boxes)}, points={len(self.points)})"


def meet(understood: ReadTable, people: pl.DataFrame) -> Meeting:
    """Place the cells of a release and some people on the values that these people have.

    Parameters
    ----------
    understood : ReadTable
        The quasi-identifiers of the release.
    people : polars.DataFrame
        Their true quasi-identifiers, at least one person.
    """
    columns = list(understood.columns.values())
    ranks = np.empty((people.height, len(columns)), dtype=np.int32)
    parts, problems = [], []
    for at, column in enumerate(columns):
        given = people.get_column(column.name)
        check_true_values(column, given, "the people")
        values, ranks[:, at] = column.values(given)
        parts.append(place(column, values))
        if column.scale in ("number", "date", "time") and not values.placed and not column.is_plain:
            kind = {"number": "numbers", "date": "dates", "time": "times"}[column.scale]
            why = f"its cells are intervals of {kind}, and the values of the people are none"
            problems.append(ReadingProblem(column=column.name, why=why, how=how_to_say(column.name)))
    if problems:
        raise not_understood(problems)
    sizes = [int(one.max()) + 1 for one in ranks.T]
    singles = [_single_values(size) for size in sizes]
    offsets = np.cumsum([0, *(len(one) for one in parts), *sizes])
    d = len(columns)
    labels, box_of = distinct_rows(np.column_stack([column.codes for column in columns]).astype(np.int32))
    points, point_of = distinct_rows(ranks)
    return Meeting(
        covered=CoveredRanks.joined([*parts, *singles]),
        boxes=(labels + offsets[:d]).astype(np.int32),
        box_of=box_of,
        points=(points + offsets[d : 2 * d]).astype(np.int32),
        point_of=point_of,
    )


def _single_values(size: int) -> CoveredRanks:
    ranks = np.arange(size, dtype=np.int32)
    return CoveredRanks(
        low=ranks, high=ranks, starts=np.zeros(size + 1, dtype=np.int64), members=np.empty(0, dtype=np.int32)
    )


def why_not_matched(understood: ReadTable, people: pl.DataFrame, who: Who) -> list[ReadingProblem]:
    """Return the columns of which nobody said what the cells are, and which show what is no value of these people.

    Such a column looks like values as they stand, and may as well be names of classes.

    Parameters
    ----------
    understood : ReadTable
    people : polars.DataFrame
    who : Who
        "everybody" where all rows are of these people, so that each cell shows somebody's value; "members" where all
        people are in the release, so that some cell shows the value of each, or a star hides it; "exactly" where both
        is said, but a row or two may be nobody's; "some" where neither is known, so that at least one cell should show
        somebody's value.
    """
    problems = []
    for column in understood.columns.values():
        if column.is_plain:
            values, ranks = column.values(people.get_column(column.name))
            problems += _unmatched(column, place(column, values), ranks, who)
    return problems


def _unmatched(column: ReadColumn, covered: CoveredRanks, ranks: NDArray[np.int32], who: Who) -> list[ReadingProblem]:
    stars = np.array([isinstance(one, Everything) for one in column.sub_domains], dtype=np.bool_)
    plain = int(np.count_nonzero(~stars))
    nobody = int(np.count_nonzero(covered.low[~stars] > covered.high[~stars]))
    shown = covered.low[~stars & (covered.low <= covered.high)]
    unmatched = int(np.count_nonzero(~np.isin(ranks, shown)))
    doubtful = {
        "everybody": nobody > 0,
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
    return [ReadingProblem(column=column.name, why=why, how=how_to_say(column.name))]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Shown:
    """What the compatible rows of each person show of the sensitive attribute, and the truth."""

    rows: NDArray[np.int64]
    """How many rows are compatible."""
    distinct: NDArray[np.int64]
    """How many different values they have."""
    most: NDArray[np.int64]
    """How many of them have the most common value."""
    guess: NDArray[np.int64]
    """The most common value, of several the first; -1 where no row is compatible."""
    least: NDArray[np.int64]
    """The first of their values; -1 where no row is compatible."""
    greatest: NDArray[np.int64]
    """The last of them."""
    truth: NDArray[np.int64]
    """The person's value; -1 where the release does not show it anywhere."""
    own: NDArray[np.int64]
    """How many of the rows have the person's value."""

    def __repr__(self) -> str:
        return f"Shown(people={len(self.rows)})"


def shown_to(
    meeting: Meeting,
    codes: NDArray[np.int64],
    truth: NDArray[np.int64],
    *,
    progress: Progress = silent,
) -> Shown:
    """Return what is shown of each person.

    Parameters
    ----------
    meeting : Meeting
        The people and the release.
    codes : int64 array
        The sensitive value of each row of the release, at least 0.
    truth : int64 array
        That of each person.
    progress : Progress, optional
    """
    points, size = len(meeting.points), int(codes.max()) + 1
    rows, distinct, most = (np.zeros(points, dtype=np.int64) for _ in range(3))
    guess, least, greatest = (np.full(points, -1, dtype=np.int64) for _ in range(3))
    own = np.zeros(len(truth), dtype=np.int64)
    for start in range(0, size, _TOGETHER):
        stop = min(start + _TOGETHER, size)
        here = (codes >= start) & (codes < stop)
        carried = np.zeros((len(meeting.boxes), stop - start), dtype=np.int64)
        np.add.at(carried, (meeting.box_of[here], codes[here] - start), 1)
        counts = meeting.rows_of_points(carried, progress)
        some = counts > 0
        any_of_these, best = some.any(axis=1), counts.argmax(axis=1)
        first, last = some.argmax(axis=1), counts.shape[1] - 1 - some[:, ::-1].argmax(axis=1)
        best_count = counts[np.arange(points), best]
        guess = np.where(best_count > most, start + best, guess)
        least = np.where((least < 0) & any_of_these, start + first, least)
        greatest = np.where(any_of_these, start + last, greatest)
        most, rows, distinct = np.maximum(most, best_count), rows + counts.sum(axis=1), distinct + some.sum(axis=1)
        told = np.flatnonzero((truth >= start) & (truth < stop))
        own[told] = counts[meeting.point_of[told], truth[told] - start]
    of = meeting.point_of
    return Shown(
        rows=rows[of],
        distinct=distinct[of],
        most=most[of],
        guess=guess[of],
        least=least[of],
        greatest=greatest[of],
        truth=truth,
        own=own,
    )


def shown_in_groups(group_of: NDArray[np.int64], codes: NDArray[np.int64]) -> Shown:
    """Return what is shown of somebody whose group is known, for each row.

    Parameters
    ----------
    group_of : int64 array
        The group of each row.
    codes : int64 array
        The sensitive value of each row, at least 0.
    """
    width = int(codes.max()) + 1
    keys, which, count = np.unique(group_of * width + codes, return_inverse=True, return_counts=True)
    group, value = keys // width, keys % width
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    entries = np.diff(starts, append=len(group))
    most = np.maximum.reduceat(count, starts)
    at_most = np.flatnonzero(count == np.repeat(most, entries))
    place = np.repeat(np.arange(len(starts)), entries)
    first_at_most = at_most[np.unique(place[at_most], return_index=True)[1]]
    of = place[which]
    return Shown(
        rows=np.add.reduceat(count, starts)[of],
        distinct=entries[of],
        most=most[of],
        guess=value[first_at_most][of],
        least=np.minimum.reduceat(value, starts)[of],
        greatest=np.maximum.reduceat(value, starts)[of],
        truth=codes,
        own=count[which],
    )
