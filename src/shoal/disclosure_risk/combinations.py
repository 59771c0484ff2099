"""Which columns identify: how well every combination of columns tells rows apart.

References
----------
R. Motwani and Y. Xu, "Efficient algorithms for masking and finding quasi-identifiers", VLDB 2007.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal._core.progress import Progress, silent
from shoal._messages import Suggestion
from shoal.disclosure_risk.figures import Figures
from shoal.disclosure_risk.frequencies import count_frequencies
from shoal.errors import ParameterError
from shoal.table.classes import mixed_radix_keys
from shoal.table.sorting_kernel import sort_by_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shoal.disclosure_risk.frequencies import Frequencies
    from shoal.table import Column

__all__ = ["Combination", "rank_combinations"]

CONFIDENCE = 0.99
"""The probability with which all separations of a sample are within their error."""

_LARGEST = 3
"""Columns of a combination unless the caller says."""
_MOST = 100_000
"""Combinations that are looked at."""
_MOST_UNLESS_ASKED = 2_000
"""The same where the caller did not ask for a size."""
_SAMPLE = 50_000
"""Rows of a sample: errors below 0.02, whatever the number of combinations."""
_CELLS = 1 << 22
"""Combined codes below this are counted in an array, others sorted."""


@dataclass(frozen=True, kw_only=True)
class Combination(Figures):
    """How well some columns together tell the rows of a table apart."""

    columns: tuple[str, ...]
    """Their names."""
    distinction: float | None
    """Distinct combinations of values / rows; None where only a sample was looked at."""
    separation: float | None
    """Share of the pairs of rows that differ in at least one of the columns; None where there is only one row."""
    error: float = 0.0
    """How far the separation may be from the table's, where only a sample was looked at; 0 where all rows were."""


def rank_combinations(
    columns: Sequence[Column],
    *,
    frequencies: Frequencies | None = None,
    size: int | None = None,
    work: int = 400_000_000,
    progress: Progress = silent,
) -> tuple[Combination, ...]:
    """Measure every combination of up to `size` columns, the one that separates most first.

    Where that would be more work than allowed, combinations are ranked by a sample of 50,000 rows. The first ones are
    then measured with all rows, as many as the work allows; of the others the separation in the sample is told, which
    is within `error` of the true one for all combinations together with a probability of 99 % (Hoeffding's bound for
    U-statistics). The sample is a function of the table alone: the order of its rows does not matter.

    Parameters
    ----------
    columns : sequence of Column
        A missing value is a value of its own.
    frequencies : Frequencies, optional
        Their classes, where they were counted already.
    size : int, optional
        The most columns of a combination; 3 by default, or fewer where there would be more than 2,000 combinations.
    work : int
        Combinations times distinct rows that are looked at.
    progress : Progress, optional

    Raises
    ------
    ParameterError
        There are more than 100,000 combinations.
    """
    sets = _sets(len(columns), size)
    # Rows that agree in all columns count together.
    classes = count_frequencies(columns) if frequencies is None else frequencies
    weights, rows = classes.rows_of, classes.rows
    cells = [(column.codes[classes.first_rows], column.size) for column in columns]
    exact, error, sampled = len(sets), 0.0, {}
    if len(sets) * len(weights) > work and rows > _SAMPLE:
        exact = max(work // len(weights), 1)
        error = math.sqrt(math.log(2 * len(sets) / (1 - CONFIDENCE)) / (2 * (_SAMPLE // 2)))
        parts = _sample(weights)
        few = [(codes[parts > 0], domain) for codes, domain in cells]
        sampled = {chosen: _measure(few, parts[parts > 0], chosen)[1] for chosen in sets}
        sets = sorted(sets, key=lambda chosen: (-(sampled[chosen] or 0.0), len(chosen), chosen))
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
    return tuple(
        sorted(
            measured,
            key=lambda one: (-(one.separation or 0.0), len(one.columns), -(one.distinction or 0.0), one.columns),
        )
    )


def _sets(columns: int, size: int | None) -> list[tuple[int, ...]]:
    """Return the combinations of columns that are looked at."""
    if size is None:
        sizes = range(1, min(_LARGEST, columns) + 1)
        size = max(
            (one for one in sizes if sum(math.comb(columns, k) for k in range(1, one + 1)) <= _MOST_UNLESS_ASKED),
            default=1,
        )
    count = sum(math.comb(columns, k) for k in range(1, min(size, columns) + 1))
    if count > _MOST:
        raise ParameterError(
            f"{count:,} combinations of up to {size} of {columns} columns are too many to rank; at most {_MOST:,} are "
            "allowed. Choose a smaller size with ",
            Suggestion("combinations"),
            ".",
        )
    return [chosen for k in range(1, min(size, columns) + 1) for chosen in itertools.combinations(range(columns), k)]


def _sample(weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Draw rows without replacement from classes with so many rows, and return how many of each class were drawn."""
    rng = np.random.default_rng(0)
    rows = rng.choice(int(weights.sum()), size=_SAMPLE, replace=False)
    return np.bincount(np.searchsorted(np.cumsum(weights), rows, side="right"), minlength=len(weights))


def _measure(
    cells: Sequence[tuple[NDArray[np.unsignedinteger], int]], weights: NDArray[np.int64], chosen: tuple[int, ...]
) -> tuple[float, float | None]:
    """Return distinction and separation of some columns of distinct rows that occur so many times."""
    sizes = _group_sizes([cells[at] for at in chosen], weights)
    rows = int(weights.sum())
    pairs = rows * (rows - 1)
    alike = int(np.dot(sizes, sizes)) - rows
    return len(sizes) / rows, (pairs - alike) / pairs if pairs else None


def _group_sizes(
    cells: Sequence[tuple[NDArray[np.unsignedinteger], int]], weights: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return how many rows have each combination of codes that occurs."""
    keys, bits = mixed_radix_keys(cells, len(weights))
    space = math.prod(domain for _, domain in cells)
    if space <= _CELLS:
        counted = np.bincount(keys, weights=weights, minlength=space)  # whole numbers below 2**53 stay exact
        return counted[counted > 0].astype(np.int64)
    keys, order = sort_by_key(keys, np.arange(len(weights), dtype=np.int32), bits)
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    return np.asarray(np.add.reduceat(weights[order], starts))
