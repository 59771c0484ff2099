"""Search for the order in which the cascade tries patterns of stars: the order decides which rows remain for later."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.base import Problem
from shoal.algorithms.tp.cascade import Cascade, split_rows, star_patterns
from shoal.models import FrequencyForm

Patterns = list[tuple[int, ...]]


def best_cascade(
    problem: Problem, form: FrequencyForm, keep: NDArray[np.int32], orders: int
) -> tuple[Cascade, NDArray[np.int32]]:
    """Run the cascade with several orders of the patterns, and return the run with the fewest stars.

    The first order is the cascade's own. Each further order moves one pattern of the best order so far to another place
    among the patterns with as many stars; the random numbers are the same for every table.

    Parameters
    ----------
    problem : Problem
    form : FrequencyForm
        The requirement.
    keep : int32 array of shape (cells,)
        Rows of each cell that stay in their class.
    orders : int
        Number of orders to try after the first.

    Returns
    -------
    cascade : Cascade
    groups : int32 array of shape (rows,)
        The group of each row.
    """
    classes = problem.table.classes
    random = np.random.default_rng(0)
    chosen = star_patterns([column.size for column in problem.table.quasi_identifiers])
    best: tuple[Cascade, NDArray[np.int32]] | None = None
    # Hill climbing: an order that is not worse becomes the start of the next change.
    for number in range(orders + 1):
        patterns = _move_pattern(chosen, random) if number else chosen
        groups, rows = split_rows(classes, keep)
        # Each run starts from the end of phase one.
        cascade = Cascade(
            table=problem.table,
            form=form,
            groups=groups,
            rows=rows,
            moved=classes.cell_counts - keep,
            progress=(lambda *_: None) if orders else problem.progress,
            patterns=patterns,
        )
        cascade.run()
        if best is None or cascade.stars() <= best[0].stars():
            best, chosen = (cascade, groups), patterns
        if orders:
            problem.progress("cascade", number, orders)
        # A single pattern has a single order.
        if len(chosen) < 2:
            break
    assert best is not None
    return best


def _move_pattern(patterns: Patterns, random: np.random.Generator) -> Patterns:
    """Move one random pattern to another place among the patterns with as many stars."""
    place = int(random.integers(len(patterns)))
    moved = patterns[place]
    # Patterns are sorted by their number of stars: a move must not leave its level.
    first = sum(len(pattern) < len(moved) for pattern in patterns)
    alike = sum(len(pattern) == len(moved) for pattern in patterns)
    changed = [*patterns[:place], *patterns[place + 1 :]]
    changed.insert(first + int(random.integers(alike)), moved)
    return changed
