"""Frequencies where a star, an interval, a set or a node stands for any of its values: rows that are compatible.

Two rows are compatible where their cells have a value in common in every quasi-identifier. Somebody who joins a release
with another table must assume that any of them may be meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from shoal._core.progress import Progress, silent
from shoal._messages import Suggestion
from shoal.disclosure_risk.frequencies import Frequencies, class_numbers
from shoal.errors import DataError
from shoal.joins import BoxJoin
from shoal.models import PeopleCounts
from shoal.verification import Meaning, read_table
from shoal.verification.covered_ranks import CoveredRanks
from shoal.verification.placing import place
from shoal.verification.published_columns import check_true_values
from shoal.verification.sub_domains import AnyOf, Between, Everything, Listed, Masked, Span, SubDomain
from shoal.verification.values import Values

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.verification import ReadColumn, ReadTable
    from shoal.verification.counting import Fitting
    from shoal.verification.scales import Position

__all__ = ["count_compatible", "fitting", "generalized_columns"]

_DAY = 86_400 * 10**9
_UNIX_EPOCH = date(1970, 1, 1).toordinal()


def count_compatible(
    table: pl.DataFrame,
    classes: Frequencies,
    population: pl.DataFrame | None = None,
    *,
    star: str = "*",
    meanings: Mapping[str, Meaning] | None = None,
    progress: Progress = silent,
) -> Frequencies:
    """Count for each class of a table the rows, and the people of a population, that its cells are compatible with.

    Parameters
    ----------
    table : polars.DataFrame
        The quasi-identifiers of the table.
    classes : Frequencies
        Its classes of rows with the same cells.
    population : polars.DataFrame, optional
        The same columns of the population, with true values.
    star : str
        How a suppressed cell is written.
    meanings : mapping of column to Meaning, optional
        What is said of cells that do not say it themselves.
    progress : Progress, optional

    Raises
    ------
    NotUnderstoodError
        Where it is in doubt what the cells of a column stand for; says how to say it.
    DataError
        Where the population is smaller than the table, or some rows of the table fit too few people.
    """
    read = read_table(table, table.columns, star=star, meanings=meanings, beside=population)
    read.require()
    cells = [column.codes[classes.first_rows] for column in read.columns.values()]
    covered = [place(column, _witnesses(column)) for column in read.columns.values()]
    for name, codes, one in zip(read.columns, cells, covered, strict=True):
        nothing = int(classes.rows_of[(one.high < one.low)[codes]].sum())
        if nothing:
            raise DataError(
                f"The column '{name}' has cells that no value fits, such as an interval that ends before it begins, in "
                f"{nothing:,} row(s). Correct them, or count them as values of their own: ",
                Suggestion("stars", "own"),
                ".",
            )
    boxes, regions = _joined(cells, covered)
    pairs = BoxJoin(boxes, regions, boxes, regions)

    def join(carried: NDArray[np.int64]) -> NDArray[np.int64]:
        return pairs.to_left(carried, progress)

    found = replace(classes, sample=join(classes.rows_of[:, None])[:, 0], join=join)
    return found if population is None else _with_people(found, read, cells, population, progress)


def generalized_columns(
    table: pl.DataFrame, *, star: str = "*", meanings: Mapping[str, Meaning] | None = None
) -> list[str]:
    """Return the columns of which some cell stands for more than one value."""
    read = read_table(table, table.columns, star=star, meanings=meanings)
    read.require()
    plain = (Listed,)
    return [
        name
        for name, column in read.columns.items()
        if not all(isinstance(one, plain) and len(one.texts) == 1 for one in column.sub_domains)
    ]


def fitting(
    population: pl.DataFrame,
    *,
    star: str = "*",
    meanings: Mapping[str, Meaning] | None = None,
    progress: Progress = silent,
) -> Fitting:
    """Return what counts the people of a population who fit the cells of groups.

    Rows that show nothing but stars are those of people who fit no other group: whoever knows how a table was made
    knows that. With rows that are recoded one by one this counts too few people for them, never too many.

    Parameters
    ----------
    population : polars.DataFrame
        The quasi-identifiers of the population, with true values.
    star : str
        How a suppressed cell is written.
    meanings : mapping of column to Meaning, optional
        What is said of cells that do not say it themselves.
    progress : Progress, optional
    """

    def fit(groups: pl.DataFrame, rows: NDArray[np.int64]) -> PeopleCounts:
        names = groups.columns
        read = read_table(groups, names, star=star, meanings=meanings, beside=population[names])
        read.require()
        if population.height < int(rows.sum()):
            raise DataError(_too_few(population.height, int(rows.sum())))
        cells = [column.codes for column in read.columns.values()]
        everybody = _Everybody.of(read, cells, population)
        stars = _all_stars(read)
        found, times = everybody.people_and_boxes(~stars, progress)
        _check_people(rows, found, read, cells, everybody.covered)
        rest = int(everybody.counts[times == 0].sum())
        found[stars] = rest
        return PeopleCounts.of(
            rows,
            found,
            members=population.height,
            outside=0 if stars.any() else rest,
            overlapping=bool((times > 1).any()) or int(np.count_nonzero(stars)) > 1,
        )

    return fit


def _all_stars(read: ReadTable) -> NDArray[np.bool_]:
    """Return which rows of a table show nothing but stars."""
    shown = [
        np.array([isinstance(one, Everything) for one in column.sub_domains], dtype=np.bool_)[column.codes]
        for column in read.columns.values()
    ]
    return np.asarray(np.logical_and.reduce(shown))


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Everybody:
    """The people of a population, each different one once, and the cells of a table, placed on their values."""

    points: NDArray[np.int32]
    at_points: CoveredRanks
    counts: NDArray[np.int64]
    """How many people each point is."""
    boxes: NDArray[np.int32]
    regions: CoveredRanks
    covered: Sequence[CoveredRanks]
    """What the cells of each column cover."""

    @classmethod
    def of(cls, read: ReadTable, cells: Sequence[NDArray[np.integer]], population: pl.DataFrame) -> _Everybody:
        ranks, covered = [], []
        for column in read.columns.values():
            given = population.get_column(column.name)
            check_true_values(column, given, "the population")
            values, of_people = column.values(given)
            ranks.append(of_people)
            covered.append(place(column, values))
        _, counts, first = class_numbers([(one, int(one.max()) + 1) for one in ranks], population.height)
        points, at_points = _joined([one[first] for one in ranks], [_single(int(one.max()) + 1) for one in ranks])
        boxes, regions = _joined(cells, covered)
        return cls(
            points=points, at_points=at_points, counts=counts, boxes=boxes, regions=regions, covered=tuple(covered)
        )

    @cached_property
    def _join(self) -> BoxJoin:
        return BoxJoin(self.points, self.at_points, self.boxes, self.regions)

    def people_and_boxes(self, which: NDArray[np.bool_], progress: Progress) -> _Fits:
        """Return how many people fit each box, and how many of some boxes each point fits."""
        times, people = self._join.both(self.counts[:, None], which.astype(np.int64)[:, None], progress)
        return _Fits(people=people[:, 0], boxes=times[:, 0])


class _Fits(NamedTuple):
    people: NDArray[np.int64]
    """How many people fit each box."""
    boxes: NDArray[np.int64]
    """How many of some boxes each point fits."""


def _with_people(
    found: Frequencies,
    read: ReadTable,
    cells: Sequence[NDArray[np.integer]],
    population: pl.DataFrame,
    progress: Progress,
) -> Frequencies:
    """Add the frequencies in the population."""
    if population.height < found.rows:
        raise DataError(_too_few(population.height, found.rows))
    everybody = _Everybody.of(read, cells, population)
    big, times = everybody.people_and_boxes(np.ones(found.classes, dtype=np.bool_), progress)
    _check_people(found.rows_of, big, read, cells, everybody.covered)
    return replace(
        found,
        population=big,
        people=population.height,
        outside=int(everybody.counts[times == 0].sum()),
        overlapping=bool((times > 1).any()),
    )


def _too_few(people: int, rows: int) -> str:
    return (
        f"The population has {people:,} row(s), fewer than the {rows:,} of the table. It must hold everybody who may "
        "be meant, with one row per person, the people of the table among them."
    )


def _check_people(
    rows_of: NDArray[np.int64],
    big: NDArray[np.int64],
    read: ReadTable,
    cells: Sequence[NDArray[np.integer]],
    covered: Sequence[CoveredRanks],
) -> None:
    """Raise where rows with the same cells fit fewer people than they are, naming columns whose cells nobody fits."""
    short = big < rows_of
    if not short.any():
        return
    strange = []
    for name, codes, regions in zip(read.columns, cells, covered, strict=True):
        nobody = (regions.high < regions.low)[codes]
        if nobody.any():
            strange.append(f"'{name}' ({int(rows_of[nobody].sum()):,} row(s) whose cell nobody fits)")
    where = f" The columns that do not match: {', '.join(strange)}." if strange else ""
    raise DataError(
        f"{int((rows_of - big)[short].sum()):,} row(s) of the table fit nobody of the population who is left; it "
        f"must hold everybody of the table.{where} Give a population of the same people with their true values; where "
        "cells do not say what they stand for, say it with ",
        Suggestion("hierarchies"),
        " or ",
        Suggestion("cells"),
        ".",
    )


def _joined(
    cells: Sequence[NDArray[np.integer]], regions: Sequence[CoveredRanks]
) -> tuple[NDArray[np.int32], CoveredRanks]:
    """Return boxes, each the places of its regions among those of all columns, and the regions."""
    offsets = np.cumsum([0, *(len(one) for one in regions[:-1])])
    return (np.column_stack(cells) + offsets).astype(np.int32), CoveredRanks.joined(regions)


def _single(ranks: int) -> CoveredRanks:
    """Return a region for each rank: that rank alone."""
    each = np.arange(ranks, dtype=np.int32)
    return CoveredRanks(
        low=each, high=each, starts=np.zeros(ranks + 1, dtype=np.int64), members=np.empty(0, dtype=np.int32)
    )


# Values that tell which cells of a column have one in common.


def _witnesses(column: ReadColumn) -> Values:
    """Return values such that two cells of a column have one of them in common where they have any in common.

    Those are the values that cells are written with; on a scale also what lies between any two of them that are next
    to each other, and beyond the ends; and a text for each mask. (Masks with stars before their end that have only a
    text in common which no cell shows count as different.)
    """
    positions: set[Position] = set()
    texts: set[str] = set()
    for one in column.sub_domains:
        for atom in _atoms(one):
            if not isinstance(atom, str):
                positions.add(atom)
                continue
            position = column.position_of(atom)
            if position is None:
                texts.add(atom)
            else:
                positions.add(position)
    ordered = sorted(positions)
    between = [Fraction(low + high) / 2 for low, high in pairwise(ordered)]
    beyond = [ordered[0] - 1, ordered[-1] + 1] if ordered else []
    written = [_written(place, column.scale) for place in (*ordered, *between, *beyond)]
    return Values(pl.Series([*written, *sorted(texts)], dtype=pl.String), column.scale)


def _atoms(found: SubDomain) -> Iterator[str | Position]:
    """Return what a sub-domain is written with: values as text, ends of intervals as positions."""
    if isinstance(found, Listed):
        yield from (text for text in found.texts if text is not None)
    elif isinstance(found, Span):
        yield from (end for end in (found.low, found.high) if end is not None)
    elif isinstance(found, Between):
        for end in (found.low, found.high):
            if end is not None:
                yield from _atoms(end)
    elif isinstance(found, Masked):
        yield found.text.replace(found.star, "0")
    elif isinstance(found, AnyOf):
        for part in found.parts:
            yield from _atoms(part)


def _written(place: Position, scale: str) -> str:
    """Return a text that says a position; between two moments the whole nanosecond before."""
    if scale == "number":
        return str(Fraction(place))
    days, clock = divmod(int(place // 1), _DAY)
    seconds, part = divmod(clock, 10**9)
    time = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{part:09}"
    return time if scale == "time" else f"{date.fromordinal(days + _UNIX_EPOCH).isoformat()}T{time}"
