"""Special uniques: rows that are unique in few columns, found by SUDA2, with scores and contributions of columns.

A *minimal sample unique* of a row is a set of columns in which no other row has the same values, and which has no
such subset. A row is the more special, the fewer columns its minimal sample uniques have and the more of them it has.

References
----------
.. [1] M. J. Elliot, A. M. Manning and R. W. Ford, "A computational algorithm for handling the special uniques problem",
   International Journal of Uncertainty, Fuzziness and Knowledge-Based Systems 10(5), 2002.
.. [2] A. M. Manning, D. J. Haglin and J. A. Keane, "A recursive search algorithm for statistical disclosure
   assessment", Data Mining and Knowledge Discovery 16, 2008. doi:10.1007/s10618-007-0078-6
.. [3] C. J. Skinner and M. J. Elliot, "A measure of disclosure risk for microdata", Journal of the Royal Statistical
   Society B 64(4), 2002. doi:10.1111/1467-9868.00365
.. [4] M. J. Elliot, A. Manning, K. Mayes, J. Gurd and M. Bane, "SUDA: a program for detecting special uniques", Joint
   UNECE/Eurostat work session on statistical data confidentiality, Geneva 2005.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shoal._core.progress import Progress, silent
from shoal._messages import Suggestion
from shoal.disclosure_risk.figures import Figures
from shoal.disclosure_risk.frequencies import Frequencies
from shoal.disclosure_risk.suda_kernel import mark_minimal, refine
from shoal.errors import ParameterError
from shoal.table import Column

_MAX_BYTES = 2_000_000_000
"""Largest memory of the bit sets of unique rows."""


@dataclass(frozen=True, kw_only=True)
class SpecialUniques(Figures):
    """The special uniques of a table."""

    size: int
    """Largest number of columns of a minimal sample unique in the search."""
    minimal_uniques: dict[int, int]
    """Number of minimal sample uniques by size."""
    records: float
    """Share of the rows that have a minimal sample unique, or of the persons if persons are counted."""
    highest: float
    """The highest score of a row."""
    contributions: dict[str, float]
    """For each column the percentage of the total score from minimal sample uniques that contain the column."""
    dis: float | None
    """Data intrusion probability: the probability that a match with a sample unique is correct. None if the sampling
    fraction is unknown, or no row is unique.
    """


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class MinimalUniques:
    """Numbers of minimal sample uniques of rows and columns, by size."""

    columns: int
    """Number of columns."""
    by_row: NDArray[np.int32]
    """Number of minimal sample uniques of each row: column s - 1 counts those of size s; shape (rows, size)."""
    by_column: NDArray[np.int64]
    """Number of minimal sample uniques with each column, likewise by size; shape (columns, size)."""

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """Weight of a minimal sample unique of size s [4]_: the product of (columns - i) for i = s to the largest."""
        # The set of all columns has the weight of an empty product, 1.
        most = min(self.by_row.shape[1], self.columns - 1)
        found = [math.prod(self.columns - i for i in range(s, most + 1)) for s in range(1, self.by_row.shape[1] + 1)]
        return np.array(found, dtype=np.float64)

    @property
    def scores(self) -> NDArray[np.float64]:
        """Score of each row; integers, exact up to 2**53."""
        return np.asarray(self.by_row @ self.weights)

    @property
    def contributions(self) -> NDArray[np.float64]:
        """Percentage of the total score from minimal sample uniques that contain each column."""
        # No minimal sample unique: no column contributes.
        total = float(self.by_row.sum(axis=0) @ self.weights)
        return np.asarray(100 * (self.by_column @ self.weights) / total if total else np.zeros(self.columns))


def find_minimal_uniques(
    columns: Sequence[Column], size: int, *, owners: NDArray[np.int64] | None = None, progress: Progress = silent
) -> MinimalUniques:
    """Find all minimal sample uniques of up to `size` columns.

    Sets of columns are visited so that every subset precedes its supersets. The classes of a set are those of a set
    with one column less, split by that column. Unique rows leave the classes: they match no other row in any superset,
    and are minimal in none [2]_. The work is at most the number of rows times the number of sets, and less if values
    are rare.

    Parameters
    ----------
    columns : sequence of Column
        At least one column.
    size : int
        At least 1.
    owners : int64 array, optional
        The person of each row: rows are unique if all rows like them are of one person. By default each row is another
        person's.
    progress : Progress, optional
        Called from time to time.

    Raises
    ------
    ParameterError
        If the bit sets would need more than two gigabytes.
    """
    rows, count = len(columns[0].codes), len(columns)
    size = min(size, count)
    # Sets of the full size need no bit set, because no superset is visited.
    sets = sum(math.comb(count, k) for k in range(1, size))
    words = (rows + 63) // 64
    if sets * words * 8 > _MAX_BYTES:
        raise ParameterError(
            f"Special uniques of up to {size} of {count} columns in {rows:,} rows need {sets * words * 8 / 1e9:.1f} GB "
            f"of memory; at most {_MAX_BYTES / 1e9:.0f} are allowed. Choose a smaller size with ",
            Suggestion("suda"),
            ", or name fewer quasi-identifiers.",
        )
    # For each visited set, the rows that are unique in it, as a bit set.
    unique_rows = np.zeros((sets, words), dtype=np.uint64)
    index_of: dict[tuple[int, ...], int] = {}
    by_row = np.zeros((rows, size), dtype=np.int32)
    by_column = np.zeros((count, size), dtype=np.int64)
    total = sets + math.comb(count, size)
    for done, (chosen, unique) in enumerate(_visit_sets(columns, size, owners)):
        progress("special uniques", done, total)
        # If a subset was not visited, all rows are unique in a smaller set: no row is minimal in this one.
        subsets = [index_of.get(chosen[:at] + chosen[at + 1 :], -1) for at in range(1, len(chosen))]
        # Remember the unique rows of this set: those of the set without its least column, and the new ones.
        if len(chosen) < size:
            index_of[chosen] = index = len(index_of)
            if len(chosen) > 1:
                unique_rows[index] = unique_rows[index_of[chosen[1:]]]
            np.bitwise_or.at(unique_rows[index], unique >> 6, np.uint64(1) << (unique & 63).astype(np.uint64))
        # New unique rows are minimal if no other subset of one column less makes them unique.
        if len(unique) and -1 not in subsets:
            minimal = np.empty(len(unique), dtype=np.bool_)
            mark_minimal(unique, unique_rows, np.array(subsets, dtype=np.int64), minimal)
            by_row[unique[minimal], len(chosen) - 1] += 1
            by_column[list(chosen), len(chosen) - 1] += int(minimal.sum())
    return MinimalUniques(columns=count, by_row=by_row, by_column=by_column)


def _visit_sets(
    columns: Sequence[Column], size: int, owners: NDArray[np.int64] | None
) -> Iterator[tuple[tuple[int, ...], NDArray[np.int32]]]:
    """Visit sets of columns, subsets first, and yield the rows that become unique with the least column of each set.

    The classes of a set are refined from those of the set without its least column; sets come in the order of their
    greatest columns.
    """
    rows = np.arange(len(columns[0].codes), dtype=np.int32)
    everything = rows, np.array([0, len(rows)], dtype=np.int32)

    def visit(
        chosen: tuple[int, ...], classes: tuple[NDArray[np.int32], NDArray[np.int32]], below: int
    ) -> Iterator[tuple[tuple[int, ...], NDArray[np.int32]]]:
        for at in range(below):
            column = columns[at]
            # Only columns below the least one of the set extend it, so that every set is visited once.
            kept, starts, unique = refine(*classes, column.codes, column.size)
            if owners is not None and len(kept):
                kept, starts, unique = _set_apart(kept, starts, unique, owners)
            grown = (at, *chosen)
            yield grown, unique
            if len(grown) < size and len(kept):
                yield from visit(grown, (kept, starts), at)

    yield from visit((), everything, len(columns))


def _set_apart(
    rows: NDArray[np.int32], starts: NDArray[np.int32], unique: NDArray[np.int32], owners: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Move the rows of classes that belong to one person from the classes to the unique rows."""
    of_rows = owners[rows]
    first = starts[:-1]
    alone = np.minimum.reduceat(of_rows, first) == np.maximum.reduceat(of_rows, first)
    sizes = np.diff(starts)
    apart = np.repeat(alone, sizes)
    ends = np.cumsum(sizes[~alone], dtype=np.int32)
    return rows[~apart], np.append(np.int32(0), ends).astype(np.int32), np.append(unique, rows[apart])


