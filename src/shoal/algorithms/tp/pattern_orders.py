"""A search for the order in which the cascade tries patterns of stars: another order leaves other rows to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.algorithms.tp.cascade import Cascade, split_rows, star_patterns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.algorithms.base import Problem
    from shoal.models import FrequencyForm

__all__ = ["best_cascade"]

Patterns = list[tuple[int, ...]]


def best_cascade(
    problem: Problem, form: FrequencyForm, keep: NDArray[np.int32], orders: int
) -> tuple[Cascade, NDArray[np.int32]]:
    """Run the cascade by several orders of the patterns, and return the run that left the fewest stars.

    The first order is the cascade's own. Each further one moves a pattern of the best order so far to another place
    among those of as many stars; the random numbers are the same for every table.

    Parameters
    ----------
    problem : Problem
    form : FrequencyForm
        The requirement.
    keep : int32 array of shape (cells,)
        Rows of each cell that stay in their class.
    orders : int
        Orders that are tried beyond the first.

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
    for number in range(orders + 1):
        patterns = _changed(chosen, random) if number else chosen
        groups, rows = split_rows(classes, keep)
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
        if len(chosen) < 2:
            break
    assert best is not None
    return best


def _changed(patterns: Patterns, random: np.random.Generator) -> Patterns:
    """Move one pattern to another place among those of as many stars."""
    place = int(random.integers(len(patterns)))
    moved = patterns[place]
    first = sum(len(pattern) < len(moved) for pattern in patterns)
    alike = sum(len(pattern) == len(moved) for pattern in patterns)
    changed = [*patterns[:place], *patterns[place + 1 :]]
    changed.insert(first + int(random.integers(alike)), moved)
    return changed
