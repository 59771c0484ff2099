"""Frequencies if a star, an interval, a set or a node stands for any of its values: numbers of compatible rows.

Two rows are compatible if their cells have a common value in every quasi-identifier. An adversary who joins a release
with another table must assume that any compatible row may be the right one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.progress import Progress, silent
from shoal._messages import Suggestion
from shoal.disclosure_risk.frequencies import Frequencies, number_classes
from shoal.errors import DataError
from shoal.joins import BoxJoin
from shoal.models.release_counts import PeopleCounts
from shoal.verification import Fitting, Meaning, ReadColumn, ReadTable, read_table
from shoal.verification.covered_ranks import CoveredRanks
from shoal.verification.placing import place_cells
from shoal.verification.published_columns import check_true_values
from shoal.verification.scales import Position
from shoal.verification.sub_domains import AnyOf, Between, Everything, Listed, Masked, Span, SubDomain
from shoal.verification.values import Values

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
    """Count for each class the rows of a table, and the people of a population, that are compatible with its cells.

    Parameters
    ----------
    table : polars.DataFrame
        The quasi-identifiers of the table.
    classes : Frequencies
        Its classes of rows with the same cells.
    population : polars.DataFrame, optional
        The same columns of the population, with true values.
    star : str
        The text of a suppressed cell.
    meanings : mapping of column to Meaning, optional
        Declared meanings of cells.
    progress : Progress, optional
        Called from time to time.

    Raises
    ------
    NotUnderstoodError
        If the meaning of a column's cells is in doubt; the message explains how to declare it.
    DataError
        If the population is smaller than the table, or some rows of the table are compatible with too few people.
    """
    read = read_table(table, table.columns, star=star, meanings=meanings, true_values=population)
    read.require()
    cells = [column.codes[classes.first_rows] for column in read.columns.values()]
    # Two cells overlap if they share a witness value; a cell without any value is an error.
    covered = [place_cells(column, _choose_witnesses(column)) for column in read.columns.values()]
    for name, codes, one in zip(read.columns, cells, covered, strict=True):
        nothing = int(classes.rows_of[(one.high < one.low)[codes]].sum())
        if nothing:
            raise DataError(
                f"The column '{name}' has cells that no value fits, such as an interval that ends before it begins, in "
                f"{nothing:,} row(s). Correct them, or count them as values of their own: ",
                Suggestion("stars", "own"),
                ".",
            )
    # Join the classes with themselves.
    boxes, regions = _stack_boxes(cells, covered)
    pairs = BoxJoin(boxes, regions, boxes, regions)

    def join(carried: NDArray[np.int64]) -> NDArray[np.int64]:
        return pairs.to_left(carried, progress)

    found = replace(classes, sample=join(classes.rows_of[:, None])[:, 0], join=join)
    return found if population is None else _add_population(found, read, cells, population, progress)


def generalized_columns(
    table: pl.DataFrame, *, star: str = "*", meanings: Mapping[str, Meaning] | None = None
) -> list[str]:
    """List the columns in which a cell stands for more than one value."""
    read = read_table(table, table.columns, star=star, meanings=meanings)
    read.require()
    plain = (Listed,)
    return [
        name
        for name, column in read.columns.items()
        if not all(isinstance(one, plain) and len(one.texts) == 1 for one in column.sub_domains)
    ]


def make_people_counter(
    population: pl.DataFrame,
    *,
    star: str = "*",
    meanings: Mapping[str, Meaning] | None = None,
    several_groups: bool = False,
    progress: Progress = silent,
) -> Fitting:
    """Make a counter of the people of a population who are compatible with the cells of groups.

    Rows of stars only belong to people who fit no other group, because an adversary who knows the algorithm knows this.
    If rows are recoded one by one, the counter counts too few people for such rows, but never too many.

    Parameters
    ----------
    population : polars.DataFrame
        The quasi-identifiers of the population, with true values.
    star : str
        The text of a suppressed cell.
    meanings : mapping of column to Meaning, optional
        Declared meanings of cells.
    several_groups : bool
        Whether a person may be in several groups.
    progress : Progress, optional
        Called from time to time.
    """

    def fit(groups: pl.DataFrame, rows: NDArray[np.int64]) -> PeopleCounts:
        names = groups.columns
        read = read_table(groups, names, star=star, meanings=meanings, true_values=population[names])
        read.require()
        present = int(rows.max() if several_groups else rows.sum())
        if population.height < present:
            raise DataError(_describe_too_few(population.height, present))
        cells = [column.codes for column in read.columns.values()]
        # Count the people who fit each group, except groups of stars only.
        placed = _PlacedPopulation.of(read, cells, population)
        stars = _find_all_stars(read)
        found, times = placed.count_fits(~stars, progress)
        _check_people(rows, found, read, cells, placed.covered)
        # Groups of stars only contain exactly the people who fit no other group.
        rest = int(placed.counts[times == 0].sum())
        found[stars] = rest
        return PeopleCounts.of(
            rows,
            found,
            members=population.height,
            outside=0 if stars.any() else rest,
            overlapping=bool((times > 1).any()) or int(np.count_nonzero(stars)) > 1,
        )

    return fit


def _find_all_stars(read: ReadTable) -> NDArray[np.bool_]:
    """Find the rows that consist of stars only."""
    shown = [
        np.array([isinstance(one, Everything) for one in column.sub_domains], dtype=np.bool_)[column.codes]
        for column in read.columns.values()
    ]
    return np.asarray(np.logical_and.reduce(shown))


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _PlacedPopulation:
    """Distinct people of a population, and the cells of a table placed on their values."""

    points: NDArray[np.int32]
    """The distinct people."""
    at_points: CoveredRanks
    """Ranks of the values of the points."""
    counts: NDArray[np.int64]
    """Number of people of each point."""
    boxes: NDArray[np.int32]
    """The rows of the table."""
    regions: CoveredRanks
    """Ranks that the cells of all columns cover."""
    covered: Sequence[CoveredRanks]
    """Ranks that the cells of each column cover."""

    @classmethod
    def of(cls, read: ReadTable, cells: Sequence[NDArray[np.integer]], population: pl.DataFrame) -> _PlacedPopulation:
        ranks, covered = [], []
        for column in read.columns.values():
            # True values define the ranks; the cells of the table are placed on them.
            given = population.get_column(column.name)
            check_true_values(column, given, "the population")
            values, of_people = column.values(given)
            ranks.append(of_people)
            covered.append(place_cells(column, values))
        # Each distinct person once.
        _, counts, first = number_classes([(one, int(one.max()) + 1) for one in ranks], population.height)
        points, at_points = _stack_boxes(
            [one[first] for one in ranks], [CoveredRanks.singles(int(one.max()) + 1) for one in ranks]
        )
        boxes, regions = _stack_boxes(cells, covered)
        return cls(
            points=points, at_points=at_points, counts=counts, boxes=boxes, regions=regions, covered=tuple(covered)
        )

    @cached_property
    def _join(self) -> BoxJoin:
        return BoxJoin(self.points, self.at_points, self.boxes, self.regions)

    def count_fits(self, which: NDArray[np.bool_], progress: Progress) -> _FitCounts:
        """Count the people who fit each box, and the selected boxes that each point fits."""
        times, people = self._join.both(self.counts[:, None], which.astype(np.int64)[:, None], progress)
        return _FitCounts(people=people[:, 0], boxes=times[:, 0])


class _FitCounts(NamedTuple):
    """Counts of compatible people and boxes."""

    people: NDArray[np.int64]
    """Number of people who fit each box."""
    boxes: NDArray[np.int64]
    """Number of selected boxes that each point fits."""


def _add_population(
    found: Frequencies,
    read: ReadTable,
    cells: Sequence[NDArray[np.integer]],
    population: pl.DataFrame,
    progress: Progress,
) -> Frequencies:
    """Add the frequencies in the population."""
    if population.height < found.rows:
        raise DataError(_describe_too_few(population.height, found.rows))
    placed = _PlacedPopulation.of(read, cells, population)
    # Each class counts all people who fit it; people may fit several classes.
    big, times = placed.count_fits(np.ones(found.classes, dtype=np.bool_), progress)
    _check_people(found.rows_of, big, read, cells, placed.covered)
    return replace(
        found,
        population=big,
        people=population.height,
        outside=int(placed.counts[times == 0].sum()),
        overlapping=bool((times > 1).any()),
    )


def _describe_too_few(people: int, rows: int) -> str:
    """Describe a population that is smaller than the table."""
    return (
        f"The population has {people:,} row(s), fewer than the {rows:,} of the table. It must contain "
        "every person who may be in the table, with one row per person."
    )


def _check_people(
    rows_of: NDArray[np.int64],
    big: NDArray[np.int64],
    read: ReadTable,
    cells: Sequence[NDArray[np.integer]],
    covered: Sequence[CoveredRanks],
) -> None:
    """Check that rows with the same cells fit at least as many people, and name columns whose cells fit no person."""
    short = big < rows_of
    if not short.any():
        return
    # Columns with cells that fit no person of the population.
    strange = []
    for name, codes, regions in zip(read.columns, cells, covered, strict=True):
        unmatched = (regions.high < regions.low)[codes]
        if unmatched.any():
            strange.append(f"'{name}' ({int(rows_of[unmatched].sum()):,} row(s) whose cell fits no person)")
    where = f" The columns that do not match: {', '.join(strange)}." if strange else ""
    raise DataError(
        f"{int((rows_of - big)[short].sum()):,} row(s) of the table fit no person of the population who is left; it "
        f"must contain all persons of the table.{where} Give a population of the same people with their true values. "
        "If the meaning of cells is unknown, declare it with ",
        Suggestion("hierarchies"),
        " or ",
        Suggestion("cells"),
        ".",
    )


def _stack_boxes(
    cells: Sequence[NDArray[np.integer]], regions: Sequence[CoveredRanks]
) -> tuple[NDArray[np.int32], CoveredRanks]:
    """Combine the cells of all columns into boxes over one list of regions."""
    offsets = np.cumsum([0, *(len(one) for one in regions[:-1])])
    return (np.column_stack(cells) + offsets).astype(np.int32), CoveredRanks.joined(regions)


def _choose_witnesses(column: ReadColumn) -> Values:
    """Choose values such that any two cells of a column with a common value share one of them.

    These are the values with which cells are written. On a scale they also include a value between any two neighbours,
    and one beyond each end; for each mask they include a matching text. (Masks with stars before their end whose only
    common text occurs in no cell count as different.)
    """
    positions: set[Position] = set()
    texts: set[str] = set()
    for one in column.sub_domains:
        for atom in _list_atoms(one):
            if not isinstance(atom, str):
                positions.add(atom)
                continue
            # A text with a position on the scale counts as a position.
            position = column.position_of(atom)
            if position is None:
                texts.add(atom)
            else:
                positions.add(position)
    # Positions of cells, between neighbours, and beyond the ends.
    ordered = sorted(positions)
    between = [Fraction(low + high) / 2 for low, high in pairwise(ordered)]
    beyond = [ordered[0] - 1, ordered[-1] + 1] if ordered else []
    written = [_format_position(place, column.scale) for place in (*ordered, *between, *beyond)]
    return Values(pl.Series([*written, *sorted(texts)], dtype=pl.String), column.scale)


def _list_atoms(found: SubDomain) -> Iterator[str | Position]:
    """Yield the values with which a sub-domain is written: texts, and ends of intervals as positions."""
    # Ends of intervals and names are values; a mask is represented by its smallest value.
    if isinstance(found, Listed):
        yield from (text for text in found.texts if text is not None)
    elif isinstance(found, Span):
        yield from (end for end in (found.low, found.high) if end is not None)
    elif isinstance(found, Between):
        for end in (found.low, found.high):
            if end is not None:
                yield from _list_atoms(end)
    elif isinstance(found, Masked):
        yield found.text.replace(found.star, "0")
    elif isinstance(found, AnyOf):
        for part in found.parts:
            yield from _list_atoms(part)


def _format_position(place: Position, scale: str) -> str:
    """Format a position as text; between two moments, the whole nanosecond before."""
    if scale == "number":
        return str(Fraction(place))
    # Dates and times are nanoseconds since 1970 and since midnight.
    days, clock = divmod(int(place // 1), _DAY)
    seconds, part = divmod(clock, 10**9)
    time = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{part:09}"
    return time if scale == "time" else f"{date.fromordinal(days + _UNIX_EPOCH).isoformat()}T{time}"