def data_intrusion_probability(uniques: int, in_pairs: int, p: Fraction) -> float | None:
    """Compute the probability that a match with a sample unique is right: U p / (U p + P (1 - p)).

    The U unique rows and the P rows in classes of two are taken out of the sample one at a time, and put back with the
    probability p. A row that was put back matches correctly if it was unique; a row of a pair that was not put back
    matches its partner wrongly [3]_. The result is None if no row is unique.

    Examples
    --------
    >>> data_intrusion_probability(4, 6, Fraction(1, 10))
    0.06896551724137931
    """
    matches = uniques * p + in_pairs * (1 - p)
    return float(uniques * p / matches) if uniques else None


def compute_dis_suda_scores(scores: NDArray[np.float64], uniques: int, dis: float, columns: int) -> NDArray[np.float64]:
    r"""Compute the DIS-SUDA score of each row: its score on the scale of the data intrusion probability [4]_.

    .. math:: \left(1 + \frac{U (1 / DIS - 1)}{s^q \sum_t s_t^{-q}}\right)^{-1}, \qquad q = 1 + (8 - columns) / 20

    A row with a score s of 0 gets 0.

    Parameters
    ----------
    scores : float array
        The score of each row.
    uniques : int
        U, the index_of of rows that are unique in all columns.
    dis : float
        The data intrusion probability.
    columns : int
        Number of columns.
    """
    # The exponent falls with the index_of of columns [4]_.
    q = 1 + (8 - columns) / 20
    special = scores > 0
    # The formula above, with s**-q for each row and the sum over all rows.
    powers = scores[special] ** -q
    odds = uniques * (1 / dis - 1) / math.fsum(powers.tolist()) if len(powers) else 0.0
    found = np.zeros(len(scores))
    found[special] = 1 / (1 + odds * powers)
    return found


def summarize_special_uniques(
    found: MinimalUniques,
    columns: Sequence[Column],
    frequencies: Frequencies,
    p: Fraction | None,
    *,
    owners: NDArray[np.int64] | None = None,
) -> SpecialUniques:
    """Summarize the minimal sample uniques of a table; p is the sampling fraction if it is known.

    With `owners`, the person of each row, the share of the persons with a minimal sample unique is computed.
    """
    # Rows in classes of one and of two.
    uniques, in_pairs = (int(frequencies.rows_of[frequencies.rows_of == size].sum()) for size in (1, 2))
    total, rows = found.by_row.sum(axis=0), np.flatnonzero(found.by_row.any(axis=1))
    special, count = len(rows), len(found.by_row)
    if owners is not None:
        special, count = len(np.unique(owners[rows])), len(np.unique(owners))
    return SpecialUniques(
        size=len(total),
        minimal_uniques={size: int(count) for size, count in enumerate(total, start=1)},
        records=special / count,
        highest=float(found.scores.max()),
        contributions={column.name: float(one) for column, one in zip(columns, found.contributions, strict=True)},
        dis=None if p is None else data_intrusion_probability(uniques, in_pairs, p),
    )
