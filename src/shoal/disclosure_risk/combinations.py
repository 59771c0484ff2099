"""Distinction and separation: how well combinations of columns identify rows, and sets of columns that are known.

References
----------
R. Motwani and Y. Xu, "Efficient algorithms for masking and finding quasi-identifiers", VLDB 2007.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shoal._core.progress import Progress, silent
from shoal._messages import Suggestion
from shoal.disclosure_risk.figures import Figures
from shoal.disclosure_risk.frequencies import Frequencies, count_frequencies
from shoal.errors import ParameterError
from shoal.models.column_sets import ColumnSet
from shoal.table import Column
from shoal.table.classes import mixed_radix_keys
from shoal.table.sorting_kernel import sort_by_key

CONFIDENCE = 0.99
"""Probability that the separations of all combinations in a sample are within their error."""

_DEFAULT_SIZE = 3
"""Default number of columns of a combination."""
_MAX_COMBINATIONS = 100_000
"""Largest number of combinations."""
_MAX_COMBINATIONS_BY_DEFAULT = 2_000
"""Largest number of combinations if the caller does not choose a size."""
_SAMPLE_ROWS = 50_000
"""Rows of a sample: errors are below 0.02 for any number of combinations."""
_MAX_COUNTED_CELLS = 1 << 22
"""Combined codes below this are counted in an array; others are sorted."""


@dataclass(frozen=True, kw_only=True)
class Combination(Figures):
    """How well a combination of columns distinguishes the rows of a table."""

    columns: tuple[str, ...]
    """Names of the columns."""
    distinction: float | None
    """Number of distinct combinations of values divided by the number of rows; None if only a sample was measured."""
    separation: float | None
    """Share of the pairs of rows that differ in at least one of the columns; None if there is only one row."""
    error: float = 0.0
    """Bound of the sampling error of the separation; 0 if all rows were measured."""


def rank_combinations(
    columns: Sequence[Column],
    *,
    frequencies: Frequencies | None = None,
    size: int | None = None,
    work: int = 400_000_000,
    progress: Progress = silent,
) -> tuple[Combination, ...]:
    """Rank the combinations of up to `size` columns by their separation, highest first.

    If measuring all combinations takes more work than allowed, they are ranked by a sample of 50,000 rows. The first
    ones are then measured on all rows, as far as the work allows. The others have the separation of the sample, which
    is within `error` of the true separation, for all combinations together, with a probability of 99 % (Hoeffding's
    bound for U-statistics). The sample depends only on the table, not on the order of its rows.

    Parameters
    ----------
    columns : sequence of Column
        A missing value counts as a value.
    frequencies : Frequencies, optional
        The classes of the columns, if known.
    size : int, optional
        Largest number of columns of a combination. By default 3, or fewer if there are more than 2,000 combinations.
    work : int
        Largest number of combinations times distinct rows.
    progress : Progress, optional
        Called from time to time.

    Raises
    ------
    ParameterError
        If there are more than 100,000 combinations.
    """
    sets = _list_combinations(len(columns), size)
    # Process rows that agree in all columns once, with their count.
    classes = count_frequencies(columns) if frequencies is None else frequencies
    weights, rows = classes.rows_of, classes.rows
    cells = [(column.codes[classes.first_rows], column.size) for column in columns]
    # Rank by a sample if all rows are too much work.
    exact, error, sampled = len(sets), 0.0, {}
    if len(sets) * len(weights) > work and rows > _SAMPLE_ROWS:
        exact = max(work // len(weights), 1)
        # Hoeffding's bound with a union bound over all combinations.
        error = math.sqrt(math.log(2 * len(sets) / (1 - CONFIDENCE)) / (2 * (_SAMPLE_ROWS // 2)))
        parts = _draw_sample(weights)
        few = [(codes[parts > 0], domain) for codes, domain in cells]
        sampled = {chosen: _measure(few, parts[parts > 0], chosen)[1] for chosen in sets}
        sets = sorted(sets, key=lambda chosen: (-(sampled[chosen] or 0.0), len(chosen), chosen))
    # Measure the first combinations exactly.
    measured = []
    for number, chosen in enumerate(sets):
        progress("combinations", number, len(sets))
        inside = number < exact
        distinction, separation = _measure(cells, weights, chosen) if inside else (None, sampled[chosen])
        measured.append(
            Combination(
                columns=tuple(columns[at].name for at in chosen),
                distinction=distinction,
                separation=separation,
                error=0.0 if inside else error,
            )
        )
    # Highest separation first; ties go to fewer columns.
    return tuple(
        sorted(
            measured,
            key=lambda one: (-(one.separation or 0.0), len(one.columns), -(one.distinction or 0.0), one.columns),
        )
    )


def _list_combinations(columns: int, size: int | None) -> list[tuple[int, ...]]:
    """List the combinations of columns to rank."""
    if size is None:
        # The largest size up to the default that keeps the number of combinations small.
        sizes = range(1, min(_DEFAULT_SIZE, columns) + 1)
        size = max(
            (
                one
                for one in sizes
                if sum(math.comb(columns, k) for k in range(1, one + 1)) <= _MAX_COMBINATIONS_BY_DEFAULT
            ),
            default=1,
        )
    count = sum(math.comb(columns, k) for k in range(1, min(size, columns) + 1))
    if count > _MAX_COMBINATIONS:
        raise ParameterError(
            f"{count:,} combinations of up to {size} of {columns} columns are too many to rank; at most "
            f"{_MAX_COMBINATIONS:,} are allowed. Choose a smaller size with ",
            Suggestion("combinations"),
            ".",
        )
    return [chosen for k in range(1, min(size, columns) + 1) for chosen in itertools.combinations(range(columns), k)]


def _draw_sample(weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Draw rows without replacement, and count the drawn rows of each class."""
    # A fixed seed, and classes in the order of their cells: the sample is a function of the table.
    rng = np.random.default_rng(0)
    rows = rng.choice(int(weights.sum()), size=_SAMPLE_ROWS, replace=False)
    return np.bincount(np.searchsorted(np.cumsum(weights), rows, side="right"), minlength=len(weights))


