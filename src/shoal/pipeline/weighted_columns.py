"""Weights of quasi-identifiers for algorithms that minimize a sum over columns: a column is repeated."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from shoal._core.facts import Fact
from shoal.algorithms import Guarantee

if TYPE_CHECKING:
    from shoal.algorithms import Algorithm, Partition, Problem

__all__ = ["partition_with_weights"]


def partition_with_weights(problem: Problem, algorithm: Algorithm) -> Partition:
    """Run an algorithm on a problem; weights that it does not serve itself are served by repeated columns.

    A column with weight 2 is given twice if the others have weight 1, so that a sum over columns counts it twice.
    Groups are sets of rows, so the partition needs no conversion.
    """
    capabilities, copies = algorithm.capabilities, problem.preferences.copies
    if not problem.preferences.weights or capabilities.weights or not capabilities.sums_columns or copies is None:
        return algorithm.partition(problem)
    columns = zip(problem.table.quasi_identifiers, copies, strict=True)
    repeated = tuple(column for column, times in columns for _ in range(times))
    found = algorithm.partition(replace(problem, table=replace(problem.table, quasi_identifiers=repeated)))
    # Ratios and bounds of the run are those of the weighted loss.
    return replace(found, guarantee=Guarantee(promise=Fact("weighted_copies")))
