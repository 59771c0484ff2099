"""The risk of adversaries who know sets of quasi-identifiers, each of them one set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal.disclosure_risk.figures import Figures
from shoal.models.column_sets import ColumnSet
from shoal.table import Column
from shoal.table.classes import mixed_radix_keys


@dataclass(frozen=True, kw_only=True)
class KnownSets(Figures):
    """How well sets of quasi-identifiers find rows, if an adversary knows one of them and nothing else."""

    sets: int
    """Number of sets."""
    smallest_class: int
    """Rows of the smallest class of any set."""
    columns: tuple[str, ...]
    """The set in which most rows are unique; of several the first."""
    most_uniques: float
    """Share of the rows that are unique in that set."""
    uniques: float
    """Share of the rows that are unique in some set."""
    records_above: float
    """Share of the rows that are in a class of fewer than 1 / threshold rows of some set."""


def measure_known_sets(columns: Sequence[Column], sets: Sequence[ColumnSet], threshold: Fraction) -> KnownSets:
    """Measure the classes of each set of columns.

    Parameters
    ----------
    columns : sequence of Column
        All quasi-identifiers.
    sets : sequence of ColumnSet
        At least one set of their names.
    threshold : Fraction
        The acceptable probability of finding a row.
    """
    # Rows that some set finds so far.
    rows, by_name = len(columns[0].codes), {column.name: column for column in columns}
    unique, above = np.zeros(rows, dtype=np.bool_), np.zeros(rows, dtype=np.bool_)
    smallest, most, worst = rows, -1, sets[0].columns
    for one in sets:
        # The size of the class of each row.
        keys, _ = mixed_radix_keys([(by_name[name].codes, by_name[name].size) for name in one.columns], rows)
        _, place, counts = np.unique(keys, return_inverse=True, return_counts=True)
        sizes = counts[place]
        alone = sizes == 1
        unique |= alone
        # 1 / size is above the threshold, in integers.
        above |= sizes * threshold.numerator < threshold.denominator
        # The set that finds most rows.
        smallest = min(smallest, int(counts.min()))
        if int(alone.sum()) > most:
            most, worst = int(alone.sum()), one.columns
    return KnownSets(
        sets=len(sets),
        smallest_class=smallest,
        columns=worst,
        most_uniques=most / rows,
        uniques=int(unique.sum()) / rows,
        records_above=int(above.sum()) / rows,
    )