def _measure(
    cells: Sequence[tuple[NDArray[np.unsignedinteger], int]], weights: NDArray[np.int64], chosen: tuple[int, ...]
) -> tuple[float, float | None]:
    """Measure distinction and separation of a combination, for distinct rows with counts."""
    sizes = _count_groups([cells[at] for at in chosen], weights)
    rows = int(weights.sum())
    # Pairs of rows that agree, as exact integers.
    pairs = rows * (rows - 1)
    alike = int(np.dot(sizes, sizes)) - rows
    return len(sizes) / rows, (pairs - alike) / pairs if pairs else None


def _count_groups(
    cells: Sequence[tuple[NDArray[np.unsignedinteger], int]], weights: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Count the rows of each combination of codes that occurs."""
    keys, bits = mixed_radix_keys(cells, len(weights))
    space = math.prod(domain for _, domain in cells)
    # Few possible codes: count in an array.
    if space <= _MAX_COUNTED_CELLS:
        counted = np.bincount(keys, weights=weights, minlength=space)  # whole numbers below 2**53 stay exact
        return counted[counted > 0].astype(np.int64)
    # Many possible codes: sort, and add up runs of equal keys.
    keys, order = sort_by_key(keys, np.arange(len(weights), dtype=np.int32), bits)
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    return np.asarray(np.add.reduceat(weights[order], starts))


@dataclass(frozen=True, kw_only=True)
class KnownSets(Figures):
    """How well sets of quasi-identifiers find rows, or persons, if an adversary knows one of them and nothing else."""

    sets: int
    """Number of sets."""
    smallest_class: int
    """Rows, or persons, of the smallest class of any set."""
    columns: tuple[str, ...]
    """The set in which most rows are unique; of several the first."""
    most_uniques: float
    """Share of the rows that are unique in that set."""
    uniques: float
    """Share of the rows that are unique in some set."""
    records_above: float
    """Share of the rows that are in a class of fewer than 1 / threshold rows of some set."""


def measure_known_sets(
    columns: Sequence[Column],
    sets: Sequence[ColumnSet],
    threshold: Fraction,
    *,
    owners: NDArray[np.int64] | None = None,
) -> KnownSets:
    """Measure the classes of each set of columns.

    Parameters
    ----------
    columns : sequence of Column
        All quasi-identifiers.
    sets : sequence of ColumnSet
        At least one set of their names.
    threshold : Fraction
        The acceptable probability of finding a row.
    owners : int64 array, optional
        The person of each row, from 0: persons are counted, then, each of whom has the smallest class of any own row.
    """
    rows, by_name = len(columns[0].codes), {column.name: column for column in columns}
    people = rows if owners is None else int(owners.max()) + 1

    def find_people(found: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return found if owners is None else np.bincount(owners[found], minlength=people) > 0

    # Rows or persons that some set finds so far.
    unique, above = np.zeros(people, dtype=np.bool_), np.zeros(people, dtype=np.bool_)
    smallest, most, worst = people, -1, sets[0].columns
    for one in sets:
        # The size of the class of each row.
        keys, _ = mixed_radix_keys([(by_name[name].codes, by_name[name].size) for name in one.columns], rows)
        _, place, counts = np.unique(keys, return_inverse=True, return_counts=True)
        if owners is not None:  # a person counts once in a class
            counts = np.bincount(np.unique(place * people + owners) // people)
        sizes = counts[place]
        alone = find_people(sizes == 1)
        unique |= alone
        # 1 / size is above the threshold, in integers.
        above |= find_people(sizes * threshold.numerator < threshold.denominator)
        # The set that finds most rows.
        smallest = min(smallest, int(counts.min()))
        if int(alone.sum()) > most:
            most, worst = int(alone.sum()), one.columns
    return KnownSets(
        sets=len(sets),
        smallest_class=smallest,
        columns=worst,
        most_uniques=most / people,
        uniques=int(unique.sum()) / people,
        records_above=int(above.sum()) / people,
    )
