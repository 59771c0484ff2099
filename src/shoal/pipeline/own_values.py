"""Problems in which each row with a harmless value has a value of its own, for algorithms that bound frequencies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.common.compiled import populations_of
from shoal.models import LDiversity
from shoal.models.requirement import Requirement
from shoal.table import Column, Table


def give_own_values(problem: Problem, algorithm: Algorithm) -> Problem:
    """Replace harmless values by values that occur once, if an algorithm needs that.

    A partition of the new table satisfies l-diversity if and only if it satisfies the original requirement.

    Parameters
    ----------
    problem : Problem
        A problem whose rows have counts of 1.
    algorithm : Algorithm
        The algorithm that will solve it; one that can serve the requirement as it is gets the problem unchanged.
    """
    requirement = problem.requirement
    if not needs_own_values(requirement, algorithm):
        return problem
    # All models with harmless values list the same ones.
    model = next(one for one in requirement.models if isinstance(one, LDiversity) and one.harmless)
    table = problem.table
    for position in requirement.positions_of(model):
        population = populations_of(table)[position]
        table = _with_own_values(table, position, model.find_harmless(population), population.totals)
    return replace(problem, table=table, requirement=requirement.with_own_values)


def needs_own_values(requirement: Requirement, algorithm: Algorithm) -> bool:
    """Check whether an algorithm serves a requirement only if each harmless value occurs once."""
    # Models that read the values themselves keep the requirement as it is.
    return requirement.with_own_values is not requirement and algorithm.unsupported(requirement) is not None


def _with_own_values(table: Table, position: int, harmless: NDArray[np.bool_], totals: NDArray[np.int64]) -> Table:
    """Give each row with a harmless value of one attribute a code of its own, after those of the other values."""
    column = table.sensitive[position]
    own = harmless[column.codes]
    # The other values keep their order.
    codes = (np.cumsum(~harmless) - 1)[column.codes]
    others, rows = int(np.count_nonzero(~harmless)), int(np.count_nonzero(own))
    codes[own] = others + np.arange(rows)
    changed = Column(
        name=column.name,
        codes=codes.astype(np.uint32),
        dictionary=pl.Series(column.name, np.arange(others + rows)),
        ordered=False,
        numbers=None,
    )
    columns = (*table.sensitive[:position], changed, *table.sensitive[position + 1 :])
    # In a part of a larger table, frequencies are those of the larger one; a value of its own occurs once.
    frequencies = table.totals
    if frequencies is not None:
        new = np.concatenate((totals[~harmless], np.ones(rows, dtype=np.int64)))
        frequencies = (*frequencies[:position], new, *frequencies[position + 1 :])
    return replace(table, sensitive=columns, totals=frequencies)
