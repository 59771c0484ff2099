"""Greedy cover: star cells until the groups of every set of quasi-identifiers are acceptable.

A row that is in an unacceptable group of a set needs a star in a column of that set. Such pairs of a row and a set are
covered greedily: each row stars the column that covers most of its pairs. Stars are never taken back here, so the
rounds end, at the latest if all cells are stars. For k-anonymity, `suppress_by_counts` takes stars back as well: it
keeps the counts of all groups up to date row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from shoal._core.progress import Progress
from shoal.algorithms.column_sets.cells_kernel import (
    CountedSets,
    count_groups_of_sets,
    flag_failing_rows,
    improve_rows,
    star_rows,
)
from shoal.algorithms.common.compiled import populations_of
from shoal.models.base import GroupCounts
from shoal.models.population import Population
from shoal.models.requirement import Requirement
from shoal.recoding import rank
from shoal.table import Table
from shoal.table.counts import rows_by_code


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Cells:
    """The published cells of rows that are starred one by one."""

    codes: NDArray[np.int32]
    """Code of each published cell, shape (rows, d); the size of its column for a star. Changed in place."""
    sizes: NDArray[np.int64]
    """Number of values of each column, the code of its star."""
    counts: NDArray[np.int64]
    """Number of rows of the table that each row represents."""
    values: tuple[NDArray[np.int32], ...]
    """Codes of the attributes that models count, one array for each; they are read only if a model needs them."""
    populations: tuple[Population, ...]
    """The values of these attributes in the whole table."""

    @classmethod
    def of_rows(cls, table: Table, codes: NDArray[np.int32], sizes: NDArray[np.int64]) -> Cells:
        """Take cells for the rows of a table, with its counts and sensitive values."""
        return cls(
            codes=codes,
            sizes=sizes,
            counts=table.multiplicities,
            values=tuple(column.codes.astype(np.int32) for column in table.sensitive)
            or (np.zeros(table.rows, dtype=np.int32),),
            populations=populations_of(table),
        )

    @property
    def stars(self) -> NDArray[np.bool_]:
        """Whether each cell is a star."""
        return np.equal(self.codes, self.sizes)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class KnownSet:
    """A set of columns, and the requirement of its groups."""

    columns: NDArray[np.int64]
    """Positions of the columns."""
    k: int | None
    """Smallest number of rows of a group if nothing else is required; None for other requirements."""
    requirement: Requirement


def find_failing_rows(cells: Cells, known: KnownSet, rows: NDArray[np.int64] | None = None) -> NDArray[np.bool_]:
    """Flag the rows whose group in the projection on a set is not acceptable.

    Parameters
    ----------
    cells : Cells
    known : KnownSet
    rows : int64 array, optional
        Rows that are taken for all rows with a star in each column of the set: their group alone is judged.
    """
    # Groups of equal cells, or the given rows as one group.
    if rows is None:
        columns = [(cells.codes[:, a], int(cells.sizes[a]) + 1) for a in known.columns.tolist()]
        groups, count = rank(columns, len(cells.codes))
        counts, values = cells.counts, cells.values
    else:
        groups, count = np.zeros(len(rows), dtype=np.int64), 1
        counts, values = cells.counts[rows], tuple(codes[rows] for codes in cells.values)
    # Sizes are enough for k-anonymity; other models judge the counts of their attributes.
    if known.k is not None:
        return np.asarray(rows_by_code(groups, count, counts)[groups] < known.k)
    failing = np.zeros(count, dtype=np.bool_)
    counted = [
        _count_values(groups, count, counts, codes, population)
        for codes, population in zip(values, cells.populations, strict=True)
    ]
    for model in known.requirement.group_models:
        for position in known.requirement.positions_of(model):
            failing |= ~model.acceptable(counted[position])
    return np.asarray(failing[groups])


def _count_values(
    groups: NDArray[np.int64],
    count: int,
    counts: NDArray[np.int64],
    codes: NDArray[np.int32],
    population: Population,
) -> GroupCounts:
    """Count the values of an attribute in each group."""
    size = len(population.totals)
    pairs, place = np.unique(groups * size + codes, return_inverse=True)
    group_of, values = np.divmod(pairs, size)
    return GroupCounts(
        sizes=rows_by_code(groups, count, counts),
        starts=np.searchsorted(group_of, np.arange(count + 1)).astype(np.int64),
        values=values,
        counts=rows_by_code(place, len(pairs), counts),
        population=population,
    )


def cover_failing_rows(cells: Cells, sets: Sequence[KnownSet]) -> int:
    """Star cells until every group of every set is acceptable; return the number of rounds.

    The whole table must be acceptable as one group of each set.
    """
    rounds = 0
    while True:
        # How many failing sets each cell that is not a star could cover.
        covered = np.zeros(cells.codes.shape, dtype=np.int32)
        stuck: KnownSet | None = None
        for known in sets:
            failing = np.flatnonzero(find_failing_rows(cells, known))
            if not len(failing):
                continue
            unstarred = cells.codes[np.ix_(failing, known.columns)] != cells.sizes[known.columns]
            covered[np.ix_(failing, known.columns)] += unstarred
            if not unstarred.any(axis=1).all():
                stuck = known
        if covered.any():
            _star_best_cells(cells, covered)
        # Only rows that are stars already fail: they need company.
        elif stuck is not None:
            enlarge_stars(cells, stuck)
        else:
            return rounds
        rounds += 1


def _star_best_cells(cells: Cells, covered: NDArray[np.int32]) -> None:
    """Star in each row with failing sets the cell that covers most of them.

    Ties go to the column that covers most for all rows, so that rows with stars meet in the same groups.
    """
    starred = np.flatnonzero(covered.any(axis=1))
    order = np.argsort(np.argsort(cells.counts @ covered, kind="stable"))
    best = np.argmax(covered[starred].astype(np.int64) * len(order) + order, axis=1)
    cells.codes[starred, best] = cells.sizes[best]


def enlarge_stars(cells: Cells, known: KnownSet) -> None:
    """Star further rows in all columns of a set until the rows with only stars there are an acceptable group."""
    missing = (cells.codes[:, known.columns] != cells.sizes[known.columns]).sum(axis=1)
    # Rows that need the fewest stars come first; the whole table is acceptable.
    order = np.argsort(missing, kind="stable").astype(np.int64)
    least = int(np.count_nonzero(missing == 0))
    # Prefixes grow twofold until one is accepted, then the shortest is bisected.
    low, high = least, len(order)
    while high - low > 1:
        middle = min(2 * low - least + 1, (low + high) // 2)
        accepted = not find_failing_rows(cells, known, order[:middle])[0]
        low, high = (low, middle) if accepted else (middle, high)
    rows = order[:high]
    cells.codes[np.ix_(rows, known.columns)] = cells.sizes[known.columns]


_WORK = 300_000_000
"""Groups that the search at the end looks up: some ten seconds."""
_TRIAL_WORK = 100_000_000
"""Rows times sets that all trials of prices take together: they look up some ten times as many groups."""
_MAX_TRIALS = 60
"""Largest number of trials: later ones gained less than 1 % of the stars on Adult."""
MAX_WORK_TO_START = 60_000_000
"""Rows times sets above which no trial starts with the stars of all columns together, which takes a minute then."""
_SPREAD_OF_PRICES = 0.4
"""Standard deviation of the binary logarithm by which a trial changes prices; best of 0.2, 0.4 and 1 on Adult."""
_HOPE = 0.6
"""Worth of a set whose group with a star is still too small, relative to one whose group is large enough."""
_FEW_STARRED = 1 / 50
"""Share of the rows in a round below which groups with stars are judged, too."""
_MAX_PASSES = 12
"""Passes over all rows with stars; later ones find next to nothing."""
_LEAST_GAIN = 1 / 2000
"""Stars for each row with stars that a pass must take back for another one to follow."""
_FEWEST_SLOTS, _MOST_SLOTS = 64, 1 << 10
"""Slots of a table at first; it grows if they are too few."""
_MAX_KEY = 1 << 62
"""Keys that are place values stay below this number."""


def all_exact(cells: Cells, sets: Sequence[KnownSet]) -> bool:
    """Test if the keys of all sets are place values, so that different cells have different keys."""
    return all(prod((cells.sizes[one.columns] + 1).tolist()) < _MAX_KEY for one in sets)


class _Counts:
    """The counted groups of all sets; tables that become full are replaced by larger ones."""

    def __init__(self, cells: Cells, sets: Sequence[KnownSet], rng: np.random.Generator) -> None:
        self._cells, self._sets, self._rng = cells, sets, rng
        room = [min(prod((cells.sizes[one.columns] + 1).tolist()), len(cells.codes)) for one in sets]
        self._slots = np.array([max(_FEWEST_SLOTS, 1 << (2 * size).bit_length() - 1) for size in room], dtype=np.int64)
        self._slots = np.minimum(self._slots, _MOST_SLOTS)
        self.counted = self._make()
        self.count()

    def count(self) -> None:
        """Count all groups again."""
        while (full := count_groups_of_sets(self._cells.codes, self._cells.counts, self.counted)).any():
            self._slots[full] *= 4
            self.counted = self._make()

    def enlarge(self) -> None:
        """Double all tables, and count all groups again."""
        self._slots *= 2
        self.counted = self._make()
        self.count()

    def _make(self) -> CountedSets:
        """Make empty tables, and the factors of the keys: place values, or random numbers if these are too large."""
        # Compressed lists: the columns of each set, and the sets of each column.
        columns = np.concatenate([one.columns for one in self._sets])
        starts = np.cumsum([0, *(len(one.columns) for one in self._sets)])
        factors = [self._find_factors(one) for one in self._sets]
        of_set = np.repeat(np.arange(len(self._sets)), np.diff(starts))
        order = np.argsort(columns, kind="stable")
        d = len(self._cells.sizes)
        slots = np.cumsum([0, *self._slots.tolist()]).astype(np.int64)
        return CountedSets(
            column_starts=starts.astype(np.int64),
            columns=columns,
            factors=np.concatenate(factors),
            set_starts=np.searchsorted(columns[order], np.arange(d + 1)).astype(np.int64),
            sets=of_set[order].astype(np.int64),
            least=np.array([one.k for one in self._sets], dtype=np.int64),
            slot_starts=slots,
            keys=np.empty(slots[-1], dtype=np.int64),
            counts=np.empty(slots[-1], dtype=np.int64),
            used=np.zeros(len(self._sets), dtype=np.int64),
        )

    def _find_factors(self, known: KnownSet) -> NDArray[np.int64]:
        sizes = (self._cells.sizes[known.columns] + 1).tolist()
        if prod(sizes) < _MAX_KEY:
            return np.array([prod(sizes[i + 1 :]) for i in range(len(sizes))], dtype=np.int64)
        # Keys of different cells may be equal then; the caller checks the result exactly.
        return self._rng.integers(1 << 40, 1 << 62, len(sizes), dtype=np.int64) | 1


def suppress_by_counts(
    cells: Cells,
    sets: Sequence[KnownSet],
    starts: Sequence[NDArray[np.bool_]],
    rng: np.random.Generator,
    progress: Progress,
    name: str,
    *,
    losses: NDArray[np.float64],
    share: int = 1,
    quick: bool = False,
) -> dict[str, int]:
    """Star cells until the groups of all sets have enough rows, then take back stars that are not needed.

    Parameters
    ----------
    cells : Cells
        Changed in place.
    sets : sequence of KnownSet
        Sets with a k and nothing else.
    starts : sequence of bool arrays of shape (rows, d)
        Stars to start from in the first trials: such as those with which all columns together are protected.
    rng : numpy.random.Generator
        Order of the rows, and prices of the columns.
    progress : callable
    name : str
        Name of the step in progress reports.
    losses : float64 array of shape (d,)
        What a star loses in each column, 1 on average.
    share : int
        The number of trials is divided by it.
    quick : bool
        Whether the best trial is enough, without a thorough search at the end.

    Returns
    -------
    dict
        Figures for researchers.
    """
    original = cells.codes.copy(order="F")
    counts = _Counts(cells, sets, rng)
    work = len(cells.codes) * len(sets)
    drawn = min(_MAX_TRIALS // share, max(1, _TRIAL_WORK // share // work))
    trials = len(starts) + drawn
    best: tuple[float, NDArray[np.int32], NDArray[np.float64]] | None = None
    # Which column a row stars depends on prices, which are varied around the best ones so far.
    for trial in range(trials):
        prices = losses.copy()
        cells.codes[:] = np.where(starts[trial], cells.sizes, original) if trial < len(starts) else original
        if trial > len(starts) and best is not None:
            prices = best[2] * 2.0 ** rng.normal(0, _SPREAD_OF_PRICES, len(prices))
        counts.count()
        _cover(cells, sets, counts, prices, rng)
        # Each trial is improved a little, so that they can be compared.
        _improve(cells, original, counts, losses, rng, passes=1, work=_TRIAL_WORK)
        lost = float(cells.counts @ (cells.stars @ losses))
        if best is None or lost < best[0]:
            best = lost, cells.codes.copy(order="F"), prices
        progress(name, trial + 1, trials + 1)
    # The best trial is improved thoroughly.
    assert best is not None
    cells.codes[:] = best[1]
    stars = int(cells.stars.sum(axis=1) @ cells.counts)
    counts.count()
    passes = 0 if quick else _improve(cells, original, counts, losses, rng, passes=_MAX_PASSES, work=_WORK)
    progress(name, trials + 1, trials + 1)
    return {"sets": len(sets), "trials": drawn, "stars_of_cover": stars, "passes": passes}


def _cover(
    cells: Cells, sets: Sequence[KnownSet], counts: _Counts, prices: NDArray[np.float64], rng: np.random.Generator
) -> None:
    """Star cells row by row until all groups have enough rows.

    At first groups with stars count as large enough, so that rows with stars in the same columns can meet there.
    """
    flags = np.empty(len(cells.codes), dtype=np.bool_)
    for hopeful in (True, False):
        while True:
            flag_failing_rows(cells.codes, cells.sizes, counts.counted, hopeful, flags)
            rows = rng.permutation(np.flatnonzero(flags))
            if not len(rows):
                break
            arguments = cells.codes, cells.sizes, cells.counts, counts.counted, rows, prices, hopeful, _HOPE
            starred, stuck, full = star_rows(*arguments)
            if full:
                counts.enlarge()
            # Rows with stars alone are helped by others only.
            elif not starred and stuck >= 0:
                enlarge_stars(cells, sets[stuck])
                counts.count()
            elif hopeful and starred < _FEW_STARRED * len(flags):
                break


def _improve(
    cells: Cells,
    original: NDArray[np.int32],
    counts: _Counts,
    losses: NDArray[np.float64],
    rng: np.random.Generator,
    *,
    passes: int,
    work: int,
) -> int:
    """Search rows with stars for patterns with fewer stars, in random order, while that pays; count the passes."""
    for done in range(passes):
        rows = rng.permutation(np.flatnonzero(cells.stars.any(axis=1)))
        gained, place, full = 0, 0, True
        while full:
            found, searched, full, work = improve_rows(
                cells.codes, original, cells.sizes, cells.counts, counts.counted, rows[place:], losses, work
            )
            gained, place = gained + int(found), place + int(searched)
            if full:
                counts.enlarge()
        if work <= 0 or gained <= _LEAST_GAIN * len(rows):
            return done + 1
    return passes
